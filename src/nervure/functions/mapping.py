"""``vmap``: a function of one example becomes a function of many, without a loop.

>>> import numpy as np
>>> import nervure as nv
>>> distances = vmap(lambda x, y: nv.sum((x - y) ** 2), in_axes=(0, None))
>>> distances(np.float32([[1, 2], [3, 4]]), np.float32([1, 1])).tolist()
[1.0, 13.0]

The function is traced on one example, and the graph of that is mapped (:mod:`nervure.autodiff.batching`). With named
axes, mapping takes an axis away from arguments, and adds it to results:

>>> x = nv.placeholder("N=2, F=3")
>>> vmap(lambda row: nv.max(row, out_axes=()), in_axes="N")(x)
<Tensor f32[N=2] Max>
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from nervure.autodiff.batching import batched
from nervure.errors import AxisMismatch, InvalidArgument, ShapeMismatch, WrongKind, shown
from nervure.front.alignment import assume_shape
from nervure.front.argument_parsing import as_integer, require_function
from nervure.front.arranging.found import positions_below
from nervure.front.creation import as_tensor
from nervure.front.tensor import Tensor, described_type, is_operand, tracing
from nervure.front.traced_numbers import TracedNumber
from nervure.functions.nesting import Nest, Nested, name_of, results_of, spread
from nervure.ir.leaves import Parameter
from nervure.ir.op import Value
from nervure.ir.region import ForAll
from nervure.jit import Jitted, signature_of
from nervure.ops.random import noted_draws
from nervure.ops.views import moved_axes
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import Axes
from nervure.types.axis import Axis, same_role
from nervure.types.axis import axis as axis_of_name
from nervure.types.dim import DimLike, equal


def vmap(fun: Callable[..., Nest], in_axes: object = 0, out_axes: object = 0,
         axis: str | Axis | None = None) -> Jitted[Nest]:
    """Returns a function of many examples, which gives at each position of an axis what ``fun`` gives for that example.

    ``in_axes`` says which axis of the arguments counts the examples: a position, or a name, for arguments that have an
    axis of that name; None stands for arguments that all examples share. A tuple has an entry for each argument,
    nested as that is, or one for all of it; keyword arguments are mapped at position 0. ``out_axes`` says in the same
    way where results have the axis (None: they are the same for all examples). ``axis`` names the axis of results with
    names, if the arguments do not.

    >>> rows = nv.vmap(lambda row, scale: row * scale, in_axes=(0, None), out_axes=1)
    >>> rows(np.float32([[1, 2], [3, 4]]), 10.0).tolist()
    [[10.0, 30.0], [20.0, 40.0]]
    """
    require_function(fun, "vmap")
    if not (axis is None or isinstance(axis, (str, Axis))):
        raise WrongKind("axis names the axis of the examples", op="vmap", operand="axis", got=shown(axis),
                        expected="a name, or an Axis", help='as in axis="N"')

    def traced(*arguments: Nest, **keywords: Nest) -> object:
        mapped = _Mapped.of(Nested.of((arguments, keywords)), in_axes, axis)
        given, named = mapped.one
        with tracing(name_of(fun)), noted_draws() as draws:
            value = results_of(fun(*given, **named), "vmap")
        tensors = [leaf for leaf in value.leaves if isinstance(leaf, Tensor)]
        values = [leaf.value for leaf in tensors]
        found = iter(batched(values, mapped.table, mapped.length, draws, positions_below(values)))
        places = _entries(value, out_axes, "out_axes", "results", lambda entry: as_integer(entry) is not None)
        return value.again([mapped.result(leaf, next(found), place, f"result{path}") if isinstance(leaf, Tensor)
                            else leaf for leaf, place, path in zip(value.leaves, places, value.paths, strict=True)])

    traced.__name__ = name_of(fun)
    made: Jitted[Nest] = Jitted(traced)
    vars(made).update(__signature__=signature_of(fun), __wrapped__=fun, __doc__=fun.__doc__)
    return made


class _Mapped(NamedTuple):
    """The arguments of a call: those of ``one`` example, and a ``table`` from its values to those of all examples.

    These have a dimension of this ``length`` in front. ``axis`` is the axis that named results get, if it is known.
    """

    one: Nest
    table: dict[Value, Value]
    length: DimLike
    axis: Axis | None

    @classmethod
    def of(cls, given: Nested, in_axes: object, name: str | Axis | None) -> _Mapped:
        """Takes the examples' axis away from the arguments."""
        leaves = list(given.leaves)
        table: dict[Value, Value] = {}
        first: tuple[str, DimLike] | None = None
        axes: list[Axis] = []
        for at, (leaf, entry, path) in enumerate(zip(leaves, _of_call(given, in_axes), given.paths, strict=True)):
            where = ("keywords" if path.startswith("[1]") else "arguments") + path[3:]
            if leaf is None or entry is None:
                continue
            tensor = _tensor(leaf, where)
            place = _position_in(tensor, entry, where)
            if place is None:
                continue
            first = first or (where, tensor.shape[place])
            stand_in, several = _taken_away(tensor, place, first, where)
            leaves[at], table[stand_in.value] = stand_in, several
            axes += [tensor.axes[place]] if tensor.is_named else []
        if first is None:
            raise InvalidArgument("no argument has an axis to map over", op="vmap", operand="in_axes",
                                  got=f"{in_axes!r:.60}", expected="a position or a name for one argument or more",
                                  help="in_axes=(0, None) maps the first of two arguments at its first axis")
        return cls(given.again(leaves), table, first[1], _axis(name, axes, first[1]))

    def result(self, one: Tensor, several: ForAll, entry: object, path: str) -> Tensor:
        """Returns a result for all examples, from that of one."""
        if entry is None:
            if several.differs:
                raise InvalidArgument("this result depends on what is mapped", op="vmap", operand=path,
                                      got="out_axes=None", expected="a position for the axis of the examples",
                                      help="None is for results that are the same for all examples")
            return one if several.value is one.value else Tensor(several.value, one._axes)
        value = several.whole(self.length)
        place = as_integer(entry)
        assert place is not None
        _require_position(place, value.rank, path, described_type(one), "out_axes")
        place %= value.rank
        return Tensor(moved_axes(value, 0, place), self._axes(one, place, path))

    def _axes(self, one: Tensor, place: int, path: str) -> Axes | None:
        """Returns the axes of a result: those for one example, and that of the examples."""
        if not one.is_named and (one.ndim or self.axis is None):
            return None
        if self.axis is None:
            raise InvalidArgument("the axis of the examples needs a name beside those of the result", op="vmap",
                                  operand=path, got=described_type(one), expected='axis="N", for example',
                                  help="name it in the call of vmap, or give arguments whose axes have names")
        axes = list(one.axes)
        if any([same_role(other, self.axis) for other in axes]):
            raise AxisMismatch(f"the result has an axis {self.axis.label} for each example", op="vmap", operand=path,
                               got=described_type(one), expected="axes other than that of the examples",
                               help="nv.map_roles renames axes; axis= names that of the examples")
        return Axes([*axes[:place], self.axis, *axes[place:]])


