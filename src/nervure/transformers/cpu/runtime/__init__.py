"""The runtime of compiled programs: steps in order, a thread pool, a memory pool, and the fast path."""

from nervure.transformers.cpu.runtime.fast import FastEntry, Gate
from nervure.transformers.cpu.runtime.panels import CONSTANT, Panel, panel_of
from nervure.transformers.cpu.runtime.program import (
    Array,
    Buffer,
    Program,
    Step,
    arena,
    argument,
    constant,
    panel,
    result,
    variable,
)
from nervure.transformers.cpu.runtime.records import Code, Status
from nervure.transformers.cpu.runtime.runtime_library import begin

__all__ = ["CONSTANT", "Array", "Buffer", "Code", "FastEntry", "Gate", "Panel", "Program", "Status", "Step", "arena",
           "argument", "begin", "constant", "panel", "panel_of", "result", "variable"]
