"""DLPack exchange with other libraries: the array API standard's way to hand elements over.

>>> import numpy as np
>>> import nervure as nv
>>> x = nv.constant([1., 2.])
>>> np.from_dlpack(x * 2), from_dlpack(np.float32([3, 4])).tolist()
(array([2., 4.], dtype=float32), [3.0, 4.0])

A tensor is computed into memory that then belongs to the borrower; a constant owns its elements. So nothing is shared,
and no write on one side is seen on the other.
"""

from __future__ import annotations

from nervure.errors import NotShared, WrongKind, shown
from nervure.front.argument_parsing import as_integer, truth
from nervure.front.creation import AssignableTensorOp, constant
from nervure.front.given_arrays import check_numbers
from nervure.front.tensor import Tensor
from nervure.support.elsewhere import explain_keywords
from nervure.types.dlpack import CPU, borrow, lend
from nervure.types.dtype import as_dtype


def from_dlpack(x: object, /, *, device: object = None, copy: bool | None = None) -> AssignableTensorOp:
    """Makes a constant with the elements, and the element type, of any object that has ``__dlpack__``.

    The elements are copied, so ``copy=False`` is refused; ``device`` is "cpu" or None. Raises NotShared (a
    BufferError) if the elements are not in this machine's memory, or their type does not exist here.

    >>> x = nv.from_dlpack(np.array([1, 2], np.int16))
    >>> x.tolist(), x.dtype
    ([1, 2], nervure.int16)
    """
    if not (hasattr(type(x), "__dlpack__") and hasattr(type(x), "__dlpack_device__")):
        raise WrongKind("this does not speak DLPack", op="from_dlpack", got=shown(x),
                        expected="an object with __dlpack__ and __dlpack_device__",
                        help="nv.constant(x) reads what NumPy reads")
    _check_asked("from_dlpack", copy, device)
    try:
        array = borrow(x)
    except Exception as error:  # a foreign object may raise anything
        raise NotShared(f"the elements cannot be borrowed: {error}", op="from_dlpack", got=shown(x),
                        expected="elements in this machine's memory, of a type that NumPy or ml_dtypes has",
                        help="let its library copy or convert it first") from None
    check_numbers(array, "from_dlpack", x)
    return constant(array, dtype=as_dtype(array.dtype))


def to_dlpack(x: Tensor, *, stream: None = None, max_version: tuple[int, int] | None = None,
              dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> object:
    """Returns a capsule with the elements of ``x``, computed now, as ``torch.from_dlpack(x)`` and similar functions
    ask for it.

    Raises NotShared (a BufferError) for a stream, a ``dl_device`` other than the CPU, ``copy=False``, and elements
    of less than 8 bits.
    """
    if stream is not None:
        raise NotShared("elements in this machine's memory have no stream", op="__dlpack__", operand="stream",
                        got=stream, expected="None", help="leave it out")
    _check_asked("__dlpack__", copy, dl_device)
    keywords = {} if max_version is None else {"max_version": _version(max_version)}
    try:
        return lend(x.numpy(), **keywords)
    except BufferError as error:
        raise NotShared(str(error), op="__dlpack__", got=str(x.type), expected="a type that DLPack has",
                        help="convert it first: x.astype(nv.int8)") from None


def dlpack_device(x: Tensor) -> tuple[int, int]:
    """Returns the device that ``__dlpack__`` puts the elements on: (kDLCPU, 0). Nothing is computed."""
    return CPU


def _check_asked(op: str, copy: object, device: object) -> None:
    """Raises NotShared unless a borrower asks for a copy in this machine's memory."""
    if copy is not None and not truth(copy, op, "copy"):
        raise NotShared("elements are never handed over without a copy", op=op, operand="copy", got=copy,
                        expected="None or True", help="leave it out")
    is_cpu = device is None or (isinstance(device, str) and device == "cpu") or (
        isinstance(device, (list, tuple)) and tuple([as_integer(entry) for entry in device]) == CPU)
    if not is_cpu:
        raise NotShared("there is no such device", op=op, operand="device", got=f"{device!r:.60}", expected="the CPU",
                        help="the other library moves elements to its devices")


def _version(version: object) -> tuple[int, ...]:
    """Reads a version of DLPack as two integers."""
    given = version if isinstance(version, (list, tuple)) else ()
    numbers = tuple([number for entry in given if (number := as_integer(entry)) is not None])
    if not len(given) == len(numbers) == 2:
        raise WrongKind("a version is a pair of integers", op="__dlpack__", operand="max_version", got=shown(version),
                        expected="(major, minor)", help="write max_version=(1, 0), or leave it out")
    return numbers


__all__ = ["from_dlpack"]

explain_keywords(globals(), __all__)
