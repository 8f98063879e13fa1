"""Ops of the user's own: a class and a where string become an op class, and a function of tensors.

>>> import nervure as nv
>>> @nv.defnode("A[~ i j] B[~ j k] -> C[~ i k]")
... class Product:
...     "The product of matrices."
...     def decompose(self, a, b):
...         return nv.matmul(a, b)
>>> Product(nv.ones((2, 3)), nv.ones((3, 1))).tolist()
[[3.0], [3.0]]
>>> Product
<node Product: A[~ i j] B[~ j k] -> C[~ i k]>
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from nervure.errors import InvalidArgument, WrongKind, shown
from nervure.front.creation import as_tensor
from nervure.front.tensor import Tensor, TensorLike
from nervure.ir.kinds import Composite, Elementwise
from nervure.ir.op import Op, OpMeta, Value
from nervure.ir.where_string import Bracket, is_run
from nervure.ops.views import Broadcast
from nervure.types.axes import Axes, axes_named
from nervure.types.dim import DimLike
from nervure.types.frozen import Frozen, put


class Node(Frozen):
    """An op of the user's own: called with tensors and attributes, it returns tensors. ``op`` is the op class.

    ``nv.implement`` takes it in place of the class.
    """

    _plural = "nodes"
    _instead = "declare another: @nv.defnode(...)"
    op: type[Op]

    def __init__(self, op: type[Op], document: str) -> None:
        put(self, "op", op)
        put(self, "__doc__", document)
        put(self, "__name__", op.__name__)

    @property
    def signature(self) -> str:
        """The where string."""
        return str(self.op.signature)

    def __call__(self, *operands: TensorLike, **attributes: object) -> Tensor:
        name = self.op.__name__
        if self.op.arity is not None and len(operands) != self.op.arity:
            raise InvalidArgument("wrong number of operands", op=name, got=len(operands), expected=self.signature,
                                  help=f"write {self.op.usage()}")
        tensors = [as_tensor(entry, name, position + 1) for position, entry in enumerate(operands)]
        op = self.op(*self._raised(tensors), **attributes)
        results = [Tensor(value, _axes_of(value, tensors)) for value in op.outputs]
        if len(results) == 1:
            return results[0]
        return cast("Tensor", tuple(results))  # several results can be unpacked, as a tensor can

    def _raised(self, tensors: Sequence[Tensor]) -> list[Value]:
        """Returns the operands as values; one with a flexible axis gets the leading dimensions of the others there."""
        rule = self.op.type_rule
        assert rule is not None
        patterns = rule.patterns(len(tensors))
        runs = [_run(pattern, tensor) for pattern, tensor in zip(patterns, tensors, strict=True)]
        longest: tuple[DimLike, ...] = max([run or () for run in runs], key=len, default=())
        values = []
        for run, tensor in zip(runs, tensors, strict=True):
            at = getattr(tensor, "flexible_at", None)
            missing = 0 if run is None else len(longest) - len(run)
            if at is None or missing == 0:
                values.append(tensor.value)
                continue
            added = longest[at:at + missing]
            shape = (*tensor.type.shape[:at], *added, *tensor.type.shape[at:])
            values.append(Broadcast(tensor.value, shape, range(at, at + len(added))).output)
        return values

    def __repr__(self) -> str:
        return f"<node {self.op.__name__}: {self.signature}>"


def _run(pattern: Bracket, tensor: Tensor) -> tuple[DimLike, ...] | None:
    """Returns the dimensions that ``~`` stands for in an operand; None if its pattern has no ``~``, or does not fit
    the rank.
    """
    if "~" not in pattern.entries or len([entry for entry in pattern.entries if is_run(entry)]) > 1:
        return None
    start = pattern.entries.index("~")
    stop = tensor.ndim - (len(pattern.entries) - start - 1)
    return None if stop < start else tensor.type.shape[start:stop]


def _axes_of(value: Value, tensors: Sequence[Tensor]) -> Axes | None:
    """Returns the axes of a result, named if the where string identifies each of them with an axis of an operand."""
    axes = axes_named(value.labels, value.type.shape)
    known = {axis.name: axis for tensor in tensors if tensor.is_named for axis in tensor.axes}
    if axes.is_anonymous or any([name not in known for name in axes.names]):
        return None
    named = Axes([known[name] for name in axes.names])
    return named if named.lengths == axes.lengths else axes


def defnode(where: str) -> Callable[[type], Node]:
    """Declares an op by a where string: a decorator that turns a class into a function of tensors.

    The string declares the operands, the shapes and types that fit, and the shapes and types of the results. A result
    with the name of an operand is written in its place. :mod:`nervure.ir.signature` has the notation. It is strict:
    ``~`` is the same dimensions in every operand, and only an axis that ``nv.flexible`` marks can raise a rank.

    The class may have fields (attributes of the op), ``decompose(self, a, b)``, which expresses the op by others, and
    ``vjp(self, gradient, a, b)``, which returns a gradient for each operand; both take and return tensors. So does
    ``jvp(self, tangents, a, b)``, a tangent for each result, if the one that follows from them is not wanted. An
    implementation that ``nv.implement`` gives for a device takes precedence over ``decompose``.

    >>> @nv.defnode("A[~] B[~] -> C[~]")
    ... class Difference:
    ...     def decompose(self, a, b):
    ...         return a - b
    >>> Difference(nv.ones((3,)), nv.ones((2,)))                                # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    nervure.errors.ShapeMismatch: Difference: the operands do not fit A[~] B[~] -> C[~]
      operand:  2 (B)
      got:      A: f32[3], B: f32[2]
      expected: A: f32[3], B: f32[3]
      help:     dimension 0 of B is 2, not 3
    ...
    """
    if not isinstance(where, str):
        raise WrongKind("defnode takes a where string", op="defnode", got=shown(where),
                        expected='"A[~ i j] B[~ j k] -> C[~ i k]"', help='write @nv.defnode("...") before a class')

    def declare(cls: type) -> Node:
        if not isinstance(cls, type):
            raise WrongKind("defnode stands before a class", op="defnode", got=shown(cls),
                            expected="a class", help='@nv.defnode("A[~] -> B[~]")\nclass Name: ...')
        op = _op_class(cls, where)
        return Node(op, f"{(cls.__doc__ or '').strip()}\n\n``{where}``".strip())
    return declare


_KEPT_OUT = ("__dict__", "__weakref__", "__annotations__", "__firstlineno__", "__static_attributes__")


def _op_class(cls: type, where: str) -> type[Op]:
    parts = {name: part for name, part in vars(cls).items() if name not in _KEPT_OUT}
    base: type[Op] = Composite if "decompose" in parts else Elementwise if "evaluate" in parts else Op
    if "decompose" in parts:
        parts["decompose"] = _over_tensors(parts["decompose"], is_single=True)
    for rule in ("vjp", "jvp", "vmap"):
        if rule in parts:
            parts[rule] = _over_tensors(parts[rule], is_single=False)
    made = cast("type[Op]", OpMeta(cls.__name__, (base,), {**parts, "signature": where}))
    if base is Elementwise:
        _check_pointwise(made)
    return made


def _over_tensors(method: Callable[..., object], is_single: bool) -> Callable[..., object]:
    """Turns a method of tensors into one of core values; a result outside a tuple stays alone if ``is_single``, else
    is put into one.
    """
    def of_values(self: Op, *given: object) -> object:
        found = method(self, *[_as_tensors(entry) for entry in given])
        if isinstance(found, (tuple, list)):
            return tuple([_as_value(entry) for entry in found])
        return _as_value(found) if is_single else (_as_value(found),)

    of_values.__name__, of_values.__doc__ = method.__name__, method.__doc__
    return of_values


def _as_tensors(given: object) -> object:
    if isinstance(given, tuple):
        return tuple([_as_tensors(entry) for entry in given])
    return Tensor(given) if isinstance(given, Value) else given


def _as_value(found: object) -> object:
    return found.value if isinstance(found, Tensor) else found


def _check_pointwise(op: type[Op]) -> None:
    """Raises InvalidArgument if a scalar expression is declared for shapes that differ."""
    rule = op.type_rule
    assert rule is not None
    shapes = {pattern.entries for pattern in (*rule.operands, *rule.results)}
    if len(shapes) > 1 or len(rule.results) > 1:
        raise InvalidArgument("a scalar expression is for operands and a result of one shape", op=op.__name__,
                              operand="evaluate", got=op.signature, expected="A[~] B[~] -> C[~]",
                              help="decompose(self, a, b) writes any op with others")
