"""Axes as a list and a set at once: making, algebra, look-ups, roles; anonymous axes."""

import itertools
import pickle

import numpy as np
import pytest

from nervure.errors import AxisMismatch, IndexOutOfRange, InvalidArgument, NervureError, WrongKind
from nervure.types.axes import Axes, make_axes
from nervure.types.axis import Axis, FlattenedAxis, axis, make_axis
from nervure.types.dim import dim

N, REC, C, H, W = axis("N", 32), axis("REC", 7), axis("C", 3), axis("H", 28), axis("W", 28)


def test_one_name_two_classes():
    """A11: a ValueError that names the axis and how to give both one class."""
    with pytest.raises(InvalidArgument, match="two axes named H have different classes") as caught:
        make_axes([make_axis(28, "H"), axis("H", 14)])
    assert caught.value.got == "(H: 28, H: 14)" and "axis_class='H'" in caught.value.help
    with pytest.raises(InvalidArgument, match="two axes named H"):
        make_axes([make_axis(28, "H"), W, make_axis(28, "H")])


def test_axes_of_one_class():
    """A16: allowed where the length or the offset differs, or where equality is not known."""
    n = dim("n")
    for second in (axis("H", 3), H.offset(-1), axis("H", n), make_axis(3, "rows", "H")):
        assert len(make_axes([H, second])) == 2
    assert len(make_axes([axis("H", n), axis("H", n + 1)])) == 2


def test_duplicates():
    """A17: matching axes are a ValueError that names them."""
    n = dim("n")
    for axes in ([H, W, H], [H, axis("H", 28)], [H, make_axis(28, "rows", "H")], [axis("H", n), axis("H", n)],
                 [FlattenedAxis([H, W]), FlattenedAxis([H, W])]):
        with pytest.raises(InvalidArgument, match="occurs twice"):
            make_axes(axes)
    with pytest.raises(InvalidArgument, match=r"axis H-1 occurs twice") as caught:
        make_axes([W, H.offset(-1), H.offset(-1)])
    assert caught.value.got == "(W: 28, H-1: 28, H-1: 28)"


@pytest.mark.parametrize("given", [
    (N, C), ([N, C],), ((N, C),), ((one for one in (N, C)),), (iter([N, C]),),
    (dict.fromkeys([N, C]).keys(),), ({"N": 32, "C": 3},), ("N=32, C=3",), (" N = 32,C=3 ",), (Axes([N, C]),),
])
def test_ways_to_make_axes(given):
    """A18: all forms give the same axes in the same order."""
    made = make_axes(*given)
    assert isinstance(made, Axes) and made == Axes([N, C])


def test_making_axes_of_axes():
    """A18: Axes come back as they are, no argument and empty lists make no axes."""
    axes = make_axes(N, C)
    assert make_axes(axes) is axes
    for empty in (make_axes(), make_axes([]), make_axes(""), make_axes("  "), make_axes({}), Axes()):
        assert len(empty) == 0 and not empty
    assert tuple(make_axes(H)) == (H,)


def test_a_dict_may_leave_a_length_open():
    """A18: None in a dict is a length to be set later."""
    axes = make_axes({"N": 32, "H": None})
    assert str(axes) == "(N: 32, H: ?)"
    axes[1].length = 28
    assert axes.lengths == (32, 28)


def test_expressions_in_strings():
    """A19: lengths may use symbols, and commas inside parentheses."""
    n = dim("n")
    assert make_axes("N=n, H=2*n + 1, W=min(n, 4)").lengths[:2] == (n, 2 * n + 1)
    assert make_axes("W=min(n, 4), C=3").names == ("W", "C")
    assert make_axes("N=n") == make_axes([axis("N", n)])


@pytest.mark.parametrize("text", ["N", "N=", "=3", "N=32,", ",", "N=32 C=3", "N=3.5", "N=-1", "N=(3", "N=a b",
                                  "N==3"])
def test_malformed_strings(text):
    """A19: what is not name=length is a ValueError."""
    with pytest.raises(NervureError) as caught:
        make_axes(text)
    assert isinstance(caught.value, ValueError) and "N=32, C=3" in caught.value.help


