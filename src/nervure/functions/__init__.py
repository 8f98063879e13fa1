"""Functions of functions: each takes a function of tensors and gives another, which computes or extends a graph.

>>> import nervure as nv
>>> nv.grad(nv.jit(lambda x: x ** 3))(2.0).item()
12.0
"""
