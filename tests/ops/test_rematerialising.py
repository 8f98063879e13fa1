"""Checkpoints and what keeps the second making apart, as core ops: types, text, derivatives, passes, plans."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import autodiff, ops
from nervure.errors import InvalidArgument, ShapeMismatch
from nervure.ir.parser import parse_function
from nervure.ir.printer import print_function
from nervure.ir.structural import equal, fingerprint
from nervure.ir.verify import verify
from nervure.kernel.plan import make_plan
from nervure.memory.storage import StorageKind
from nervure.ops.rematerialising import After, Checkpoint
from nervure.passes.common_subexpressions import common_subexpressions
from nervure.passes.inlined_regions import inlined_checkpoints
from nervure.passes.pipelines import native, standard
from tests.conformance.running import TRANSFORMERS


def parameter(shape=(), dtype=nv.float32):
    return nv.Parameter(dtype, shape)


def chain(x, w, count):
    """Layers whose insides a derivative needs."""
    for _ in range(count):
        x = ops.Tanh(ops.MatMul(ops.Exp(ops.Tanh(ops.MatMul(x, w))), w))
    return x


def layers(count, width=32, rows=256, effect=False):
    """A function of checkpointed layers, its gradients, and the same without checkpoints."""
    x, *weights = parameter((rows, width)), *[parameter((width, width)) for _ in range(count)]
    own = [parameter((rows, width)), parameter((width, width))]
    inside = chain(*own, 1)
    body = nv.Function([ops.PrintOp(inside, "inside") if effect else inside], own, name="layer")
    found = []
    for is_kept in (False, True):
        y = x.output
        for w in weights:
            y = chain(y, w, 1) if is_kept else Checkpoint(y, w, body=body).output
        total = ops.Sum(y * y, (0, 1)).output
        found.append(nv.Function([total, *autodiff.gradients([total], [x, *weights], [None])], [x, *weights]))
    return found


def test_a_function_with_checkpoints_is_text_both_ways():
    function = layers(2, effect=True)[0]
    verify(function)
    text = print_function(function)
    assert "Checkpoint(" in text and "After(" in text and "body=@layer" in text
    assert equal(parse_function(text), function)
    assert fingerprint(layers(2)[0]) == fingerprint(layers(2)[0]) != fingerprint(layers(2)[1])


def test_type_rules():
    x = parameter((3,))
    body = nv.Function([x * 2.0], [x])
    with pytest.raises(ShapeMismatch, match="parameter 0 of function"):
        Checkpoint(parameter((4,)), body=body)
    with pytest.raises(InvalidArgument, match="number of parameters of function"):
        Checkpoint(parameter((3,)), parameter((3,)), body=body)
    with pytest.raises(InvalidArgument, match="there is no value"):
        After()
    assert After(parameter((3,)), parameter((), nv.int64)).output.type == x.output.type


@pytest.mark.parametrize("transformer", TRANSFORMERS)
def test_derivatives_have_the_bits_of_those_without(transformer):
    """V1"""
    rng = np.random.default_rng(0)
    shapes = [(256, 32), *[(32, 32)] * 3]
    arrays = [rng.normal(size=shape).astype(np.float32) for shape in shapes]
    with nv.transformers.make_transformer(transformer) as made:
        again, kept = [made.build(function)(*arrays) for function in layers(3)]
    assert all([np.array_equal(mine, theirs) for mine, theirs in zip(again, kept, strict=True)])


def test_what_is_made_again_is_not_merged_with_what_was_made_before():
    again, kept = [native(function) for function in layers(3)]
    counts = [sum([isinstance(op, ops.Exp) for op in function.operations]) for function in (again, kept)]
    assert counts == [6, 3]
    x, other = parameter((3,)), parameter((3,))
    same = nv.Function([ops.Exp(x), ops.Exp(After(x, other)), ops.Exp(After(x, other))], [x, other])
    assert sum([isinstance(op, ops.Exp) for op in common_subexpressions(same).operations]) == 2


def test_a_plan_makes_values_again_when_they_are_needed():
    """V2: no more than the inside of one layer is there at a time, whatever the number of layers."""
    def alive(function):
        steps = make_plan(native(function)).steps
        lives = {}
        for number, step in enumerate(steps):
            for storage in (*step.read, *step.written):
                if storage.kind is StorageKind.TEMPORARY and storage.size == 256 * 32:
                    lives[storage] = lives.get(storage, (number, number))[0], number
        return max([sum([first <= number <= last for first, last in lives.values()]) for number in range(len(steps))])

    few, many = [[alive(function) for function in layers(count)] for count in (4, 12)]
    assert many[0] - few[0] == 8  # the operand of each layer
    assert many[1] - few[1] >= 24


def test_effects_inside_take_their_place():
    function = layers(2, effect=True)[0]
    assert [type(op) for op in function.effects] == [Checkpoint] * 2
    inlined = inlined_checkpoints(function)
    assert [type(op) for op in inlined.effects] == [ops.PrintOp] * 2
    assert not any([isinstance(op, Checkpoint) for op in inlined.operations])
    x = parameter((3,))
    plain = nv.Function([x * 2.0], [x])
    assert inlined_checkpoints(plain) is plain


def test_inside_of_branches_and_other_checkpoints():
    x, y, z = [parameter((3,)) for _ in range(3)]
    inner = nv.Function([ops.Exp(x)], [x])
    outer = nv.Function([ops.Sin(Checkpoint(y, body=inner))], [y])
    choice = ops.If(parameter((), nv.bool_), z, branches=(outer, inner))
    function = nv.Function([Checkpoint(choice, body=outer)], [entry.op for entry in choice.operands])
    done = standard(function)
    held = [done, *[body for op in done.operations if isinstance(op, ops.If) for body in op.branches]]
    assert len(held) == 3 and not any([isinstance(op, Checkpoint) for each in held for op in each.operations])
    for name in TRANSFORMERS:
        with nv.transformers.make_transformer(name) as made:
            found, = made.build(function)(True, np.float32([0, 1, 2]))
            np.testing.assert_allclose(found, np.sin(np.exp(np.sin(np.exp([0, 1, 2])))), rtol=1e-6)
            raw, = made.compile(function)(True, np.float32([0, 1, 2]))
            assert np.array_equal(found, raw)


def test_tangents_and_many_elements_are_checkpoints_too():
    x = parameter((3,))
    body = nv.Function([ops.Exp(x), x * 2.0], [x])
    op = Checkpoint(parameter((3,)), body=body)
    direction, many = parameter((3,)), parameter((5, 3))
    first, second = autodiff.tangents(op.outputs, [op.operands[0]], [direction])
    assert isinstance(first.op, Checkpoint) and first.op is second.op
    first, second = [entry.value for entry in autodiff.batched(op.outputs, {op.operands[0]: many.output}, 5)]
    assert isinstance(first.op, Checkpoint) and first.type.shape == (5, 3)
