"""Calls on xla: values, variables on the device, all or nothing, programs for each binding."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest

import nervure as nv

pytest.importorskip("jax", reason="jax is not installed")


def training_step(transformer):
    x = nv.placeholder({"N": nv.dim("n", min=1), "F": 3})
    w = nv.variable("F=3", initial_value=0.5)
    y = nv.dot(x, w) + 1.0
    loss = nv.sum(y * y, out_axes=())
    return w, nv.computation([loss, nv.assign(w, w - 0.1 * nv.deriv(loss, w))], x, transformer=transformer)


def test_a_step_of_training_is_that_of_the_interpreter(xla, interpreter):
    """X1, X2"""
    rows = np.random.default_rng(0).standard_normal((3, 5, 3)).astype(np.float32) * 0.1
    found = []
    for transformer in (xla, interpreter):
        w, step = training_step(transformer)
        losses = [step(batch)[0] for batch in rows]
        found.append([*losses, transformer.get(w)])
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5)


def test_results_are_arrays_of_the_caller(xla):
    """X1: new arrays, which may be written; out= gets them."""
    x = nv.placeholder((3,))
    double = nv.computation([x + x, x], x, transformer=xla)
    given, target = np.float32([1, 2, 3]), np.zeros(3, np.float32)
    first, same = double(given)
    first[0] = same[0] = 7
    assert given.tolist() == [1, 2, 3] and double(given)[0].tolist() == [2, 4, 6]
    assert double.executable([given], out=[target, None])[0] is target and target.tolist() == [2, 4, 6]


def test_variables_stay_on_the_device_between_calls(xla):
    """X2: a value is fetched when something asks for it, and put there when something sets it."""
    w = nv.variable((2,), 1.0)
    count = nv.computation(nv.assign(w, w + 1), transformer=xla)
    cell, = xla.cells.of([w.variable])
    count()
    count()
    assert not cell.held.is_fetched and cell.version == 2
    assert xla.get(w).tolist() == [3, 3] and cell.held.is_fetched
    xla.set(w, [10, 20])
    count()
    assert xla.get(w).tolist() == [11, 21]
    kept = xla.snapshot([w.variable])
    count()
    xla.restore(kept)
    assert xla.get(w).tolist() == [11, 21]


def test_a_variable_that_is_lent_is_read_and_written_in_place(xla):
    """X2"""
    w = nv.variable((2,), 1.0)
    count = nv.computation(nv.assign(w, w + 1), transformer=xla)
    cell, = xla.cells.of([w.variable])
    lent = cell.lend()
    count()
    assert lent.tolist() == [2, 2]
    lent[:] = 5
    count()
    assert lent.tolist() == [6, 6]
    own = np.float32([1, 2])
    xla.borrow(w, own, 0)
    count()
    assert own.tolist() == [2, 3]


def test_variables_that_are_lent_are_updated_beside_others(xla):
    """X2, X3: the others keep their values where new ones cannot be stored."""
    v, w = nv.variable((2,), 1.0), nv.variable((2,), 1.0)
    step = nv.computation([nv.assign(v, v + 1), nv.assign(w, w * 2)], transformer=xla)
    step()
    lent = xla.cells.of([w.variable])[0].lend()
    step()
    assert lent.tolist() == [4, 4] and xla.get(v).tolist() == [3, 3]
    lent[:] = 7
    del lent
    step()
    assert xla.get(w).tolist() == [14, 14] and xla.get(v).tolist() == [4, 4]
    own = np.float32([1, 2])
    own.flags.writeable = False
    xla.borrow(w, own, 0)
    with pytest.raises(nv.InvalidArgument, match="read-only"):
        step()
    assert xla.get(v).tolist() == [4, 4] and xla.get(w).tolist() == [1, 2]


def guarded(transformer, *conditions):
    """A function of three numbers that adds them to a variable, unless one of the conditions on them is false."""
    x, w = nv.Parameter(nv.float32, (3,)), nv.variable((3,), 1.0)
    read = nv.ops.ReadVariable(w.variable).output
    guards = [nv.ops.Guard(condition(x.output), message) for message, condition in conditions]
    return w, transformer.compile(nv.Function([read], [x], updates=[(w.variable, read + x)], effects=guards))


def positive(x):
    return nv.ops.Less(x.full(0), x).output


def test_a_failed_guard_changes_nothing(xla):
    """X3"""
    w, step = guarded(xla, ("x must be positive", positive))
    step(np.float32([1, 2, 3]))
    with pytest.raises(nv.InvalidArgument, match="x must be positive") as caught:
        step(np.float32([1, 2, -3]))
    assert caught.value.got == "false at position (2,)"
    assert xla.get(w).tolist() == [2, 3, 4]
    step(np.float32([1, 1, 1]))
    assert xla.get(w).tolist() == [3, 4, 5]


def test_the_first_failure_is_the_one_that_is_raised(xla):
    """X3"""
    _, both = guarded(xla, ("first", positive), ("second", lambda x: nv.ops.Less(x.full(1), x).output))
    with pytest.raises(nv.InvalidArgument, match="first"):
        both(np.float32([0, 0, 0]))
    with pytest.raises(nv.InvalidArgument, match="second"):
        both(np.float32([1, 2, 2]))
    assert both(np.float32([2, 2, 2]))[0].tolist() == [1, 1, 1]


def test_an_index_out_of_range_changes_nothing_and_is_named(xla, interpreter):
    """X3"""
    errors = []
    for transformer in (xla, interpreter):
        table, rows = nv.variable((4, 3), 1.0), nv.placeholder((2,), dtype=nv.int64)
        step = nv.computation([nv.assign(table, table + 1), nv.gather(table, rows, 0)], rows, transformer=transformer)
        with pytest.raises(nv.IndexOutOfRange) as caught:
            step(np.int64([1, -5]))
        errors.append((caught.value.op, caught.value.got, caught.value.expected, caught.value.operand))
        assert transformer.get(table).tolist() == np.ones((4, 3)).tolist()
        assert step(np.int64([1, -4]))[1].tolist() == np.full((2, 3), 2).tolist()
    assert errors[0] == errors[1]


def test_a_failure_in_a_loop_ends_it_and_the_call(xla, interpreter):
    """X3: the status of a call goes through loops and branches."""
    x, n = nv.placeholder(()), nv.placeholder(())
    last = nv.while_loop(lambda total: total < n, lambda total: total + x, nv.constant(0.0), max_trips=10)
    for transformer in (xla, interpreter):
        run = nv.computation(last, x, n, transformer=transformer)
        assert run(np.float32(1), np.float32(5)).item() == 5
        with pytest.raises(nv.InvalidArgument, match="after max_trips=10 iterations"):
            run(np.float32(0), np.float32(5))


def test_random_numbers_are_those_of_the_cpu(xla, cpu):
    """X4: bit for bit, for integers and for floats that are exact functions of the words."""
    drawn = []
    for transformer in (xla, cpu):
        nv.seed(7, transformer=transformer)
        draw = nv.computation([nv.uniform((1000,)), nv.uniform((1000,), dtype=nv.float64), nv.bernoulli((1000,))],
                              transformer=transformer)
        drawn.append([draw(), draw()])
    for mine, theirs in zip(drawn[0], drawn[1], strict=True):
        for left, right in zip(mine, theirs, strict=True):
            assert left.tobytes() == right.tobytes()


def test_many_lengths_warn_once_and_name_the_symbol(xla):
    """X5"""
    x = nv.placeholder({"N": nv.dim("rows")})
    double = nv.computation(x + x, x, transformer=xla)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for length in range(7):
            double(np.ones(length, np.float32))
            double(np.ones(length, np.float32))
    with pytest.warns(UserWarning, match="compiled for the 8th time, for rows = 7"):
        double(np.ones(7, np.float32))


def test_programs_are_kept_up_to_a_limit(xla):
    """X5"""
    x = nv.placeholder({"N": nv.dim("rows")})
    double = nv.computation(x + x, x, transformer=xla)
    with nv.flags.overriding(xla_bindings=2):
        for length in (1, 2, 3, 1):
            assert double(np.ones(length, np.float32)).tolist() == [2.0] * length
        assert len(double.executable._known) == 2


def test_nan_are_found_by_the_reference(xla):
    """X1: flags.check_nan"""
    x, w = nv.placeholder((2,)), nv.variable((2,), 1.0)
    step = nv.computation([nv.assign(w, w + nv.log(x)), w], x, transformer=xla)
    with nv.flags.overriding(check_nan=True), pytest.raises(nv.NumericError):
        step(np.float32([1, -1]))
    assert xla.get(w).tolist() == [1, 1]


def test_without_jax_one_line_says_what_to_install(monkeypatch):
    """X6"""
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(nv.NotSupported, match="needs jax") as caught:
        nv.transformers.make_transformer("xla")
    assert caught.value.help == 'pip install "nervure[xla]"'


def test_a_call_of_python_falls_through_to_the_cpu(xla, capsys):
    """X7"""
    x = nv.placeholder((2,))
    with pytest.raises(nv.NotSupported, match="xla cannot run this op"):
        nv.computation(nv.host_call(lambda array: array + 1, [x], like=x) * 2, x, transformer=xla)
    with nv.devices(nv.XLATensor, nv.CPUTensor):
        y = nv.host_call(lambda array: array + 1, [x * 2], like=x) * 2
    mixed = nv.computation(y, x)
    assert [part.device for part in mixed.executable.parts] == ["xla", "cpu", "xla"]
    assert mixed(np.float32([1, 2])).tolist() == [6, 10]


def test_double_precision_is_left_as_the_program_has_it():
    """X1: 64-bit types are computed whether jax's switch is on or off, and the switch stays."""
    import jax
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", False)
    try:
        with nv.transformers.make_transformer("xla") as xla:
            x = nv.placeholder((2,), dtype=nv.float64)
            w = nv.variable((2,), 1 / 3, dtype=nv.float64)
            assert nv.computation(x + w, x, transformer=xla)([1, 2]).tolist() == [1 + 1 / 3, 2 + 1 / 3]
            assert not jax.config.jax_enable_x64
    finally:
        jax.config.update("jax_enable_x64", before)


