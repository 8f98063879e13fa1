"""What compiled functions need, and what they do not."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.errors import InvalidArgument


def test_what_is_never_stored_needs_no_memory():
    x = nv.placeholder((nv.dim("N"),))
    y = nv.sin(nv.cos(nv.exp(x)))
    with nv.transformers.make_transformer("cpu") as cpu, nv.flags.overriding(memory_limit=1 << 16):
        values = np.ones(1 << 16, np.float32)
        total = cpu.computation(nv.sum(y), x)
        np.testing.assert_allclose(total(values), (1 << 16) * np.sin(np.cos(np.exp(np.float32(1)))), rtol=1e-4)
        with pytest.raises(InvalidArgument, match="more memory than there is"):
            cpu.computation(y, x)(values)
        with nv.flags.overriding(check_nan=True), pytest.raises(InvalidArgument, match="more memory than there is"):
            cpu.computation(nv.sum(y), x)(values)
