"""PyTorch models as compilers of PyTorch run them: rows, sizes and bars. The models are in :mod:`bench.models.pytorch`.

For each there are answers to one example and to eight, a training step, and the first call of a process, with an empty
cache and with the one that a process before it has filled. Results are compared with those of eager mode.

>>> problem = PROBLEMS["lstm_8"]()
>>> problem.inputs()
[Network(name='lstm', batch=8, length=64, layers=12)]
>>> problem.title
'lstm, 8x64'
"""

from __future__ import annotations

import numpy as np

from bench.models.pytorch import ARCHITECTURES, Network, loss_of, optimiser_of
from bench.problems import PROBLEMS, Bar, Problem, listed

TABLE = "torch"


class Answer(Problem):
    """What a network answers to its data, without gradients."""

    table = TABLE
    tolerance = 1e-3
    network: str

    def inputs(self):
        return [Network(self.network, *[getattr(self, name) for name in self.sizes])]

    def reference(self, network):
        import torch
        with torch.no_grad():
            return [network.module()(network.data()[0]).numpy()]


class FirstAnswer(Answer):
    """From the call of a module that is to be compiled to the answer, everything imported."""

    own_process = True


class KeptFirstAnswer(FirstAnswer):
    kept_cache = True


class Step(Answer):
    """The losses of the first training steps.

    AdamW moves a weight by the sign of a gradient, even of one that is almost nothing: after two steps of a ResNet-50
    of four images the loss in float32, by eager mode too, is 2e-3 from that in float64.
    """

    calls = 3
    tolerance = 1e-2

    def reference(self, network):
        module, (given, wanted) = network.module(is_training=True), network.data()
        optimiser, losses = optimiser_of(module), []
        for _ in range(self.calls):
            loss = loss_of(module, given, wanted)
            loss.backward()
            optimiser.step()
            optimiser.zero_grad()
            losses.append(loss.item())
        return [np.array(losses)]

    def of_calls(self, results):
        return [np.concatenate([np.ravel(loss) for loss, in results])]


class SmallCall(Problem):
    """A call of a compiled function of few elements, less one that returns a result as soon as its guards hold."""

    table = TABLE
    figure = "above"

    def inputs(self):
        return [self.normal(self.side, self.side) for _ in range(2)]

    def reference(self, a, b):
        return [np.maximum(a + b, 0)]


ROW = Bar(0.9, 1.1)
"""No row shall be below the first, and the median of all rows at the second."""
FIRST, KEPT = Bar(5.0, peer="torch"), Bar(0.5, absolute=True)
STEP_BATCHES = {"resnet50": 4, "convnext_t": 2, "vit_b_16": 2, "bert_128": 2, "bert_512": 1, "gpt2": 2, "llama": 2}
"""Eight examples where nothing is said here."""

for name, architecture in ARCHITECTURES.items():
    for suffix, title, base, bar, batch in (
            ("1", "", Answer, ROW, 1), ("8", "", Answer, ROW, 8),
            ("step", ": AdamW step", Step, ROW, STEP_BATCHES.get(name, 8)),
            ("first", ": first answer, empty cache", FirstAnswer, FIRST, 1),
            ("first_kept", ": first answer, full cache", KeptFirstAnswer, KEPT, 1)):
        sizes = {"batch": batch, "length": architecture.length, "layers": Network.layers}
        shape = f"{batch}x{architecture.length}"
        listed(f"{name}_{suffix}", f"{name}, {shape}{title}", bar, sizes, " ".join(sizes))(
            type(base.__name__, (base,), {"network": name}))

listed("small_call", "relu(a + b), 4x4: a call above its guards", Bar(3e-6, absolute=True), {"side": 4})(SmallCall)

COMPILED_MODELS = {name: problem for name, problem in PROBLEMS.items() if issubclass(problem, Answer)}