def test_products_are_as_exact_as_asked_for(xla):
    """X8"""
    import jax
    x = nv.Parameter(nv.float32, (2, 2))
    executable = xla.compile(nv.Function([nv.ops.Contract(x, x, (0, 1), (1, 2), (0, 2))], [x]))
    given = [[np.ones((2, 2), np.float32)], [], []]
    with jax.enable_x64(True):
        exact = executable.specialise({}).call.lower(*given).as_text()
        with nv.flags.overriding(xla_precision="default"):
            fast = executable.specialise({}).call.lower(*given).as_text()
    assert "HIGHEST" in exact and "HIGHEST" not in fast


@pytest.mark.parametrize(("lengths", "axes"), [
    ((64, 64, 64), (0, 1, 2)), ((64, 4, 64, 64), (0, 2, 3)), ((20, 20, 2, 20, 20, 20), (0, 1, 3, 5))])
def test_sums_over_several_axes_are_as_exact_as_over_one(lengths, axes, xla):
    """O45: of equal numbers, whose roundings all point in one direction."""
    x, given = nv.placeholder(lengths), np.full(lengths, 0.004, np.float32)
    found = xla.computation(nv.sum(x, reduction_axes=axes), x)(given)
    count = np.prod([lengths[axis] for axis in axes])
    np.testing.assert_allclose(found, count * np.float64(given.flat[0]), rtol=(70 + np.log2(count)) * 2.0**-23)