def _of_call(given: Nested, in_axes: object) -> list[object]:
    """Returns the entry of ``in_axes`` for each leaf of (arguments, keywords); keyword arguments are mapped at 0."""
    pair: Nest = given.again(given.leaves)
    arguments, keywords = pair
    whole = tuple(in_axes) if isinstance(in_axes, list) else in_axes
    by_argument = _entries(Nested.of(arguments), whole, "in_axes", "arguments",
                           lambda entry: entry is not None and (as_integer(entry) is not None
                                                                or isinstance(entry, (str, Axis))))
    return [*by_argument, *[0] * len(Nested.of(keywords).leaves)]


def _entries(nested: Nested, value: object, operand: str, of: str, is_entry: Callable[[object], bool]) -> list[object]:
    """Returns the entry of ``in_axes`` or ``out_axes`` for each leaf."""
    try:
        found = list(spread(nested.pattern, value, lambda entry: entry is None or is_entry(entry)))
    except LookupError:
        raise InvalidArgument(f"{operand} must be nested as the {of}, or stop above", op="vmap", operand=operand,
                              got=f"{value!r:.80}", expected=f"an entry for each of {nested.shown}",
                              help="one entry stands for all leaves of a container; (0, None) is for two") from None
    wrong = [entry for entry in found if not (entry is None or is_entry(entry))]
    if wrong:
        raise WrongKind("an axis is given by its position" + (" or name" if operand == "in_axes" else ""), op="vmap",
                        operand=operand, got=shown(wrong[0]), expected="an int, or None for none",
                        help="results of named axes take the name of the examples' axis" if operand == "out_axes" else
                             "a dict has an entry for each leaf of an argument that is a dict")
    return found


