"""Images in other lengths stay one op, forward and backward, with PyTorch's numbers."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch.nn import functional  # noqa: E402

import nervure as nv  # noqa: E402
from nervure.bridges.torch import backend, report  # noqa: E402
from tests.bridges.torch.comparing import assert_alike  # noqa: E402

CASES: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((2, 3, 5, 7), {"size": (8, 9), "mode": "bilinear"}),
    ((2, 3, 5, 7), {"scale_factor": (1.3, 0.7), "mode": "bilinear"}),
    ((2, 3, 5, 7), {"scale_factor": 1.5, "mode": "bilinear", "recompute_scale_factor": True}),
    ((2, 3, 5, 7), {"size": (3, 4), "mode": "bicubic"}),
    ((2, 3, 5, 7), {"scale_factor": 2, "mode": "bicubic", "align_corners": True}),
    ((2, 3, 5, 7), {"size": (8, 2), "mode": "nearest"}),
    ((2, 3, 5, 7), {"scale_factor": 1.7, "mode": "nearest-exact"}),
    ((2, 3, 9), {"size": 4, "mode": "linear"}),
    ((1, 2, 4, 5, 3), {"size": (2, 3, 4), "mode": "trilinear", "align_corners": True}),
    ((2, 1, 1, 1), {"size": (4, 4), "mode": "bilinear"})]


@pytest.mark.parametrize("shape, settings", CASES)
def test_results_and_gradients_are_those_of_pytorch(shape, settings):
    """Y10."""
    for dtype in (torch.float32, torch.bfloat16)[:1 + (settings["mode"] == "bilinear")]:
        torch._dynamo.reset()
        x = torch.randn(*shape, dtype=dtype, requires_grad=True)
        compiled = torch.compile(lambda x: functional.interpolate(x, **settings), backend=backend,
                                 options={"strict": True})
        got, expected = compiled(x), functional.interpolate(x, **settings)
        assert_alike(got, expected, scale=30)
        seed = torch.randn_like(expected)
        found = [torch.autograd.grad(each, x, seed)[0] for each in (got, expected)]
        assert_alike(*found, scale=60)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
@pytest.mark.parametrize("before, after", [(26, 22), (39, 33), (52, 22), (30, 58), (2, 41), (7, 12), (40, 80)])
def test_nearest_elements_are_those_of_pytorch_in_each_type(mode, before, after):
    """Y10: where it rounds their places, too."""
    layer = torch.nn.Upsample((after, 3), mode=mode)
    for dtype in (torch.float32, torch.float64, torch.float16):
        torch._dynamo.reset()
        x = torch.arange(4.0 * before, dtype=dtype).reshape(1, 2, before, 2).requires_grad_()
        got, expected = torch.compile(layer, backend=backend, options={"strict": True})(x), layer(x)
        assert torch.equal(got, expected)
        found, = torch.autograd.grad(got.sum(), x)
        counts = torch.bincount(expected.long().flatten(), minlength=4 * before)
        assert torch.equal(found.flatten().long(), counts)
    given = torch.arange(4.0 * before).reshape(1, 2, before, 2)
    assert (nv.from_torch(layer, [given]).eval()(given.numpy()).numpy() == layer(given).numpy()).all()


@pytest.mark.parametrize("shape, scale", [((1, 2, 2, 3), (1.3, 2.3)), ((1, 2, 26), (0.7,)), ((1, 2, 3, 26, 2), 1.1)])
def test_scales_choose_the_elements_that_pytorch_chooses(shape, scale):
    """Y10: it does not ask for a scale in two dimensions where a length stays or is doubled."""
    for dtype in (torch.float32, torch.float64):
        torch._dynamo.reset()
        x, layer = torch.randn(shape, dtype=dtype), torch.nn.Upsample(scale_factor=scale)
        assert torch.equal(torch.compile(layer, backend=backend, options={"strict": True})(x), layer(x))


def test_what_is_no_such_op_runs_as_before():
    x = torch.randn(2, 3, 6, 8, requires_grad=True)
    for settings in ({"size": (3, 4), "mode": "bilinear", "antialias": True}, {"size": (3, 4), "mode": "area"}):
        torch._dynamo.reset()
        compiled = torch.compile(lambda x, settings=settings: functional.interpolate(x, **settings), backend=backend)
        assert_alike(compiled(x), functional.interpolate(x, **settings), scale=10)
    with pytest.raises(Exception, match="align_corners"):
        torch.compile(lambda x: functional.interpolate(x, 4, mode="nearest", align_corners=True), backend=backend)(x)


def test_one_op_serves_all_lengths():
    torch._dynamo.reset()
    layer = torch.nn.Upsample(scale_factor=2, mode="bilinear")
    assert ["resize" in entry.op for entry in report(layer, torch.ones(1, 2, 3, 4)).ops] == [True]
    compiled = torch.compile(layer, backend=backend, dynamic=True, options={"strict": True})
    for shape in ((2, 3, 5, 7), (4, 3, 6, 9)):
        x = torch.randn(*shape)
        assert_alike(compiled(x), layer(x), scale=10)


def test_models_are_imported_with_it():
    layer = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.Upsample(scale_factor=2, mode="bicubic"))
    x = torch.randn(2, 3, 6, 6)
    exported = torch.export.export(layer, (x,))
    for model in (nv.from_torch(layer, [x]), nv.from_torch(exported)):
        assert_alike(torch.from_numpy(model.eval()(x.numpy()).numpy().copy()), layer(x).detach(), scale=100)


def test_what_the_op_stands_for_runs_without_a_compiler():
    x = torch.randn(1, 2, 4, 5, requires_grad=True)
    got = torch.ops.nervure.resize(x, [8, 10], [2.0, 2.0], "bilinear", False)
    expected = functional.interpolate(x, scale_factor=2.0, mode="bilinear")
    assert_alike(got, expected)
    assert_alike(*[torch.autograd.grad(each.sum(), x)[0] for each in (got, expected)])


@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
def test_a_scale_that_is_a_fraction_of_a_symbol_is_named_in_the_refusal(mode):
    """Y10."""
    layer, auto = torch.nn.Upsample(scale_factor=1.5, mode=mode), torch.export.Dim.AUTO
    with pytest.raises(nv.NotSupported, match=f"upsample_{mode}2d.*there is no"):
        nv.from_torch(layer, [torch.randn(2, 3, 6, 7)], dynamic=({2: auto},))
