"""Mistakes with loops and branches: a table of programs and their errors.

Every error names the function that the user called, the argument or leaf, what came and what was expected, what to do,
and a line of this file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

import nervure as nv
from nervure.errors import AxisMismatch, IndexOutOfRange, InvalidArgument, NotSupported, ShapeMismatch, WrongKind

X, K, P = nv.placeholder("T=t, F=2"), nv.placeholder((), nv.int64), nv.placeholder((), nv.float32)
Z, COUNT, ONES = nv.zeros((3,)), nv.variable((), 0.0), np.ones(3, np.float32)


class Row(NamedTuple):
    """A program, the kind of its error, the op and operand that it names, and words of its text."""

    program: Callable[[], object]
    kind: type[Exception]
    op: str
    operand: str | None
    words: str


def leaked(run: Callable[[Callable[..., object]], object]) -> nv.Tensor:
    """What a function has stored away while it was traced."""
    kept: list[nv.Tensor] = []

    def function(*values):
        kept.append(values[-1] * 1.0)
        return values[0]
    run(function)
    return kept[-1]


def counted(value):
    return nv.sequential([nv.assign(COUNT, value), value])


def scan(f, init=0.0, xs=Z, **keywords):
    return nv.scan(f, init, xs, **keywords)


def same(c, v):
    return c, None


CARRIES = [
    Row(lambda: scan(lambda c, v: (c.astype(nv.int32), None), Z), InvalidArgument, "scan", "carry", "i32[3] came out"),
    Row(lambda: scan(lambda c, v: (nv.stack([c, c]), None), Z), InvalidArgument, "scan", "carry", "f32[2, 3] came out"),
    Row(lambda: scan(lambda c, v: (nv.concatenate([c, c], 0), None), Z), InvalidArgument, "scan", "carry", "f32[6]"),
    Row(lambda: scan(lambda c, v: (nv.zeros("G=2"), None), nv.zeros("F=2")), InvalidArgument, "scan", "carry",
        "f32[F=2], which came in"),
    Row(lambda: scan(lambda c, v: (nv.zeros((2,)), None), nv.zeros("F=2")), InvalidArgument, "scan", "carry", "F=2"),
    Row(lambda: scan(lambda c, v: ({"h": c["h"], "n": c["n"] + v}, None),
             {"h": Z, "n": nv.constant(1, dtype=nv.int32)}),
        InvalidArgument, "scan", "carry['n']", "f32[] came out"),
    Row(lambda: scan(lambda c, v: (c.T, None), nv.zeros("F=2, G=3")), InvalidArgument, "scan", "carry", "F-1=2, G-1=3"),
    Row(lambda: scan(lambda c, v: ([c], None), Z), InvalidArgument, "scan", "carry", "changes its nesting"),
    Row(lambda: scan(lambda c, v: ({"b": c["a"]}, None), {"a": 0.0}), InvalidArgument, "scan", "carry", "{'b': "),
    Row(lambda: scan(lambda c, v: (c[0], None), (Z,)), InvalidArgument, "scan", "carry", "changes its nesting"),
    Row(lambda: scan(lambda c, v: (None, None)), InvalidArgument, "scan", "carry", "None came out"),
    Row(lambda: scan(lambda c, v: (v, None), None), InvalidArgument, "scan", "carry", "None, which came in"),
    Row(lambda: scan(same, "start"), WrongKind, "scan", "carry", "str 'start'"),
    Row(lambda: scan(same, {"h": Z, "mode": "train"}), WrongKind, "scan", "carry['mode']", "str 'train'"),
    Row(lambda: scan(same, [0.0, object()]), WrongKind, "scan", "carry[1]", "object"),
    Row(lambda: scan(same, nv.exp), WrongKind, "scan", "carry", "call the function"),
    Row(lambda: scan(lambda c, v: ("done", None)), WrongKind, "scan", "carry", "str 'done'"),
    Row(lambda: scan(lambda c, v: (c, "y")), WrongKind, "scan", "y", "str 'y'"),
    Row(lambda: scan(lambda c, v: (c, {"a": [c, b"y"]})), WrongKind, "scan", "y['a'][1]", "bytes"),
    Row(lambda: nv.map(lambda v: "text", Z), WrongKind, "map", "y", "str 'text'"),
    Row(lambda: nv.fori_loop(0, 3, lambda i, c: c.astype(nv.int32), Z), InvalidArgument, "fori_loop", "carry",
        "i32[3]"),
    Row(lambda: nv.fori_loop(0, K, lambda i, c: {"h": c["h"][:2]}, {"h": Z}), InvalidArgument, "fori_loop",
        "carry['h']", "f32[2] came out"),
    Row(lambda: nv.while_loop(lambda c: c < 3, lambda c: None, nv.constant(5)), InvalidArgument, "while_loop", "carry",
        "None came out"),
    Row(lambda: nv.while_loop(lambda c: nv.sum(c) < 3, nv.sum, Z, max_trips=4), InvalidArgument, "while_loop", "carry",
        "f32[] came out"),
    Row(lambda: nv.while_loop(lambda c: c[0] < 3, lambda c: [c[0], c[1] > 0], [0.0, Z]), InvalidArgument, "while_loop",
        "carry[1]", "bool[3] came out"),
]

FUNCTIONS = [
    Row(lambda: scan(lambda c, v: c + v), WrongKind, "scan", "f", "(carry, y)"),
    Row(lambda: scan(lambda c, v: None), WrongKind, "scan", "f", "(carry, y)"),
    Row(lambda: scan(lambda c, v: (c, v, v)), WrongKind, "scan", "f", "return carry, None"),
    Row(lambda: scan(lambda c: (c, None)), WrongKind, "scan", "f", "<lambda>(c)"),
    Row(lambda: scan(lambda c, v, i: (c, None)), WrongKind, "scan", "f", "f(carry, x)"),
    Row(lambda: nv.scan(Z, 0.0, Z), WrongKind, "scan", "f", "takes a function"),
    Row(lambda: nv.scan(0.0, same, Z), WrongKind, "scan", "f", "takes a function"),
    Row(lambda: nv.map(Z, nv.exp), WrongKind, "map", "f", "takes a function"),
    Row(lambda: nv.map(lambda a, b: a, (Z, Z)), WrongKind, "map", "f", "f(x)"),
    Row(lambda: nv.fori_loop(0, 3, lambda c: c, 0.0), WrongKind, "fori_loop", "body_fun", "body_fun(i, value)"),
    Row(lambda: nv.while_loop(lambda i, c: i < 3, lambda v: v, (0, 0.0)), WrongKind, "while_loop", "cond_fun",
        "cond_fun(value)"),
    Row(lambda: nv.while_loop(K, lambda c: c < 3, lambda c: c), WrongKind, "while_loop", "cond_fun",
        "takes a function"),
    Row(lambda: nv.while_loop(lambda c: c < 3, None, 0.0), WrongKind, "while_loop", "body_fun", "takes a function"),
    Row(lambda: nv.cond(P > 0, lambda a: a, lambda a: a), WrongKind, "cond", "true_fun", "<lambda>(a)"),
    Row(lambda: nv.cond(P > 0, lambda a: a, lambda: P, P), WrongKind, "cond", "false_fun", "1 argument"),
    Row(lambda: nv.cond(P > 0, P, P * 2), WrongKind, "cond", "true_fun", "the function itself"),
    Row(lambda: nv.cond(P > 0, lambda: P, None), WrongKind, "cond", "false_fun", "the function itself"),
    Row(lambda: nv.switch(K, []), WrongKind, "switch", "branches", "one function or more"),
    Row(lambda: nv.switch(K, lambda: 1.0), WrongKind, "switch", "branches", "a list"),
    Row(lambda: nv.switch(K, {0: lambda: 1.0}), WrongKind, "switch", "branches", "a list of one function"),
    Row(lambda: nv.switch(K, [P, P]), WrongKind, "switch", "branches", "nv.switch(index, [f, g], x)"),
    Row(lambda: nv.switch(K, [lambda x: x, lambda: P], P), WrongKind, "switch", "branches[1]", "branches[1]("),
]

SLICES = [
    Row(lambda: scan(same, xs="xs"), WrongKind, "scan", "xs", "str 'xs'"),
    Row(lambda: scan(same, xs=range(3)), WrongKind, "scan", "xs", "range"),
    Row(lambda: scan(same, xs={"a": Z, "b": iter([1])}), WrongKind, "scan", "xs['b']", "iterator"),
    Row(lambda: scan(same, xs=5), ShapeMismatch, "scan", "xs", "no axis to take slices along"),
    Row(lambda: scan(same, xs=[1.0, 2.0]), ShapeMismatch, "scan", "xs[0]", "nv.constant makes one tensor"),
    Row(lambda: nv.map(nv.exp, 3.0), ShapeMismatch, "map", "xs", "no axis"),
    Row(lambda: scan(same, xs=(Z, nv.zeros((4,)))), ShapeMismatch, "scan", "xs[1]", "different lengths"),
    Row(lambda: scan(same, xs=(nv.placeholder("A=a"), nv.placeholder("B=b"))), ShapeMismatch, "scan", "xs[1]", "b"),
    Row(lambda: scan(same, length=4), ShapeMismatch, "scan", "xs", "different lengths"),
    Row(lambda: scan(same, xs=None), InvalidArgument, "scan", "length", "length="),
    Row(lambda: scan(same, xs=[]), InvalidArgument, "scan", "length", "length="),
    Row(lambda: scan(same, xs=None, length=-3), InvalidArgument, "scan", "length", "not negative"),
    Row(lambda: scan(same, xs=None, length=2.5), WrongKind, "scan", "length", "float 2.5"),
    Row(lambda: scan(same, xs=None, length="3"), WrongKind, "scan", "length", "str '3'"),
    Row(lambda: scan(same, xs=None, length=K), WrongKind, "scan", "length",
        "nv.fori_loop takes bounds that are tensors"),
    Row(lambda: nv.evaluate(scan(lambda c, v: (c, c), xs=None, length=10**15)[1]), InvalidArgument, "Scan", None,
        "more memory than there is"),
    Row(lambda: scan(lambda c, v: (c, c), xs=None, length=10**30), InvalidArgument, "Scan", "shape",
        "memory can address"),
    Row(lambda: scan(same, xs=X, axis="Time"), AxisMismatch, "scan", None, "one of (T: t, F: 2)"),
    Row(lambda: scan(same, axis="T"), AxisMismatch, "scan", None, "no axis is named 'T'"),
    Row(lambda: scan(same, axis=2), IndexOutOfRange, "scan", None, "there is no axis 2"),
    Row(lambda: scan(same, axis=0.5), WrongKind, "scan", None, "a name or a position"),
    Row(lambda: scan(same, axis=[0, 1]), WrongKind, "scan", None, "a name or a position"),
    Row(lambda: scan(same, reverse="no"), WrongKind, "scan", "reverse", "True or False"),
    Row(lambda: scan(same, checkpoint=0), InvalidArgument, "scan", "checkpoint", "1 or more"),
    Row(lambda: scan(same, checkpoint=2.5), WrongKind, "scan", "checkpoint", "no checkpoints"),
    Row(lambda: nv.map(lambda v: v, Z, checkpoint=-1), InvalidArgument, "map", "checkpoint", "1 or more"),
    Row(lambda: nv.fori_loop(0, K, lambda i, v: v, 0.0, checkpoint=2), InvalidArgument, "fori_loop", "checkpoint",
        "bounds that are numbers"),
    Row(lambda: scan(same, unroll=4), WrongKind, "scan", "unroll", "no argument unroll"),
    Row(lambda: scan(lambda c, v: (c, {"a": nv.zeros("T=7")}), xs=X, axis="T"), AxisMismatch, "scan", "y['a']",
        "has an axis T"),
]

CHOICES = [
    Row(lambda: nv.cond(P, lambda: 1.0, lambda: 2.0), WrongKind, "cond", "pred", "x > 0"),
    Row(lambda: nv.cond(1, lambda: 1.0, lambda: 2.0), WrongKind, "cond", "pred", "one bool"),
    Row(lambda: nv.cond(Z > 0, lambda: 1.0, lambda: 2.0), WrongKind, "cond", "pred", "nv.where"),
    Row(lambda: nv.cond(None, lambda: 1.0, lambda: 2.0), WrongKind, "cond", "pred", "NoneType"),
    Row(lambda: nv.cond(lambda: P > 0, lambda: 1.0, lambda: 2.0), WrongKind, "cond", "pred", "call the function"),
    Row(lambda: nv.cond(P > 0, lambda a, b: a, lambda a, b: a, P, "mode"), WrongKind, "cond", "operands[1]", "'mode'"),
    Row(lambda: nv.cond(P > 0, lambda: P, lambda: None), InvalidArgument, "cond", "the nesting of the result", "None"),
    Row(lambda: nv.cond(P > 0, lambda: P, lambda: K), InvalidArgument, "cond", "result", "i64[]"),
    Row(lambda: nv.cond(P > 0, lambda: P, lambda: Z), InvalidArgument, "cond", "result",
        "as the first branch gives it"),
    Row(lambda: nv.cond(P > 0, lambda: nv.zeros("F=2"), lambda: nv.zeros("G=2")), InvalidArgument, "cond", "result",
        "G=2"),
    Row(lambda: nv.cond(P > 0, lambda: nv.zeros("F=2"), lambda: nv.zeros((2,))), InvalidArgument, "cond", "result",
        "f32[2]"),
    Row(lambda: nv.cond(P > 0, lambda: nv.zeros((2,)), lambda: nv.zeros("F=2")), InvalidArgument, "cond", "result",
        "F=2"),
    Row(lambda: nv.cond(P > 0, lambda: (P, P), lambda: [P, P]), InvalidArgument, "cond", "the nesting of the result",
        "["),
    Row(lambda: nv.cond(P > 0, lambda: {"a": [P, P]}, lambda: {"a": [P, Z]}), InvalidArgument, "cond", "result['a'][1]",
        "f32[3]"),
    Row(lambda: nv.cond(P > 0, lambda: P, lambda: "b"), WrongKind, "cond", "result of false_fun", "str 'b'"),
    Row(lambda: nv.cond(P > 0, lambda: nv.assign(COUNT, 1.0), lambda: None), InvalidArgument, "cond", None,
        "gives no value"),
    Row(lambda: nv.switch(P, [lambda: 1.0]), WrongKind, "switch", "index", "one integer"),
    Row(lambda: nv.switch(P > 0, [lambda: 1.0]), WrongKind, "switch", "index", "bool[]"),
    Row(lambda: nv.switch(Z.astype(nv.int32), [lambda: 1.0]), WrongKind, "switch", "index", "i32[3]"),
    Row(lambda: nv.switch(K, [lambda: P, lambda: P, lambda: Z]), InvalidArgument, "switch", "result", "f32[3]"),
    Row(lambda: nv.while_loop(lambda c: c, lambda c: c - 1, 3.0), WrongKind, "while_loop", "cond_fun", "one bool"),
    Row(lambda: nv.while_loop(lambda c: c < 3, lambda c: c, Z), WrongKind, "while_loop", "cond_fun", "nv.all"),
    Row(lambda: nv.while_loop(lambda c: None, lambda c: c, 0.0), WrongKind, "while_loop", "cond_fun", "NoneType"),
    Row(lambda: nv.while_loop(lambda c: (c < 3,), lambda c: c, 0.0), WrongKind, "while_loop", "cond_fun", "one tensor"),
    Row(lambda: nv.while_loop(lambda c: counted(c) < 3, lambda c: c, 0.0), InvalidArgument, "while_loop", "cond_fun",
        "assign in the body"),
    Row(lambda: nv.while_loop(lambda c: c < 3, lambda c: c, 0.0, max_trips=-1), InvalidArgument, "while_loop",
        "max_trips", "not negative"),
    Row(lambda: nv.while_loop(lambda c: c < 3, lambda c: c, 0.0, max_trips=K), WrongKind, "while_loop", "max_trips",
        "when the loop is built"),
    Row(lambda: nv.while_loop(lambda c: c < 3, lambda c: c, 0.0, max_trips=3.5), WrongKind, "while_loop", "max_trips",
        "float 3.5"),
    Row(lambda: nv.fori_loop(0, 3.5, lambda i, c: c, 0.0), WrongKind, "fori_loop", "upper", "float 3.5"),
    Row(lambda: nv.fori_loop("0", 3, lambda i, c: c, 0.0), WrongKind, "fori_loop", "lower", "str '0'"),
    Row(lambda: nv.fori_loop(None, K, lambda i, c: c, 0.0), WrongKind, "fori_loop", "lower", "NoneType"),
    Row(lambda: nv.fori_loop(0, P, lambda i, c: c, 0.0), WrongKind, "fori_loop", "upper", "one integer"),
    Row(lambda: nv.fori_loop(0, Z.astype(nv.int64), lambda i, c: c, 0.0), WrongKind, "fori_loop", "upper", "i64[3]"),
]

PYTHON = [
    Row(lambda: scan(lambda c, v: (c + 1 if v > 0 else c, None)), WrongKind, "numpy", None, "nv.cond"),
    Row(lambda: scan(lambda c, v: (max(c, v), None)), WrongKind, "numpy", None, "nv.where"),
    Row(lambda: scan(lambda c, v: (c + v.item(), None)), WrongKind, "numpy", None, "a function that nv.scan runs"),
    Row(lambda: scan(lambda c, v: (c + sum(v), None), xs=X, axis="T"), WrongKind, "iter", None, "nv.scan"),
    Row(lambda: nv.map(lambda v: v if v > 0 else -v, Z), WrongKind, "numpy", None, "a function that nv.map runs"),
    Row(lambda: nv.fori_loop(0, 3, lambda i, c: c + sum(range(i)), 0.0), WrongKind, "numpy", None, "nv.fori_loop runs"),
    Row(lambda: nv.fori_loop(0, 3, lambda i, c: c + [1.0, 2.0][i], 0.0), WrongKind, "numpy", None, "nv.fori_loop runs"),
    Row(lambda: nv.fori_loop(0, 3, lambda i, c: c + nv.sum(Z[:i]), 0.0), WrongKind, "numpy", None, "nv.fori_loop runs"),
    Row(lambda: nv.while_loop(lambda c: 0 < c < 5, lambda c: c, 1.0), WrongKind, "numpy", None, "nv.while_loop runs"),
    Row(lambda: nv.fori_loop(0, 3, lambda i, c: c.__setitem__(i, 1.0), Z), WrongKind, "x[...] =", None, "x.at[index]"),
    Row(lambda: nv.cond(P > 0, lambda: P if P > 1 else -P, lambda: P), WrongKind, "numpy", None, "nv.cond runs"),
    Row(lambda: nv.jit(lambda a: a if nv.sum(a) > 0 else -a)(ONES), WrongKind, "numpy", None, "nv.cond"),
    Row(lambda: nv.jit(lambda a: [2 * b for b in a])(ONES), WrongKind, "iter", None, "nv.map"),
    Row(lambda: nv.jit(lambda a: sorted(a))(ONES), WrongKind, "iter", None, "nv.scan"),
    Row(lambda: nv.jit(lambda a: [x for x, _ in zip(a, a, strict=True)])(ONES), WrongKind, "iter", None, "nv.scan"),
]

LEAKS = [
    Row(lambda: nv.evaluate(leaked(lambda f: scan(lambda c, v: (f(c, v), None)))), InvalidArgument, "Function", None,
        "inside of a function that nv.scan runs"),
    Row(lambda: nv.evaluate(scan(lambda c, v: (c + leaked(lambda f: nv.map(f, Z)), None))[0]), InvalidArgument,
        "Function", None, "a function that nv.map runs"),
    Row(lambda: nv.computation(leaked(lambda f: nv.cond(P > 0, f, f, P)), P), InvalidArgument, "Function", None,
        "a function that nv.cond runs"),
    Row(lambda: nv.evaluate(leaked(lambda f: nv.while_loop(lambda c: c < 3, lambda c: f(c + 1), 0.0))), InvalidArgument,
        "Function", None, "return it from that function"),
    Row(lambda: scan(lambda c, v: (c + nv.evaluate(v), None)), InvalidArgument, "Function", None, "is used outside"),
    Row(lambda: nv.evaluate(leaked(lambda f: nv.jit(f)(ONES))), InvalidArgument, "evaluate", None,
        "inside of it alone: return what is needed"),
]

DERIVATIVES = [
    Row(lambda: nv.grad(lambda a: nv.while_loop(lambda c: c < 9, lambda c: c * a, a))(np.float64(2)), NotSupported,
        "While", "body", "max_trips=n"),
    Row(lambda: nv.grad(lambda a: nv.fori_loop(0, K, lambda i, c: c * a, a))(np.float64(2)), NotSupported, "While",
        "body", "nv.fori_loop whose bounds are numbers"),
    Row(lambda: nv.vmap(lambda row: scan(lambda c, v: (counted(c + v), None), xs=row)[0])(np.ones((2, 3))),
        NotSupported, "Assign", None, "would assign another value"),
    Row(lambda: nv.vmap(lambda r: nv.cond(r > 0, lambda: counted(r), lambda: r))(ONES), NotSupported, "Assign", None,
        "return the value"),
]


@pytest.mark.parametrize("row", [*CARRIES, *FUNCTIONS, *SLICES, *CHOICES, *PYTHON, *LEAKS, *DERIVATIVES],
                         ids=lambda row: f"{row.op}-{row.operand}")
def test_an_error_says_where_and_what(row):
    """A362, A365, Q5, Q42: op, leaf, what came, what to do, and the user's line."""
    with pytest.raises(row.kind) as caught:
        row.program()
    error = caught.value
    assert (error.op, error.operand) == (row.op, row.operand)
    assert row.words in str(error)
    assert error.got and error.expected and error.help
    assert error.location.file == __file__


