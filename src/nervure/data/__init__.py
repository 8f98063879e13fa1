"""Readers of real data, batches of it, transforms of pictures, and a check for users' own data."""

from __future__ import annotations

from nervure.data import transforms as transforms
from nervure.data.batches import Batches
from nervure.data.digits import load_digits
from nervure.data.fashion import load_fashion
from nervure.data.promises import check
from nervure.data.sources import Data
from nervure.data.transformed import Prefetched, Transformed

__all__ = ["Batches", "Data", "Prefetched", "Transformed", "check", "load_digits", "load_fashion"]
