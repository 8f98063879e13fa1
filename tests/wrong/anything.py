"""Values of every sort, sensible and senseless: what the fuzz tests pass to whatever can be called."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import nervure as nv
from nervure import ops


def nothing(*arguments: Any, **keywords: Any) -> None:
    """A function that takes anything."""


def first(*arguments: Any, **keywords: Any) -> Any:
    """The first argument, if there is one."""
    return arguments[0] if arguments else None


H, W, SYMBOL = nv.axis("H", 3), nv.axis("W", 4), nv.dim("n")
VARIABLE = nv.variable("H=3, W=4", 1.0)

TENSORS: list[Any] = [
    nv.constant(np.ones((3, 4)), axes=[H, W]), nv.constant(np.ones(3), axes=[H]), nv.constant(np.ones((2, 3))),
    nv.constant(2.0), nv.constant(np.arange(4)), nv.constant(np.array([True, False, True])),
    nv.placeholder("N=n, H=3"), nv.placeholder((2, 3), nv.int32), VARIABLE, nv.variable((), 1),
    nv.constant(np.zeros((0, 3))), nv.constant([1j, 2.0]), nv.placeholder([nv.dim("m"), 4]),
    nv.constant(np.ones((2, 3, 8, 8)), axes="N=2, C=3, Y=8, X=8"),
    nv.constant(np.ones((5, 3, 3, 3)), axes="K=5, C=3, Y=3, X=3"), nv.persistent_tensor((3,),
    dtype=nv.bfloat16),
    nv.temporary((2,), nv.float8_e5m2), nv.constant([1, 2], dtype=nv.int4),
    nv.constant(np.ones((3, 3)), axes=[H, H.offset(-1)])]

NUMBERS: list[Any] = [
    0, -1, 1, 2, 3, 7, -5, 10**6, 2**31, 2**63, 2**64, -2**63, 10**30, 0.5, -0.0, 1e300, float("nan"),
    float("inf"), 1j,
    True, np.float32(3), np.int8(-3), np.uint64(2**64 - 1), np.bool_(True), np.array(5),
    np.datetime64("2020-01-01"),
    SYMBOL, SYMBOL - 5, nv.dim("m") * 2**40]

WORDS: list[Any] = [
    None, "", "H", "N=2", "H=3, W=4", "H=", "ij,jk->ik", "H W -> W", "all", "float32", "same", "max", "edge",
    b"", "\0", "ä",
    Ellipsis, NotImplemented, int, object(), Exception("x"), nothing, first, slice(None), slice(5, -9, -1),
    slice(0, 3, 0),
    slice("a", None), slice(SYMBOL, None), memoryview(b"abc"), nv, nv.Tensor, ops.Add]

LISTS: list[Any] = [
    [], [[]], [1, 2], [[1], [2, 3]], ["a"], [None], [0, 0], [0, 1], [2.5], (), (0,), (-1,), (2, 3), (3, 4),
    ((1, 1), (0, 0)),
    (1 << 40, 1 << 40), (10**30,), ((1, 2), 3), {}, {"H": 1}, {"H": "W"}, {1: 2}, {H: slice(0, 2)},
    {"x": TENSORS[0]},
    set(), frozenset([1]), range(3), range(0), np.zeros(0), np.ones((2, 3)), np.full(3, np.nan),
    np.array("word"),
    np.array([None, "x"], object), np.array([], object), np.array([True, False, True]), TENSORS[:2],
    TENSORS[:3]]

OURS: list[Any] = [
    nv.float32, nv.int8, nv.bool_, nv.complex64, H, W, nv.make_axis(3), nv.make_axis(),
    nv.make_axes("H=3, W=4"),
    nv.make_axes(), nv.make_axes((2, 3)), H.offset(-1), nv.FlattenedAxis([H, W]), nv.fill(VARIABLE, 2.0),
    nv.Parameter(nv.float32, (2,)), nv.Parameter(nv.float32, (2,)).value, nv.Function([], []),
    nv.transformers.default()]

EVERYTHING = [*NUMBERS, *WORDS, *LISTS, *OURS]
ANYTHING = st.one_of(st.sampled_from(TENSORS), st.sampled_from(EVERYTHING), st.sampled_from(LISTS + NUMBERS))
