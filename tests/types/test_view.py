"""View descriptions against NumPy's own views, alone and composed, with sizes known and symbolic."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nervure.errors import IndexOutOfRange, InvalidArgument, ShapeMismatch, WrongKind
from nervure.types.dim import Dim, dim, dim_max, dim_min, evaluate, index, product
from nervure.types.index_map import IndexMap
from nervure.types.layout import Layout, row_major
from nervure.types.view import (
    AssumedView,
    BroadcastView,
    ConcatenateView,
    FlattenView,
    FoldedPadView,
    IndexMapView,
    PadView,
    PermuteView,
    ReshapeView,
    ReverseView,
    SliceView,
    clip,
)
from tests.types.view_meaning import assembled

N = dim("N")
M = dim("M", min=1)
MODES = ["edge", "wrap", "reflect", "symmetric"]

ends = st.one_of(st.none(), st.integers(-6, 6))
slices = st.builds(slice, ends, ends, st.sampled_from([None, 1, 2, 3, -1, -2, -3]))
shapes = st.lists(st.sampled_from([1, 2, 3, 4, 6]), max_size=3).map(tuple)


def clipped(source, slices):
    """The view by slices as Python has them, and by lengths; dimensions past the last one are whole."""
    ranges = [clip(item, length) if isinstance(item, slice) else item
              for item, length in zip(slices, source, strict=False)]
    return SliceView(source, (*ranges, *source[len(ranges):]))


def divided(data, size):
    """A shape of this size."""
    shape = []
    while size > 1 and data.draw(st.booleans()):
        shape.append(data.draw(st.sampled_from([k for k in range(1, size + 1) if size % k == 0])))
        size //= shape[-1]
    shape.insert(data.draw(st.integers(0, len(shape))), size)
    return tuple(shape)


def view_of(data, y):
    """A random view of an array: its description, and what NumPy makes of it."""
    shape = y.shape
    kind = data.draw(st.sampled_from(["permute", "slice", "broadcast", "reverse", "reshape", "pad"]))
    if kind == "permute":
        order = tuple(data.draw(st.permutations(range(len(shape)))))
        return PermuteView(shape, order), y.transpose(order)
    if kind == "slice":
        items = tuple(data.draw(slices) for _ in shape)
        return clipped(shape, items), y[items]
    if kind == "broadcast":
        at, length = data.draw(st.integers(0, len(shape))), data.draw(st.integers(0, 3))
        target = (*shape[:at], length, *shape[at:])
        return BroadcastView(shape, target, (at,)), np.broadcast_to(np.expand_dims(y, at), target)
    if kind == "reverse":
        axes = tuple(d for d in range(len(shape)) if data.draw(st.booleans()))
        return ReverseView(shape, axes), np.flip(y, axes)
    if kind == "reshape" or y.size == 0 or y.size > 200:
        target = divided(data, y.size) if y.size else shape[::-1]
        return ReshapeView(shape, target), y.reshape(target)
    padding = tuple((data.draw(st.integers(0, 5)), data.draw(st.integers(0, 5))) if d == 0 else (0, 0)
                    for d in range(len(shape)))
    mode = data.draw(st.sampled_from(MODES))
    return FoldedPadView(shape, padding, mode), np.pad(y, padding, mode) if shape else y


def assert_traits(view, shape):
    """What a view says of the elements that it visits holds; what only moves elements says all that holds."""
    every = np.arange(math.prod(shape))
    visited = view.index_map.take(every.reshape(shape)).reshape(-1)
    assert view.is_injective() is (np.unique(visited).size == visited.size)
    is_onto, keeps_order = np.array_equal(np.sort(visited), every), np.array_equal(visited, every)
    if visited.size == 0 or isinstance(view, FoldedPadView):
        assert is_onto or not (view.is_onto() or view.keeps_order())
        assert keeps_order or not view.keeps_order()
    else:
        assert (view.is_onto(), view.keeps_order()) == (is_onto, keeps_order)


@given(shapes, st.data())
def test_views_of_views_are_views(shape, data):
    x = np.arange(math.prod(shape)).reshape(shape)
    y, index_map, layout = x, IndexMap.identity(shape), row_major(shape)
    for _ in range(data.draw(st.integers(1, 4))):
        view, expected = view_of(data, y)
        assert view.shape == expected.shape
        assert (view.index_map.take(y) == expected).all()
        assert_traits(view, y.shape)
        index_map = index_map.compose(view.index_map)
        layout = None if layout is None else view.layout(layout)
        y = expected
    assert (index_map.take(x) == y).all()
    assert index_map.is_injective() is (np.unique(y).size == y.size)
    for found in (layout, index_map.layout(row_major(shape))):
        if found is not None and y.size:
            places = np.array([found.place(at) for at in np.ndindex(*y.shape)]).reshape(y.shape)
            assert (places == y).all()  # x holds its own places


@given(shapes, st.data())
def test_views_have_layouts_where_numpy_needs_no_copy(shape, data):
    sizes = [length + data.draw(st.integers(0, 1)) for length in shape]
    x = np.arange(math.prod(sizes)).reshape(sizes)[*(slice(length) for length in shape), ...]
    order = tuple(data.draw(st.permutations(range(len(shape)))))
    y, layout = x.transpose(order), row_major(shape, sizes).permuted(order)
    target = divided(data, y.size)
    found = ReshapeView(y.shape, target).layout(layout)
    assert (found is not None) == np.shares_memory(y.reshape(target), x)
    if found is not None:
        assert [found.place(at) for at in np.ndindex(*target)] == y.reshape(-1).tolist()


def test_what_is_known_of_views_by_their_form():
    every_other, again = IndexMap((4,), (index(0) * 2,)), IndexMap((8,), (index(0) // 2,))
    turned, rows = IndexMap((M, N), (index(1), index(0))), IndexMap((N * 3,), (index(0) // 3, index(0) % 3))
    pairs = [((8,), every_other), ((4,), again), ((N, M), turned), ((N, 3), rows)]
    maps = [IndexMapView(source, index_map) for source, index_map in pairs]
    assert [view.is_injective(thorough=False) for view in maps] == [True, False, True, True]
    assert [view.is_onto() for view in maps] == [False, False, True, True]
    assert [view.keeps_order() for view in maps] == [False, False, False, True]
    assumed = AssumedView((N, 3), (M, 3))
    assert assumed.is_injective() and assumed.is_onto() and assumed.keeps_order() and assumed.shape == (M, 3)


def symbolic_view_of(data, shape):
    """A random view of a tensor with symbolic lengths, and NumPy's function for it."""
    kind = data.draw(st.sampled_from(["permute", "slice", "broadcast", "reverse", "flatten"]))
    at = data.draw(st.integers(0, len(shape) - 1))
    if kind == "permute":
        order = tuple(data.draw(st.permutations(range(len(shape)))))
        return PermuteView(shape, order), lambda y, known: y.transpose(order)
    if kind == "slice":
        item = data.draw(st.sampled_from([slice(1, None), slice(None, None, -1), slice(None, -1, 2), slice(-2, None)]))
        return (clipped(shape, [slice(None)] * at + [item]),
                lambda y, known: y[(slice(None),) * at + (item,)])
    if kind == "broadcast":
        target = (*shape[:at], M, *shape[at:])
        return (BroadcastView(shape, target, (at,)),
                lambda y, known: np.repeat(np.expand_dims(y, at), known["M"], axis=at))
    if kind == "reverse":
        return ReverseView(shape, (at,)), lambda y, known: np.flip(y, at)
    target = (*shape[:at], product(shape[at:at + 2]), *shape[at + 2:])
    return ReshapeView(shape, target), lambda y, known: y.reshape([evaluate(length, known) for length in target])


