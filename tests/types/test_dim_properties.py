"""Dimensions against brute force: random expressions, evaluated by Python's own integers at random points."""

from __future__ import annotations

import itertools
import operator
import pickle
from collections.abc import Callable, Mapping

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nervure.errors import InvalidArgument
from nervure.types.dim import (
    Dim,
    DimLike,
    affine,
    bounds,
    compile_dim,
    dim,
    dim_max,
    dim_min,
    equal,
    evaluate,
    evaluate_arrays,
    less_equal,
    parse_dim,
    simplify,
    substitute,
    symbols,
)
from nervure.types.dim.lengths import as_length, as_symbol, of_lengths, through_symbol

Tree = object  # an int, a name, or (operator, tree, tree)
BOUNDS = {"N": (0, None), "P": (1, None), "Z": (None, None), "F": (0, 3), "G": (-2, 1)}
SYMBOLS = {name: dim(name, *limits) for name, limits in BOUNDS.items()}
VALUES = {"N": range(10), "P": range(1, 8), "Z": range(-6, 8), "F": range(4), "G": range(-2, 2)}

ON_NUMBERS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "min": min, "max": max,
    "//": lambda a, b: a // b if b else 0, "%": lambda a, b: a % b if b else 0}
ON_DIMS: dict[str, Callable[[DimLike, DimLike], DimLike]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "min": dim_min, "max": dim_max,
    "//": operator.floordiv, "%": operator.mod}

leaves = st.one_of(st.sampled_from(sorted(BOUNDS)), st.integers(-4, 9), st.sampled_from("NNPZ"))
trees = st.recursive(
    leaves, lambda below: st.tuples(st.sampled_from(["+", "-", "*", "//", "//", "%", "%", "min", "max"]), below, below),
    max_leaves=7)
points = st.fixed_dictionaries({name: st.sampled_from(list(values)) for name, values in VALUES.items()})
samples = st.lists(points, min_size=20, max_size=20)


def value_of(tree: Tree, point: Mapping[str, int]) -> int:
    if isinstance(tree, int):
        return tree
    if isinstance(tree, str):
        return point[tree]
    name, left, right = tree
    return ON_NUMBERS[name](value_of(left, point), value_of(right, point))


def dim_of(tree: Tree, leaves: Mapping[str, DimLike] = SYMBOLS) -> DimLike:
    if isinstance(tree, int):
        return tree
    if isinstance(tree, str):
        return leaves[tree]
    name, left, right = tree
    a, b = dim_of(left, leaves), dim_of(right, leaves)
    if name in ("//", "%") and isinstance(b, int) and b == 0:
        return 0
    return ON_DIMS[name](a, b)


@given(trees, samples)
def test_value_and_bounds(tree: Tree, sample: list[dict[str, int]]) -> None:
    x = dim_of(tree)
    assert isinstance(x, int) or symbols(x), "what is constant is a plain integer"
    low, high = bounds(x)
    compiled = compile_dim(x)
    for point in sample:
        value = value_of(tree, point)
        assert evaluate(x, point) == compiled(point) == value
        assert (low is None or low <= value) and (high is None or value <= high)


@given(trees, trees, samples)
def test_verdicts_are_never_contradicted(left: Tree, right: Tree, sample: list[dict[str, int]]) -> None:
    a, b = dim_of(left), dim_of(right)
    verdicts = equal(a, b), less_equal(a, b)
    for point in sample:
        p, q = value_of(left, point), value_of(right, point)
        assert verdicts[0] in (None, p == q) and verdicts[1] in (None, p <= q)


@given(trees, trees, samples)
def test_verdicts_on_division_with_remainder(left: Tree, right: Tree, sample: list[dict[str, int]]) -> None:
    """Where equality is nearly always true: the divisor 0 is the exception."""
    whole = ("+", ("*", ("//", left, right), right), ("%", left, right))
    x, a = dim_of(whole), dim_of(left)
    verdict = equal(x, a)
    for point in sample:
        assert verdict in (None, value_of(whole, point) == value_of(left, point))
    if isinstance(dim_of(right), int) and dim_of(right) != 0:
        assert verdict is True


@given(trees, trees)
def test_verdicts_are_found_in_small_boxes(left: Tree, right: Tree) -> None:
    """With two symbols of four values each, every question about them has an answer that we find."""
    names = {"N": "F", "P": "G", "Z": "F", "F": "F", "G": "G"}
    leaves = {name: SYMBOLS[names[name]] for name in BOUNDS}
    a, b = dim_of(left, leaves), dim_of(right, leaves)
    box = [{name: {"F": f, "G": g}[names[name]] for name in BOUNDS}
           for f, g in itertools.product(VALUES["F"], VALUES["G"])]
    found = {value_of(left, point) == value_of(right, point) for point in box}
    verdict = equal(a, b)
    assert verdict in ((None, found.pop()) if len(found) == 1 else (None,))


@given(trees, samples)
def test_text_is_inverted_by_parse(tree: Tree, sample: list[dict[str, int]]) -> None:
    x = dim_of(tree)
    again = parse_dim(str(x), SYMBOLS)
    assert again == x and hash(again) == hash(x) and str(again) == str(x)
    assert pickle.loads(pickle.dumps(x)) == x
    plain = parse_dim(str(x), {name: dim(name, min=None) for name in BOUNDS})
    for point in sample:
        assert evaluate(plain, point) == value_of(tree, point)


