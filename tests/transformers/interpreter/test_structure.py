"""The structured evaluator against the definition: a loop over the domain."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nervure as nv
from nervure.errors import IndexOutOfRange, InvalidArgument
from nervure.ir.kinds import Access, Element, Structure, identity_body, multiply_body
from nervure.transformers.interpreter import structure as module
from nervure.transformers.interpreter.structure import iterate
from nervure.types.dim import bounds, dim, index
from nervure.types.dtype import as_dtype
from tests.transformers import naive

I, J, K, L = (index(d) for d in range(4))


def planned(structure, operands, outputs, bindings=None):
    results = [(array.shape, as_dtype(array.dtype)) for array in outputs]
    with np.errstate(all="ignore"):
        return iterate(structure, operands, results, bindings=bindings)


def unit(combine, dtype):
    if combine in ("maximum", "minimum"):
        extremes = (-np.inf, np.inf) if dtype.kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        return extremes[combine == "minimum"]
    return {"multiply": 1, "and": True if dtype.kind == "b" else -1}.get(combine, 0)


def check(structure, operands, shape, dtype=np.float64, exact=False):
    dtype = np.dtype(dtype)
    start = np.full(shape, unit(structure.combine, dtype), dtype)
    if structure.initial is not None:
        start = operands[structure.initial].astype(dtype)
    expected = naive.run(structure, operands, [start])[0]
    got = planned(structure, operands, [expected])[0]
    assert got.dtype == dtype and got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=0 if exact else 1e-12, atol=0 if exact else 1e-12)


def numbers(*shape, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iu":
        return rng.integers(-50 if np.dtype(dtype).kind == "i" else 0, 50, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def double(s, x):
    return s.add(x, x)


COMBINERS = ["add", "multiply", "maximum", "minimum"]


@pytest.mark.parametrize("limit", [2**24, 7, 1])
@pytest.mark.parametrize("combine", COMBINERS)
@pytest.mark.parametrize("dtype", [np.float64, np.int32])
@pytest.mark.parametrize("write", [(I,), (K, I), (J, I, K), (), (2 - I, K), (2 * J + K,), (J + I, K)],
                         ids=str)
def test_reductions_and_affine_writes(combine, dtype, write, limit, monkeypatch):
    monkeypatch.setattr(module, "BOX_LIMIT", limit)
    structure = Structure((3, 2, 4), (Access((I, J, K)),), (Access(write),), double, combine)
    check(structure, [numbers(3, 2, 4, dtype=dtype)], extents(write, (3, 2, 4)), dtype)


def extents(coordinates, domain):
    """The smallest shape in which all coordinates lie."""
    ranges = {f"%{d}": (0, length - 1) for d, length in enumerate(domain)}
    return tuple(bounds(entry, ranges)[1] + 1 for entry in coordinates)


@pytest.mark.parametrize("limit", [2**24, 5])
@pytest.mark.parametrize("read", [(I + J,), (2 * I + J,), (5 - I,), (I // 2,), ((I + J) % 3,), (I * J,), (3,)],
                         ids=str)
def test_reads(read, limit, monkeypatch):
    monkeypatch.setattr(module, "BOX_LIMIT", limit)
    structure = Structure((4, 3), (Access(read),), (Access((I, J)),), double)
    check(structure, [numbers(9)], (4, 3))


@pytest.mark.parametrize("read", [(I - 1, J + 2), (2 * I - 3, J), (3 - 2 * I, J - 4), (I // 2 - 1, J + 3),
                                  (I, J * 1000)],
                         ids=str)
def test_reads_outside_give_the_fill_value(read):
    structure = Structure((5, 4), (Access(read, fill=-7),), (Access((J, I)),), identity_body)
    check(structure, [numbers(3, 5)], (4, 5), exact=True)


def test_a_read_of_nothing_gives_the_fill_value():
    structure = Structure((2, 3), (Access((I // 2, J), fill=1.5),), (Access((I, J)),), identity_body)
    check(structure, [np.zeros((0, 3))], (2, 3), exact=True)


def test_a_read_outside_without_a_fill_value_is_an_error():
    for read in [(I + 1,), ((I + 1) // 1 % 9 + 0 * I,), (I * I,)]:
        with pytest.raises(IndexOutOfRange, match="outside"):
            planned(Structure((4,), (Access(read),), (Access((I,)),), identity_body), [numbers(4)], [numbers(4)])


def test_writes_outside_are_dropped_only_if_asked():
    structure = Structure((4, 3), (Access((I, J)),), (Access((2 * I + J - 3,), drop=True),), identity_body, "add")
    check(structure, [numbers(4, 3)], (5,))
    structure = Structure((4, 3), (Access((I, J)),), (Access((I * J - 1,), drop=True),), identity_body, "add")
    check(structure, [numbers(4, 3)], (5,))
    for write in [(2 * I + J - 3,), (I * J,)]:
        with pytest.raises(IndexOutOfRange, match="written"):
            planned(Structure((4, 3), (Access((I, J)),), (Access(write),), identity_body, "add"),
                    [numbers(4, 3)], [numbers(5)])


CONTRACTIONS = {
    "matmul": ((3, 4, 5), (I, K), (K, J), (I, J)),
    "transposed": ((3, 4, 5), (K, I), (J, K), (J, I)),
    "batched": ((2, 3, 4, 5), (I, J, L), (L, I, K), (K, I, J)),
    "inner": ((5,), (I,), (I,), ()),
    "outer": ((3, 4), (I,), (J,), (J, I)),
    "elementwise": ((3, 4), (I, J), (J, I), (I, J)),
    "summed alone": ((3, 4, 5), (I, K), (I,), (I,)),
    "vector": ((3, 1, 5), (I, K), (K,), (I,)),
    "broadcast": ((3, 4), (I,), (I,), (I,)),
    "window": ((4, 3), (I + J,), (J,), (I,)),
    "strided window": ((3, 2), (2 * I + J,), (J,), (I,)),
    "transposed window": ((4, 3), (I,), (J,), (2 * I + J,)),
    "wrapped": ((4, 3), ((I + J) % 4,), (J,), (I,)),
}


@pytest.mark.parametrize("limit", [2**24, 6, 1])
@pytest.mark.parametrize("name", sorted(CONTRACTIONS))
@pytest.mark.parametrize("dtype", [np.float64, np.int8])
def test_contractions(name, dtype, limit, monkeypatch):
    monkeypatch.setattr(module, "BOX_LIMIT", limit)
    domain, left, right, write = CONTRACTIONS[name]
    structure = Structure(domain, (Access(left), Access(right)), (Access(write),), multiply_body, "add")
    operands = [numbers(*extents(coordinates, domain), seed=at, dtype=dtype) for at,
                coordinates in enumerate((left, right))]
    check(structure, operands, extents(write, domain), dtype)


def test_contractions_take_no_memory_for_their_products(monkeypatch):
    """The body is never run over the domain: that would take its whole size in memory."""
    monkeypatch.setattr(module.Output, "reduce", None)
    domain, left, right, write = CONTRACTIONS["window"]
    planned(Structure(domain, (Access(left), Access(right)), (Access(write),), multiply_body, "add"),
            [numbers(6), numbers(3)], [numbers(4)])


def test_sums_of_float32_are_rounded_once():
    x = np.full(10_000, 0.1, np.float32)
    total = planned(Structure((10_000,), (Access((I,)),), (Access(()),), identity_body, "add"), [x],
                    [np.float32(0)])[0]
    assert total == np.float32(np.float64(np.float32(0.1)) * 10_000)
    dot = planned(Structure((10_000,), (Access((I,)), Access((I,))), (Access(()),), multiply_body, "add"), [x, x],
                  [np.float32(0)])[0]
    assert dot == np.float32(np.float64(np.float32(0.1)) ** 2 * 10_000)


def test_low_precision_sums_do_not_get_stuck():
    x = np.ones(1000, as_dtype("bfloat16").numpy)
    structure = Structure((1000,), (Access((I,)),), (Access(()),), identity_body, "add",
                          accumulate=as_dtype("float32"))
    assert float(planned(structure, [x], [np.zeros((), x.dtype)])[0]) == 1000


GATHER = (Element(1, (I,), 5), J)


def test_gather_counts_from_the_end_once():
    structure = Structure((4, 3), (Access(GATHER), None), (Access((I, J)),), identity_body)
    check(structure, [numbers(5, 3), np.array([4, -1, 0, -5])], (4, 3), exact=True)


@pytest.mark.parametrize("bad", [5, -6, 2**40])
def test_an_index_out_of_range_names_position_and_value(bad):
    structure = Structure((4, 3), (Access(GATHER), None), (Access((I, J)),), identity_body)
    op = nv.ops.Gather(nv.Parameter(nv.float64, (5, 3)), nv.Parameter(nv.int64, (4,)), 0)
    with pytest.raises(IndexOutOfRange) as caught:
        iterate(structure, [numbers(5, 3), np.array([0, 1, bad, 7])], [((4, 3), nv.float64)], op)
    error = caught.value
    assert (error.op, error.operand, error.expected) == ("Gather", "2 (index)", "-5 to 4")
    assert error.got == f"{bad} at position (2,)"
    assert error.location.file == __file__


def test_an_unsigned_index_past_64_bits_is_out_of_range():
    structure = Structure((1, 3), (Access(GATHER), None), (Access((I, J)),), identity_body)
    op = nv.ops.Gather(nv.Parameter(nv.float64, (5, 3)), nv.Parameter(nv.uint64, (1,)), 0)
    with pytest.raises(IndexOutOfRange):
        iterate(structure, [numbers(5, 3), np.array([2**64 - 1], np.uint64)], [((1, 3), nv.float64)], op)


@pytest.mark.parametrize("limit", [2**24, 4])
@pytest.mark.parametrize("combine", ["set", *COMBINERS])
@pytest.mark.parametrize("write", [(Element(1, (I,), 5), J), (J, Element(1, (I,), 5)), (Element(1, (I,), 5),)],
                         ids=["0", "1", "r"])
def test_scatter(combine, write, limit, monkeypatch):
    monkeypatch.setattr(module, "BOX_LIMIT", limit)
    shape = {0: (5, 3), 1: (3, 5)}[0 if isinstance(write[0], Element) else 1] if len(write) == 2 else (5,)
    structure = Structure((8, 3), (None, None, Access((I, J))), (Access(write),), identity_body, combine, initial=0)
    places = np.array([0, 4, 0, -1, 2, 2, 2, 0])
    check(structure, [numbers(*shape, seed=9), places, numbers(8, 3)], shape, exact=combine == "set")


@given(st.lists(st.integers(0, 6), min_size=1, max_size=40))
def test_the_last_write_stays(places):
    structure = Structure((len(places),), (None, None, Access((I,))), (Access((Element(1, (I,), 7),)),),
                          identity_body, "set",
                          initial=0)
    check(structure, [numbers(7), np.array(places), np.arange(len(places), dtype=np.float64)], (7,), exact=True)


def test_set_without_data_takes_the_last_in_row_major_order():
    structure = Structure((3, 4), (Access((I, J)),), (Access((I,)),), identity_body, "set")
    check(structure, [numbers(3, 4)], (3,), exact=True)
    structure = Structure((3, 4), (Access((I, J)),), (Access((I + J,)),), identity_body, "set")
    check(structure, [numbers(3, 4)], (6,), exact=True)


@pytest.mark.parametrize("combine", ["and", "or"])
def test_truth_values_and_bits(combine):
    structure = Structure((3, 4), (Access((I, J)),), (Access((J,)),), identity_body, combine)
    check(structure, [numbers(3, 4) > 0.5], (4,), np.bool_, exact=True)
    check(structure, [numbers(3, 4, dtype=np.int16)], (4,), np.int16, exact=True)


def test_bool_sums_are_ors():
    structure = Structure((3, 4), (Access((I, J)),), (Access((J,)),), identity_body, "add")
    check(structure, [numbers(3, 4) > 0.5], (4,), np.bool_, exact=True)


def first_largest(s, left, right):
    keep = s.less_equal(right[0], left[0])
    return s.where(keep, left[0], right[0]), s.where(keep, left[1], right[1])


def argmax(domain, write, body_index):
    return Structure(domain, (Access(tuple(index(d) for d in range(len(domain)))),), (Access(write),),
                     lambda s, x: (x, s.index(body_index)), first_largest, finish=lambda s, found: found[1])


@pytest.mark.parametrize("limit", [2**24, 6])
@pytest.mark.parametrize("length", [1, 2, 3, 7, 8, 13])
def test_custom_combiners_fold_in_order(length, limit, monkeypatch):
    monkeypatch.setattr(module, "BOX_LIMIT", limit)
    x = np.random.default_rng(length).integers(0, 4, (5, length)).astype(float)
    got = planned(argmax((5, length), (I,), J), [x], [np.zeros(5, np.int64)])[0]
    assert got.tolist() == x.argmax(1).tolist()
    got = planned(argmax((5, length), (J,), I), [x], [np.zeros(length, np.int64)])[0]
    assert got.tolist() == x.argmax(0).tolist()
    got = planned(argmax((5, length), (), I * length + J), [x], [np.zeros((), np.int64)])[0]
    assert got == x.argmax()


def test_a_custom_combiner_need_not_commute():
    """Composition of affine functions a*x + b, in order: several outputs."""
    def compose(s, left, right):
        return s.multiply(left[0], right[0]), s.add(s.multiply(left[1], right[0]), right[1])
    structure = Structure((6,), (Access((I,)), Access((I,))), (Access(()), Access(())), lambda s, a, b: (a, b),
                          compose)
    a, b = numbers(6), numbers(6, seed=1)
    slope, offset = 1.0, 0.0
    for scale, shift in zip(a, b, strict=True):
        slope, offset = slope * scale, offset * scale + shift
    got = planned(structure, [a, b], [np.zeros(()), np.zeros(())])
    np.testing.assert_allclose([float(part) for part in got], [slope, offset])


def test_several_outputs_with_their_own_writes():
    structure = Structure((3, 4), (Access((I, J)),), (Access((I,)), Access((J,))), lambda s,
                          x: (x, s.multiply(x, x)), "add")
    x = numbers(3, 4)
    rows, columns = planned(structure, [x], [np.zeros(3), np.zeros(4)])
    np.testing.assert_allclose(rows, x.sum(1))
    np.testing.assert_allclose(columns, (x * x).sum(0))


@pytest.mark.parametrize("combine", ["add", "multiply", "and", "or", None])
def test_an_empty_domain_gives_the_unit(combine):
    dtype = np.bool_ if combine in ("and", "or") else np.float32
    structure = Structure((3, 0), (Access((I, J)),), (Access((I,)),), identity_body, combine)
    got = planned(structure, [np.zeros((3, 0), dtype)], [np.zeros(3, dtype)])[0]
    assert got.tolist() == [{"multiply": 1, "and": True, "or": False}.get(combine, 0)] * 3


def test_an_empty_domain_leaves_the_initial_value():
    structure = Structure((0,), (None, None, Access((I,))), (Access((Element(1, (I,), 3),)),), identity_body,
                          "maximum", initial=0)
    got = planned(structure, [np.arange(3.0), np.zeros(0, np.int32), np.zeros(0)], [np.zeros(3)])[0]
    assert got.tolist() == [0, 1, 2]


@pytest.mark.parametrize("combine", ["maximum", "minimum", first_largest])
def test_no_element_of_nothing(combine):
    structure = Structure((3, 0), (Access((I, J)),), (Access((I,)),), identity_body, combine)
    with pytest.raises(InvalidArgument, match="no element"):
        planned(structure, [np.zeros((3, 0))], [np.zeros(3)])
    assert planned(Structure((0, 0), (Access((I, J)),), (Access((I,)),), identity_body, combine), [np.zeros((0, 0))],
                   [np.zeros(0)])[0].shape == (0,)


def test_symbols_have_values():
    n = dim("N")
    structure = Structure((n, 2), (Access((I * 2 + J + n - 3,)),), (Access((I, J)),), lambda s,
                          x: s.add(x, s.convert(s.index(I * n), nv.float64)))
    got = planned(structure, [np.arange(6.0)], [np.zeros((3, 2))], {"N": 3})[0]
    assert got.tolist() == [[0, 1], [5, 6], [10, 11]]


@settings(max_examples=300)
@given(st.data())
def test_random_structures(data):
    rank = data.draw(st.integers(1, 3))
    domain = tuple(data.draw(st.integers(1, 4)) for _ in range(rank))

    def coordinate():
        steps = [data.draw(st.sampled_from([0, 0, 1, 1, 2, -1])) for _ in range(rank)]
        form = sum((step * index(d) for d, step in enumerate(steps)), start=data.draw(st.integers(-2, 2)))
        return form if data.draw(st.booleans()) else form // data.draw(st.sampled_from([1, 2]))

    reads = [Access(tuple(coordinate() for _ in range(data.draw(st.integers(0, 2)))), fill=3) for _ in range(2)]
    write = Access(tuple(coordinate() for _ in range(data.draw(st.integers(0, 2)))), drop=True)
    operands = [numbers(*[data.draw(st.integers(1, 4)) for _ in access.coordinates], seed=at, dtype=np.int32)
                for at, access in enumerate(reads)]
    shape = tuple(data.draw(st.integers(1, 4)) for _ in write.coordinates)
    combine = data.draw(st.sampled_from(["add", "add", "maximum", "set", "multiply"]))
    structure = Structure(domain, tuple(reads), (write,), multiply_body, combine)
    check(structure, operands, shape, np.int32, exact=True)
