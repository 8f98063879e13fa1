"""Muon (Jordan et al. 2024): the momentum of a matrix is replaced by the closest matrix with orthonormal rows or
columns.

>>> import numpy as np
>>> import nervure as nv
>>> x = np.random.default_rng(0).standard_normal((3, 5)).astype(np.float32)
>>> singular = np.linalg.svd(orthogonal(nv.constant(x), 5, nv.constant(1e-7)).numpy())[1]
>>> bool((abs(singular - 1) < 0.4).all())
True

Newton and Schulz's iteration approaches that matrix by products alone; its coefficients, chosen for speed, bring every
singular value near 1, but not quite to it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from nervure.errors import InvalidArgument
from nervure.front.argument_parsing import integer, truth
from nervure.front.matrices.contraction import matmul
from nervure.front.op_functions import sqrt
from nervure.front.statistics.reductions import sum  # of tensors
from nervure.front.tensor import Tensor
from nervure.optim.adam import shrunk
from nervure.optim.descent import Rate
from nervure.optim.hyperparameters import DECAY, NOT_NEGATIVE, number, optional
from nervure.optim.optimizer import Change, GradientStep
from nervure.optim.rule import Rule, State
from nervure.support.elsewhere import explains_keywords
from nervure.types.dim import Dim

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
MOST_ITERATIONS = 100


class Muon(Rule):
    """For matrices: ``w - learning_rate * scale * orthogonal(gradient + momentum * m)`` with ``m`` the momentum.

    ``m`` becomes ``momentum * m + gradient``; without ``nesterov``, ``m`` itself is made orthogonal. The second axis
    is that of the outputs, as in ``nv.glorot``; ``scale`` is ``sqrt(max(1, outputs / inputs))``. Raises
    InvalidArgument for parameters that are no matrices: give them to another rule with ``nv.optim.Groups``.

    >>> w = nv.variable("F=2, K=2", [[1.0, 0.0], [0.0, 1.0]])
    >>> step = nv.optim.Muon(0.5).update(w, [[3.0, 0.0], [0.0, 3.0]])
    >>> nv.evaluate(step), bool(abs(w.numpy()[0, 0] - 0.5) < 0.2)
    (None, True)
    """

    moments = ("m",)

    @explains_keywords
    def __init__(self, learning_rate: Rate = 0.02, momentum: float | Tensor = 0.95, nesterov: bool = True,
                 iterations: int = 5, epsilon: float | Tensor = 1e-7, weight_decay: float | Tensor = 0.0) -> None:
        self.nesterov = truth(nesterov, "Muon", "nesterov")
        self.iterations = integer(iterations, "Muon", "iterations")
        if not 1 <= self.iterations <= MOST_ITERATIONS:
            raise InvalidArgument("this many iterations make no sense", op="Muon", operand="iterations", got=iterations,
                                  expected=f"1 to {MOST_ITERATIONS}", help="5 are usual")
        super().__init__({"learning_rate": learning_rate, "momentum": momentum, "nesterov": nesterov,
                          "iterations": iterations, "epsilon": epsilon, "weight_decay": weight_decay},
                         {"eps": number(epsilon, "Muon", "epsilon", NOT_NEGATIVE),
                          "momentum": number(momentum, "Muon", "momentum", DECAY),
                          "weight_decay": optional(weight_decay, "Muon", "weight_decay")})

    def changes(self, steps: Sequence[GradientStep]) -> list[Change]:
        for parameter, _ in steps:
            if parameter.ndim != 2:
                raise InvalidArgument("Muon is for matrices", op="Muon", operand="parameter", got=repr(parameter),
                                      expected="a variable with two axes",
                                      help="nv.optim.Groups([(matrices, nv.optim.Muon())], rest=nv.optim.AdamW())")
        return super().changes(steps)

    def rule(self, parameter: Tensor, gradient: Tensor, state: State) -> tuple[Tensor, Mapping[str, Tensor]]:
        m = state["momentum"] * state["m"] + gradient
        direction = gradient + state["momentum"] * m if self.nesterov else m
        flat = orthogonal(Tensor(direction.value), self.iterations, state["eps"])
        inputs, outputs = [length for length in parameter.shape if not isinstance(length, Dim)]
        scale = math.sqrt(max(1.0, outputs / max(inputs, 1)))
        return shrunk(parameter, state) - state["lr"] * scale * Tensor(flat.value, parameter._axes), {"m": m}


def orthogonal(x: Tensor, iterations: int, epsilon: Tensor) -> Tensor:
    """Returns a matrix like x with its singular values brought near 1, by products on the side with fewer rows or
    columns.
    """
    rows, columns = x.shape
    if rows > columns:
        return orthogonal(x.T, iterations, epsilon).T
    a, b, c = COEFFICIENTS
    x = x / (sqrt(sum(x * x)) + epsilon)
    for _ in range(iterations):
        square = matmul(x, x.T)
        x = a * x + matmul(b * square + c * matmul(square, square), x)
    return x
