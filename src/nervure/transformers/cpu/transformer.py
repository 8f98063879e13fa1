"""The cpu transformer: it compiles whole functions for this machine's processor.

>>> import numpy as np
>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (4,))
>>> with nv.transformers.make_transformer("cpu") as cpu:
...     double = cpu.compile(nv.Function([nv.ops.Add(x, x)], [x]))
...     double(np.float32([1, 2, 3, 4]))
(array([2., 4., 6., 8.], dtype=float32),)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakSet

from nervure import flags
from nervure.errors import InvalidArgument, NotSupported
from nervure.ir.function import Function
from nervure.ir.gc_paused import gc_paused
from nervure.ir.leaves import Leaf
from nervure.ir.op import Op
from nervure.support import forks
from nervure.transformers.base import Executable, Transformer
from nervure.transformers.cpu import runtime
from nervure.transformers.cpu.cache import executable_cache
from nervure.transformers.cpu.executable import CpuExecutable
from nervure.transformers.cpu.target import Target

if TYPE_CHECKING:
    from nervure.transformers.cpu.compile.compilation import Compilation


class CpuTransformer(Transformer):
    """Runs every op that has one of the four kinds of meaning, and the effects."""

    name = "cpu"

    def __init__(self) -> None:
        super().__init__()
        self.target = Target.host()
        self.target.check_llvm()
        self._gate = runtime.Gate()
        _all.add(self)
        self.keep_gate()

    def supports(self, op_class: type[Op]) -> bool:
        from nervure.transformers.interpreter.evaluate import supports
        return issubclass(op_class, Leaf) or supports(op_class)

    def pipeline(self) -> Callable[..., Function]:
        with forks.importing():
            from nervure.passes.pipelines import native
        return partial(native, machine=self.target.machine)

    def build(self, function: Function) -> Executable:
        self.check_open()
        loaded = executable_cache.find(function, self.target)
        if loaded is not None:
            return self._within_switch(CpuExecutable(function, self, self._gate, loaded))
        runtime.begin()
        executable = super().build(function)
        if isinstance(executable, CpuExecutable):
            executable_cache.keep(function, executable.compilation, self.target)
            return self._within_switch(executable)
        return executable

    def _within_switch(self, executable: CpuExecutable) -> Executable:
        """Returns an executable that keeps the limit of the switch, if there is one; else this one, whose calls fail.
        """
        function, limit = executable.function, flags.memory_limit
        if not limit or function.symbols or executable.memory({}).bytes <= limit:
            return executable
        try:
            return self.within(limit).build(function)
        except (InvalidArgument, NotSupported):
            return executable

    def make_executable(self, function: Function) -> Executable:
        compilation = self.compilation(function)
        return CpuExecutable(function, self, self._gate, compilation.loaded, compilation)

    def compilation(self, function: Function) -> Compilation:
        """Returns the function, compiled as it is."""
        with forks.importing():
            from nervure.passes.pipelines import native_minimal
            from nervure.transformers.cpu.compile.compilation import compile_function
            from nervure.transformers.cpu.found_results import with_lengths
        return compile_function(with_lengths(native_minimal(function, self.target.machine)), self.target)

    def within(self, memory_limit: int) -> Transformer:
        return LimitedTransformer(self, memory_limit)

    def close(self) -> None:
        super().close()
        self.keep_gate()

    def keep_gate(self) -> None:
        """Closes the fast path while NaN are checked for, and for good with the transformer."""
        self._gate.set(self.is_open and not flags.check_nan)


class LimitedTransformer(CpuTransformer):
    """The transformer ``base``, whose variables it shares, with a limit for what it compiles: bytes of a call."""

    def __init__(self, base: CpuTransformer, memory_limit: int) -> None:
        self.cells, self.target, self._gate = base.cells, base.target, base._gate
        self._base, self.memory_limit = base, memory_limit

    @property
    def is_open(self) -> bool:  # type: ignore[override]  # an attribute of others
        """Whether the base is open."""
        return self._base.is_open

    def close(self) -> None:
        self._base.close()

    def within(self, memory_limit: int) -> Transformer:
        return self._base.within(memory_limit)

    def build(self, function: Function) -> Executable:
        self.check_open()
        with forks.importing():
            from nervure.transformers.cpu.limited import LimitedExecutable, read
        if not function.symbols:
            program = read(function, self, {})
            if program is not None:
                return program
        elif executable_cache.has_some(function, self.target, (self.memory_limit,)):
            return LimitedExecutable(function, self, function)
        runtime.begin()
        with gc_paused():
            limited = LimitedExecutable(self.prepared(self.optimised(function)), self, function)
            return limited if function.symbols else limited.program({})

    def make_executable(self, function: Function) -> Executable:
        with forks.importing():
            from nervure.transformers.cpu.limited import LimitedExecutable
        limited = LimitedExecutable(function, self)
        return limited if function.symbols else limited.program({})


_all: WeakSet[CpuTransformer] = WeakSet()


def _tell(_: object) -> None:
    for transformer in list(_all):
        transformer.keep_gate()


flags.on_change("check_nan", _tell)
