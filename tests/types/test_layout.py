"""Layouts: the numbers of strides, addressing with bounds, and which walks are one."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nervure.errors import IndexOutOfRange, InvalidArgument, WrongKind
from nervure.types.dim import dim
from nervure.types.layout import Layout, collapse, collapsed, column_major, dense, order_of, row_major

N = dim("N")
M = dim("M", min=1)


def test_row_and_column_major_strides():
    assert row_major((5, 3, 2)).strides == (6, 2, 1)
    assert column_major((5, 3, 2)).strides == (1, 5, 15)
    assert row_major(()) == column_major(()) == Layout((), 0, ())
    assert row_major((N, M, 3)).strides == (M * 3, 3, 1)
    assert column_major((N, M, 3)).strides == (1, N, N * M)


def test_sizes_are_at_least_the_shape():
    assert row_major((5, 3, 2), sizes=(5, 4, 8)).strides == (32, 8, 1)
    assert column_major((5, 3, 2), sizes=(8, 4, 2)).strides == (1, 8, 32)
    rounded = (N + 7) // 8 * 8
    assert row_major((M, N), sizes=(M, rounded)).strides == (rounded, 1)
    for shape, sizes in [((2, 3), (2, 2)), ((2, 3), (2,)), ((N,), (N - 1,)), ((N,), (M,)), ((2,), (-2,))]:
        with pytest.raises(InvalidArgument):
            row_major(shape, sizes)


def test_layouts_are_checked():
    with pytest.raises(InvalidArgument):
        Layout((1, 2), 0, (3,))
    with pytest.raises(WrongKind):
        row_major((2.0,))
    for strides in (3, (1.5,), ("a",)):
        with pytest.raises(WrongKind):
            Layout(strides)
    assert Layout([3, 1]).strides == (3, 1) and Layout((3, 1)) == Layout((3, 1), 0, None)
    assert str(Layout((3, -1), 2)) == "strides (3, -1), offset 2"


def test_another_rank_and_another_order_are_told():
    layout = row_major((2, 3))
    for ask in (lambda: layout.place((1,)), lambda: layout.place((1, 2, 0)), lambda: layout.is_contiguous((2,)),
                lambda: layout.walks_like(layout, (2, 3, 4)), lambda: layout.walks_like(row_major((2, 3, 1)), (2, 3))):
        with pytest.raises(InvalidArgument, match="dimensions"):
            ask()
    with pytest.raises(InvalidArgument, match="did you mean row"):
        layout.is_contiguous((2, 3), "rows")


def test_places_are_bounds_checked():
    layout = row_major((2, 3))
    assert [layout.place((i, j), (2, 3)) for i in range(2) for j in range(3)] == list(range(6))
    assert layout.place((-1, -3), (2, 3)) == 3
    assert Layout((1, -4), 8).place((2, 1)) == 6
    assert layout.place((N, M)) == 3 * N + M
    for index in [(2, 0), (0, 3), (-3, 0), (0, -4)]:
        with pytest.raises(IndexOutOfRange) as caught:
            layout.place(index, (2, 3))
        assert str(index) == caught.value.got and "position" in caught.value.message


@given(st.lists(st.integers(1, 4), max_size=4), st.data())
def test_permuting_the_layout_and_the_index_keeps_the_place(shape, data):
    sizes = [length + data.draw(st.integers(0, 2)) for length in shape]
    permutation = data.draw(st.permutations(range(len(shape))))
    index = [data.draw(st.integers(0, length - 1)) for length in shape]
    for layout in (row_major(shape, sizes), column_major(shape, sizes)):
        permuted = layout.permuted(permutation)
        assert permuted.place([index[d] for d in permutation]) == layout.place(index)
        assert permuted.sizes == tuple(sizes[d] for d in permutation)
    with pytest.raises((InvalidArgument, IndexOutOfRange)):
        row_major((2, 3)).permuted((0, 0))


def test_a_permutation_without_all_dimensions_is_refused():
    for wrong in [(0,), (0, 1, 0), (0, 2)]:
        with pytest.raises((InvalidArgument, IndexOutOfRange)):
            row_major((2, 3)).permuted(wrong)


@pytest.mark.parametrize("layout, shape, row, column", [
    (row_major((2, 3)), (2, 3), True, False),
    (column_major((2, 3)), (2, 3), False, True),
    (row_major((2, 3), (2, 4)), (2, 3), False, False),
    (Layout((7, 99)), (1, 1), True, True),
    (Layout((5, 0)), (0, 3), True, True),
    (Layout((3, 1), 50), (2, 3), True, False),
    (Layout(()), (), True, True),
    (Layout((0, 1)), (2, 3), False, False),
    (row_major((N, M)), (N, M), True, None),
    (row_major((N, 3), (N, 4)), (N, 3), None, None),  # N may be 0 or 1
    (row_major((M + 1, 3), (M + 1, 4)), (M + 1, 3), False, False),
])
def test_is_contiguous(layout, shape, row, column):
    assert layout.is_contiguous(shape) is row
    assert layout.is_contiguous(shape, order="column") is column


def test_walks_like():
    shape = (4, 5)
    assert row_major(shape).walks_like(Layout((5, 1), 40), shape) is True
    assert row_major(shape).walks_like(column_major(shape), shape) is False
    assert Layout((N, 1)).walks_like(Layout((M, 1)), shape) is None
    assert Layout((N, 1)).walks_like(Layout((M, 1)), (1, 5)) is True
    assert row_major((N, 5)).walks_like(row_major((N, 5), (N, 6)), (N, 5)) is None


def test_collapse():
    shape = (4, 5, 6)
    assert collapse(shape, row_major(shape)) == ((0, 1, 2),)
    assert collapse(shape, row_major(shape), column_major(shape)) == ((0,), (1,), (2,))
    assert collapse(shape, row_major(shape, (4, 5, 8))) == ((0, 1), (2,))
    assert collapse(shape, row_major(shape, (4, 8, 6))) == ((0,), (1, 2))
    assert collapse(shape, row_major(shape), Layout((0, 0, 0))) == ((0, 1, 2),)
    assert collapse((1, 5, 1, 6), Layout((9, 6, 9, 1))) == ((0, 1, 2, 3),)
    assert collapse((N, M, 3), row_major((N, M, 3))) == ((0, 1, 2),)
    assert collapse((2, N), Layout((M, 1))) == ((0,), (1,))
    assert collapse((), Layout(())) == ()


@given(st.lists(st.integers(0, 3), max_size=4), st.data())
def test_collapsed_walks_visit_the_same_places(shape, data):
    layouts = []
    for _ in range(2):
        sizes = [length + data.draw(st.integers(0, 1)) for length in shape]
        order = data.draw(st.permutations(range(len(shape))))
        back = [order.index(d) for d in range(len(shape))]
        layouts.append(row_major([shape[d] for d in order], [sizes[d] for d in order]).permuted(back))
    groups = collapse(shape, *layouts)
    assert [d for group in groups for d in group] == list(range(len(shape)))
    for layout in layouts:
        lengths, whole = collapsed(shape, groups, layout)
        expected = [layout.place(index) for index in np.ndindex(*shape)]
        assert [whole.place(index) for index in np.ndindex(*lengths)] == expected


def test_an_order_stays_when_it_is_read_again():
    """A dimension of one position may have any stride."""
    shape = (1, 4, 2, 3)
    for order in permutations(range(4)):
        for step in (1, 2, 4, 5, 100):
            strides = list(dense(shape, order).strides)
            strides[0] = step
            found = order_of(Layout(tuple(strides)), shape)
            assert found is not None and found == order_of(dense(shape, found), shape)
