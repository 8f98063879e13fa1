"""Implementations of an op that are given for one device."""

from __future__ import annotations

import re

import numpy as np
import pytest

import nervure as nv
from nervure.ir import field
from nervure.ir.device import implementations
from nervure.passes.pattern import Patterns
from tests.transformers.devices.own import Lists, forgetting, places


@pytest.fixture(autouse=True)
def own_tables():
    with forgetting():
        yield


def larger_node():
    @nv.defnode("A[~ n] B[~ n] -> C[~ n]")
    class LargerOfTwo:
        """The larger of two elements."""

        def vjp(self, gradient, a, b):
            return nv.where(a > b, gradient, 0), nv.where(a > b, 0, gradient)
    return LargerOfTwo


def give_larger(node, *natives):
    for device in natives:
        @nv.implement(node, device=device, mode="generate")
        def larger(s, a, b):
            return s.where(s.greater(a, b), a, b)

    @nv.implement(node, device=Lists)
    def larger_in_lists(op, a, b, out):
        for i, j, k in places(a, b, out):
            out.set_vref(k, max(a.vref(i), b.vref(j)))


@pytest.mark.parametrize("device", [nv.CPUTensor, nv.NumPyTensor, Lists])
def test_an_op_of_a_user_runs_on_several_devices(device):
    """T85, T86: the same values and derivatives on each."""
    node = larger_node()
    give_larger(node, nv.CPUTensor, nv.NumPyTensor)
    x = nv.variable((3, 4), np.arange(12, dtype=np.float32).reshape(3, 4) % 5)
    y = nv.constant(np.full((3, 4), 2.0, np.float32))
    with nv.devices(device, nv.CPUTensor), pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn_explicit", lambda *words: None)
        z = node(x.T, y.T)
        value, gradient = nv.computation([z, nv.deriv(nv.sum(z * z), x)])()
    expected = np.maximum(np.arange(12).reshape(3, 4) % 5, 2).astype(np.float32)
    assert value.tolist() == expected.T.tolist()
    assert gradient.tolist() == (2 * expected * (expected > 2)).tolist()


def test_a_scalar_expression_becomes_vector_code():
    """T86: a compare and a select of vectors, and no call; what is around it is in the same kernel."""
    node = larger_node()
    give_larger(node, nv.CPUTensor)
    x, y = nv.placeholder((64, 64)), nv.placeholder((64, 64))
    step = nv.computation(node(x * 2, y) + 1, x, y)
    kernels = step.executable.compilation.loaded.compiled.kernels
    text = "\n".join([entry.text for entry in step.executable.compilation.texts])
    assert len(kernels) == 1
    assert re.search(r"fcmp o[gl]t <(8|16) x float>", text) and re.search(r"select <(8|16) x i1>", text)
    assert {name.split(".")[1] for name in re.findall(r"call [^@]*@([\w.]+)", text)} <= {"masked", "expect"}
    first, second = np.random.default_rng(0).normal(size=(2, 64, 64)).astype(np.float32)
    assert step(first, second).tolist() == (np.maximum(first * 2, second) + 1).tolist()


def test_a_scalar_expression_is_given_the_attributes():
    """T86"""
    @nv.defnode("x[~] -> y[~]")
    class Within:
        low = field.real()
        high = field.real(1.0)

    @nv.implement(Within, device=nv.CPUTensor, mode="generate")
    def between(s, x, low, high):
        return s.minimum(s.maximum(x, s.constant(low, x)), s.constant(high, x))

    assert Within(nv.constant([-1.0, 0.5, 3.0]), low=0.0).tolist() == [0.0, 0.5, 1.0]


def test_a_mistake_in_a_scalar_expression_is_told():
    """T86: at the line that builds the op, with the function's name."""
    node = larger_node()

    @nv.implement(node, device=nv.CPUTensor, mode="generate")
    def larger(s, a, b):
        return s.wehre(a, b)

    with pytest.raises(nv.InvalidArgument) as caught:
        node(nv.ones((3,)), nv.ones((3,))).numpy()
    assert (caught.value.op, caught.value.operand) == ("LargerOfTwo", "larger")
    assert "wehre" in caught.value.got and caught.value.location.file == __file__


def test_a_scalar_expression_is_for_operands_of_one_shape():
    """T86, T75"""
    @nv.defnode("x[n] y[m] -> z[n]")
    class Uneven:
        """Of two lengths."""

    nv.implement(Uneven, device=nv.CPUTensor, mode="generate")(lambda s, x, y: x)
    with pytest.raises(nv.NodeNotFound) as caught:
        Uneven(nv.ones((2,)), nv.ones((3,))).numpy()
    assert caught.value.got == "CPUTensor: its scalar expression is for operands of one shape"


