"""Functions cut into parts of one device."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import ops
from nervure.ir.op import Op
from nervure.passes.partition import Part, partition

A, B = "A", "B"


def on(*names: str):
    """A where ops have one of these names, B elsewhere; leaves are free."""
    def device_of(op: Op) -> str | None:
        return (A if type(op).__name__ in names else B) if op.operands else None
    return device_of


def run(parts: list[Part], function: nv.Function, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """The parts one after the other, on the interpreter."""
    known = dict(zip([op.output for op in function.parameters], arrays, strict=True))
    sizes = {}
    for op, array in zip(function.parameters, arrays, strict=True):
        sizes.update({str(length): got for length, got in zip(op.output.shape, array.shape, strict=True)})
    with nv.transformers.make_transformer("interpreter") as interpreter:
        for part in parts:
            carriers = [np.empty((0, sizes[str(symbol)]), bool) for symbol in part.sizes]
            found = interpreter.compile(part.function)([*[known[value] for value in part.inputs], *carriers])
            known.update(zip(part.outputs, found, strict=True))
    return [known[value] for value in function.results]


def names(part: Part) -> list[str]:
    return [type(op).__name__ for op in part.members]


def test_parts_are_as_large_as_the_order_of_ops_permits():
    """T77: an op that is not needed yet waits for its own kind; one chain of each device is one part."""
    x = nv.Parameter(nv.float32, (3,))
    left, right = ops.Sin(x), ops.Exp(x)
    function = nv.Function([ops.Add(ops.Sin(left), ops.Exp(ops.Exp(right)))], [x])
    parts = partition(function, on("Sin"), B)
    assert [(part.device, names(part)) for part in parts] == [
        (A, ["Sin", "Sin"]), (B, ["Exp", "Exp", "Exp", "Add"])]


def test_a_part_ends_where_another_device_has_to_go_first():
    x = nv.Parameter(nv.float32, (3,))
    function = nv.Function([ops.Sin(ops.Exp(ops.Sin(x)))], [x])
    assert [names(part) for part in partition(function, on("Sin"), B)] == [["Sin"], ["Exp"], ["Sin"]]


def test_free_ops_are_in_every_part_that_reads_them():
    x = nv.Parameter(nv.float32, (3,))
    two = ops.Full(2.0, nv.float32, (3,))
    function = nv.Function([ops.Exp(ops.Add(ops.Sin(ops.Multiply(x, two)), two))], [x])
    parts = partition(function, on("Sin", "Multiply"), B)
    assert [[type(op).__name__ for op in part.function.operations] for part in parts] == [
        ["Parameter", "Full", "Multiply", "Sin"], ["Parameter", "Full", "Add", "Exp"]]


def test_free_roots_are_computed_on_the_default_device():
    x, two = nv.Parameter(nv.float32, (3,)), ops.Full(2.0, nv.float32, (3,))
    function = nv.Function([two, x, ops.Sin(x)], [x])
    parts = partition(function, on("Sin"), B)
    assert sorted((part.device, names(part)) for part in parts) == [(A, ["Sin"]), (B, ["Full"])]


def test_symbols_that_no_input_tells_are_told():
    """T77: of a scalar that is spread over N the part that spreads it learns N by itself."""
    n = nv.dim("N")
    x, y = nv.Parameter(nv.float32, (n,)), nv.Parameter(nv.float32, ())
    spread = ops.Sin(ops.Broadcast(ops.Exp(y), (n,), (0,)))
    function = nv.Function([ops.Exp(spread), ops.Sin(x)], [x, y])
    parts = partition(function, on("Sin"), B)
    assert [[str(symbol) for symbol in part.sizes] for part in parts] == [["N"], [], []]
    got = run(parts, function, [np.zeros(4, np.float32), np.float32(0.5)])
    np.testing.assert_allclose(got[0], np.full(4, np.exp(np.sin(np.exp(0.5)))), rtol=1e-6)


def test_effects_keep_their_order(capsys):
    """T77: the second print waits for the first, which is on the other device."""
    x = nv.Parameter(nv.float32, ())
    first = ops.PrintOp(ops.Sin(ops.Exp(x)), prefix="first")
    second = ops.PrintOp(ops.Exp(x), prefix="second")
    function = nv.Function([first, second], [x], effects=[first, second])

    def device_of(op: Op) -> str | None:
        return (A if op is first or type(op) is ops.Sin else B) if op.operands else None
    parts = partition(function, device_of, B)
    run(parts, function, [np.float32(0)])
    assert [line.split(":")[0] for line in capsys.readouterr().out.splitlines()] == ["first", "second"]


@pytest.mark.parametrize("seed", range(20))
def test_random_functions_give_the_same_in_parts(seed):
    """T77, T89: whatever device each op is on, the parts in their order give the values of the whole."""
    rng = np.random.default_rng(seed)
    x, y = nv.Parameter(nv.float64, (3, 4)), nv.Parameter(nv.float64, (4, 3))
    values = [x.value, ops.Permute(y, (1, 0)).output, ops.Full(0.5, nv.float64, (3, 4)).output]
    for _ in range(25):
        left, right = (values[rng.integers(len(values))] for _ in range(2))
        kind = rng.integers(4)
        made = (ops.Sin(left), left + right, left * right, ops.Permute(ops.Permute(left, (1, 0)), (1, 0)))[kind]
        values.append(made.value)
    function = nv.Function([values[-1], values[rng.integers(len(values))]], [x, y])
    chosen = {op: (A, B, "C")[rng.integers(3)] for op in function.operations if op.operands}
    arrays = [rng.normal(size=(3, 4)), rng.normal(size=(4, 3))]
    with nv.transformers.make_transformer("interpreter") as interpreter:
        expected = interpreter.compile(function)(arrays)
    for got, wanted in zip(run(partition(function, chosen.get, B), function, arrays), expected, strict=True):
        np.testing.assert_array_equal(got, wanted)
