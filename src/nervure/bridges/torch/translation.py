"""A graph that PyTorch has traced becomes a Function of core ops, with the layouts of its tensors.

>>> import torch
>>> from torch.fx.experimental.proxy_tensor import make_fx
>>> traced = make_fx(lambda x: torch.ops.aten.relu(x[0]) + 1, tracing_mode="fake")(torch.ones(2, 3))
>>> program = translated(traced)
>>> program.function
Function graph(f32[2, 3]) -> (f32[3]), 6 ops
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx import GraphModule, Node

from nervure import ops
from nervure.bridges.torch.all_rows import ROWS
from nervure.bridges.torch.fitting import SymbolicNumber
from nervure.bridges.torch.row_table import WITH_MEMORY, TracedMemory
from nervure.bridges.torch.torch_tensors import as_array, dtype_of
from nervure.bridges.torch.traced_sizes import fraction_of, length_of
from nervure.bridges.torch.unsupported import Foreign, Unsupported
from nervure.errors import Location, NervureError
from nervure.ir.function import Function
from nervure.ir.leaves import Constant, Parameter, ReadVariable
from nervure.ir.op import Operand, Value, as_value
from nervure.ir.provenance import Provenance, on_behalf_of
from nervure.ir.variable import Variable
from nervure.types import dtype as types
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import Dim, DimLike, equal, symbols
from nervure.types.shape import inverse_permutation

_FRAME = re.compile(r'File "([^"]+)", line (\d+)')


class TracedInput(NamedTuple):
    """An argument of a traced graph: the number of its Parameter, if it has one. ``order`` says how its dimensions lie
    in memory, if that is not row-major; ``is_number`` that it is an integer.
    """

    parameter: int | None
    order: tuple[int, ...] | None
    is_number: bool


class TracedOutput(NamedTuple):
    """A result of a traced graph: the number of a result of the Function, or else a ``number``.

    The number may be an expression over symbols, or None. ``order`` says how the dimensions of a tensor lie in memory,
    if that is not row-major.
    """

    result: int | None
    order: tuple[int, ...] | None
    number: Foreign


class TracedFunction(NamedTuple):
    """A Function, and what its parameters and results are to the caller."""

    function: Function
    inputs: tuple[TracedInput, ...]
    outputs: tuple[TracedOutput, ...]


def name_of(target: object) -> str:
    """Returns the name of an overload in the table: without the namespace of ATen."""
    return str(target).removeprefix("aten.")


def translated(graph: GraphModule, name: str = "graph", layouts: bool = True, draws: list[str] | None = None,
               variables: Mapping[int, Variable] = MappingProxyType({})) -> TracedFunction:
    """Returns a graph as a Function. Unsupported names the first op that has no row for its arguments.

    Parameters and results follow the ``layouts`` of the tensors. With ``draws`` random numbers become further
    parameters, of which it lists the kinds: "uniform" in [0, 1) or "normal". Each of the ``variables``, of the type
    that its parameter would have, stands for the argument of its number.
    """
    values: dict[Node, Foreign] = {}
    parameters: list[Parameter] = []
    numbers: list[Parameter] = []
    inputs: list[TracedInput] = []
    for node in graph.graph.nodes:
        if node.op == "placeholder":
            inputs.append(_read_input(node, values, parameters, layouts, variables.get(len(inputs))))
        elif node.op == "get_attr":
            values[node] = _constant(graph, node)
        elif node.op == "call_function":
            drawn = None if draws is None else drawn_by(node, values.__getitem__)
            if drawn is None or draws is None:
                values[node] = lowered(node, values.__getitem__)
            else:
                values[node], kind, parameter = drawn
                draws.append(kind)
                numbers.append(parameter)
        elif node.op == "output":
            results: list[Value] = []
            listed = node.args[0] if isinstance(node.args[0], (list, tuple)) else [node.args[0]]
            outputs = [_read_output(entry, values, results, layouts) for entry in listed]
        else:
            raise Unsupported(f"a graph with {node.op} {node.target}")
    function = Function(results, [*parameters, *numbers], name=name)
    needed = frozenset().union(*[symbols(entry) for entry in function.dimensions()],
                               *[symbols(entry.number) for entry in outputs if isinstance(entry.number, Dim)])
    known = {str(length) for op in parameters if 0 not in op.shape for length in op.shape if isinstance(length, Dim)}
    return _without_needless(TracedFunction(function, tuple(inputs), tuple(outputs)), needed - known)


def _without_needless(traced: TracedFunction, needed: frozenset[str]) -> TracedFunction:
    """Drops the parameters of numbers that the shapes of tensors tell anyway."""
    kept, inputs, places = list[Parameter](), list[TracedInput](), dict[int, int]()
    numbers = {entry.parameter for entry in traced.inputs if entry.is_number}
    for at, op in enumerate(traced.function.parameters):
        if at not in numbers or not op.shape or symbols(op.shape[0]) & needed:
            places[at] = len(kept)
            kept.append(op)
    for entry in traced.inputs:
        inputs.append(entry._replace(parameter=places.get(-1 if entry.parameter is None else entry.parameter)))
    function = Function(traced.function.results, kept, name=traced.function.name)
    return TracedFunction(function, tuple(inputs), traced.outputs)


# -- the border --------------------------------------------------------------------------------------------------------


def described(tensor: torch.Tensor) -> BasicTensorDescription:
    """Returns the type of a traced tensor."""
    if tensor.layout is not torch.strided or tensor.is_quantized:
        raise Unsupported(f"a {tensor.layout} tensor")
    if tensor.device.type != "cpu":
        raise Unsupported(f"a tensor on {tensor.device}")
    return BasicTensorDescription(dtype_of(tensor.dtype), tuple([length_of(size) for size in tensor.shape]))


def memory_order(tensor: torch.Tensor) -> tuple[int, ...] | None:
    """Returns the dimensions of a traced tensor from the outermost in memory; None if they are in order there, or if
    elements share memory.
    """
    strides = [_hint(stride) for stride in tensor.stride()]
    lengths = [_hint(size) for size in tensor.shape]
    moving = [d for d, length in enumerate(lengths) if length != 1]
    if any([strides[d] == 0 for d in moving]) or 0 in lengths:
        return None
    order = sorted(moving, key=lambda d: -strides[d])
    if order == moving:
        return None
    ordered = iter(order)
    return tuple([next(ordered) if d in moving else d for d in range(tensor.dim())])


def _hint(size: int | torch.SymInt) -> int:
    """Returns a length or a stride as it was when the graph was traced; Unsupported if data decide it."""
    hint = size if isinstance(size, int) else size.node.hint
    if hint is None:
        raise Unsupported(f"the length {size}, which depends on data")
    return hint


def _read_input(node: Node, values: dict[Node, Foreign], parameters: list[Parameter], layouts: bool,
                variable: Variable | None) -> TracedInput:
    value = node.meta.get("val")
    if isinstance(value, torch.Tensor):
        type_, order = described(value), memory_order(value) if layouts else None
        shape = type_.shape if order is None else tuple([type_.shape[d] for d in order])
        with on_behalf_of(provenance_of(node)):
            leaf = Parameter(type_.dtype, shape) if variable is None else ReadVariable(variable)
            leaf.name = node.name
            values[node] = leaf.output if order is None else ops.Permute(leaf, inverse_permutation(order)).output
        if not isinstance(leaf, Parameter):
            return TracedInput(None, order, False)
        parameters.append(leaf)
        return TracedInput(len(parameters) - 1, order, False)
    if isinstance(value, torch.SymInt):
        length = length_of(value)
        values[node] = length
        if isinstance(length, Dim):  # an array of this length and without elements tells the number
            parameters.append(Parameter(types.bool_, (length, 0)))
            return TracedInput(len(parameters) - 1, None, True)
    elif isinstance(value, torch.SymFloat):
        parameters.append(Parameter(types.float64, ()))
        values[node] = SymbolicNumber(parameters[-1].output)
        return TracedInput(len(parameters) - 1, None, True)
    elif not isinstance(value, (int, float, bool, type(None))):
        raise Unsupported(f"an argument of type {type(value).__name__}")
    else:
        values[node] = value
    return TracedInput(None, None, True)


def _constant(graph: GraphModule, node: Node) -> Value:
    found: Foreign = graph
    for part in str(node.target).split("."):
        found = getattr(found, part)
    if not isinstance(found, torch.Tensor):
        raise Unsupported(f"the attribute {node.target}")
    described(found)
    with unset_fake_temporarily():  # graphs are compiled where tensors are only shapes
        return Constant(as_array(found).copy(order="C")).output


def _read_output(entry: Foreign, values: dict[Node, Foreign], results: list[Value], layouts: bool) -> TracedOutput:
    if not isinstance(entry, Node):
        return TracedOutput(None, None, entry)
    value = values[entry]
    if isinstance(value, SymbolicNumber):
        raise Unsupported("a result that is a fraction of lengths")
    if not isinstance(value, Operand):
        return TracedOutput(None, None, value)
    order = memory_order(entry.meta["val"]) if layouts else None
    results.append(as_value(value if order is None else ops.Permute(value, order)))
    return TracedOutput(len(results) - 1, order, None)


# -- one op ------------------------------------------------------------------------------------------------------------


def lowered(node: Node, operand: Callable[[Node], Foreign]) -> Foreign:
    """Returns what a call computes: a value, a tuple of them, or a number. ``operand`` gives the same for a node."""
    if node.target is operator.getitem:
        several, at = node.args
        return operand(several)[at]
    expected = node.meta.get("val")
    if isinstance(expected, torch.SymInt):
        return length_of(expected)
    if isinstance(expected, torch.SymFloat):
        return SymbolicNumber(fraction_of(expected))
    if isinstance(expected, (int, float, bool)):
        return expected
    if expected is None:
        raise Unsupported(f"{node.target}, which returns nothing")
    name = name_of(node.target)
    function = ROWS.get(name)
    if function is None:
        raise Unsupported("there is no row for it")
    result = _types(expected)
    given = _all_arguments(node)
    arguments = [_substituted(entry, operand) for entry in given]
    further = {"memory": traced_memory(given[0])} if name in WITH_MEMORY else {}
    with on_behalf_of(provenance_of(node)):
        try:
            found = _checked(function(result, *arguments, **further), result)
        except NervureError as error:
            raise Unsupported(f"{error.op}: {error.message} ({error.got})") from error
        except (TypeError, ValueError, AttributeError, OverflowError, ZeroDivisionError) as error:
            raise Unsupported(f"arguments that the row does not expect: {error}") from error
    for at in _parts_that_are_read(node):
        if found[at] is None and result[at] is not None:
            raise Unsupported(f"the graph reads its result {at}, counted from 0, which the row does not give")
    return found


def _parts_that_are_read(node: Node) -> list[int]:
    """Returns the positions of those of a call's several results that others read, or that the graph returns."""
    return [reader.args[1] for reader in node.users if reader.target is operator.getitem and reader.users]


