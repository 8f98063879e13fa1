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
