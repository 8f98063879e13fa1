"""Phases of strides: which places of a window meet a position, where that depends on the position modulo the stride.

A window of three with a stride of two: an even position is met by the last element of one window and the first of the
next one, an odd position by the middle of one.

>>> steps = Steps(stride=2, dilation=1, start=0, positions=3)
>>> steps.meeting(0), steps.meeting(1)
([(2, -1), (0, 0)], [(1, 0)])

So what positions get from their places is one formula for each phase, and what comes out is put between each other.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

from nervure.ir.op import Value
from nervure.ops.convolution import Geometry
from nervure.ops.views import Reshape, Slice, Stack
from nervure.types.dim import DimLike, same_lengths
from nervure.types.shape import Shape

Meeting = list[tuple[int, DimLike]]
"""Elements of a window, and what is added to a position's number in its phase for the window's place."""


class Steps(NamedTuple):
    """Windows along a dimension: element w of the window at place o is at ``o*stride + w*dilation + start``.

    ``start`` is a number where the stride is not 1.
    """

    stride: int
    dilation: int
    start: DimLike
    positions: int

    def meeting(self, phase: int) -> Meeting:
        """The places in windows of the positions ``q*stride + phase``, from the first place to the last."""
        apart = [(element, phase - self.start - element * self.dilation) for element in reversed(range(self.positions))]
        if self.stride == 1:
            return apart
        return [(element, distance // self.stride) for element, distance in apart if distance % self.stride == 0]


def steps_over(geometry: Geometry, windows: Shape) -> list[Steps] | None:
    """The steps of the windows of a convolution over data (N, C, lengths).

    None where what meets an element of the data is not known, or there are strides and zeros between the
    elements of windows.
    """
    lengths = [window for window in windows if isinstance(window, int)]
    if len(lengths) < len(windows):
        return None
    has_strides = any([stride != 1 for stride in geometry.strides])
    is_known = all([isinstance(before, int) for before, _ in geometry.paddings]) and set(geometry.dilations) == {1}
    if has_strides and not is_known:
        return None
    return [Steps(1, 0, 0, 1), Steps(1, 0, 0, 1), *[
        Steps(stride, dilation, -before, window) for stride, dilation, (before, _), window
        in zip(geometry.strides, geometry.dilations, geometry.paddings, lengths, strict=True)]]


def by_phases(lengths: Shape, steps: Sequence[Steps],
              part: Callable[[Shape, Sequence[Meeting]], Value]) -> Value:
    """A value of these lengths, of which ``part`` makes each phase: of what shape, and with which meetings."""
    strides = [entry.stride for entry in steps]
    counts = tuple([(length + (stride - 1)) // stride for length, stride in zip(lengths, strides, strict=True)])
    parts = [part(counts, [entry.meeting(phase) for entry, phase in zip(steps, phases, strict=True)])
             for phases in itertools.product(*map(range, strides))]
    return _interleaved(parts, strides, lengths)


def _interleaved(parts: Sequence[Value], strides: Sequence[int], lengths: Shape) -> Value:
    """Phases put between each other, in row-major order of their numbers."""
    if len(parts) == 1:
        return parts[0]
    strided = [axis for axis, stride in enumerate(strides) if stride != 1]
    axes = [axis + 1 + number for number, axis in enumerate(strided)]
    stacked = Stack(*parts, axes=axes, counts=[strides[axis] for axis in strided])
    wide = [length * stride for length, stride in zip(parts[0].shape, strides, strict=True)]
    whole = Reshape(stacked, wide).output
    if same_lengths(lengths, wide):
        return whole
    return Slice(whole, [(0, length, 1) for length in lengths]).output
