"""What runs compiled programs: steps in order, threads, memory that is used again, and the fast way in from Python."""

from nervure.transformers.cpu.runtime.program import (
    Buffer,
    Program,
    Step,
    arena,
    argument,
    constant,
    result,
    variable,
)

__all__ = ["Buffer", "Program", "Step", "arena", "argument", "constant", "result", "variable"]