@settings(max_examples=40)
@given(st.data())
def test_symbolic_views_of_views(data):
    shape, steps = (N, M, 3), []
    index_map, layout = IndexMap.identity(shape), row_major(shape)
    for _ in range(data.draw(st.integers(1, 3))):
        view, step = symbolic_view_of(data, shape)
        index_map, layout, shape = index_map.compose(view.index_map), layout and view.layout(layout), view.shape
        steps.append(step)
    verdict = index_map.is_injective((N, M, 3))
    for n, m in [(0, 1), (1, 1), (3, 2), (2, 5)]:
        known = {"N": n, "M": m}
        x = np.arange(3 * n * m).reshape(n, m, 3)
        y = x
        for step in steps:
            y = step(y, known)
        assert index_map.take(x, known).shape == y.shape and (index_map.take(x, known) == y).all()
        if layout is not None:
            at = Layout(tuple(evaluate(stride, known) for stride in layout.strides), evaluate(layout.offset, known))
            assert [at.place(entry) for entry in np.ndindex(*y.shape)] == y.reshape(-1).tolist()
        assert verdict is None or verdict is (np.unique(y).size == y.size)


def test_permute():
    view = PermuteView((2, 3, 5), (1, 2, 0))
    assert view.shape == (3, 5, 2)
    assert view.layout(row_major((2, 3, 5))) == Layout((5, 1, 15), 0, (3, 5, 2))
    assert PermuteView((N, M), (-1, 0)).shape == (M, N) and PermuteView((N, M), (1, 0)).is_injective() is True
    for wrong, kind in [((0, 1), InvalidArgument), ((0, 0, 1), InvalidArgument), ((0, 1, 3), IndexOutOfRange)]:
        with pytest.raises(kind) as caught:
            PermuteView((2, 3, 5), wrong)
        assert caught.value.op == "Permute"


