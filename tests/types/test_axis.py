"""Axes one by one: making them, lengths that come later, matching, offsets and flattened axes."""

import copy
import pickle

import numpy as np
import pytest

from nervure.errors import InvalidArgument, NervureError, WrongKind
from nervure.types.axes import make_axes
from nervure.types.axis import Axis, FlattenedAxis, axis, make_anonymous_axis, make_axis, match, same_role
from nervure.types.axis_class import AxisClass, make_axis_class
from nervure.types.dim import dim


def test_parts_read_back():
    """A1: length, name, class and docstring are what was given."""
    made = make_axis(28, "H", "height", docstring="rows from the top")
    assert (made.length, made.name, made.docstring) == (28, "H", "rows from the top")
    assert made.axis_class == make_axis_class("height")
    assert made.level == 0 and not made.is_anonymous and not made.is_flattened


@pytest.mark.parametrize("length", [0, 1, 28, np.int64(28), np.uint8(3), 10**30])
def test_integer_lengths(length):
    """A2: any non-negative integer is a length, and becomes a Python int."""
    made = make_axis(length)
    assert made.length == int(length) and type(made.length) is int


def test_symbolic_length():
    """A2: a symbolic dimension is a length."""
    assert make_axis(2 * dim("n") + 1).length == 2 * dim("n") + 1


@pytest.mark.parametrize("length", [-1, np.int64(-5), -dim("n") - 1, dim("n", max=3) - 4])
def test_negative_lengths(length):
    """A2: a length that is negative whatever the symbols stand for is a ValueError."""
    with pytest.raises(InvalidArgument, match="negative") as caught:
        make_axis(length)
    assert caught.value.got == str(length) and caught.value.expected == "0 or more"


def test_a_length_that_may_be_negative_is_accepted():
    """A2: only what is negative for every value is refused when built."""
    assert make_axis(dim("n") - 1).length == dim("n") - 1


@pytest.mark.parametrize("length", [True, False, 2.0, "3", (3,), object(), np.float32(2)])
def test_lengths_of_the_wrong_kind(length):
    """A2: bools, floats, strings and the like are TypeErrors."""
    with pytest.raises(WrongKind) as caught:
        make_axis(length)
    assert isinstance(caught.value, TypeError) and type(length).__name__ in caught.value.got


def test_a_length_can_come_later():
    """A3: an unset length may be set, and set again, until it is used."""
    late = make_axis(name="H")
    assert not late.has_length
    late.length = 14
    late.length = 28
    assert late.has_length and late.length == 28


@pytest.mark.parametrize("length", [-1, 2.5, None])
def test_a_later_length_is_checked(length):
    """A3: what is set later obeys the same rules."""
    late = make_axis(name="H")
    with pytest.raises(NervureError):
        late.length = length
    assert not late.has_length


def test_reading_fixes_the_length():
    """A4: after the first reading the length stays."""
    late = make_axis(name="H")
    late.length = 28
    assert late.length == 28
    with pytest.raises(InvalidArgument, match="H is fixed") as caught:
        late.length = 14
    assert (caught.value.got, caught.value.expected) == ("14", "28")
    assert late.length == 28


def test_comparing_fixes_the_length():
    """A4: comparing by the length fixes it."""
    late = axis("H")
    late.length = 28
    assert late == axis("H", 28)
    with pytest.raises(InvalidArgument, match="fixed"):
        late.length = 14


def test_a_given_length_is_fixed():
    """A4: a length given when the axis is made cannot be set."""
    with pytest.raises(InvalidArgument, match="fixed"):
        make_axis(28).length = 14


def test_showing_does_not_fix():
    """A5: printing and asking for has_length fix nothing."""
    late = make_axis(name="H")
    assert str(late) == "H: ?"
    late.length = 14
    assert (str(late), str(FlattenedAxis([late])), late.has_length) == ("H: 14", "(H): 14", True)
    late.length = 28
    assert late.length == 28


def test_an_unset_length_cannot_be_read():
    """A5: reading tells to set it first."""
    with pytest.raises(InvalidArgument, match="has not been set") as caught:
        make_axis(name="H").length
    assert "axis.length =" in caught.value.help and "H" in caught.value.message


def test_an_unset_length_cannot_be_compared():
    """A5: comparing reads the length only where class and offset agree."""
    late = axis("H")
    with pytest.raises(InvalidArgument, match="has not been set"):
        assert late == axis("H", 28)
    assert late == late
    assert late != axis("W", 28)
    assert late != axis("H", 28).offset(1)


