"""What runs compiled programs: steps in order, threads, memory that is used again, and the fast way in from Python."""

from nervure.transformers.cpu.runtime.fast import FastEntry, Gate
from nervure.transformers.cpu.runtime.host import HostKernel
from nervure.transformers.cpu.runtime.native import begin
from nervure.transformers.cpu.runtime.program import (
    Array,
    Buffer,
    Program,
    Step,
    arena,
    argument,
    constant,
    result,
    variable,
)
from nervure.transformers.cpu.runtime.records import Code, Status

__all__ = ["Array", "Buffer", "Code", "FastEntry", "Gate", "HostKernel", "Program", "Status", "Step", "arena",
           "argument", "begin", "constant", "result", "variable"]
