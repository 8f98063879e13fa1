"""Cells: the memory of variables on one transformer, with versions and locks.

>>> from nervure.types.description import BasicTensorDescription
>>> from nervure.types.dtype import float32
>>> w = Variable(BasicTensorDescription(float32, (2,)), initial=1.5)
>>> cells = Cells("first")
>>> cell, = cells.of([w])
>>> cell.set([3, 4])
>>> cell.get(), cell.version
(array([3., 4.], dtype=float32), 1)
"""

from __future__ import annotations

import ctypes
import itertools
import operator
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

import numpy as np

from nervure.errors import InvalidArgument, ShapeMismatch, warn_user
from nervure.ir.identity import Uncopyable
from nervure.ir.ordered_locks import OrderedLock, holding
from nervure.ir.variable import Variable
from nervure.support import forks
from nervure.transformers.arguments import as_array
from nervure.types.description import BasicTensorDescription
from nervure.types.ordered_arrays import has_own_memory, in_order
from nervure.types.pieces import ArrayPiece

LENT, BORROWED = 1, 2
"""The values of a cell's ``lent``, besides 0."""


class Outer(Protocol):
    """Memory that a device allocated; ``flat`` is an array over it, None if elements are reached one by one."""

    flat: np.ndarray | None

    @property
    def storage(self) -> object: ...

    def load(self, shape: Sequence[int]) -> np.ndarray: ...

    def save(self, array: np.ndarray) -> None: ...

    def put(self, index: Sequence[int], number: Any) -> None: ...


