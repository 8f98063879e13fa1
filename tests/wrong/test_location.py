"""Errors that come late, after all passes or while a computation runs, name the line that built what failed.

Such a line has a comment with a word of its own; ``told`` gives the word of the line that an error names.
"""

from __future__ import annotations

import functools
import linecache
import threading

import numpy as np
import pytest

import nervure as nv
from nervure import ops


def told(error: nv.NervureError) -> str:
    """The comment on the line of this file that an error names."""
    assert error.location.file == __file__, error
    return linecache.getline(__file__, error.location.line).partition("  # ")[2].strip()


def failure(kind, call, *arguments):
    with pytest.raises(kind) as caught:
        call(*arguments)
    return caught.value


def looked_up(table, rows):
    return nv.gather(nv.tanh(table) * 1.0, rows, "V")  # the helper


class Encoder:
    """A layer, as users write them: tensors are made far from where they are used."""

    def __init__(self) -> None:
        self.table = nv.variable("V=10, F=4", 1.0)

    def __call__(self, rows):
        return [self.layer(rows) for _ in range(2)][1]

    def layer(self, rows):
        return functools.reduce(lambda x, step: step(x), [nv.tanh, nv.exp], looked_up(self.table, rows))


# -- an index out of range: found when the graph runs, and nothing has been changed ----------------------------


def test_an_index_after_all_passes():
    table, rows = nv.variable("V=10, F=4", 1.0), nv.placeholder("N=3", nv.int64)
    chosen = nv.gather(nv.tanh(table * 2.0 + 0.0), rows, "V")  # gather
    run = nv.computation([nv.assign(table, table + 1), nv.sum(chosen * 1.0, out_axes=())], rows)
    error = failure(nv.IndexOutOfRange, run, np.array([0, 10, 3]))
    assert told(error) == "gather"
    assert (error.op, error.operand) == ("Gather", "2 (index)")
    assert (error.got, error.expected) == ("10 at position (1,)", "-10 to 9")
    assert (table.numpy() == 1).all()
    run(np.array([0, 9, 3]))
    assert (table.numpy() == 2).all()


def test_an_index_through_helpers_and_methods():
    encoder, rows = Encoder(), nv.placeholder("N=3", nv.int64)
    run = nv.computation(encoder(rows), rows)
    assert told(failure(nv.IndexOutOfRange, run, np.array([0, 1, -11]))) == "the helper"


def test_an_index_through_jit():
    @nv.jit
    def encode(table, rows):
        return table[rows] * 2  # jit

    table = np.ones((10, 4), np.float32)
    assert encode(table, np.array([1, 2])).shape == (2, 4)
    error = failure(nv.IndexOutOfRange, encode, table, np.array([1, 20]))
    assert told(error) == "jit" and error.got == "20 at position (1,)"


def test_an_index_through_the_gradient():
    def loss(table, rows):
        return nv.sum(table[rows] ** 2)  # loss

    gradient = nv.grad(loss)
    table = np.ones((10, 4), np.float32)
    assert gradient(table, np.array([1, 2])).shape == (10, 4)
    assert told(failure(nv.IndexOutOfRange, gradient, table, np.array([-20]))) == "loss"


@pytest.mark.parametrize("build", [
    lambda x, rows: nv.scatter(x, rows, 1.0, 0),  # build
    lambda x, rows: nv.lookuptable(x, rows),  # build
    lambda x, rows: nv.one_hot(rows, 10),  # build
    lambda x, rows: nv.gather_nd(x, rows.reshape(3, 1)),  # build
    lambda x, rows: x.at[rows].add(1.0),  # build
])
def test_whatever_is_indexed(build):
    x, rows = nv.variable((10, 4), 1.0), nv.placeholder((3,), nv.int64)
    run = nv.computation([nv.assign(x, 7.0), build(x, rows)], rows)
    error = failure(nv.IndexOutOfRange, run, np.array([0, 3, 99]))
    assert told(error) == "build" and error.got.startswith("99 at position (2") and error.help
    assert (x.numpy() == 1).all()


def test_a_function_of_the_core():
    x, rows = nv.Parameter(nv.float32, (10, 4)), nv.Parameter(nv.int32, (3,))
    chosen = ops.Gather(ops.Exp(x), rows, axis=0)  # core
    run = nv.transformers.make_transformer("interpreter").compile(nv.Function([ops.Exp(chosen)], [x, rows]))
    out = np.full((3, 4), 5.0, np.float32)
    with pytest.raises(nv.IndexOutOfRange) as caught:
        run(np.zeros((10, 4), np.float32), np.array([10, 0, 0], np.int32), out=[out])
    assert told(caught.value) == "core" and (out == 5).all()


# -- a NaN that was asked about --------------------------------------------------------------------------------


def test_a_nan_names_op_and_line():
    x = nv.placeholder("H=3")
    w = nv.variable("H=3", 1.0)
    logarithm = nv.log(x - 1.0)  # log
    run = nv.computation([nv.assign(w, w + 1), nv.sum(nv.exp(logarithm) * 0.5, out_axes=())], x)
    with nv.flags.overriding(check_nan=True):
        run(np.float32([2, 3, 4]))
        error = failure(nv.NumericError, run, np.float32([2, 0, 4]))
    assert told(error) == "log" and error.op == "Log" and (w.numpy() == 2).all()
    assert np.isnan(run(np.float32([2, 0, 4]))[1])


