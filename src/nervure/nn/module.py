"""Modules: objects that hold parameters and other modules, and compute a tensor from tensors.

A module is a class with typed fields and a ``forward``. Parameters are variables, set as attributes, which needs no
registration:

>>> import nervure as nv
>>> from nervure import nn
>>> class Scaled(nn.Module):
...     inner: nn.Module
...     rate: float = 0.5
...     def forward(self, x):
...         return self.inner(x) * self.rate
>>> model = Scaled(nn.LinearLayer("F=3", "K=2"))
>>> model
Scaled(
  inner: LinearLayer(weights=f32[F=3, K=2], bias=f32[K=2])
  rate=0.5
)
>>> print(model(nv.placeholder("N=n, F=3")).axes)
(N: n, K: 2)
>>> [path for path, _ in model.named_parameters()], [name for name in model.state_names().values()]
(['inner.weights', 'inner.bias'], ['linearlayer.0.weights', 'linearlayer.0.bias'])

A call builds the graph, once; ``train()`` and ``eval()`` choose which graph later calls build.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, Protocol, TypeVar, cast, dataclass_transform
from weakref import WeakKeyDictionary, ref

from numpy import ndarray

from nervure.errors import InvalidArgument, NervureError, NotSupported, WrongKind, shown
from nervure.front import display
from nervure.front.argument_parsing import truth
from nervure.front.creation import AssignableTensorOp, constant, placeholder
from nervure.front.evaluation_order import behind_effects
from nervure.front.given_arrays import numpy_array
from nervure.front.record import record_of
from nervure.front.tensor import Tensor, described_type, is_scalar
from nervure.ir.provenance import name_scope
from nervure.nn import fields
from nervure.nn.calls import ModuleCall, caller, noted, noting
from nervure.nn.copying import copied_fields, remember_places
from nervure.nn.summary import Summary, line_of, size, summary_of
from nervure.support.elsewhere import unknown_member
from nervure.types.axes import AxesLike
from nervure.types.dtype import DType, as_dtype
from nervure.types.foreign import is_array

Own = TypeVar("Own", bound="Module")
Inputs = ParamSpec("Inputs")
Output = TypeVar("Output", covariant=True)


class Forwards(Protocol[Inputs, Output]):
    """A class with a ``forward``: type checkers give a call the types of its parameters and its result."""

    def forward(self, *inputs: Inputs.args, **named: Inputs.kwargs) -> Output:
        """Computes the result of a call."""


@dataclass_transform()
class Module:
    """The base class of layers and models. Annotations of the class are its fields, which ``Module(...)`` takes in
    order or by name; a value of another type is a WrongKind. ``__post_init__`` runs after they are set.

    >>> class Doubled(nv.nn.Module):
    ...     times: int = 2
    ...     def forward(self, x):
    ...         return x * self.times
    >>> Doubled()(nv.constant([1, 2])).tolist(), Doubled(times=3)
    ([2.0, 4.0], Doubled(times=3))
    """

    training = True
    _transient = frozenset[str]()  # the slots of buffers that files for PyTorch leave out

    def __init__(self, *values: object, **named: object) -> None:
        for name, value in fields.bound(type(self), values, named).items():
            setattr(self, name, value)
        self.__post_init__()

    def __post_init__(self) -> None:
        """Runs after the fields are set, for example to make parameters of their sizes."""

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Computes the result of a call; each class defines its own, whose types are those of a call."""
        raise NotSupported(f"{type(self).__name__} has no forward", op=type(self).__name__, operand="forward",
                           got="a call", expected="def forward(self, x): ...",
                           help="a module computes what its method forward returns")

    def __call__(self: Forwards[Inputs, Output], *inputs: Inputs.args, **named: Inputs.kwargs) -> Output:
        """Runs ``forward`` in a name scope: that of the module's name in its caller, else of its class. An error names
        the innermost module that it comes from, by its path in the outermost one.
        """
        return cast(Output, _call(cast(Module, self), inputs, named))

    def __init_subclass__(cls) -> None:
        for name, value in vars(cls).items():
            _check_default(cls, name, value)

    if not TYPE_CHECKING:  # type checkers see missing attributes as missing
        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_"):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            raise unknown_member(self, name)

    def __setattr__(self, name: str, value: object) -> None:
        fields.check(type(self), name, value)
        before = vars(self).get(name)
        object.__setattr__(self, name, value)
        self._release(name, before)
        for _, slot, found in _members(name, value):
            if isinstance(found, AssignableTensorOp):
                _adopt(self, slot, found)
            else:
                _nest(self, found)

    def __delattr__(self, name: str) -> None:
        before = vars(self).get(name)
        object.__delattr__(self, name)
        self._release(name, before)

    def _release(self, name: str, before: object) -> None:
        """Releases the places that a field had before; one that another field has, too, or another module, belongs
        there from now on.
        """
        for _, _, found in _members(name, before):
            if isinstance(found, AssignableTensorOp) and found.variable is not None:
                record = record_of(found)
                if record.owner is self:
                    record.owner = record.slot = None
                    for holder in (self, *(record.holders or ())):
                        _adopt_again(holder, found)

    def __deepcopy__(self: Own, memo: dict[int, object]) -> Own:
        """Returns a module of the same form, whose parameters and buffers are new variables with the same values."""
        remember_places([place for _, place in self._places()], memo)
        made = object.__new__(type(self))
        memo[id(self)] = made
        for name, value in copied_fields(self, memo):
            setattr(made, name, value)
        return made

    # -- contents ----------------------------------------------------------------------------------

    def named_modules(self) -> list[tuple[str, Module]]:
        """Lists the module itself and all inside, each once, with paths such as ``"inner.0"``. They come depth first,
        in the order of definition; the path of the module itself is ``""``.
        """
        found: dict[Module, str] = {}
        waiting: list[tuple[str, Module]] = [("", self)]
        while waiting:
            path, module = waiting.pop()
            if module not in found:
                found[module] = path
                inside = [(_joined(path, name), entry) for name, _, entry in _entries(module)
                          if isinstance(entry, Module)]
                for _, entry in inside:
                    _nest(module, entry)
                waiting.extend(reversed(inside))
        return [(path, module) for module, path in found.items()]

    def modules(self) -> list[Module]:
        """Lists the module itself and all inside, each once, depth first in the order of definition."""
        return [module for _, module in self.named_modules()]

    def named_parameters(self) -> list[tuple[str, AssignableTensorOp]]:
        """Lists the trainable variables of all modules, each once, with paths such as ``"inner.0.weights"``."""
        return [(path, place) for path, place in self._places() if place.is_trainable]

    def parameters(self) -> list[AssignableTensorOp]:
        """Lists the trainable variables of all modules, each once."""
        return [place for _, place in self.named_parameters()]

    @property
    def float_dtype(self) -> DType | None:
        """The element type of the first parameter of real numbers; None without such. Arrays that are given to the
        module take it.
        """
        return next((place.dtype for place in self.parameters() if place.dtype.is_float), None)

    def named_buffers(self) -> list[tuple[str, AssignableTensorOp]]:
        """Lists the other persistent tensors, such as running statistics, with their paths."""
        return [(path, place) for path, place in self._places() if not place.is_trainable]

    def buffers(self) -> list[AssignableTensorOp]:
        """Lists the other persistent tensors, such as running statistics."""
        return [place for _, place in self.named_buffers()]

    def _places(self) -> list[tuple[str, AssignableTensorOp]]:
        """Returns the places that keep their values, each at its first path, and adopts them, as a list may have
        grown.
        """
        found: dict[AssignableTensorOp, str] = {}
        for path, module in self.named_modules():
            for name, slot, entry in _entries(module):
                if isinstance(entry, AssignableTensorOp) and _is_kept(entry) and entry not in found:
                    _adopt(module, slot, entry)
                    found[entry] = _joined(path, name)
        return [(path, place) for place, path in found.items()]

    def state_names(self) -> dict[AssignableTensorOp, str]:
        """Names the parameters and buffers as files do: class, number among the modules of that class, slot.

        >>> model = nv.nn.Sequential(nv.nn.LinearLayer(2, 2), nv.nn.LinearLayer(2, 2, bias=False))
        >>> list(model.state_names().values())
        ['linearlayer.0.weights', 'linearlayer.0.bias', 'linearlayer.1.weights']
        """
        numbers, found = Counter[str](), dict[AssignableTensorOp, str]()
        for module in self.modules():
            kind = type(module).__name__.lower()
            for _, slot, entry in _entries(module):
                if isinstance(entry, AssignableTensorOp) and _is_kept(entry) and entry not in found:
                    found[entry] = f"{kind}.{numbers[kind]}.{slot}"
            numbers[kind] += 1
        _check_names(found, "state_names")
        return found

    def state_paths(self) -> dict[AssignableTensorOp, str]:
        """Maps parameters and buffers to their paths in files, each place once; InvalidArgument if two have one path.

        >>> list(nv.nn.Sequential(nv.nn.LinearLayer(2, 2)).state_paths().values())
        ['0.weights', '0.bias']
        """
        found = {place: path for path, place in self._places()}
        _check_names(found, "state_paths")
        return found

    def place_at(self, path: str) -> AssignableTensorOp | None:
        """Returns the parameter or buffer at any of its paths; None if there is none.

        >>> layer = nv.nn.LinearLayer(2, 2)
        >>> nv.nn.Sequential(layer, layer).place_at("1.bias") is layer.bias
        True
        """
        module, rest = located(self, path)
        found = [entry for name, _, entry in _entries(module) if name == rest]
        return found[0] if found and isinstance(found[0], AssignableTensorOp) and _is_kept(found[0]) else None

    # -- the switch --------------------------------------------------------------------------------

    def train(self: Own, mode: bool = True) -> Own:
        """Sets this module and all inside to training (or, with False, to evaluation), for the calls after this one."""
        mode = truth(mode, "train", "mode")
        for module in self.modules():
            object.__setattr__(module, "training", mode)
        return self

    def eval(self: Own) -> Own:
        """Sets this module and all inside to evaluation: nothing is dropped, and running statistics do not change."""
        return self.train(False)

    # -- display -----------------------------------------------------------------------------------

    def summary(self, *inputs: AxesLike | Tensor) -> Summary:
        """Summarises the module: a line for each call of a module that computing it from such inputs makes. Inputs are
        axes, with symbols or numbers as lengths, or tensors if their type is not float32.

        >>> print(nv.nn.Embedding("V=9", "F=4").summary(nv.placeholder("N=2", dtype=nv.int64)).totals)
        36 parameters, 144 bytes; buffers 0 bytes
        """
        given = [entry if isinstance(entry, Tensor) else placeholder(entry) for entry in inputs]
        with noting() as calls:
            self(*given)
        names: dict[object, str] = {module: path.rpartition(".")[2] for path, module in self.named_modules()}
        lines = [line_of(call, names.get(call.module, ""), cast(Module, call.module).parameters()) for call in calls]
        return summary_of(lines, self.parameters(), self.buffers())

    @recursive_repr()
    def __repr__(self) -> str:
        shown = [text for name, value in vars(self).items() if name[0] != "_" and name != "training"
                 for text in _texts(name, value)]
        if not any(["\n" in text or ": " in text for text in shown]):
            return f"{type(self).__name__}({', '.join(shown)})"
        return "\n".join([f"{type(self).__name__}(", *["  " + text.replace("\n", "\n  ") for text in shown], ")"])

    def _repr_html_(self) -> str:
        rows = [(path, type(module).__name__, ", ".join([_shown(name, entry) for name, _, entry in _entries(module)
                                                          if not isinstance(entry, Module)]))
                for path, module in self.named_modules()]
        total = f"{type(self).__name__}: {size(self.parameters()):,} parameters"
        return display.table(("path", "module", "parameters and buffers"), rows, total)


