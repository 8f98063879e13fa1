"""Passes: each turns a Function into a Function that computes the same and says it better.

``pattern`` and ``rewrite`` are the language that most of them are written in, ``manager`` runs lists of them, and
``pipelines`` holds the lists.

>>> import nervure as nv
>>> from nervure.passes.algebra import algebra
>>> x = nv.Parameter(nv.float32, (2,))
>>> algebra(nv.Function([x * 1.0], [x])).results[0].op is x
True
"""
