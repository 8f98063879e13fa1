"""Compares a function of tensors with what the bridge makes of it, on a transformer of each kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from functorch.compile import aot_function, make_boxed_func

from nervure import transformers
from nervure.bridges.torch.compiling import compiled
from nervure.bridges.torch.decompositions import decompositions
from nervure.bridges.torch.fallback import lacks

RELATIVE = {torch.float32: 1e-5, torch.float64: 1e-11, torch.bfloat16: 1.6e-2, torch.float16: 2e-3}


def bridged(function: Callable[..., Any], is_whole: bool = True) -> Callable[..., Any]:
    """The function as the bridge compiles it; one that ``is_whole`` leaves nothing to PyTorch."""
    def compiler(graph: Any, inputs: Any) -> Any:
        if is_whole:
            assert lacks(graph) == []
        return make_boxed_func(compiled(graph))
    return aot_function(function, fw_compiler=compiler, decompositions=decompositions())


def assert_alike(got: Any, expected: Any, scale: float = 1.0) -> None:
    """Each tensor has the type, the shape and, within a few roundings, the elements of PyTorch's."""
    if isinstance(expected, torch.Tensor):
        assert got.dtype == expected.dtype and got.shape == expected.shape
        tolerance = RELATIVE.get(expected.dtype, 0.0) * scale
        torch.testing.assert_close(got, expected, rtol=tolerance, atol=tolerance, equal_nan=True)
    elif isinstance(expected, (list, tuple)):
        assert len(got) == len(expected)
        for own, theirs in zip(got, expected, strict=True):
            assert_alike(own, theirs, scale)
    else:
        assert got == expected


def check(function: Callable[..., Any], *inputs: torch.Tensor, scale: float = 1.0) -> None:
    """Compares results, and the gradients of inputs that have some."""
    own, theirs = copies(inputs), copies(inputs)
    got, expected = bridged(function)(*own), function(*theirs)
    assert_alike(got, expected, scale)
    if any([x.requires_grad for x in inputs]):
        _total(got).backward()
        _total(expected).backward()
        for mine, other in zip(own, theirs, strict=True):
            assert (mine.grad is None) == (other.grad is None)
            if other.grad is not None:
                assert_alike(mine.grad, other.grad, scale)


def copies(inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    return [x.detach().clone(memory_format=torch.preserve_format).requires_grad_(x.requires_grad) for x in inputs]


def _total(found: Any) -> torch.Tensor:
    several = found if isinstance(found, (list, tuple)) else [found]
    return sum([(x * torch.arange(1, x.numel() + 1, dtype=x.dtype).reshape(x.shape).cos()).sum() for x in several
                if x.requires_grad])


def use(name: str) -> None:
    """Makes a transformer of this name the default one."""
    transformers.default().close()
    from nervure import flags
    flags.transformer = name
