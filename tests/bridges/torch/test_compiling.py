"""The backend: fallback, its errors, symbols, memory formats, and arguments that are written."""

from __future__ import annotations

import copy
import tomllib
from concurrent.futures import ThreadPoolExecutor

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402

import nervure as nv  # noqa: E402
from nervure.bridges.torch import backend, compiling, fallback  # noqa: E402
from tests.bridges.torch.comparing import assert_alike  # noqa: E402
from tests.project.source import ROOT  # noqa: E402


def test_the_backend_is_declared_by_name():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = project["entry-points"]["torch_dynamo_backends"]["nervure"]
    assert declared == "nervure.bridges.torch:backend" and callable(backend)


def test_operands_of_no_known_type_leave_their_readers_to_pytorch():
    def function(x):
        first, second = torch.ops.aten.split_with_sizes(x, [1, 2])
        return torch.clamp(second, torch.sin(x[2])), first
    graph = make_fx(function, tracing_mode="fake")(torch.ones(3))
    for node in graph.graph.nodes:
        if node.target in (torch.ops.aten.split_with_sizes.default, torch.ops.aten.sin.default):
            del node.meta["val"]
    assert len(fallback.lacks(graph)) == 5, "the two, both parts of the first, and what clamps by the second"
    x = torch.tensor([2.0, -3.0, 1.0])
    assert_alike(fallback.compiled_in_parts(graph)(x), function(x))


def test_what_is_lacking_runs_in_pytorch_between_compiled_parts(made):
    def function(x):
        return torch.special.airy_ai(torch.exp(x) * 2 + 1).sqrt() - 1
    x = torch.randn(7)
    assert_alike(torch.compile(function, backend=backend)(x), function(x))
    assert len(made) == 2


@pytest.mark.parametrize("function", [
    lambda x, at: (x[0][at % x.shape[1]:] * 3).sum(),
    lambda x, at: torch.special.airy_ai(x).view(at, -1).sin().sum(1),
], ids=["a sum", "a quotient"])
def test_a_part_is_told_symbols_that_no_shape_of_its_tensors_tells(made, function):
    compiled = torch.compile(function, backend=backend, dynamic=True)
    for shape, at in (((4, 6), 3), ((6, 8), 4)):
        x = torch.rand(shape)
        assert_alike(compiled(x, at), function(x, at))
    assert len(made) == 1


def chosen(x, w, mask):
    rows, columns = torch.where(mask)
    return x[rows] @ w * x[rows, columns, None]


@pytest.mark.parametrize("function", [
    chosen, lambda x, w, mask: (x.exp()[torch.nonzero(mask)[:, 0]].t() * 2) @ x[mask.any(1)] @ w,
    lambda x, w, mask: torch.zeros(mask.sum().item(), 3).t() + x.sum(0)[:, None] @ w[:1, :1]])
@pytest.mark.parametrize("is_differentiated", [False, True])
@torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True, capture_scalar_outputs=True)
def test_lengths_that_depend_on_data_are_left_to_pytorch(function, is_differentiated):
    """Where one graph has them, as PyTorch's switches say."""
    x, w = [torch.randn(*shape, requires_grad=is_differentiated) for shape in ((5, 3), (3, 3))]
    mask = torch.eye(5, 3) > 0
    found, expected = [run(x, w, mask) for run in (torch.compile(function, backend=backend), function)]
    assert_alike(found, expected, scale=10)
    if is_differentiated:
        assert_alike(*[torch.autograd.grad(each.sum(), [x, w]) for each in (found, expected)], scale=10)


@pytest.mark.parametrize("function", [
    lambda x, y: (x * 2 + 1, y * 3 + 1), lambda x, y: ((torch.ones(3, device="meta") + x.shape[0]).exp(), y.exp() + 1),
    lambda x, y: (torch.rand(x.shape, device="meta") * 2, y - 1), lambda x, y: ((x * x).sin(), y),
    lambda x, y: (x.add_(1).cos(), y.cos() * 2),
], ids=["arguments", "constants", "random numbers", "alone", "written"])
@pytest.mark.parametrize("is_differentiated", [False, True])
def test_tensors_without_elements_are_left_to_pytorch(function, is_differentiated):
    x, y = torch.ones(3, device="meta"), torch.randn(2, requires_grad=is_differentiated)
    found, expected = torch.compile(function, backend=backend)(x, y), function(x, y)
    for one, other in zip(found, expected, strict=True):
        assert (one.device, one.dtype, one.shape) == (other.device, other.dtype, other.shape)
    assert_alike(found[1], expected[1])
    if is_differentiated:
        assert_alike(*[torch.autograd.grad(each[1].sum(), y)[0] for each in (found, expected)])


