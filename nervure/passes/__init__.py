"""Functions to functions."""
