"""The interpreter: the reference for the meaning of each op, over NumPy. It prefers clarity to speed."""
