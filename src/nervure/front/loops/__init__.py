"""Loops and branches over tensors, and what is computed again in place of being kept."""
