"""The pipelines as a whole: golden texts, random graphs with passes on and off, threads of state, long graphs."""

from __future__ import annotations

import ast
import inspect
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nervure as nv
from nervure import ops
from nervure.autodiff.reverse import gradients
from nervure.errors import NervureError
from nervure.ir.function import Function
from nervure.ir.kinds import Composite
from nervure.ir.printer import print_function
from nervure.ir.variable import Variable
from nervure.ir.verify import verify
from nervure.passes import pipelines
from nervure.passes.algebra import algebra
from nervure.passes.canonical_views import canonical_views
from nervure.passes.common_subexpressions import common_subexpressions
from nervure.passes.dead_code import dead_code
from nervure.passes.decompose import decompose
from nervure.passes.fold import fold
from nervure.passes.known_indices import known_indices
from nervure.passes.layouts import with_layouts
from nervure.passes.lower_argmax import lower_argmax
from nervure.passes.lower_convolutions import lower_convolutions
from nervure.passes.lower_depthwise import lower_depthwise
from nervure.passes.lower_windows import lower_windows
from nervure.passes.pipelines import minimal, native, native_minimal, standard
from nervure.transformers.interpreter.evaluate import evaluate
from tests.ir.functions import LONG
from tests.ir.golden import check_golden
from tests.passes.agreement import assert_agree, classes, special_values, twice_negated
from tests.project.source import parse, python_files


def training_step() -> Function:
    """A dense layer, its loss, and a step of gradient descent."""
    n = nv.dim("N", min=1)
    x, target = nv.Parameter(nv.float32, (n, 8)), nv.Parameter(nv.float32, (n, 4))
    x.name, target.name = "x", "target"
    x.value.labels = target.value.labels = ("N", None)
    state = {name: Variable(nv.BasicTensorDescription(nv.float32, shape), name=name)
             for name, shape in (("weights", (8, 4)), ("bias", (4,)))}
    weights, bias = [ops.ReadVariable(variable) for variable in state.values()]
    logits = ops.MatMul(x, weights) + ops.Broadcast(bias, (n, 4), (0,)).output
    logits.op.name = "logits"
    errors = ops.Softmax(logits, [1]) - target
    loss = ops.Sum(ops.Square(errors), [0, 1]).output
    slopes = gradients([loss], [weights, bias], [None])
    updates = {variable: read - slope * 0.1 for variable, read, slope
               in zip(state.values(), (weights, bias), slopes, strict=True)}
    return Function([loss], [x, target], updates, name="training_step")


def composites() -> Function:
    """Composites in composites, a low-precision one, and one with two outputs."""
    x, h = nv.Parameter(nv.float32, (2, 3)), nv.Parameter(nv.float16, (3,))
    twice = ops.CustomDerivative(ops.SquaredDifference(x, x * 2.0), x, x, count=2,
                                 rule=lambda slopes, operands: [slopes[0]])
    return Function([*twice.outputs, ops.Square(h), ops.Mean(x, [1])], [x, h], name="composites")


def views() -> Function:
    x = nv.Parameter(nv.float32, (2, 3, 4))
    turned = ops.Reverse(ops.Permute(ops.Permute(x, (1, 2, 0)), (1, 0, 2)), (1,))
    flat = ops.Reshape(ops.Reshape(x, (6, 4)), (24,))
    wide = ops.Slice(ops.Broadcast(x, (5, 2, 3, 4), (0,)), ((0, 1, 1), (0, 2, 1), (0, 3, 1), (0, 4, 1)))
    return Function([turned, flat, wide, ops.Reverse(ops.Reverse(x, (0,)), (0,))], [x], name="views")


def arithmetic() -> Function:
    x, y = nv.Parameter(nv.float32, (4,)), nv.Parameter(nv.float32, (4,))
    k = nv.Parameter(nv.int32, (4,))
    results = [twice_negated(x * 1.0) + -y, (x - 0.0) / 4.0, x + 0.0, x * 0.0, k * 0 + k // 1,
               ops.LogicalNot(ops.Equal(x, y)), ops.Where(ops.LogicalNot(x < y), x, y),
               ops.Convert(ops.Convert(k, nv.float64), nv.int8), ops.Sum(x, [])]
    return Function(results, [x, y, k], name="arithmetic")


def constants() -> Function:
    x = nv.Parameter(nv.float32, (nv.dim("N"), 3))
    two = ops.Full(2, nv.float32, x.shape)
    table = ops.Constant(np.arange(6, dtype=np.float32).reshape(2, 3))
    row = ops.Sum(ops.Permute(table, (1, 0)), [1]).output
    results = [x * (two + 1.0) + ops.Broadcast(row, x.shape, (0,)).output, two / 0.0 - two / 0.0]
    return Function(results, [x], name="constants")


