"""Placing: the device of each op of a function, and its form there.

An op goes to the first device of its list that implements it: by ``nv.implement``, or because the device's transformer
runs it. A composite that no device takes whole is decomposed, and its parts are placed. Views stay with the viewed
value.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (4,))
>>> with nv.devices(nv.NumPyTensor, nv.CPUTensor):
...     y = nv.ops.Square(x)
>>> placed = Placing(nv.transformers.default()).placed(nv.Function([y + x], [x]))
>>> [(type(op).__name__, device and device.__name__) for op, device in placed.devices.items()]
[('Parameter', None), ('Multiply', 'NumPyTensor'), ('Add', 'CPUTensor')]
"""

from __future__ import annotations

from typing import NamedTuple

from nervure import transformers
from nervure.errors import NodeNotFound, NotSupported, ShapeMismatch, WrongKind
from nervure.ir.device import ArrayStorage, Device, DeviceList, devices_of, implementation_of, names_of, native_device
from nervure.ir.function import Function
from nervure.ir.kinds import View
from nervure.ir.leaves import Leaf
from nervure.ir.op import Op, Operand, Value
from nervure.ir.printer import nested_functions
from nervure.ir.region import RegionOp
from nervure.passes.decompose import Decomposition
from nervure.passes.pipelines import on_devices
from nervure.passes.rewrite import Replacement, Rewriter, Row
from nervure.transformers.base import Transformer
from nervure.transformers.devices.implementing import implemented, is_pointwise
from nervure.types.view import SimpleView


class PlacedFunction(NamedTuple):
    """A function without composites, and the device of each op; None if it runs on the device of its reader."""

    function: Function
    devices: dict[Op, type[Device] | None]


class Placing:
    """The decisions by what devices implement. ``base`` is the transformer of ops built under no list, or of
    everything.
    """

    def __init__(self, base: Transformer, follows_lists: bool = True, fuses: bool = True) -> None:
        self._follows_lists, self._fuses = follows_lists, fuses
        self._natives: dict[str, Transformer] = {base.name: base}
        self.home = native_device(base.name) or _unnamed(base)

    def transformer(self, name: str) -> Transformer:
        """Returns the transformer of that name, which runs the parts of its devices."""
        if name not in self._natives:
            self._natives[name] = transformers.make_transformer(name)
        return self._natives[name]

    def list_of(self, op: Op) -> DeviceList:
        """Returns the devices on which an op may run."""
        found = devices_of(op) if self._follows_lists else None
        return found or DeviceList((self.home,))

    def decomposed(self, function: Function) -> Function:
        """Returns the function with the devices' own rules applied, and with the composites decomposed that no device
        takes whole.
        """
        rules = [Rewriter(f"rules of {device.__name__}", [_RuleOf(device, row, self) for row in device.rewrites])
                 for device in self._with_rules(function)]
        return on_devices(function, _Unless(self), rules)

    def _with_rules(self, function: Function) -> list[type[Device]]:
        """Returns the devices with rules of their own on which ops of a function may run."""
        if not self._fuses:
            return []
        listed = dict.fromkeys([device for op in function.operations for device in self.list_of(op).devices])
        return [device for device in listed if device.rewrites]

    def placed(self, function: Function) -> PlacedFunction:
        """Returns the function with a device for each op, and each op in its form there: composites that no device
        takes whole are decomposed. NodeNotFound for an op that no device of its list implements.
        """
        whole = self.decomposed(function)
        table: dict[Value, Value] = {}
        devices: dict[Op, type[Device] | None] = {}
        for op in whole.operations:
            fresh = op.with_operands([table.get(value, value) for value in op.operands])
            device = self._device(fresh, devices)
            if isinstance(fresh, RegionOp) and device is not None:
                self._check_bodies(fresh, device)
            final = fresh if device is None else implemented(fresh, device)
            devices[final] = device
            table.update([(old, new) for old, new in zip(op.outputs, final.outputs, strict=True) if old is not new])
        result = whole.substituted(table)
        # An effect without results has been rebuilt again.
        return PlacedFunction(result, {op: devices[op] if op in devices else self._device(op, devices)
                                       for op in result.operations})

    def _device(self, op: Op, known: dict[Op, type[Device] | None]) -> type[Device] | None:
        if isinstance(op, Leaf):
            return None
        if _is_moved(op):
            return known[op.operands[0].op]
        devices = self.list_of(op).devices
        for device in devices:
            if self.refusal(op, device) is None:
                return device
        raise self._not_found(op, devices)

    def _check_bodies(self, region: RegionOp, device: type[Device]) -> None:
        """Raises NotSupported for an op inside of a branch or a loop that is to run elsewhere than the ``region`` does.

        Functions of an op run where the op does, which is this ``device``.
        """
        for op in [op for body in region.bodies for inner in nested_functions(body) for op in inner.operations]:
            own = None if isinstance(op, Leaf) or _is_moved(op) else self._apart(op, device)
            if own is device:
                raise op.fail(NotSupported, "its implementation is called in Python, which no branch or loop does",
                              got=f"an implementation for {device.__name__} inside of {type(region).__name__}",
                              expected="ops that the device's transformer runs",
                              help='give the op decompose, implement it with mode="generate", or call nv.host_call')
            if own is not None:
                raise op.fail(NotSupported, "it stands inside of a branch or a loop, which runs on another device",
                              got=own, expected=f"{device.__name__}, on which {type(region).__name__} runs",
                              help="build the whole loop under nv.devices(...) with a device whose transformer runs "
                                   "loops, such as nv.NumPyTensor, or compute this outside of the body")

    def _apart(self, op: Op, device: type[Device]) -> str | type[Device] | None:
        """Returns where an op inside of a loop on a ``device`` is to run; None if that is what runs the loop.

        The device itself stands for an implementation that it calls in Python.
        """
        given = self.list_of(op).devices if self._follows_lists and devices_of(op) else (device,)
        for each in given:
            if each is device:
                return None if implementation_of(type(op), device) is None else device
            if self.refusal(op, each) is None:
                return each.__name__
        return f"one of {names_of(given) or 'no devices'}"

    def refusal(self, op: Op, device: type[Device]) -> str | None:
        """Returns the reason why a device does not run an op; None if it does."""
        missing = self._missing(device)
        if missing is not None or not device.admits(op):
            return missing or "it does not take these shapes"
        found = implementation_of(type(op), device)
        if found is not None:
            is_fitting = found.mode == "runtime" or is_pointwise(op)
            return None if is_fitting else "its scalar expression is for operands of one shape"
        if device.transformer is None:
            return "it implements no such op"
        supports = self.transformer(device.transformer).supports(type(op))
        return None if supports else f"its transformer {device.transformer} does not run such ops"

    def _missing(self, device: type[Device]) -> str | None:
        missing, name = device.missing(), device.transformer
        if missing is None and name is not None and name not in self._natives:
            return None if name in transformers.transformer_choices() else f"there is no transformer {name}"
        return missing

    def takes_whole(self, op: Op) -> bool:
        """Whether a composite goes to a device that implements it as it is, before one whose transformer lowers it."""
        for device in self.list_of(op).devices:
            if self.refusal(op, device) is None:
                return True
            if device.transformer is not None and self._missing(device) is None and device.admits(op):
                return False
        return False

    def _not_found(self, op: Op, devices: tuple[type[Device], ...]) -> NotSupported:
        tried = "; ".join([f"{device.__name__}: {self.refusal(op, device)}" for device in devices])
        name = type(op).__name__
        return op.fail(NodeNotFound, f"no device of the list implements {name}", got=tried or "no devices",
                       expected=f"a device among {names_of(devices) or 'none'} that implements it",
                       help=f"@nv.implement({name}, device=...) gives it a forward; nv.CPUTensor, last in "
                            "nv.devices(...), takes what others leave")


