"""View descriptions: small objects with the shape and the index map of tensors that show other tensors.

Simple views show one tensor, ``y[i] = x[f(i)]``: they have a ``shape`` and an ``index_map``, and map a layout to a
layout if strides and an offset can express the view. Complex views show several, ``y[i] = x[s(i)][f[s(i)](i)]``: they
have a ``shape`` and ``pieces``.

>>> view = PermuteView((2, 3), (1, 0))
>>> view.shape, view.index_map.coordinates
((3, 2), (%1, %0))
>>> joined = ConcatenateView(((2, 3), (2, 4)), 1)
>>> joined.shape, [(piece.operand, piece.starts) for piece in joined.pieces]
((2, 7), [(0, (0, 0)), (1, (0, 3))])
"""

from nervure.types.view.complex import ComplexView, ConcatenateView, PadView, Piece, StackView
from nervure.types.view.padding import FOLDS, FoldedPadView, Padding, padded_shape
from nervure.types.view.reshaping import FlattenView, ReshapeView
from nervure.types.view.simple import (
    AssumedView,
    BroadcastView,
    IndexMapView,
    InOrderView,
    PermuteView,
    ReverseView,
    SimpleView,
    SliceView,
)
from nervure.types.view.slicing import Range, checked_range, clip

__all__ = [
    "FOLDS",
    "AssumedView",
    "BroadcastView",
    "ComplexView",
    "ConcatenateView",
    "FlattenView",
    "FoldedPadView",
    "InOrderView",
    "IndexMapView",
    "PadView",
    "Padding",
    "PermuteView",
    "Piece",
    "Range",
    "ReshapeView",
    "ReverseView",
    "SimpleView",
    "SliceView",
    "StackView",
    "checked_range",
    "clip",
    "padded_shape",
]
