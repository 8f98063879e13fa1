"""Devices as users name and write them, and the declarations for them.

>>> import nervure as nv
>>> class MyCPU(nv.CPUTensor):
...     "Native code, but for what is implemented here."
>>> with nv.devices(MyCPU, nv.CPUTensor):
...     y = nv.sin(nv.ones((3,)))
>>> nv.computation(y)().shape
(3,)
"""

from __future__ import annotations

import inspect
import platform
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from importlib.util import find_spec
from typing import Literal, TypeVar, cast

import numpy as np

from nervure.errors import InvalidArgument, NotSupported, WrongKind, did_you_mean, shown
from nervure.front.argument_parsing import one_of, require_function, truth
from nervure.front.nodes import Node
from nervure.front.tensor import Tensor
from nervure.ir.device import (
    ArrayStorage,
    Device,
    DeviceList,
    Implementation,
    conversions,
    devices_in_force,
    implementations,
    known_devices,
    listed,
    names_of,
)
from nervure.ir.op import Op
from nervure.support import forks

Declared = TypeVar("Declared", bound=Callable[..., object])


class CPUTensor(ArrayStorage, Tensor):
    """Tensors that native code computes. A class below it inherits everything, and may replace some of it.

    >>> issubclass(nv.CPUTensor, nv.AbstractTensor), nv.CPUTensor.transformer
    (True, 'cpu')
    """

    transformer = "cpu"

    @classmethod
    def backend_state(cls) -> str:
        return f"native code for {platform.machine()}"


class NumPyTensor(ArrayStorage, Tensor):
    """Tensors that the interpreter computes with NumPy, op by op: the reference.

    >>> with nv.devices(nv.NumPyTensor):
    ...     (nv.ones((2,)) + 1).tolist()
    [2.0, 2.0]
    """

    transformer = "interpreter"

    @classmethod
    def backend_state(cls) -> str:
        return f"NumPy {np.__version__}"


class ScalarTensor(ArrayStorage, Tensor):
    """A device of single numbers: it takes ops whose results all have the shape ().

    >>> with nv.devices(nv.ScalarTensor, nv.CPUTensor):
    ...     (nv.sum(nv.ones((3,))) + 1).item()
    4.0
    """

    transformer = "cpu"

    @classmethod
    def admits(cls, op: Op) -> bool:
        return all([value.type.shape == () for value in op.outputs])


class XLATensor(ArrayStorage, Tensor):
    """Tensors that XLA computes, through jax. Calls of Python's functions and prints go to the next device.

    >>> nv.XLATensor.transformer
    'xla'
    """

    transformer = "xla"

    @classmethod
    def missing(cls) -> str | None:
        if find_spec("jax") is None:
            return 'it needs jax: pip install "nervure[xla]"'
        return None

    @classmethod
    def backend_state(cls) -> str:
        if missing := cls.missing():
            return missing
        with forks.importing():  # modules for mail and sockets, which nothing else here needs
            from importlib.metadata import version
        return f"XLA, through jax {version('jax')}"


_OWN: tuple[type[Device], ...] = (CPUTensor, NumPyTensor, ScalarTensor, XLATensor)

# -- the list in force -----------------------------------------------------------------------------------------------


def devices(*priorities: type[Device], strict: bool = False) -> AbstractContextManager[DeviceList]:
    """Places the ops built inside ``with nv.devices(First, Second):`` each on the first device that implements it.
    ``strict`` lets tensors pass between devices by inheritance and as ``nv.converts`` declares, and in no other way.

    >>> with nv.devices(nv.NumPyTensor, nv.CPUTensor):
    ...     nv.device_in_force().__name__
    'NumPyTensor'
    """
    if not priorities:
        raise InvalidArgument("a list of devices names at least one", op="devices", got="no devices",
                              expected=_usable(), help="with nv.devices(nv.CPUTensor): ...")
    for position, device in enumerate(priorities):
        usable_device(device, "devices", position + 1)
    return listed(DeviceList(tuple(priorities), truth(strict, "devices", "strict")))


def device_in_force() -> type[Device]:
    """Returns the device of a tensor that is made now: the first of the list in force, else ``nv.CPUTensor``.

    >>> nv.device_in_force().__name__
    'CPUTensor'
    """
    found = devices_in_force()
    return CPUTensor if found is None else found.devices[0]


def device_of_numbers() -> type[Device]:
    """Returns the device of a number that is made now: the first ``nv.ScalarTensor`` of the list in force, else its
    first device.
    """
    found = devices_in_force()
    of_numbers = [] if found is None else [device for device in found.devices if issubclass(device, ScalarTensor)]
    return of_numbers[0] if of_numbers else device_in_force()


def _usable() -> str:
    """Says which devices nervure has, and how to make others."""
    own = names_of([device for device in _OWN if device.missing() is None])
    return f"classes below nv.AbstractTensor: {own}, or your own"


def checked_device(device: object, op: str, operand: str | int = "device") -> type[Device]:
    """Returns the class as it is; WrongKind if it is no device."""
    if isinstance(device, type) and issubclass(device, Tensor) and device.is_device:
        return device
    name = device.__name__ if isinstance(device, type) else shown(device)
    raise WrongKind("this is no device", op=op, operand=operand, got=name, expected=_usable(),
                    help=did_you_mean(str(device), [own.__name__ for own in _OWN],
                                      "class MyTensor(nv.AbstractTensor) declares one"))


