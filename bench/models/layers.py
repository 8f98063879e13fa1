"""Layers in NumPy, each with its derivative: float64 for what is right, float32 as a contender.

A layer gives its result and a function from the gradient of the result to the gradients of what it was given. A step
is a layer that finds its parameters by name, and enters their gradients; steps make a network.

>>> x, w, b = np.ones((2, 3)), np.ones((3, 4)), np.zeros(4)
>>> y, pull = dense(x, w, b)
>>> y[0], [gradient.shape for gradient in pull(y)]
(array([3., 3., 3., 3.]), [(2, 3), (3, 4), (4,)])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Pull = Callable[..., tuple[np.ndarray, ...]]
Layer = tuple[np.ndarray, Pull]
Parameters = dict[str, np.ndarray]
Back = Callable[[Any, Parameters], Any]
Step = Callable[[Parameters, np.ndarray], tuple[np.ndarray, Back]]
Update = Callable[[Parameters, Parameters], None]

EPSILON = 1e-5  # of layer norms
ROOT = np.float32(np.sqrt(2 / np.pi))


def named(function: Callable[..., Layer], *names: str) -> Step:
    """A layer whose further operands are parameters."""
    def step(parameters: Parameters, x: np.ndarray) -> tuple[np.ndarray, Back]:
        y, pull = function(x, *[parameters[name] for name in names])

        def back(dy: np.ndarray, found: Parameters) -> np.ndarray:
            dx, *rest = pull(dy)
            found.update(zip(names, rest))
            return dx
        return y, back
    return step


def chain(*steps: Step) -> Step:
    """One after the other."""
    def together(parameters: Parameters, x: np.ndarray) -> tuple[np.ndarray, Back]:
        backs = []
        for step in steps:
            x, back = step(parameters, x)
            backs.append(back)

        def back_all(dy: np.ndarray, found: Parameters) -> np.ndarray:
            for back in reversed(backs):
                dy = back(dy, found)
            return dy
        return x, back_all
    return together


def residual(step: Step) -> Step:
    """What a step gives, and what it was given, added up."""
    def added(parameters: Parameters, x: np.ndarray) -> tuple[np.ndarray, Back]:
        y, back = step(parameters, x)
        return x + y, lambda dy, found: dy + back(dy, found)
    return added


def flat(x: np.ndarray) -> np.ndarray:
    """A matrix of rows."""
    return x.reshape(-1, x.shape[-1])


def dense(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> Layer:
    """x @ w + b, over the last axis of x."""
    def pull(dy: np.ndarray) -> tuple[np.ndarray, ...]:
        return dy @ w.T, flat(x).T @ flat(dy), flat(dy).sum(0)
    y = (flat(x) @ w).reshape(*x.shape[:-1], -1)
    y += b
    return y, pull


def product(x: np.ndarray, w: np.ndarray) -> Layer:
    """x @ w, over the last axis of x."""
    return x @ w, lambda dy: (dy @ w.T, flat(x).T @ flat(dy))


def embedding(text: np.ndarray, characters: np.ndarray, positions: np.ndarray) -> Layer:
    """A row for each character and one for its position."""
    def pull(dy: np.ndarray) -> tuple[Any, ...]:
        gradient = np.zeros_like(characters)
        np.add.at(gradient, text, dy)
        return None, gradient, dy.sum(0)
    return characters[text] + positions, pull


def relu(x: np.ndarray) -> Layer:
    """max(x, 0)."""
    return np.maximum(x, 0), lambda dy: (dy * (x > 0),)


def gelu(x: np.ndarray) -> Layer:
    """The formula with tanh."""
    t = np.tanh(ROOT * x * (1 + x.dtype.type(0.044715) * x * x))
    half = x.dtype.type(0.5)

    def pull(dy: np.ndarray) -> tuple[np.ndarray, ...]:
        slope = ROOT * (1 + x.dtype.type(3 * 0.044715) * x * x)
        return (dy * half * (1 + t + x * (1 - t * t) * slope),)
    return half * x * (1 + t), pull


def layer_norm(x: np.ndarray, scale: np.ndarray, shift: np.ndarray) -> Layer:
    """Over the last axis."""
    z = x - x.mean(-1, keepdims=True)
    factor = 1 / np.sqrt(np.mean(z * z, -1, keepdims=True) + x.dtype.type(EPSILON))
    z *= factor

    def pull(dy: np.ndarray) -> tuple[np.ndarray, ...]:
        dz = dy * scale
        dx = factor * (dz - dz.mean(-1, keepdims=True) - z * np.mean(dz * z, -1, keepdims=True))
        return dx, flat(dy * z).sum(0), flat(dy).sum(0)
    return z * scale + shift, pull


def split_heads(x: np.ndarray, heads: int) -> np.ndarray:
    """(batch, time, width) as (batch, heads, time, width / heads)."""
    return x.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2)


def join_heads(x: np.ndarray) -> np.ndarray:
    """The other way round."""
    return x.swapaxes(1, 2).reshape(x.shape[0], x.shape[2], -1)


def causal_attention(qkv: np.ndarray, heads: int) -> Layer:
    """Of queries, keys and values side by side in the last axis."""
    q, k, v = (split_heads(part, heads) for part in np.split(qkv, 3, -1))
    factor = qkv.dtype.type(q.shape[-1] ** -0.5)
    past = np.tri(q.shape[2], dtype=bool)
    scores = np.where(past, factor * (q @ k.swapaxes(-1, -2)), -np.inf)
    p = np.exp(scores - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)

    def pull(dy: np.ndarray) -> tuple[np.ndarray, ...]:
        dy = split_heads(dy, heads)
        dp = dy @ v.swapaxes(-1, -2)
        ds = factor * p * (dp - np.sum(dp * p, -1, keepdims=True))
        parts = ds @ k, ds.swapaxes(-1, -2) @ q, p.swapaxes(-1, -2) @ dy
        return (np.concatenate([join_heads(part) for part in parts], -1),)
    return join_heads(p @ v), pull


def mixed(heads: int) -> Step:
    """Causal attention with so many heads, as a step."""
    return named(lambda qkv: causal_attention(qkv, heads))


def cross_entropy(logits: np.ndarray, labels: np.ndarray) -> Layer:
    """The mean over all labels; the gradient is that of the logits."""
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    p = powers / powers.sum(-1, keepdims=True)
    place = labels[..., None]
    right = np.take_along_axis(p, place, -1)

    def pull(dy: np.ndarray) -> tuple[np.ndarray, ...]:
        gradient = p.copy()
        np.put_along_axis(gradient, place, right - 1, -1)
        return (gradient * (dy / labels.size),)
    return -np.mean(np.log(right)), pull


def squared_difference(y: np.ndarray, target: np.ndarray) -> Layer:
    """The mean over all elements."""
    difference = y - target
    return np.mean(difference * difference), lambda dy: (difference * (2 * dy / y.size),)


def adam(rate: float, epsilon: float, decay: float) -> Update:
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019), in place: ``step(parameters, gradients)``."""
    moments: dict[str, list[np.ndarray]] = {}
    count = iter(range(1, 1 << 62))

    def step(parameters: Parameters, gradients: Parameters) -> None:
        number = next(count)
        size, root = rate / (1 - 0.9**number), (1 - 0.999**number) ** -0.5
        for name, gradient in gradients.items():
            if name not in moments:
                moments[name] = [np.zeros_like(gradient), np.zeros_like(gradient)]
            mean, square = moments[name]
            mean += 0.1 * (gradient - mean)
            square += 0.001 * (gradient * gradient - square)
            parameters[name] *= 1 - rate * decay
            parameters[name] -= size * mean / (np.sqrt(square) * root + epsilon)
    return step


def descent(rate: float, momentum: float) -> Update:
    """Gradient descent whose steps keep ``momentum`` of the one before, in place."""
    moments: Parameters = {}

    def step(parameters: Parameters, gradients: Parameters) -> None:
        for name, gradient in gradients.items():
            moments[name] = momentum * moments.get(name, 0) + gradient
            parameters[name] -= rate * moments[name]
    return step
