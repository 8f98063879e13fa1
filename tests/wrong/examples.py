"""One valid call of every op of the vocabulary: what the tests of its errors start from and spoil."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import nervure as nv
from nervure import ops
from nervure.ir.kinds import Pointwise
from nervure.ir.op import Op, registry
from nervure.ir.variable import Variable
from nervure.ir.whole_op import fresh_length
from nervure.types.description import BasicTensorDescription
from nervure.types.index_map import IndexMap


class Example(NamedTuple):
    """The types of the operands, and the attributes."""

    types: tuple[BasicTensorDescription, ...]
    attributes: dict[str, Any]

    def operands(self) -> list[nv.Parameter]:
        """Fresh parameters of these types."""
        return [nv.Parameter(entry.dtype, entry.shape) for entry in self.types]


def tensor(*shape: int, dtype: Any = nv.float32) -> BasicTensorDescription:
    """The type of an operand."""
    return BasicTensorDescription(dtype, shape)


def example(*types: BasicTensorDescription, **attributes: Any) -> Example:
    """An example, written as the call is."""
    return Example(types, attributes)


def words(*shape: int) -> BasicTensorDescription:
    """Noise, and what it is made from."""
    return tensor(*shape, dtype=nv.uint32)


X, INDEX, TRUTH = tensor(3, 4), tensor(3, 4, dtype=nv.int64), tensor(3, 4, dtype=nv.bool_)
IMAGES, FILTERS, RESULT = tensor(2, 3, 8, 8), tensor(5, 3, 3, 3), tensor(2, 5, 6, 6)
STEP = tensor(dtype=nv.uint64)
REVERSED = IndexMap.identity((3, 4))


def function(*types: BasicTensorDescription, results: str) -> nv.Function:
    """A function that gives some of its parameters, or whether the first one is below 3."""
    own = [nv.Parameter(entry.dtype, entry.shape) for entry in types]
    found = [own[0].output < 3 if result == "<" else own[int(result)] for result in results]
    return nv.Function(found, own)


BRANCHES = (function(X, X, results="0"), function(X, X, results="1"))
COUNT = tensor(dtype=nv.int64)

EXAMPLES: dict[str, Example] = {
    "SpecialFunction": example(tensor(3), function="i0e"),
    "ComplexFunction": example(tensor(3, dtype=nv.complex64), function="exp"),
    "Parameter": example(dtype=nv.float32, shape=(2,)),
    "Constant": example(array=np.zeros(3)),
    "Full": example(number=1, dtype=nv.float32, shape=(2,)),
    "ReadVariable": example(variable=Variable(X)),
    "Convert": example(X, dtype=nv.int8),
    "Bitcast": example(X, dtype=nv.int32),
    "Where": example(TRUTH, X, X),
    "Contract": example(X, tensor(4, 5), x_indices=(0, 2), y_indices=(2, 1), indices=(0, 1)),
    "Convolution": example(IMAGES, FILTERS),
    "ConvolutionDataGradient": example(RESULT, FILTERS, lengths=(8, 8)),
    "ConvolutionFilterGradient": example(IMAGES, RESULT, lengths=(3, 3)),
    "ConvolutionTranspose": example(RESULT, FILTERS),
    "CustomDerivative": example(X, X, count=1, rule=lambda gradients, operands: gradients),
    "HostCall": example(X, function=lambda array: array, types=(X,)),
    "PrintOp": example(X),
    "Guard": example(TRUTH, message="it must hold"),
    "If": example(tensor(dtype=nv.bool_), X, X, branches=BRANCHES),
    "Switch": example(COUNT, X, X, branches=BRANCHES),
    "Scan": example(X, tensor(5, 2), X, body=function(X, tensor(2), X, results="201"), carries=1, slices=1, length=5),
    "While": example(COUNT, X, condition=function(COUNT, X, results="<"), body=function(COUNT, X, results="01"),
                     carries=2),
    "Checkpoint": example(X, X, body=BRANCHES[0]),
    "After": example(X, COUNT),
    "ShardAs": example(X, split="data, ?"),
    "IndexView": example(X, map=REVERSED),
    "FilledView": example(X, map=REVERSED),
    "AccumulateView": example(X, map=REVERSED, shape=(3, 4)),
    "UpdateView": example(X, X, map=REVERSED),
    "Broadcast": example(X, shape=(2, 3, 4), axes=(0,)),
    "Permute": example(X, order=(1, 0)),
    "Reshape": example(X, shape=(2, 6)),
    "Slice": example(X, slices=((0, 2, 1), (1, 2, 2))),
    "Pad": example(X, paddings=((1, 1), (0, 0))),
    "FoldedPad": example(X, paddings=((1, 1), (0, 0)), mode="edge"),
    "Concatenate": example(X, tensor(2, 4), axis=0),
    "Stack": example(X, X, axes=(0,), counts=(2,)),
    "Diagonal": example(X),
    "AssumeShape": example(X, shape=(3, 4)),
    "Dot": example(X, tensor(4, 5), pairs=((1, 0),)),
    "MatMul": example(X, tensor(4, 5)),
    "Einsum": example(X, tensor(4, 5), subscripts="ij, jk -> ik"),
    "Iota": example(shape=(3, 4), axis=1),
    "Eye": example(shape=(3, 4), dtype=nv.float32),
    "Gather": example(X, tensor(7, dtype=nv.int64), axis=1),
    "GatherElements": example(X, INDEX, axis=1),
    "GatherNd": example(X, tensor(7, 2, dtype=nv.int64)),
    "Scatter": example(X, tensor(7, dtype=nv.int64), tensor(3, 7), axis=1),
    "ScatterElements": example(X, INDEX, X, axis=1),
    "ScatterNd": example(X, tensor(7, 2, dtype=nv.int64), tensor(7)),
    "OneHot": example(INDEX, depth=10, dtype=nv.float32),
    "LookupTable": example(X, INDEX, pad_idx=0),
    "Windows": example(X, axes=(0, 1), windows=(2, 2)),
    "MaxPool": example(X, axes=(0, 1), windows=(2, 2)),
    "AveragePool": example(X, axes=(0, 1), windows=(2, 2)),
    "RandomKey": example(words(), words(), STEP, stream=3),
    "RandomBlocks": example(words(), words(), count=4),
    "RandomBits": example(words(2), STEP, stream=3, shape=(3, 4)),
    "RandomUniform": example(words(2), STEP, stream=3, shape=(3, 4)),
    "RandomNormal": example(words(2), STEP, stream=3, shape=(3, 4)),
    "RandomBernoulli": example(words(2), STEP, stream=3, shape=(3, 4), probability=0.5),
    "Extent": example(length=3, dtype=nv.float32, shape=(3, 4)),
    "Any": example(TRUTH, axes=(0,)),
    "All": example(TRUTH, axes=(0,)),
    "SoftmaxCrossEntropy": example(X, X, axes=(1,)),
    "Assign": example(X, variable=Variable(X)),
    "Sequential": example(X, TRUTH),
    "DoAll": example(X, TRUTH),
    "Together": example(X, TRUTH),
    "Attention": example(tensor(2, 5, 8), tensor(2, 7, 8), tensor(2, 7, 4)),
    "FindPositions": example(tensor(8, dtype=nv.bool_), length=fresh_length(8)),
    "Cumulative": example(X, axis=1, kind="add"),
    "Recurrence": example(X, X, axis=1),
    "TopK": example(X, k=2),
    "Fourier": example(tensor(3, 4, dtype=nv.complex64)),
    "RealFourier": example(tensor(3, 4)),
    "InverseRealFourier": example(tensor(3, 4, dtype=nv.complex64), length=6),
    "Solve": example(tensor(3, 3), tensor(3, 2)),
    "PseudoInverse": example(tensor(2, 3, 4), tensor(2)),
    "ReflectionProduct": example(tensor(4, 3, dtype=nv.float64), tensor(3, dtype=nv.float64)),
    **{name: example(tensor(3, 3, dtype=nv.float64)) for name in (
        "Cholesky", "Reflections", "Qr", "Lu", "Svd", "SingularValues", "EigenHermitian", "Eigen", "LogDeterminant")},
}


def vocabulary() -> list[str]:
    """The names of all built-in ops."""
    assert ops.__all__
    return sorted(name for name, op_class in registry.items() if op_class.__module__.startswith("nervure."))


def example_of(name: str) -> Example:
    """The example of an op: its own, or the usual one of elementwise ops, reductions and triangles."""
    if name in EXAMPLES:
        return EXAMPLES[name]
    op_class: Any = registry[name]
    attributes = {"axes": (1,)} if "axes" in op_class.fields else {}
    admits: Sequence[Any] = [dtype for dtype in (nv.float32, nv.int32, nv.bool_, nv.complex64)
                             if not issubclass(op_class, Pointwise) or dtype in op_class.admits]
    return Example((tensor(3, 4, dtype=admits[0]),) * (op_class.arity or 2), attributes)


def build(name: str, operands: Sequence[Any], attributes: dict[str, Any]) -> Op:
    """The call itself."""
    return registry[name](*operands, **attributes)
