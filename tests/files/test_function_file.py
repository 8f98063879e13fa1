"""Saving functions: what comes back, what other programs see, and what files that are damaged or hostile give."""

from __future__ import annotations

import json
import os
import random
import re
import socket
import struct
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.errors import DtypeMismatch, FormatError, InvalidArgument, NervureError, NotSupported, ShapeMismatch
from nervure.files import tensor_file
from nervure.files.function_file import load_content, save_function
from nervure.files.tensor_file import DIGEST, read_tensors, write_tensors
from nervure.ir.function import Function
from nervure.ir.parser import parse_function
from nervure.ir.printer import print_function
from nervure.ir.structural import equal
from nervure.ir.variable import Variable
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import dim
from nervure.types.dtype import all_dtypes, as_dtype, complex64, float32, int4
from nervure.types.layout import dense
from tests.ir.functions import EXAMPLES

GOLDEN = Path(__file__).parents[1] / "golden"
DEEP = bool(os.environ.get("DEEP_TESTS"))


def bits(dtype, shape, seed=0):
    """An array of random bits, those that mean an element of the type."""
    data = np.random.default_rng(seed).integers(0, 256, int(np.prod(shape)) * dtype.itemsize, np.uint8)
    data &= 1 if dtype.kind == "bool" else 15 if dtype.bits == 4 else 255
    return data.view(dtype.numpy).reshape(shape)


def model() -> tuple[Function, dict[Variable, np.ndarray]]:
    """A small function with variables of three types, a long constant, a symbol, an update and an effect."""
    x = ops.Parameter(float32, (dim("N", min=1), 4))
    w, packed, spectrum = [Variable(BasicTensorDescription(dtype, shape), name=name) for dtype, shape, name in
                           ((float32, (4,), "w"), (int4, (5,), "packed"), (complex64, (2, 1), "spectrum"))]
    total = ops.Sum(x * x, axes=(0,)) + ops.ReadVariable(variable=w)
    constant = ops.Constant(np.arange(24, dtype=np.float32) / 7)
    shown = ops.PrintOp(total * 0.1, prefix="total")
    function = Function([total, constant, ops.ReadVariable(variable=packed), ops.ReadVariable(variable=spectrum)], [x],
                        {w: shown}, [shown], name="model")
    return function, {entry: bits(entry.type.dtype, entry.type.shape) for entry in (w, packed, spectrum)}


def load_function(path) -> tuple[Function, dict[Variable, np.ndarray]]:
    """The function of a file that has one, and the values of its variables."""
    content = load_content(path)
    function, = content.functions.values()
    return function, content.state


def same(left: tuple[Function, dict], right: tuple[Function, dict]) -> bool:
    values = [{variable.name: (array.dtype, array.shape, array.tobytes()) for variable, array in state.items()}
              for _, state in (left, right)]
    return equal(left[0], right[0]) and values[0] == values[1]


@pytest.fixture
def saved(tmp_path) -> Path:
    path = tmp_path / "model.safetensors"
    save_function(path, *model())
    return path


# -- what comes back -----------------------------------------------------------------------------------------------


def test_layouts_of_variables_come_back(tmp_path):
    """T29: the text says them, the file has the elements in row-major order."""
    layout, value = dense((2, 3, 4), (1, 2, 0)), bits(float32, (2, 3, 4))
    w = Variable(BasicTensorDescription(float32, (2, 3, 4), layout=layout), value, name="w")
    save_function(tmp_path / "f", Function([ops.ReadVariable(variable=w)], []))
    function, state = load_function(tmp_path / "f")
    (read, loaded), = state.items()
    assert read.type == w.type and loaded.tobytes() == value.tobytes()
    assert "variable $w: f32[2, 3, 4] order (1, 2, 0)\n" in print_function(function)
    assert not equal(function, Function([ops.ReadVariable(variable=Variable(BasicTensorDescription(
        float32, (2, 3, 4)), name="w"))], []))


def test_a_function_and_its_state_come_back(saved):
    function, state = load_function(saved)
    assert same((function, state), model())
    assert {variable.name for variable in function.variables} == {"w", "packed", "spectrum"}
    for variable, array in state.items():
        assert np.array_equal(variable.initial_value(), array) and not array.flags.writeable


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_come_back(tmp_path, name):
    save_function(tmp_path / "f", EXAMPLES[name]())
    assert equal(load_function(tmp_path / "f")[0], EXAMPLES[name]())


