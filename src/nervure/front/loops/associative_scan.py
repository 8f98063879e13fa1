"""All prefixes of a sequence under an associative function, in a logarithmic number of steps over whole tensors.

>>> import nervure as nv
>>> nv.associative_scan(nv.maximum, nv.constant([1., 3., 2., 5., 4.])).tolist()
[1.0, 3.0, 3.0, 5.0, 5.0]

Pairs of neighbours are combined, the prefixes of these are found in the same way, and what is in between follows from
them. The function is called on tensors of many elements at once; where the length is a symbol, on one element at a time
by ``scan``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nervure import ops
from nervure.errors import InvalidArgument, ShapeMismatch
from nervure.front import argument_parsing, pytrees
from nervure.front.alignment import arranged
from nervure.front.arranging.indexing import slice_along_axis
from nervure.front.arranging.joining import concat_along_axis
from nervure.front.arranging.views import reverse as reversed_along
from nervure.front.creation import as_tensor
from nervure.front.loops.choices import cond
from nervure.front.loops.loop_functions import scan
from nervure.front.pytrees import Nested, paths
from nervure.front.tensor import Tensor, described_type
from nervure.ops.views import moved_axes
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import AxisLike
from nervure.types.dim import equal
from nervure.types.dtype import int64

_NAME = "associative_scan"


def associative_scan(fn: Callable[..., Nested], elems: Nested, reverse: bool = False, axis: AxisLike = 0) -> Nested:
    """Returns the prefixes of ``elems`` along ``axis``: the first, ``fn(first, second)``, ``fn(that, third)``, ...

    ``fn`` is associative and takes and gives tensors, or nestings like ``elems``, of any length along the axis, whose
    elements it combines one by one: ``nv.add``, or a product of matrices with the axis in front. With ``reverse`` the
    prefixes begin at the last element. Sums of floats are rounded in another order than one after the other.

    >>> def compose(f, g):
    ...     return {"a": f["a"] * g["a"], "b": g["a"] * f["b"] + g["b"]}
    >>> nv.associative_scan(compose, {"a": nv.constant([2., 3., 4.]), "b": nv.ones((3,))})["b"].tolist()
    [1.0, 4.0, 17.0]
    """
    argument_parsing.require_function(fn, _NAME, "fn")
    prefixes = _Prefixes(fn, elems, axis, bool(reverse))
    return prefixes.nested(prefixes.found())


class _Prefixes:
    """The elements of a call, and the function that combines them."""

    def __init__(self, fn: Callable[..., Nested], elems: Nested, axis: AxisLike, reverse: bool) -> None:
        leaves, self._pattern = pytrees.flatten(elems)
        self._fn, self._reverse = fn, reverse
        self._paths = paths(self._pattern, "elems")
        self._first = [as_tensor(leaf, _NAME, path) for leaf, path in zip(leaves, self._paths, strict=True)]
        if not self._first:
            raise InvalidArgument("there are no elements", op=_NAME, operand="elems", got=f"{elems!r:.60}",
                                  expected="a tensor, or several in any nesting", help="give tensors with an axis")
        for x, path in zip(self._first, self._paths, strict=True):
            if x.ndim == 0:
                raise ShapeMismatch("there is no axis to go along", op=_NAME, operand=path, got=str(x.type),
                                    expected="one axis or more", help="a single number is its own prefix")
        self._at = [argument_parsing.position_of(x, axis, _NAME) for x in self._first]
        lengths = [x.type.shape[at] for x, at in zip(self._first, self._at, strict=True)]
        for length, path in zip(lengths, self._paths, strict=True):
            if equal(length, lengths[0]) is not True:
                raise ShapeMismatch("the elements are of different lengths", op=_NAME, operand=path, got=str(length),
                                    expected=str(lengths[0]), help="all tensors have one length along the axis")
        self._length = lengths[0]

    def nested(self, tensors: Sequence[Tensor]) -> Nested:
        """Returns tensors in the nesting of the elements."""
        return pytrees.unflatten(self._pattern, list(tensors))

    def found(self) -> list[Tensor]:
        """Returns the prefixes."""
        if not isinstance(self._length, int):
            return self._one_by_one()
        if not self._reverse:
            return self._halved(self._first, self._length)
        return self._turned(self._halved(self._turned(self._first), self._length))

    def _halved(self, xs: list[Tensor], length: int) -> list[Tensor]:
        if length < 2:
            return xs
        pairs = self._combined(self._parts(xs, slice(0, length - 1, 2)), self._parts(xs, slice(1, None, 2)))
        odd = self._halved(pairs, length // 2)
        if length == 2:
            even = self._parts(xs, slice(0, 1))
        else:
            between = self._combined(self._parts(odd, slice(0, (length - 1) // 2)), self._parts(xs, slice(2, None, 2)))
            even = [concat_along_axis([x, y], at) for x, y, at in zip(
                self._parts(xs, slice(0, 1)), between, self._at, strict=True)]
        return [_interleaved(x, y, at) for x, y, at in zip(even, odd, self._at, strict=True)]

    def _parts(self, xs: Sequence[Tensor], part: slice) -> list[Tensor]:
        return [slice_along_axis(x, at, part) for x, at in zip(xs, self._at, strict=True)]

    def _turned(self, xs: Sequence[Tensor]) -> list[Tensor]:
        return [reversed_along(x, at) for x, at in zip(xs, self._at, strict=True)]

    def _combined(self, left: Sequence[Tensor], right: Sequence[Tensor]) -> list[Tensor]:
        """Returns what the function makes of two groups of elements, if it is as these are."""
        given = self._fn(self.nested(left), self.nested(right))
        leaves, pattern = pytrees.flatten_as(self._pattern, given)
        if pattern != self._pattern:
            raise InvalidArgument("the function changes the nesting of elements", op=_NAME, operand="fn",
                                  got=f"{given!r:.80}", expected=f"{self.nested(right)!r:.80}",
                                  help="it gives what it takes: fn(a, b) is an element as a and b are")
        return [self._fitted(leaf, like, path) for leaf, like, path in zip(leaves, right, self._paths, strict=True)]

    def _fitted(self, leaf: object, like: Tensor, path: str) -> Tensor:
        own = as_tensor(leaf, _NAME, path, dtype=like.dtype)
        if like.is_named and own.is_named:
            own = arranged(own, like.axes, _NAME, path)
        if own.dtype is not like.dtype or own.type.shape != like.type.shape or own.is_named != like.is_named:
            raise InvalidArgument("the function changes the type of elements", op=_NAME, operand=path,
                                  got=described_type(own), expected=described_type(like),
                                  help="fn(a, b) has the element type, the shape and the axes of a and b")
        return own

    def _one_by_one(self) -> list[Tensor]:
        """Returns the prefixes for a length that is a symbol: the function takes elements one at a time."""
        whole = [Tensor(moved_axes(x.value, at, 0))
                 for x, at in zip(self._first, self._at, strict=True)]
        zeros = [Tensor(ops.Full(0, x.dtype, x.type.shape[1:])) for x in whole]

        def step(last: Nested, row: Nested) -> Nested:
            number, parts = row
            new = cond(number > 0, lambda: self._rows(self._combined(self._elements(last), self._elements(parts))),
                       lambda: parts)
            return new, new

        numbers = Tensor(ops.Iota((self._length,), None, int64))
        if self._reverse:
            numbers = reversed_along(numbers)
        _, rows = scan(step, zeros, (numbers, whole), reverse=self._reverse)
        return [Tensor(moved_axes(row.value, 0, at), x._axes)
                for row, x, at in zip(rows, self._first, self._at, strict=True)]

    def _elements(self, rows: Sequence[Tensor]) -> list[Tensor]:
        """Returns rows as tensors with one element along the axis."""
        found = []
        for row, x, at in zip(rows, self._first, self._at, strict=True):
            shape = (*row.type.shape[:at], 1, *row.type.shape[at:])
            axes = x.axes.resized(at, 1) if x.is_named else None
            found.append(Tensor(ops.Reshape(row.value, shape), axes))
        return found

    def _rows(self, xs: Sequence[Tensor]) -> list[Tensor]:
        """Returns tensors with one element along the axis without that axis."""
        return [Tensor(ops.Reshape(x.value, (*x.type.shape[:at], *x.type.shape[at + 1:])))
                for x, at in zip(xs, self._at, strict=True)]


def _interleaved(even: Tensor, odd: Tensor, at: int) -> Tensor:
    """Returns the elements of two tensors in turns; the first may have one more."""
    count = odd.type.shape[at]
    apart = (*odd.type.shape[:at + 1], 1, *odd.type.shape[at + 1:])
    pairs = ops.Concatenate(*[ops.Reshape(x.value, apart) for x in (slice_along_axis(even, at, slice(0, count)), odd)],
                            axis=at + 1)
    shape = (*odd.type.shape[:at], 2 * count, *odd.type.shape[at + 1:])
    axes = odd.axes.resized(at, 2 * count) if odd.is_named else None
    merged = Tensor(ops.Reshape(pairs, shape), axes)
    if even.type.shape[at] == count:
        return merged
    return concat_along_axis([merged, slice_along_axis(even, at, slice(count, None))], at)


__all__ = ["associative_scan"]

explain_keywords(globals(), __all__)
