"""Compares results of the bridge with those of PyTorch."""

from __future__ import annotations

from typing import Any

import torch

RELATIVE = {torch.float32: 1e-5, torch.float64: 1e-11, torch.bfloat16: 1.6e-2, torch.float16: 2e-3,
            torch.complex64: 1e-5, torch.complex128: 1e-11}


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
