"""Twenty steps of training follow eager mode: a ResNet-18, a GPT, an LSTM and a ViT, narrow ones."""

from __future__ import annotations

import copy

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from nervure.bridges.torch import backend  # noqa: E402

nn, functional = torch.nn, torch.nn.functional

CLASSES, WORDS, WIDTH = 5, 31, 16


class Block(nn.Module):
    """Two convolutions with batch norms, and a way around them."""

    def __init__(self, before, width, stride):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(before, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width),
                                  nn.ReLU(inplace=True), nn.Conv2d(width, width, 3, 1, 1, bias=False),
                                  nn.BatchNorm2d(width))
        self.around = nn.Identity() if (before, stride) == (width, 1) else nn.Sequential(
            nn.Conv2d(before, width, 1, stride, bias=False), nn.BatchNorm2d(width))

    def forward(self, x):
        return functional.relu(self.body(x) + self.around(x), inplace=True)


def resnet():
    widths = (8, 8, 8, 16, 16, 32, 32, 64, 64)
    blocks = [Block(before, after, 1 if before == after else 2) for before, after in zip(widths, widths[1:])]
    stem = nn.Sequential(nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
    return nn.Sequential(stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, CLASSES))


class Attending(nn.Module):
    """A block of a transformer, with the norms in front."""

    def __init__(self, is_causal):
        super().__init__()
        self.is_causal = is_causal
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.triple, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.wide = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        heads = self.triple(self.first(x)).unflatten(-1, (3, 4, WIDTH // 4)).permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(*heads, is_causal=self.is_causal)
        x = x + self.out(attended.transpose(1, 2).flatten(2))
        return x + self.wide(self.second(x))


class GPT(nn.Module):
    """Embeddings that the head shares, positions, and two causal blocks."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(24, WIDTH)
        self.body = nn.Sequential(Attending(True), Attending(True), nn.LayerNorm(WIDTH))
        self.head = nn.Linear(WIDTH, WORDS, bias=False)
        self.head.weight = self.words.weight

    def forward(self, words):
        x = self.words(words) + self.places(torch.arange(words.shape[1]))
        return self.head(self.body(x))[:, :-1].flatten(0, 1)


class Reader(nn.Module):
    """An LSTM of two layers in both directions."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.body = nn.LSTM(WIDTH, 12, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(24, CLASSES)

    def forward(self, words):
        return self.head(self.body(self.words(words))[0].mean(1))


class ViT(nn.Module):
    """Patches, a token for the class, positions, and two blocks."""

    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, WIDTH, 8, 8)
        self.token, self.places = nn.Parameter(torch.randn(1, 1, WIDTH)), nn.Parameter(torch.randn(1, 65, WIDTH))
        self.body = nn.Sequential(Attending(False), Attending(False), nn.LayerNorm(WIDTH))
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, images):
        x = self.patches(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.places
        return self.head(self.body(x)[:, 0])


def images():
    return torch.randn(8, 3, 64, 64), torch.arange(8) % CLASSES


def following_words():
    words = torch.randint(0, WORDS, (4, 12))
    return words, words[:, 1:].flatten()


def sentences():
    return torch.randint(0, WORDS, (6, 9)), torch.arange(6) % CLASSES


def momentum(parameters):
    """Slow enough for eager mode to follow itself in float64; faster, roundings of ReLU's operands change its mind."""
    return torch.optim.SGD(parameters, lr=0.002, momentum=0.9, weight_decay=1e-4)


def adam(parameters):
    return torch.optim.AdamW(parameters, lr=0.003)


MODELS = {"ResNet-18": (resnet, images, momentum), "GPT": (GPT, following_words, adam),
          "LSTM": (Reader, sentences, adam), "ViT": (ViT, images, adam)}


@pytest.mark.parametrize("name", MODELS)
def test_losses_follow_eager_mode(name):
    torch._dynamo.reset()
    torch.manual_seed(0)
    make, draw, optimising = MODELS[name]
    model = make()
    own = copy.deepcopy(model)
    x, labels = draw()
    followed = []
    for entry, run in ((own, torch.compile(own, backend=backend, options={"strict": True})), (model, model)):
        optimiser, losses = optimising(entry.parameters()), []
        for _ in range(20):
            optimiser.zero_grad()
            loss = functional.cross_entropy(run(x), labels)
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
        followed.append(losses)
    assert followed[1][-1] < 0.9 * followed[1][0]
    assert followed[0] == pytest.approx(followed[1], rel=1e-4)
    for mine, theirs in zip(own.buffers(), model.buffers(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-3, atol=1e-4)
