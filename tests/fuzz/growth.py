"""A graph that grows op by op: the values so far, what is known of them, and where new operands come from.

Every op that is added is valid, and keeps numbers of a bounded size. Floats that have been rounded in
an order that is open (transcendental functions, sums) are told from *exact* ones: only those are compared, rounded to
integers and looked for, because there a last bit decides.

>>> growth = Growth(3)
>>> x = growth.parameter(nv.float32, growth.shape())
>>> growth.add(ops.Exp(x)).shape == x.shape, growth.is_exact(x), growth.is_exact(growth.values[-1])
(True, True, False)
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import nervure as nv
from nervure import ops
from nervure.ir.kinds import Composite, Structured
from nervure.ir.op import Op, Value
from nervure.ir.region import RegionOp
from nervure.ir.variable import Variable
from nervure.types.dim import Dim, DimLike, evaluate
from nervure.types.dtype import DType
from nervure.types.layout import dense
from tests.conformance.tolerance import ROUNDED

LENGTHS = (0, 1, 1, 2, 2, 3, 3, 5, 5, 7, 8, 9, 16, 17, 33, 64, 65, 100, 257)
LONG = (1, 2, 3, 3, 17, 300, 4095, 4096, 4097, 9000, 16_400, 33000)
MOST_ELEMENTS = 12_000
TYPES = (*[nv.float32] * 12, nv.float64, nv.float64, nv.int32, nv.int32, nv.int64, nv.uint8, nv.bool_, nv.bool_,
         nv.float16, nv.bfloat16, nv.complex64, nv.int8, nv.uint32)

GROWING = frozenset("Exp Exp2 Expm1 Multiply Square Power Cosh Sinh Tan Prod Sum SquaredL2 SquaredDifference Divide "
                    "Reciprocal Lgamma Digamma Trigamma Scatter ScatterElements ScatterNd Convolution Dot MatMul "
                    "Einsum Contract AccumulateView Selu LogSumExp".split())
"""Ops after which a number may be much larger than before; after two of them it is clipped."""

DISCONTINUOUS = frozenset("Floor Ceil Round Truncate Sign FloorDivide Mod Atan2 ArgMax ArgMin CountNonzero Convert Any "
                          "All Power MaxPool".split())
"""Ops whose results jump, besides comparisons."""


class Growth:
    """The random graph of a seed while it grows. ``limit`` caps all lengths, to make a failure small. Bodies of
    branches and loops begin with the recipes ``starts``.
    """

    def __init__(self, seed: int, limit: int = 257, batch: bool = False) -> None:
        self.seed, self.random = seed, Random(seed)
        self.limit = limit
        self._least = 1
        self._is_long = limit > 200 and self.random.random() < 0.03
        self.values: list[Value] = []
        self.parameters: list[nv.Parameter] = []
        self.effects: list[Op] = []
        self.depth = 0
        self.starts: list[Callable[[Growth], None]] = []
        self._exact: dict[Value, bool] = {}
        self._heat: dict[Value, int] = {}
        self.batch: Dim | None = nv.dim("n", min=1) if batch else None
        self.bindings = self._choose_bindings()
        self.symbols = [nv.dim(name, min=self._least) for name in ("n", "m") if len(self.bindings[0]) == 2]
        self._lengths = [*[self.length() for _ in range(self.random.randint(2, 4))], *self.symbols]

    # -- sizes -------------------------------------------------------------------------------------------

    def length(self) -> int:
        """A random length that is a number."""
        return self.random.choice(LONG) if self._is_long else min(self.random.choice(LENGTHS), self.limit)

    def _choose_bindings(self) -> list[dict[str, int]]:
        if self.batch is not None:
            return [{"n": min(self.random.choice((2, 3, 9, 17)), self.limit)}]
        if self.random.random() < 0.6:
            return [{}]
        self._least = self.random.choice((0, 1, 1))
        sizes = [max(self.length(), self._least) for _ in range(6)]
        return [{"n": n, "m": m} for n, m in zip(sizes[:3], sizes[3:], strict=True)]

    def shape(self) -> tuple[DimLike, ...]:
        """A random shape, in a few lengths that the whole graph shares."""
        choose = self.random.choice
        for _ in range(20):
            rank = choose((0, 1, 1, 2, 2, 2, 3, 3, 4))
            shape = tuple([choose(self._lengths) for _ in range(rank)])
            if self.batch is not None:
                shape = (self.batch, *shape)
            if self.fits(shape):
                return shape
        return (self.batch,) if self.batch is not None else (min(3, self.limit),)

    def fits(self, shape: Sequence[DimLike], most: int | None = None) -> bool:
        """Whether a shape is valid and has few elements, or at most ``most``, for every binding."""
        if most is None:
            most = MOST_ELEMENTS * (5 if self._is_long else 1)
        for binding in self.bindings:
            numbers = [evaluate(length, binding) for length in shape]
            if any([number < 0 for number in numbers]) or math.prod(numbers) > most:
                return False
        return True

    # -- values ------------------------------------------------------------------------------------------

    def parameter(self, dtype: DType, shape: Sequence[DimLike], exact: bool = True) -> Value:
        """A new parameter."""
        made = nv.Parameter(dtype, tuple(shape))
        self.parameters.append(made)
        return self._known(made.value, exact, 0)

    def inside(self) -> Growth:
        """The growth of a body in this graph: the same sizes and choices, and nothing in it."""
        made = copy.copy(self)
        made.values, made.parameters, made.effects, made.starts = [], [], [], []
        made._exact, made._heat = {}, {}
        made.depth += 1
        return made

    def weights(self, dtype: DType, shape: Sequence[DimLike]) -> Value:
        """A new parameter without a batch, which nothing else reads."""
        self.parameters.append(nv.Parameter(dtype, tuple(shape)))
        return self.parameters[-1].value

    def variable(self, dtype: DType, shape: Sequence[int]) -> Value:
        """The value of a new variable, in memory of some order."""
        name = f"v{len([value for value in self.values if isinstance(value.op, ops.ReadVariable)])}"
        layout = dense(shape, self.random.sample(range(len(shape)), len(shape)))
        variable = Variable(nv.BasicTensorDescription(dtype, tuple(shape), layout=layout), initial=1, name=name)
        return self._known(ops.ReadVariable(variable).output, True, 0)

    def _known(self, value: Value, is_exact: bool, heat: int) -> Value:
        self.values.append(value)
        self._exact[value], self._heat[value] = is_exact, heat
        return value

    def add(self, made: Op | Value) -> Value:
        """The (first) value of a new op, clipped where it may have become large."""
        op = made.op if isinstance(made, Value) else made
        exact = all([self.is_exact(operand) for operand in op.operands]) and not is_rounding(op)
        heat = max([self._heat.get(operand, 0) for operand in op.operands], default=0)
        heat += type(op).__name__ in GROWING
        for value in op.outputs:
            self._known(value, exact, heat)
        first = op.outputs[0]
        return self._clipped(first) if heat > 2 and first.dtype.is_float else first

    def _clipped(self, value: Value) -> Value:
        low, high = value.full(-4), value.full(4)
        clipped = ops.Clip(value, low, high).output
        return self._known(clipped, self.is_exact(value), 0)

    def is_exact(self, value: Value) -> bool:
        """Whether a value has the same bits everywhere; what was not added here is looked at as it stands."""
        found = self._exact.get(value)
        if found is None:
            found = self._exact[value] = not is_rounding(value.op) and all(map(self.is_exact, value.op.operands))
        return found

    # -- operands ----------------------------------------------------------------------------------------

    def pick(self, wanted: Any = lambda value: True) -> Value | None:
        """A value that fits, later ones more often; None if there is none."""
        fitting = [value for value in self.values if wanted(value)]
        if not fitting:
            return None
        return fitting[max(self.random.randrange(len(fitting)), self.random.randrange(len(fitting)))]

    def like(self, dtype: DType, shape: Sequence[DimLike], exact: bool = False) -> Value:
        """A value of a type and shape: one that exists, a row or number spread over the shape, or a new parameter."""
        shape = tuple(shape)
        chance = self.random.random()
        if chance < 0.6:
            found = self.pick(lambda value: value.dtype is dtype and value.shape == shape
                              and (self.is_exact(value) or not exact))
            if found is not None:
                return found
        if chance < 0.68 and self.batch is None and shape:
            return self.spread(self.like(dtype, shape[1:], exact), shape, (0,))
        if chance < 0.78:
            return ops.Full(self.random.choice((0, 1, 2, 3)), dtype, shape).output
        return self.parameter(dtype, shape)

    def spread(self, value: Value, shape: Sequence[DimLike], axes: Sequence[int]) -> Value:
        """A value repeated along new axes."""
        return self.add(ops.Broadcast(value, tuple(shape), tuple(axes)))

    def axes(self, value: Value, least: int = 0) -> list[int]:
        """Some axes of a value, not that of the batch."""
        first = 0 if self.batch is None else 1
        found = [axis for axis in range(first, value.rank) if self.random.random() < 0.5]
        if len(found) < least and value.rank > first:
            found = [self.random.randrange(first, value.rank)]
        return found


def is_rounding(op: Op) -> bool:
    """Whether the last bits of an op's result are open: rounded functions, and floats added up in some order."""
    dtypes = [value.dtype for value in op.outputs]
    if not any([dtype.is_float or dtype.is_complex for dtype in dtypes]):
        return False
    if isinstance(op, RegionOp):
        return any([is_rounding(inner) for body in op.bodies for inner in body.operations])
    if isinstance(op, Composite):
        return True
    if isinstance(op, Structured):
        structure = op.structure(*[operand.type for operand in op.operands])
        return structure.combine in ("add", "multiply") or type(op).__name__ == "ProductChains"
    if getattr(op, "function", None) in ROUNDED or type(op).__name__ == "Hypot":
        return True
    return dtypes[0].is_complex and type(op).__name__ in ("Multiply", "Divide", "Sign", "Absolute") or (
        type(op).__name__ in ("Absolute", "Sign") and op.operands[0].dtype.is_complex)