class _Unless(Decomposition):
    """Decomposes each composite that no device takes whole."""

    def __init__(self, placing: Placing) -> None:
        super().__init__()
        self._placing = placing

    def apply(self, op: Op) -> Replacement:
        return None if self._placing.takes_whole(op) else super().apply(op)


class _RuleOf(Row):
    """A rule of a device, for ops that may run on it."""

    def __init__(self, device: type[Device], row: object, placing: Placing) -> None:
        if not (isinstance(row, (tuple, list)) and len(row) == 2 and callable(row[1])):
            raise WrongKind("a rule is a pattern and what replaces it", op=device.__name__, operand="rewrites",
                            got=f"{row!r:.60}", expected="a pair of a pattern and a function",
                            help="p = Patterns(); (p.Add(p.any('x'), p.any('y')), lambda x, y: Fused.op(x, y))")
        super().__init__(*row)
        self._device, self._placing = device, placing

    def apply(self, op: Op) -> Replacement:
        if self._device not in self._placing.list_of(op).devices:
            return None
        found = super().apply(op)
        if isinstance(found, Operand) and found.type != op.outputs[0].type:
            raise op.fail(ShapeMismatch, f"a rule of {self._device.__name__} gives another type", operand=self.name,
                          got=found.type, expected=op.outputs[0].type, help="what replaces an op has its type")
        return found


def _unnamed(base: Transformer) -> type[Device]:
    """Returns the device of a transformer that has none of its own."""
    return type(base.name, (ArrayStorage,), {"transformer": base.name}, is_device=False)


def _is_moved(op: Op) -> bool:
    """Whether an op shows the elements of one tensor in other places, which nervure does for every device."""
    return isinstance(op, View) and len(op.operands) == 1 and isinstance(op.view, SimpleView)
