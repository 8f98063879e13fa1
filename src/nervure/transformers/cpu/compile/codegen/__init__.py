"""Code generation from the loop IR to LLVM IR."""