def test_a_model_of_tensors_without_elements_is_not_imported():
    with pytest.raises(nv.NotSupported, match="a tensor on meta"):
        nv.from_torch(torch.nn.Linear(2, 3, device="meta"), [torch.ones(2, 2, device="meta")])


def test_strict_names_the_op_and_the_users_line():
    with pytest.raises(Exception, match=r"aten\.special_airy_ai") as caught:
        torch.compile(lambda x: torch.special.airy_ai(x) + 1, backend=backend, options={"strict": True})(torch.randn(4))
    assert "test_compiling.py:" in str(caught.value) and "strict" in str(caught.value)


def test_other_options_are_refused():
    with pytest.raises(Exception, match="did you mean strict"):
        torch.compile(torch.sin, backend=backend, options={"strikt": True})(torch.randn(4))


def test_another_batch_compiles_nothing(made):
    model = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3))
    compiled = torch.compile(model, backend=backend, dynamic=True)
    for batch in (4, 9, 2, 33):
        x = torch.randn(batch, 6)
        own, theirs = compiled(x), model(x)
        assert_alike(own, theirs)
        own.sum().backward()
    assert len(made) == 2  # forward and backward


def test_lengths_are_numbers_of_the_graph(made):
    def function(x, y):
        return x.reshape(-1) * x.shape[0] + y.sum() / y.shape[1], x.shape[0] * 2
    compiled = torch.compile(function, backend=backend, dynamic=True)
    for rows in (3, 7):
        x, y = torch.randn(rows, 4), torch.randn(2, rows + 2)
        assert_alike(compiled(x, y), function(x, y))
    assert len(made) == 1


def test_statistics_of_a_batch_of_any_size(made):
    model = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 3), torch.nn.BatchNorm2d(3), torch.nn.ReLU())
    own = copy.deepcopy(model)
    compiled = torch.compile(own, backend=backend, dynamic=True, options={"strict": True})
    for batch in (3, 5, 2):
        x = torch.randn(batch, 2, 6, 6)
        got, expected = compiled(x), model(x)
        assert_alike(got, expected, scale=10)
        got.square().sum().backward()
        expected.square().sum().backward()
    assert_alike(list(own.buffers()), list(model.buffers()), scale=10)
    assert_alike([x.grad for x in own.parameters()], [x.grad for x in model.parameters()], scale=1000)
    assert len(made) == 2


@pytest.mark.parametrize("function", [
    lambda x: torch.as_strided(x * 2, (3, 2), (7, 2), 1) + 1,
    lambda x: torch.as_strided((x * 2).t(), (4, 3), (2, 8), 0) + 1,
    lambda x: torch.as_strided(x * 2, (4, 6), (1, 4), 0) + 1,
    lambda x: torch.nn.functional.adaptive_avg_pool2d(x.reshape(1, 2, 3, 4).to(memory_format=torch.channels_last),
                                                      1).flatten(1)])
def test_views_by_strides_are_part_of_one_forward_and_one_backward_function(made, function):
    inputs = [torch.randn(4, 6, requires_grad=True) for _ in range(2)]
    inputs[1].data.copy_(inputs[0].data)
    compiled = torch.compile(function, backend=backend, options={"strict": True})
    for run, x in zip((compiled, function), inputs, strict=True):
        (run(x) * torch.arange(run(x).numel()).reshape(run(x).shape)).sum().backward()
    assert_alike(inputs[0].grad, inputs[1].grad)
    assert len(made) == 2


@pytest.mark.parametrize("heads, keys, options", [
    (4, 7, {}), (4, 5, {"is_causal": True}), (4, 7, {"attn_mask": torch.rand(2, 1, 5, 7) < 0.7}),
    (4, 7, {"attn_mask": torch.randn(5, 7), "scale": 0.2}), (2, 5, {"is_causal": True, "enable_gqa": True})])