def _call(module: Module, inputs: tuple[object, ...], named: dict[str, object]) -> object:
    """Calls ``forward`` in a name scope, and records the call and its result."""
    name = _called(module, caller())
    with name_scope(name), noted(module, (*inputs, *named.values()), name) as call:
        try:
            own = [_taken(module, entry) for entry in inputs]
            others = {key: _taken(module, entry) for key, entry in named.items()}
            call.result = behind_effects([*own, *others.values()], module.forward(*own, **others))
        except Exception as error:
            if isinstance(error, TypeError) and not isinstance(error, NervureError):
                _check_inputs(module, inputs, named, call)
            _tell_where(error, call)
            raise
        return call.result


def _taken(module: Module, given: object) -> object:
    """Returns the argument that ``forward`` receives: an array of real numbers becomes a tensor of the parameters'
    type. Tensors, whose type was chosen, and all else stay as they are.
    """
    if isinstance(given, Tensor) or is_scalar(given) or not is_array(given):
        return given
    array = numpy_array(given, type(module).__name__)
    if not as_dtype(array.dtype).is_float:
        return given
    dtype = module.float_dtype
    return given if dtype is None else constant(array, dtype=dtype)


# -- the places and modules of a field ---------------------------------------------------------------


def _entries(module: Module) -> Iterator[tuple[str, str, object]]:
    """Yields (path, slot, entry) for the modules and places in the fields of a module."""
    for name, value in vars(module).items():
        yield from _members(name, value)


