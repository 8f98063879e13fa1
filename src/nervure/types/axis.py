"""An axis gives a dimension its meaning: a class, an offset, a length and a name.

Two axes *match* when they are the same axis, or agree in class, offset and length. Lengths may be symbolic,
so whether two axes match is known (True, False) or open (None); ``==`` holds only where it is known to be
True.

>>> height, width = axis("H", 28), axis("W", 28)
>>> height == axis("H", 28), height == axis("H", 14), height == width
(True, False, False)
>>> print(height.offset(-1), "|", FlattenedAxis([height, width]))
H-1: 28 | (H, W): 784
>>> from nervure.types.dim import dim
>>> print(match(axis("H", dim("n")), height))
None
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from nervure.errors import InvalidArgument, WrongKind
from nervure.types.axis_class import BATCH, CHANNEL, RECURRENT, RESERVED, AxisClass, automatic_name, checked_name
from nervure.types.axis_class import make_axis_class as make_axis_class
from nervure.types.dim import Dim, DimLike, bounds, equal, product
from nervure.types.frozen import Frozen, put
from nervure.types.shape import checked_integer

if TYPE_CHECKING:
    from nervure.types.axes import Axes, AxesLike

MAXIMUM_NESTING = 32  # depth of flattened axes: far past any use, well inside Python's own stack


class _Root:
    """The common part of an axis and its relatives of other levels. A length can be set until ``is_fixed``."""

    __slots__ = ("axis_class", "docstring", "is_anonymous", "is_fixed", "length", "name")

    def __init__(self, length: DimLike | None, name: str | None, axis_class: AxisClass,
                 docstring: str | None = None, is_anonymous: bool = False) -> None:
        self.length = length
        self.name = name
        self.axis_class = axis_class
        self.docstring = docstring
        self.is_anonymous = is_anonymous
        self.is_fixed = length is not None


class Axis(Frozen):
    """A dimension of a tensor with its meaning. Made by ``make_axis``, ``axis`` and ``make_axes``.

    ``axis_class`` is its meaning, ``level`` its offset (0 at first), ``length`` an int or a symbolic dimension,
    ``name`` its name (None for an anonymous axis). Everything is fixed except a length that was left out. Equality is
    ``match(a, b) is True``; the hash depends on class and level alone, so a length may come later.

    >>> h = nv.axis("H", 28)
    >>> h.name, h.length, h == nv.axis("H", 28), h == nv.axis("H", 14)
    ('H', 28, True, False)
    """

    __slots__ = ("_level", "_root")
    _plural = "axes"
    _instead = "make another axis: nv.axis(name, length), nv.make_axis(...), axis.resized(length)"
    _root: _Root
    _level: int

    is_flattened = False

    def __init__(self, root: _Root, level: int = 0) -> None:
        if not isinstance(root, _Root):
            raise WrongKind("axes are made by functions", op="Axis", got=type(root).__name__,
                            expected="make_axis(length)",
                            help='nv.make_axis(28, "H"), nv.axis("H", 28)')
        put(self, "_root", root)
        put(self, "_level", level)

    def __setattr__(self, name: str, value: object) -> None:
        if name != "length":
            super().__setattr__(name, value)
        put(self, name, value)

    @property
    def axis_class(self) -> AxisClass:
        return self._root.axis_class

    @property
    def name(self) -> str | None:
        return self._root.name

    @property
    def docstring(self) -> str | None:
        return self._root.docstring

    @property
    def is_anonymous(self) -> bool:
        return self._root.is_anonymous

    @property
    def level(self) -> int:
        """The offset of this axis: ``axis.offset(k).level == axis.level + k``."""
        return self._level

    @property
    def has_length(self) -> bool:
        """Whether the length is known yet. Reading this does not fix it."""
        return self._known_length() is not None

    @property
    def length(self) -> DimLike:
        """The length. Reading fixes it for good; InvalidArgument if it has not been set."""
        root = self._root
        if root.length is None:
            raise InvalidArgument(f"the length of axis {self.label} is needed, but has not been set",
                                  op="Axis.length", got="no length",
                                  expected="an int or a symbolic dimension",
                                  help="set it first: axis.length = 28; nv.dim('n') is a length that each call brings")
        root.is_fixed = True
        return root.length

    @length.setter
    def length(self, length: DimLike) -> None:
        root = self._root
        if root.is_fixed:
            raise InvalidArgument(f"the length of axis {self.label} is fixed", op="Axis.length", got=length,
                                  expected=root.length,
                                  help="set a length before its first use, or make another axis")
        root.length = checked_length(length)

    @property
    def full_length(self) -> object:
        """The length; for a flattened axis the tuple of the full lengths of its parts."""
        return self.length

    @property
    def is_batch(self) -> bool:
        return self._root.axis_class == BATCH

    @property
    def is_recurrent(self) -> bool:
        return self._root.axis_class == RECURRENT

    @property
    def is_of_samples(self) -> bool:
        return self.is_batch or self.is_recurrent

    @property
    def is_channel(self) -> bool:
        return self._root.axis_class == CHANNEL

    def offset(self, k: int) -> Axis:
        """Returns the relative of this axis with a level higher by ``k``; they share all else, including the length."""
        step = self._checked_offset(k)
        return Axis(self._root, self._level + step) if step else self

    def transposed(self) -> Axis:
        """Returns the relative of level ``-1 - level``, which a transposed tensor has in place of this axis."""
        return self.offset(-1 - 2 * self._level)

    def resized(self, length: DimLike) -> Axis:
        """Returns a new axis of this name, class and level with another length, as slicing makes."""
        root = self._root
        if root.is_anonymous:
            return make_anonymous_axis(length)
        return Axis(_Root(checked_length(length), root.name, root.axis_class, root.docstring), self._level)

    @property
    def label(self) -> str:
        """Name and offset as people write them: ``H``, ``H-1``; for an anonymous axis its length."""
        if self.is_anonymous:
            return self._shown_length()
        return f"{self.name}{self._level:+d}" if self._level else str(self.name)

    def _known_length(self) -> DimLike | None:
        """Returns the current length for display: unlike ``length`` this fixes nothing."""
        return self._root.length

    def _shown_length(self) -> str:
        length = self._known_length()
        return "?" if length is None else str(length)

    def _checked_offset(self, k: int) -> int:
        step = checked_integer(k, "an offset is an integer", "Axis.offset", "int(...) makes an integer")
        if step and self.is_anonymous:
            raise InvalidArgument("an anonymous axis has no offset", op="Axis.offset", got=self.label,
                                  help='name the axis: nv.axis("H", 28)')
        return step

    def __str__(self) -> str:
        return self.label if self.is_anonymous else f"{self.label}: {self._shown_length()}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Axis):
            return NotImplemented
        return match(self, other) is True

    def __hash__(self) -> int:
        return hash((self._root.axis_class, self._level))

    def _beside(self, other: object, operator: str) -> Axes:
        """Returns this axis as Axes, for an operator of theirs."""
        from nervure.types.axes import make_axes  # it builds on this module
        if isinstance(other, (int, Dim)):
            raise WrongKind("an axis and a number do not join", op=f"Axis {operator}", got=f"{self} and {other}",
                            expected="axes", help="axis.offset(1) is its relative of the next level, "
                                                  "axis.length + 1 a length")
        return make_axes(self)

    def __add__(self, other: AxesLike) -> Axes:
        """This axis followed by the other's: Axes. InvalidArgument if an axis is in both."""
        return self._beside(other, "+") + other

    def __radd__(self, other: AxesLike) -> Axes:
        return self._beside(other, "+").__radd__(other)

    def __sub__(self, other: AxesLike) -> Axes:
        """Axes with this axis, or without any if the other has it."""
        return self._beside(other, "-") - other

    def __or__(self, other: AxesLike) -> Axes:
        """This axis and the other's new ones: Axes."""
        return self._beside(other, "|") | other

    def __and__(self, other: AxesLike) -> Axes:
        """Axes with this axis if the other has it."""
        return self._beside(other, "&") & other