def _tensor(leaf: object, where: str) -> Tensor:
    if not (is_operand(leaf) or isinstance(leaf, TracedNumber)):
        raise WrongKind("only tensors can be mapped over", op="vmap", operand=where, got=shown(leaf),
                        expected="a tensor or an array", help="in_axes has None for what all examples share")
    return as_tensor(leaf, "vmap")


def _position_in(tensor: Tensor, entry: object, where: str) -> int | None:
    """Returns the position of the examples' axis; None if a name is given, and this tensor has no such axis."""
    place = as_integer(entry)
    if place is not None:
        _require_position(place, tensor.ndim, where, described_type(tensor), "in_axes")
        return place % tensor.ndim
    if tensor.ndim and not tensor.is_named:
        raise InvalidArgument("the axes of this argument have no names", op="vmap", operand=where,
                              got=str(tensor.type), expected="a position in in_axes, or None",
                              help=f"in_axes={entry!r} maps arguments with an axis of that name")
    name = entry.name if isinstance(entry, Axis) else entry
    found = [at for at, own in enumerate(tensor.axes) if own.name == name]
    return found[0] if found else None


def _require_position(place: int, rank: int, where: str, got: str, operand: str) -> None:
    if not -rank <= place < rank:
        raise InvalidArgument(f"there is no axis {place}", op="vmap", operand=where, got=f"{operand} of {place}, {got}",
                              expected=f"{-rank} to {rank - 1}" if rank else "an argument with an axis",
                              help=f"{operand} has None for what all examples share")


def _taken_away(tensor: Tensor, place: int, first: tuple[str, DimLike], where: str) -> tuple[Tensor, Value]:
    """Returns a stand-in for one example of a tensor, and the tensor's value with the axis of the examples in front."""
    shape = list(tensor.shape)
    length = shape.pop(place)
    known = equal(length, first[1])
    if known is False:
        raise ShapeMismatch("arguments have different numbers of examples", op="vmap", operand=where,
                            got=f"{length}, in {described_type(tensor)}", expected=f"{first[1]}, as in {first[0]}",
                            help="in_axes has None for what all examples share")
    value = moved_axes(tensor.value, place, 0)
    if known is None:
        value = assume_shape(value, (first[1], *shape), "vmap")
    own = [axis for at, axis in enumerate(tensor.axes) if at != place] if tensor.is_named else None
    return Tensor(Parameter(tensor.dtype, tuple(shape)), None if own is None else Axes(own)), value


def _axis(name: str | Axis | None, axes: Sequence[Axis], length: DimLike) -> Axis | None:
    """Returns the axis of the examples: the one that ``name`` is, or else the one that all named arguments have."""
    if isinstance(name, Axis):
        return name.resized(length)
    if name is not None:
        return axis_of_name(name, length)
    for other in axes[1:]:
        if not same_role(axes[0], other):
            raise AxisMismatch("the arguments are mapped over axes of different names", op="vmap", operand="in_axes",
                               got=f"{axes[0].label} and {other.label}", expected="one axis for all arguments",
                               help="give the position or name of each in in_axes, or axis= for the name in results")
    return axes[0] if axes else None


__all__ = ["vmap"]

explain_keywords(globals(), __all__)
