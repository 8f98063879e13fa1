"""A language model of characters, on the sources of Python's standard library.

The text is what this Python brings along: no download. The model is a transformer of four blocks; a character costs
one step of it, since keys and values of earlier ones are kept.

>>> decoded(encoded("def f():\\n\\treturn 1"))
'def f():\\n    return 1'
"""

from __future__ import annotations

import sysconfig
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import nervure as nv
from nervure import nn
from nervure.errors import NotSupported
from nervure.tools.recipes.recipe import Arrays, Recipe, RecipeData, Served
from nervure.transformers.base import Transformer

LETTERS = "\n" + "".join(map(chr, range(32, 127)))
"""The characters of the model: a line's end, and those of ASCII that are printed. Others become a question mark."""

LENGTH = 256
"""The characters of a piece of text."""

APART = {"test", "tests", "idle_test", "site-packages", "dist-packages", "lib2to3", "__pycache__"}
"""Folders that are left out: tests, and what was installed later."""


def encoded(text: str) -> np.ndarray:
    """Returns the numbers of the characters of ``text``, uint8."""
    read = np.frombuffer(text.expandtabs(4).encode("ascii", "replace"), np.uint8)
    table = np.full(256, LETTERS.index("?"), np.uint8)
    table[[ord(letter) for letter in LETTERS]] = np.arange(len(LETTERS))
    return table[read]


def decoded(codes: np.ndarray) -> str:
    """Returns the text of numbers of characters."""
    return "".join(LETTERS[code] for code in codes)


