"""Nodes of the core graph: an ``Op`` has operands, attributes and outputs; a ``Value`` is one output.

An op is declared once, as a class: the names of its operands, its fields, its type rule, its meaning (one of the
four kinds in :mod:`nervure.ir.kinds`), its derivative. Nodes are immutable and compared by identity; an op that
exists is well typed, and a cycle cannot be built, since operands exist before their op.

>>> from nervure.ops import Add, Parameter
>>> import nervure as nv
>>> a, b = Parameter(nv.float32, (2, 3)), Parameter(nv.float32, (2, 3))
>>> total = Add(a, b) * 2.0
>>> total
f32[2, 3] Multiply(Add, Full)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import is_
from types import NoneType
from typing import Any, ClassVar, TypeAlias, TypeGuard, TypeVar, Unpack

import numpy as np

from nervure.errors import (
    DtypeMismatch,
    ErrorParts,
    InvalidArgument,
    Location,
    NervureError,
    ShapeMismatch,
    WrongKind,
    did_you_mean,
    shown,
)
from nervure.ir import field
from nervure.ir.field import REQUIRED, Field
from nervure.ir.identity import Uncopyable
from nervure.ir.length_finders import has_finders, keep_finders
from nervure.ir.notation import Number
from nervure.ir.provenance import Provenance, current_provenance
from nervure.ir.signature import Signature
from nervure.types.description import BasicTensorDescription, Labels
from nervure.types.dim import DimLike
from nervure.types.dtype import DType
from nervure.types.frozen import Frozen, put, slot_writers

Inferred = BasicTensorDescription | tuple[BasicTensorDescription, ...]
"""The result of a type rule: the type of each output, or that of the only one."""

Gradient: TypeAlias = "Value | tuple[Value | None, ...]"
"""The argument of a derivative: the gradient of the output, or a tuple of them for several outputs."""

Gradients = Sequence["Operand | None"]
"""The result of a derivative: a gradient for each operand; None is zero."""

Tangents = Sequence["Operand | None"]
"""The derivatives of operands, or of outputs, along one direction; None is zero."""

ValueLike: TypeAlias = "Operand | Number | np.generic"
"""The other operand of an operator: a number becomes a constant of the value's type."""

Failure = TypeVar("Failure", bound=NervureError)

registry: dict[str, type[Op]] = {}
"""The op classes by name. It holds classes alone: nodes are in no table."""


def as_value(operand: object, op: str = "operand", position: int | None = None) -> Value:
    """Returns the value that an operand stands for: itself, or the only output of an op."""
    if type(operand) is Value:
        return operand
    if isinstance(operand, Op):
        if len(operand.outputs) == 1:
            return operand.outputs[0]
        raise InvalidArgument(f"{type(operand).__name__} has {len(operand.outputs)} outputs", op=op, operand=position,
                              got=type(operand).__name__, expected="one output", help="choose one: op.outputs[i]")
    raise WrongKind("an operand must be a value of the core graph", op=op, operand=position,
                    got=type(operand).__name__, expected="Value or Op",
                    help="nv.constant and nv.placeholder belong to the front; use its functions for them")


def _operator(name: str, swap: bool = False) -> Callable[[Operand, ValueLike], Value]:
    """Makes the method of a binary operator, which the op of that name computes."""
    def method(self: Operand, other: ValueLike) -> Value:
        if isinstance(other, (bool, int, float, complex, np.generic)):
            other = self.full(other)
        elif not isinstance(other, Operand):
            return NotImplemented
        left, right = (other, self) if swap else (self, other)
        return registry[name](left, right).outputs[0]
    return method


