"""The structured form as its definition reads: a loop over the domain, one element at a time. An oracle for tests."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from nervure.ir.kinds import Access, Element, Structure
from nervure.transformers.interpreter.scalar import NumPyScalars
from nervure.types.dim import evaluate

COMBINE = {
    "add": lambda a, b: a + b, "multiply": lambda a, b: a * b, "maximum": np.maximum, "minimum": np.minimum,
    "and": lambda a, b: a & b, "or": lambda a, b: a | b, "set": lambda a, b: b, None: lambda a, b: b}


def coordinates(access: Access, point: dict[str, int], operands: list[np.ndarray]) -> tuple[int, ...]:
    found = []
    for entry in access.coordinates:
        if isinstance(entry, Element):
            place = int(operands[entry.operand][tuple(evaluate(part, point) for part in entry.coordinates)])
            bound = evaluate(entry.bound, point)
            if not -bound <= place < bound:
                raise IndexError(place)
            found.append(place + bound if place < 0 else place)
        else:
            found.append(evaluate(entry, point))
    return tuple(found)


def inside(place: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    return all(0 <= entry < length for entry, length in zip(place, shape, strict=True))


def element(access: Access, point: dict[str, int], array: np.ndarray, operands: list[np.ndarray]) -> Any:
    place = coordinates(access, point, operands)
    return array[place] if inside(place, array.shape) else array.dtype.type(access.fill)


def run(structure: Structure, operands: list[np.ndarray], outputs: list[np.ndarray]) -> list[np.ndarray]:
    """``outputs`` hold the unit or the initial value."""
    outputs = [array.copy() for array in outputs]
    for index in product(*[range(length) for length in structure.domain]):
        point = {f"%{d}": k for d, k in enumerate(index)}
        scalars = NumPyScalars(lambda expression, point=point: evaluate(expression, point))
        values = structure.body(scalars, *[element(access, point, array, operands) for access, array
                                           in zip(structure.reads, operands, strict=True) if access is not None])
        values = values if isinstance(values, tuple) else (values,)
        for write, output, value in zip(structure.writes, outputs, values, strict=True):
            place = coordinates(write, point, operands)
            if inside(place, output.shape):
                with np.errstate(all="ignore"):
                    output[place] = COMBINE[structure.combine](output[place], value)
            else:
                assert write.drop
    return outputs
