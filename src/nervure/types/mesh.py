"""Meshes of devices with named axes, and how the axes of tensors are split over them.

>>> mesh = Mesh({"data": 4, "model": 2})
>>> mesh, mesh.size
(Mesh({'data': 4, 'model': 2}), 8)
>>> sharding = Sharding(mesh, {"N": ("data",), "H": ("model",)})
>>> sharding.split(("N", "H", None), "x")
(('data',), ('model',), ())

A *split* has, for each dimension of a tensor, the axes of the mesh over which its elements are distributed; a dimension
without any lies whole on each device.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from nervure.errors import InvalidArgument, WrongKind, did_you_mean

Split = tuple[tuple[str, ...], ...]
"""The axes of a mesh for each dimension of a tensor."""

MeshAxes = str | Sequence[str]
"""An axis of a mesh, or several, as users give them."""

Shard = Mapping[Any, MeshAxes | None]
"""The axes of a mesh by axes of tensors, as users give them."""

_NAME = re.compile(r"[A-Za-z]\w*", re.ASCII)
_LEVEL = re.compile(r"[+-]\d+$")


class Mesh:
    """Devices in a grid with named axes: ``axes`` has the length of each, and the mesh the product of these devices.

    ``nv.computation``, ``nv.jit``, ``nv.build`` and ``nv.Trainer`` take a mesh, and say with ``shard`` over which of
    its axes each axis of tensors is split. A mesh is made of names and numbers alone; the devices are those of the
    transformer ``xla``, in jax's order, the last axis of the mesh running fastest.

    >>> mesh = nv.Mesh({"data": 4, "model": 2})
    >>> mesh.axes, mesh.size, mesh == nv.Mesh({"data": 4, "model": 2})
    ({'data': 4, 'model': 2}, 8, True)
    """

    __slots__ = ("_axes",)

    def __init__(self, axes: Mapping[str, int]) -> None:
        if not isinstance(axes, Mapping):
            raise WrongKind("a mesh has axes with lengths", op="Mesh", operand="axes", got=f"{axes!r:.60}",
                            expected="a mapping", help='as in nv.Mesh({"data": 4, "model": 2})')
        for name, length in axes.items():
            if not isinstance(name, str) or _NAME.fullmatch(name) is None:
                raise InvalidArgument("an axis of a mesh has a name", op="Mesh", operand="axes", got=f"{name!r:.60}",
                                      expected="a word of letters, digits and _", help='as in nv.Mesh({"data": 4})')
            if type(length) is not int or length < 1:
                raise InvalidArgument(f"the axis {name} of a mesh has no such length", op="Mesh", operand=name,
                                      got=f"{length!r:.60}", expected="a number of devices, 1 or more",
                                      help='as in nv.Mesh({"data": 4})')
        if not axes:
            raise InvalidArgument("a mesh has an axis or more", op="Mesh", operand="axes", got="none",
                                  expected="names with lengths", help='as in nv.Mesh({"data": 4})')
        self._axes = dict(axes)

    @property
    def axes(self) -> dict[str, int]:
        """The length of each axis, in order."""
        return dict(self._axes)

    @property
    def size(self) -> int:
        """The number of devices."""
        return math.prod(self._axes.values())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mesh) and list(self._axes.items()) == list(other._axes.items())

    def __hash__(self) -> int:
        return hash(tuple(self._axes.items()))

    def __repr__(self) -> str:
        return f"Mesh({self._axes})"


class Sharding(NamedTuple):
    """The axes of a ``mesh`` over which each class of axes is split, and those for ``parameters``, which are split
    further. With ``allows_rest`` a length that a call brings lies whole on each device if it cannot be split.
    """

    mesh: Mesh
    by_axis: Mapping[str, tuple[str, ...]]
    parameters: tuple[str, ...] = ()
    allows_rest: bool = False

    def split(self, labels: Sequence[str | None] | None, what: str, rank: int = 0) -> Split:
        """Returns the split of a tensor with these ``labels`` of its dimensions; ``what`` names it in errors. Of two
        axes of one class the first is split.

        Raises InvalidArgument if two classes need the same axis of the mesh.
        """
        found: list[tuple[str, ...]] = []
        owners: dict[str, str] = {}
        for label in [None] * rank if labels is None else labels:
            name = None if label is None else class_of(label)
            wanted = () if name is None else self.by_axis.get(name, ())
            taken = [axis for axis in wanted if axis in owners]
            if taken and owners[taken[0]] != name:
                raise InvalidArgument(f"two axes of {what} are split over the same axis of the mesh", op="shard",
                                      operand=what, got=f"{owners[taken[0]]} and {name} over {taken[0]}",
                                      expected="an axis of the mesh for one of them",
                                      help="split one of them over another axis of the mesh, or leave it out of shard=")
            owners.update({axis: str(name) for axis in wanted})
            found.append(() if taken else wanted)
        return tuple(found)

    def split_further(self, split: Split, shape: Sequence[int]) -> Split:
        """Returns the split of a variable of this ``shape`` as a parameter. The longest dimension that is whole, and
        that the mesh divides, is split over the axes for parameters. A variable without such a dimension stays.
        """
        axes = tuple([axis for axis in self.parameters if all([axis not in own for own in split])])
        parts = self.parts(axes)
        fitting = [at for at, length in enumerate(shape)
                   if self.parts(split[at]) == 1 and length and length % parts == 0]
        if parts == 1 or not fitting:
            return split
        chosen = max(fitting, key=lambda at: (shape[at], -at))
        return tuple([(*own, *axes) if at == chosen else own for at, own in enumerate(split)])

    def check_divided(self, split: Split, labels: Sequence[str | None] | None, shape: Sequence[int], what: str,
                      op: str = "shard", help: str | None = None) -> None:
        """Raises InvalidArgument, which names ``what`` and ``op``, for a length of a ``shape`` that its split does not
        divide. ``help`` says what to do (absent: what does in general).
        """
        for axis, (names, length) in enumerate(zip(split, shape, strict=True)):
            parts = self.parts(names)
            if length % parts:
                label = (labels or ())[axis]
                raise InvalidArgument(f"a length of {length} is not split over {parts} devices", op=op, operand=what,
                                      got=f"{label} = {length}, over {' and '.join(names)}",
                                      expected=f"a multiple of {parts}", help=help or
                                      f"choose such a length, pad it, or leave {label} out of shard=")

    def parts(self, axes: Sequence[str]) -> int:
        """Returns the number of parts of what is split over these ``axes`` of the mesh."""
        return math.prod([self.mesh._axes[axis] for axis in axes])

    def check_known(self, classes: Sequence[str]) -> None:
        """Raises InvalidArgument if no tensor has an axis that ``by_axis`` names; ``classes`` are those that there are.
        """
        for name in self.by_axis:
            if name not in classes:
                listed = ", ".join(dict.fromkeys(classes)) or "no names"
                raise InvalidArgument(f"no argument, variable or result has an axis {name}", op="shard", operand=name,
                                      got=name, expected=listed, help=did_you_mean(
                                          name, list(classes), "name the axes of tensors, in a Trainer with axes=; "
                                                               "plain shapes have none"))


def class_of(label: str) -> str:
    """Returns the class of an axis by its label, in which its level may follow.

    >>> class_of("H-1")
    'H'
    """
    return _LEVEL.sub("", label)


def read_sharding(mesh: object, shard: object, shard_parameters: object, op: str) -> Sharding | None:
    """Reads the arguments ``mesh``, ``shard`` and ``shard_parameters`` of the function ``op``; None without a mesh.

    Raises InvalidArgument for an axis that the mesh does not have, or that is named twice.
    """
    if mesh is None:
        for name, value in (("shard", shard), ("shard_parameters", shard_parameters)):
            if value is not None:
                raise InvalidArgument(f"{name} splits tensors over a mesh, and there is none", op=op, operand=name,
                                      got=f"{value!r:.60}", expected="mesh= beside it",
                                      help='as in mesh=nv.Mesh({"data": 4}), shard={"N": "data"}')
        return None
    if not isinstance(mesh, Mesh):
        raise WrongKind("this is no mesh", op=op, operand="mesh", got=f"{mesh!r:.60}", expected="a Mesh",
                        help='nv.Mesh({"data": 4}) makes one')
    if shard is not None and not isinstance(shard, Mapping):
        raise WrongKind("shard says over which axes of the mesh the axes of tensors are split", op=op, operand="shard",
                        got=f"{shard!r:.60}", expected="a mapping", help='as in shard={"N": "data"}')
    table: Mapping[Any, object] = {} if shard is None else shard
    by_axis = {}
    for key, value in table.items():
        name = getattr(key, "name", key)
        if not isinstance(name, str):
            raise WrongKind("an axis of tensors has a name", op=op, operand="shard", got=f"{key!r:.60}",
                            expected="a name", help='as in shard={"N": "data"}')
        by_axis[class_of(name)] = mesh_axes(value, mesh, op, f"shard[{name!r}]")
    return Sharding(mesh, by_axis, mesh_axes(shard_parameters, mesh, op, "shard_parameters"))


def mesh_axes(value: object, mesh: Mesh, op: str, operand: str) -> tuple[str, ...]:
    """Returns the axes of a ``mesh`` that ``value`` names: one, several in a tuple or list, or none (None)."""
    listed = [value] if isinstance(value, str) else [] if value is None else value
    if not isinstance(listed, (tuple, list)):
        raise WrongKind("an axis of a mesh is given by its name", op=op, operand=operand, got=f"{value!r:.60}",
                        expected="a name, or several", help=f"this mesh has {', '.join(mesh.axes)}")
    for name in listed:
        if not isinstance(name, str) or name not in mesh.axes:
            raise InvalidArgument(f"the mesh has no axis {name}", op=op, operand=operand, got=f"{name!r:.60}",
                                  expected=", ".join(mesh.axes), help=did_you_mean(
                                      str(name), list(mesh.axes), 'nv.Mesh({"data": 4, "model": 2}) names its axes'))
    if len(set(listed)) < len(listed):
        raise InvalidArgument("an axis of the mesh is named twice", op=op, operand=operand, got=f"{value!r:.60}",
                              expected="each once", help="leave out the second")
    return tuple(listed)
