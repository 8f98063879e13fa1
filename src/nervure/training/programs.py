"""The programs of a training: a step, an evaluation and a prediction, each one call for any number of examples.

>>> import numpy as np
>>> import nervure as nv
>>> model = nv.nn.LinearLayer(2, 1, weights=0.0)
>>> goal = Goal(model, nv.optim.SGD(0.1), nv.nn.losses.mean_squared_error, {})
>>> batch = np.ones((4, 2), np.float32), np.ones((4, 1), np.float32)
>>> programs = Programs(goal, places_for(batch, None), nv.transformers.default(), Draws())
>>> first, second = [programs.stepping.read(batch).means["loss"] for _ in range(2)]
>>> first > second
True
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple, cast

import numpy as np

from nervure import ops
from nervure.computation import Computation, ResultForm, build_function
from nervure.data.nested import Batch, examples, is_flat, leaves, leaves_like, mapped
from nervure.errors import InvalidArgument, WrongKind, shown
from nervure.front.argument_parsing import members
from nervure.front.creation import AssignableTensorOp, as_tensor, placeholder, variables_below
from nervure.front.effects import Effect
from nervure.front.gradients import checked_update
from nervure.front.pointwise.elementwise import convert
from nervure.front.pytrees import Pattern, flatten, unflatten
from nervure.front.statistics.reductions import sum as sum_over
from nervure.front.tensor import Tensor
from nervure.ir.function import Function
from nervure.ir.identity import Uncopyable
from nervure.ir.provenance import fresh_scope
from nervure.nn.calls import announcing
from nervure.nn.composites import Functional
from nervure.nn.module import Module, outermost, parts_of
from nervure.optim.optimizer import Optimizer
from nervure.support.lazy import once
from nervure.training.draws import Draws
from nervure.training.metrics import Metric
from nervure.training.parts import BatchParts, BatchRoles
from nervure.training.readings import BatchReading, ResultLayout, Whole
from nervure.training.weighting import measured, takes, takes_weights
from nervure.transformers.base import Transformer
from nervure.transformers.labels import classes
from nervure.types.axes import AxesLike
from nervure.types.chosen_rows import ChosenRows
from nervure.types.dim import Dim, dim, symbols
from nervure.types.dtype import DType, as_dtype, float64

Measure = Callable[..., Tensor]
"""A loss or metric: a function of outputs and targets."""

NOT_FINITE = "the loss is not finite"


class Goal(NamedTuple):
    """A goal: the module, the optimiser, the loss to minimise, the metrics to report, and the roles of a batch's
    entries.
    """

    module: Module
    optimizer: Callable[[Tensor], Effect]
    loss: Measure
    metrics: Mapping[str, Measure | Metric]
    roles: BatchRoles = BatchRoles()


class BatchForm:
    """The form of batches: the places of their arrays, which determine the order of a program's arguments."""

    def __init__(self, places: object) -> None:
        self.places = places
        self._count = len(places) if isinstance(places, tuple) and not any(
            [isinstance(entry, (tuple, list, dict)) for entry in places]) else None

    def arguments(self, batch: object) -> Sequence[object]:
        """Returns the arrays of a batch in the order of the places; InvalidArgument if it has another form."""
        if is_flat(batch) and len(batch) == self._count:
            return batch
        return leaves_like(self.places, batch, "fit")


class BatchProgram(NamedTuple):
    """A computation of a batch, in the order of its form, and the layout of its results."""

    run: Computation[tuple[np.ndarray, ...]]
    layout: ResultLayout
    form: BatchForm

    def read(self, batch: Batch) -> BatchReading:
        """Runs the program on a batch, and returns the reading."""
        return self.layout.read(self.run(*self.form.arguments(batch)), examples(batch))


class Prediction(NamedTuple):
    """A computation of inputs, the pattern of its result, and the axis of the examples in each output (None if it has
    none).
    """

    run: Computation[tuple[np.ndarray, ...]]
    pattern: Pattern
    axes: tuple[int | None, ...]
    form: BatchForm

    def joined(self, batches: Iterable[Batch]) -> object:
        """Runs the module on batch after batch, and returns the outputs joined."""
        found = [self.run(*self.form.arguments(batch)) for batch in batches]
        if len(found) == 1:
            return unflatten(self.pattern, found[0])
        for at, axis in enumerate(self.axes):
            if axis is None:
                raise WrongKind("a prediction has an element for each example", op="predict", operand=f"output {at}",
                                got=f"shape {found[0][at].shape}, whatever the number of examples",
                                expected="one axis of the examples",
                                help="size=, as large as the number of examples, computes all of them at once")
        return unflatten(self.pattern, [np.concatenate(parts, cast("int", axis))
                                        for parts, axis in zip(zip(*found, strict=True), self.axes, strict=True)])


