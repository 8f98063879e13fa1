"""Weights of PyTorch's models: safetensors files under its names, with its order of axes, read and written.

>>> import nervure as nv
>>> model = nv.nn.Sequential(nv.nn.LinearLayer(2, 3, weights=[[1, 2, 3], [4, 5, 6]]), nv.nn.BatchNorm(3))
>>> arrays = arrays_of(model)
>>> list(arrays)[:5]
['0.weight', '0.bias', '1.weight', '1.bias', '1.running_mean']
>>> arrays["0.weight"].tolist()
[[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]

A name is the path of a module and PyTorch's name of the parameter. Classes that PyTorch has are in a table here; the
parameters of others keep their own names and order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from nervure.errors import InvalidArgument, NotSupported, WrongKind, shown
from nervure.files.renaming import Rename, renaming
from nervure.files.state_dict import described, transformer_of, variable_of
from nervure.files.state_loading import Fitting, NotLoaded, fitness
from nervure.files.tensor_file import is_known, read_tensors, write_tensors
from nervure.front.creation import AssignableTensorOp
from nervure.front.promotion import promote
from nervure.ir.variable import Variable
from nervure.nn.activations import PReLU
from nervure.nn.attention import MultiHeadAttention
from nervure.nn.bilinear import Bilinear
from nervure.nn.layers import Embedding, LinearLayer
from nervure.nn.module import Module, parts_of
from nervure.nn.normalisers import BatchNorm, GroupNorm, LayerNorm, RMSNorm
from nervure.nn.recurrent import Recurrent
from nervure.nn.sliding import Conv
from nervure.nn.transposed import ConvTranspose
from nervure.transformers.base import Transformer
from nervure.types.description import BasicTensorDescription
from nervure.types.dtype import as_dtype

BATCHES = "num_batches_tracked"
"""PyTorch's count of the batches that a BatchNorm has seen: nothing here depends on it."""

_NAMES: dict[type[Module], dict[str, str]] = {
    LinearLayer: {"weights": "weight"}, Conv: {"weights": "weight"}, Embedding: {"weights": "weight"},
    ConvTranspose: {"weights": "weight"}, Bilinear: {"weights": "weight"},
    LayerNorm: {"scale": "weight", "shift": "bias"}, RMSNorm: {"scale": "weight"},
    GroupNorm: {"scale": "weight", "shift": "bias"},
    BatchNorm: {"scale": "weight", "shift": "bias", "running_mean": "running_mean", "running_variance": "running_var"},
    PReLU: {"slope": "weight"}}


_FLAT = (BatchNorm, PReLU)
"""Classes whose parameters have one axis in PyTorch, whatever they have here."""

_TRANSPOSED = (Recurrent, MultiHeadAttention)
"""Classes whose weights are called as they are in PyTorch, and have inputs in front of outputs here."""


class TorchForm(NamedTuple):
    """A place in PyTorch's form: its axes in this ``order``, and then of this ``shape``."""

    place: AssignableTensorOp
    order: tuple[int, ...]
    shape: tuple[int, ...]

    def there(self, array: np.ndarray) -> np.ndarray:
        """Returns the value of the place in PyTorch's form."""
        return np.ascontiguousarray(array.transpose(self.order)).reshape(self.shape)

    def here(self, array: np.ndarray) -> np.ndarray:
        """Returns the value of the place from PyTorch's form, in the place's own type."""
        own = variable_of(self.place).type
        lengths = [_number(own.shape[at]) for at in self.order]
        moved = array.reshape(lengths).transpose(np.argsort(self.order))
        return np.array(moved, dtype=own.dtype.numpy, order="C", copy=True)

    def problem(self, array: np.ndarray) -> str | None:
        """Returns the reason why an array cannot be its value: another shape, or a type whose numbers the place's
        lacks.
        """
        own, found = variable_of(self.place).type.dtype, as_dtype(array.dtype)
        are_floats = all([entry.is_float and not entry.storage_only for entry in (found, own)])
        is_held = found is own or are_floats and promote([found, own]) is own
        if is_held and array.shape == self.shape:
            return None
        return f"{described(array)}, where {BasicTensorDescription(own, self.shape)} is expected as PyTorch has it"


def arrays_of(model: object, transformer: Transformer | None = None, rename: Rename | None = None) -> dict[
        str, np.ndarray]:
    """Returns the content of a PyTorch file for the module of a ``model``, by name; a shared parameter occurs under
    each of its names. NotSupported names one of a type that PyTorch's files lack.
    """
    module, new_name = _module_of(model, "save_weights"), renaming(rename, "save_weights")
    forms = _forms(module, "save_weights")
    found = transformer_of(model, transformer).snapshot([variable_of(form.place) for form in forms.values()])
    arrays = {name: form.there(found[variable_of(form.place)]) for name, form in forms.items()}
    arrays.update({name: np.zeros((), np.int64) for name in _counts(module)})
    renamed = _renamed(arrays, new_name, "save_weights")
    for name, array in renamed.items():
        dtype = as_dtype(array.dtype)
        if not is_known(dtype):
            raise NotSupported(f"PyTorch's files have no {dtype.name}", op="save_weights", operand=name, got=dtype.name,
                               expected="a type that safetensors has",
                               help="rename= leaves out what it gives None for; without format= all types are written")
    return renamed


def write(path: str, arrays: Mapping[str, np.ndarray]) -> None:
    """Writes the result of ``arrays_of`` to a file at ``path``, marked as PyTorch's, as its readers require."""
    write_tensors(path, arrays, {"format": "pt"})


