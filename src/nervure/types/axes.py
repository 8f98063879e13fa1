"""Axes: an immutable, ordered set of axes, the type of a tensor's dimensions. A list and a set at once.

>>> image = make_axes("N=32, C=3, H=28, W=28")
>>> print(image.spatial_axes(), image.lengths, image.size)
(H: 28, W: 28) (32, 3, 28, 28) 75264
>>> print(image - make_axes("H=28"), image[1:] & make_axes("W=28, C=3"))
(N: 32, C: 3, W: 28) (C: 3, W: 28)
>>> plain = make_axes(((32, 32), 128))  # a plain shape makes anonymous axes, a tuple in it a flattened one
>>> plain.lengths, plain.full_lengths, plain.is_anonymous
((1024, 128), ((32, 32), 128), True)
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import SupportsIndex, overload

from nervure.errors import AxisMismatch, IndexOutOfRange, InvalidArgument, WrongKind, did_you_mean
from nervure.types.axes_reading import read_axes
from nervure.types.axis import Axis, FlattenedAxis, axis_tuple, check_together, list_text, match, same_role
from nervure.types.dim import Dim, DimLike, product
from nervure.types.frozen import Frozen, put

AxisLike = Axis | str | SupportsIndex
"""An axis of a tensor: itself, its name or its position."""

AxesLike = AxisLike | Dim | Mapping[str, DimLike] | Iterable[object]
"""Several axes of a tensor, as Axes or a list of them; those of a new one, as ``make_axes`` reads them."""


class Axes(Frozen):
    """An immutable, ordered set of axes, all named or all anonymous. Made by ``make_axes``.

    An operation that takes other axes accepts anything that ``make_axes`` does; only ``==`` demands Axes. Members are
    found by matching (``nervure.types.axis.match``), which reads the lengths of axes of one class.

    >>> axes = nv.make_axes("N=4, H=2")
    >>> axes.lengths, axes.size, str(axes.sample_axes())
    ((4, 2), 8, '(H: 2)')
    """

    __slots__ = ("_axes", "is_anonymous")
    _plural = "axes"
    _instead = "make others: make_axes(...), axes | others, axes - others"
    _axes: tuple[Axis, ...]
    is_anonymous: bool

    def __init__(self, axes: Iterable[Axis] = ()) -> None:
        put(self, "_axes", axis_tuple(axes, "make_axes"))
        put(self, "is_anonymous", check_together(self._axes, "make_axes"))

    @classmethod
    def _subset(cls, axes: Iterable[Axis], is_anonymous: bool) -> Axes:
        """Some axes of an Axes, which need no second check."""
        subset = cls.__new__(cls)
        put(subset, "_axes", tuple(axes))
        put(subset, "is_anonymous", is_anonymous or not subset._axes)
        return subset

    def _where(self, holds: Callable[[Axis], bool]) -> Axes:
        return Axes._subset(filter(holds, self._axes), self.is_anonymous)

    # As a list

    def __len__(self) -> int:
        return len(self._axes)

    def __iter__(self) -> Iterator[Axis]:
        return iter(self._axes)

    def __contains__(self, item: object) -> bool:
        return isinstance(item, Axis) and item in self._axes

    @overload
    def __getitem__(self, item: int) -> Axis: ...

    @overload
    def __getitem__(self, item: slice) -> Axes: ...

    def __getitem__(self, item: int | slice) -> Axis | Axes:
        try:
            if isinstance(item, slice):
                return Axes._subset(self._axes[item], self.is_anonymous)
            return self._axes[operator.index(item)]
        except IndexError:
            raise IndexOutOfRange("no axis at this position", op="Axes[...]", got=item,
                                  expected=f"a position in {self}",
                                  help="positions count from 0; negative ones from the end") from None
        except (TypeError, ValueError):
            raise WrongKind("axes are indexed by position", op="Axes[...]", got=type(item).__name__,
                            expected="an int or a slice of ints",
                            help="axes.find_by_name(name) and axes.index(axis) look axes up") from None

    def index(self, item: Axis) -> int:
        """Returns the position of the axis that matches ``item``. AxisMismatch if none does."""
        if not isinstance(item, Axis):
            raise WrongKind("an axis is needed", op="Axes.index", got=type(item).__name__, expected="Axis",
                            help="axes.find_by_name(name) finds an axis by its name")
        if item in self._axes:
            return self._axes.index(item)
        raise AxisMismatch(f"no axis matches {item.label}", op="Axes.index", got=item,
                           expected=f"one of {self}", help=self._why_unmatched(item))

    def find_by_name(self, name: str) -> Axis:
        """Returns the axis of this name. AxisMismatch if there is none, or if several have it."""
        if not isinstance(name, str):
            raise WrongKind("a name is a string", op="Axes.find_by_name", got=type(name).__name__,
                            expected="str", help="axes.index(axis) finds an axis by matching")
        found = [one for one in self._axes if one.name == name]
        if len(found) == 1:
            return found[0]
        if found:
            raise AxisMismatch(f"several axes are named {name}", op="Axes.find_by_name", got=list_text(found),
                               expected="one", help="use positions, axes[i], or axes.index(axis)")
        raise AxisMismatch(f"no axis is named {name!r}", op="Axes.find_by_name", got=name,
                           expected=f"one of {self}",
                           help=did_you_mean(name, self._known_names(), "print the axes: names are case-sensitive"))

    def _known_names(self) -> list[str]:
        return [one.name for one in self._axes if one.name is not None]

    def _why_unmatched(self, item: Axis) -> str | None:
        for one in self._axes:
            if same_role(one, item):
                relation = "not known to be" if match(one, item) is None else "not"
                return f"{one.label} has length {one.length} here, {relation} {item.length}"
        for one in self._axes:
            if one.axis_class == item.axis_class:
                return f"the offset differs: here it is {one.label}"
        if item.name in self._known_names():
            return f"the {item.name} here has another class; nv.axis(name, length) gives a name one class"
        return did_you_mean(item.name or "", self._known_names(), "nv.map_roles(x, {old: new}) renames axes")

    # As a set

    def __add__(self, other: object) -> Axes:
        """These axes followed by the others. InvalidArgument if an axis is in both."""
        added = make_axes(other)
        common = self & added
        if common:
            raise InvalidArgument(f"{list_text(one.label for one in common)} would occur twice", op="Axes +",
                                  got=f"{self} + {added}", help="a | b joins axes that overlap",
                                  expected="axes without a common one")
        return Axes((*self._axes, *added._axes))

    def __radd__(self, other: object) -> Axes:
        return make_axes(other) + self

    def __sub__(self, other: object) -> Axes:
        """These axes without those that are in the other."""
        removed = make_axes(other)
        return self._where(lambda one: one not in removed)

    def __and__(self, other: object) -> Axes:
        """The axes that are in both, in the order of the first."""
        kept = make_axes(other)
        return self._where(lambda one: one in kept)

    def __or__(self, other: object) -> Axes:
        """These axes, followed by the other's new ones in its order."""
        return Axes((*self._axes, *(make_axes(other) - self)))

    def __eq__(self, other: object) -> bool:
        """Whether the axes match position by position. InvalidArgument for anything but Axes."""
        if not isinstance(other, Axes):
            raise InvalidArgument("Axes are compared with Axes", op="Axes ==", got=type(other).__name__,
                                  expected="Axes", help="make_axes(...) makes Axes of lists and strings")
        return self._axes == other._axes

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._axes)

    def is_sub_set(self, other: object) -> bool:
        """Whether each of these axes is in the other, in any order."""
        whole = make_axes(other)
        return all(one in whole for one in self._axes)

    def is_super_set(self, other: object) -> bool:
        """Whether each axis of the other is here, in any order."""
        return make_axes(other).is_sub_set(self)

    def is_equal_set(self, other: object) -> bool:
        """Whether the two hold the same axes, in any order."""
        whole = make_axes(other)
        return len(self) == len(whole) and self.is_sub_set(whole) and whole.is_sub_set(self)

    def is_not_equal_set(self, other: object) -> bool:
        return not self.is_equal_set(other)

    # As axes

    @property
    def lengths(self) -> tuple[DimLike, ...]:
        """The length of each axis: the shape."""
        return tuple(one.length for one in self._axes)

    @property
    def full_lengths(self) -> tuple[object, ...]:
        """The lengths with a tuple in the place of each flattened axis: ``((32, 32), 128)``."""
        return tuple(one.full_length for one in self._axes)

    @property
    def names(self) -> tuple[str | None, ...]:
        """The name of each axis, None for anonymous ones."""
        return tuple(one.name for one in self._axes)

    @property
    def size(self) -> DimLike:
        """The number of elements: the product of the lengths, 1 for no axes."""
        return product(self.lengths)

    def batch_axis(self) -> Axis | None:
        """Returns the axis of class N, or None. InvalidArgument if there are several."""
        return self._sole(self.batch_axes(), "batch_axis")

    def recurrent_axis(self) -> Axis | None:
        """Returns the axis of class REC, or None. InvalidArgument if there are several."""
        return self._sole(self._where(lambda one: one.is_recurrent), "recurrent_axis")

    def channel_axis(self) -> Axis | None:
        """Returns the axis of class C, or None. InvalidArgument if there are several."""
        return self._sole(self._where(lambda one: one.is_channel), "channel_axis")

    def batch_axes(self) -> Axes:
        """Returns the axes of class N."""
        return self._where(lambda one: one.is_batch)

    def sample_axes(self) -> Axes:
        """Returns the axes of one sample: all but those of class N."""
        return self._where(lambda one: not one.is_batch)

    def feature_axes(self) -> Axes:
        """Returns the axes of one time step of one sample: all but those of class N and REC."""
        return self._where(lambda one: not one.is_of_samples)

    def spatial_axes(self) -> Axes:
        """Returns all axes but those of class N, REC and C."""
        return self._where(lambda one: not (one.is_of_samples or one.is_channel))

    def flatten(self) -> Axis:
        """Returns all axes as one: a FlattenedAxis, or the axis itself if there is just one."""
        return self._axes[0] if len(self) == 1 else FlattenedAxis(self._axes)

    def _sole(self, found: Axes, op: str) -> Axis | None:
        if len(found) > 1:
            raise InvalidArgument("several axes have the class asked for", op=f"Axes.{op}", got=found,
                                  expected="one", help="axes.batch_axes() and its like give all of them")
        return found[0] if found else None

    def with_lengths(self, lengths: Iterable[DimLike]) -> Axes:
        """Returns these axes with other lengths, one for each."""
        return Axes([axis if axis.length is length else axis.resized(length)
                     for axis, length in zip(self._axes, lengths, strict=True)])

    def resized(self, position: int, length: DimLike) -> Axes:
        """Returns these axes with another length of the one at a position."""
        return Axes([axis.resized(length) if at == position else axis for at, axis in enumerate(self._axes)])

    def __str__(self) -> str:
        return list_text(self._axes)

    def __repr__(self) -> str:
        return f"Axes{self}"


