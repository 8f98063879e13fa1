"""Nested arguments and results of functions: their leaves, and what must be nested in the same way.

>>> import nervure as nv
>>> primals = Nested.of(({"w": nv.ones((2,)), "n": [1, None]},))
>>> primals.paths
["[0]['w']", "[0]['n'][0]", "[0]['n'][1]"]
>>> primals.again([1, 2, 3])
({'w': 1, 'n': [2, 3]},)
>>> primals.alike(({"w": 5, "n": [6, 7]},), "jvp", "tangents", "primals")
[5, 6, 7]
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from nervure import ops
from nervure.errors import InvalidArgument, WrongKind, shown
from nervure.front import pytrees
from nervure.front.creation import as_tensor
from nervure.front.effects import Effect
from nervure.front.tensor import Tensor, is_operand, is_scalar
from nervure.front.traced_numbers import TracedNumber
from nervure.ir.op import Value
from nervure.jit import Jitted, signature_of
from nervure.ops.order import Together
from nervure.types.dtype import DType, as_dtype

Nest: TypeAlias = Any
"""A tensor, or tensors nested in dicts, lists, tuples and dataclasses; what a call gives is arrays nested so."""


class Nested(NamedTuple):
    """Leaves, and how they are nested."""

    leaves: list[object]
    pattern: pytrees.Pattern

    @classmethod
    def of(cls, value: object) -> Nested:
        """Takes nested containers apart."""
        return cls(*pytrees.flatten(value))

    @property
    def shown(self) -> str:
        """The nesting as text, with a star for each leaf but None."""
        return f"{self.again([None if leaf is None else _Star() for leaf in self.leaves])}"

    @property
    def paths(self) -> list[str]:
        """The path to each leaf, as Python writes it behind the whole."""
        return pytrees.paths(self.pattern)

    def again(self, leaves: Iterable[object]) -> object:
        """Returns other leaves, nested in the same way."""
        return pytrees.unflatten(self.pattern, leaves)

    def only(self, places: Collection[int]) -> Nested:
        """Returns these leaves with None in place of all others."""
        return Nested([leaf if at in places else None for at, leaf in enumerate(self.leaves)], self.pattern)

    def alike(self, value: object, op: str, operand: str, of: str) -> list[object]:
        """Returns the leaves of a value that must be nested in the same way, as the ``operand`` of ``op`` must be as
        its ``of``. None may stand for a whole container. InvalidArgument shows both.
        """
        try:
            return list(spread(self.pattern, value, lambda entry: entry is None))
        except LookupError:
            raise InvalidArgument(f"the {operand} must be nested as the {of}", op=op, operand=operand,
                                  got=Nested.of(value).shown, expected=self.shown,
                                  help="there is one for each leaf, in the same containers; None leaves one out, or "
                                       "all of a container") from None


def spread(pattern: pytrees.Pattern, value: object, is_whole: Callable[[object], bool]) -> Iterator[object]:
    """Yields the entry of a value for each leaf of a pattern. An entry that ``is_whole`` stands for all leaves there.

    Raises LookupError if there is no entry for a leaf, or several. Entries of mappings are found by their keys.
    """
    if isinstance(pattern, pytrees.LeafPattern):
        if pytrees.parts_of(value) is not None:
            raise LookupError
        yield value
    elif is_whole(value):
        for entry in pattern.entries:
            yield from spread(entry, value, is_whole)
    else:
        keys, entries = pytrees.parts_of(value) or ((), ())
        known = dict(zip(keys, entries, strict=True))
        if known.keys() != set(pattern.keys) or pytrees.parts_of(value) is None:
            raise LookupError
        for key, entry in zip(pattern.keys, pattern.entries, strict=True):
            yield from spread(entry, known[key], is_whole)


class _Star:
    def __repr__(self) -> str:
        return "*"


class Moving(NamedTuple):
    """The arguments of a function of which some leaves move, those at ``places``: they are fresh ``nodes``."""

    arguments: Nested
    places: list[int]
    nodes: list[Tensor]

    @classmethod
    def of(cls, start: Nested, places: Iterable[int], op: str, root: str = "primals") -> Moving:
        """Makes the leaves at these places move. In errors of ``op``, the whole is called ``root``."""
        leaves, listed, paths = list(start.leaves), list(places), start.paths
        nodes = [_fresh(leaves[at], f"{root}{paths[at]}", op) for at in listed]
        for at, node in zip(listed, nodes, strict=True):
            leaves[at] = node
        return cls(Nested(leaves, start.pattern), listed, nodes)

    @classmethod
    def of_floats(cls, start: Nested, op: str) -> Moving:
        """Makes all leaves move that are floats."""
        return cls.of(start, [at for at, leaf in enumerate(start.leaves) if has_derivative(leaf)], op)

    @classmethod
    def of_given(cls, start: Nested, op: str, root: str) -> Moving:
        """Makes all leaves of ``start`` move but None."""
        return cls.of(start, [at for at, leaf in enumerate(start.leaves) if leaf is not None], op, root)

    @property
    def values(self) -> list[Value]:
        """The nodes of the graph that move."""
        return [node.value for node in self.nodes]

    def applied(self, function: Callable[..., object], op: str) -> Nested:
        """Returns what the function gives for the arguments, taken apart."""
        return results_of(self.result(function), op)

    def result(self, function: Callable[..., object]) -> object:
        """Returns what the function gives for the arguments."""
        arguments = self.arguments.again(self.arguments.leaves)
        assert isinstance(arguments, tuple)
        return function(*arguments)

    def nested(self, found: Iterator[object]) -> object:
        """Returns what is ``found`` for the nodes, nested as the arguments are; None for what does not move."""
        leaves: list[object] = [None] * len(self.arguments.leaves)
        for at in self.places:
            leaves[at] = next(found)
        return self.arguments.again(leaves)


def _fresh(leaf: object, path: str, op: str) -> Tensor:
    """Returns a new node for a ``leaf`` of an argument, so that the derivative is with respect to this mention alone.
    """
    tensor = as_tensor(leaf, op, path, _real_type(leaf))
    if not tensor.dtype.is_inexact or tensor.dtype.is_complex and op in ("jacobian", "hessian"):
        raise WrongKind("only arguments of floats have derivatives", op=op, operand=path, got=str(tensor.type),
                        expected="a float element type", help=_OF_FLOATS[op])
    return Tensor(ops.AssumeShape(tensor.value, tensor.type.shape), tensor._axes)


_OF_FLOATS = {**{name: f"name the float arguments: nv.{name}(f, argument=...)" for name in ("grad", "value_and_grad")},
              **{name: f"name the float arguments: nv.{name}(f, argnums=...)" for name in ("jacobian", "hessian")},
              "hvp": "give f the others itself: nv.hvp(lambda x: f(x, k), (x,), (direction,))",
              "jvp": "its tangent is None; or convert it: x.astype(nv.float32)"}


def _real_type(leaf: object) -> DType | None:
    """Returns the type in which a number is differentiated: a NumPy scalar's own, float32 for a float of Python's."""
    example = leaf.example if isinstance(leaf, TracedNumber) else leaf
    if not is_scalar(example):
        return None
    return as_dtype(example.dtype if isinstance(example, np.generic) else type(example))


def results_of(value: object, op: str) -> Nested:
    """Takes the results of a function apart; leaves become tensors, and None stays. WrongKind for anything else."""
    nested = Nested.of(value)
    for at, (leaf, path) in enumerate(zip(nested.leaves, nested.paths, strict=True)):
        if leaf is None or isinstance(leaf, Tensor):
            continue
        if isinstance(leaf, Effect) or not (is_operand(leaf) or isinstance(leaf, TracedNumber)):
            raise WrongKind("the function must give tensors", op=op, operand=f"result{path}", got=shown(leaf),
                            expected="tensors, in nested containers if you like",
                            help="return what is computed alone; effects belong to the computation around it")
        nested.leaves[at] = as_tensor(leaf, op)
    return nested


def tensors_of(value: Nested) -> list[Tensor]:
    """Returns the leaves that are tensors."""
    return [leaf for leaf in value.leaves if isinstance(leaf, Tensor)]


def values_of(value: Nested) -> list[Value]:
    """Returns the nodes of the leaves that are tensors."""
    return [leaf.value for leaf in tensors_of(value)]


def together(entry: Value, value: Nested) -> Value:
    """Places a node where a function's ``value`` is placed, so that both read the same variables."""
    return Together(entry, *values_of(value)).output


def name_of(function: Callable[..., object]) -> str:
    """Returns the name of a function, for errors and listings."""
    return str(getattr(function, "__name__", type(function).__name__))


def has_derivative(leaf: object) -> bool:
    """Whether a leaf of an argument is a float or a complex number, or a tensor of such."""
    if isinstance(leaf, Tensor):
        return leaf.dtype.is_inexact
    return isinstance(leaf.example if isinstance(leaf, TracedNumber) else leaf, (float, complex, np.inexact))


def called(traced: Callable[..., object], function: Callable[..., object], *arguments: object) -> Nest:
    """Returns the result of a function on tensors that stands for a ``function`` of the user's, whose name and place
    errors give. Arrays are computed with, and other tensors extend their graph.
    """
    traced.__name__ = name_of(function)
    traced.__dict__.update(__signature__=signature_of(traced), __wrapped__=function)
    return Jitted(traced)(*arguments)
