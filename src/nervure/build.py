"""Models: the computation of a tensor, compiled as a forward and a backward part that are called in turns.

>>> import numpy as np
>>> import nervure as nv
>>> x, w = nv.placeholder("N=n, F=2").named("x"), nv.variable("F=2", 3.0).named("w")
>>> model = build(nv.sum(x * w, out_axes=()), inputs=("x",))
>>> model.forward(np.ones((4, 2), np.float32)).item()
24.0
>>> model.backward()
>>> model.gradients[0].tolist()
[4.0, 4.0]

The forward part returns the result and the residuals, which the model keeps until the next forward; the backward part
turns them into the gradients beside the parameters. Neither is compiled again for other sizes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from nervure import transformers
from nervure.autodiff.derivative import deriv
from nervure.computation import build_function, given_below
from nervure.errors import InvalidArgument, WrongKind, did_you_mean, shown
from nervure.front import display
from nervure.front.argument_parsing import members, one_of, truth
from nervure.front.creation import AssignableTensorOp, as_tensor, variables_below
from nervure.front.effects import Effect
from nervure.front.gradients import checked_update, gradient_of
from nervure.front.record import held_value
from nervure.front.statistics.reductions import sum as sum_of
from nervure.front.tensor import Operand, Tensor, described_type, is_operand
from nervure.ir.function import Function
from nervure.ir.identity import Uncopyable
from nervure.ir.leaves import ReadVariable
from nervure.ir.printer import print_function
from nervure.ir.provenance import is_no_grad
from nervure.ops.arithmetic import Add
from nervure.passes.cut import Cut, cut
from nervure.support.elsewhere import explain_keywords
from nervure.support.lazy import once
from nervure.tensor_storage import hold
from nervure.transformers.base import Executable, Transformer
from nervure.transformers.binding import Binder, Bindings
from nervure.transformers.cells import Witness
from nervure.transformers.devices.choice import transformer_for
from nervure.transformers.program_options import read_options
from nervure.transformers.report import table
from nervure.types.dim import evaluate
from nervure.types.mesh import Mesh, MeshAxes, Shard

MODES = ("default", "fast", "fastest")
"""The parts that are compiled before the first call: forward and both backward parts, forward and the backward part
that replaces gradients, or nothing. A model that is only trained by ``step`` needs none of them.
"""


class UpdateRule(Protocol):
    """The argument of ``step``: called with a loss, it returns the effect that updates variables."""

    def __call__(self, loss: Tensor, variables: Sequence[AssignableTensorOp] | None = None) -> Effect: ...


class _Forward(NamedTuple):
    """The state that a backward needs from the forward before it: arguments, and the versions of the variables."""

    arguments: list[object]
    seen: list[Witness]


class _Backward:
    """The backward part of a model: it replaces earlier gradients, or adds to them."""

    def __init__(self, parts: Cut, parameters: Sequence[AssignableTensorOp], transformer: Transformer) -> None:
        self.parts, self.parameters, self._transformer = parts, tuple(parameters), transformer
        self._cells = transformer.cells.of(parts.backward.variables)
        self._compiled: dict[bool, Executable] = {}

    def executable(self, accumulate: bool) -> Executable:
        """Returns the part as an executable, compiled at its first use."""
        if accumulate not in self._compiled:
            self._compiled[accumulate] = self._transformer.build(self.function(accumulate))
        return self._compiled[accumulate]

    def function(self, accumulate: bool) -> Function:
        """Returns the part as a Function that updates gradients."""
        own = self.parts.backward
        updates = []
        for parameter, value in zip(self.parameters, own.results, strict=True):
            variable = gradient_of(parameter).variable
            assert variable is not None
            updates.append((variable, Add(ReadVariable(variable), value).output if accumulate else value))
        return Function([], own.parameters, updates, own.effects, own.assumptions, own.name)

    def look(self) -> list[Witness]:
        """Returns the current state of the variables that it reads beside the gradients."""
        return [cell.witness() for cell in self._cells]

    def check(self, forward: _Forward) -> None:
        """Raises InvalidArgument, which names a variable that was written since that forward."""
        for cell, seen in zip(self._cells, forward.seen, strict=True):
            if not cell.is_still(seen):
                raise InvalidArgument("a variable that the gradients need was written after forward", op="backward",
                                      operand=cell.name, got="another value", expected="the value that forward read",
                                      help="call forward again; model.step(optimizer) does both and updates at once")


class CompiledComposite(Uncopyable):
    """A compiled model, the result of ``nv.build``. ``parameters`` are the trainable variables below the result,
    ``inputs`` its inputs by name. It holds the last forward, so it serves one thread at a time.

    >>> x = nv.placeholder("N=n, F=10").named("x")
    >>> model = nv.build(x + x, inputs=("x",), construct_backward=False)
    >>> print(repr(model))
    <CompiledComposite on cpu
        forward:     forward(model, x) -> f32[N=n, F=10]
        backward:    none
        memory pool: 1 tensor, n * 4.0e-5 MB
        inputs:
            x -> (n, 10)
    >
    """

    def __init__(self, out: Tensor, inputs: Mapping[str, AssignableTensorOp], positional: int,
                 transformer: Transformer, forward: Function, backward: _Backward | None) -> None:
        self.out, self.inputs, self.transformer = out, dict(inputs), transformer
        self.parameters = tuple(variables_below(out))
        self._names, self._positional = list(inputs), positional
        self._binder = Binder(forward)
        self._function, self._backward = forward, backward
        self._last: _Forward | None = None
        self._shapes: list[tuple[int, ...]] | None = None
        self._steps: list[tuple[UpdateRule, Executable]] = []

    @once
    def _forward(self) -> Executable:
        """The forward part, compiled at its first use."""
        return self.transformer.build(self._function)

    # -- calls -------------------------------------------------------------------------------------------------

    def forward(self, *arguments: object) -> np.ndarray:
        """Computes the result, an array that the caller owns. The arguments are the inputs listed for ``build``, in
        their order; without arguments, and for all other inputs, the values given to ``set_input`` are used.

        Raises InvalidArgument for a wrong number of arguments or an input without a value; ShapeMismatch for a wrong
        rank, length, or one symbol with two values.

        >>> x = nv.placeholder("N=n").named("x")
        >>> model = nv.build(x * 2, inputs=("x",))
        >>> model.forward([1, 2, 3]).tolist(), model.forward([4]).tolist()
        ([2.0, 4.0, 6.0], [8.0])
        """
        values = self._values_of(arguments)
        result, *residuals = self._forward(values)
        self._shapes = [np.asarray(value).shape for value in values]
        if self._backward is not None:
            seen = self._backward.look()
            taken = [_kept(arguments, number, values[number]) for number in self._backward.parts.arguments]
            self._last = _Forward([*residuals, *taken], seen)
        return result

    def backward(self, accumulate: bool = False) -> None:
        """Computes the gradients of the sum of the last result with respect to all parameters. They replace the
        earlier ones, or are added to them with ``accumulate``.

        Nothing happens without parameters. Raises InvalidArgument without a forward, or if a variable that the
        gradients need was written since.

        >>> w = nv.variable((2,), [1.0, 2.0])
        >>> model = nv.build(w * w)
        >>> model.forward().tolist()
        [1.0, 4.0]
        >>> model.backward()
        >>> model.backward(accumulate=True)
        >>> model.gradients[0].tolist()
        [4.0, 8.0]
        """
        accumulate = truth(accumulate, "backward", "accumulate")
        if self._backward is None:
            if self.parameters:
                raise self._without_backward()
            return
        if self._last is None:
            raise InvalidArgument("there was no forward", op="backward", got="a model that was not called",
                                  expected="a forward before it", help="call model.forward(...) first")
        self._backward.check(self._last)
        self._backward.executable(accumulate)(self._last.arguments)

    def step(self, optimizer: UpdateRule, *arguments: object) -> np.ndarray:
        """Makes a training step in one call, and returns the result, with arguments as for ``forward``. ``optimizer``
        updates the parameters by the gradients of the result's sum; ``grad`` does not change.

        >>> x, w = nv.placeholder("N=n").named("x"), nv.variable((), 3.0)
        >>> model, adam = nv.build(nv.sum(x * w, out_axes=()), inputs=("x",)), nv.optim.Adam(0.5)
        >>> model.step(adam, [1, 2]).item(), round(model.step(adam, [1, 2, 3]).item(), 3)
        (9.0, 15.0)
        """
        values = self._values_of(arguments)
        return self.compiled_step(optimizer)(values)[0]

    def compiled_step(self, optimizer: UpdateRule) -> Executable:
        """Returns the executable that ``step`` calls: forward, backward and update, compiled once for each optimiser.
        """
        for known, executable in self._steps:
            if known is optimizer:
                return executable
        function = build_function([self.out, self._update(optimizer)], list(self.inputs.values()), name="step")
        executable = self.transformer.build(function)
        self._steps.append((optimizer, executable))
        return executable

    def _update(self, optimizer: UpdateRule) -> Effect:
        """Returns the effect of an optimiser on all parameters."""
        if not self.parameters or not self.out.dtype.is_float:
            raise InvalidArgument("there is nothing to train", op="step", got=repr(self.out),
                                  expected="a result with real values that follows from variables",
                                  help="nv.variable and nv.parameter make what is trained")
        if not callable(optimizer) or isinstance(optimizer, type):
            raise WrongKind("this is no optimiser", op="step", operand="optimizer", got=shown(optimizer),
                            expected="what gives an effect when it is called with a loss",
                            help="nv.optim.Adam(1e-3) makes one")
        loss = self.out if self.out.ndim == 0 else sum_of(self.out, out_axes=())
        return checked_update(optimizer(loss, self.parameters), "step")

    def _without_backward(self) -> InvalidArgument:
        if not self.out.dtype.is_float:
            return InvalidArgument("only real results have gradients", op="backward", got=str(self.out.type),
                                   expected="a float element type", help="build the loss, not a choice made from it")
        return InvalidArgument("the model was built without a backward part", op="backward",
                               got="construct_backward=False", expected="a model with gradients",
                               help="build it outside of nv.no_grad(), with construct_backward=True")

    # -- inputs ------------------------------------------------------------------------------------------------

    def set_input(self, name: str, value: object) -> None:
        """Sets the value of an input, a copy of ``value`` as NumPy reads it, until it is set again.

        Raises InvalidArgument for an unknown name, ShapeMismatch for a wrong rank or length.

        >>> x = nv.placeholder((2, 2)).named("x")
        >>> model = nv.build(nv.sum(x))
        >>> model.set_input("x", np.ones((2, 2)))
        >>> model.forward().item()
        4.0
        """
        place = self._input(name, "set_input")
        hold(place, place.given(value, "set_input", name))

    def get_input(self, name: str) -> AssignableTensorOp:
        """Returns the input of this name. InvalidArgument if there is none.

        >>> x = nv.placeholder("N=n").named("x")
        >>> nv.build(x * 2).get_input("x") is x
        True
        """
        return self._input(name, "get_input")

    def _input(self, name: str, op: str) -> AssignableTensorOp:
        if not isinstance(name, str) or name not in self.inputs:
            raise InvalidArgument(f"there is no input {name}", op=op, operand="name", got=shown(name),
                                  expected=", ".join(self._names) or "no inputs",
                                  help=did_you_mean(str(name), self._names, "print the model to see its inputs"))
        return self.inputs[name]

    def _values_of(self, arguments: Sequence[object]) -> list[object]:
        """Returns the values of all inputs in order."""
        is_set = not arguments and all([held_value(self.inputs[name]) is not None
                                        for name in self._names[:self._positional]])
        count = 0 if is_set else self._positional
        if len(arguments) != count:
            expected = ", ".join(self._names[:self._positional])
            raise InvalidArgument("wrong number of arguments", op="forward", got=len(arguments),
                                  expected=f"{self._positional}: {expected}" if expected else "none",
                                  help='build(out, inputs=("x", "y")) says which inputs are arguments, in their order; '
                                       "model.set_input(name, value) sets any of them")
        given = [value if type(value) is np.ndarray else self.inputs[name].given(value, "forward", name)
                 for name, value in zip(self._names, arguments, strict=False)]
        return [*given, *[self._set_value(name) for name in self._names[count:]]]

    def _set_value(self, name: str) -> object:
        held = held_value(self.inputs[name])
        if held is None:
            raise InvalidArgument(f"the input {name} has no value", op="forward", operand=name, got="no value",
                                  expected=self.inputs[name]._described(),
                                  help=f"model.set_input({name!r}, value) gives it one")
        return held.copy()  # a backward may need it after the input has another value

    # -- inspection ------------------------------------------------------------------------------------------------

    @property
    def ir(self) -> str:
        """Forward and backward as a program for people to read, before the backend's own passes."""
        parts = [self._function] if self._backward is None else [self._function, self._backward.function(False)]
        return "\n".join([print_function(part, elide=True) for part in parts])

    @property
    def executables(self) -> list[Executable]:
        """The executables of forward and, if there is one, backward, compiled if necessary."""
        return [self._forward] if self._backward is None else [self._forward, self._backward.executable(False)]

    @property
    def gradients(self) -> tuple[AssignableTensorOp, ...]:
        """The gradients of the parameters with real values, in their order: what ``backward`` writes."""
        return tuple([gradient_of(entry) for entry in self.parameters if entry.dtype.is_float])

    def summary(self) -> str:
        """Returns a table of the parameters, with their elements and bytes, and the memory of a call.

        >>> w = nv.variable("F=3").named("w")
        >>> print(nv.build(nv.sum(w * w)).summary())
        parameter  type      elements  bytes
        w          f32[F=3]         3     12
        together                    3     12
        """
        sizes = [(evaluate(entry.type.size, {}), evaluate(entry.type.nbytes, {})) for entry in self.parameters]
        together = sum([elements for elements, _ in sizes]), sum([size for _, size in sizes])
        names = [(entry.name or "unnamed", described_type(entry)) for entry in self.parameters]
        rows = [(*name, f"{elements:,}", f"{size:,}") for name, (elements, size) in
                zip([*names, ("together", "")], [*sizes, together], strict=True)]
        return table([("parameter", "type", "elements", "bytes"), *rows], right=(2, 3))

    def explained(self, *arguments: object) -> tuple[Executable, list[object] | None]:
        """Returns the executable that ``nv.explain`` shows, forward, and its arguments; None if some are missing."""
        is_open = not arguments and any([held_value(place) is None for place in self.inputs.values()])
        return self._forward, None if is_open else self._values_of(arguments)

    def __call__(self, *arguments: object) -> np.ndarray:
        """Runs ``forward``."""
        return self.forward(*arguments)

    def _repr_html_(self) -> str:
        places = [*[("input", place) for place in self.inputs.values()],
                  *[("parameter", place) for place in self.parameters]]
        rows = [(role, place.name or "unnamed", described_type(place)) for role, place in places]
        return display.table(("role", "name", "type") if rows else (), rows, repr(self))

    def __repr__(self) -> str:
        result = self._function.results[0]
        taken = ", ".join(["model", *self._names[:self._positional]])
        lines = [f"forward:     forward({taken}) -> {result.type.describe(result.labels)}",
                 f"backward:    {self._signature_of_backward()}", f"memory pool: {self._memory()}", "inputs:",
                 *[f"    {name} -> ({', '.join(map(str, place.type.shape))})" for name, place in self.inputs.items()]]
        if not self.inputs:
            lines[-1] = "inputs:      none"
        return "\n    ".join([f"<CompiledComposite on {self.transformer.name}", *lines]) + "\n>"

    def _signature_of_backward(self) -> str:
        if self._backward is None:
            return "none"
        names = [entry.name or "a variable" for entry in self._backward.parameters]
        return f"backward(model) -> gradients of {', '.join(names[:6])}{', ...' if len(names) > 6 else ''}"

    def _memory(self) -> str:
        """Returns the memory of forward, in symbols, and for the sizes of the last call."""
        text, bindings = str(self._forward.memory()), self._bindings()
        if not bindings:
            return text
        known = ", ".join([f"{name}={number}" for name, number in bindings.items()])
        return f"{text} ({known}: {self._forward.memory(bindings)})"

    def _bindings(self) -> Bindings:
        """Returns the values that symbols had in the last forward."""
        if self._shapes is None:
            return {}
        places = zip(self.inputs.values(), self._shapes, strict=True)
        return self._binder.bind([np.broadcast_to(np.zeros((), place.dtype.numpy), shape)
                                  for place, shape in places])[1]