def test_saving_twice_gives_the_same_file(saved, tmp_path):
    save_function(tmp_path / "again", *load_function(saved))
    assert (tmp_path / "again").read_bytes() == saved.read_bytes()


@pytest.mark.parametrize("shape", [(), (0, 3), (7,), (3, 5)])
@pytest.mark.parametrize("dtype", all_dtypes, ids=str)
def test_arrays_of_every_type_and_shape(tmp_path, dtype, shape):
    array = bits(dtype, shape)
    write_tensors(tmp_path / "f", {"a": array, "b": array.T, "é \u2028\"": array}, {"text": "\ud800\n"})
    tensors, strings = read_tensors(tmp_path / "f")
    assert strings["text"] == "\ud800\n" and sorted(tensors) == ["a", "b", "é \u2028\""]
    for name, expected in (("a", array), ("b", array.T)):
        assert tensors[name].dtype == dtype.numpy and tensors[name].shape == expected.shape
        assert tensors[name].tobytes() == expected.tobytes()


def test_arrays_that_are_not_contiguous(tmp_path):
    base = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
    arrays = {"transposed": base.T, "sliced": base[::2, ::-1], "swapped": base.astype(">f4"),
              "broadcast": np.broadcast_to(np.float32(3), (4, 4))}
    write_tensors(tmp_path / "f", arrays, {})
    for name, array in read_tensors(tmp_path / "f")[0].items():
        assert np.array_equal(array, arrays[name]) and array.dtype == np.float32


def test_a_file_that_was_written_long_ago_is_read(tmp_path):
    """And written again to the byte, so that a change of the format is seen here. The other one has complex numbers as
    bytes.
    """
    for name in ("model.safetensors", "model_with_bytes.safetensors"):
        assert same(load_function(GOLDEN / name), model())
    save_function(tmp_path / "f", *model())
    assert (tmp_path / "f").read_bytes() == (GOLDEN / "model.safetensors").read_bytes()


def test_variables_without_a_given_value_have_their_initial_one(tmp_path):
    w = Variable(BasicTensorDescription(float32, (3,)), initial=lambda: [1, 2, 3])
    save_function(tmp_path / "f", Function([ops.ReadVariable(variable=w)]))
    assert [array.tolist() for array in load_function(tmp_path / "f")[1].values()] == [[1, 2, 3]]


# -- what other programs see ---------------------------------------------------------------------------------------


@pytest.fixture
def safetensors() -> ModuleType:
    """The package of that name, for development alone: what other programs read our files with."""
    return pytest.importorskip("safetensors.numpy")


def test_safetensors_reads_the_file(safetensors, saved):
    with safetensors.safe_open(saved, framework="np") as file:
        assert set(file.keys()) == {"variables/w", "variables/packed", "variables/spectrum", "constants/c0"}
        assert np.array_equal(file.get_tensor("variables/w"), list(model()[1].values())[0], equal_nan=True)
        assert file.get_tensor("variables/spectrum").dtype == np.complex64
        assert file.get_tensor("variables/packed").dtype == np.uint8
        assert json.loads(file.metadata()["nervure.ops"])["Sum"] == 1


@pytest.mark.parametrize("name", sorted(tensor_file._CODES))
def test_safetensors_knows_the_types(safetensors, tmp_path, name):
    array = bits(as_dtype(name), (3, 4))
    write_tensors(tmp_path / "f", {"a": array}, {})
    (key, entry), = safetensors.deserialize((tmp_path / "f").read_bytes())
    assert (key, entry["dtype"], entry["shape"]) == ("a", tensor_file._CODES[name], [3, 4])
    assert bytes(entry["data"]) == array.tobytes()


def test_files_of_safetensors_are_read(safetensors, tmp_path):
    arrays = {"a": np.arange(6, dtype=np.int16).reshape(2, 3), "b": np.array([True, False])}
    safetensors.save_file(arrays, tmp_path / "f", {"k": "v"})
    tensors, strings = read_tensors(tmp_path / "f")
    assert strings == {"k": "v"} and all(np.array_equal(tensors[name], arrays[name]) for name in arrays)
    with pytest.raises(FormatError, match="the file holds no function"):
        load_function(tmp_path / "f")


