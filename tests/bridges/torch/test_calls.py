"""Calls of compiled graphs: tensors are read and written where they lie, and mean what they do in PyTorch."""

from __future__ import annotations

import copy
import gc
from concurrent.futures import ThreadPoolExecutor

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import nervure as nv  # noqa: E402
from nervure.bridges.torch import backend, compiling, traced_program  # noqa: E402
from tests.bridges.torch.comparing import assert_alike  # noqa: E402

CACHE = (2, 4096, 64)


@pytest.fixture
def by_arrays(monkeypatch):
    """The number of calls that went by way of arrays, in a list."""
    calls = []
    known = traced_program.TracedProgram._by_arrays

    def counted(program, arguments):
        calls.append(program)
        return known(program, arguments)
    monkeypatch.setattr(traced_program.TracedProgram, "_by_arrays", counted)
    return calls


def strict(function, **named):
    return torch.compile(function, backend=backend, options={"strict": True}, **named)


def test_a_second_call_reaches_no_array(by_arrays):
    """Y1: neither forward nor backward calls are read by Python."""
    model = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3))
    compiled = strict(model)
    for _ in range(4):
        x = torch.randn(4, 6, requires_grad=True)
        y = compiled(x)
        y.sum().backward()
        assert_alike(y, model(x))
    assert len(by_arrays) == 2  # forward and backward, once each


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_arguments_may_be_resized_after_a_call(dtype):
    """Y1: a call leaves their memory as it was, however they lie, and so do the gradients' calls."""
    model = torch.nn.Linear(4, 4, dtype=dtype)
    compiled = strict(model)
    for x in (torch.randn(3, 4, dtype=dtype), torch.randn(4, 3, dtype=dtype).t(), torch.randn(1, 4, dtype=dtype)):
        compiled(x).sum().backward()
        x.resize_(5, 5)
    weight = model.weight.untyped_storage()
    size = weight.nbytes()
    weight.resize_(0)  # as sharded training does between steps
    weight.resize_(size)
    grown = torch.randn(2, 4, dtype=dtype)
    compiled(grown)
    assert torch.cumsum(torch.ones(6, 6, dtype=dtype), 0, out=grown).shape == (6, 6)


@pytest.mark.skipif(nv.transformers.default().name != "cpu", reason="there is no cpu transformer here")
def test_results_own_memory_that_returns_to_the_pool(by_arrays):
    """Y1: a view keeps the memory of its result, and nothing else does."""
    compiled = strict(lambda x: (x * 2, x.t() + 1))
    x = torch.randn(3, 500)
    compiled(x)
    first, second = compiled(x)
    assert first.is_contiguous() and second.stride() == (1, 500)
    pointer = first.data_ptr()
    view = first[1:]
    del first, second
    gc.collect()
    again, _ = compiled(x)
    assert again.data_ptr() != pointer  # the view keeps the memory
    assert_alike(view, (x * 2)[1:])
    del view
    assert pointer in [compiled(x)[0].data_ptr() for _ in range(2)] and len(by_arrays) == 1


@pytest.mark.parametrize("make", [
    lambda: torch.randn(6, 4).t(), lambda: torch.randn(4, 12)[:, ::2], lambda: torch.randn(4, 1).expand(4, 6),
    lambda: torch.randn(4, 7)[:, 1:], lambda: torch.randn(4, 6)],
    ids=["transposed", "strided", "expanded", "offset", "plain"])
def test_inputs_of_fallen_back_parts_may_lie_otherwise(make):
    """A part of a graph is called with what PyTorch made, in any strides."""
    graph = torch.fx.experimental.proxy_tensor.make_fx(
        lambda x: torch.ops.aten.add.Tensor(x, 1), tracing_mode="fake")(torch.randn(4, 6))
    program = traced_program.TracedProgram(traced_program_of(graph), graph)
    for x in (torch.randn(4, 6), make(), torch.randn(4, 6)):
        assert_alike(program(x), [x + 1])


def traced_program_of(graph):
    from nervure.bridges.torch.translation import translated
    return translated(graph)


