"""Sliding windows: strides, dilations and paddings along some axes, as users give them.

>>> import nervure as nv
>>> x = nv.placeholder("N=8, C=3, H=32, W=32")
>>> for window in window_settings("pooling", x, [2, 3], stride=[2, 1], dilation=1, padding={"H": "same", "W": (0, 1)}):
...     print(window.stride, window.paddings(32, 3))
2 (0, 1)
1 (0, 1)

A setting is a value for all axes, a list with one for each, or a dict from some axes; a tuple of two ints is one
padding, but for two axes, where it could as well be one for each, it has to be two equal ints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from nervure.errors import AxisMismatch, InvalidArgument, WrongKind, did_you_mean, shown
from nervure.front.argument_parsing import as_integer, integer, one_of, position_of
from nervure.front.tensor import Tensor
from nervure.types.axis import Axis
from nervure.types.dim import DimLike, dim_max, equal

Padding = tuple[DimLike, DimLike]


class Window(NamedTuple):
    """The settings of a window along one axis."""

    stride: int
    dilation: int
    padding: Padding | Literal["same"]
    output_padding: object = 0

    def paddings(self, length: DimLike, window: DimLike) -> Padding:
        """Returns the padding as a pair, for an axis of ``length`` and a window of length ``window``."""
        if self.padding != "same":
            return self.padding
        places = (length + self.stride - 1) // self.stride
        total = dim_max((places - 1) * self.stride + self.dilation * (window - 1) + 1 - length, 0)
        return total // 2, total - total // 2

    def transposed_paddings(self, window: DimLike) -> tuple[Padding, object]:
        """Returns the padding as a pair and the output padding, for the transpose."""
        if self.padding != "same":
            return self.padding, self.output_padding
        total = self.dilation * (window - 1) + 1 - self.stride
        missing = -total if isinstance(total, int) and total < 0 else 0
        total = dim_max(total, 0)
        return (total // 2, total - total // 2), missing


_NAMES = {"stride": "stride", "strides": "stride", "dilation": "dilation", "dilations": "dilation",
          "padding": "padding", "output_padding": "output_padding"}


def window_settings(op: str, x: Tensor, places: Sequence[int],
                    own: Mapping[int, Mapping[str, object]] | None = None, **given: object) -> list[Window]:
    """Returns a Window for each of the axes at ``places``: from an axis's ``own`` settings, else from the ``given``
    ones.
    """
    lists = {name: _each(op, x, places, name, value) for name, value in given.items()}
    windows = []
    for k, at in enumerate(places):
        entry = {name: values[k] for name, values in lists.items()}
        for name, value in (own or {}).get(at, {}).items():
            if name not in _NAMES or _NAMES[name] not in given:
                raise InvalidArgument(f"unknown setting {name!r}", op=op, operand="spatial", expected=", ".join(given),
                                      help=did_you_mean(str(name), _NAMES))
            entry[_NAMES[name]] = value
        padding = _padding(op, entry["padding"])
        stride, dilation = [
            integer(entry[name], op, name, help="1 moves by one element, to each neighbour", least=1)
            for name in ("stride", "dilation")]
        output_padding = entry.get("output_padding", 0)
        if padding == "same" and output_padding != 0:
            raise InvalidArgument("'same' decides the output padding", op=op, operand="output_padding",
                                  got=output_padding, expected="0", help="give the padding as numbers")
        windows.append(Window(stride, dilation, padding, output_padding))
    return windows


def read_groups(groups: object, op: str) -> int:
    """Reads a number of groups of channels; WrongKind or InvalidArgument, which names ``op``, unless it is 1 or more.
    """
    return integer(groups, op, "groups", least=1,
                   help="1 takes all channels together; as many as there are channels keep each apart")


def setting(op: str, entry: object) -> Mapping[str, object]:
    """Reads the settings of one axis; None for none of its own."""
    if entry is not None and not isinstance(entry, Mapping):
        raise WrongKind("the settings of an axis are a dict", op=op, operand="spatial", got=f"{entry!r:.60}",
                        expected='{"strides": 2, "padding": 1}', help='spatial={H: {"stride": 2}}')
    return entry or {}


def _each(op: str, x: Tensor, places: Sequence[int], name: str, value: object) -> list[object]:
    """Returns one value for each axis: the same for all, or from a list or a dict."""
    pair: tuple[Any, ...] = value if isinstance(value, tuple) and name == "padding" else ()
    is_pair = len(pair) == 2 and all([isinstance(part, int) for part in pair])
    if is_pair and len(places) == 2 and pair[0] != pair[1]:
        raise InvalidArgument("two numbers for two axes can be read in two ways", op=op, operand=name, got=pair,
                              expected=f"{[*pair]}, one for each axis, or {[pair] * 2}, before and behind both",
                              help="a list has an entry for each axis, and a pair in it is (before, behind)")
    if isinstance(value, Mapping):
        table = {position_of(x, axis, op): entry for axis, entry in value.items()}
        unknown = set(table) - set(places)
        if unknown:
            raise AxisMismatch(f"{name} is given for an axis that is not spatial", op=op, operand=name,
                               got=str(x.axes[min(unknown)]), expected=", ".join(str(x.axes[at]) for at in places),
                               help="list the axis among the spatial ones")
        return [table.get(at, 0 if "padding" in name else 1) for at in places]
    if isinstance(value, (list, tuple)) and not is_pair:
        if len(value) != len(places):
            raise InvalidArgument(f"{name} needs an entry for each spatial axis", op=op, operand=name, got=value,
                                  expected=f"{len(places)} entries",
                                  help="a single number holds for all of them")
        return list(value)
    return [value] * len(places)


def _padding(op: str, value: object) -> Padding | Literal["same"]:
    """Reads a padding: a pair, or "same"."""
    if isinstance(value, str):
        return "same" if one_of(value, ("same", "valid"), op, "padding") == "same" else (0, 0)
    pair = tuple([as_integer(part) for part in (value if isinstance(value, (list, tuple)) else (value, value))])
    if len(pair) != 2 or pair[0] is None or pair[1] is None:
        raise WrongKind("a padding is an int, a pair of ints, 'same' or 'valid'", op=op, operand="padding",
                        got=shown(value), expected="an int, a pair, 'same' or 'valid'",
                        help="a dict {axis: (before, after)} says it for each axis")
    return pair[0], pair[1]


def with_length(axis: Axis, length: DimLike) -> Axis:
    """Returns the axis of the windows' places: the spatial axis itself if its length stays."""
    return axis if equal(axis.length, length) is True else axis.resized(length)