def test_what_looks_wrong_and_is_right():
    """A number of NumPy as first carry is as weak as one of Python; conditions and branches may be numbers, too."""
    total, _ = nv.scan(lambda c, v: (c + v, None), np.int64(0), nv.constant([0.5, 1.0]))
    assert (total.dtype, total.item()) == (nv.float32, 1.5)
    assert nv.while_loop(lambda c: False, lambda c: c + 1, 2.0).item() == 2.0
    assert nv.cond(np.bool_(True), lambda: 1, lambda: 2.5).item() == 1.0
    assert nv.map(lambda v: None, Z) is None and nv.while_loop(lambda c: True, lambda c: c, ()) == ()


def test_the_bound_of_a_while_loop_may_be_a_length():
    """A371: a symbol that an argument binds."""
    x = nv.placeholder("T=t", nv.float64)
    root = nv.while_loop(lambda c: c < 100, lambda c: c * x[0], x[0], max_trips=x.axes[0].length)
    compiled = nv.computation([root, nv.deriv(root, x)], x)
    assert [entry.tolist() for entry in compiled(np.full(7, 2.0))] == [128.0, [448.0, *[0.0] * 6]]
    with pytest.raises(InvalidArgument, match="max_trips=t"):
        compiled(np.full(3, 2.0))
