"""Transforms of pictures in batches: cut, flipped, turned, coloured and mixed at random.

What a transform draws follows from a seed, the epoch, and the numbers of batch and element, so that training goes on
to the bit after an interruption. Pictures are arrays (N, C, H, W), or (N, H, W).

>>> pictures = np.arange(8, dtype=np.float32).reshape(2, 1, 2, 2)
>>> Flip(chance=1.0)((pictures, np.array([0, 1])), np.random.default_rng(0))[0][0].tolist()
[[[1.0, 0.0], [3.0, 2.0]]]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from nervure.data.pictures import cut, placed, resized
from nervure.errors import InvalidArgument, NervureError, ShapeMismatch, WrongKind, shown
from nervure.front.argument_parsing import fraction, integer, members, one_of, real
from nervure.front.given_arrays import numpy_array, read_array
from nervure.support.elsewhere import unknown_name
from nervure.types.dtype import float32
from nervure.types.foreign import is_array

Arrays = tuple[np.ndarray, ...]


class Transform:
    """A transform of batches. A class of one's own has ``apply``, which maps pictures (N, C, H, W) to pictures with
    what ``generator`` draws; or ``__call__``, which maps a whole batch.

    >>> class Noise(nv.data.transforms.Transform):
    ...     def apply(self, pictures, generator):
    ...         return pictures + generator.normal(0, 0.1, pictures.shape).astype(pictures.dtype)
    >>> Noise()((np.zeros((2, 1, 3, 3)),), np.random.default_rng(0))[0].shape
    (2, 1, 3, 3)
    """

    def __call__(self, batch: Arrays, generator: np.random.Generator) -> Arrays:
        """Returns the ``batch``, a tuple with pictures first, with the pictures that ``apply`` makes."""
        pictures, *others = self._entries(batch)
        return self._result(self.apply(self._pictures(pictures), generator), pictures), *others

    def apply(self, pictures: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Maps ``pictures`` (N, C, H, W), by numbers of the ``generator``."""
        raise NotImplementedError

    def _entries(self, batch: object) -> list[np.ndarray]:
        if not isinstance(batch, (tuple, list)) or not batch:
            raise WrongKind("a batch is a tuple with pictures first", op=type(self).__name__, operand="batch",
                            got=shown(batch), expected="a tuple of arrays", help="as in (pictures, labels)")
        return [self._array(batch[0], "pictures"), *batch[1:]]

    def _array(self, value: object, operand: str) -> np.ndarray:
        if isinstance(value, np.ndarray):
            return value
        if not is_array(value):
            raise WrongKind("a transform takes an array", op=type(self).__name__, operand=operand, got=shown(value),
                            expected="pictures first, labels last, each in one array",
                            help="a function of one's own, of a batch and a generator, takes nested entries")
        return numpy_array(value, type(self).__name__)

    def _pictures(self, pictures: np.ndarray) -> np.ndarray:
        if pictures.ndim not in (3, 4):
            raise ShapeMismatch("pictures have three or four axes", op=type(self).__name__, operand="pictures",
                                got=str(pictures.shape), expected="(N, C, H, W), or (N, H, W)",
                                help="np.moveaxis(pictures, -1, 1) brings channels to the front")
        return pictures if pictures.ndim == 4 else pictures[:, None]

    @staticmethod
    def _result(found: np.ndarray, given: np.ndarray) -> np.ndarray:
        return found if given.ndim == 4 else found[:, 0]


# -- places ------------------------------------------------------------------------------------------------------


