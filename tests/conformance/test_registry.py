"""The golden lists, each line reviewed: which classes are core, which ops have no samples, which no derivative."""

from __future__ import annotations

import pytest

from nervure.autodiff.reverse import gradients
from nervure.errors import NotSupported
from nervure.ir.kinds import Composite, Elementwise, Structured, View
from nervure.ir.leaves import Leaf
from nervure.ir.op import Op
from nervure.ir.region import RegionOp
from nervure.ir.whole_op import WholeOp
from nervure.ops.effects import EffectOp, HostCall
from nervure.ops.order import OrderOp
from nervure.ops.scalar_op import ScalarOp
from nervure.types.dtype import float64
from tests.conformance import test_derivatives, test_mapped, test_symbolic
from tests.conformance.samples import GOLDEN, NAMES, built_in, golden_table, samples_of, types_of
from tests.conformance.sampling import concrete, generic
from tests.conformance.test_ops import generator

MOST_CORE_CLASSES = 154

KINDS: list[tuple[str, tuple[type, ...]]] = [
    ("elementwise", (Elementwise,)), ("structured", (Structured,)), ("view", (View,)), ("leaf", (Leaf,)),
    ("effect", (EffectOp, HostCall)), ("whole", (WholeOp,)), ("region", (RegionOp,)), ("order", (OrderOp,)),
    ("composite", (Composite,))]

WITHOUT_SAMPLES = golden_table("ops_without_samples.txt")
WITHOUT_DERIVATIVE = golden_table("ops_without_derivative.txt")
WITHOUT_TANGENT = golden_table("ops_without_tangent.txt")
WITHOUT_VMAP = golden_table("ops_without_vmap.txt")


def kind_of(cls: type[Op]) -> str:
    """Which of the kinds of meaning a class has: exactly one."""
    kinds = [name for name, bases in KINDS if issubclass(cls, bases)]
    assert len(kinds) == 1, (cls, kinds)
    return kinds[0]


def test_core_classes_are_those_of_the_golden_list():
    """O9: a class that is not written in terms of others is one function of scalars, or a reviewed line of the list."""
    classes = [cls for cls in built_in().values() if kind_of(cls) != "composite"]
    core = sorted(f"{kind_of(cls)} {cls.__name__}" for cls in classes if not issubclass(cls, ScalarOp))
    lines = (GOLDEN / "core_classes.txt").read_text(encoding="utf-8").splitlines()
    listed = [line for line in lines if line and not line.startswith("#")]
    assert core == listed, f"add {sorted(set(core) - set(listed))}, remove {sorted(set(listed) - set(core))}"
    assert len(classes) <= MOST_CORE_CLASSES


def test_composites_have_a_decomposition():
    """O9: a composite has one, and nothing that a backend would have to know."""
    composites = [cls for cls in built_in().values() if kind_of(cls) == "composite"]
    assert composites and all(cls.decompose is not Composite.decompose for cls in composites)


def test_every_op_has_samples_or_a_reason():
    missing = set(built_in()) - set(NAMES)
    assert missing == set(WITHOUT_SAMPLES), "write samples, or a line with the reason in ops_without_samples.txt"
    assert all(len(reason) > 10 for reason in WITHOUT_SAMPLES.values())


@pytest.mark.parametrize("name", built_in())
def test_every_op_has_a_derivative_or_a_reason(name):
    """O52: what has no derivative says so: the error names the op."""
    if name in WITHOUT_DERIVATIVE:
        assert len(WITHOUT_DERIVATIVE[name]) > 10
        assert not differentiable(name), f"{name} has a derivative: remove its line"
    else:
        assert differentiable(name), f"write a vjp for {name}, or a line with the reason in ops_without_derivative.txt"


def test_every_op_has_a_tangent_that_is_tried_or_a_reason():
    """D8: the tables of tangents, against differences and against gradients, leave nothing out unsaid."""
    tried = {*test_derivatives.DIFFERENTIABLE, *test_derivatives.OF_COMPLEX}
    assert set(WITHOUT_TANGENT) == set(built_in()) - tried - set(WITHOUT_DERIVATIVE), (
        "write smooth samples in float64 or complex128, or a line with the reason in ops_without_tangent.txt")
    assert all(len(reason) > 10 for reason in WITHOUT_TANGENT.values())
    assert all([test_symbolic.numbered(name) for name in tried]), "a sample of each has symbols in its shapes"


def test_every_op_is_tried_for_many_elements_or_has_a_reason():
    """D20: the table of ops for many elements leaves nothing out unsaid."""
    assert set(WITHOUT_VMAP) == set(built_in()) - set(test_mapped.WITH_OPERANDS), (
        "write samples, or a line with the reason in ops_without_vmap.txt")
    assert all(len(reason) > 10 for reason in WITHOUT_VMAP.values())
    leaves = {name for name in test_mapped.WITH_OPERANDS if issubclass(built_in()[name], Leaf)}
    without_operands = {name for name in test_mapped.WITH_OPERANDS if not any(
        [sample.operands for sample in samples_of(name, test_mapped.one_type(name))])}
    with_symbols = {name for name in test_mapped.WITH_OPERANDS if test_mapped.has_symbols(name)}
    assert set(test_mapped.WITH_OPERANDS) == with_symbols | without_operands | leaves | {"RandomKey"}


def test_the_lists_name_built_in_ops():
    assert set(WITHOUT_DERIVATIVE) | set(WITHOUT_SAMPLES) <= set(built_in())


def differentiable(name: str) -> bool:
    """Whether the class declares a derivative, or the decomposition of some sample has one that is not just zero."""
    cls = built_in()[name]
    if cls.vjp is not Op.vjp:
        return True
    if issubclass(cls, RegionOp):
        return name not in WITHOUT_DERIVATIVE and cls.differentiated is not RegionOp.differentiated
    if name not in NAMES or not issubclass(cls, Composite) or float64 not in types_of(name):
        return False
    for sample in samples_of(name, float64):
        case = concrete(sample, generic(sample), generator(name))
        targets = [operand for operand in case.operands if operand.dtype is float64]
        outputs = [output for output in case.op.outputs if output.dtype is float64]
        try:
            found = gradients(outputs, targets, [None] * len(outputs))
        except NotSupported:
            continue
        if any([entry is not None for entry in found]):
            return True
    return False
