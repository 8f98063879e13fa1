"""The transformer of functions whose ops run on several devices.

>>> import nervure as nv
>>> x = nv.placeholder("N=n")
>>> with nv.devices(nv.NumPyTensor):
...     y = nv.sin(x)
>>> both = nv.computation(y + y, x)
>>> both.transformer, [part.device for part in both.executable.parts]
(<transformer devices over cpu>, ['interpreter', 'cpu'])
>>> both(np.float32([0.0, 0.0])).tolist()
[0.0, 0.0]
"""

from __future__ import annotations

from collections.abc import Hashable

from nervure.errors import NotSupported
from nervure.ir.function import Function
from nervure.ir.op import Op
from nervure.passes.partition import partition
from nervure.transformers.base import Executable, Transformer
from nervure.transformers.devices.executable import DeviceExecutable
from nervure.transformers.devices.placing import Placing
from nervure.transformers.peers import Peers
from nervure.transformers.program_options import ProgramOptions


class DeviceTransformer(Transformer):
    """Places functions built under lists of devices, and leaves the rest to ``base``, whose state it shares.

    If ``base`` was asked for by name it runs everything: lists do not count, only implementations for its device.
    ``fuses`` says whether the devices' own rules are applied.
    """

    name = "devices"

    def __init__(self, base: Transformer, follows_lists: bool = True, fuses: bool = True) -> None:
        self.base, self.cells, self.is_open = base, base.cells, base.is_open
        self.placing = Placing(base, follows_lists, fuses)

    @property
    def peers(self) -> Peers:
        return self.base.peers

    def check_open(self) -> None:
        self.base.check_open()

    def following(self, options: ProgramOptions) -> Transformer:
        if options.results == "device":
            raise NotSupported("results of several devices are arrays of NumPy", op=self.name, operand="results",
                               got="results='device'", expected="results='numpy'",
                               help="leave results= out, or ask for one transformer: transformer=")
        return super().following(options)

    def native(self, name: str) -> Transformer:
        """Returns the transformer that runs the parts of its devices."""
        return self.placing.transformer(name)

    def supports(self, op_class: type[Op]) -> bool:
        return self.base.supports(op_class)

    def optimised(self, function: Function) -> Function:
        """Returns the function optimised as far as possible before its ops are placed: each part has passes of its
        own.
        """
        return self.placing.decomposed(function)

    def build(self, function: Function) -> Executable:
        self.check_open()
        placed = self.placing.placed(function)

        def key(op: Op) -> Hashable | None:
            device = placed.devices[op]
            found: object = device and (device.transformer or device)
            return found

        if {key(op) for op in placed.function.operations} <= {None, self.base.name}:
            return self.base.build(placed.function)
        return DeviceExecutable(placed, self, partition(placed.function, key, self.base.name))

    def make_executable(self, function: Function) -> Executable:
        return self.base.make_executable(function)

    def close(self) -> None:
        self.base.close()

    def __repr__(self) -> str:
        return f"<transformer devices over {self.base.name}{'' if self.base.is_open else ', closed'}>"
