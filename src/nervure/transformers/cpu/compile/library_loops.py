"""Loops of NumPy's as machine code that needs no Python: where they are, and what they read.

A generalised function of NumPy holds a table of loops, one for each list of element types, and data for each. Their
offsets in the function's memory are those of ``PyUFuncObject``, which NumPy's C headers declare.

>>> import numpy as np
>>> from numpy.linalg import _umath_linalg
>>> loop, data = addresses(_umath_linalg.solve, "dd->d")
>>> loop != 0
True
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from nervure.errors import NotSupported
from nervure.ops.library_op import LibraryOp
from nervure.transformers.cpu.runtime.library_calls import LibrarySize
from nervure.types.dim import DimLike, product

_NIN, _NOUT, _FUNCTIONS, _DATA, _NTYPES = 16, 20, 32, 40, 48
_BITS = {4: (0x7F800000, 0x7FFFFFFF), 8: (0x7FF0000000000000, 0x7FFFFFFFFFFFFFFF)}
"""By the bytes of a float the bits of infinity, and all bits but the sign."""


def addresses(function: np.ufunc, types: str) -> tuple[int, int]:
    """Returns the addresses of a function's loop for these element types, and of the loop's data.

    NotSupported where the memory of the function is not as NumPy 2 declares it.
    """
    start = id(function)
    known = [ctypes.c_int.from_address(start + offset).value for offset in (_NIN, _NOUT, _NTYPES)]
    if known != [function.nin, function.nout, function.ntypes] or types not in function.types:
        raise NotSupported("this version of NumPy has no such loop", op=function.__name__, got=np.__version__,
                           expected=f"a loop for {types}", help="the interpreter calls the function itself")
    number = function.types.index(types)
    found = []
    for offset in (_FUNCTIONS, _DATA):
        table = ctypes.c_void_p.from_address(start + offset).value
        entry = ctypes.c_void_p.from_address(table + 8 * number).value if table else None
        found.append(entry or 0)
    return found[0], found[1]


def library_sizes(op: LibraryOp, places: Sequence[int]) -> tuple[DimLike, ...]:
    """Returns the sizes of a step that calls the loop of an op, whose operands and results lie at these ``places``."""
    values, cores = [*op.operands, *op.outputs], op.core_shapes()
    batch = op.operands[0].shape[:op.operands[0].rank - len(cores[0])]
    taken = [*range(len(op.operands) if op.writes_first else 0, len(values))]  # a copy stands for what is overwritten
    arguments = [places[at] for at in taken]
    outer = [product(cores[at]) * values[at].dtype.itemsize for at in taken]
    inner = [stride for at in taken for stride in _strides(cores[at], values[at].dtype.itemsize)]
    part = op.operands[0].dtype.part.itemsize
    checked = [(places[at], product(core) * value.dtype.itemsize, product(core) * (value.dtype.itemsize // part))
               for at, (value, core) in enumerate(zip(op.operands, cores, strict=False))] if op.failure else []
    if op.scale:
        arguments.insert(len(op.operands), 0)  # filled in below
        outer.insert(len(op.operands), 0)
    lengths = len(LibrarySize) + len(arguments) + 3 * len(checked)
    steps = lengths + 1 + len(op.core_lengths)
    if op.scale:
        arguments[len(op.operands)] = -(steps + len(outer) + len(inner))
    result, target = values[len(op.operands)], places[len(op.operands)]
    copied = product(result.shape) * result.dtype.itemsize if op.writes_first else 0
    head: list[DimLike] = [
        0, 0, len(arguments), lengths, steps, copied, places[0], target, product(batch), part if checked else 0,
        *_BITS[part], product(cores[len(op.operands)]) * result.dtype.itemsize, len(checked)]
    return (*head, *arguments, *[number for entry in checked for number in entry], product(batch), *op.core_lengths,
            *outer, *inner, int.from_bytes(op.factor.tobytes(), "little"))


def _strides(core: Sequence[DimLike], itemsize: int) -> list[DimLike]:
    """Returns the bytes from element to element along each core dimension, row-major."""
    found: list[DimLike] = []
    step: DimLike = itemsize
    for length in reversed(core):
        found.insert(0, step)
        step = step * length
    return found
