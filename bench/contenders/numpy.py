"""NumPy: results in memory that is kept (``out=``), pieces that stay in the cache where that is faster."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from bench.contenders import Prepared, Programs, made
from bench.patterns import GROUPS, HIDDEN, SIDE, past
from bench.products import PRODUCTS, Product

programs = Programs("numpy", np.__version__)

PIECE = 1 << 15  # elements: 128 KB, a quarter of a typical second-level cache
THREADS = 2


@programs("sum_squares", pieces=made)
@programs("idle", pieces=made)
def sum_squares(x, y):
    """By pieces for accuracy too: the dot product of all 16M in one go is off by 2e-4."""
    pairs = list(zip(np.split(x, range(PIECE, x.size, PIECE)), np.split(y, range(PIECE, y.size, PIECE))))
    room = np.empty(PIECE, np.float32)

    def call():
        total = 0.0
        for a, b in pairs:
            difference = np.subtract(a, b, out=room[:a.size])
            total += float(np.dot(difference, difference))
        return np.float32(total)
    return Prepared(call)


@programs("gelu", pieces=made)
def gelu(x, y):
    result, room = np.empty_like(x), np.empty((2, PIECE), np.float32)
    root = np.float32(np.sqrt(2 / np.pi))
    starts = range(PIECE, x.size, PIECE)
    pieces = list(zip(np.split(x, starts), np.split(y, starts), np.split(result, starts)))

    def call():
        for a, b, out in pieces:
            z, t = room[:, :a.size]
            np.multiply(a, np.float32(1.5), out=z)
            z += b
            np.multiply(z, z, out=t)
            t *= np.float32(0.044715)
            t += np.float32(1)
            t *= z
            t *= root
            np.tanh(t, out=t)
            t += np.float32(1)
            t *= np.float32(0.5)
            np.multiply(t, z, out=out)
        return result
    return Prepared(call)


@programs("softmax", out=made)
@programs("softmax_causal", out=made)
def softmax(x):
    result = np.empty_like(x)

    def call():
        np.subtract(x, x.max(-1, keepdims=True), out=result)
        np.exp(result, out=result)
        return np.divide(result, result.sum(-1, keepdims=True), out=result)
    return Prepared(call)


@programs("exp_masked", out=made)
def exp_masked(x):
    return Prepared(np.exp, (x, np.empty_like(x)))


@programs("softmax_gradient", out=made)
def softmax_gradient(x, y, dy):
    result = np.empty_like(x)

    def call():
        np.subtract(dy, np.einsum("ij,ij->i", y, dy)[:, None], out=result)
        return np.multiply(result, y, out=result)
    return Prepared(call)


@programs("layer_norm", out=made)
def layer_norm(x, gamma, beta):
    result = np.empty_like(x)

    def call():
        np.subtract(x, x.mean(-1, keepdims=True), out=result)
        size = np.einsum("ij,ij->i", result, result)[:, None] / x.shape[1]
        np.multiply(result, 1 / np.sqrt(size + np.float32(1e-5)), out=result)
        np.multiply(result, gamma, out=result)
        return np.add(result, beta, out=result)
    return Prepared(call)


@programs("variance", plain=made)
def variance(x):
    return Prepared(np.var, (x, 0))


@programs("sum_middle", plain=made)
def sum_middle(x):
    return Prepared(np.sum, (x, 1))


@programs("sum_middle", einsum=made)
def sum_middle_as_product(x):
    ones = np.ones((1, x.shape[1]), np.float32)
    return Prepared(lambda: np.matmul(ones, x)[:, 0])


@programs("gather", out=made)
def gather(table, index):
    result = np.empty((len(index), table.shape[1]), np.float32)
    return Prepared(partial(np.take, table, index, axis=0, out=result, mode="clip"))


@programs("scatter_add", out=made)
def scatter_add(table, index, dy):
    gradient = np.zeros_like(table)

    def call():
        gradient.fill(0)
        np.add.at(gradient, index, dy)
        return gradient
    return Prepared(call)


def drawing(method, bits):
    """Numbers drawn by two threads with a generator each, as NumPy's documentation shows for several cores."""
    def program(result):
        team = ThreadPoolExecutor(THREADS)
        generators = [np.random.Generator(bits(seed)) for seed in np.random.SeedSequence(0).spawn(THREADS)]
        parts = np.array_split(result, THREADS)

        def draw(generator, part):
            getattr(generator, method)(dtype=np.float32, out=part)

        def call():
            list(team.map(draw, generators, parts))
            return result
        return Prepared(call)
    return program