def test_angles_of_zeros_follow_from_their_signs(xla, interpreter):
    """O4, X1: of values that XLA knows, too."""
    x = nv.placeholder((3,))
    known = nv.cond(x[0] > -5, lambda zeros: nv.atan2(zeros, -zeros), lambda zeros: zeros, nv.zeros((3,)))
    given = [nv.constant(row) for row in np.float32([[0, 0, -0.0, -0.0, 1], [0, -0.0, 0, -0.0, 0]])]
    found, wanted = [transformer.computation([known, nv.atan2(*given)], x)(np.zeros(3)) for transformer in (
        xla, interpreter)]
    for mine, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-6)
        np.testing.assert_array_equal(np.signbit(mine), np.signbit(theirs))


def test_each_value_is_rounded_to_its_own_type(xla, interpreter):
    """X8: XLA keeps no excess precision between ops of low-precision floats."""
    x = nv.placeholder((1000,), dtype=nv.bfloat16)
    given = np.random.default_rng(0).standard_normal(1000).astype(nv.bfloat16.numpy)
    mine, theirs = [nv.computation((x * 3 + 0.1) - x * 2, x, transformer=transformer)(given)
                    for transformer in (xla, interpreter)]
    assert mine.tobytes() == theirs.tobytes()


EXACT = {
    "division by a number": (lambda x: nv.ceil(x / 7), [21, 42, 7]),
    "by one whose inverse is a denormal": (lambda x: x / 2e38, [2e38, 1e38, 3e38]),
    "by an element that all are": (lambda x: nv.floor(x / nv.max(x, out_axes=())), [41, 7, 41]),
    "by a product": (lambda x: x / 1e30 / x, [1e30, 2e30, 3e30]),
    "by a quotient": (lambda x: x / (1e30 / x), [1e30, 2e30, 1e29]),
    "factors": (lambda x: x * 1e-30 * 1e-30, [1e30, 1e38, 1]),
    "terms": (lambda x: (x + 1e8) - 1e8, [1, 3, 5]),
    "a mean": (lambda x: nv.mean(nv.concatenate([x] * 41), out_axes=()), [1, 1, 1]),
    "the derivative of a division": (lambda x: nv.deriv(nv.sum(nv.square(x / 3e20) / 3e20, out_axes=()), x),
                                     [3e35, 3e37, 3e38]),
}


