"""Optimisers: from a loss to the effect that improves its variables."""

from nervure.optim.adam import Adam

__all__ = ["Adam"]
