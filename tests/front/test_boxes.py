"""Boxes in images, against plain loops over NumPy arrays."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import nervure as nv

RNG = np.random.default_rng(11)
IMAGES, ROWS = RNG.standard_normal((3, 2, 7, 9)), RNG.integers(0, 3, 6)
_CORNERS = RNG.uniform(-3, 18, (6, 2))
BOXES = np.concatenate([_CORNERS, _CORNERS + RNG.uniform(0, 14, (6, 2))], 1)
SHARES = RNG.uniform(-0.2, 1.2, (6, 4))


def between(image, y, x):
    """The element at a place that is held inside of the image, linear between elements."""
    y, x = min(max(y, 0), image.shape[1] - 1), min(max(x, 0), image.shape[2] - 1)
    top, left = int(y), int(x)
    under, right = min(top + 1, image.shape[1] - 1), min(left + 1, image.shape[2] - 1)
    down, across = y - top, x - left
    return ((1 - down) * ((1 - across) * image[:, top, left] + across * image[:, top, right])
            + down * ((1 - across) * image[:, under, left] + across * image[:, under, right]))


def aligned_means(lengths, scale, samples, aligned):
    """torchvision's ``roi_align``, by its definition."""
    height, width = IMAGES.shape[2:]
    found = np.zeros((len(BOXES), IMAGES.shape[1], *lengths))
    for k, (box, row) in enumerate(zip(BOXES, ROWS, strict=True)):
        left, top, right, bottom = box * scale - (0.5 if aligned else 0.0)
        sizes = [bottom - top, right - left] if aligned else [max(bottom - top, 1), max(right - left, 1)]
        parts = [size / length for size, length in zip(sizes, lengths, strict=True)]
        counts = [samples or max(int(np.ceil(part)), 0) for part in parts]
        for i, j, a, b in itertools.product(*map(range, (*lengths, *counts))):
            y = top + (i + (a + 0.5) / counts[0]) * parts[0]
            x = left + (j + (b + 0.5) / counts[1]) * parts[1]
            if -1 <= y <= height and -1 <= x <= width:
                found[k, :, i, j] += between(IMAGES[row], y, x) / np.prod(counts)
    return found


def pooled(lengths, scale):
    """torchvision's ``roi_pool``, by its definition."""
    found = np.zeros((len(BOXES), IMAGES.shape[1], *lengths))
    for k, (box, row) in enumerate(zip(BOXES, ROWS, strict=True)):
        left, top, right, bottom = [int(np.floor(abs(end) + 0.5) * np.sign(end)) for end in box * scale]
        parts = [max(bottom - top + 1, 1) / lengths[0], max(right - left + 1, 1) / lengths[1]]
        for i, j in itertools.product(*map(range, lengths)):
            rows, columns = [
                slice(*np.clip([int(np.floor(n * part)) + start, int(np.ceil((n + 1) * part)) + start], 0, length))
                for n, part, start, length in zip((i, j), parts, (top, left), IMAGES.shape[2:], strict=True)]
            part = IMAGES[row][:, rows, columns]
            found[k, :, i, j] = part.max((1, 2)) if part.size else 0
    return found


def cropped(lengths, fill):
    """TensorFlow's ``crop_and_resize``, by its definition."""
    found = np.full((len(SHARES), IMAGES.shape[1], *lengths), fill)
    for k, (box, row) in enumerate(zip(SHARES, ROWS, strict=True)):
        places = [(np.linspace(box[n], box[n + 2], length) if length > 1 else [(box[n] + box[n + 2]) / 2])
                  for n, length in enumerate(lengths)]
        for i, j in itertools.product(*map(range, lengths)):
            y, x = places[0][i] * 6, places[1][j] * 8
            if 0 <= y <= 6 and 0 <= x <= 8:
                found[k, :, i, j] = between(IMAGES[row], y, x)
    return found


@pytest.mark.parametrize("aligned", [True, False])
@pytest.mark.parametrize("samples", [0, 1, 3])
def test_means_of_aligned_parts(samples, aligned):
    """T441: boxes may leave the image, and be of any size."""
    found = nv.roi_align(IMAGES, BOXES, ROWS, [3, 2], 0.5, samples, aligned).numpy()
    np.testing.assert_allclose(found, aligned_means((3, 2), 0.5, samples, aligned), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("box", "expected"), [([2.0, 1.0, 2.0, 2.0], 0.0), ([2.0, 1.0, 1.0, 2.0], 0.0),
                                               ([1.0, 1.0, 2.0, 2.0], 4.0)])
