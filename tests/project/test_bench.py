"""The benchmark runner: its tables are aligned, and a name that it does not know gets help."""

from __future__ import annotations

import pytest

from bench.__main__ import benchmark_names, main, table


def test_tables_are_aligned():
    rows = [{"ops": 1_000, "us": "9.5"}, {"ops": 100_000, "us": "12.25"}]
    assert table(rows).splitlines() == ["ops        us", "1000      9.5", "100000  12.25"]
    assert table([]) == "(no rows)"


def test_an_unknown_name_gets_help(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["startup", "no_such_benchmark"])
    assert stopped.value.code == 2
    message = capsys.readouterr().err
    assert "no_such_benchmark" in message and "startup" in message


def test_every_benchmark_is_found():
    assert "startup" in benchmark_names() and "__main__" not in benchmark_names()