class FlattenedAxis(Axis):
    """One axis that walks through several, the last fastest. It matches only a flattening of the same parts.

    ``axes`` are axes of one level, all named or all anonymous, without duplicates. The length is the product of
    theirs. ``parts`` returns them.

    >>> FlattenedAxis([axis("H", 2), axis("W", 3)]).length
    6
    """

    __slots__ = ("nesting", "parts")

    nesting: int
    parts: tuple[Axis, ...]

    is_flattened = True

    def __init__(self, axes: Iterable[Axis]) -> None:
        parts = axis_tuple(axes, "FlattenedAxis")
        is_anonymous = check_together(parts, "FlattenedAxis")
        levels = {part.level for part in parts}
        if len(levels) > 1:
            raise InvalidArgument("the parts of a flattened axis have one offset", op="FlattenedAxis",
                                  got=list_text(part.label for part in parts),
                                  help="flatten first, then take the offset of the flattened axis")
        put(self, "nesting", 1 + max((part.nesting for part in parts if isinstance(part, FlattenedAxis)), default=0))
        if self.nesting > MAXIMUM_NESTING:
            raise InvalidArgument(f"flattened axes are nested more than {MAXIMUM_NESTING} deep",
                                  op="FlattenedAxis", help="flatten the parts of the parts")
        put(self, "parts", parts)
        name = list_text(str(part.name) for part in parts)
        axis_class = AxisClass.flattened(name, tuple(part.axis_class for part in parts))
        root = _Root(None, None if is_anonymous else name, axis_class, is_anonymous=is_anonymous)
        super().__init__(root, levels.pop() if levels else 0)

    @property
    def length(self) -> DimLike:
        return product(part.length for part in self.parts)

    @length.setter
    def length(self, length: DimLike) -> None:
        raise InvalidArgument("the length of a flattened axis is that of its parts", op="Axis.length",
                              got=length, help="set the lengths of the parts")

    @property
    def full_length(self) -> object:
        return tuple(part.full_length for part in self.parts)

    def offset(self, k: int) -> Axis:
        step = self._checked_offset(k)
        return FlattenedAxis(part.offset(step) for part in self.parts) if step else self

    def resized(self, length: DimLike) -> Axis:
        """Returns a plain axis of a new class: a range of a flattened axis no longer has its parts."""
        if self.is_anonymous:
            return make_anonymous_axis(length)
        return make_axis(checked_length(length)).offset(self._level)

    def _known_length(self) -> DimLike | None:
        lengths = [length for part in self.parts if (length := part._known_length()) is not None]
        return product(lengths) if len(lengths) == len(self.parts) else None

    def _shown_length(self) -> str:
        return list_text(self.parts) if self.is_anonymous else super()._shown_length()