@pytest.mark.parametrize("given", [None, 2.5, {N, C}, frozenset([N]), [None, 3], [H, "W=3"], ["W"],
                                   [{"N": 3}], b"abc", [b"abc"], [True], True, {3: "N"}, {"N": "32"}, {H: 3},
                                   object(), {"N": 3}.items(), [H, None]])
def test_what_makes_no_axes(given):
    """A20: a TypeError that says what is accepted."""
    with pytest.raises(WrongKind) as caught:
        make_axes(given)
    assert isinstance(caught.value, TypeError) and caught.value.got and caught.value.expected


@pytest.mark.parametrize("given", [None, 5, [3], {H}, "N=3"])
def test_the_class_itself_takes_axes_only(given):
    """A20: Axes([...]) wants a list of axes."""
    with pytest.raises(WrongKind):
        Axes(given)


def test_axes_cannot_change():
    """A21: no item can be set, and the hash is that of the axes in order."""
    axes = make_axes(H, W)
    with pytest.raises(TypeError):
        axes[0] = W
    with pytest.raises(AttributeError):
        axes.extra = 1
    assert hash(axes) == hash(make_axes("H=28, W=28")) and hash(axes) != hash(make_axes(W, H))
    assert {axes: 1}[make_axes("H=28, W=28")] == 1


def test_sum():
    """A22: the left's, then the right's; an overlap is named."""
    assert make_axes(H, W) + make_axes(N, C) == make_axes(H, W, N, C)
    assert make_axes(H) + make_axes() == make_axes() + make_axes(H) == make_axes(H)
    with pytest.raises(InvalidArgument, match=r"\(H\) would occur twice") as caught:
        make_axes(H, W) + make_axes(N, H)
    assert caught.value.got == "(H: 28, W: 28) + (N: 32, H: 28)"
    assert make_axes(H) + make_axes(H.offset(-1)) == make_axes(H, H.offset(-1))


def test_difference():
    """A23: the left's axes that are not in the right."""
    axes = make_axes(N, C, H, W)
    assert axes - make_axes(W, C) == make_axes(N, H)
    assert axes - axes == make_axes() and axes - make_axes() == axes
    assert axes - make_axes(axis("H", 3), H.offset(1)) == axes


def test_union_and_intersection():
    """A24: both are ordered by the left."""
    left, right = make_axes(H, W, C), make_axes(N, C, W)
    assert left | right == make_axes(H, W, C, N)
    assert right | left == make_axes(N, C, W, H)
    assert left & right == make_axes(W, C)
    assert right & left == make_axes(C, W)


def test_algebra_of_all_small_axes():
    """A24: every pair of ordered subsets of four axes obeys the laws of sets and of order."""
    subsets = [Axes(chosen) for size in range(4) for chosen in itertools.permutations((N, C, H, W), size)]
    for a, b in itertools.product(subsets, subsets):
        assert list(a | b) == list(a) + [one for one in b if one not in list(a)]
        assert list(a & b) == [one for one in a if one in list(b)]
        assert (a - b) + (a & b) == Axes([*(a - b), *(a & b)]) and (a - b).is_equal_set(a - (a & b))
        assert a.is_sub_set(b) == (set(a) <= set(b)) == b.is_super_set(a)
        assert a.is_equal_set(b) == (set(a) == set(b)) != a.is_not_equal_set(b)
        assert (a == b) == (list(a) == list(b)) != (a != b)


def test_equality():
    """A25: order and every axis count; only Axes compare."""
    assert make_axes(H, W) == make_axes("H=28, W=28")
    assert make_axes(H, W) != make_axes(W, H) and make_axes(H, W) != make_axes(H)
    assert make_axes(H) != make_axes(axis("H", 14)) and make_axes(H) != make_axes(axis("H", dim("n")))
    for other in ([H, W], (H, W), None, H, "H=28"):
        with pytest.raises(ValueError, match="compared with Axes"):
            make_axes(H, W) == other  # noqa: B015 - comparing is what fails
        with pytest.raises(ValueError, match="compared with Axes"):
            make_axes(H, W) != other  # noqa: B015 - comparing is what fails


