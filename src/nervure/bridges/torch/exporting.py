"""Importing models: ``torch.export`` traces them, and they become modules of nervure with the same parameters.

>>> import torch
>>> model = imported(torch.nn.Linear(3, 2), [torch.ones(4, 3)], True)
>>> [path for path, _ in model.named_parameters()], model(np.ones((7, 3), np.float32)).shape
(['weight', 'bias'], (7, 2))
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import re
from collections.abc import Mapping, Sequence

import torch
from torch._dynamo.exc import UserError, UserErrorType
from torch.export import ExportedProgram, export
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx.experimental.symbolic_shapes import ConstraintViolationError
from torch.utils._pytree import tree_leaves, tree_map, tree_map_only, tree_unflatten

from nervure.bridges.torch.decompositions import decompositions
from nervure.bridges.torch.factorisation_checks import without_checks
from nervure.bridges.torch.fallback import refusal
from nervure.bridges.torch.gradient_stops import with_stops
from nervure.bridges.torch.imported_module import Given, ImportedMode, ImportedModule, Result
from nervure.bridges.torch.kept_whole import KeptWhole
from nervure.bridges.torch.length_conditions import conditions_of
from nervure.bridges.torch.own_gradients import OwnGradients, refuse_hooks
from nervure.bridges.torch.rebuilding import widened
from nervure.bridges.torch.torch_tensors import as_array
from nervure.bridges.torch.traced_sizes import length_of
from nervure.bridges.torch.translation import TracedFunction, translated
from nervure.bridges.torch.unsupported import Foreign, Unsupported
from nervure.errors import InvalidArgument, NervureError, NotSupported, WrongKind
from nervure.front.creation import AssignableTensorOp, persistent_tensor, variable
from nervure.types.dim import Dim

_PLACES = (InputKind.PARAMETER, InputKind.BUFFER)


def imported(model: Foreign, example_inputs: Sequence[Foreign] | Mapping[str, Foreign],
             dynamic: object) -> ImportedModule:
    """Imports a ``model`` as ``nervure.from_torch`` does, whose arguments these are."""
    if isinstance(model, ExportedProgram):
        program = _read(model)
        return ImportedModule(_places(program), dict.fromkeys(("training", "evaluation"), _mode(program)),
                              _transient(program))
    if not isinstance(model, torch.nn.Module):
        raise WrongKind("only models can be imported", op="from_torch", operand="model", got=type(model).__name__,
                        expected="a torch.nn.Module or an ExportedProgram", help="torch.export.export(...) makes one")
    evaluated = _exported(model, False, example_inputs, dynamic)
    modes: dict[str, ImportedMode | str] = {"evaluation": _mode(evaluated)}
    try:
        modes["training"] = _mode(_exported(model, True, example_inputs, dynamic))
    except NotSupported as error:
        modes["training"] = f"{error.op}: {error.message}, at {error.location}"
    return ImportedModule(_places(evaluated), modes, _transient(evaluated)).train(model.training)


def _exported(model: torch.nn.Module, is_training: bool, inputs: Sequence[Foreign] | Mapping[str, Foreign],
              dynamic: object) -> ExportedProgram:
    """Traces a model in one of its modes, which it keeps. In its own mode its modules have theirs, as frozen ones."""
    modes = {module: module.training for module in model.modules()}
    if dynamic is True:
        inputs = tree_map_only(torch.Tensor, _with_two, inputs)
    if is_training:
        refuse_hooks(model)
    try:
        given = _bound(model, inputs)
        if model.training is not is_training:
            model.train(is_training)
        # Tracing runs the model, which must not move its statistics.
        with KeptWhole(), OwnGradients(is_training):
            found = export(copy.deepcopy(model), given.args, given.kwargs, dynamic_shapes=_shapes(dynamic, given))
    except Exception as error:  # torch.export raises many types
        raise _refusal(model, error) from error
    finally:
        for module, mode in modes.items():
            module.training = mode
    if dynamic is True:
        _check_open(found)
    return _read(found)


def _bound(model: torch.nn.Module, inputs: Sequence[Foreign] | Mapping[str, Foreign]) -> inspect.BoundArguments:
    """Returns examples in the order of the model's parameters, by position as far as none of these is left out.

    Of a tensor that is the example of two inputs, for which torch.export would take one for the other, it has two.
    """
    seen: set[int] = set()

    def apart(x: torch.Tensor) -> torch.Tensor:
        if id(x) in seen:
            return x.detach().requires_grad_(x.requires_grad)
        seen.add(id(x))
        return x

    signature, inputs = inspect.signature(model.forward), tree_map_only(torch.Tensor, apart, inputs)
    if isinstance(inputs, Mapping):
        return signature.bind(**inputs)
    return signature.bind(*[inputs] if isinstance(inputs, torch.Tensor) else inputs)


def _check_open(program: ExportedProgram) -> None:
    """Raises InvalidArgument if the first axis of an input has become a number, which torch.export does not say."""
    for node in program.graph.find_nodes(op="placeholder"):
        x = node.meta.get("val")
        if node.name in program.graph_signature.user_inputs and isinstance(x, torch.Tensor) and x.dim():
            length = length_of(x.shape[0])
            if isinstance(length, int):
                raise _about_lengths(f"{node.name} with a first axis of {length} elements, and of no other length")


def _refusal(model: torch.nn.Module, error: Exception) -> NervureError:
    """Returns the error for a model, or for lengths, that torch.export refuses by another ``error``."""
    if isinstance(error, (InvalidArgument, NotSupported)):
        return error
    if unknown := re.search(r"Found <class '(.*)'> in output, which is not a known type", str(error)):
        return _about_form(unknown[1])
    got = f"{type(error).__name__}: {' '.join(str(error).splitlines()[:2])}"
    about_lengths = UserErrorType.INVALID_INPUT, UserErrorType.CONSTRAINT_VIOLATION
    is_user_error = isinstance(error, UserError) and error.error_type in about_lengths
    if is_user_error or isinstance(error, ConstraintViolationError):
        return _about_lengths(got)
    return NotSupported("torch.export cannot trace this model", op="from_torch", operand=type(model).__name__,
                        got=got, expected="a model without branches on data, and inputs that it takes",
                        help='torch.compile(model, backend="nervure") compiles the parts between them')


def _about_lengths(got: str) -> InvalidArgument:
    return InvalidArgument("torch.export cannot trace the model with such lengths", op="from_torch",
                           operand="dynamic", got=got, expected="dynamic_shapes that fit the model and its inputs",
                           help="dynamic=True leaves the first axis of each input open, dynamic=None none")


def _shapes(dynamic: object, given: inspect.BoundArguments) -> Foreign:
    """Returns the ``dynamic_shapes`` of torch.export: for True, the first axis of each tensor among the inputs."""
    if dynamic is None or dynamic is False:
        return None
    if dynamic is not True:
        return dynamic
    return tree_map(lambda x: {0: torch.export.Dim.AUTO} if isinstance(x, torch.Tensor) and x.dim() else None,
                    given.arguments)


def _with_two(x: torch.Tensor) -> torch.Tensor:
    """Returns an example with a batch of two in place of one, which torch.export would take for a number."""
    return torch.cat([x, x]) if x.dim() and x.shape[0] == 1 else x


def _read(program: ExportedProgram) -> ExportedProgram:
    """Returns a program in the ops of the table, without checks of element types, which hold for any Function."""
    try:
        found = with_stops(program).run_decompositions(decompositions())
    except Exception as error:  # decompositions raise any
        raise NotSupported("an op of this model cannot be written in those of the table", op="from_torch",
                           got=f"{type(error).__name__}: {' '.join(str(error).splitlines()[:1])}",
                           expected="ops that PyTorch decomposes",
                           help='torch.compile(model, backend="nervure") may leave it to PyTorch') from error
    graph = found.graph_module.graph
    for node in graph.find_nodes(op="call_function", target=torch.ops.aten._assert_tensor_metadata.default):
        graph.erase_node(node)
    return found


def _mode(program: ExportedProgram) -> ImportedMode:
    """Returns an exported program as a Function, and the origin of its parameters."""
    graph, signature = without_checks(_with_constants(program)), program.graph_signature
    draws: list[str] = []
    try:
        traced = translated(graph, "imported", layouts=False, draws=draws)
    except Unsupported:
        raise refusal(graph, "from_torch") from None
    specs = [spec for spec in signature.input_specs if spec.kind is not InputKind.CONSTANT_TENSOR]
    givens = [Given(kind, spec.target or spec.arg.name, traced.function.parameters[entry.parameter].type)
              for spec, kind, entry in zip(specs, _kinds(program, specs), traced.inputs, strict=True)
              if entry.parameter is not None]
    drawn = traced.function.parameters[len(givens):]
    givens += [Given(kind, "", op.type) for kind, op in zip(draws, drawn, strict=True)]
    return ImportedMode(widened(traced.function), tuple(givens), tuple(_results(program, traced)),
                        conditions_of(program), _form(program, traced))


def _kinds(program: ExportedProgram, specs: Sequence[Foreign]) -> list[str]:
    """Returns the kinds of parameters, as a Given has them: what the program took by name has no position."""
    listed, _ = program.call_spec.in_spec.children()
    kinds = iter(["input"] * listed.num_leaves + ["named"] * (len(specs) - listed.num_leaves))
    return [next(kinds) if spec.kind is InputKind.USER_INPUT else "place" for spec in specs]


def _with_constants(program: ExportedProgram) -> Foreign:
    """Returns the graph of a program with its constant tensors as attributes of it, rather than arguments."""
    graph = program.graph_module
    for spec in program.graph_signature.input_specs:
        if spec.kind is InputKind.CONSTANT_TENSOR:
            node = next(node for node in graph.graph.nodes if node.op == "placeholder" and node.name == spec.arg.name)
            name = f"constant_{spec.arg.name}"
            graph.register_buffer(name, program.constants[spec.target])
            with graph.graph.inserting_before(node):
                found = graph.graph.get_attr(name)
            found.meta = dict(node.meta)
            node.replace_all_uses_with(found)
            graph.graph.erase_node(node)
    return graph


def _results(program: ExportedProgram, traced: TracedFunction) -> list[tuple[str, str]]:
    found = []
    for spec, output in zip(program.graph_signature.output_specs, traced.outputs, strict=True):
        if spec.kind is OutputKind.USER_OUTPUT and output.result is not None:
            found.append(("result", ""))
        elif spec.kind in (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION):
            found.append(("update", spec.target))
        elif spec.kind not in (OutputKind.USER_OUTPUT, OutputKind.TOKEN):
            raise NotSupported("the model writes to its inputs", op="from_torch", got=spec.target,
                               expected="results alone", help="return what is written")
    return found


def _places(program: ExportedProgram) -> dict[str, AssignableTensorOp]:
    """Returns the parameters and buffers by their names; those that are the same elements in memory are one."""
    found: dict[str, AssignableTensorOp] = {}
    known: dict[tuple[object, ...], AssignableTensorOp] = {}
    values = {**dict(program.named_buffers()), **dict(program.named_parameters()), **program.state_dict}
    for spec in program.graph_signature.input_specs:
        if spec.kind in _PLACES:
            tensor = values[spec.target] if spec.target in values else program.constants[spec.target]
            key = tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tensor.stride()
            if key not in known or not tensor.numel():
                array = as_array(tensor).copy(order="C")
                is_trainable = tensor.requires_grad and array.dtype.kind in "fcV"
                known[key] = (variable if is_trainable else persistent_tensor)(array.shape, array)
            found[spec.target] = known[key]
    return found


def _transient(program: ExportedProgram) -> frozenset[str]:
    """Returns the names of the buffers that the state dict of a model leaves out."""
    return frozenset([spec.target for spec in program.graph_signature.input_specs
                      if spec.kind is InputKind.BUFFER and spec.persistent is False])


def _form(program: ExportedProgram, traced: TracedFunction) -> object:
    """Returns the form of what a model returns: tuples, lists and dicts, in which each Result stands for a tensor."""
    entries: list[object] = []
    count = 0
    for spec, output in zip(program.graph_signature.output_specs, traced.outputs, strict=True):
        if spec.kind is OutputKind.USER_OUTPUT:
            entries.append(output.number if output.result is None else Result(count))
            count += output.result is not None
    return _plain(tree_unflatten(entries, program.call_spec.out_spec))


def _plain(form: Foreign) -> object:
    """Returns a form without classes of other libraries: mappings and dataclasses become dicts."""
    if isinstance(form, (Result, Dim)):
        return form
    if isinstance(form, Mapping):
        return {name: _plain(part) for name, part in form.items()}
    if isinstance(form, (list, tuple)):
        return [_plain(part) for part in form] if isinstance(form, list) else tuple([_plain(part) for part in form])
    if dataclasses.is_dataclass(form):
        return {field.name: _plain(getattr(form, field.name)) for field in dataclasses.fields(form)}
    if any([isinstance(part, (Result, Dim)) for part in tree_leaves(form, lambda part: isinstance(part, Result))]):
        raise _about_form(f"{type(form).__module__}.{type(form).__qualname__}")
    return form


def _about_form(got: str) -> NotSupported:
    return NotSupported("the model returns an object of a class that the import does not know", op="from_torch",
                        got=got, expected="tensors, or tuples, lists, dicts and dataclasses of them",
                        help="return its tensors; models of transformers do with use_cache=False among their inputs")
