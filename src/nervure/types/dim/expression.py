"""The class of symbolic dimensions, its arithmetic and its constructors.

A ``Dim`` is a polynomial in normal form together with the known bounds of its symbols.

>>> n = dim("N", min=1)
>>> 2 * n + 1 - n, -(-n // 1), n * 6 // 4, declaration(n)
(N + 1, N, N + N//2, 'N:1..')
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from numbers import Real
from typing import NoReturn

from nervure.errors import InvalidArgument, WrongKind
from nervure.types.dim.bounds import Ranges
from nervure.types.dim.interval import Interval, intersect, is_empty
from nervure.types.dim.normal_form import construct, floor_divide, remainder
from nervure.types.dim.polynomial import Kind, Polynomial, constant, symbol
from nervure.types.frozen import Frozen, slot_writers

Declared = Mapping[str, Interval]  # the bounds that an expression knows, by the names of symbols


class Dim(Frozen):
    """An integer expression over symbols, made by ``dim``, ``index``, ``parse_dim`` and arithmetic.

    >>> n = nv.dim("n")
    >>> str(2 * n + 1), str(n // 2), 2 * n - n == n
    ('2*n + 1', 'n//2', True)
    """

    __slots__ = ("_polynomial", "_declared", "_hash")
    _plural = "dimensions"
    _instead = "arithmetic makes others, such as n + 1; nv.dim(name) makes a symbol"
    _polynomial: Polynomial
    _declared: Declared
    _hash: int | None
    __array_ufunc__ = None  # NumPy leaves operators with its integers on the left to us

    def __init__(self, polynomial: Polynomial, declared: Declared) -> None:
        _put_polynomial(self, polynomial)
        _put_declared(self, declared)
        _put_hash(self, None)

    def __add__(self, other: DimLike) -> DimLike:
        return _arithmetic("+", self, other)

    def __radd__(self, other: DimLike) -> DimLike:
        return _arithmetic("+", other, self)

    def __sub__(self, other: DimLike) -> DimLike:
        return _arithmetic("-", self, other)

    def __rsub__(self, other: DimLike) -> DimLike:
        return _arithmetic("-", other, self)

    def __mul__(self, other: DimLike) -> DimLike:
        return _arithmetic("*", self, other)

    def __rmul__(self, other: DimLike) -> DimLike:
        return _arithmetic("*", other, self)

    def __floordiv__(self, other: DimLike) -> DimLike:
        return _division("//", self, other)

    def __rfloordiv__(self, other: DimLike) -> DimLike:
        return _division("//", other, self)

    def __mod__(self, other: DimLike) -> DimLike:
        return _division("%", self, other)

    def __rmod__(self, other: DimLike) -> DimLike:
        return _division("%", other, self)

    def __truediv__(self, other: object) -> DimLike:
        return _foreign("/", self, other)

    def __rtruediv__(self, other: object) -> DimLike:
        return _foreign("/", other, self)

    def __pow__(self, other: object) -> DimLike:
        return _foreign("**", self, other)

    def __rpow__(self, other: object) -> DimLike:
        return _foreign("**", other, self)

    def __float__(self) -> NoReturn:
        raise _no_length(f"float({self})")

    def __lt__(self, other: object) -> NoReturn:
        raise _no_truth(f"whether {self} is less than {other}")

    def __le__(self, other: object) -> NoReturn:
        raise _no_truth(f"whether {self} is at most {other}")

    def __gt__(self, other: object) -> NoReturn:
        raise _no_truth(f"whether {self} is greater than {other}")

    def __ge__(self, other: object) -> NoReturn:
        raise _no_truth(f"whether {self} is at least {other}")

    def __bool__(self) -> NoReturn:
        raise _no_truth(f"whether {self} is 0")

    def __neg__(self) -> DimLike:
        return Dim(-self._polynomial, self._declared)

    def __pos__(self) -> DimLike:
        return self

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Dim):
            return False if isinstance(other, int) else NotImplemented  # a tensor compares its elements
        return self._polynomial.terms == other._polynomial.terms

    def __hash__(self) -> int:
        known = self._hash
        if known is None:
            _put_hash(self, known := hash(self._polynomial))
        return known

    def __str__(self) -> str:
        return str(self._polynomial)

    __repr__ = __str__

    def __reduce__(self) -> tuple[object, ...]:
        return Dim, (self._polynomial, dict(self._declared))


_put_polynomial, _put_declared, _put_hash = slot_writers(Dim)

DimLike = int | Dim


def _no_truth(question: str) -> WrongKind:
    return WrongKind(f"{question} depends on values that are not known yet", op="dimension",
                     help="ask equal(a, b) or less_equal(a, b): True, False or None (unknown); or bounds(x)")


def _no_length(text: str) -> WrongKind:
    return WrongKind(f"{text} is no length", op="dimension", expected="+, -, *, // and % of lengths and whole numbers",
                     help="a function of tensors computes with the number that a length has in a call: "
                          "nv.multiply(n, 0.5), nv.divide(1, n), nv.sqrt(n)")


def _foreign(symbol: str, left: object, right: object) -> DimLike:
    """Leaves an operation to the other operand, such as a tensor, if that is neither a number nor a length."""
    if all(isinstance(operand, (Dim, Real)) for operand in (left, right)):
        raise _no_length(f"{left} {symbol} {right}")
    return NotImplemented


def integer(value: object) -> int | None:
    """Returns the value of a Python or NumPy integer, else None."""
    if type(value) is int:
        return value
    try:
        return operator.index(value)  # type: ignore[arg-type]  # asked of anything
    except TypeError:
        return None


def parts(value: object, what: str = "dimension") -> tuple[Polynomial, Declared]:
    if isinstance(value, Dim):
        return value._polynomial, value._declared
    number = integer(value)
    if number is None:
        raise WrongKind("this is not a dimension", op=what, got=f"{value!r} ({type(value).__name__})",
                        expected="an int or a Dim", help='a length that is not known yet is nv.dim("n")')
    return constant(number), {}


def made(polynomial: Polynomial, declared: Declared) -> DimLike:
    value = polynomial.constant
    if value is not None:
        return value
    polynomial.check()
    return Dim(polynomial, declared)


def part(polynomial: Polynomial, declared: Declared) -> DimLike:
    """Returns a part of a dimension as one: it is within all limits."""
    value = polynomial.constant
    return Dim(polynomial, declared) if value is None else value


def merged(left: Declared, right: Declared) -> Declared:
    """Returns the bounds of symbols that two expressions know together; InvalidArgument if no value is left."""
    if left is right or not right:
        return left
    if not left:
        return right
    added = {}
    for name, values in right.items():
        known = left.get(name)
        if known == values:
            continue
        added[name] = values if known is None else intersect(known, values)
        if known is not None and is_empty(added[name]):
            raise InvalidArgument(f"two declarations of the symbol {name} leave it no value", op="dimension",
                                  operand=name, got=f"{_interval_text(known)} and {_interval_text(values)}",
                                  help="give one of the two another name")
    return {**left, **added} if added else left


_ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul}
_DIVISIONS = {"//": floor_divide, "%": remainder}


def _arithmetic(symbol: str, left: object, right: object) -> DimLike:
    operation = _ARITHMETIC[symbol]
    if isinstance(left, Dim):
        if isinstance(right, Dim):
            declared = merged(left._declared, right._declared)
            return made(operation(left._polynomial, right._polynomial), declared)
        number = integer(right)
        if number is None:
            return _foreign(symbol, left, right)
        return made(operation(left._polynomial, number), left._declared)
    assert isinstance(right, Dim)
    number = integer(left)
    if number is None:
        return _foreign(symbol, left, right)
    return made(operation(constant(number), right._polynomial), right._declared)


def _division(symbol: str, left: object, right: object) -> DimLike:
    for operand in (left, right):
        if not isinstance(operand, Dim) and integer(operand) is None:
            return _foreign(symbol, left, right)
    dividend, declared = parts(left)
    divisor, others = parts(right)
    if not divisor.terms:
        raise InvalidArgument("a dimension is divided by 0", op="dimension", got=f"{left} divided by 0",
                              expected="a divisor other than 0")
    declared = merged(declared, others)
    return made(_DIVISIONS[symbol](dividend, divisor, Ranges(declared)), declared)


def dim(name: str, min: int | None = 0, max: int | None = None) -> Dim:
    """Makes a symbol that stands for an integer from ``min`` to ``max``, both included; None is no bound.

    Raises InvalidArgument for a name that is not an identifier, or bounds that leave no value.

    >>> n = nv.dim("n", min=1)
    >>> print(nv.placeholder({"N": n, "C": 3}).axes)
    (N: n, C: 3)
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise InvalidArgument("a symbol of a dimension is named by an identifier", op="dim", operand="name",
                              got=repr(name), expected="letters, digits and _, not starting with a digit",
                              help='nv.dim("batch_size")')
    bounds = []
    for which, bound in (("min", min), ("max", max)):
        number = integer(bound)
        if bound is not None and number is None:
            raise WrongKind("a bound of a dimension is an integer or None", op="dim", operand=which,
                            got=repr(bound), expected="int or None", help='nv.dim("n", min=1, max=4096)')
        bounds.append(number)
    low, high = bounds
    if is_empty((low, high)):
        raise InvalidArgument(f"the bounds of the symbol {name} leave it no value", op="dim", operand=name,
                              got=f"min={low}, max={high}", expected="min <= max",
                              help="min is at most max, and both are 0 or more")
    return Dim(symbol(name), {name: (low, high)})


def index(k: int) -> Dim:
    """Returns the k-th index of a domain: a symbol with the reserved name ``%k``, at least 0."""
    number = integer(k)
    if number is None or number < 0:
        raise InvalidArgument("an index is numbered from 0", op="index", got=repr(k), expected="an int >= 0")
    return _index(number)


@lru_cache(maxsize=64)
def _index(number: int) -> Dim:
    name = f"%{number}"
    return Dim(symbol(name), {name: (0, None)})


def found(number: int, max: int | None = None) -> Dim:
    """Returns the symbol of a length that an op finds while a call runs: ``?3``, at least 0, and at most ``max``."""
    name = f"?{number}"
    return Dim(symbol(name), {name: (0, max)})


def dim_min(*xs: DimLike) -> DimLike:
    """Returns the smallest of the dimensions.

    >>> str(nv.dim_min(nv.dim("n"), 8)), nv.dim_min(3, 8)
    ('min(n, 8)', 3)
    """
    return _extreme(Kind.MINIMUM, min, xs)


def dim_max(*xs: DimLike) -> DimLike:
    """Returns the largest of the dimensions.

    >>> str(nv.dim_max(nv.dim("n"), 8)), nv.dim_max(3, 8)
    ('max(n, 8)', 8)
    """
    return _extreme(Kind.MAXIMUM, max, xs)


def _extreme(kind: Kind, of_numbers: Callable[[Sequence[int]], int], xs: Sequence[DimLike]) -> DimLike:
    if not xs:
        raise InvalidArgument("at least one dimension is needed", op=f"dim_{kind.value}")
    if all(type(x) is int for x in xs):
        return of_numbers(xs)  # type: ignore[arg-type]  # all are ints
    operands = []
    declared: Declared = {}
    for x in xs:
        polynomial, others = parts(x, f"dim_{kind.value}")
        operands.append(polynomial)
        declared = merged(declared, others)
    return made(construct(kind, operands, Ranges(declared)), declared)


def product(xs: Iterable[DimLike]) -> DimLike:
    """Returns the product of the dimensions, 1 for none."""
    result: DimLike = 1
    for x in xs:
        result = result * x
    return result


def _interval_text(values: Interval) -> str:
    low, high = values
    return f"{'' if low is None else low}..{'' if high is None else high}"


def declaration(x: Dim) -> str:
    """Returns a symbol with its bounds as text: ``N`` (at least 0), ``N:1..4096``, ``N:1..``, ``N:..`` (any integer).
    """
    if isinstance(x, Dim) and str(x) in x._declared:
        values = x._declared[str(x)]
        return str(x) if values == (0, None) else f"{x}:{_interval_text(values)}"
    raise WrongKind("only a symbol has a declaration", op="declaration", got=str(x), expected="a symbol")


def declared_symbols(x: DimLike) -> tuple[Dim, ...]:
    """Returns the symbols in x, by name, each with the bounds that x knows; domain indices included."""
    if not isinstance(x, Dim):
        return ()
    return tuple([Dim(symbol(name), {name: x._declared[name]}) for name in sorted(x._polynomial.names)])
