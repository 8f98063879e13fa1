"""Random tensors: fresh values at every call of a computation, the same ones again after ``nv.seed``.

>>> import nervure as nv
>>> nv.seed(1)
>>> x = nv.uniform("N=2, C=3", low=-1.0)
>>> first = nv.evaluate(x)
>>> nv.evaluate(x).tolist() == first.tolist()
False
>>> nv.seed(1)
>>> nv.evaluate(nv.uniform("N=2, C=3", low=-1.0)).tolist() == first.tolist()
True

Each op draws from a stream of its own, counted within its name scope; the numbers are a function of (seed, step,
stream, position). Seed and step are variables, which every random op reads; a computation with random ops raises the
step by one update at its end. So the state of the generator lives in a transformer's cells, and is saved with the
rest:

>>> draw, none = nv.computation(x), nv.computation(nv.zeros("N=2"))
>>> sorted(variable.name for variable in draw.function.variables), none.function.variables
(['random_seed', 'random_step'], ())

A tensor given as ``axes`` stands for its axes.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import ml_dtypes
import numpy as np

from nervure import ops
from nervure.errors import InvalidArgument, WrongKind
from nervure.front.apply import operate
from nervure.front.argument_parsing import fraction, integer, positions_of
from nervure.front.creation import as_tensor, read_axes
from nervure.front.evaluation_order import in_order
from nervure.front.op_functions import add, multiply
from nervure.front.pointwise.elementwise import where
from nervure.front.promotion import floating
from nervure.front.tensor import Operand, Tensor, TensorLike, is_scalar
from nervure.ir.leaves import ReadVariable
from nervure.ir.op import Op
from nervure.ir.provenance import current_scope
from nervure.ir.variable import Variable
from nervure.ops.conversion import converted
from nervure.support import forks
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import Axes, AxesLike
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import known_lengths
from nervure.types.dtype import DType, DTypeLike, as_dtype, float32, uint32, uint64

SEED = Variable(BasicTensorDescription(uint32, (2,)), initial=0, name="random_seed", is_local=True)
"""The seed, as two words (low, high)."""

STEP = Variable(BasicTensorDescription(uint64, ()), initial=0, name="random_step", is_local=True)
"""The number of calls with random ops since the seed was set."""

_originals: WeakKeyDictionary[Variable, Variable] = WeakKeyDictionary({SEED: SEED, STEP: STEP})
_lock = forks.lock()


def another(original: Variable, initial: np.ndarray) -> Variable:
    """Makes a variable for SEED or STEP in a computation that was loaded; ``nv.seed`` sets it with them."""
    made = Variable(original.type, initial, original.name, is_local=True)
    with _lock:
        _originals[made] = original
    return made


def original_of(variable: Variable) -> Variable | None:
    """Returns SEED or STEP for a variable that is it, or that was made for it; None for others."""
    return _originals.get(variable)


def seeded(low: int, high: int) -> dict[Variable, np.ndarray]:
    """Returns the values that a seed of two words gives all variables of random numbers."""
    start: dict[Variable, np.ndarray] = {SEED: np.array((low, high), np.uint32), STEP: np.array(0, np.uint64)}
    with _lock:
        return {variable: start[original] for variable, original in _originals.items()}


def seed_words(seed: object) -> tuple[int, int]:
    """Splits a seed from 0 to 2**64 - 1 into two words.

    >>> seed_words(1 << 40)
    (0, 256)
    """
    number = integer(seed, "seed", "seed", help="int(seed) makes one of another number")
    if not 0 <= number < 1 << 64:
        raise InvalidArgument("the seed does not fit", op="seed", got=number, expected="0 to 2**64 - 1",
                              help="take it modulo 2**64: seed % 2**64")
    return number & 0xFFFFFFFF, number >> 32


@in_order
def uniform(axes: AxesLike, low: Operand = 0.0, high: Operand = 1.0, dtype: DTypeLike = float32) -> Tensor:
    """Draws numbers evenly from [``low``, ``high``), which are numbers or tensors and are rounded to the element type.
    The result is low if no number of that type lies between.

    >>> x = nv.evaluate(nv.uniform((10_000,), low=-1.0))
    >>> bool(-1 <= x.min() and x.max() < 1), bool(abs(x.mean()) < 0.1)
    (True, True)
    """
    numbers = draw(ops.RandomUniform, read_axes(axes), dtype=as_dtype(dtype))
    if is_scalar(low) and is_scalar(high):
        _require_interval(low, high, numbers.dtype)
        if low == 0 and high == 1:
            return numbers
    return operate("uniform", ops.Between, (numbers, low, high))


@in_order
def normal(axes: AxesLike, loc: Operand = 0.0, scale: Operand = 1.0, dtype: DTypeLike = float32) -> Tensor:
    """Draws numbers from the normal distribution with mean ``loc`` and standard deviation ``scale``, numbers or
    tensors.

    >>> x = nv.evaluate(nv.normal((10_000,), loc=5.0, scale=2.0))
    >>> bool(abs(x.mean() - 5) < 0.2), bool(abs(x.std() - 2) < 0.2)
    (True, True)
    """
    return _scaled(draw(ops.RandomNormal, read_axes(axes), dtype=as_dtype(dtype)), loc, scale)


_OF_CHANCES = "divide a count by how many there are; nv.uniform(axes) < p compares with a tensor"


def bernoulli(axes: AxesLike, p: float = 0.5, dtype: DTypeLike = bool) -> Tensor:
    """Draws True, or 1 in another element type, with probability ``p``.

    >>> nv.bernoulli((4,), p=1.0).tolist(), nv.bernoulli("N=2, C=3", dtype=nv.float32).shape
    ([True, True, True, True], (2, 3))
    """
    drawn = draw(ops.RandomBernoulli, read_axes(axes), probability=fraction(p, "bernoulli", "p", _OF_CHANCES))
    return Tensor(converted(drawn.value, as_dtype(dtype)), drawn._axes)


def dropout(x: TensorLike, rate: float = 0.5) -> Tensor:
    """Returns x with each element set to 0 with probability ``rate``, and the others divided by ``1 - rate``.

    >>> sorted(set(nv.dropout(nv.ones((1000,)), rate=0.5).tolist()))
    [0.0, 2.0]
    """
    own = as_tensor(x, "dropout")
    own = Tensor(converted(own.value, floating(own.dtype)), own._axes)
    chance = fraction(rate, "dropout", "rate", _OF_CHANCES)
    if chance == 0:
        return own
    if chance == 1:
        return where(False, own, 0.0)  # not a product: 0 times an infinity is NaN
    kept = bernoulli(own, 1 - chance)
    return where(kept, own * (1 / (1 - chance)), 0.0)


def glorot(axes: AxesLike, out_axes: AxesLike | None = None) -> Tensor:
    """Draws a weight evenly from +-sqrt(6 / (inputs + outputs)) (Glorot and Bengio 2010), for use as an
    ``initial_value``.

    Outputs are the elements of ``out_axes`` (absent: of the last axis), inputs those of the other axes.

    >>> w = nv.variable("F=3, K=3", initial_value=nv.glorot)
    >>> bool(abs(w.numpy()).max() <= 1)
    True
    """
    inputs, outputs = fans(axes, out_axes, "glorot")
    width = math.sqrt(6 / max(inputs + outputs, 1))
    return uniform(axes, -width, width)


def he(axes: AxesLike, out_axes: AxesLike | None = None) -> Tensor:
    """Draws a weight from the normal distribution with deviation sqrt(2 / inputs) (He et al. 2015), for use as an
    ``initial_value``.

    Axes are as for ``glorot``.

    >>> w = nv.variable("F=200, K=100", initial_value=nv.he)
    >>> bool(abs(w.numpy().std() - 0.1) < 0.01)
    True
    """
    inputs, _ = fans(axes, out_axes, "he")
    return normal(axes, 0.0, math.sqrt(2 / max(inputs, 1)))


class _Seed:
    """The seed that was set last, for any transformer."""

    number = 0


def begin_streams(seed: int) -> None:
    """Counts streams from 0 again; numbers drawn on the host, such as a first weight, use this seed from now on."""
    _Seed.number = seed
    current_scope().root.restart("stream")


def next_key() -> tuple[int, int]:
    """Returns the seed and the stream of the next draw on the host."""
    return _Seed.number, next_stream()


def next_stream() -> int:
    """Returns the stream of the next random op: its name scope, and the number of random ops that the scope has made
    before.
    """
    scope = current_scope()
    return zlib.crc32(scope.path.encode()) << 32 | scope.count("stream")


def draw(core: Callable[..., Op], axes: Axes, **attributes: object) -> Tensor:
    """Draws from an op ``core`` of random numbers over ``axes``, from the next stream."""
    seed, step = ReadVariable(SEED), ReadVariable(STEP)
    return Tensor(core(seed, step, stream=next_stream(), shape=axes.lengths, **attributes), axes)


def _scaled(numbers: Tensor, start: Operand, scale: Operand) -> Tensor:
    """Returns numbers * scale + start, without ops for a scale of 1 or a start of 0."""
    if not (is_scalar(scale) and scale == 1):
        numbers = multiply(numbers, scale)
    return numbers if is_scalar(start) and start == 0 else add(numbers, start)


def _require_interval(low: Any, high: Any, dtype: DType) -> None:
    got = f"[{low!r:.60}, {high!r:.60})"
    if np.iscomplexobj(low) or np.iscomplexobj(high):
        raise WrongKind("the bounds are real numbers", op="uniform", got=got, expected="numbers",
                        help="draw the two parts of complex numbers apart")
    largest = float(ml_dtypes.finfo(dtype.numpy).max)
    start, end = [bound if isinstance(bound, int) else float(bound) for bound in (low, high)]
    if not -largest <= start <= end <= largest:
        raise InvalidArgument("the bounds make no interval", op="uniform", got=got,
                              expected=f"low <= high, both finite in {dtype.name}", help="the lower bound comes first")


def fans(axes: AxesLike, out_axes: AxesLike | None, op: str, window_axes: AxesLike = ()) -> tuple[int, int]:
    """Counts the inputs and outputs of a weight over ``axes``: each element of a window is an input, and an output, of
    its own.

    >>> fans("C=3, H=5, W=5, K=64", "K", "glorot", ["H", "W"])
    (75, 1600)
    """
    own = read_axes(axes)
    lengths = known_lengths(own.lengths)
    if lengths is None:
        raise InvalidArgument("a weight needs lengths that are numbers", op=op, got=str(own),
                              expected="integers", help="placeholders, inputs and temporaries have symbolic lengths")
    chosen, windows = outputs_of(own, out_axes, op), outputs_of(own, window_axes, op)
    inputs = math.prod([length for at, length in enumerate(lengths) if at not in chosen])
    return inputs, math.prod([lengths[at] for at in {*chosen, *windows}])


def outputs_of(axes: Axes, out_axes: AxesLike | None, op: str) -> tuple[int, ...]:
    """Returns the positions of the output axes of a weight; absent, that of the last axis."""
    if out_axes is None:
        return (len(axes) - 1,) if len(axes) else ()
    return positions_of(Tensor(ops.Full(0, float32, axes.lengths), axes), out_axes, op)


__all__ = ["bernoulli", "dropout", "glorot", "he", "normal", "uniform"]

explain_keywords(globals(), __all__)
