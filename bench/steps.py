"""Whole training steps of the models in :mod:`bench.models`: their rows, sizes and bars.

A program is given the model and trains it on one batch, step by step; the losses of the first 20 steps are compared
with NumPy's in float64.

>>> problem = PROBLEMS["mlp_256"](scale=0.02)
>>> model, = problem.inputs()
>>> model.batch, problem.mistake([model], [model.losses(20).astype(np.float32)])
(2, None)
"""

from __future__ import annotations

import itertools

import numpy as np

from bench.models.attention import Attention
from bench.models.base import precise
from bench.models.gpt import Gpt
from bench.models.mlp import Mlp
from bench.models.recurrent import Gru, Lstm
from bench.problems import PROBLEMS, Bar, Problem, listed

COMPARED = 20  # losses


class Training(Problem):
    """``sizes`` are fields of the model. Where ``symbolic``, one program of ours serves all lengths of the batch."""

    model: type
    tolerance = 1e-4
    calls = COMPARED
    symbolic = False

    def inputs(self):
        return [self.model(**{name: getattr(self, name) for name in self.sizes})]

    def reference(self, model):
        return [model.losses(self.calls)]

    def of_calls(self, results):
        """The losses of the first steps."""
        return [np.concatenate([np.ravel(losses) for losses, in results])[:self.calls]]


class FirstStep(Training):
    """From the definition of the model to its first loss, everything imported."""

    own_process = True
    calls = 1


class KeptFirstStep(FirstStep):
    kept_cache = True


class Memory(Training):
    """The most memory during 50 steps, from the definition on, less that after import; what compilers keep is there."""

    own_process = kept_cache = True
    figure = "memory"


class Forward(Training):
    """The result of the network, from data and parameters as they stand."""

    tolerance = 1e-5
    calls = 1

    def reference(self, model):
        return [model.results()]

    def of_calls(self, results):
        return results[-1]


class Epoch(Training):
    """A pass over all examples, batch by batch in their order, as in the training that cl-waffe2's README measures. A
    call is an epoch and gives the losses of its steps, of which the first 20 are compared.
    """

    calls = 1

    def reference(self, model):
        step = model.training(precise(model.parameters()))
        first = itertools.islice(batches(model.data()), COMPARED)
        return [np.array([step(*precise(dict(enumerate(batch))).values()) for batch in first])]

    def of_calls(self, results):
        (losses,), *_ = results
        return [losses[:COMPARED]]


class FirstEpoch(Epoch):
    """The first one, from the definition of the model on, everything imported."""

    own_process = True


def batches(data):
    """The examples in their order, a hundred at a time."""
    for start in range(0, len(data[0]), BATCH):
        yield [entry[start:start + BATCH] for entry in data]


BATCH = 100  # examples of a batch in an epoch
EXAMPLES = 60_000
MLP_256 = "MLP 784-256-256-10, batch 100"
MLP_512 = "MLP 784-512-512-10, batch 100"
GPT = "GPT, 4 layers of width 128, 12x64 characters"
ATTENTION = "causal self-attention, 4x200x192, 6 heads"
SIZES = {Mlp: {"batch": 100, "hidden": 256}, Gpt: {"batch": 12, "layers": 4}, Attention: {"batch": 4, "time": 200}}
SYMBOLIC = "mlp_256", "mlp_512", "gpt_step"
A_TENTH_LESS = Bar(1 / 0.9)

for name, title, base, bar, model, options in (
        ("mlp_256", f"{MLP_256}: Adam step", Training, Bar(1.4, 2.0), Mlp, {}),
        ("mlp_512", f"{MLP_512}: Adam step", Training, Bar(1.4, 2.0), Mlp, {"hidden": 512}),
        ("gpt_step", f"{GPT}: AdamW step", Training, Bar(1.0, 1.4), Gpt, {}),
        ("attention", f"{ATTENTION}: forward", Forward, Bar(1.0, 1.3), Attention, {}),
        ("attention_step", f"{ATTENTION}: Adam step", Training, Bar(1.0, 1.3), Attention, {}),
        ("mlp_memory", f"{MLP_256}: memory of 50 steps", Memory, A_TENTH_LESS, Mlp, {}),
        ("gpt_memory", f"{GPT}: memory of 50 steps", Memory, A_TENTH_LESS, Gpt, {}),
        ("attention_memory", f"{ATTENTION}: memory of 50 steps", Memory, A_TENTH_LESS, Attention, {}),
        ("mlp_first", f"{MLP_256}: first loss, empty cache", FirstStep, Bar(0.4, absolute=True), Mlp, {}),
        ("gpt_first", f"{GPT}: first loss, empty cache", FirstStep, Bar(1.2, absolute=True), Gpt, {}),
        ("mlp_first_kept", f"{MLP_256}: first loss, full cache", KeptFirstStep, Bar(0.1, absolute=True), Mlp, {}),
        ("gpt_first_kept", f"{GPT}: first loss, full cache", KeptFirstStep, Bar(0.2, absolute=True), Gpt, {})):
    sizes = SIZES[model] | options
    listed(name, title, bar, sizes, " ".join(sizes))(type(base.__name__, (base,), {"model": model}))
    if name in SYMBOLIC:
        kind = type(base.__name__, (base,), {"model": model, "symbolic": True})
        listed(f"{name}_symbolic", f"{title}, any batch", bar, sizes, " ".join(sizes))(kind)

for hidden, threads, kind in itertools.product((256, 512), (2, 1), (Epoch, FirstEpoch)):
    part = "epoch" if kind is Epoch else "first_epoch"
    title = f"MLP 784-{hidden}-{hidden}-10, Adam: {part.replace('_', ' ')} of 600 batches of 100, {threads} threads"
    listed(f"{part}_{hidden}_{threads}", title, Bar(1.0), {"batch": EXAMPLES, "hidden": hidden}, "batch")(
        type(kind.__name__, (kind,), {"model": Mlp, "threads": threads}))

LSTM, GRU = "LSTM of 256 units", "GRU of 128 units"
LSTM_SIZES = {"batch": 64, "time": 32, "features": 256, "units": 256}
GRU_SIZES = {"batch": 32, "time": 50, "features": 128, "units": 128}

for name, title, base, bar, model, sizes in (
        ("lstm_training", f"{LSTM}, 64x32: Adam step", Training, Bar(1.25), Lstm, LSTM_SIZES),
        ("lstm_long", f"{LSTM}, 64x256: Adam step", Training, Bar(1.25), Lstm, LSTM_SIZES | {"time": 256}),
        ("gru_training", f"{GRU}, 32x50: Adam step", Training, Bar(1.25), Gru, GRU_SIZES),
        ("lstm_inference", f"{LSTM}, 1x100: forward", Forward, Bar(2.0), Lstm,
         LSTM_SIZES | {"batch": 1, "time": 100})):
    listed(name, title, bar, sizes, " ".join(sizes))(type(base.__name__, (base,), {"model": model}))

STEPS = {name: problem for name, problem in PROBLEMS.items() if issubclass(problem, Training)}
