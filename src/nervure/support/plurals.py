"""Plurals of words in reports and errors.

>>> [f"{number} {plural(number, 'step')}" for number in (0, 1, 2)]
['0 steps', '1 step', '2 steps']
"""

from __future__ import annotations


def plural(number: int, noun: str) -> str:
    """Returns a noun in the form that stands behind a number."""
    return noun if number == 1 else f"{noun}s"
