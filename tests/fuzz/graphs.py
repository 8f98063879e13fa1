"""A random valid Function from a seed, and arguments for it.

>>> case = random_case(7)
>>> case.function.roots == random_case(7).function.roots, len(case.bindings) > 0
(False, True)
>>> from nervure.ir.structural import equal
>>> equal(case.function, random_case(7).function)
True
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

import nervure as nv
from nervure import ops
from nervure.autodiff import batched, gradients, tangents
from nervure.errors import NervureError
from nervure.ir.function import Function
from nervure.ir.leaves import ReadVariable
from nervure.ir.op import Value
from nervure.ir.region import RegionOp
from nervure.ir.traverse import postorder
from nervure.ir.variable import Variable
from nervure.ops import attention
from nervure.types.dim import evaluate
from nervure.types.dtype import DType
from nervure.types.index_map import IndexMap, indices
from tests.fuzz.attending import attended
from tests.fuzz.growth import TYPES, Growth
from tests.fuzz.recipes import RECIPES, ROWWISE
from tests.fuzz.regions import REGIONS, chained, chosen_branch, grow_once, remade, scanned

MODES = ("reverse", "forward", "reverse reverse", "forward reverse", "reverse forward")
"""The kinds of derivatives, one after the other."""

LARGE = 10_000
"""Elements of a value of attention from which on no derivative has a derivative."""


class Case(NamedTuple):
    """A function, values for its symbols, and the seed of its arguments."""

    function: Function
    bindings: list[dict[str, int]]
    seed: int


def random_case(seed: int, limit: int = 257) -> Case:
    """The function of a seed. With a lower ``limit`` it is much the same one with shorter axes."""
    growth = Growth(seed, limit)
    random = growth.random
    for _ in range(random.choice((1, 2, 2, 3))):
        growth.parameter(random.choice(TYPES), growth.shape())
    if random.random() < 0.35:
        _add_variables(growth)
    _grow(growth, RECIPES, random.choice((4, 6, 8, 12, 16, 30)))
    results = _results(growth)
    if random.random() < 0.2:
        results += _derivatives(growth, results, "reverse")
    function = Function(results, growth.parameters, _updates(growth), name=f"seed_{seed}")
    return Case(function, growth.bindings, seed)


def random_rows(seed: int, limit: int = 257) -> Case:
    """A function each of whose values has one and the same first axis ``n``, which no op looks across."""
    growth = Growth(seed, limit, batch=True)
    for _ in range(growth.random.choice((1, 2))):
        growth.parameter(growth.random.choice(TYPES), growth.shape())
    _grow(growth, ROWWISE, growth.random.choice((3, 5, 8, 12)))
    return Case(Function(_results(growth), growth.parameters, name=f"rows_{seed}"), growth.bindings, seed)


def random_regions(seed: int, limit: int = 257) -> Case:
    """A function with branches and loops, often beside derivatives of its results, or for many elements at once."""
    growth = Growth(seed, min(limit, 40))
    random = growth.random
    for _ in range(random.choice((1, 2, 3))):
        growth.parameter(random.choice(TYPES), growth.shape())
    if random.random() < 0.35:
        _add_variables(growth)
    _grow(growth, RECIPES, random.choice((0, 1, 2, 4)))
    _grow(growth, REGIONS, random.choice((1, 1, 2, 3)))
    _grow(growth, RECIPES, random.choice((0, 1, 2)))
    return _with_derivatives(growth, f"regions_{seed}")


def random_chains(seed: int, limit: int = 257) -> Case:
    """A function with products whose rows may share their loops, and what is around them."""
    growth = Growth(seed, limit)
    _grow(growth, [(chained, 1.0)], growth.random.choice((1, 1, 2)))
    _grow(growth, ROWWISE, growth.random.choice((0, 1, 3)))
    return _with_derivatives(growth, f"chains_{seed}")


def random_attention(seed: int, limit: int = 257) -> Case:
    """A function with an attention or two, now and then in a branch or loop. Half of the derivatives make again all
    weights, as those of a long attention do.
    """
    growth = Growth(seed, limit)
    random = growth.random
    if random.random() < 0.1:
        growth.starts = [attended]
        for _ in range(2):
            growth.parameter(nv.float32, growth.shape())
        _grow(growth, [(scanned, 2.0), (chosen_branch, 1.0), (remade, 1.0)], 1)
    else:
        _grow(growth, [(attended, 1.0)], random.choice((1, 1, 1, 2)))
        _grow(growth, ROWWISE, random.choice((0, 0, 1, 3)))
    is_large = any([not growth.fits(value.shape, LARGE) for op in postorder(growth.values) for value in op.outputs])
    with mock.patch.object(attention, "MOST_SCORES", random.choice((0, attention.MOST_SCORES))):
        return _with_derivatives(growth, f"attention_{seed}", ("reverse",) if is_large else (*["reverse"] * 5, *MODES))


def _with_derivatives(growth: Growth, name: str, kinds: Sequence[str] = MODES) -> Case:
    """The function of a growth, half of the time with derivatives of its results, or for many elements at once."""
    random, results = growth.random, _results(growth)
    chance = random.random()
    if chance < 0.5:
        modes = random.choice(kinds)
        through = sorted(results, key=lambda value: not _has_region(value, modes))
        results += _derivatives(growth, through, modes)
    elif chance < 0.6:
        results = _for_many(growth, results) or results
    function = Function(results, growth.parameters, _updates(growth), growth.effects, name=name)
    return Case(function, growth.bindings, growth.seed)


def _grow(growth: Growth, recipes: Any, steps: int) -> None:
    for _ in range(steps):
        grow_once(growth, recipes)
        if growth.random.random() < 0.05:
            growth.parameter(growth.random.choice(TYPES), growth.shape())


def _add_variables(growth: Growth) -> None:
    shapes = [value.shape for value in growth.values if not any([hasattr(entry, "bounds") for entry in value.shape])]
    for _ in range(growth.random.choice((1, 2))):
        shape = growth.random.choice(shapes or [(3,)])
        numbers = [evaluate(length, {}) if isinstance(length, int) else 3 for length in shape]
        growth.variable(growth.random.choice(TYPES[:16]), numbers)


def _results(growth: Growth) -> list[Value]:
    """Some values that nobody uses, and sometimes one that is an argument, a view, or there already."""
    used = {operand for op in postorder(growth.values) for operand in op.operands}
    loose = [value for value in growth.values if value not in used and growth.batch is None or value not in used]
    growth.random.shuffle(loose)
    results = loose[:growth.random.choice((1, 2, 3, 4, 8))]
    if growth.random.random() < 0.25:
        results.append(growth.random.choice(growth.values))
    if growth.random.random() < 0.1:
        results.append(results[0])
    return results


def _derivatives(growth: Growth, results: list[Value], modes: str) -> list[Value]:
    """Derivatives of the first result that is a float, then derivatives of these; none if some op has none."""
    wanted = [parameter.value for parameter in growth.parameters if parameter.dtype.is_float]
    found = [value for value in results if value.dtype.is_float][:1]
    try:
        for mode in modes.split() if wanted else ():
            derived = gradients(found, wanted, [None]) if mode == "reverse" else tangents(
                found, wanted, [value.full(0.5) for value in wanted])
            found = [value for value in derived if value is not None][:3]
            found = found[:1] if mode is not modes.split()[-1] else found
    except (NervureError, NotImplementedError):
        return []
    return found if wanted else []


def _has_region(value: Value, modes: str) -> bool:
    """Whether a value comes out of a branch or loop that has a derivative."""
    return any([isinstance(op, RegionOp) and (modes == "forward" or not isinstance(op, ops.While))
                for op in postorder([value])])


def _for_many(growth: Growth, results: list[Value]) -> list[Value]:
    """Results for a few elements at once, which differ in some of the parameters."""
    length = growth.random.choice((0, 1, 2, 3))
    chosen = [parameter for parameter in growth.parameters if growth.random.random() < 0.6]
    table = {}
    for parameter in chosen:
        many = nv.Parameter(parameter.dtype, (length, *parameter.shape))
        growth.parameters.append(many)
        table[parameter.value] = many.value
    try:
        return [entry.value for entry in batched(results, table, length) if entry.differs]
    except (NervureError, NotImplementedError):
        return []


def _updates(growth: Growth) -> dict[Variable, Value]:
    """New values for most variables; many read the old one, at the same place or at others."""
    updates = {}
    for read in [value.op for value in growth.values if isinstance(value.op, ReadVariable)]:
        fitting = [value for value in growth.values if value.type == read.value.type]
        chance = growth.random.random()
        if chance < 0.3:
            updates[read.variable] = growth.random.choice(fitting)
        elif chance < 0.9 and read.dtype.kind in ("float", "int", "uint", "complex"):
            updates[read.variable] = _renewed(growth, read.value, growth.random.choice(fitting))
    return updates


def _renewed(growth: Growth, old: Value, other: Value) -> Value:
    """A new value made from the old one and another of its type."""
    kind = growth.random.choice(("step", "step", "turned", "summed", "written") if old.rank else ("step",))
    if kind == "turned":
        other = growth.add(ops.Reverse(old, [growth.random.randrange(old.rank)]))
    elif kind == "summed":
        axes = growth.axes(old, least=1)
        other = growth.spread(growth.add(ops.Sum(old, axes)), old.shape, axes)
    elif kind == "written" and 0 not in old.shape:
        return growth.add(ops.UpdateView(old, other, IndexMap(old.shape, indices(old.rank))))
    change = growth.add(ops.Add(old, other))
    return growth.add(ops.Multiply(change, other)) if growth.random.random() < 0.3 else change


# -- arguments -----------------------------------------------------------------------------------------------------


def arguments(function: Function, binding: Mapping[str, int], seed: int) -> list[np.ndarray]:
    """Arguments of the right types and shapes, contiguous."""
    rng = np.random.default_rng(seed)
    shapes = [[evaluate(length, binding) for length in parameter.shape] for parameter in function.parameters]
    return [numbers(parameter.dtype, shape, rng)
            for parameter, shape in zip(function.parameters, shapes, strict=True)]


def states(function: Function, seed: int) -> dict[Variable, np.ndarray]:
    """Values for the variables."""
    rng = np.random.default_rng(seed + 1)
    return {variable: numbers(variable.type.dtype, variable.type.shape, rng) for variable in function.variables}


def numbers(dtype: DType, shape: Any, rng: np.random.Generator) -> np.ndarray:
    """Random numbers of a moderate size; some floats are small integers, zeros of both signs among them."""
    shape = tuple(shape)
    if dtype.kind == "bool":
        return rng.random(shape) < 0.5
    if dtype.is_integer:
        wide = dtype.bits >= 32 and not dtype.is_signed
        low, high = (0, dtype.maximum) if wide else (max(dtype.minimum, -9), min(dtype.maximum, 12))
        return rng.integers(low, high, shape, dtype=np.uint64 if wide else np.int64).astype(dtype.numpy)
    values = rng.standard_normal(shape) * 2
    values = np.where(rng.random(shape) < 0.2, np.round(values) * rng.choice([-1.0, 1.0], shape), values)
    if dtype.is_complex:
        values = values + 1j * rng.standard_normal(shape)
    return np.asarray(values).astype(dtype.numpy)


def strided(arrays: list[np.ndarray], seed: int) -> list[np.ndarray]:
    """The same numbers in other places: backwards in memory, in column-major order, with gaps."""
    rng = np.random.default_rng(seed + 2)
    return [(_backwards, _columns, _gaps, np.copy)[int(rng.integers(4))](array) if array.ndim else array.copy()
            for array in arrays]


def _backwards(array: np.ndarray) -> np.ndarray:
    turned = tuple([slice(None, None, -1)] * array.ndim)
    return np.array(array[turned])[turned]


def _columns(array: np.ndarray) -> np.ndarray:
    return np.array(array, order="F")


def _gaps(array: np.ndarray) -> np.ndarray:
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1] + 1), array.dtype)
    wide[..., 1::2] = array
    return wide[..., 1::2]