def _kept(arguments: Sequence[object], number: int, value: object) -> object:
    """Returns an argument as backward will need it: a copy if it belongs to the caller, which may write it."""
    is_callers = number < len(arguments) and not isinstance(arguments[number], Tensor)
    return np.array(value, order="C", copy=True) if is_callers else value


# -- building ----------------------------------------------------------------------------------------------------


def build(out: Operand, inputs: Iterable[str | AssignableTensorOp] | None = None,
          construct_backward: bool | None = None, compile_mode: str = "fastest", fuse_ops: bool = True,
          transformer: Transformer | None = None, memory_limit: int | str | None = None, mesh: Mesh | None = None,
          shard: Shard | None = None, shard_parameters: MeshAxes | None = None) -> CompiledComposite:
    """Compiles the computation of ``out``, a tensor of any shape, for calls forward and backward.

    ``inputs`` are the names of the inputs that ``forward`` takes as arguments, in their order; ``set_input`` sets the
    others. ``construct_backward`` is False inside of ``nv.no_grad()``, else True. ``compile_mode`` says how much is
    compiled now rather than at its first use: "fastest" nothing, "fast" forward and backward, "default" also the
    backward that accumulates; all results are the same. ``fuse_ops=False`` leaves out rewrite rules of devices.
    ``memory_limit`` is that of ``nv.computation``, for each call: what a forward keeps for its backward counts. Those
    of ``nv.computation`` are ``mesh``, ``shard`` and ``shard_parameters``, too.

    >>> a, b = nv.placeholder("A=a, B=b").named("A"), nv.placeholder("A=a, B=b").named("B")
    >>> model = nv.build(a * b, inputs=("A", "B"))
    >>> model.forward(np.full((3, 3), 2.0), np.full((3, 3), 4.0)).tolist()
    [[8.0, 8.0, 8.0], [8.0, 8.0, 8.0], [8.0, 8.0, 8.0]]
    """
    if not is_operand(out):
        raise WrongKind("a model has one result, a tensor", op="build", operand="out", got=shown(out),
                        expected="a tensor or a number", help="nv.computation([x, y], ...) computes several tensors")
    own = as_tensor(out, "build")
    one_of(compile_mode, MODES, "build", "compile_mode", "leave it out")
    asked = None if transformer is None else transformers.chosen(transformer)
    known, positional = _ordered(_inputs_of(own), inputs)
    places = list(known.values())
    wanted = [entry for entry in variables_below(own) if entry.dtype.is_float]
    forward, backward = build_function([own], places, name="forward"), None
    chosen = transformer_for(forward, asked, truth(fuse_ops, "build", "fuse_ops"),
                             read_options("build", memory_limit, mesh=mesh, shard=shard,
                                          shard_parameters=shard_parameters))
    has_gradients = not is_no_grad() if construct_backward is None else \
        truth(construct_backward, "build", "construct_backward")
    if wanted and own.dtype.is_float and has_gradients:
        parts = _cut(own, places, wanted, chosen, len(forward.effects))
        forward, backward = parts.forward, _Backward(parts, wanted, chosen)
    model = CompiledComposite(own, known, positional, chosen, forward, backward)
    if compile_mode != "fastest":
        _ = model.executables
    if compile_mode == "default" and backward is not None:
        backward.executable(accumulate=True)
    return model