def load_sources(folder: Path | None, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the text of the Python files below ``folder`` (absent: the standard library) in two parts: one file in
    twenty, by ``seed``, is held back.
    """
    root = Path(sysconfig.get_path("stdlib")) if folder is None else folder
    paths = sorted(path for path in root.rglob("*.py") if not APART.intersection(path.relative_to(root).parts))
    texts = [encoded(path.read_text("utf-8", "replace")) for path in paths]
    order = np.random.default_rng(seed).permutation(len(texts))
    cut = (len(texts) + 19) // 20
    held, learnt = [np.concatenate([encoded(""), *[texts[at] for at in sorted(part)]])
                    for part in (order[:cut], order[cut:])]
    if min(len(held), len(learnt)) <= 2 * LENGTH:
        raise NotSupported(f"there is too little text of Python in {root}", op="load_sources",
                           help="install the sources of the standard library, or name a folder that has some: "
                                "--data FOLDER")
    return learnt, held


class Pieces:
    """Pieces of ``text`` at random places, which follow from ``seed``, epoch and number: 100 batches of 16."""

    size = 16

    def __init__(self, text: np.ndarray, seed: int) -> None:
        self.text, self.seed = text, seed
        self.kind = {"seed": seed, "characters": len(text)}

    def __len__(self) -> int:
        return 100

    def epoch(self, number: int, start: int = 0) -> Iterator[Arrays]:
        """Yields the batches of an epoch from number ``start`` on: characters, and those that follow them."""
        for at in range(start, len(self)):
            starts = np.random.default_rng([self.seed, number, at]).integers(0, len(self.text) - LENGTH, self.size)
            pieces = self.text[starts[:, None] + np.arange(LENGTH + 1)].astype(np.int64)
            yield pieces[:, :-1], pieces[:, 1:]


class CharacterBlock(nn.Module):
    """Attention and two dense layers, each behind a norm and beside a residual, on (N, T, ``width``)."""

    def __init__(self, width: int, heads: int) -> None:
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiHeadAttention(width, heads, rotary=10000.0, batch_first=True)
        self.wide, self.narrow = nn.LinearLayer(width, 4 * width), nn.LinearLayer(4 * width, width)

    def forward(self, x: nv.Tensor, cache: nn.KeyValueCache | None = None) -> nv.Tensor:
        """Maps steps to steps, each of which sees those up to its own, and those of the ``cache``."""
        x = x + self.attention(self.first(x), causal=cache is None, cache=cache)
        return x + self.narrow(nv.gelu(self.wide(self.second(x)), approximate=True))


class CharacterModel(nn.Module):
    """A transformer: numbers of characters (N, T) to logits of the next ones (N, T, 96)."""

    def __init__(self, width: int = 192, heads: int = 6, layers: int = 4) -> None:
        self.table = nn.Embedding(len(LETTERS), width)
        self.blocks = [CharacterBlock(width, heads) for _ in range(layers)]
        self.norm, self.head = nn.LayerNorm(width), nn.LinearLayer(width, len(LETTERS))

    def forward(self, codes: nv.Tensor, caches: list[nn.KeyValueCache] | None = None) -> nv.Tensor:
        """Maps characters to logits; with ``caches``, one of each block, they follow those of earlier calls."""
        x = self.table(codes)
        for at, block in enumerate(self.blocks):
            x = block(x, None if caches is None else caches[at])
        logits: nv.Tensor = self.head(self.norm(x))
        return logits

    def written(self, beginning: nv.Tensor, temperature: nv.Tensor) -> nv.Tensor:
        """Returns LENGTH characters after ``beginning`` (T,), drawn one after the other by their chances."""
        caches = [block.attention.cache(1, 2 * LENGTH) for block in self.blocks]
        count = beginning.shape[0]

        def step(code: nv.Tensor, at: nv.Tensor) -> tuple[nv.Tensor, nv.Tensor]:
            given = beginning[nv.minimum(at, count - 1)]
            code = nv.where(at < count, given, code)
            logits = self(nv.reshape(code, (1, 1)), caches)[0, 0]
            noise = -nv.log(-nv.log(nv.uniform(logits.shape, 1e-6, 1 - 1e-6)))
            following = nv.argmax(logits / temperature + noise)
            return following, following

        start, length = nv.zeros((), nv.int64), count + LENGTH - 1
        forgotten = [cache.clear() for cache in caches]
        found = nv.scan(step, start, nv.arange(length))[1]
        whole: nv.Tensor = nv.sequential([*forgotten, found[count - 1:]])
        return whole


class CharactersRecipe(Recipe):
    """A transformer writes Python."""

    title = "Python's standard library, by characters"

    @staticmethod
    def loss(logits: nv.Tensor, targets: nv.Tensor) -> nv.Tensor:
        """Returns the cross entropy, in nats a character."""
        return nn.losses.cross_entropy(nv.reshape(logits, (-1, len(LETTERS))), nv.reshape(targets, (-1,)))

    def load(self, seed: int, folder: Path | None, holds_back: bool) -> RecipeData:
        """Holds one file in twenty back, chosen by ``seed``; with ``holds_back`` a half of their text decides when to
        stop.
        """
        learnt, held = load_sources(folder, seed)
        count = min(len(held) - 1, 1 << 17) // (2 * LENGTH)
        rows = [held[first:first + count * LENGTH].reshape(count, LENGTH).astype(np.int64)
                for first in (0, 1, count * LENGTH, count * LENGTH + 1)]
        return RecipeData(Pieces(learnt, seed), (rows[0], rows[1]) if holds_back else None, (rows[2], rows[3]))

    def network(self) -> nn.Module:
        """Returns a new network."""
        return CharacterModel()

    def optimizer(self, steps: int) -> nv.optim.Optimizer:
        """Returns AdamW on clipped gradients, whose rate rises and falls once."""
        return nv.optim.Clipped(nv.optim.AdamW(nv.optim.one_cycle(3e-3, steps)), norm=1.0)

    def serve(self, network: nn.Module, transformer: Transformer) -> Served:
        """``predict`` maps characters (N, T) to logits of the next ones; ``write`` takes a beginning (T,) and a
        temperature.
        """
        own = network.eval()
        assert isinstance(own, CharacterModel)
        codes = nv.placeholder((nv.dim("n"), nv.dim("t", min=1)), nv.int64).named("codes")
        beginning = nv.placeholder((nv.dim("t", min=1),), nv.int64).named("beginning")
        temperature = nv.placeholder(()).named("temperature")
        return {"predict": nv.computation(own(codes), codes, transformer=transformer),
                "write": nv.computation(own.written(beginning, temperature), beginning, temperature,
                                        transformer=transformer)}

    def answers(self, predict: nv.Computation[np.ndarray], test: Arrays) -> np.ndarray:
        """Returns the logarithm of the chance of each character that came."""
        found = []
        for start in range(0, len(test[0]), 32):
            logits = predict(test[0][start:start + 32]).astype(np.float64)
            logits -= logits.max(axis=-1, keepdims=True)
            chosen = np.take_along_axis(logits, test[1][start:start + 32, :, None], -1)[..., 0]
            found.append(chosen - np.log(np.exp(logits).sum(axis=-1)))
        return np.concatenate(found)

    def report(self, served: Served, answers: np.ndarray, test: Arrays, folder: Path) -> list[str]:
        """Returns two texts that ``served`` has written, and the nats a character of the text that is held back."""
        texts = []
        for beginning in ("def ", "class "):
            codes = served["write"](encoded(beginning).astype(np.int64), np.float32(0.7))
            texts += [f"-- after {beginning!r}:", beginning + decoded(codes)]
        return [*texts, f"nats a character: {-float(np.mean(answers)):.4f}"]
