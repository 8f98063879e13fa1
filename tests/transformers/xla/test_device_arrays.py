"""Arguments and results that lie on the device: no copies, and nothing that a later call could change."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv

jax = pytest.importorskip("jax", reason="jax is not installed")


def place_of(array):
    return array.unsafe_buffer_pointer()


def test_results_stay_on_the_device(xla):
    """X10"""
    x = nv.placeholder({"N": nv.dim("n"), "F": 3})
    double = nv.computation([x + x, nv.sum(x, out_axes=())], x, transformer=xla, results="device")
    first, total = double(np.ones((2, 3), np.float32))
    assert isinstance(first, jax.Array) and isinstance(total, jax.Array) and total.item() == 6
    again, _ = double(first)
    assert np.asarray(again).tolist() == [[4] * 3] * 2
    assert np.from_dlpack(first).tolist() == [[2] * 3] * 2


def test_results_of_64_bits_stay_so(xla):
    """X1, X10"""
    x = nv.placeholder((2,), dtype=nv.float64)
    given = nv.computation(x / 3, x, transformer=xla, results="device")([1, 2])
    assert given.dtype == np.float64 and nv.computation(x * 3, x, transformer=xla)(given).tolist() == [1, 2]


def test_arguments_of_jax_are_taken_where_they_lie(xla, monkeypatch):
    """X10: without a copy, as those of other libraries through DLPack."""
    from nervure.transformers.xla.device_binding import taken
    mine = jax.numpy.ones(64, "float32")
    assert place_of(taken(mine, xla.device)) == place_of(mine)

    class Foreign:
        def __dlpack__(self, **keywords):
            return mine.__dlpack__(**keywords)

        def __dlpack_device__(self):
            return mine.__dlpack_device__()
    assert place_of(taken(Foreign(), xla.device)) == place_of(mine)
    x = nv.placeholder((64,))
    double = nv.computation(x + x, x, transformer=xla)
    monkeypatch.setattr(jax.Array, "__array__", None, raising=False)  # nothing is read by NumPy
    assert double(mine).tolist() == double(Foreign()).tolist() == [2] * 64


def test_arguments_of_jax_are_checked_and_converted_like_others(xla):
    """X10"""
    x = nv.placeholder((2,)).named("x")
    double = nv.computation(x + x, x, transformer=xla)
    assert double(jax.numpy.asarray([1, 2], "float16")).tolist() == [2, 4]
    with pytest.raises(nv.ShapeMismatch, match="axis 0 of the argument has another length") as caught:
        double(jax.numpy.ones(3))
    assert caught.value.got == "(3,)"
    with pytest.raises(nv.WrongKind, match="complex64 elements are not converted to float32"):
        double(jax.numpy.ones(2, "complex64"))
    with pytest.raises(nv.WrongKind, match="NumPy does not read this as an array of numbers"):
        double(jax.random.split(jax.random.key(0), 2))


@pytest.mark.parametrize("jax_gives", [False, True])
def test_what_is_given_and_kept_is_apart(xla, jax_gives):
    """X10: a later call gives the memory of a variable away; results and arguments stay as they are."""
    x, w = nv.placeholder((64,)), nv.variable((64,), 1.0)
    step = nv.computation([x, w + 0, nv.assign(w, x), w, w], x, transformer=xla, results="device")
    read = nv.computation(w, transformer=xla, results="device")
    given = np.full(64, 5, np.float32)
    given = jax.numpy.asarray(given) if jax_gives else given
    before = read()
    taken = [each for each in step(given) if each is not None]
    between = read()
    grow = nv.computation(nv.assign(w, w + 1), transformer=xla)
    grow(), grow()
    if not jax_gives:
        given[:] = 9
    assert [np.asarray(each)[0] for each in (before, *taken, between)] == [1, 5, 1, 5, 5, 5]
    assert xla.get(w)[0] == 7 and given[0] == (5 if jax_gives else 9)


def test_variables_change_places(xla):
    """X2: each has memory of its own, whichever was given away."""
    a, b = nv.variable((64,), 1.0), nv.variable((64,), 2.0)
    first, second = nv.ops.ReadVariable(a.variable).output, nv.ops.ReadVariable(b.variable).output
    swap = xla.compile(nv.Function([], [], updates=[(a.variable, second), (b.variable, first)]))
    swap(), swap(), swap()
    assert (xla.get(a)[0], xla.get(b)[0]) == (2, 1)


def test_jit_leaves_arrays_on_the_device(xla):
    """X10"""
    @nv.jit(transformer=xla, results="device")
    def scaled(tree, factor):
        return {"y": tree["x"] * factor, "n": 3}
    found = scaled({"x": jax.numpy.ones(2)}, 2)
    assert isinstance(found["y"], jax.Array) and found["n"] == 3
    assert np.asarray(scaled(found | {"x": found["y"]}, 3)["y"]).tolist() == [6, 6]


def test_nan_are_checked_for_results_that_stay(xla):
    """X1, X10"""
    x = nv.placeholder((2,))
    half = nv.computation(nv.log(x), x, transformer=xla, results="device")
    with nv.flags.overriding(check_nan=True):
        assert isinstance(half(jax.numpy.ones(2)), jax.Array)
        with pytest.raises(nv.NumericError):
            half(jax.numpy.zeros(2) - 1)


def test_results_in_memory_are_arrays_of_numpy(transformer):
    """X10: the device of the other transformers is memory."""
    x = nv.placeholder((2,))
    assert type(nv.computation(x + x, x, transformer=transformer, results="device")([1, 2])) is np.ndarray


def test_other_forms_of_results_are_refused(xla):
    """X10"""
    x = nv.placeholder((2,))
    with pytest.raises(nv.InvalidArgument, match="results are arrays of NumPy, or of the device") as caught:
        nv.computation(x + x, x, results="devise")
    assert caught.value.help == "did you mean device?" and caught.value.operand == "results"
    stays = nv.computation(x + x, x, transformer=xla, results="device")
    with pytest.raises(nv.InvalidArgument, match=r"have no arrays of NumPy"):
        stays.executable(np.ones(2, np.float32), out=[np.zeros(2, np.float32)])
    with nv.devices(nv.XLATensor, nv.CPUTensor):
        mixed = x + x
    with pytest.raises(nv.NotSupported, match="results of several devices are arrays of NumPy"):
        nv.computation(mixed, x, results="device")


@pytest.mark.parametrize("results", ["numpy", "device"])
def test_a_fast_call_is_a_slow_one(xla, results):
    """X1, X10: a program without state has an entry of its own for arrays that fit; all others go the usual way."""
    x, y = nv.placeholder((2,)), nv.placeholder((2,), dtype=nv.int64)
    both = nv.computation([x + x, y + 1], x, y, transformer=xla, results=results)
    one = nv.computation(x + x, x, transformer=xla, results=results)
    kind = np.ndarray if results == "numpy" else jax.Array
    given, counts = np.float32([1, 2]), np.int64([2**40, 1])
    for _ in range(3):
        found = both(given, counts)
        assert all(isinstance(each, kind) for each in found) and isinstance(one(given), kind)
        assert [np.asarray(each).tolist() for each in found] == [[2, 4], [2**40 + 1, 2]]
        assert np.asarray(one(jax.numpy.asarray(given))).tolist() == [2, 4]
    assert np.asarray(one([1, 2])).tolist() == [2, 4]
    with pytest.raises(nv.ShapeMismatch):
        one(np.ones(3, np.float32))
    with pytest.raises(nv.InvalidArgument, match="wrong number of arguments"):
        both(given)
    root = nv.computation(nv.log(x), x, transformer=xla, results=results)
    root(given), root(given)
    with nv.flags.overriding(check_nan=True), pytest.raises(nv.NumericError):
        root(np.float32([-1, 1]))
    with jax.default_device(jax.devices()[0]):
        assert np.asarray(one(given)).tolist() == [2, 4]
    xla.close()
    with pytest.raises(nv.InvalidArgument, match="the transformer is closed"):
        one(given)


def test_what_may_fail_has_no_fast_entry(xla):
    """X3"""
    x, n = nv.placeholder((3,)), nv.placeholder((), dtype=nv.int64)
    chosen = nv.computation(nv.gather(x, n, 0), x, n, transformer=xla)
    for _ in range(3):
        assert chosen(np.float32([1, 2, 3]), np.int64(2)).item() == 3
        with pytest.raises(nv.IndexOutOfRange):
            chosen(np.float32([1, 2, 3]), np.int64(3))