def test_tensors_that_only_seem_to_fit_are_read_by_pytorch(by_arrays):
    graph = torch.fx.experimental.proxy_tensor.make_fx(
        lambda x: torch.ops.aten.exp.default(x), tracing_mode="fake")(torch.randn(4))
    program = traced_program.TracedProgram(traced_program_of(graph), graph)

    class Own(torch.Tensor):
        pass
    for x in (torch.randn(4), torch.randn(4).as_subclass(Own), torch.nn.Parameter(torch.randn(4)), torch.randn(8)[1:5]):
        assert_alike(program(x)[0], x.detach().as_subclass(torch.Tensor).exp())
    assert len(by_arrays) == 2  # the first call, and a subclass
    with pytest.raises(nv.NervureError):
        program(torch.randn(5))


def test_gradients_that_are_stored_as_their_negative():
    def function(x):
        return x * 3
    compiled = strict(function)
    x = torch.randn(4, requires_grad=True)
    negative = torch.randn(4, dtype=torch.complex64).conj().imag
    assert negative.is_neg()
    for _ in range(3):
        x.grad = None
        compiled(x).backward(negative)
        assert_alike(x.grad, negative.resolve_neg() * 3)


# -- arguments that are written ------------------------------------------------------------------------------------


def by_index(cache, row, at):
    cache.index_copy_(1, at, row)
    return row * 2


def by_slice(cache, row, at):
    cache[:, 7:8] = row
    return row * 2


def by_number(cache, row, at):
    cache[:, 7] = row[:, 0]
    return cache[:, 7].sum()


def by_indices(cache, row, at):
    cache[torch.arange(2), at] = row[:, 0]
    return row + 1


def by_difference(cache, row, at):
    cache.index_add_(1, at, row, alpha=-1)
    return None


@pytest.mark.skipif(nv.transformers.default().name != "cpu", reason="there is no cpu transformer here")
@pytest.mark.parametrize("write", [by_index, by_slice, by_number, by_indices, by_difference])
def test_a_row_is_written_where_the_cache_lies(write, by_arrays):
    """Y2: the program of a call takes no memory of the cache's size."""
    cache, theirs = torch.zeros(CACHE), torch.zeros(CACHE)
    compiled = strict(write)
    for at in (3, 900, 4000):
        row, place = torch.randn(2, 1, 64), torch.tensor([at])
        before, address = cache._version, cache.data_ptr()
        assert_alike(compiled(cache, row, place), write(theirs, row, place))
        assert_alike(cache, theirs)
        assert cache._version > before and cache.data_ptr() == address
    program = by_arrays[0]
    assert len(by_arrays) == 1
    tensors, = program.executable._tensor_calls
    assert len(tensors.replaced) == 1  # the program of these calls has no other place for the cache
    bindings = program.executable._recent[0]
    made = program.executable._variant(bindings, tensors.replaced).program
    assert made.record.result_bytes + made.record.arena_bytes < cache.nbytes / 100


@pytest.mark.skipif(nv.transformers.default().name != "cpu", reason="there is no cpu transformer here")
@pytest.mark.parametrize("dynamic", [None, True], ids=["usual", "symbols"])
def test_a_row_is_written_at_a_position_that_is_a_symbol(dynamic, by_arrays):
    """Y2: no call takes memory of the cache's size."""
    def append(cache, row, at):
        cache[:, at:at + 1] = row
        return row * 2
    compiled, cache, theirs = strict(append, dynamic=dynamic), torch.zeros(CACHE), torch.zeros(CACHE)
    for at in (3, 5, 900, 4095):
        row = torch.randn(2, 1, 64)
        assert_alike(compiled(cache, row, at), append(theirs, row, at))
        assert_alike(cache, theirs)
    assert by_arrays
    for program in by_arrays:
        for each in program.executable._known.values():
            (_, variant), = each.value.others.items()
            assert variant.program.record.result_bytes + variant.program.record.arena_bytes < cache.nbytes / 100


def test_views_of_arguments_lie_where_they_do_in_pytorch():
    """Y1: PyTorch reads strides and offsets of results that are views."""
    def function(x, y, at):
        return x[at:], x[at:at + 2], x.t()[:, at:], y, y + x.sum(), x[at::2], x[:at].sum()
    compiled = torch.compile(function, backend=backend, dynamic=True)
    for length, at in ((9, 3), (9, 5), (12, 7), (12, 0), (9, 8), (9, 9), (9, 20)):
        x, y = torch.randn(length, 2), torch.randn(3)
        got, expected = compiled(x, y, at), function(x, y, at)
        assert_alike(got, expected)
        assert [each.stride() for each in got] == [each.stride() for each in expected]
        assert [each.data_ptr() for each in got[:4] if each.numel()] == [
            each.data_ptr() for each in expected[:4] if each.numel()]


