"""Weights of PyTorch's models: what its files have, by its names and in its order of axes."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import nn
from nervure.errors import FormatError, InvalidArgument, NotSupported, WrongKind
from nervure.files.tensor_file import read_tensors, write_tensors
from tests.files.test_state_dict import bits

generator = np.random.default_rng(0)


class Block(nn.Module):
    """Every layer of PyTorch's with parameters that are declared, with plain lengths or names, and one of its own."""

    def __init__(self, named: bool):
        self.conv = nn.Conv("C=4", "K=6", "H=3, W=2", groups=2) if named else nn.Conv(4, 6, (3, 2), groups=2)
        self.up = nn.ConvTranspose("C=4", "K=6", "H=3, W=2", groups=2) if named else nn.ConvTranspose(4, 6, (3, 2),
                                                                                                      groups=2)
        self.pair = nn.Bilinear("F=3", "G=4", "K=5") if named else nn.Bilinear(3, 4, 5)
        self.bn = nn.BatchNorm("K=6") if named else nn.BatchNorm(6)
        self.gn = nn.GroupNorm(2, "K=6") if named else nn.GroupNorm(2, 6)
        self.table = nn.Embedding("V=5", "F=3") if named else nn.Embedding(5, 3)
        self.norms = [nn.LayerNorm("F=3") if named else nn.LayerNorm(3), nn.RMSNorm("F=3") if named else nn.RMSNorm(3)]
        self.fc = nn.LinearLayer("K=6", "K=4") if named else nn.LinearLayer(6, 4)
        self.slopes = [nn.PReLU("K=6") if named else nn.PReLU(6), nn.PReLU()]
        self.token = nv.variable((1, 2))


SHAPES = {"conv.weight": (6, 2, 3, 2), "conv.bias": (6,), "up.weight": (4, 3, 3, 2), "up.bias": (6,),
          "pair.weight": (5, 3, 4), "pair.bias": (5,), "bn.weight": (6,), "bn.bias": (6,), "bn.running_mean": (6,),
          "bn.running_var": (6,), "gn.weight": (6,), "gn.bias": (6,), "table.weight": (5, 3), "norms.0.weight": (3,),
          "norms.0.bias": (3,), "norms.1.weight": (3,), "fc.weight": (4, 6), "fc.bias": (4,),
          "slopes.0.weight": (6,), "slopes.1.weight": (1,), "token": (1, 2)}


def drawn(dtype=np.float32, start=""):
    """The arrays of a file as PyTorch would write it."""
    arrays = {start + name: generator.standard_normal(shape).astype(dtype) for name, shape in SHAPES.items()}
    return {**arrays, start + "bn.num_batches_tracked": np.array(7)}


def test_the_block_has_every_layer_with_parameters():
    """T334: so that none is forgotten here."""
    kinds = {type(module).__name__ for module in Block(False).modules()}
    sources = {name: vars(getattr(nn, name)).get("__annotations__", {}) for name in nn.__all__ if
               name not in ("Linear", "KeyValueCache", "WeightNorm", "SpectralNorm")}  # the last two hold a layer
    assert {name for name, own in sources.items() if "AssignableTensorOp" in str(own)} <= kinds
    assert {"RMSNorm", "LayerNorm", "GroupNorm"} <= kinds


@pytest.mark.parametrize("named", [False, True])
def test_a_file_is_read_and_written(tmp_path, interpreter, named):
    """T334, T335: every slot has PyTorch's name and shape, and comes back to the bit."""
    arrays, block = drawn(), Block(named)
    write_tensors(tmp_path / "f", arrays, {"format": "pt"})
    assert nv.load_weights(block, tmp_path / "f", "torch", interpreter) is None
    nv.save_weights(block, tmp_path / "g", "torch", transformer=interpreter)
    found, strings = read_tensors(tmp_path / "g")
    assert strings["format"] == "pt" and found.pop("bn.num_batches_tracked") == 0
    assert {name: array.tobytes() for name, array in found.items()} == {
        name: array.tobytes() for name, array in arrays.items() if name in SHAPES}
    assert {name: array.shape for name, array in found.items()} == SHAPES


