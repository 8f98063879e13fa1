"""Calls that are rounded up to a few lengths, so that XLA compiles a program for each of these and no other.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (nv.dim("n"),))
>>> lengths = RoundedLengths(nv.Function([nv.ops.Sum(x, [0])], [x]), (("n", 8),), {"n": (0, None)})
>>> lengths.rounded({"n": 3})
{'n': 8}
>>> [array.tolist() for array in lengths.arguments([np.float32([1, 2, 3])], {"n": 3}, {"n": 4})]
[[1.0, 2.0, 3.0, 0.0], 3]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nervure.errors import InvalidArgument, did_you_mean
from nervure.ir.function import Function
from nervure.passes.padded_lengths import padded_lengths
from nervure.transformers.binding import Bindings
from nervure.transformers.memory_estimate import numbers
from nervure.transformers.program_options import PadTo
from nervure.transformers.xla.functions import Array


class RoundedLengths:
    """The symbols of a function, rounded up to multiples of the numbers in ``pad_to``, within their ``bounds``.

    ``function`` is the function for such lengths.

    Raises InvalidArgument for a symbol that the function does not have, and NotSupported where an op cannot be padded.
    """

    def __init__(self, function: Function, pad_to: PadTo, bounds: Mapping[str, tuple[int, int | None]]) -> None:
        known = sorted(function.symbols)
        given = dict.fromkeys(known, pad_to) if isinstance(pad_to, int) else dict(pad_to)
        for name in given:
            if name not in known:
                raise InvalidArgument("no length has this symbol", op=function.name, operand="pad_to", got=name,
                                      expected=", ".join(known) or "nothing: all lengths are numbers",
                                      help=did_you_mean(name, known, "leave pad_to= out"))
        self._multiples, self._names = given, sorted(given)
        self._most = {name: high for name, (_, high) in bounds.items() if high is not None}
        self._shapes = [op.output.type.shape for op in function.parameters]
        self._results = [value.type.shape for value in function.results]
        self.function = padded_lengths(function, self._names) if given else function

    def rounded(self, bindings: Bindings) -> Bindings:
        """Returns the lengths of the program for a call with these ``bindings``."""
        if not self._names:
            return bindings
        return {**bindings, **{name: self._multiple(name, bindings[name]) for name in self._names}}

    def _multiple(self, name: str, length: int) -> int:
        multiple = self._multiples[name]
        wanted = -(-length // multiple) * multiple
        return min(wanted, self._most.get(name, wanted))

    def arguments(self, arrays: Sequence[np.ndarray], bindings: Bindings, rounded: Bindings) -> list[np.ndarray]:
        """Returns the arguments of the program: arrays with zeros behind their elements, and the true numbers."""
        if not self._names:
            return list(arrays)
        longer = [_longer(array, numbers(shape, rounded)) for array, shape in zip(arrays, self._shapes, strict=True)]
        return [*longer, *[np.asarray(bindings[name], np.int64) for name in self._names]]

    def cut(self, results: Sequence[Array], bindings: Bindings) -> list[Array]:
        """Returns the results without what lies behind their elements."""
        if not self._names:
            return list(results)
        shapes = [numbers(shape, bindings) for shape in self._results]
        return [value if value.shape == shape else value[tuple([slice(length) for length in shape])]
                for value, shape in zip(results, shapes, strict=True)]


def _longer(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    if array.shape == shape:
        return array
    longer = np.zeros(shape, array.dtype)
    longer[tuple([slice(length) for length in array.shape])] = array
    return longer
