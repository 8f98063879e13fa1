"""Computations: tensors and effects become a pure Function, which a transformer compiles into a callable.

>>> import numpy as np
>>> import nervure as nv
>>> x = nv.placeholder("H=2")
>>> w = nv.variable("H=2", 3.0)
>>> step = computation([x * w, nv.assign(w, w + 1), w], x)
>>> step(np.float32([1, 2]))
(array([3., 6.], dtype=float32), None, array([4., 4.], dtype=float32))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from textwrap import shorten
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, Never, TypeVar, overload

import numpy as np

from nervure import transformers
from nervure.errors import InvalidArgument, WrongKind, did_you_mean
from nervure.front.arranging.found import makers_of
from nervure.front.creation import AssignableTensorOp, as_tensor, handle_of
from nervure.front.effects import Effect
from nervure.front.placement import Placement
from nervure.front.random import STEP, begin_streams, seed_words, seeded
from nervure.front.record import held_value
from nervure.front.tensor import Operand, Tensor
from nervure.ir.function import Function
from nervure.ir.identity import Uncopyable
from nervure.ir.leaves import Constant, Parameter, ReadVariable
from nervure.ir.op import Op, Value, dimensions_of
from nervure.ir.traverse import postorder
from nervure.ir.variable import Variable
from nervure.ops.order import placed_operands
from nervure.support.elsewhere import explain_keywords
from nervure.support.lazy import once
from nervure.transformers.devices.choice import transformer_for
from nervure.transformers.program_options import PadLengths, read_options
from nervure.types.axes import Axes, axes_named
from nervure.types.description import BasicTensorDescription, TensorDescription
from nervure.types.dim import Dim, found_symbols, index_symbols, symbols
from nervure.types.mesh import Mesh, MeshAxes, Shard

if TYPE_CHECKING:
    from nervure.transformers.base import Transformer
    from nervure.transformers.executable import Executable

Result = TypeVar("Result", covariant=True)
Key = TypeVar("Key")


class ResultForm(NamedTuple):
    """The form of the results of a call: "one" value of the Function, a "tuple" of values, or a "dict" with these
    keys.

    ``has_value`` says of each return whether it has a value; an effect gives None.
    """

    form: str
    keys: tuple[object, ...]
    has_value: tuple[bool, ...]

    def __call__(self, values: Sequence[np.ndarray]) -> Any:
        remaining = iter(values)
        filled = [next(remaining) if present else None for present in self.has_value]
        if self.form == "one":
            return filled[0]
        return tuple(filled) if self.form == "tuple" else dict(zip(self.keys, filled, strict=True))

    @property
    def simplest(self) -> ResultMaker:
        """The same as a faster function, if every return has a value."""
        if self.form == "one" and self.has_value == (True,):
            return itemgetter(0)
        return tuple if self.form == "tuple" and all(self.has_value) else self


ResultMaker = Callable[[Sequence[np.ndarray]], Any] | ResultForm
"""Makes the result of a call from the values of a Function's results, in order."""

Return = Tensor | Effect | None
"""One return of a computation: a value, or an effect, which gives None."""