def usable_device(device: object, op: str, operand: str | int = "device") -> type[Device]:
    """Returns the class as it is; WrongKind if it is no device, NotSupported if this machine cannot use it."""
    checked = checked_device(device, op, operand)
    missing = checked.missing()
    if missing is None:
        return checked
    raise NotSupported(f"{checked.__name__} cannot be used: {missing}", op=op, operand=operand, got=checked.__name__,
                       expected=_usable(), help="leave it out; nv.show_backends() shows all devices")


def show_backends() -> None:
    """Prints the tree of devices: for each its position in the list in force, if any, and the state that it reports.

    >>> class Quiet(nv.CPUTensor):
    ...     pass
    >>> with nv.devices(Quiet):
    ...     nv.show_backends()                                               # doctest: +ELLIPSIS
    AbstractTensor
      CPUTensor       -  native code for ...
        Quiet         1  no status
    ...
    """
    used = devices_in_force() or DeviceList((CPUTensor,))
    print("\n".join(["AbstractTensor", *_tree(Tensor, used.devices, 1)]))


def _tree(base: type, used: tuple[type[Device], ...], depth: int) -> Iterator[str]:
    """Yields a line for each device below a class, followed by its own children."""
    for device in sorted(known_devices().values(), key=lambda device: device not in _OWN):
        if base in device.__bases__:
            place = str(used.index(device) + 1) if device in used else "-"
            own = "backend_state" in vars(device)
            yield f"{'  ' * depth + device.__name__:<16} {place:>2}  {device.backend_state() if own else 'no status'}"
            yield from _tree(device, used, depth + 1)


# -- declarations for devices ----------------------------------------------------------------------------------------


def converts(source: type[Device], target: type[Device]) -> Callable[[Declared], Declared]:
    """Declares a conversion from ``source`` to ``target``: a function that gives storage of ``target``.

    The function is called with a tensor, whose elements ``x.numpy()`` and ``x.vref(i)`` read. It returns storage as
    the target's ``allocate`` makes it, filled in row-major order.

    >>> class Lists(nv.AbstractTensor):
    ...     def allocate(self, shape, dtype, initial_element=None, vec=None):
    ...         return [initial_element] * int(np.prod(shape)) if vec is None else vec
    >>> @nv.converts(nv.CPUTensor, Lists)
    ... def as_list(x):
    ...     return x.numpy().ravel().tolist()
    """
    checked_device(source, "converts", 1)
    checked_device(target, "converts", 2)

    def declare(function: Declared) -> Declared:
        require_function(function, "converts", "function")
        conversions[source, target] = function
        return function
    return declare


def implement(op: Node | type[Op], *, device: type[Device],
              mode: Literal["runtime", "generate"] = "runtime") -> Callable[[Declared], Declared]:
    """Gives an op a forward on a ``device``.

    ``mode`` "runtime": ``f(op, *operands, *results)`` is called in each run, and writes the results; operands and
    results are tensors with ``shape``, ``strides``, ``offset``, ``storage``, ``vref`` and ``set_vref``. The results'
    elements are undefined before the call, except that a result with the name of an operand in the where string holds
    that operand's elements.

    "generate": ``f(s, *scalars, **attributes)`` is called once and gives the result's element by functions of ``s``;
    the device's transformer makes loops of it. Functions compiled before stay as they are.

    >>> class Noisy(nv.CPUTensor):
    ...     pass
    >>> @nv.implement(nv.ops.Exp, device=Noisy)
    ... def exponential(op, x, out):
    ...     print("exp of", x.shape)
    ...     out.storage[:] = np.exp(x.storage)
    >>> with nv.devices(Noisy):
    ...     y = nv.exp(nv.zeros((2,)))
    >>> y.tolist()
    exp of (2,)
    [1.0, 1.0]
    """
    op_class = op.op if isinstance(op, Node) else op
    if not (isinstance(op_class, type) and issubclass(op_class, Op)):
        raise WrongKind("what is implemented is an op", op="implement", operand=1, got=f"{op!r:.60}",
                        expected="a class of nv.ops, or what nv.defnode gave",
                        help="@nv.implement(nv.ops.Exp, device=...)")
    checked_device(device, "implement")
    one_of(mode, ("runtime", "generate"), "implement", "mode")
    if mode == "generate" and device.transformer is None:
        raise InvalidArgument("nothing makes loops for this device", op="implement", operand="mode",
                              got=device.__name__, expected="a device that a transformer runs, such as nv.CPUTensor",
                              help="mode='runtime' takes a function of tensors")

    def declare(function: Declared) -> Declared:
        _check_parameters(function, op_class, mode)
        implementations[op_class, device] = Implementation(function, mode)
        return function
    return declare


def _check_parameters(function: object, op_class: type[Op], mode: str) -> None:
    """Raises WrongKind if the function certainly cannot be called with the operands, results and attributes of
    ``op_class``.
    """
    results = [] if mode == "generate" else _result_names(op_class)
    names = ["s" if mode == "generate" else "op", *op_class.operand_names, *results]
    attributes = op_class.fields if mode == "generate" else {}
    try:
        inspect.signature(cast("Callable[..., object]", function)).bind(*names, **attributes)
    except TypeError as error:
        if op_class.variadic and callable(function):
            return
        raise WrongKind(f"the function does not take what {op_class.__name__} has: {error}", op="implement",
                        got=getattr(function, "__name__", f"{function!r:.60}"),
                        expected=f"f({', '.join([*names, *attributes])})",
                        help="operands come in order, then results") from None
    except ValueError:  # a function of C has no signature to check
        return


def _result_names(op_class: type[Op]) -> list[str]:
    rule = op_class.type_rule
    return ["out"] if rule is None else [f"out{pattern.name}" for pattern in rule.results]
