"""LLVM IR as text: types, registers with operators, a builder for functions, modules."""
