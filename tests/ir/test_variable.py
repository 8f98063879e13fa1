"""Initial values: whose memory they are, and how much."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import nervure as nv
from nervure.ir.variable import Variable
from nervure.types.description import BasicTensorDescription

LONG = (300, 500)


def variable(shape, initial, dtype="float32"):
    return Variable(BasicTensorDescription(dtype, shape), initial)


def test_what_the_front_copied_is_the_initial_value_itself():
    given = np.arange(6.0).reshape(2, 3).astype(np.float32)
    for axes in ("A=2, B=3", (2, 3)):
        made = nv.variable(axes, given).variable
        assert made.initial_value() is made.initial and not np.shares_memory(made.initial, given)
        assert not made.initial.flags.writeable


def test_an_array_that_somebody_may_write_is_copied():
    given = np.ones((2, 3), np.float32)
    read_only = given[:]
    read_only.flags.writeable = False
    for initial in (given, read_only):
        made = variable((2, 3), initial)
        assert not np.shares_memory(made.initial_value(), given)


def test_what_nobody_can_write_any_more_is_kept():
    """So is a file's array, which views the bytes that were read."""
    owner = np.zeros(24, np.uint8)
    owner.flags.writeable = False
    view = owner.view(np.float32).reshape(2, 3)
    assert np.shares_memory(variable((2, 3), view).initial_value(), owner)
    assert not np.shares_memory(variable((3, 2), view.T).initial_value(), owner)


def test_the_values_of_a_file_are_not_copied(tmp_path):
    w = nv.variable(LONG, np.ones(LONG, np.float32))
    nv.save(tmp_path / "f", nv.computation(w * 2))
    tracemalloc.start()
    loaded = nv.load(tmp_path / "f")
    values = [place.initial_value() for place in loaded.function.variables]
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(values) == 1 and values[0].nbytes < most < 2 * values[0].nbytes


@pytest.mark.parametrize("shape", [(), (0,), (3,), LONG])
@pytest.mark.parametrize("initial", [None, 0, 0.0, -0.0, 2.5])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "bool"])
def test_a_number_fills_any_shape(shape, initial, dtype):
    made = variable(shape, initial, dtype)
    value, numpy = made.initial_value(), made.type.dtype.numpy
    expected = np.full(shape, np.asarray(initial or (0 if initial is None else initial)).astype(numpy), numpy)
    assert value.tobytes() == expected.tobytes() and value.dtype == numpy and value.shape == shape
    assert value.flags.c_contiguous and not value.flags.writeable and made.initial_value() is value


def test_many_zeros_take_no_memory_until_they_are_written():
    """A momentum starts from zeros that are read once."""
    pages = []
    for initial in (None, 1.0):
        made = variable((1 << 22,), initial).initial_value()
        start = made.ctypes.data
        with open("/proc/self/smaps", encoding="ascii") as lines:
            pages.append(_resident(lines, start, made.nbytes) if made.sum() >= 0 else None)
    assert pages[0] == 0 < pages[1]


def _resident(lines, start, size):
    """The bytes in memory of the mappings that lie in a range."""
    inside, total = False, 0
    for line in lines:
        head, *rest = line.split()
        if "-" in head and not head.endswith(":"):
            first, last = [int(part, 16) for part in head.split("-")]
            inside = first < start + size and start < last
        elif inside and head == "Rss:":
            total += int(rest[0]) * 1024
    return total


@pytest.mark.parametrize("given", ["float64", "float32"])
def test_an_array_is_converted_into_the_memory_that_stays(given):
    array = np.full(1 << 20, 1 / 3, given)
    tracemalloc.start()
    try:
        value = variable(array.shape, array).initial_value()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert np.array_equal(value, array.astype(np.float32)) and peak < 1.25 * value.nbytes


def test_zeros_become_variables_that_are_written():
    w = nv.variable({"A": LONG[0], "B": LONG[1]}, 1.0)
    with nv.transformers.make_transformer("cpu") as cpu:
        loss = nv.sum(w * w, out_axes=())
        step = cpu.computation([loss, nv.optim.SGD(0.25, momentum=0.5)(loss)])
        assert [float(step()[0]) for _ in range(3)] == [150000.0, 37500.0, 0.0]