def twins() -> Function:
    x, y = nv.Parameter(nv.float32, (4,)), nv.Parameter(nv.float32, (4,))
    total = y + x
    total.op.name = "total"
    shown = ops.PrintOp(x + y, prefix="again")
    return Function([ops.Exp(x + y), ops.Exp(total), shown], [x, y], effects=[ops.PrintOp(total), shown], name="twins")


def idle() -> Function:
    w, v = (Variable(nv.BasicTensorDescription(nv.float32, (4,)), name=name) for name in "wv")
    read = ops.ReadVariable(w)
    return Function([], [], {w: read, v: ops.Exp(read)}, name="idle")


def places() -> Function:
    x, k = nv.Parameter(nv.float32, (2, nv.dim("N", min=1), 4)), nv.Parameter(nv.int8, (3, 5))
    return Function([ops.ArgMax(x, [1, 2]), ops.ArgMin(k, [0]), ops.Max(x, [1, 2])], [x, k], name="places")


def windows() -> Function:
    x, f = nv.Parameter(nv.float32, (nv.dim("N", min=1), 2, 5, 6)), nv.Parameter(nv.float32, (4, 2, 3, 3))
    slid = ops.Convolution(x, f, (1, 2), paddings=[(1, 1), (1, 1)])
    return Function([slid, *slid.vjp(slid.output, x.output, f.output)], [x, f], name="windows")


def depthwise() -> Function:
    x, f = nv.Parameter(nv.float32, (nv.dim("N", min=1), 3, 5, 6)), nv.Parameter(nv.float32, (3, 1, 2, 2))
    slid = ops.Convolution(x, f, (1, 2), paddings=[(1, 0), (0, 0)], groups=3)
    return Function([slid, *slid.vjp(slid.output, x.output, f.output)], [x, f], name="depthwise")


def pools() -> Function:
    x = nv.Parameter(nv.float32, (nv.dim("N", min=1), 2, 4, 6))
    largest = ops.MaxPool(x, (2, 3), (2, 3), (2, 2), paddings=[(0, 0), (1, 1)])
    mean = ops.AveragePool(x, (3,), (2,), (2,))
    return Function([largest, mean, *gradients([largest], [x], [None])], [x], name="pools")


def heads() -> Function:
    x, y = nv.Parameter(nv.float32, (5, 2, 3)), nv.Parameter(nv.float32, (5, 3, 4))
    products = [ops.Contract(x, y, (0, 1, 2), (0, 2, 3), (0, 1, 3)) for _ in range(2)]
    return Function([ops.Permute(products[0], (1, 0, 2)), ops.Permute(products[1], (1, 0, 2)), products[1]], [x, y],
                    name="heads")


def rows_and_columns() -> Function:
    x, columns = nv.Parameter(nv.float32, (nv.dim("N", min=1), 9)), nv.Parameter(nv.int64, (3,))
    rows, count = nv.dim("N", min=1), [ops.Iota((nv.dim("N", min=1), 3), axis) for axis in range(2)]
    chosen = ops.Stack(count[0], ops.Broadcast(columns, (rows, 3), [0]), axes=[2], counts=[2])
    block = ops.Stack(count[0], count[1] * 4, axes=[2], counts=[2])
    pairs = ops.Stack(count[0], ops.Reshape(ops.Gather(columns, count[1], 0), (rows, 3)), axes=[2], counts=[2])
    return Function([ops.GatherNd(x, index) for index in (chosen, block, pairs)], [x, columns], name="rows_and_columns")


GOLDEN = {
    "decompose": (composites, decompose),
    "common_subexpressions": (twins, common_subexpressions),
    "fold": (constants, lambda function: fold(function, evaluate)),
    "algebra": (arithmetic, algebra),
    "canonical_views": (views, canonical_views),
    "dead_code": (idle, dead_code),
    "lower_argmax": (places, lower_argmax),
    "lower_convolutions": (windows, lower_convolutions),
    "lower_depthwise": (depthwise, lower_depthwise),
    "lower_windows": (pools, lambda function: lower_windows(standard(function, evaluate))),
    "known_indices": (rows_and_columns, known_indices),
    "layouts": (heads, with_layouts),
    "standard": (training_step, lambda function: standard(function, evaluate)),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_texts(name):
    make, apply = GOLDEN[name]
    before = make()
    after = apply(before)
    verify(after)
    check_golden(f"passes/{name}.txt", f"{print_function(before)}\n{print_function(after)}")


def test_the_training_step_computes_the_same():
    before = training_step()
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((5, 8), np.float32), rng.standard_normal((5, 4), np.float32)]
    seen = []
    for function in (before, standard(before, evaluate)):
        with nv.transformers.make_transformer("interpreter") as transformer:
            step = transformer.compile(function)
            losses = [step(arrays)[0].tobytes() for _ in range(3)]
            seen.append((losses, [transformer.get(variable).tobytes() for variable, _ in before.updates]))
    assert seen[0] == seen[1]