def test_what_training_saves_of_arguments_is_not_copied(by_arrays):
    """Y1: a weight that the backward pass reads is no result of the forward function."""
    model = torch.nn.Linear(64, 32)
    compiled, x = strict(model), torch.randn(4, 64)
    compiled(x).sum().backward()
    forward = by_arrays[0].executable.function
    assert [value.shape for value in forward.results] == [(4, 32)]


def test_slices_from_symbols_on_are_those_of_pytorch():
    def function(x, at):
        return x[at:] + 1, x[at:at + 2] + 1, x[:at] + 1, x[-2:] + 1, x[at::2] + 1
    compiled = torch.compile(function, backend=backend, dynamic=True)
    for length, at in ((9, 3), (9, 5), (12, 7), (12, 0), (9, 8), (9, 9), (9, 20)):
        x = torch.randn(length, 2)
        assert_alike(compiled(x, at), function(x, at))


def test_statistics_are_written_where_they_lie(by_arrays):
    model = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 3), torch.nn.BatchNorm2d(3))
    own = copy.deepcopy(model)
    compiled = strict(own)
    addresses = [x.data_ptr() for x in own.buffers()]
    for _ in range(4):
        x = torch.randn(3, 2, 6, 6)
        got, expected = compiled(x), model(x)
        assert_alike(got, expected, scale=10)
        got.square().sum().backward()
        expected.square().sum().backward()
    assert_alike(list(own.buffers()), list(model.buffers()), scale=10)
    assert_alike([x.grad for x in own.parameters()], [x.grad for x in model.parameters()], scale=1000)
    assert [x.data_ptr() for x in own.buffers()] == addresses and len(by_arrays) == 2


@pytest.mark.parametrize("lies", [lambda base: (base[0], base[1]), lambda base: (base[0], base[0]),
                                  lambda base: (base[0], base[:, 0]), lambda base: (base[0].t(), base[1])],
                         ids=["apart", "same", "crossed", "transposed"])
def test_arguments_that_share_memory_are_written_as_in_pytorch(lies):
    def function(x, y):
        x.mul_(2)
        x.add_(y)
        return y * 3
    compiled = torch.compile(function, backend=backend)
    own, theirs = torch.randn(4, 4, 4), None
    for _ in range(3):
        theirs = own.clone()
        got, expected = compiled(*lies(own)), function(*lies(theirs))
        assert_alike(got, expected)
        assert_alike(own, theirs)


def test_an_argument_that_lies_with_gaps_is_written(by_arrays):
    def function(x, y):
        x.add_(y)
        return x.sum()
    compiled = strict(function)
    own = torch.zeros(6, 8)
    theirs = own.clone()
    for columns in (slice(0, 4), slice(0, 4), slice(4, 8)):
        y = torch.randn(6, 4)
        assert_alike(compiled(own[:, columns], y), function(theirs[:, columns], y))
        assert_alike(own, theirs)


def test_a_written_argument_raises_its_version_for_autograd():
    compiled = strict(by_index)
    cache, row = torch.zeros(2, 8, 3), torch.randn(2, 1, 3)
    weight = torch.ones(2, 8, 3, requires_grad=True)
    for _ in range(2):
        product = (weight * cache).sum()  # saves the cache
        compiled(cache, row, torch.tensor([2]))
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            product.backward()


def sine(x, buffer):
    return x * buffer.sin()


def sine_and_what_falls_back(x, buffer):
    return x * (buffer[1:].sin().repeat(2)[:3] + torch.cummax(buffer.exp(), 0)[0])


def swapped(x, buffer):
    first, second = buffer[:1].clone(), buffer[2:].clone()
    buffer[:1], buffer[2:] = second, first
    return x.sin() * first


