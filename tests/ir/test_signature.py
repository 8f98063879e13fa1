"""Where strings as type rules: the types that they infer, and their errors for operands that do not fit."""

from __future__ import annotations

import pytest

from nervure import ops
from nervure.errors import DtypeMismatch, InvalidArgument, ShapeMismatch
from nervure.ir import field
from nervure.ir.kinds import Composite, Elementwise
from nervure.ir.leaves import Parameter
from nervure.ir.op import Op
from nervure.ir.signature import Signature
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import dim
from nervure.types.dtype import bool_, float32, float64, int32, int64

N, M = dim("N"), dim("M")


def tensor(*shape, dtype=float32):
    return BasicTensorDescription(dtype, shape)


def infer(text, *types):
    return Signature.parse(text).infer(None, types)


class Product(Op):
    """A matrix product by its where string."""

    signature = "A[~ i j] B[~ j k] -> C[~ i k]"


class Tiled(Op):
    """Relations with an attribute."""

    signature = "A[~ n] -> B[~ m] where m = n*count"
    count = field.integer()


@pytest.mark.parametrize(("text", "types", "expected"), [
    ("A[~ i j] B[~ j k] -> C[~ i k]", [tensor(2, 3), tensor(3, 4)], [tensor(2, 4)]),
    ("A[~ i j] B[~ j k] -> C[~ i k]", [tensor(5, N, 2, 3), tensor(5, N, 3, M)], [tensor(5, N, 2, M)]),
    ("A[i ~] -> B[~ i]", [tensor(2, 3, 4)], [tensor(3, 4, 2)]),
    ("A[i ~ j] -> B[~] C[j i]", [tensor(2, 3, 4)], [tensor(3), tensor(4, 2)]),
    ("A[] -> B[]", [tensor()], [tensor()]),
    ("A[i 4] -> B[4 i 1]", [tensor(N, 4)], [tensor(4, N, 1)]),
    ("C:bool[~] A[~] B[~] -> D[~]", [tensor(2, dtype=bool_), tensor(2, dtype=int32), tensor(2, dtype=int32)],
     [tensor(2, dtype=int32)]),
    ("A:bool[~] -> B[~]", [tensor(2, dtype=bool_)], [tensor(2, dtype=bool_)]),
    ("A:S[~] B:R[~] -> C:R[~] D:S[~] E:int64[]", [tensor(dtype=int32), tensor()],
     [tensor(), tensor(dtype=int32), tensor(dtype=int64)]),
    ("A[n] B[m] -> C[k] where k = n + m, k = m + n", [tensor(N), tensor(3)], [tensor(N + 3)]),
    ("A[n] -> B[k p] where k = n // 2, p = min(n, 8) % 3", [tensor(7)], [tensor(3, 1)]),
    ("*A[i j] -> B[i j]", [tensor(2, N)] * 4, [tensor(2, N)]),
    ("A[n ~row] I:integers[~] -> B[~ ~row]", [tensor(9, 2, N), tensor(5, 4, dtype=int32)], [tensor(5, 4, 2, N)]),
    ("A[~a] B[~a ~b] -> C[~b ~a ~b]", [tensor(2, 3), tensor(2, 3, N)], [tensor(N, 2, 3, N)]),
    ("A:floats[~] -> B[~]", [tensor(2, dtype=float64)], [tensor(2, dtype=float64)]),
])
def test_infer(text, types, expected):
    assert list(infer(text, *types)) == expected


def test_symbols_that_are_provably_equal_fit():
    assert infer("A[n] B[n] -> C[n]", tensor((N + 1) * 2), tensor(2 * N + 2)) == (tensor(2 * N + 2),)


def test_an_attribute_takes_part_in_relations():
    assert Tiled(Parameter(float32, (5, N)), count=3).output.type == tensor(5, N * 3)
    assert Tiled(Parameter(float32, (2,)), count=0).output.type == tensor(0)


def test_an_attribute_may_stand_in_brackets():
    assert Signature.parse("A[~] -> B[~ depth]", {"depth": "length"}).infer(
        type("Holder", (), {"depth": 9})(), [tensor(2)]) == (tensor(2, 9),)


class Chosen(Op):
    """Runs, a type and a length that attributes give."""

    signature = "x[~axis n ~] index:integers[~at] -> y:dtype[~axis ~at ~ depth ~shape]"
    axis = field.integer()
    depth = field.dimension()
    dtype = field.dtype()
    shape = field.shape()


def test_attributes_give_runs_and_types():
    x, index = Parameter(float32, (2, N, 4)), Parameter(int32, (5, 6))
    assert Chosen(x, index, 1, M, int64, (7,)).output.type == tensor(2, 5, 6, 4, M, 7, dtype=int64)
    assert Chosen(x, index, 0, 3, bool_, ()).output.type == tensor(5, 6, N, 4, 3, dtype=bool_)
    with pytest.raises(ShapeMismatch, match="add a broadcastable axis to x at position 0"):
        Chosen(x, index, 3, 1, bool_, ())
    with pytest.raises(InvalidArgument, match="attribute axis counts dimensions"):
        Chosen(x, index, -1, 1, bool_, ())