class Programs(Uncopyable):
    """A goal as computations over placeholders in the ``form`` of batches. Without targets there is only a prediction,
    for ``parts`` that are inputs alone.
    """

    def __init__(self, goal: Goal, form: object, transformer: Transformer, draws: Draws,
                 parts: BatchParts | None = None) -> None:
        self.goal, self.form, self.transformer, self._draws = goal, BatchForm(form), transformer, draws
        self.parts = goal.roles.parts(form) if parts is None else parts
        self.places = tuple(cast("list[AssignableTensorOp]", flatten(form)[0]))
        self._built_from: list[tuple[Module, list[object]]] = []

    @property
    def are_current(self) -> bool:
        """Whether all modules still hold the modules and parameters that they held when programs were made of them."""
        return all([_are_same(before, _held(module)) for module, before in self._built_from])

    def renewed(self) -> Programs:
        """Returns the programs of what the module is by now: these, if they are current."""
        return self if self.are_current else Programs(self.goal, self.form.places, self.transformer, self._draws,
                                                      self.parts)

    @contextmanager
    def _building(self, training: bool) -> Iterator[None]:
        """Builds the graph of a program from the module, in training or in evaluation."""
        with _switched(self.goal.module, training) as used:
            yield
        inside = dict.fromkeys([inner for module in used for inner in module.modules()])
        self._built_from += [(module, _held(module)) for module in inside]

    @property
    def step(self) -> Computation[tuple[np.ndarray, ...]]:
        """The training step: loss and metrics, and the update of all parameters; if the loss is not finite, nothing is
        changed.
        """
        return self.stepping.run

    @once
    def stepping(self) -> BatchProgram:
        """The training step, with the layout of its results."""
        with self._building(True):
            results, layout = self._measures()
            update = self._update(results[0])
            rates = self._rates(results[0])
            function = build_function([*results, *rates.values(), update], self.places, name="step")
        guard = ops.Guard(ops.IsFinite(function.results[0]).output, message=NOT_FINITE, kind="numeric")
        guarded = self._draws.of(Function(function.results, function.parameters, function.updates,
                                          [*function.effects, guard], function.assumptions, function.name))
        self._check_known(guarded)
        form = ResultForm("tuple", (), (True,) * len(function.results))
        run = Computation[tuple[np.ndarray, ...]](self.transformer, guarded, self.places, form).compiled()
        return BatchProgram(run, layout._replace(rates=tuple(rates)), self.form)

    @once
    def evaluating(self) -> BatchProgram:
        """The evaluation: loss and metrics; nothing is learnt."""
        with self._building(False):
            results, layout = self._measures()
            run = self.transformer.computation(tuple(results), *self.places)
        self._check_known(run.function)
        return BatchProgram(run, layout, self.form)

    @once
    def prediction(self) -> Prediction:
        """The prediction: the outputs of the module."""
        inputs = self.parts.without_targets()
        places = cast("list[AssignableTensorOp]", flatten(inputs)[0])
        with self._building(False):
            found, pattern = flatten(self._outputs())
        outputs = [entry for entry in found if isinstance(entry, Tensor)]
        if len(outputs) < len(found) or not found:
            other = next((entry for entry in found if not isinstance(entry, Tensor)), ())
            raise WrongKind("a prediction is made of tensors", op="predict", operand="module", got=shown(other),
                            expected="a tensor, or tensors in tuples and dicts", help="return what is a tensor alone")
        axes = tuple([examples_axis(entry, places) for entry in outputs])
        return Prediction(self.transformer.computation(tuple(outputs), *places), pattern, axes, BatchForm(inputs))

    def check_divided(self, batch: Batch) -> None:
        """Raises InvalidArgument if the mesh of the transformer does not divide the lengths of a batch."""
        sharding = self.transformer.sharding
        if sharding is None:
            return
        for place, array in zip(self.places, self.form.arguments(batch), strict=True):
            labels, shape, what = place.value.labels, np.shape(cast("np.ndarray", array)), place.name or "a batch"
            sharding.check_divided(sharding.split(labels, what, len(shape)), labels, shape, what, "fit",
                                   "take batches of such a length (size=), or another mesh; the last batch of an epoch "
                                   "may have any")

    def _check_known(self, function: Function) -> None:
        """Raises InvalidArgument if the mesh splits an axis that no tensor of a function has."""
        if self.transformer.sharding is not None:
            self.transformer.sharding.check_known(classes(function))

    def _outputs(self) -> object:
        return self.goal.module(*self.parts.inputs, **self.parts.named)

    def _measures(self) -> tuple[list[Tensor], ResultLayout]:
        """Returns loss and metrics, and their layout."""
        outputs, parts = self._outputs(), self.parts
        named = {"loss": self.goal.loss, **self.goal.metrics}
        wholes = [(name, metric) for name, metric in named.items() if isinstance(metric, Metric)]
        means = [(name, measure) for name, measure in named.items() if not isinstance(measure, Metric)]
        results = [_scalar(self._measured(measure, outputs), name) for name, measure in means]
        weighted = () if parts.weights is None else tuple([name for name, measure in means if takes_weights(measure)])
        if parts.weights is not None:
            results.append(sum_over(convert(_tensor(parts.weights, "weights"), float64), out_axes=()))
        read = []
        for name, metric in wholes:
            tensors, whole = self._whole(name, metric, outputs)
            results += tensors
            read.append(whole)
        names = tuple([name for name, _ in means])
        return results, ResultLayout(names, weighted, (), parts.weights is not None, tuple(read))

    def _measured(self, measure: Measure, outputs: object) -> object:
        if self.parts.weights is not None and takes_weights(measure):
            return measured(measure, outputs, self.parts.targets, _tensor(self.parts.weights, "weights"))
        return measure(outputs, self.parts.targets)

    def _whole(self, name: str, metric: Metric, outputs: object) -> tuple[list[Tensor], Whole]:
        """Returns the tensors of a metric of whole epochs, and how they are joined."""
        weights = {"weights": self.parts.weights} if takes(metric.update, "weights") else {}
        found, pattern = flatten(metric.update(outputs, self.parts.targets, **weights))
        tensors = [None if entry is None else _tensor(entry, name) for entry in found]
        axes = [None if entry is None else _joined_axis(entry, name, metric.gathers, self.places) for entry in tensors]
        return [entry for entry in tensors if entry is not None], Whole(name, metric, pattern, tuple(axes))

    def _rates(self, loss: Tensor) -> dict[str, Tensor]:
        """Returns the learning rates of a step, one for each rule of the optimiser, which knows its parameters by
        then.
        """
        rules = self.goal.optimizer.rules() if isinstance(self.goal.optimizer, Optimizer) else []
        own = set(variables_below(loss))
        rates = [as_tensor(rule.rate(own)) for rule in rules]
        names = ["learning_rate"] if len(rates) == 1 else [f"learning_rate_{at}" for at in range(1, len(rates) + 1)]
        return {name: convert(rate, float64) for name, rate in zip(names, rates, strict=True) if rate.ndim == 0}

    def _update(self, loss: Tensor) -> Effect:
        return checked_update(self.goal.optimizer(loss), "Trainer")