def make_axes(*items: object) -> Axes:
    """Makes Axes from axes, ints or symbolic dimensions (anonymous axes), and tuples of these (flattened axes).

    The items are given one by one, or as one list, tuple, generator, Axes, dict of name -> length, or string such as
    ``"N=32, C=3"`` whose lengths may be expressions over symbols. Dict and string make axes with the class of their
    name. WrongKind for anything else, sets included: they have no order. InvalidArgument for duplicates, one name with
    two classes, and named beside anonymous axes.

    >>> print(nv.make_axes("N=n, C=3"), nv.make_axes({"H": 2, "W": 3}), nv.make_axes((2, 3)))
    (N: n, C: 3) (H: 2, W: 3) (2, 3)
    """
    if len(items) == 1 and isinstance(items[0], Axes):
        return items[0]
    return Axes(read_axes(items))


def axes_named(labels: Sequence[str | None] | None, shape: Sequence[DimLike]) -> Axes:
    """Returns axes with these labels as names, if each has a label of its own; anonymous axes otherwise.

    >>> print(axes_named(("N", "C"), (2, 3)), axes_named(("N", None), (2, 3)))
    (N: 2, C: 3) (2, 3)
    """
    if labels is None or None in labels or len(set(labels)) < len(labels):
        return make_axes(tuple(shape))
    return make_axes(dict(zip(labels, shape, strict=True)))