@pytest.mark.parametrize("length", [3, "n"])
@pytest.mark.parametrize("dtype", [nv.float32, nv.float64], ids=str)
@pytest.mark.parametrize("name", EXACT)
def test_no_arithmetic_takes_the_place_of_other_arithmetic(xla, cpu, interpreter, name, dtype, length):
    """O4, O26, X1: a division stays one, and neither factors nor terms are added up before the program does it."""
    function, given = EXACT[name]
    x = nv.placeholder({"N": length if length == 3 else nv.dim("n", min=1)}, dtype=dtype)
    found = [nv.computation(function(x), x, transformer=transformer)(np.array(given, dtype.numpy)).tolist()
             for transformer in (xla, cpu, interpreter)]
    assert found[0] == found[1] == found[2]


def test_versions_that_do_not_know_an_option_go_without_it(monkeypatch):
    """X9: an option that this version knows is kept beside one that it does not."""
    from nervure.transformers.xla import placements
    monkeypatch.setattr(placements, "_WHERE_KNOWN", {"xla_of_another_version": True,
                                                     "xla_disable_hlo_passes": "algsimp"})
    found = placements.compiler_options.__wrapped__()
    assert found == {"xla_allow_excess_precision": False, "xla_disable_hlo_passes": "algsimp"}


SIGNED = (nv.int4, nv.int8, nv.int16, nv.int32, nv.int64)


@pytest.mark.parametrize("source, target", [(source, target) for at, source in enumerate(SIGNED)
                                            for target in SIGNED[:at]], ids=str)
