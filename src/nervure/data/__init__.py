"""Readers of real data, batches of it, transforms of pictures, and a check for users' own data."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from nervure.data import transforms as transforms
from nervure.data.batches import Batches
from nervure.data.digits import load_digits
from nervure.data.fashion import load_fashion
from nervure.data.promises import check
from nervure.data.sources import Data
from nervure.data.transformed import Prefetched, Transformed
from nervure.support.elsewhere import unknown_name

__all__ = ["Batches", "Data", "Prefetched", "Transformed", "check", "load_digits", "load_fashion"]


if not TYPE_CHECKING:  # type checkers see missing attributes as missing
    def __getattr__(name: str) -> NoReturn:
        raise unknown_name("nv.data", name, __all__)
