"""Functions that use all of what text has to say."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from hypothesis import strategies as st

import nervure as nv
from nervure import ops
from nervure.ir import field
from nervure.ir.function import Assumption, Function, function_attribute
from nervure.ir.op import Op
from nervure.ir.provenance import name_scope
from nervure.ir.variable import Variable
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import dim, index
from nervure.types.dtype import float32, int64
from nervure.types.index_map import IndexMap


class EveryKind(Op):
    """An op with an attribute of every kind that has text, and two outputs."""

    operand_names = "x"
    whole = field.integer()
    missing = field.integer(None, optional=True)
    real = field.real()
    truth = field.boolean()
    text = field.string()
    mode = field.choice("fast", "exact")
    number = field.number()
    dtype = field.dtype()
    length = field.dimension()
    shape = field.shape()
    ints = field.ints()
    pairs = field.pairs()
    paddings = field.dim_pairs()
    slices = field.slices()
    words = field.strings()
    array = field.array()
    variable = field.variable()
    map = field.index_map()
    no_map = field.optional_index_map()
    types = field.types()

    def infer(self, *types: Any) -> Any:
        return types[0], BasicTensorDescription(int64, self.shape)


class Apply(Op):
    """Calls a function that it holds, if it holds one."""

    operand_names = "*xs"
    body = function_attribute()
    count = field.integer(1)

    def infer(self, *types: Any) -> Any:
        return tuple(value.type for value in self.body.results)


def training_step() -> Function:
    """Symbols, variables, labels, names, scopes, an assumption, effects and updates."""
    n, m = dim("N", min=1, max=4096), dim("M")
    x = ops.Parameter(float32, (n, 4))
    other = ops.Parameter(float32, (m, 4))
    x.name, other.name = "x", "other images"
    x.output.labels = ("N", "feature axis")
    other.output.labels = (None, "feature axis")
    w = Variable(BasicTensorDescription(float32, (4,)), name="w", trainable=True)
    count = Variable(BasicTensorDescription(int64, ()), name="w")
    scratch = Variable(BasicTensorDescription(float32, (4,)), persistent=False)
    with name_scope("encoder"):
        products = ops.Multiply(x, x)
        products.name = "products"
        again = ops.Multiply(products, products)
        again.name = "products"
        sums = ops.Sum(again, axes=(0,))
    read = ops.ReadVariable(variable=w)
    shown = ops.PrintOp(ops.Add(read, sums), prefix="sum: \"a\" # b\n")
    guard = ops.Guard(ops.Less(read, shown), message="diverged")
    steps = ops.ReadVariable(variable=count).output + 1
    assumptions = [Assumption(n, m, "Add", None), Assumption(2 * n, m + 1, "a b", None),
                   Assumption(n, 3 * m, "Add", None, 'other lengths in "b" # are none')]
    return Function([shown, products], [x, other], updates={w: shown, count: steps, scratch: sums},
                    effects=[shown, guard], assumptions=assumptions, name="training step")


def every_kind() -> Function:
    """One op with all kinds of attributes."""
    n = dim("N")
    x = ops.Parameter(float32, (2,))
    w = Variable(BasicTensorDescription(float32, (3,)))
    op = EveryKind(
        x, whole=-3, real=0.1, truth=True, text="tab\t\"quoted\" é # ", mode="exact", dtype=nv.bfloat16,
        number=complex(-0.0, float("nan")), length=n // 2 + 1, shape=(2, n), ints=(1, -2), pairs=((0, 1),),
        paddings=((n, 0), (1, -n)), slices=((0, n - 1, -1),), words=("a", "b,c"), variable=w,
        array=np.array([[0.5, -0.0]], np.float16), map=IndexMap((n, 3), (2 - index(1), index(0) % 2)),
        types=(x.type, BasicTensorDescription(int64, (n,))))
    return Function([*op.outputs, op.outputs[1]], [x], name="every_kind")


def nested() -> Function:
    """Functions that ops hold; one of them is held twice."""
    a = ops.Parameter(float32, (2,))
    square = Function([a * a, a + a], [a], name="square")
    b = ops.Parameter(float32, (2,))
    inner = Apply(b, body=square)
    outer = Function([Apply(inner.outputs[1], body=square).outputs[0]], [b], name="square")
    x = ops.Parameter(float32, (2,))
    return Function([Apply(x, body=outer), Apply(x, body=square).outputs[0]], [x], name="main")


EXAMPLES = {"training_step": training_step, "every_kind": every_kind, "nested": nested}


LONG = 100_000 if os.environ.get("DEEP_TESTS") else 10_000
"""The ops of a chain that neither Python's stack nor C's would hold."""


def chain(length: int) -> Function:
    """A chain of ops, each on the one before."""
    x = ops.Parameter(float32, (2, 3))
    y = x.output
    for _ in range(length // 2):
        y = ops.Negative(ops.Add(y, x)).output
    return Function([y], [x])


_UNARY = [ops.Negative, ops.Exp, ops.Tanh, lambda x: ops.Sum(x, axes=(0,)) if x.rank else x * 2.0,
          lambda x: ops.Reshape(x, shape=(1, *x.shape)), lambda x: ops.Convert(ops.Convert(x, nv.float64), nv.float32),
          lambda x: x * ops.Constant(np.full((), 0.1, np.float32)) if x.rank == 0 else x + x.full(float("-inf"))]
_NAMES = st.one_of(st.none(), st.sampled_from(["a", "b", "a_1", "3", "a b", "é\n", 'q"']))


@st.composite
def functions(draw: Any) -> Function:
    """A random function of a few ops with sharing, labels, names, updates and effects."""
    n = dim("N", min=draw(st.integers(0, 2)))
    parameters = [ops.Parameter(float32, draw(st.sampled_from([(), (3,), (n, 2), (2 * n + 1,)])))
                  for _ in range(draw(st.integers(1, 3)))]
    values = [op.output for op in parameters]
    for _ in range(draw(st.integers(0, 12))):
        left = draw(st.sampled_from(values))
        right = draw(st.sampled_from([value for value in values if value.shape == left.shape]))
        made = draw(st.sampled_from([*_UNARY, ops.Add, ops.Maximum]))
        value = made(left, right) if made in (ops.Add, ops.Maximum) else made(left)
        value = value.value
        value.op.name = draw(_NAMES)
        if value.labels is None and value.rank and draw(st.booleans()):
            value.labels = tuple([draw(_NAMES) for _ in range(value.rank)])
            value.labels = value.labels if any(x is not None for x in value.labels) else None
        values.append(value)
    results = draw(st.lists(st.sampled_from(values), max_size=4))
    numbers = [value for value in values if all(isinstance(length, int) for length in value.shape)]
    updates = {Variable(value.type, name=draw(_NAMES), trainable=draw(st.booleans())): value
               for value in (draw(st.lists(st.sampled_from(numbers), max_size=2)) if numbers else [])}
    effects = [ops.PrintOp(draw(st.sampled_from(values)))] if draw(st.booleans()) else []
    return Function(results, parameters, updates, effects, name=draw(st.sampled_from(["f", "two words", "3"])))