def test_bits_of_integers_that_were_cut(xla, interpreter, source, target):
    """X9: XLA for CPUs ended the process where such bits met others."""
    x, y = nv.placeholder((3, 3), dtype=source), nv.placeholder((3, 3), dtype=target)
    results = [nv.convert(x, target, mode="wrap"), nv.convert(x, target), y]
    if target.bits >= 8:  # shorter ones have no such functions
        cut = [*results, nv.convert(nv.matmul(x, x), target, mode="wrap"), nv.matmul(y, y)]
        results = [function(y, z) for function in (nv.bitwise_or, nv.bitwise_and, nv.bitwise_xor) for z in cut]
    given = np.arange(-4, 5).reshape(3, 3).astype(source.numpy), np.eye(3).astype(target.numpy)
    found = [nv.computation(results, x, y, transformer=transformer)(*given) for transformer in (xla, interpreter)]
    for mine, theirs in zip(*found, strict=True):
        assert mine.tolist() == theirs.tolist()


@pytest.mark.parametrize("dtype", [nv.float8_e4m3fnuz, nv.float8_e5m2fnuz, nv.float8_e4m3b11fnuz, nv.float8_e5m2],
                         ids=str)
def test_the_sign_of_a_nan_is_that_of_its_bits(xla, cpu, interpreter, dtype):
    """X9: one code is both NaN and the minus of formats without a negative zero."""
    x = nv.placeholder((256,), dtype=dtype)
    results = [nv.signbit(x), nv.copysign(np.float32(2), nv.convert(x, nv.float32)), nv.signbit(nv.copysign(x, -x))]
    found = [nv.computation(results, x, transformer=transformer)(np.arange(256, dtype=np.uint8).view(dtype.numpy))
             for transformer in (xla, cpu, interpreter)]
    for mine, *others in zip(*found, strict=True):
        for theirs in others:
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("indices", [(0, 2), (2, 0)], ids=str)
def test_a_product_is_not_transposed_where_its_factors_may_be_exchanged(xla, indices):
    """X11"""
    x, y = nv.Parameter(nv.float32, (2, 3)), nv.Parameter(nv.float32, (3, 4))
    executable = xla.compile(nv.Function([nv.ops.Contract(x, y, (0, 1), (1, 2), indices)], [x, y]))
    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(12, dtype=np.float32).reshape(3, 4)
    expected = a @ b if indices == (0, 2) else (a @ b).T
    assert executable(a, b)[0].tolist() == expected.tolist()
    assert "transpose" not in executable.specialise({}).call.lower([a, b], [], []).as_text()


class Remote:
    """Memory of a device whose elements are reached by calls alone."""

    flat = None

    def __init__(self, *numbers):
        self.numbers = list(numbers)

    @property
    def storage(self):
        return self

    def load(self, shape):
        return np.float32(self.numbers).reshape(shape)

    def save(self, array):
        self.numbers = array.ravel().tolist()

    def put(self, index, number):
        self.numbers[index[0]] = number


@pytest.mark.parametrize("checks", [False, True])
def test_memory_that_has_no_buffer_is_read_at_each_call(checks, xla):
    """X2: also by calls that check every value."""
    w, memory = nv.variable((2,), 1.0), Remote(2, 3)
    double = nv.computation([w + w, nv.assign(w, w + 1)], transformer=xla)
    cell, = xla.cells.of([w.variable])
    cell.adopt(memory.load((2,)), memory)
    memory.numbers = [5, 7]
    with nv.flags.overriding(check_nan=checks):
        assert double()[0].tolist() == [10, 14] and memory.numbers == [6, 8]
        memory.numbers = [1, 2]
        assert double()[0].tolist() == [2, 4] and memory.numbers == [2, 3]


def test_a_branch_that_has_no_result_for_a_size_fails_if_it_is_taken(xla):
    """X9"""
    x, is_taken = nv.placeholder((nv.dim("n"),)), nv.placeholder((), dtype=nv.bool_)
    chosen = nv.cond(is_taken, lambda: nv.max(x), lambda: nv.sum(x) + 7)
    compute = nv.computation(chosen, x, is_taken, transformer=xla)
    assert [compute(np.float32([2, 3]), flag).item() for flag in (True, False)] == [3, 12]
    assert compute(np.zeros(0, np.float32), False).item() == 7
    with pytest.raises(nv.errors.NervureError):
        compute(np.zeros(0, np.float32), True)
