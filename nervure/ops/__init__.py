"""The vocabulary: a file per family, a class per op.

An op is built on values, whose types it checks, and has the types of its outputs at once:

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (2, 3))
>>> str(MatMul(x, Permute(x, (1, 0))).type)
'f32[2, 2]'
"""

from nervure.ir.leaves import Constant, Full, Parameter, ReadVariable
from nervure.ops.activation import (
    Elu,
    Gelu,
    GeluTanh,
    HardSigmoid,
    HardSwish,
    LeakyRelu,
    LogSigmoid,
    Mish,
    PRelu,
    Relu,
    Selu,
    Sigmoid,
    Silu,
    Softplus,
)
from nervure.ops.arithmetic import (
    Add,
    Divide,
    FloorDivide,
    Mod,
    Multiply,
    Negative,
    Power,
    Reciprocal,
    Square,
    SquaredDifference,
    Subtract,
)
from nervure.ops.bitwise import BitwiseAnd, BitwiseNot, BitwiseOr, BitwiseXor, ShiftLeft, ShiftRight
from nervure.ops.comparison import (
    Equal,
    Greater,
    GreaterEqual,
    IsFinite,
    IsInf,
    IsNan,
    Less,
    LessEqual,
    LogicalAnd,
    LogicalNot,
    LogicalOr,
    LogicalXor,
    NotEqual,
)
from nervure.ops.complex import Complex, Conjugate, Imaginary, Real
from nervure.ops.contraction import Contract
from nervure.ops.conversion import Bitcast, Convert, StopGradient
from nervure.ops.convolution import (
    Convolution,
    ConvolutionDataGradient,
    ConvolutionFilterGradient,
    ConvolutionTranspose,
)
from nervure.ops.custom import CustomDerivative
from nervure.ops.effects import Guard, HostCall, PrintOp
from nervure.ops.einsum import Dot, Einsum, MatMul
from nervure.ops.embedding import LookupTable, OneHot
from nervure.ops.exponential import Cbrt, Exp, Exp2, Expm1, Log, Log1p, Log2, Log10, Rsqrt, SafeLog, Sqrt
from nervure.ops.indexing import Gather, GatherElements, GatherNd, Scatter, ScatterElements, ScatterNd
from nervure.ops.interval import Between
from nervure.ops.normalization import Standardize
from nervure.ops.pooling import AveragePool, MaxPool, Windows
from nervure.ops.positions import Eye, Iota, Tril, Triu
from nervure.ops.random import (
    RandomBernoulli,
    RandomBits,
    RandomBlocks,
    RandomKey,
    RandomNormal,
    RandomUniform,
)
from nervure.ops.reductions import All, Any, ArgMax, ArgMin, Max, Min, Prod, Sum
from nervure.ops.rounding import Absolute, Ceil, Floor, Round, Sign, Truncate
from nervure.ops.selection import Clip, Maximum, Minimum, Where
from nervure.ops.softmax import LogSoftmax, SigmoidCrossEntropy, Softmax, SoftmaxCrossEntropy
from nervure.ops.special import Digamma, Erf, Erfc, ErfInv, Lgamma, Trigamma
from nervure.ops.statistics import (
    CountNonzero,
    Extent,
    L1Norm,
    L2Norm,
    LogSumExp,
    Mean,
    SquaredL2,
    Std,
    Variance,
)
from nervure.ops.trigonometric import (
    Acos,
    Acosh,
    Asin,
    Asinh,
    Atan,
    Atan2,
    Atanh,
    Cos,
    Cosh,
    Hypot,
    Sin,
    Sinh,
    Tan,
    Tanh,
)
from nervure.ops.update import AccumulateView, IndexView, UpdateView
from nervure.ops.views import (
    AssumeShape,
    Broadcast,
    Concatenate,
    Diagonal,
    FoldedPad,
    Pad,
    Permute,
    Reshape,
    Reverse,
    Slice,
)

__all__ = [
    "Absolute", "AccumulateView", "Acos", "Acosh", "Add", "All", "Any", "ArgMax", "ArgMin", "Asin", "Asinh",
    "AssumeShape", "Atan", "Atan2", "Atanh", "AveragePool", "Between", "Bitcast", "BitwiseAnd",
    "BitwiseNot", "BitwiseOr", "BitwiseXor", "Broadcast", "Cbrt", "Ceil", "Clip", "Complex", "Concatenate", "Conjugate",
    "Constant", "Contract", "Convert", "Convolution", "ConvolutionDataGradient", "ConvolutionFilterGradient",
    "ConvolutionTranspose", "Cos", "Cosh", "CountNonzero", "CustomDerivative", "Diagonal", "Digamma",
    "Divide", "Dot", "Einsum", "Elu", "Equal", "Erf", "ErfInv", "Erfc", "Exp", "Exp2", "Expm1", "Extent",
    "Eye", "Floor", "FloorDivide", "FoldedPad", "Full", "Gather", "GatherElements", "GatherNd", "Gelu",
    "GeluTanh", "Greater", "GreaterEqual", "Guard", "HardSigmoid", "HardSwish", "HostCall", "Hypot",
    "Imaginary", "IndexView", "Iota", "IsFinite", "IsInf", "IsNan", "L1Norm", "L2Norm", "LeakyRelu", "Less",
    "LessEqual", "Lgamma", "Log", "Log10", "Log1p", "Log2", "LogSigmoid", "LogSoftmax", "LogSumExp",
    "LogicalAnd", "LogicalNot", "LogicalOr", "LogicalXor", "LookupTable", "MatMul", "Max", "MaxPool",
    "Maximum", "Mean", "Min", "Minimum", "Mish", "Mod", "Multiply", "Negative", "NotEqual", "OneHot", "PRelu",
    "Pad", "Parameter", "Permute", "Power", "PrintOp", "Prod", "RandomBernoulli", "RandomBits",
    "RandomBlocks", "RandomKey", "RandomNormal", "RandomUniform", "ReadVariable", "Real", "Reciprocal",
    "Relu", "Reshape", "Reverse", "Round", "Rsqrt", "SafeLog", "Scatter", "ScatterElements", "ScatterNd",
    "Selu", "ShiftLeft", "ShiftRight", "Sigmoid", "SigmoidCrossEntropy", "Sign", "Silu", "Sin", "Sinh",
    "Slice", "Softmax", "SoftmaxCrossEntropy", "Softplus", "Sqrt", "Square", "SquaredDifference", "SquaredL2",
    "Standardize", "Std", "StopGradient", "Subtract", "Sum", "Tan", "Tanh", "Trigamma", "Tril", "Triu", "Truncate",
    "UpdateView", "Variance", "Where", "Windows",
]
