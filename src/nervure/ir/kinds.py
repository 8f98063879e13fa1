"""The four kinds of meaning that an op can have, each a base class with one method that states it.

* **Elementwise**: ``evaluate(self, s, x, ...)`` is an expression over scalars; ``s`` is the scalar namespace.
* **View**: ``describe(self, *types)`` is an index translation, ``y[i] = x[f(i)]``, or a selector over several tensors.
* **Structured**: ``structure(self, *types)`` is an iteration: a domain, the places where each operand is read, a
  scalar body, the places where each output is written, and how writes to one place combine.
* **Composite**: ``decompose(self, *operands)`` is an expression over other ops.

A backend implements the scalar namespace, index maps and the structured form once, and with them every op. A matrix
product, for example, is the domain (i, j, k), the reads ``a[i, k]`` and ``b[k, j]``, the body ``a * b`` and the write
``c[i, j]`` where products are added:

>>> from nervure.types.dim import index
>>> i, j, k = index(0), index(1), index(2)
>>> product = Structure(domain=(2, 3, 4), reads=(Access((i, k)), Access((k, j))), writes=(Access((i, j)),),
...                     body=multiply_body, combine="add")
>>> product.reduced
(2,)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol, TypeVar

from nervure.errors import DtypeMismatch, ShapeMismatch
from nervure.ir.notation import Number
from nervure.ir.op import Inferred, Op, Operand, Tangents, Value, as_value, or_zeros, same_types
from nervure.types.description import BasicTensorDescription, Labels
from nervure.types.dim import Dim, DimLike, index, symbols
from nervure.types.dtype import DType
from nervure.types.element_groups import ANY, describe_types
from nervure.types.frozen import frozen_dataclass
from nervure.types.view import ComplexView, SimpleView

Scalar = TypeVar("Scalar")
"""A backend's scalar."""

LANES = 64
"""The logical lanes of a reduction by default; :mod:`nervure.kernel.ir` states their order."""

ScalarExpression = Callable[..., Any]
"""A function of a scalar namespace and scalars (or tuples of them), which returns a scalar or a tuple of them."""


class Pointwise(Op, abstract=True):
    """The type rule of ops whose result at an index depends on the operands at that index alone.

    All operands have one shape and, unless the class says otherwise, one type. ``admits`` are the element types it is
    defined for; ``result`` is the output's element type if it is not the operands' own. ``sample`` says for each
    operand where the op is smooth, as :data:`nervure.ops.scalar_function.Range` does. ``surface`` is an example call
    of its function on the surface, ``"exp(1.0) -> 2.7183"``: an op of the package with one gets that function.
    """

    admits: ClassVar[frozenset[DType]] = ANY
    result: ClassVar[DType | None] = None
    sample: ClassVar[tuple[str, ...]] = ("normal",)
    surface: ClassVar[str | None] = None

    def infer(self, *types: BasicTensorDescription) -> BasicTensorDescription:
        first = types[0] if len(types) == 1 else same_types(self, types)
        require_admitted(self, first, self.admits)
        result = self.result_dtype(first.dtype)
        return first if result is first.dtype else first.with_(dtype=result)

    def result_dtype(self, dtype: DType) -> DType:
        """Returns the output's element type, from the operands'."""
        return self.result or dtype

    def infer_labels(self, types: tuple[BasicTensorDescription, ...]) -> tuple[Labels | None, ...]:
        return (merge_labels(self.operands),) * len(types)

    def raised(self, length: DimLike) -> Mapping[str, object]:
        return self.attributes


class Elementwise(Pointwise, abstract=True):
    """One scalar expression, applied at every index."""

    cost = 16

    def evaluate(self, s: object, *elements: Scalar) -> Scalar:
        """Returns the scalar expression, written with the scalar namespace ``s``."""
        raise NotImplementedError


