"""Chains of products, and loops: attention as queries, keys and values, two dense layers, a loop of scalars.

>>> from bench.problems import PROBLEMS
>>> problem = PROBLEMS["attention_512_causal"](scale=0.05)
>>> q, k, v = problem.inputs()
>>> q.shape, problem.mistake([q, k, v], [v])[:7]
((8, 26, 64), 'differs')
"""

from __future__ import annotations

import numpy as np

from bench.problems import PROBLEMS, Bar, Problem, listed, softmax

HEADS = 8
TURNS = 1_000_000
FACTOR, INCREMENT = 1_664_525, 1_013_904_223  # of a generator of 32 bits (Press et al. 1992, chapter 7.1)


class Attention(Problem):
    """Of queries, keys and values of each head, (heads, length, width)."""

    causal = False

    def inputs(self):
        return [self.normal(HEADS, self.length, 64) for _ in range(3)]

    def weights(self, q, k):
        scores = q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5
        return softmax(np.where(np.tri(len(scores[0]), dtype=bool), scores, -np.inf) if self.causal else scores)

    def reference(self, q, k, v):
        return [self.weights(q, k) @ v]


class AttentionGradients(Attention):
    """The result, and its gradients with respect to queries, keys and values, from the gradient of the result."""

    def inputs(self):
        return [*super().inputs(), self.normal(HEADS, self.length, 64)]

    def reference(self, q, k, v, dy):
        p = self.weights(q, k)
        dp = dy @ v.swapaxes(-1, -2)
        ds = p * (dp - np.sum(dp * p, -1, keepdims=True)) * q.shape[-1] ** -0.5
        return [p @ v, ds @ k, ds.swapaxes(-1, -2) @ q, p.swapaxes(-1, -2) @ dy]


for length in (512, 2048):
    for kind, suffix, what in ((Attention, "", "forward"), (AttentionGradients, "_gradients", "and its gradients")):
        for causal in (False, True):
            name = f"attention_{length}{'_causal' if causal else ''}{suffix}"
            title = f"{'causal ' if causal else ''}attention, {HEADS} heads of 64, length {length}: {what}"
            listed(name, title, Bar(1.1), {"length": length}, "length")(
                type(kind.__name__, (kind,), {"causal": causal}))

ATTENTIONS = {name: problem for name, problem in PROBLEMS.items() if issubclass(problem, Attention)}


@listed("mlp_block", "gelu(x @ w1 + b1) @ w2 + b2, 512x768-3072-768", Bar(1.05),
        {"rows": 512, "width": 768}, "rows width")
class MlpBlock(Problem):
    """x, then the weights and the bias of each layer."""

    def inputs(self):
        wide = 4 * self.width
        return [self.normal(self.rows, self.width),
                self.normal(self.width, wide) / np.float32(np.sqrt(self.width)), self.normal(wide),
                self.normal(wide, self.width) / np.float32(np.sqrt(wide)), self.normal(self.width)]

    def reference(self, x, w1, b1, w2, b2):
        z = x @ w1 + b1
        return [0.5 * z * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3))) @ w2 + b2]


@listed("while_loop", f"while loop of {TURNS:,} turns of a few integer operations", Bar(1.0), {"turns": TURNS}, "turns")
class WhileLoop(Problem):
    """The number of turns; the result is the state of a generator after so many steps from 1."""

    dtype = "uint32"
    tolerance = 0.0

    def inputs(self):
        return [np.array(self.turns, np.int32)]

    def reference(self, turns):
        state = 1
        for _ in range(int(turns)):
            state = (FACTOR * state + INCREMENT) % 2**32
        return [np.array(state)]
