"""Files of weights: what comes back, what is refused, and what a kill leaves."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest

import nervure as nv
from nervure.errors import FormatError, InvalidArgument, WrongKind
from nervure.files import model_formats
from nervure.files.tensor_file import write_tensors
from nervure.types.dtype import all_dtypes
from tests.files.test_state_dict import Fronted, Network, Square, Swapped, bits, linear, trained
from tests.transformers.devices.own import Lists

DEEP = bool(os.environ.get("DEEP_TESTS"))
FORMATS = ("safetensors", "npz")


@pytest.fixture
def texts(monkeypatch):
    """A format of a user's, for one test."""
    monkeypatch.setattr(model_formats, "_formats", dict(model_formats._formats))

    def save(path, state):
        Path(path).write_text("\n".join([f"{key} {array.tolist()!r}" for key, array in state.table.items()]))

    def load(path):
        lines = [line.split(" ", 1) for line in Path(path).read_text().splitlines()]
        return nv.from_state_dict({key: np.float32(json.loads(text)) for key, text in lines})
    nv.define_model_format("texts", save=save, load=load)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("dtype", [nv.float32, nv.bfloat16, nv.float64, nv.float16])
def test_weights_come_back_to_the_bit(tmp_path, interpreter, format, dtype):
    """T280: with what optimisers keep; and training goes on as it would have."""
    network, other = Network(dtype), Network(dtype)
    step = trained(network, interpreter, nv.optim.Adam(0.01), 3, dtype)
    nv.save_weights(network, tmp_path / "f", format, optimizers=True, transformer=interpreter)
    resumed = trained(other, interpreter, nv.optim.Adam(0.5), 1, dtype)
    nv.load_weights(other, tmp_path / "f", format, interpreter)
    assert step(np.ones((2, 4)))[0].tobytes() == resumed(np.ones((2, 4)))[0].tobytes()
    assert bits(interpreter, network.state_names()) == bits(interpreter, other.state_names())


@pytest.mark.parametrize("format", FORMATS)
def test_arrays_of_every_type_come_back(tmp_path, format):
    """T280: of any shape."""
    generator = np.random.default_rng(0)
    table = {}
    for dtype in all_dtypes:
        for shape in ((), (0, 2), (3, 2)):
            data = generator.integers(0, 256, int(np.prod(shape)) * dtype.itemsize, np.uint8)
            data &= 1 if dtype.kind == "bool" else 15 if dtype.bits == 4 else 255
            table[f"param:{dtype.name}.{len(shape)}.{len(table)}"] = data.view(dtype.numpy).reshape(shape)
    chosen = model_formats._formats[format]
    chosen.save(str(tmp_path / "f"), nv.from_state_dict(table))
    found = chosen.load(str(tmp_path / "f")).table
    assert {key: (array.dtype, array.shape, array.tobytes()) for key, array in found.items()} == {
        key: (array.dtype, array.shape, array.tobytes()) for key, array in table.items()}
    first = (tmp_path / "f").read_bytes()
    chosen.save(str(tmp_path / "f"), nv.from_state_dict(table))
    assert (tmp_path / "f").read_bytes() == first


def test_numpy_reads_the_arrays_of_npz(tmp_path, interpreter):
    """T280: and nervure what NumPy has written."""
    layer = linear()
    nv.save_weights(layer, tmp_path / "f.npz", "npz", transformer=interpreter)
    with np.load(tmp_path / "f.npz", allow_pickle=False) as file:
        arrays = {key: file[key] for key in file if key != "nervure.types"}
    assert (arrays["param:linearlayer.0.weights"] == interpreter.get(layer.weights)).all()
    arrays["param:linearlayer.0.bias"] = np.arange(6, dtype=np.float32)[::2]
    arrays["param:linearlayer.0.weights"] = np.asfortranarray(arrays["param:linearlayer.0.weights"])
    np.savez(tmp_path / "g.npz", **arrays)
    nv.load_weights(layer, tmp_path / "g.npz", "npz", interpreter)
    assert interpreter.get(layer.bias).tolist() == [0.0, 2.0, 4.0]