def same_role(a: Axis, b: Axis) -> bool:
    """Whether two axes have one class and one offset, whatever their lengths."""
    return a._level == b._level and a._root.axis_class == b._root.axis_class


def match(a: Axis, b: Axis) -> bool | None:
    """Whether two axes match: True, False, or None if only their symbolic lengths remain to be compared.

    A caller that needs the match may continue on None, if it records the assumption that the lengths are equal.
    """
    if a is b:
        return True
    if not same_role(a, b):
        return False
    if isinstance(a, FlattenedAxis) and isinstance(b, FlattenedAxis):
        # Axes of one class have equally many parts, of the same roles.
        answers = [match(part, other) for part, other in zip(a.parts, b.parts, strict=True)]
        if False in answers:
            return False
        return None if None in answers else True
    if a._root is b._root:
        return True
    return equal(a.length, b.length)


def ordered_members(items: object, op: str) -> tuple[object, ...] | None:
    """Returns the members of a list of any kind, None for anything else. WrongKind for a set, which has no order."""
    if isinstance(items, (set, frozenset)):
        raise WrongKind("axes have an order, a set has none", op=op, got=type(items).__name__,
                        expected="a list, tuple or generator", help="put the axes into a list")
    if isinstance(items, (Axis, Dim, bytes, bytearray)) or not isinstance(items, Iterable):
        return None
    try:
        iterator = iter(items)
    except TypeError:  # a NumPy array without dimensions claims to be iterable: it is a length
        return None
    return tuple(iterator)


def axis_tuple(axes: object, op: str) -> tuple[Axis, ...]:
    """Returns axes as a tuple. WrongKind for a set, for anything but a list, and for a member that is no axis."""
    members = ordered_members(axes, op)
    if members is None:
        raise WrongKind("a list of axes is needed", op=op, got=type(axes).__name__, expected="a list of axes",
                        help="one axis is written [axis]")
    for position, member in enumerate(members):
        if not isinstance(member, Axis):
            raise WrongKind("an axis is needed", op=op, operand=position, got=type(member).__name__,
                            expected="Axis", help="nv.make_axes(...) takes lengths and nested tuples too")
    return members  # type: ignore[return-value]  # each has been looked at


