"""Structures: arrays in tuples and dicts, nested in any way. Batches are structures, and so are the results of models.

>>> pair = {"words": np.arange(3), "sizes": (np.ones(3), np.zeros(3))}
>>> [(path, leaf.tolist()) for path, leaf in leaves(pair)]
[('words', [0, 1, 2]), ('sizes[0]', [1.0, 1.0, 1.0]), ('sizes[1]', [0.0, 0.0, 0.0])]
>>> mapped(len, pair)
{'words': 3, 'sizes': (3, 3)}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias, TypeGuard, cast

import numpy as np

from nervure.errors import InvalidArgument, ShapeMismatch, WrongKind, shown
from nervure.front.given_arrays import check_numbers, numpy_array
from nervure.front.pytrees import flatten, unflatten
from nervure.front.tensor import Tensor
from nervure.types.chosen_rows import ChosenRows
from nervure.types.foreign import is_array

Structure: TypeAlias = "np.ndarray | tuple[Structure, ...] | dict[str, Structure]"
"""Arrays in tuples and dicts."""

Batch: TypeAlias = "tuple[Structure, ...] | dict[str, Structure]"
"""One batch: a structure whose arrays have the examples along their first axis."""


Flat: TypeAlias = "tuple[np.ndarray, ...]"


def leaves(structure: object, path: str = "") -> list[tuple[str, object]]:
    """Lists the leaves of a structure in order, with paths such as ``sizes[0]``."""
    return [leaf for name, entry in _entries(structure, path) for leaf in leaves(entry, name)] if _is_nested(
        structure) else [(path, structure)]


def is_flat(structure: object) -> TypeGuard[Flat]:
    """Whether a structure is a tuple of arrays, as most batches are: a quick test."""
    return type(structure) is tuple and all([type(entry) is np.ndarray for entry in structure])


def arrays_of(structure: object) -> list[np.ndarray]:
    """Lists the arrays of a structure, in its order."""
    if is_flat(structure):
        return list(structure)
    return [cast("np.ndarray", leaf) for leaf in flatten(structure)[0] if isinstance(leaf, (np.ndarray, ChosenRows))]


def mapped(function: Callable[[object], object], structure: object) -> object:
    """Returns a structure of the same form, with the result of the function for each leaf."""
    if is_flat(structure):
        return tuple([function(entry) for entry in structure])
    found, pattern = flatten(structure)
    return unflatten(pattern, [function(leaf) for leaf in found])


def leaves_like(form: object, structure: object, op: str, path: str = "") -> list[object]:
    """Lists the entries of ``structure`` at the leaves of ``form``, in the form's order. InvalidArgument if it has
    another form.

    >>> leaves_like({"a": 0, "b": (0, 0)}, {"b": ("x", ["y"]), "a": 3}, "fit")
    [3, 'x', ['y']]
    """
    if not _is_nested(form):
        return [structure]
    keys, own = _keys(form), _keys(structure)
    if isinstance(form, Mapping) is not isinstance(structure, Mapping) or set(keys) != set(own):
        raise InvalidArgument(f"{path or 'a batch'} is made up in another way than before", op=op,
                              operand=path or None, got=_form(structure), expected=_form(form),
                              help="each batch has the entries of the first one")
    parts = dict(zip(own, _entries(structure, path), strict=True))
    return [leaf for key, (name, entry) in zip(keys, _entries(form, path), strict=True)
            for leaf in leaves_like(entry, parts[key][1], op, name)]


def read_structure(value: object, op: str, lists: bool = False) -> Structure:
    """Reads arrays in dicts and tuples, each as NumPy does. A tuple or list of numbers is an array; a list of arrays
    is one, too, unless ``lists`` makes its arrays entries, as in the batches of other libraries' loaders.
    """
    if isinstance(value, Mapping):
        _check_names(value, op)
        return {name: read_structure(entry, op, lists) for name, entry in value.items()}
    if (isinstance(value, tuple) or (lists and isinstance(value, list))) and has_arrays(value):
        parts = [read_structure(entry, op, lists) for entry in value]
        return cast("Structure", type(value)(*parts) if hasattr(value, "_fields") else tuple(parts))
    return _array(value, op)


def read_batch(value: object, op: str) -> Batch:
    """Reads one batch of a source: a dict, or a tuple or list of entries; anything else is a single entry."""
    if is_flat(value) and all([array.ndim and array.dtype.kind in "fiub" for array in value]):
        return value
    if isinstance(value, Mapping):
        read = read_structure(value, op, True)
        assert isinstance(read, dict)
        return read
    entries: Iterable[object] = value if isinstance(value, (tuple, list)) else (value,)
    return tuple([read_structure(entry, op, True) for entry in entries])


def examples(batch: Batch) -> int:
    """Returns the number of examples in a batch."""
    first = batch[0] if type(batch) is tuple and batch else None
    return len(first if isinstance(first, (np.ndarray, ChosenRows)) else arrays_of(batch)[0])


def _array(value: object, op: str) -> np.ndarray:
    """Returns an array as it is, anything else as NumPy reads it; it must have an axis for the examples."""
    if isinstance(value, ChosenRows):
        return cast("np.ndarray", value)  # it stands for one
    if not isinstance(value, np.ndarray):
        array = value.numpy() if isinstance(value, Tensor) else numpy_array(value, op)
    else:
        array = value
        check_numbers(array, op)
    if array.ndim == 0:
        raise ShapeMismatch("a number has no axis of examples", op=op, got=shown(value),
                            expected="arrays with an axis for the examples", help="as in Batches(images, labels)")
    return array


def has_arrays(value: object) -> bool:
    """Whether lists and tuples contain arrays, rather than numbers alone."""
    if isinstance(value, (tuple, list)):
        return any([has_arrays(entry) for entry in value])
    return isinstance(value, (Tensor, Mapping)) or (is_array(value) and not isinstance(value, np.generic))


def _is_nested(value: object) -> bool:
    return isinstance(value, (tuple, list, Mapping))


def _entries(structure: object, path: str) -> Iterator[tuple[str, object]]:
    """Yields the entries of a tuple or dict with their paths."""
    if isinstance(structure, Mapping):
        yield from [(f"{path}.{name}" if path else str(name), entry) for name, entry in structure.items()]
    elif isinstance(structure, (tuple, list)):
        yield from [(f"{path}[{at}]", entry) for at, entry in enumerate(structure)]


def _keys(structure: object) -> list[object]:
    return list(structure) if isinstance(structure, Mapping) else list(
        range(len(structure)) if isinstance(structure, (tuple, list)) else [])


def _form(structure: object) -> str:
    """Returns the form of a structure, as errors show it."""
    if isinstance(structure, Mapping):
        return f"a dict of {', '.join(map(str, structure)) or 'nothing'}"
    return f"{len(structure)} entries" if isinstance(structure, (tuple, list)) else "an array"


def _check_names(value: Mapping[object, object], op: str) -> None:
    for name in value:
        if not isinstance(name, str):
            raise WrongKind("the entries of a dict have names", op=op, got=shown(name), expected="strings as keys",
                            help='as in {"images": images, "labels": labels}')
