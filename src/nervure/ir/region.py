"""A region: a Function inside an op, with the values that it uses from outside made operands; ops that hold regions.

A branch or the body of a loop is written with values of the graph outside. An op may not refer to them from inside, so
each captured value becomes a parameter of its Function and an operand of the op that holds it:

>>> import nervure as nv
>>> outside = nv.Parameter(nv.float32, (3,)) * 2.0
>>> x = nv.Parameter(nv.float32, (3,))
>>> region = Region.of([x + outside], [x])
>>> region
Region(f32[3] | f32[3]) -> (f32[3])
>>> region.captured == (outside,)
True
>>> y = nv.Parameter(nv.float32, (3,))
>>> region(y)
(f32[3] Add(Parameter, Multiply),)

A region is an attribute of kind "function" (its ``body``); the op's operands are its own, then ``captured``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from operator import attrgetter
from typing import ClassVar, NamedTuple, Self

from nervure.errors import DtypeMismatch, ErrorParts, InvalidArgument, NotSupported, ShapeMismatch
from nervure.ir.function import Assumption, Function, is_effect
from nervure.ir.leaves import Constant, Full, Parameter, ReadVariable
from nervure.ir.op import Gradients, Op, Operand, Value, as_value, in_front, or_zeros, own_dimensions, registry
from nervure.ir.provenance import set_override
from nervure.ir.traverse import postorder, rebuild
from nervure.ir.whole_op import WholeOp, found_lengths
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import DimLike, found_symbols, same_lengths
from nervure.types.frozen import Frozen, put

INSTEAD_OF_LENGTHS = "reduce over it inside, or keep the shape: nv.where(mask, x, 0)"
"""What to do where a function that an op holds would give a length that it finds."""


class Region(Frozen):
    """``body`` is a pure Function of the region's own parameters, followed by one parameter for each captured value.

    ``captured`` are these values, in the order in which the body first uses them; ``arity`` counts the own parameters.
    """

    __slots__ = ("arity", "body", "captured")
    _plural = "regions"
    _instead = "make another: Region(body, captured), or Region.of(results, parameters)"
    arity: int
    body: Function
    captured: tuple[Value, ...]

    def __init__(self, body: Function, captured: Sequence[Value]) -> None:
        put(self, "body", body)
        put(self, "captured", tuple(captured))
        put(self, "arity", len(body.parameters) - len(self.captured))
        for parameter, value in zip(body.parameters[self.arity:], self.captured, strict=True):
            if parameter.output.type != value.type:
                raise InvalidArgument("a captured value has another type than its parameter", op="Region",
                                      got=value.type, expected=parameter.output.type)

    @classmethod
    def of(cls, results: Iterable[Operand], parameters: Iterable[Operand]) -> Region:
        """Returns the region of results that are written with ``parameters`` (Parameter ops) and any values outside.

        Ops that depend on a parameter, and constants, are in the body; every other value that the body uses is
        captured. Effects below the results that depend on no parameter stay outside: they happen once, where they are.
        """
        outputs = [as_value(result) for result in results]
        own = [as_value(parameter).op for parameter in parameters]
        order = postorder([*own, *outputs])
        inside = made_inside(order, own)
        table = {value: parameter_for(value).output for value in crossing(order, outputs, inside)}
        captured = tuple(table)
        rebuild([op for op in order if op in inside], table)
        body = Function([table.get(value, value) for value in outputs],
                        [*own, *[table[value] for value in captured]], name="region")
        return cls(body, captured)

    def __call__(self, *operands: Operand) -> tuple[Value, ...]:
        """Returns the results as an expression over other values in place of the own parameters; captured values stay.
        """
        return self.body(*operands, *self.captured)

    def __repr__(self) -> str:
        types = [str(parameter.output.type) for parameter in self.body.parameters]
        own, taken = ", ".join(types[:self.arity]), ", ".join(types[self.arity:])
        results = ", ".join(str(value.type) for value in self.body.results)
        return f"Region({own} | {taken}) -> ({results})"


def made_inside(order: Iterable[Op], parameters: Iterable[Op], is_own: Callable[[Op], bool] | None = None) -> set[Op]:
    """Returns the ops of a body: its parameters, the ops that depend on them or that are its own, and constants."""
    inside = set(parameters)
    for op in order:
        if isinstance(op, (Constant, Full)) or is_own is not None and is_own(op) or any(
                [operand.op in inside and not isinstance(operand.op, (Constant, Full)) for operand in op.operands]):
            inside.add(op)
    return inside


def crossing(order: Iterable[Op], outputs: Sequence[Value], inside: set[Op],
             operands_of: Callable[[Op], Sequence[Value]] = attrgetter("operands")) -> list[Value]:
    """Returns the values from outside that a body uses, each once, in the order of their first use."""
    used = [operand for op in order if op in inside for operand in operands_of(op)]
    return list(dict.fromkeys([value for value in (*used, *outputs) if value.op not in inside]))


def parameter_for(value: Value) -> Parameter:
    """Returns a parameter with the type, the name and the labels of a value, for which it stands."""
    made = Parameter.of(value.type)
    made.name, made.outputs[0].labels = value.op.name, value.labels
    return made


Differentiate = Callable[[Sequence[Operand], Sequence[Operand], Sequence["Operand | None"]], Sequence["Value | None"]]
"""Reverse mode: ``nervure.autodiff.gradients``, which stands above the ops and is given to their rules."""


AlongDirections = Callable[[Sequence[Operand], Sequence[Operand], Sequence[Operand]], Sequence["Value | None"]]
"""Forward mode: ``nervure.autodiff.tangents``, likewise."""


class ForAll(NamedTuple):
    """A value of all elements: it has a dimension of them in front if it ``differs`` between them, else they share it.
    """

    value: Value
    differs: bool

    def whole(self, length: DimLike) -> Value:
        """Returns a value with a dimension of ``length`` elements in front, whether they differ or not."""
        return self.value if self.differs else in_front(self.value, length)


def differing(outputs: Sequence[Operand]) -> list[ForAll]:
    """Returns outputs for all elements, each of which has their dimension in front."""
    return [ForAll(as_value(output), True) for output in outputs]


Batched = Callable[..., Sequence[ForAll]]
"""Mapping over many elements: ``nervure.autodiff.batched``, which stands above the ops, too."""


class RegionOp(Op, abstract=True):
    """An op that runs Functions: branches, or the body of a loop. They are pure but for their effects.

    A function's parameters are those that the op's class says; what it uses from outside are operands of the op. Passes
    treat it as one op with an attribute for each function, and optimise the functions by themselves.

    >>> import nervure as nv
    >>> x = nv.Parameter(nv.float32, (3,))
    >>> double, same = nv.Function([x * 2.0], [x]), nv.Function([x], [x])
    >>> op = nv.ops.If(nv.Parameter(nv.bool_, ()), nv.Parameter(nv.float32, (3,)), branches=(double, same))
    >>> op.bodies == (double, same), op.effectful
    (True, False)
    """

    operand_names = "*operands"
    body_fields: ClassVar[tuple[str, ...]] = ()

    @property
    def bodies(self) -> tuple[Function, ...]:
        """The functions that it runs."""
        found: list[Function] = []
        for name in self.body_fields:
            held = getattr(self, name)
            found.extend(held if isinstance(held, tuple) else (held,))
        return tuple(found)

    @property
    def effectful(self) -> bool:
        """Whether one of its functions has an effect: then it is neither dropped nor merged nor reordered."""
        return any([body.effects for body in self.bodies])

    def assumptions(self) -> list[Assumption]:
        """Returns what its functions assume about dimensions."""
        return [entry for body in self.bodies for entry in body.assumptions]

    def with_bodies(self, bodies: Sequence[Function]) -> Self:
        """Returns this op with other functions of the same types; itself if they are the same."""
        if tuple(bodies) == self.bodies:
            return self
        remaining = iter(bodies)
        changed: dict[str, object] = {}
        for name in self.body_fields:
            held = getattr(self, name)
            changed[name] = tuple([next(remaining) for _ in held]) if isinstance(held, tuple) else next(remaining)
        before = set_override(self.provenance)
        try:
            made = type(self)(*self.operands, **{**self.attributes, **changed})
        finally:
            set_override(before)
        made.name = self.name
        for fresh, old in zip(made.outputs, self.outputs, strict=True):
            fresh.labels = old.labels
        return made

    def differentiated(self, gradients: Sequence[Value | None], wanted: Sequence[bool],
                       differentiate: Differentiate) -> Gradients:
        """Returns the gradient of each operand that is wanted (None: zero), from those of the outputs.

        ``differentiate`` computes the gradients of values inside of a function.
        """
        raise NotImplementedError(f"{type(self).__name__} has no derivative")

    def along(self, directions: Sequence[Value | None], tangents: AlongDirections) -> Sequence[Value | None]:
        """Returns the tangents of the outputs (None: zero), from the ``directions`` of the operands.

        ``tangents`` differentiates inside of a function, as ``nervure.autodiff.tangents`` does.
        """
        raise NotImplementedError(f"{type(self).__name__} has no tangents")

    def for_each(self, length: DimLike, mapped: Mapping[Value, Value], batched: Batched,
                 draws: bool) -> Sequence[ForAll]:
        """Returns the outputs for many elements at once, and whether these differ in each.

        ``mapped`` has the operands for all elements, where they differ. ``batched`` maps the inside of functions, as
        ``nervure.autodiff.batched`` does; with ``draws`` random numbers in it are drawn for each element. Functions
        with effects, and those with ops that have no rule, run for one element after the other (``vmap``).
        """
        found = None
        if not self.effectful:
            with suppress(NotSupported):
                found = self.at_once(length, mapped, batched)
        if found is None:
            made = self.vmap(length, [operand in mapped for operand in self.operands],
                             *[mapped.get(operand, operand) for operand in self.operands])
            return differing(made)
        return found

    def at_once(self, length: DimLike, mapped: Mapping[Value, Value], batched: Batched) -> Sequence[ForAll] | None:
        """Returns the outputs for many elements by functions of all of them; None if elements differ in what runs.

        ``length``, ``mapped`` and ``batched`` are those of ``for_each``.
        """
        return None

    def vmap(self, length: DimLike, mapped: Sequence[bool], *operands: Value) -> Sequence[Operand]:
        many = [at for at, is_mapped in enumerate(mapped) if is_mapped]
        order = [*many, *[at for at in range(len(operands)) if not mapped[at]]]
        own = [Parameter.of(operand.type) for operand in self.operands]
        one = self.with_operands([parameter.output for parameter in own])
        body = Function(one.outputs, [own[at] for at in order], effects=[one] if self.effectful else [], name="element")
        return registry["Scan"](*[operands[at] for at in order], body=body, carries=0, slices=len(many),
                                length=length).outputs

    # -- checks of type rules ----------------------------------------------------------------------------

    def require_pure(self) -> None:
        """Raises InvalidArgument if a function reads or writes variables by itself."""
        for body in self.bodies:
            if body.variables:
                raise self.fail(InvalidArgument, "the functions of an op do not touch variables themselves",
                                operand=self.body_fields[-1], got=body.variables[0], expected="a pure function",
                                help="make the variable's value an operand, and its new value a result")
            lengths = found_lengths(body.effects)
            for value in body.results:
                if not lengths.keys().isdisjoint(value.type.symbols):
                    raise self.fail(NotSupported, "a function that it runs gives a length that it finds",
                                    operand=self.body_fields[-1], got=value.type, expected="lengths known outside",
                                    help=f"each run may find another length: {INSTEAD_OF_LENGTHS}")

    def require_type(self, what: str, operand: str, got: BasicTensorDescription, expected: BasicTensorDescription,
                     help: str = "insert ops.Convert, ops.Broadcast or a reshape") -> None:
        """Raises DtypeMismatch or ShapeMismatch, which says ``what`` differs, unless ``got`` and ``expected`` are
        provably equal. The error is about the ``operand`` or attribute.
        """
        parts: ErrorParts = {"operand": operand, "got": got, "expected": expected, "help": help}
        if got.dtype is not expected.dtype:
            raise self.fail(DtypeMismatch, f"{what} has another element type", **parts)
        if not same_lengths(got.shape, expected.shape):
            raise self.fail(ShapeMismatch, f"{what} has another shape", **parts)

    def require_parameters(self, attribute: str, body: Function, types: Sequence[BasicTensorDescription],
                           first: int = 0) -> None:
        """Raises an error unless the function of an ``attribute`` takes parameters of these ``types``.

        They are those of the operands from ``first`` on, or of slices of them.
        """
        self.require_count(f"parameters of {body.name}", attribute, len(body.parameters), len(types))
        for at, (parameter, expected) in enumerate(zip(body.parameters, types, strict=True)):
            self.require_type(f"parameter {at} of {body.name}", self.operand_label(first + at),
                              parameter.output.type, expected)

    def require_count(self, what: str, attribute: str, got: int, expected: int) -> None:
        """Raises InvalidArgument, which says ``what`` an ``attribute`` has, unless ``got`` is ``expected``."""
        if got != expected:
            raise self.fail(InvalidArgument, f"the number of {what} is another one", operand=attribute, got=got,
                            expected=expected,
                            help="a function has a parameter for each operand, and all that it uses is among them")


class Tangent(NamedTuple):
    """A function whose parameters move: its ``own`` parameters, its ``results``, and how these move.

    ``given`` has the directions of some parameters, by number, and ``found`` the tangent of each result; None where it
    stays. ``outside`` are values that a derivative of the user's takes from outside, with parameters for them.
    """

    own: list[Parameter]
    results: Sequence[Value]
    given: Mapping[int, Parameter]
    found: Sequence[Value | None]
    outside: Mapping[Value, Parameter]

    @classmethod
    def of(cls, body: Function, moving: Sequence[int], tangents: AlongDirections) -> Tangent:
        """Returns a pure ``body`` whose parameters numbered ``moving`` move.

        ``tangents`` differentiates inside, as ``nervure.autodiff.tangents`` does.
        """
        own = [Parameter.of(entry.type) for entry in body.parameters]
        given = {at: Parameter.of(own[at].type) for at in moving}
        results = body(*own)
        found = tangents(results, [own[at].output for at in moving], [*given.values()])
        made, outside = taken_inside([value for value in found if value is not None], [*own, *given.values()])
        tangent = iter(made)
        return cls(own, results, given, [None if value is None else next(tangent) for value in found], outside)

    def filled(self, at: int) -> Value:
        """Returns the tangent of a result, zeros if it stays."""
        return or_zeros(self.found[at], self.results[at])


def taken_inside(results: Sequence[Value], parameters: Iterable[Op]) -> tuple[list[Value], dict[Value, Parameter]]:
    """Returns the results of a derived body, and parameters for the values that it takes from outside.

    A derivative that a user gives may read values and variables around it, and may take derivatives itself, which ask
    for an order; inside of a body what they follow is there. NotSupported if it assigns.
    """
    together, ordering = registry["Together"], (registry["Sequential"], registry["DoAll"], registry["Assign"])

    def read(op: Op) -> Sequence[Value]:
        return op.operands[:1] if type(op) is together else op.operands
    own, inside, outside = {*parameters}, set[Op](), set[Op]()
    order = postorder(results, {*own}, read)
    for op in order:
        if any([operand.op in own or operand.op in inside for operand in read(op)]):
            inside.add(op)
        elif isinstance(op, (Parameter, ReadVariable)) or any([operand.op in outside for operand in read(op)]):
            outside.add(op)
    for op in inside:
        if isinstance(op, ordering):
            raise op.fail(NotSupported, "a derivative inside of a loop or a branch assigns", operand=op.name,
                          got=type(op).__name__, expected="a derivative without effects",
                          help="assign in the function itself, or outside of the loop")
    crossed = [value for op in order if op not in outside for value in read(op) if value.op in outside]
    taken = {value: parameter_for(value) for value in (*crossed, *[value for value in results if value.op in outside])}
    table = {value: parameter.output for value, parameter in taken.items()}
    rebuild([op for op in order if op not in outside], table,
            lambda op: op.operands[:1] if type(op) is together else None)
    return [table.get(value, value) for value in results], taken


class Many(NamedTuple):
    """A function for many elements: its parameters, and its results."""

    parameters: list[Parameter]
    results: Sequence[ForAll]

    @classmethod
    def of(cls, body: Function, length: DimLike, differs: Sequence[bool], batched: Batched) -> Many:
        """Returns a ``body`` for ``length`` elements, whose parameters have a dimension in front where it ``differs``.

        ``batched`` maps the inside, as ``nervure.autodiff.batched`` does.
        """
        own = [Parameter.of(entry.type) for entry in body.parameters]
        given = [Parameter(one.output.dtype, (length, *one.output.shape)) if is_many else one
                 for one, is_many in zip(own, differs, strict=True)]
        table = {one.output: several.output for one, several in zip(own, given, strict=True) if one is not several}
        return cls(given, batched(body(*own), table, length))


def without_effects(body: Function, kept: tuple[type[Op], ...] = ()) -> Function:
    """Returns a function with the same results that does nothing else, for code that computes them again.

    Effects of the classes ``kept`` stay. What uses nothing but a length that the function finds reads through the op
    that finds it, so that each part of the results has that op, too. NotSupported if a result needs a call of Python
    that has an effect.
    """
    if not body.effects:
        return body
    table: dict[Value, Value] = {}
    effects: list[Op] = []
    lengths = found_lengths(body.effects)
    roots = [op for op in body.effects if kept and isinstance(op, (RegionOp, *kept))]
    roots += [length.value.op for length in lengths.values()]
    for op in postorder([*body.parameters, *roots, *body.results]):
        fresh = op.with_operands([table.get(operand, operand) for operand in op.operands])
        if isinstance(fresh, RegionOp):
            fresh = fresh.with_bodies([without_effects(inner, kept) for inner in fresh.bodies])
        if not is_effect(fresh) or isinstance(fresh, (RegionOp, WholeOp, *kept)):
            first = [table.get(value, value) for value in [
                lengths[name].value for name in _introduced(fresh) if name in lengths]]
            table.update(zip(op.outputs, [registry["After"](output, *first).outputs[0] if first else output
                                          for output in fresh.outputs], strict=True))
            effects += [fresh] if is_effect(fresh) else []
        elif [operand.type for operand in fresh.operands] == [output.type for output in op.outputs] \
                and "function" not in op.fields:
            table[op.outputs[0]] = fresh.operands[0]  # a print: it passes its operand on
        else:
            raise op.fail(NotSupported, "a derivative would call this function again", got=type(op).__name__,
                          expected="a body whose results need no effectful call of Python",
                          help="nv.host_call(..., effectful=False) says that it may be called again")
    return Function([table.get(value, value) for value in body.results], body.parameters, effects=effects,
                    name=body.name)


def _introduced(op: Op) -> list[str]:
    """Returns the names of the lengths in an op's dimensions that none of its operands has, nor finds the op itself."""
    known = {name for operand in op.operands for name in operand.type.symbols} | found_lengths([op]).keys()
    return sorted({name for length in own_dimensions(op) for name in found_symbols(length)} - known)
