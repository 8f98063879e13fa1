"""The cpu transformer: functions as machine code, made by LLVM without a C compiler."""