def traced_memory(node: Node) -> TracedMemory:
    """Returns how a traced tensor lies in memory; Unsupported if it has gaps there."""
    tensor = node.meta["val"]
    order = memory_order(tensor) or tuple(range(tensor.dim()))
    expected: DimLike = 1
    for d in reversed(order):
        length = length_of(tensor.shape[d])
        if length != 1 and equal(length_of(tensor.stride(d)), expected) is not True:
            raise Unsupported("a view by strides of a tensor with gaps")
        expected = expected * length
    is_known = isinstance(tensor.storage_offset(), int) or _viewed(node).op != "placeholder"
    return TracedMemory(order, length_of(tensor.storage_offset()) if is_known else None)


def _viewed(node: Node) -> Node:
    """Returns the node that made the memory of a traced tensor."""
    while node.target is operator.getitem or getattr(node.target, "is_view", False):
        node = node.args[0]
    return node


def assumed_offsets(graph: GraphModule) -> dict[int, int]:
    """Returns the arguments of which rows assume the place of the first element in memory, with that place.

    They are those of views that name a place: another call may give a part of a larger tensor.
    """
    places, found = graph.graph.find_nodes(op="placeholder"), dict[int, int]()
    for node in graph.graph.nodes:
        if name_of(node.target) in WITH_MEMORY and _all_arguments(node)[-1] is not None:
            viewed = _viewed(node.args[0])
            if viewed.op == "placeholder":
                found[places.index(viewed)] = viewed.meta["val"].storage_offset()
    return found


