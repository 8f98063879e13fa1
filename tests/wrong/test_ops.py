"""For every op: what is wrong with a call is said in parts, op, operand, got, expected, location and help."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import nervure as nv
from nervure.errors import Location, NervureError, user_location
from nervure.ir.op import registry
from nervure.types.description import BasicTensorDescription
from tests.wrong.examples import Example, example_of, vocabulary

ELEMENT_TYPES = (nv.bool_, nv.uint8, nv.int32, nv.int64, nv.uint32, nv.float32, nv.float64, nv.complex64, nv.int4)

# Whatever its type, these take it: they move, name or order values without looking at them.
INDIFFERENT = {("Convert", 0), ("StopGradient", 0), ("PrintOp", 0), ("HostCall", 0), ("Contiguous", 0),
               ("CustomDerivative", 0), ("CustomDerivative", 1), ("Sequential", 0), ("Sequential", 1), ("DoAll", 0),
               ("DoAll", 1), ("Together", 0), ("Together", 1), ("After", 0), ("After", 1)}

# For each kind of attribute values that are of the kind, but seldom make sense.
STRANGE: dict[str, tuple[Any, ...]] = {
    "int": (-1000, 1000, 2**70), "float": (float("nan"), float("inf"), -1e300), "str": ("nonsense", ""),
    "number": (2**70, float("nan"), 1j), "dtype": ELEMENT_TYPES, "dim": (-1, 2**70, nv.dim("n")),
    "shape": ((), (-1, 3), (7, 7, 7), (2**40, 2**40), (nv.dim("n"), 4)),
    "ints": ((), (99,), (-99,), (0, 0), (0, 1), (1, 0), (-1, -1), (0, 1, 2)),
    "pairs": (((99, 0),), ((0, 0), (0, 0)), ((0,),), ((0, 1, 2),)),
    "dim_pairs": (((-99, 0), (0, 0)), ((1, 1),), ((1,), (1,)), ((2**62, 2**62), (0, 0))),
    "slices": ((), ((0, 9, 1), (0, 1, 1)), ((0, 1), (0, 1)), ((0, 2, 0), (0, 1, 1)), ((-1, 2, 1), (0, 1, 1)))}

# What else an error may be about: a dimension, and what the descriptions of views and tensors call their parts.
OTHER_WORDS = ("dimension", "padding", "ranges", "shape", "axs")


class Attempt(NamedTuple):
    """Operands and attributes of a call that may be wrong, and what is changed in it: an operand's number or a name."""

    changed: int | str
    operands: list[Any]
    attributes: dict[str, Any]


def changed_types(type: BasicTensorDescription) -> Iterator[BasicTensorDescription]:
    """Types near a valid one: another element type, a dimension more, less or longer."""
    shape = type.shape
    for dtype in ELEMENT_TYPES:
        if dtype is not type.dtype:
            yield type.with_(dtype=dtype)
    for other in ((*shape, 2), (2, *shape), shape[1:], shape[:-1], (0,) * len(shape), (nv.dim("n"),) * len(shape)):
        if other != shape:
            yield type.with_(shape=other)
    for d, length in enumerate(shape):
        yield type.with_(shape=(*shape[:d], length + 1, *shape[d + 1:]))


def wrong_types(example: Example) -> Iterator[Attempt]:
    for position, type in enumerate(example.types):
        for other in changed_types(type):
            operands = example.operands()
            operands[position] = nv.Parameter(other.dtype, other.shape)
            yield Attempt(position, operands, example.attributes)


def strange_attributes(name: str, example: Example) -> Iterator[Attempt]:
    for field, declared in registry[name].fields.items():
        for value in STRANGE.get(declared.kind, ()):
            yield Attempt(field, example.operands(), {**example.attributes, field: value})