class Cell:
    """The value of one variable on one transformer.

    ``array`` is never written while others may hold it: a new value replaces it. Each new value raises ``version``,
    the number in ``stamp``, which native code reads and raises, too. So a holder of an old value keeps it, and data
    derived from a value are valid as long as the version is the same. ``derived`` has such data, by keys of their
    users, for as long as these live. ``lock`` is held while any of this changes.

    An array that was *lent* is the exception: its borrower reads and writes the value itself. As long as the array, or
    a view of it, is held elsewhere, new values are written into it, and each call counts its value as a new version.
    ``lent`` is not 0 then; native code reads it, and leaves such calls to Python. The array lies in memory in the
    ``order`` of the variable's layout. If the memory is a device's (``outside``), the array lies over it, or is a copy
    from the last ``look``; it is lent for ever.

    Memory that is *borrowed* belongs to the caller. New values are written into it, too, but only its owner says,
    by a version, when it has changed. ``loan`` is what was stated last.
    """

    __slots__ = ("type", "name", "order", "array", "stamp", "derived", "lock", "lent", "witnesses", "outside", "loan")

    def __init__(self, variable: Variable, array: np.ndarray | None = None) -> None:
        # Not the variable itself: a cell lives as long as its variable, and must not keep it alive.
        self.type, self.name, self.lock = variable.type, variable.name, OrderedLock()
        self.order = variable.type.order
        self.array: np.ndarray = in_order(variable.initial_value(), self.order) if array is None else array
        self.stamp, self.lent = ctypes.c_int64(0), ctypes.c_int64(0)
        self.loan: tuple[int, int] | None = None
        self.derived: WeakValueDictionary[tuple[object, ...], Any] = WeakValueDictionary()
        self.witnesses: WeakSet[Witness] | None = None
        self.outside: Outer | None = None

    @property
    def version(self) -> int:
        """The number of values before this one."""
        return self.stamp.value

    def get(self) -> np.ndarray:
        """Returns a copy of the value."""
        return holding([self], lambda: np.array(self.look(), order="C", copy=True), op="get")

    def set(self, value: object) -> None:
        """Stores anything that NumPy reads, converted like an argument of a call. WrongKind or ShapeMismatch if it
        does not fit, InUse inside of a call that uses the variable.
        """
        copy = own_copy(value, self.type, self.name)
        holding([self], lambda: self.store(copy), changed=[self], op="set")

    def store(self, array: np.ndarray) -> None:
        """Takes over an array of the variable's type that is not written elsewhere. The caller holds ``lock``."""
        store_together([self], [array])

    # -- the array itself, lent to a user -----------------------------------------------------------------------

    def lend(self) -> np.ndarray:
        """Returns the array itself, which the caller may read and write at any time."""
        return holding([self], self._lend, op="storage")

    def adopt(self, array: np.ndarray, outside: Outer | None = None) -> None:
        """Replaces the array by ``array``, row-major and writeable, which is lent from then on; or by memory
        ``outside``.
        """
        def act() -> None:
            self.array, self.lent.value, self.outside = array, LENT, outside
            self.stamp.value += 1
        holding([self], act, changed=[self], op="storage")

    def borrow(self, array: np.ndarray, version: int) -> None:
        """Lets the value lie in an array over memory of the caller, of the cell's type and order, that only the cell
        holds. The value counts as a new one if the memory or the ``version`` is another one than before.
        """
        def act() -> None:
            if self.outside is not None:
                raise InvalidArgument("the memory of this variable is its device's", op="borrow", operand=self.name,
                                      got="storage that a device has allocated", expected="memory of nervure",
                                      help="assign x.storage, which its device reads")
            loan = array.__array_interface__["data"][0], version
            if (self.lent.value, self.loan) != (BORROWED, loan):
                self.stamp.value += 1
            self.array, self.lent.value, self.loan = array, BORROWED, loan
        holding([self], act, changed=[self], op="borrow")

    def look(self) -> np.ndarray:
        """Returns the current array. The caller holds ``lock``, or needs only the value of some moment."""
        if self.outside is not None and self.outside.flat is None:
            self.array = self.outside.load(self.array.shape)
        return self.array

    def write(self, index: tuple[int, ...], value: object) -> None:
        """Sets one element. InUse inside of a call that uses the variable."""
        def act() -> None:
            _check_writeable([self])
            if self.outside is None:
                self._own()[index] = value
            else:
                self.outside.put(index, value)
            self.stamp.value += 1
        holding([self], act, changed=[self], op="set_mref")

    def read(self) -> np.ndarray:
        """Returns the value of this moment, not to be written. The caller holds ``lock``."""
        return np.array(self.look(), order="C", copy=True) if self.is_lent() else self.array

    def pieces(self, is_first: bool) -> list[ArrayPiece]:
        """Returns the pieces of the value that this process of a job keeps. The one that ``is_first`` keeps all of a
        value that each has. They are not to be written. The caller holds ``lock``.
        """
        return [ArrayPiece((0,) * self.array.ndim, self.read())] if is_first else []

    def is_lent(self) -> bool:
        """Whether a lent array is still held elsewhere. The caller holds ``lock``."""
        if self.outside is not None:
            return True
        if self.lent.value and self._is_alone():
            self.stamp.value += 1  # the last holder may have written it since the last call
            self.lent.value = 0
        return bool(self.lent.value)

    def begin(self) -> None:
        """Begins a call that reads the value: a value that may have been written elsewhere is a new version."""
        if self.lent.value == LENT and self.is_lent():
            self.look()
            self.stamp.value += 1

    def witness(self) -> Witness:
        """Returns a witness that can later tell whether the value is still that of this moment."""
        elements = np.array(self.look()) if self.is_lent() else None
        made = Witness(self.version, elements)
        if self.witnesses is None:
            self.witnesses = WeakSet()
        self.witnesses.add(made)
        return made

    def is_still(self, seen: Witness) -> bool:
        """Whether the value is that of the moment when the witness was made."""
        if seen.elements is None:
            return self.version == seen.version
        return seen.elements.tobytes() == self.look().tobytes()

    def _lend(self) -> np.ndarray:
        if self.witnesses and not self.is_lent():
            kept = np.array(self.array)
            for seen in [each for each in self.witnesses if each.elements is None and each.version == self.version]:
                seen.elements = kept
        array = self._own()
        self.lent.value = LENT
        return array

    def _own(self) -> np.ndarray:
        """Returns the array for writing: the lent one, or else one that is held nowhere else."""
        if not self.is_lent() and not (self._is_alone() and self.array.flags.writeable):
            self.array = in_order(self.array, self.order, copy=True)
        return self.array

    def _is_alone(self) -> bool:
        """Whether the array and its memory are held nowhere else."""
        is_own = self.array.base is None or has_own_memory(self.array, self.order)
        return is_own and sys.getrefcount(self.array) <= _ALONE


