"""Layers of poolings with positions, and of poolings whose windows are drawn.

>>> import nervure as nv
>>> values, index = nv.nn.MaxPool(2).with_index(nv.constant([[[1., 3., 5., 2.]]]))
>>> nv.nn.MaxUnpool(2)(values, index).tolist()
[[[0.0, 3.0, 5.0, 0.0]]]
"""

from __future__ import annotations

from nervure.errors import InvalidArgument
from nervure.front.creation import as_tensor
from nervure.front.images.pool_positions import check_one_is_given, fractional_max_pooling, max_unpool
from nervure.front.images.pooling import pooling_window
from nervure.front.images.windows import window_settings
from nervure.front.tensor import Tensor, TensorLike
from nervure.nn.module import Module


class MaxUnpool(Module):
    """Puts elements back at the positions that ``nv.nn.MaxPool(...).with_index`` gave, among zeros.

    ``window``, ``strides`` (absent: the window) and ``padding`` are those of the pooling; they say how long the result
    is, unless a call gives ``lengths``, as ``nv.max_unpool`` takes them.

    >>> nv.nn.MaxUnpool(2)([[[7.0]]], [[[1]]]).tolist(), nv.nn.MaxUnpool(2)([[[7.0]]], [[[1]]], 3).tolist()
    ([[[0.0, 7.0]]], [[[0.0, 7.0, 0.0]]])
    """

    window: object
    strides: object = None
    padding: object = 0

    def forward(self, x: TensorLike, index: TensorLike, lengths: object = None) -> Tensor:
        """Returns x with more places."""
        own = as_tensor(x, "MaxUnpool")
        return max_unpool(own, index, self._lengths(own) if lengths is None else lengths)

    def _lengths(self, x: Tensor) -> object:
        """Returns the lengths of which the pooling makes those of x, without what its windows leave out."""
        places, sizes = pooling_window(x, self.window, "MaxUnpool")
        entries = window_settings("MaxUnpool", x, places, stride=sizes if self.strides is None else self.strides,
                                  dilation=1, padding=self.padding)
        found = {}
        for at, size, entry in zip(places, sizes, entries, strict=True):
            if entry.padding == "same":
                raise InvalidArgument("lengths do not follow from this padding", op="MaxUnpool", operand="padding",
                                      got="'same'", expected="numbers", help="give the lengths in the call")
            before, after = entry.padding
            found[at] = (x.type.shape[at] - 1) * entry.stride - before - after + size
        return found


class FractionalMaxPool(Module):
    """The largest elements of windows whose distances are drawn (Graham 2015): ``nv.fractional_max_pooling``.

    ``window``, ``lengths`` and ``ratio`` are as there; one of the last two is given.

    >>> nv.nn.FractionalMaxPool(2, ratio=0.6)(nv.ones((1, 1, 10, 10))).shape
    (1, 1, 6, 6)
    """

    window: object
    lengths: object = None
    ratio: object = None

    def __post_init__(self) -> None:
        check_one_is_given(self.lengths, self.ratio, "FractionalMaxPool")

    def forward(self, x: TensorLike, samples: TensorLike | None = None) -> Tensor:
        """Returns x with fewer places; ``samples`` are those of the function."""
        return fractional_max_pooling(x, self.window, self.lengths, self.ratio, samples)