@pytest.mark.parametrize("most", [1 << 26, 0])
def test_attention_is_kept_whole_in_both_directions(monkeypatch, heads, keys, options, most):
    """Also where a derivative makes weights again for keys."""
    monkeypatch.setattr("nervure.ops.attention.MOST_SCORES", most)
    seen = []

    def watched(graph, name="graph", *others):
        seen.extend([str(node.target) for node in graph.graph.nodes if node.op == "call_function"])
        return compiled_graph(graph, name, *others)
    compiled_graph = compiling.compiled
    monkeypatch.setattr(compiling, "compiled", watched)
    shapes = ((2, 4, 5, 8), (2, heads, keys, 8), (2, heads, keys, 8))
    inputs = [torch.randn(shape, requires_grad=True) for shape in shapes]

    def function(*inputs):
        return torch.nn.functional.scaled_dot_product_attention(*inputs, **options)
    weights, found = torch.randn(2, 4, 5, 8), []
    for run in (torch.compile(function, backend=backend, options={"strict": True}), function):
        value = run(*inputs)
        found.append([value.detach(), *torch.autograd.grad((value * weights).sum(), inputs)])
    assert_alike(*found, scale=10)
    whole = [name for name in seen if "scaled_dot_product" in name]
    assert len(whole) == 2 and "backward" in whole[1] and not any(["softmax" in name for name in seen])


@pytest.mark.parametrize("options", [{"mode": "sum"}, {"mode": "mean", "padding_idx": 1}, {"mode": "max"},
                                     {"mode": "sum", "per_sample_weights": True}])
def test_bags_of_rows_are_one_forward_and_one_backward_function(made, options):
    places, offsets = torch.tensor([1, 2, 4, 5, 1, 1, 0]), torch.tensor([0, 3, 3, 7])
    given = dict(options)
    if "per_sample_weights" in given:
        given["per_sample_weights"] = torch.randn(7)

    def function(table):
        return torch.nn.functional.embedding_bag(places, table, offsets, **given) * 2
    tables = [torch.randn(6, 3, requires_grad=True) for _ in range(2)]
    tables[1].data.copy_(tables[0].data)
    compiled = torch.compile(function, backend=backend, options={"strict": True})
    values = [run(x) for run, x in zip((compiled, function), tables, strict=True)]
    assert_alike(*values)
    for value in values:
        (value * torch.arange(value.numel()).reshape(value.shape)).sum().backward()
    assert_alike(tables[0].grad, tables[1].grad)
    assert len(made) == 2


def test_counts_that_add_up_to_another_number_than_was_said_are_an_error():
    compiled = torch.compile(lambda x, counts: torch.repeat_interleave(x, counts, 0, output_size=5) * 2,
                             backend=backend, options={"strict": True})
    x = torch.randn(3, 2)
    assert_alike(compiled(x, torch.tensor([2, 0, 3])), x[[0, 0, 2, 2, 2]] * 2)
    for counts, kind in (([2, 1, 3], nv.InvalidArgument), ([2, 0, 2], nv.IndexOutOfRange),
                         ([-1, 3, 3], nv.InvalidArgument)):
        with pytest.raises(kind):
            compiled(x, torch.tensor(counts))


def test_a_table_whose_rows_are_held_to_a_norm_is_written_where_it_lies():
    def function(table):
        return torch.nn.functional.embedding(torch.tensor([1, 2, 1]), table, max_norm=0.5) * 2
    tables = [torch.ones(4, 3), torch.ones(4, 3)]
    values = [run(x) for run, x in zip((torch.compile(function, backend=backend, options={"strict": True}), function),
                                       tables, strict=True)]
    assert_alike(*values)
    assert_alike(*tables)
    assert tables[0][0].tolist() == [1.0, 1.0, 1.0] and tables[0][1].norm() < 0.51


def test_values_for_another_number_of_places_than_a_mask_has_are_an_error():
    def function(x, mask, values):
        y = x * 2
        y[mask] = values
        return y
    compiled = torch.compile(function, backend=backend, options={"strict": True})
    x, mask, values = torch.randn(4), torch.tensor([True, False, True, False]), torch.randn(2)
    assert_alike(compiled(x, mask, values), function(x, mask, values))
    for other in ([True, True, True, False], [True, False, False, False]):
        with pytest.raises(nv.IndexOutOfRange, match="index"):
            compiled(x, torch.tensor(other), values)


def test_a_view_by_strides_of_an_argument_counts_in_all_of_its_memory():
    def function(x):
        return torch.as_strided(x, (2, 2), (2, 1), 13) + 1
    y = torch.arange(48.0).reshape(4, 12)
    for several in ((y[1:3], y[:2], y[1:3]), (y[:2], y[1:3])):
        torch._dynamo.reset()
        compiled = torch.compile(function, backend=backend, options={"strict": True})
        for x in several:
            assert_alike(compiled(x), function(x))


