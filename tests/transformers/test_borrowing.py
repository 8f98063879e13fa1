"""Variables that lie in memory which their owner keeps, with versions that the owner states."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import nervure as nv
from nervure.errors import InUse, InvalidArgument, ShapeMismatch, WrongKind
from nervure.types.dim import dim
from nervure.types.dlpack import CPU, lend

W = np.linspace(-1, 1, 600 * 70, dtype=np.float32).reshape(600, 70)


class Lent:
    """What shares its memory by DLPack alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **keywords):
        return lend(self.array, **keywords)

    def __dlpack_device__(self):
        return CPU


class Seen:
    """What shares its memory by the interface of arrays alone."""

    def __init__(self, array):
        self.array = array

    @property
    def __array_interface__(self):
        return self.array.__array_interface__


def prediction(transformer, rows):
    x, w = nv.placeholder((rows, 70)), nv.variable((600, 70))
    return transformer.computation(nv.dot(x, w.T), x), w


@pytest.mark.parametrize("rows", [4, dim("n")])
def test_a_weight_is_packed_once_for_each_version(cpu, rows):
    """Q39: neither calls nor the same statement once more pack again; another version, or other memory, does."""
    predict, w = prediction(cpu, rows)
    theirs, x = W.copy(), np.linspace(0, 1, 280, dtype=np.float32).reshape(4, 70)
    runs = []
    for version, change in [(0, 0), (0, 0), (1, 2), (1, 0), (0, 3), (7, 0)]:
        theirs += change
        cpu.borrow(w, theirs, version=version)
        for _ in range(3):
            np.testing.assert_allclose(predict(x), x @ theirs.T, rtol=1e-4, atol=1e-3)
        runs += [panel.runs for panel in predict.executable.report().panels]
    assert runs == [1, 1, 2, 2, 3, 4]
    other = theirs * 2
    cpu.borrow(w, other, version=7)
    np.testing.assert_allclose(predict(x), x @ other.T, rtol=1e-4, atol=1e-3)
    assert [panel.runs for panel in predict.executable.report().panels] == [5]


