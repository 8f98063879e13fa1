"""Effects: which state each read sees. The numbers are claims of docs/axes.md."""

from __future__ import annotations

import importlib
import inspect
import warnings

import numpy as np
import pytest

import nervure as nv
from nervure import _WHOLE
from nervure.front.methods import METHODS


def run(returns, *parameters):
    """Computes on a transformer of its own, so that no test sees another's state."""
    with nv.transformers.make_transformer("interpreter") as transformer:
        return transformer.computation(returns, *parameters)()


def numbers(results):
    return [None if entry is None else entry.tolist() for entry in results]


def scalar(value):
    return nv.persistent_tensor((), value)


def test_each_mention_is_a_new_read():
    """A200: two mentions of a variable are two op instances."""
    x = scalar(1.0)
    assert x.value is not x.value
    assert (x + x).value.op.operands[0] is not (x + x).value.op.operands[1]


def test_a_read_stands_at_the_line_of_the_mention():
    w = nv.variable("H=2").named("w")
    with nv.name_scope("layer"):
        mentioned = w + 1
        line = inspect.currentframe().f_lineno - 1
    function = nv.computation([mentioned, nv.assign(w, mentioned)]).optimised
    read = next(op for op in function.operations if type(op) is nv.ops.ReadVariable)
    assert read.location == (__file__, line) and read.provenance.scope == "layer" and read.name == "w"


def test_a_derivative_uses_the_reads_of_its_function():
    """A201: a derivative makes no reads of its own."""
    from nervure.ir.leaves import ReadVariable
    from nervure.ir.traverse import postorder
    x = nv.variable((), 3.0)
    f = x * x
    reads = {op for op in postorder([f.value]) if type(op) is ReadVariable}
    found = {op for op in postorder([nv.deriv(f, x).value]) if type(op) is ReadVariable}
    assert found == reads


def test_derivatives_of_one_function_see_one_state():
    """A202: the reads below f take place with f or its first derivative; in sequence or side by side gives the same."""
    def updated(effect):
        w1, w2 = nv.variable((), 2.0), nv.variable((), 5.0)
        loss = w1 * w1 * w2 * w2
        g1, g2 = nv.deriv(loss, w1), nv.deriv(loss, w2)
        members = [nv.assign(w2, w2 - g2), nv.assign(w1, w1 - g1)]
        return numbers(run([effect(members), w1, w2]))
    assert updated(nv.sequential) == updated(nv.doall) == [None, 2.0 - 2 * 2 * 25, 5.0 - 2 * 5 * 4]


def test_sequential_places_members_in_order():
    """A203, A204: an op instance runs once, at its first place; the value is the last member's."""
    x = scalar(0.0)
    x0, x1 = x + x, x + x
    assert run(nv.sequential([x0, nv.assign(x, 2), x1, x0])).item() == 0.0
    x = scalar(0.0)
    x0, x1 = x + x, x + x
    sequence = nv.sequential([x0, nv.assign(x, 2), x1, x0])
    assert numbers(run([sequence, x0, x1])) == [0.0, 0.0, 4.0]


def test_a_list_of_returns_is_a_sequence():
    """A205, A212: a variable among the returns gives its final value."""
    x = scalar(1.0)
    assert numbers(run([x + 1, nv.assign(x, 5), x + 1, x])) == [2.0, None, 6.0, 5.0]


UNCHANGED = {
    "+v": lambda v: +v, "T": lambda v: v.T, "transpose": lambda v: v.transpose(0),
    "np.transpose": np.transpose, "moveaxis": lambda v: np.moveaxis(v, 0, 0),
    "swapaxes": lambda v: np.swapaxes(v, 0, 0), "axes_with_order": lambda v: nv.axes_with_order(v, v.axes),
    "unflatten": nv.unflatten, "round": lambda v: nv.round(v, 2), "cast_axes": lambda v: nv.cast_axes(v, v.axes),
    "astype": lambda v: v.astype(v.dtype), "v[:]": lambda v: v[:], "reshape": lambda v: v.reshape(-1),
    "dropout": lambda v: nv.dropout(v, 0.0).astype(v.dtype), "Identity": nv.nn.Identity(),
    "Sequential": nv.nn.Sequential(),
    "Dropout": nv.nn.Dropout(0.5).eval(), "einsum": lambda v: nv.einsum("i->i", v)}