def test_broadcast():
    view = BroadcastView((3, N), (2, 3, M, N), (0, 2))
    assert view.shape == (2, 3, M, N) and view.index_map.coordinates == (index(1), index(3))
    assert view.layout(row_major((3, N))).strides == (0, N, 0, 1)
    assert BroadcastView((3,), (2, 3), (-2,)).is_injective() is False
    assert BroadcastView((3, 5), (1, 3, 1, 5), (0, 2)).is_injective() is True
    for source, target, axes in [((3,), (2, 4), (0,)), ((3,), (2, 3), ()), ((N,), (2, M), (0,)), ((1,), (4,), ())]:
        with pytest.raises(ShapeMismatch) as caught:
            BroadcastView(source, target, axes)
        assert caught.value.op == "Broadcast" and caught.value.got and caught.value.expected


def test_flatten():
    view = FlattenView((32, 32, 128), ((32, 32), 128))
    assert view.shape == (1024, 128)
    assert view.layout(row_major((32, 32, 128))) == Layout((128, 1))
    assert FlattenView((N, M, 3), (N, (M, 3))).shape == (N, 3 * M)
    assert FlattenView((2, 3), ((), 2, 3)).shape == (1, 2, 3)
    for nested in [((32, 32),), ((32, 128), 32), 5 * (2,)]:
        with pytest.raises(ShapeMismatch):
            FlattenView((32, 32, 128), nested)


def test_reshape_leaves_alone_what_stays():
    view = ReshapeView((N, 4, M), (4 * N, M))
    assert [(list(ours), list(theirs)) for ours, theirs in view.groups] == [([0, 1], [0]), ([2], [1])]
    assert str(view.index_map) == "(%0, %1) in (4*N, M) -> (%0//4, %0 % 4, %1)"
    assert ReshapeView((2, 3, 5), (2, 15)).index_map.coordinates[0] == ReshapeView((2,), (2,)).index_map.coordinates[0]
    assert ReshapeView((1, 3, 1), (3,)).index_map.permutes() is None
    assert str(ReshapeView((3,), (1, 3, 1)).index_map) == "(%0, %1, %2) in (1, 3, 1) -> (%1)"
    assert ReshapeView((N, M), (N, M)).index_map.is_identity((N, M))
    assert ReshapeView((N, M), (N * M,)).is_injective() is True
    assert ReshapeView((N, M), (M, N)).is_injective() is True
    assert ReshapeView((N, M), (N * M,)).layout(row_major((N, M))) == Layout((1,))
    assert ReshapeView((), (1, 1)).index_map.coordinates == ()
    assert ReshapeView((1, 1), ()).index_map.coordinates == (0, 0)


