"""The committed polynomials are what the exchange algorithm gives."""

from __future__ import annotations

import os

import pytest

from nervure.kernel.math import coefficients
from tests.deep.coefficients import TARGETS, table

QUICK = ("SINH", "COSH")
DEEP = os.environ.get("DEEP_TESTS") == "1"


@pytest.mark.parametrize("name", TARGETS if DEEP else QUICK)
def test_coefficients_are_computed(name):
    committed = getattr(coefficients, name)
    for digits, numbers in ((24, committed.float), (53, committed.double)):
        computed, error = table(TARGETS[name], digits)
        assert computed == numbers
        assert error < 2.0 ** -digits