def test_a_graph_that_cannot_be_compiled_after_all_runs_in_pytorch(monkeypatch):
    def refuse(*arguments):
        raise nv.NotSupported("this machine cannot run it")
    monkeypatch.setattr("nervure.bridges.torch.freezing.TracedProgram", refuse)
    x = torch.randn(4)
    assert_alike(torch.compile(lambda x: x.exp() + 1, backend=backend)(x), x.exp() + 1)


def test_compiled_parts_share_a_graph_with_branches_and_several_results():
    def function(x, y):
        first = torch.special.airy_ai(x.exp())
        return (first * y).sum(), {"y": y.tanh(), "both": torch.linalg.ldl_factor_ex(torch.outer(y, first))}
    x, y = torch.randn(5), torch.randn(5)
    got, expected = torch.compile(function, backend=backend)(x, y), function(x, y)
    assert_alike([got[0], got[1]["y"], *got[1]["both"]], [expected[0], expected[1]["y"], *expected[1]["both"]])


def written(x):
    made = torch.zeros(5, 4)
    made[1:3] = x[:2]
    made[:, 0] = 7
    made[torch.tensor([0, 4])] += 1
    return made


def cached(key, cache, at):
    cache[:, at:at + 1] = key
    return cache.sum(1)


EDGES = {
    "argument": (lambda x: x, lambda: [torch.randn(3)]),
    "other values": (lambda x: (x + 1, None, 3, "a"), lambda: [torch.randn(3)]),
    "no argument is read": (lambda x: torch.arange(5), lambda: [torch.randn(3)]),
    "one result twice": (lambda x: (y := x + 1, y), lambda: [torch.randn(3)]),
    "views of a result": (lambda x: (y := x + 1, y.view(-1), y[0]), lambda: [torch.randn(3, 2)]),
    "views of an argument": (lambda x: (x.t(), x[0], x.view(-1)), lambda: [torch.randn(3, 2)]),
    "complex": (lambda x: (x * x.conj(), x.abs(), x.real + x.imag), lambda: [torch.randn(3, dtype=torch.complex64)]),
    "number": (lambda x, y: x * y + y, lambda: [torch.randn(3), 0.3]),
    "length": (lambda x, n: x[:n] * n, lambda: [torch.randn(9), 4]),
    "mask": (lambda x: x[x > 0] * 2, lambda: [torch.randn(9)]),
    "item": (lambda x: x * x.sum().item(), lambda: [torch.randn(3)]),
    "written parts": (written, lambda: [torch.randn(5, 4)]),
    "cache": (cached, lambda: [torch.randn(2, 1, 3), torch.zeros(2, 8, 3), 3]),
    "bytes": (lambda x: (x + 10, x.float() / 255, x > 3), lambda: [torch.tensor([1, 250, 7], dtype=torch.uint8)]),
    "masked attention": (lambda q, m: torch.nn.functional.scaled_dot_product_attention(q, q, q, attn_mask=m),
                         lambda: [torch.randn(1, 2, 5, 8), torch.zeros(5, 5).bool()]),
    "empty batch": (lambda x: (x @ torch.ones(4, 2)).softmax(-1), lambda: [torch.randn(0, 4)])}


@pytest.mark.parametrize("name", EDGES)
@pytest.mark.parametrize("dynamic", [False, True], ids=["numbers", "symbols"])
def test_what_functions_take_and_give(name, dynamic):
    function, draw = EDGES[name]
    given = draw()
    theirs = copy.deepcopy(given)
    got, expected = torch.compile(function, backend=backend, dynamic=dynamic)(*given), function(*theirs)
    assert_alike(got, expected, scale=10)
    assert_alike(given, theirs)


@pytest.mark.parametrize("function", [
    lambda z: z * (1 + 2j), lambda z: z.conj() * 2j, lambda z: z / (1 + 2j), lambda z: (1 + 2j) / z,
    lambda z: z.real * 2j, lambda z: torch.addcdiv(z, z, z + 3, value=1j)])
def test_gradients_beside_complex_numbers_of_python(function):
    z = torch.tensor([1 + 2j, -0.5j, 3 + 0j], dtype=torch.complex64, requires_grad=True)
    found = [torch.autograd.grad(run(z).abs().sum(), z)[0]
             for run in (torch.compile(function, backend=backend), function)]
    assert_alike(*found, scale=10)