@pytest.mark.parametrize("source, target", [((2, 3), (5,)), ((N,), (M,)), ((N, 2), (N, 3)), ((N,), (N // 2, 2))])
def test_reshape_keeps_the_size(source, target):
    with pytest.raises(ShapeMismatch) as caught:
        ReshapeView(source, target)
    known = "the sizes differ" in caught.value.message
    assert known == (source == (2, 3)) and caught.value.got == str(source)


def test_slice():
    view = SliceView((8, 5), ((7, 4, -2), (0, 5, 1)))
    assert view.shape == (4, 5) and view.layout(row_major((8, 5))) == Layout((-10, 1), 35)
    assert clipped((5, 3), [slice(10, None, -2)]).ranges == ((4, 3, -2), (0, 3, 1))
    assert SliceView((0,), ((0, 0, -1),)).shape == (0,) and SliceView((N,), ((0, N, 1),)).is_injective() is True
    for ranges in [((0, 9, 1), (0, 5, 1)), ((-1, 2, 1), (0, 5, 1)), ((1, 3, -1), (0, 5, 1)), ((0, -1, 1), (0, 5, 1))]:
        with pytest.raises(IndexOutOfRange) as caught:
            SliceView((8, 5), ranges)
        assert caught.value.operand == "dimension 0" and caught.value.op == "Slice"
        assert caught.value.location.file == __file__  # and not the __init__ that dataclass makes
    for ranges in [((0, 3, 0), (0, 5, 1)), ((0, 8, 1),)]:
        with pytest.raises(InvalidArgument):
            SliceView((8, 5), ranges)
    with pytest.raises(InvalidArgument) as caught:
        SliceView((N,), ((0, 5, 1),))  # N may be less than 5
    assert "clip" in caught.value.help
    with pytest.raises(InvalidArgument):
        SliceView((5,), (5, 5))
    for ranges in [((0, 3),), (3.5,), (True,), ((0.5, 1, 1),), (("a", 1, 1),)]:
        with pytest.raises(WrongKind):
            SliceView((8,), ranges)


def test_a_slice_by_lengths():
    """A321: so many positions from the first, beside ranges and slices; a longer one is no slice."""
    rows = dim("rows", min=3)
    assert SliceView((8, 5), (3, (1, 2, 2))).ranges == ((0, 3, 1), (1, 2, 2)) == SliceView((8, 5), (
        np.int64(3), (1, 2, 2))).ranges
    assert clipped((8, rows, 4), [slice(-2, None), 3]).ranges == ((6, 2, 1), (0, 3, 1), (0, 4, 1))
    assert SliceView((rows,), (rows,)).shape == (rows,) and SliceView((rows,), (0,)).shape == (0,)
    for make in (SliceView, clipped):
        for length in (9, -1, rows + 9):
            with pytest.raises(IndexOutOfRange):
                make((8,), (length,))


@given(st.integers(0, 9), slices)
def test_clip_is_pythons(length, item):
    start, extent, step = clip(item, length)
    assert [start + j * step for j in range(extent)] == list(range(length))[item]


@pytest.mark.parametrize("step", [None, 1, 3, -1, -2])
@pytest.mark.parametrize("start", [None, 0, 1, 4, -1, -3])
@pytest.mark.parametrize("stop", [None, 0, 2, 5, -1, -4])
def test_symbolic_slices_are_clipped_alike(start, stop, step):
    item = slice(start, stop, step)
    view = clipped((N,), [item])  # that all positions are inside is proved
    for length in range(8):
        assert view.index_map.take(np.arange(length), {"N": length}).tolist() == list(range(length))[item]


def test_slices_with_symbolic_ends():
    view = clipped((N,), [slice(M, None)])
    for length in range(5):
        got = view.index_map.take(np.arange(length), {"N": length, "M": 2}).tolist()
        assert got == list(range(length))[2:]
    low = dim("low", max=-1, min=None)
    assert evaluate(clipped((N,), [slice(low, None)]).shape[0], {"N": 5, "low": -2}) == 2
    with pytest.raises(InvalidArgument) as caught:
        clip(slice(M - N, dim("K") - 2 * M, -2), N)
    assert caught.value.got == str(M - N)
    assert "nv.dim('M', min=...)" in caught.value.help and "nv.dim_max(M - N, 0)" in caught.value.help
    assert clip(slice(dim_max(M - N, 0), None), N)[0] == dim_min(dim_max(M - N, 0), N)
    assert clip(slice(np.int64(1), np.int64(-1)), N) == clip(slice(1, -1), N)
    for wrong in [slice("a", None), slice(0.5), slice(None, None, N), slice(None, None, "1"), 3, "1:2"]:
        with pytest.raises(WrongKind):
            clip(wrong, N)
        with pytest.raises(WrongKind):
            clip(wrong, 4)
    for length in (4, N):
        with pytest.raises(InvalidArgument):
            clip(slice(None, None, 0), length)


@pytest.mark.parametrize("end", [N - 1, N - 2, N - 3, N - 5, -N, 2 - N, 3 - N, N // 2 - 1, 1 - N // 2, 2 * N - 3],
                         ids=str)
@pytest.mark.parametrize("step", [1, 2, -1, -3])
def test_ends_whose_sign_depends_on_symbols(end, step):
    """Python's slices for every length, as a start and as a stop."""
    for item in (slice(end, None, step), slice(None, end, step), slice(1, end, step), slice(end, -1, step)):
        start, extent, stride = clip(item, N)
        for length in range(8):
            *ends, first, count = [evaluate(part, {"N": length}) if isinstance(part, Dim) else part
                                   for part in (item.start, item.stop, start, extent)]
            known = slice(*ends, step)
            assert [first + k * stride for k in range(count)] == list(range(length))[known]


LENGTHS = [N - 2, 2 * N - 1, N + M, N * M, N // 2, N + M - 3, dim_max(N - 1, 0), (N - 3) // 2 - 1, 2 * N + 4 * M, N - M]


@pytest.mark.parametrize("length", LENGTHS, ids=str)
@pytest.mark.parametrize("item", [slice(1, -1), slice(1, None), slice(None, -2), slice(None, None, -1), slice(-3, None),
                                  slice(1, None, 3), slice(None, None, -2), slice(-4, -1, 2)], ids=str)
def test_lengths_that_are_expressions(length, item):
    """A300: a dimension is sliced, and sliced again, whatever its length is made of."""
    view = clipped((length,), [item])
    again = clipped(view.shape, [item])
    for n in range(7):
        for m in range(1, 4):
            if (size := evaluate(length, {"N": n, "M": m})) >= 0:
                once = view.index_map.take(np.arange(size), {"N": n, "M": m})
                assert once.tolist() == list(range(size))[item]
                assert again.index_map.take(once, {"N": n, "M": m}).tolist() == list(range(size))[item][item]


def test_lengths_are_not_negative():
    """A300: what slices an axis knows it, and the parts have the lengths that people expect."""
    assert clip(slice(None), N - 2) == (0, N - 2, 1) and clip(slice(None, None, -1), N - 2) == (N - 3, N - 2, -1)
    assert clip(slice(1, -1), N - 2)[1] == clip(slice(2, None), N - 2)[1] == dim_max(N - 4, 0)
    assert SliceView((N,), [(0, N - 2, 1)]).shape == (N - 2,)
    for wrong in [(0, N + 1, 1), (N, 1, 1), (0, -1, 1), (-1, N, 1)]:
        with pytest.raises(IndexOutOfRange):
            SliceView((N,), [wrong])
    for unknown in [(0, M, 1), (M, N - 2, 1), (N - M, 1, 1)]:
        with pytest.raises(InvalidArgument, match="not known to stay inside"):
            SliceView((N,), [unknown])


def test_common_ends_give_the_lengths_that_people_expect():
    """So that ``x[1:] - x[:n - 1]`` needs no assumption."""
    assert clip(slice(0, N - 1), N) == clip(slice(None, -1), N) == (0, dim_max(N - 1, 0), 1)
    assert clip(slice(-N, None), N) == (0, N, 1)


def test_reverse_and_mapped():
    view = ReverseView((2, N), (1, 0))
    assert view.shape == (2, N) and view.layout(row_major((2, N))) == Layout((-N, -1), 2 * N - 1)
    diagonal = IndexMapView((3, 3), IndexMap((3,), IndexMap.identity((3,)).coordinates * 2))
    assert diagonal.shape == (3,) and diagonal.layout(row_major((3, 3))) == Layout((4,), 0)
    with pytest.raises(ShapeMismatch):
        IndexMapView((3,), IndexMap.identity((3, 3)))
    with pytest.raises(InvalidArgument):
        ReverseView((2, 3), (0, -2))


@pytest.mark.parametrize("mode", MODES)
@given(st.integers(1, 5), st.integers(0, 12), st.integers(0, 12))
def test_folded_padding_is_numpys(mode, length, before, after):
    x = np.arange(2 * length).reshape(2, length)
    view = FoldedPadView((2, length), ((0, 0), (before, after)), mode)
    expected = np.pad(x, ((0, 0), (before, after)), mode)
    assert view.shape == expected.shape and (view.index_map.take(x) == expected).all()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("symbol", [N, dim("N", min=5)], ids=["far", "near"])
def test_folded_padding_of_symbolic_lengths(mode, symbol):
    view = FoldedPadView((symbol,), ((2, 3),), mode)
    for length in range(5 if symbol is not N else 1, 8):
        got = view.index_map.take(np.arange(length), {"N": length})
        assert got.tolist() == np.pad(np.arange(length), (2, 3), mode).tolist()
    is_folded_once = "%" not in str(view.index_map).replace("%0", "")
    assert is_folded_once == (mode == "edge" or (mode != "wrap" and symbol is not N))


def test_negative_padding_cuts_off():
    x = np.arange(5)
    for mode in MODES:
        assert FoldedPadView((5,), ((-1, -2),), mode).index_map.take(x).tolist() == [1, 2]
        assert FoldedPadView((5,), ((-1, 1),), mode).index_map.take(x).tolist() == np.pad(x, (0, 1), mode)[1:].tolist()
        assert FoldedPadView((0,), ((0, 0),), mode).shape == (0,)
        with pytest.raises(InvalidArgument):
            FoldedPadView((0,), ((1, 0),), mode)
        with pytest.raises(ShapeMismatch):
            FoldedPadView((5,), ((-3, -3),), mode)
    with pytest.raises(InvalidArgument) as caught:
        FoldedPadView((5,), ((1, 1),), "refelct")
    assert caught.value.help == "did you mean reflect?"
    for padding in [3, (3,), (("a", 1),), ((1.5, 1),)]:
        with pytest.raises(WrongKind):
            FoldedPadView((5,), padding, "edge")
    with pytest.raises(InvalidArgument):
        FoldedPadView((5,), ((1, 1), (0, 0)), "edge")


def boxes(view, bindings):
    """How many pieces cover each element of a complex view."""
    covered = np.zeros([evaluate(length, bindings) for length in view.shape], int)
    for piece in view.pieces:
        starts = [evaluate(start, bindings) for start in piece.starts]
        extents = [evaluate(extent, bindings) for extent in piece.extents]
        covered[tuple(slice(a, a + max(n, 0)) for a, n in zip(starts, extents, strict=True))] += 1
    return covered


padded_dimensions = st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 3))


@given(st.lists(padded_dimensions, min_size=1, max_size=3), st.booleans())
def test_constant_padding_is_numpys(dimensions, is_symbolic):
    lengths = tuple(n for n, _, _ in dimensions)
    padding = tuple((before, after) for _, before, after in dimensions)
    x = np.arange(math.prod(lengths)).reshape(lengths) + 1
    names = {f"n{d}": n for d, n in enumerate(lengths)} if is_symbolic else {}
    view = PadView(tuple(dim(name) for name in names) or lengths, padding, 0)
    assert (assembled(view, [x], names) == np.pad(x, padding)).all()
    assert (boxes(view, names) == 1).all()


@given(st.integers(0, 5), st.integers(-7, 4), st.integers(-7, 4))
def test_constant_padding_of_any_sign(length, before, after):
    if length + before + after < 0:
        with pytest.raises(ShapeMismatch):
            PadView((length,), ((before, after),), 9)
        return
    view = PadView((length,), ((before, after),), 9)
    expected = [i - before if 0 <= i - before < length else 9 for i in range(length + before + after)]
    assert view.shape == (len(expected),)
    assert assembled(view, [np.arange(length)], {}).tolist() == expected
    assert (boxes(view, {}) == 1).all() and not hasattr(view, "index_map")


def test_cropping_reads_one_operand():
    view = PadView((5, 6), ((-1, -2), (0, -3)))
    assert [str(piece) for piece in view.pieces] == ["[0:2, 0:3] = operand 0 at (%0, %1) in (2, 3) -> (%0 + 1, %1)"]
    assert PadView((N,), ((1, 1),), value=0.5).shape == (N + 2,)


def test_concatenate():
    x, y = np.arange(6).reshape(2, 3), np.arange(8).reshape(2, 4) + 10
    view = ConcatenateView(((2, 3), (2, 4), (2, 0), (2, 3)), -1)
    assert view.shape == (2, 10) and view.axis == 1 and len(view.pieces) == 3
    assert (assembled(view, [x, y, x[:, :0], x], {}) == np.concatenate([x, y, x], 1)).all()
    assert (boxes(view, {}) == 1).all()
    symbolic = ConcatenateView(((N, 3), (M, 3)), 0)
    assert symbolic.shape == (N + M, 3) and product(symbolic.shape) == 3 * N + 3 * M
    assert (assembled(symbolic, [x, x], {"N": 2, "M": 2}) == np.concatenate([x, x])).all()
    for sources, axis, kind in [(((2, 3), (3, 3)), 1, ShapeMismatch), (((2, 3), (3,)), 0, ShapeMismatch),
                                (((N,), (M, 1)), 0, ShapeMismatch), (((2, N), (3, M)), 0, ShapeMismatch),
                                (((),), 0, ShapeMismatch), ((), 0, InvalidArgument), (((2,),), 1, IndexOutOfRange)]:
        with pytest.raises(kind) as caught:
            ConcatenateView(sources, axis)
        assert caught.value.op == "Concatenate"


def test_descriptions_are_values():
    assert PermuteView((2, 3), (1, 0)) == PermuteView((2, 3), (-1, 0)) != PermuteView((2, 3), (0, 1))
    assert len({ReshapeView((6,), (2, 3)), ReshapeView((6,), (2, 3))}) == 1
    assert hash(PadView((2,), ((1, 1),))) is not None
    with pytest.raises(AttributeError):
        PermuteView((2, 3), (1, 0)).source = ()