class View(Op, abstract=True):
    """An index translation, given by ``describe`` as a description of :mod:`nervure.types.view`.

    A view of one tensor that ``composes`` may be merged with the views around it into one index map, after
    differentiation.
    """

    composes: ClassVar[bool] = True

    def describe(self, *types: BasicTensorDescription) -> SimpleView | ComplexView:
        """Returns the view description, from the operands' types."""
        raise NotImplementedError

    def infer(self, *types: BasicTensorDescription) -> BasicTensorDescription:
        first = types[0]
        for position, other in enumerate(types):
            if other.dtype is not first.dtype:
                raise self.fail(DtypeMismatch, "the operands differ in element type", got=other, expected=first,
                                operand=self.operand_label(position), help="insert ops.Convert")
        return first.with_(shape=self.describe(*types).shape, layout=None)

    def jvp(self, tangents: Tangents, *operands: Value) -> Tangents:
        """Moves tangents as elements are moved."""
        return type(self)(*map(or_zeros, tangents, operands), **self.attributes).outputs

    @property
    def view(self) -> SimpleView | ComplexView:
        """The view description of this node."""
        return self.describe(*[operand.type for operand in self.operands])

    @property
    def simple_view(self) -> SimpleView:
        """The view description of a view of one tensor."""
        view = self.view
        assert isinstance(view, SimpleView)
        return view

    def infer_labels(self, types: tuple[BasicTensorDescription, ...]) -> tuple[Labels | None, ...] | None:
        view = self.view
        if isinstance(view, ComplexView):
            return (merge_labels(self.operands) if len(types[0].shape) == self.operands[0].rank else None,)
        source = self.operands[0].labels or (None,) * self.operands[0].rank
        return (labels_through(view.index_map.coordinates, source, len(types[0].shape)),)


@frozen_dataclass(slots=True)
class Element:
    """A coordinate that is data: the element of an integer operand. A negative one counts from the end once.

    ``bound`` is the length of the indexed axis; an element outside [-bound, bound) is an IndexError, and with
    ``from_end=False`` each negative one, too.
    """

    operand: int
    coordinates: tuple[DimLike, ...]
    bound: DimLike
    from_end: bool = True

    def refused(self, bound: int) -> dict[str, str]:
        """Returns the parts of the error for an element out of range, for an axis of length ``bound``."""
        first = -bound if self.from_end else 0
        rule = ("an index counts from the end once when negative" if self.from_end else
                "class numbers count from 0; ignore_index= of a loss names one that counts nothing")
        return {"expected": f"{first} to {bound - 1}" if bound else "nothing: the axis is empty",
                "help": f"{rule}; nothing was changed by this call"}


@frozen_dataclass(slots=True)
class Access:
    """The element of a tensor that is read or written at each point of the domain: one coordinate for each dimension.

    A coordinate is an expression over the domain's indices ``index(0), index(1), ...`` or an ``Element``. ``fill``
    (reads only) is the scalar that is read outside the tensor; without it the coordinates must stay inside. A write
    outside is dropped if ``drop`` is set.
    """

    coordinates: tuple[DimLike | Element, ...]
    fill: Number | None = None
    drop: bool = False


@frozen_dataclass(slots=True)
class Structure:
    """An iteration: ``for i in domain: out[write(i)] = combine(out[write(i)], body(x[read(i)], ...))``.

    ``reads`` has one entry for each operand: None if the body does not read it (it is the initial value, or indices
    that an ``Element`` reads). ``body(s, *elements)``, given one element for each entry that is not None, returns one
    scalar for each output (a plain scalar for a single output), in the compute type of the operands;
    ``s.index(expression)`` gives it the value of an expression over the domain's indices.

    ``combine`` is None (each place is written once), "set" (the last write in row-major order of the domain wins), or
    "add", "multiply", "maximum", "minimum", "and", "or"; each output starts from the combiner's unit, or from the
    operand whose number is ``initial``. Over no elements, "maximum" and "minimum" are an error, unless ``of_nothing``
    makes them their units, the limits of the element type. A *custom* combiner is a function ``(s, left, right) ->
    tuple`` over tuples of scalars (the body gives the tuple), associative, applied in order, without a unit; then
    ``finish(s, tuple)`` gives the outputs. The order in which "add" adds is the backend's; the element type it adds in
    is ``accumulate``.
    """

    domain: tuple[DimLike, ...]
    reads: tuple[Access | None, ...]
    writes: tuple[Access, ...]
    body: ScalarExpression
    combine: str | ScalarExpression | None = None
    initial: int | None = None
    accumulate: DType | None = None
    finish: ScalarExpression | None = None
    of_nothing: bool = False

    @property
    def needs_elements(self) -> bool:
        """Whether combining no elements is an error."""
        has_unit = not callable(self.combine) and (self.combine not in ("maximum", "minimum") or self.of_nothing)
        return self.initial is None and not has_unit

    @property
    def written(self) -> tuple[int, ...]:
        """The domain's dimensions that occur in the first write."""
        names = {name for entry in self.writes[0].coordinates for name in coordinate_symbols(entry)}
        return tuple([d for d in range(len(self.domain)) if f"%{d}" in names])

    @property
    def reduced(self) -> tuple[int, ...]:
        """The domain's dimensions that the first write does not depend on."""
        written = set(self.written)
        return tuple([d for d in range(len(self.domain)) if d not in written])


