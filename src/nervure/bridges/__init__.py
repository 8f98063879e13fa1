"""Bridges: models of other frameworks become functions of nervure. Each needs its framework, which is an extra."""

from __future__ import annotations

from nervure.bridges import torch

__all__ = ["torch"]