def test_a_part_without_extent_has_no_samples(box, expected):
    """T441: beside boxes that have some; gradients are numbers."""
    x, boxes = np.arange(9.0).reshape(1, 1, 3, 3), [box, [0.0, 0.0, 3.0, 3.0]]
    found = nv.roi_align(x, boxes, [0, 0], [1, 1], samples=0).numpy()
    np.testing.assert_allclose(found[:, 0, 0, 0], [expected, 4.0])
    assert nv.roi_align(x, [box], [0], [1, 1], samples=0).item() == expected
    slope = nv.grad(lambda x: nv.sum(nv.roi_align(x, boxes, [0, 0], [1, 1], samples=0)))(x)
    np.testing.assert_allclose(np.sum(slope), 1.0 + (expected > 0))
    kept_at_least_one = nv.roi_align(x, [box], [0], [1, 1], samples=0, aligned=False).item()
    assert np.isfinite(kept_at_least_one) and kept_at_least_one > 0


def test_largest_elements_of_parts():
    """T441."""
    np.testing.assert_allclose(nv.roi_pool(IMAGES, BOXES, ROWS, [3, 2], 0.5).numpy(), pooled((3, 2), 0.5))
    half = nv.roi_pool(np.arange(5.0).reshape(1, 1, 5), [[0.5, 2.5]], [0], [2])
    assert half.tolist() == [[[2.0, 3.0]]]      # 0.5 and 2.5 are rounded to 1 and 3, away from 0
    assert nv.roi_pool([[[-np.inf, -np.inf]]], [[0, 1]], [0], [1]).item() == -np.inf
    for box in ([np.nan] * 4, [np.inf] * 4, [0.0, 0.0, np.inf, 1.0]):
        assert nv.roi_pool(np.ones((1, 1, 2, 2)), [box], [0], [1, 1]).item() == 0.0    # no element is in it


@pytest.mark.parametrize("take", [
    lambda x, row: nv.roi_align(x, [[0.0, 0.0, 2.0, 2.0]], [row], [1, 1]),
    lambda x, row: nv.roi_pool(x, [[0.0, 0.0, 2.0, 2.0]], [row], [1, 1]),
    lambda x, row: nv.crop_and_resize(x, [[0.0, 0.0, 0.1, 0.1]], [row], [1, 1])], ids=["align", "pool", "crop"])
@pytest.mark.parametrize("row", [2, -3, 1 << 12, 1 << 32, 238609294])
def test_images_that_are_not_there(take, row):
    """T441: also where the number of an element would wrap around; numbers from the end are those of an index."""
    x = np.arange(2 << 20, dtype=np.float32).reshape(2, 1, 1 << 10, 1 << 10)
    with pytest.raises(nv.IndexOutOfRange, match=f"index {row} .*is out of range"):
        take(x, row).numpy()
    assert take(x, -1).tolist() == take(x, 1).tolist() != take(x, 0).tolist()


@pytest.mark.parametrize("lengths", [(3, 4), (1, 5)])
def test_crops_that_are_resized(lengths):
    """T441."""
    found = nv.crop_and_resize(IMAGES, SHARES, ROWS, [*lengths], fill=7.0).numpy()
    np.testing.assert_allclose(found, cropped(lengths, 7.0), rtol=1e-9, atol=1e-12)
    flipped = nv.crop_and_resize(np.arange(4.0).reshape(1, 1, 4), [[1.0, 0.0]], [0], [4], "nearest")
    assert flipped.tolist() == [[[3.0, 2.0, 1.0, 0.0]]]


