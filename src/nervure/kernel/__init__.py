"""Loops: what a kernel is before it becomes machine code."""