@pytest.mark.parametrize("function", UNCHANGED.values(), ids=UNCHANGED)
def test_what_changes_nothing_is_a_read_at_its_place(function):
    """A280: so does the whole slice; only the variable itself, A212, has its final value."""
    v = nv.persistent_tensor((2,), np.array([1, 2]))
    before, _, after, final = run([function(v), nv.assign(v, v * 2), function(v), v])
    assert (before.tolist(), after.tolist(), final.tolist()) == ([1, 2], [2, 4], [2, 4])
    assert run([nv.value_of(function(v)), nv.assign(v, v * 2)])[0].tolist() == [1, 2]


def test_no_function_gives_the_place_that_it_was_given():
    """A280: every function and method with the arguments that change least."""
    shapes, types = ((), (1,), "H=2, W=3", "N=1", (1, 1)), (nv.float32, nv.int32, nv.bool_)
    given = [*[nv.variable(axes, 1) for axes in shapes], *[nv.variable((3,), 1, dtype) for dtype in types]]
    functions = {name: getattr(nv, name) for module in _WHOLE for name in importlib.import_module(module).__all__}
    functions |= {name: method for name, method in METHODS.items() if not isinstance(method, property)}
    functions |= {name: method.fget for name, method in METHODS.items() if name in ("T", "mT")}
    found, answered = set(), 0
    for name, function in functions.items():
        for v in [] if isinstance(function, type) or name in ("variables", "facet", "backward") else given:
            for rest in ((), (0,), (1,), (v.axes,), (v.shape,), ([],), (v.dtype,), (slice(None),), (None, None)):
                try:
                    result = function(v, *rest)
                except (nv.NervureError, TypeError, AttributeError):
                    continue
                answered += 1
                if v is result or isinstance(result, (list, tuple)) and any([v is entry for entry in result]):
                    found.add(name)
    assert not found and answered > 2500


def test_doall_sees_the_state_at_entry():
    """A206: all reads of doall see the state at entry, all writes land at the end."""
    x, y = scalar(1.0), scalar(2.0)
    assert numbers(run([nv.doall([nv.assign(x, y), nv.assign(y, x)]), x, y])) == [None, 2.0, 1.0]


def test_a_set_of_returns_takes_place_side_by_side():
    """A207: a set gives a dict, and its reads see the state at entry."""
    x = scalar(1.0)
    doubled, effect = x * 2, nv.assign(x, 10.0)
    result = run({doubled, effect})
    assert result[doubled].item() == 2.0 and result[effect] is None


def test_two_writes_side_by_side_name_both():
    """A208: two writes of doall that may touch one element are a ValueError; disjoint views are not."""
    x = nv.persistent_tensor((4,), 0.0)
    with pytest.raises(ValueError, match="side by side") as caught:
        run(nv.doall([nv.assign(x, 1.0), nv.assign(x[1:3], 2.0)]))
    assert str(caught.value.got).count("test_effects.py") == 2
    effect = nv.doall([nv.assign(x[:2], 1.0), nv.assign(x[2:], 2.0)])
    assert run([effect, x])[1].tolist() == [1.0, 1.0, 2.0, 2.0]
    interleaved = nv.doall([nv.assign(x[::2], 1.0), nv.assign(x[1::2], 2.0)])
    assert run([interleaved, x])[1].tolist() == [1.0, 2.0, 1.0, 2.0]