@pytest.mark.parametrize("read", [sine, sine_and_what_falls_back, swapped])
def test_gradients_follow_from_values_before_the_write(read):
    """Recomputation in the backward pass may read an argument that the forward pass has written."""
    def function(x, buffer):
        y = read(x, buffer)
        buffer.add_(1)
        return y.sum()
    compiled, own = torch.compile(function, backend=backend), torch.arange(3.)
    theirs = own.clone()
    for _ in range(3):
        x = torch.randn(3, requires_grad=True)
        (gradient,), (expected,) = [torch.autograd.grad(call(x, buffer), x) for call, buffer in (
            (compiled, own), (function, theirs))]
        assert_alike(gradient, expected)
        assert_alike(own, theirs)


def test_arguments_that_exchange_their_values():
    def function(x, y):
        kept = x.clone()
        x.copy_(y)
        y.copy_(kept)
        return torch.cummax(x, 0)[0]
    compiled = torch.compile(function, backend=backend)
    own, theirs = [torch.randn(4), torch.randn(4)], None
    for _ in range(3):
        theirs = [x.clone() for x in own]
        assert_alike(compiled(*own), function(*theirs))
        assert_alike(own, theirs)


def test_writes_beside_what_falls_back():
    def function(x, cache):
        first = torch.cummax(x + cache, 0)[0]
        cache.add_(first)
        return torch.cummax(cache * 2, 0)[0], cache + x
    compiled = torch.compile(function, backend=backend)
    own = torch.randn(5)
    theirs = own.clone()
    for _ in range(3):
        x = torch.randn(5)
        assert_alike(compiled(x, own), function(x, theirs))
        assert_alike(own, theirs)


# -- what surrounds a call -----------------------------------------------------------------------------------------


def test_threads_write_caches_of_their_own():
    compiled = strict(by_index)
    caches = [torch.zeros(2, 64, 16) for _ in range(8)]
    row = torch.randn(2, 1, 16)
    compiled(torch.zeros(2, 64, 16), row, torch.tensor([0]))

    def fill(cache):
        for at in range(64):
            compiled(cache, row * at, torch.tensor([at]))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(fill, caches))
    expected = row * torch.arange(64.)[None, :, None]
    assert all([torch.equal(cache, expected) for cache in caches])


def test_a_compiled_model_calls_another_inside_of_a_hook():
    inner, outer = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)
    compiled_inner, compiled_outer = strict(inner), strict(outer)
    x = torch.randn(2, 3)
    for _ in range(2):
        y = compiled_outer(x)
        y.register_hook(lambda gradient: compiled_inner(gradient.detach()).detach())
        outer.weight.grad = None
        y.sum().backward()
        assert_alike(outer.weight.grad, inner(torch.ones(2, 3)).detach().t() @ x)


def test_results_that_require_gradients_and_those_that_do_not():
    def function(x, y):
        return x * y, y + 1, (x > 0)
    compiled = strict(function)
    x, y = torch.randn(3, requires_grad=True), torch.randn(3)
    for _ in range(2):
        assert [each.requires_grad for each in compiled(x, y)] == [each.requires_grad for each in function(x, y)]
        with torch.no_grad():
            assert not any([each.requires_grad for each in compiled(x, y)])
        with torch.inference_mode():
            assert [each.is_inference() for each in compiled(x, y)] == [True] * 3


def test_results_that_alias_an_argument_follow_it():
    def function(x):
        x.add_(1)
        return x, x[1:], x.view(-1), x * 2
    compiled = torch.compile(function, backend=backend)
    for _ in range(3):
        x = torch.zeros(2, 3)
        itself, part, flat, double = compiled(x)
        x += 1
        assert itself is x and part.tolist() == [[2] * 3] and flat.tolist() == [2] * 6
        assert double.tolist() == [[2] * 3] * 2


@pytest.mark.parametrize("dynamic", [None, True], ids=["usual", "symbols"])
@pytest.mark.parametrize("function", [
    lambda x: (lambda y: (y.view(-1), y, y[1:], y.t(), y.detach()))(x + 1),
    lambda x: (lambda y: (y.as_strided((2, 2), (1, 1), 1), y[0], y[:, 0], y.real, y.real, x))(x.exp()),
    lambda x: (lambda y: (y.unsqueeze(0).expand(2, *y.shape), y))(torch.cat([x, x]).neg()),
], ids=["whole", "parts", "expanded"])
def test_results_that_are_views_of_one_another_share_memory(function, dynamic):
    """Y1: a write to one is seen in the others, and elements that repeat are there once."""
    compiled = torch.compile(function, backend=backend, dynamic=dynamic)
    for _ in range(2):
        own, theirs = compiled(torch.ones(3, 4)), function(torch.ones(3, 4))
        assert_alike(own, theirs)
        for results in (own, theirs):
            results[0][(0,) * results[0].dim()].mul_(5)
        assert_alike(own, theirs)
        assert [entry.stride() for entry in own] == [entry.stride() for entry in theirs]


