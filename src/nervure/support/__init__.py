"""Locks, lazy attributes, files written whole, names from other libraries: for every layer, and free of tensors."""