def _cut(out: Tensor, places: Sequence[AssignableTensorOp], wanted: Sequence[AssignableTensorOp],
         transformer: Transformer, effects: int) -> Cut:
    """Returns result and derivatives, with ``effects`` effects, as two functions. Passes run before, since they find
    the common parts of both.
    """
    derivatives = deriv(out, wanted, None if out.ndim == 0 else 1.0)
    whole = build_function([out, *derivatives], places, name="forward")
    return cut(transformer.optimised(whole), 1, effects)


def _inputs_of(out: Tensor) -> dict[str, AssignableTensorOp]:
    """Returns the inputs below a tensor by name, including temporaries that hold a value. Inputs without a name are
    named by their numbers, from 1.
    """
    found: dict[str, AssignableTensorOp] = {}
    given = [place for place in given_below([out]) if place.is_input or held_value(place) is not None]
    for position, place in enumerate(given):
        name = place.name or str(position + 1)
        if name in found:
            raise InvalidArgument(f"two inputs are named {name}", op="build", operand="out", got=repr(place),
                                  expected="a name for each", help='x.named("another") gives one of them another name')
        found[name] = place
    return found


def _ordered(known: Mapping[str, AssignableTensorOp],
             wanted: Iterable[str | AssignableTensorOp] | None) -> tuple[dict[str, AssignableTensorOp], int]:
    """Returns the inputs, those that are arguments first, and the number of these."""
    given = () if wanted is None else (wanted,) if isinstance(wanted, (str, Tensor)) else wanted
    listed = members(given, "build", "inputs", "a list of names")
    names = [_name_of(entry, known) for entry in listed]
    if len(set(names)) < len(names):
        raise InvalidArgument("an input is listed twice", op="build", operand="inputs", got=", ".join(names),
                              expected="each input once", help="leave out the second")
    return {name: known[name] for name in dict.fromkeys([*names, *known])}, len(names)