def test_set_relations():
    """A26: order plays no part."""
    axes = make_axes(H, W)
    assert axes.is_sub_set(make_axes(W, N, H)) and not axes.is_sub_set(make_axes(W))
    assert axes.is_super_set(make_axes(W)) and not axes.is_super_set(make_axes(N))
    assert axes.is_equal_set(make_axes(W, H)) and not axes.is_equal_set(make_axes(W, H, C))
    assert axes.is_not_equal_set(make_axes(W, N)) and not axes.is_not_equal_set(make_axes(W, H))
    assert make_axes().is_sub_set(axes) and make_axes().is_equal_set(make_axes())


def test_the_other_side_may_be_a_list():
    """A27: whatever make_axes accepts."""
    axes = make_axes(H, W)
    assert axes + [N] == axes + "N=32" == axes + N == axes + {"N": 32} == make_axes(H, W, N)
    assert [N] + axes == (N,) + axes == N + axes == make_axes(N, H, W)
    assert axes - [H] == make_axes(W) and axes & (W, N) == make_axes(W)
    assert axes | [W, N] == make_axes(H, W, N)
    assert axes.is_sub_set([W, H]) and axes.is_super_set(W) and axes.is_equal_set("W=28, H=28")
    with pytest.raises(WrongKind):
        axes + {N}


def test_indexing():
    """A28: positions, slices and what a list does."""
    axes = make_axes(N, C, H, W)
    assert axes[0] == N and axes[-1] == W and axes[np.int64(1)] == C
    assert axes[1:3] == make_axes(C, H) and axes[::-1] == make_axes(W, H, C, N) and axes[9:] == make_axes()
    assert len(axes) == 4 and list(axes) == [N, C, H, W]
    assert axis("H", 28) in axes and axis("H", 3) not in axes and "H" not in axes


@pytest.mark.parametrize("item", [4, -5, 10**30])
def test_indexing_past_the_end(item):
    """A28: an IndexError that shows the axes."""
    with pytest.raises(IndexOutOfRange) as caught:
        make_axes(N, C, H, W)[item]
    assert caught.value.got == str(item) and "(N: 32, C: 3, H: 28, W: 28)" in caught.value.expected


@pytest.mark.parametrize("item", ["H", H, None, 1.0, (0, 1), slice("a", None), slice(None, None, 0)])
def test_indexing_by_other_things(item):
    """A28: a TypeError that names the look-ups."""
    with pytest.raises(WrongKind) as caught:
        make_axes(N, C, H, W)[item]
    assert "find_by_name" in caught.value.help


def test_lookups():
    """A29: by axis and by name."""
    axes = make_axes("batch=2, height=3, width=4")
    assert axes.index(axis("width", 4)) == 2
    assert axes.find_by_name("height") is axes[1]


def test_failed_lookups():
    """A29: what is not there is named, with what may have been meant."""
    axes = make_axes("batch=2, height=3, width=4")
    with pytest.raises(AxisMismatch, match="no axis is named 'hieght'") as caught:
        axes.find_by_name("hieght")
    assert caught.value.help == "did you mean height?"
    assert (caught.value.got, caught.value.expected) == ("hieght", "one of (batch: 2, height: 3, width: 4)")
    with pytest.raises(AxisMismatch) as caught:
        axes.index(axis("wdith", 4))
    assert caught.value.help == "did you mean width?" and caught.value.got == "wdith: 4"
    with pytest.raises(AxisMismatch) as caught:
        axes.find_by_name("Q")
    assert "case-sensitive" in caught.value.help and caught.value.location.file == __file__


def test_ambiguous_names():
    """A29: a name borne by two axes finds neither."""
    with pytest.raises(AxisMismatch, match="several axes are named H") as caught:
        make_axes(H, H.offset(-1)).find_by_name("H")
    assert caught.value.got == "(H: 28, H-1: 28)"


@pytest.mark.parametrize("look", [lambda axes: axes.find_by_name(3), lambda axes: axes.find_by_name(None),
                                  lambda axes: axes.index("H"), lambda axes: axes.index(0)])
def test_lookups_by_the_wrong_kind(look):
    """A29: a name is a string, index wants an axis, anonymous axes are not found under None."""
    for axes in (make_axes(H, W), make_axes(2, 3)):
        with pytest.raises(WrongKind):
            look(axes)