def test_a_run_called_as_an_attribute_that_counts_nothing_is_a_run_like_others():
    rule = Signature.parse("A[~depth n] -> B[depth ~depth]", {"depth": "length"})
    holder = type("Holder", (), {"depth": M})()
    assert rule.infer(holder, [tensor(2, 3, 4)]) == (tensor(M, 2, 3),)


def test_labels_follow_runs():
    x, index = Parameter(float32, (2, N, 4)).output, Parameter(int32, (5,)).output
    x.labels, index.labels = ("A", "B", "C"), ("I",)
    assert Chosen(x, index, 1, 3, bool_, (6,)).output.labels == ("A", "I", "C", None, None)


def test_a_run_that_differs_is_named():
    error = failure(ShapeMismatch, "A[~a] B[~a ~b] -> C[~b]", tensor(2, 3), tensor(2, 4, 5))
    assert (error.expected, error.help) == ("A: f32[2, 3], B: f32[2, 3, 5]", "dimension 1 of B is 4, not 3")


def test_an_element_type_outside_of_its_group():
    error = failure(DtypeMismatch, "A:integers[~] C:bool[~] -> B[~]", tensor(2), tensor(2))
    assert error.expected == "A: integers[2], C: bool[2]"
    assert error.help == ("A has float32 elements, not integers: insert ops.Convert; C has float32 elements, not bool: "
                          "compare it, as in ops.NotEqual(C, C.full(0))")


def test_operand_names_come_from_the_signature():
    assert (Product.operand_names, Product.arity) == (("A", "B"), 2)


def test_a_signature_is_compiled_once():
    assert Signature.parse(Product.signature) is Product.type_rule


def test_a_signature_replaces_the_rule_of_the_kind():
    class Choose(Elementwise):
        """Elementwise, though its operands differ in type."""

        signature = "C:bool[~] A[~] B[~] -> D[~]"

    class Doubled(Composite):
        """A composite whose type is not that of its decomposition's first look."""

        signature = "A[n] -> B[m] where m = 2*n"

    operands = [Parameter(bool_, (2,)), Parameter(int32, (2,)), Parameter(int32, (2,))]
    assert Choose(*operands).output.type == tensor(2, dtype=int32)
    assert Doubled(Parameter(float32, (3,))).output.type == tensor(6)


def test_labels_follow_names():
    left, right = Parameter(float32, (5, 2, 3)).output, Parameter(float32, (5, 3, 4)).output
    left.labels, right.labels = ("N", None, "H"), (None, "H", "K")
    assert Product(left, right).output.labels == ("N", None, "K")


def failure(kind, text, *types):
    with pytest.raises(kind) as caught:
        infer(text, *types)
    return caught.value


def test_every_operand_that_does_not_fit_is_reported():
    error = failure(ShapeMismatch, "A[~ i j] B[~ j k] C[i k] -> D[~]", tensor(5, 2, 3), tensor(1, 3, 4), tensor(7, 4))
    assert error.operand == "2 (B), 3 (C)"
    assert error.got == "A: f32[5, 2, 3], B: f32[1, 3, 4], C: f32[7, 4]"
    assert error.expected == "A: f32[5, 2, 3], B: f32[5, 3, 4], C: f32[2, 4]"
    assert error.help == "broadcast dimension 0 of B from 1 to 5 (ops.Broadcast); dimension 0 of C (i) is 7, not 2"


@pytest.mark.parametrize(("text", "types", "help"), [
    ("A[~ i j] B[~ j k] -> C[~ i k]", [tensor(5, 2, 3), tensor(3, 4)],
     "add a broadcastable axis to B at position 0 (nv.flexible(B, 0), or ops.Reshape, ops.Broadcast): "
     "it has 2 dimensions, not 3"),
    ("A[~ i j] B[~ j k] -> C[~ i k]", [tensor(2, 3), tensor(5, 3, 4)],
     "B has 3 dimensions, not 2: nv.flexible(x, at) of the operands before it lets them have more for ~"),
    ("A[i j] B[i 1 j] -> C[i]", [tensor(2, 3), tensor(2, 3)],
     "add a broadcastable axis to B at position 1 (ops.Reshape, ops.Broadcast): it has 2 dimensions, not 3"),
    ("A[~ i j] -> C[i]", [tensor(2)],
     "add a broadcastable axis to A at position 0 (ops.Reshape, ops.Broadcast): it has 1 dimensions, not 2 or more"),
    ("A[i j] B[j k] -> C[i k]", [tensor(2, 3), tensor(4, 3)],
     "swap dimensions 0 and 1 of B (ops.Permute): it is f32[4, 3]"),
    ("A[i] -> B[i]", [tensor(2, 3)], "A has 2 dimensions, not 1"),
    ("A[i 4] -> B[i]", [tensor(2, 3)], "dimension 1 of A is 3, not 4"),
    ("A[i] B[i] -> C[i]", [tensor(N), tensor(M)],
     "dimension 0 of B (i) is M, not known to be N: where they are equal in every call, ops.AssumeShape says so"),
])
def test_suggestions(text, types, help):
    assert failure(ShapeMismatch, text, *types).help == help