def check_together(axes: Sequence[Axis], op: str) -> bool:
    """Checks that axes may stand side by side; returns whether they are anonymous (as no axes at all are).

    Raises InvalidArgument for named axes beside anonymous ones, for axes that match, and for one name with two
    classes.
    """
    anonymous = [one.is_anonymous for one in axes]
    if all(anonymous):
        return True  # each is of its own class; their position is their meaning
    if any(anonymous):
        raise InvalidArgument("axes are all named or all anonymous", op=op, got=list_text(axes),
                              help='name the plain lengths too: nv.axis("H", 28)',
                              expected="names on all, or on none")
    if len({one.axis_class for one in axes}) == len(axes) == len({one.name for one in axes}):
        return False  # by far the most frequent case
    for position, one in enumerate(axes):
        for other in axes[:position]:
            if match(one, other):
                raise InvalidArgument(f"axis {one.label} occurs twice", op=op, got=list_text(axes),
                                      expected="axes that differ in class, length or offset",
                                      help="name one of them otherwise, or give it an offset: axis.offset(-1)")
            if one.name == other.name and one.axis_class != other.axis_class:
                raise InvalidArgument(f"two axes named {one.name} have different classes", op=op,
                                      got=list_text(axes),
                                      help=f"give both one class, axis_class={one.name!r}, or two names",
                                      expected="one class for one name")
    return False


def make_axis(length: DimLike | None = None, name: str | None = None,
              axis_class: AxisClass | str | None = None, docstring: str | None = None) -> Axis:
    """Makes a new axis, which matches no other unless they share a class.

    ``length`` is a non-negative int, a symbolic dimension, or None to be set later (``axis.length = n``). Without
    ``name`` it is called ``Axis_7``, with the next free number. ``axis_class`` is a class or the name of one; without
    it a unique class is made, except that the names N, REC and C give the batch, time and channel classes.

    >>> make_axis(28, "H") == make_axis(28, "H"), make_axis(32, "N") == make_axis(32, "N")
    (False, True)
    """
    label = automatic_name() if name is None else checked_name(name, "make_axis")
    known_length = None if length is None else checked_length(length)
    return Axis(_Root(known_length, label, _class_of(label, axis_class), docstring))


def axis(name: str, length: DimLike | None = None, docstring: str | None = None) -> Axis:
    """Makes an axis whose class is that of its ``name``, so that it matches every such axis of its ``length``.

    >>> str(nv.axis("H", 28)), nv.axis("H", 28) == nv.axis("H", 28)
    ('H: 28', True)
    """
    return make_axis(length, name, checked_name(name, "axis"), docstring)


def make_anonymous_axis(length: DimLike) -> Axis:
    """Makes an axis of a plain shape: no name, a class of its own, known by position alone."""
    return Axis(_Root(checked_length(length), None, AxisClass.unique("anonymous"), is_anonymous=True))


def checked_length(length: object) -> DimLike:
    """Returns a length as an int or a Dim. WrongKind for other types; InvalidArgument if it is always negative."""
    if isinstance(length, Dim):
        highest = bounds(length)[1]
        is_negative = highest is not None and highest < 0
    else:
        length = checked_integer(length, "a length is an int or a symbolic dimension", "axis",
                                 "int(...) makes an integer; nv.dim('n') is a length that is not known yet")
        is_negative = length < 0
    if is_negative:
        raise InvalidArgument("a length cannot be negative", op="axis", got=length, expected="0 or more",
                              help="a length that is not known yet is nv.dim('n')")
    return length


def list_text(items: Iterable[object]) -> str:
    """Returns axes or labels as people write them: ``(N: 32, C: 3)``."""
    return f"({', '.join(map(str, items))})"


def _class_of(name: str, axis_class: AxisClass | str | None) -> AxisClass:
    reserved = RESERVED.get(name)
    if axis_class is None:
        return reserved or AxisClass.unique(name)
    if isinstance(axis_class, str):
        axis_class = AxisClass(axis_class)
    if not isinstance(axis_class, AxisClass):
        raise WrongKind("a class of axes is needed", op="make_axis", operand="axis_class",
                        got=type(axis_class).__name__, expected="a string or nv.make_axis_class(name)",
                        help="leave it out for a class of its own")
    if axis_class.is_flattened:
        raise InvalidArgument("the class of a flattened axis is that of its parts, no other axis has it",
                              op="make_axis", operand="axis_class", got=axis_class.name,
                              help="nv.FlattenedAxis(axes) flattens axes")
    if reserved and axis_class != reserved:
        raise InvalidArgument(f"an axis named {name} always has the class of that name", op="make_axis",
                              operand="axis_class", got=axis_class.name, expected=name,
                              help="give it another name")
    return axis_class
