"""Saving computations: several in one file, and loading into those that there are."""

from __future__ import annotations

import struct
import subprocess
import sys
import warnings
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import nervure as nv
from nervure.errors import FormatError, InvalidArgument, NervureError, NotSupported, WrongKind
from nervure.types.layout import row_major
from tests.files.test_function_file import contents, forged

LARGE = np.arange(40, dtype=np.float32)


def pair(interpreter, rate=0.1, name="w"):
    """A step of training and a prediction that share a weight; each has a long constant, and random numbers."""
    x, w = nv.placeholder((2, 3)).named("x"), nv.variable((3,), [1.0, 2.0, 3.0]).named(name)
    loss = nv.sum(nv.square(nv.matmul(nv.dropout(x, 0.5), w))) + nv.sum(nv.constant(LARGE))
    step = interpreter.computation([loss, nv.optim.Adam(rate)(loss)], x)
    predict = interpreter.computation({"y": nv.matmul(x, w) + nv.constant(LARGE + 1)[0]}, x)
    return step, predict, w


def batch(number):
    return np.random.default_rng(number).standard_normal((2, 3)).astype(np.float32)


def test_loading_compiles_nothing(tmp_path, interpreter):
    """It is read and checked when it is loaded, and compiled at its first call."""
    x = nv.placeholder((2,))
    nv.save(tmp_path / "f", nv.computation(x + 1, x))
    with mock.patch.object(interpreter, "build", wraps=interpreter.build) as build:
        loaded = nv.load(tmp_path / "f", interpreter)
        assert build.call_count == 0
        assert loaded(np.ones(2))[0] == loaded(np.ones(2))[1] == 2.0 and build.call_count == 1


def test_a_seed_starts_loaded_computations(tmp_path, interpreter):
    """A254: at once, after calls, and those of a file of several that holds loaded ones; until then, each goes on."""
    def random():
        return interpreter.computation(nv.uniform((3,)) + nv.constant([0.0, 1.0, 2.0]))
    nv.seed(5, interpreter)
    own = random()
    own()
    nv.save(tmp_path / "f", own)
    loaded = nv.load(tmp_path / "f", interpreter)
    assert loaded().tolist() == own().tolist()
    nv.save(tmp_path / "g", {"loaded": loaded, "own": own, "other": nv.load(tmp_path / "f", interpreter)})
    several = nv.load_together(tmp_path / "g", interpreter)
    assert all([variable.is_local for entry in several.values() for variable in entry.function.variables])
    goes_on = several["loaded"]().tolist()
    assert goes_on == loaded().tolist() != several["other"]().tolist()
    nv.seed(6, interpreter)
    expected = [own().tolist(), own().tolist()]
    for entry in [loaded, several["loaded"], several["other"]]:
        assert [entry().tolist(), entry().tolist()] == expected


@pytest.mark.parametrize(("key", "shown", "help"), [
    (0, "the key int 0", "return {'0': tensor, ...}, or a list"), (True, "the key bool True", "'True'"),
    ((1, 2), "the key tuple (1, 2)", "'name'"), (None, "the key NoneType None", "'name'")])
def test_results_whose_keys_are_no_texts_name_the_key(tmp_path, key, shown, help):
    """Q9: its type, and what to return instead; no file is written."""
    x = nv.placeholder((2,))
    with pytest.raises(NotSupported) as caught:
        nv.save(tmp_path / "f", nv.computation({"a": x, key: x + 1}, x))
    assert caught.value.got == shown and help in caught.value.help and not list(tmp_path.iterdir())


def test_what_is_loaded_runs_on_devices_in_force(tmp_path):
    """Q9: a file holds none, and a warning says so; several computations and Functions likewise."""
    class Doubling(nv.CPUTensor):
        """Native code, but for logarithms."""

    @nv.implement(nv.ops.Log, device=Doubling)
    def log(op, x, out):
        out.storage[:] = 7.0

    x = nv.placeholder((2,))
    with nv.devices(Doubling):
        own = nv.computation(nv.log(x) + 1.0, x)
    with pytest.warns(UserWarning, match="does not hold the devices Doubling"):
        nv.save(tmp_path / "f", own)
    with pytest.warns(UserWarning, match="does not hold the devices Doubling"):
        nv.save(tmp_path / "g", {"own": own})
    with pytest.warns(UserWarning, match="does not hold the devices Doubling"):
        nv.save(tmp_path / "h", own.function)
    ones = np.ones(2, np.float32)
    assert own(ones).tolist() == [8.0, 8.0] and nv.load(tmp_path / "f")(ones).tolist() == [1.0, 1.0]
    with nv.devices(Doubling):
        assert nv.load(tmp_path / "f")(ones).tolist() == [8.0, 8.0]
        assert nv.load_together(tmp_path / "g")["own"](ones).tolist() == [8.0, 8.0]
        with nv.transformers.make_transformer("interpreter") as alone:
            assert nv.load(tmp_path / "f", alone)(ones).tolist() == [1.0, 1.0]
        assert nv.load(tmp_path / "f", into=own) is own
    with nv.devices(nv.CPUTensor), warnings.catch_warnings():
        warnings.simplefilter("error")
        nv.save(tmp_path / "f", nv.computation(nv.log(x), x))


