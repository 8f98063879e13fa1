"""Runs a Function without symbols over JAX: op by op, composites decomposed.

Everything that an op means reaches this runner through its kind: ``evaluate``, ``describe``, ``structure``. Of single
ops it knows leaves, effects, whole ops, branches and loops.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (2,))
>>> run(nv.Function([nv.ops.Square(nv.ops.Add(x, x))], [x]), [np.float32([1, 2])])[0].tolist()
[4.0, 16.0]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nervure.ir.function import Function
from nervure.ir.kinds import Elementwise, Structured, View
from nervure.ir.leaves import Constant, Full, Parameter, ReadVariable
from nervure.ir.op import Op, Value
from nervure.ops.branching import If, Switch
from nervure.ops.cumulative import Cumulative, Recurrence
from nervure.ops.effects import Guard, HostCall, PrintOp
from nervure.ops.fourier import Fourier, InverseRealFourier, RealFourier
from nervure.ops.library_op import LibraryOp
from nervure.ops.linear_algebra import (
    Cholesky,
    Eigen,
    EigenHermitian,
    LogDeterminant,
    ReflectionProduct,
    Reflections,
    SingularValues,
    Solve,
    Svd,
)
from nervure.ops.looping import Scan, While
from nervure.ops.rematerialising import Checkpoint
from nervure.ops.sorting import Sort, TopK
from nervure.passes.decompose import decompose
from tests.conformance.jax_scalars import JaxScalars, padded
from tests.conformance.jax_structure import evaluate_structure, evaluate_view, padded_length


def run(function: Function, arguments: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The results of a function; variables have their initial values."""
    function = decompose(function)
    values: dict[Value, np.ndarray] = {
        op.value: array for op, array in zip(function.parameters, arguments, strict=True)}
    for op in function.operations:
        if isinstance(op, Parameter):
            continue
        results = _results(op, [values[operand] for operand in op.operands])
        for output, result in zip(op.outputs, results, strict=True):
            assert result.shape == output.shape and result.dtype == output.dtype.numpy, (op, result.shape, result.dtype)
            values[output] = result
    return [values[result] for result in function.results]


def _results(op: Any, operands: list[np.ndarray]) -> Sequence[np.ndarray]:
    if isinstance(op, Elementwise):
        return _elementwise(op, operands)
    if isinstance(op, View):
        return [evaluate_view(op.view, operands)]
    if isinstance(op, Structured):
        outputs = [(output.shape, output.dtype) for output in op.outputs]
        return evaluate_structure(op.structure(*[operand.type for operand in op.operands]), operands, outputs)
    return _LEAVES_AND_EFFECTS[type(op)](op, operands)


def _elementwise(op: Any, operands: list[np.ndarray]) -> list[np.ndarray]:
    shape = op.outputs[0].shape
    length = padded_length(math.prod(shape))
    s = JaxScalars(length)
    results = op.evaluate(s, *[padded(operand, length) for operand in operands])
    results = results if isinstance(results, tuple) else (results,)
    return [np.asarray(s.convert(result, output.dtype))[:math.prod(shape)].reshape(shape)
            for result, output in zip(results, op.outputs, strict=True)]


def _host_call(op: HostCall, operands: list[np.ndarray]) -> Sequence[np.ndarray]:
    results = op.function(*operands)
    return [] if results is None else list(results) if isinstance(results, tuple) else [results]


def _guard(op: Guard, operands: list[np.ndarray]) -> Sequence[np.ndarray]:
    assert operands[0].all(), op.message
    return []


def _switch(op: Switch, operands: list[np.ndarray]) -> Sequence[np.ndarray]:
    return run(op.branches[np.clip(operands[0].item(), 0, len(op.branches) - 1)], operands[1:])


def _while(op: While, operands: list[np.ndarray]) -> Sequence[np.ndarray]:
    while run(op.condition, operands)[0]:
        operands = [*run(op.body, operands), *operands[op.carries:]]
    return operands[:op.carries]


def _scan(op: Scan, operands: list[np.ndarray]) -> Sequence[np.ndarray]:
    end = op.carries + op.slices
    carries, rows = operands[:op.carries], []
    for at in range(op.length)[::-1 if op.reverse else 1]:
        before = [carries[number] for number in op.saved]
        found = run(op.body, [*carries, *[each[at] for each in operands[op.carries:end]], *operands[end:]])
        carries = found[:op.carries]
        rows.append([*found[op.carries:], *before])
    columns = list(zip(*rows[::-1 if op.reverse else 1], strict=True))
    return [*carries, *[np.stack(columns[number]) if rows else np.empty(value.shape, value.dtype.numpy)
                        for number, value in enumerate(op.outputs[op.carries:])]]


def _sort(op: Sort | TopK, operands: list[np.ndarray]) -> Sequence[np.ndarray]:
    x, = operands
    order = np.empty(x.shape, np.int64)
    for row in np.ndindex(x.shape[:-1]):
        keys = [(number != number, 0 if number != number else number) for number in map(_number, x[row])]
        order[row] = sorted(range(len(keys)), key=keys.__getitem__, reverse=op.descending)
    if isinstance(op, TopK):
        order = order[..., :op.k]
    return [np.take_along_axis(x, order, axis=-1), order]


