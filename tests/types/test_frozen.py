"""Classes that are documented as immutable refuse every change from outside."""

from __future__ import annotations

import copy
import pickle
from types import MemberDescriptorType

import pytest

import nervure as nv
from nervure import ops
from nervure.errors import Immutable, InvalidArgument, NervureError, WrongKind
from nervure.ir.kinds import Access, Element, Structure, identity_body
from nervure.ir.region import Region
from nervure.ir.variable import Variable
from nervure.types import view
from nervure.types.axis_class import AxisClass
from nervure.types.frozen import Frozen, put, slot_writers
from nervure.types.index_map import IndexMap
from nervure.types.layout import row_major

X = nv.Parameter(nv.float32, (2, 3))
TOTAL = ops.Sum(X, (0,))
W = Variable(X.type, name="w")
FUNCTION = nv.Function([TOTAL], [X], {W: X})
HEIGHT = nv.axis("H", 2)

THINGS = {
    "op": TOTAL, "value": TOTAL.output, "parameter": X, "function": FUNCTION, "variable": W,
    "region": Region.of([X + X], [X]), "provenance": TOTAL.provenance,
    "axis": HEIGHT, "flattened axis": nv.FlattenedAxis([HEIGHT, nv.axis("W", 3)]), "axes": nv.make_axes("H=2"),
    "class of axes": AxisClass("H"), "element type": nv.float32, "type": X.type,
    "type with axes": nv.TensorDescription("float32", nv.make_axes("H=2")), "layout": row_major((2, 3)),
    "dimension": nv.dim("n") + 1, "index map": IndexMap.identity((2, 3)), "view": view.PermuteView((2, 3), (1, 0)),
    "padding": view.PadView((2,), ((1, 1),)), "access": Access((0,)), "element": Element(0, (0,), 3),
    "structure": Structure((2,), (Access((0,)),), (Access((0,)),), identity_body),
    "tensor": nv.placeholder("H=2"), "place": nv.variable("H=2"), "constant": nv.constant([1.0]),
}
SETTABLE = {"op": {"name"}, "parameter": {"name"}, "value": {"labels", "handle"},
            "variable": {"name", "handle", "record"},
            **dict.fromkeys(("tensor", "place", "constant"), {"storage"}),
            "axis": {"length"}, "flattened axis": {"length"}}
SET_ELSEWHERE = {"grad": "nv.reset_grad(x)", "requires_grad": "nv.parameter(x)"}


def parts(thing: object) -> list[str]:
    """The names of all fields, slots and properties of a thing."""
    names = {name for cls in type(thing).__mro__[:-1] for name, member in vars(cls).items()
             if not name.startswith("__") and (hasattr(member, "__set__") or name in getattr(cls, "_fields", ()))}
    return sorted(names | {"something_else"} | set(getattr(thing, "__dict__", ())))


def slots(thing: object) -> list[int]:
    """What a thing holds, by identity."""
    members = [member for cls in type(thing).__mro__ for member in vars(cls).values()]
    return [id(member.__get__(thing)) for member in members if isinstance(member, MemberDescriptorType)]


@pytest.mark.parametrize("name", THINGS)
def test_no_part_can_be_set_or_deleted(name):
    thing = THINGS[name]
    for part in parts(thing):
        if part in SETTABLE.get(name, ()):
            continue
        before = slots(thing)
        with pytest.raises(Immutable, match=f"{part} cannot be set") as caught:
            setattr(thing, part, 5)
        if part in SET_ELSEWHERE and isinstance(thing, nv.Tensor):
            assert SET_ELSEWHERE[part] in caught.value.help
        else:
            assert "are immutable" in str(caught.value)
        assert isinstance(caught.value, AttributeError) and isinstance(caught.value, NervureError)
        assert caught.value.help and caught.value.operand == part and caught.value.location.file == __file__
        with pytest.raises(AttributeError):
            delattr(thing, part)
        assert slots(thing) == before


def test_names_and_labels_may_be_set_to_what_they_can_be():
    op = ops.Exp(X)
    op.name, op.output.labels = "exponent", ("N", None)
    assert (op.name, op.output.labels) == ("exponent", ("N", None))
    op.name = op.output.labels = None
    assert op.name is None and op.output.labels is None
    for thing, part, wrong in [(op, "name", 5), (op.output, "labels", ["N", None]), (op.output, "labels", ("N",)),
                               (op.output, "labels", (1, 2)), (W, "name", b"w")]:
        with pytest.raises(WrongKind):
            setattr(thing, part, wrong)
    assert op.name is None and op.output.labels is None and W.name == "w"


def test_the_length_of_an_axis_may_be_set_until_it_is_used():
    height = nv.make_axis()
    height.length = 3
    assert height.length == 3
    with pytest.raises(InvalidArgument, match="is fixed"):
        height.length = 4


def test_what_can_be_copied_and_pickled_still_is():
    for name in ("axes", "class of axes", "type", "type with axes", "layout", "dimension", "index map", "view"):
        thing = THINGS[name]
        assert copy.deepcopy(thing) == pickle.loads(pickle.dumps(thing)) == copy.copy(thing) == thing


class Pair(Frozen):
    """Two parts, the second written by a subclass."""

    __slots__ = ("left", "right", "__weakref__")

    def __init__(self, left):
        put(self, "left", left)


def test_slot_writers_write_the_slots_in_their_order():
    pair = Pair(1)
    write_left, write_right = slot_writers(Pair)
    write_left(pair, 2)
    write_right(pair, 3)
    assert (pair.left, pair.right) == (2, 3)


def test_a_class_that_says_nothing_is_refused_all_the_same():
    with pytest.raises(Immutable, match="such objects are immutable") as caught:
        Pair(1).left = 2
    assert caught.value.help == "make another one"
    with pytest.raises(Immutable, match="left cannot be deleted"):
        del Pair(1).left


def test_what_never_changes_is_its_own_copy_and_a_pickle_has_its_parts():
    pair = Pair([1])
    assert copy.copy(pair) is pair is copy.deepcopy(pair)
    assert pickle.loads(pickle.dumps(pair)).left == [1]
