"""Other names for what a file holds."""

from __future__ import annotations

import pytest

import nervure as nv
from nervure.errors import InvalidArgument, WrongKind
from nervure.files.renaming import renaming
from tests.files.test_state_dict import linear


def test_the_first_beginning_that_fits_counts():
    """T333: beginnings are whole parts; stars stand for parts in their order."""
    rename = renaming({"a.*.b.*": "*.*.c", "a.0": "zero", "a.": "", "end": None, "": "x"}, "load_weights")
    names = ["a.1.b.2.w", "a.0.b", "a.w", "ab.w", "end.w", "ends"]
    assert [rename(name) for name in names] == ["1.2.c.w", "zero.b", "w", "x.ab.w", None, "x.ends"]
    assert renaming(None, "load_weights")("a.b") == "a.b"


@pytest.mark.parametrize(("rename", "kind", "message"), [
    (3, WrongKind, "a table of names, or a function"), ({3: "a"}, WrongKind, "has strings"),
    ({"a": 3}, WrongKind, "has strings"), ({"a": "*"}, InvalidArgument, "more stars"),
    (lambda path: 3, WrongKind, "gives a name")])
def test_wrong_names_are_refused(tmp_path, interpreter, rename, kind, message):
    """T333: and so are names for what has no paths."""
    nv.save_weights(linear(), tmp_path / "f", transformer=interpreter)
    with pytest.raises(kind, match=message):
        nv.load_weights(linear(), tmp_path / "f", transformer=interpreter, rename=rename)
    with pytest.warns(UserWarning, match="sits in no module"):
        nv.save_weights([nv.variable(()).named("w")], tmp_path / "f", transformer=interpreter)
    with pytest.raises(InvalidArgument, match="no paths to rename"):
        nv.load_weights(linear(), tmp_path / "f", transformer=interpreter, rename={"a": "b"})
