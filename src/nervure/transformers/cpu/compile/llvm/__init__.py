"""LLVM's language as text: types, registers with operators, a builder for functions, modules."""