def read(model: object, path: str, rename: Rename | None) -> Fitting:
    """Reads the values of a model from a file, by PyTorch's names, and the entries that do not fit."""
    module, new_name = _module_of(model, "load_weights"), renaming(rename, "load_weights")
    arrays, counts = _renamed(read_tensors(path)[0], new_name, "load_weights"), set(_counts(module))
    forms = _forms(module, "load_weights")
    values: dict[Variable, np.ndarray] = {}
    mismatched: dict[str, str] = {}
    for name in [name for name in arrays if name in forms]:
        variable, problem = variable_of(forms[name].place), forms[name].problem(arrays[name])
        value = None if problem else forms[name].here(arrays[name])
        problem = problem if value is None else fitness(variable, value, values.get(variable))
        if value is not None and problem is None:
            values[variable] = value
        else:
            mismatched[name] = str(problem)
    reached = {forms[name].place for name in arrays if name in forms}
    firsts = {form.place: name for name, form in reversed(forms.items())}
    missing = [name for name, form in forms.items() if firsts[form.place] == name and form.place not in reached]
    unexpected = [name for name in arrays if name not in forms and name not in counts]
    return Fitting(values, NotLoaded(tuple(missing), tuple(unexpected), mismatched), {name: name for name in missing},
                   {name: name for name in unexpected}, [])


def _number(length: object) -> int:
    """Returns a length of a parameter, which is a number."""
    assert isinstance(length, int)
    return length


def _module_of(model: object, op: str) -> Module:
    """Returns the module whose weights are meant, for example that of a trainer; WrongKind if there is none."""
    found = model if isinstance(model, Module) else getattr(model, "module", None)
    if not isinstance(found, Module):
        raise WrongKind("PyTorch's names are those of modules", op=op, operand="model", got=shown(model),
                        expected="a module, or a trainer of one", help="give the module that holds the parameters")
    return found


def _forms(module: Module, op: str) -> dict[str, TorchForm]:
    """Returns the places in a module by PyTorch's names, under every name that they have there."""
    found: dict[str, TorchForm] = {}
    for path, inner in _with_paths(module):
        for name, slot, place in parts_of(inner):
            if isinstance(place, AssignableTensorOp) and slot not in inner._transient:
                full = f"{path}{_name(inner, slot) or name}"
                if full in found and found[full].place is not place:
                    raise InvalidArgument(f"two parameters are {full} in PyTorch", op=op, operand="model", got=full,
                                          expected="a name for each", help="give one of the attributes another name")
                found[full] = _form(inner, slot, place)
    return found


def _with_paths(module: Module) -> Iterator[tuple[str, Module]]:
    """Yields all modules, each with the prefix of its names, once for each prefix."""
    waiting: list[tuple[str, Module, frozenset[Module]]] = [("", module, frozenset())]
    while waiting:
        path, inner, around = waiting.pop()
        yield path, inner
        waiting.extend(reversed([(f"{path}{name}.", entry, around | {inner}) for name, _, entry in parts_of(inner)
                                 if isinstance(entry, Module) and entry not in around and entry is not inner]))


def _counts(module: Module) -> list[str]:
    return [f"{path}{BATCHES}" for path, inner in _with_paths(module) if isinstance(inner, BatchNorm)]


def _name(module: Module, slot: str) -> str | None:
    """Returns PyTorch's name for a slot of one of its classes."""
    if isinstance(module, _TRANSPOSED):
        return slot.replace("weights", "weight")
    return next((names.get(slot) for kind, names in _NAMES.items() if isinstance(module, kind)), None)


def _form(module: Module, slot: str, place: AssignableTensorOp) -> TorchForm:
    """Returns the axes of a place in PyTorch's form: outputs before inputs, and several axes of one meaning as one."""
    rank, lengths = place.ndim, [_number(length) for length in place.shape]
    if isinstance(module, LinearLayer) and slot in ("weights", "bias"):
        inputs = len(module._inputs) if slot == "weights" else 0
        shape = [math.prod(lengths[inputs:]), *[math.prod(lengths[:inputs])][:inputs]]
        return TorchForm(place, (*range(inputs, rank), *range(inputs)), tuple(shape))
    if isinstance(module, _TRANSPOSED) and rank == 2:
        return TorchForm(place, (1, 0), (lengths[1], lengths[0]))
    if isinstance(module, Conv) and slot == "weights" and place.is_named:
        order = (rank - 1, *range(rank - 1))
        return TorchForm(place, order, tuple([lengths[at] for at in order]))
    if isinstance(module, (ConvTranspose, Bilinear)) and slot == "weights" and place.is_named:
        is_first = isinstance(module, Bilinear)  # the axis of the outputs
        order = (rank - 1, *range(rank - 1)) if is_first else (0, rank - 1, *range(1, rank - 1))
        return TorchForm(place, order, tuple([lengths[at] for at in order]))
    if isinstance(module, _FLAT) and _name(module, slot) is not None:
        return TorchForm(place, tuple(range(rank)), (math.prod(lengths),))
    return TorchForm(place, tuple(range(rank)), tuple(lengths))


def _renamed(arrays: dict[str, np.ndarray], new_name: Callable[[str], str | None],
             op: str) -> dict[str, np.ndarray]:
    """Returns arrays under other names; InvalidArgument if two get one."""
    found: dict[str, np.ndarray] = {}
    for name, array in arrays.items():
        other = new_name(name)
        if other in found:
            raise InvalidArgument(f"two names become {other}", op=op, operand="rename", got=name,
                                  expected="a name for each", help="None leaves out what has no place")
        if other is not None:
            found[other] = array
    return found
