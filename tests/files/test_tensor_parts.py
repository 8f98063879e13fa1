"""Files in parts: what comes back, what a failure leaves, and what files that are damaged or hostile give."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import nervure as nv
from nervure.files import tensor_file
from nervure.files.tensor_file import read_strings, write_tensors
from nervure.files.tensor_parts import PARTS, read_arrays, write_parts
from tests.jobs import job, spread

DEEP = bool(os.environ.get("DEEP_TESTS"))
TYPES = [np.float32, np.float64, np.float16, np.int8, np.uint64, np.bool_, np.complex64, ml_dtypes.bfloat16,
         ml_dtypes.float8_e5m2, ml_dtypes.int4]


def arrays(number: float = 0) -> dict[str, np.ndarray]:
    random = np.random.default_rng(3)
    found = {np.dtype(type).name: random.integers(0, 2, (4, 6)).astype(type) for type in TYPES}
    return {**found, "number": np.array(number), "none": np.zeros((0, 3)), "nan": np.array([np.nan, -0.0, np.inf, 1])}


def write(path: Path, table: dict[str, np.ndarray], count: int = 3) -> list[object]:
    def own(peers):
        pieces = {key: spread(array, (2, 3)[:array.ndim] if array.shape == (4, 6) else (), peers.index, count)
                  for key, array in table.items()}
        write_parts(path, pieces, {"epoch:1": np.arange(3)}, {"step": "7"}, peers)
    return job(count, own)


def test_the_bits_come_back_whatever_wrote_them(tmp_path):
    """J7"""
    for count in (1, 2, 3, 7):
        assert write(tmp_path / "f", arrays(count), count) == [None] * count
        found, strings = read_arrays(tmp_path / "f")
        assert strings["step"] == "7" and found.pop("epoch:1").tolist() == [0, 1, 2]
        assert found.keys() == arrays().keys()
        for key, array in arrays(count).items():
            assert found[key].tobytes() == array.tobytes() and found[key].dtype == array.dtype, key
            assert found[key].shape == array.shape and not found[key].flags.writeable
        assert len(os.listdir(tmp_path)) == 1 + min(count, 6)  # no array has more than 6 pieces


def test_parts_are_safetensors_files(tmp_path):
    """J7"""
    library = pytest.importorskip("safetensors.numpy")
    write(tmp_path / "f", {"w": np.arange(24, dtype=np.float32).reshape(4, 6)}, 2)
    found = {key: array for path in tmp_path.glob("*.part") for key, array in library.load_file(path).items()}
    assert found["w[0:2, 2:4]"].tolist() == [[2, 3], [8, 9]] and len(found) == 6


def test_a_single_file_is_read_as_well(tmp_path):
    write_tensors(tmp_path / "f", {"w": np.arange(3)}, {"a": "b"})
    assert read_arrays(tmp_path / "f")[0]["w"].tolist() == [0, 1, 2]


def test_one_file_replaces_parts_and_parts_one_file(tmp_path):
    """J7"""
    model = nv.nn.LinearLayer(2, 2, bias=3.0)
    nv.save_weights(model, tmp_path / "f")
    table, strings = read_arrays(tmp_path / "f")
    pieces = {key: spread(array, (2,), 0, 1) for key, array in table.items()}
    write_parts(tmp_path / "f", pieces, {}, {key: text for key, text in strings.items() if key != "nervure.sha256"})
    assert len(os.listdir(tmp_path)) == 2
    other = nv.nn.LinearLayer(2, 2)
    nv.load_weights(other, tmp_path / "f")
    assert other.bias.tolist() == [3, 3]
    nv.save_weights(model, tmp_path / "f")
    assert os.listdir(tmp_path) == ["f"]


# -- failures ----------------------------------------------------------------------------------------------------------


def test_a_part_that_fails_leaves_the_file_before(tmp_path):
    """J8: in each of the processes, which all raise."""
    write(tmp_path / "f", arrays(1))
    before = sorted(os.listdir(tmp_path))
    for failing in range(3):
        def act(peers, failing=failing):
            path = tmp_path / ("f" if peers.index != failing else "missing/f")
            write_parts(path, {"w": spread(np.arange(6), (3,), peers.index, 3)}, {}, {}, peers)
        found = job(3, act)
        assert isinstance(found[failing], FileNotFoundError)
        assert all(isinstance(error, (nv.InvalidArgument, FileNotFoundError)) for error in found)
        assert sorted(os.listdir(tmp_path)) == before and read_arrays(tmp_path / "f")[0]["number"] == 1


def test_processes_that_share_no_folder(tmp_path):
    """J8"""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    first, second = job(2, lambda peers: write_parts(
        tmp_path / "ab"[peers.index] / "f", {"w": spread(np.arange(6), (2,), peers.index, 2)}, {}, {}, peers))
    assert "a part that another process has written is not here" in str(first) and first.help
    assert isinstance(second, nv.InvalidArgument) and os.listdir(tmp_path / "a") == []


def test_each_step_of_the_file_system_may_raise(tmp_path, monkeypatch):
    """J8: one after the other, in one process of two; a complete file is there, and the next save takes what is left.
    """
    state = {"left": -1, "seen": 0}

    def counted(module: object, name: str) -> None:
        own = getattr(module, name)

        def act(*arguments: object, **options: object) -> object:
            state["seen"] += 1
            state["left"] -= 1
            if state["left"] == 0:
                raise OSError(5, "Input/output error")
            return own(*arguments, **options)
        monkeypatch.setattr(module, name, act)
    for name in ("open", "fdopen", "fsync", "replace", "unlink", "listdir", "scandir"):
        counted(os, name)
    for number in range(1, 200):
        state.update(left=-1)
        write(tmp_path / "f", {"w": np.full(6, 0.0)}, 2)
        state.update(left=number)
        errors = write(tmp_path / "f", {"w": np.full(6, 1.0)}, 2)
        has_ended, _ = state["left"] > 0, state.update(left=-1)
        found = set(read_arrays(tmp_path / "f")[0]["w"].tolist())
        assert found == {1.0} if errors == [None, None] else found in ({0.0}, {1.0}), number
        write(tmp_path / "f", {"w": np.full(6, 2.0)}, 2)
        assert len(os.listdir(tmp_path)) == 2, number
        if has_ended:
            break
    assert 20 < number < 199


@pytest.mark.skipif(sys.platform != "linux", reason="processes are traced as Linux does it")
def test_a_kill_of_any_process_at_any_system_call_loses_nothing(tmp_path):
    """J8: the first of two processes, or the other one."""
    every = 1 if DEEP else 5
    done = subprocess.run([sys.executable, "-m", "tests.kills_of_parts", tmp_path, str(every)], check=False, text=True,
                          capture_output=True, cwd=Path(__file__).parents[2])
    if "ptrace" in done.stderr:
        pytest.skip("processes may not be traced here")
    assert done.returncode == 0, done.stderr
    kills = [line.split() for line in done.stdout.splitlines()]
    for index in "01":
        contents = [found for own, _, found, left, after in kills if own == index]
        assert len(contents) * every > 30 and set(contents) <= {"0.0", "1.0"}
        assert contents[0] == "0.0" and contents == sorted(contents)
    assert contents[0] == "0.0" and "1.0" in [found for own, _, found, _, _ in kills if own == "0"]
    assert all(after == "3" for *_, after in kills) and any(left != "3" for *_, left, _ in kills)


# -- damage ------------------------------------------------------------------------------------------------------------


def changed(path: Path, change) -> None:
    """Writes the index again with another table of parts."""
    strings = {key: text for key, text in read_strings(path).items() if key != tensor_file.DIGEST}
    index = json.loads(strings[PARTS])
    change(index)
    write_tensors(path, {}, {**strings, PARTS: json.dumps(index)})


def outside(index: dict) -> None:
    index["files"][0][0] = "../" + index["files"][0][0]


def absolute(index: dict) -> None:
    index["files"][0][0] = "/" + index["files"][0][0]


def of_another_form(index: dict) -> None:
    index["files"][0][0] = "g"


def huge(index: dict) -> None:
    index["types"]["w"] = ["float32", [1 << 30, 1 << 20]]
    index["pieces"]["w"] = [[0, [[0, 1 << 30], [0, 1 << 20]]]]


@pytest.mark.parametrize("change", [
    outside, absolute, of_another_form, huge,
    lambda index: index["files"][0].__setitem__(1, 7), lambda index: index["files"][0].__setitem__(1, "7"),
    lambda index: index["files"][0].__setitem__(2, "0" * 64), lambda index: index["files"][0].pop(),
    lambda index: index["pieces"]["w"].pop(), lambda index: index["pieces"]["w"].append(index["pieces"]["w"][0]),
    lambda index: index["pieces"]["w"][0].__setitem__(0, 9), lambda index: index["pieces"]["w"][0].__setitem__(0, -1),
    lambda index: index["pieces"]["w"][0].__setitem__(0, 0.0), lambda index: index["pieces"].pop("w"),
    lambda index: index["pieces"]["w"].__setitem__(0, None), lambda index: index["types"].__setitem__("w", ["f", [4]]),
    lambda index: index["types"]["w"].__setitem__(0, "float64"), lambda index: index["types"]["w"].__setitem__(1, [4]),
    lambda index: index["types"].__setitem__("v", ["float32", [4, 6]]), lambda index: index.clear(),
    lambda index: index["pieces"]["w"][0][1][0].__setitem__(0, 1)])
def test_indices_that_are_damaged(tmp_path, change):
    """J9"""
    write(tmp_path / "f", {"w": np.arange(24, dtype=np.float32).reshape(4, 6)}, 2)
    changed(tmp_path / "f", change)
    with pytest.raises(nv.FormatError) as caught:
        read_arrays(tmp_path / "f")
    assert caught.value.help and str(tmp_path / "f") in str(caught.value)


@pytest.mark.parametrize(("damage", "text"), [
    (lambda part: part.unlink(), "a part of the file is missing"),
    (lambda part: part.write_bytes(part.read_bytes()[:-1]), "another size"),
    (lambda part: part.write_bytes(part.read_bytes()[:-1] + b"!"), "damaged"),
    (lambda part: (part.rename(part.parent / "elsewhere"), part.symlink_to("elsewhere")), "another size"),
    (lambda part: (part.unlink(), part.mkdir()), "another size")])
def test_parts_that_are_damaged(tmp_path, damage, text):
    """J9"""
    write(tmp_path / "f", {"w": np.arange(24, dtype=np.float32).reshape(4, 6)}, 2)
    damage(next(tmp_path.glob("*.part")))
    with pytest.raises(nv.FormatError, match=text):
        read_arrays(tmp_path / "f")


def test_a_part_of_another_save_is_not_taken(tmp_path):
    """J9: by its digest."""
    write(tmp_path / "f", {"w": np.zeros(6)}, 1)
    part, = tmp_path.glob("*.part")
    other = part.read_bytes()
    write(tmp_path / "f", {"w": np.ones(6)}, 1)
    part, = tmp_path.glob("*.part")
    part.write_bytes(other)
    with pytest.raises(nv.FormatError, match="another one than the index names"):
        read_arrays(tmp_path / "f")


def test_a_part_alone_says_what_to_read(tmp_path):
    """J9"""
    write(tmp_path / "f", {"w": np.zeros(6)}, 1)
    part, = tmp_path.glob("*.part")
    with pytest.raises(nv.FormatError, match="one of the parts of another one") as caught:
        read_arrays(part)
    assert caught.value.help == "read f, which names all parts"


def test_a_reader_meets_a_writer(tmp_path, monkeypatch):
    """J7: a file that is replaced while its parts are read is read again."""
    write(tmp_path / "f", {"w": np.zeros(6)}, 2)
    own, begun = os.lstat, []

    def lstat(path: str) -> os.stat_result:
        if not begun and str(path).endswith(".part"):
            begun.append(path)
            write(tmp_path / "f", {"w": np.ones(6)}, 2)
        return own(path)
    monkeypatch.setattr(os, "lstat", lstat)
    assert read_arrays(tmp_path / "f")[0]["w"].tolist() == [1] * 6 and begun
