"""The parts of a batch: the inputs of the module, the targets of the loss, and the weights of the examples.

>>> BatchRoles().parts(("image", "label"))
BatchParts(inputs=('image',), named={}, targets='label', weights=None)
>>> roles = BatchRoles(targets=("label",), weights="weight")
>>> roles.parts({"image": 1, "mask": 2, "label": 3, "weight": 4})
BatchParts(inputs=(), named={'image': 1, 'mask': 2}, targets=3, weights=4)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nervure.errors import InvalidArgument, WrongKind, shown

Key = int | str
"""An entry of a batch: its position in a tuple, or its name in a dict."""


class BatchParts(NamedTuple):
    """The inputs of a module, in order and by name; the targets, and the weights, None if there are none."""

    inputs: tuple[object, ...]
    named: dict[str, object]
    targets: object
    weights: object

    def without_targets(self) -> tuple[object, ...]:
        """Returns the inputs alone, as a structure."""
        return (*self.inputs, self.named) if self.named else self.inputs


class BatchRoles(NamedTuple):
    """The roles of the entries of a batch: which are targets, and which has weights. Absent targets are the last entry
    of a tuple besides the weights; the entry of a batch of one is input and target at once.
    """

    targets: tuple[Key, ...] | None = None
    weights: Key | None = None
    is_one: bool = True

    @property
    def names_entries(self) -> bool:
        """Whether batches are dicts."""
        return isinstance(self.weights if self.targets is None else self.targets[0], str)

    def parts(self, batch: object) -> BatchParts:
        """Returns the parts of a batch, or of any structure with the form of one; InvalidArgument if it lacks an
        entry.
        """
        if isinstance(batch, Mapping):
            return self._of_names(batch)
        assert isinstance(batch, Sequence)
        return self._of_places(batch)

    def _of_names(self, batch: Mapping[str, object]) -> BatchParts:
        if self.targets is None:
            raise InvalidArgument("the targets of a batch that is a dict have names", op="Trainer", operand="targets",
                                  got=f"a dict of {', '.join(batch)}", expected="the name of an entry, or several",
                                  help=f"targets={list(batch)[-1]!r}" if batch else None)
        apart = [*self.targets, *([] if self.weights is None else [self.weights])]
        for key in apart:
            if key not in batch:
                raise _lacks(key, f"a dict of {', '.join(batch)}")
        named = {name: entry for name, entry in batch.items() if name not in apart}
        return BatchParts((), named, self._chosen([batch[str(key)] for key in self.targets]),
                          None if self.weights is None else batch[str(self.weights)])

    def _of_places(self, batch: Sequence[object]) -> BatchParts:
        places = range(len(batch))
        weights = None if self.weights is None else _place(self.weights, places)
        others = [at for at in places if at != weights]
        if self.targets is None:
            if not others:
                raise _lacks(0, "an entry of weights alone")
            targets, inputs = others[-1:], others[:-1] or others
        else:
            targets = [_place(key, places) for key in self.targets]
            if len({*targets, weights}) <= len(targets):
                raise _not_once([*self.targets, *([] if self.weights is None else [self.weights])])
            inputs = [at for at in others if at not in targets]
        return BatchParts(tuple([batch[at] for at in inputs]), {}, self._chosen([batch[at] for at in targets]),
                          None if weights is None else batch[weights])

    def _chosen(self, entries: list[object]) -> object:
        """Returns a single target, or several as a tuple, or a dict by their names."""
        if self.is_one:
            return entries[0]
        return dict(zip(map(str, self.targets or ()), entries)) if self.names_entries else tuple(entries)


def read_roles(targets: object, weights: object) -> BatchRoles:
    """Reads roles as users write them: a name or position, or several targets in a list or tuple."""
    is_one = not isinstance(targets, (list, tuple))
    listed = () if targets is None else _listed(targets)
    keys = [*listed, *([] if weights is None else [weights])]
    for key in keys:
        if not isinstance(key, (int, str)) or isinstance(key, bool):
            raise WrongKind("an entry of a batch has a name or a place", op="Trainer",
                            operand="weights" if key is weights else "targets", got=shown(key),
                            expected="a name of a dict, or a place in a tuple", help='targets="labels", or targets=-1')
    if len({isinstance(key, str) for key in keys}) > 1 or len(set(keys)) < len(keys) or listed == ():
        if targets is not None:
            raise _not_once(keys)
    return BatchRoles(None if targets is None else tuple([key for key in listed if isinstance(key, (int, str))]),
                      weights if isinstance(weights, (int, str)) else None, is_one)


def _listed(targets: object) -> tuple[object, ...]:
    return tuple(targets) if isinstance(targets, (list, tuple)) else (targets,)


def _place(key: Key, places: range) -> int:
    if not isinstance(key, int) or not -len(places) <= key < len(places):
        raise _lacks(key, f"a tuple of {len(places)}")
    return places[key]


def _not_once(keys: Sequence[object]) -> InvalidArgument:
    return InvalidArgument("targets and weights are entries of one batch", op="Trainer", operand="targets",
                           got=", ".join(map(repr, keys)) or "none", expected="names, or places, each once",
                           help='targets="labels", weights="weights"')


def _lacks(key: Key, got: str) -> InvalidArgument:
    return InvalidArgument("a batch lacks an entry", op="Trainer", operand="targets", got=got,
                           expected=f"one that has {key!r}", help="targets= and weights= name entries of each batch")