def test_a_nan_inside_a_composite():
    x = nv.placeholder("H=3")
    deviation = nv.variance(x, "H")  # variance
    run = nv.computation(deviation * 2, x)
    with nv.flags.overriding(check_nan=True):
        assert told(failure(nv.NumericError, run, np.float32([np.inf, 1, 2]))) == "variance"


def test_a_nan_in_a_derivative_names_the_line_of_its_function():
    x = nv.placeholder("H=2")
    y = nv.sqrt(x) * 0.0  # sqrt
    run = nv.computation(nv.deriv(nv.sum(y, out_axes=()), x), x)
    with nv.flags.overriding(check_nan=True):
        assert told(failure(nv.NumericError, run, np.float32([0, 1]))) == "sqrt"


# -- assumptions, sizes, guards, functions of the host ---------------------------------------------------------


def test_an_assumption_names_the_op_that_needs_it():
    x, y = nv.placeholder([nv.dim("n"), 3]), nv.placeholder([nv.dim("m"), 3])
    total = nv.exp(x) * y  # assumes
    run = nv.computation(nv.sum(total + 1), x, y)
    assert told(failure(nv.ShapeMismatch, run, np.ones((2, 3)), np.ones((4, 3)))) == "assumes"


def test_a_length_that_would_be_negative():
    x = nv.placeholder([nv.dim("n")])
    cropped = nv.pad(x, [(-2, -2)])  # crop
    run = nv.computation(nv.exp(cropped), x)
    assert run(np.ones(5)).shape == (1,)
    assert told(failure(nv.NervureError, run, np.ones(3))) == "crop"


def test_memory_names_the_largest_value():
    x = nv.placeholder((1,))
    large = nv.exp(nv.broadcast(x.reshape(()), (1000, 1000)))  # large
    run = nv.computation(large, x)
    with nv.flags.overriding(memory_limit=1_000_000):
        assert told(failure(nv.InvalidArgument, run, np.ones(1))) == "large"


def test_a_guard():
    x = nv.Parameter(nv.bool_, (3,))
    guard = ops.Guard(x, message="diverged")  # guard
    run = nv.transformers.make_transformer("interpreter").compile(nv.Function([], [x], effects=[guard]))
    error = failure(nv.InvalidArgument, run, np.array([True, False, True]))
    assert told(error) == "guard" and error.message == "diverged" and error.got == "false at position (1,)"


def test_a_host_function_that_returns_something_else():
    x = nv.placeholder((3,))
    called = nv.host_call(lambda array: array[:2], [x], x)  # host
    assert told(failure(nv.ShapeMismatch, nv.computation(called + 1, x), np.ones(3))) == "host"


def test_a_host_function_that_fails_keeps_its_error_and_says_where_it_was_built():
    def fail(array):
        raise KeyError("mine")

    x = nv.placeholder((3,))
    called = nv.host_call(fail, [x], x)  # fails
    error = failure(KeyError, nv.computation(called + 1, x), np.ones(3))
    place, = [note for note in error.__notes__ if "built at" in note]
    number = int(place.rpartition(":")[2])
    assert __file__ in place and linecache.getline(__file__, number).strip().endswith("# fails")


# -- where the user's line is ----------------------------------------------------------------------------------


def test_functions_of_python_between_us_and_the_user_are_passed_over():
    x = nv.placeholder("H=3")
    with pytest.raises(nv.WrongKind) as caught:
        functools.partial(functools.partial(nv.add, x))(None)  # partial
    assert told(caught.value) == "partial"
    with pytest.raises(nv.WrongKind) as caught:
        list(map(nv.exp, ["a"]))  # map
    assert told(caught.value) == "map"
    with pytest.raises(nv.WrongKind) as caught:
        __import__("copy").copy(x)  # copy
    assert told(caught.value) == "copy"


def test_a_thread_has_its_own_line():
    found = []

    def work() -> None:
        try:
            nv.exp(None)  # thread
        except nv.NervureError as error:
            found.append(error)

    worker = threading.Thread(target=work)
    worker.start()
    worker.join()
    assert told(found[0]) == "thread"


def test_an_initial_value_names_the_call_that_computes_it():
    w = nv.variable("H=3", initial_value=lambda axes: np.zeros(5))
    error = failure(nv.ShapeMismatch, lambda: w.numpy())  # first use
    assert told(error) == "first use"


def test_a_loaded_computation_names_the_line_of_its_text(tmp_path):
    x, rows, path = nv.variable((10, 4), 1.0), nv.placeholder((3,), nv.int64), tmp_path / "model.safetensors"
    nv.save(path, nv.computation(nv.gather(x, rows, 0) * 2, rows))
    error = failure(nv.IndexOutOfRange, nv.load(path), np.array([10, 0, 0]))
    assert error.op == "Gather" and error.location.file == str(path)