def failure(name: str, attempt: Attempt) -> NervureError | None:
    """The error of a call, with all of its parts checked; None where the call is valid."""
    try:
        here = user_location()
        registry[name](*attempt.operands, **attempt.attributes)
    except NervureError as error:
        assert here is not None
        check_parts(error, name, here)
        return error
    return None


def check_parts(error: NervureError, name: str, here: Location) -> None:
    missing = [part for part in ("op", "operand", "got", "expected", "location", "help") if not getattr(error, part)]
    assert missing == [], error
    assert error.op == name, error
    assert error.location == (here.file, here.line + 1) and here.file == __file__
    known = [*map(str, range(1, 10)), *registry[name].fields, *registry[name].operand_names, *OTHER_WORDS]
    assert error.operand.startswith(tuple(known)), error


@pytest.mark.parametrize("name", vocabulary())
def test_the_example_is_valid(name):
    example = example_of(name)
    registry[name](*example.operands(), **example.attributes)


@pytest.mark.parametrize("name", vocabulary())
def test_wrong_types_of_operands(name):
    example = example_of(name)
    refused = {attempt.changed for attempt in wrong_types(example) if failure(name, attempt) is not None}
    assert refused == {position for position in range(len(example.types)) if (name, position) not in INDIFFERENT}


@pytest.mark.parametrize("name", vocabulary())
def test_strange_attributes(name):
    for attempt in strange_attributes(name, example_of(name)):
        failure(name, attempt)  # accepted, or refused with all its parts


@pytest.mark.parametrize("name", vocabulary())
def test_attributes_of_another_kind(name):
    example = example_of(name)
    for field in registry[name].fields:
        for value in (object(), [object()], np.full((2, 2), None)):
            error = failure(name, Attempt(field, example.operands(), {**example.attributes, field: value}))
            assert isinstance(error, nv.WrongKind) and error.operand == field


@pytest.mark.parametrize("name", vocabulary())
def test_missing_and_unknown_attributes(name):
    example = example_of(name)
    required = [field for field in registry[name].fields if field in example.attributes]
    for field in required:
        left = {key: value for key, value in example.attributes.items() if key != field}
        error = failure(name, Attempt(field, example.operands(), left))
        assert error is None or (isinstance(error, nv.InvalidArgument) and error.operand == field)
    error = failure(name, Attempt("axs", example.operands(), {**example.attributes, "axs": 1}))
    assert isinstance(error, nv.InvalidArgument) and error.operand == "axs"
    if "axes" in registry[name].fields:
        assert error.help.startswith("did you mean axes")


@pytest.mark.parametrize("name", [name for name in vocabulary() if registry[name].arity])
def test_missing_operands(name):
    example = example_of(name)
    error = failure(name, Attempt(0, example.operands()[:-1], example.attributes))
    assert isinstance(error, nv.InvalidArgument) and error.operand == registry[name].operand_names[-1]


@pytest.mark.parametrize("name", vocabulary())
def test_too_many_arguments(name):
    example = example_of(name)
    if registry[name].variadic:
        return
    arguments = [*example.operands(), *[object()] * (len(registry[name].fields) + 1)]
    error = failure(name, Attempt(len(arguments), arguments, {}))
    assert isinstance(error, nv.InvalidArgument) and error.expected.startswith(str(len(example.types)))


@pytest.mark.parametrize("name", [name for name in vocabulary() if example_of(name).types])
def test_operands_of_another_kind(name):
    example = example_of(name)
    for position in range(len(example.types)):
        for value in (None, "x", 1.0, np.zeros(3), nv.placeholder((3, 4))):
            operands: list[Any] = example.operands()
            operands[position] = value
            error = failure(name, Attempt(position, operands, example.attributes))
            assert isinstance(error, nv.WrongKind) and error.operand.startswith(str(position + 1))
            assert error.got == type(value).__name__


@pytest.mark.parametrize("name", [name for name in vocabulary() if registry[name].variadic])
def test_no_operands(name):
    failure(name, Attempt(0, [], example_of(name).attributes))