class Operand(Uncopyable, Frozen):
    """The common part of values and ops with one output: a type, and strict operators.

    The operators demand equal element types and shapes; a number becomes a constant of the other operand's type. Nodes
    are immutable: only an op's ``name``, a value's ``labels``, which mean nothing, and its ``handle`` may be set.
    """

    __slots__ = ()
    _plural = "nodes"
    __array_ufunc__ = None  # NumPy leaves its scalar operators to us, and its arrays raise a TypeError

    @property
    def value(self) -> Value:
        """The value that this stands for."""
        return as_value(self)

    @property
    def type(self) -> BasicTensorDescription:
        """Element type and shape."""
        return as_value(self).type

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.type.dtype

    @property
    def shape(self) -> tuple[DimLike, ...]:
        """The shape: ints and symbolic dimensions."""
        return self.type.shape

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.type.shape)

    def full(self, number: Number | np.generic) -> Value:
        """Returns a tensor of one number with the type and shape of this one."""
        return registry["Full"](number, self.dtype, self.shape).outputs[0]

    def sum(self, axes: Sequence[int]) -> Value:
        """Returns the sum over some axes, which the result lacks."""
        return registry["Sum"](self, axes).outputs[0]

    __add__ = _operator("Add")
    __radd__ = _operator("Add", swap=True)
    __sub__ = _operator("Subtract")
    __rsub__ = _operator("Subtract", swap=True)
    __mul__ = _operator("Multiply")
    __rmul__ = _operator("Multiply", swap=True)
    __truediv__ = _operator("Divide")
    __rtruediv__ = _operator("Divide", swap=True)
    __floordiv__ = _operator("FloorDivide")
    __rfloordiv__ = _operator("FloorDivide", swap=True)
    __mod__ = _operator("Mod")
    __rmod__ = _operator("Mod", swap=True)
    __pow__ = _operator("Power")
    __rpow__ = _operator("Power", swap=True)
    __lt__ = _operator("Less")
    __le__ = _operator("LessEqual")
    __gt__ = _operator("Greater")
    __ge__ = _operator("GreaterEqual")

    def __neg__(self) -> Value:
        return registry["Negative"](self).outputs[0]

    def __abs__(self) -> Value:
        return registry["Absolute"](self).outputs[0]

    def __bool__(self) -> bool:
        raise WrongKind("a value of the graph has no truth before it is computed", op=type(self).__name__,
                        got=repr(self), expected="a truth value", help="use ops.Where, or compute the value first")


class Value(Operand):
    """One output of an op: an r-tensor with a type. Labels name dimensions for people and mean nothing; ``handle``
    leads the front back to its tensor.
    """

    __slots__ = ("op", "index", "_type", "labels", "handle", "__weakref__")
    _instead = "build a new op: its outputs are new values"
    op: Op
    index: int
    _type: BasicTensorDescription
    labels: Labels | None
    handle: Any

    def __init__(self, op: Op, index: int, type: BasicTensorDescription, labels: Labels | None = None) -> None:
        _put_op(self, op)
        _put_index(self, index)
        _put_type(self, type)
        _put_labels(self, labels)
        put_handle(self, None)

    type = property(lambda self: self._type, doc="Element type and shape.")

    def __setattr__(self, name: str, value: object) -> None:
        if name == "handle":
            return put_handle(self, value)
        if name != "labels":
            super().__setattr__(name, value)
        if value is not None and not _are_labels(value, len(self._type.shape)):
            raise WrongKind("labels are a name or None for each dimension", op="Value", operand="labels",
                            got=f"{value!r:.60}", expected=f"a tuple of {len(self._type.shape)}, or None",
                            help='as in value.labels = ("N", None)')
        _put_labels(self, value)

    def __repr__(self) -> str:
        return repr(self.op) if len(self.op.outputs) == 1 else f"{self.op!r}[{self.index}]"


_put_op, _put_index, _put_type, _put_labels, put_handle = slot_writers(Value)


def _are_labels(value: object, rank: int) -> TypeGuard[Labels]:
    return type(value) is tuple and len(value) == rank and all([isinstance(entry, (str, NoneType)) for entry in value])


_RESERVED = frozenset(
    "value type rank output outputs operands attributes provenance location name cost commutative holds_effects"
    .split())
"""Attributes of every op, which a field of the same name would hide. (``dtype`` and ``shape`` mean the same as
fields.)
"""


