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


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x))."""
    return 1 / (1 + np.exp(-x))


def lstm(x: np.ndarray, w: np.ndarray, u: np.ndarray, b: np.ndarray) -> Layer:
    """The states over the second axis of x, from 0 on (Hochreiter and Schmidhuber 1997, with a forget gate)."""
    given = x @ w + b
    h = c = np.zeros((len(x), len(u)), x.dtype)
    kept = []
    for step in range(x.shape[1]):
        parts = np.split(given[:, step] + h @ u, 4, -1)
        i, f, o, g = *[sigmoid(parts[at]) for at in (0, 1, 3)], np.tanh(parts[2])
        before, c = (h, c), f * c + i * g
        kept.append((*before, i, f, g, o, np.tanh(c)))
        h = o * kept[-1][-1]

    def pull(dy: np.ndarray) -> tuple[np.ndarray, ...]:
        dgiven, du = np.empty_like(given), np.zeros_like(u)
        dh, dc = np.zeros_like(h), np.zeros_like(h)
        for step, (old_h, old_c, i, f, g, o, t) in reversed(list(enumerate(kept))):
            dh = dh + dy[:, step]
            dc = dc + dh * o * (1 - t * t)
            slopes = dc * g * i * (1 - i), dc * old_c * f * (1 - f), dc * i * (1 - g * g), dh * t * o * (1 - o)
            dgiven[:, step] = np.concatenate(slopes, -1)
            du += old_h.T @ dgiven[:, step]
            dh, dc = dgiven[:, step] @ u.T, dc * f
        return dgiven @ w.T, flat(x).T @ flat(dgiven), du, flat(dgiven).sum(0)
    return np.stack([entry[5] * entry[6] for entry in kept], 1), pull


def gru(x: np.ndarray, w: np.ndarray, u: np.ndarray, b: np.ndarray, c: np.ndarray) -> Layer:
    """The states over the second axis of x, from 0 on (Cho et al. 2014; the reset gate is applied to a product)."""
    given, units = x @ w + b, len(u)
    h = np.zeros((len(x), units), x.dtype)
    kept, states = [], []
    for step in range(x.shape[1]):
        parts = h @ u + c
        reset, update = [sigmoid(given[:, step, columns] + parts[:, columns])
                         for columns in (slice(units), slice(units, 2 * units))]
        product = parts[:, 2 * units:]
        candidate = np.tanh(given[:, step, 2 * units:] + reset * product)
        kept.append((h, reset, update, product, candidate))
        h = candidate + update * (h - candidate)
        states.append(h)

    def pull(dy: np.ndarray) -> tuple[np.ndarray, ...]:
        dgiven, du, dc, dh = np.empty_like(given), np.zeros_like(u), np.zeros_like(c), np.zeros_like(h)
        for step, (old, reset, update, product, candidate) in reversed(list(enumerate(kept))):
            dh = dh + dy[:, step]
            slope = dh * (1 - update) * (1 - candidate * candidate)
            gates = slope * product * reset * (1 - reset), dh * (old - candidate) * update * (1 - update)
            dgiven[:, step] = np.concatenate([*gates, slope], -1)
            dparts = np.concatenate([*gates, slope * reset], -1)
            du += old.T @ dparts
            dc += dparts.sum(0)
            dh = dh * update + dparts @ u.T
        return dgiven @ w.T, flat(x).T @ flat(dgiven), du, flat(dgiven).sum(0), dc
    return np.stack(states, 1), pull


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