def test_element_types_that_differ():
    error = failure(DtypeMismatch, "A[~] B[~] C:int64[~] -> D[~]", tensor(2), tensor(2, dtype=float64),
                    tensor(2, dtype=int32))
    assert (error.operand, error.expected) == ("2 (B), 3 (C)", "A: f32[2], B: f32[2], C: i64[2]")
    assert error.help == ("B has float64 elements, not float32: insert ops.Convert; "
                          "C has int32 elements, not int64: insert ops.Convert")


def test_a_relation_that_does_not_hold():
    error = failure(ShapeMismatch, "A[n] B[m] -> C[n] where m = 2*n", tensor(3), tensor(7))
    assert (error.message, error.got) == ("m = 2*n does not hold", "m = 7, n = 3")
    unknown = failure(ShapeMismatch, "A[n] B[m] -> C[n] where m = 2*n", tensor(N), tensor(M))
    assert unknown.help is not None and "AssumeShape" in unknown.help


def test_an_op_names_itself_and_the_line():
    with pytest.raises(ShapeMismatch) as caught:
        Product(Parameter(float32, (2, 3)), Parameter(float32, (4, 5)))
    assert (caught.value.op, caught.value.operand) == ("Product", "2 (B)")
    assert caught.value.location.file == __file__


@pytest.mark.parametrize(("text", "problem"), [
    ("A[i] B[i]", "a signature needs an arrow"),
    ("A[i] ->", "a signature needs a result"),
    ("A[i -> B[i]", "this is no operand or result"),
    ("A[i+1] -> B[i]", "A has a dimension that is no name, number or ~"),
    ("A[~ i ~] -> B[i]", "A has more than one ~ of unknown length"),
    ("A[i] -> B[k]", "nothing binds k of B"),
    ("A[i] -> B[~]", "nothing binds the ~ of B"),
    ("A[~a ~b] -> B[~a]", "A has more than one ~ of unknown length"),
    ("A[~a] -> B[~b]", "nothing binds ~b of B"),
    ("A:integers[] -> B:floats[]", "nothing binds the element type of B"),
    ("A:S[i] -> B:R[i]", "nothing binds the element type of B"),
    ("A[i] *B[i] -> C[i]", "* stands before the only operand"),
    ("A[n] -> B[k] where k = m", "nothing binds m"),
    ("A[n] -> B[k] where k = k + n", "nothing binds k"),
    ("A[n] -> B[k] where k", "this is no relation"),
    (" -> B[4]", "nothing binds the element type of B"),
])
def test_malformed(text, problem):
    with pytest.raises(InvalidArgument) as caught:
        Signature.parse(text)
    assert caught.value.message == problem


def test_a_misspelt_name_is_suggested():
    with pytest.raises(InvalidArgument) as caught:
        Signature.parse("A[rows columns] -> B[row]")
    assert caught.value.help == "did you mean rows?"


def test_operand_names_must_agree():
    with pytest.raises(InvalidArgument, match="differ in the operands"):
        type(Op)("Disagreeing", (Op,), {"signature": "A[i] -> B[i]", "operand_names": "x y"})


@pytest.mark.parametrize("name", [
    "AccumulateView", "Bitcast", "Convert", "Extent", "Eye", "Full", "Gather", "GatherElements", "Iota", "LookupTable",
    "OneHot", "Parameter", "PrintOp", "RandomBernoulli", "RandomBits", "RandomBlocks", "RandomKey", "RandomNormal",
    "RandomUniform", "Scatter", "ScatterElements", "Tril", "Triu", "UpdateView", "Where"])
def test_ops_of_the_package_declare_their_type_rule_by_a_where_string(name):
    op_class = getattr(ops, name)
    assert op_class.signature and op_class.type_rule.operand_names == op_class.operand_names
    assert op_class.infer is Op.infer


def test_a_vector_has_no_triangle():
    with pytest.raises(ShapeMismatch) as caught:
        ops.Tril(Parameter(float32, (3,)))
    error = caught.value
    assert (error.op, error.operand, error.expected) == ("Tril", "1 (x)", "x: f32[~, rows, columns]")
    assert "add a broadcastable axis to x" in error.help