class OpMeta(type):
    """Turns the declared fields of an op class into slots, and registers concrete classes by name."""

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], abstract: bool = False) -> OpMeta:
        own = {key: entry for key, entry in namespace.items() if isinstance(entry, Field)}
        for key in own:
            del namespace[key]
            if key in _RESERVED:
                raise InvalidArgument(f"an attribute cannot be called {key}: every op has that", op=name, operand=key,
                                      help="choose another name for the field")
        namespace["__slots__"] = (*namespace.get("__slots__", ()), *own)
        cls: Any = super().__new__(mcs, name, bases, namespace)
        inherited = {key: entry for base in reversed(bases) for key, entry in getattr(base, "fields", {}).items()}
        cls.fields = {**inherited, **own}
        if isinstance(namespace.get("operand_names"), str):
            names = tuple(namespace["operand_names"].split())
            cls.operand_names = tuple(entry.lstrip("*") for entry in names)
            cls.variadic = any(entry.startswith("*") for entry in names)
        if namespace.get("signature") is not None:
            _declare_signature(cls, namespace)
        cls.arity = None if cls.variadic else len(cls.operand_names)
        cls.abstract = abstract
        if "commutative" not in vars(cls):
            cls.commutative = _inherits_commutative(bases)
        if not abstract:
            _register(cls)
        return cls

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, object], abstract: bool = False) -> None:
        super().__init__(name, bases, namespace)


_STANDS_FOR = {field.integer: "count", field.dimension: "length", field.shape: "shape", field.index_map: "shape",
               field.dtype: "dtype"}
"""The kinds of fields as a where string uses them."""


def _declare_signature(cls: Any, namespace: dict[str, object]) -> None:
    """Compiles the where string of a class: its type rule, unless it has ``infer``, and the names of its operands."""
    attributes = {name: _STANDS_FOR[entry.kind] for name, entry in cls.fields.items() if entry.kind in _STANDS_FOR}
    cls.type_rule = rule = Signature.parse(cls.signature, attributes)
    if "operand_names" not in namespace:
        cls.operand_names, cls.variadic = rule.operand_names, rule.variadic
    elif (len(cls.operand_names), cls.variadic) != (len(rule.operands), rule.variadic):
        raise InvalidArgument("operand_names and the signature differ in the operands", op=cls.__name__,
                              got=" ".join(cls.operand_names), expected=cls.signature)
    if "infer" not in namespace:
        cls.infer = Op.infer
    if "infer_labels" not in namespace:
        cls.infer_labels = Op.infer_labels


def _inherits_commutative(bases: Iterable[Any]) -> bool:
    """Whether an abstract base says so; a subclass of a concrete one may change its meaning."""
    return any([base.commutative for base in bases if getattr(base, "abstract", False)])


def _register(cls: type[Op]) -> None:
    """Adds a class to the registry. A user's class may be declared again; a built-in name may not."""
    known = registry.get(cls.__name__)
    if known is not None and known.__module__.startswith("nervure.") and known.__module__ != cls.__module__:
        raise InvalidArgument(f"an op named {cls.__name__} is built in", op=cls.__name__, help="choose another name")
    registry[cls.__name__] = cls