@pytest.mark.parametrize("device", [nv.CPUTensor, nv.NumPyTensor, Lists])
def test_a_result_is_written_in_the_place_of_an_operand(device):
    """T104: it holds the operand's elements; the operand keeps its own."""
    @nv.defnode("total[~] x[~] -> total[~]")
    class AddTo:
        """total + x."""

    @nv.implement(AddTo, device=device)
    def add_to(op, total, x, out):
        for i, k in places(x, out):
            out.set_vref(k, out.vref(k) + x.vref(i))

    assert AddTo.op.type_rule.targets == (0,)
    x = nv.variable((2, 2), [[1.0, 2.0], [3.0, 4.0]])
    with nv.devices(device, nv.CPUTensor):
        y = AddTo(x.T, nv.constant([[10.0, 20.0], [30.0, 40.0]]))
    assert y.tolist() == [[11.0, 23.0], [32.0, 44.0]] and x.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_an_implementation_may_have_several_results_and_symbols():
    """T85"""
    @nv.defnode("x[n k] -> low[k] high[k]")
    class Extremes:
        """The least and the greatest of each column."""

    @nv.implement(Extremes, device=nv.CPUTensor)
    def extremes(op, x, low, high):
        low.storage[:], high.storage[:] = x.numpy().min(0), x.numpy().max(0)

    x = nv.placeholder("N=n, K=k")
    low, high = Extremes(x)
    spread = nv.computation(high - low, x)
    for shape in ((4, 3), (2, 5)):
        given = np.random.default_rng(1).normal(size=shape).astype(np.float32)
        assert spread(given).tolist() == np.ptp(given, axis=0).tolist()


@pytest.mark.parametrize("device", [nv.CPUTensor, Lists])
def test_an_implementation_that_returns_something_is_told(device):
    """T85"""
    @nv.implement(nv.ops.Sin, device=device)
    def sine(op, x, out):
        return np.sin(x.numpy())

    with nv.devices(device, nv.NumPyTensor):
        y = nv.sin(nv.zeros((2,)))
    with pytest.raises(nv.WrongKind, match="writes its results and returns nothing"):
        y.numpy()


@pytest.mark.parametrize(("device", "mode", "function", "message"), [
    (nv.CPUTensor, "runtime", lambda x, out: None, "does not take what Sin has"),
    (nv.CPUTensor, "generate", lambda s: None, "does not take what Sin has"),
    (nv.CPUTensor, "fast", lambda s, x: x, "unknown mode"),
    (Lists, "generate", lambda s, x: x, "nothing makes loops for this device"),
    (nv.Tensor, "runtime", lambda op, x, out: None, "this is no device")])
def test_what_cannot_be_implemented_is_told_at_once(device, mode, function, message):
    """T85, T86"""
    with pytest.raises(nv.NervureError, match=message):
        nv.implement(nv.ops.Sin, device=device, mode=mode)(function)


def test_only_ops_are_implemented():
    """T85"""
    with pytest.raises(nv.WrongKind, match="what is implemented is an op"):
        nv.implement(nv.sin, device=nv.CPUTensor)


# -- rules of devices ------------------------------------------------------------------------------------------------


def fusing(*rows):
    """A device with rules, one below it, and how often its fused op has run."""
    @nv.defnode("A[~] B[~] C[~] -> D[~]")
    class FusedProduct:
        """a b + c."""

        def decompose(self, a, b, c):
            return a * b + c

    p = Patterns()
    rule = p.Add(p.Multiply(p.any("a"), p.any("b")), p.any("c")), lambda a, b, c: FusedProduct.op(a, b, c)

    class Fusing(nv.CPUTensor):
        """Multiplies and adds at once."""

        rewrites = rows or [rule]

    class Heir(Fusing):
        """Inherits the rule."""

    runs = []

    @nv.implement(FusedProduct, device=Fusing)
    def fused(op, a, b, c, out):
        runs.append(a.shape)
        out.storage[:] = a.storage * b.storage + c.storage
    return Fusing, Heir, runs


def test_a_device_fuses_ops_by_rules_of_its_own():
    """T93: for what is built under it; without rules the values are the same."""
    device, heir, runs = fusing()
    x, w = nv.placeholder((2, 3)).named("x"), nv.variable((2, 3), 2.0)
    given = np.arange(6, dtype=np.float32).reshape(2, 3)
    with nv.devices(device, nv.CPUTensor):
        y = nv.sin(x * w + 1)
    with nv.devices(heir):
        z = x * w + 1
    plain = x * w + 1
    got = nv.computation([y, z, plain], x)(given)
    np.testing.assert_allclose(got, [np.sin(given * 2 + 1), given * 2 + 1, given * 2 + 1], rtol=1e-6)
    assert runs == [(2, 3)] * 2
    assert nv.build(z, inputs=("x",)).forward(given).tolist() == (given * 2 + 1).tolist() and len(runs) == 3
    model = nv.build(z, inputs=("x",), fuse_ops=False)
    assert model.forward(given).tolist() == (given * 2 + 1).tolist() and len(runs) == 3


def test_a_rule_without_an_implementation_is_decomposed():
    """T93, T87: where the device that has the rule lacks the fused op, its parts run."""
    device, _, runs = fusing()
    implementations.clear()
    with nv.devices(device):
        y = nv.ones((3,)) * 2 + 1
    assert y.tolist() == [3.0] * 3 and runs == []


@pytest.mark.parametrize(("row", "kind", "message"), [
    ("no pair", nv.WrongKind, "a rule is a pattern and what replaces it"),
    ((Patterns().Sin(Patterns().any("x")), lambda y: y), nv.InvalidArgument, "which the pattern does not capture"),
    ((Patterns().Sin(Patterns().any("x")), lambda x: nv.ops.Sum(x, [0])), nv.ShapeMismatch, "gives another type")])
def test_a_rule_that_cannot_be_used_is_told(row, kind, message):
    """T93"""
    device, _, _ = fusing(row)
    with nv.devices(device):
        y = nv.sin(nv.ones((3,)))
    with pytest.raises(kind, match=message):
        y.numpy()
