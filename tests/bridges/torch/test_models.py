"""Small models of torch.nn through ``torch.compile``: results, gradients, statistics and training as in eager mode."""

from __future__ import annotations

import copy

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from nervure.bridges.torch import backend  # noqa: E402
from tests.bridges.torch.comparing import assert_alike  # noqa: E402

nn = torch.nn


class Recurrent(nn.Module):
    """A cell that is unrolled over the steps of a sequence."""

    def __init__(self):
        super().__init__()
        self.cell, self.out = nn.LSTMCell(5, 8), nn.Linear(8, 3)

    def forward(self, x):
        h = c = x.new_zeros(x.shape[0], 8)
        for step in range(x.shape[1]):
            h, c = self.cell(x[:, step], (h, c))
        return self.out(h)


class Words(nn.Module):
    """An embedding with a row for padding, a bag's mean, and a layer norm."""

    def __init__(self):
        super().__init__()
        self.table, self.norm, self.out = nn.Embedding(20, 6, padding_idx=0), nn.LayerNorm(6), nn.Linear(6, 4)

    def forward(self, words):
        return self.out(self.norm(self.table(words)).mean(1)).log_softmax(-1)


def convolutional():
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(8, 8, 3, stride=2, groups=4), nn.GroupNorm(2, 8), nn.SiLU(), nn.AdaptiveAvgPool2d(1),
                         nn.Flatten(), nn.Linear(8, 4))


def drawn(*shape):
    return torch.randn(*shape)


MODELS = {
    "mlp": (lambda: nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.Linear(16, 3)), lambda: drawn(5, 6)),
    "convolutional": (convolutional, lambda: drawn(4, 3, 13, 11)),
    "recurrent": (Recurrent, lambda: drawn(3, 4, 5)),
    "transformer": (lambda: nn.TransformerEncoderLayer(16, 2, 24, dropout=0.0, batch_first=True),
                    lambda: drawn(2, 7, 16)),
    "words": (Words, lambda: torch.randint(0, 20, (3, 6))),
    "upsampling": (lambda: nn.Sequential(nn.ConvTranspose2d(2, 4, 3, stride=2, padding=1), nn.Hardswish(),
                                         nn.Upsample(scale_factor=2, mode="bilinear"), nn.AvgPool2d(3, 2, 1)),
                   lambda: drawn(2, 2, 5, 4))}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("is_training", [True, False], ids=["training", "evaluation"])
def test_results_gradients_and_statistics_are_those_of_eager(name, is_training):
    make, draw = MODELS[name]
    model = make().train(is_training)
    own, x = copy.deepcopy(model), draw()
    compiled = torch.compile(own, backend=backend, options={"strict": True})
    got, expected = compiled(x), model(x)
    assert_alike(got, expected, scale=10)
    got.square().sum().backward()
    expected.square().sum().backward()
    for mine, theirs in zip(own.parameters(), model.parameters(), strict=True):
        assert_alike(mine.grad, theirs.grad, scale=100)
    for mine, theirs in zip(own.buffers(), model.buffers(), strict=True):
        assert_alike(mine, theirs, scale=10)
    with torch.no_grad():  # where PyTorch has one op for a whole layer of a transformer
        compiled = torch.compile(own, backend=backend)
        assert_alike(compiled(x), model(x), scale=10)


def test_a_batch_of_one_in_training():
    """The rows of statistics over one image are short, and several runs read them."""
    model = nn.Sequential(nn.Conv2d(8, 8, 3, stride=2, groups=8, bias=False), nn.BatchNorm2d(8), nn.SiLU(),
                          nn.AdaptiveAvgPool2d(1))
    own, x = copy.deepcopy(model), drawn(1, 8, 16, 16)
    for run in (torch.compile(own, backend=backend, options={"strict": True}), model):
        (run(x) * torch.arange(8).reshape(1, 8, 1, 1)).sum().backward()
    for mine, theirs in zip(own.parameters(), model.parameters(), strict=True):
        assert_alike(mine.grad, theirs.grad, scale=100)


@pytest.mark.parametrize("name", ["convolutional", "transformer", "words"])
def test_twenty_steps_of_training_follow_eager(name):
    make, draw = MODELS[name]
    model = make()
    own = copy.deepcopy(model)
    x = draw()
    losses = []
    for entry, run in ((own, torch.compile(own, backend=backend)), (model, model)):
        optimiser = torch.optim.AdamW(entry.parameters(), lr=0.001)
        followed = []
        for _ in range(20):
            optimiser.zero_grad()
            loss = (run(x) - 1).square().mean()
            loss.backward()
            optimiser.step()
            followed.append(loss.item())
        losses.append(followed)
    assert losses[0][-1] < losses[0][0]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4, abs=1e-4)


def test_the_gradient_of_a_batch_norm_of_one_image_is_right_where_it_comes_transposed():
    """The formula says what is right: PyTorch 2.13's eager mode reads the gradient's memory in another order."""
    norm, weights = nn.BatchNorm2d(4), torch.randn(1, 9, 4)
    x = torch.randn(1, 4, 3, 3, requires_grad=True)
    run = torch.compile(lambda x: norm(x).flatten(2).transpose(1, 2), backend=backend)
    own, = torch.autograd.grad((run(x) * weights).sum(), x)
    variance, mean = torch.var_mean(x, (0, 2, 3), correction=0, keepdim=True)
    plain = ((x - mean) * (variance + norm.eps).rsqrt()).flatten(2).transpose(1, 2)
    assert_alike(own, *torch.autograd.grad((plain * weights).sum(), x))
