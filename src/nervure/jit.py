"""Just-in-time compilation: functions of arrays are traced once per types and shapes, compiled, and called.

>>> import numpy as np
>>> import nervure as nv
>>> @jit
... def scale(parameters, x):
...     return {"y": x * parameters["w"]}
>>> scale({"w": np.float32(2)}, np.float32([1, 2]))
{'y': array([2., 4.], dtype=float32)}
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from types import MethodType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Never, SupportsIndex, TypeVar, cast, overload

import numpy as np

from nervure import transformers
from nervure.computation import Computation, build_function, needed_below
from nervure.errors import InvalidArgument, Location, WrongKind, did_you_mean, shown
from nervure.front import pytrees
from nervure.front.argument_parsing import as_integer, members, require_function
from nervure.front.cache_keys import cache_key, nesting_key
from nervure.front.creation import as_tensor, placeholder
from nervure.front.effects import Effect
from nervure.front.given_arrays import numpy_array
from nervure.front.number_trace import NumberTrace
from nervure.front.promotion import type_alone
from nervure.front.tensor import Tensor, is_tracing, tracing
from nervure.front.traced_numbers import TracedNumber, is_number
from nervure.ir.device import devices_in_force
from nervure.ir.identity import is_found_by_name
from nervure.ir.ordered_locks import OrderedLock, Visit, holding, visiting
from nervure.ir.provenance import fresh_scope, with_gradients
from nervure.support.elsewhere import explain_keywords
from nervure.support.plurals import plural
from nervure.transformers.devices.choice import transformer_for
from nervure.transformers.program_options import DEFAULT, PadLengths, ProgramOptions, read_options
from nervure.types.axes import Axes
from nervure.types.axis import Axis
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import Dim, DimLike, dim
from nervure.types.dtype import DType, as_dtype
from nervure.types.foreign import is_array
from nervure.types.mesh import Mesh, MeshAxes, Shard

if TYPE_CHECKING:
    from nervure.transformers.base import Transformer

Result = TypeVar("Result")
Concrete = np.ndarray | np.generic | complex | str | None
"""Arguments for which a jitted function computes, rather than extending a graph."""


class _Captured(InvalidArgument):
    """A function belongs to a graph that is being built, since it reads a placeholder or a length of that."""


class _Call(NamedTuple):
    """The arguments of a call as leaves: their nesting, their owners, those that become placeholders (``arrays``) and
    those that are given as numbers.
    """

    pattern: pytrees.Pattern
    leaves: list[object]
    owners: list[str]
    arrays: list[int]
    numbers: list[int]

    @property
    def static(self) -> list[object]:
        """The leaves that are part of the key as they are."""
        chosen = {*self.arrays, *self.numbers}
        return [leaf for at, leaf in enumerate(self.leaves) if at not in chosen]

    def given(self) -> list[object]:
        """Returns the numbers."""
        return [self.leaves[at] for at in self.numbers]


class _Spec(NamedTuple):
    """The placeholder of one argument: element type, shape (symbolic where declared), a key for its axes, and the axes
    themselves.
    """

    dtype: DType
    shape: tuple[DimLike, ...]
    labels: tuple[object, ...] | None
    axes: Axes | None


class _Compiled(NamedTuple):
    """One specialisation: ``make_results`` takes arrays, the trace's values and static ones; ``text`` has the types."""

    computation: Computation[object]
    make_results: Callable[..., Any]
    trace: NumberTrace
    text: str


class _Kind:
    """The specialisations for one kind of argument; ``name`` is the function's. One thread at a time adds to them."""

    def __init__(self, name: str) -> None:
        self.name: str | None = name
        self.lock = OrderedLock()
        self.variants: list[_Compiled] = []

    def variant(self, given: Sequence[object]) -> tuple[_Compiled, list[object]] | None:
        """Returns the first specialisation that fits the numbers ``given``, and the values that its trace computes
        from these.
        """
        for found in self.variants:
            values = found.trace.replayed(given)
            if values is not None:
                return found, values
        return None