def places_for(batch: Batch, axes: object, module: Module | None = None, roles: BatchRoles | None = None) -> object:
    """Makes a placeholder for each array of a batch, in the form of the batch. It has the ``axes`` that are given,
    else the array's shape with any number of examples; a placeholder among the axes is used itself.

    Inputs of real numbers have the type of the module's parameters, as when the module is called with them; of the
    targets and weights that ``roles`` names those of float64 have. All other arrays keep their type.
    """
    paths = iter([path for path, _ in leaves(batch)])
    own_type = None if module is None else module.float_dtype
    inputs = [leaf for _, leaf in leaves(batch if roles is None else roles.parts(batch)[:2])]

    def place(array: object, axes: AxesLike | Tensor | None) -> AssignableTensorOp:
        return _place(array, axes, next(paths), own_type, any([array is entry for entry in inputs]))

    if axes is None:
        return mapped(lambda array: place(array, None), batch)
    listed = axes if isinstance(axes, Mapping) else members(axes, "Trainer", "axes", "axes for each array of a batch")
    if len(listed) != len(batch) or isinstance(listed, Mapping) is not isinstance(batch, Mapping):
        raise InvalidArgument("each array of a batch has axes", op="Trainer", operand="axes",
                              got=f"{len(batch)} arrays, axes for {len(listed)}", expected="as many",
                              help='as in axes=("N=n, H=8, W=8", "N=n")')
    own = iter(leaves_like(batch, listed, "Trainer"))
    return mapped(lambda array: place(array, cast("AxesLike | Tensor | None", next(own))), batch)