class Computation(Uncopyable, Generic[Result]):
    """A function with state, compiled for one transformer: call it with the parameters' values, in order.

    ``function`` is the Function as it was built, ``optimised`` the Function that the transformer compiled. Results are
    arrays that the caller owns. ``nv.computation`` compiles at once, ``nv.load`` at the first call.

    >>> x = nv.placeholder("N=n").named("x")
    >>> square = nv.computation(x * x, x)
    >>> square(np.float32([1, 2])).tolist(), square(feed_dict={"x": np.float32([3])}).tolist()
    ([1.0, 4.0], [9.0])
    """

    def __init__(self, transformer: Transformer, function: Function, parameters: Sequence[AssignableTensorOp],
                 make_results: ResultMaker) -> None:
        self.transformer, self.function, self.parameters = transformer, function, tuple(parameters)
        self.make_results, self._finish, self._gives_one = make_results, make_results, False
        if isinstance(make_results, ResultForm):
            self._finish = make_results.simplest
            self._gives_one = make_results.form == "one" and make_results.has_value == (True,)
        self._fast: Callable[..., Result] | None = None

    @once
    def executable(self) -> Executable:
        """The compiled function; it is compiled when it is first asked for."""
        return self.transformer.build(self.function)

    def compiled(self) -> Computation[Result]:
        """Returns this computation, compiled by now: errors of its transformer are raised here, not at the first call.
        """
        _ = self.executable
        return self

    @property
    def optimised(self) -> Function:
        """The function after all passes; if the executable came from a cache, they run when this is read."""
        return self.executable.optimised

    @property
    def parameter_descriptions(self) -> tuple[TensorDescription, ...]:
        """The arguments of calls: element types, axes, and the layout in which compiled code reads an array in place.
        Calls do not write arguments.

        >>> x = nv.placeholder("N=n, C=3")
        >>> taken, = nv.computation(nv.sum(x), x).parameter_descriptions
        >>> taken, taken.layout.strides, taken.read_only
        (f32[N=n, C=3] at strides (3, 1), (3, 1), True)
        """
        return tuple([_over(parameter.axes, description) for parameter, description in zip(
            self.parameters, self.executable.parameter_descriptions, strict=True)])

    @property
    def result_descriptions(self) -> tuple[TensorDescription, ...]:
        """The results of calls, without effects: element types, axes, and the layout of the new arrays, which the
        caller may write.
        """
        return tuple([_over(axes_named(value.labels, value.type.shape), description) for value, description in zip(
            self.function.results, self.executable.result_descriptions, strict=True)])

    @property
    def value_descriptions(self) -> dict[Value, TensorDescription]:
        """Describes each value of ``optimised``: its layout, and as ``storage`` the memory that was chosen for it. The
        storage is a kind, a number, and an offset into the block of a call if that is known; both are None for a value
        that is never stored. For a view, ``base_tensor`` describes the viewed value.

        >>> x = nv.placeholder((4, 3))
        >>> found = nv.computation(nv.exp(x.T) * 2.0, x).value_descriptions
        >>> [(type(value.op).__name__, str(described.storage)) for value, described in found.items()][::3]
        [('Parameter', 'argument 0'), ('Full', 'None')]
        """
        return self.executable.value_descriptions

    def __call__(self, *arguments: object, feed_dict: Mapping[Any, object] | None = None, **named: object) -> Result:
        if named or feed_dict is not None:
            return self._finish(self.executable(self.read_arguments(arguments, feed_dict, named)))
        fast = self._fast
        # A list as the only argument would stand for all arguments there.
        if fast is not None and (len(arguments) != 1 or type(arguments[0]) is np.ndarray
                                 or not isinstance(arguments[0], (list, tuple))):
            return fast(*arguments)
        result = self._call_slowly(*arguments)
        if fast is None:
            self._fast = self._find_entry()
        return result

    def _find_entry(self) -> Callable[..., Result] | None:
        """Returns a function that bypasses this class and takes arrays directly, if the executable has one by now."""
        if self._gives_one:
            return self.executable.entry(self._call_slowly, is_single=True)
        entry, finish = self.executable.entry(self._values, is_single=False), self._finish
        return entry and (lambda *arrays: finish(entry(*arrays)))

    def _call_slowly(self, *arguments: object) -> Result:
        return self._finish(self._values(*arguments))

    def _values(self, *arguments: object) -> tuple[np.ndarray, ...]:
        return self.executable(self.read_arguments(arguments))

    def read_arguments(self, arguments: tuple[object, ...], feed_dict: Mapping[Any, object] | None = None,
                       named: Mapping[str, object] | None = None) -> list[object]:
        """Returns the arguments of a call in order; tensors become their values, with the axes of the parameters."""
        if feed_dict is not None:
            self._check_feed(feed_dict, [*arguments, *(named or {})])
            arguments = self._in_order(self.parameters, feed_dict, " in feed_dict")
        elif named:
            remaining = self.parameters[len(arguments):]
            self._check_named(named, remaining)
            arguments += self._in_order(remaining, named, "")
        if len(arguments) != len(self.parameters):
            raise InvalidArgument("wrong number of arguments", op="computation", got=len(arguments),
                                  expected=f"{len(self.parameters)}: {self._names()}",
                                  help="give a value for each parameter, in order, by name or by feed_dict=")
        return [parameter.given(entry, "computation", parameter.name or position + 1)
                for position, (parameter, entry) in enumerate(zip(self.parameters, arguments, strict=True))]

    def _check_feed(self, feed: object, others: Sequence[object]) -> None:
        if others:
            raise InvalidArgument("arguments are given by position and name, or by feed_dict", op="computation",
                                  operand="feed_dict", got=f"{len(others)} arguments and feed_dict",
                                  expected="one of them", help="put all values into feed_dict")
        if not isinstance(feed, Mapping):
            raise WrongKind("feed_dict is a mapping", op="computation", operand="feed_dict",
                            got=f"{type(feed).__name__}",
                            expected=self._names(), help="write feed_dict={parameter: value}")

    def _check_named(self, named: Mapping[str, object], remaining: Sequence[AssignableTensorOp]) -> None:
        """Raises WrongKind for a keyword that names no parameter, or one that has a value by position."""
        names = [str(entry.name) for entry in self.parameters]
        for name in named:
            if name not in [entry.name for entry in remaining]:
                is_given = name in names
                message = f"{name} has a value by position, too" if is_given else f"a call has no argument {name}="
                raise WrongKind(message, op="computation", operand=name, got=f"{name}=...",
                                expected=f"values in order or by name, or feed_dict=, for {self._names()}",
                                help="give each value once" if is_given else did_you_mean(
                                    name, [*names, "feed_dict"], 'x.named("x") gives a parameter its name'))

    def _in_order(self, parameters: Sequence[AssignableTensorOp], feed: Mapping[Any, object],
                  where: str) -> tuple[object, ...]:
        """Returns the values of parameters, from a mapping of them or their names; it must have all of them."""
        names = [str(entry.name) for entry in parameters]
        known = {*parameters, *names}
        for key in feed:
            if key not in known:
                raise self._refused(f"{key!r}{where} is no parameter", key, help=did_you_mean(str(key), names))
        values, ordered = dict(feed), []
        for parameter in parameters:
            key = parameter if parameter in values else parameter.name
            if key is None or key not in values:
                raise self._refused(f"no value for {parameter!r}{where}", *feed)
            ordered.append(values.pop(key))
        for key in values:
            raise self._refused(f"{key!r}{where} is given twice", *feed)
        return tuple(ordered)

    def _refused(self, message: str, *keys: object, help: str | None = None) -> InvalidArgument:
        return InvalidArgument(message, op="computation", got=", ".join([f"{key!r:.60}" for key in keys]) or "no keys",
                               expected=self._names(),
                               help=help or 'a key is a parameter, or the name that x.named("x") has given it')

    def _names(self) -> str:
        return ", ".join(map(repr, self.parameters)) or "none"

    def __repr__(self) -> str:
        taken = ", ".join([entry._described() for entry in self.parameters])
        given = ", ".join([value.type.describe(value.labels) for value in self.function.results])
        updated = ", ".join([variable.name or "a variable" for variable, _ in self.function.updates])
        return (f"<computation on {self.transformer.name}: ({shorten(taken, 200)}) -> ({shorten(given, 200)})"
                f"{shorten(f', updates {updated}', 80) if updated else ''}>")


