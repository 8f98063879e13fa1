"""Functions to machine code: codegen writes LLVM's language, the compiler makes object files; no warm call loads it."""