@pytest.mark.parametrize("make", [
    lambda x: nv.assign(x, 1.0), lambda x: nv.fill(x, 1.0), lambda x: nv.set_item(x, 0, 1.0), lambda x: nv.doall([])],
    ids=["assign", "fill", "set_item", "doall"])
def test_effects_have_no_value(make):
    """A209: None among results, ValueError as an operand."""
    x = nv.persistent_tensor((2,), 0.0)
    assert run([make(x), x])[0] is None
    with pytest.raises(ValueError, match="has no value"):
        nv.exp(make(x))
    for use in (lambda: make(x) + 1, lambda: 2 * make(x), lambda: x - make(x), lambda: -make(x),
                lambda: np.ones(2) + make(x), lambda: make(x) @ x, lambda: make(x) > 0):
        with pytest.raises(ValueError, match="has no value"):
            use()


@pytest.mark.parametrize("write", [
    nv.assign, nv.fill, lambda x, y: nv.set_item(x, 0, y), lambda x, y: x.at[0].set(y), lambda x, y: x.at[0].add(y),
    lambda x, y: nv.scatter(x, [0], y, 0)], ids=["assign", "fill", "set_item", "at.set", "at.add", "scatter"])
def test_what_is_written_converts_in_its_kind(write):
    """A216, A147: a fraction is not cut to an integer, a number that does not fit is not clamped."""
    integers, small = nv.persistent_tensor((2,), dtype=nv.int32), nv.persistent_tensor((2,), dtype=nv.int8)
    for value in (0.5, np.float64(0.5), 1j):
        with pytest.raises(TypeError) as caught:
            write(integers, value)
        assert caught.value.got == repr(value) and caught.value.expected == "int32"
    with pytest.raises(ValueError, match="does not fit int8"):
        write(small, 300)
    with pytest.raises(TypeError, match="does not convert"):
        write(nv.persistent_tensor((2,), dtype=nv.bool_), 1)
    write(integers, True), write(integers, np.int64(3)), write(nv.persistent_tensor((2,)), 3)


def test_known_integers_are_written_as_integers():
    """A216: lists and arrays of integers that fit a narrower type are not taken for float32 or int64."""
    x = nv.persistent_tensor((2,), dtype=nv.int8)
    assert run([nv.assign(x, [1, 2]), x])[1].tolist() == [1, 2]
    assert run([nv.assign(x, np.array([3, 4])), x])[1].tolist() == [3, 4]
    with pytest.raises(ValueError, match="does not fit int8"):
        nv.assign(x, np.array([1, 300]))
    with pytest.raises(TypeError, match="does not convert"):
        nv.assign(x, [0.5, 1.0])
    with pytest.raises(TypeError, match="does not convert"):
        nv.assign(nv.persistent_tensor((2,), dtype=nv.int4), nv.placeholder((2,)))


def test_writes_go_through_views_to_the_base():
    """A210: slices, transposes, reversals and reshapes of a variable can be assigned."""
    x = nv.persistent_tensor((2, 3), 0.0)
    effect = nv.sequential([nv.assign(x.T[::-1, 1], [1.0, 2.0, 3.0]), nv.fill(x[0, 1:], 7.0),
                            nv.assign(nv.reshape(x, (6,))[0:1], 9.0)])
    expected = np.zeros((2, 3), np.float32)
    expected.T[::-1, 1] = [1, 2, 3]
    expected[0, 1:] = 7
    expected.reshape(6)[0:1] = 9
    np.testing.assert_array_equal(run([effect, x])[1], expected)


@pytest.mark.parametrize("view", [
    lambda x: nv.broadcast(x, (4, 3)), lambda x: nv.pad(x, 1), lambda x: nv.concat_along_axis([x, x], 0),
    lambda x: nv.pad(x, 1, mode="edge"), lambda x: x + 1, lambda x: nv.constant([1.0, 2.0, 3.0])],
    ids=["broadcast", "pad", "concat", "edge", "expression", "constant"])