for problem, method in (("uniform", "random"), ("normal", "standard_normal")):
    programs(problem, sfc64=made)(drawing(method, np.random.SFC64))
    programs(problem, pcg64=made)(drawing(method, np.random.PCG64DXSM))


@programs("small", plain=made)
def small(a, b, c):
    return Prepared(lambda a, b, c: (a + b) * c, (a, b, c))


@programs("small", out=made)
def small_into(a, b, c):
    add, multiply, result = np.add, np.multiply, np.empty_like(a)
    return Prepared(lambda a, b, c: multiply(add(a, b, result), c, result), (a, b, c))


def product_of(case: Product):
    """Into memory that is kept."""
    def product(x, w):
        x, w = np.swapaxes(x, -1, -2) if case.left else x, np.swapaxes(w, -1, -2) if case.right else w
        return Prepared(partial(np.matmul, out=np.matmul(x, w)), [x, w])
    return product


for name, case in PRODUCTS.items():
    programs(name, out=made)(product_of(case))


@programs("group_norm", out=made)
def group_norm(x, gamma, beta):
    result = np.empty_like(x)
    groups, into = [entry.reshape(len(x), GROUPS, -1) for entry in (x, result)]

    def call():
        np.subtract(groups, groups.mean(-1, keepdims=True), out=into)
        size = np.einsum("ngi,ngi->ng", into, into)[..., None] / into.shape[-1]
        np.multiply(into, 1 / np.sqrt(size + np.float32(1e-5)), out=into)
        np.multiply(result, gamma[:, None, None], out=result)
        return np.add(result, beta[:, None, None], out=result)
    return Prepared(call)


@programs("masked_softmax", out=made)
def masked_softmax(x):
    result, future = np.empty_like(x), ~past(x.shape[-1])

    def call():
        np.copyto(result, x)
        np.copyto(result, HIDDEN, where=future)
        np.subtract(result, result.max(-1, keepdims=True), out=result)
        np.exp(result, out=result)
        return np.divide(result, result.sum(-1, keepdims=True), out=result)
    return Prepared(call)


@programs("gated", float32=made)
def gated(a, b):
    def call():
        wide = a.astype(np.float32)
        return (wide / (1 + np.exp(-wide)) * b.astype(np.float32)).astype(a.dtype)
    return Prepared(call)


@programs("max_transposed", plain=made)
def max_transposed(x):
    return Prepared(np.max, (x.T, 0))


@programs("sum_short", plain=made)
def sum_short(x):
    return Prepared(np.sum, (x, 1))


@programs("sum_short", einsum=made)
def sum_short_as_product(x):
    return sum_middle_as_product(x)


@programs("sum_ends", plain=made)
def sum_ends(x):
    return Prepared(np.sum, (x, (0, 2)))


@programs("sin_huge", out=made)
def sin_huge(x):
    return Prepared(partial(np.sin, out=np.empty_like(x)), (x,))


@programs("matmul_strided", out=made)
def matmul_strided(x, w):
    x = x[::2, ::2]
    return Prepared(partial(np.matmul, out=np.matmul(x, w)), (x, w))


@programs("matmul_sliced", out=made)
def matmul_sliced(x, w):
    x, w = x[:, SIDE:2 * SIDE], w[:, SIDE // 2:3 * SIDE // 2].T
    return Prepared(partial(np.matmul, out=np.matmul(x, w)), (x, w))


@programs("bytes", double=made)
def bytes_by_doubles(x, w):
    """All sums are exact in float64, for which there is a fast product."""
    w, result = w.astype(np.float64), np.empty((len(x), w.shape[1]))
    return Prepared(lambda x: np.matmul(x.astype(np.float64), w, out=result).astype(np.int32), [x])


@programs("bytes", plain=made)
def bytes_in_int32(x, w):
    return Prepared(lambda x, w: np.matmul(x, w, dtype=np.int32), [x, w])
