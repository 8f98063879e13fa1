"""Locks, lazy attributes, atomic files, names from other libraries: for every layer, and free of tensors."""
