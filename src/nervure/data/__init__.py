"""Readers of real data, and batches of it."""

from __future__ import annotations

from nervure.data.batches import Batches
from nervure.data.digits import load_digits
from nervure.data.fashion import load_fashion

__all__ = ["Batches", "load_digits", "load_fashion"]