def test_the_package_safetensors_reads_what_is_written(tmp_path, interpreter):
    """T335: and nervure what it writes."""
    safetensors = pytest.importorskip("safetensors.numpy")
    block, other, arrays = Block(True), Block(False), drawn()
    safetensors.save_file(arrays, tmp_path / "f", {"format": "pt"})
    nv.load_weights(block, tmp_path / "f", "torch", interpreter)
    nv.save_weights(block, tmp_path / "g", "torch", transformer=interpreter)
    found = safetensors.load_file(tmp_path / "g")
    assert all([(found[name] == arrays[name]).all() for name in SHAPES]) and len(found) == len(arrays)
    nv.load_weights(other, tmp_path / "g", "torch", interpreter)
    assert (interpreter.get(other.conv.weights) == arrays["conv.weight"]).all()


def test_layers_compute_what_pytorch_s_do(tmp_path, interpreter):
    """T334: x W^T + b, a filter over (inputs, window) for each output, running statistics, rows of a table."""
    arrays, block = drawn(), Block(True)
    arrays["bn.running_var"] = np.abs(arrays["bn.running_var"])
    write_tensors(tmp_path / "f", arrays, {})
    nv.load_weights(block.eval(), tmp_path / "f", "torch", interpreter)
    run = lambda y: interpreter.computation(y)()  # noqa: E731
    x = generator.standard_normal((2, 6)).astype(np.float32)
    given = nv.constant(x, "N=2, K=6")
    assert np.allclose(run(block.fc(given)), x @ arrays["fc.weight"].T + arrays["fc.bias"], atol=1e-5)
    centred = (x - arrays["bn.running_mean"]) / np.sqrt(arrays["bn.running_var"] + 1e-5)
    assert np.allclose(run(block.bn(given)), centred * arrays["bn.weight"] + arrays["bn.bias"], atol=1e-4)
    assert (run(block.table(nv.constant(np.array([3, 1]), "N=2"))) == arrays["table.weight"][[3, 1]]).all()
    image = generator.standard_normal((1, 4, 3, 2)).astype(np.float32)
    right = [np.sum(image[0, 2 * (k // 3):2 * (k // 3) + 2] * arrays["conv.weight"][k]) + arrays["conv.bias"][k]
             for k in range(6)]
    assert np.allclose(run(block.conv(nv.constant(image, "N=1, C=4, H=3, W=2"))).ravel(), right, atol=1e-5)


def test_several_axes_are_one_there(tmp_path, interpreter):
    """T334: those of an input in the order of the layer, as PyTorch flattens them."""
    layer = nn.LinearLayer("C=2, H=3", "Y=4, Z=2", bias=0.0)
    weight = generator.standard_normal((8, 6)).astype(np.float32)
    write_tensors(tmp_path / "f", {"weight": weight, "bias": np.arange(8, dtype=np.float32)}, {})
    nv.load_weights(layer, tmp_path / "f", "torch", interpreter)
    x = generator.standard_normal((2, 3)).astype(np.float32)
    found = interpreter.computation(layer(nv.constant(x, "C=2, H=3")))()
    assert np.allclose(found.ravel(), weight @ x.ravel() + np.arange(8), atol=1e-5)
    assert interpreter.get(layer.bias).tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0], [6.0, 7.0]]
    norm = nn.BatchNorm("C=2, G=3")
    write_tensors(tmp_path / "f", {name: np.arange(6, dtype=np.float32) for name in (
        "weight", "bias", "running_mean", "running_var")}, {})
    nv.load_weights(norm, tmp_path / "f", "torch", interpreter)
    assert interpreter.get(norm.running_variance).tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


def test_what_does_not_fit_is_listed_whole(tmp_path, interpreter):
    """T334: names, shapes and types; nothing is changed. ``strict=False`` loads the rest."""
    arrays, block = drawn(), Block(False)
    more = {f"layers.{number}.attention.bias": np.zeros(3, np.float32) for number in range(40)}
    arrays.update(more)
    arrays["fc.weight"], arrays["bn.bias"] = arrays["fc.weight"].T, arrays["bn.bias"].astype(np.float64)
    for name in ("table.weight", "token"):
        del arrays[name]
    write_tensors(tmp_path / "f", arrays, {})
    before = bits(interpreter, block.state_names())
    with pytest.raises(InvalidArgument, match="does not fit") as caught:
        nv.load_weights(block, tmp_path / "f", "torch", interpreter)
    error = caught.value
    assert all([name in error.got for name in more]) and error.expected == "missing: token, table.weight"
    assert "fc.weight: f32[6, 4], where f32[4, 6] is expected as PyTorch has it" in error.got
    assert "bn.bias: f64[6], where f32[6] is expected as PyTorch has it" in error.got
    assert bits(interpreter, block.state_names()) == before
    failed = nv.load_weights(block, tmp_path / "f", "torch", interpreter, strict=False)
    assert failed.missing == ("token", "table.weight") and set(failed.unexpected) == set(more)
    assert set(failed.mismatched) == {"fc.weight", "bn.bias"}
    assert (interpreter.get(block.conv.bias) == arrays["conv.bias"]).all()


def test_narrower_floats_are_widened(tmp_path, interpreter):
    """T334: they lose nothing."""
    arrays, block = drawn(np.float16), Block(False)
    write_tensors(tmp_path / "f", arrays, {})
    nv.load_weights(block, tmp_path / "f", "torch", interpreter)
    assert (interpreter.get(block.fc.bias) == arrays["fc.bias"]).all() and block.fc.bias.dtype is nv.float32


def test_prefixes_and_renames(tmp_path, interpreter):
    """T333, T334: the error says which prefix is too much; one table serves to read and, turned round, to write."""
    arrays, block = drawn(start="module."), Block(False)
    write_tensors(tmp_path / "f", arrays, {})
    with pytest.raises(InvalidArgument, match="does not fit") as caught:
        nv.load_weights(block, tmp_path / "f", "torch", interpreter)
    assert caught.value.help.startswith('rename={"module": ""}')
    nv.load_weights(block, tmp_path / "f", "torch", interpreter, rename={"module.": ""})
    assert (interpreter.get(block.conv.weights) == arrays["module.conv.weight"]).all()
    nv.save_weights(block, tmp_path / "g", "torch", transformer=interpreter, rename={"norms.*": "n.*.x", "": "module"})
    found = read_tensors(tmp_path / "g")[0]
    assert (found["n.1.x.weight"] == arrays["module.norms.1.weight"]).all() and len(found) == len(arrays)
    assert (found["module.token"] == arrays["module.token"]).all()
    with pytest.raises(InvalidArgument, match="two names become"):
        nv.load_weights(block, tmp_path / "f", "torch", interpreter, rename=lambda name: "w")


def test_a_shared_parameter_has_all_of_its_names(tmp_path, interpreter):
    """T335: as PyTorch asks for them; one of them is enough to read it, two values are refused."""
    model = nn.Module()
    model.wte = nn.Embedding(3, 2)
    model.lm_head = nn.LinearLayer(2, 3, bias=False)
    model.again = model.wte
    nv.save_weights(model, tmp_path / "f", "torch", transformer=interpreter)
    arrays, _ = read_tensors(tmp_path / "f")
    assert set(arrays) == {"wte.weight", "lm_head.weight", "again.weight"}
    write_tensors(tmp_path / "g", {name: arrays[name] for name in ("again.weight", "lm_head.weight")}, {})
    nv.load_weights(model, tmp_path / "g", "torch", interpreter)
    write_tensors(tmp_path / "g", {**arrays, "again.weight": arrays["wte.weight"] + 1}, {})
    with pytest.raises(InvalidArgument, match="does not fit") as caught:
        nv.load_weights(model, tmp_path / "g", "torch", interpreter)
    assert "another value" in caught.value.got


def test_a_trainer_s_module_is_meant(tmp_path, interpreter):
    """T334: what has no module is refused."""
    layer = nn.LinearLayer(2, 1)
    trainer = nv.Trainer(layer, nv.optim.SGD(0.1), nn.losses.mean_squared_error, transformer=interpreter)
    write_tensors(tmp_path / "f", {"weight": np.ones((1, 2), np.float32), "bias": np.ones(1, np.float32)}, {})
    nv.load_weights(trainer, tmp_path / "f", "torch")
    assert interpreter.get(layer.weights).tolist() == [[1.0], [1.0]]
    with pytest.raises(WrongKind, match="those of modules"):
        nv.load_weights([layer.bias], tmp_path / "f", "torch")


def test_what_is_no_such_file_is_refused(tmp_path, interpreter):
    """T283, T335: a pickle or an archive says how to write one; a file of PyTorch's says its format."""
    layer = nn.LinearLayer(2, 1)
    for start in (b"PK\x03\x04rest of it", b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P"):
        (tmp_path / "f").write_bytes(start)
        with pytest.raises(FormatError, match="an archive or a pickle") as caught:
            nv.load_weights(layer, tmp_path / "f", "torch", interpreter)
        assert "save_file" in caught.value.help
    nv.save_weights(layer, tmp_path / "f", "torch", transformer=interpreter)
    with pytest.raises(FormatError, match="no state dict") as caught:
        nv.load_weights(layer, tmp_path / "f", transformer=interpreter)
    assert 'format="torch"' in caught.value.help
    for settings in ({"optimizers": True}, {"weights": False}):
        with pytest.raises(InvalidArgument, match="has weights, and no optimisers"):
            nv.save_weights(layer, tmp_path / "f", "torch", **settings)
    with pytest.raises(InvalidArgument, match="renamed when they are loaded"):
        nv.save_weights(layer, tmp_path / "f", rename={"a": "b"})


def test_types_that_no_file_of_pytorch_has_are_refused(tmp_path, interpreter):
    """T335: rather than written as bytes, which nothing there takes."""
    for dtype in ("complex128", "int4", "float8_e4m3"):
        layer = nn.Sequential(nn.LinearLayer(2, 1))
        layer.shift = nv.variable((3,), dtype=dtype, initial_value=np.zeros(3, nv.as_dtype(dtype).numpy))
        with pytest.raises(NotSupported, match=f"no {dtype}") as caught:
            nv.save_weights(layer, tmp_path / "f", "torch", transformer=interpreter)
        assert caught.value.operand == "shift" and not (tmp_path / "f").exists()
        nv.save_weights(layer, tmp_path / "f", "torch", transformer=interpreter, rename={"shift": None})
        nv.save_weights(layer, tmp_path / "g", transformer=interpreter)
        (tmp_path / "f").unlink()


@pytest.mark.parametrize("kind, gates", [("RNN", 1), ("LSTM", 4), ("GRU", 3)])
def test_recurrent_layers_have_pytorch_s_names(tmp_path, interpreter, kind, gates):
    """T334, T335, T413: weights are transposed, and come back to the bit."""
    layer = getattr(nn, kind)(2, 3, layers=2, bidirectional=True)
    cell = getattr(nn, kind + "Cell")("F=2", "H=3")
    shapes = {"weight_ih": (gates * 3, 2), "weight_hh": (gates * 3, 3), "bias_ih": (gates * 3,),
              "bias_hh": (gates * 3,)}
    ends = {"_l0": 2, "_l0_reverse": 2, "_l1": 6, "_l1_reverse": 6}
    whole = {name + end: (shape[0], inputs) if name == "weight_ih" else shape
             for end, inputs in ends.items() for name, shape in shapes.items()}
    for module, expected in ((layer, whole), (cell, shapes)):
        arrays = {name: generator.standard_normal(shape).astype(np.float32) for name, shape in expected.items()}
        write_tensors(tmp_path / "f", arrays, {})
        assert nv.load_weights(module, tmp_path / "f", "torch", interpreter) is None
        nv.save_weights(module, tmp_path / "g", "torch", transformer=interpreter)
        found = read_tensors(tmp_path / "g")[0]
        assert {name: array.tobytes() for name, array in found.items()} == {
            name: array.tobytes() for name, array in arrays.items()}
    assert (interpreter.get(cell.weights_ih) == arrays["weight_ih"].T).all()


def test_attention_has_pytorch_s_names(tmp_path, interpreter):
    """T334, T335, T414, T416: one place for queries, keys and values, or three where features differ."""
    products = {"in_proj_weight": (12, 4), "in_proj_bias": (12,), "out_proj.weight": (4, 4), "out_proj.bias": (4,)}
    parts = {"q_proj_weight": (4, 4), "k_proj_weight": (4, 3), "v_proj_weight": (4, 2)}
    apart = {**parts, **{name: shape for name, shape in products.items() if name != "in_proj_weight"}}
    dense = {"linear1.weight": (6, 4), "linear1.bias": (6,), "linear2.weight": (4, 6), "linear2.bias": (4,)}
    norms = {f"norm{number}.{name}": (4,) for number in (1, 2) for name in ("weight", "bias")}
    layer = {**{f"self_attn.{name}": shape for name, shape in products.items()}, **dense, **norms}
    for module, expected in ((nn.MultiHeadAttention(4, 2), products), (nn.TransformerEncoderLayer("F=4", 2, 6), layer),
                             (nn.MultiHeadAttention(4, 2, key_features=3, value_features=2), apart)):
        arrays = {name: generator.standard_normal(shape).astype(np.float32) for name, shape in expected.items()}
        write_tensors(tmp_path / "f", arrays, {})
        assert nv.load_weights(module, tmp_path / "f", "torch", interpreter) is None
        nv.save_weights(module, tmp_path / "g", "torch", transformer=interpreter)
        found = read_tensors(tmp_path / "g")[0]
        assert {name: array.tobytes() for name, array in found.items()} == {
            name: array.tobytes() for name, array in arrays.items()}