# -- several in one file ----------------------------------------------------------------------------------------------


def test_computations_of_one_file_share_their_variables(tmp_path, interpreter):
    """T290: as they did when they were saved."""
    step, predict, _ = pair(interpreter)
    step(batch(0))
    nv.save(tmp_path / "f", {"step": step, "predict": predict})
    found = nv.load_together(tmp_path / "f", interpreter)
    assert list(found) == ["step", "predict"]
    before = found["predict"](batch(1))["y"]
    assert before.tobytes() == predict(batch(1))["y"].tobytes()
    found["step"](batch(2))
    assert found["predict"](batch(1))["y"].tobytes() != before.tobytes() == predict(batch(1))["y"].tobytes()


def test_one_file_is_the_same_each_time(tmp_path, interpreter):
    """T290: and what is loaded from it is saved as it was."""
    step, predict, _ = pair(interpreter)
    nv.save(tmp_path / "f", {"step": step, "predict": predict})
    nv.save(tmp_path / "g", nv.load_together(tmp_path / "f", interpreter))
    assert (tmp_path / "f").read_bytes() == (tmp_path / "g").read_bytes()


def test_gaps_in_memory_are_not_saved(tmp_path):
    """A322: the file has the elements alone; what is loaded has the gaps again."""
    sizes = {}
    for name, layout in (("dense", None), ("padded", row_major((10, 3), sizes=(10, 512)))):
        w = nv.variable((10, 3), np.arange(30.0).reshape(10, 3), nv.float32, layout=layout).named("w")
        step = nv.computation([nv.assign(w, w + 1), nv.sum(w)])
        step()
        nv.save(tmp_path / name, step)
        sizes[name] = (tmp_path / name).stat().st_size
        loaded = nv.load(tmp_path / name)
        assert loaded()[1].item() == 495.0 == step()[1].item()
        variable, = loaded.function.variables
        assert variable.type.layout == layout
    assert 0 <= sizes["padded"] - sizes["dense"] < 256


def test_variables_of_one_name_stay_apart(tmp_path, interpreter):
    """T290: names in the file are made unique."""
    v, w = nv.variable((), 1.0).named("w"), nv.variable((), 2.0).named("w")
    both = {"first": interpreter.computation(v + 0.0), "second": interpreter.computation(w - v)}
    nv.save(tmp_path / "f", both)
    found = nv.load_together(tmp_path / "f", interpreter)
    assert found["first"]() == 1.0 and found["second"]() == 1.0


def test_several_computations_need_names_and_one_transformer(tmp_path, interpreter):
    """T290: errors that say so, and no file."""
    step, predict, _ = pair(interpreter)
    with nv.transformers.make_transformer("interpreter") as other:
        with pytest.raises(InvalidArgument, match="one transformer"):
            nv.save(tmp_path / "f", {"step": step, "predict": pair(other)[1]})
    for wrong in ({"a/b": step}, {"": step}, {3: step}, {}):
        with pytest.raises(InvalidArgument):
            nv.save(tmp_path / "f", wrong)
    with pytest.raises(WrongKind):
        nv.save(tmp_path / "f", {"step": nv.constant(1.0)})
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_several_is_not_taken_for_one(tmp_path, interpreter):
    """T290: the error names the function that gives all; that gives one alone under an empty name."""
    step, predict, _ = pair(interpreter)
    nv.save(tmp_path / "f", {"step": step, "predict": predict})
    with pytest.raises(InvalidArgument, match="several") as caught:
        nv.load(tmp_path / "f", interpreter)
    assert "nv.load_together" in caught.value.help and caught.value.got == "step, predict"
    nv.save(tmp_path / "g", predict)
    assert list(nv.load_together(tmp_path / "g", interpreter)) == [""]


