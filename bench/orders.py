"""Sorts, first elements, running sums and counts: milliseconds of a call, beside NumPy, PyTorch and JAX.

``python -m bench orders [name ...]`` measures the rows whose names contain one of the words: all without a word. Two
threads, the best of calls in turns. Peers that are not installed are left out. The ratio is the best peer's time over
ours; behind it stands what it should be at least.

>>> [row["row"] for row in rows(["bincount"], scale=0.001, turns=1)]
['bincount of 10^6 numbers below 1,000']
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import nervure as nv
from bench.__main__ import table

TURNS = 15


class Order(NamedTuple):
    """A row: the shape of its data, the same for all; what each contender does, PyTorch and JAX with their modules; and
    the bar of its ratio.
    """

    shape: tuple[int, ...]
    numpy: Callable[[np.ndarray], Any]
    own: Callable[[nv.Tensor], Any]
    torch: Callable[[Any, Any], Any]
    jax: Callable[[Any, Any], Any]
    bar: float


ORDERS = {
    "sort of 4,096 rows of 1,000": Order((4096, 1000), np.sort, nv.sort,
                                         lambda t, x: t.sort(x), lambda j, x: j.numpy.sort(x), 1.0),
    "sort of 10^6": Order((1_000_000,), np.sort, nv.sort, lambda t, x: t.sort(x), lambda j, x: j.numpy.sort(x), 0.7),
    "argsort of 10^6": Order((1_000_000,), lambda x: np.argsort(x, kind="stable"), nv.argsort,
                             lambda t, x: t.argsort(x, stable=True), lambda j, x: j.numpy.argsort(x), 1.0),
    "top 40 of 64 rows of 50,257": Order((64, 50257), lambda x: np.partition(x, -40)[:, -40:],
                                         lambda x: list(nv.top_k(x, 40)), lambda t, x: t.topk(x, 40),
                                         lambda j, x: j.lax.top_k(x, 40), 1.5),
    "cumsum of 2,048 rows of 2,048": Order((2048, 2048), lambda x: np.cumsum(x, 1), lambda x: nv.cumsum(x, 1),
                                           lambda t, x: t.cumsum(x, 1), lambda j, x: j.numpy.cumsum(x, 1), 1.0),
    "cumsum of 2,048 columns of 2,048": Order((2048, 2048), lambda x: np.cumsum(x, 0), lambda x: nv.cumsum(x, 0),
                                              lambda t, x: t.cumsum(x, 0), lambda j, x: j.numpy.cumsum(x, 0), 1.0),
    "histogram of 10^6 in 100 bins": Order(
        (1_000_000,), lambda x: np.histogram(x, 100, (-4, 4))[0], lambda x: nv.histogram(x, 100, (-4, 4))[0],
        lambda t, x: t.histogram(x, 100, range=(-4.0, 4.0)), lambda j, x: j.numpy.histogram(x, 100, (-4, 4))[0], 1.0),
    "bincount of 10^6 numbers below 1,000": Order(
        (1_000_000,), np.bincount, lambda x: nv.bincount(x, length=1000), lambda t, x: t.bincount(x),
        lambda j, x: j.numpy.bincount(x, length=1000), 1.0),
}


def rows(words: list[str], scale: float = 1.0, turns: int = TURNS) -> Iterator[dict[str, object]]:
    """A row for each order: the time of each contender, the ratio and its bar."""
    rng = np.random.default_rng(0)
    for name, order in ORDERS.items():
        if words and not any([word in name for word in words]):
            continue
        shape = (max(int(order.shape[0] * scale), 1), *order.shape[1:])
        x = rng.integers(0, 1000, shape) if "bincount" in name else rng.standard_normal(shape, dtype=np.float32)
        best = _best(_contenders(order, x), turns)
        peers = [found for label, found in best.items() if label != "nervure"]
        yield {"row": name, **{label: f"{best[label] * 1e3:.2f}" if label in best else ""
                               for label in ("nervure", "numpy", "torch", "jax")},
               "ratio": f"{min(peers) / best['nervure']:.2f}", "bar": order.bar}


def _contenders(order: Order, x: np.ndarray) -> dict[str, Callable[[], Any]]:
    given = nv.placeholder(x.shape, dtype=getattr(nv, str(x.dtype)))
    compute = nv.computation(order.own(given), given)
    found: dict[str, Callable[[], Any]] = {"nervure": lambda: compute(x), "numpy": lambda: order.numpy(x)}
    if importlib.util.find_spec("torch"):
        import torch
        torch.set_num_threads(2)
        tensor = torch.from_numpy(x)
        found["torch"] = lambda: order.torch(torch, tensor)
    if importlib.util.find_spec("jax"):
        import jax
        compiled, array = jax.jit(lambda x: order.jax(jax, x)), jax.numpy.asarray(x)
        found["jax"] = lambda: jax.block_until_ready(compiled(array))
    return found


def _best(calls: dict[str, Callable[[], Any]], turns: int) -> dict[str, float]:
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(turns + 1):
        for label, call in calls.items():
            start = time.perf_counter()
            call()
            best[label] = min(best[label], time.perf_counter() - start)
    return best


def main(options: list[str]) -> None:
    """Prints the table."""
    print(table(rows(options)))