def test_a_file_that_does_not_fit_changes_nothing(tmp_path, interpreter):
    """T281: everything that does not is named."""
    network, layer = Network(), linear()
    nv.save_weights(network, tmp_path / "f", transformer=interpreter)
    interpreter.set(layer.bias, [1.0, 2.0, 3.0])
    with pytest.raises(InvalidArgument, match="does not fit") as caught:
        nv.load_weights(layer, tmp_path / "f", transformer=interpreter)
    assert caught.value.got == (
        "unexpected: param:linearlayer.1.bias (second.bias), param:linearlayer.1.weights (second.weights); "
        "param:linearlayer.0.bias: its path first.bias is none of the model's, its key would be that of bias; "
        "param:linearlayer.0.weights: its path first.weights is none of the model's, its key would be that of weights")
    assert caught.value.expected == "missing: param:linearlayer.0.weights (weights), param:linearlayer.0.bias (bias)"
    assert interpreter.get(layer.bias).tolist() == [1.0, 2.0, 3.0]


def test_optimisers_are_loaded_where_there_are_some(tmp_path, interpreter):
    """T281: a file of training serves a prediction; one of weights alone leaves the optimisers as they are; another
    optimiser's does not fit.
    """
    layer, plain, other = linear(), linear(), linear()
    trained(layer, interpreter, nv.optim.Adam())
    nv.save_weights(layer, tmp_path / "all", optimizers=True, transformer=interpreter)
    nv.save_weights(layer, tmp_path / "weights", transformer=interpreter)
    nv.load_weights(plain, tmp_path / "all", transformer=interpreter)
    assert bits(interpreter, plain.state_names()) == bits(interpreter, layer.state_names())
    adam = nv.optim.Adam()
    trained(other, interpreter, adam, 3)
    nv.load_weights(other, tmp_path / "weights", transformer=interpreter)
    assert interpreter.get(adam.n) == 3
    descending = linear()
    trained(descending, interpreter, nv.optim.SGD(0.1), 0)
    with pytest.raises(InvalidArgument, match="does not fit") as caught:
        nv.load_weights(descending, tmp_path / "all", transformer=interpreter)
    assert "sgd" in caught.value.expected


# -- paths ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", [*FORMATS, "texts"])
def test_files_keep_paths(texts, tmp_path, interpreter, format):
    """T330, T332: modules that changed places get their own weights; a format without paths goes by keys."""
    square, other = Square(), Swapped()
    nv.save_weights(square, tmp_path / "f", format, transformer=interpreter)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert nv.load_weights(other, tmp_path / "f", format, interpreter) is None
    assert len(caught) == (format != "texts")
    right = [[1.0] * 4, [2.0] * 4]
    found = [interpreter.get(layer.bias).tolist() for layer in (other.first, other.second)]
    assert found == (right[::-1] if format == "texts" else right)


def test_files_from_before_go_by_keys(tmp_path, interpreter):
    """T332: they say no paths; what is no table of paths is damage."""
    table = nv.make_state_dict(Square(), transformer=interpreter).table
    write_tensors(tmp_path / "f", table, {"nervure.state": "1"})
    other = Square()
    interpreter.set(other.second.bias, [0.0] * 4)
    nv.load_weights(other, tmp_path / "f", transformer=interpreter)
    assert interpreter.get(other.second.bias).tolist() == [2.0] * 4
    for text in ("[", "3", '{"param:linearlayer.0.bias": 3}', '{"no key": "first.bias"}'):
        write_tensors(tmp_path / "f", table, {"nervure.paths": text})
        with pytest.raises(FormatError, match="paths of a state dict are damaged"):
            nv.load_weights(other, tmp_path / "f", transformer=interpreter)


@pytest.mark.parametrize("rename", [{"first": "a", "second": "b"}, {"*.bias": "*.bias", "second": "b", "first": "a"},
                                    lambda path: path.replace("first", "a").replace("second", "b")])
def test_paths_are_renamed(tmp_path, interpreter, rename):
    """T333: by a table of beginnings, or a function; the keys of what is renamed do not count."""
    nv.save_weights(Square(), tmp_path / "f", transformer=interpreter)
    other = nv.nn.Module()
    other.b, other.a = nv.nn.LinearLayer(4, 4), nv.nn.LinearLayer(4, 4)
    if isinstance(rename, dict) and "*.bias" in rename:
        with pytest.raises(InvalidArgument, match="does not fit"):  # the first that fits counts
            nv.load_weights(other, tmp_path / "f", transformer=interpreter, rename=rename)
        return
    nv.load_weights(other, tmp_path / "f", transformer=interpreter, rename=rename)
    assert [interpreter.get(layer.bias).tolist() for layer in (other.a, other.b)] == [[1.0] * 4, [2.0] * 4]