def own_copy(value: object, type: BasicTensorDescription, name: str | None) -> np.ndarray:
    """Returns a copy, for the variable of a ``name``, of anything that NumPy reads, converted like an argument of a
    call.
    """
    array = as_array(value, type.dtype, "set", name)
    if array.shape != type.shape:
        raise ShapeMismatch("the value has another shape than the variable", op="set", operand=name, got=array.shape,
                            expected=type.shape, help="reshape or broadcast it to the variable's shape")
    return in_order(array, type.order, copy=True)


class Witness:
    """The value that a cell had: its version, and its elements if they may be written without a new version."""

    __slots__ = ("version", "elements", "__weakref__")

    def __init__(self, version: int, elements: np.ndarray | None) -> None:
        self.version, self.elements = version, elements


def _references_of_one() -> int:
    """Returns the reference count that Python reports for an array that only a cell holds."""
    class Holder:
        __slots__ = ("array",)
        array: np.ndarray

        def count(self) -> int:
            return sys.getrefcount(self.array)
    holder = Holder()
    holder.array = np.empty(0)
    return holder.count()


_ALONE = _references_of_one()


def store_together(cells: Sequence[Cell], arrays: Sequence[np.ndarray]) -> None:
    """Stores several new values at once: whatever a signal handler raises, all cells have their new values or none
    has.
    """
    _check_writeable(cells)
    pairs = [(cell, in_order(array, cell.order)) for cell, array in zip(cells, arrays, strict=True)]
    _save_outside([(cell, array) for cell, array in pairs if cell.outside is not None and cell.outside.flat is None])
    written = [(cell.array, array) for cell, array in pairs if cell.is_lent()]
    fresh = [(cell, array) for cell, array in pairs if not cell.lent.value]
    replaced = [cell.array for cell in cells]  # keeps the old arrays alive, so that no finalizer runs in between
    versions = [cell.version + 1 for cell in cells]
    stamps = [cell.stamp for cell in cells]
    deque(itertools.chain(
        itertools.starmap(operator.setitem, [(target, ..., array) for target, array in written]),
        itertools.starmap(setattr, [(cell, "array", array) for cell, array in fresh]),
        map(setattr, stamps, itertools.repeat("value"), versions)), maxlen=0)
    del replaced


def _check_writeable(cells: Sequence[Cell]) -> None:
    """Raises InvalidArgument if new values cannot be written into borrowed memory."""
    for cell in cells:
        if cell.lent.value == BORROWED and not cell.array.flags.writeable:
            raise InvalidArgument("the memory that this variable borrows is read-only", op="borrow", operand=cell.name,
                                  got="a new value", expected="memory that can be written, or no new value",
                                  help="borrow an array that is writeable; tensor.detach().numpy() is, in PyTorch")


def copy_cells(pairs: Mapping[Variable, Variable]) -> None:
    """Gives the second variable of each pair the value of the first, on every transformer that has changed the first.
    The values of a transformer are of one moment.
    """
    with _tables_lock:
        tables = list(_tables)
    for table in tables:
        table.copy(pairs)


def _save_outside(pairs: Sequence[tuple[Cell, np.ndarray]]) -> None:
    """Writes new values element by element; if a device's function fails, all have the earlier ones."""
    done: list[tuple[Outer, np.ndarray]] = []
    try:
        for cell, array in pairs:
            assert cell.outside is not None
            before = np.array(cell.look())
            cell.outside.save(array)
            done.append((cell.outside, before))
    except BaseException:
        for outside, before in done:
            outside.save(before)
        raise


_tables: WeakSet[Cells] = WeakSet()
_tables_lock = forks.lock()  # reentrant: a signal handler may come while it is held