# -- one file or the other, never half a file ----------------------------------------------------------------------


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_a_save_that_fails_leaves_the_file_that_was_there(saved, monkeypatch, step):
    before = saved.read_bytes()

    def fail(*arguments, **options):
        raise OSError(28, "No space left on device")

    if step == "write":
        monkeypatch.setattr(os, "fdopen", lambda descriptor, mode: _Full(descriptor))
    else:
        monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="No space left"):
        save_function(saved, *model())
    monkeypatch.undo()
    assert saved.read_bytes() == before and os.listdir(saved.parent) == [saved.name]


class _Full:
    """A file on a disk that is full after the first piece."""

    def __init__(self, descriptor: int) -> None:
        self.file = open(descriptor, "wb")
        self.pieces = 0

    def __enter__(self) -> _Full:
        return self

    def __exit__(self, *reason: object) -> None:
        self.file.close()

    def write(self, piece: bytes) -> None:
        self.pieces += 1
        if self.pieces > 1:
            raise OSError(28, "No space left on device")
        self.file.write(piece)


def test_a_killed_save_leaves_the_file_that_was_there(saved):
    before = saved.read_bytes()
    program = ("import os, sys\nfrom nervure.files.function_file import load_content, save_function\n"
               "function, = load_content(sys.argv[1]).functions.values()\n"
               "os.replace = lambda *names, **folders: os._exit(9)\n"
               "save_function(sys.argv[1], function, {})\n")
    assert subprocess.run([sys.executable, "-c", program, saved], check=False).returncode == 9
    assert saved.read_bytes() == before and same(load_function(saved), model())


def test_a_link_is_replaced_and_not_followed(tmp_path):
    other = tmp_path / "other"
    other.write_text("precious")
    link = tmp_path / "link"
    link.symlink_to(other)
    save_function(link, *model())
    assert other.read_text() == "precious" and not link.is_symlink()


def test_names_of_variables_are_no_paths(tmp_path):
    w = Variable(BasicTensorDescription(float32, ()), name="../../escape\0\n")
    save_function(tmp_path / "f", Function([ops.ReadVariable(variable=w)]))
    assert os.listdir(tmp_path) == ["f"]
    assert [variable.name for variable in load_function(tmp_path / "f")[1]] == [w.name]


