"""The operators and methods of tensors as type checkers see them: ``interface.pyi`` declares them.

They are functions that make tensors, in files above the class of tensors, so :mod:`nervure.front.methods` attaches
them to it.

>>> import nervure as nv
>>> issubclass(nv.Tensor, Interface)
True
"""

from __future__ import annotations


class Interface:
    """The operators and methods of a Tensor."""

    __slots__ = ()
