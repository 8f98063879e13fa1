"""Devices as users write them: elements in lists, which offer no buffer, and in array.array, which does."""

from __future__ import annotations

import array
import itertools
import math
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

import nervure as nv
from nervure.ir import device as tables


class Lists(nv.AbstractTensor):
    """Elements in a list."""

    freed: list[int] = []

    def allocate(self, shape, dtype, initial_element=None, vec=None):
        return [initial_element or 0] * math.prod(shape) if vec is None else vec

    def vref(self, i):
        return self.storage[i]

    def set_vref(self, i, value):
        self.storage[i] = value

    def finalizer(self):
        self.freed.append(self.count)


class Arrays(Lists):
    """Elements in an array.array, which inherits only the hooks for single elements."""

    freed: list[int] = []

    def allocate(self, shape, dtype, initial_element=None, vec=None):
        code = "B" if dtype is nv.bool_ else dtype.numpy.char
        return array.array(code, [initial_element or 0]) * math.prod(shape) if vec is None else vec


class Bytes(nv.AbstractTensor):
    """Elements as plain bytes."""

    def allocate(self, shape, dtype, initial_element=None, vec=None):
        return bytearray(math.prod(shape) * dtype.itemsize) if vec is None else vec

    def vref(self, i):
        return np.frombuffer(self.storage, self.dtype.numpy)[i].item()

    def set_vref(self, i, value):
        np.frombuffer(self.storage, self.dtype.numpy)[i] = value


class Idle(nv.AbstractTensor):
    """Implements no op."""


def places(*tensors) -> Iterator[list[int]]:
    """Where the elements at each index lie."""
    for index in itertools.product(*[range(length) for length in tensors[0].shape]):
        yield [x.offset + sum(map(int.__mul__, index, x.strides)) for x in tensors]


@contextmanager
def forgetting() -> Iterator[None]:
    """What is declared for devices inside is forgotten afterwards."""
    kept = dict(tables.implementations), dict(tables.conversions)
    try:
        yield
    finally:
        for table, before in zip((tables.implementations, tables.conversions), kept, strict=True):
            table.clear()
            table.update(before)


def implement_sums(*devices: type) -> None:
    """Add, Multiply and Negative for some devices."""
    for device in devices:
        @nv.implement(nv.ops.Add, device=device)
        def add(op, x, y, out):
            for i, j, k in places(x, y, out):
                out.set_vref(k, x.vref(i) + y.vref(j))

        @nv.implement(nv.ops.Multiply, device=device)
        def multiply(op, x, y, out):
            for i, j, k in places(x, y, out):
                out.set_vref(k, x.vref(i) * y.vref(j))

        @nv.implement(nv.ops.Negative, device=device)
        def negative(op, x, out):
            for i, k in places(x, out):
                out.set_vref(k, -x.vref(i))
