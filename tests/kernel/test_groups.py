"""The groups in which the totals of blocks are combined: their shape, and how deep a sum is."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nervure.kernel.groups import BlockGroups
from nervure.kernel.interpret import Accumulator
from nervure.kernel.ir import BLOCK, BLOCK_ORDER, CHAIN_ORDER, DEFAULT_ORDER, GROUP, GROUPS, LANES, TOTALS_ORDER, Order
from nervure.kernel.parser import parse_kernel
from nervure.kernel.verify import verify_kernel
from nervure.transformers.interpreter.scalar import NumPyScalars
from nervure.types.dtype import complex64, float32
from tests.kernel import reduction_rule
from tests.kernel.running import run


def numbers(count):
    random = np.random.default_rng(count)
    return (random.standard_normal(count) * 10.0 ** random.integers(-3, 4, count)).astype(np.float32)


@pytest.mark.parametrize("group", [2, 8, 64])
def test_totals_are_combined_by_the_rule(group):
    for count in (1, 2, 3, group - 1, group, group + 1, 8 * group - 1, 8 * group, 8 * group + 1, 2000):
        groups = BlockGroups(np.add, np.float32(0), group)
        for total in numbers(count):
            groups.add(total)
        assert groups.result() == reduction_rule.in_groups(numbers(count), group=group), count


def test_up_to_one_group_is_a_chain():
    groups = BlockGroups(np.add, np.float32(0))
    for total, expected in zip(numbers(GROUP), numbers(GROUP).cumsum(dtype=np.float32), strict=True):
        groups.add(total)
        assert groups.result() == expected


def test_the_totals_by_themselves_have_the_same_order():
    for count in (1, 63, 64, 65, 512, 513, 1300):
        totals = Accumulator("add", float32, NumPyScalars(), TOTALS_ORDER)
        for total in numbers(count):
            totals.add(total)
        assert totals.result() == reduction_rule.in_groups(numbers(count)), count


def test_a_block_by_itself_has_no_group():
    """Its total meets no unit: the product of complex infinity and 1 + 0i has a NaN."""
    points = np.array([complex(np.inf, 1.0), 2.0], np.complex64)
    block = Accumulator("multiply", complex64, NumPyScalars(), Order(2, BLOCK, 1))
    for point in points:
        block.add(point)
    one = np.complex64(1)
    with np.errstate(invalid="ignore"):
        expected = (one * points[0]) * (one * points[1])
    assert block.result().tobytes() == expected.tobytes()
    assert Accumulator("multiply", complex64, NumPyScalars(), BLOCK_ORDER).result() == one


def test_a_lane_starts_from_what_it_is_given():
    lane = Accumulator("add", float32, NumPyScalars(), CHAIN_ORDER, np.float32(1e8))
    assert lane.result() == np.float32(1e8)
    for point in (np.float32(1.0), np.float32(-1e8)):
        lane.add(point)
    assert lane.result() == 0.0


def depth(points):
    """The most additions that an element of so many takes part in, but for the first in each chain, to a unit."""
    blocks = -(-points // BLOCK)
    deep = min(-(-points // LANES), BLOCK // LANES) - 1 + (LANES - 1).bit_length()
    size = GROUP
    while blocks > 1:
        deep += min(blocks, size) - 1
        blocks, size = -(-blocks // size), GROUPS
    return deep


def test_how_deep_a_sum_is():
    """O45: each addition is off by half an eps of what it gives, so that (70 + log2 n) eps are never exceeded."""
    edges = {GROUPS ** level * GROUP * BLOCK * times for level in range(15) for times in range(1, 9)}
    for edge in [*range(1, 70), *[BLOCK * blocks for blocks in range(1, 70)], *sorted(edges)]:
        for points in (edge, edge + 1):
            assert depth(points) / 2 <= 70 + math.log2(points), points
    assert depth(GROUP * BLOCK) == 63 + 6 + 63 and depth(2**40) < 70 + 64 + 3 * 20


def test_a_constant_2_to_the_40_times():
    """O45: full groups are alike, so that a few additions show what so many make."""
    for constant in (np.float32(1), np.float32(0.1), np.float32(0.7)):
        total, count = reduction_rule.reduced(np.full(GROUP * BLOCK, constant)), GROUP * BLOCK
        while count < 2**40:
            total, count = reduction_rule.in_groups(np.full(GROUPS, total), group=GROUPS), count * GROUPS
        # 2**18 * 8**8 = 2**42
        assert abs(float(total) / (count * float(constant)) - 1) <= (70 + math.log2(count)) * 2.0**-23


@pytest.mark.parametrize("order", ["1, 2, 2", "2, 4, 4", "4, 8, 2"])
def test_a_kernel_says_its_groups(order):
    lanes, block, group = map(int, order.split(", "))
    kernel = parse_kernel(f"""
kernel sum(in x: f32[131], out y: f32[1]):
  v0 = reduce add over i < 131 order {order}:
    v1 = x[i]
    give v1
  y[0] = v0
""")
    verify_kernel(kernel)
    x = numbers(131)
    blocks = np.pad(x, (0, -131 % block)).reshape(-1, block // lanes, lanes)
    rows = blocks.cumsum(axis=1, dtype=np.float32)[:, -1]
    while rows.shape[1] > 1:
        half = rows.shape[1] // 2
        rows = rows[:, :half] + rows[:, half:]
    found, _ = run(kernel, {}, x=x)
    assert found["y"][0] == reduction_rule.in_groups(rows[:, 0], group=group)
    assert kernel.body[0].order != DEFAULT_ORDER
