"""The memory of values while kernels are built."""

from __future__ import annotations

import pytest

import nervure as nv
from nervure.errors import InternalError
from nervure.kernel.lower import BufferAssignment
from nervure.kernel.producers import ProducerAnalysis


def test_memory_that_a_value_lacks_is_an_error_that_names_its_op():
    x = nv.Parameter(nv.float32, (3,))
    value = nv.ops.Tanh(x).value
    memory = BufferAssignment(ProducerAnalysis(nv.Function([value], [x])))
    with pytest.raises(InternalError, match=r"Tanh.*has no memory"):
        memory.of(value)