def test_the_list_can_be_read():
    records = []
    standard(training_step(), evaluate, records=records)
    names = [record.name for record in records]
    first = ["inlined_checkpoints", "decompose", "regions"]
    assert names[:5] == [*first, "common_subexpressions", "simplify"] and names[-1] == "dead_code"
    assert names.count("common_subexpressions") == 2  # before what looks at neighbours, and of what that has made equal
    native(training_step(), evaluate, records=(own := []))
    assert [record.name for record in own] == [
        *first, "lower_argmax", *names[3:7], "lower_scatters", "lower_windows", "lower_depthwise",
        "lower_convolutions", "counted_loops", "region_operands", *names[7:]]
    source = inspect.getsource(pipelines._simple) + inspect.getsource(pipelines._final)
    assert all(source.count(f'"{name}"') == names.count(name) for name in names)


LISTED = frozenset(
    "common_subexpressions lower_argmax lower_convolutions lower_depthwise lower_scatters lower_windows".split())
"""Passes that are parts of lists alone. ``decompose`` and ``dead_code`` are also what a function needs by itself."""


def test_lists_of_passes_stand_in_one_file():
    """No pass of a list runs elsewhere, and nothing else makes a list."""
    words = re.compile(rf"\b({'|'.join(['Pass', *LISTED])})\b")
    elsewhere = [path for path in python_files("src/nervure") if path.name not in ("pipelines.py", "manager.py")
                 and words.search(path.read_text(encoding="utf-8"))]
    found = [(path.name, node.lineno) for path in elsewhere for node in ast.walk(parse(path))
             if isinstance(node, ast.Call) and ast.unparse(node.func) == "Pass"
             or isinstance(node, ast.ImportFrom) and (node.module or "").removeprefix("nervure.passes.") in LISTED]
    assert found == []


def test_simplification_is_a_fixed_point():
    after = standard(training_step(), evaluate)
    again = standard(after, evaluate)
    assert again is after


def test_minimal_only_decomposes():
    x = nv.Parameter(nv.float32, (4,))
    assert classes(minimal(Function([ops.Square(x * 1.0)], [x]))) == ["Full", "Multiply", "Multiply"]
    kept = minimal(Function([ops.Square(x)], [x]), lambda op_class: True)
    assert classes(kept) == ["Square"]


def test_what_is_compiled_as_it_is_has_its_convolutions_written_out():
    assert any("Convolution" in name for name in classes(windows()))
    assert not any("Convolution" in name for name in classes(native_minimal(windows())))
    plain = training_step()
    assert native_minimal(plain) is plain


def test_what_is_ready_for_the_cpu_stays_as_it_is():
    """The pads that windows are read from keep their order: a second walk would make them in that of the argument."""
    last, f = nv.Parameter(nv.float32, (16, 36, 36, 24)), nv.Parameter(nv.float32, (40, 24, 5, 5))
    x = ops.Permute(last, (0, 3, 1, 2)).output
    slid = ops.Convolution(x, f, paddings=[(2, 2), (2, 2)])
    results = [slid.output, *slid.vjp(slid.output, x, f)]
    images = Function([ops.Permute(result, (0, 2, 3, 1)) for result in results], [last, f])
    for function in (images, windows(), training_step()):
        ready = native(function, evaluate)
        assert native_minimal(ready) is ready


def test_supported_composites_are_kept():
    x = nv.Parameter(nv.float32, (4,))
    function = Function([ops.Softmax(twice_negated(x), [0])], [x])
    after = standard(function, evaluate, lambda op_class: op_class is ops.Softmax)
    assert classes(after) == ["Softmax"]


# -- random graphs -----------------------------------------------------------------------------------------

UNARY = (ops.Negative, ops.Absolute, ops.Exp, ops.Tanh, ops.Floor, ops.Round, ops.Sign, ops.Square, ops.Relu,
         ops.StopGradient, ops.Sigmoid, ops.Sqrt, ops.LogicalNot, ops.BitwiseNot, ops.IsNan, ops.IsFinite)
BINARY = (ops.Add, ops.Subtract, ops.Multiply, ops.Divide, ops.FloorDivide, ops.Mod, ops.Power, ops.Maximum,
          ops.Minimum, ops.Equal, ops.Less, ops.LessEqual, ops.NotEqual, ops.LogicalAnd, ops.LogicalOr, ops.LogicalXor,
          ops.BitwiseAnd, ops.BitwiseOr, ops.BitwiseXor, ops.ShiftLeft, ops.ShiftRight, ops.SquaredDifference)