class Crop(Transform):
    """A part of ``size`` (H, W, or one number) at a random place, after ``padding`` of zeros on each side.

    >>> Crop(2)((np.zeros((5, 3, 8, 8)),), np.random.default_rng(0))[0].shape
    (5, 3, 2, 2)
    """

    def __init__(self, size: int | Sequence[int], padding: int = 0) -> None:
        self.size, self.padding = _pair(size, "Crop"), _least(padding, "Crop", "padding", 0)

    def apply(self, pictures: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Maps ``pictures`` to parts of them."""
        by = self.padding
        padded = np.pad(pictures, ((0, 0), (0, 0), (by, by), (by, by))) if by else pictures
        room = [have - need for have, need in zip(padded.shape[2:], self.size, strict=True)]
        if min(room) < 0:
            raise ShapeMismatch("the part is larger than the picture", op="Crop", operand="size", got=str(self.size),
                                expected=f"at most {padded.shape[2:]}", help="padding= makes room")
        tops, lefts = [self.starts(most, len(pictures), generator) for most in room]
        return cut(padded, tops, lefts, *self.size)

    def starts(self, most: int, count: int, generator: np.random.Generator) -> np.ndarray:
        """Returns where ``count`` parts begin, from 0 to ``most``."""
        return generator.integers(0, most + 1, count)


class CentreCrop(Crop):
    """The part of ``size`` in the middle.

    >>> CentreCrop(2)((np.arange(16).reshape(1, 4, 4),), np.random.default_rng(0))[0].tolist()
    [[[5, 6], [9, 10]]]
    """

    def starts(self, most: int, count: int, generator: np.random.Generator) -> np.ndarray:
        """Returns the middle between 0 and ``most``, ``count`` times."""
        return np.full(count, most // 2)


class Flip(Transform):
    """Pictures in reverse order along W (or H, as ``axis`` says), each with this ``chance``.

    >>> Flip("H", chance=1.0)((np.array([[[1, 2], [3, 4]]]),), np.random.default_rng(0))[0].tolist()
    [[[3, 4], [1, 2]]]
    """

    def __init__(self, axis: str = "W", chance: float = 0.5) -> None:
        self.axis = one_of(axis, ("H", "W"), "Flip", "axis", 'Flip() turns left and right, Flip("H") top and bottom')
        self.chance = fraction(chance, "Flip", "chance", "0.5 is every other one")

    def apply(self, pictures: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Maps ``pictures`` to pictures of which some are flipped."""
        chosen = generator.random(len(pictures)) < self.chance
        return np.where(chosen[:, None, None, None], np.flip(pictures, 2 if self.axis == "H" else 3), pictures)


class Resize(Transform):
    """Pictures of ``size`` (H, W, or one number), interpolated linearly, as float32; without aliases where they
    shrink.

    >>> Resize((4, 6))((np.ones((2, 3, 8, 8), np.float32),), np.random.default_rng(0))[0].shape
    (2, 3, 4, 6)
    """

    def __init__(self, size: int | Sequence[int]) -> None:
        self.size = _pair(size, "Resize")

    def apply(self, pictures: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Maps ``pictures`` to larger or smaller ones."""
        return resized(_as_float32(pictures), *self.size)


class ResizedCrop(Transform):
    """A random part, resized to ``size``, as float32: from a share of the area and with a ratio W/H from these ranges.

    >>> ResizedCrop(4)((np.ones((2, 3, 8, 8)),), np.random.default_rng(0))[0].shape
    (2, 3, 4, 4)
    """

    def __init__(self, size: int | Sequence[int], area: Sequence[float] = (0.08, 1.0),
                 ratio: Sequence[float] = (3 / 4, 4 / 3)) -> None:
        self.size = _pair(size, "ResizedCrop")
        self.area, self.ratio = _range(area, "ResizedCrop", "area"), _range(ratio, "ResizedCrop", "ratio")

    def apply(self, pictures: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Maps ``pictures`` to parts of them."""
        count, _, height, width = pictures.shape
        areas = generator.uniform(*self.area, count) * height * width
        ratios = _ratios(self.ratio, count, generator)
        heights = np.clip(np.round(np.sqrt(areas / ratios)), 1, height).astype(np.int64)
        widths = np.clip(np.round(np.sqrt(areas * ratios)), 1, width).astype(np.int64)
        tops, lefts = [np.floor(generator.random(count) * (most - own + 1)).astype(np.int64)
                       for most, own in ((height, heights), (width, widths))]
        parts = [resized(_as_float32(picture[None, :, top:top + high, left:left + wide]), *self.size) for
                 picture, top, left, high, wide in zip(pictures, tops, lefts, heights, widths, strict=True)]
        return np.concatenate(parts) if parts else resized(_as_float32(pictures), *self.size)


class Affine(Transform):
    """Turns, moves, scales and shears pictures about their middle; 0 stands where nothing was.

    They are turned by up to ``degrees``, moved by up to ``shift`` (a share of their sides), scaled by a factor from
    ``scale``, and sheared by up to ``shear`` degrees.

    >>> turn = Affine(degrees=30, shift=0.1, scale=(0.9, 1.1))
    >>> turn((np.ones((2, 8, 8), np.float32),), np.random.default_rng(0))[0].shape
    (2, 8, 8)
    """

    def __init__(self, degrees: float = 0.0, shift: float = 0.0, scale: Sequence[float] = (1.0, 1.0),
                 shear: float = 0.0) -> None:
        self.degrees, self.shift = real(degrees, "Affine", "degrees"), real(shift, "Affine", "shift")
        self.scale, self.shear = _range(scale, "Affine", "scale"), real(shear, "Affine", "shear")

    def apply(self, pictures: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Maps ``pictures`` to pictures of the same size."""
        return placed(_floats(pictures), self.maps(pictures.shape, generator))

    def maps(self, shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
        """Returns where each pixel is read, (N, 2, 3) over (y, x, 1), for pictures of ``shape``."""
        count, _, height, width = shape
        turns, shears = [np.radians(generator.uniform(-most, most, count)) for most in (self.degrees, self.shear)]
        factors = generator.uniform(*self.scale, count)
        shifts = generator.uniform(-self.shift, self.shift, (count, 2)) * (height, width)
        cos, sin, tan = np.cos(turns), np.sin(turns), np.tan(shears)
        turned = np.stack([np.stack([cos, sin], -1), np.stack([-sin, cos], -1)], -2)
        sheared = np.stack([np.stack([np.ones(count), np.zeros(count)], -1), np.stack([tan, np.ones(count)], -1)], -2)
        linear = turned @ sheared / factors[:, None, None]
        middle = np.array([(height - 1) / 2, (width - 1) / 2])
        offset = middle - np.einsum("nij,nj->ni", linear, middle + shifts)
        return np.concatenate([linear, offset[:, :, None]], axis=2)


class Rotate(Affine):
    """Pictures turned by up to ``degrees`` in either direction.

    >>> Rotate(10)((np.ones((2, 8, 8)),), np.random.default_rng(0))[0].shape
    (2, 8, 8)
    """

    def __init__(self, degrees: float) -> None:
        super().__init__(degrees)


# -- values ------------------------------------------------------------------------------------------------------


class Scaled(Transform):
    """Bytes from 0 to 255 as float32 from 0 to 1; other pictures as float32.

    >>> Scaled()((np.array([[[0, 255]]], np.uint8),), np.random.default_rng(0))[0].tolist()
    [[[0.0, 1.0]]]
    """

    def apply(self, pictures: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Maps ``pictures`` to float32."""
        found = _as_float32(pictures)
        return found / np.float32(255) if pictures.dtype == np.uint8 else found


class Normalise(Transform):
    """(x - ``mean``) / ``deviation``, numbers or one for each channel, as float32.

    >>> Normalise(0.5, 0.25)((np.array([[[0.0, 1.0]]]),), np.random.default_rng(0))[0].tolist()
    [[[-2.0, 2.0]]]
    """

    def __init__(self, mean: float | Sequence[float], deviation: float | Sequence[float]) -> None:
        self.mean, self.deviation = _channels(mean, "mean"), _channels(deviation, "deviation")
        if not (self.deviation > 0).all():
            raise InvalidArgument("a deviation is above 0", op="Normalise", operand="deviation", got=shown(deviation),
                                  expected="numbers above 0", help="as in Normalise(0.286, 0.353)")

    def apply(self, pictures: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Maps ``pictures`` to float32 of mean 0 and deviation 1, if ``mean`` and ``deviation`` are theirs."""
        channels = {self.mean.shape[0], self.deviation.shape[0]} - {1, pictures.shape[1]}
        if channels:
            raise ShapeMismatch("there is a number for each channel", op="Normalise", operand="mean",
                                got=f"{channels.pop()} numbers", expected=f"{pictures.shape[1]}, or one",
                                help="pictures are (N, C, H, W)")
        return (_as_float32(pictures) - self.mean) / self.deviation


class ColourJitter(Transform):
    """Brightness, contrast and saturation times a factor from 1 - b to 1 + b each, for pictures from 0 to 1.

    Contrast is about the mean grey of a picture, saturation about each pixel's grey. Pictures without three channels
    have no saturation.

    >>> ColourJitter(0.2, 0.2, 0.2)((np.ones((2, 3, 8, 8)),), np.random.default_rng(0))[0].shape
    (2, 3, 8, 8)
    """

    def __init__(self, brightness: float = 0.0, contrast: float = 0.0, saturation: float = 0.0) -> None:
        self.brightness = fraction(brightness, "ColourJitter", "brightness", "0.2 is 0.8 to 1.2 times as much")
        self.contrast = fraction(contrast, "ColourJitter", "contrast", "0.2 is 0.8 to 1.2 times as much")
        self.saturation = fraction(saturation, "ColourJitter", "saturation", "0.2 is 0.8 to 1.2 times as much")

    def apply(self, pictures: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Maps ``pictures`` to pictures from 0 to 1."""
        bright, sharp, colourful = [generator.uniform(1 - most, 1 + most, (len(pictures), 1, 1, 1)).astype(np.float32)
                                    for most in (self.brightness, self.contrast, self.saturation)]
        found = np.clip(_floats(pictures) * bright, 0, 1)
        middle = _grey(found).mean(axis=(1, 2, 3), keepdims=True)
        found = np.clip(middle + (found - middle) * sharp, 0, 1)
        if pictures.shape[1] != 3:
            return found
        grey = _grey(found)
        return np.clip(grey + (found - grey) * colourful, 0, 1)


class Erase(Transform):
    """A rectangle becomes ``value``, with this ``chance`` (Zhong et al. 2017): a share of the area, with a ratio
    H/W.

    >>> found, = Erase(1.0)((np.ones((1, 8, 8)),), np.random.default_rng(0))
    >>> bool((found == 0).any())
    True
    """

    def __init__(self, chance: float = 0.5, area: Sequence[float] = (0.02, 0.33),
                 ratio: Sequence[float] = (0.3, 3.3), value: float = 0.0) -> None:
        self.chance = fraction(chance, "Erase", "chance", "0.5 is every other one")
        self.value = real(value, "Erase", "value")
        self.area, self.ratio = _range(area, "Erase", "area"), _range(ratio, "Erase", "ratio")

    def apply(self, pictures: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Maps ``pictures`` to pictures with holes."""
        chosen = generator.random(len(pictures)) < self.chance
        areas = generator.uniform(*self.area, len(pictures))
        ratios = _ratios(self.ratio, len(pictures), generator)
        inside = _rectangles(pictures, np.sqrt(areas * ratios), np.sqrt(areas / ratios), generator)
        return np.where(inside & chosen[:, None, None, None], self._value(pictures.dtype), pictures)

    def _value(self, dtype: np.dtype) -> np.ndarray:
        """Returns the value in the type of pictures; InvalidArgument if it is none of their integers."""
        limits = np.iinfo(dtype) if dtype.kind in "iu" else None
        if limits is not None and not limits.min <= self.value <= limits.max:
            raise InvalidArgument(f"the value does not fit {dtype.name}", op="Erase", operand="value", got=self.value,
                                  expected=f"{limits.min} to {limits.max}",
                                  help="Scaled() before it makes float32 of bytes")
        return np.asarray(self.value).astype(dtype)


# -- mixtures ----------------------------------------------------------------------------------------------------


class Mixup(Transform):
    """Each picture is mixed with another one, and their labels with it (Zhang et al. 2018).

    The share of the first is drawn from Beta(``alpha``, ``alpha``). Labels, integers below ``classes`` or shares of
    them, become shares (N, classes), float32.

    >>> batch = np.ones((2, 1, 2, 2), np.float32), np.array([0, 2])
    >>> Mixup(classes=3)(batch, np.random.default_rng(0))[1].sum(axis=1).tolist()
    [1.0, 1.0]
    """

    def __init__(self, classes: int, alpha: float = 0.2) -> None:
        self.classes, self.alpha = _least(classes, type(self).__name__, "classes", 1), real(alpha, "Mixup", "alpha")
        if not self.alpha > 0:
            raise InvalidArgument("alpha is above 0", op=type(self).__name__, operand="alpha", got=alpha,
                                  expected="a number above 0", help="0.2 and 1.0 are usual")

    def __call__(self, batch: Arrays, generator: np.random.Generator) -> Arrays:
        """Returns the ``batch`` with mixed pictures and labels, its first and last entries."""
        entries = self._entries(batch)
        if len(entries) < 2:
            raise ShapeMismatch("a mixture needs labels", op=type(self).__name__, operand="batch", got="pictures alone",
                                expected="pictures first, labels last", help="as in Batches(pictures, labels)")
        pictures, *others, labels = entries
        count = len(pictures)
        order = generator.permutation(count)
        own = self._pictures(pictures)
        mixed, shares = self.mixed(own, own[order], generator.beta(self.alpha, self.alpha, count), generator)
        first = self._shares(self._array(labels, "labels"))
        weight = shares.astype(np.float32)[:, None]
        return self._result(mixed, pictures), *others, first * weight + first[order] * (1 - weight)

    def mixed(self, pictures: np.ndarray, partners: np.ndarray, shares: np.ndarray,
              generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Returns ``pictures`` mixed with ``partners`` by ``shares``, and the shares that the first ones have."""
        weight = shares.astype(np.float32)[:, None, None, None]
        return _floats(pictures) * weight + _floats(partners) * (1 - weight), shares

    def _shares(self, labels: np.ndarray) -> np.ndarray:
        if labels.ndim == 2 and labels.shape[1] == self.classes:
            return labels.astype(np.float32)
        is_known = labels.ndim == 1 and labels.dtype.kind in "iu" and (
            not len(labels) or 0 <= labels.min() <= labels.max() < self.classes)
        if not is_known:
            raise WrongKind("labels are classes, or shares of them", op=type(self).__name__, operand="labels",
                            got=f"{labels.dtype.name}{list(labels.shape)}",
                            expected=f"integers below {self.classes}, or shares (N, {self.classes})",
                            help="classes= is the number of classes")
        return np.eye(self.classes, dtype=np.float32)[labels]


class CutMix(Mixup):
    """A rectangle of each picture comes from another one, and labels are mixed by their areas (Yun et al. 2019).

    The share of the first is drawn from Beta(``alpha``, ``alpha``); labels are as in ``Mixup``.

    >>> batch = np.ones((2, 1, 8, 8), np.float32), np.array([0, 2])
    >>> CutMix(classes=3)(batch, np.random.default_rng(0))[1].shape
    (2, 3)
    """

    def __init__(self, classes: int, alpha: float = 1.0) -> None:
        super().__init__(classes, alpha)

    def mixed(self, pictures: np.ndarray, partners: np.ndarray, shares: np.ndarray,
              generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Returns ``pictures`` with rectangles of ``partners``, and the shares of the area that are left. A rectangle
        has the sides of the picture times the root of 1 - ``shares``.
        """
        sides = np.sqrt(1 - shares)
        inside = _rectangles(pictures, sides, sides, generator)
        return np.where(inside, partners, pictures), 1 - inside.mean(axis=(1, 2, 3))


# -- arguments and common parts --------------------------------------------------------------------------------------


def _floats(pictures: np.ndarray) -> np.ndarray:
    return pictures if pictures.dtype.kind == "f" else _as_float32(pictures)


def _as_float32(pictures: np.ndarray) -> np.ndarray:
    return pictures.astype(np.float32, copy=False)


def _grey(pictures: np.ndarray) -> np.ndarray:
    """Returns the luminance (N, 1, H, W) by ITU-R BT.601; of other than three channels the mean."""
    if pictures.shape[1] != 3:
        found: np.ndarray = pictures.mean(axis=1, keepdims=True)
        return found
    weights = np.array([0.299, 0.587, 0.114], pictures.dtype)
    return np.einsum("c,nchw->nhw", weights, pictures)[:, None]


def _ratios(ends: tuple[float, float], count: int, generator: np.random.Generator) -> np.ndarray:
    """Returns ``count`` ratios, whose logarithms are even between those of two ``ends``."""
    return np.exp(generator.uniform(float(np.log(ends[0])), float(np.log(ends[1])), count))


def _rectangles(pictures: np.ndarray, heights: np.ndarray, widths: np.ndarray,
                generator: np.random.Generator) -> np.ndarray:
    """Returns which pixels are in a rectangle of each picture, (N, 1, H, W), at a random place inside of it.
    ``heights`` and ``widths`` are shares of the picture's sides.
    """
    inside = []
    for length, share in ((pictures.shape[2], heights), (pictures.shape[3], widths)):
        own = np.clip(np.round(share * length), 0, length)
        starts = np.floor(generator.random(len(pictures)) * (length - own + 1))
        places = np.arange(length)
        inside.append((places >= starts[:, None]) & (places < (starts + own)[:, None]))
    return (inside[0][:, :, None] & inside[1][:, None, :])[:, None]


def _pair(size: object, op: str) -> tuple[int, int]:
    """Reads a height and a width, or one number for both."""
    given = members(size, op, "size", "a height and a width") if isinstance(size, (list, tuple)) else [size, size]
    if len(given) != 2:
        raise InvalidArgument("a size is a height and a width", op=op, operand="size", got=f"{len(given)} numbers",
                              expected="two, or one for both", help=f"as in {op}((28, 32))")
    height, width = [_least(entry, op, "size", 1) for entry in given]
    return height, width


def _channels(value: object, operand: str) -> np.ndarray:
    """Reads a number, or one for each channel, as (C, 1, 1)."""
    try:
        numbers = read_array(value, float32, "Normalise")
    except NervureError as error:
        raise error.within("Normalise", operand=operand) from None
    if not np.isfinite(numbers).all():
        raise InvalidArgument(f"{operand} is finite", op="Normalise", operand=operand, got=shown(value),
                              expected="finite numbers", help="as in Normalise(0.286, 0.353)")
    return numbers.reshape(-1, 1, 1)


def _least(value: object, op: str, operand: str, least: int) -> int:
    return integer(value, op, operand, help=f"look at the arguments of {op}", least=least)


def _range(value: object, op: str, operand: str) -> tuple[float, float]:
    ends = [real(entry, op, operand) for entry in members(value, op, operand, "two numbers")]
    if len(ends) != 2 or not 0 < ends[0] <= ends[1]:
        raise InvalidArgument(f"{operand} is a range", op=op, operand=operand, got=shown(value),
                              expected="two numbers above 0, the smaller one first", help=f"as in {op}(..., "
                              f"{operand}=(0.5, 1.0))")
    return ends[0], ends[1]


__all__ = ["Affine", "CentreCrop", "ColourJitter", "Crop", "CutMix", "Erase", "Flip", "Mixup", "Normalise", "Resize",
           "ResizedCrop", "Rotate", "Scaled", "Transform"]


if not TYPE_CHECKING:  # type checkers see missing attributes as missing
    def __getattr__(name: str) -> NoReturn:
        raise unknown_name("nv.data.transforms", name, __all__)
