"""What Python runs: the stored values that an op reads, through views that are applied when it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nervure.kernel.lower.kernels import HostCall, Memory

if TYPE_CHECKING:
    from nervure.kernel.cluster.steps import Host


def lower_host(step: Host, memory: Memory) -> list[HostCall]:
    """One call."""
    read = [memory.producers.base(operand)[0] for operand in step.op.operands]
    bases = {value: memory.places[value] for value in read if value in memory.places}
    return [HostCall(step.op, bases, tuple([memory.of(value) for value in step.op.outputs]))]