class Op(Operand, metaclass=OpMeta, abstract=True):
    """A node: operands (values), attributes (its class's fields), outputs (values) and its provenance.

    A subclass declares ``operand_names`` (``"x y"``; ``"*xs"`` takes any number), fields, and either a ``signature``
    (a where string, which also names the operands) or ``infer``. It is called with operands first, then attributes by
    position or name.
    """

    __slots__ = ("operands", "outputs", "provenance", "name", "holds_effects", "__weakref__")
    fields: ClassVar[dict[str, Field[object]]] = {}
    operand_names: Any = ()
    signature: ClassVar[str | None] = None
    type_rule: ClassVar[Signature | None] = None
    commutative: ClassVar[bool] = False  # operands may be swapped without changing a bit
    cost: ClassVar[int] = 2  # the time of one point, in additions: cheap ops are recomputed
    version: ClassVar[int] = 1  # raised when the meaning of the op or of a field changes; saved files carry it
    variadic: ClassVar[bool] = False
    arity: ClassVar[int | None]
    abstract: ClassVar[bool]
    operands: tuple[Value, ...]
    outputs: tuple[Value, ...]
    provenance: Provenance
    name: str | None
    holds_effects: bool  # its own, or those of ops below it, whose place among others matters

    def __init__(self, *arguments: Any, **attributes: object) -> None:
        cls = type(self)
        if cls.fields or len(arguments) != cls.arity or attributes:
            arguments = self._bind(arguments, attributes)
        for entry in arguments:
            if type(entry) is not Value:
                arguments = tuple([as_value(entry, cls.__name__, at + 1) for at, entry in enumerate(arguments)])
                break
        _put_operands(self, arguments)
        _put_provenance(self, current_provenance())
        _put_name(self, None)
        _put_holds_effects(self, _holds_effects(self, arguments))
        self._finish(arguments)

    def _finish(self, operands: tuple[Value, ...]) -> None:
        """Brings attributes into their normal form, checks types and makes the outputs."""
        given = [operand._type for operand in operands]
        try:
            if type(self).fields:
                self._normalise(given)
            inferred = self.infer(*given)
        except NervureError as error:  # the error's op and location, which rules below an op do not know
            raise error.within(type(self).__name__, location=self.provenance.location) from None
        types = inferred if isinstance(inferred, tuple) else (inferred,)
        for entry in types:
            if type(entry) is not BasicTensorDescription:
                raise self.fail(WrongKind, "infer gives the type of each output", operand="infer",
                                got=shown(entry), expected="a BasicTensorDescription",
                                help="return x.with_(shape=...), or a tuple of such types")
        labels: tuple[Labels | None, ...] | None = None
        for operand in operands:
            if operand.labels is not None:
                labels = self.infer_labels(types)
                break
        if len(types) == 1:
            _put_outputs(self, (Value(self, 0, types[0], labels[0] if labels else None),))
        else:
            _put_outputs(self, tuple([Value(self, index, entry, labels[index] if labels else None)
                                      for index, entry in enumerate(types)]))
        if has_finders():
            keep_finders(self, own_dimensions(self))

    def _normalise(self, types: list[BasicTensorDescription]) -> None:
        normal, fields = self.normalise(*types), type(self).fields
        for name in normal if type(normal) is dict else (None,):
            if name not in fields:
                raise self.fail(WrongKind, "normalise gives attributes by name", operand="normalise",
                                got=f"{normal!r:.60}", expected=f"a dict of {', '.join(fields)}",
                                help='as in return {"axes": (0, 1)}; {} leaves them all as they are')
            put(self, name, normal[name])

    def _bind(self, arguments: tuple[Any, ...], attributes: dict[str, object]) -> tuple[Any, ...]:
        """Sets the attributes; returns the operands."""
        cls = type(self)
        count = len(arguments) if cls.arity is None else cls.arity
        if len(arguments) < count:
            names = dict.fromkeys(cls.operand_names[len(arguments):])
            arguments += tuple([attributes.pop(name) for name in names if name in attributes])
        if len(arguments) < count:
            missing = ", ".join(cls.operand_names[len(arguments):])
            raise InvalidArgument(f"operand {missing} is missing", op=cls.__name__, operand=missing,
                                  got=f"{len(arguments)} operands",
                                  expected=f"{count} ({', '.join(cls.operand_names)})",
                                  help=f"write {cls.usage()}")
        operands, rest = arguments[:count], arguments[count:]
        if len(rest) > len(cls.fields):
            raise InvalidArgument("too many arguments", op=cls.__name__, operand=count + len(cls.fields) + 1,
                                  got=len(arguments), expected=f"{count} operands and {len(cls.fields)} attributes",
                                  help=f"write {cls.usage()}")
        given = {**dict(zip(cls.fields, rest, strict=False)), **attributes}
        for name, declared in cls.fields.items():
            value = given.pop(name, declared.default)
            if value is REQUIRED:
                raise InvalidArgument(f"attribute {name} is missing", op=cls.__name__, operand=name, got="nothing",
                                      expected=declared.expected, help=f"write {cls.usage()}")
            put(self, name, value if value is declared.default else declared.check(value, cls.__name__, name))
        if given:
            unknown = next(iter(given))
            raise InvalidArgument(f"no attribute {unknown}", op=cls.__name__, operand=unknown,
                                  got=f"{given[unknown]!r:.60}",
                                  expected=", ".join(cls.fields) or "no attributes",
                                  help=did_you_mean(unknown, cls.fields) or f"write {cls.usage()}")
        return operands

    @classmethod
    def usage(cls) -> str:
        """Returns the call of the op as text: ``Permute(x, order)``, ``Concatenate(*xs, axis=...)``."""
        operands = [f"*{name}" if cls.variadic else name for name in cls.operand_names]
        entry = "{}=..." if cls.variadic else "{}"
        return f"{cls.__name__}({', '.join([*operands, *[entry.format(name) for name in cls.fields]])})"

    # -- declared by subclasses ------------------------------------------------------------------------------

    def normalise(self, *types: BasicTensorDescription) -> Mapping[str, object]:
        """Returns attributes by name in their unique form for operands of these types; ``infer`` runs after it.

        For example ``{"axes": (0, 2)}`` for axes that were given as (-1, 0). Attributes already in that form stay as
        they are.
        """
        return {}

    def infer(self, *types: BasicTensorDescription) -> Inferred:
        """Returns the type of each output, from the operands' types; raises if they do not fit. The default uses the
        signature.
        """
        if self.type_rule is None:
            raise self.fail(WrongKind, "the op has no type rule", operand="infer", got="neither a signature nor infer",
                            expected="one of them", help='signature = "A[i j] -> B[i]", or a method infer')
        results = self.type_rule.infer(self, types)
        return results[0] if len(results) == 1 else results

    def infer_labels(self, types: tuple[BasicTensorDescription, ...]) -> tuple[Labels | None, ...] | None:
        """Returns the labels of each output, from the operands'. Called if an operand has some. The default uses the
        signature.
        """
        if self.type_rule is None:
            return None
        before = [entry.labels for entry in self.operands]
        return self.type_rule.infer_labels(self, [entry.type for entry in self.operands], before)

    def vjp(self, gradient: Gradient, *operands: Value) -> Gradients:
        """Returns one gradient for each operand (None: zero), from the gradient of the output (a tuple for several
        outputs).
        """
        raise NotImplementedError(f"{type(self).__name__} has no derivative")

    def jvp(self, tangents: Tangents, *operands: Value) -> Tangents:
        """Returns one tangent for each output (None: zero), from those of the operands (None: zero).

        Only an op whose tangents do not follow from ``vjp`` as :mod:`nervure.autodiff.forward` makes them declares it.
        """
        raise NotImplementedError(f"{type(self).__name__} has no rule of its own for tangents")

    def raised(self, length: DimLike) -> Mapping[str, object]:
        """Returns the attributes of this op for operands that all have one more dimension in front, of this ``length``,
        which the outputs then have, too.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say what a dimension in front changes")

    def vmap(self, length: DimLike, mapped: Sequence[bool], *operands: Value) -> Sequence[Operand]:
        """Returns the outputs for many elements at once, with one more dimension in front, of this ``length``.

        Those ``operands`` that are ``mapped`` have it already. The default gives it to all and applies ``raised``.
        """
        whole = [x if is_mapped else in_front(x, length) for x, is_mapped in zip(operands, mapped, strict=True)]
        return type(self)(*whole, **self.raised(length)).outputs

    # -- public ----------------------------------------------------------------------------------------------

    @property
    def output(self) -> Value:
        """The only output."""
        return as_value(self)

    @property
    def attributes(self) -> dict[str, object]:
        """The attributes by name, in the order of their declaration."""
        return {name: getattr(self, name) for name in type(self).fields}

    @property
    def location(self) -> Location | None:
        """The user's file and line, or None."""
        return self.provenance.location

    def with_operands(self, operands: Sequence[Value]) -> Op:
        """Returns the same op on other operands; this op itself if they are the same."""
        operands = tuple(operands)
        if len(operands) == len(self.operands) and all(map(is_, operands, self.operands)):
            return self
        return self.copied(operands)

    def copied(self, operands: Sequence[Value]) -> Op:
        """Returns a new node like this one on these operands. Types are checked again if they differ from those
        before.
        """
        cls = type(self)
        copy = cls.__new__(cls)
        for name in cls.fields:
            put(copy, name, getattr(self, name))
        _put_operands(copy, tuple(operands))
        _put_provenance(copy, self.provenance)
        _put_name(copy, self.name)
        _put_holds_effects(copy, _holds_effects(copy, copy.operands))
        if len(copy.operands) == len(self.operands) and all(map(_alike, copy.operands, self.operands)):
            _put_outputs(copy, tuple([Value(copy, old.index, old._type, old.labels) for old in self.outputs]))
            return copy
        copy._finish(copy.operands)
        for fresh, old in zip(copy.outputs, self.outputs, strict=False):
            if fresh.labels is None and old.labels is not None and len(old.labels) == fresh.rank:
                fresh.labels = old.labels
        return copy

    def __setattr__(self, name: str, value: object) -> None:
        if name != "name":
            super().__setattr__(name, value)
        if not isinstance(value, (str, NoneType)):
            raise WrongKind("the name of an op is a string", op=type(self).__name__, operand="name",
                            got=f"{value!r:.60}", expected="str or None", help='as in op.name = "logits"')
        _put_name(self, value)

    @property
    def _instead(self) -> str:
        """The advice of errors for setting a part."""
        if hasattr(self, "outputs"):
            return f"build a new op: {self.usage()}"
        return "give attributes another form in normalise(self, *types), which runs before infer"

    def fail(self, kind: type[Failure], message: str, **parts: Unpack[ErrorParts]) -> Failure:
        """Returns an error of this op: with its name, and at the user's line if the op already has one."""
        if hasattr(self, "provenance"):
            parts.setdefault("location", self.provenance.location)
        return kind(message, op=type(self).__name__, **parts)

    def operand_label(self, position: int) -> str:
        """Returns the text for an operand in errors: ``2 (y)``."""
        names = type(self).operand_names
        name = names[min(position, len(names) - 1)] if names else "x"
        return f"{position + 1} ({name})"

    def __repr__(self) -> str:
        operands = ", ".join(type(value.op).__name__ for value in self.operands[:6])
        more = ", ..." if len(self.operands) > 6 else ""
        types = ", ".join(value.type.describe(value.labels) for value in self.outputs)
        return f"{types or '()'} {type(self).__name__}({operands}{more})"