def _place(array: object, axes: AxesLike | Tensor | None, path: str, own_type: DType | None,
           is_input: bool) -> AssignableTensorOp:
    """Makes the placeholder of an array; ``own_type`` is that of the module's parameters, if it has any."""
    if isinstance(axes, AssignableTensorOp) and axes.is_input:
        return axes
    assert isinstance(array, (np.ndarray, ChosenRows))
    dtype = as_dtype(array.dtype)
    name = (f"batch{path}" if path.startswith("[") else path).replace("[", "_").replace("]", "").replace(".", "_")
    own = (dim("n", min=1), *array.shape[1:]) if axes is None else axes
    if own_type is not None and (dtype is float64 or is_input and dtype.is_float):
        dtype = own_type
    made = placeholder(own, dtype).named(name)
    if not made.ndim or not isinstance(made.shape[0], Dim):
        raise InvalidArgument("the first axis is that of the examples, of any number", op="Trainer", operand="axes",
                              got=made._described(), expected="a symbol as first length",
                              help='as in "N=n, F=784", where n is any number')
    return made


def examples_axis(tensor: Tensor, places: Sequence[AssignableTensorOp]) -> int | None:
    """Returns the axis whose length follows from the number of examples in ``places``; None unless there is exactly
    one.
    """
    known = frozenset().union(*[symbols(place.shape[0]) for place in places if isinstance(place.shape[0], Dim)])
    found = [at for at, length in enumerate(tensor.shape) if isinstance(length, Dim) and symbols(length) & known]
    return found[0] if len(found) == 1 else None


def _joined_axis(tensor: Tensor, name: str, gathers: bool, places: Sequence[AssignableTensorOp]) -> int:
    """Returns the axis along which the tensors of a metric are joined, 0 where they are added up.

    Raises WrongKind for a tensor with which that cannot be done for batches of any number of examples.
    """
    axis = examples_axis(tensor, places)
    if gathers and axis is None:
        raise WrongKind(f"{name} gathers tensors with an element for each example", op="Trainer", operand=name,
                        got=str(tensor.type), expected="one axis of the examples",
                        help="gathers = False adds up what update gives")
    if not gathers and any([isinstance(length, Dim) for length in tensor.shape]):
        raise WrongKind(f"{name} adds up tensors that have one shape in all batches", op="Trainer", operand=name,
                        got=str(tensor.type), expected="no axis of the examples",
                        help="nv.sum(x, out_axes=()) makes one number, gathers = True joins the elements")
    return axis or 0


def _tensor(value: object, name: str) -> Tensor:
    if not isinstance(value, Tensor):
        raise WrongKind(f"{name} is a tensor", op="Trainer", operand=name, got=shown(value), expected="a tensor",
                        help="one array of a batch, or what is computed from outputs and targets")
    return value


def _scalar(value: object, name: str) -> Tensor:
    if not isinstance(value, Tensor) or value.ndim != 0 or not value.dtype.is_float:
        got = str(value.type) if isinstance(value, Tensor) else shown(value)
        raise WrongKind(f"{name} is one number of a batch", op="Trainer", operand=name, got=got,
                        expected="a tensor without axes, of a float type", help="nv.mean(x, out_axes=()) makes one")
    return value


def _are_same(before: list[object], now: list[object]) -> bool:
    """Whether two lists hold the same objects."""
    return len(before) == len(now) and all([old is new for old, new in zip(before, now, strict=True)])


def _held(module: Module) -> list[object]:
    """Returns the modules, parameters and buffers in the fields of a module."""
    return [part for _, _, part in parts_of(module)]


@contextmanager
def _switched(module: Module, training: bool) -> Iterator[dict[Module, None]]:
    """Sets the module to training or evaluation; random ops built inside count their streams from 0. In evaluation the
    modules that functions call are switched, too. Yields the module, and those that are called.
    """
    before: dict[Module, bool] = {}
    used: dict[Module, None] = {module: None}

    def switch(entry: Module) -> None:
        for inside in entry.modules():
            before.setdefault(inside, inside.training)
        entry.train(training)

    def begins(called: object) -> None:
        owner = getattr(called.function, "__self__", None) if isinstance(called, Functional) else None
        for part in (called, owner):
            if isinstance(part, Module):
                used[part] = None
                if not training and part not in before:
                    switch(part)
                    switch(outermost(part))

    switch(module)
    try:
        with fresh_scope(), announcing(begins):
            yield used
    finally:
        for entry, mode in before.items():
            entry.training = mode
