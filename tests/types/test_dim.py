"""Dimensions: what must be proved, what must not, text, limits and errors. Properties are in test_dim_properties."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
from collections.abc import Callable

import numpy as np
import pytest

from nervure.errors import FormatError, InvalidArgument, NervureError, WrongKind
from nervure.types.dim import (
    Dim,
    affine,
    bounds,
    compile_dim,
    declaration,
    dim,
    dim_max,
    dim_min,
    equal,
    evaluate,
    evaluate_arrays,
    highest,
    index,
    index_symbols,
    less_equal,
    lowest,
    parse_declaration,
    parse_dim,
    product,
    simplify,
    substitute,
    symbols,
    terms,
)

# A and B are at least 0 as N and M are; P and Q at least 1; Z is any integer; F goes from 0 to 3.
SYMBOLS = {**{name: dim(name) for name in "NMAB"}, **{name: dim(name, min=1) for name in "PQ"},
           "Z": dim("Z", min=None), "F": dim("F", max=3)}
N, M, P, Q, Z = (SYMBOLS[name] for name in "NMPQZ")

IDENTITIES = """
(N + 1) - 1                      = N
2*N//2                           = N
N//4//2                          = N//8
max(N, 0)                        = N
(4*N + 3)//4                     = N
(N*M) % M                        = 0
(N*P)//P                         = N
N//2*2 + N%2                     = N
N//P*P + N%P                     = N
N//M*M + N%M - N//M*M            = N%M
N//2 + (N + 1)//2                = N
N//3 + (N + 1)//3 + (N + 2)//3   = N
-(-N//2)                         = (N + 1)//2
-(-N//4)                         = (N + 3)//4
max(N, M) + min(N, M)            = N + M
min(N, M)*max(N, M)              = N*M
max(N, max(M, P))                = max(max(P, N), M)
max(N, min(N, M))                = N
max(N + 1, M + 1)                = max(N, M) + 1
max(N + 1, M + 1, A + 1)         = max(N, M, A) + 1
max(2*N, 2*M)                    = 2*max(N, M)
-max(-N, -M)                     = min(N, M)
max(min(N, 8), 0)                = min(N, 8)
max(max(N - 1, 0) - 1, 0)        = max(N - 2, 0)
max(N, 4) - 4                    = max(N - 4, 0)
max(N - 4, 0) + min(N, 4)        = N
min(N//2, N)                     = N//2
N%8%4                            = N%4
(N%4 + M)%4                      = (N + M)%4
N%M%M                            = N%M
N%N                              = 0
(N%8)//2                         = N//2%4
((Z + 1)%P + 1)%P                = (Z + 2)%P
2*N%4                            = 2*(N%2)
6*N//4                           = 3*N//2
N//-2                            = -((N + 1)//2)
(N*P + M*P)//P                   = N + M
(N + 1)*(M + 2)//(N + 1)         = M + 2
(N + 1)*(N - 1)                  = N*N - 1
N//(N + 1)                       = 0
N%(N + 1)                        = N
N//P//Q                          = N//(P*Q)
N//M//A                          = N//(M*A)
N*(N + 1)%2                      = 0
(N*N + N)//2*2                   = N*N + N
(N*N*N - N)%3                    = 0
N*M//M*M                         = N*M
N//2*2//2                        = N//2
(N + 2 - 3)//2 + 1               = (N + 1)//2
(2*N - 2)//2 + 1                 = N
(N + 7)//8*8 - N                 = -N%8
-N%4                             = (4 - N%4)%4
(N*P)%(M*P)                      = N%M*P
(N*P)//(M*P)                     = N//M
N%P//P                           = 0
(N%16)//4*4 + N%4                = N%16
max(Z, -Z)*max(Z, -Z)            = Z*Z
(N%4 + 4)//4                     = 1
N//Z*Z*Z + N%Z*Z                 = N*Z
F//4 + F%4                       = F
(F*F)%(F*F + 1)                  = F**2
"""

# What the answer is where it is not True: None where it depends on the values, False where it never holds.
NOT_IDENTITIES = """
N//2*2        = N              None
N + 1         = N              False
2*N + 1       = 2*M            False
2*N           = 2*M + 4*A + 1  False
6*N + 2       = 3*M            False
N             = M              None
N             = 0              None
P             = 0              False
N%4           = 4              False
N//M*M        = N              None
N*M//M        = N              None
N//M*M + N%M  = N              None
M//M          = 1              None
max(N, M)     = N              None
max(N, M) + 1 = N              False
min(N, M) - 1 = N              False
2*(N//2) + 1  = 2*(M//3)       False
N*N           = N              None
N*N + 1       = 0              False
Z*Z + 1       = 0              False
Z             = 0              None
-N            = M + 1          False
(N + 1)//2    = N//2           None
N//2 + M//2   = (N + M)//2     None
N//6          = N//2//2        None
N%2*2         = 1              False
N%6%4         = N%4            None
Z//2*2 + 1    = Z + 2          False
max(Z, 0)     = Z              None
F             = 4              False
P*Q           = 0              False
N*(N + 1) + 1 = 2*M            None
"""

ORDERS = """
0             <= N             True
N//2          <= N             True
N%P           <= P - 1         True
N%4           <= 3             True
N             <= max(N, M)     True
min(N, M)     <= M             True
N//2*2        <= N             True
N - 1         <= N//2*2        True
N//P*P        <= N             True
N%4           <= N             True
N             <= N*P           True
N             <= N*N           True
Z             <= Z*Z           True
P             <= P*Q           True
1             <= P*Q           True
(N + 3)//4*4  <= N + 3         True
N             <= (N + 3)//4*4  True
N//3          <= N//2          True
max(N - 2, 0) <= N             True
F             <= 3             True
N + 1         <= N             False
P             <= 0             False
4             <= F             False
N + M + 1     <= max(N, M)     False
N             <= M             None
N             <= 4             None
N*M//M        <= N             True
N             <= N*M//M        None
N             <= N*M           None
N%M           <= M - 1         None
Z             <= 0             None
"""


def rows(table: str, relation: str) -> list[tuple[str, ...]]:
    found = []
    for line in table.strip().splitlines():
        left, right = line.split(f" {relation} ")
        words = right.rsplit(maxsplit=1)
        verdict = {"True": True, "False": False, "None": None}
        found.append((left.strip(), words[0].strip(), verdict[words[1]]) if words[-1] in verdict
                     else (left.strip(), right.strip()))
    return found


def values_of(*texts: str) -> list[list[int]]:
    """The values of texts at small values of all symbols in them, by Python's own arithmetic."""
    names = sorted({name for text in texts for name in SYMBOLS if name in text})
    least = {"P": 1, "Q": 1, "Z": -5}
    trees = [compile_dim(parse_dim(text, {name: dim(name, min=None) for name in names})) for text in texts]
    spaces = [range(least.get(name, 0), 4 if name == "F" else 9) for name in names]
    points = [dict(zip(names, point, strict=True)) for point in itertools.product(*spaces)]
    return [[tree(point) for tree in trees] for point in points]


@pytest.mark.parametrize(("left", "right"), rows(IDENTITIES, "="))
def test_identity_is_proved(left: str, right: str) -> None:
    assert all(a == b for a, b in values_of(left, right)), "the table itself is wrong"
    assert equal(parse_dim(left, SYMBOLS), parse_dim(right, SYMBOLS)) is True
    assert less_equal(parse_dim(left, SYMBOLS), parse_dim(right, SYMBOLS)) is True


@pytest.mark.parametrize(("left", "right", "verdict"), rows(NOT_IDENTITIES, "="))
def test_non_identity_is_not_proved(left: str, right: str, verdict: bool | None) -> None:
    assert any(a != b for a, b in values_of(left, right)), "the table itself is wrong"
    assert equal(parse_dim(left, SYMBOLS), parse_dim(right, SYMBOLS)) is verdict


@pytest.mark.parametrize(("left", "right", "verdict"), rows(ORDERS, "<="))
def test_order(left: str, right: str, verdict: bool | None) -> None:
    found = {a <= b for a, b in values_of(left, right)}
    assert verdict is None or found == {verdict}, "the table itself is wrong"
    assert less_equal(parse_dim(left, SYMBOLS), parse_dim(right, SYMBOLS)) is verdict


def test_there_are_forty_of_each_kind_together() -> None:
    assert len(rows(IDENTITIES, "=")) >= 40
    assert len(rows(NOT_IDENTITIES, "=")) + len(rows(ORDERS, "<=")) >= 40


def test_constants_are_plain_integers() -> None:
    for constant in (N - N, 0 * N, N // N * 0, (P + 3) // (P + 3), (4 * N) % 2, dim_max(3, 4), product(()), -(Z - Z)):
        assert type(constant) is int
    assert (N - N, (P + 3) // (P + 3), (4 * N) % 2, product((2, 3, 4))) == (0, 1, 0, 24)


def test_equality_is_of_form_and_hash_fits() -> None:
    assert N + 1 == 1 + N and hash(N + 1) == hash(1 + N)
    assert N + 1 != N and N != 3 and 3 != N and N != "N"
    assert N * M == M * N and N // M == N // dim("M", min=2), "bounds are no part of the form"
    assert len({N, dim("N"), N + 0, N + 1, 2 * N - N}) == 2
    assert equal(N // 2 + (N + 1) // 2, N) and N // 2 + (N + 1) // 2 != N


def test_equal_and_order_of_integers() -> None:
    assert equal(3, 3) is True and equal(3, 4) is False
    assert less_equal(3, 3) is True and less_equal(4, 3) is False
    assert equal(np.int64(3), 3) is True


def test_bounds_of_one_symbol_are_merged() -> None:
    wide, narrow = dim("N", min=0, max=10), dim("N", min=5, max=20)
    assert bounds(wide + narrow) == (10, 20)
    assert bounds(narrow - wide // 2 * 2) == (0, 1)
    with pytest.raises(InvalidArgument, match="two declarations of the symbol N") as caught:
        dim("N", max=3) + dim("N", min=5)
    assert caught.value.operand == "N" and caught.value.got == "0..3 and 5.."


@pytest.mark.parametrize(("text", "expected"), [
    ("N", (0, None)), ("Z", (None, None)), ("-N", (None, 0)), ("F", (0, 3)), ("2*F + 1", (1, 7)), ("F - F//2", (0, 2)),
    ("N % 4", (0, 3)), ("Z % 4", (0, 3)), ("Z % -4", (-3, 0)), ("N % M", (0, None)), ("N//2*2 - N", (-1, 0)),
    ("min(N, 4)", (0, 4)), ("max(N, 4)", (4, None)), ("P*Q - P", (0, None)), ("Z*Z", (0, None)), ("F//P", (0, 3)),
    ("F//Z", (-3, 3)), ("N//P*P - N", (None, 0)), ("F*F - F", (0, 9)), ("7", (7, 7))])
def test_bounds(text: str, expected: tuple[int | None, int | None]) -> None:
    low, high = bounds(parse_dim(text, SYMBOLS))
    values = [value for value, in values_of(text)]
    assert (low is None or low <= min(values)) and (high is None or max(values) <= high)
    assert low is None or expected[0] is not None and low >= expected[0] - 3
    if text not in ("F*F - F", "F - F//2"):
        assert (low, high) == expected


def test_bounds_under_ranges() -> None:
    assert bounds(N * 2, {"N": (1, 3)}) == (2, 6)
    assert bounds(N, {"N": (None, 3)}) == (0, 3), "a range narrows the declared bounds"
    assert bounds(index(0) - M, {"%0": (0, M - 1)})[1] == -1
    assert bounds(M, {"%0": (0, M - 1)}) == (1, None), "a range that has a value bounds its ends"
    assert less_equal(index(0) * 4 + index(1), 4 * N - 1, {"%0": (0, N - 1), "%1": (0, 3)}) is True
    assert equal(index(0), N, {"%0": (0, N - 1)}) is False


def test_ranges_of_other_symbols_change_nothing() -> None:
    assert lowest(N + 1, {"M": (7, 9)}) == 1 and highest(2 * N, {"M": (7, 9), "N": (1, 3)}) == 6
    assert simplify(N // 4, {"N": (0, 3), "M": (7, 9)}) == 0 and simplify(N // 4, {"M": (0, 3)}) == N // 4
    few = {"%0": (0, 15), "%1": (0, 1)}
    assert less_equal(index(0) + index(1), 15, few) is None, "sums of symbols reach their bounds: it depends"
    assert less_equal(index(0) + index(1), 16, few) is True and less_equal(17, index(0) + index(1), few) is False


I, J, K = index(0), index(1), index(2)


@pytest.mark.parametrize(("before", "ranges", "after"), [
    ((I * 4 + J) // 4, {"%1": (0, 3)}, I),
    ((I * 4 + J) % 4, {"%1": (0, 3)}, J),
    ((I * N + J) // N, {"%1": (0, N - 1)}, I),
    ((I * N + J) % N, {"%1": (0, N - 1)}, J),
    ((I * (M * N) + J * N + K) // (M * N), {"%1": (0, M - 1), "%2": (0, N - 1)}, I),
    ((I * (M * N) + J * N + K) // N % M, {"%1": (0, M - 1), "%2": (0, N - 1)}, J),
    ((I * 6 + J) // 3, {"%1": (0, 5)}, 2 * I + J // 3),
    ((I * 6 + J) // 3, {"%1": (0, 2)}, 2 * I),
    ((I * 20 + J * 5 + K) // 60, {"%1": (0, 3), "%2": (0, 4)}, I // 3),
    ((I * 20 + J * 5 + K) % 60, {"%1": (0, 3), "%2": (0, 4)}, 20 * (I % 3) + 5 * J + K),
    ((I * 20 + J * 5 + K) // 60, {"%1": (0, 4), "%2": (0, 4)}, (I * 4 + J) // 12),
    ((I * 20 + J) // 60, {"%1": (0, 20)}, (I * 20 + J) // 60),
    ((I * (M * N) + J * N + K) // (6 * M * N), {"%1": (0, M - 1), "%2": (0, N - 1)}, I // 6),
    ((I * (M * N) + J * N + K) % (6 * M * N), {"%1": (0, M - 1), "%2": (0, N - 1)},
     M * N * (I % 6) + J * N + K),
    ((I * N + J) // (P * N), {"%1": (0, N - 1)}, I // P),
    ((I * 6 + J) // (6 * P), {"%1": (0, 5)}, I // P),
    ((I * 6 + J) % (6 * P), {"%1": (0, 5)}, 6 * (I % P) + J),
    ((I * 6 + J) // (6 * N), {"%1": (0, 5)}, (I * 6 + J) // (6 * N)),
    ((I * N + J) % (-6 * N), {"%1": (0, N - 1)}, (I * N + J) % (-6 * N)),
    ((I * 12 + 11 - J) // 24, {"%1": (0, 11)}, I // 2),
    ((I * 12 + 11 - J) % 24, {"%1": (0, 11)}, 12 * (I % 2) + 11 - J),
    ((I * 12 + 11 - J) // 12, {"%1": (0, 11)}, I),
    ((I * 12 + 10 - J) // 12, {"%1": (0, 11)}, (I * 12 + 10 - J) // 12),
    (I // 4 * 4 + I % 4, {}, I),
    (I // 32 * 32 + I // 4 % 8 * 4 + I % 4, {}, I),
    (I // (M * N) * M * N + I // N % M * N + I % N, {"%0": (0, M * N - 1)}, I),
    ((I // 4 * 4 + I % 4) // 2, {}, I // 2),
    (I // 4 * 4 * M + I % 4 * M, {}, M * I),
    (dim_max(I - 1, 0), {"%0": (1, 8)}, I - 1),
    (dim_min(I, N - 1), {"%0": (0, N - 1)}, I),
    (dim_max(dim_min(Z, 7), 0), {"Z": (-3, -1)}, 0),
    (I * 5 + J, {"%0": (0, 0)}, J),
    (I, {"%1": (0, 3)}, I),
    (7, {"%0": (0, 3)}, 7)])
def test_simplify(before: object, ranges: dict[str, tuple[object, object]], after: object) -> None:
    assert simplify(before, ranges) == after


def test_simplify_does_not_hand_its_ranges_on() -> None:
    inner = simplify(I + J // 4, {"%0": (0, 3), "%1": (0, 7)})
    assert bounds(inner) == (0, None), "the next reader may walk another domain"


def test_joining_a_remainder_asks_for_a_divisor_that_is_not_zero() -> None:
    x = Z // M * M + Z % M
    assert simplify(x, {}) == x and simplify(x, {"M": (1, None)}) == Z


def test_substitute() -> None:
    x = N // 2 + M * N
    assert substitute(x, {"N": 8}) == 4 + 8 * M
    assert substitute(x, {"N": M, "M": N}) == M // 2 + M * N, "all at once"
    assert substitute(x, {"A": 3}) is x and substitute(5, {"N": 3}) == 5
    assert substitute(N // M, {"M": 0}) == 0 and substitute(N % M, {"M": 0}) == 0
    assert bounds(substitute(x, {"N": P})) == (0, None)
    assert bounds(substitute(N + 1, {"N": dim("K", 2, 5)})) == (3, 6)


def test_evaluate_divides_as_python_and_by_zero_gives_zero() -> None:
    x, y = dim("x", min=None), dim("y", min=None)
    for a, b in itertools.product(range(-7, 8), range(-3, 4)):
        values = {"x": a, "y": b}
        assert evaluate(x // y, values) == (a // b if b else 0)
        assert evaluate(x % y, values) == (a % b if b else 0)
        assert compile_dim(dim_max(x, 0) - dim_min(x, y, 1))(values) == max(a, 0) - min(a, b, 1)
    assert evaluate(4, {}) == 4 and compile_dim(4)({}) == 4
    assert evaluate(x, {"x": np.int64(3)}) == 3 and type(evaluate(x, {"x": np.int64(3)})) is int


def test_evaluate_arrays() -> None:
    x, y = dim("x", min=None), dim("y", min=None)
    a, b = np.arange(-7, 8)[:, None], np.arange(-3, 4, dtype=np.int32)[None, :]
    expression = x // y + 3 * (x % y) + dim_max(x, y, 2) * y - dim_min(x, 1)
    found = evaluate_arrays(expression, {"x": a, "y": b})
    assert found.dtype == np.int64 and found.shape == (15, 7)
    compiled = compile_dim(expression)
    assert found.tolist() == [[compiled({"x": p, "y": q}) for q in range(-3, 4)] for p in range(-7, 8)]
    assert evaluate_arrays(x * 2, {"x": 3}) == 6 and evaluate_arrays(3, {}) == 3
    with pytest.raises(InvalidArgument, match="64 bits"):
        evaluate_arrays(x * 10**30, {"x": a})


def test_unbound_symbol_is_named() -> None:
    with pytest.raises(InvalidArgument) as caught:
        evaluate(dim("height") + 1, {"hight": 3})
    assert caught.value.operand == "height" and caught.value.help == "did you mean hight?"
    with pytest.raises(WrongKind, match="not an integer"):
        evaluate(N, {"N": 1.5})


def test_symbols() -> None:
    assert symbols(N // (M + I) - N // (M + I) + P) == {"P"}
    assert symbols(dim_max(N // (M + I), J)) == {"N", "M", "%0", "%1"}
    assert index_symbols(dim_max(N // (M + I), J)) == {"%0", "%1"} and symbols(3) == frozenset()


def test_affine() -> None:
    assert affine(4 * I + N * J + N // 2, ["%0", "%1"]) == ({"%0": 4, "%1": N}, N // 2)
    assert affine((I + N) * (M + 1), ["%0", "%1"]) == ({"%0": M + 1, "%1": 0}, N * M + N)
    assert affine(7, ["%0"]) == ({"%0": 0}, 7)
    assert affine(I, []) == ({}, I)
    for x in (I * J, I * I, I // 2, N % (I + 1), dim_max(I, 0) * N - dim_max(I, J)):
        assert affine(x, ["%0", "%1"]) is None


@pytest.mark.parametrize(("x", "text"), [
    (2 * N + 1, "2*N + 1"), ((N + 1) // 2, "(N + 1)//2"), (dim_min(N, 4), "min(N, 4)"), (N % 8, "N % 8"),
    (-N, "-N"), (3 - N, "3 - N"), (N * N * M, "M*N**2"), (N // 2 * M, "M*(N//2)"), (-(N // 2), "-(N//2)"),
    (M - N // 2, "M - N//2"), (-2 * (N // 2) - 1, "-2*(N//2) - 1"), ((N % 8) * 3, "3*(N % 8)"),
    (N // M // P, "N//(M*P)"), (N // (M + 1), "N//(M + 1)"), ((Z - 7) // 2, "(Z + 1)//2 - 4"),
    (I * 4 + J, "4*%0 + %1"), (I % M, "%0 % M"), (M % (I + 1), "M % (%0 + 1)"), (dim_max(Z, -1, M), "max(M, Z)"),
    (N * N // 3, "(N**2)//3"), (Z // -3, "(2*Z)//3 - Z")])
def test_text(x: Dim, text: str) -> None:
    assert str(x) == repr(x) == text
    assert parse_dim(text, SYMBOLS) == x


@pytest.mark.parametrize(("text", "value"), [
    ("7", 7), ("2 + 3*4", 14), ("-3*2", -6), ("7//2*2", 6), ("7 % 4 % 2", 1), ("(7 - 2)//-2", -3), ("- - 3", 3),
    ("min(3, 4, 2)", 2), ("max(3, 1 + 4)", 5), ("product(2, 3, 4)", 24), (" \n3\t", 3), ("N**0", 1),
    ("N**3 - N*N*N", 0), ("-N**2 + N*N", 0), ("2*-N + N + N", 0), ("%0%4 - %0 % 4", 0), ("%1 %%1 + 1", 1)])
def test_parse_has_the_precedence_of_python(text: str, value: int) -> None:
    assert parse_dim(text) == value


@pytest.mark.parametrize("text", [
    "", " ", "N+", "N N", "(N", "N)", "()", "min()", "min(", "min(N,)", "min(,N)", "f(N)", "N,M", "N//0", "3//0",
    "N % 0", "3**4", "N**-1", "N**M", "N**1000", "1.5", "N @ 2", "%", "%x", "% 3", "N***2", "*N", "٣",
    "(" * 100_000, "(" * 15_000, "-" * 15_000 + "1", "9" * 41, "9" * 10_000,
    "*".join(["9" * 40] * 100), "N*" * 9_000 + "N",
    "+".join(f"a{i}" for i in range(3_000)), "*".join(f"(a{i} + b{i})" for i in range(900)), "\x00", "N\ud800"])
def test_text_that_is_no_dimension(text: str) -> None:
    with pytest.raises(FormatError) as caught:
        parse_dim(text)
    assert caught.value.op == "parse_dim" and len(str(caught.value)) < 500


def test_parse_error_names_the_place() -> None:
    with pytest.raises(FormatError, match="not an operand") as caught:
        parse_dim("N + * 2")
    assert caught.value.operand == "character 4" and "N + * 2" in caught.value.got
    with pytest.raises(FormatError, match="is a str"):
        parse_dim(3)


@pytest.mark.parametrize(("text", "limits"), [
    ("N", (0, None)), ("N:1..4096", (1, 4096)), ("N:1..", (1, None)), ("N:..", (None, None)), ("N:..5", (None, 5)),
    ("N:-3..4", (-3, 4)), ("height_2:0..0", (0, 0)), ("%3", (0, None))])
def test_declaration(text: str, limits: tuple[int | None, int | None]) -> None:
    symbol = parse_declaration(text)
    assert declaration(symbol) == text and bounds(symbol) == limits and str(symbol) == text.split(":")[0]


@pytest.mark.parametrize("text", [
    "", "N:", "N:1", "N:5..1", "N:1..2..3", "1N", "N M", "N:a..b", "%x", "N:1.." + "9" * 50, 5])
def test_text_that_is_no_declaration(text: object) -> None:
    with pytest.raises(FormatError) as caught:
        parse_declaration(text)
    assert caught.value.op == "parse_declaration"


def test_only_symbols_have_declarations() -> None:
    with pytest.raises(WrongKind, match="only a symbol"):
        declaration(N + 1)
    with pytest.raises(WrongKind, match="only a symbol"):
        declaration(3)


def test_truth_of_comparisons_is_not_guessed() -> None:
    for ask in (lambda: N < 3, lambda: N <= M, lambda: N > 3, lambda: 3 >= N, lambda: bool(N), lambda: max(N, 3)):
        with pytest.raises(WrongKind) as caught:
            ask()
        assert "less_equal(a, b)" in caught.value.help


@pytest.mark.parametrize("make", [
    lambda: N // 0, lambda: N % 0, lambda: N // (N - N), lambda: dim("a b"), lambda: dim("3a"), lambda: dim(""),
    lambda: dim("%0"), lambda: dim("N", 5, 4), lambda: index(-1), lambda: dim_min(), lambda: dim_max()])
def test_values_that_cannot_be_used(make: object) -> None:
    with pytest.raises(InvalidArgument):
        make()


def test_kinds_that_cannot_be_used() -> None:
    for make in (lambda: dim_max(N, 1.5), lambda: equal(N, "N"), lambda: bounds(None), lambda: dim("N", min=1.5)):
        with pytest.raises(WrongKind):
            make()
    for make in (lambda: "3" * N, lambda: N // None, lambda: N ** "2"):
        with pytest.raises(TypeError):
            make()


@pytest.mark.parametrize("make", [
    lambda: N + 1.5, lambda: 0.5 * N, lambda: np.float64(2) * N, lambda: N // 2.0, lambda: N % 2.0, lambda: N / 2,
    lambda: N / N, lambda: 1 / N, lambda: N ** 2, lambda: 2 ** N, lambda: float(N), lambda: math.sqrt(N)])
def test_numbers_that_are_no_lengths_are_those_of_tensors(make: Callable[[], object]) -> None:
    with pytest.raises(WrongKind, match="is no length") as caught:
        make()
    assert "nv.multiply(n, 0.5)" in caught.value.help


def test_numpy_integers_are_integers() -> None:
    assert np.int64(3) * N + np.int32(2) == 3 * N + 2 and N // np.int64(2) == N // 2
    assert type(np.int64(7) - N + N) is int


def test_copies_and_pickles() -> None:
    x = dim_max(N // 3 + dim("K", 1, 9) % M, Z) * (I + 2)
    assert copy.copy(x) is x and copy.deepcopy([x])[0] is x
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        y = pickle.loads(pickle.dumps(x, protocol))
        assert y == x and hash(y) == hash(x) and str(y) == str(x) and bounds(y) == bounds(x)


def test_long_chains_that_have_a_short_form_keep_it() -> None:
    sliced = shifted = rolled = summed = halved = N
    for _ in range(500):
        sliced = dim_max(sliced - 1, 0)
        shifted = dim_min(shifted + 1, M + 3)
        rolled = (rolled + 1) % P
        summed = summed + 1
        halved = halved // 2 * 2
    assert sliced == dim_max(N - 500, 0) and rolled == (N + 500) % P
    assert shifted == dim_min(N + 500, M + 3) and summed == N + 500 and halved == N // 2 * 2


@pytest.mark.parametrize("step", [
    lambda x: (x * x + 1) % (P + 3), lambda x: x * x, lambda x: 2 * x, lambda x: x // 2**20, lambda x: x // 3 + x // 5,
    lambda x: dim_min(x * M, N) + 1])
def test_endless_growth_is_refused(step: object) -> None:
    x = N
    with pytest.raises(InvalidArgument, match="a dimension has more than") as caught:
        for _ in range(10_000):
            x = step(x)
    assert "a symbol of its own" in caught.value.help
    assert len(str(x)) < 100_000 and hash(x) == hash(x) and type(evaluate(x, {"N": 5, "M": 2, "P": 3})) is int
    assert equal(x, x + 1) is False


def test_deepest_expression_works_from_a_deep_stack() -> None:
    x = N
    for level in range(30):
        x = (x * x + 1) % (P + level)

    def below(frames: int) -> tuple[object, ...]:
        if frames:
            return below(frames - 1)
        return (parse_dim(str(x), SYMBOLS) == x, equal(x, x * 2), bounds(x), pickle.loads(pickle.dumps(x)) == x,
                evaluate(substitute(x, {"N": 3}), {"P": 2}) == evaluate(x, {"N": 3, "P": 2}))

    assert below(300) == (True, None, (0, None), True, True)


def test_products_are_multiplied_out_only_while_small() -> None:
    names = [(dim(f"a{i}"), dim(f"b{i}", min=1)) for i in range(20)]
    large = product(a + b for a, b in names)
    ones = dict.fromkeys(symbols(large), 1)
    declared = {str(symbol): symbol for pair in names for symbol in pair}
    assert len(str(large)) < 10_000 and evaluate(large, ones) == 2**20
    assert parse_dim(str(large), declared) == large and bounds(large) == (1, None)
    assert equal(large, large + 1) is False and equal(2 * large, large + large) is True
    assert evaluate(large * (N + 1) * 3, {**ones, "N": 4}) == 15 * 2**20
    assert substitute(large, dict.fromkeys(ones, 1)) == 2**20
    assert evaluate_arrays(large, {name: np.array([0, 1]) for name in ones}).tolist() == [0, 2**20]


def test_every_error_is_ours() -> None:
    with pytest.raises(NervureError) as caught:
        dim("two words")
    assert caught.value.op == "dim" and caught.value.location.file == __file__


def test_terms_are_coefficients_and_what_they_multiply():
    n, m = dim("n"), dim("m")
    assert terms(3 * n * m - n + 7) == [(3, m * n), (-1, n), (7, 1)]
    assert terms(4 * m - n * n) == [(4, m), (-1, n * n)]
    assert terms(0) == [] and terms(5) == [(5, 1)] and terms(n // 2 * 4) == [(4, n // 2)]


def test_a_quotient_follows_from_the_bounds_of_its_own_symbols() -> None:
    """Whatever was asked before of equal expressions that know other bounds."""
    for _ in range(2):
        assert dim("N", max=3) // 4 == 0
        assert str(dim("N") // 4) == "N//4"
        assert dim("N", max=3) % 4 == dim("N")
        assert str(dim("N") % 4) == "N % 4"
        assert bounds((dim("N", min=8, max=9) + dim("M")) // 4)[0] == 2
        assert bounds((dim("N") + dim("M", min=4)) // 4)[0] == 1