def test_unset_parts_of_a_flattened_axis():
    """A5: a flattened axis has a length once all its parts have."""
    late, width = make_axis(name="H"), axis("W", 3)
    flat = FlattenedAxis([late, width])
    assert str(flat) == "(H, W): ?" and not flat.has_length
    with pytest.raises(InvalidArgument, match="axis H"):
        flat.length
    late.length = 2
    assert flat.length == 6
    with pytest.raises(InvalidArgument, match="parts"):
        flat.length = 7


@pytest.mark.parametrize("name", ["H", "", "a name", "höhe", "a=b, c"])
def test_any_string_is_a_name(name):
    """A6: names are free."""
    assert make_axis(3, name).name == name


def test_automatic_names():
    """A6: without a name there is one with a number, each time another."""
    first, second = make_axis(3), make_axis(3, axis_class="H")
    assert first.name.startswith("Axis_") and second.name.startswith("Axis_")
    assert first.name[5:].isdigit() and first.name != second.name


@pytest.mark.parametrize("make", [lambda: make_axis(3, 4), lambda: axis(4, 3), lambda: make_axis_class(4)])
def test_a_name_is_a_string(make):
    """A6: anything but a string is a TypeError."""
    with pytest.raises(WrongKind, match="name is a string"):
        make()


def test_a_class_of_its_own():
    """A7: axes made alike do not match without a common class."""
    first, second = make_axis(28, "H"), make_axis(28, "H")
    assert first != second and first == first
    assert match(first, second) is False


def test_classes_by_name():
    """A8: classes of one name are equal, a class without a name equals only itself."""
    assert make_axis(28, "H", "height") == make_axis(28, "rows", make_axis_class("height"))
    assert make_axis_class("a") == AxisClass("a") != AxisClass("b")
    assert hash(make_axis_class("a")) == hash(AxisClass("a"))
    own = make_axis_class()
    assert own == own and own != make_axis_class() and own != AxisClass(own.name)
    assert make_axis(28, axis_class=own) == make_axis(28, axis_class=own)


@pytest.mark.parametrize("axis_class", [3, axis("H", 2), b"H"])
def test_classes_of_the_wrong_kind(axis_class):
    """A8: anything but a string or a class is a TypeError."""
    with pytest.raises(WrongKind) as caught:
        make_axis(28, "H", axis_class)
    assert caught.value.operand == "axis_class"


def test_axes_from_names_have_the_class_of_the_name():
    """A9: axis(), a dict and a string give one class."""
    [from_dict], [from_string] = make_axes({"H": 28}), make_axes("H=28")
    assert axis("H", 28) == from_dict == from_string == make_axis(28, axis_class="H")


@pytest.mark.parametrize("name", ["N", "REC", "C"])
def test_reserved_names(name):
    """A10: a reserved name brings its class, whatever makes the axis."""
    assert make_axis(3, name) == axis(name, 3) == make_axis(3, name, axis_class=name)
    with pytest.raises(InvalidArgument, match="always has the class"):
        make_axis(3, name, axis_class="H")
    with pytest.raises(InvalidArgument, match="always has the class"):
        make_axis(3, name, axis_class=make_axis_class())


def test_roles_of_reserved_classes():
    """A10: the class decides, under any name."""
    assert make_axis(3, "batch", "N").is_batch
    assert axis("REC", 3).is_recurrent and axis("C", 3).is_channel
    assert not (axis("H", 3).is_batch or axis("H", 3).is_recurrent or axis("H", 3).is_channel)


def test_matching_needs_class_offset_and_length():
    """A12: each of the three counts."""
    height = axis("H", 28)
    assert height == axis("H", 28) and height == make_axis(28, "rows", "H")
    assert height != axis("W", 28)
    assert height != axis("H", 28).offset(1)
    assert height != axis("H", 14)
    assert axis("H", 28).offset(1) == height.offset(1)
    assert height != 28 and height != "H" and height is not None


def test_the_hash_leaves_the_length_out():
    """A13: one hash for all lengths, another for another offset or class."""
    late = axis("H")
    settings = {late: "found"}
    late.length = 28
    assert settings[late] == settings[axis("H", 28)] == "found"
    assert hash(axis("H", 1)) == hash(axis("H", 2)) != hash(axis("W", 1))
    assert hash(late) != hash(late.offset(1))


def test_unknown_matches():
    """A14: lengths that may be equal give None, and are not ==."""
    n, m = dim("n"), dim("m")
    assert match(axis("H", n), axis("H", m)) is None
    assert match(axis("H", n), axis("H", 28)) is None
    assert axis("H", n) != axis("H", 28)
    assert match(axis("H", n), axis("W", n)) is False
    assert same_role(axis("H", n), axis("H", 28)) is True
    assert same_role(axis("H", n), axis("H", n).offset(1)) is False