def _over(axes: Axes, described: BasicTensorDescription) -> TensorDescription:
    """A description whose dimensions are these axes."""
    return TensorDescription(described.dtype, axes, described.read_only, described.layout)


_NOTHING = object()


@overload
def computation(returns: Tensor, *parameters: object,
                transformer: Transformer | None = None,
                memory_limit: int | str | None = None,
                results: Literal["numpy"] = "numpy", mesh: Mesh | None = None, shard: Shard | None = None,
                shard_parameters: MeshAxes | None = None,
                pad_to: PadLengths | None = None) -> Computation[np.ndarray]: ...


@overload
def computation(returns: Sequence[Tensor], *parameters: object,
                transformer: Transformer | None = None,
                memory_limit: int | str | None = None,
                results: Literal["numpy"] = "numpy", mesh: Mesh | None = None, shard: Shard | None = None,
                shard_parameters: MeshAxes | None = None,
                pad_to: PadLengths | None = None) -> Computation[tuple[np.ndarray, ...]]: ...


@overload
def computation(returns: Mapping[Key, Tensor], *parameters: object,
                transformer: Transformer | None = None,
                memory_limit: int | str | None = None,
                results: Literal["numpy"] = "numpy", mesh: Mesh | None = None, shard: Shard | None = None,
                shard_parameters: MeshAxes | None = None,
                pad_to: PadLengths | None = None) -> Computation[dict[Key, np.ndarray]]: ...