def test_near_matches_say_what_differs():
    """A30: length, offset or class."""
    axes = make_axes(N, H.offset(-1), axis("W", dim("n")))

    def help_for(item):
        with pytest.raises(AxisMismatch) as caught:
            axes.index(item)
        return caught.value.help

    assert help_for(axis("N", 16)) == "N has length 32 here, not 16"
    assert help_for(axis("W", 28)) == "W has length n here, not known to be 28"
    assert help_for(H) == "the offset differs: here it is H-1"
    assert "another class" in help_for(make_axis(28, "H"))


def test_lengths_names_and_size():
    """A31: and the full lengths of flattened axes."""
    axes = make_axes(N, FlattenedAxis([H, W]), C)
    assert axes.lengths == (32, 784, 3) and axes.full_lengths == (32, (28, 28), 3)
    assert axes.names == ("N", "(H, W)", "C") and axes.size == 32 * 784 * 3
    assert make_axes().lengths == () and make_axes().size == 1
    assert make_axes("N=n, C=3").size == 3 * dim("n")


def test_single_roles():
    """A32: found by class, None where missing, an error where not single."""
    axes = make_axes(H, C, REC, N)
    assert (axes.batch_axis(), axes.recurrent_axis(), axes.channel_axis()) == (N, REC, C)
    assert make_axes(H).batch_axis() is None and make_axes(H).channel_axis() is None
    assert make_axes(make_axis(3, "images", "N")).batch_axis().name == "images"
    for name, call in (("N", Axes.batch_axis), ("REC", Axes.recurrent_axis), ("C", Axes.channel_axis)):
        with pytest.raises(InvalidArgument, match="several axes") as caught:
            call(make_axes(axis(name, 2), axis(name, 3)))
        assert caught.value.got == f"({name}: 2, {name}: 3)"


def test_groups_of_roles():
    """A33: each leaves out its classes and keeps the order."""
    axes = make_axes(W, N, C, H, REC)
    assert axes.batch_axes() == make_axes(N)
    assert axes.sample_axes() == make_axes(W, C, H, REC)
    assert axes.feature_axes() == make_axes(W, C, H)
    assert axes.spatial_axes() == make_axes(W, H)
    assert make_axes(N, N.offset(-1)).batch_axes() == make_axes(N, N.offset(-1))
    assert make_axes().spatial_axes() == make_axes()


def test_flatten():
    """A34: several axes become one, one axis stays."""
    assert make_axes(H, W).flatten() == FlattenedAxis([H, W])
    assert make_axes(H).flatten() is H
    assert make_axes().flatten().length == 1
    assert make_axes(3, 4).flatten().full_length == (3, 4)


def test_nested_shapes():
    """A36: a tuple inside is a flattened axis."""
    for given in (((32, 32), 128), [[32, 32], 128], ([32, 32], 128)):
        for axes in (make_axes(given), make_axes(*given)):
            assert axes.lengths == (1024, 128) and axes.full_lengths == ((32, 32), 128)
            assert isinstance(axes[0], FlattenedAxis) and type(axes[1]) is Axis
            assert [part.length for part in axes[0].parts] == [32, 32]
    assert make_axes([(H, W), N]) == make_axes(FlattenedAxis([H, W]), N)
    assert make_axes([make_axes(H, W), N]) == make_axes(FlattenedAxis([H, W]), N)
    assert make_axes((((2, 3), 4), 5)).full_lengths == (((2, 3), 4), 5)


def test_endless_nesting():
    """A36: a list that contains itself is a ValueError."""
    endless = [3]
    endless.append(endless)
    with pytest.raises(InvalidArgument, match="nested"):
        make_axes(endless)


def test_text():
    """A38: Axes in parentheses."""
    assert str(make_axes(N, H.offset(-1), FlattenedAxis([C, W]))) == "(N: 32, H-1: 28, (C, W): 84)"
    assert repr(make_axes(N)) == "Axes(N: 32)" and str(make_axes()) == "()"


def test_pickled():
    """A39: Axes come back equal."""
    axes = make_axes(N, H.offset(-1), (C, W))
    assert pickle.loads(pickle.dumps(axes)) == axes
    assert pickle.loads(pickle.dumps(make_axes(2, 3))).is_anonymous


@pytest.mark.parametrize("given", [(2, 3), [2, 3], (np.int32(2), 3), np.array([2, 3]), (dim("n"), 3),
                                   range(2, 4)])