def test_symbolic_lengths():
    """A15: what can be proved is known."""
    n = dim("n")
    assert match(axis("H", (n + 1) - 1), axis("H", n)) is True
    assert match(axis("H", n + 1), axis("H", n)) is False
    assert match(axis("H", dim("m", min=5)), axis("H", 4)) is False
    assert match(axis("H", (n // 2) * 2), axis("H", n)) is None


def test_flattened_lengths():
    """A35: the length is the product of those of the parts, 1 for none."""
    assert FlattenedAxis([axis("H", 4), axis("W", 5)]).length == 20
    assert FlattenedAxis([axis("H", dim("n")), axis("W", 5)]).length == 5 * dim("n")
    assert FlattenedAxis([axis("H", 0), axis("W", 5)]).length == 0
    assert FlattenedAxis([]).length == 1


def test_flattened_matching():
    """A35: only the same parts in the same order match."""
    height, width = axis("H", 4), axis("W", 5)
    flat = FlattenedAxis([height, width])
    assert flat == FlattenedAxis([axis("H", 4), axis("W", 5)])
    assert hash(flat) == hash(FlattenedAxis([axis("H", 4), axis("W", 5)]))
    assert flat != FlattenedAxis([width, height])
    assert flat != FlattenedAxis([axis("H", 5), axis("W", 4)])
    assert flat != FlattenedAxis([height]) and flat != FlattenedAxis([height, width, axis("D", 1)])
    assert flat != axis("(H, W)", 20) and axis("(H, W)", 20) != flat
    assert FlattenedAxis([height]) != height
    assert flat.parts == (height, width) and flat.is_flattened


def test_flattened_matches_may_be_unknown():
    """A35: a part of unknown match leaves the whole unknown, unless another part differs."""
    def flat(height, width):
        return FlattenedAxis([axis("H", height), axis("W", width)])

    n = dim("n")
    assert match(flat(n, 5), flat(4, 5)) is None
    assert match(flat(n, 5), flat(4, 6)) is False
    assert match(flat(n, 5), flat(n, 5)) is True
    assert match(flat(n, 4), flat(4, n)) is None


def test_plain_axis_with_the_class_of_a_flattened_one():
    """A35: no plain axis can have it."""
    flat = FlattenedAxis([axis("H", 4), axis("W", 5)])
    with pytest.raises(InvalidArgument, match="class of a flattened axis") as caught:
        make_axis(20, axis_class=flat.axis_class)
    assert caught.value.got == "(H, W)"


@pytest.mark.parametrize("parts", [5, None, [3], ["H"], {axis("H", 3)}])
def test_flattened_parts_are_axes(parts):
    """A35: parts are a list of axes."""
    with pytest.raises(WrongKind):
        FlattenedAxis(parts)


def test_flattened_parts_are_distinct():
    """A17: parts of a flattened axis obey the rule too."""
    with pytest.raises(InvalidArgument, match="axis H occurs twice"):
        FlattenedAxis([axis("H", 4), axis("H", 4)])


def test_nesting_is_bounded():
    """A36: flattened axes in flattened axes stop at 32."""
    flat = axis("H", 2)
    for _ in range(32):
        flat = FlattenedAxis([flat])
    assert flat.length == 2 and flat == flat
    with pytest.raises(InvalidArgument, match="more than 32 deep"):
        FlattenedAxis([flat])


def test_resized():
    """A37: another length, all else the same."""
    rows = make_axis(28, "H", "height", "rows").offset(-1)
    part = rows.resized(8)
    assert (part.length, part.name, part.docstring, part.level) == (8, "H", "rows", -1)
    assert part.axis_class == rows.axis_class
    assert rows.length == 28 and part != rows
    assert rows.resized(28) == rows
    with pytest.raises(InvalidArgument, match="negative"):
        rows.resized(-1)


def test_resized_flattened():
    """A37: a range of a flattened axis is a plain axis of a new class."""
    flat = FlattenedAxis([axis("H", 4), axis("W", 5)]).offset(-1)
    part = flat.resized(20)
    assert type(part) is Axis and part.length == 20 and part.level == -1
    assert part.axis_class != flat.axis_class and part != flat.resized(20)


def test_text():
    """A38: as people write them."""
    height, width = axis("H", 28), axis("W", dim("n"))
    assert str(height) == "H: 28" and str(height.offset(-1)) == "H-1: 28"
    assert str(height.offset(2)) == "H+2: 28"
    assert str(FlattenedAxis([height, width])) == "(H, W): 28*n"
    assert str(FlattenedAxis([height, width]).offset(-1)) == "(H, W)-1: 28*n"
    assert repr(height) == "Axis(H: 28)" and repr(AxisClass("H")) == "AxisClass('H')"


def test_copies_are_the_axis():
    """A39: a copied axis is the same axis."""
    for made in (make_axis(3, "H"), make_axis(name="W"), FlattenedAxis([axis("H", 3)])):
        assert copy.copy(made) is made and copy.deepcopy([made])[0] is made
        assert copy.deepcopy(made.axis_class) == made.axis_class


def test_pickled_axes():
    """A39: classes of names survive, unique ones stay apart, relatives stay relatives."""
    named, unique = axis("H", 3).offset(1), make_axis(3, "W")
    flat = FlattenedAxis([axis("H", 3), axis("W", dim("n"))])
    written = pickle.dumps((named, unique, unique.offset(1), flat))
    again, unique_again, relative, flat_again = pickle.loads(written)
    assert again == named and hash(again) == hash(named)
    assert unique_again != unique and unique_again.offset(1) == relative
    assert flat_again == flat and str(flat_again) == str(flat)


def test_a_pickled_class_hashes_afresh():
    """A39: the hash is not carried from a process with other hashes of strings."""
    written = pickle.dumps(AxisClass("H"))
    assert str(hash(AxisClass("H"))).encode() not in written
    assert {AxisClass("H"): 1}[pickle.loads(written)] == 1


def test_offsets_add_up():
    """A50: offset(k) is relative, level reads the sum."""
    height = axis("H", 28)
    assert height.level == 0 and height.offset(2).level == 2 and height.offset(2).offset(-3).level == -1
    assert height.offset(0) is height and height.offset(np.int64(1)).level == 1


def test_relatives_share_all_but_the_level():
    """A51: one class, name, docstring and length."""
    height = make_axis(name="H", docstring="rows")
    relative = height.offset(-1)
    relative.length = 28
    assert height.length == relative.length == 28
    assert (relative.name, relative.docstring, relative.axis_class) == ("H", "rows", height.axis_class)
    with pytest.raises(InvalidArgument, match="fixed"):
        relative.length = 14


def test_relatives_match_by_level():
    """A52: other levels differ, the same level is the same axis, even before there is a length."""
    height = make_axis(name="H")
    assert height.offset(1) != height
    assert height.offset(1).offset(-1) == height
    assert match(height.offset(1), height.offset(1)) is True
    assert not height.has_length


@pytest.mark.parametrize(("level", "expected"), [(0, -1), (-1, 0), (1, -2), (-5, 4)])
def test_transposed(level, expected):
    """A53: l becomes -1 - l, and back."""
    relative = axis("H", 28).offset(level)
    assert relative.transposed().level == expected
    assert relative.transposed().transposed() == relative


def test_a_flattened_axis_has_one_offset():
    """A54: parts share it, relatives shift them all."""
    height, width = axis("H", 4), axis("W", 5)
    flat = FlattenedAxis([height, width])
    assert flat.level == 0 and flat.offset(2).level == 2
    assert [part.level for part in flat.offset(2).parts] == [2, 2]
    assert flat.offset(2) == FlattenedAxis([height.offset(2), width.offset(2)]) != flat
    assert flat.offset(0) is flat and flat.transposed().transposed() == flat
    with pytest.raises(InvalidArgument, match="one offset") as caught:
        FlattenedAxis([height, width.offset(1)])
    assert caught.value.got == "(H, W+1)"


def test_roles_do_not_depend_on_the_level():
    """A55: class, name and length are those of level 0."""
    batch = axis("N", 32).offset(-1)
    assert batch.is_batch and batch.name == "N" and batch.length == 32


@pytest.mark.parametrize("k", [1.0, "1", None, True, dim("n")])
def test_offsets_are_integers(k):
    """A56: anything else is a TypeError."""
    with pytest.raises(WrongKind, match="offset is an integer"):
        axis("H", 28).offset(k)


def test_anonymous_axes_have_no_offset():
    """A46: an offset needs a name."""
    for made in (make_anonymous_axis(3), FlattenedAxis([make_anonymous_axis(3)])):
        assert made.offset(0) is made
        with pytest.raises(InvalidArgument, match="anonymous axis has no offset"):
            made.offset(1)
        with pytest.raises(InvalidArgument, match="anonymous axis has no offset"):
            made.transposed()