@overload
def computation(returns: object, *parameters: object,
                transformer: Transformer | None = None,
                memory_limit: int | str | None = None, results: str = "numpy",
                mesh: Mesh | None = None, shard: Shard | None = None,
                shard_parameters: MeshAxes | None = None, pad_to: PadLengths | None = None) -> Computation[Any]: ...


def computation(returns: object = _NOTHING, *parameters: object, transformer: Transformer | None = None,
                memory_limit: int | str | None = None, results: str = "numpy",
                mesh: Mesh | None = None, shard: Shard | None = None,
                shard_parameters: MeshAxes | None = None, pad_to: PadLengths | None = None,
                **others: Never) -> Computation[Any]:
    """Makes a callable that computes ``returns`` from the values of ``parameters``.

    One tensor gives one array; a list or tuple (placed in order) a tuple; a set (side by side) a dict; effects and
    None give None. ``parameters`` are placeholders, or persistent tensors that the call sets; ``"all"`` stands for
    every placeholder.

    A call needs at most ``memory_limit`` bytes (a number, or a text such as "512MB") beside its arguments and the
    variables, since values are made again rather than kept; InvalidArgument if that does not do. ``results`` are
    arrays of NumPy, or lie on the ``"device"`` of the transformer, as JAX's arrays on xla.

    On a ``mesh`` of devices (of the transformer xla) ``shard`` says over which axis of it each axis of tensors is
    split, wherever it occurs: ``shard={"N": "data"}``. Variables of floats are split further over the axes
    ``shard_parameters``, each along its longest axis that is whole.

    On xla, which compiles a program for each value of a symbol, ``pad_to={"n": 64}`` rounds the symbol n up to a
    multiple of 64 (``pad_to=64`` each symbol). The other transformers have one program for all lengths.

    >>> x, w = nv.placeholder("N=2"), nv.variable("N=2", 3.0)
    >>> step = nv.computation([x * w, nv.assign(w, w + 1)], x)
    >>> step(np.float32([1, 2]))[0].tolist(), w.tolist()
    ([3.0, 6.0], [4.0, 4.0])
    """
    if others or returns is _NOTHING:
        raise _misread(next(iter(others.items()), ("returns", None)))
    asked = None if transformer is None else transformers.chosen(transformer)
    options = read_options("computation", memory_limit, results, mesh, shard, shard_parameters, pad_to)
    listed, form, together = _read_returns(returns)
    chosen = _read_parameters(parameters, listed)
    function = build_function(listed, chosen, together)
    return Computation(transformer_for(function, asked, options=options), function, chosen, form).compiled()


def _misread(given: tuple[str, object]) -> WrongKind:
    """Returns the error for arguments that ``computation`` does not have, or for none at all."""
    name, value = given
    is_missing = name == "returns"
    return WrongKind("there is nothing to compute" if is_missing else f"there is no argument {name}=",
                     op="computation", operand=name, got="no arguments" if is_missing else f"{name}={value!r:.60}",
                     expected="what to compute, then its parameters, and transformer=",
                     help=did_you_mean(name, ["transformer", "memory_limit", "results", "mesh", "shard",
                                              "shard_parameters", "pad_to"],
                                       "as in nv.computation(y, x), by position"))


def build_function(returns: Sequence[Return], parameters: Sequence[AssignableTensorOp], together: bool = False,
                   name: str = "computation") -> Function:
    """Builds the pure Function of a user's ``returns``, placed in order (or side by side, ``together``), with
    variables as updates.
    """
    placement = Placement()
    supplied = []
    for parameter in parameters:
        assert parameter.variable is not None
        op = Parameter.of(parameter.type)
        op.name = parameter.name
        op.outputs[0].labels = parameter.axes.names if parameter.is_named else None
        supplied.append(op)
        placement.supply(parameter.variable, op.output)
    values = _placed(placement, returns, together)
    if STEP in placement.entry:
        placement.state[STEP] = placement.current(STEP) + 1
    results = [placement.current(place) if (place := _variable_of(entry)) is not None else values[position]
               for position, entry in enumerate(returns) if isinstance(entry, Tensor)]
    function = Function(results, supplied, placement.updates(), placement.effects, name=name)
    if makers := makers_of(function):
        found = [placement.place(maker.outputs[0]).op for maker in makers]
        effects = dict.fromkeys([*found, *placement.effects])
        function = Function(results, supplied, placement.updates(), effects, name=name)
    return function.numbered()


