"""Models: forward and backward against derivatives taken at once, their inputs, their errors, and what they cost."""

from __future__ import annotations

import re

import numpy as np
import pytest

import nervure as nv
from nervure.errors import InvalidArgument, ShapeMismatch, WrongKind
from nervure.transformers.cpu.compile import compiler
from nervure.transformers.executable import Executable
from nervure.types.dim import evaluate
from tests.arrays import normal

SIZES = (1, 2, 7, 64, 1000)


class Descent:
    """The smallest optimiser: a step against the gradient."""

    def __init__(self, rate=0.1):
        self.rate = rate

    def update(self, parameter, gradient):
        return nv.assign(parameter, parameter - self.rate * gradient)

    def __call__(self, loss, variables=None):
        gradients = nv.deriv(loss, variables)
        return nv.doall([self.update(*pair) for pair in zip(variables, gradients, strict=True)])


def network(features=6, hidden=5, classes=4):
    """(loss, parameters) of two layers over a batch of any size."""
    n = nv.dim("n", min=1)
    x = nv.placeholder({"N": n, "F": features}).named("x")
    labels = nv.placeholder({"N": n, "Y": classes}).named("labels")
    first = nv.variable({"F": features, "H": hidden}, normal(features, hidden)).named("first")
    bias = nv.variable({"H": hidden}, normal(hidden)).named("bias")
    second = nv.variable({"H": hidden, "Y": classes}, normal(hidden, classes)).named("second")
    logits = nv.dot(nv.relu(nv.dot(x, first) + bias), second)
    loss = -nv.sum(labels * nv.log_softmax(logits, "Y"), out_axes=())
    return loss, [x, labels], [first, bias, second]


def batch(size, features=6, classes=4):
    labels = np.eye(classes, dtype=np.float32)[np.arange(size) % classes]
    return normal(size, features), labels


def gradients(model):
    return [model.transformer.get(entry) for entry in model.gradients]


# -- forward and backward ------------------------------------------------------------------------------------------


def test_both_parts_give_the_bits_of_one_computation(transformer):
    """T125, T129."""
    loss, inputs, parameters = network()
    model = nv.build(loss, inputs=("x", "labels"), transformer=transformer)
    whole = transformer.computation([loss, *nv.deriv(loss, parameters)], *inputs)
    for size in (1, 3, 40):
        value, *derivatives = whole(*batch(size))
        assert model.forward(*batch(size)) == value
        model.backward()
        for left, right in zip(gradients(model), derivatives, strict=True):
            np.testing.assert_array_equal(left, right)
    assert model.parameters == tuple(parameters)


def test_a_result_of_any_shape_is_seeded_with_ones(transformer):
    """T125."""
    x, w = nv.placeholder("N=n, F=3").named("x"), nv.variable("F=3", 2.0)
    model = nv.build(nv.exp(x * w), inputs=("x",), transformer=transformer)
    assert model.forward(np.zeros((4, 3))).shape == (4, 3)
    model.forward(np.ones((4, 3)))
    model.backward()
    np.testing.assert_allclose(gradients(model)[0], np.full(3, 4 * np.exp(2.0)), rtol=1e-6)


def test_gradients_are_replaced_or_added_to(transformer):
    """T125."""
    w = nv.variable((2,), [1.0, 2.0])
    model = nv.build(w * w * w, transformer=transformer)
    model.forward()
    for accumulate, times in [(False, 1), (False, 1), (True, 2), (True, 3), (False, 1)]:
        assert model.backward(accumulate=accumulate) is None
        assert gradients(model)[0].tolist() == [3 * times, 12 * times]


def test_models_that_share_a_parameter_share_its_gradient(cpu):
    """T125."""
    w = nv.variable((), 3.0)
    square, double = [nv.build(out, transformer=cpu) for out in (w * w, w * 2)]
    for model in (square, double):
        model.forward()
        model.backward(accumulate=True)
    assert gradients(square)[0] == 8.0


def test_backward_is_nothing_without_parameters():
    """T126."""
    model = nv.build(nv.add(1, 1))
    assert model.forward() == 2.0 and model.parameters == () and model.backward() is None
    assert nv.build(nv.placeholder("N=2")).backward(accumulate=True) is None


