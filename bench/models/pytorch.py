"""PyTorch models at their real sizes, with random weights from a fixed seed: what ``python -m bench torch`` measures.

Models come from torchvision and transformers; only their use imports these. Dropout is 0, for masks that differ would
hide all else.

>>> network = Network("lstm", batch=2, length=5)
>>> network.is_of_words, network.architecture.library
(True, 'torch')
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from bench.torch_models.family import without_dropout, without_zeros

RATE = 1e-4
WORDS = 30_000
"""Words are drawn from so large a vocabulary, and fit into that of each model."""


class Architecture(NamedTuple):
    """The library that has a model, what makes it from a :class:`Network`, and its usual length."""

    library: str
    make: Callable[[Network], Any]
    length: int
    classes: int
    has_classes_of_words: bool = False


@dataclass(frozen=True)
class Network:
    """A model for a ``batch`` of images or texts; their ``length`` is the side of one, or the number of words."""

    name: str
    batch: int
    length: int
    layers: int = 12

    @property
    def architecture(self) -> Architecture:
        return ARCHITECTURES[self.name]

    @property
    def is_of_words(self) -> bool:
        return self.architecture.library != "torchvision"

    def module(self, is_training: bool = False) -> Any:
        """Returns a new module; two of equal networks have equal weights."""
        import torch
        torch.manual_seed(0)
        made = self.architecture.make(self)
        without_dropout(made)
        without_zeros(made)
        return made.train(is_training)

    def data(self) -> tuple[Any, Any]:
        """Returns what the module is given, and the classes that it is trained to find."""
        import torch
        random = torch.Generator().manual_seed(0)
        shape = (self.batch, self.length) if self.is_of_words else (self.batch, 3, self.length, self.length)
        given = (torch.randint(WORDS, shape, generator=random) if self.is_of_words
                 else torch.randn(shape, generator=random))
        wanted = shape if self.architecture.has_classes_of_words else shape[:1]
        return given, torch.randint(self.architecture.classes, wanted, generator=random)


def loss_of(module: Any, given: Any, wanted: Any) -> Any:
    """The cross entropy of what a module says of data."""
    from torch.nn.functional import cross_entropy
    logits = module(given)
    return cross_entropy(logits.flatten(0, -2), wanted.flatten())


def optimiser_of(module: Any) -> Any:
    """The optimiser of all contenders: PyTorch's own, in one kernel."""
    from torch.optim import AdamW
    return AdamW(module.parameters(), lr=RATE, fused=True)


def _of_torchvision(name: str, length: int = 224, **options: Any) -> Architecture:
    def make(network: Network) -> Any:
        return getattr(importlib.import_module("torchvision.models"), name)(weights=None, **options)
    return Architecture("torchvision", make, length, 1000)


def _of_transformers(config: str, model: str, options: Mapping[str, Any], layers: str, length: int, classes: int,
                     has_classes_of_words: bool) -> Architecture:
    def make(network: Network) -> Any:
        transformers = importlib.import_module("transformers")
        settings = getattr(transformers, config)(**{**options, layers: network.layers}, use_cache=False)
        return _logits(getattr(transformers, model)(settings))
    return Architecture("transformers", make, length, classes, has_classes_of_words)


def _logits(model: Any) -> Any:
    """Returns a module of words that gives logits alone."""
    from torch.nn import Module

    class Logits(Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, words: Any) -> Any:
            return self.model(input_ids=words).logits
    return Logits()


def _lstm(network: Network) -> Any:
    """Returns a model of language: an embedding, two layers of 512, and logits of 1,000 classes for each word."""
    from torch.nn import LSTM, Embedding, Linear, Module

    class Recurrent(Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.lstm, self.head = Embedding(WORDS, 512), LSTM(512, 512, 2), Linear(512, 1000)

        def forward(self, words: Any) -> Any:
            hidden, _ = self.lstm(self.words(words.T))
            return self.head(hidden.transpose(0, 1))
    return Recurrent()


_BERT = ("BertConfig", "BertForSequenceClassification", {}, "num_hidden_layers")
_LLAMA = {"vocab_size": 32_000, "hidden_size": 768, "num_attention_heads": 12, "num_key_value_heads": 4,
          "intermediate_size": 2048}
ARCHITECTURES: Mapping[str, Architecture] = MappingProxyType({
    "resnet18": _of_torchvision("resnet18"),
    "resnet50": _of_torchvision("resnet50"),
    "mobilenet_v3": _of_torchvision("mobilenet_v3_large", dropout=0.0),
    "efficientnet_b0": _of_torchvision("efficientnet_b0", dropout=0.0, stochastic_depth_prob=0.0),
    "convnext_t": _of_torchvision("convnext_tiny", stochastic_depth_prob=0.0),
    "vit_b_16": _of_torchvision("vit_b_16"),
    "bert_128": _of_transformers(*_BERT, 128, 2, False),
    "bert_512": _of_transformers(*_BERT, 512, 2, False),
    "gpt2": _of_transformers("GPT2Config", "GPT2LMHeadModel", {}, "n_layer", 128, 50_257, True),
    "llama": _of_transformers("LlamaConfig", "LlamaForCausalLM", _LLAMA, "num_hidden_layers", 128, 32_000, True),
    "lstm": Architecture("torch", _lstm, 64, 1000, True)})
"""By the name that rows have; those of transformers have twelve layers, and the Llama 125 million parameters."""
