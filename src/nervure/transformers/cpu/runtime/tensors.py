"""Native functions for Python that take and return tensors of another library; :mod:`fast` has those for arrays.

>>> from nervure.types.description import BasicTensorDescription
>>> from nervure.types.dtype import float32
>>> hex(_kind(BasicTensorDescription(float32, (2, 3))))
'0x1200200000002'
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

import numpy as np

from nervure.transformers.cells import Cell
from nervure.transformers.cpu.runtime import records
from nervure.transformers.cpu.runtime.fast import FastEntry, Gate, SlowWay, native_function
from nervure.transformers.tensor_calls import Dimensions, TensorCall
from nervure.types.description import BasicTensorDescription
from nervure.types.dlpack import ExchangeFunctions, type_word

_Answer = TypeVar("_Answer")


class TensorEntry(FastEntry):
    """The programs of an executable, and a function that runs them on tensors, as ``call`` says.

    ``parameters`` and ``results`` are the types of the function's. Programs write the results ``in_place`` where their
    arguments lie; the others of ``call.writes`` are copied there at the end.
    """

    def __init__(self, fail: Callable[[records.Status, tuple[np.ndarray, ...]], object], cells: Sequence[Cell],
                 gate: Gate, call: TensorCall, functions: ExchangeFunctions,
                 parameters: Sequence[BasicTensorDescription], results: Sequence[BasicTensorDescription],
                 in_place: Collection[int]) -> None:
        super().__init__(fail, cells, gate)
        self._kept: list[object] = []
        written = set(call.writes.values())
        arguments = [records.TensorArgumentRecord(
            place=argument.place, kind=_kind(type), mask=type.dtype.itemsize - 1, order=self._order(argument.order),
            is_written=number in written)
            for number, (argument, type) in enumerate(zip(call.arguments, parameters, strict=True))]
        made = [records.TensorResultRecord(kind=_kind(type), order=self._order(result.order),
                                           target=call.writes.get(number, -1))
                for number, (result, type) in enumerate(zip(call.results, results, strict=True))
                if number not in in_place]
        self._tensors = records.TensorEntryRecord(
            argument_count=call.length, types=self._keep((ctypes.c_void_p * 2)(id(call.kinds[0]), id(call.kinds[-1]))),
            read=functions.read, make=functions.make, parameter_count=len(arguments),
            arguments=self._keep((records.TensorArgumentRecord * len(arguments))(*arguments)),
            results=self._keep((records.TensorResultRecord * len(made))(*made)),
            returned_count=len(results) - len(call.writes), is_writing=bool(written))

    def tensor_function(self, slow: Callable[[list[object]], _Answer]) -> Callable[[list[object]], _Answer]:
        """Returns a function of the list of arguments that returns the list of results, without those that take the
        place of arguments. ``slow``, a bound method whose object is not kept alive, handles calls that do not fit.
        """
        otherwise = SlowWay(slow)
        entry = self.record(otherwise)
        record = records.TensorEntryRecord.from_buffer_copy(self._tensors)
        record.entry = ctypes.addressof(entry)
        return native_function(records.TENSORS, "tensor_entry", record, self, otherwise, entry)

    def _order(self, order: Dimensions) -> int:
        return 0 if order is None else self._keep((ctypes.c_int64 * len(order))(*order))

    def _keep(self, table: ctypes.Array[Any]) -> int:
        """Returns the address of a table, which lives as long as the entry."""
        self._kept.append(table)
        return ctypes.addressof(table)


def _kind(type: BasicTensorDescription) -> int:
    """Returns the word of a DLTensor with a rank and an element type."""
    return len(type.shape) | type_word(type.dtype) << 32