KINDS = ("unary", "binary", "binary", "number", "number", "full", "where", "view", "reduce", "convert")
SHAPES = ((3, 4), (3, 4), (4, 3), ())
DTYPES = (nv.float32, nv.float64, nv.float16, nv.int8, nv.uint8, nv.int32, nv.bool_)
NUMBERS = (0, 1, -1, 2, -0.0, 0.5, 4.0, float("inf"), float("nan"))


@st.composite
def graphs(draw):
    """A function of up to three parameters: elementwise ops on numbers and tensors, views, reductions, conversions."""
    dtype = draw(st.sampled_from(DTYPES))
    parameters = [nv.Parameter(dtype, draw(st.sampled_from(SHAPES))) for _ in range(draw(st.integers(1, 3)))]
    values = [op.value for op in parameters]
    for _ in range(draw(st.integers(3, 25))):
        try:
            op = draw_op(draw, values)
        except NervureError:
            continue
        values.append(op.output)
    results = [value for value in values[len(parameters):] if draw(st.booleans())]
    return Function(results or values[-1:], parameters)


def draw_op(draw, values):
    x = draw(st.sampled_from(values))
    kind = draw(st.sampled_from(KINDS))
    peers = [value for value in values if value.type == x.type]
    if kind == "unary":
        return draw(st.sampled_from(UNARY))(x)
    if kind == "binary":
        return draw(st.sampled_from(BINARY))(x, draw(st.sampled_from(peers)))
    if kind == "number":
        number = x.full(draw(st.sampled_from(NUMBERS)))
        return draw(st.sampled_from(BINARY))(*draw(st.permutations([x, number])))
    if kind == "full":
        return ops.Full(draw(st.sampled_from(NUMBERS)), x.dtype, x.shape)
    if kind == "where":
        conditions = [value for value in values if value.dtype is nv.bool_ and value.shape == x.shape]
        condition = draw(st.sampled_from(conditions or [ops.Equal(x, x).output]))
        return ops.Where(condition, x, draw(st.sampled_from(peers)))
    if kind == "view":
        return draw_view(draw, x)
    if kind == "convert":
        return ops.Convert(x, draw(st.sampled_from(DTYPES)), draw(st.sampled_from(["saturate", "wrap"])))
    axes = [d for d in range(x.rank) if draw(st.booleans())]
    return draw(st.sampled_from([ops.Sum, ops.Max, ops.Min, ops.Any, ops.Prod, ops.Softmax]))(x, axes)


def draw_view(draw, x):
    kind = draw(st.sampled_from(["permute", "reverse", "slice", "broadcast", "reshape", "pad"]))
    if kind == "permute":
        return ops.Permute(x, draw(st.permutations(range(x.rank))))
    if kind == "reverse":
        return ops.Reverse(x, [d for d in range(x.rank) if draw(st.booleans())])
    if kind == "slice":
        return ops.Slice(x, [draw(st.sampled_from([(0, n, 1), (n - 1, n, -1), (0, min(n, 3), 1)])) for n in x.shape])
    if kind == "broadcast":
        return ops.Broadcast(x, (2, *x.shape), (0,))
    if kind == "reshape":
        return ops.Reshape(x, x.shape[::-1])
    paddings = [(draw(st.integers(0, 1)), draw(st.integers(-1, 1))) for _ in x.shape]
    return ops.Pad(x, paddings, draw(st.sampled_from([0, 1])))


@settings(max_examples=300)
@given(graphs(), st.integers(0, 1000))
def test_random_graphs_with_passes_on_and_off(function, seed):
    rng = np.random.default_rng(seed)
    arrays = [rng.choice(special_values(op.dtype), op.shape) for op in function.parameters]
    after = standard(function, evaluate)
    verify(after)
    assert not any(isinstance(op, Composite) for op in after.operations)
    assert_agree(function, after, arrays, print_function(function))


@pytest.mark.parametrize("length", [1_000, LONG])
def test_long_graphs(length):
    """A chain, and many short expressions side by side: no recursion, and nothing is lost."""
    a, b = nv.Parameter(nv.float32, (2,)), nv.Parameter(nv.float32, (2,))
    value, wide = a.value, []
    for number in range(length // 10):
        value = ops.Tanh(value * 1.0 + b).output
        wide.append(twice_negated(a * float(number + 2)))
    function = Function([value, *wide], [a, b])
    after = standard(function, evaluate)
    assert len(after.operations) == 2 + 2 * (length // 10) + 2 * (length // 10)
    if length < 10_000:
        assert_agree(function, after, [np.float32([1, -2]), np.float32([0.5, 3])])