def _running(op: Cumulative | Recurrence, operands: list[np.ndarray]) -> Sequence[np.ndarray]:
    slices = [np.moveaxis(operand, op.axis, 0)[::-1 if op.reverse else 1] for operand in operands]
    found: list[np.ndarray] = []
    with np.errstate(all="ignore"):
        for row in zip(*slices, strict=True):
            found.append(_combined(op, found[-1], row) if found else row[-1])
    result = np.stack(found) if found else slices[-1]
    return [np.moveaxis(result[::-1 if op.reverse else 1], 0, op.axis)]


def _combined(op: Cumulative | Recurrence, before: np.ndarray, row: tuple[np.ndarray, ...]) -> np.ndarray:
    if isinstance(op, Recurrence):
        return row[0] * before + row[1]
    functions = {"add": np.add, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum}
    return functions[op.kind](before, row[0])


def _library(op: LibraryOp, operands: list[np.ndarray]) -> Sequence[np.ndarray]:
    """By NumPy's public functions, in doubles."""
    kind = op.operands[0].dtype
    wide = [operand.astype(np.complex128 if kind.is_complex else np.float64) for operand in operands]
    if isinstance(op, Reflections):
        raw, factors = np.linalg.qr(wide[0], mode="raw")
        return [raw.swapaxes(-1, -2), factors]
    if isinstance(op, ReflectionProduct):
        return [_reflected(*wide)]
    function = {Solve: np.linalg.solve, Cholesky: np.linalg.cholesky, SingularValues: np.linalg.svdvals,
                Svd: lambda a: np.linalg.svd(a, full_matrices=False), EigenHermitian: np.linalg.eigh,
                Eigen: np.linalg.eig, LogDeterminant: np.linalg.slogdet}[type(op)]
    found = function(*wide)
    results = list(found) if isinstance(found, tuple) else [found]
    return [np.asarray(result).astype(output.dtype.numpy) for result, output in zip(results, op.outputs, strict=True)]


def _fourier(op: Fourier | RealFourier | InverseRealFourier, operands: list[np.ndarray]) -> Sequence[np.ndarray]:
    """By the definition, in doubles."""
    length, (x,) = op.points, operands
    if isinstance(op, InverseRealFourier):  # the conjugates of a spectrum that begins and may end with a real number
        halves = x.copy()
        halves[..., 0] = halves[..., 0].real
        if length % 2 == 0:
            halves[..., -1] = halves[..., -1].real
        x = np.concatenate([halves, halves[..., 1:(length + 1) // 2].conj()[..., ::-1]], axis=-1)
    forward = isinstance(op, RealFourier) or isinstance(op, Fourier) and not op.inverse
    turns = np.outer(np.arange(length), np.arange(length)) % length
    waves = np.exp((-2j if forward else 2j) * np.pi * turns / length)
    made = x.astype(np.complex128) @ waves / {"none": 1, "root": length ** 0.5, "length": length}[op.division]
    output, = op.outputs
    made = made[..., :output.shape[-1]]
    return [(made if output.dtype.is_complex else made.real).astype(output.dtype.numpy)]


def _reflected(raw: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """The first columns of (I - t v v^H) (I - t v v^H) ..., by the definition."""
    rows, count = raw.shape[-2], factors.shape[-1]
    whole = np.broadcast_to(np.eye(rows, dtype=raw.dtype), (*raw.shape[:-2], rows, rows))
    for at in range(count):
        v = np.where(np.arange(rows) > at, raw[..., at], 0) + (np.arange(rows) == at)
        outer = v[..., :, None] * v.conj()[..., None, :]
        whole = whole @ (np.eye(rows) - factors[..., at, None, None] * outer)
    return whole[..., :count]


def _number(element: Any) -> float:
    return element.item() if element.dtype.kind in "biu" else float(element)


_LEAVES_AND_EFFECTS: dict[type[Op], Any] = {
    Constant: lambda op, operands: [op.array],
    Full: lambda op, operands: [np.full(op.shape, op.dtype.numpy.type(op.number))],
    ReadVariable: lambda op, operands: [op.variable.initial_value()],
    HostCall: _host_call, Guard: _guard, PrintOp: lambda op, operands: operands,
    If: lambda op, operands: run(op.branches[0 if operands[0] else 1], operands[1:]),
    Switch: _switch, While: _while, Scan: _scan, Checkpoint: lambda op, operands: run(op.body, operands), Sort: _sort,
    **dict.fromkeys((Solve, Cholesky, Reflections, ReflectionProduct, Svd, SingularValues, EigenHermitian, Eigen,
                     LogDeterminant), _library), **dict.fromkeys((Fourier, RealFourier, InverseRealFourier), _fourier),
    Cumulative: _running, Recurrence: _running, TopK: _sort}
