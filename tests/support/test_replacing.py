"""Copies of records with other fields: those that do more when they are made are made as ever."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from nervure.kernel.ir import For
from nervure.kernel.loop_index import LoopIndex
from nervure.support.replacing import replace


@dataclass(frozen=True, slots=True)
class Checked:
    length: int

    def __post_init__(self) -> None:
        if self.length < 0:
            raise ValueError("negative")


@dataclass(frozen=True)
class Open:
    length: int


def test_all_other_fields_stay_and_the_record_is_left_alone():
    loop = For(LoopIndex(0), 8, (), parallel=True, routine="product")
    made = replace(loop, extent=4)
    assert (made.extent, made.index, made.parallel, made.routine, loop.extent) == (4, LoopIndex(0), True, "product", 8)
    assert type(made) is For


def test_records_with_checks_or_without_slots_are_made_by_their_classes():
    with pytest.raises(ValueError, match="negative"):
        replace(Checked(1), length=-1)
    assert replace(Open(1), length=2) == Open(2)


@pytest.mark.parametrize("record", [For(LoopIndex(0), 8, ()), Checked(1)])
def test_a_field_that_there_is_not_is_an_error(record):
    with pytest.raises(TypeError, match="lanes"):
        replace(record, lanes=4)