def drawn_by(node: Node, operand: Callable[[Node], Foreign]) -> tuple[Foreign, str, Parameter] | None:
    """Returns what a random op computes from numbers that are given to it: the result, the kind of the numbers, and
    their parameter. None for another op.
    """
    name = name_of(node.target)
    if name in ("rand.default", "randn.default"):
        type_ = described(node.meta["val"])
        parameter = Parameter.of(type_)
        return parameter.output, "uniform" if name == "rand.default" else "normal", parameter
    if name != "native_dropout.default":
        return None
    given, rate, is_training = _all_arguments(node)
    x = operand(given)
    parameter = Parameter(types.float32, x.shape)
    with on_behalf_of(provenance_of(node)):
        chance = 1 - rate if is_training is not False else 1.0
        kept = ops.Less(parameter, parameter.output.full(chance)).output
        scaled = ops.Where(kept, x * (1 / chance) if chance else x, x.full(0)).output
    return (scaled, kept), "uniform", parameter


def _types(expected: Foreign) -> Foreign:
    """Returns the types of results as PyTorch declares them, in the same form."""
    if isinstance(expected, torch.Tensor):
        return described(expected)
    if isinstance(expected, (list, tuple)):
        return tuple([_types(entry) for entry in expected])
    if expected is None:
        return None
    raise Unsupported(f"a result of type {type(expected).__name__}")