def test_what_has_no_backward_says_so():
    """T126."""
    w = nv.variable((), 1.0)
    out = w * w
    alone = nv.build(out, construct_backward=False)
    assert alone.forward() == 1.0 and alone.parameters == (w,)
    with pytest.raises(InvalidArgument, match="built without a backward part"):
        alone.backward()
    with nv.no_grad():
        inside, asked = nv.build(w * w), nv.build(out, construct_backward=True)
    with pytest.raises(InvalidArgument, match="built without a backward part"):
        inside.backward()
    assert asked.forward() == 1.0 and asked.backward() is None and w.grad.item() == 2.0
    whole = nv.build(nv.argmax(nv.variable((3,), [1.0, 5.0, 2.0])))
    assert whole.forward() == 1
    with pytest.raises(InvalidArgument, match="only real results have gradients"):
        whole.backward()


def test_backward_follows_forward():
    """T127."""
    x, w = nv.placeholder("N=n").named("x"), nv.variable((), 1.0).named("w")
    model = nv.build(nv.exp(x * w), inputs=("x",))
    with pytest.raises(InvalidArgument, match="there was no forward"):
        model.backward()
    model.forward(np.zeros(3))
    model.forward(np.zeros(5))
    model.backward()
    assert gradients(model)[0] == 0.0
    with pytest.raises(ShapeMismatch):
        model.forward(np.zeros((2, 2)))
    model.backward()


def test_a_parameter_that_was_written_ends_the_forward(transformer):
    """T127."""
    w, b = nv.variable((), 2.0).named("w"), nv.variable((), 2.0).named("b")
    model = nv.build(w * w + b, transformer=transformer)
    model.forward()
    transformer.set(b, 5.0)
    model.backward()
    transformer.set(w, 5.0)
    with pytest.raises(InvalidArgument, match="was written after forward") as caught:
        model.backward()
    assert caught.value.operand == "w" and gradients(model)[0] == 4.0
    model.forward()
    model.backward()
    assert gradients(model)[0] == 10.0


def test_what_is_written_to_a_storage_is_seen():
    """T127."""
    w = nv.parameter(nv.full((3,), 2.0))
    memory, model = w.storage, nv.build(w * w * w)
    for _ in range(2):
        model.forward()
        model.backward()
        model.backward(accumulate=True)
        assert w.grad.tolist() == [6 * memory[0] ** 2] * 3
        memory[:] += 1
        with pytest.raises(InvalidArgument, match="was written after forward"):
            model.backward()


def test_a_storage_that_is_first_asked_for_after_forward_is_seen():
    """T127: only what is written ends a forward; several models see it."""
    w = nv.parameter(nv.full((3,), 2.0))
    models = [nv.build(w * w * w), nv.build(nv.exp(w) * w)]
    for model in models:
        model.forward()
    memory = w.storage
    for model in models:
        model.backward()
    memory[0] = 5.0
    del memory
    assert w.storage[0] == 5.0
    for model in models:
        with pytest.raises(InvalidArgument, match="was written after forward"):
            model.backward()
    models[0].forward()
    models[0].backward()
    assert w.grad.tolist() == [75.0, 12.0, 12.0]


def test_a_temporary_that_holds_a_value_is_an_input():
    """T122: without a name it is called by the one that it got; one that the program assigns is none."""
    kept, scratch, w = nv.make_input((2,), None), nv.make_input((2,), None), nv.parameter(nv.ones((2,)))
    kept.storage[:] = 3.0
    model = nv.build(nv.sequential([nv.assign(scratch, kept * 2), nv.sum(scratch * w, out_axes=())]))
    assert model.forward() == 12.0 and list(model.inputs) == [kept.name]
    model.backward()
    assert w.grad.tolist() == [6.0, 6.0]
    model.set_input(kept.name, [1.0, 2.0])
    assert model.forward() == 6.0 and kept.storage.tolist() == [1.0, 2.0]


def test_a_model_is_called_and_explained_as_other_things_are():
    """T121, T137: a call is forward; what nv.explain shows is forward; in a notebook it is a table."""
    x, w = nv.placeholder("N=n, F=3").named("<x>"), nv.variable("F=3", 1.0).named("w")
    model = nv.build(nv.sum(nv.exp(x * w), out_axes=()), inputs=("<x>",))
    assert model(np.zeros((2, 3))) == 6.0
    assert [step.seconds for step in nv.explain(model).steps] == [None] * len(nv.explain(model).steps)
    timed = nv.explain(model, np.zeros((2, 3)), repeat=2)
    assert timed.report.name == "forward" and timed.seconds > 0 and dict(timed.report.bindings) == {"n": 2}
    shown = model._repr_html_()
    assert "&lt;x&gt;" in shown and "<x>" not in shown and "f32[F=3]" in shown and shown.count("<tr>") == 3
    with pytest.raises(InvalidArgument, match="no option"):
        nv.explain(model, y=1)


