"""The table of the Payne-Hanek reduction."""

from __future__ import annotations

from mpmath import mp

from nervure.kernel.math.trigonometric import bytes_of_two_over_pi


def test_two_over_pi():
    with mp.workprec(1400):
        expected = int(mp.floor(mp.ldexp(2 / mp.pi, 8 * 152)))
    assert abs(int.from_bytes(bytes_of_two_over_pi(), "big") - expected) <= 1
