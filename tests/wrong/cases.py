"""The mistakes that people make most, one small program each; ``golden/NAME.txt`` has what NAME is told, and names the
line that is marked ``# here``.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import nervure as nv
from nervure import ops
from nervure.ir import field
from nervure.ir.kinds import Elementwise
from nervure.ir.op import Op
from nervure.ir.parser import parse_function


class Case(NamedTuple):
    """A program that fails, and the kind of its error."""

    program: Callable[[], object]
    kind: type[Exception]


CASES: dict[str, Case] = {}


def fails(kind: type[Exception]) -> Callable[[Callable[[], object]], Callable[[], object]]:
    """Registers a program under its own name."""
    def register(program: Callable[[], object]) -> Callable[[], object]:
        CASES[program.__name__] = Case(program, kind)
        return program
    return register


def matrix() -> nv.Tensor:
    return nv.placeholder("height=28, width=32")


# -- axes ----------------------------------------------------------------------------------------------------------


@fails(nv.AxisMismatch)
def unknown_axis_name():
    nv.sum(matrix(), "hight")  # here


@fails(nv.AxisMismatch)
def unknown_axis():
    nv.sum(matrix(), nv.axis("depth", 3))  # here


@fails(nv.WrongKind)
def values_for_axes():
    nv.variable(np.ones((2, 3), np.float32))  # here


@fails(nv.AxisMismatch)
def axis_with_two_lengths():
    matrix() + nv.placeholder("width=31")  # here


@fails(nv.AxisMismatch)
def axis_with_two_lengths_in_dot():
    nv.dot(matrix(), nv.placeholder("width=31, K=10"))  # here


@fails(nv.AxisMismatch)
def dot_that_contracts_nothing():
    nv.dot(nv.placeholder("N=32, F=784"), nv.placeholder("F=784, K=10").T)  # here


@fails(nv.AxisMismatch)
def anonymous_operand():
    matrix() + nv.placeholder((32,))  # here


@fails(nv.AxisMismatch)
def matrix_without_names_in_dot():
    nv.placeholder("N=3, F=3") @ np.ones((3, 3))  # here


@fails(nv.InvalidArgument)
def axis_given_twice():
    nv.placeholder("H=3, W=4, H=3")  # here


@fails(nv.InvalidArgument)
def axis_without_length():
    nv.placeholder("H, W=4")  # here


@fails(nv.AxisMismatch)
def broadcast_to_too_few_axes():
    nv.broadcast(matrix(), "N=2, width=32")  # here


@fails(nv.InvalidArgument)
def reduction_axes_that_overlap():
    nv.sum(matrix(), reduction_axes="height", out_axes="height")  # here


# -- shapes and element types ----------------------------------------------------------------------------------------


@fails(nv.ShapeMismatch)
def shapes_that_do_not_broadcast():
    nv.placeholder((2, 3)) + nv.placeholder((2, 4))  # here


@fails(nv.ShapeMismatch)
def core_shapes_differ():
    ops.Add(nv.Parameter(nv.float32, (2, 3)), nv.Parameter(nv.float32, (3, 2)))  # here


@fails(nv.DtypeMismatch)
def core_types_differ():
    ops.Add(nv.Parameter(nv.float32, (3,)), nv.Parameter(nv.float64, (3,)))  # here


@fails(nv.ShapeMismatch)
def matrices_that_do_not_fit():
    nv.placeholder((2, 3)) @ nv.placeholder((4, 5))  # here


@fails(nv.WrongKind)
def types_without_a_common_one():
    nv.placeholder((2,), nv.uint64) + nv.placeholder((2,), nv.int32)  # here


@fails(nv.WrongKind)
def unknown_element_type():
    nv.placeholder((2,), dtype="flot32")  # here


@fails(nv.ShapeMismatch)
def reshape_to_another_size():
    nv.placeholder((2, 3)).reshape(4, 2)  # here


@fails(nv.InvalidArgument)
def too_many_indices():
    nv.placeholder((2, 3))[0, 1, 2]  # here


@fails(nv.IndexOutOfRange)
def index_out_of_range_when_built():
    nv.placeholder((2, 3))[5]  # here


@fails(nv.InvalidArgument)
def maximum_of_nothing():
    nv.max(nv.placeholder((0, 3)), axis=0)  # here


@fails(nv.ShapeMismatch)
def value_of_another_shape():
    nv.variable("H=3", [1.0, 2.0])  # here


@fails(nv.ShapeMismatch)
def einsum_term_of_another_rank():
    nv.einsum("ij,jk->ik", nv.placeholder((2, 3)), nv.placeholder((3, 4, 5)))  # here


@fails(nv.WrongKind)
def sum_of_a_type_that_does_not_hold_its_operands():
    nv.matmul(np.ones((2, 2), np.float32), np.ones((2, 2), np.float32), dtype=nv.int32)  # here


@fails(nv.AxisMismatch)
def einsum_of_unknown_axis():
    nv.einsum("height widht, width K -> height K", matrix(), nv.placeholder("width=32, K=4"))  # here


@fails(nv.AxisMismatch)
def convolution_of_other_channels():
    image, filters = nv.placeholder("N=8, C=3, H=32, W=32"), nv.placeholder("C=4, H=3, W=3, K=16")
    nv.convolution(image, filters, ["H", "W"])  # here


@fails(nv.InvalidArgument)
def softmax_along_which_axes():
    nv.softmax(nv.placeholder((32, 10)))  # here


# -- operands ------------------------------------------------------------------------------------------------------


@fails(nv.WrongKind)
def text_as_operand():
    nv.exp("3")  # here


@fails(nv.WrongKind)
def list_of_words():
    nv.constant(["cat", "dog"])  # here


@fails(nv.InvalidArgument)
def ragged_list():
    nv.constant([[1, 2], [3]])  # here


@fails(nv.InvalidArgument)
def operand_without_value():
    x = nv.variable((), 1.0)
    nv.exp(nv.assign(x, 2.0))  # here


@fails(nv.WrongKind)
def pickled_tensor():
    pickle.dumps(nv.variable((), 1.0))  # here


@fails(nv.WrongKind)
def copied_tensor():
    copy.deepcopy(nv.variable((), 1.0))  # here


@fails(AttributeError)
def unknown_function():
    nv.sofmax(matrix())  # here


# -- assignment ----------------------------------------------------------------------------------------------------


@fails(nv.InvalidArgument)
def assignment_to_a_constant():
    nv.assign(nv.constant([1.0, 2.0]), 0.0)  # here


@fails(nv.InvalidArgument)
def assignment_to_an_expression():
    nv.assign(nv.variable((), 1.0) * 2, 0.0)  # here


@fails(nv.InvalidArgument)
def assignment_to_a_broadcast():
    nv.assign(nv.broadcast(nv.variable("H=3"), "N=2, H=3"), 0.0)  # here


@fails(nv.AxisMismatch)
def assignment_of_more_axes():
    nv.assign(nv.variable("width=32"), matrix())  # here


@fails(nv.InvalidArgument)
def writes_that_overlap():
    x = nv.variable("H=4").named("x")
    one = nv.assign(x[:3], 1.0)
    two = nv.assign(x[2:], 2.0)  # here
    nv.computation(nv.doall([one, two]))


# -- computations --------------------------------------------------------------------------------------------------


@fails(nv.InvalidArgument)
def missing_placeholder():
    nv.computation(nv.exp(nv.placeholder("H=3").named("image")))  # here


@fails(nv.InvalidArgument)
def constant_as_parameter():
    x = nv.constant([1.0, 2.0])
    nv.computation(x + 1, x)  # here


@fails(nv.InvalidArgument)
def value_of_a_placeholder():
    nv.exp(nv.placeholder("H=3")).numpy()  # here


@fails(nv.InvalidArgument)
def wrong_number_of_arguments():
    x, y = nv.placeholder("H=3"), nv.placeholder("H=3")
    add = nv.computation(x + y, x, y)
    add(np.zeros(3))  # here


@fails(nv.ShapeMismatch)
def argument_of_another_shape():
    x = nv.placeholder("H=3, W=4").named("image")
    run = nv.computation(x + 1, x)
    run(np.zeros((4, 3), np.float32))  # here


@fails(nv.AxisMismatch)
def argument_of_other_axes():
    x = nv.placeholder("H=3, W=4").named("image")
    run = nv.computation(x + 1, x)
    run(nv.zeros("width=4, H=3"))  # here


@fails(nv.WrongKind)
def float_for_an_integer():
    x = nv.placeholder((3,), nv.int32)
    run = nv.computation(x + 1, x)
    run(np.array([1.5, 2.5, 3.5]))  # here


@fails(nv.InvalidArgument)
def integer_that_does_not_fit():
    x = nv.placeholder((3,), nv.int8)
    run = nv.computation(x + 1, x)
    run(np.array([1, 2, 300]))  # here


@fails(nv.InvalidArgument)
def unknown_key_in_feed_dict():
    x = nv.placeholder((3,)).named("image")
    run = nv.computation(x + 1, x)
    run(feed_dict={x: np.zeros(3), "imag": 1})  # here


@fails(nv.InvalidArgument)
def missing_key_in_feed_dict():
    x, y = nv.placeholder((3,)).named("x"), nv.placeholder((3,)).named("y")
    run = nv.computation(x + y, x, y)
    run(feed_dict={x: np.zeros(3)})  # here


@fails(nv.IndexOutOfRange)
def index_out_of_range_when_run():
    table, rows = nv.constant(np.zeros((10, 4))), nv.placeholder((3,), nv.int64)
    looked_up = nv.gather(table, rows, 0)  # here
    run = nv.computation(looked_up * 2, rows)
    run(np.array([0, 12, 3]))


@fails(nv.ShapeMismatch)
def symbol_with_two_values():
    x, y = nv.placeholder("N=n, H=3"), nv.placeholder("N=n")
    run = nv.computation([x * 2, y * 2], x, y)
    run(np.zeros((4, 3)), np.zeros(5))  # here


@fails(nv.ShapeMismatch)
def assumption_that_does_not_hold():
    x, y = nv.placeholder("N=n, H=3"), nv.placeholder("N=m, H=3")
    total = x + y  # here
    run = nv.computation(total, x, y)
    run(np.zeros((4, 3)), np.zeros((5, 3)))


@fails(nv.InvalidArgument)
def unbound_symbol():
    run = nv.computation(nv.zeros([nv.dim("n")]) + 1)
    run()  # here


@fails(nv.InvalidArgument)
def symbol_out_of_bounds():
    x = nv.placeholder([nv.dim("n", min=1, max=4)])
    run = nv.computation(x + 1, x)
    run(np.zeros(5))  # here


@fails(nv.InvalidArgument)
def too_large_for_this_machine():
    x = nv.placeholder((1,))
    run = nv.computation(nv.broadcast(x.reshape(()), (1 << 30, 1 << 20)) * 2, x)  # here
    with nv.flags.overriding(memory_limit=1 << 30):
        run(np.zeros(1))


@fails(nv.InvalidArgument)
def too_large_for_any_machine():
    nv.placeholder((1 << 40, 1 << 40))  # here


@fails(nv.InvalidArgument)
def result_array_that_is_an_argument():
    x = nv.Parameter(nv.float32, (3,))
    run = nv.transformers.make_transformer("interpreter").compile(nv.Function([ops.Exp(x)], [x]))
    array = np.zeros(3, np.float32)
    run(array, out=[array])  # here


@fails(nv.InvalidArgument)
def unknown_transformer():
    nv.transformers.make_transformer("interpretr")  # here


@fails(nv.InvalidArgument)
def closed_transformer():
    with nv.transformers.make_transformer("interpreter") as transformer:
        run = transformer.computation(nv.variable((), 1.0) + 1)
    run()  # here


@fails(nv.InvalidArgument)
def seed_out_of_range():
    nv.seed(-1)  # here


@fails(nv.NumericError)
def nan_that_was_asked_about():
    x = nv.placeholder((2,))
    root = nv.sqrt(x - 1)  # here
    run = nv.computation(nv.sum(root * 2), x)
    with nv.flags.overriding(check_nan=True):
        run(np.array([5.0, 0.0]))


# -- tracing -------------------------------------------------------------------------------------------------------


@fails(nv.WrongKind)
def truth_while_tracing():
    @nv.jit
    def relu(x):
        return x if x > 0 else 0 * x  # here
    relu(np.array(3, np.float32))


@fails(nv.WrongKind)
def number_while_tracing():
    @nv.jit
    def zeros(n):
        return nv.zeros((n, 2))  # here
    zeros(3)


@fails(nv.InvalidArgument)
def unknown_argument_of_jit():
    def scaled(x, scale):
        return x * scale
    nv.jit(scaled, static="scal")  # here


@fails(nv.WrongKind)
def call_of_jit_with_too_much():
    @nv.jit
    def double(x):
        return 2 * x
    double(1.0, 2.0)  # here


# -- derivatives ---------------------------------------------------------------------------------------------------


@fails(nv.InvalidArgument)
def derivative_of_a_vector():
    x = nv.variable("H=3")
    nv.deriv(x * x, x)  # here


@fails(nv.WrongKind)
def derivative_of_integers():
    x = nv.variable("H=3", np.arange(3))
    nv.deriv(nv.sum(x * x), x)  # here


@fails(nv.NotSupported)
def op_without_derivative():
    class Staircase(Elementwise):
        """The floor, whose author wrote no derivative."""

        operand_names = "x"

        def evaluate(self, s, *elements):
            return s.floor(*elements)
    x = nv.variable((), 1.5)
    y = nv.Tensor(Staircase(x.value))  # here
    nv.deriv(y * y, x)


@fails(nv.InvalidArgument)
def custom_derivative_of_another_length():
    @nv.custom_vjp
    def multiply(x, y):
        return x * y

    @multiply.defvjp
    def multiply_gradient(gradient, x, y):
        return [gradient * y]
    x, y = nv.variable((), 2.0), nv.variable((), 3.0)
    nv.deriv(multiply(x, y), x)  # here


@fails(nv.WrongKind)
def argument_by_another_name():
    x = matrix().named("x")
    step = nv.computation(x + 1, x)
    step(y=np.ones((28, 32)))  # here


@fails(nv.WrongKind)
def pickled_transformer():
    pickle.dumps(nv.transformers.make_transformer("interpreter"))  # here


# -- what is immutable ---------------------------------------------------------------------------------------------


@fails(nv.Immutable)
def attribute_of_an_op_set():
    op = ops.Sum(nv.Parameter(nv.float32, (2, 3)), (0,))
    op.axes = (1,)  # here


@fails(nv.Immutable)
def attribute_set_in_a_type_rule():
    class Flip(Op):
        """An op whose author brings its axis into range where it is read."""

        operand_names = "x"
        axis = field.integer(-1)

        def infer(self, *types):
            self.axis %= len(types[0].shape)  # here
            return types[0]
    Flip(nv.Parameter(nv.float32, (3,)))


@fails(nv.Immutable)
def operands_of_an_op_set():
    x = nv.Parameter(nv.float32, (3,))
    op = ops.Exp(x)
    op.operands = (op.output,)  # here


@fails(nv.Immutable)
def results_of_a_function_set():
    x = nv.Parameter(nv.float32, (3,))
    function = nv.Function([x], [x])
    function.results = ()  # here


@fails(nv.Immutable)
def axes_of_a_tensor_set():
    x = matrix()
    x.axes = nv.make_axes("H=28, W=32")  # here


@fails(nv.Immutable)
def type_of_a_variable_set():
    w = nv.variable("H=2")
    w.variable.type = nv.Parameter(nv.float32, (3,)).type  # here


# -- calls inside of calls -----------------------------------------------------------------------------------------


@fails(nv.InUse)
def variable_changed_inside_of_a_call():
    w = nv.variable((), 1.0).named("w")
    increase = nv.computation(nv.assign(w, w + 1.0))

    def function(array):
        increase()  # here
        return array
    called = nv.host_call(function, [w], like=w)
    nv.computation([called, nv.assign(w, w * 2.0)])()


@fails(nv.InvalidArgument)
def initial_value_of_itself():
    w = nv.variable((2,), lambda axes: nv.evaluate([w])[0]).named("w")  # here
    w.numpy()


# -- functions and text --------------------------------------------------------------------------------------------


@fails(nv.InvalidArgument)
def parameter_that_is_not_listed():
    x, y = nv.Parameter(nv.float32, (3,)), nv.Parameter(nv.float32, (3,))  # here
    nv.Function([ops.Add(x, y)], [x])


@fails(nv.InvalidArgument)
def parameter_listed_twice():
    x = nv.Parameter(nv.float32, (3,))  # here
    nv.Function([ops.Exp(x)], [x, x])


TEXT = """nervure 1
function f(%x: f32[3]) {
  f32[3] %0 = OP(%OPERAND)
  return %0
}
"""


@fails(nv.FormatError)
def text_with_an_unknown_name():
    parse_function(TEXT.replace("OPERAND", "y").replace("OP", "Exp"))  # here


@fails(nv.FormatError)
def text_with_an_unknown_op():
    parse_function(TEXT.replace("OPERAND", "x").replace("OP", "Expp"))  # here