def test_places_that_hold_no_file(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        save_function(tmp_path / "missing" / "f", *model())
    assert caught.value.filename == str(tmp_path / "missing" / "f")
    with pytest.raises(IsADirectoryError) as caught:
        save_function(tmp_path, *model())
    assert caught.value.filename == str(tmp_path) and os.listdir(tmp_path) == []
    with pytest.raises(FileNotFoundError):
        load_function(tmp_path / "missing")
    with pytest.raises(IsADirectoryError):
        load_function(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(str(tmp_path / "end"))
        for name, kind in [("/dev/zero", "a device"), (tmp_path / "pipe", "a pipe"), (tmp_path / "end", "a socket")]:
            with pytest.raises(FormatError, match="this is no file") as caught:
                load_function(name)
            assert caught.value.got == kind


def test_long_functions_are_refused_before_they_are_built(tmp_path):
    """A switch says how long a function may be."""
    save_function(tmp_path / "f", *model())
    with nv.flags.overriding(load_limit=3), pytest.raises(FormatError, match="longer than the limit") as caught:
        load_function(tmp_path / "f")
    assert "load_limit" in caught.value.help
    load_function(tmp_path / "f")


def test_tensors_of_more_dimensions_than_numpy_has_are_refused(tmp_path):
    text = str(Function([], [nv.Parameter(nv.float32, (2,))]))
    with pytest.raises(ValueError, match="too many dimensions"):
        parse_function(text.replace("f32[2]", f"f32[{', '.join(['1'] * 10_000)}]"))


# -- what cannot be saved or loaded --------------------------------------------------------------------------------


def test_a_host_function_cannot_be_saved(tmp_path):
    x = ops.Parameter(float32, (2,))
    call = ops.HostCall(x, function=np.sin, types=[x.type])
    with pytest.raises(NotSupported) as caught:
        save_function(tmp_path / "f", Function([call], [x]))
    assert (caught.value.op, caught.value.operand, caught.value.location.file) == ("HostCall", "function", __file__)
    assert os.listdir(tmp_path) == []


def test_values_must_be_those_of_the_variables(tmp_path):
    function, state = model()
    w = next(iter(state))
    with pytest.raises(ShapeMismatch):
        save_function(tmp_path / "f", function, {w: np.zeros(5, np.float32)})
    with pytest.raises(DtypeMismatch):
        save_function(tmp_path / "f", function, {w: np.zeros(4)})
    with pytest.raises(InvalidArgument, match="no such variable"):
        save_function(tmp_path / "f", function, {Variable(w.type, name="foreign"): np.zeros(4, np.float32)})
    assert os.listdir(tmp_path) == []


def contents(path: Path) -> tuple[dict, bytes]:
    raw = path.read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    return json.loads(raw[8:8 + length]), raw[8 + length:]


def forged(header: dict, data: bytes) -> bytes:
    """A file with a digest that is right, whatever it says."""
    header = json.loads(json.dumps(header))
    strings = header.pop("__metadata__")
    digest = tensor_file._digest(header, strings)
    digest.update(data)
    text = json.dumps({**header, "__metadata__": {**strings, DIGEST: digest.hexdigest()}}).encode()
    return struct.pack("<Q", len(text)) + text + data


def alter(key, text):
    def change(header):
        header["__metadata__"][key] = text
    return change


def drop(key):
    def change(header):
        del header["__metadata__"][key]
    return change


def rename(old, new):
    def change(header):
        header[new] = header.pop(old)
    return change


def entry(name, **parts):
    def change(header):
        header[name].update(parts)
    return change


@pytest.mark.parametrize(("change", "message"), [
    (alter("nervure.format", "2"), "the file has another format"),
    (alter("nervure.ops", '{"Sum": 7}'), "Sum has another version in the file"),
    (alter("nervure.ops", '{"Summ": 1}'), "no op is named Summ"),
    (alter("nervure.ops", "[" * 100_000), "the table of op versions is malformed"),
    (alter("nervure.ops", "3"), "the table of op versions is malformed"),
    (alter("nervure.text", "nervure 1"), "line 1: the text ends too early"),
    (alter("nervure.types", '{"variables/packed": "i4[1000000000]"}'), "other bytes than its type needs"),
    (alter("nervure.types", '{"nowhere": "i4[5]"}'), "other bytes than its type needs"),
    (alter("nervure.types", '{"variables/packed": "i9[5]"}'), "the table of types is malformed"),
    (alter("nervure.types", "[1]"), "the table of types is malformed"),
    (drop("nervure.types"), "another element type"),
    (drop("nervure.text"), "the file holds no function"),
    (rename("variables/w", "variables/v"), "the arrays of the file are not those"),
    (rename("constants/c0", "constants/c1"), "there is no array @c0"),
    (entry("variables/w", dtype="F33"), "unknown element type"),
    (entry("variables/w", dtype=["F32"]), "unknown element type"),
    (entry("variables/w", dtype="I32"), "another element type"),
    (entry("variables/w", shape=[2, 2]), "another shape"),
    (entry("variables/w", shape=[5]), "another size than its type needs"),
    (entry("variables/w", shape=[-4]), "malformed shape or place"),
    (entry("variables/w", shape=[True, 4]), "malformed shape or place"),
    (entry("variables/w", shape=[4] + [1] * 64), "too many dimensions"),
    (entry("variables/w", data_offsets=[0]), "malformed shape or place"),
    (entry("variables/w", extra=1), "is malformed"),
    (entry("variables/w", data_offsets=[16, 32]), "a gap or overlap"),
    (entry("variables/w", shape=[0, 10**18], data_offsets=[0, 0]), ""),
])
def test_what_a_file_says_is_not_believed(saved, change, message):
    header, data = contents(saved)
    change(header)
    saved.write_bytes(forged(header, data))
    with pytest.raises(FormatError) as caught:
        load_function(saved)
    assert message in caught.value.message


@pytest.mark.parametrize("raw", [
    b"", b"\0" * 7, b"\0" * 8, struct.pack("<Q", 2**64 - 1), struct.pack("<Q", 2) + b"{}", struct.pack("<Q", 2) + b"[]",
    struct.pack("<Q", 1) + b"3", struct.pack("<Q", 4) + b"{\xff\xff}", struct.pack("<Q", 200_000) + b"[" * 200_000,
    struct.pack("<Q", 25) + b'{"__metadata__":{"a":{}}} '[:25], struct.pack("<Q", 14) + b'{"a":1,"a":1} ',
    struct.pack("<Q", 10) + b'{"a":1e99}', struct.pack("<Q", 9) + b'{"a":NaN}',
    struct.pack("<Q", 5006) + b'{"a":' + b"9" * 5000 + b"}"], ids=range(14))
def test_what_is_no_header(tmp_path, raw):
    (tmp_path / "f").write_bytes(raw)
    with pytest.raises(FormatError):
        load_function(tmp_path / "f")


def test_a_bool_is_0_or_1(tmp_path):
    write_tensors(tmp_path / "f", {"a": np.array([True])}, {})
    (tmp_path / "f").write_bytes((tmp_path / "f").read_bytes()[:-1] + b"\2")
    with pytest.raises(FormatError, match="an element is no bool"):
        read_tensors(tmp_path / "f")


def test_text_that_is_too_long(tmp_path, monkeypatch):
    monkeypatch.setattr(tensor_file, "MAX_HEADER", 1000)
    with pytest.raises(InvalidArgument, match="too much text"):
        save_function(tmp_path / "f", *model())
    assert os.listdir(tmp_path) == []


# -- damage --------------------------------------------------------------------------------------------------------


def check_all(path: Path, files: Iterator[bytes], may_differ: bool = False) -> None:
    """Each file must give an error of ours, or the function that was saved, in little time and memory."""
    expected = model()
    tracemalloc.start()
    for raw in files:
        path.write_bytes(raw)
        tracemalloc.reset_peak()
        before = time.process_time()
        try:
            found = load_function(path)
        except NervureError:
            found = None
        assert time.process_time() - before < 1
        assert tracemalloc.get_traced_memory()[1] < 64 * 2**20
        assert found is None or may_differ or same(found, expected)
    tracemalloc.stop()


def test_truncations(saved):
    raw = saved.read_bytes()
    check_all(saved, (raw[:length] for length in range(0, len(raw), 1 if DEEP else 10)))


def test_what_is_added_at_the_end(saved):
    raw = saved.read_bytes()
    check_all(saved, (raw + extra for extra in (b"\0", b"{}", raw)))
    with pytest.raises(FormatError, match="another length"):
        load_function(saved)


@pytest.mark.parametrize("mask", [0x01, 0x20, 0xFF])
def test_flipped_bytes(saved, mask):
    raw = saved.read_bytes()
    positions = range(mask % 10 if not DEEP else 0, min(len(raw), 4096), 1 if DEEP else 10)
    check_all(saved, (raw[:at] + bytes([raw[at] ^ mask]) + raw[at + 1:] for at in positions))


def test_numbers_that_became_a_billion(saved):
    raw = saved.read_bytes()
    length = 8 + struct.unpack("<Q", raw[:8])[0]
    draw = random.Random(0)
    places = [found.span() for found in re.finditer(rb"[0-9]+", raw[8:length])]

    def files() -> Iterator[bytes]:
        for _ in range(1000 if DEEP else 100):
            begin, end = draw.choice(places)
            header = raw[8:8 + begin] + b"1000000000" + raw[8 + end:length]
            yield struct.pack("<Q", len(header)) + header + raw[length:]

    check_all(saved, files())


def test_numbers_of_the_text_that_became_a_billion_under_a_true_digest(saved):
    header, data = contents(saved)
    text = header["__metadata__"]["nervure.text"]
    draw = random.Random(1)
    places = [found.span() for found in re.finditer(r"[0-9]+", text)]

    def files() -> Iterator[bytes]:
        for _ in range(1000 if DEEP else 100):
            begin, end = draw.choice(places)
            header["__metadata__"]["nervure.text"] = text[:begin] + "1000000000" + text[end:]
            yield forged(header, data)

    check_all(saved, files(), may_differ=True)