class Jitted(Generic[Result]):
    """A function that is compiled for each combination of types, shapes and static values it is called with.

    Arguments and results may be nested in dicts, lists, tuples and dataclasses. Arrays and tensors become
    placeholders. Numbers come with each call, too, and are weak: they take the types of the tensors that they meet.
    Truth values, strings, None, other objects and the arguments named in ``static`` are part of the key, with all
    their contents: when these change, the function is traced anew. Variables of the surrounding code are read when the
    function is traced; where it reads a placeholder or a length of that code, a call extends the graph. ``dynamic``
    keeps lengths symbolic: axes or their names (for tensors with names), or a mapping from an argument to positions or
    axes, or to ``{position: symbol}``.

    >>> power = nv.jit(lambda x, n: x ** n, static="n", dynamic={"x": [0]})
    >>> power(np.float32([1, 2]), 3).tolist(), power(np.float32([1, 2, 3]), 3).tolist(), power.specialisations
    ([1.0, 8.0], [1.0, 8.0, 27.0], ['f32[x_0]'])
    """

    __name__: str
    __qualname__: str

    def __init__(self, function: Callable[..., Result], dynamic: object = (), static: Iterable[str] | str = (),
                 transformer: Transformer | None = None, options: ProgramOptions = DEFAULT) -> None:
        require_function(function, "jit", "function")
        functools.update_wrapper(self, function)
        self.__name__ = getattr(function, "__name__", type(function).__name__)
        self._function = function
        self._transformer = None if transformer is None else transformers.chosen(transformer)
        self._options = options
        self._signature = signature_of(function)
        self._dynamic = _read_dynamic(dynamic)
        self._static = set(_words(static))
        self._check_names([*self._static, *(self._dynamic if isinstance(dynamic, Mapping) else ())])
        self._compiled: dict[object, _Kind] = {}

    @property
    def specialisations(self) -> list[str]:
        """The specialisations: one line for each combination of types and shapes that has been compiled."""
        return [entry.text for kind in list(self._compiled.values()) for entry in kind.variants]

    @overload
    def __call__(self: Jitted[Never], *arguments: Any, **keywords: Any) -> Any: ...  # a function without annotations

    @overload
    def __call__(self: Jitted[Tensor], *arguments: Concrete, **keywords: Concrete) -> np.ndarray: ...

    @overload
    def __call__(self, *arguments: object, **keywords: object) -> Any: ...

    def __call__(self, *arguments: object, **keywords: object) -> Any:
        call = self._take_apart(arguments, keywords)
        if is_tracing() or any([_is_open(call.leaves[at]) for at in call.arrays]):
            return self._inline(call)
        try:
            found, arrays, values = self._compiled_for(call)
        except _Captured:
            return self._inline(call)
        return found.make_results(found.computation.executable(arrays), values, call.static)

    def specialised(self, *arguments: object, **keywords: object) -> tuple[Computation[object], list[np.ndarray]]:
        """Returns the specialisation for such arguments, and the arrays that a call would pass to it."""
        found, arrays, _ = self._compiled_for(self._take_apart(arguments, keywords))
        return found.computation, arrays

    def __get__(self, instance: object, owner: type | None = None) -> Jitted[Result] | MethodType:
        """Binds the instance as the first argument: in a class, a jitted function is a method."""
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        count = len(self.specialisations)
        return f"<jitted {self.__name__}{self._signature}: {count} {plural(count, 'specialisation')}>"

    def __copy__(self) -> Jitted[Result]:
        return self  # as with plain functions

    def __deepcopy__(self, memo: object) -> Jitted[Result]:
        return self

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[object, ...]:
        """Pickles it by name if a module has it, else by its function, which is compiled anew when it is read."""
        if is_found_by_name(self):
            return self.__qualname__
        if self._transformer is not None:
            raise WrongKind("a function that belongs to a transformer cannot be pickled", op="pickle",
                            got=f"{self.__name__} on {self._transformer.name}", expected="jit without transformer=",
                            help="the variables of the transformer would stay behind; jit the function where it is "
                                 "read")
        return Jitted, (self._function, self._dynamic, self._static, None, self._options)

    def _take_apart(self, arguments: tuple[object, ...], keywords: dict[str, object]) -> _Call:
        named = self._bind(arguments, keywords)
        leaves, pattern = pytrees.flatten(named)
        owners = _owners(named)
        kinds = ["static" if owner in self._static else _kind(leaf) for leaf, owner in zip(leaves, owners, strict=True)]
        return _Call(pattern, leaves, owners, *[[at for at, kind in enumerate(kinds) if kind == wanted]
                                                for wanted in ("array", "number")])

    def _compiled_for(self, call: _Call) -> tuple[_Compiled, list[np.ndarray], list[object]]:
        """Returns the specialisation for the types and shapes of a call, compiled now if necessary; its arrays; its
        numbers.
        """
        arrays = [self._read(call.leaves[at]) for at in call.arrays]
        specs = [self._spec(call.leaves[at], array, call.owners[at])
                 for at, array in zip(call.arrays, arrays, strict=True)]
        given = call.given()
        key = (call.pattern, nesting_key(call.pattern), tuple(call.arrays), tuple(call.numbers),
               tuple([spec[:3] for spec in specs]), tuple([type(number) for number in given]),
               tuple([cache_key(leaf) for leaf in call.static]), devices_in_force())
        kind = self._compiled.get(key) or self._compiled.setdefault(key, _Kind(self.__name__))
        found, values = kind.variant(given) or holding(
            [kind], lambda: kind.variant(given) or self._added_variant(kind, call, specs), op=self.__name__)
        return found, [*arrays, *found.trace.arrays(values)], values

    def _added_variant(self, kind: _Kind, call: _Call, specs: Sequence[_Spec]) -> tuple[_Compiled, list[object]]:
        """Makes a specialisation, and the values that its trace computes from the call's numbers. The caller holds the
        kind.
        """
        self._check_dynamic(call, specs)
        made = self._traced(call, specs)
        kind.variants.append(made)
        return made, made.trace.values

    def _read(self, leaf: object) -> np.ndarray:
        """Returns the array of a leaf of an argument; one of a device stays there if the transformer takes it."""
        if isinstance(leaf, Tensor):
            return leaf.numpy()
        if type(leaf) is np.ndarray:
            return leaf
        own: np.ndarray | None = transformers.chosen(self._transformer).own_array(leaf)
        return numpy_array(leaf, "jit") if own is None else own

    def _bind(self, arguments: tuple[object, ...], keywords: dict[str, object]) -> dict[str, object]:
        """Returns arguments by the names of the function's parameters."""
        try:
            bound = self._signature.bind(*arguments, **keywords)
        except TypeError as error:
            given = [type(entry).__name__ for entry in arguments]
            given += [f"{name}={type(entry).__name__}" for name, entry in keywords.items()]
            raise WrongKind(str(error), op=self.__name__, got=f"({', '.join(given)})",
                            expected=f"{self.__name__}{self._signature}",
                            help="call it as the function is called") from None
        return dict(bound.arguments)

    def _inline(self, call: _Call) -> object:
        """Extends the graph of another function that is being built."""
        leaves = list(call.leaves)
        for at in call.arrays:
            leaves[at] = as_tensor(leaves[at], self.__name__)
        return self._call(call.pattern, leaves)

    def _call(self, pattern: pytrees.Pattern, leaves: Iterable[object]) -> Result:
        """Returns the result of the function for the arguments nested by ``pattern``."""
        named: Any = pytrees.unflatten(pattern, leaves)
        bound = self._signature.bind_partial()
        bound.arguments.update(named)
        return self._function(*bound.args, **bound.kwargs)

    def _spec(self, leaf: object, array: np.ndarray, owner: str) -> _Spec:
        axes = leaf.axes if isinstance(leaf, Tensor) and leaf.is_named else None
        shape: list[DimLike] = list(array.shape)
        for position in range(array.ndim):
            symbol = self._symbol(owner, position, array.ndim, axes)
            if symbol is not None:
                shape[position] = dim(symbol)
        labels = None if axes is None else tuple([
            (axis.label, axis.level, axis.axis_class, axis.is_flattened and axis.full_length) for axis in axes])
        return _Spec(as_dtype(array.dtype), tuple(shape), labels, axes)

    def _symbol(self, owner: str, position: int, rank: int, axes: Axes | None) -> str | None:
        """Returns the symbol that stands for a length; None if the length is part of the key."""
        name = axes[position].name if axes is not None else None
        if not isinstance(self._dynamic, dict):
            return name if name in self._dynamic else None
        table = self._dynamic.get(owner, {})
        return next((table[place] for place in (position, position - rank, name) if place in table), None)

    def _check_dynamic(self, call: _Call, specs: Sequence[_Spec]) -> None:
        """Raises InvalidArgument for a place in ``dynamic`` that none of the arrays of its argument has."""
        table = self._dynamic if isinstance(self._dynamic, dict) else {}
        for owner, places in table.items():
            own = [spec for at, spec in zip(call.arrays, specs, strict=True) if call.owners[at] == owner]
            there = {place for spec in own for place in _places_of(spec)}
            for place in places if own else ():
                if place not in there:
                    given = " and ".join(dict.fromkeys([str(BasicTensorDescription(spec.dtype, spec.shape))
                                                        for spec in own]))
                    raise _misused({owner: place}, f"{owner} of type {given}")

    def _traced(self, call: _Call, specs: Sequence[_Spec]) -> _Compiled:
        trace = NumberTrace(self.__name__, call.given())
        parameters = [placeholder(spec.shape if spec.axes is None else spec.axes.with_lengths(spec.shape), spec.dtype)
                      for spec in specs]
        inner = list(call.leaves)
        for at, stand_in in zip([*call.arrays, *call.numbers], [*parameters, *trace.given], strict=True):
            inner[at] = stand_in
        with tracing(self.__name__), fresh_scope(), with_gradients():
            visit = Visit(f"the trace of {self.__name__}", _location_of(self._function))
            outputs, pattern = pytrees.flatten(visiting(visit, self._call, call.pattern, inner))
        parameters.extend(trace.parameters)
        tensors = [entry if isinstance(entry, (Tensor, Effect)) else None for entry in outputs]
        self._check_captured(tensors, parameters)
        self._check_results(outputs, pattern, call.static, trace, parameters)
        function = build_function(tensors, parameters, name=self.__name__)
        kept = trace.kept(outputs, call.static)

        def make_results(results: Sequence[object], values: Sequence[object] = trace.values,
                         static: Sequence[object] = trace.static) -> object:
            remaining = iter(results)
            return pytrees.unflatten(pattern, [next(remaining) if isinstance(entry, Tensor)
                                               else trace.value(entry, values, static) for entry in kept])
        transformer = transformer_for(function, self._transformer, options=self._options)
        text = ", ".join([_type_text(inner[at]) for at in sorted([*call.arrays, *call.numbers])])
        computation: Computation[object] = Computation(transformer, function, parameters, make_results)
        return _Compiled(computation.compiled(), make_results, trace, text)

    def _check_results(self, outputs: Sequence[object], pattern: pytrees.Pattern, static: Sequence[object],
                       trace: NumberTrace, parameters: Sequence[Tensor]) -> None:
        """Raises WrongKind for a result that is still to be computed, such as a generator.

        So does one of a foreign class that holds tensors, or numbers, of the trace.
        """
        given, own = {id(leaf) for leaf in static}, set(parameters)
        for leaf, path in zip(outputs, pytrees.paths(pattern, "result"), strict=True):
            if isinstance(leaf, (Tensor, Effect, TracedNumber)) or id(leaf) in given:
                continue
            if isinstance(leaf, (Iterator, AsyncIterator, Awaitable)):
                raise self._unfinished(leaf, path)
            for held in pytrees.held_in(leaf, (Tensor, TracedNumber)):
                if held.owner is trace if isinstance(held, TracedNumber) else isinstance(
                        held, Tensor) and not own.isdisjoint(needed_below([held]).placeholders):
                    raise WrongKind("a result holds what has no value while it is traced", op=self.__name__,
                                    operand=path, got=f"{type(leaf).__name__} with {held!r:.60}",
                                    expected="tensors and numbers in dicts, lists, tuples and dataclasses",
                                    help=f"a {type(leaf).__name__} can be made of the arrays that a call gives")

    def _unfinished(self, leaf: object, path: str) -> WrongKind:
        """Returns the error for a result that computes its values later, when nothing is traced any more."""
        if isinstance(leaf, Coroutine):
            leaf.close()  # else Python warns that nothing has awaited it
        is_iterator = isinstance(leaf, Iterator)
        return WrongKind("a result has its values only after the function was traced", op=self.__name__,
                         operand=path, got=shown(leaf),
                         expected="tensors and numbers in dicts, lists, tuples and dataclasses",
                         help="return a list of all values: [*values], or append to it in place of yield"
                         if is_iterator else "jit a function without async, and call it from the one with it")

    def _check_captured(self, tensors: Sequence[Tensor | Effect | None], parameters: Sequence[Tensor]) -> None:
        needed = needed_below(tensors)
        captured = [place for place in needed.placeholders if place not in set(parameters)]
        if captured:
            raise _Captured("the function reads a placeholder that is not among its arguments", op=self.__name__,
                            got=repr(captured[0]), expected="results of arguments and variables",
                            help="pass it, too")
        if needed.has_parameters:
            raise _Captured("the function reads a value of a body that is not among its arguments", op=self.__name__,
                            got="a value of a loop or a branch", expected="results of arguments and variables",
                            help="pass it, too")
        unknown = needed.lengths - {name for place in parameters for name in place.type.symbols}
        if unknown:
            raise _Captured("the function reads a length that no argument has", op=self.__name__,
                            got=", ".join(sorted(unknown)), expected="lengths of its arguments",
                            help="pass a tensor that has it, too")

    def _check_names(self, names: Iterable[str]) -> None:
        known = list(self._signature.parameters)
        for name in names:
            if name not in known:
                raise InvalidArgument(f"{self.__name__} has no argument {name}", op="jit", got=name,
                                      expected=", ".join(known) or "no arguments",
                                      help=did_you_mean(name, known, "static= and dynamic= name arguments"))


