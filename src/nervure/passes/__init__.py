"""Passes: each turns a Function into an equivalent Function in a better form.

``pattern`` and ``rewrite`` are the language in which most of them are written, ``manager`` runs lists of them, and
``pipelines`` holds the lists.

>>> import nervure as nv
>>> from nervure.passes.algebra import algebra
>>> x = nv.Parameter(nv.float32, (2,))
>>> algebra(nv.Function([x * 1.0], [x])).results[0].op is x
True
"""
