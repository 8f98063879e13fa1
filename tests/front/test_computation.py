"""Computations, transformers and their state. The numbers are claims of docs/axes.md."""

from __future__ import annotations

import copy
import operator
import pickle
import warnings

import numpy as np
import pytest

import nervure as nv


def test_results_have_the_shape_of_the_returns(interpreter):
    """A219: one op, a list, a tuple, a set, a dict, None."""
    x = nv.constant(2.0)
    y, z = x + 1, x * 3
    assert interpreter.computation(y)().item() == 3.0
    assert [entry.item() for entry in interpreter.computation([y, z])()] == [3.0, 6.0]
    assert isinstance(interpreter.computation((y,))(), tuple)
    result = interpreter.computation({y, z})()
    assert result[y].item() == 3.0 and result[z].item() == 6.0
    assert interpreter.computation({"y": y})()["y"].item() == 3.0
    assert interpreter.computation(None)() is None
    assert interpreter.computation(nv.assign(nv.variable(()), 1.0))() is None


def test_all_placeholders(interpreter):
    """A220: 'all' is every placeholder."""
    x, y = nv.placeholder(()).named("x"), nv.placeholder(()).named("y")
    step = interpreter.computation(x - y, "all")
    assert step(feed_dict={x: 5.0, y: 3.0}).item() == 2.0
    assert step(5.0, 3.0).item() == 2.0
    with pytest.raises(ValueError, match="'all'"):
        interpreter.computation(x, "al")


def test_wrong_parameters_are_named(interpreter):
    """A221: each mistake is a ValueError (a TypeError for no tensor) that says which."""
    x, y = nv.placeholder(()).named("x"), nv.placeholder(()).named("y")
    with pytest.raises(ValueError, match="missing") as caught:
        interpreter.computation(x + y, x)
    assert caught.value.operand == "y" and caught.value.location.file == __file__
    with pytest.raises(ValueError, match="constant tensor cannot be a parameter"):
        interpreter.computation(x, nv.constant(1.0))
    with pytest.raises(ValueError, match="temporary tensor cannot be a parameter"):
        interpreter.computation(x, nv.temporary(()))
    with pytest.raises(ValueError, match="twice"):
        interpreter.computation(x, x, x)
    with pytest.raises(TypeError):
        interpreter.computation(x, x + 1)
    with pytest.raises(ValueError, match="wrong number of arguments"):
        interpreter.computation(x, x)(1.0, 2.0)


def test_feeding_by_name(interpreter):
    """A222: by position or feed_dict, not both."""
    x, y = nv.placeholder(()).named("left"), nv.placeholder(()).named("right")
    step = interpreter.computation(x - y, x, y)
    assert step(feed_dict={"left": 5.0, y: 1.0}).item() == 4.0
    for wrong in ({x: 1.0}, {x: 1.0, y: 1.0, "lef": 2.0}):
        with pytest.raises(ValueError, match="feed_dict"):
            step(feed_dict=wrong)
    for call in (lambda: step(1.0, feed_dict={x: 1.0, y: 2.0}), lambda: step(left=1.0, feed_dict={x: 1.0, y: 2.0})):
        with pytest.raises(ValueError, match="or by feed_dict"):
            call()


def test_arguments_by_keyword(interpreter):
    """A222: by the names of the parameters, after what is given by position, at the first call as at the third."""
    x, y, plain = nv.placeholder("N=2").named("x"), nv.placeholder("N=2").named("y"), nv.placeholder(())
    step, with_plain = interpreter.computation(x - y, x, y), interpreter.computation(x - plain, x, plain)
    five, one = np.float32([5, 5]), np.float32([1, 1])
    for _ in range(3):
        for result in (step(x=five, y=one), step(y=one, x=five), step(five, y=one), step(five, one),
                       step(x=nv.constant(five, axes="N=2"), y=[1, 1])):
            assert result.tolist() == [4, 4]
    for call, told in (
            (lambda: step(five, x=one), "by position, too"), (lambda: step(five, one, y=one), "by position, too"),
            (lambda: step(x=five), "no value for"), (lambda: step(x=five, y=one, z=one), "no argument z="),
            (lambda: with_plain(x=five, plain=1.0), "no argument plain="),
            (lambda: with_plain(x=five), "no value for")):
        with pytest.raises((nv.InvalidArgument, nv.WrongKind), match=told) as caught:
            call()
        assert caught.value.help