def coordinate_symbols(coordinate: DimLike | Element) -> frozenset[str]:
    """Returns the names of the symbols that a coordinate depends on."""
    if isinstance(coordinate, Element):
        return frozenset().union(*[symbols(entry) for entry in coordinate.coordinates])
    return symbols(coordinate) if isinstance(coordinate, Dim) else frozenset()


def as_results(found: Any) -> tuple[Any, ...]:
    """Returns what an expression over scalars gives as one scalar for each output; a plain scalar is the only one."""
    return found if isinstance(found, tuple) else (found,)


class Multiplying(Protocol[Scalar]):
    """The part of the scalar namespace that the body of a contraction needs."""

    def multiply(self, x: Scalar, y: Scalar) -> Scalar: ...


def multiply_body(s: Multiplying[Scalar], left: Scalar, right: Scalar) -> Scalar:
    """Returns ``left * right``: the body of every contraction, which backends recognise by identity."""
    return s.multiply(left, right)


def identity_body(s: object, element: Scalar) -> Scalar:
    """Returns the element: the body of plain reductions, and of ops that only move elements."""
    return element


def identity_access(rank: int) -> Access:
    """Returns an access at the domain's own index."""
    return Access(tuple([index(d) for d in range(rank)]))


class Structured(Op, abstract=True):
    """An iteration over a domain, in the form of :class:`Structure`."""

    def structure(self, *types: BasicTensorDescription) -> Structure:
        """Returns the iteration, from the operands' types."""
        raise NotImplementedError


class Composite(Op, abstract=True):
    """An op written in terms of other ops. It needs a type rule and ``decompose``, nothing else.

    Its derivative is that of its decomposition, unless it declares ``vjp``. Without a type rule of its own
    it has the types of its decomposition.
    """

    @property
    def has_own_derivative(self) -> bool:
        """Whether ``vjp`` is used, rather than the derivative of the decomposition."""
        return type(self).vjp is not Op.vjp

    def decompose(self, *operands: Value) -> Operand | Sequence[Operand]:
        """Returns the value (a tuple for several outputs) in terms of other ops."""
        raise NotImplementedError

    def decomposed(self) -> tuple[Value, ...]:
        """Returns the decomposition of this node: one value for each output, of its type (else DtypeMismatch or
        ShapeMismatch).
        """
        results = self.decompose(*self.operands)
        values = [as_value(entry, type(self).__name__) for entry in
                  (results if isinstance(results, (tuple, list)) else (results,))]
        got, expected = [value.type for value in values], [output.type for output in self.outputs]
        if got != expected:
            kind = ShapeMismatch if [x.dtype for x in got] == [x.dtype for x in expected] else DtypeMismatch
            raise self.fail(kind, "the decomposition has another type than the op", operand="decompose",
                            got=", ".join(map(str, got)), expected=", ".join(map(str, expected)),
                            help="correct the op's decompose, or its type rule")
        return tuple(values)

    def infer(self, *types: BasicTensorDescription) -> Inferred:
        results = self.decompose(*self.operands)
        if isinstance(results, (tuple, list)):
            return tuple([entry.type for entry in results])
        return as_value(results, type(self).__name__).type


def require_admitted(op: Op, type: BasicTensorDescription, admits: frozenset[DType]) -> None:
    """Raises DtypeMismatch unless the element type of the first operand is one of ``admits``."""
    if type.dtype not in admits:
        raise op.fail(DtypeMismatch, f"{type.dtype.name} elements are not supported", got=type,
                      operand=op.operand_label(0), expected=describe_types(admits), help="insert ops.Convert")


def merge_labels(operands: Sequence[Value]) -> Labels | None:
    """Returns the labels of operands of one shape: the first known name for each dimension."""
    merged: list[str | None] | None = None
    for operand in operands:
        if operand.labels is None:
            continue
        if merged is None:
            merged = list(operand.labels)
        elif len(merged) == len(operand.labels):
            merged = [mine or theirs for mine, theirs in zip(merged, operand.labels, strict=True)]
    return None if merged is None else tuple(merged)


def labels_through(coordinates: Sequence[DimLike | Element], source: Sequence[str | None], rank: int) -> Labels | None:
    """Returns the labels after an index translation, ``coordinates``, of a tensor with labels ``source``.

    A dimension gets a label if exactly one coordinate depends on it, and on no other dimension.
    """
    used = [coordinate_symbols(entry) for entry in coordinates]
    labels: list[str | None] = [None] * rank
    for names, label in zip(used, source, strict=True):
        if label is None:
            continue
        places = [d for d in range(rank) if f"%{d}" in names]
        if len(places) == 1 and sum([f"%{places[0]}" in other for other in used]) == 1:
            labels[places[0]] = label
    return tuple(labels) if any(labels) else None