def test_calls_that_read_what_is_borrowed_take_the_fast_way(cpu, monkeypatch):
    predict, w = prediction(cpu, 4)
    x = np.ones((4, 70), np.float32)
    cpu.borrow(w, W, version=3)
    predict(x)
    predict(x)
    monkeypatch.setattr(type(predict.executable), "run", None)
    np.testing.assert_allclose(predict(x), x @ W.T, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("kind", [lambda array: array, Lent, Seen])
@pytest.mark.parametrize("dtype", [np.float32, np.int64, ml_dtypes.bfloat16])
def test_memory_is_shared_in_both_directions(transformer, kind, dtype):
    """Q39: what the owner writes is seen from the next statement on, what calls store lies in the owner's memory."""
    if kind is Seen and dtype is ml_dtypes.bfloat16:
        pytest.skip("the interface of arrays has no name for this type")
    count, x = nv.persistent_tensor((3,), dtype=dtype), nv.placeholder((3,), dtype=dtype)
    add = transformer.computation([nv.assign(count, count + x), count * 1], x)
    theirs, ones = np.array([1, 2, 3], dtype), np.ones(3, dtype)
    transformer.borrow(count, kind(theirs), version=0)
    for turn in range(1, 5):
        assert add(ones)[1].tolist() == [1 + turn, 2 + turn, 3 + turn] == theirs.tolist()
    theirs[:] = 0
    transformer.borrow(count, kind(theirs), version=1)
    assert add(ones)[1].tolist() == [1, 1, 1] == theirs.tolist() == transformer.get(count).tolist()
    transformer.set(count, [4, 5, 6])
    assert theirs.tolist() == [4, 5, 6]


def test_a_new_value_that_is_no_update_lies_in_the_owners_memory(transformer):
    """The value of a product cannot be made in place; it is stored there at the end."""
    w = nv.variable((3, 3))
    square = transformer.computation(nv.assign(w, nv.dot(w, w)))
    theirs = np.eye(3, dtype=np.float32) * 2
    transformer.borrow(w, theirs, version=0)
    for power in (2, 4, 8):
        square()
        np.testing.assert_array_equal(theirs, np.eye(3) * 2.0 ** power)


def test_an_argument_in_the_same_memory_is_read_as_it_was(transformer):
    """An argument may be the variable's own memory, or a part of it: it has its elements from before the call."""
    v, w, x = nv.variable((4,)), nv.variable((4,)), nv.placeholder((4,))
    step = transformer.computation([nv.assign(v, v + 1), nv.assign(w, w - x), x * 2], x)
    ours, theirs = np.zeros(4, np.float32), np.zeros(4, np.float32)
    transformer.borrow(v, theirs, version=0)
    transformer.borrow(w, ours, version=0)
    for turn in range(4):
        assert step(theirs)[2].tolist() == [2.0 * turn] * 4
        assert theirs.tolist() == [turn + 1.0] * 4 and ours.tolist() == [-turn * (turn + 1) / 2] * 4


def test_a_failed_call_changes_nothing(transformer):
    w, index = nv.variable((4,)), nv.placeholder((1,), dtype="int64")
    step = transformer.computation([nv.assign(w, w + 1), nv.gather(w, index, 0)], index)
    theirs = np.zeros(4, np.float32)
    transformer.borrow(w, theirs, version=0)
    step(np.array([1]))
    with pytest.raises(nv.IndexOutOfRange):
        step(np.array([9]))
    assert theirs.tolist() == [1] * 4


def test_copies_of_the_state_do_not_share_the_memory(transformer, tmp_path):
    w = nv.variable((4,))
    read = transformer.computation(w * 1)
    theirs = np.arange(4, dtype=np.float32)
    transformer.borrow(w, theirs, version=0)
    kept, copied = transformer.snapshot([w.variable])[w.variable], transformer.get(w)
    nv.save(str(tmp_path / "w.safetensors"), read)
    theirs += 1
    assert kept.tolist() == copied.tolist() == nv.load(str(tmp_path / "w.safetensors"))().tolist() == [0, 1, 2, 3]


def test_the_initial_value_is_not_computed(transformer):
    """Borrowed memory stands in its place; so a model of any size may be made without drawing its weights."""
    drawn = []
    w = nv.variable((4,), initial_value=lambda axes: drawn.append(axes) or np.zeros(4))
    transformer.borrow(w, np.ones(4, np.float32), version=0)
    assert transformer.computation(w * 2)().tolist() == [2] * 4 and drawn == []


def test_read_only_memory_can_be_borrowed_and_not_written(transformer):
    w = nv.variable((4,))
    theirs = np.arange(4, dtype=np.float32)
    theirs.flags.writeable = False
    transformer.borrow(w, theirs, version=0)
    assert transformer.computation(w * 2)().tolist() == [0, 2, 4, 6]
    for write in (transformer.computation(nv.assign(w, w + 1)), lambda: transformer.set(w, [1, 1, 1, 1])):
        with pytest.raises(InvalidArgument, match="the memory that this variable borrows is read-only"):
            write()
    assert theirs.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(("array", "version", "kind", "message"), [
    (lambda: np.zeros((2, 3), np.float64), 0, WrongKind, "element type"),
    (lambda: np.zeros((3, 2), np.float32), 0, ShapeMismatch, "shape"),
    (lambda: np.zeros((3, 2), np.float32).T, 0, InvalidArgument, "lies as that of its variable"),
    (lambda: np.zeros((2, 6), np.float32)[:, ::2], 0, InvalidArgument, "lies as that of its variable"),
    (lambda: np.zeros(25, np.int8)[1:].view(np.float32).reshape(2, 3), 0, InvalidArgument, "lies as"),
    (lambda: [[0.0] * 3] * 2, 0, WrongKind, "shares its memory"),
    (lambda: None, 0, WrongKind, "shares its memory"),
    (lambda: np.zeros((2, 3), np.float32), 0.5, WrongKind, "a version is an integer"),
    (lambda: np.zeros((2, 3), np.float32), None, WrongKind, "a version is an integer"),
])
def test_what_does_not_fit_is_refused(transformer, array, version, kind, message):
    """Q40."""
    w = nv.variable((2, 3), 1.0).named("weights")
    with pytest.raises(kind, match=message) as caught:
        transformer.borrow(w, array(), version=version)
    assert caught.value.operand == "weights" and caught.value.help and caught.value.location.file == __file__
    assert (transformer.get(w) == 1).all()


def test_two_variables_do_not_share_memory(transformer):
    """Q40: neither two that borrow, nor one that borrows the storage of another one."""
    v, w = nv.variable((4,), 1.0).named("v"), nv.variable((4,), 2.0).named("w")
    theirs = np.zeros(6, np.float32)
    transformer.borrow(v, theirs[:4], version=0)
    with pytest.raises(InvalidArgument, match="two variables share memory") as caught:
        transformer.borrow(w, theirs[2:], version=0)
    assert "v" in caught.value.got and transformer.get(w).tolist() == [2] * 4
    transformer.borrow(v, np.zeros(4, np.float32), version=0)
    transformer.borrow(w, theirs[2:], version=0)


def test_memory_is_not_borrowed_in_the_middle_of_a_call(transformer):
    w = nv.variable((2,), 1.0)
    inside = nv.host_call(lambda array: transformer.borrow(w, np.zeros(2, np.float32), version=0) or array, [w], like=w)
    with pytest.raises(InUse):
        transformer.computation([inside, nv.assign(w, w * 2)])()
    assert transformer.get(w).tolist() == [1, 1]


def test_a_variable_in_another_order_borrows_such_memory(cpu):
    w, x = nv.variable((3, 2), layout="F"), nv.placeholder((2,))
    product = cpu.computation(nv.dot(w, x), x)
    theirs = np.asfortranarray(np.arange(6, dtype=np.float32).reshape(3, 2))
    cpu.borrow(w, theirs, version=0)
    np.testing.assert_array_equal(product(np.float32([1, 2])), theirs @ np.float32([1, 2]))
    with pytest.raises(InvalidArgument, match="lies as that of its variable"):
        cpu.borrow(w, np.ascontiguousarray(theirs), version=0)