@given(trees, trees, samples)
def test_what_lengths_imply_holds_where_they_are_not_negative(first: Tree, second: Tree,
                                                              sample: list[dict[str, int]]) -> None:
    """A300: the bounds of symbols, and what is decided with a symbol in the place of a length."""
    length, x = dim_of(first), dim_of(second)
    ranges = of_lengths([length])
    least, other = through_symbol(length, [x])
    verdict = less_equal(0, other, of_lengths([least]))
    symbol = as_symbol(length)
    back = as_length(symbol - 3, length)
    for point in sample:
        assert evaluate(back, point) == value_of(first, point) - 3
        if value_of(first, point) < 0:
            continue
        for name, (low, high) in ranges.items():
            assert low is None or evaluate(low, point) <= point[name]
            assert high is None or evaluate(high, point) >= point[name]
        assert verdict in (None, value_of(second, point) >= 0)


def test_what_lengths_imply() -> None:
    """A300: the least values of the symbols in lengths of one, and one through the others."""
    n, m = SYMBOLS["N"], SYMBOLS["P"]
    for length, least in ((n - 2, 2), (2 * n - 3, 2), (n // 2 - 1, 2), ((n - 3) // 2 - 1, 5),
                          (dim_max(n - 3, 0) - 2, 5), (dim_min(n - 3, n // 4) - 1, 4),
                          (n * n - 5, 3), (n + n // 2 - 4, 3)):
        assert of_lengths([length]) == {"N": (least, None)}
    assert of_lengths([3 - n, 7]) == {"N": (None, 3)} and of_lengths([n % 3 - 1]) == {"N": (None, None)}
    assert of_lengths([n + m - 4]) == {"N": (4 - m, None)} and of_lengths([n - 2, n - 1]) == {"N": (2, None)}
    assert as_symbol(n) is n and as_symbol(4) == 4 and isinstance(as_symbol(n + 1), Dim)


@given(trees, trees, trees, samples)
def test_substitute_commutes_with_evaluate(tree: Tree, first: Tree, second: Tree, sample: list[dict[str, int]]) -> None:
    x = dim_of(tree, {name: dim(name, min=None) for name in BOUNDS})
    bindings = {"N": dim_of(first), "Z": dim_of(second)}
    y = substitute(x, bindings)
    for point in sample:
        bound = {**point, "N": value_of(first, point), "Z": value_of(second, point)}
        assert evaluate(y, point) == value_of(tree, bound)


@given(trees, st.integers(0, 3), st.integers(1, 4), st.integers(-6, 2), samples)
def test_simplify_keeps_values_within_ranges(tree: Tree, low: int, size: int, bottom: int,
                                             sample: list[dict[str, int]]) -> None:
    x = dim_of(tree)
    ranges = {"N": (low, low + size - 1), "Z": (bottom, SYMBOLS["P"] - 1)}
    y = simplify(x, ranges)
    limits = bounds(x, ranges)
    for point in sample:
        inside = {**point, "N": low + point["N"] % size}
        if bottom <= inside["Z"] <= inside["P"] - 1:
            value = value_of(tree, inside)
            assert evaluate(y, inside) == value
            assert (limits[0] is None or limits[0] <= value) and (limits[1] is None or value <= limits[1])


@given(trees, st.integers(1, 6), st.integers(1, 4), samples)
def test_simplify_joins_what_division_took_apart(tree: Tree, inner: int, outer: int,
                                                 sample: list[dict[str, int]]) -> None:
    whole = ("+", ("*", ("%", ("//", tree, inner), outer), inner), ("%", tree, inner))
    simple = simplify(dim_of(whole), {})
    for point in sample:
        assert evaluate(simple, point) == value_of(whole, point) == value_of(tree, point) % (inner * outer)
    assert equal(simple, dim_of(tree) % (inner * outer)) is True


@given(trees, samples)
def test_affine_is_the_sum_that_it_says(tree: Tree, sample: list[dict[str, int]]) -> None:
    x = dim_of(tree)
    parts = affine(x, ["N", "F"])
    if parts is None:
        assert symbols(x) & {"N", "F"}
        return
    coefficients, rest = parts
    for part in (*coefficients.values(), rest):
        assert not symbols(part) & {"N", "F"}
    for point in sample:
        total = evaluate(rest, point) + sum(evaluate(c, point) * point[name] for name, c in coefficients.items())
        assert total == value_of(tree, point)


@given(trees, samples)
def test_arrays_are_evaluated_element_by_element(tree: Tree, sample: list[dict[str, int]]) -> None:
    columns = {name: np.array([point[name] for point in sample]) for name in BOUNDS}
    found = evaluate_arrays(dim_of(tree), columns)
    expected = [value_of(tree, point) for point in sample]
    assert np.broadcast_to(found, len(sample)).tolist() == expected


@given(st.text(alphabet="NP0123456789+-*/%(), min.x\n", max_size=30))
@settings(max_examples=300)
def test_no_text_fails_but_by_our_error(text: str) -> None:
    try:
        x = parse_dim(text)
    except InvalidArgument:
        raise AssertionError("errors of text are FormatErrors") from None
    except ValueError as error:
        assert type(error).__name__ == "FormatError"
    else:
        assert parse_dim(str(x)) == x