def test_what_cannot_be_assigned(view):
    """A211: through a view that visits an element twice, a pad, a concatenation, an expression: ValueError."""
    with pytest.raises(ValueError):
        nv.assign(view(nv.persistent_tensor((3,), 0.0)), 1.0)


def test_a_placeholder_changes_for_the_run_only():
    """A213: the caller's array is never written."""
    x = nv.placeholder((3,))
    mine = np.ones(3, np.float32)
    with nv.transformers.make_transformer("interpreter") as transformer:
        changed = transformer.computation([nv.assign(x, x + 1), x * 10], x)
        assert changed(mine)[1].tolist() == [20.0] * 3
        assert changed(mine)[1].tolist() == [20.0] * 3
    assert mine.tolist() == [1.0] * 3


def test_value_of_captures():
    """A214: inside a sequence a variable is a read at that place; value_of captures it."""
    x = scalar(1.0)
    before = nv.value_of(x)
    assert numbers(run([nv.sequential([before, nv.assign(x, 5.0), x]), before])) == [5.0, 1.0]


def test_a_temporary_is_scratch():
    """A215: assigned and read inside a computation; reading it before is a ValueError."""
    t = nv.temporary(())
    assert run(nv.sequential([nv.assign(t, 3.0), t * 2])).item() == 6.0
    with pytest.raises(ValueError, match="before it has a value"):
        run(t + 1)


def test_the_value_is_broadcast_and_converted():
    """A216: the value's axes are a subset of the target's; narrowing kinds are refused."""
    x = nv.persistent_tensor("H=2, W=3", 0.0)
    row = nv.constant([1.0, 2.0, 3.0], axes="W=3")
    assert run([nv.assign(x, row), x])[1].tolist() == [[1.0, 2.0, 3.0]] * 2
    with pytest.raises(nv.AxisMismatch, match="the target lacks N"):
        nv.assign(x, nv.constant(np.zeros((4, 2)), axes="N=4, H=2"))
    with pytest.raises(TypeError):
        nv.assign(nv.persistent_tensor((), 0, dtype=nv.int32), nv.constant(1.5))


def test_print_op_prints_in_order_at_each_run(capsys):
    """A217: print_op prints each run and passes its operand on."""
    x = scalar(1.0)
    with nv.transformers.make_transformer("interpreter") as transformer:
        step = transformer.computation([nv.print_op(x, "before "), nv.assign(x, x + 1), nv.print_op(x * 10, "after ")])
        step()
        step()
    lines = capsys.readouterr().out.split("\n")
    assert [line.split()[0] for line in lines if line] == ["before", "after", "before", "after"]


def test_a_print_that_nothing_reads_warns():
    """A284: at its line, also in a function that is traced; one that is read, in whatever way, does not."""
    x = nv.constant([1.0, 2.0])

    @nv.jit
    def traced(x):
        nv.print_op(x)
        return x

    for lost in (lambda: nv.print_op(x), lambda: nv.print_op(x).named("x").shape, lambda: traced(np.ones(2))):
        with pytest.warns(UserWarning, match="nothing is printed") as caught:
            lost()
        assert [entry.filename for entry in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        below = nv.print_op(x) + 1
        nv.sequential([nv.print_op(x), below])
        nv.computation([nv.print_op(x)])
        assert nv.evaluate(nv.print_op(x)).tolist() == nv.print_op(x).tolist() == [1.0, 2.0]
        kept = nv.print_op(x)
    with pytest.warns(UserWarning, match="returns of a computation"):
        del kept


def test_nesting_needs_no_recursion():
    """A218: two thousand sequences inside each other."""
    x = scalar(0.0)
    expression = x
    for _ in range(2_000):
        expression = nv.sequential([nv.assign(x, x + 1), expression])
    assert run([expression, x])[1].item() == 2_000.0