def test_what_stands_in_front_is_said(tmp_path, interpreter):
    """T333: where a whole model is in another one, or was."""
    inner, outer = Square(), nv.nn.Sequential(Square())
    for saved, loaded, rename in ((outer, inner, {"0": ""}), (inner, outer, {"": "0"})):
        nv.save_weights(saved, tmp_path / "f", transformer=interpreter)
        with pytest.raises(InvalidArgument, match="does not fit") as caught:
            nv.load_weights(loaded, tmp_path / "f", transformer=interpreter)
        assert f"rename={json.dumps(rename)}" in caught.value.help
        nv.load_weights(loaded, tmp_path / "f", transformer=interpreter, rename=rename)


def test_what_fits_is_loaded_where_that_is_asked_for(tmp_path, interpreter):
    """T281: ``strict=False`` returns the rest; what ``rename`` leaves out is not looked for."""
    nv.save_weights(Square(), tmp_path / "f", transformer=interpreter)
    other = Fronted()
    interpreter.set(other.first.bias, [0.0] * 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        failed = nv.load_weights(other, tmp_path / "f", transformer=interpreter, rename={"second": None}, strict=False)
    assert interpreter.get(other.first.bias).tolist() == [1.0] * 4
    assert failed.missing == tuple([f"param:linearlayer.{n}.{slot}" for n in (0, 2) for slot in ("weights", "bias")])
    assert not failed.unexpected and not failed.mismatched


# -- formats of users -------------------------------------------------------------------------------------------------


def test_a_format_of_the_user_s_own(texts, tmp_path, interpreter):
    """T282: written under another name with the same ending, until it is complete."""
    layer, other = linear(), linear()
    interpreter.set(layer.bias, [1.0, 2.0, 3.0])
    nv.save_weights(layer, tmp_path / "f.txt", "texts", transformer=interpreter)
    nv.load_weights(other, tmp_path / "f.txt", "texts", interpreter)
    assert interpreter.get(other.bias).tolist() == [1.0, 2.0, 3.0] and os.listdir(tmp_path) == ["f.txt"]


def test_a_save_that_fails_leaves_the_file_before(texts, tmp_path, interpreter):
    """T282: and no other one."""
    seen = []

    def save(path, state):
        Path(path).write_text("half")
        seen.append(Path(path))
        raise ZeroDivisionError
    nv.define_model_format("failing", save=save, load=lambda path: None)
    (tmp_path / "f.txt").write_text("whole")
    with pytest.raises(ZeroDivisionError):
        nv.save_weights(linear(), tmp_path / "f.txt", "failing", transformer=interpreter)
    assert (tmp_path / "f.txt").read_text() == "whole" and os.listdir(tmp_path) == ["f.txt"]
    assert seen[0].parent == tmp_path and seen[0].suffix == ".txt"


def test_what_a_format_gives_is_a_state_dict(texts, tmp_path, interpreter):
    """T282: anything else is an error."""
    nv.define_model_format("odd", save=lambda path, state: Path(path).write_text(""), load=lambda path: {})
    nv.save_weights(linear(), tmp_path / "f", "odd", transformer=interpreter)
    with pytest.raises(WrongKind, match="gave no state dict"):
        nv.load_weights(linear(), tmp_path / "f", "odd", interpreter)


def test_a_format_may_ask_for_the_tensors_of_a_device(texts, tmp_path, interpreter):
    """T282: which have storage as the device keeps it."""
    seen = {}
    nv.define_model_format("stored", Lists, load=print, save=lambda path, state: [
        Path(path).write_text(""), seen.update(state.table)])
    layer = linear()
    nv.save_weights(layer, tmp_path / "f", "stored", transformer=interpreter)
    weights = seen["param:linearlayer.0.weights"]
    assert isinstance(weights, Lists) and len(seen) == 2 and "f32[4, 3]" in repr(nv.from_state_dict(seen))
    assert weights.storage == interpreter.get(layer.weights).ravel().tolist()
    with pytest.raises(WrongKind, match="no device"):
        nv.define_model_format("other", 3, save=print, load=print)


def test_formats_that_make_no_sense_are_refused(texts, tmp_path):
    """T282: with what there is."""
    with pytest.raises(InvalidArgument, match="no such format") as caught:
        nv.save_weights(linear(), tmp_path / "f", "nzp")
    assert caught.value.expected == "safetensors, npz, texts, torch" and "npz" in caught.value.help
    with pytest.raises(InvalidArgument, match="there already"):
        nv.define_model_format("npz", save=print, load=print)
    for settings in ({"name": "", "save": print, "load": print}, {"name": "a", "save": 3, "load": print}):
        with pytest.raises(WrongKind):
            nv.define_model_format(**settings)


# -- files that are not what they should be ----------------------------------------------------------------------------


def archive(members, compression=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return buffer.getvalue()


def npy(array, **settings):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, **settings)
    return buffer.getvalue()


LONG = npy(np.zeros(3)).replace(b"(3,)", b"(9,)")


@pytest.mark.parametrize("data", [
    b"", b"PK", b"text", archive({"param:a.0.b.npy": b"text"}), archive({"w.npy": npy(np.zeros(3))}),
    archive({"param:a.0.b.npy": LONG}), archive({"param:a.0.b.npy": npy(np.array([{}]), allow_pickle=True)}),
    archive({"param:a.0.b.npy": npy(np.zeros(1000))}, zipfile.ZIP_DEFLATED),
    archive({"param:a.0.b.npy": npy(np.zeros(3)), "nervure.types.npy": npy(np.zeros(3))}),
    archive({"param:a.0.b.npy": npy(np.zeros(1000))})[:-100]])
def test_damaged_npz_files_are_refused(tmp_path, data):
    """T283: before anything is used."""
    (tmp_path / "f").write_bytes(data)
    with pytest.raises(FormatError) as caught:
        nv.load_weights(linear(), tmp_path / "f", "npz")
    assert caught.value.expected and caught.value.operand == str(tmp_path / "f")


def test_every_damaged_byte_is_noticed(tmp_path, interpreter):
    """T283: or is of no meaning."""
    layer = linear()
    nv.save_weights(layer, tmp_path / "f", "npz", transformer=interpreter)
    data, before = (tmp_path / "f").read_bytes(), bits(interpreter, layer.state_names())
    for position in range(0, len(data), 7):
        (tmp_path / "f").write_bytes(data[:position] + bytes([data[position] ^ 0x55]) + data[position + 1:])
        try:
            nv.load_weights(layer, tmp_path / "f", "npz", interpreter)
        except nv.NervureError:
            pass
        assert bits(interpreter, layer.state_names()) == before


def test_a_file_of_other_arrays_is_no_state_dict(tmp_path):
    """T283: its names are no keys."""
    write_tensors(tmp_path / "f", {"w": np.zeros(3)}, {})
    with pytest.raises(FormatError, match="no state dict"):
        nv.load_weights(linear(), tmp_path / "f")
    with pytest.raises(FileNotFoundError):
        nv.load_weights(linear(), tmp_path / "missing")


# -- kills -------------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="processes are traced as Linux does it")
@pytest.mark.parametrize("format", ["safetensors", "lines", "computation"])
def test_a_kill_between_any_two_system_calls_leaves_a_complete_file(tmp_path, format):
    """T284: the one before or the new one, in formats of users too, and of programs with loops; what is left over is
    gone with the next save.
    """
    every = 1 if DEEP else 60 if format == "computation" else 30
    done = subprocess.run([sys.executable, "-m", "tests.kills", tmp_path, str(every), format], check=False, text=True,
                          capture_output=True, cwd=Path(__file__).parents[2],
                          env={**os.environ, "NERVURE_TRANSFORMER": "interpreter"})  # which compiles nothing
    if "ptrace" in done.stderr:
        pytest.skip("processes may not be traced here")
    assert done.returncode == 0, done.stderr
    kills = [line.split() for line in done.stdout.splitlines()]
    assert len(kills) * every >= 200
    contents = []
    for call, found, left, after, _ in kills:
        assert float(found) in (0.0, int(call) + 1.0) and int(left) <= 2 and int(after) == 1
        contents.append(float(found) > 0)
    assert contents == sorted(contents) and contents[-1] and not contents[0]
    assert any([int(left) == 2 for _, _, left, _, _ in kills])
