"""Shapes, axes and indices as users give them, checked once and brought into one form.

>>> from nervure.types.dim import dim
>>> checked_shape([2, dim("N")])
(2, N)
>>> check_index((1, -1), (2, 3))
(1, 2)
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from typing import Unpack

from nervure import flags
from nervure.errors import ErrorParts, IndexOutOfRange, InvalidArgument, NervureError, WrongKind
from nervure.types.dim import Dim, DimLike, bounds, less_equal

Shape = tuple[DimLike, ...]

LIMIT = 2**63 - 1  # of elements, of bytes and of any address computed from these
MAX_RANK = 64  # NumPy's, whose arrays hold all results


def checked_shape(shape: Iterable[DimLike], itemsize: int = 1, op: str | None = None) -> Shape:
    """Returns the shape as a tuple of ints and Dims.

    Raises WrongKind unless every length is an integer or a Dim. Raises InvalidArgument for more than 64 lengths, for a
    negative one (a Dim: for all values of its symbols), and for more than 2**63 - 1 bytes in all, at ``itemsize``
    bytes an element. A length of 0 does not excuse the others, since strides are computed from them.
    """
    try:
        lengths = tuple(shape)
    except TypeError:
        raise WrongKind("a shape is a sequence of lengths", op=op, got=repr(shape), operand="shape",
                        expected="ints and symbolic dimensions", help="one length is written (3,)") from None
    if len(lengths) > MAX_RANK:
        raise InvalidArgument("a tensor has too many dimensions", op=op, operand="shape",
                              got=f"{len(lengths)} dimensions", expected=f"at most {MAX_RANK}",
                              help="reshape it: lengths of 1 need no dimension, and several dimensions can be one")
    total = itemsize
    for position, length in enumerate(lengths):
        if type(length) is int:
            least = length
        elif isinstance(length, Dim):
            low, high = bounds(length)
            least = high if high is not None and high < 0 else max(low or 0, 0)
        else:
            number = checked_integer(length, "a length is an int or a symbolic dimension", op)
            return checked_shape((*lengths[:position], number, *lengths[position + 1:]), itemsize, op)
        if least < 0:
            raise InvalidArgument("a length cannot be negative", op=op, operand=f"dimension {position}",
                                  got=lengths, expected="lengths of 0 or more",
                                  help="a length that is not known yet is nv.dim('n')")
        if least > 1:
            total *= least
    if total > LIMIT:
        raise InvalidArgument("a tensor of this shape is past what memory can address", op=op, operand="shape",
                              got=lengths, expected=f"at most 2**63 - 1 bytes, at {itemsize} an element",
                              help="compute it in parts")
    return lengths


def checked_dim(value: object, op: str | None = None) -> DimLike:
    """Returns an integer or a Dim as one; WrongKind for anything else."""
    return value if isinstance(value, Dim) else checked_integer(value, "this is no int or symbolic dimension", op)


def checked_axes(axes: Iterable[int], rank: int, op: str | None = None) -> tuple[int, ...]:
    """Returns ``axes`` as positions of dimensions, all different, in the order given; a negative one counts from the
    end once.
    """
    positions = []
    for axis in axes:
        position = checked_integer(axis, "a dimension is named by its position", op)
        if not -rank <= position < rank:
            raise IndexOutOfRange(f"there is no dimension {position}", op=op, operand="axes", got=position,
                                  expected=f"{-rank} to {rank - 1}" if rank else "none: the rank is 0",
                                  help="dimensions count from 0; negative ones count from the end")
        positions.append(position % rank)
    if len(set(positions)) != len(positions):
        raise InvalidArgument("a dimension is named twice", op=op, operand="axes", got=tuple(positions),
                              expected="each dimension once", help="leave out the second")
    return tuple(positions)


def checked_permutation(permutation: Iterable[int], rank: int, op: str | None = None) -> tuple[int, ...]:
    """Returns all positions of ``rank`` dimensions, each once, as the permutation orders them."""
    positions = checked_axes(permutation, rank, op)
    if len(positions) != rank:
        raise InvalidArgument("a permutation names every dimension once", op=op, operand="order", got=positions,
                              expected=f"{rank} positions", help="add those that stay where they are")
    return positions


def inverse_permutation(order: Sequence[int]) -> tuple[int, ...]:
    """Returns the order of dimensions that undoes an ``order``.

    >>> inverse_permutation((2, 0, 1))
    (1, 2, 0)
    """
    return tuple(sorted(range(len(order)), key=order.__getitem__))


def check_index(index: Sequence[int], shape: Sequence[DimLike]) -> Shape:
    """Returns the index of one element, with negative entries counted from the end (once).

    Raises IndexOutOfRange, naming the position and its value, if an entry is not in [-length, length) or the number of
    entries is not the rank. For a symbolic length only facts about all its values are known: an entry that may be
    inside passes.
    """
    try:
        entries = tuple(index)
    except TypeError:
        raise WrongKind("an index is a sequence of integers", got=f"{index!r} ({type(index).__name__})",
                        expected="an int for each dimension", help="one entry is written (3,)") from None
    if len(entries) != len(shape):
        raise IndexOutOfRange(f"an index into {len(shape)} dimensions has {len(shape)} entries", got=entries,
                              expected=f"an index into {tuple(shape)}", op="index",
                              help="an index has an entry for each dimension")
    checked = []
    for position, (entry, length) in enumerate(zip(entries, shape, strict=True)):
        number = checked_integer(entry, "an index is an integer", "index")
        is_inside = less_equal(-length, number) is not False and less_equal(number + 1, length) is not False
        if not is_inside:
            expected = "nothing, as the length is 0" if length == 0 else (
                f"{-length} to {length - 1}, as the length is {length}")
            raise IndexOutOfRange(f"index {number} is out of range at position {position}", got=entries,
                                  expected=expected, op="index",
                                  help="an index counts from the end once when negative")
        checked.append(number if number >= 0 else number + length)
    return tuple(checked)


def index_at(position: int, shape: Sequence[int]) -> tuple[int, ...]:
    """Returns the index of an element by its number in row-major order.

    >>> index_at(6, (3, 4))
    (1, 2)
    """
    entries: list[int] = []
    for length in reversed(shape):
        position, entry = divmod(int(position), int(length))
        entries.append(entry)
    return tuple(reversed(entries))


def check_room(shape: Sequence[int], itemsize: int, what: str, op: str | None = None,
               **parts: Unpack[ErrorParts]) -> None:
    """Raises InvalidArgument if an array of ``shape`` would take more bytes than ``flags.allowed_bytes()``; called
    before it is made.

    ``parts`` are the fields of the error.
    """
    size, limit = math.prod(shape) * itemsize, flags.allowed_bytes()
    if size > limit:
        every: ErrorParts = {**parts, "got": f"{size:,} bytes for {tuple(shape)}",
                             "expected": f"at most {limit:,} bytes", "help": "flags.memory_limit sets another limit"}
        raise InvalidArgument(f"{what} needs more memory than there is", op=op, **every)


def at_least(length: DimLike, minimum: int) -> bool:
    """Whether a length is known to be ``minimum`` or more."""
    return less_equal(minimum, length) is True


def checked_integer(value: object, message: str, op: str | None, help: str | None = None) -> int:
    """Returns an integer as an int; WrongKind with this ``message`` for any other value, truth values too."""
    try:
        if isinstance(value, bool):  # True is no length, though Python counts it among the integers
            raise TypeError
        return operator.index(value)  # type: ignore[arg-type]  # asked of anything
    except NervureError:  # a number without a value raises an error of its own
        raise
    except TypeError:
        raise WrongKind(message, op=op, got=f"{value!r:.80} ({type(value).__name__})", expected="an integer",
                        help=help) from None