@overload
def jit(function: Callable[..., Result], *, dynamic: object = (), static: Iterable[str] | str = (),
        transformer: Transformer | None = None, memory_limit: int | str | None = None, results: str = "numpy",
        mesh: Mesh | None = None, shard: Shard | None = None,
        shard_parameters: MeshAxes | None = None, pad_to: PadLengths | None = None) -> Jitted[Result]: ...


@overload
def jit(function: None = None, *, dynamic: object = (), static: Iterable[str] | str = (),
        transformer: Transformer | None = None,
        memory_limit: int | str | None = None,
        results: str = "numpy", mesh: Mesh | None = None,
        shard: Shard | None = None,
        shard_parameters: MeshAxes | None = None,
        pad_to: PadLengths | None = None) -> Callable[[Callable[..., Result]], Jitted[Result]]: ...


def jit(function: Callable[..., object] | None = None, *, dynamic: object = (), static: Iterable[str] | str = (),
        transformer: Transformer | None = None, memory_limit: int | str | None = None, results: str = "numpy",
        mesh: Mesh | None = None, shard: Shard | None = None, shard_parameters: MeshAxes | None = None,
        pad_to: PadLengths | None = None) -> Any:
    """Compiles a function of tensors once per types and shapes. It is also a decorator; ``Jitted`` explains
    ``dynamic`` and ``static``, ``nv.computation`` the other arguments.

    >>> @nv.jit
    ... def scaled(parameters, x):
    ...     return {"y": x * parameters["w"]}
    >>> scaled({"w": np.float32(2)}, np.float32([1, 2]))["y"].tolist()
    [2.0, 4.0]
    """
    if function is None:
        return functools.partial(jit, dynamic=dynamic, static=static, transformer=transformer,
                                 memory_limit=memory_limit, results=results, mesh=mesh, shard=shard,
                                 shard_parameters=shard_parameters, pad_to=pad_to)
    options = read_options("jit", memory_limit, results, mesh, shard, shard_parameters, pad_to)
    return Jitted(function, dynamic, static, transformer, options)


