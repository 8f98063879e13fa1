"""Functions to machine code: codegen writes LLVM IR, the compiler makes object files; no warm call loads it."""