def parts_of(module: Module) -> list[tuple[str, str, Module | AssignableTensorOp]]:
    """Lists (path, slot, part) for the modules, parameters and buffers in the fields of a module.

    >>> [(path, slot) for path, slot, _ in parts_of(nv.nn.Sequential(nv.relu))]
    [('0', '0')]
    """
    return [(path, slot, entry) for path, slot, entry in _entries(module)
            if isinstance(entry, Module) or isinstance(entry, AssignableTensorOp) and _is_kept(entry)]


def _members(name: str, value: object) -> Iterator[tuple[str, str, object]]:
    """Yields (path, slot, entry) for the modules and places that a field holds: itself, or in lists, tuples and dicts.
    """
    waiting, seen = [(name, name, value)], set[int]()
    while waiting:
        path, slot, entry = waiting.pop()
        if isinstance(entry, (Module, AssignableTensorOp)):
            yield path, slot, entry
        elif isinstance(entry, (list, tuple, dict)) and id(entry) not in seen:
            seen.add(id(entry))
            inner = [(str(key) if str(key).isidentifier() else str(at), part)
                     for at, (key, part) in enumerate(entry.items() if isinstance(entry, dict) else enumerate(entry))]
            waiting.extend(reversed([(f"{path}.{key}", f"{slot}_{key}", part) for key, part in inner]))