def _placed(placement: Placement, returns: Sequence[Return], together: bool) -> dict[int, Value]:
    """Returns the pure form of each return that is an expression or an effect."""
    wanted = [(position, entry.value) for position, entry in enumerate(returns)
              if entry is not None and _variable_of(entry) is None]
    if together:
        placed = placement.place_together([value for _, value in wanted])
        return {position: value for (position, _), value in zip(wanted, placed, strict=True)}
    return {position: placement.place(value) for position, value in wanted}


def _variable_of(entry: Return) -> Variable | None:
    return entry.variable if isinstance(entry, AssignableTensorOp) else None


def _read_returns(returns: object) -> tuple[list[Return], ResultForm, bool]:
    """Returns the returns as a list, the form of the results, and whether they are placed side by side."""
    form, keys, entries = "one", list[object](), [returns]
    if isinstance(returns, (list, tuple)):
        form, entries = "tuple", list(returns)
    elif isinstance(returns, (set, frozenset)):
        form, keys, entries = "dict", list(returns), list(returns)
    elif isinstance(returns, Mapping):
        form, keys, entries = "dict", list(returns), list(returns.values())
    listed = [entry if entry is None or isinstance(entry, (Tensor, Effect)) else as_tensor(entry, "computation")
              for entry in entries]
    results = ResultForm(form, tuple(keys), tuple([isinstance(entry, Tensor) for entry in listed]))
    return listed, results, isinstance(returns, (set, frozenset))


def _read_parameters(parameters: Sequence[object], returns: Sequence[Return]) -> list[AssignableTensorOp]:
    if len(parameters) == 1 and isinstance(parameters[0], str):
        if parameters[0] != "all":
            raise InvalidArgument("unknown word for parameters", op="computation", got=repr(parameters[0]),
                                  expected="'all'",
                                  help="list the parameters, or write 'all' for every placeholder")
        return placeholders_below(returns)
    listed = [_parameter(entry, position + 1) for position, entry in enumerate(parameters)]
    if len(set(listed)) != len(listed):
        raise InvalidArgument("a parameter is listed twice", op="computation", got=", ".join(map(repr, listed)),
                              expected="each parameter once", help="leave out the second")
    _check_placeholders(listed, returns)
    return listed


def _parameter(entry: object, position: int) -> AssignableTensorOp:
    """Returns a parameter as it was given; WrongKind or InvalidArgument for a tensor that a call cannot set."""
    if not isinstance(entry, AssignableTensorOp):
        raise WrongKind("a parameter must be a placeholder or a persistent tensor", op="computation",
                        operand=position, got=f"{entry!r:.80}", expected="nv.placeholder(...)",
                        help="leave out what is computed or constant; numbers stand where the graph is built")
    if entry.is_constant or not entry.is_persistent:
        raise InvalidArgument(f"a {entry.role} tensor cannot be a parameter", op="computation",
                              operand=position, got=repr(entry),
                              expected="a placeholder, a persistent tensor or a variable",
                              help="leave it out; what a call shall set is made by nv.placeholder or nv.variable")
    return entry


def _check_placeholders(parameters: Sequence[AssignableTensorOp], returns: Sequence[Return]) -> None:
    given = set(parameters)
    for needed in placeholders_below(returns):
        if needed not in given:
            raise InvalidArgument("a placeholder is missing among the parameters", op="computation",
                                  operand=needed.name, got=repr(needed),
                                  location=needed.variable.location if needed.variable else None,
                                  help="add it: nv.computation(returns, x, y), or write 'all'",
                                  expected="every placeholder below the returns")


class Needed(NamedTuple):
    """The things that returns need and that have no value now. ``placeholders`` are in the order of the graph,
    ``lengths`` are the names of those that no op finds, and parameters those of a body.
    """

    placeholders: list[AssignableTensorOp]
    lengths: set[str]
    has_parameters: bool

    @property
    def is_any(self) -> bool:
        """Whether there is anything that returns need."""
        return bool(self.placeholders or self.lengths or self.has_parameters)


