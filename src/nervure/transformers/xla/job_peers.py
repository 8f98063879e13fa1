"""The processes of a job that JAX connects.

>>> peers().index, peers().count
(0, 1)
"""

from __future__ import annotations

import jax
import numpy as np

# JAX documents this module for what it is used for here: hosts that exchange values, and wait for each other.
from jax.experimental import multihost_utils

from nervure.processes import lost
from nervure.transformers.peers import ALONE, Peers


def peers() -> Peers:
    """Returns the processes of this job; a process without others is alone."""
    return Peers(jax.process_index(), jax.process_count(), _gathered) if jax.process_count() > 1 else ALONE


def _gathered(text: bytes) -> list[bytes]:
    """Returns the texts that all processes have passed. Arrays of one length are exchanged: first the lengths."""
    try:
        lengths = multihost_utils.process_allgather(np.array([len(text)], np.int32)).reshape(-1).tolist()
        row = np.zeros(max(lengths), np.uint8)
        row[:len(text)] = np.frombuffer(text, np.uint8)
        rows = np.asarray(multihost_utils.process_allgather(row))
    except (jax.errors.JaxRuntimeError, ValueError) as error:
        raise lost(error) or error from None
    return [bytes(found[:length]) for found, length in zip(rows, lengths, strict=True)]
