"""Reports on the machine and on computations: the kernels of a computation, its times, and their presentation."""
