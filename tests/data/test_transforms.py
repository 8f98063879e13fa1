"""Transforms of pictures: what they make, and that what they draw follows from seed, epoch, batch and element."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from scipy import ndimage

import nervure as nv
from nervure.data import pictures as arrays
from nervure.data import transforms as t

RNG = np.random.default_rng


def pictures_of(count: int = 5, channels: int = 3, height: int = 8, width: int = 10) -> np.ndarray:
    return RNG(0).random((count, channels, height, width), np.float32)


def applied(transform: t.Transform, pictures: np.ndarray, seed: int = 1) -> np.ndarray:
    return transform((pictures,), RNG(seed))[0]


EVERY = [t.Crop(6), t.Crop((6, 7), padding=2), t.CentreCrop(4), t.Flip(), t.Flip("H"), t.Resize((5, 12)),
         t.ResizedCrop(6), t.Affine(20, 0.1, (0.8, 1.2), 10), t.Rotate(45), t.Scaled(), t.Normalise(0.5, 0.2),
         t.ColourJitter(0.2, 0.3, 0.4), t.Erase()]


@pytest.mark.parametrize("transform", EVERY, ids=lambda entry: type(entry).__name__)
def test_what_is_drawn_follows_from_the_seed(transform):
    """Another seed gives other pictures, unless nothing is drawn; pictures without channels are one channel."""
    given = pictures_of()
    first = applied(transform, given)
    assert first.dtype == np.float32 and np.array_equal(first, applied(transform, given))
    is_drawn = not isinstance(transform, (t.CentreCrop, t.Resize, t.Scaled, t.Normalise))
    assert any(not np.array_equal(first, applied(transform, given, seed)) for seed in range(2, 6)) == is_drawn
    assert applied(transform, given[:, 0]).shape == first[:, 0].shape
    none = applied(transform, given[:0])
    assert none.dtype == np.float32 and none.shape == (0, *first.shape[1:])


def test_crops_are_parts_of_the_padded_picture():
    given = np.arange(2 * 6 * 6, dtype=np.float32).reshape(2, 1, 6, 6) + 1
    found = applied(t.Crop(6, padding=1), given)
    padded = np.pad(given, ((0, 0), (0, 0), (1, 1), (1, 1)))
    for one, whole in zip(found, padded, strict=True):
        assert any(np.array_equal(one, whole[:, y:y + 6, x:x + 6]) for y in range(3) for x in range(3))
    starts = {tuple(applied(t.Crop(5), given, seed)[0, 0, 0, :1]) for seed in range(60)}
    assert len(starts) == 4  # all places occur
    assert np.array_equal(applied(t.CentreCrop(2), given), given[:, :, 2:4, 2:4])


def test_flips_turn_a_share_of_pictures():
    given = pictures_of(1000, 1, 2, 3)
    found = applied(t.Flip(chance=0.25), given)
    turned = [np.array_equal(one, own[:, :, ::-1]) for one, own in zip(found, given, strict=True)]
    assert all(is_turned or np.array_equal(one, own)
               for is_turned, one, own in zip(turned, found, given, strict=True)) and 190 < sum(turned) < 310
    assert np.array_equal(applied(t.Flip("H", 1.0), given), given[:, :, ::-1])


def test_resizing_interpolates_between_middles():
    """A linear picture stays linear inside; a mean stays a mean where a picture shrinks by a whole number."""
    line = np.broadcast_to(np.arange(8, dtype=np.float32), (1, 1, 4, 8))
    assert np.allclose(arrays.resized(line, 4, 16)[0, 0, 0, 1:-1], (np.arange(16) / 2 - 0.25)[1:-1])
    assert np.allclose(arrays.resized(line, 2, 4)[0, 0, 0, 1:-1], [2.5, 4.5], atol=1e-6)
    given = pictures_of()
    assert np.allclose(arrays.resized(given, 8, 10), given)
    assert np.allclose(arrays.resized(np.ones_like(given), 3, 17), 1)


def test_affine_pictures_are_those_of_scipy():
    given = pictures_of(4, 2, 9, 11)
    transform = t.Affine(40, 0.2, (0.7, 1.4), 15)
    maps = transform.maps(given.shape, RNG(3))
    found = applied(transform, given, 3)
    for one, own, place in zip(found, given, maps, strict=True):
        for channel, picture in zip(one, own, strict=True):
            expected = ndimage.affine_transform(np.pad(picture, 1), place[:, :2], place[:, 2] - place[:, :2].sum(axis=1)
                                                + 1, output_shape=(11, 13), order=1)[1:-1, 1:-1]
            assert np.allclose(channel, expected, atol=1e-4)


def test_a_quarter_turn_is_exact():
    given = pictures_of(1, 1, 7, 7)
    transform = t.Rotate(90)
    transform.maps = lambda shape, generator: t.Affine.maps(transform, shape, Always(1.0))
    assert np.allclose(applied(transform, given)[0, 0], np.rot90(given[0, 0]), atol=1e-5)


class Always:
    """A generator that draws the upper end."""

    def __init__(self, share: float) -> None:
        self.share = share

    def uniform(self, low: float, high: float, shape: object) -> np.ndarray:
        return np.full(shape, low + self.share * (high - low))


def test_values_are_scaled_and_normalised():
    given = RNG(0).integers(0, 256, (2, 3, 4, 4)).astype(np.uint8)
    assert np.allclose(applied(t.Scaled(), given), given / 255)
    mean, deviation = [0.1, 0.2, 0.3], [1.0, 2.0, 4.0]
    expected = (given - np.reshape(mean, (3, 1, 1))) / np.reshape(deviation, (3, 1, 1))
    assert np.allclose(applied(t.Normalise(mean, deviation), given), expected, rtol=1e-5)


def test_colours_change_as_they_say():
    given = pictures_of() * 0.5 + 0.2
    bright = applied(t.ColourJitter(brightness=0.2), given)
    factors = (bright / given).reshape(5, -1)
    assert np.allclose(factors, factors[:, :1], rtol=1e-4) and (abs(factors - 1) < 0.2001).all()
    grey = np.einsum("c,nchw->nhw", [0.299, 0.587, 0.114], applied(t.ColourJitter(saturation=0.3), given))
    assert np.allclose(grey, np.einsum("c,nchw->nhw", [0.299, 0.587, 0.114], given), atol=1e-5)
    sharp = applied(t.ColourJitter(contrast=0.3), given)
    spread = [np.ptp(one) / np.ptp(own) for one, own in zip(sharp, given, strict=True)]
    assert max(abs(np.array(spread) - 1)) < 0.3001 and np.ptp(spread) > 0.05


def test_holes_are_rectangles_of_the_right_area():
    given = np.ones((200, 2, 20, 30), np.float32)
    found = applied(t.Erase(1.0, (0.1, 0.2), (0.5, 2.0)), given)
    holes = found[:, 0] == 0
    assert np.array_equal(found[:, 0], found[:, 1])
    assert (holes == (holes.any(axis=2)[:, :, None] & holes.any(axis=1)[:, None, :])).all()
    assert 0.08 < holes.mean(axis=(1, 2)).min() < 0.11 and 0.18 < holes.mean(axis=(1, 2)).max() < 0.22
    assert 60 < (applied(t.Erase(0.5), given) == 0).any(axis=(1, 2, 3)).sum() < 140


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.bool_, np.float16, np.float32, np.float64])
@pytest.mark.parametrize("transform", [t.Scaled(), t.Normalise(0.5, 0.25), t.Resize(2), t.ResizedCrop(2)], ids=range(4))
def test_what_gives_float32_does_so_for_all_types(transform, dtype):
    given = np.ones((2, 3, 8, 8), dtype)
    found = applied(transform, given)
    assert found.dtype == np.float32 and applied(transform, given[:0]).dtype == np.float32
    expected = 2.0 if isinstance(transform, t.Normalise) else 1.0
    assert np.allclose(found, expected / 255 if dtype == np.uint8 and isinstance(transform, t.Scaled) else expected)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32])
def test_a_hole_has_a_value_of_the_type_of_the_pictures(dtype):
    given = np.ones((2, 1, 8, 8), dtype)
    assert (applied(t.Erase(1.0, value=255), given) == 255).any() and applied(t.Erase(), given).dtype == dtype
    if dtype != np.float32:
        for value in (-40000, 70000, np.nan, np.inf):
            with pytest.raises(nv.InvalidArgument, match=f"the value does not fit {dtype.__name__}"):
                applied(t.Erase(1.0, value=value), given)
    else:
        assert np.isnan(applied(t.Erase(1.0, value=np.nan), given)).any()


@pytest.mark.parametrize("kind", [t.Mixup, t.CutMix])
def test_mixtures_keep_the_shares_of_what_is_mixed(kind):
    """A picture that is all its label has, in the mixture, the mean that its labels say."""
    labels = RNG(1).integers(0, 4, 50)
    given = np.broadcast_to(labels[:, None, None, None], (50, 2, 16, 16)).astype(np.float32)
    pictures, shares = kind(4, 1.0)((given, labels), RNG(2))
    assert np.allclose(shares.sum(axis=1), 1) and shares.dtype == np.float32
    assert np.allclose(pictures.mean(axis=(1, 2, 3)), shares @ np.arange(4), atol=1e-5)
    assert len(np.unique(pictures[:, 0].mean(axis=(1, 2)).round(3))) > 10
    again, _ = kind(4, 1.0)((given, np.eye(4)[labels]), RNG(2))
    assert np.array_equal(again, pictures)


def data_of(transforms: list[t.Transform], **options: object) -> nv.data.Transformed:
    given = nv.data.Batches(pictures_of(20), np.arange(20), size=6, seed=2)
    return nv.data.Transformed(given, transforms, seed=3, **options)


def test_transformed_data_can_be_gone_back_to():
    data = data_of([t.Crop(6, padding=1), t.Flip(), t.Erase(), t.Mixup(20)])
    nv.data.check(data)
    assert len(data) == 4 and next(data.epoch(0))[0].shape == (6, 3, 6, 6)
    other = nv.data.Transformed(data.source, data.transforms, seed=4)
    assert not np.array_equal(next(data.epoch(0))[0], next(other.epoch(0))[0]) and data.kind != other.kind


def test_batches_that_are_dicts_name_their_pictures():
    given = nv.data.Batches({"id": np.arange(6), "label": np.arange(6), "image": pictures_of(6)}, size=3)
    data = nv.data.Transformed(given, [t.CentreCrop(4), t.Mixup(6)], entries=("image", "label"))
    batch = next(data.epoch(0))
    assert list(batch) == ["id", "label", "image"] and batch["image"].shape == (3, 3, 4, 4)
    assert batch["label"].shape == (3, 6) and batch["id"].shape == (3,)
    with pytest.raises(nv.InvalidArgument, match="a batch is a dict"):
        next(nv.data.Transformed(given, [t.Flip()]).epoch(0))
    for wrong in (lambda batch, _: batch[:1], lambda batch, _: (*batch, *batch), lambda batch, _: None):
        with pytest.raises(nv.InvalidArgument, match="return other entries than they are given"):
            next(nv.data.Transformed(given, [wrong], entries=("image", "label")).epoch(0))


@pytest.mark.parametrize("entry", [lambda array: (array, array), lambda array: {"a": array}], ids=["tuple", "dict"])
@pytest.mark.parametrize("transform", [t.Flip(), t.Mixup(6)], ids=["pictures", "labels"])
def test_an_entry_of_several_arrays_is_refused(transform, entry):
    """The rest of a batch may be nested."""
    pictures, labels = pictures_of(6), np.arange(6)
    kept = nv.data.Transformed(nv.data.Batches(pictures, entry(labels), labels), [transform])
    assert len(next(kept.epoch(0))[1]) == len(entry(labels))
    first = nv.data.Batches(entry(pictures), labels) if isinstance(transform, t.Flip) else nv.data.Batches(
        pictures, entry(labels))
    with pytest.raises(nv.WrongKind, match="a transform takes an array"):
        next(nv.data.Transformed(first, [transform]).epoch(0))


def test_tensors_are_arrays():
    found, labels = t.Mixup(6)((nv.constant(pictures_of(6)), nv.iota(6)), RNG(0))
    assert found.shape == (6, 3, 8, 10) and labels.shape == (6, 6)


@pytest.mark.parametrize("workers", [1, 3])
def test_batches_made_ahead_are_the_same(workers):
    data = data_of([t.Crop(6), t.Flip()])
    ahead = nv.data.Prefetched(data, workers=workers, ahead=2)
    nv.data.check(ahead)
    for start in (0, 2, 4):
        expected, found = list(data.epoch(1, start)), list(ahead.epoch(1, start))
        assert len(expected) == len(found) == 4 - start
        assert all(np.array_equal(a, b) for one, other in zip(expected, found, strict=True)
                   for a, b in zip(one, other, strict=True))
    assert ahead.kind == data.kind


def test_an_error_names_its_batch_and_no_thread_stays():
    def broken(batch: tuple[np.ndarray, ...], generator: np.random.Generator) -> tuple[np.ndarray, ...]:
        if 7 in batch[1]:
            raise ValueError("seven")
        return batch
    data = data_of([])
    at = next(number for number, (_, labels) in enumerate(data.epoch(0)) if 7 in labels)
    reading = nv.data.Prefetched(data_of([broken]), workers=2).epoch(0)
    found = []
    with pytest.raises(ValueError, match="seven") as caught:
        found.extend(reading)
    assert len(list(found)) <= at and caught.value.__notes__ == [f"in batch {at} of epoch 0"]
    class TooFew:
        def __len__(self):
            return 3

        def epoch(self, number, start=0):
            for _ in range(start, 2):
                yield np.ones((2, 3))
    found = []
    with pytest.raises(nv.InvalidArgument, match="another number of batches than the data say") as few:
        found.extend(nv.data.Prefetched(TooFew(), workers=2).epoch(0))
    assert few.value.got == "2 batches" and few.value.__notes__ == ["in batch 2 of epoch 0"]
    stopped = nv.data.Prefetched(data, workers=2).epoch(0)
    next(stopped)
    stopped.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("nervure batches")]


def test_a_trainer_goes_on_to_the_bit(tmp_path):
    def trainer() -> nv.Trainer:
        nv.seed(5)
        model = nv.nn.Sequential(nv.nn.Functional(lambda x: nv.reshape(x, (-1, 108))), nv.nn.LinearLayer(108, 20))
        return nv.Trainer(model, nv.optim.Adam(0.01), nv.nn.losses.cross_entropy)
    data = nv.data.Prefetched(data_of([t.Crop(6), t.Flip()]), workers=2)
    whole = trainer().fit(data, epochs=3, shows=False)
    trainer().fit(data, epochs=1, folder=tmp_path, shows=False)
    assert trainer().fit(data, epochs=3, folder=tmp_path, resume=True, shows=False) == whole


@pytest.mark.parametrize(("make", "message"), [
    (lambda: t.Crop(0), "size is 1 or more"), (lambda: t.Crop((1, 2, 3)), "a height and a width"),
    (lambda: t.Crop(3, padding=-1), "padding is 0 or more"), (lambda: t.Flip("C"), "unknown axis"),
    (lambda: t.Flip(chance=2), "is from 0 to 1"), (lambda: t.Normalise(0, 0), "a deviation is above 0"),
    (lambda: t.Affine(scale=(0, 1)), "scale is a range"), (lambda: t.Mixup(3, 0), "alpha is above 0"),
    (lambda: t.Normalise(None, 1), "not numbers"), (lambda: t.Normalise(0, "a"), "not numbers"),
    (lambda: t.Normalise([[1], [1, 2]], 1), "NumPy makes no array"), (lambda: t.Normalise(np.nan, 1), "mean is finite"),
    (lambda: t.Normalise(0, np.inf), "deviation is finite"),
    (lambda: t.Flip()(pictures_of(), RNG(0)), "a batch is a tuple"),
    (lambda: t.Mixup(3)(None, RNG(0)), "a batch is a tuple"), (lambda: t.Crop(2)((), RNG(0)), "a batch is a tuple"),
    (lambda: t.Erase(area=(0.5, 0.1)), "area is a range"), (lambda: t.ColourJitter(-1), "is from 0 to 1"),
    (lambda: applied(t.Crop(20), pictures_of()), "larger than the picture"),
    (lambda: applied(t.Flip(), np.zeros((2, 3))), "three or four axes"),
    (lambda: applied(t.Normalise([0, 0], 1), pictures_of()), "a number for each channel"),
    (lambda: t.Mixup(3)((pictures_of(),), RNG(0)), "a mixture needs labels"),
    (lambda: t.Mixup(3)((pictures_of(), np.full(5, 3)), RNG(0)), "labels are classes"),
    (lambda: data_of([t.Flip]), "called with a batch"), (lambda: data_of([], entries=3), "names"),
    (lambda: nv.data.Transformed(iter([1]), []), "read but once"),
    (lambda: nv.data.Prefetched(data_of([]), workers=0), "workers is 1 or more"),
    (lambda: nv.data.Prefetched(lambda number: []), "how many batches")], ids=range(28))
def test_mistakes_are_told(make, message):
    with pytest.raises(nv.NervureError, match=message):
        make()
