"""Storages: what there is memory for, and where an element lies."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.kernel.coordinates import Flat
from nervure.kernel.lower import BufferAssignment
from nervure.kernel.lower.kernel_builder import place_in
from nervure.memory.storage import Storage, StorageKind
from nervure.types.dim import index
from nervure.types.layout import Layout, column_major, row_major
from tests.arrays import normal
from tests.kernel.loops_transformer import Loops


def storage(shape, layout=None, kind=StorageKind.TEMPORARY):
    return Storage(kind, nv.float32, shape, 0, layout)


def test_padding_is_memory():
    assert storage((2, 3)).size == 6 and storage((2, 3)).allocated == (2, 3)
    padded = storage((2, 3), row_major((2, 3), sizes=(2, 4)))
    assert padded.size == 8 and padded.allocated == (2, 4)
    assert storage((2, 3), Layout((1, 2))).size == 6


def test_what_a_call_makes_for_itself():
    assert {kind for kind in StorageKind if storage((2,), kind=kind).is_of_call} == {
        StorageKind.TEMPORARY, StorageKind.DERIVED}


@pytest.mark.parametrize("layout", [None, row_major((2, 3), sizes=(2, 8)), column_major((2, 3)), Layout((3, -1), 2)])
def test_the_place_of_each_element(layout):
    place = (layout or row_major((2, 3))).place
    for row in range(2):
        for column in range(3):
            assert place_in(storage((2, 3), layout), (row, column), (2, 3)) == place((row, column))
            assert place_in(storage((2, 3), layout), Flat(3 * row + column), (2, 3)) == place((row, column))
            number = 3 * row + column
            assert place_in(storage((2, 3), layout), (number // 2, number % 2), (3, 2)) == place((row, column))
    assert place_in(storage((2, 3), layout), (index(0), index(1)), (2, 3)) == place((index(0), index(1)))


LAYOUTS = {"padded": lambda shape: row_major(shape, sizes=[length + 5 for length in shape]), "columns": column_major}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_kernels_write_and_read_where_a_layout_says(layout, monkeypatch):
    """Each of these stores values between its kernels: of loops, blocks, reshapes, segments and scatters."""
    made = []

    def laid_out(memory: BufferAssignment, dtype, shape, value) -> Storage:
        is_whole = shape == value.shape and dtype is value.dtype
        made.append(Storage(StorageKind.TEMPORARY, dtype, shape, len(memory.held), layout(shape) if is_whole else None))
        memory.held[made[-1]] = value
        return made[-1]

    x, y, k = nv.Parameter(nv.float32, (6, 4)), nv.Parameter(nv.float32, (2, 4_200)), nv.Parameter(nv.int64, (3,))
    e = ops.Exp(x)
    results = [ops.Sum(e, [1]), ops.Sum(e, [0]), ops.Reshape(ops.Sin(ops.Reshape(e, (3, 8))), (2, 12)),
               ops.Exp(ops.Concatenate(e, e * 2.0, axis=1)), ops.Exp(ops.Gather(ops.Reverse(e, [0]), k, 0)),
               ops.Exp(ops.Scatter(e, k, ops.Gather(e, k, 0), 0, "add")),
               ops.Exp(ops.Sum(ops.Exp(y), [1])), ops.Sum(ops.Exp(y), [0])]
    function = nv.Function(results, [x, y, k])
    arguments = [normal(6, 4), normal(2, 4_200), np.array([5, 0, 5])]
    with Loops() as loops:
        expected = loops.compile(function)(arguments)
        monkeypatch.setattr(BufferAssignment, "temporary", laid_out)
        got = loops.compile(function)(arguments)
    assert [each.tobytes() for each in got] == [each.tobytes() for each in expected]
    assert len([each for each in made if each.layout is not None]) >= 4