def test_an_argument_may_be_written_after_forward(transformer):
    """T128."""
    x, w = nv.placeholder("N=n").named("x"), nv.variable((), 2.0)
    model = nv.build(x * w, inputs=("x",), transformer=transformer)
    array = np.ones(4, np.float32)
    result = model.forward(array)
    array[:] = result[:] = 100
    model.backward()
    assert gradients(model)[0] == 4.0


def test_a_value_that_is_read_twice_stays_right(transformer):
    """T128."""
    a, b, c, d = [nv.variable((64,), normal(64) + at) for at in range(4)]
    product = a * b
    model = nv.build((product * c) + (d + product), transformer=transformer)
    p, q, r, s = [transformer.get(entry) for entry in (a, b, c, d)]
    np.testing.assert_array_equal(model.forward(), p * q * r + (s + p * q))
    model.backward()
    for got, expected in zip(gradients(model), (q * r + q, p * r + p, p * q, np.ones(64)), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


def test_assignments_happen_in_the_forward_part(transformer):
    """T130."""
    w, count = nv.variable((), 3.0), nv.persistent_tensor((), 1.0)
    out = nv.sequential([nv.assign(count, count + 1), nv.value_of(count) * w * w])
    model = nv.build(out, transformer=transformer)
    assert model.forward() == 18.0
    model.backward()
    model.backward()
    assert gradients(model)[0] == 12.0 and transformer.get(count) == 2.0


def test_random_numbers_are_those_of_the_forward_part(transformer):
    """T130."""
    w = nv.variable((1000,), 1.0)
    model = nv.build(nv.uniform((1000,)) * w, transformer=transformer)
    for _ in range(2):
        drawn = model.forward()
        model.backward()
        np.testing.assert_array_equal(gradients(model)[0], drawn)


def test_what_is_printed_on_the_way_is_printed_by_forward(capfd):
    """T130."""
    w = nv.variable((), 3.0)
    model = nv.build(nv.print_op(w * w, "square") * w)
    model.forward()
    assert capfd.readouterr().out == "square: 9.0\n"
    model.backward()
    assert capfd.readouterr().out == "" and model.gradients[0].item() == 27.0


# -- inputs --------------------------------------------------------------------------------------------------------


def test_inputs_come_in_the_order_that_was_asked_for():
    """T121."""
    a, b = nv.placeholder("A=a, B=b").named("A"), nv.placeholder("A=a, B=b").named("B")
    forth, back = nv.build(a - b, inputs=("A", "B")), nv.build(a - b, inputs=[b, "A"])
    ones, twos = np.ones((3, 3)), np.full((3, 3), 2.0)
    assert forth.forward(ones, twos)[0, 0] == -1 and back.forward(ones, twos)[0, 0] == 1
    assert nv.forward(forth, ones, twos).tolist() == forth.forward(ones.tolist(), twos.tolist()).tolist()


def test_a_tensor_is_taken_by_the_names_of_its_axes():
    """T121."""
    x = nv.placeholder("H=2, W=3").named("x")
    model = nv.build(x * 1, inputs="x")
    values = normal(3, 2)
    np.testing.assert_array_equal(model.forward(nv.constant(values, "W=3, H=2")), values.T)
    np.testing.assert_array_equal(model.forward(nv.constant(values, "W=3, H=2") * 2), values.T * 2)


def test_an_input_keeps_the_value_that_is_set(transformer):
    """T122."""
    x, y = nv.placeholder("N=n").named("x"), nv.placeholder("N=n").named("y")
    model = nv.build(x - y, inputs=("x",), transformer=transformer)
    values = np.ones(3)
    model.set_input("y", values)
    values[:] = 7
    assert model.forward([5, 6, 7]).tolist() == [4, 5, 6]
    model.set_input("x", [1, 2, 3])
    assert model.forward().tolist() == [0, 1, 2] and model.forward([2, 2, 2]).tolist() == [1, 1, 1]
    model.set_input("y", [1, 1])
    assert model.forward([2, 2]).tolist() == [1, 1]
    assert model.get_input("y") is y


def test_the_storage_of_an_input_is_read_by_forward_and_not_by_backward():
    """T122, T128."""
    x, w = nv.make_input(("n",), "x"), nv.parameter(nv.full((), 2.0))
    model = nv.build(nv.sum(x * w))
    for size in (3, 1, 5):
        x.storage = np.ones(size, np.float32)
        assert model.forward() == 2 * size
        x.storage[:] = 7
        model.backward()
        assert w.grad.item() == size and model.forward() == 14 * size


def test_five_errors_name_the_argument():
    """T123."""
    a, b = nv.placeholder("N=n, F=3").named("image"), nv.placeholder("N=n").named("mask")
    model = nv.build(nv.sum(a, "F") * b, inputs=("image", "mask"))
    good, mask = np.ones((4, 3)), np.ones(4)
    cases = [(InvalidArgument, "wrong number of arguments", "image, mask", lambda: model.forward(good)),
             (InvalidArgument, "there is no input imag", "image", lambda: model.set_input("imag", good)),
             (ShapeMismatch, "another rank", "image", lambda: model.forward(np.ones(4), mask)),
             (ShapeMismatch, "another length", "image", lambda: model.forward(np.ones((4, 2)), mask)),
             (ShapeMismatch, "dimension 0 is not n", "mask", lambda: model.forward(good, np.ones(5)))]
    for kind, text, name, call in cases:
        with pytest.raises(kind, match=text) as caught:
            call()
        assert name in f"{caught.value.operand} {caught.value.expected} {caught.value.help}"
    assert model.forward(good, mask).tolist() == [3, 3, 3, 3]


def test_other_mistakes_with_inputs():
    """T124."""
    x = nv.placeholder("N=2").named("x")
    model = nv.build(x * 2)
    with pytest.raises(InvalidArgument, match="the input x has no value"):
        model.forward()
    with pytest.raises(InvalidArgument, match="wrong number"):
        model.forward([1, 2])
    with pytest.raises(ShapeMismatch):
        model.set_input("x", np.ones(3))
    with pytest.raises(InvalidArgument, match="there is no input y"):
        model.get_input("y")
    with pytest.raises(InvalidArgument, match="there is no input y"):
        nv.build(x, inputs=("y",))
    with pytest.raises(InvalidArgument, match="listed twice"):
        nv.build(x, inputs=("x", x))
    with pytest.raises(InvalidArgument, match="two inputs are named x"):
        nv.build(x + nv.placeholder("N=2").named("x"))


@pytest.mark.parametrize("out", [None, "x", object(), nv.fill(nv.variable((), 1.0), 2.0), [nv.variable((), 1.0)], {}])
def test_only_tensors_and_numbers_are_built(out):
    """T120."""
    with pytest.raises(WrongKind, match="a model has one result") as caught:
        nv.build(out)
    assert caught.value.operand == "out"


def test_numbers_and_arrays_are_built():
    """T120."""
    assert nv.build(3.0).forward() == 3.0 and nv.build(np.arange(3)).forward().tolist() == [0, 1, 2]


# -- steps ---------------------------------------------------------------------------------------------------------


def test_a_step_does_what_forward_backward_and_update_do(transformer):
    """T131."""
    (loss, _, _), (other, _, _) = network(), network()
    apart = nv.build(loss, inputs=("x", "labels"), transformer=transformer)
    model, descent = nv.build(other, inputs=("x", "labels"), transformer=transformer), Descent(0.01)
    pairs = zip(apart.parameters, apart.gradients, strict=True)
    update = transformer.computation([descent.update(*pair) for pair in pairs])
    for size in (4, 9, 4):
        expected = apart.forward(*batch(size))
        apart.backward()
        update()
        assert model.step(descent, *batch(size)) == expected
        for left, right in zip(model.parameters, apart.parameters, strict=True):
            np.testing.assert_array_equal(transformer.get(left), transformer.get(right))
    assert all([not gradient.any() for gradient in gradients(model)])


def test_a_training_step_is_one_call(monkeypatch):
    """T132."""
    calls = []
    with nv.transformers.make_transformer("interpreter") as made:
        step = nv.train_step(nv.build(network()[0], inputs=("x", "labels"), transformer=made), nv.optim.Adam(0.01))
        run = Executable._transact
        monkeypatch.setattr(Executable, "_transact", lambda self, *parts: calls.append(self) or run(self, *parts))
        losses = [step(*batch(8)).item() for _ in range(5)]
    assert len(calls) == 5 and len(set(calls)) == 1 and losses == sorted(losses, reverse=True)


def test_the_adam_of_a_step_is_that_of_a_computation(cpu):
    """T131."""
    (loss, inputs, parameters), (other, _, _) = network(), network()
    by_hand = cpu.computation([loss, nv.optim.Adam(0.01)(loss)], *inputs)
    model, adam = nv.build(other, inputs=("x", "labels"), transformer=cpu), nv.optim.Adam(0.01)
    for _ in range(3):
        assert by_hand(*batch(8))[0] == model.step(adam, *batch(8))
    for left, right in zip(parameters, model.parameters, strict=True):
        np.testing.assert_array_equal(cpu.get(left), cpu.get(right))


def test_a_result_that_is_no_scalar_is_trained_by_its_sum(transformer):
    """T131."""
    w = nv.variable((3,), [1.0, 2.0, 3.0])
    model = nv.build(w * w, transformer=transformer)
    assert model.step(Descent(0.5)).tolist() == [1, 4, 9] and transformer.get(w).tolist() == [0, 0, 0]


def test_a_step_needs_an_optimiser_and_something_to_train():
    """T131."""
    w = nv.variable((), 1.0)
    with pytest.raises(InvalidArgument, match="nothing to train"):
        nv.build(nv.add(1, 1)).step(Descent())
    for wrong in (None, 0.1, nv.optim.Adam):
        with pytest.raises(WrongKind, match="no optimiser"):
            nv.build(w * w).step(wrong)
    with pytest.raises(WrongKind, match="gives no effect"):
        nv.train_step(nv.build(w * w), lambda loss, variables: loss)
    for function in (nv.forward, lambda model: nv.train_step(model, Descent())):
        with pytest.raises(WrongKind, match=r"nv.build\(out\) makes one"):
            function(w)


# -- sizes ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def own_cache(tmp_path):
    with nv.flags.overriding(cache_directory=str(tmp_path)):
        yield tmp_path


def test_new_sizes_compile_nothing(cpu, own_cache, monkeypatch):
    """T133."""
    model, descent = nv.build(network()[0], inputs=("x", "labels"), transformer=cpu), Descent(0.001)

    def all_of(size):
        model.forward(*batch(size))
        model.backward()
        model.backward(accumulate=True)
        model.step(descent, *batch(size))
    all_of(3)
    emitted, files, compile_object = [], sorted(own_cache.rglob("*")), compiler.compile_object
    monkeypatch.setattr(compiler, "compile_object", lambda *parts: emitted.append(parts) or compile_object(*parts))
    for size in range(1, 101):
        all_of(size)
    assert emitted == [] and sorted(own_cache.rglob("*")) == files and files


def test_sequences_of_sizes_never_see_stale_numbers(cpu):
    """T133."""
    with nv.transformers.make_transformer("interpreter") as reference:
        models = [nv.build(network()[0], inputs=("x", "labels"), transformer=made) for made in (cpu, reference)]
        random = np.random.default_rng(0)
        for _ in range(20):
            size, accumulate = int(random.integers(1, 30)), bool(random.integers(2))
            x, labels = random.standard_normal((size, 6)).astype(np.float32), batch(size)[1]
            for model in models:
                model.set_input("labels", labels)
            arguments = (x, labels)
            results = [model.forward(*arguments) for model in models]
            np.testing.assert_allclose(*results, rtol=1e-4)
            if random.integers(3):
                for model in models:
                    model.backward(accumulate)
                for left, right in zip(*map(gradients, models), strict=True):
                    np.testing.assert_allclose(left, right, rtol=1e-3, atol=1e-3)


def test_modes_differ_in_what_is_compiled_before_the_first_call(cpu, monkeypatch):
    """T134."""
    built, build = [], cpu.build
    monkeypatch.setattr(cpu, "build", lambda function: built.append(function.name) or build(function))
    values = []
    for mode, names in [("fastest", []), ("fast", ["forward", "backward"]),
                        ("default", ["forward", "backward", "backward"])]:
        built.clear()
        model = nv.build(network()[0], inputs=("x", "labels"), compile_mode=mode, transformer=cpu)
        assert built == names
        values.append(model.forward(*batch(5)).tobytes())
        model.backward()
        values[-1] += b"".join([gradient.tobytes() for gradient in gradients(model)])
    assert len(set(values)) == 1
    for wrong in ("fastes", np.ones(3)):
        with pytest.raises(InvalidArgument, match="unknown compile_mode"):
            nv.build(nv.add(1, 1), compile_mode=wrong)


def test_switches_are_truth_values():
    """T120, T125."""
    w = nv.variable((), 1.0)
    for call in (lambda: nv.build(w * w).backward(np.ones(2)), lambda: nv.build(w * w, construct_backward="no"),
                 lambda: nv.build(w * w, fuse_ops=None)):
        with pytest.raises(WrongKind, match="is a switch"):
            call()


# -- what they show ------------------------------------------------------------------------------------------------


def test_repr_shows_signatures_memory_and_inputs(cpu):
    """T135."""
    x, y = nv.placeholder((nv.dim("a"), 10)).named("X"), nv.placeholder((nv.dim("a"), 10)).named("Y")
    model = nv.build(x + y, inputs=("X", "Y"), construct_backward=False, transformer=cpu)
    assert repr(model) == """\
<CompiledComposite on cpu
    forward:     forward(model, X, Y) -> f32[a, 10]
    backward:    none
    memory pool: 1 tensor, a * 4.0e-5 MB
    inputs:
        X -> (a, 10)
        Y -> (a, 10)
>"""
    trained = nv.build(network()[0], inputs=("x",), transformer=cpu)
    assert "backward(model) -> gradients of first, bias, second" in repr(trained)
    assert "at most" in repr(trained) and "labels -> (n, 4)" in repr(trained)
    assert "inputs:      none" in repr(nv.build(nv.add(1, 1)))


def test_the_memory_in_symbols_is_that_of_calls(cpu):
    """T136."""
    x = nv.placeholder({"N": nv.dim("a", min=1), "F": 10}).named("x")
    simple = nv.build(x + x, inputs=("x",), construct_backward=False, transformer=cpu)
    trained = nv.build(network()[0], inputs=("x", "labels"), transformer=cpu)
    for size in SIZES:
        result = simple.forward(np.ones((size, 10), np.float32))
        assert simple.executables[0].memory({"a": size}).bytes == result.nbytes == 40 * size
        assert f"(a={size}: 1 tensor" in repr(simple)
        result, *residuals = trained.executables[0](batch(size))
        program = trained.executables[0]._specialised({"n": size}).usual.program
        taken = sum([array.nbytes for array in (result, *residuals)]) + program.record.arena_bytes
        exact, bound = trained.executables[0].memory({"n": size}), trained.executables[0].memory()
        assert exact.bytes == taken <= evaluate(bound.bytes, {"n": size})
        assert not bound.is_exact and exact.is_exact


def test_the_program_is_shown_as_text():
    """T137."""
    model = nv.build(network()[0], inputs=("x", "labels"))
    assert re.findall(r"^function (\w+)", model.ir, re.MULTILINE) == ["forward", "backward"]
    text = nv.disassemble(model)
    assert re.search("^forward, step 0: kernel", text) and "\nbackward, step 0" in text and "retq" in text
    assert len(re.findall("update .*_gradient", model.ir)) == 3


def test_the_summary_lists_parameters():
    """T137."""
    rows = nv.build(network()[0]).summary().splitlines()
    assert [row.split()[0] for row in rows] == ["parameter", "first", "bias", "second", "together"]
    assert rows[-1].split()[1:] == ["55", "220"] and len({len(row) for row in rows}) == 1


def test_a_storage_that_somebody_has_is_read_by_both_parts():
    """T19, T122: what is written there between two forwards counts; an input holds what is set, for every reader."""
    x, w = nv.make_input(("n", 3), "x"), nv.parameter(nv.full((3,), 2.0))
    loss = nv.sum(x * w * w)
    model, memory = nv.build(loss), w.storage
    model.set_input("x", np.ones((2, 3)))
    for value in (2.0, 1.0):
        memory[:] = value
        assert model.forward() == 2 * 3 * value ** 2 == loss.item()
        model.backward()
        assert w.grad.tolist() == [2 * 2 * value] * 3
    model.forward()
    w.set_mref(0, 5.0)
    with pytest.raises(InvalidArgument, match="written after forward"):
        model.backward()
    x.storage = np.zeros((1, 3), np.float32)
    assert model.forward() == 0.0