def test_results_that_lie_apart_in_one_memory_are_computed_apart(made):
    compiled = strict(lambda x: (x + 1).chunk(2, 1))
    assert all([part.is_contiguous() for part in compiled(torch.ones(3, 4))])


def test_views_of_a_written_argument_begin_where_they_do_in_pytorch():
    """Y1: where a symbol decides that, PyTorch reads it from the result."""
    def function(x, at):
        part, above = x[at:], x.t()[at:]
        x.mul_(x.clone())
        return part, above, x
    compiled = torch.compile(function, backend=backend, dynamic=True)
    for at in (3, 2, 1):
        own, theirs = torch.arange(16.0).reshape(4, 4), torch.arange(16.0).reshape(4, 4)
        got, expected = compiled(own, at), function(theirs, at)
        got[0].add_(1), expected[0].add_(1)
        assert_alike(got, expected)
        assert got[2] is own and got[0].data_ptr() == own[at].data_ptr()


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["rows", "columns"])
def test_views_by_strides_of_a_written_argument_lie_where_they_do_in_pytorch(order):
    """Y1: such a view counts places from the first one of the memory, before the argument."""
    def function(x, at):
        part = x.as_strided((2,), (1,), x.storage_offset())
        x[at % 3:].clamp_(0, 2)
        return part, x[at % 3:]
    compiled = torch.compile(function, backend=backend, dynamic=True)
    for at in (7, 8):
        own, theirs = [torch.arange(-4.0, 4.0)[2:].view(3, 2).permute(order) for _ in range(2)]
        got, expected = compiled(own, at), function(theirs, at)
        got[0].sub_(9), expected[0].sub_(9)
        assert_alike([*got, own], [*expected, theirs])


def test_what_training_saves_of_a_result_is_that_result(by_arrays):
    compiled = strict(lambda x: torch.softmax(x, -1))
    compiled(torch.ones(3, 4, requires_grad=True)).sum().backward()
    assert [value.shape for value in by_arrays[0].executable.function.results] == [(3, 4)]


def test_a_view_of_an_argument_beside_a_written_one_in_one_memory_lies_where_it_does_in_pytorch():
    """Y1: rows of one tensor take turns in two arguments, of which one is written."""
    def function(x, y):
        x[:, :1].copy_(y[:, -1:])
        return y.view(y.shape), y[1:], x
    for dynamic in (True, False):
        own, theirs = torch.arange(24.0).view(6, 4), torch.arange(24.0).view(6, 4)
        compiled = torch.compile(function, backend=backend, dynamic=dynamic)
        got, expected = compiled(own[::2], own[1::2]), function(theirs[::2], theirs[1::2])
        assert_alike([*got, own], [*expected, theirs])
        got[0].mul_(2), expected[0].mul_(2)
        assert_alike([*got, own], [*expected, theirs])


def test_a_call_that_fails_leaves_arguments_as_they_were():
    """Y3: a new value that is computed elsewhere is not copied."""
    def function(x, table, at):
        x.copy_(x.t() + torch.nn.functional.embedding(at, table).sum())
        return x * 2
    compiled = strict(function)
    x, table = torch.randn(3, 3), torch.randn(4, 2)
    for _ in range(2):
        compiled(x, table, torch.tensor([1, 3]))
        kept = x.clone()
        with pytest.raises(nv.IndexOutOfRange):
            compiled(x, table, torch.tensor([1, 4]))
        assert torch.equal(x, kept)


def test_an_error_of_a_call_names_the_op_and_the_next_call_works():
    def function(table, at):
        return torch.nn.functional.embedding(at, table) * 2
    compiled = strict(function)
    table = torch.randn(4, 3)
    for _ in range(2):
        assert_alike(compiled(table, torch.tensor([1, 3])), table[[1, 3]] * 2)
        with pytest.raises(nv.IndexOutOfRange):
            compiled(table, torch.tensor([1, 4]))


