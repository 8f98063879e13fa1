"""The loop IR: the form of a kernel before it becomes machine code."""