def _all_arguments(node: Node) -> list[Foreign]:
    """Returns the arguments of a call in the order of the schema, with its defaults."""
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        raise Unsupported("it is no op of PyTorch")
    return [node.args[at] if at < len(node.args) else node.kwargs.get(argument.name, argument.default_value)
            for at, argument in enumerate(schema.arguments)]


def _substituted(entry: Foreign, operand: Callable[[Node], Foreign]) -> Foreign:
    if isinstance(entry, Node):
        return operand(entry)
    if isinstance(entry, (list, tuple)):
        return [_substituted(part, operand) for part in entry]
    if isinstance(entry, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        raise Unsupported(f"an argument of type {type(entry).__name__}")
    return entry


def _checked(found: Foreign, result: Foreign) -> Foreign:
    """Returns what a row gave, which must have the types that PyTorch declares."""
    if result is None:
        return None
    if isinstance(result, tuple):
        if not isinstance(found, tuple) or len(found) > len(result):
            raise Unsupported(f"the row gives {found!r}")
        padded = (*found, *[None] * (len(result) - len(found)))
        return tuple([None if part is None else _checked(part, type_)
                      for part, type_ in zip(padded, result, strict=True)])
    value = as_value(found)
    if value.dtype is not result.dtype or value.rank != len(result.shape):
        raise Unsupported(f"the row gives {value.type} for {result}")
    if value.shape == result.shape:
        return value
    answers = [equal(own, other) for own, other in zip(value.shape, result.shape, strict=True)]
    if False in answers:
        raise Unsupported(f"the row gives {value.type} for {result}")
    return value if None not in answers else ops.AssumeShape(value, result.shape).output


def provenance_of(node: Node) -> Provenance:
    """Returns the user's line and the path of the module from which a node was traced."""
    return Provenance(location_of(node), _module_path(node), {})


def location_of(node: Node) -> Location | None:
    """Returns the innermost line of the user's from which a node was traced."""
    found = _FRAME.findall(node.stack_trace or "")
    return Location(found[-1][0], int(found[-1][1])) if found else None


def _module_path(node: Node) -> str:
    stack = node.meta.get("nn_module_stack") or {}
    entries = [entry for entry in stack.values() if isinstance(entry, tuple)]
    path = str(entries[-1][0]) if entries else ""
    return path.replace("L['self'].", "").replace("L['self']", "").replace(".", "/").strip("/")