def test_three_places():
    """T441: boxes of three places have six numbers."""
    x = np.random.default_rng(2).standard_normal((1, 2, 4, 5, 6))
    whole = nv.roi_align(x, [[0.0, 0.0, 0.0, 6.0, 5.0, 4.0]], [0], [4, 5, 6], samples=1).numpy()
    np.testing.assert_allclose(whole[0], x[0], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(nv.crop_and_resize(x, [[0, 0, 0, 1, 1, 1]], [0], [4, 5, 6]).numpy(), x, rtol=1e-6,
                               atol=1e-6)


def test_derivatives_of_boxes():
    """T441: of images, and of boxes where x is linear between elements."""
    few = slice(0, 2)
    nv.testing.check_grads(lambda x, boxes: nv.roi_align(x, boxes, ROWS[few], [2, 2], 0.5), [IMAGES, BOXES[few]])
    nv.testing.check_grads(lambda x, boxes: nv.crop_and_resize(x, boxes, ROWS[few], [2, 2]), [IMAGES, SHARES[few]])
    nv.testing.check_grads(lambda x: nv.roi_pool(x, BOXES[few], ROWS[few], [2, 2], 0.5), [IMAGES])


def test_any_number_of_boxes_and_images(transformer):
    """T441: one program of symbols."""
    x = nv.placeholder((nv.dim("m"), 2, nv.dim("h", min=1), nv.dim("w", min=1)), nv.float64)
    boxes, rows = nv.placeholder((nv.dim("n"), 4), nv.float64), nv.placeholder((nv.dim("n"),), nv.int64)
    compute = transformer.computation([nv.roi_align(x, boxes, rows, [3, 2], 0.5),
                                       nv.roi_pool(x, boxes, rows, [3, 2], 0.5),
                                       nv.crop_and_resize(x, boxes, rows, [3, 2])], x, boxes, rows)
    found = compute(IMAGES, BOXES, ROWS)
    np.testing.assert_allclose(found[0], aligned_means((3, 2), 0.5, 2, True), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found[1], pooled((3, 2), 0.5))
    assert [entry.shape for entry in compute(IMAGES, BOXES[:0], ROWS[:0])] == [(0, 2, 3, 2)] * 3
    with pytest.raises(nv.IndexOutOfRange):
        compute(IMAGES, BOXES, ROWS + 3)


# -- boxes that overlap ----------------------------------------------------------------------------------------


def kept(boxes, scores, limit, classes=None, least=-np.inf):
    """The greedy choice, box by box."""
    found = []
    for i in np.argsort(-scores, kind="stable"):
        for j in found if scores[i] > least else []:
            low, high = np.maximum(boxes[i, :2], boxes[j, :2]), np.minimum(boxes[i, 2:], boxes[j, 2:])
            shared = np.prod(np.maximum(high - low, 0))
            union = sum(np.prod(boxes[k, 2:] - boxes[k, :2]) for k in (i, j)) - shared
            if shared / union > limit and (classes is None or classes[i] == classes[j]):
                break
        else:
            if scores[i] > least:
                found.append(i)
    return found


@pytest.mark.parametrize("limit", [0.1, 0.3, 0.7])
def test_boxes_that_stay(limit, transformer):
    """T442: as many as are found, or a number, with -1 behind the last one; of any number of boxes."""
    rng = np.random.default_rng(5)
    corners = rng.uniform(0, 10, (40, 2))
    places, values = np.concatenate([corners, corners + rng.uniform(1, 5, (40, 2))], 1), rng.standard_normal(40)
    classes = rng.integers(0, 2, 40)
    boxes, scores = nv.placeholder((nv.dim("n"), 4), nv.float64), nv.placeholder((nv.dim("n"),), nv.float64)
    labels = nv.placeholder((nv.dim("n"),), nv.int64)
    compute = transformer.computation([
        nv.nms(boxes, scores, limit), nv.nms(boxes, scores, limit, most=6),
        nv.nms(boxes, scores, limit, classes=labels, least=0.2),
        nv.nms(boxes, scores, limit, classes=labels, least=0.2, most=50)], boxes, scores, labels)
    for count in (40, 2, 0):
        given = places[:count], values[:count], classes[:count]
        expected = kept(*given[:2], limit), kept(
            *given[:2], limit, given[2], 0.2)
        found = [entry.tolist() for entry in compute(*given)]
        assert found[0] == expected[0] and found[1] == (expected[0] + [-1] * 6)[:6]
        assert found[2] == expected[1] and found[3] == (expected[1] + [-1] * 50)[:50]


def test_lengths_of_symbols_are_those_of_the_boxes(transformer):
    """T442: each box has a score and a class, and lengths that a call brings are checked by it."""
    boxes, scores, labels = [nv.placeholder(shape, dtype) for shape, dtype in (
        ((nv.dim("n"), 4), nv.float64), ((nv.dim("m"),), nv.float64), ((nv.dim("k"),), nv.int64))]
    compute = transformer.computation([nv.nms(boxes, scores), nv.nms(boxes, scores, classes=labels, most=4)], boxes,
                                      scores, labels)
    given = BOXES[:3], np.array([1.0, 2.0, 0.0]), np.zeros(3, np.int64)
    assert compute(*given)[0].tolist() == kept(*given[:2], 0.5)
    for wrong in ((given[0], given[1][:2], given[2]), (*given[:2], given[2][:2]), (BOXES[:2], *given[1:])):
        with pytest.raises(nv.ShapeMismatch, match="does not hold in this call"):
            compute(*wrong)
    fixed = transformer.computation(nv.nms(boxes, [1.0, 2.0]), boxes)
    assert fixed(BOXES[:2]).tolist() == kept(BOXES[:2], np.array([1.0, 2.0]), 0.5)
    with pytest.raises(nv.ShapeMismatch):
        fixed(BOXES[:3])


def test_ties_and_corners():
    """T442: of equal scores the first is better, the limit itself is no overlap, and any two corners will do."""
    pair = [[0.0, 0.0, 2.0, 1.0], [0.0, 0.0, 1.0, 1.0]]
    assert nv.nms(pair, [1.0, 1.0], 0.4).tolist() == [0] and nv.nms(pair, [1.0, 1.0], 0.5).tolist() == [0, 1]
    turned = [[2.0, 1.0, 0.0, 0.0], [0.0, 1.0, 1.0, 0.0]]
    assert nv.nms(turned, [0.0, 1.0], 0.4).tolist() == [1] and nv.nms(turned, [0.0, 1.0], 0.6).tolist() == [1, 0]
    assert nv.nms([[1.0, 1.0, 1.0, 1.0]] * 2, [0.0, 1.0]).tolist() == [1, 0]    # without an area nothing overlaps


@pytest.mark.parametrize(("kind", "call"), [
    (nv.ShapeMismatch, lambda: nv.roi_align(IMAGES, BOXES, ROWS, [3])),
    (nv.ShapeMismatch, lambda: nv.roi_align(IMAGES, BOXES[:, :3], ROWS, [3, 2])),
    (nv.ShapeMismatch, lambda: nv.roi_pool(IMAGES, BOXES, ROWS[:5], [3, 2])),
    (nv.InvalidArgument, lambda: nv.roi_align(IMAGES, nv.placeholder((6, 4)), ROWS, [3, 2], samples=0)),
    (nv.InvalidArgument, lambda: nv.crop_and_resize(IMAGES, SHARES, ROWS, [3, 2], "cubic")),
    (nv.InvalidArgument, lambda: nv.roi_align(IMAGES, [[0.0, 0.0, np.nan, 1.0]], [0], [3, 2], samples=0)),
    (nv.InvalidArgument, lambda: nv.roi_align(IMAGES, [[np.inf, 0.0, 1.0, 1.0]], [0], [3, 2], samples=0)),
    (nv.ShapeMismatch, lambda: nv.nms(BOXES[:, :3], ROWS)),
    (nv.ShapeMismatch, lambda: nv.nms(BOXES, ROWS[:5])),
    (nv.ShapeMismatch, lambda: nv.nms(BOXES[:5], ROWS)),
    (nv.ShapeMismatch, lambda: nv.nms(BOXES, ROWS, classes=ROWS[:5])),
    (nv.ShapeMismatch, lambda: nv.nms(BOXES[:5], ROWS[:5], classes=ROWS)),
    (nv.ShapeMismatch, lambda: nv.nms(BOXES, ROWS, classes=BOXES.astype(int))),
    (nv.InvalidArgument, lambda: nv.nms(BOXES, ROWS, most=0))], ids=range(14))
def test_mistakes_are_explained(kind, call):
    """T441, T442."""
    with pytest.raises(kind) as caught:
        call()
    assert caught.value.help and caught.value.expected