def test_threads_share_a_compiled_model():
    model = torch.nn.Linear(6, 3)
    compiled = torch.compile(model, backend=backend)
    inputs = [torch.randn(4, 6) for _ in range(8)]
    compiled(inputs[0])
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(compiled, inputs))
    assert_alike(found, [model(x) for x in inputs])


@pytest.mark.parametrize("function", [
    lambda x, s: x[s:] + 1, lambda x, s: x.select(0, s) + 1, lambda x, s: x.narrow(0, s, 1) + 1,
    lambda x, s: x * s if s < 0 else x], ids=["slice", "select", "narrow", "branch"])
def test_an_integer_that_is_known_to_be_negative_is_left_to_pytorch(function):
    """Y9: PyTorch gives it a range without a lower bound."""
    for dynamic in (None, True):
        torch._dynamo.reset()
        compiled = torch.compile(function, backend="nervure", dynamic=dynamic)
        for x, s in ((torch.arange(6.0), -2), (torch.arange(7.0), -3), (torch.arange(5.0), -1)):
            assert_alike(compiled(x, s), function(x, s))


def test_an_integer_may_be_negative(made):
    def function(x, count):
        return x * count, x.sum() + count
    compiled = torch.compile(function, backend=backend, dynamic=True)
    for count in (3, 7, -2, 0, 5):
        x = torch.randn(3)
        assert_alike(compiled(x, count), function(x, count))
    assert made


def test_channels_last_in_and_out():
    model = torch.nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last)
    x = torch.randn(2, 3, 8, 7).to(memory_format=torch.channels_last)
    with torch.no_grad():
        got, expected = torch.compile(model, backend=backend)(x), model(x)
    assert_alike(got, expected)
    assert got.stride() == expected.stride()


@pytest.mark.parametrize("x", [torch.randn(4, 6).t(), torch.randn(8, 6)[::2], torch.randn(4, 1).expand(4, 6),
                               torch.randn(0, 6), torch.tensor(2.0), torch.randn(3, 4, 5).transpose(0, 2)],
                         ids=["transposed", "strided", "expanded", "empty", "scalar", "permuted"])
def test_any_strides(x):
    def function(x):
        return torch.relu(x) * 2 + x.sum()
    assert_alike(torch.compile(function, backend=backend)(x), function(x))


def test_arguments_that_are_written_in_place():
    def function(x, cache):
        cache[1:3] += x
        x.mul_(2)
        return cache.sum() + x
    inputs = [(torch.ones(2), torch.zeros(4, 2)) for _ in range(2)]
    got = torch.compile(function, backend=backend)(*inputs[0])
    assert_alike(got, function(*inputs[1]))
    assert_alike(inputs[0], inputs[1])


def test_results_that_are_views_of_arguments_share_their_memory():
    compiled = torch.compile(lambda x: (x[1:], x * 2), backend=backend)
    x = torch.zeros(3)
    view, double = compiled(x)
    x += 1
    assert view.tolist() == [1, 1] and double.tolist() == [0, 0, 0]


def test_dropout_draws_as_eager_does():
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.5), torch.nn.ReLU())
    compiled, x = torch.compile(model, backend=backend), torch.randn(16, 8)
    compiled(x)
    masks = []
    for _ in range(2):
        torch.manual_seed(3)
        y = compiled(x)
        y.sum().backward()
        masks.append(y)
    assert torch.equal(*masks)
    zeros = (torch.nn.functional.dropout(torch.ones(10_000), 0.5) == 0).float().mean()
    assert abs(zeros.item() - 0.5) < 0.05


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_other_element_types(dtype):
    model = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.GELU(), torch.nn.LayerNorm(16)).to(dtype)
    x = torch.randn(3, 6, dtype=dtype)
    with torch.no_grad():
        assert_alike(torch.compile(model, backend=backend, options={"strict": True})(x), model(x), scale=4)


def test_autocast():
    model, x = torch.nn.Linear(6, 4), torch.randn(3, 6)
    with torch.autocast("cpu", torch.bfloat16), torch.no_grad():
        got, expected = torch.compile(model, backend=backend)(x), model(x)
    assert_alike(got, expected)


def test_without_pytorch_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(nv.NotSupported, match=r"pip install 'nervure\[torch\]'"):
        backend(None, [])