_put_operands, _put_outputs, _put_provenance, _put_name, _put_holds_effects = slot_writers(Op)


def _holds_effects(op: Op, operands: tuple[Value, ...]) -> bool:
    return getattr(op, "effectful", False) or any([operand.op.holds_effects for operand in operands])


def _alike(left: Value, right: Value) -> bool:
    """Whether two operands are equal to a type rule."""
    return left is right or (left.labels == right.labels and (left._type is right._type or left._type == right._type))


def or_zeros(found: Operand | None, like: Operand) -> Value:
    """Returns a gradient or a tangent of a value, which None stands for where it is zero."""
    return like.full(0) if found is None else as_value(found)


def in_front(x: Value, length: DimLike) -> Value:
    """Repeats x along a new dimension in front, of this ``length``."""
    return registry["Broadcast"](x, (length, *x.shape), (0,)).outputs[0]


def same_types(op: Op, types: Sequence[BasicTensorDescription]) -> BasicTensorDescription:
    """Returns the one type that all operands have; DtypeMismatch or ShapeMismatch names the first that differs."""
    first = types[0]
    for position, other in enumerate(types):
        if other is first or other == first:
            continue
        if other.dtype is not first.dtype:
            raise op.fail(DtypeMismatch, "the operands differ in element type", operand=op.operand_label(position),
                          got=other, expected=first, help="insert ops.Convert; the core never promotes")
        raise op.fail(ShapeMismatch, "the operands differ in shape", operand=op.operand_label(position),
                      got=other, expected=first, help="insert ops.Broadcast or a reshape; the core never broadcasts")
    return first


def own_dimensions(op: Op) -> Iterable[DimLike]:
    """Returns the dimensions of an op's outputs, and of attributes of one without operands, such as a length."""
    return [length for value in op.outputs for length in value._type.shape] if op.operands else dimensions_of(op)


def dimensions_of(op: Op) -> Iterator[DimLike]:
    """Yields the dimensions of an op's outputs and attributes."""
    for value in op.outputs:
        yield from value._type.shape
    for name, declared in type(op).fields.items():
        attribute = getattr(op, name)
        if attribute is not None:
            yield from declared.kind.dimensions(attribute)