def _name_of(entry: object, known: Mapping[str, AssignableTensorOp]) -> str:
    for name, place in known.items():
        if place is entry or (isinstance(entry, str) and name == entry):
            return name
    name = entry if isinstance(entry, str) else shown(entry)
    raise InvalidArgument(f"there is no input {name}", op="build", operand="inputs", got=shown(entry),
                          expected=", ".join(known) or "no inputs, since out depends on none",
                          help=did_you_mean(name, known, 'x.named("x") gives a placeholder its name'))


def forward(model: CompiledComposite, *arguments: object) -> np.ndarray:
    """Runs ``model.forward(*arguments)``.

    >>> x = nv.placeholder("N=n").named("x")
    >>> nv.forward(nv.build(x * 2, inputs=("x",)), [1, 2]).tolist()
    [2.0, 4.0]
    """
    return _model(model, "forward").forward(*arguments)


def train_step(model: CompiledComposite, optimizer: UpdateRule) -> Callable[..., np.ndarray]:
    """Returns ``model.step`` with this optimiser as a function of the arguments, compiled now.

    >>> x, w = nv.placeholder("N=n").named("x"), nv.variable((), 3.0)
    >>> step = nv.train_step(nv.build(nv.sum(x * w, out_axes=()), inputs=("x",)), nv.optim.Adam(0.5))
    >>> step([1, 2]).item(), round(step([1, 2]).item(), 3), round(w.item(), 3)
    (9.0, 7.5, 2.0)
    """
    _model(model, "train_step").compiled_step(optimizer)
    return functools.partial(model.step, optimizer)


def _model(model: object, op: str) -> CompiledComposite:
    if not isinstance(model, CompiledComposite):
        raise WrongKind("this is no model", op=op, operand="model", got=shown(model), expected="a CompiledComposite",
                        help="nv.build(out) makes one")
    return model


explain_keywords(globals(), ["build", "forward", "train_step"])
