"""Random numbers in compiled models: their distribution, their repetition, and that they cut no graph."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import torch.nn.functional as F  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

import nervure as nv  # noqa: E402
from nervure.bridges.torch import backend, report  # noqa: E402
from tests.bridges.torch.comparing import assert_alike  # noqa: E402


def strictly(function, **options):
    return torch.compile(function, backend=backend, options={"strict": True}, **options)


def test_a_model_with_dropout_is_one_forward_and_one_backward_function(made):
    model = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.2, batch_first=True)
    strictly(model)(torch.randn(2, 5, 16)).sum().backward()
    assert len(made) == 2 and all([parameter.grad is not None for parameter in model.parameters()])


def test_the_backward_pass_has_the_mask_of_the_forward_pass():
    x = torch.ones(4000, requires_grad=True)
    value = strictly(lambda x: F.dropout(x * 3, 0.25))(x)
    value.sum().backward()
    assert_alike(x.grad, value.detach())
    assert abs(float((value == 0).float().mean()) - 0.25) < 5 * math.sqrt(0.25 * 0.75 / 4000)
    assert set(value.detach().tolist()) == {0.0, 4.0}


def test_seeds_repeat_numbers_and_calls_do_not():
    compiled, x = strictly(lambda x: F.dropout(x, 0.5) + torch.randn(64)), torch.ones(64)
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append([compiled(x), compiled(x)])
    assert torch.equal(found[0][0], found[1][0]) and torch.equal(found[0][1], found[1][1])
    assert not torch.equal(found[0][0], found[0][1]) and not torch.equal(found[0][0], found[2][0])


def test_what_is_computed_again_in_the_backward_pass_has_the_same_numbers():
    def part(x):
        return F.dropout(torch.sin(x), 0.5)
    x = torch.full((2000,), 0.5, requires_grad=True)
    value = strictly(lambda x: checkpoint(part, x * 1.0, use_reentrant=False))(x)
    value.sum().backward()
    assert_alike((x.grad != 0), (value != 0))


def attended(x, rate):
    heads = x.unflatten(-1, (2, 4)).transpose(1, 2)
    return F.dropout(F.scaled_dot_product_attention(heads, heads.sin(), heads, dropout_p=rate), rate)


@pytest.mark.parametrize("dynamic", [False, True])
def test_attention_in_a_checkpoint_is_compiled_whole_and_computed_again(made, dynamic):
    """PyTorch tags it as random, whatever its rate of dropout."""
    compiled = strictly(lambda x: checkpoint(attended, x, 0.0, use_reentrant=False) * 2, dynamic=dynamic)
    for batch in (2, 3):
        x = torch.randn(batch, 5, 8, requires_grad=True)
        got, expected = compiled(x), attended(x, 0.0) * 2
        assert_alike(got, expected, scale=10)
        assert_alike(*[torch.autograd.grad(each.sin().sum(), x)[0] for each in (got, expected)], scale=30)
    assert len(made[-2].traced.function.results) == 1, "the forward pass keeps its argument alone"


def test_attention_with_dropout_in_a_checkpoint_has_the_same_numbers_in_both_passes():
    compiled = strictly(lambda x: checkpoint(attended, x, 0.4, use_reentrant=False).sin())
    x, way = [torch.randn(2, 40, 8, dtype=torch.float64) for _ in range(2)]

    def seeded(x):
        torch.manual_seed(1)
        return compiled(x.requires_grad_()).sum()
    slope = (torch.autograd.grad(seeded(x), x)[0] * way).sum()
    found = [seeded(x.detach() + step * way).item() for step in (1e-5, -1e-5)]
    assert (found[0] - found[1]) / 2e-5 == pytest.approx(slope.item(), rel=1e-6)


def test_numbers_that_tensors_decide_are_drawn_by_pytorch_in_a_checkpoint_too():
    def part(x):
        return torch.clamp(x.sin() * 5, torch.poisson(x) * 0.1) * x.sin()
    x = torch.rand(40, requires_grad=True)
    found = []
    for each in (part, torch.compile(lambda x: checkpoint(part, x, use_reentrant=False), backend=backend)):
        torch.manual_seed(1)
        value = each(x)
        found.append([value.detach(), torch.autograd.grad(value.sum(), x)[0]])
    assert_alike(*found)
    with pytest.raises(Exception, match="aten.poisson.default: there is no translation"):
        strictly(lambda x: checkpoint(part, x, use_reentrant=False))(x)
    entries = report(lambda x: checkpoint(part, x, use_reentrant=False), x).ops
    assert [entry.op for entry in entries if not entry.is_compiled] == ["aten.poisson.default"]


@pytest.mark.parametrize("draw, mean, deviation", [
    (torch.rand_like, 0.5, math.sqrt(1 / 12)),
    (torch.randn_like, 0.0, 1.0),
    (lambda x: torch.bernoulli(x, 0.3), 0.3, math.sqrt(0.21)),
    (lambda x: torch.bernoulli(torch.full_like(x, 0.8)), 0.8, 0.4),
    (lambda x: x.clone().uniform_(-1, 3), 1.0, 4 * math.sqrt(1 / 12)),
    (lambda x: x.clone().normal_(2.0, 0.5), 2.0, 0.5),
    (lambda x: x.clone().exponential_(4.0), 0.25, 0.25),
    (lambda x: torch.randint(0, 5, x.shape).float(), 2.0, math.sqrt(2)),
    (lambda x: torch.randint_like(x, 5), 2.0, math.sqrt(2)),
    (lambda x: torch.normal(x + 2, 0.5), 2.0, 0.5),
    (lambda x: torch.normal(2.0, x + 0.5), 2.0, 0.5),
    (lambda x: torch.normal(x + 2, torch.tensor([0.5])), 2.0, 0.5),
    (lambda x: torch.atan(x.clone().cauchy_(0.0, 1.0)), 0.0, math.pi / math.sqrt(12)),
    (lambda x: x.clone().geometric_(0.25), 4.0, math.sqrt(0.75) / 0.25),
    (lambda x: torch.log(x.clone().log_normal_(2.0, 0.5)), 2.0, 0.5)])
def test_numbers_have_their_mean_and_deviation(draw, mean, deviation):
    count = 40000
    found = strictly(lambda x: draw(x) * 1.0)(torch.zeros(count)).double()
    assert abs(float(found.mean()) - mean) < 5 * deviation / math.sqrt(count)
    assert abs(float(found.std()) / deviation - 1) < 0.03
    assert float(found.min()) >= 0 or mean in (0.0, 1.0, 2.0)


def test_numbers_for_any_batch_and_in_few_digits():
    compiled = strictly(lambda x: F.dropout(x, 0.5) * 2, dynamic=True)
    for batch in (3, 50, 7):
        assert set(compiled(torch.ones(batch, 40, dtype=torch.bfloat16)).flatten().tolist()) == {0.0, 4.0}


@pytest.mark.parametrize("count, with_repetition", [(1, False), (2, False), (3, True)])
def test_categories_are_drawn_in_proportion_to_their_chances(count, with_repetition):
    chances = torch.tensor([1.0, 0.0, 3.0, 4.0])
    compiled = strictly(lambda x: torch.multinomial(x, count, with_repetition) + 0)
    torch.manual_seed(3)
    found = compiled(chances.expand(20000, 4).contiguous())
    torch.manual_seed(3)
    assert torch.equal(found, compiled(chances.expand(20000, 4).contiguous())) and found.shape == (20000, count)
    for drawn in [found[:, 0], *([found[:, 2]] if with_repetition else [])]:
        assert torch.allclose(torch.bincount(drawn, minlength=4) / 20000, chances / 8, atol=0.02)
        assert not (drawn == 1).any()
    if count == 2:
        second = torch.bincount(found[found[:, 0] == 3, 1], minlength=4).double()
        assert torch.allclose(second / second.sum(), torch.tensor([0.25, 0, 0.75, 0]).double(), atol=0.02)
        assert (found[:, 0] != found[:, 1]).all()


@pytest.mark.parametrize("chances", [[0.5, -0.5, 1.0], [0.5, math.nan, 1.0], [math.inf, 1.0, 1.0], [0.0, 0.0, 0.0]])
@pytest.mark.parametrize("count", [1, 2])
def test_chances_that_make_no_distribution_are_an_error(chances, count):
    compiled = strictly(lambda x: torch.multinomial(x, count, True) + 1, dynamic=True)
    assert compiled(torch.ones(3)).shape == (count,)
    with pytest.raises(nv.IndexOutOfRange):
        compiled(torch.tensor(chances))


def test_chances_that_pytorch_refuses_stay_refused():
    with pytest.raises(Exception, match="p"):
        torch.compile(lambda x: torch.bernoulli(x, 1.5) + 1, backend=backend)(torch.zeros(3))


def test_a_report_counts_them_as_compiled():
    found = report(lambda x: F.dropout(x, 0.5), torch.ones(3))
    assert all([entry.is_compiled for entry in found.ops])