@pytest.mark.parametrize(("key", "text"), [
    ("nervure.parts", "[]"), ("nervure.parts", '["step"]'), ("nervure.parts", '["step", "step"]'),
    ("nervure.parts", '["a/b"]'), ("nervure.parts", "{"), ("nervure.parts", '["step", "predict", "third"]'),
    ("nervure.variables/step", "3"), ("nervure.variables/step", "{}"), ("nervure.variables/predict", '{"w": "v"}'),
    ("nervure.random", '{"w": "random_seed"}'), ("nervure.random", '{"gone": "random_step"}'),
    ("nervure.random", "[]"), ("nervure.random", '{"random_seed": "w"}'), ("nervure.random", '{"random_step": []}'),
    ("nervure.variables/predict", '{"w": "random_seed"}'), ("nervure.variables/predict", '{"v": "w"}'),
    ("nervure.results/predict", "3"), ("nervure.text/predict", "nervure 1")])
def test_what_a_file_of_several_says_is_not_believed(tmp_path, interpreter, key, text):
    """T290: as with one alone."""
    step, predict, _ = pair(interpreter)
    nv.save(tmp_path / "f", {"step": step, "predict": predict})
    header, data = contents(tmp_path / "f")
    header["__metadata__"][key] = text
    (tmp_path / "f").write_bytes(forged(header, data))
    with pytest.raises(NervureError):
        nv.load_together(tmp_path / "f", interpreter)


# -- into computations that there are ---------------------------------------------------------------------------------


def test_training_resumes_to_the_bit(tmp_path):
    """T291: weights, moments, counts, and what random numbers are drawn from."""
    with nv.transformers.make_transformer() as first, nv.transformers.make_transformer() as second:
        nv.seed(7, first)
        step, predict, _ = pair(first)
        for number in range(3):
            step(batch(number))
        nv.save(tmp_path / "f", {"step": step, "predict": predict})
        nv.seed(0, second)  # as a program that starts anew: its random ops are counted from the first
        resumed, answer, _ = pair(second, rate=0.7)
        assert nv.load(tmp_path / "f", into=resumed) is resumed
        for number in range(3, 6):
            assert step(batch(number))[0].tobytes() == resumed(batch(number))[0].tobytes()
        assert predict(batch(0))["y"].tobytes() == answer(batch(0))["y"].tobytes()


def test_a_prediction_takes_its_weights_from_a_file_of_training(tmp_path, interpreter):
    """T291: by their names; what else is in the file is left there."""
    step, _, w = pair(interpreter)
    step(batch(0))
    nv.save(tmp_path / "f", step)
    _, predict, other = pair(interpreter)
    both = {"predict": predict}
    assert nv.load(tmp_path / "f", into=both) is both
    assert interpreter.get(other).tobytes() == interpreter.get(w).tobytes()


def test_unnamed_variables_are_found_by_their_places(tmp_path, interpreter):
    """T291: in the same computation alone."""
    v, w = nv.variable((), 1.0), nv.variable((), 2.0)
    nv.save(tmp_path / "f", interpreter.computation(v - w))
    interpreter.set(v, 5.0), interpreter.set(w, 6.0)
    nv.load(tmp_path / "f", into=interpreter.computation(v - w))
    assert (interpreter.get(v), interpreter.get(w)) == (1.0, 2.0)
    with pytest.raises(InvalidArgument, match="lacks variables") as caught:
        nv.load(tmp_path / "f", into=interpreter.computation(v - w + 1.0))
    assert "an unnamed f32[]" in caught.value.expected and "named" in caught.value.help


def test_names_that_several_have_name_none(tmp_path, interpreter):
    """T291: so that no value goes to another variable."""
    v, w = nv.variable((), 1.0).named("w"), nv.variable((), 2.0).named("w")
    nv.save(tmp_path / "f", interpreter.computation(v - w))
    with pytest.raises(InvalidArgument, match="lacks variables"):
        nv.load(tmp_path / "f", into=interpreter.computation(v + 1.0))


