"""Weights of layers go to PyTorch's and come back: files that load_state_dict takes whole, and the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
safetensors = pytest.importorskip("safetensors.torch", reason="safetensors is not installed")

import nervure as nv  # noqa: E402
from nervure import nn  # noqa: E402

LAYERS = {
    "lstm": (lambda: nn.LSTM(4, 6, 2, True, projection=3), lambda: torch.nn.LSTM(4, 6, 2, bidirectional=True,
                                                                                 proj_size=3)),
    "gru": (lambda: nn.GRU(4, 6, 2, bias=False), lambda: torch.nn.GRU(4, 6, 2, bias=False)),
    "rnn": (lambda: nn.RNN(4, 6, bidirectional=True), lambda: torch.nn.RNN(4, 6, bidirectional=True)),
    "lstm cell": (lambda: nn.LSTMCell(4, 6), lambda: torch.nn.LSTMCell(4, 6)),
    "attention": (lambda: nn.MultiHeadAttention(4, 2), lambda: torch.nn.MultiheadAttention(4, 2)),
    "encoder": (lambda: nn.TransformerEncoderLayer(4, 2, 8), lambda: torch.nn.TransformerEncoderLayer(4, 2, 8)),
    "decoder": (lambda: nn.TransformerDecoderLayer(4, 2, 8), lambda: torch.nn.TransformerDecoderLayer(4, 2, 8))}
MEMORY = {"attention": 3, "decoder": 2}


def output(found):
    while isinstance(found, (tuple, list)):
        found = found[0]
    return found


@pytest.mark.parametrize("name", LAYERS)
def test_both_compute_the_same_after_each_way(name, tmp_path):
    """T334, T335: every name and every shape, in both directions."""
    mine, theirs = [make() for make in LAYERS[name]]
    mine.eval(), theirs.eval()
    shape = (3, 4) if "cell" in name else (5, 3, 4)
    given = [torch.randn(shape)] * MEMORY.get(name, 1)
    arrays = [x.numpy() for x in given]
    nv.save_weights(mine, tmp_path / "mine", format="torch")
    theirs.load_state_dict(safetensors.load_file(tmp_path / "mine"), strict=True)
    np.testing.assert_allclose(output(mine(*arrays)).numpy(), output(theirs(*given)).detach(), atol=1e-5)
    other = LAYERS[name][1]().eval()
    safetensors.save_file(other.state_dict(), tmp_path / "other")
    nv.load_weights(mine, tmp_path / "other", format="torch")
    np.testing.assert_allclose(output(mine(*arrays)).numpy(), output(other(*given)).detach(), atol=1e-5)


class Masked(torch.nn.Module):
    """A linear layer beside a buffer that its state dict leaves out, and one that it holds."""

    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(3, 3)
        self.register_buffer("mask", torch.tensor([1.0, 0.0, 2.0]), persistent=False)
        self.register_buffer("shift", torch.ones(3))

    def forward(self, x):
        return self.inner(x) * self.mask + self.shift


@pytest.mark.parametrize("is_program", [False, True])
def test_buffers_that_no_state_dict_holds_are_in_no_file_for_pytorch(is_program, tmp_path):
    """T334, T335: nor in one from it."""
    model, x = torch.nn.Sequential(Masked()), torch.randn(2, 3)
    own = nv.from_torch(torch.export.export(model, (x,))) if is_program else nv.from_torch(model, [x])
    nv.save_weights(own, tmp_path / "mine", format="torch")
    assert safetensors.load_file(tmp_path / "mine").keys() == model.state_dict().keys()
    model.load_state_dict(safetensors.load_file(tmp_path / "mine"), strict=True)
    other = torch.nn.Sequential(Masked())
    safetensors.save_file(other.state_dict(), tmp_path / "other")
    assert nv.load_weights(own, tmp_path / "other", format="torch") is None
    np.testing.assert_allclose(own(x.numpy()).numpy(), other(x).detach(), atol=1e-6)
    run = nv.computation(own(x.numpy()))
    nv.save(tmp_path / "whole.safetensors", run)
    np.testing.assert_array_equal(nv.load(tmp_path / "whole.safetensors")(), run())


@pytest.mark.parametrize("dtype", ["complex64", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu", "uint16"])
def test_further_types_go_both_ways(dtype, tmp_path):
    """T334, T335."""
    def model(number):
        made = torch.nn.Module()
        made.register_buffer("other", torch.full((2, 3), number).to(getattr(torch, dtype)))
        return made
    mine, theirs = nn.Module(), model(4.0)
    mine.other = nv.variable((2, 3), dtype=dtype, initial_value=np.full((2, 3), 2, nv.as_dtype(dtype).numpy))
    nv.save_weights(mine, tmp_path / "mine", format="torch")
    theirs.load_state_dict(safetensors.load_file(tmp_path / "mine"), strict=True)
    assert torch.equal(theirs.other.to(torch.complex64).real, torch.full((2, 3), 2.0))
    safetensors.save_file(model(8.0).state_dict(), tmp_path / "other")
    nv.load_weights(mine, tmp_path / "other", format="torch")
    assert (mine.other.numpy().astype(np.complex64).real == 8).all()
