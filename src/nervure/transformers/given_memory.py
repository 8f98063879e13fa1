"""Memory that the caller of an executable gives: arrays for results, and arguments whose memory a call may use.

>>> import numpy as np
>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (2,))
>>> with nv.transformers.make_transformer() as transformer:
...     executable = transformer.compile(nv.Function([nv.ops.Add(x, x)], [x]))
...     array = np.float32([1, 2])
...     executable(array, out=[array], donate=(0,))[0] is array, array.tolist()
(True, [2.0, 4.0])

All is checked before a call begins. An array in ``out`` shares memory with nothing that the call reads or writes,
unless it is a donated argument. A donated argument shares memory with no other argument, and with no variable.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from nervure.errors import InvalidArgument, NervureError, ShapeMismatch, WrongKind
from nervure.ir.function import Function
from nervure.ir.variable import Variable
from nervure.transformers.binding import Binder, Bindings
from nervure.transformers.cells import Cell
from nervure.transformers.memory_estimate import numbers
from nervure.types.description import BasicTensorDescription


class GivenMemory(NamedTuple):
    """The memory that a call is given. ``targets`` has an array or None for each result; ``donated`` are the numbers of
    donated arguments that are used as they are, without a conversion.
    """

    targets: tuple[np.ndarray | None, ...]
    donated: tuple[int, ...] = ()

    def places(self, number: int, arguments: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Returns the given arrays that the result of a ``number`` may lie in. That is its target, or if it has none, a
        donated one among the ``arguments`` that is C-contiguous and no other result's target.
        """
        target = self.targets[number]
        if target is not None:
            return [target]
        taken = {id(each) for each in self.targets}
        return [array for array in [arguments[each] for each in self.donated]
                if array.flags.c_contiguous and id(array) not in taken]

    def filled(self, results: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        """Returns the results of a call, those with a target in it; results that lie elsewhere are copied there."""
        pairs = list(zip(self.targets, results, strict=True))
        for target, result in pairs:
            if target is not None and target is not result:
                target[...] = result
        return tuple([result if target is None else target for target, result in pairs])


class MemoryCheck:
    """The checks of one call's ``out`` and ``donate``. ``arguments`` are the objects that were passed, ``arrays`` those
    that they became; ``cells`` are those of the function's variables.
    """

    def __init__(self, function: Function, binder: Binder, arguments: Sequence[object], arrays: Sequence[np.ndarray],
                 cells: Mapping[Variable, Cell]) -> None:
        self._function, self._binder, self._arguments, self._arrays = function, binder, arguments, arrays
        self._kept = [(f"variable {variable.name or 'without a name'}", cell.array)
                      for variable, cell in cells.items() if cell.lent.value]

    def given(self, out: object, donate: Sequence[int], bindings: Bindings) -> GivenMemory:
        """Returns the memory that ``out`` and ``donate`` give; an error names the array that does not fit."""
        donated = self._donated(donate)
        return GivenMemory(self._targets(out, set(donated), bindings), donated)

    # -- arguments that are donated ---------------------------------------------------------------------------

    def _donated(self, donate: Sequence[int]) -> tuple[int, ...]:
        numbers = self._numbers(donate)
        for at, number in enumerate(numbers):
            name, given = f"argument {self._binder.name(number)}", self._arguments[number]
            if number in numbers[:at]:
                raise self._wrong(f"{name} is donated twice", "donate", tuple(numbers), "each number once",
                                  "leave out the second one")
            if not isinstance(given, np.ndarray):
                continue
            if given is self._arrays[number] and not given.flags.writeable:
                raise self._wrong(f"{name} is donated and read-only", "donate", "writeable=False",
                                  "an array that may be written", "pass a copy, array.copy(), or do not donate it")
            for other, array in [*self._passed(number), *self._kept]:
                if _overlap(given, array):
                    raise self._wrong(f"{name} is donated and shares memory with {other}", "donate",
                                      f"{given.dtype.name}{list(given.shape)}", "memory of its own",
                                      "pass a copy of one of them, or do not donate it")
        return tuple([number for number in numbers if self._arguments[number] is self._arrays[number]])

    def _numbers(self, donate: Sequence[int]) -> list[int]:
        count = len(self._function.parameters)
        try:
            numbers = [operator.index(number) for number in donate]
        except TypeError:
            raise WrongKind("donate lists the numbers of arguments", op=self._function.name, operand="donate",
                            got=repr(donate), expected="a tuple of ints",
                            help="donate=(0,) gives away the first argument") from None
        for number in numbers:
            if not 0 <= number < count:
                raise self._wrong("a donated argument does not exist", "donate", number,
                                  f"numbers from 0 to {count - 1}", "arguments are numbered from 0")
        return numbers

    def _passed(self, excepted: int | None = None) -> list[tuple[str, np.ndarray]]:
        """Returns the arrays that the call reads, with their names, without those of one argument."""
        both = [(number, array) for arrays in (self._arguments, self._arrays) for number, array in enumerate(arrays)]
        return [(f"argument {self._binder.name(number)}", array) for number, array in both
                if isinstance(array, np.ndarray) and number != excepted]

    # -- arrays for results -----------------------------------------------------------------------------------

    def _targets(self, out: object, donated: set[int], bindings: Bindings) -> tuple[np.ndarray | None, ...]:
        results = self._function.results
        if out is None:
            return (None,) * len(results)
        if not isinstance(out, (np.ndarray, list, tuple)):
            raise WrongKind("out is a list of arrays", op=self._function.name, operand="out", got=type(out).__name__,
                            expected="a list with an array or None for each result",
                            help="write out=[array], with None where there is none")
        targets = [out] if isinstance(out, np.ndarray) else list(out)
        if len(targets) != len(results):
            raise self._wrong("wrong number of result arrays", "out", len(targets), len(results),
                              "None stands for a result without an array")
        found: list[tuple[str, np.ndarray]] = []
        for number, (target, result) in enumerate(zip(targets, results, strict=True)):
            if target is None:
                continue
            name = f"out[{number}]"
            self._check_target(target, name, result.type, numbers(result.type.shape, bindings))
            self._check_apart(target, name, donated, found)
            found.append((name, target))
        return tuple(targets)

    def _check_apart(self, target: np.ndarray, name: str, donated: set[int],
                     earlier: Sequence[tuple[str, np.ndarray]]) -> None:
        """Raises InvalidArgument if a target shares memory with anything else than a donated argument that it is."""
        same = [number for number in donated if self._arrays[number] is target]
        for other, array in [*self._passed(*same), *self._kept, *earlier]:
            if _overlap(target, array):
                raise self._wrong(f"{name} shares memory with {other}", name,
                                  f"{target.dtype.name}{list(target.shape)}", "memory of its own",
                                  "pass another array, or none; donate= permits a result to replace an argument that "
                                  "is the same array")

    def _check_target(self, target: object, name: str, type: BasicTensorDescription, shape: tuple[int, ...]) -> None:
        def wrong(kind: Callable[..., NervureError], message: str, got: object, help: str,
                  expected: object = type) -> NervureError:
            return kind(message, op=self._function.name, operand=name, got=got, expected=expected, help=help)

        makes_one = f"np.empty({shape}, {type.dtype.name!r}) makes one"
        if not isinstance(target, np.ndarray):
            raise wrong(WrongKind, "a result array is a NumPy array", target.__class__.__name__,
                        "None stands for an array that the call makes")
        if target.dtype != type.dtype.numpy:
            raise wrong(WrongKind, "a result array has another element type", target.dtype,
                        f"{makes_one}; the call makes them without out=")
        if target.shape != shape:
            raise wrong(ShapeMismatch, "a result array has another shape", target.shape, makes_one)
        if not target.flags.writeable:
            raise wrong(InvalidArgument, "a result array is read-only", "writeable=False",
                        "pass a copy: array.copy()")
        if _overlaps_itself(target):
            raise wrong(InvalidArgument, f"{name} shares memory with itself", f"strides of {target.strides} bytes",
                        "pass an array that is no broadcast or window of another one", "an element for each index")

    def _wrong(self, message: str, operand: str, got: object, expected: object, help: str) -> InvalidArgument:
        return InvalidArgument(message, op=self._function.name, operand=operand, got=got, expected=expected, help=help)


def _overlap(left: np.ndarray, right: np.ndarray) -> bool:
    """Whether two arrays share an element; true if that takes too long to find out."""
    if not np.may_share_memory(left, right):
        return False
    try:
        return bool(np.shares_memory(left, right, max_work=100_000))  # type: ignore[arg-type]  # the stub says -1 or 0
    except np.exceptions.TooHardError:
        return True


def _overlaps_itself(array: np.ndarray) -> bool:
    """Whether two indices may lead to one element: some stride is less than the span of the smaller ones."""
    moving = sorted([(abs(stride), length) for stride, length in zip(array.strides, array.shape, strict=True)
                     if length > 1])
    span = array.itemsize
    for stride, length in moving:
        if stride < span and array.size:
            return True
        span += stride * (length - 1)
    return False
