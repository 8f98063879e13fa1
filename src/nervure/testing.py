"""Testing utilities: a comparison that describes the difference, and derivatives checked against finite differences.

>>> import numpy as np
>>> assert_close(np.float32([1, 2]), [1.0, 2.0000001])
>>> assert_close([1.0, 2.0, 3.0], [1.0, 2.5, 3.0])
Traceback (most recent call last):
    ...
AssertionError: 1 of 3 elements differ (float64, rtol 1e-10, atol 1e-12)
  largest absolute difference 0.5 at [1]: 2.0 instead of 2.5
  largest relative difference 0.2 at [1]: 2.0 instead of 2.5
>>> import nervure as nv
>>> check_grads(lambda x, y: nv.sin(x) * y, [np.array([0.5, 1.0]), np.array([2.0, 3.0])])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from nervure.autodiff.derivative import deriv
from nervure.computation import computation
from nervure.errors import AxisMismatch, InvalidArgument, WrongKind
from nervure.front import pytrees
from nervure.front.alignment import arranged
from nervure.front.argument_parsing import integer, members, real, require_function
from nervure.front.creation import as_tensor, constant, placeholder
from nervure.front.given_arrays import numpy_array
from nervure.front.op_functions import multiply
from nervure.front.statistics.reductions import sum as sum_over
from nervure.front.tensor import Tensor
from nervure.types.dtype import as_dtype, float64
from nervure.types.shape import index_at

TOLERANCES = {"float64": (1e-10, 1e-12), "complex128": (1e-10, 1e-12), "float32": (1e-5, 1e-6),
              "complex64": (1e-5, 1e-6), "float16": (2e-3, 1e-4), "bfloat16": (2e-2, 1e-3)}
"""Relative and absolute tolerance by element type; bool and integers are compared exactly, narrower floats to 1
part in 8.
"""


def assert_close(actual: object, expected: object, rtol: float | None = None, atol: float | None = None,
                 check_dtype: bool = False) -> None:
    """Raises AssertionError unless ``|actual - expected| <= atol + rtol * |expected|`` for every element.

    ``actual`` and ``expected`` are tensors, arrays, numbers, or dicts, lists and dataclasses of these. Shapes must be
    equal, and the named axes of two tensors, in any order; NaN equals NaN, infinities those of their sign. The
    tolerances are by default those of the less precise element type of the two (``TOLERANCES``); Python's numbers have
    none.

    >>> nv.testing.assert_close(np.float32([1, 2]), [1.0, 2.000001])
    >>> nv.testing.assert_close([1.0, 2.0], [1.0, 2.5], rtol=0.5)
    """
    for path, mine, theirs in _pairs(actual, expected):
        message = _difference(mine, theirs, rtol, atol, check_dtype)
        if message:
            raise AssertionError(f"{path}: {message}" if path else message)


def _pairs(actual: object, expected: object, path: str = "") -> list[tuple[str, object, object]]:
    """Returns (path, leaf, leaf) for two values nested alike, whose entries are found by their keys."""
    if not _is_nest(actual) and not _is_nest(expected):
        return [(path, actual, expected)]
    mine, theirs = pytrees.parts_of(actual), pytrees.parts_of(expected)
    if (mine is None or theirs is None or isinstance(actual, Mapping) is not isinstance(expected, Mapping)
            or set(mine[0]) != set(theirs[0])):
        raise _nested_differently(path, actual, expected)
    known = dict(zip(*theirs, strict=True))
    return [pair for key, entry in zip(*mine, strict=True)
            for pair in _pairs(entry, known[key], path + pytrees.key_text(key))]


def _is_nest(value: object) -> bool:
    """Whether a value holds others, and is not merely an array written as lists of numbers."""
    leaves, pattern = pytrees.flatten(value)
    return pattern is not pytrees.LEAF and not (
        isinstance(value, (list, tuple))
        and all(isinstance(leaf, (bool, int, float, complex, np.generic)) for leaf in leaves))


def _nested_differently(path: str, *values: object) -> AssertionError:
    outlines = []
    for value in values:
        keys = f" with {', '.join(map(repr, value))}" if isinstance(value, Mapping) else ""
        outlines.append(f"{type(value).__name__}{keys} of {len(pytrees.flatten(value)[0])}")
    where = f"{path}: " if path else ""
    return AssertionError(f"{where}the values are nested differently: {outlines[0]} instead of {outlines[1]}")


def _difference(mine: object, theirs: object, rtol: float | None, atol: float | None, check_dtype: bool) -> str:
    """Describes the difference of two tensors; empty if there is none."""
    if isinstance(mine, Tensor) and isinstance(theirs, Tensor):
        try:
            mine = arranged(mine, theirs.axes, "assert_close", "actual")
        except AxisMismatch:
            return f"axes {mine.axes} instead of {theirs.axes}"
    actual, expected = [_elements(entry) for entry in (mine, theirs)]
    if actual.shape != expected.shape:
        return f"shape {actual.shape} instead of {expected.shape}"
    if check_dtype and actual.dtype != expected.dtype:
        return f"element type {actual.dtype} instead of {expected.dtype}"
    typed = [array.dtype for array, given in ((actual, mine), (expected, theirs)) if hasattr(given, "dtype")]
    name, tolerances = _tolerances(typed or [actual.dtype, expected.dtype])
    relative = tolerances[0] if rtol is None else real(rtol, "assert_close", "rtol")
    absolute = tolerances[1] if atol is None else real(atol, "assert_close", "atol")
    wide = np.complex128 if "complex" in f"{actual.dtype} {expected.dtype}" else np.float64
    if name is None and rtol is None and atol is None:
        wrong, distance, scale = actual != expected, None, None
    else:
        left, right = actual.astype(wide), expected.astype(wide)
        with np.errstate(all="ignore"):
            distance, scale = np.abs(left - right), np.abs(right)
            within = (distance <= absolute + relative * scale) & np.isfinite(left) & np.isfinite(right)
            wrong = ~(within | (left == right) | (np.isnan(left) & np.isnan(right)))
    if not np.any(wrong):
        return ""
    lines = [f"{np.count_nonzero(wrong)} of {wrong.size} elements differ "
             f"({name or actual.dtype}, rtol {relative:g}, atol {absolute:g})"]
    if distance is None or scale is None or not np.all(np.isfinite(distance[wrong])):
        place = index_at(int(np.argmax(wrong)), wrong.shape)
        return "\n".join([*lines, f"  first {_found(actual, expected, place)}"])
    with np.errstate(all="ignore"):
        ratio = np.where(distance == 0, 0.0, distance / scale)
    for label, size in (("absolute", distance), ("relative", ratio)):
        place = index_at(int(np.argmax(np.where(wrong, size, -1))), wrong.shape)
        lines.append(f"  largest {label} difference {size[place]:.3g} {_found(actual, expected, place)}")
    return "\n".join(lines)


def _elements(entry: object) -> np.ndarray:
    if isinstance(entry, np.ndarray):
        return entry
    return entry.numpy() if isinstance(entry, Tensor) else numpy_array(entry, "assert_close")


def _tolerances(dtypes: Sequence[object]) -> tuple[str | None, tuple[float, float]]:
    """Returns the less precise float type of the two and its tolerances; None if both are exact."""
    found = [(TOLERANCES.get(str(dtype), (0.125, 0.125)), str(dtype)) for dtype in dtypes
             if as_dtype(dtype).kind in ("float", "complex")]
    if not found:
        return None, (0.0, 0.0)
    tolerances, name = max(found)
    return name, tolerances


def _found(actual: np.ndarray, expected: np.ndarray, place: tuple[int, ...]) -> str:
    index = ", ".join(map(str, place))
    return f"at [{index}]: {actual[place]} instead of {expected[place]}"


def check_grads(function: Callable[..., object], arguments: Sequence[object], order: int = 2, step: float = 1e-5,
                rtol: float = 1e-6, atol: float = 1e-6, directions: int = 3, seed: int = 0) -> None:
    """Raises AssertionError unless the derivatives of a function of tensors agree with central differences, in
    float64.

    ``function`` takes a tensor for each argument (arrays, or tensors for their axes) and returns a tensor of any axes.
    For each order a weighted sum of all elements is differenced along random directions, ``(f(x + h d) - f(x - h d)) /
    2h``, and compared with the gradient times d; the next order does the same with the gradients.

    >>> nv.testing.check_grads(lambda x, y: nv.sin(x) * y, [np.array([0.5, 1.0]), np.array([2.0, 3.0])])
    """
    require_function(function, "check_grads", "function")
    rng, order = np.random.default_rng(integer(seed, "check_grads", "seed")), integer(order, "check_grads", "order")
    points = [_point(entry) for entry in members(arguments, "check_grads", "arguments", "a list of arrays")]
    inputs = [placeholder(entry.axes if isinstance(entry, Tensor) else point.shape, float64)
              for entry, point in zip(arguments, points, strict=True)]
    step, rtol, atol = [real(entry, "check_grads", name)
                        for name, entry in (("step", step), ("rtol", rtol), ("atol", atol))]
    if not inputs or order < 1:
        raise InvalidArgument("there is nothing to check", op="check_grads",
                              got=f"{len(inputs)} arguments, order {order}",
                              expected="one argument or more, order 1 or more",
                              help="check_grads(function, [array], order=1)")
    result = function(*inputs)
    if not isinstance(result, Tensor):
        raise WrongKind("the function must give one tensor", op="check_grads", got=type(result).__name__,
                        expected="a tensor", help="stack or add up several")
    outputs: list[Tensor] = [as_tensor(result)]
    for level in range(1, order + 1):
        total = _weighted(outputs, rng)
        outputs = deriv(total, inputs)
        _compare(computation([total, *outputs], *inputs), points, rng, (level, step, rtol, atol, directions))


def _point(argument: object) -> np.ndarray:
    """Returns the values of an argument, in float64."""
    array = argument.numpy() if isinstance(argument, Tensor) else numpy_array(argument, "check_grads")
    if array.dtype.kind == "c":
        raise WrongKind("check_grads takes real numbers", op="check_grads", got=str(array.dtype), expected="floats",
                        help="take real and imaginary part as two arguments")
    return array.astype(np.float64)


def _weighted(outputs: Sequence[Tensor], rng: np.random.Generator) -> Tensor:
    """Returns the sum of all elements of some tensors, each with a random weight."""
    terms = []
    for output in outputs:
        weights = constant(rng.standard_normal(output.shape), output.axes, float64)  # type: ignore[arg-type]  # numbers
        terms.append(sum_over(multiply(output, weights), out_axes=()))
    return sum(terms[1:], start=terms[0])


def _compare(compute: Callable[..., Sequence[np.ndarray]], points: Sequence[np.ndarray], rng: np.random.Generator,
             settings: tuple[int, float, float, float, int]) -> None:
    level, step, rtol, atol, directions = settings
    gradients = compute(*points)[1:]
    for _ in range(directions):
        towards = [rng.standard_normal(point.shape) for point in points]
        values = [compute(*[point + sign * step * along for point, along in zip(points, towards, strict=True)])[0]
                  for sign in (1, -1)]
        expected = float(values[0] - values[1]) / (2 * step)
        got = float(sum(np.sum(gradient * along) for gradient, along in zip(gradients, towards, strict=True)))
        if not abs(got - expected) <= atol + rtol * max(abs(expected), abs(got)):
            raise AssertionError(f"derivative {level} differs from its differences: {got:.9g} instead of "
                                 f"{expected:.9g} (difference {abs(got - expected):.3g})")


__all__ = ["assert_close", "check_grads"]
