"""The runtime of compiled programs: steps in order, a thread pool, a memory pool, and the fast path."""

from nervure.transformers.cpu.runtime.fast import FastEntry, Gate
from nervure.transformers.cpu.runtime.found_sizes import EXTENT, IMPOSSIBLE, FoundSizes
from nervure.transformers.cpu.runtime.panels import CONSTANT, PanelMemory, panel_of
from nervure.transformers.cpu.runtime.program import (
    Array,
    BufferLocation,
    Program,
    ProgramStep,
    arena,
    argument,
    constant,
    panel,
    result,
    variable,
)
from nervure.transformers.cpu.runtime.records import REPLACED, Status, StatusCode
from nervure.transformers.cpu.runtime.runtime_library import begin
from nervure.transformers.cpu.runtime.tensors import TensorEntry

__all__ = ["CONSTANT", "EXTENT", "IMPOSSIBLE", "REPLACED", "Array", "BufferLocation", "FastEntry", "FoundSizes", "Gate",
           "PanelMemory", "Program", "ProgramStep", "Status", "StatusCode", "TensorEntry", "arena", "argument", "begin",
           "constant", "panel", "panel_of", "result", "variable"]