def needed_below(returns: Sequence[Return]) -> Needed:
    """Returns what a call, or the run of a body, has to give to returns, by one walk over their graph."""
    listed = _ops_below(returns)
    lengths = {id(length): length for op in listed for length in dimensions_of(op) if isinstance(length, Dim)}
    names = {name for length in lengths.values()
             for name in symbols(length) - index_symbols(length) - found_symbols(length)}
    return Needed(_placeholders(listed), names, any([type(op) is Parameter for op in listed]))


def placeholders_below(returns: Sequence[Return]) -> list[AssignableTensorOp]:
    """Returns every placeholder that returns are computed from, in the order of the graph."""
    return _placeholders(_ops_below(returns))


def given_below(returns: Sequence[Return]) -> list[AssignableTensorOp]:
    """Returns every placeholder and temporary that returns are computed from, in the order of the graph."""
    return _given(_ops_below(returns))


def _ops_below(returns: Sequence[Return]) -> list[Op]:
    return postorder([entry.value for entry in returns if entry is not None], None, placed_operands)


def _placeholders(listed: Iterable[Op]) -> list[AssignableTensorOp]:
    return [place for place in _given(listed) if place.is_input]


def _given(listed: Iterable[Op]) -> list[AssignableTensorOp]:
    found = [op.variable for op in listed if type(op) is ReadVariable]
    return [handle_of(variable) for variable in dict.fromkeys(found)
            if variable.handle is not None and not variable.persistent]


def _evaluate(tensors: Sequence[Tensor]) -> list[np.ndarray]:
    """Computes tensors on the default transformer, for ``x.numpy()`` and everything lazy."""
    if len(tensors) == 1:
        tensor, place = tensors[0], _variable_of(tensors[0])
        if place is not None and place.persistent:
            return [transformers.default().get(place)]
        if isinstance(tensor.value.op, Constant):
            return [tensor.value.op.array.copy()]
    return run(tensors)


def run(returns: Sequence[Return]) -> list[np.ndarray]:
    """Computes returns in order on the default transformer, from the values that inputs below them hold. Returns the
    values of the tensors among them.

    Raises InvalidArgument for a placeholder without a value.
    """
    held = {place: held_value(place) for place in given_below(returns)}
    for place, value in held.items():
        if value is None and place.is_input:
            raise InvalidArgument("a placeholder has no value of its own", op="evaluate", operand=place.name,
                                  got=repr(place),
                                  help="x.storage = array gives it one, and nv.computation(returns, x) takes one at "
                                       "each call; what a traced function is given has a value inside of it alone: "
                                       "return what is needed; nv.where(condition, x, y) chooses by values that are "
                                       "not known yet",
                                  expected="tensors without placeholders below them")
    values = {place: value for place, value in held.items() if value is not None}
    function = build_function(returns, list(values))
    return list(transformer_for(function).build(function)(list(values.values())))


@overload
def evaluate(x: Operand) -> np.ndarray: ...


@overload
def evaluate(x: list[Any] | tuple[object, ...]) -> tuple[np.ndarray, ...]: ...


@overload
def evaluate(x: Effect) -> None: ...


def evaluate(x: object) -> np.ndarray | tuple[np.ndarray, ...] | None:
    """Computes the value of a tensor (an array), or of several (a tuple), on the default transformer.

    >>> x = nv.constant([1, 2])
    >>> nv.evaluate(x * 2).tolist(), [array.tolist() for array in nv.evaluate([x + 1, nv.sum(x)])]
    ([2.0, 4.0], [[2.0, 3.0], 3.0])
    """
    if isinstance(x, (list, tuple)):
        return tuple(_evaluate([as_tensor(entry, "evaluate") for entry in x]))
    if isinstance(x, Effect):
        run([x])
        return None
    return _evaluate([as_tensor(x, "evaluate")])[0]


def seed(value: int, transformer: Transformer | None = None) -> None:
    """Restarts the random numbers of a transformer (absent: the default one): one seed, one sequence of numbers.
    Computations that were loaded, which go on where they were saved, start from it, too.

    >>> nv.seed(1)
    >>> first = nv.evaluate(nv.uniform((2,)))
    >>> nv.seed(1)
    >>> bool((nv.evaluate(nv.uniform((2,))) == first).all())
    True
    """
    low, high = seed_words(value)
    chosen = transformers.chosen(transformer)
    chosen.restore(seeded(low, high))
    begin_streams(low | high << 32)


explain_keywords(globals(), ["computation", "evaluate", "seed"])
