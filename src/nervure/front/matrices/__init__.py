"""Sums of products, and matrices: their factors, functions, subspaces and systems of equations."""