def _adopt(owner: Module, slot: str, place: AssignableTensorOp) -> None:
    """Records which module holds a place, and in which slot; a place that has a module stays there."""
    if not _is_kept(place):
        return
    record = record_of(place)
    if record.owner is None:
        record.owner, record.slot = owner, slot
    elif record.owner is not owner:
        if record.holders is None:
            record.holders = WeakKeyDictionary()
        record.holders[owner] = None
    if place.name is None:
        place.named(slot)


def _adopt_again(owner: object, place: AssignableTensorOp) -> None:
    """Records that a module holds a place which another one has released, if one of its fields does."""
    if not isinstance(owner, Module):
        return
    slot = next((slot for _, slot, found in _entries(owner)
                 if isinstance(found, AssignableTensorOp) and found.variable is place.variable), None)
    if slot is not None:
        _adopt(owner, slot, place)


def _called(module: Module, by: object) -> str:
    """Returns the name of a module in its caller, or that of its class if it is no part of the caller."""
    names = [path for path, _, entry in (_entries(by) if isinstance(by, Module) else ()) if entry is module]
    if names:
        _nest(by, module)
    return names[0] if names else type(module).__name__


_around: WeakKeyDictionary[object, ref[Module]] = WeakKeyDictionary()


def _nest(module: object, inner: object) -> None:
    """Records which module holds another one; the first stays for as long as it holds it."""
    if isinstance(module, Module) and isinstance(inner, Module):
        before = _around.get(inner)
        if before is None or before() is not module and _module_around(inner) is None:
            _around[inner] = ref(module)


def _module_around(inner: Module) -> Module | None:
    """Returns the module that is known to hold another one."""
    noted = _around.get(inner)
    known = None if noted is None else noted()
    return known if known is not None and any([entry is inner for _, _, entry in _entries(known)]) else None


def outermost(module: Module) -> Module:
    """Returns the outermost of the modules around this one.

    >>> model = nv.nn.Sequential(nv.nn.Residual(nv.nn.LinearLayer(2, 2)))
    >>> outermost(model[0].inner) is model
    True
    """
    seen = {module}
    while (around := _module_around(module)) is not None and around not in seen:
        seen.add(around)
        module = around
    return module


