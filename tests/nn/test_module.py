"""Modules: fields, what is inside, names, the switch, texts."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import nn
from nervure.errors import InvalidArgument, NervureError, NotSupported, UnknownName, WrongKind
from nervure.front.record import record_of


class Block(nn.Module):
    """A module with typed fields."""

    inner: nn.Module
    rate: float = 0.5
    label: str | None = None

    def forward(self, x):
        return self.inner(x) * self.rate


class Made(nn.Module):
    """A module that makes its parameters when its fields are set."""

    width: int

    def __post_init__(self):
        self.scale = nv.variable((self.width,), 2.0)

    def forward(self, x):
        return x * self.scale


class Listed(nn.Module):
    """A module that keeps modules and places in a list and a dict, and one twice."""

    def __init__(self):
        shared = nn.LinearLayer(2, 2)
        self.layers = [nn.LinearLayer(2, 2), shared]
        self.table = {"first": nv.variable((2,)), "with space": shared}
        self.steps = nv.persistent_tensor((), 0)
        self.constant = nv.constant([1.0, 2.0])
        self.numbers = [1, 2]


def perceptron() -> nn.Sequential:
    return nn.Sequential(nn.LinearLayer("F=3", "K=4"), nn.ReLU(), nn.Dropout(0.5), nn.LinearLayer("K=4", "Y=2"))


# -- fields --------------------------------------------------------------------------------------------


def test_fields_are_taken_in_order_and_by_name():
    """T200: with defaults from the class, and a last step."""
    assert Block(nn.Identity()).rate == 0.5 and Block(nn.Identity(), 2).rate == 2
    assert Block(label="x", inner=nn.Identity()).label == "x" and Made(3).scale.shape == (3,)
    assert Block(nn.Identity(), 3)(nv.constant([1.0])).tolist() == [3.0]


@pytest.mark.parametrize(("make", "kind", "words"), [
    (lambda: Block(), InvalidArgument, "inner has no value"), (lambda: Block(3), WrongKind, "inner has another type"),
    (lambda: Block(nn.Identity(), rate="x"), WrongKind, "declares it with rate: float"),
    (lambda: Block(nn.Identity(), inner=nn.Identity()), WrongKind, "given twice"),
    (lambda: Block(nn.Identity(), rat=1), WrongKind, "did you mean rate"),
    (lambda: Block(nn.Identity(), 1.0, None, 4), WrongKind, "there are 3 fields"),
    (lambda: nn.Dropout(p=0.5), WrongKind, "here it is rate=")], ids=range(7))
def test_what_does_not_fit_the_fields_is_refused(make, kind, words):
    """T200: with the name of the field."""
    with pytest.raises(kind, match=words) as caught:
        make()
    assert caught.value.help and caught.value.location.file == __file__


def test_a_field_stays_of_its_type():
    """T200: where it is set later, too."""
    block = Block(nn.Identity())
    block.rate = 1
    with pytest.raises(WrongKind, match="rate"):
        block.rate = "fast"
    assert block.rate == 1


def test_a_module_without_forward_says_so():
    """T200: when it is called."""
    with pytest.raises(NotSupported, match="no forward"):
        Listed()(nv.constant(1.0))


def test_parameters_do_not_stand_in_a_class():
    """T200: nor modules that have some; others may."""
    for value in (nv.variable((2,)), nn.LinearLayer(2, 2), [nn.PReLU()]):
        with pytest.raises(InvalidArgument, match="made once"):
            type("Shared", (nn.Module,), {"inner": value, "__annotations__": {"inner": nn.Module}})
    assert type("Plain", (Block,), {"inner": nn.ReLU()})().inner(nv.constant([-1.0])).tolist() == [0.0]


def test_a_name_that_modules_lack_is_explained():
    """T209: an AttributeError, with what does the same here."""
    with pytest.raises(UnknownName, match="has no state_dict") as caught:
        perceptron().state_dict()
    assert "nv.make_state_dict(model)" in caught.value.help and not hasattr(perceptron(), "_repr_png_")


# -- what is inside --------------------------------------------------------------------------------------


def test_parameters_are_found_in_order_and_once():
    """T201: in fields, lists and dicts, depth first."""
    model = Listed()
    assert [path for path, _ in model.named_parameters()] == [
        "table.first", "layers.0.weights", "layers.0.bias", "layers.1.weights", "layers.1.bias"]
    assert [path for path, _ in model.named_buffers()] == ["steps"]
    assert [path for path, _ in model.named_modules()] == ["", "layers.0", "layers.1"]


def test_modules_come_depth_first():
    """T201: the module itself first, a shared one where it is met first."""
    inner = nn.Sequential(nn.ReLU(), nn.LinearLayer(2, 2))
    model = nn.Sequential(inner, nn.Residual(inner), nn.LinearLayer(2, 2))
    assert [path for path, _ in model.named_modules()] == ["", "0", "0.0", "0.1", "1", "2"]
    assert model.modules()[0] is model and len(model.parameters()) == 4


def test_a_place_knows_where_it_sits():
    """T202: its owner and its slot, from when it is set until the field gets another value."""
    layer = nn.LinearLayer(2, 2)
    weights = layer.weights
    assert record_of(weights).owner is layer and record_of(weights).slot == "weights" and weights.name == "weights"
    other = nn.LinearLayer(2, 2, weights=weights)
    assert record_of(weights).owner is layer and other.weights is weights
    layer.weights = nv.variable((2, 2))
    assert record_of(weights).owner is other and record_of(layer.weights).owner is layer
    other.weights = nv.variable((2, 2))
    assert record_of(weights).owner is None
    del layer.bias
    assert [path for path, _ in layer.named_parameters()] == ["weights"]


def change(model):
    model.first = nv.variable((), 2.0)


@pytest.mark.parametrize("release", [lambda model: setattr(model, "first", None), lambda model: delattr(model, "first"),
                                     change, lambda model: setattr(model, "first", model.first)])
@pytest.mark.parametrize("second", [lambda place: place, lambda place: [nv.relu, place], lambda place: {"x": place}])
def test_a_place_in_two_fields_sits_in_the_other_one_when_a_field_changes(release, second):
    """T202: as long as it is in any; files know it by the name that the module has for it."""
    class Twice(nn.Module):
        def __post_init__(self):
            self.first = self.place = nv.variable((), 1.0)
            self.second, self.place = second(self.place), None
    model = Twice()
    place = model.first
    release(model)
    assert record_of(place).owner is model
    assert list(nv.make_state_dict([place]).table) == [f"param:{name}" for name in model.state_names().values()]
    model.first = model.second = None
    assert record_of(place).owner is None and record_of(place).slot is None


@pytest.mark.parametrize("release", [lambda model: setattr(model, "first", None), lambda model: delattr(model, "first"),
                                     change])
def test_a_place_in_two_modules_sits_in_the_other_one_when_a_field_changes(release):
    """T202: in the earliest of those that hold it by then, and files know it by the name in that one."""
    class Tied(nn.Module):
        def __init__(self, **fields):
            for name, value in fields.items():
                setattr(self, name, value)
    place = nv.variable((), 1.0)
    model, gone, lost, third = Tied(first=place), Tied(own=place), Tied(own=place), Tied(inner=[nv.relu, place])
    gone.own = None
    del lost
    release(model)
    assert record_of(place).owner is third and record_of(place).slot == "inner_1"
    assert list(nv.make_state_dict([place]).table) == ["param:tied.0.inner_1"]
    third.inner = None
    assert record_of(place).owner is None


def test_what_is_appended_later_is_found():
    """T202: and gets its owner when it is."""
    model = Listed()
    model.layers.append(nv.variable((), 1.0))
    place = dict(model.named_parameters())["layers.2"]
    assert record_of(place).owner is model and record_of(place).slot == "layers_2"


def test_names_of_state_count_modules_of_a_class():
    """T203: depth first, without paths; what is shared has its first name."""
    names = list(nn.Sequential(nn.LinearLayer(2, 2), nn.Sequential(nn.LinearLayer(2, 2, bias=False)),
                               nn.BatchNorm(2), nn.LinearLayer(2, 2)).state_names().values())
    assert names == ["linearlayer.0.weights", "linearlayer.0.bias", "linearlayer.1.weights", "batchnorm.0.scale",
                     "batchnorm.0.shift", "batchnorm.0.running_mean", "batchnorm.0.running_variance",
                     "linearlayer.2.weights", "linearlayer.2.bias"]
    assert "listed.0.table_first" in Listed().state_names().values()


def test_state_dicts_have_these_names(tmp_path):
    """T203: parameters and buffers, of the module and of what is built of it; they go to another module."""
    first, second = [nn.Sequential(nn.LinearLayer(2, 2), nn.BatchNorm(2), nn.LinearLayer(2, 1)) for _ in range(2)]
    keys = [f"param:{name}" for name in first.state_names().values()]
    assert list(nv.make_state_dict(first).table) == keys
    built = nv.build(first(nv.placeholder((nv.dim("n"), 2)).named("x")), inputs=("x",))
    built.forward(np.ones((3, 2), np.float32))
    assert set(nv.make_state_dict(built).table) == set(keys)
    nv.save_weights(first, tmp_path / "weights.safetensors")
    nv.load_weights(second, tmp_path / "weights.safetensors")
    for mine, theirs in zip(first.state_names(), second.state_names()):
        assert mine.numpy().tobytes() == theirs.numpy().tobytes()
    assert (second[1].running_mean.numpy() != 0).any()


def test_two_places_of_one_name_are_refused():
    """T203: a list and a field can have one."""
    model = Listed()
    model.layers_2 = nv.variable(())
    model.layers.append(nv.variable(()))
    with pytest.raises(InvalidArgument, match="two places are named listed.0.layers_2"):
        model.state_names()


# -- the switch ------------------------------------------------------------------------------------------


def test_one_switch_sets_all_modules():
    """T204: for the calls after it; the graph of a call before stays what it was."""
    model, x = perceptron(), nv.placeholder("N=n, F=3")
    assert model.training and all(module.training for module in model.modules())
    before = model(x)
    assert model.eval() is model and not any(module.training for module in model.modules())
    kinds = [{type(op).__name__ for op in nv.ir.traverse.postorder([y.value])} for y in (before, model(x))]
    assert any("Random" in name for name in kinds[0]) and not any("Random" in name for name in kinds[1])
    assert model.train().training and model[2].training
    with pytest.raises(WrongKind, match="switch"):
        model.train("yes")


def test_calls_stand_in_a_scope_of_their_own():
    """T205: so that explanations say which module an op comes from."""
    layer = nn.LinearLayer("F=3", "K=2")
    model, x = Block(nn.Sequential(nv.absolute, layer)), nv.placeholder("N=2, F=3")
    assert [line.scope for step in nv.explain(nv.computation(model(x), x)).steps for line in step.ops if
            line.op == "Absolute"] == ["Block/inner/0"]
    assert model.inner(x).value.op.provenance.scope == "Sequential/1"
    assert layer(x).value.op.provenance.scope == "LinearLayer"


class Stage(nn.Module):
    def __post_init__(self):
        self.convs, self.bn2 = {"first": nn.Conv(1, 4, (3, 3))}, nn.BatchNorm(5)

    def forward(self, x):
        return self.bn2(self.convs["first"](x))


class Network(nn.Module):
    def __post_init__(self):
        self.blocks, self.head, self.act = [nn.Sequential(nv.relu), Stage()], nn.LinearLayer(6, 2), Broken()

    def forward(self, x, stages=2):
        for block in self.blocks[:stages]:
            x = block(x)
        return self.act(self.head(x))


class Broken(nn.Module):
    def forward(self, x):
        return x[{}["key"]]


@pytest.mark.parametrize(("call", "module", "own"), [
    (lambda model: model(nv.placeholder((2, 1, 9, 9))), "blocks.1.bn2: BatchNorm, given f32[2, 4, 7, 7]", "BatchNorm"),
    (lambda model: model(nv.placeholder((2, 3, 9, 9))), "blocks.1.convs.first: Conv, given f32[2, 3, 9, 9]", "Conv"),
    (lambda model: model(nv.placeholder((2, 7)), 0), "head: LinearLayer, given f32[2, 7]", "LinearLayer"),
    (lambda model: model.head(np.ones((2, 7))), "head: LinearLayer, given float64 array (2, 7)", "LinearLayer"),
    (lambda model: model.blocks[1](None), "blocks.1.convs.first: Conv, given NoneType None", "Conv"),
    (lambda model: nn.Sequential(model)(nv.placeholder((2, 7)), 0),
     "0.head: LinearLayer, given f32[2, 7]", "LinearLayer"),
    (lambda model: nn.Residual(model)(nv.placeholder((2, 3, 9, 9))),
     "inner.blocks.1.convs.first: Conv, given f32[2, 3, 9, 9]", "Conv"),
    (lambda model: nn.LinearLayer(6, 2)(nv.placeholder((2, 7))), "LinearLayer, given f32[2, 7]", "LinearLayer"),
    (lambda model: nn.Embedding(5, 2)(nv.placeholder((2, 7))), "Embedding, given f32[2, 7]", "Embedding")])
def test_an_error_names_the_module_that_it_comes_from(call, module, own):
    """T220: the innermost one, by its path in the outermost, with what it was given; its own words come first."""
    with pytest.raises(NervureError) as caught:
        call(Network())
    assert caught.value.module == module and f"\n  module:   {module}\n" in str(caught.value)
    assert str(caught.value).startswith(f"{own}: ") and not hasattr(caught.value, "__notes__")


def test_an_error_of_a_forward_of_ones_own_has_a_note():
    """T410: one note, of the innermost module."""
    with pytest.raises(KeyError) as caught:
        Network()(nv.placeholder((2, 6)), 0)
    assert caught.value.__notes__ == ["in the module act: Broken, given f32[2, 2]"]
    assert nn.Sequential(nn.LinearLayer(2, 2))(nv.placeholder((1, 2))).shape == (1, 2)  # nothing stays behind


# -- texts -----------------------------------------------------------------------------------------------


def test_a_module_shows_its_fields():
    """T206: nested, with the types of its parameters."""
    assert repr(Block(nn.ReLU(), 2.0)) == "Block(\n  inner: ReLU()\n  rate=2.0\n  label=None\n)"
    assert repr(nn.LinearLayer("F=3", "K=2", bias=False)) == "LinearLayer(weights=f32[F=3, K=2], bias=None)"
    listed = Block(nn.Identity())
    listed.inner = nn.Sequential(nv.relu)
    listed.extra = [nn.ReLU(), nv.variable((2,)), 3]
    assert repr(listed).splitlines()[1:-1] == ["  inner: Sequential(", "    0: Functional(relu)", "  )", "  rate=0.5",
                                               "  label=None", "  extra.0: ReLU()", "  extra.1=f32[2]"]
    assert repr(nn.Sequential(nv.relu)) == "Sequential(\n  0: Functional(relu)\n)"
    circular = Block(nn.ReLU(), 2.0)
    circular.inner.parent, circular.extra = circular, [circular]
    assert repr(circular) == repr(circular) == "\n".join([
        "Block(", "  inner: ReLU(", "    parent: ...", "  )", "  rate=2.0", "  label=None", "  extra.0: ...", ")"])


def test_a_summary_counts_parameters_bytes_and_operations():
    """T207: for all lengths of the batch; a product of two numbers and its sum are two operations."""
    found = perceptron().summary("N=n, F=3")
    assert [line.kind for line in found.lines] == ["Sequential", "LinearLayer", "ReLU", "Dropout", "LinearLayer"]
    assert [(line.name, line.depth) for line in found.lines] == [("", 0), ("0", 1), ("1", 1), ("2", 1), ("3", 1)]
    assert [line.parameters for line in found.lines] == [26, 16, 0, 0, 10]
    assert found.lines[1].result == "f32[N=n, K=4]" and str(found.lines[1].result_bytes) == "16*n"
    assert str(found.lines[1].operations) == "28*n" and str(found.lines[4].operations) == "18*n"
    assert (found.parameters, found.parameter_bytes, found.buffer_bytes) == (26, 104, 0)
    assert str(found).splitlines()[-1] == "26 parameters, 104 bytes; buffers 0 bytes"


def test_a_summary_of_numbers_and_of_convolutions():
    """T207: each place of a filter is a product for each of its inputs and outputs."""
    model = nn.Conv("C=3", "K=8", "H=3, W=3", padding=1)
    line, = model.summary("N=2, C=3, H=10, W=10").lines
    assert line.operations == 2 * (2 * 8 * 100 * 27) + 2 * 8 * 100 and line.result_bytes == 4 * 2 * 8 * 100


def test_what_is_shared_counts_once():
    """T207: in the totals; each call has a line."""
    layer = nn.LinearLayer(2, 2)
    found = nn.Sequential(layer, layer).summary((1, 2))
    assert len(found.lines) == 3 and found.parameters == 6 and found.lines[0].parameters == 6


def test_a_summary_changes_nothing():
    """T207: nothing runs, so running statistics stay."""
    layer = nn.BatchNorm("C=3")
    found = layer.summary("N=n, C=3")
    assert found.buffer_bytes == 24 and layer.running_mean.tolist() == [0.0] * 3


def test_tables_for_notebooks_are_escaped():
    """T208: of modules, summaries, tensors and explanations."""
    model, x = perceptron(), nv.placeholder("N=n, F=3").named("<b>x</b>")
    y = model.eval()(x)
    shown = [model, model.summary(x), x, y + nv.variable("Y=2"), nv.explain(nv.computation(y, x))]
    texts = [thing._repr_html_() for thing in shown]
    for text in texts:
        assert text.startswith("<table") and text.endswith("</table>") and "<b>" not in text and "src=" not in text
    assert "&lt;b&gt;x" in texts[2] and "linear" in texts[0].lower() and "f32[N=n, K=4]" in texts[1]


def test_a_table_of_a_tensor_computes_nothing():
    """T208: it shows what the repr says, and the axes."""
    calls = []
    x = nv.host_call(lambda: calls.append(1) or np.zeros(2, np.float32), [], like=nv.zeros("F=2"))
    assert "HostCall" in x._repr_html_() and calls == []
    assert nv.constant(3.0)._repr_html_().count("<tr>") == 0


@pytest.mark.parametrize("dtype", [nv.float32, nv.float64, nv.float16])
def test_arrays_take_the_type_of_the_parameters(dtype):
    """A285: arrays of real numbers; tensors, integers and what goes to a module without parameters stay."""
    layer, x = nv.nn.LinearLayer(3, 2, dtype=dtype), np.ones((1, 3))
    model = nv.nn.Sequential(nv.nn.Identity(), layer)
    for given in (x, x.astype(np.float32), x.astype(np.float16)):
        assert layer(given).dtype is dtype and model(given).dtype is dtype
    assert layer(nv.constant(x)).dtype is nv.float64
    assert nv.nn.ReLU()(x).dtype is nv.float64 and nv.nn.ReLU()(x.astype(np.float32)).dtype is nv.float32
    assert nv.nn.Embedding(4, 2, dtype=dtype)(np.array([1, 2])).dtype is dtype
    if dtype is nv.float64:
        expected = np.full((1, 3), 0.1) @ layer.weights.numpy() + layer.bias.numpy()
        np.testing.assert_allclose(layer(np.full((1, 3), 0.1)).numpy(), expected, rtol=1e-14)
