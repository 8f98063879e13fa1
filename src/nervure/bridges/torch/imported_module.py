"""Models that were imported: modules that compute a Function, with PyTorch's names. They need no PyTorch.

>>> import nervure as nv
>>> n = nv.dim("n")
>>> x, w = nv.Parameter(nv.float32, (n, 2)), nv.Parameter(nv.float32, (2,))
>>> scaled = nv.Function([nv.ops.Multiply(x, nv.ops.Broadcast(w, (n, 2), [0]))], [x, w])
>>> givens = Given("input", "0", x.type), Given("place", "scale.weight", w.type)
>>> mode = ImportedMode(scaled, givens, (("result", ""),), form=Result(0))
>>> model = ImportedModule({"scale.weight": nv.variable((2,), 3.0)}, {"training": mode, "evaluation": mode})
>>> model(np.ones((4, 2), np.float32)).shape, [path for path, _ in model.named_parameters()]
((4, 2), ['scale.weight'])
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from nervure.bridges.torch.rebuilding import is_symbol, results_of, shape_of
from nervure.errors import InvalidArgument, NervureError, NotSupported, ShapeMismatch
from nervure.front.alignment import assume_shape
from nervure.front.creation import AssignableTensorOp, as_tensor
from nervure.front.effects import assign, sequential
from nervure.front.random import normal, uniform
from nervure.front.tensor import Tensor, TensorLike
from nervure.ir.function import Function
from nervure.ir.op import Value
from nervure.nn.module import Module
from nervure.ops.conversion import Convert
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import Dim, DimLike, bounds, declaration, dim_max, dim_min, equal, less_equal, substitute
from nervure.types.frozen import put

_ELSE = "the model does something else for such lengths"
_OUTSIDE = "the model takes no such lengths"


class Given(NamedTuple):
    """The origin of a parameter of a Function, which its kind says.

    It is an "input" by position or name, one that has to be "named", a "place" by its path, or "uniform" or "normal"
    random numbers.
    """

    kind: str
    name: str
    type: BasicTensorDescription


class Condition(NamedTuple):
    """Two expressions over lengths that are equal in each call for which a model is what it was when it was traced."""

    left: DimLike
    right: DimLike


class Result(NamedTuple):
    """The place of a tensor in the form of what a model returns: the number of the result of its Function."""

    number: int


class ImportedMode(NamedTuple):
    """A model as a Function, in training or in evaluation. Its results are one "result" after the other, or the new
    value of the place of a path: ("update", path). The model returns a ``form`` of tuples, lists and dicts, in which
    every Result stands for a tensor; lengths and what is no tensor stand there themselves.
    """

    function: Function
    givens: tuple[Given, ...]
    results: tuple[tuple[str, str], ...]
    conditions: tuple[Condition, ...] = ()
    form: object = None


class ImportedPart(Module):
    """The parameters of a module of PyTorch, and the modules in it, under the names that they have there."""


class ImportedModule(ImportedPart):
    """A model of PyTorch: its parameters and buffers under the names that they have there, and what it computes.

    A call takes what the model took, by position or name, with lengths that fit, and gives its results in the same
    form; dataclasses become dicts. ``train()`` and ``eval()`` choose between the two ways in which it was traced.
    NotSupported says why one of them could not be imported.
    """

    if TYPE_CHECKING:  # fields would be arguments of the class
        _modes: dict[str, ImportedMode | str]

    def __init__(self, places: Mapping[str, AssignableTensorOp], modes: Mapping[str, ImportedMode | str],
                 transient: Collection[str] = ()) -> None:
        for path, place in places.items():
            _put_at(self, path, place, path in transient)
        put(self, "_modes", dict(modes))

    def forward(self, *inputs: TensorLike, **named: TensorLike) -> object:
        """Returns the results of the model, in the form in which it returns them."""
        mode = self._modes["training" if self.training else "evaluation"]
        if isinstance(mode, str):
            other = "eval()" if self.training else "train()"
            raise NotSupported(f"the model could not be imported in this mode: {mode}", op="from_torch",
                               got="training" if self.training else "evaluation", expected="the other mode",
                               help=f"model.{other} chooses it")
        tensors = _inputs_of(mode, inputs, named)
        given = [_value(self, entry, tensors) for entry in mode.givens]
        symbols = _symbols(mode.function, given)
        values = inlined(mode.function, given, [entry.kind for entry in mode.givens], mode.conditions)
        results = [Tensor(value) for (kind, _), value in zip(mode.results, values, strict=True) if kind == "result"]
        moves = [assign(_place_at(self, path), Tensor(value))
                 for (kind, path), value in zip(mode.results, values, strict=True) if kind == "update"]
        if moves:  # a computation of any result moves the statistics, once, after all have been read
            before = [*[Tensor(value) for value in given if isinstance(value, Value)], *moves]
            results = [sequential([*before, result]) for result in results]
        return _formed(mode.form, results, symbols)


def _put_at(module: ImportedPart, path: str, place: AssignableTensorOp, is_transient: bool) -> None:
    """Sets a place at a path, and modules on the way there."""
    *around, name = path.split(".")
    for part in around:
        _check_name(part, path)
        inner = vars(module).get(part)
        if inner is None:
            inner = ImportedPart()
            setattr(module, part, inner)
        module = inner
    _check_name(name, path)
    setattr(module, name, place)
    if is_transient:
        put(module, "_transient", module._transient | {name})


def _check_name(name: str, path: str) -> None:
    if hasattr(ImportedModule, name):
        raise InvalidArgument(f"a parameter or module cannot be called {name} here", op="from_torch", operand=path,
                              got=name, expected="no name of a method of nv.nn.Module",
                              help="give the attribute of the model another name")


def _place_at(module: Module, path: str) -> AssignableTensorOp:
    place = module.place_at(path)
    assert place is not None, path
    return place


def _inputs_of(mode: ImportedMode, inputs: Sequence[TensorLike], named: Mapping[str, TensorLike]) -> dict[str, Tensor]:
    """Returns the inputs of a call by their names."""
    listed = [entry.name for entry in mode.givens if entry.kind == "input"]
    by_name = [entry.name for entry in mode.givens if entry.kind == "named"]
    given = [*zip(listed, inputs, strict=False), *named.items()]
    if len(inputs) > len(listed) or sorted([name for name, _ in given]) != sorted(listed + by_name):
        raise InvalidArgument("the model takes other inputs", op="from_torch", got=", ".join(
            [f"{len(inputs)} by position", *[f"{name}=" for name in named]]),
            expected=", ".join([*listed, *[f"{name}=" for name in by_name]]),
            help="give each of the inputs with which it was imported once")
    return {name: as_tensor(x, "from_torch", at + 1) for at, (name, x) in enumerate(given)}


def _value(module: ImportedModule, entry: Given, tensors: Mapping[str, Tensor]) -> Value | BasicTensorDescription:
    """Returns the value of a parameter of the function; random numbers are drawn later, when lengths are known."""
    if entry.kind == "place":
        return _place_at(module, entry.name).value
    if entry.kind not in ("input", "named"):
        return entry.type
    value, wanted = tensors[entry.name].value, entry.type
    if value.rank != len(wanted.shape):
        raise ShapeMismatch("the input has another rank", op="from_torch", operand=entry.name, got=value.type,
                            expected=wanted, help="give an input like that with which the model was imported")
    if value.dtype is not wanted.dtype and value.dtype.is_float and wanted.dtype.is_float:
        value = Convert(value, wanted.dtype).output
    if value.dtype is not wanted.dtype:
        raise InvalidArgument("the input has another element type", op="from_torch", operand=entry.name,
                              got=value.type, expected=wanted, help="x.astype(dtype) converts it")
    return value


def inlined(function: Function, given: Sequence[Value | BasicTensorDescription],
            kinds: Sequence[str] = (), conditions: Sequence[Condition] = ()) -> tuple[Value, ...]:
    """Returns the results of a function over other values, whose lengths take the place of its symbols.

    A description in place of a value stands for random numbers of that kind. ShapeMismatch for lengths that are not
    those of the parameters, or that do not meet the ``conditions``; what a symbol decides is left to the calls.
    """
    symbols, bounded = _symbols(function, given), _bounded(function, given)
    table: dict[Value, Value] = {}
    for at, (op, value) in enumerate(zip(function.parameters, given, strict=True)):
        if not isinstance(value, Value):
            drawn = (uniform if kinds[at] == "uniform" else normal)(shape_of(op.shape, bounded), dtype=op.dtype)
            table[op.output] = drawn.value
            continue
        shape = shape_of(op.shape, symbols)
        if any([equal(own, length) is not True for own, length in zip(shape, value.shape, strict=True)]):
            raise ShapeMismatch("the input has other lengths than the model takes", op="from_torch", got=value.type,
                                operand=op.name, expected=op.type,
                                help="import the model with dynamic=, for inputs of other lengths")
        table[op.output] = value
    for condition in conditions:
        _require(condition, function, table, symbols)
    if bounded == symbols:
        return _results(function, table, symbols)
    for op in function.parameters:
        table[op.output] = assume_shape(table[op.output], shape_of(op.shape, bounded), "from_torch", _OUTSIDE)
    found = zip(function.results, results_of(function, table, bounded), strict=True)
    return tuple([assume_shape(value, shape_of(own.shape, symbols), "from_torch", _OUTSIDE) for own, value in found])


def _results(function: Function, table: dict[Value, Value], symbols: Mapping[str, DimLike]) -> tuple[Value, ...]:
    """Returns the results over values of such lengths; ShapeMismatch if numbers among these are why there are none."""
    try:
        return results_of(function, table, symbols)
    except NervureError as error:
        for op in function.parameters:
            for own, length in zip(op.shape, table[op.output].shape, strict=True):
                if isinstance(length, int) and is_symbol(own) and equal(own, length) is False:
                    raise ShapeMismatch(_OUTSIDE, op="from_torch", operand=op.name, got=table[op.output].type,
                                        expected=f"{op.type} with {declaration(own)}",
                                        help="pass arrays of other lengths", location=error.location) from error
        raise


def _bounded(function: Function, given: Sequence[Value | BasicTensorDescription]) -> dict[str, DimLike]:
    """Returns the lengths that symbols stand for, with the unknown ones within the bounds of the symbols.

    Calls find whether these differ from the lengths themselves.
    """
    found = _symbols(function, given)
    for own in [own for op in function.parameters for own in op.shape if is_symbol(own)]:
        length = found.get(str(own))
        if isinstance(length, Dim):
            low, high = bounds(own)
            length = length if less_equal(low or 0, length) is True else dim_max(length, low or 0)
            found[str(own)] = length if high is None or less_equal(length, high) is True else dim_min(length, high)
    return found


def _symbols(function: Function, given: Sequence[Value | BasicTensorDescription]) -> dict[str, DimLike]:
    """Returns the lengths of the values of a function that its symbols stand for."""
    found: dict[str, DimLike] = {}
    for op, value in zip(function.parameters, given, strict=True):
        if isinstance(value, Value):
            for own, length in zip(op.shape, value.shape, strict=True):
                if isinstance(own, Dim):
                    found.setdefault(str(own), length)
    return found


def _require(condition: Condition, function: Function, table: dict[Value, Value],
             symbols: Mapping[str, DimLike]) -> None:
    """Checks a condition of lengths, or has calls check it, which all inputs with a symbol in their shape depend on."""
    left, right = shape_of(condition, symbols)
    if equal(left, right) is True:
        return
    if equal(left, right) is False:
        raise ShapeMismatch(_ELSE, op="from_torch",
                            got=", ".join([str(table[op.output].type) for op in function.parameters]),
                            expected=f"{condition.left} = {condition.right} in {_signature(function)}",
                            help="import it with an example of such lengths, on which PyTorch branches")
    for op in function.parameters:
        value = table[op.output]
        at = next((at for at, length in enumerate(value.shape) if isinstance(length, Dim)), None)
        if at is not None:
            shape = (*value.shape[:at], value.shape[at] + left - right, *value.shape[at + 1:])
            assumed = assume_shape(value, shape, "from_torch", _ELSE)
            table[op.output] = assume_shape(assumed, value.shape, "from_torch", _ELSE)


def _signature(function: Function) -> str:
    return ", ".join([str(op.type) for op in function.parameters if any([isinstance(x, Dim) for x in op.shape])])


def _formed(form: object, results: Sequence[Tensor], symbols: Mapping[str, DimLike]) -> object:
    """Puts results, and lengths in place of symbols, into a form of tuples, lists and dicts."""
    if isinstance(form, Result):
        return results[form.number]
    if isinstance(form, dict):
        return {name: _formed(part, results, symbols) for name, part in form.items()}
    if isinstance(form, (list, tuple)):
        return type(form)([_formed(part, results, symbols) for part in form])
    return substitute(form, symbols) if isinstance(form, Dim) else form
