"""The facts that are known while JAX traces a function: the values of symbols, where values lie, and the status
of the call so far.
"""

from __future__ import annotations

from collections.abc import Mapping

from nervure.ir.op import Value
from nervure.transformers.binding import Bindings
from nervure.transformers.xla.checks import START, Checks, ErrorOf, Status
from nervure.transformers.xla.functions import Array
from nervure.transformers.xla.placements import Placement


class CallTrace:
    """One tracing of a function, or of a function that an op holds.

    ``values`` are those of the ops so far, ``status`` moves on with the checks, which are None where they are left out.
    """

    def __init__(self, bindings: Bindings, checks: Checks | None, precision: str, placement: Placement,
                 status: Status = START) -> None:
        self.bindings, self.checks, self.precision, self.status = bindings, checks, precision, status
        self.placement = placement
        self.values: Mapping[Value, Array] = {}

    def inside(self, status: Status) -> CallTrace:
        """Returns the trace of a function that an op holds, from a status on."""
        return CallTrace(self.bindings, self.checks, self.precision, self.placement, status)

    def check(self, bad: Array, error_of: ErrorOf, values: Array | None = None) -> None:
        """Ends the call with an error where ``bad`` holds, unless checks are left out."""
        if self.checks is not None:
            self.status = self.checks.add(self.status, bad, error_of, values)
