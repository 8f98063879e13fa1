"""The count of other libraries' names, and its table on the page."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

import pytest

from tests.project import coverage

COUNTED = {"numpy": "2.4.6", "jax": "0.10.2"}
"""The versions whose names the table counts."""


def test_the_table_on_the_page_is_true():
    for package, number in COUNTED.items():
        try:
            found = version(package)
        except PackageNotFoundError:
            found = "none"
        if found != number:
            pytest.skip(f"the table counts the names of {package} {number}, here is {found}")
    assert coverage.written() == coverage.table()


def test_tables_name_what_there_is():
    """A row of a table of other names that points to nothing would count a name that is not here."""
    for table, place in ((coverage.MODULES, "nn"), (coverage.LOSSES, "nn.losses"), (coverage.SCHEDULES, "optim")):
        home = coverage._place(place)
        assert [other for other in table.values() if not coverage._has(home, other)] == []


@pytest.mark.parametrize(("library", "name", "expected"), [
    ("numpy", "sum", "here"), ("numpy.linalg", "solve", "here"), ("numpy", "amax", "otherwise"),
    ("torch.nn", "Conv2d", "otherwise"), ("torch.optim", "lr_scheduler.StepLR", "otherwise"),
    ("numpy", "savetxt", "not relevant"), ("numpy", "no_such_function", "absent"),
    ("torch.special", "airy_ai", "here")])
def test_names_are_told_apart(library, name, expected):
    assert coverage.state(library, name) == expected
