"""Products are made in the order in which they are read, and keep their bits."""

from __future__ import annotations

import numpy as np

import nervure as nv
from nervure import ops
from nervure.passes.common_subexpressions import common_subexpressions
from nervure.passes.permuted_products import permuted_products
from nervure.passes.pipelines import minimal

CPU = nv.transformers.make_transformer("cpu")


def heads(count: int) -> nv.Function:
    """Two products, one of the other, each permuted, of which the first is read so many times."""
    x, y, z = [nv.Parameter(nv.float32, shape) for shape in ((3, 7, 600), (3, 600, 5), (7, 3, 4))]
    first = ops.Contract(x, y, (0, 1, 2), (0, 2, 3), (0, 1, 3))
    turned = ops.Permute(first, (1, 0, 2))
    second = ops.Contract(turned, z, (0, 1, 2), (0, 1, 3), (2, 3))
    results = [ops.Permute(second, (1, 0)), turned, *[first] * (count - 1)]
    return nv.Function(results, [x, y, z])


def kinds(function: nv.Function) -> list[str]:
    return [type(op).__name__ for op in function.operations if type(op) in (ops.Contract, ops.Permute)]


def test_a_product_that_only_a_permutation_reads_is_made_in_its_order() -> None:
    after = permuted_products(heads(1))
    assert kinds(after) == ["Contract", "Contract"]
    assert [value.shape for value in after.results] == [(4, 5), (7, 3, 5)]
    assert kinds(permuted_products(heads(2))) == ["Contract", "Permute", "Contract"]
    assert kinds(permuted_products(after)) == kinds(after)


def test_its_sums_have_the_bits_that_they_had() -> None:
    """O48."""
    generator = np.random.default_rng(0)
    before = heads(1)
    arrays = [generator.standard_normal(entry.value.shape).astype(np.float32) for entry in before.parameters]
    plain = CPU.compile(minimal(common_subexpressions(before)))(arrays)
    moved = CPU.compile(permuted_products(before))(arrays)
    assert all([x.tobytes() == y.tobytes() for x, y in zip(plain, moved, strict=True)])


def test_names_and_labels_stay() -> None:
    x, y = nv.Parameter(nv.float32, (2, 3)), nv.Parameter(nv.float32, (3, 4))
    turned = ops.Permute(ops.Contract(x, y, (0, 2), (2, 1), (0, 1)), (1, 0))
    turned.name, turned.outputs[0].labels = "turned", ("K", "N")
    made, = permuted_products(nv.Function([turned], [x, y])).results
    assert (made.op.name, made.labels) == ("turned", ("K", "N"))