def _location_of(function: Callable[..., object]) -> Location | None:
    """Returns the source location of a function; None for one that was not written in Python."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return None if code is None else Location(code.co_filename, code.co_firstlineno)


def signature_of(function: Callable[..., object]) -> inspect.Signature:
    """Returns the signature of a function; that of any arguments, where Python knows none."""
    try:
        return inspect.signature(function)
    except (ValueError, TypeError):
        parameter = inspect.Parameter("arguments", inspect.Parameter.VAR_POSITIONAL)
        return inspect.Signature([parameter])


def _owners(named: Mapping[str, object]) -> list[str]:
    """Returns the argument that each leaf belongs to."""
    return [name for name, value in named.items() for _ in pytrees.flatten(value)[0]]


def _kind(leaf: object) -> str:
    """Returns the kind of a leaf: an "array" becomes a placeholder, a "number" is given, all else is "static"."""
    if is_number(leaf):
        return "static" if isinstance(leaf, (bool, np.bool_)) else "number"
    return "array" if isinstance(leaf, Tensor) or is_array(leaf) else "static"


def _type_text(stand_in: object) -> str:
    """Returns the type of a placeholder, or the type that a number has alone."""
    if isinstance(stand_in, Tensor):
        return str(stand_in.type)
    return str(BasicTensorDescription(type_alone(stand_in), ()))


def _is_open(leaf: object) -> bool:
    """Whether a tensor depends on a placeholder, a parameter or a length without a value, so that it cannot be computed
    now.
    """
    return isinstance(leaf, Tensor) and needed_below([leaf]).is_any


def _read_dynamic(dynamic: object) -> set[str] | dict[str, dict[int | str, str]]:
    """Returns axis names as a set, or argument -> {position or axis name: symbol}."""
    if not isinstance(dynamic, Mapping):
        names = _places(dynamic, dynamic)
        if not all([isinstance(name, str) for name in names]):
            raise _misused(dynamic)
        return {str(name) for name in names}
    table = {}
    for name, entry in dynamic.items():
        if isinstance(entry, Mapping):
            table[name] = {place: _symbol_text(symbol, dynamic)
                           for place, symbol in zip(_places(entry, dynamic), entry.values(), strict=True)}
        else:
            table[name] = {place: _symbol_name(name, place) for place in _places(entry, dynamic)}
    return table


def _symbol_text(symbol: object, dynamic: object) -> str:
    if not isinstance(symbol, (str, Dim)):
        raise _misused(dynamic)
    return str(symbol)


def _symbol_name(argument: str, place: int | str) -> str:
    """Returns ``N`` for an axis, ``x_0`` for the first length of an argument, ``x_end1`` for its last."""
    if isinstance(place, str):
        return place
    return f"{argument}_{place}" if place >= 0 else f"{argument}_end{-place}"


def _places(entry: object, dynamic: object) -> list[int | str]:
    """Returns one or several axes of an argument: by name, as an Axis, or by position."""
    is_one = isinstance(entry, (str, Axis)) or not isinstance(entry, Iterable)
    listed = [entry] if is_one else list(cast("Iterable[object]", entry))
    return [_axis_of(place, dynamic) for place in listed]


def _axis_of(place: object, dynamic: object) -> int | str:
    named = place.name if isinstance(place, Axis) else place
    if isinstance(named, str):
        return named
    position = as_integer(named)
    if position is None:
        raise _misused(dynamic)
    return position


def _places_of(spec: _Spec) -> list[int | str]:
    """Returns the places that an array has: positions from both ends, names of axes."""
    rank = len(spec.shape)
    return [*range(-rank, rank), *[axis.name for axis in spec.axes or () if axis.name is not None]]


def _misused(dynamic: object, got: str | None = None) -> InvalidArgument:
    """Returns the error for a value that ``dynamic`` does not take."""
    return InvalidArgument("dynamic names the lengths of arguments that stay symbolic", op="jit", operand="dynamic",
                           got=f"{dynamic!r:.60}" + (f", for {got}" if got else ""),
                           expected="names of axes, {argument: positions or axes}, or {argument: {position: symbol}}",
                           help="dynamic={'x': 0} keeps the first length of an argument x, dynamic='N' that of each "
                                "axis N")


def _words(names: object) -> list[str]:
    """Returns the one name that ``static`` is, or several."""
    return [_word(name) for name in ([names] if isinstance(names, str)
                                              else members(names, "jit", "static", "names"))]


def _word(name: object) -> str:
    if not isinstance(name, str):
        raise WrongKind("static takes names", op="jit", operand="static", got=f"{name!r:.60}", expected="a string",
                        help="an argument is given by its name")
    return name


explain_keywords(globals(), ["jit"])