class Cells(Uncopyable):
    """The cells of one transformer, made at the first use of each variable from its initial value, all of one class."""

    def __init__(self, owner: str, cell: type[Cell] = Cell) -> None:
        self._owner, self._cell = owner, cell
        self._cells: WeakKeyDictionary[Variable, Cell] = WeakKeyDictionary()
        self._lock = forks.lock()
        with _tables_lock:
            _tables.add(self)

    def of(self, variables: Sequence[Variable], warn: bool = True,
           start: Mapping[Variable, np.ndarray] = MappingProxyType({})) -> list[Cell]:
        """Returns the cell of each variable; one that has none starts from its array in ``start``, else from its
        initial value.

        The first use of variables that another transformer has changed warns, once, since they start from their
        initial values.
        """
        made = {variable: self._cell(variable, start.get(variable))  # without the lock: an initial value may do all
                for variable in variables if self.peek(variable) is None}
        with self._lock:
            fresh = [variable for variable in made if variable not in self._cells]
            for variable in fresh:
                self._cells[variable] = made[variable]
            found = [self._cells[variable] for variable in variables]
        if fresh and warn:
            self._warn([variable for variable in fresh if not variable.is_local and self._changed_elsewhere(variable)])
        return found

    def borrow(self, variable: Variable, array: np.ndarray, version: int) -> None:
        """Lets a variable's value lie in an array over memory of the caller; an initial value is not computed.

        Raises InvalidArgument if another variable here is lent or borrows some of that memory.
        """
        cell = self.peek(variable)
        if cell is None or cell.loan is None or cell.loan[0] != array.__array_interface__["data"][0]:
            for other in [found for _, found in self.known() if found.lent.value and found is not cell]:
                if np.may_share_memory(other.array, array):
                    raise InvalidArgument("two variables share memory", op="borrow", operand=variable.name,
                                          got=f"the memory of {other.name or 'another variable'}",
                                          expected="memory of its own", help="read one variable in both places")
        with self._lock:
            cell = self._cells.setdefault(variable, cell or self._cell(variable, array))
        cell.borrow(array, version)

    def store(self, values: Mapping[Variable, np.ndarray], op: str) -> None:
        """Takes over arrays of their variables' types and orders that are not written elsewhere, all at one moment. No
        initial value is computed for them.
        """
        cells = self.of(list(values), warn=False, start=values)
        holding(cells, lambda: store_together(cells, list(values.values())), changed=cells, op=op)

    def known(self) -> list[tuple[Variable, Cell]]:
        """Returns all existing cells, with their variables."""
        with self._lock:
            return list(self._cells.items())

    def peek(self, variable: Variable) -> Cell | None:
        """Returns the cell of a variable if it has one."""
        with self._lock:
            return self._cells.get(variable)

    def copy(self, pairs: Mapping[Variable, Variable]) -> None:
        """Gives the second variable of each pair the value of the first, if that was changed here."""
        known = [(cell, fresh) for old, fresh in pairs.items()
                 if (cell := self.peek(old)) is not None and (cell.version > 0 or cell.lent.value)]
        cells = [cell for cell, _ in known]
        arrays = holding(cells, lambda: [cell.read() for cell in cells], op="deepcopy")
        self.store(dict(zip([fresh for _, fresh in known], arrays, strict=True)), op="deepcopy")

    def clear(self) -> None:
        """Forgets every cell."""
        with self._lock:
            self._cells.clear()

    def _changed_elsewhere(self, variable: Variable) -> bool:
        with _tables_lock:
            others = [table for table in _tables if table is not self]
        cells = [table.peek(variable) for table in others]
        return variable.persistent and any([cell is not None and cell.version > 0 for cell in cells])

    def _warn(self, changed: Sequence[Variable]) -> None:
        if not changed:
            return
        more = ", ..." if len(changed) > 5 else ""
        names = ", ".join([variable.name or "unnamed" for variable in changed[:5]]) + more
        warn_user(f"another transformer has changed {names}; {self._owner} starts from the initial values. "
                  f"transformer.copy_state(other) takes over the state of the other one")
