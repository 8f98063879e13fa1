"""Random numbers: the published vectors of the cipher, the layout of words, distributions, independence, errors."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.errors import DtypeMismatch, InvalidArgument, ShapeMismatch
from nervure.ir.function import Function
from nervure.ops.random import threefry
from nervure.transformers.interpreter.scalar import NumPyScalars
from tests.ops.evaluation import compute

SEED, STEP = nv.Parameter(nv.uint32, (2,)), nv.Parameter(nv.uint64, ())


def draw(*values: object, seed: tuple[int, int] = (11, 12), step: int = (3 << 32) + 4) -> list[np.ndarray]:
    return compute(values, [SEED, STEP], [np.array(seed, np.uint32), np.array(step, np.uint64)])


def cipher(key: tuple[int, int], counter: tuple[int, int]) -> tuple[int, int]:
    words = [tuple(np.uint32(word) for word in pair) for pair in (key, counter)]
    return tuple(int(word) for word in threefry(NumPyScalars({}), *words))


@pytest.mark.parametrize("key, counter, expected", [
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
])
def test_the_cipher_gives_the_published_words(key: tuple, counter: tuple, expected: tuple) -> None:
    assert cipher(key, counter) == expected


@pytest.mark.parametrize("shape", [(5,), (2, 3), (), (0,), (4, 0, 2)])
def test_element_i_is_word_i_of_the_blocks(shape: tuple[int, ...]) -> None:
    stream = (7 << 32) + 9
    key = cipher(cipher((11, 12), (4, 3)), (9, 7))
    bits, uniform, wide = draw(ops.RandomBits(SEED, STEP, stream, shape), ops.RandomUniform(SEED, STEP, stream, shape),
                               ops.RandomUniform(SEED, STEP, stream, shape, nv.float64))
    count = int(np.prod(shape))
    words = [cipher(key, (at >> 1, 0))[at & 1] for at in range(count)]
    assert bits.dtype == np.uint32 and bits.shape == shape and bits.ravel().tolist() == words
    assert uniform.ravel().tolist() == [(word >> 8) * 2.0 ** -24 for word in words]
    blocks = [cipher(key, (at, 0)) for at in range(count)]
    assert wide.ravel().tolist() == [((low << 21) | (high >> 11)) * 2.0 ** -53 for low, high in blocks]


@pytest.mark.parametrize("dtype, draws", [(nv.float32, 24), (nv.float64, 53)], ids=str)
def test_normal_numbers_are_pairs_of_box_and_muller(dtype: nv.DType, draws: int) -> None:
    normal, uniform = draw(ops.RandomNormal(SEED, STEP, 5, (7,), dtype), ops.RandomUniform(SEED, STEP, 5, (8,), dtype))
    u, v = uniform.astype(np.float64).reshape(4, 2).T
    radius, angle = np.sqrt(-2 * np.log(u + 2.0 ** -draws)), 2 * np.pi * v
    expected = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).ravel()[:7]
    tolerance = 1e-5 if draws == 24 else 1e-12
    np.testing.assert_allclose(normal, expected, rtol=tolerance, atol=tolerance)


def test_distributions() -> None:
    count = 40_000
    uniform, normal, coin = draw(ops.RandomUniform(SEED, STEP, 0, (count,)), ops.RandomNormal(SEED, STEP, 1, (count,)),
                                 ops.RandomBernoulli(SEED, STEP, 2, (count,), 0.3))
    assert 0 <= uniform.min() and uniform.max() < 1
    counts, _ = np.histogram(uniform, 20, (0, 1))
    assert ((counts - count / 20) ** 2 / (count / 20)).sum() < 43.8  # chi squared, 19 degrees of freedom, 0.1 %
    assert abs(normal.mean()) < 0.02 and abs(normal.std() - 1) < 0.02
    assert abs((normal ** 3).mean()) < 0.08 and abs((normal ** 4).mean() - 3) < 0.2
    assert coin.dtype == bool and abs(coin.mean() - 0.3) < 0.01


def test_what_the_numbers_depend_on() -> None:
    here = ops.RandomBits(SEED, STEP, 1, (8,))
    first = draw(here)[0].tolist()
    assert draw(ops.RandomBits(SEED, STEP, 1, (8,)))[0].tolist() == first
    assert draw(ops.RandomBits(SEED, STEP, 1, (3,)))[0].tolist() == first[:3]
    others = [draw(ops.RandomBits(SEED, STEP, 2, (8,))), draw(here, seed=(12, 11)), draw(here, step=4)]
    assert all(not set(first) & set(words.tolist()) for words, in others)


@pytest.mark.parametrize("dtype", [nv.float16, nv.bfloat16], ids=str)
def test_low_precision_uniform_numbers_stay_below_1(dtype: nv.DType) -> None:
    uniform, = draw(ops.RandomUniform(SEED, STEP, 0, (20_000,), dtype))
    assert uniform.dtype == dtype.numpy and uniform.astype(float).max() < 1 and uniform.astype(float).min() >= 0
    assert draw(ops.RandomNormal(SEED, STEP, 0, (8,), dtype))[0].dtype == dtype.numpy


def test_certain_coins() -> None:
    always, never = draw(*[ops.RandomBernoulli(SEED, STEP, 2, (100,), p) for p in (1.0, 0.0)])
    assert always.all() and not never.any()


def test_symbolic_shapes() -> None:
    x = nv.Parameter(nv.float32, (nv.dim("N"), 3))
    uniform = ops.RandomUniform(SEED, STEP, 1, x.shape)
    executable = nv.transformers.make_transformer("interpreter").compile(Function([x * 0.0 + uniform], [x, SEED, STEP]))
    whole, = draw(ops.RandomUniform(SEED, STEP, 1, (5, 3)))
    state = [np.array([11, 12], np.uint32), np.array((3 << 32) + 4, np.uint64)]
    for count in (0, 1, 5):
        got, = executable([np.zeros((count, 3), np.float32), *state])
        np.testing.assert_array_equal(got, whole[:count])


def test_errors() -> None:
    with pytest.raises(ShapeMismatch) as caught:
        ops.RandomUniform(nv.Parameter(nv.uint32, (3,)), STEP, 0, (2,))
    assert (caught.value.operand, caught.value.got, caught.value.expected) == (
        "1 (seed)", "seed: u32[3], step: u64[]", "seed: u32[2], step: u64[]")
    with pytest.raises(DtypeMismatch) as caught:
        ops.RandomBits(SEED, nv.Parameter(nv.int64, ()), 0, (2,))
    assert caught.value.operand == "2 (step)" and caught.value.location.file == __file__
    with pytest.raises(DtypeMismatch, match="no random numbers of type int32"):
        ops.RandomNormal(SEED, STEP, 0, (2,), nv.int32)
    with pytest.raises(InvalidArgument, match="probability"):
        ops.RandomBernoulli(SEED, STEP, 0, (2,), 1.5)
    with pytest.raises(InvalidArgument, match="stream is out of range"):
        ops.RandomBits(SEED, STEP, -1, (2,))