def located(module: Module, path: str) -> tuple[Module, str]:
    """Returns the innermost module on the way along a path, and the rest of the path.

    >>> model = nv.nn.Sequential(nv.nn.LinearLayer(2, 2))
    >>> located(model, "0.bias") == (model[0], "bias")
    True
    """
    while True:
        inside = [(name, entry) for name, _, entry in _entries(module)
                  if isinstance(entry, Module) and (path == name or path.startswith(f"{name}."))]
        if not inside:
            return module, path
        name, module = inside[0]
        path = path[len(name) + 1:]


def _check_inputs(module: Module, inputs: tuple[object, ...], named: dict[str, object], call: ModuleCall) -> None:
    """Raises WrongKind if ``forward`` does not take this number of inputs, or these keywords."""
    signature = inspect.signature(module.forward)
    try:
        signature.bind(*inputs, **named)
    except TypeError as error:
        got = ", ".join([f"{len(inputs)} by position", *[f"{name}=" for name in named]])
        refused = WrongKind(f"forward does not take these inputs: {error}", op=type(module).__name__, got=got,
                            expected=f"({', '.join(signature.parameters)})",
                            help="a module is called with what its forward takes")
        _tell_where(refused, call)
        raise refused from None


def _tell_where(error: Exception, call: ModuleCall) -> None:
    """Tells an error which module it comes from, the innermost one, and with which inputs. An error of another library
    gets a note.
    """
    if isinstance(error, NervureError):
        if error.module is None:
            error.module = _described(call)
    elif not any([note.startswith(_NOTED) for note in getattr(error, "__notes__", ())]):
        error.add_note(_NOTED + _described(call))


_NOTED = "in the module "


def _described(call: ModuleCall) -> str:
    """Describes a module: its path in the outermost one, its class, and its inputs."""
    first, kind = call.outermost, type(call.module).__name__
    paths = [path for path, module in outermost(first).named_modules() if module is first] if isinstance(
        first, Module) else []
    path = ".".join([name for name in (*paths, *call.names) if name])
    given = ", ".join([_given(x) for x in call.arguments])
    return f"{path}{': ' if path else ''}{kind}, given {given or 'nothing'}"


def _given(x: object) -> str:
    """Describes an argument by its type: elements would fill the screen."""
    if isinstance(x, Tensor):
        return described_type(x)
    return f"{x.dtype} array {x.shape}" if isinstance(x, ndarray) else f"{' '.join(shown(x).split()):.60}"


def _is_kept(place: AssignableTensorOp) -> bool:
    """Whether a place keeps its value between computations."""
    return place.is_persistent and not place.is_constant and not place.is_input


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _check_names(names: dict[AssignableTensorOp, str], op: str) -> None:
    """Raises InvalidArgument if two places would have one name."""
    for name, times in Counter(names.values()).items():
        if times > 1:
            raise InvalidArgument(f"two places are named {name}", op=op, got=name,
                                  expected="a name for each place",
                                  help="a field x_0 and the first member of a list x have one name: rename the field")


def _check_default(owner: type, name: str, value: object) -> None:
    """Raises InvalidArgument for parameters in a class attribute: all modules of the class would share them, and none
    would list them.
    """
    for _, _, entry in _members(name, value):
        if isinstance(entry, AssignableTensorOp) and _is_kept(entry) or isinstance(entry, Module) and entry._places():
            raise InvalidArgument(f"the parameters of {name} are made once, for all modules of the class",
                                  op=owner.__name__, operand=name, got=f"{entry!r:.60}",
                                  expected="a field for each module",
                                  help=f"make them in __post_init__ or __init__: self.{name} = ...")


# -- texts -------------------------------------------------------------------------------------------


def _texts(name: str, value: object) -> list[str]:
    """Returns the texts of a field: one, or one for each module and place in a list, tuple or dict of them."""
    inside = list(_members(name, value)) if isinstance(value, (list, tuple, dict)) else []
    return [_shown(path, entry) for path, _, entry in inside] or [_shown(name, value)]


def _shown(name: str, value: object) -> str:
    """Returns a field as the text of its module shows it."""
    if isinstance(value, AssignableTensorOp):
        return f"{name}={described_type(value)}"
    return f"{name}: {value!r}" if isinstance(value, Module) else f"{name}={value!r:.200}"
