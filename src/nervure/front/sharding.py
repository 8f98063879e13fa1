"""Values that lie on a mesh of devices as is said: ``shard_as(x, {"H": "model"})``.

>>> import nervure as nv
>>> x = nv.placeholder("N=n, H=4")
>>> nv.computation(shard_as(nv.exp(x), {"H": "model"}) * 2.0, x)([[0, 0, 0, 0]]).tolist()
[[2.0, 2.0, 2.0, 2.0]]
"""

from __future__ import annotations

from collections.abc import Mapping

from nervure.errors import InvalidArgument, WrongKind, shown
from nervure.front.argument_parsing import position_of
from nervure.front.creation import as_tensor
from nervure.front.tensor import Tensor, TensorLike
from nervure.ops.sharding import ShardAs, split_text
from nervure.support.elsewhere import explain_keywords
from nervure.types.axis import Axis


def shard_as(x: TensorLike, axes: Mapping[Axis | str | int, str | tuple[str, ...] | None]) -> Tensor:
    """Returns ``x`` itself, distributed over a mesh: each of its ``axes`` over the axis of the mesh that is given.

    An axis is an Axis, a name or a position, and goes to one axis of the mesh, to several in a tuple, or to None: then
    each device has all of it. Axes that are left out may lie in any way. It counts in computations with ``mesh=``, and
    does nothing elsewhere. InvalidArgument if an axis of the mesh is named twice.

    >>> x = nv.placeholder("N=n, H=4")
    >>> nv.shard_as(x, {"N": "data", "H": None})
    <Tensor f32[N=n, H=4] ShardAs>
    """
    own = as_tensor(x, "shard_as")
    if not isinstance(axes, Mapping):
        raise WrongKind("shard_as takes a mapping", op="shard_as", operand="axes", got=shown(axes),
                        expected="axes of the mesh by axes of x", help='as in nv.shard_as(x, {"N": "data"})')
    splits: list[tuple[str, ...] | None] = [None] * own.ndim
    for axis, wanted in axes.items():
        listed = () if wanted is None else (wanted,) if isinstance(wanted, str) else wanted
        if not isinstance(listed, (tuple, list)) or not all([isinstance(name, str) and name.isidentifier()
                                                             for name in listed]):
            raise WrongKind("an axis of a mesh is given by its name", op="shard_as", operand=str(axis),
                            got=shown(wanted), expected="a name, several in a tuple, or None",
                            help='as in nv.shard_as(x, {"N": "data"})')
        splits[position_of(own, axis, "shard_as")] = tuple(listed)
    named = [name for entry in splits for name in entry or ()]
    if len(set(named)) < len(named):
        raise InvalidArgument("an axis of the mesh is named twice", op="shard_as", operand="axes",
                              got=shown(dict(axes)), expected="each for one axis of x",
                              help="an axis of a mesh splits one axis of a tensor")
    return Tensor(ShardAs(own.value, split=split_text(splits)).output, own._axes)


__all__ = ["shard_as"]

explain_keywords(globals(), __all__)
