"""Values that are made again to keep to a limit of memory: those that cost least for what they free."""

from __future__ import annotations

import nervure as nv
from nervure import ops
from nervure.kernel.memory_limit import peak_of, spared
from nervure.kernel.plan import make_plan
from nervure.passes.pipelines import native


def test_of_two_values_of_one_size_the_cheap_one_is_made_again():
    """Both are read before and after a product that needs most memory."""
    x, *weights = [nv.Parameter(nv.float32, shape) for shape in ((1000, 64), (64, 64), (64, 64), (64, 256), (256, 64))]
    first, second, widening, narrowing = weights
    cheap, dear = ops.Exp(x).value, ops.Sin(ops.Tanh(ops.Exp(ops.Tanh(x)))).value
    middle = ops.MatMul(cheap, first).value + ops.MatMul(dear, second).value
    middle = ops.MatMul(ops.Tanh(ops.MatMul(middle, widening)), narrowing).value
    plan = make_plan(native(nv.Function([ops.Sum(middle * cheap * dear, [0, 1])], [x, *weights])))
    limit = peak_of(plan, {}) - 100_000
    found = spared(plan, limit, {}, make_plan)
    assert found.peak <= limit
    assert [(type(entry.value.op), entry.bytes) for entry in found.dropped] == [(ops.Exp, 1000 * 64 * 4)]
