"""Files on disk: tensors, functions with their state, computations, and state dicts in several formats."""