def test_other_keywords_are_named(interpreter):
    """A222: in the call of a computation or an executable, and where one is built; the first time as the third."""
    x = nv.placeholder((2,)).named("left")
    step = interpreter.computation(x + 1, x)
    for _ in range(3):
        step([1.0, 2.0])
        for call, name, help in [(lambda: step([1.0, 2.0], lefd=3), "lefd", "did you mean left?"),
                                 (lambda: step([1.0, 2.0], feed_dic={}), "feed_dic", "did you mean feed_dict?"),
                                 (lambda: step.executable(np.ones(2), to=3), "to", "in order"),
                                 (lambda: step.executable(np.ones(2), donated=(0,)), "donated", "did you mean donate?"),
                                 (lambda: nv.computation(x + 1, x=x), "x", "nv.computation(y, x)"),
                                 (lambda: nv.computation(x=x), "x", "nv.computation(y, x)")]:
            with pytest.raises(TypeError, match=f"no argument {name}=") as caught:
                call()
            assert isinstance(caught.value, nv.WrongKind) and help in caught.value.help
    with pytest.raises(nv.WrongKind, match="nothing to compute"):
        nv.computation()


SQUARE = np.float32([[1, 2], [3, 4]])


def turned() -> nv.Tensor:
    """SQUARE for who asks for (H, W), with its axes the other way round."""
    return nv.constant(SQUARE.T, axes="W=2, H=2")


def test_a_named_argument_goes_by_its_names(transformer):
    """A255: by position or by feed_dict, computed or constant, at the first call as at the third."""
    x = nv.placeholder("H=2, W=2").named("x")
    double = transformer.computation(x * 2, x)
    for _ in range(3):
        for argument in (turned(), turned() + 0, SQUARE, nv.constant(SQUARE), nv.constant(SQUARE, axes="H=2, W=2")):
            np.testing.assert_array_equal(double(argument), SQUARE * 2)
            np.testing.assert_array_equal(double(feed_dict={x: argument}), SQUARE * 2)
    y = nv.placeholder(())
    both = transformer.computation([x, y], x, y)
    assert both(turned(), 1.0)[0].tolist() == SQUARE.tolist()


def test_a_named_argument_finds_its_axes_by_offset_and_before_lengths_are_known(transformer):
    """A255: axes match as everywhere."""
    height = nv.axis("H", 2)
    x = nv.placeholder([height, height.offset(-1)])
    argument = nv.constant(SQUARE.T, axes=[height.offset(-1), height])
    np.testing.assert_array_equal(transformer.computation(x, x)(argument), SQUARE)
    y = nv.placeholder("N=n, W=2")
    argument = nv.constant(np.ones((2, 3)), axes="W=2, N=3")
    assert transformer.computation(y, y)(argument).shape == (3, 2)


def test_an_argument_of_other_names_is_refused(transformer):
    """A255: other names, more, fewer, or other lengths; the error says which parameter has which axes."""
    x = nv.placeholder("H=2, W=2").named("x")
    identity = transformer.computation(x, x)
    for axes in ("H=2, K=2", "H=2, W=3", "H=2, W=2, K=1", "W=2"):
        argument = nv.zeros(nv.make_axes(axes))
        for call in (lambda: identity(argument), lambda: identity(feed_dict={x: argument})):  # noqa: B023  # at once
            with pytest.raises(nv.AxisMismatch) as caught:
                call()
            assert caught.value.operand == "x" and caught.value.location.file == __file__


def test_a_traced_function_is_compiled_anew_for_another_order_of_axes():
    """A255: jit never takes one order for another, nor an offset for a name."""
    rows = nv.jit(lambda x: nv.sum(x, "W"))
    assert rows(nv.constant(SQUARE, axes="H=2, W=2")).tolist() == rows(turned()).tolist() == [3.0, 7.0]
    wide = nv.make_axis(2, "H-1", "H")
    by_level = nv.jit(lambda x: x * x.axes[1].level)
    assert by_level(nv.ones([nv.axis("W", 2), wide])).max() == 0.0
    assert by_level(nv.ones([nv.axis("W", 2), nv.axis("H", 2).offset(-1)])).max() == -1.0


def test_a_variable_is_set_by_names(transformer):
    """A255: transformer.set and an argument for a variable."""
    w = nv.variable("H=2, W=2").named("w")
    transformer.set(w, turned())
    np.testing.assert_array_equal(transformer.get(w), SQUARE)
    with pytest.raises(nv.AxisMismatch) as caught:
        transformer.set(w, nv.zeros("H=2, K=2"))
    assert caught.value.operand == "w"
    transformer.set(w, 2 * turned())
    transformer.computation(w + 1, w)(turned())
    np.testing.assert_array_equal(transformer.get(w), SQUARE)
    transformer.computation(nv.assign(w, turned() * 3))()
    np.testing.assert_array_equal(transformer.get(w), SQUARE * 3)


