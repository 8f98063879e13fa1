"""Derivatives as transformations of graphs."""

from nervure.autodiff.reverse import gradients

__all__ = ["gradients"]
