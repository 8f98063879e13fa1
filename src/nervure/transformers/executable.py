"""A compiled Function, and the contract of its call: arguments, results, and when state changes.

>>> import numpy as np
>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (2,))
>>> double = nv.transformers.make_transformer().compile(nv.Function([nv.ops.Add(x, x)], [x]))
>>> target = np.zeros(2, np.float32)
>>> double(np.float32([1, 2]), out=[target])[0] is target, target
(True, array([2., 4.], dtype=float32))
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Never, TypeVar

import numpy as np

from nervure.errors import InternalError, InvalidArgument, NotSupported, WrongKind, did_you_mean
from nervure.ir.function import Function
from nervure.ir.gc_paused import gc_paused
from nervure.ir.identity import Uncopyable
from nervure.ir.ordered_locks import holding
from nervure.ir.variable import Variable
from nervure.support import forks
from nervure.transformers.binding import Binder, Bindings
from nervure.transformers.cells import Cell, store_together
from nervure.transformers.given_memory import GivenMemory, MemoryCheck
from nervure.transformers.memory_estimate import check_fits, most
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import found_symbols
from nervure.types.layout import row_major
from nervure.types.ordered_arrays import Order, has_own_memory, in_order, is_in_order
from nervure.types.shape import Shape

if TYPE_CHECKING:
    from nervure.ir.op import Value
    from nervure.transformers.base import Transformer
    from nervure.transformers.call_memory import CallMemory
    from nervure.transformers.report import CompilationReport, Times
    from nervure.transformers.tensor_calls import TensorCall
    from nervure.types.description import TensorDescription

_Answer = TypeVar("_Answer")

KEPT_BINDINGS = 64
"""The number of different shapes of symbolic arguments for which an executable keeps its specialisations."""


class _Specialisation:
    """The ``value`` that an executable has computed for one binding of the symbols, if it ``is_made``."""

    __slots__ = ("lock", "value", "is_made")

    def __init__(self) -> None:
        self.lock, self.is_made = forks.lock(), False
        self.value: object = None


class Executable(Uncopyable, ABC):
    """A compiled Function: call it with arrays.

    Call it as ``executable(arguments, out=None, donate=())`` or ``executable(*arguments, ...)``: a single positional
    list or tuple is the list of all arguments. The result is a tuple of new arrays, C-contiguous and owned by the
    caller; an array in ``out`` (None for no array) receives a result and is returned in its place. ``donate`` numbers
    the arguments that the caller does not need afterwards: a result may be such an argument's array, changed in
    place, and what the others hold is undefined from the begin of the call on. Arguments may repeat and be strided.
    Calls that touch the same variables take turns; others share nothing that is written, so calls of one executable
    may run side by side.
    """

    def __init__(self, function: Function, transformer: Transformer) -> None:
        self.function, self.transformer = function, transformer
        self._binder = Binder(function)
        self._variables = function.variables
        self._orders = [*[None] * len(function.results), *[variable.type.order for variable, _ in function.updates]]
        self._cells: dict[Variable, Cell] | None = None
        self._lock = forks.lock()
        self._known: OrderedDict[tuple[tuple[str, int], ...], _Specialisation] = OrderedDict()

    def entry(self, slow: Callable[..., _Answer], is_single: bool) -> Callable[..., _Answer] | None:
        """Returns a faster entry, if a backend has one: a function of all arguments that returns the tuple of results
        or the single one. It does not hold the executable. ``slow``, a bound method whose object it does not hold
        either, handles the calls that do not fit.
        """
        return None

    def tensor_entry(self, call: TensorCall,
                     slow: Callable[[list[object]], _Answer]) -> Callable[[list[object]], _Answer] | None:
        """Returns an entry for tensors of another library, which are given as ``call`` says, if a backend has one.

        It is a function of the list of arguments that returns the list of results, new tensors, without those that take
        the place of arguments. ``slow`` is as in ``entry``. Results are written where their arguments lie, which share
        no memory with other arguments, only if nothing can fail any more, or if the function updates a few elements of
        the argument.
        """
        return None

    @property
    def kept_bindings(self) -> int:
        """The number of bindings of symbols for which specialisations are kept."""
        return KEPT_BINDINGS

    @property
    def optimised(self) -> Function:
        """The function that it runs, with the parameters, results and updates of ``function``."""
        return self.function

    @property
    def parameter_descriptions(self) -> tuple[BasicTensorDescription, ...]:
        """The arguments of calls, which calls do not write. An array in this layout is read in place; others are, too,
        or are copied, as the backend prefers.
        """
        return tuple([_in_memory(op.value.type, True) for op in self.function.parameters])

    @property
    def result_descriptions(self) -> tuple[BasicTensorDescription, ...]:
        """The results of calls: new arrays that the caller owns."""
        return tuple([_in_memory(value.type, False) for value in self.function.results])

    @property
    def value_descriptions(self) -> dict[Value, TensorDescription]:
        """Describes each value of ``optimised``, in its order: its layout and its ``storage``, a ``Home``; neither for
        a value that is never stored. Views name their ``base_tensor``.
        """
        from nervure.transformers.descriptions import (  # loaded for reports alone
            described_values,
            each_by_itself,
        )
        return described_values(self.optimised, each_by_itself(self.optimised))

    def check_fits(self, bindings: Bindings) -> None:
        """Raises InvalidArgument if a call needs more memory than there is."""
        check_fits(self.function, bindings)

    @abstractmethod
    def specialise(self, bindings: Bindings) -> object:
        """Computes everything that depends only on the values of the symbols; ``run`` receives the result."""

    @abstractmethod
    def run(self, specialised: Any, arguments: Sequence[np.ndarray],
            states: Mapping[Variable, np.ndarray]) -> Sequence[np.ndarray]:
        """Returns the values of the function's results and then of its updates; changes nothing.

        ``arguments`` and ``states`` may not be written. A value may be one of them, a view, or the same as
        another.
        """

    def run_into(self, specialised: Any, arguments: Sequence[np.ndarray], states: Mapping[Variable, np.ndarray],
                 given: GivenMemory) -> Sequence[np.ndarray]:
        """Does what ``run`` does, and may write results into memory that is ``given``: it then returns that array.

        A result may be written into its target as long as nothing can fail any more but by Ctrl-C; it may be written
        in place of a donated argument, which is its target or no other result's, at any time.
        """
        return self.run(specialised, arguments, states)

    def __call__(self, *arguments: object, out: object = None, donate: Sequence[int] = (),
                 **others: Never) -> tuple[np.ndarray, ...]:
        self.transformer.check_open()
        if others:
            name = next(iter(others))
            raise WrongKind(f"a call has no argument {name}=", op=self.function.name, operand=name, got=f"{name}=...",
                            expected="arguments in order, out= and donate=",
                            help=did_you_mean(name, ["out", "donate"], "give an array for each parameter, in order"))
        if len(arguments) == 1 and isinstance(arguments[0], (list, tuple)):
            arguments = tuple(arguments[0])
        arrays, bindings = self._binder.bind(arguments)
        cells = self._find_cells() if self._cells is None else self._cells
        given = None
        if out is not None or donate != ():
            given = MemoryCheck(self.function, self._binder, arguments, arrays, cells).given(out, donate, bindings)
        updated = [cells[variable] for variable, _ in self.function.updates]
        results = holding(list(cells.values()), lambda: self._transact(arrays, cells, updated, bindings, given),
                          updated, self.function.name)
        return tuple(results) if given is None else given.filled(results)

    def _transact(self, arrays: Sequence[np.ndarray], cells: Mapping[Variable, Cell], updated: Sequence[Cell],
                  bindings: Bindings, given: GivenMemory | None) -> list[np.ndarray]:
        """Returns the results of a call, after which the variables have their new values. The caller holds the cells.
        """
        for cell in cells.values():
            cell.begin()
        values = self._values(arrays, {variable: cell.array for variable, cell in cells.items()}, bindings, given)
        count = len(self.function.results)
        store_together(updated, values[count:])
        return values[:count]

    # -- memory -------------------------------------------------------------------------------------------------

    def memory(self, bindings: Bindings | None = None) -> CallMemory:
        """Returns the memory that a call takes for results, new values and temporaries: for some values of the
        symbols, or in symbols. Lengths that the call finds count as the most that each can be; the threads' own memory
        is not counted. Raises an error for sizes that no call can have.
        """
        from nervure.transformers.call_memory import stored_values  # loaded for reports alone
        needed = stored_values(self.function, None if bindings is None else self._binder.sizes(bindings))
        return needed._replace(is_exact=needed.is_exact and not self._binder.found)

    # -- reports ------------------------------------------------------------------------------------------------

    def report(self, arguments: Sequence[object] | None = None) -> CompilationReport:
        """Returns its steps and its plan of memory; with ``arguments`` in numbers, without symbols."""
        if arguments is not None:
            return self.make_report(self._binder.bind(arguments)[1])
        return self.make_report(None if self.function.symbols else self._binder.with_found({}))

    def make_report(self, bindings: Bindings | None) -> CompilationReport:
        """Returns the report for some values of the symbols, or for any."""
        from nervure.transformers.report import (  # loaded for explanations alone
            CompilationReport,
            ops_as_steps,
        )
        return CompilationReport(self.function.name, self.transformer.name, tuple((bindings or {}).items()),
                       tuple(ops_as_steps(self.function, bindings)))

    def measure(self, arguments: Sequence[object], repeat: int) -> Times:
        """Measures the time of each step of the report. No variable is changed, but effects happen at each repetition.
        """
        self.transformer.check_open()
        arrays, bindings = self._binder.bind(arguments)
        cells = self._find_cells()

        def run() -> Times:
            for cell in cells.values():
                cell.begin()
            states = {variable: cell.array for variable, cell in cells.items()}
            return self.time_steps(bindings, arrays, states, repeat)
        return holding(list(cells.values()), run, op=self.function.name)

    def time_steps(self, bindings: Bindings, arguments: Sequence[np.ndarray], states: Mapping[Variable, np.ndarray],
                   repeat: int) -> Times:
        """Measures the times of steps over ``repeat`` runs, if the backend supports it."""
        raise NotSupported(f"{self.transformer.name} does not time its steps", op=self.function.name,
                           got="arguments to run with", expected="none", help="nv.explain without arguments shows them")

    # -- values ------------------------------------------------------------------------------------------------

    def _values(self, arrays: Sequence[np.ndarray], states: Mapping[Variable, np.ndarray],
                bindings: Bindings, given: GivenMemory | None) -> list[np.ndarray]:
        """Returns the results and the new values of variables, each in memory of its own or in memory that is given.
        """
        specialised = self._specialised(bindings)
        taken = {id(array) for array in (*arrays, *states.values())}
        try:
            if given is None:
                return self._owned(self.run(specialised, arrays, states), taken, bindings)
            values = self.run_into(specialised, arrays, states, given)
            places = [given.places(number, arrays) for number in range(len(given.targets))]
            return self._owned(values, taken, bindings, places)
        except MemoryError:
            raise InvalidArgument("there is not enough memory for this call", op=self.function.name,
                                  help="nothing was changed by it", got="MemoryError",
                                  expected="enough memory for arguments and results") from None

    def _find_cells(self) -> dict[Variable, Cell]:
        self._cells = dict(zip(self._variables, self.transformer.cells.of(self._variables), strict=True))
        return self._cells

    def _specialised(self, bindings: Bindings) -> Any:
        key = tuple(bindings.items())
        with self._lock:
            found = self._known.get(key) or self._known.setdefault(key, _Specialisation())
            self._known.move_to_end(key)
            if len(self._known) > self.kept_bindings:
                self._known.popitem(last=False)
        with found.lock:  # other bindings do not wait
            if not found.is_made:
                self.check_fits(bindings)
                with gc_paused():
                    found.value = self.specialise(bindings)
                found.is_made = True
            return found.value

    def _owned(self, values: Sequence[np.ndarray], taken: set[int], bindings: Bindings,
               places: Sequence[Sequence[np.ndarray]] = ()) -> list[np.ndarray]:
        """Returns the values as arrays with memory of their own, row-major or as their variable keeps it. Only arrays
        that are held elsewhere are copied, unless they are the ``places`` given for a result, each for one.
        """
        owned: list[np.ndarray] = []
        used: set[int] = set()
        for number, (value, declared, order) in enumerate(zip(values, self.function.roots, self._orders, strict=True)):
            array = np.asarray(value)
            dtype, shape = declared.type.dtype, most(declared.type.shape, bindings)
            if array.dtype != dtype.numpy or not _has_shape(array, shape, declared.type.shape, bindings):
                raise InternalError(f"{self.transformer.name} made {array.dtype} {array.shape} of {declared!r} at "
                                    f"{declared.op.location}, where {dtype.name} {shape} is due")
            is_given = number < len(places) and any([array is place for place in places[number]])
            if id(array) in used or not is_given and (id(array) in taken or not _is_own(array, order)):
                array = in_order(array, order, copy=True)
            used.add(id(array))
            owned.append(array)
        return owned

    def __repr__(self) -> str:
        return f"<executable on {self.transformer.name}: {self.function!r}>"


def _in_memory(type: BasicTensorDescription, read_only: bool) -> BasicTensorDescription:
    """Returns the description of an array without gaps."""
    return type.with_(layout=row_major(type.shape), read_only=read_only)


def _has_shape(array: np.ndarray, most: tuple[int, ...], declared: Shape, bindings: Bindings) -> bool:
    """Whether an array has the declared shape, with at ``most`` these lengths where ops find them."""
    if array.shape == most:
        return True
    return array.ndim == len(most) and all([
        got == length or (got < length and any([name in bindings for name in found_symbols(own)]))
        for got, length, own in zip(array.shape, most, declared, strict=True)])


def _is_own(array: np.ndarray, order: Order) -> bool:
    """Whether an array is in this order and holds memory that is not another array's."""
    return array.flags.writeable and is_in_order(array, order) and has_own_memory(array, order)