def test_plain_shapes_are_anonymous(given):
    """A40: from a shape, in any form, but not from make_axis."""
    axes = make_axes(given)
    assert len(axes) == 2 and axes.is_anonymous and all(one.is_anonymous for one in axes)
    assert not make_axis().is_anonymous and not make_axes([make_axis(3), make_axis(4)]).is_anonymous


def test_single_lengths():
    """A40: one length is a shape of one axis."""
    for given in (5, np.int64(5), np.array(5), dim("n")):
        assert len(make_axes(given)) == 1 and make_axes(given).is_anonymous
    assert make_axes(2, 3).lengths == (2, 3)


@pytest.mark.parametrize("given", [-1, (2, -1), ((2, -3), 4)])
def test_negative_shapes(given):
    """A40: the rule of lengths holds for shapes."""
    with pytest.raises(InvalidArgument, match="negative"):
        make_axes(given)


def test_anonymous_classes():
    """A41: no two match, and none is a duplicate."""
    first, second = make_axes(3, 3), make_axes(3, 3)
    assert first[0] != first[1] and first[0] != second[0] and first != second and first == first
    assert len(first + second) == 4 and len(Axes([first[0], first[0]])) == 2


def test_named_and_anonymous_do_not_mix():
    """A42: a ValueError in Axes and in flattened axes."""
    for make in (lambda: make_axes(H, 3), lambda: make_axes([(H, 3), N]), lambda: make_axes([(2, 3), N]),
                 lambda: make_axes(H) + 3, lambda: make_axes(H) | [3]):
        with pytest.raises(InvalidArgument, match="all named or all anonymous") as caught:
            make()
        assert "nv.axis" in caught.value.help


def test_anonymous_axes_have_no_names():
    """A43: None among names, the bare length in print."""
    axes = make_axes((2, (3, 4), dim("n")))
    assert axes.names == (None, None, None)
    assert str(axes) == "(2, (3, 4), n)" and repr(axes[0]) == "Axis(2)"


def test_axes_know_whether_they_are_anonymous():
    """A44: and no axes at all go with either."""
    assert make_axes(2, 3).is_anonymous and not make_axes(H, W).is_anonymous
    assert make_axes(2, 3)[1:].is_anonymous and not make_axes(H, W)[1:].is_anonymous
    assert make_axes().is_anonymous and make_axes(H)[1:].is_anonymous
    assert not (make_axes() + make_axes(H)).is_anonymous and (make_axes() + make_axes(3)).is_anonymous


def test_anonymous_axes_make_anonymous_axes():
    """A45: flattened and resized."""
    flat = make_axes((2, 3)).flatten()
    assert flat.is_anonymous and flat.length == 6
    for made in (flat, make_axes(7)[0]):
        assert made.resized(5).is_anonymous and made.resized(5).length == 5 and made.resized(5) != made


def test_relatives_in_one_axes():
    """A52: different levels of one axis stand side by side."""
    axes = make_axes(H, H.offset(-1), H.offset(1))
    assert axes.index(H.offset(-1)) == 1 and axes.names == ("H", "H", "H")


def test_roles_at_other_levels():
    """A55: a relative keeps its role."""
    assert make_axes(H, N.offset(-1)).batch_axis() == N.offset(-1)
    assert make_axes(H.offset(2), N.offset(-1)).sample_axes() == make_axes(H.offset(2))


def test_an_axis_is_joined_as_axes_are():
    """A27: an axis stands for the Axes that hold it alone."""
    h, w = axis("H", 2), axis("W", 3)
    assert h + w == h + [w] == [h] + w == make_axes([h]) + w == h + "W=3" == make_axes([h, w])
    assert h | w | h == make_axes([h, w]) and h & w == make_axes() and h & h == h - w == make_axes([h])
    assert "N=4" + h == make_axes("N=4, H=2") and h - h == make_axes()
    with pytest.raises(InvalidArgument, match="would occur twice"):
        h + axis("H", 2)


@pytest.mark.parametrize("number", [0, 1, dim("n")], ids=str)
def test_an_axis_and_a_number_do_not_join(number):
    """A27: an offset and a length are written otherwise."""
    h = axis("H", 2)
    for join in (lambda: h + number, lambda: number + h, lambda: h | number):
        with pytest.raises(WrongKind, match="do not join") as caught:
            join()
        assert "offset" in caught.value.help
