"""Index maps: composition, affine forms, layouts and injectivity, against evaluation element by element."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nervure.errors import InvalidArgument
from nervure.types.dim import dim, dim_min, evaluate, index, parse_dim
from nervure.types.index_map import AffineForm, IndexMap, affine_form, index_ranges, indices
from nervure.types.layout import Layout, row_major

I, J, K = index(0), index(1), index(2)
N = dim("N")
M = dim("M", min=1)


def coordinates(rank):
    """Expressions over the indices of a domain that are never negative."""
    atoms = st.sampled_from([*indices(rank), 0, 1, 3]) if rank else st.just(1)
    grow = lambda inner: st.one_of(  # noqa: E731
        st.tuples(inner, inner).map(sum), st.tuples(inner, st.integers(1, 4)).map(lambda p: p[0] * p[1]),
        st.tuples(inner, st.integers(1, 5)).map(lambda p: p[0] // p[1]),
        st.tuples(inner, st.integers(1, 5)).map(lambda p: p[0] % p[1]),
        st.tuples(inner, inner).map(lambda p: dim_min(*p)))
    return st.recursive(atoms, grow, max_leaves=5)


@st.composite
def maps(draw, target_rank=None):
    shape = tuple(draw(st.lists(st.integers(0, 5), max_size=3)))
    rank = draw(st.integers(1, 3)) if target_rank is None else target_rank
    return IndexMap(shape, tuple(draw(coordinates(len(shape))) for _ in range(rank)))


def values(index_map, bindings=None):
    shape = [evaluate(length, bindings or {}) for length in index_map.shape]
    grid = np.indices(shape)
    return [np.broadcast_to(found, shape) for found in index_map.evaluate(tuple(grid), bindings)]


def test_evaluation_at_one_index_and_at_many():
    index_map = IndexMap((4, 3), (I * 3 + J, 2 - J))
    assert index_map.evaluate((1, 2)) == (5, 0)
    rows, columns = index_map.evaluate((np.array([0, 1]), np.array([2, 2])))
    assert rows.tolist() == [2, 5] and columns.tolist() == [0, 0]
    assert IndexMap((N,), (N - 1 - I,)).evaluate((0,), {"N": 7}) == (6,)
    for at, bindings, wrong in [((0,), {}, "N"), ((0, 0), {"N": 1}, "rank")]:
        with pytest.raises(InvalidArgument) as caught:
            IndexMap((N,), (N - 1 - I,)).evaluate(at, bindings)
        assert wrong in caught.value.message


def test_take_is_the_meaning():
    x = np.arange(12).reshape(4, 3)
    assert (IndexMap((3, 4), (J, I)).take(x) == x.T).all()
    assert (IndexMap((2, 4, 3), (J, K)).take(x) == x).all()
    assert IndexMap((), (1, 2)).take(x) == 5
    assert IndexMap((2,), (0, 1)).take(x).tolist() == [1, 1]
    assert IndexMap((0, 3), (I, J)).take(np.zeros((0, 3))).shape == (0, 3)
    assert IndexMap((N,), (N - 1 - I, 0)).take(x, {"N": 3}).tolist() == [6, 3, 0]


def test_indices_that_the_domain_lacks_are_refused():
    with pytest.raises(InvalidArgument) as caught:
        IndexMap((2, 3), (I, K))
    assert caught.value.got == "%2"


@given(maps(), st.data())
def test_composition_is_composition_of_functions(outer, data):
    inner = data.draw(maps(target_rank=outer.rank))
    composed = outer.compose(inner)
    assert composed.shape == inner.shape
    grid = np.indices(inner.shape)
    expected = outer.evaluate(inner.evaluate(tuple(grid)))
    for got, want in zip(values(composed), expected, strict=True):
        assert (got == np.broadcast_to(want, inner.shape)).all()


@given(maps())
def test_simplified_is_equal_on_the_domain(index_map):
    for got, want in zip(values(index_map.simplified()), values(index_map), strict=True):
        assert (got == want).all()
    identity = IndexMap.identity(index_map.shape)
    assert index_map.compose(identity) == index_map.simplified()


def test_composition_needs_fitting_ranks():
    with pytest.raises(InvalidArgument):
        IndexMap((2, 3), (I, J)).compose(IndexMap((4,), (I,)))


def test_reshapes_undo_each_other():
    flat = IndexMap((N * M,), (I // M, I % M))
    back = IndexMap((N, M), (I * M + J,))
    assert flat.compose(back).is_identity((N, M))
    assert back.compose(flat).is_identity((N * M,))


def test_is_identity():
    assert IndexMap.identity((2, 3)).is_identity((2, 3)) and IndexMap.identity(()).is_identity(())
    assert IndexMap((2, 3), (I, J)).is_identity() and not IndexMap((2, 3), (I, J)).is_identity((4, 3))
    assert IndexMap((1, 3), (0, J)).is_identity((1, 3)) and not IndexMap((2, 3), (0, J)).is_identity()
    assert IndexMap((6,), (I // 2 * 2 + I % 2,)).is_identity()
    assert not IndexMap((2, 2), (J, I)).is_identity() and not IndexMap((2, 3), (I,)).is_identity()
    assert not IndexMap((N,), (I,)).is_identity((M,))
    assert not IndexMap.identity((2,)).is_identity((2, 1))


def test_permutes():
    assert IndexMap((3, 5, 2), (K, I, J)).permutes() == (1, 2, 0)
    assert IndexMap.identity((2, 3)).permutes() == (0, 1) and IndexMap((), ()).permutes() == ()
    for other in [IndexMap((2, 2), (I, I)), IndexMap((2,), (1 - I,)), IndexMap((2, 3), (I,)), IndexMap((2,), (I, 0)),
                  IndexMap((1, 3), (0, J))]:
        assert other.permutes() is None


def test_affine_forms():
    assert affine_form(3 * I + N * J + 2, (4, 5)) == AffineForm((3, N), 2)
    assert affine_form(I // 4 * 4 + I % 4, (9,)) == AffineForm((1,), 0)
    assert affine_form(I // M * M + I % M, (N,)) == AffineForm((1,), 0)
    assert affine_form(I // 4, (4,)) == AffineForm((0,), 0) and affine_form(I // 4, (5,)) is None
    assert affine_form(5, ()) == AffineForm((), 5)
    assert IndexMap((4, 3), (I + 1, 2 - J)).affine() == (AffineForm((1, 0), 1), AffineForm((0, -1), 2))
    assert IndexMap((9,), (I % 4,)).affine() is None and IndexMap((4,), (I % 4,)).affine() is not None


@given(maps(target_rank=1))
def test_affine_forms_hold_on_the_whole_domain(index_map):
    form = affine_form(index_map.coordinates[0], index_map.shape)
    if form is None:
        return
    grid = np.indices(index_map.shape)
    expected = sum((c * g for c, g in zip(form.coefficients, grid, strict=True)), np.full(index_map.shape, form.offset))
    assert (values(index_map)[0] == expected).all()


def test_layouts_of_views():
    base = row_major((4, 3), sizes=(4, 8))
    assert IndexMap((3, 4), (J, I)).layout(base) == Layout((1, 8), 0, (8, 4))
    assert IndexMap((2, 3), (3 - 2 * I, J)).layout(base) == Layout((-16, 1), 24)
    assert IndexMap((5, 3), (2, J)).layout(base) == Layout((0, 1), 16)
    assert IndexMap((12,), (I // 3, I % 3)).layout(base) is None
    assert IndexMap((12,), (I // 3, I % 3)).layout(row_major((4, 3))) == Layout((1,), 0)
    assert IndexMap((N * M,), (I // M, I % M)).layout(row_major((N, M))) == Layout((1,), 0)
    assert IndexMap((9,), (dim_min(I, 3), 0)).layout(base) is None


@given(maps())
def test_layouts_lead_to_the_places_of_the_elements(index_map):
    found = values(index_map)
    source = [int(coordinate.max(initial=0)) + 1 for coordinate in found]
    base = row_major(source, [length + 1 for length in source])
    layout = index_map.layout(base)
    if layout is None:
        return
    for at in np.ndindex(*index_map.shape):
        assert layout.place(at) == base.place(tuple(int(x) for x in index_map.evaluate(at)))


@given(maps())
def test_injectivity_is_exact_where_all_is_known(index_map):
    seen = np.stack([coordinate.ravel() for coordinate in values(index_map)])
    expected = np.unique(seen, axis=1).shape[1] == seen.shape[1]
    assert index_map.is_injective() is expected


@pytest.mark.parametrize("index_map, source, verdict", [
    (IndexMap((N, M), (J, I)), None, True),
    (IndexMap((N, M), (I * M + J,)), None, True),
    (IndexMap((N, M), (J * N + I,)), None, True),
    (IndexMap((N,), (N - 1 - I,)), None, True),
    (IndexMap((N, 3), (I * 4 - J + 2,)), None, True),
    (IndexMap((N, 3), (I * 2 + J,)), None, None),
    (IndexMap((N, 3), (I + J, J)), None, True),
    (IndexMap((N,), (0,)), None, None),  # N may be 1
    (IndexMap((M + 1,), (0,)), None, False),
    (IndexMap((M + 1, N), (0, J)), None, None),  # N may be 0
    (IndexMap((M + 1, 0, N), (0, 0)), None, True),
    (IndexMap((N * M,), (I // M, I % M)), (N, M), True),
    (IndexMap((N,), (I // 2,)), (N,), None),
    (IndexMap((1 << 20,), (I // 2,)), None, False),
    (IndexMap((1 << 20,), (dim_min(I, (1 << 20) - 2),)), None, False),
    (IndexMap((1 << 10, 1 << 10), (I * 1024 + J,)), None, True),
    (IndexMap((1 << 10, 1 << 10), (I * 1023 + J,)), None, None),
])
def test_injectivity_of_large_and_symbolic_maps(index_map, source, verdict):
    assert index_map.is_injective(source) is verdict


def test_more_indices_than_elements_visit_one_twice():
    windows = IndexMap((M + 1, 3, 4), ((I * 2 + J) // 2, J))
    assert windows.is_injective((M + 3, 3), thorough=False) is False
    assert windows.is_injective((4 * M + 4, 3), thorough=False) is None
    assert IndexMap((N, 3, 4), ((I * 2 + J) // 2, J)).is_injective((N, 3), thorough=False) is None  # N may be 0


def test_maps_are_plain_values():
    index_map = IndexMap((N, 3), (J, N - 1 - I))
    assert str(index_map) == "(%0, %1) in (N, 3) -> (%1, N - %0 - 1)"
    for other in [copy.deepcopy(index_map), pickle.loads(pickle.dumps(index_map))]:
        assert other == index_map and hash(other) == hash(index_map)
    again = IndexMap((N, 3), tuple(parse_dim(str(x)) for x in index_map.coordinates))
    assert again == index_map
    with pytest.raises(AttributeError):
        index_map.shape = ()
    assert index_ranges((3, N)) == {"%0": (0, 2), "%1": (0, N - 1)}
    assert len(indices(20)) == 20 and indices(20)[19] == index(19)
