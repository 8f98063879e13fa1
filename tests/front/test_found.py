"""Masks, positions, repetition and different elements: against NumPy, on all transformers, and what is refused."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nervure as nv
from nervure.types.element_groups import ANY
from tests.conformance.running import transformer

TRANSFORMERS = ["interpreter", "cpu"]

N = nv.dim("n")
SIZES = [5, 1, 300, 0, 20_000, 8]


def masks(rng: np.random.Generator, *shape: int) -> list[np.ndarray]:
    """Random masks, and those of nothing and of everything."""
    return [rng.random(shape) < share for share in (0.4, 0.0, 1.0)]


CASES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "mask": (lambda x, m: x[m], lambda x, m: x[m]),
    "full mask": (lambda x, m: x[x > 0], lambda x, m: x[x > 0]),
    "nonzero": (lambda x, m: nv.nonzero(x > 0)[1], lambda x, m: np.nonzero(x > 0)[1]),
    "argwhere": (lambda x, m: nv.argwhere(x > 0), lambda x, m: np.argwhere(x > 0)),
    "flatnonzero": (lambda x, m: nv.flatnonzero(x > 0), lambda x, m: np.flatnonzero(x > 0)),
    "compress": (lambda x, m: nv.compress(m, x, axis=0), lambda x, m: np.compress(m, x, axis=0)),
    "sum": (lambda x, m: nv.sum(x[m], axis=0), lambda x, m: x[m].sum(0)),
    "count": (lambda x, m: nv.sum(nv.ones(x[m].shape[:1])), lambda x, m: np.float32(m.sum())),
    "elementwise": (lambda x, m: nv.exp(x[m]) - x[m][:, :1], lambda x, m: np.exp(x[m]) - x[m][:, :1]),
    "softmax": (lambda x, m: nv.softmax(x[m], axis=1), lambda x, m: softmax(x[m])),
    "product": (lambda x, m: x[m] @ nv.constant(W), lambda x, m: x[m] @ W),
    "contraction": (lambda x, m: x[m].T @ x[m], lambda x, m: x[m].T @ x[m]),
    "concatenate": (lambda x, m: nv.concatenate([x[m], x], axis=0), lambda x, m: np.concatenate([x[m], x])),
    "transpose": (lambda x, m: nv.reverse(x[m]).T + 1, lambda x, m: x[m][::-1, ::-1].T + 1),
    "twice": (lambda x, m: twice(x[m][:, 0]), lambda x, m: twice(x[m][:, 0])),
    "scatter": (lambda x, m: x.at[m].set(7.0), lambda x, m: np.where(m[:, None], np.float32(7), x)),
    "gradient": (lambda x, m: nv.deriv(nv.sum(x[m] ** 2), x), lambda x, m: np.where(m[:, None], 2 * x, 0)),
}
W = np.float32([[1, 2], [-1, 0.5], [3, 1]])


def softmax(x: np.ndarray) -> np.ndarray:
    raised = np.exp(x - x.max(1, keepdims=True))
    return raised / raised.sum(1, keepdims=True)


def twice(x: Any) -> Any:
    """A length that is found behind another one."""
    return x[x > 0.5]


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_a_tensor_without_elements_has_no_different_ones(name):
    """Its length is known before the graph runs, as are all that follow from it."""
    x = nv.placeholder((0, 3), dtype=nv.int64)
    found = transformer(name).computation([*nv.unique_all(x), nv.setxor1d(x, x), nv.argwhere(x)], x)
    assert [result.shape for result in found(np.zeros((0, 3), np.int64))] == [(0,), (0,), (0, 3), (0,), (0,), (0, 2)]


@pytest.mark.parametrize("name", TRANSFORMERS)
@pytest.mark.parametrize("case", CASES)
def test_against_numpy(case, name):
    """A395, A396: random masks, none and all, one call after the other with other lengths, symbolic n."""
    ours, theirs = CASES[case]
    x, m = nv.placeholder((N, 3)), nv.placeholder((N,), dtype=nv.bool_)
    compute = nv.computation(ours(x, m), x, m, transformer=transformer(name))
    rng = np.random.default_rng(7)
    for size in SIZES if name == "cpu" else SIZES[:4]:
        given = rng.standard_normal((size, 3)).astype(np.float32)
        for mask in masks(rng, size):
            got, want = compute(given, mask), theirs(given, mask)
            assert got.shape == np.shape(want), (size, mask.sum())
            np.testing.assert_allclose(got, want, 2e-4, 2e-3)


ALONE: dict[str, Callable[..., Any]] = {
    "all": lambda x, m: x[m], "behind a new axis": lambda x, m: x[None, m], "before a slice": lambda x, m: x[m, 1:3],
    "behind a slice": lambda x, m: x[1:3, m], "beside a position": lambda x, m: x[1, m],
    "of a scalar": lambda x, m: x[1][m],
}


@pytest.mark.parametrize("name", TRANSFORMERS)
@pytest.mark.parametrize("case", ALONE)
def test_a_mask_without_axes_selects_all_or_nothing(case, name):
    """A395: along a new axis of length 0 or 1; written through, and with derivatives."""
    given, pick = np.float32([3, -1, 2, 5]), ALONE[case]
    for length in (N, 4):
        x, m = nv.placeholder((length,)), nv.placeholder((), nv.bool_)
        picked = pick(x, m)
        compute = nv.computation([picked, nv.deriv(nv.sum(picked ** 2), x)], x, m, transformer=transformer(name))
        for mask in (np.True_, np.False_):
            result, gradient = compute(given, mask)
            want = pick(given, np.asarray(mask))
            assert (result.tolist(), result.shape) == (want.tolist(), want.shape)
            assert gradient.tolist() == [2 * own * (own in want) for own in given.tolist()]


def test_a_write_through_a_mask_without_axes():
    """A395: it writes to all elements or to none."""
    x = nv.constant([3.0, -1.0])
    for mask in (x[0] > 0, np.array(True)):
        assert x.at[mask].set(7.0).tolist() == [7, 7] and x[0].at[mask].add(1.0).tolist() == 4
    assert x.at[x[1] > 0].set(7.0).tolist() == [3, -1]
    assert x[x[0] > 0, [1, 1, 0]].tolist() == [-1, -1, 3]


@pytest.mark.parametrize("dtype", sorted(ANY, key=str), ids=str)
def test_all_element_types(dtype):
    """A395: for fixed lengths, too."""
    rng = np.random.default_rng(8)
    mask = rng.random(40) < 0.5
    given = rng.integers(0, 3, 40).astype(dtype.numpy)
    for length in (N, 40):
        x, m = nv.placeholder((length,), dtype=dtype), nv.placeholder((length,), dtype=nv.bool_)
        for name in TRANSFORMERS:
            compute = nv.computation(x[m], x, m, transformer=transformer(name))
            assert compute(given, mask).tobytes() == given[mask].tobytes()


@pytest.mark.parametrize("name", TRANSFORMERS)
@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "float64", "uint16", "bfloat16"])
def test_unique(dtype, name):
    """A395: with indices, inverse and counts; NaN are one."""
    x = nv.placeholder((N, 2), dtype=dtype)
    compute = nv.computation([*nv.unique(x, True, True, True), nv.unique(x)], x, transformer=transformer(name))
    rng = np.random.default_rng(9)
    for size in (6, 0, 1, 1000):
        given = rng.integers(0, 20, (size, 2)).astype(nv.as_dtype(dtype).numpy)
        if dtype in ("float32", "float64") and size > 2:
            given[0, 0] = given[2, 1] = np.nan
        want = np.unique(given.astype(np.float32) if dtype == "bfloat16" else given, True, True, True)
        for ours, theirs in zip(compute(given), [*want, want[0]], strict=True):
            np.testing.assert_array_equal(ours.astype(theirs.dtype), theirs)


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_repeat(name):
    """A395, A398: along axes or of all elements; wrong counts are errors."""
    x, counts = nv.placeholder((N, 3)), nv.placeholder((N,), dtype=nv.int32)
    compute = nv.computation(nv.repeat(x, counts, axis=0, max_length=2 * N), x, counts, transformer=transformer(name))
    rng = np.random.default_rng(10)
    for size in (4, 0, 1000):
        given, times = rng.standard_normal((size, 3)).astype(np.float32), rng.integers(0, 3, size, np.int32)
        times[::2] = 0
        assert compute(given, times).tolist() == np.repeat(given, times, 0).tolist()
    for wrong in ([2, 3], [-1, 1]):
        with pytest.raises(nv.InvalidArgument):
            compute(np.ones((2, 3), np.float32), np.int32(wrong))
    assert nv.repeat([[1, 2]], 2, axis=1).tolist() == [[1, 1, 2, 2]]
    assert nv.repeat([[1, 2]], [1, 3]).tolist() == [1, 2, 2, 2]
    with pytest.raises(nv.InvalidArgument, match="not known"):
        nv.repeat(x, counts, axis=0)


def test_what_is_known_is_a_number():
    """A396: constants, and what is made of them."""
    x = nv.placeholder((3,))
    assert x[nv.constant([1, 0, 2]) > 0].shape == (2,) and nv.repeat(x, [0, 2, 1]).shape == (3,)
    assert nv.nonzero([1, 0, 2])[0].shape == (2,) and nv.argwhere([[1, 0]]).shape == (1, 2)
    w = nv.variable((3,), [1, -1, 1])
    assert not isinstance(w[w > 0].shape[0], int) and w[w > 0].tolist() == [1, 1]
    nv.evaluate(nv.assign(w, -w))
    assert w[w > 0].tolist() == [1]


def test_one_mask_finds_one_length():
    """A397: for several tensors, and by placeholders; two masks find two."""
    x, y, m = nv.placeholder((N,)), nv.placeholder((N,)), nv.placeholder((N,), dtype=nv.bool_)
    both = nv.computation(x[m] + y[m] * x[m], x, y, m)
    given = np.arange(4, dtype=np.float32)
    assert both(given, given, np.array([True, False, False, True])).tolist() == [0, 12]
    with pytest.raises(nv.ShapeMismatch, match="found while the call runs") as caught:
        x[x > 0] + y[x > 0]
    assert caught.value.op == "add" and "one mask for both" in caught.value.help
    with pytest.raises(nv.ShapeMismatch, match="found while the call runs"):
        x[m] + nv.ones((3,))


def test_a_mask_that_is_assigned_between_two_uses():
    """A397: it is another mask."""
    x, m = nv.placeholder((3,)), nv.variable((3,), [True, False, True], dtype=nv.bool_)
    steps = nv.sequential([nv.assign(m, nv.logical_not(m)), x[m]])
    with pytest.raises(nv.InvalidArgument, match="find one length"):
        nv.computation([x[m], steps], x)


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_a_maximum_of_nothing(name):
    """A398: an error, and the next call is right."""
    x, w = nv.placeholder((N,)), nv.variable((), 1.0)
    compute = nv.computation([nv.max(x[x > 0]), nv.assign(w, w + 1)], x, transformer=transformer(name))
    with pytest.raises(nv.InvalidArgument, match="no element"):
        compute(np.float32([-1, -2]))
    assert transformer(name).get(w) == 1, "nothing was changed"
    assert compute(np.float32([-1, 2]))[0] == 2 and transformer(name).get(w) == 2


@pytest.mark.parametrize("name", TRANSFORMERS)
@pytest.mark.parametrize(("pick", "expected", "got"), [
    (lambda found: found[0], "nothing: the axis is empty", "0 at position ()"),
    (lambda found: found[-1] * 2, "nothing: the axis is empty", "-1 at position ()"),
    (lambda found: nv.unique(found)[0], "nothing: the axis is empty", "0 at position ()"),
    (lambda found: nv.concatenate([found, [1.0, 2.0]], 0)[2], "-2 to 1", "2 at position ()"),
    (lambda found: nv.concatenate([found, [1.0, 2.0]], 0)[np.array([[0, 1], [-3, 0]])], "-2 to 1",
     "-3 at position (1, 0)")])
def test_an_index_out_of_what_was_found(name, pick, expected, got):
    """A395: is an IndexError with the length of this call."""
    x = nv.placeholder((N,))
    with pytest.raises(nv.IndexOutOfRange) as caught:
        transformer(name).computation(pick(x[x > 3.0]), x)(np.ones(5, np.float32))
    assert (caught.value.op, caught.value.expected, caught.value.got) == ("Gather", expected, got)


def test_derivatives():
    """A399: gradients, tangents, second derivatives."""
    def cubes(a):
        return nv.sum(a[a > 0] ** 3)
    point = np.float32([1, -1, 3])
    assert nv.grad(cubes)(point).tolist() == [3, 0, 27]
    assert nv.jvp(lambda a: a[a > 0] ** 2, (point,), (np.float32([1, 1, 2]),))[1].tolist() == [2, 12]
    assert nv.grad(lambda a: nv.sum(nv.grad(cubes)(a) ** 2))(point).tolist() == [36, 0, 972]
    assert nv.grad(lambda a: nv.sum(nv.unique(a) * 2))(np.float32([3, 1, 3])).tolist() == [2, 2, 0]
    counts = nv.constant(np.array([2, 0, 1]))
    assert nv.grad(lambda a: nv.sum(nv.repeat(a, counts * 1, max_length=6) ** 2))(point).tolist() == [4, 0, 6]


def counted(row):
    """A number for each element that is found, of which nothing is used but the length; no tensor has it for long."""
    shape = row[row > 0].shape
    numbers = nv.ones(shape)
    gc.collect(1)  # what has just been made is young
    return nv.sum(numbers)


COUNTING: dict[str, Callable[[Any, Any], Any]] = {
    "alone": lambda c, row: c + counted(row),
    "product": lambda c, row: c * 0.5 + counted(row) * nv.sum(row),
    "loop in a loop": lambda c, row: nv.scan(lambda total, v: (total + counted(row - v), None), c, row)[0],
    "loop over it": lambda c, row: nv.scan(lambda c, v: (c + v, None), c, nv.ones(row[row > 0].shape))[0],
    "branch": lambda c, row: nv.cond(nv.sum(row) > 0, lambda: c + counted(row), lambda: c - counted(-row)),
    "branches alike": lambda c, row: nv.cond(c < 3, lambda: c + counted(row), lambda: c),
}


@pytest.mark.parametrize("case", COUNTING)
def test_a_body_that_uses_nothing_but_the_length_that_it_found(case):
    """A400: in loops of each kind, and in none."""
    body, rows = COUNTING[case], nv.placeholder((4, 5))
    given = np.random.default_rng(4).integers(-3, 4, (4, 5)).astype(np.float32)
    last, kept = nv.scan(lambda c, row: (body(c, row),) * 2, nv.constant(0.0), rows)
    counter = nv.constant(0, dtype=nv.int64)
    _, same = nv.while_loop(lambda carry: carry[0] < 4, lambda carry: (carry[0] + 1, body(carry[1], rows[carry[0]])),
                            (counter, nv.constant(0.0)))
    straight = nv.constant(0.0)
    for at in range(4):
        straight = body(straight, rows[at])
    results = [last, kept[-1], same, straight]
    for name in TRANSFORMERS:
        found = nv.computation(results, rows, transformer=transformer(name))(given)
        assert len({float(each) for each in found}) == 1 and found[0] != 0


def test_inside_of_loops():
    """A400: a length may be found in each iteration, and nothing of that length leaves it."""
    rows = nv.placeholder((N, 3))
    sums = nv.map(lambda row: nv.sum(row[row > 0]), rows)
    given = np.float32([[1, -1, 2], [-1, -1, -1], [1, 1, 1]])
    for name in TRANSFORMERS:
        compute = nv.computation([sums, nv.deriv(nv.sum(sums), rows)], rows, transformer=transformer(name))
        assert [each.tolist() for each in compute(given)] == [[3, 0, 3], (given > 0).tolist()]
    with pytest.raises(nv.NotSupported, match="gives a length that it finds"):
        nv.map(lambda row: row[row > 0], rows)
    x = nv.placeholder((N,))
    for wrong in (lambda: nv.scan(lambda h, row: (h[h > 0], None), rows[0], rows),
                  lambda: nv.cond(nv.sum(x) > 0, lambda: x[x > 0], lambda: x[x < 0]),
                  lambda: nv.while_loop(lambda h: nv.sum(h) < 3, lambda h: h[h > 0], x)):
        with pytest.raises(nv.InvalidArgument, match="reduce over it inside, or keep the shape"):
            wrong()
    with pytest.raises(nv.NotSupported, match="each element that is mapped over would find another length"):
        nv.vmap(lambda row: row[row > 0])(rows)


def back_in_place(row):
    """A row whose positive elements grow: what is found goes back, scaled by what all of it adds up to."""
    mask = row > 0
    chosen = row[mask]
    return row.at[mask].add(chosen * nv.exp(nv.sum(chosen) * 0.1))


INSIDE: dict[str, Callable[[Any], Any]] = {
    "gathered": lambda row: nv.sum(nv.gather(row, nv.nonzero(row > 0)[0], 0) ** 2),
    "put back": back_in_place,
    "product": lambda row: nv.sum(nv.outer(row[row > 0], row[row > 0])),
    "inverse": lambda row: nv.gather(*nv.unique(row, return_inverse=True), 0) * row,
    "found twice": lambda row: nv.sum(twice(row[row > 0]) ** 2),
    "loop": lambda row: nv.scan(lambda h, v: (h * 0.5 + v, None), 0.0, row[row > 0])[0],
    "length alone": lambda row: counted(row) * nv.sum(row) ** 2,
    "branch": lambda row: nv.cond(nv.sum(row) > 0, lambda: nv.sum(row[row > 0]), lambda: nv.sum(nv.sort(row[row < 0]))),
}


@pytest.mark.parametrize("case", INSIDE)
def test_lengths_that_each_example_finds(case):
    """A400: by ``nv.map`` and ``nv.vmap``, with derivatives, in native code; as one example after the other."""
    body, rows, found = INSIDE[case], nv.placeholder((N, 6)), []
    given = np.random.default_rng(4).integers(-3, 4, (4, 6)).astype(np.float32)
    for run in (nv.map, lambda body, rows: nv.vmap(body)(rows)):
        several = run(body, rows)
        slope = nv.deriv(nv.sum(several ** 2), rows)
        for name in TRANSFORMERS:
            compute = nv.computation([several, slope], rows, transformer=transformer(name))
            found.append(compute(given))
        functions = compute.executable.compilation.loaded.functions()
        assert "HostCode" not in [type(code).__name__ for each in functions for code in each.codes]
    one = nv.placeholder((6,))
    alone = nv.computation([body(one), nv.deriv(nv.sum(body(one) ** 2), one)], one)
    expected = [np.stack(parts) for parts in zip(*map(alone, given), strict=True)]
    for results in found:
        for mine, theirs in zip(results, expected, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-5)


def test_what_needs_no_found_length_stays_outside_of_the_loop():
    """A400: of a function of examples, what is in front of the lengths and behind them runs for all at once."""
    rows, weights = nv.placeholder((N, 6)), nv.placeholder((6, 5))
    several = nv.vmap(lambda row: nv.exp(nv.sum(nv.dot(row, weights)[row[:5] > 0])))(rows)
    kinds = [type(op).__name__ for op in nv.computation(several, rows, weights).function.operations]
    assert {"Contract", "MatMul"} & {*kinds} and {"Scan", "Exp"} < {*kinds} and "FindPositions" not in kinds


def loops_over_found(x, table):
    """Loops and branches of tensors whose lengths are found outside, and a number that depends on all of them."""
    mask = x > 0
    chosen, wide = x[mask], nv.outer(x, x[mask])
    last, stacked = nv.scan(lambda h, row: (h * 0.5 + row, h * row), nv.zeros((3,)), table[mask], reverse=True)
    each = nv.scan(lambda h, row: (nv.tanh(h + row * chosen), h), chosen * 0, wide)
    pairs = nv.map(lambda v: nv.fori_loop(0, 2, lambda k, t: t + nv.sum(chosen * v), 0.0), chosen)
    grown = nv.while_loop(lambda h: h[0] < 5, lambda h: (h[0] + 1, h[1] + chosen + 1), (nv.zeros(()), chosen))[1]
    branch = nv.cond(nv.sum(x) > 1, lambda: chosen * 2, lambda: nv.sort(chosen))
    inner = nv.scan(lambda h, v: (nv.cond(v > 1, lambda: h + nv.sum(chosen * v), lambda: h - v), None), 0.0, chosen)[0]
    total = nv.sum(stacked) + nv.sum(each[0]) + nv.sum(each[1]) + nv.sum(pairs) + nv.sum(branch ** 2) + inner
    return [last, stacked, *each, pairs, grown, branch, inner], total


@pytest.mark.parametrize("size", [0, 1, 2, 9])
def test_loops_take_found_lengths(size):
    """A400: as slices, carries, captured values and numbers of iterations, with derivatives, on each transformer."""
    arrays = np.random.default_rng(size).normal(size=size), np.random.default_rng(3).normal(size=(size, 3))
    arrays = [array.astype(np.float32) for array in arrays]
    found = []
    for name in TRANSFORMERS:
        x, table = nv.placeholder((N,)), nv.placeholder((N, 3))
        results, total = loops_over_found(x, table)
        own = transformer(name)
        compute = nv.computation([*results, *[nv.deriv(total, each) for each in (x, table)]], x, table, transformer=own)
        found.append(compute(*arrays))
    for mine, theirs in zip(*found, strict=True):
        assert mine.shape == theirs.shape
        np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=1e-5)


def test_loops_over_found_lengths_run_without_python(monkeypatch):
    """A373, A400: and their code is kept on disk, as that of others is."""
    x, table = nv.placeholder((N,)), nv.placeholder((N, 3))
    results, _ = loops_over_found(x, table)
    executable = nv.computation(results, x, table, transformer=transformer("cpu")).executable
    loaded = executable.compilation.loaded
    assert "HostCode" not in [type(code).__name__ for each in loaded.functions() for code in each.codes]
    for each in loaded.compiled.functions():
        assert each.is_sound()


def test_text_and_saving(tmp_path):
    """A401: a computation with found lengths is saved and loaded."""
    x = nv.placeholder((N,)).named("x")
    compute = nv.computation(x[x > 0] * 2, x)
    assert "?0" in str(compute.function) and "effect" in str(compute.function)
    nv.save(tmp_path / "model", compute)
    again = nv.load(tmp_path / "model")
    assert again(np.float32([1, -1, 4])).tolist() == [2, 8]


def test_named_axes():
    """A395: a named axis keeps its name, with the length that is found."""
    x, m = nv.placeholder({"N": N, "C": 3}), nv.placeholder({"N": N}, dtype=nv.bool_)
    chosen = nv.compress(m, x, axis="N")
    assert chosen.axes.names == ("N", "C")
    given = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert nv.computation(nv.sum(chosen, out_axes="C"), x, m)(given, [False, True]).tolist() == [3, 4, 5]


@pytest.mark.parametrize("wrong", [
    lambda x: nv.nonzero(nv.constant(1.0)), lambda x: nv.compress(x > 0, nv.ones((2, 2)), axis=0),
    lambda x: x[nv.ones((4,)) > 0], lambda x: nv.repeat(x, x, max_length=8), lambda x: nv.repeat(x, [1, 2]),
    lambda x: nv.unique(x.astype(nv.complex64)), lambda x: nv.repeat(x, -1), lambda x: nv.repeat(x, [1, -2, 3])])
def test_what_is_refused(wrong):
    with pytest.raises(nv.NervureError):
        wrong(nv.placeholder((3,)))
