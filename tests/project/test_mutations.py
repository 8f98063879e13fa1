"""The mutants of the deep run are valid, different from their source, and the same each time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance.running import DEEP
from tests.deep.mutate import Place, draw, ended, far_stages, killed_afar, main, near_stages, summary
from tests.deep.mutations import MUTATORS, find_mutants, tree_of
from tests.project.source import ROOT, python_files

EXAMPLE = '''\
"""A docstring with 1 and 2 in it."""
from __future__ import annotations


def clamp(x: int, low=0, high: int = 10) -> int:
    """At least low and at most high."""
    if not low <= x < high and x != 7:
        raise ValueError(f"{x + 1} is no good" + "!")
    table = {}
    table["é"] = max(x + 1, -low)
    print(table)
    return x
'''


def texts(source: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for mutant in find_mutants(source):
        found.setdefault(mutant.kind, set()).add(f"{mutant.before} -> {mutant.after}")
    return found


def test_each_kind_of_mutant_is_made():
    found = texts(EXAMPLE)
    assert set(found) == set(MUTATORS)
    assert found["comparison"] == {"low <= x < high -> (low < x < high)", "x != 7 -> (x == 7)"}
    assert found["arithmetic"] == {"x + 1 -> (x - 1)"}
    assert found["constant"] == {"0 -> (1)", "10 -> (11)", "7 -> (8)", "1 -> (2)"}
    assert found["negation"] == {"not low <= x < high -> (low <= x < high)", "-low -> (low)"}
    assert found["swapped"] == {"max(x + 1, -low) -> (max(-low, x + 1))"}
    assert found["connective"] == {"not low <= x < high and x != 7 -> (not low <= x < high or x != 7)"}
    assert found["return"] == {"return x -> return None"}
    assert {text.partition("(")[0] for text in found["removed"]} == {"raise ValueError", "table[\"é\"] = max", "print"}


def test_a_mutant_changes_its_own_bytes_alone():
    mutant = next(mutant for mutant in find_mutants(EXAMPLE) if mutant.kind == "swapped")
    assert mutant.apply(EXAMPLE) == EXAMPLE.replace("max(x + 1, -low)", "(max(-low, x + 1))")
    assert mutant.line == 10


@pytest.mark.parametrize("path", python_files("src/nervure")[::7], ids=lambda path: str(path.relative_to(ROOT)))
def test_mutants_of_the_package_parse_and_differ(path):
    """One mutant in thirty; in a deep run one in three."""
    source = path.read_text(encoding="utf-8")
    for mutant in find_mutants(source)[::3 if DEEP else 30]:
        changed = mutant.apply(source)
        assert changed is None or tree_of(changed) != tree_of(source)


def test_a_change_without_meaning_is_refused():
    mutant = find_mutants("x = a + b\n")[0]
    assert mutant._replace(after="(a + b)").apply("x = a + b\n") is None
    assert mutant._replace(after="(a +").apply("x = a + b\n") is None


@pytest.fixture
def checkout(tmp_path) -> Path:
    for name in ("src/nervure/types/axis.py", "tests/types/test_axis.py", "tests/types/test_dim.py",
                 "tests/conformance/x"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(EXAMPLE, encoding="utf-8")
    return tmp_path


def test_the_draw_is_fixed_by_its_seed(checkout):
    first = draw(checkout, 5, seed=3)
    assert len(first) == 5 and first == draw(checkout, 5, seed=3)
    assert first != draw(checkout, 5, seed=4)
    assert draw(checkout, 5, seed=3, only=["nothing like this"]) == []
    assert draw(checkout, 1_000, seed=0, only=["nothing like this", "types/axis"]) == draw(checkout, 1_000, seed=0)
    assert len(draw(checkout, 1_000, seed=0)) == len(find_mutants(EXAMPLE))


def test_the_nearest_tests_come_first(checkout):
    path = Path("src/nervure/types/axis.py")
    assert [stage[0] for stage in [*near_stages(checkout, path), *far_stages(checkout)]] == [
        "tests/types/test_axis.py", "tests/types/test_dim.py", "tests/conformance", "tests"]


def test_a_folder_without_tests_of_its_own_is_tested_by_files_named_like_it(checkout):
    path = Path("src/nervure/types/dim/axis.py")
    assert list(near_stages(checkout, path)) == [["tests/types/test_axis.py", "tests/types/test_dim.py"]]


def test_the_tests_of_folders_above_follow(checkout):
    """Up to the folder of the whole part, and not those of all parts."""
    for name in ("tests/types/view/test_simple.py", "tests/test_init.py"):
        (checkout / name).parent.mkdir(exist_ok=True)
        (checkout / name).write_text(EXAMPLE, encoding="utf-8")
    assert list(near_stages(checkout, Path("src/nervure/types/view/simple.py"))) == [
        ["tests/types/view/test_simple.py"], ["tests/types/test_axis.py", "tests/types/test_dim.py"]]
    assert list(near_stages(checkout, Path("src/nervure/__init__.py"))) == [["tests/test_init.py"]]


def test_parts_add_up_to_the_whole_run(capsys):
    def listed(*arguments: str) -> list[str]:
        main(["--list", "--count", "7", "--only", "types/axis", *arguments])
        return capsys.readouterr().out.splitlines()[:-1]

    parts = [listed("--part", f"{number}/3") for number in (1, 2, 3)]
    assert [len(each) for each in parts] == [3, 2, 2]
    assert sorted(line for each in parts for line in each) == sorted(listed())


@pytest.mark.parametrize("text", ["0/3", "4/3", "two"])
def test_a_part_that_does_not_exist_is_refused(text):
    with pytest.raises(SystemExit):
        main(["--list", "--part", text])


def test_mutants_that_a_group_hides_are_found_one_by_one(tmp_path, monkeypatch):
    """The checkout is as it was afterwards."""
    for name in "abcde":
        (tmp_path / f"{name}.py").write_text("x = 1\n", encoding="utf-8")
    places = [Place(Path(f"{name}.py"), find_mutants("x = 1\n")[0]) for name in "abcde"]
    runs = []

    def passes(root: Path, arguments: list[str], timeout: float) -> bool:
        changed = {name for name in "abcde" if (root / f"{name}.py").read_text(encoding="utf-8") != "x = 1\n"}
        runs.append(changed)
        return not changed & {"b", "e"}

    monkeypatch.setattr("tests.deep.mutate.passes", passes)
    assert killed_afar(tmp_path, places, 1.0) == [places[1], places[4]]
    assert set("abcde") in runs and {"a", "b"} in runs and {"c"} in runs
    assert killed_afar(tmp_path, [places[2], places[3]], 1.0) == [] and runs[-1] == {"c", "d"}
    assert {(tmp_path / f"{name}.py").read_text(encoding="utf-8") for name in "abcde"} == {"x = 1\n"}


def test_the_summary_counts(checkout):
    places = draw(checkout, 4, seed=0)
    lines = list(summary(places, [False, True, False, False], lambda place: "all"))
    assert lines[1].split() == ["all", "4", "3", "1", "75"]


@pytest.mark.parametrize(("program", "status"), [
    ("import time; time.sleep(30)", None),
    ("import time; end = time.process_time() + 1\nwhile time.process_time() < end: pass\nraise SystemExit(3)", 3)])
def test_a_run_that_uses_no_processor_time_hangs(program, status, monkeypatch):
    """And is ended, long before its limit; one that works is waited for."""
    monkeypatch.setattr("tests.deep.mutate.IDLE", 3.0)
    monkeypatch.setattr("tests.deep.mutate.POLL", 0.1)
    process = subprocess.Popen([sys.executable, "-c", program], start_new_session=True)
    try:
        assert ended(process, 1000) == status
    finally:
        process.kill()
        process.wait()
