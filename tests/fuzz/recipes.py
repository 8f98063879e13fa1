"""Recipes by which a random graph grows: ops from the registry, and the patterns that kernels are made for.

Each recipe takes a :class:`~tests.fuzz.growth.Growth` and adds one op or a few. An attempt may turn out to be invalid
(a NervureError): then nothing was added.

>>> growth = Growth(1)
>>> _ = growth.parameter(nv.float32, (4, 9))
>>> softmax_like(growth)
>>> growth.values[-1].shape
(4, 9)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nervure as nv
from nervure import ops
from nervure.ir.kinds import Pointwise, View
from nervure.ir.op import Op, Value
from nervure.ops.library_op import LibraryOp
from nervure.types.dim import DimLike, affine, evaluate, substitute, symbols
from nervure.types.dtype import DType, float32, float64
from tests.conformance.samples import NAMES, built_in, samples_of, types_of
from tests.conformance.sampling import Index, Operand, Sample
from tests.fuzz.growth import DISCONTINUOUS, TYPES, Growth

LEFT_OUT = frozenset("Guard PrintOp HostCall Parameter ReadVariable CustomDerivative Full Constant Bitcast".split()) | {
    name for name in NAMES if issubclass(built_in()[name], LibraryOp)}
"""Leaves, what is no op of kernels, what shows which NaN it was given, and what fails for some matrices."""

LOWEST = {"N": 0, "M": 0, "K": 0, "A": 1, "B": 1}

_WEIGHTS = {"pointwise": 6, "view": 5, "structured": 4, "indexing": 3, "pooling": 1, "random": 1, "convolution": 0.2,
            "contraction": 0.3, "einsum": 0.2}


def family(name: str) -> str:
    """The part of the vocabulary that an op is of."""
    cls = built_in()[name]
    if issubclass(cls, Pointwise):
        return "pointwise"
    if issubclass(cls, View):
        return "view"
    module = cls.__module__.rpartition(".")[2]
    if module in ("update", "embedding"):
        return "indexing"
    return module if module in _WEIGHTS else "structured"


FAMILIES: dict[str, list[str]] = {}
for _name in NAMES:
    if _name not in LEFT_OUT:
        FAMILIES.setdefault(family(_name), []).append(_name)


# -- from the registry ---------------------------------------------------------------------------------------------


def registered(growth: Growth) -> None:
    """A few ops of one family of the registry on values that exist, as their samples say."""
    names = list(_WEIGHTS)
    chosen, = growth.random.choices(names, [_WEIGHTS[name] for name in names])
    for _ in range(2):
        sampled(growth, growth.random.choice(FAMILIES[chosen]))


def sampled(growth: Growth, name: str) -> None:
    """An op on values that fit one of its samples; on a new parameter where none does."""
    samples: list[tuple[Sample, Value | None, dict[str, DimLike]]] = []
    for x in growth.random.sample(growth.values, min(len(growth.values), 6)):
        for sample in samples_of(name, x.dtype) if x.dtype in types_of(name) else ():
            table: dict[str, DimLike] = {}
            if not sample.operands or fitted(growth, sample.operands[0].shape, x.shape, table):
                samples.append((sample, x if sample.operands else None, table))
    if not samples:
        usual = [dtype for dtype in types_of(name) if dtype in TYPES] or types_of(name)
        samples = [(sample, None, {}) for sample in samples_of(name, growth.random.choice(usual))]
    build_sample(growth, name, *growth.random.choice(samples))


def build_sample(growth: Growth, name: str, sample: Sample, x: Value | None, table: dict[str, DimLike]) -> None:
    """The op of a sample, with lengths for the symbols that the table lacks."""
    for symbol in sorted(sample.symbols - set(table)):
        table[symbol] = max(growth.length(), LOWEST[symbol])
    shapes = [tuple([substitute(length, table) for length in operand.shape]) for operand in sample.operands]
    if not all(map(growth.fits, shapes)):
        return
    operands = [_operand(growth, name, entry, shape, table, x if at == 0 else None)
                for at, (entry, shape) in enumerate(zip(sample.operands, shapes, strict=True))]
    _build(growth, sample, operands, table)


def _build(growth: Growth, sample: Sample, operands: list[Value], table: dict[str, DimLike]) -> None:
    op = sample.build(lambda length: substitute(length, table), *operands)
    if all([growth.fits(value.shape) for value in op.outputs]):
        growth.add(op)


def fitted(growth: Growth, pattern: tuple[DimLike, ...], shape: tuple[DimLike, ...], table: dict[str, DimLike]) -> bool:
    """Whether symbols of a pattern can be such that it is this shape; they are put into the table."""
    if len(pattern) != len(shape):
        return False
    for want, have in zip(pattern, shape, strict=True):
        free = symbols(want) - set(table)
        parts = affine(want, free) if len(free) == 1 else None
        if parts is not None:
            (name, factor), = parts[0].items()
            if factor != 1:
                return False
            table[name] = have - substitute(parts[1], table)
            if not all([evaluate(table[name], binding) >= LOWEST[name] for binding in growth.bindings]):
                return False
        elif substitute(want, table) != have:
            return False
    return True


def _operand(growth: Growth, name: str, operand: Operand, shape: tuple[DimLike, ...], table: dict[str, DimLike],
             given: Value | None) -> Value:
    if isinstance(operand.domain, Index):
        return indices(growth, operand.dtype, shape, substitute(operand.domain.bound, table))
    exact = needs_exact(name, operand.dtype)
    value = given if given is not None and (growth.is_exact(given) or not exact) else None
    if value is None:
        value = growth.like(operand.dtype, shape, exact)
    if not (operand.dtype.is_float or operand.dtype.is_complex) or not isinstance(operand.domain, str):
        return value
    if name == "Atan2":  # it tells zeros apart, and which one a maximum gives is open: -0.0 + 0.0 is 0.0
        value = growth.add(ops.Add(value, value.full(0)))
    return in_domain(growth, value, operand.domain)


def needs_exact(name: str, dtype: DType) -> bool:
    """Whether an op jumps, so that its operands must be the same everywhere."""
    if name in DISCONTINUOUS:
        return True
    cls: Any = built_in()[name]
    return cls.__module__.rpartition(".")[2] in ("comparison", "rounding", "order") or not dtype.is_float


def in_domain(growth: Growth, value: Value, domain: str) -> Value:
    """A value moved to where a function is defined."""
    if value.dtype.is_complex or domain in ("normal", "distinct"):
        return value
    size = ops.Absolute(value).output
    if domain in ("positive", "above one", "high"):
        return growth.add(ops.Add(size, value.full(1.25 if domain == "above one" else 0.5)))
    if domain == "low":
        return growth.add(ops.Negative(ops.Add(size, value.full(0.5))))
    return growth.add(ops.Divide(value, ops.Add(size, value.full(1.25)).output))


def indices(growth: Growth, dtype: DType, shape: tuple[DimLike, ...], bound: DimLike) -> Value:
    """Integers in [-bound, bound), by arithmetic on any integers; seldom those integers themselves."""
    most = max([evaluate(bound, binding) for binding in growth.bindings])
    if most > dtype.maximum:
        dtype = nv.int32
    given = growth.like(dtype, shape)
    if growth.random.random() < 0.02:
        return given
    length = ops.Extent(bound, dtype, shape).output
    inside = ops.Mod(given, length).output
    if dtype.is_signed and growth.random.random() < 0.4:
        inside = ops.Subtract(inside, length).output
    return inside


# -- patterns ------------------------------------------------------------------------------------------------------


def unary(growth: Growth) -> None:
    """A plain function of a float."""
    x = growth.pick(lambda value: value.dtype.is_float)
    if x is not None:
        cls = growth.random.choice((ops.Tanh, ops.Sigmoid, ops.Negative, ops.Absolute, ops.Relu, ops.Sin, ops.Cos,
                                    ops.Erf, ops.GeluTanh, ops.Softplus))
        growth.add(cls(x))


def exponential(growth: Growth) -> None:
    """Something costly to compute again, of something cheap."""
    x = growth.pick(lambda value: value.dtype.is_float)
    if x is not None:
        growth.add(ops.Exp(ops.Minimum(x, x.full(2)).output))


def binary(growth: Growth) -> None:
    """Arithmetic of two values of a type and shape."""
    x = growth.pick(lambda value: value.dtype.kind in ("float", "int", "uint", "complex"))
    if x is None:
        return
    y = growth.like(x.dtype, x.shape)
    cls = growth.random.choice((ops.Add, ops.Subtract, ops.Multiply, ops.Add, ops.Subtract, ops.Multiply, ops.Maximum,
                                ops.Minimum))
    growth.add(cls(x, y) if growth.random.random() < 0.5 else cls(y, x))


def chosen(growth: Growth) -> None:
    """A choice by a comparison of what is exact."""
    x = growth.pick(lambda value: value.dtype.kind in ("float", "int", "uint"))
    if x is None:
        return
    left = growth.like(nv.float32, x.shape, exact=True)
    right = growth.like(nv.float32, x.shape, exact=True)
    condition = growth.add(growth.random.choice((ops.Less, ops.LessEqual, ops.Equal))(left, right))
    growth.add(ops.Where(condition, x, growth.like(x.dtype, x.shape)))


def reduction(growth: Growth) -> None:
    """A reduction over some axes."""
    x = growth.pick(lambda value: value.dtype.kind in ("float", "int", "uint") and value.rank > 0)
    if x is None:
        return
    cls = growth.random.choice((ops.Sum, ops.Sum, ops.Max, ops.Min, ops.Mean, ops.Prod, ops.SquaredL2))
    if cls in (ops.Max, ops.Min) and 0 in x.shape or cls is ops.Mean and not x.dtype.is_float:
        cls = ops.Sum
    growth.add(cls(x, growth.axes(x)))


def softmax_like(growth: Growth) -> None:
    """Reductions whose results go back to the elements that they were made of."""
    x = growth.pick(lambda value: value.dtype.is_float and value.rank > 0 and 0 not in value.shape)
    if x is None:
        return
    axes = growth.axes(x, least=1)
    first = growth.add(growth.random.choice((ops.Max, ops.Mean, ops.Min))(x, axes))
    centred = growth.add(x - growth.spread(first, x.shape, axes))
    cls = growth.random.choice((ops.Exp, ops.Square, ops.Absolute, ops.Sigmoid))
    if cls is ops.Exp:
        centred = growth.add(ops.Minimum(centred, centred.full(1)))
    raised = growth.add(cls(centred))
    total = growth.add(ops.Sum(raised, axes))
    total = growth.add(ops.Absolute(total).output + total.full(0.5))
    if growth.random.random() < 0.4:
        total = growth.add(ops.Sqrt(total))
    top = growth.random.choice((raised, centred, x))
    growth.add(top / growth.spread(total, x.shape, axes))


def ready_made(growth: Growth) -> None:
    """Composites of reductions."""
    x = growth.pick(lambda value: value.dtype.is_float and value.rank > 0 and 0 not in value.shape)
    if x is not None:
        cls = growth.random.choice((ops.Softmax, ops.LogSoftmax, ops.Variance, ops.LogSumExp, ops.Std))
        growth.add(cls(x, growth.axes(x, least=1)))


def spread_back(growth: Growth) -> None:
    """A value repeated along one more axis, and combined with what has that shape."""
    x = growth.pick(lambda value: value.dtype.is_float and 0 < value.rank < 4)
    if x is None:
        return
    axis = growth.random.randint(0 if growth.batch is None else 1, x.rank)
    known = [entry for value in growth.values for entry in value.shape if entry != growth.batch]
    length = growth.random.choice([1, 3, 8, *known])
    shape = (*x.shape[:axis], min(length, growth.limit) if isinstance(length, int) else length, *x.shape[axis:])
    if growth.fits(shape):
        growth.add(growth.spread(x, shape, (axis,)) * growth.like(x.dtype, shape))


def moved(growth: Growth) -> None:
    """A view: transposed, reversed, sliced, in another shape."""
    x = growth.pick(lambda value: value.rank > 0)
    if x is not None:
        op = growth.random.choice((_permuted, _reversed, _sliced, _reshaped))(growth, x)
        if growth.fits(op.outputs[0].shape):
            growth.add(op)


def _first(growth: Growth) -> int:
    return 0 if growth.batch is None else 1


def _permuted(growth: Growth, x: Value) -> Op:
    first = _first(growth)
    order = list(range(first, x.rank))
    growth.random.shuffle(order)
    return ops.Permute(x, [*range(first), *order])


def _reversed(growth: Growth, x: Value) -> Op:
    return ops.Reverse(x, growth.axes(x, least=1))


def _sliced(growth: Growth, x: Value) -> Op:
    slices: list[tuple[DimLike, DimLike, int]] = []
    for axis, length in enumerate(x.shape):
        kind = growth.random.choice(("all", "all", "back", "every second", "middle", "from the end"))
        if axis < _first(growth):
            kind = "all"
        slices.append({"all": (0, length, 1), "back": (length - 1, length, -1),
                       "every second": (0, (length + 1) // 2, 2), "middle": (1, length - 2, 1),
                       "from the end": (length - 1, (length + 2) // 3, -3)}[kind])
    return ops.Slice(x, slices)


def _reshaped(growth: Growth, x: Value) -> Op:
    first = _first(growth)
    if growth.random.random() < 0.5 and x.rank > first + 1:
        axis = growth.random.randrange(first, x.rank - 1)
        return ops.Reshape(x, (*x.shape[:axis], x.shape[axis] * x.shape[axis + 1], *x.shape[axis + 2:]))
    for axis in range(first, x.rank):
        for part in (2, 3, 5):
            if isinstance(x.shape[axis], int) and x.shape[axis] % part == 0 and x.shape[axis] > part:
                split = (part, x.shape[axis] // part) if growth.random.random() < 0.5 else (x.shape[axis] // part, part)
                return ops.Reshape(x, (*x.shape[:axis], *split, *x.shape[axis + 1:]))
    return ops.Reshape(x, (*x.shape, 1))


def joined(growth: Growth) -> None:
    """Several values one behind the other, or one with a border."""
    x = growth.pick(lambda value: value.rank > _first(growth))
    if x is None:
        return
    axis = growth.random.randrange(_first(growth), x.rank)
    if growth.random.random() < 0.5:
        parts = [x, *[growth.like(x.dtype, x.shape) for _ in range(growth.random.randint(1, 2))]]
        growth.random.shuffle(parts)
        joined = ops.Concatenate(*parts, axis=axis)
    else:
        paddings = [(growth.random.randint(0, 2), growth.random.randint(-1, 3)) if at == axis else (0, 0)
                    for at in range(x.rank)]
        joined = ops.Pad(x, paddings, growth.random.choice((0, 1)))
    if growth.fits(joined.outputs[0].shape):
        growth.add(joined)


def product(growth: Growth) -> None:
    """A matrix product, or many, of a value by one that has some of its axes, but not that of the batch."""
    x = growth.pick(lambda value: value.dtype.kind in ("float", "int", "uint") and value.rank > _first(growth))
    if x is None:
        return
    x_indices = list(range(x.rank))
    contracted = growth.axes(x, least=1)
    kept = [axis for axis in x_indices if axis not in contracted]
    shared = [axis for axis in kept if axis >= _first(growth) and growth.random.random() < 0.3]
    free = list(range(x.rank, x.rank + growth.random.choice((0, 1, 1, 2))))
    y_indices = [*contracted, *shared, *free]
    lengths = [*[x.shape[axis] for axis in (*contracted, *shared)], *[growth.length() for _ in free]]
    order = growth.random.sample(range(len(y_indices)), len(y_indices))
    y_indices, lengths = [y_indices[at] for at in order], [lengths[at] for at in order]
    indices = [*kept, *free]
    if growth.batch is None:
        growth.random.shuffle(indices)
    extents = {**dict(enumerate(x.shape)), **dict(zip(y_indices, lengths))}
    if growth.fits(lengths) and growth.fits([extents[entry] for entry in indices]):
        y = growth.like(x.dtype, lengths) if growth.batch is None else growth.weights(x.dtype, lengths)
        x, y = near_product(growth, x), near_product(growth, y) if growth.batch is None else y
        made = growth.add(ops.Contract(x, y, x_indices, y_indices, indices))
        if growth.batch is None and growth.random.random() < 0.3:
            made = growth.add(ops.Permute(made, growth.random.sample(range(made.rank), made.rank)))
        near_product(growth, made)


def near_product(growth: Growth, x: Value) -> Value:
    """What may stand before a product or behind it: nothing, or a cheap op or two."""
    chosen = growth.random.choice(("nothing", "nothing", "sum", "scale", "activation"))
    if chosen == "nothing":
        return x
    if chosen == "activation" and x.dtype.is_float:
        return growth.add(growth.random.choice((ops.Tanh, ops.Relu))(x))
    if chosen == "scale" and x.rank and growth.batch is None:
        scale = growth.like(x.dtype, x.shape[-1:])
        return growth.add(x * ops.Broadcast(scale, x.shape, range(x.rank - 1)))
    return growth.add(x + x)


def windowed(growth: Growth) -> None:
    """Windows over a value, pooled or weighted by channel, with something cheap before and behind."""
    x = growth.pick(lambda value: value.dtype.is_float and value.rank >= 3 and all(
        [evaluate(length, binding) > 0 for length in value.shape for binding in growth.bindings]))
    if x is None:
        return
    spatial = min(x.rank - 2, 2)
    least = [min([evaluate(length, binding) for binding in growth.bindings]) for length in x.shape[x.rank - spatial:]]
    windows = [growth.random.randint(1, min(3, length)) for length in least]
    attributes = {"strides": [growth.random.randint(1, 3) for _ in windows],
                  "paddings": [(growth.random.randint(0, window - 1), growth.random.randint(0, window - 1))
                               for window in windows]}
    axes, x = list(range(x.rank - spatial, x.rank)), near_product(growth, x)
    if growth.random.random() < 0.6 or x.rank != spatial + 2 or not isinstance(x.shape[1], int):
        cls = growth.random.choice((ops.MaxPool, ops.AveragePool))
        made = growth.add(cls(x, axes, windows, **attributes))
    else:
        filters = growth.weights(x.dtype, (x.shape[1], 1, *windows))
        made = growth.add(ops.Convolution(x, filters, groups=x.shape[1], **attributes))
    near_product(growth, made)


def convolved(growth: Growth) -> None:
    """Images under filters of which there may be enough to fill registers, and some elements of what comes out."""
    choose, number = growth.random.choice, growth.random.randint
    dtype, spatial = choose((float32, float32, float64)), choose((1, 2, 2, 2, 3))
    channels, filters, groups = choose((1, 3, 24, 32)), choose((5, 48, 48, 64)), choose((1, 1, 1, 2))
    lengths = [number(1, (40, 14, 5)[spatial - 1]) for _ in range(spatial)]
    windows = [choose((1, 2, 3, 3, 3, 5)) for _ in lengths]
    strides = [choose((1, 2)) for _ in lengths] if growth.random.random() < 0.2 else [1] * spatial
    attributes = {"strides": strides, "dilations": [choose((1, 1, 1, 1, 2)) for _ in lengths],
                  "paddings": [(number(0, window), number(0, window)) for window in windows]}
    images = choose((1, 2, 3, 8)) if growth.batch is None else growth.batch
    x = growth.weights(dtype, (images, groups * channels, *lengths))
    f = growth.weights(dtype, (groups * filters, channels, *windows))
    made = ops.Convolution(x, f, groups=groups, **attributes).output
    if growth.random.random() < 0.5:
        bias = growth.weights(dtype, made.shape[1:2])
        made = ops.Relu(made + ops.Broadcast(bias, made.shape, [0, *range(2, made.rank)])).output
    ranges = [_some(growth, length) for length in made.shape[1:]]
    growth.add(ops.Slice(made, [(0, images, 1), *ranges]))


def _some(growth: Growth, length: int) -> tuple[int, int, int]:
    """A range of up to six of so many elements."""
    count = min(growth.random.randint(1, 6), length)
    return growth.random.randint(0, length - count), count, 1


Recipe = Callable[[Growth], None]

ROWWISE: list[tuple[Recipe, float]] = [
    (unary, 3), (exponential, 2), (binary, 4), (chosen, 1), (reduction, 3), (softmax_like, 2), (ready_made, 1),
    (spread_back, 1), (moved, 2), (joined, 0.7), (product, 2), (windowed, 0.7), (convolved, 0.5)]
"""Recipes that leave the batch alone, if there is one."""

RECIPES = [*ROWWISE, (registered, 12.0)]