@pytest.mark.parametrize("name", [None, "w"])
def test_of_computations_that_are_alike_the_one_of_the_same_name_is_loaded(tmp_path, interpreter, name):
    """T291: variables without names, or with one name, keep to their entry; without an entry's name nothing changes."""
    def made(value):
        place = nv.variable((), value)
        return place if name is None else place.named(name)
    x, v, w = nv.placeholder(()), made(1.0), made(2.0)
    both = {"teacher": interpreter.computation(x * v, x), "student": interpreter.computation(x * w, x)}
    nv.save(tmp_path / "f", both)
    for into, expected in [(both, (1.0, 2.0)), ({"teacher": both["student"]}, (5.0, 1.0)),
                           ({"teacher": both["teacher"], "other": both["teacher"]}, (1.0, 6.0))]:
        interpreter.set(v, 5.0), interpreter.set(w, 6.0)
        nv.load(tmp_path / "f", into=into)
        assert (interpreter.get(v), interpreter.get(w)) == expected
    interpreter.set(v, 5.0)
    for wrong in [both["teacher"], {"other": both["teacher"]}, dict.fromkeys(both, both["teacher"])]:
        with pytest.raises(InvalidArgument, match="several variables of the file") as caught:
            nv.load(tmp_path / "f", into=wrong)
        assert "teacher, student" in caught.value.got and interpreter.get(v) == 5.0


def test_computations_that_are_alike_and_share_their_variables_are_one(tmp_path, interpreter):
    """T291: then any of them has the values, without its name."""
    x, w = nv.placeholder(()), nv.variable((), 1.0)
    nv.save(tmp_path / "f", {"first": interpreter.computation(x * w, x), "second": interpreter.computation(x * w, x)})
    interpreter.set(w, 5.0)
    nv.load(tmp_path / "f", into=interpreter.computation(x * w, x))
    assert interpreter.get(w) == 1.0


@pytest.mark.parametrize("make", [
    lambda: nv.variable((4,)).named("w"), lambda: nv.variable((3,), dtype=nv.float64).named("w"),
    lambda: nv.variable((3,)).named("v")])
def test_nothing_is_changed_where_something_does_not_fit(tmp_path, interpreter, make):
    """T291: all variables get their values, or none does."""
    step, predict, _ = pair(interpreter)
    nv.save(tmp_path / "f", predict)
    right, wrong = pair(interpreter)[1:], make()
    interpreter.set(right[1], [7.0, 8.0, 9.0])
    both = {"right": right[0], "wrong": interpreter.computation(wrong + 1.0)}
    with pytest.raises(InvalidArgument) as caught:
        nv.load(tmp_path / "f", into=both)
    assert caught.value.help and interpreter.get(right[1]).tolist() == [7.0, 8.0, 9.0]


def test_files_are_loaded_into_computations(tmp_path, interpreter):
    """T291: on their own transformer."""
    predict = pair(interpreter)[1]
    nv.save(tmp_path / "f", predict)
    for into in (nv.variable((3,)), {"predict": 3}, [predict], 3):
        with pytest.raises(WrongKind):
            nv.load(tmp_path / "f", into=into)
    with pytest.raises(WrongKind):
        nv.load(tmp_path / "f", interpreter, into=predict)
    (tmp_path / "f").write_bytes(struct.pack("<Q", 2) + b"{}")
    with pytest.raises(FormatError):
        nv.load(tmp_path / "f", into=predict)


# -- notes, and training that goes on ---------------------------------------------------------------------------------


def test_notes_are_texts(tmp_path, interpreter):
    """T292: of any content, apart from what nervure itself keeps."""
    notes = {"epoch": "3", "": "\0 é", "nervure.text": "mine"}
    step, predict, _ = pair(interpreter)
    for kept in (predict, {"step": step, "predict": predict}, predict.function):
        nv.save(tmp_path / "f", kept, notes=notes)
        assert nv.load_notes(tmp_path / "f") == notes
    assert list(nv.load(tmp_path / "f", interpreter)(batch(0))[0]) == list(predict(batch(0))["y"])
    for wrong in ({"epoch": 3}, {3: "epoch"}, ["epoch"], "epoch"):
        with pytest.raises(WrongKind, match="notes"):
            nv.save(tmp_path / "g", predict, notes=wrong)
    assert not (tmp_path / "g").exists()


def test_a_training_that_was_stopped_in_mid_epoch_goes_on_to_the_bit(tmp_path):
    """T292: in another process, by a file."""
    def run(path, first, last):
        done = subprocess.run([sys.executable, "-m", "tests.resuming", path, str(first), str(last)], check=True,
                              text=True, capture_output=True, cwd=Path(__file__).parents[2])
        return done.stdout

    whole = run(tmp_path / "whole", 0, 11)
    run(tmp_path / "parts", 0, 6)
    assert run(tmp_path / "parts", 6, 11) == whole
    assert nv.load_notes(tmp_path / "parts") == {"steps": "11"}