def test_results_are_the_callers_own(interpreter):
    """A223: no aliasing between results, arguments, cells and constants."""
    x, w = nv.placeholder((3,)), nv.variable((3,), 1.0)
    constant = nv.constant([1.0, 2.0, 3.0])
    step = interpreter.computation([x, w, constant, constant], x)
    argument = np.zeros(3, np.float32)
    first = step(argument)
    for result in first:
        assert not np.shares_memory(result, argument) and result.flags.writeable
        result[:] = 100
    assert not any(np.shares_memory(a, b) for at, a in enumerate(first) for b in first[:at])
    assert [result.tolist() for result in step(argument)] == [[0.0] * 3, [1.0] * 3, [1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]


def test_computations_of_one_transformer_share_state(interpreter):
    """A224: including ones that are built later."""
    w = nv.variable((), 1.0)
    interpreter.computation(nv.assign(w, w + 1))()
    assert interpreter.computation(w * 10)().item() == 20.0


def test_transformers_have_state_of_their_own(interpreter):
    """A225: same initial bits, no sharing, one warning."""
    drawn = []

    def initial(axes):
        drawn.append(axes)
        return np.random.default_rng().standard_normal(axes.lengths).astype(np.float32)

    w = nv.variable((4,), initial)
    with nv.transformers.make_transformer("interpreter") as other:
        np.testing.assert_array_equal(interpreter.computation(w)(), other.computation(w)())
        assert len(drawn) == 1
    v = nv.variable((), 1.0)
    interpreter.set(v, 7.0)
    with nv.transformers.make_transformer("interpreter") as other:
        with pytest.warns(UserWarning, match="copy_state"):
            assert other.computation(v)().item() == 1.0
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            other.computation(v + 1)()


def test_cells_are_read_written_and_copied(interpreter):
    """A226: get, set, copy_state, close."""
    w = nv.variable((2,), 1.0)
    assert interpreter.get(w).tolist() == [1.0, 1.0]
    interpreter.set(w, [3.0, 4.0])
    interpreter.get(w)[:] = 0
    assert interpreter.computation(w)().tolist() == [3.0, 4.0]
    with pytest.raises(ValueError):
        interpreter.set(w, [1.0, 2.0, 3.0])
    other = nv.transformers.make_transformer("interpreter")
    other.copy_state(interpreter)
    assert other.get(w).tolist() == [3.0, 4.0]
    for scratch in (nv.placeholder((2,)), nv.temporary((2,))):
        with pytest.raises(ValueError, match="persistent"):
            other.get(scratch)
    other.close()
    with pytest.raises(nv.NervureError, match="closed"):
        other.computation(w)()


def test_lazy_tensors_use_the_default_transformer():
    """A227: numpy(), evaluate, float and np.asarray."""
    w = nv.variable((), 2.0)
    nv.transformers.default().set(w, 5.0)
    assert w.numpy() == 5.0 and nv.evaluate(w + 1) == 6.0 and float(w * 2) == 10.0
    assert np.asarray(w - 1) == 4.0 and np.asarray(w, np.float64).dtype == np.float64
    assert [entry.item() for entry in nv.evaluate([w, w + 1])] == [5.0, 6.0]
    with pytest.raises(ValueError, match="no value of its own"):
        nv.placeholder(()).numpy()


def test_derivative_of_what(interpreter):
    """A228: scalars or an error, zeros where x is not below, integers refused."""
    x, y = nv.variable("H=2", [1.0, 2.0]), nv.variable("H=2", 1.0)
    with pytest.raises(ValueError, match="not a scalar"):
        nv.deriv(x * x, x)
    assert nv.deriv(x * x, x, error=nv.constant([1.0, 10.0], axes="H=2")).tolist() == [2.0, 40.0]
    assert nv.deriv(nv.sum(x), y).tolist() == [0.0, 0.0]
    n = nv.variable((), 1, dtype=nv.int32)
    with pytest.raises(TypeError):
        nv.deriv(nv.sum(x), n)
    with pytest.raises(TypeError):
        nv.deriv(n + 1, x)
    assert [entry.tolist() for entry in nv.deriv(nv.sum(x * y), [x, y])] == [[1.0, 1.0], [1.0, 2.0]]


def test_a_derivative_counts_one_node_alone():
    """A228: an expression means that very node; a variable means all its reads."""
    x = nv.variable((), 3.0)
    a, b = x + x, x + x
    assert nv.deriv(a * b, a).item() == 6.0
    assert nv.deriv(a * b, x).item() == 24.0


def test_persistent_tensors_as_parameters(interpreter):
    """A229: the call sets it."""
    v = nv.persistent_tensor((), 1.0)
    step = interpreter.computation(v * 2, v)
    assert step(5.0).item() == 10.0
    assert interpreter.get(v).item() == 5.0


def test_scopes_names_and_metadata():
    """A250: labels survive, and mean nothing."""
    x = nv.placeholder(())
    with nv.name_scope("encoder"), nv.name_scope("dense"), nv.metadata(layer="dense"):
        y = (x * 2).named("logits")
    provenance = y.value.op.provenance
    assert (provenance.scope, provenance.metadata["layer"], y.name) == ("encoder/dense", "dense", "logits")
    assert provenance.location.file == __file__
    function = nv.computation([y, nv.exp(x).named("logits")], x).function
    assert type(function.find_by_name("logits")).__name__ == "Multiply"
    assert type(function.find_by_name("logits_1")).__name__ == "Exp" and "%logits_1 = Exp" in str(function)
    with pytest.raises(ValueError, match="did you mean logits"):
        function.find_by_name("logit")
    with pytest.raises(ValueError):
        nv.name_scope("/a").__enter__()


def test_equality_is_element_by_element():
    """A251: on either side, of every kind of operand; what has no elements is not equal."""
    x = nv.constant([1.0, 2.0])
    for other, same in ((1.0, [True, False]), (np.array([1.0, 3.0]), [True, False]), (np.float32(2), [False, True]),
                        (x, [True, True]), (nv.constant([0.0, 2.0]), [False, True]), (2 + 0j, [False, True])):
        for left, right in ((x, other), (other, x)):
            assert (left == right).tolist() == same and (left != right).tolist() == [not entry for entry in same]
    named = nv.cast_axes(x, "H=2")
    assert (named == nv.cast_axes(x, "W=2")).axes == nv.make_axes("H=2, W=2")
    assert (x == None, x != None, x == "x", x != object()) == (False, True, False, True)  # noqa: E711  # equality is meant
    assert (nv.constant(np.nan) == nv.constant(np.nan)).item() is False


def test_equality_with_lengths_and_traced_numbers():
    """A251."""
    n = nv.dim("n")
    x = nv.placeholder((n,))
    for equality in (x == n, n == x):
        assert nv.computation(equality, x)([2.0, 5.0]).tolist() == [True, False]
    assert nv.jit(lambda x, k: (x == k, k != x))(np.float32([1, 2]), 2)[0].tolist() == [False, True]
    assert (n == 3, n != None, n == nv.dim("n")) == (False, True, True)  # noqa: E711


def test_what_cannot_be_compared_is_an_error():
    """A251: as for every operator; a comparison that nobody can answer is not silently False."""
    x = nv.constant([1.0, 2.0])
    for other in ([1.0, 2.0], (1.0, 2.0), nv.assign(nv.variable(()), 1.0), nv.zeros((3,)), np.zeros(3)):
        for compare in (operator.eq, operator.ne):
            with pytest.raises(nv.NervureError):
                compare(x, other)


def test_tensors_are_keys_by_identity():
    """A251: equal hashes are those of one tensor, so that a dict never asks ``==``."""
    x, y, v = nv.constant(1.0), nv.constant(1.0), nv.variable(())
    assert len({x, y, v, x}) == 3 and {x: 1, y: 2, v: 3}[y] == 2
    assert [v] == [v] and hash(x) != hash(y)
    with pytest.raises(TypeError, match="item"):
        assert v in [x, y]


def test_a_tensor_that_is_computed_has_no_truth():
    """A252: what exists has one."""
    x, v = nv.constant([1.0, 2.0]), nv.variable((), 1.0)
    for computed in (v > 0, v == v, nv.all(x == x), v + 1, nv.uniform(())):
        with pytest.raises(TypeError, match="nv.where"):
            bool(computed)
        with pytest.raises(TypeError):
            assert computed or not computed
    given = nv.make_input((1,), "given")
    with pytest.raises(TypeError, match="nv.where"):
        bool(given)
    given.storage = np.ones(1, np.float32)
    assert all([nv.constant(True), v, v[None], nv.proceed(v > 0), given]) and not nv.constant(0.0)


def test_numbers_of_tensors():
    """A252: as NumPy's outside tracing."""
    x = nv.constant([1.0, 2.0, 3.0])
    assert len(x) == 3 and [float(entry) for entry in x] == [1.0, 2.0, 3.0] and 2.0 in x and 5.0 not in x
    assert bool(nv.constant(1.0)) and int(nv.constant(2.5)) == 2
    with pytest.raises(ValueError):
        bool(x)
    with pytest.raises(TypeError):
        len(nv.constant(1.0))
    for ask in (bool, float, int, lambda t: t.item(), np.asarray):
        with pytest.raises(TypeError, match="traced") as caught:
            nv.jit(lambda t, ask=ask: ask(nv.sum(t)))(np.ones(2, np.float32))
        assert all(name in caught.value.help for name in ("nv.where", "static="))
    for ask in (len, list, lambda t: [*t], lambda t: 1.0 in t):
        with pytest.raises(TypeError, match="traced") as caught:
            nv.jit(lambda t, ask=ask: ask(t))(np.ones(2, np.float32))
        assert "x.shape[0]" in caught.value.help or "nv.where" in caught.value.help
    with pytest.raises(ValueError, match="nv.where") as caught:
        float(nv.placeholder(()))


def test_handles_are_not_copied():
    """A253: copy, deepcopy and pickle are TypeErrors that name nv.save."""
    x = nv.variable((), 1.0)
    call = nv.computation(x + 1)
    handles = [x, nv.assign(x, 2.0), call, call.function, x.variable, x.value, x.value.op, nv.transformers.default(),
               call.executable, call.transformer.cells]
    for handle in handles:
        for attempt in (copy.copy, copy.deepcopy, lambda entry: copy.deepcopy([entry]), pickle.dumps):
            with pytest.raises(nv.WrongKind, match="nv.save"):
                attempt(handle)
    with pytest.raises(nv.WrongKind, match="nv.variable"):
        copy.copy(x)


@pytest.mark.parametrize("value", [nv.constant(1.0), nv.constant([1.0, 2.0], axes="H=2"), nv.variable((), 1.0) + 1])
def test_values_are_their_own_copies(value):
    """A253: they do not change; they are not pickled either."""
    assert copy.copy(value) is value and copy.deepcopy({"a": [value]})["a"][0] is value
    with pytest.raises(nv.WrongKind, match="nv.save"):
        pickle.dumps(value)


def test_seed_starts_anew():
    """A254: same seed, same numbers; other seed, others; fresh numbers at every call."""
    def draws(seed):
        nv.seed(seed)
        x = nv.uniform((5,))
        return [x.numpy().tolist(), x.numpy().tolist()]
    first = draws(1)
    assert first == draws(1) and first != draws(2) and first[0] != first[1]
    def draws_in_scopes():
        nv.seed(1)
        with nv.name_scope("encoder"), nv.name_scope("dense"):
            inner = nv.uniform((5,)).numpy()
        return [inner.tolist(), nv.uniform((5,)).numpy().tolist()]
    assert draws_in_scopes() == draws_in_scopes()
    with nv.name_scope("decoder"):
        assert draws_in_scopes() == draws_in_scopes()
    for wrong in (-1, 2**64):
        with pytest.raises(ValueError):
            nv.seed(wrong)
    with pytest.raises(TypeError):
        nv.seed(1.5)


def test_what_calls_take_and_return_is_described(interpreter):
    """T30: axes and strides, symbolic ones too; effects return nothing."""
    n = nv.dim("n")
    x, y, w = nv.placeholder({"N": n, "C": 3}), nv.placeholder((n, 2)), nv.variable("C=3", layout="C")
    step = interpreter.computation([x * w, nv.assign(w, w + 1), y.T, nv.sum(x, out_axes=())], x, y)
    taken, given = step.parameter_descriptions, step.result_descriptions
    assert [str(entry) for entry in taken] == ["f32[N=n, C=3]", "f32[n, 2]"]
    assert [str(entry) for entry in given] == ["f32[N=n, C=3]", "f32[2, n]", "f32[]"]
    assert [entry.layout.strides for entry in (*taken, *given)] == [(3, 1), (2, 1), (3, 1), (n, 1), ()]
    assert all([entry.read_only for entry in taken]) and not any([entry.read_only for entry in given])
    assert [entry.basic for entry in given] == list(step.executable.result_descriptions)
    results = step(np.ones((4, 3), np.float32), np.ones((4, 2), np.float32))
    assert all([array.flags.c_contiguous and array.flags.writeable for array in results if array is not None])