@pytest.fixture
def is_direct(monkeypatch):
    """Whether the calls of each graph go past PyTorch's functions, in a list."""
    found = []
    known = compiling.direct

    def noted(made):
        result = known(made)
        found.append(result is not made)
        return result
    monkeypatch.setattr(compiling, "direct", noted)
    return found


@pytest.mark.parametrize(("function", "options", "expected"), [
    (lambda x: (x * 2).relu(), {}, True),
    (lambda x: x + 1, {"options": {"freezing": True}}, True),
    (lambda x: (x.t(), x + 1), {}, False),                  # a view, which is made again
    (lambda x: x.add_(1) * 2, {}, False),                   # a new version of the argument
    (lambda x: x + 1, {"dynamic": True}, False),            # a number among the arguments, and marks on results
    (lambda x: torch.special.airy_ai(x) + 1, {}, False),    # PyTorch computes a part
    (lambda x: torch.as_strided(x, (2, 2), (2, 1), 3) + 1, {}, False),  # it depends on where the argument starts
], ids=["plain", "freezing", "view", "update", "dynamic", "part", "place"])
def test_calls_go_past_what_has_nothing_to_do(is_direct, function, options, expected):
    """Y1: a graph that AOTAutograd only calls is called without it, and one that it does more for is not."""
    compiled = torch.compile(function, backend=backend, **options)
    given, wanted = torch.ones(3, 4), torch.ones(3, 4)
    for _ in range(2):
        assert_alike(compiled(given), function(wanted))
    assert_alike(given, wanted)
    assert given._version == wanted._version and is_direct == [expected]


def test_gradients_and_autocast_are_off_in_a_call_that_goes_past(is_direct):
    """Y1: the results of a graph that was compiled for inference need no gradients, and have the types of its trace."""
    x = torch.ones(4, 4)
    with torch.autocast("cpu", torch.bfloat16):
        compiled = strict(lambda x: x @ x)
        for _ in range(2):
            y = compiled(x)
            assert y.dtype is torch.bfloat16 and not y.requires_grad and y.tolist() == [[4.0] * 4] * 4
    model = torch.nn.Linear(4, 2)
    compiled = strict(model)
    with torch.no_grad():
        for _ in range(2):
            assert not compiled(x).requires_grad
    assert compiled(x).requires_grad and is_direct == [True, True, False]


@pytest.mark.parametrize("function", [
    lambda x: [x.exp()], lambda x: [x.exp().t()], lambda x: [x.exp()[0]],
    lambda x: (lambda y: [y, y.t()])(x.tanh()), lambda x: (lambda y: [y.detach(), y])(x.exp()), lambda x: [x.clone()],
], ids=["whole", "view", "part", "both", "detached", "not needed"])
def test_a_write_to_a_result_before_the_backward_pass(function):
    """Y1: the gradient is that of the values of the forward pass, or it is an error, as in eager mode."""
    compiled = strict(function)

    def gradient(function):
        x = torch.full((2, 3), 0.5).t().requires_grad_()
        results = function(x)
        with torch.no_grad():
            results[0].mul_(-7)
        sum([y.sum() for y in results if y.requires_grad]).backward()
        return x.grad

    with torch.autograd.graph.saved_tensors_hooks(torch.clone, lambda kept: kept):
        expected = gradient(function)
    for _ in range(2):
        try:
            found = gradient(compiled)
        except RuntimeError as error:
            assert "modified by an inplace operation" in str(error)
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                gradient(function)
        else:
            assert_alike(found, expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_results_that_own_their_memory_are_views_of_nothing(dtype):
    """Y1: autograd allows writes to results, in any call, that lie in memory in another order than theirs."""
    compiled = strict(lambda x: (x * 3, x.exp()))
    for _ in range(2):
        x = torch.ones(2, 3, dtype=dtype).t().requires_grad_()
        first, second = compiled(x)
        assert not first._is_view() and not second._is_view()
        first.mul_(2).sum().backward()
        assert_alike(x.grad, torch.full((3, 2), 6.0, dtype=dtype))
