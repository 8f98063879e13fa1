"""Files on disk: tensors, functions with their state, computations, and state dicts in the formats that others use."""
