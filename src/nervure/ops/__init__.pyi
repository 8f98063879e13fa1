# Made from the package: `make generated` writes it, tests/project/test_generated.py compares it.

from nervure.ir.leaves import Constant as Constant, Full as Full, Parameter as Parameter, ReadVariable as ReadVariable
from nervure.ops.activation import (
    Elu as Elu, Gelu as Gelu, GeluTanh as GeluTanh, HardSigmoid as HardSigmoid, HardSwish as HardSwish,
    LeakyRelu as LeakyRelu, LogSigmoid as LogSigmoid, Mish as Mish, PRelu as PRelu, Relu as Relu, Selu as Selu,
    Sigmoid as Sigmoid, Silu as Silu, Softplus as Softplus, SparsePlus as SparsePlus, SparseSigmoid as SparseSigmoid)
from nervure.ops.arithmetic import (
    Absolute as Absolute, Add as Add, BitwiseAnd as BitwiseAnd, BitwiseNot as BitwiseNot, BitwiseOr as BitwiseOr,
    BitwiseXor as BitwiseXor, Ceil as Ceil, Complex as Complex, Conjugate as Conjugate, Divide as Divide,
    Floor as Floor, FloorDivide as FloorDivide, Fma as Fma, Imaginary as Imaginary, Mod as Mod, Multiply as Multiply,
    Negative as Negative, Power as Power, Real as Real, Reciprocal as Reciprocal, Round as Round,
    ShiftLeft as ShiftLeft, ShiftRight as ShiftRight, Sign as Sign, Square as Square,
    SquaredDifference as SquaredDifference, Subtract as Subtract, Truncate as Truncate)
from nervure.ops.attention import Attention as Attention
from nervure.ops.between import Between as Between
from nervure.ops.branching import If as If, Switch as Switch
from nervure.ops.comparison import (
    Equal as Equal, Greater as Greater, GreaterEqual as GreaterEqual, IsFinite as IsFinite, IsInf as IsInf,
    IsNan as IsNan, Less as Less, LessEqual as LessEqual, LogicalAnd as LogicalAnd, LogicalNot as LogicalNot,
    LogicalOr as LogicalOr, LogicalXor as LogicalXor, NotEqual as NotEqual)
from nervure.ops.contraction import Contract as Contract
from nervure.ops.conversion import (
    Bitcast as Bitcast, Convert as Convert, StopGradient as StopGradient, StraightThrough as StraightThrough)
from nervure.ops.convolution import (
    Convolution as Convolution, ConvolutionDataGradient as ConvolutionDataGradient,
    ConvolutionFilterGradient as ConvolutionFilterGradient, ConvolutionTranspose as ConvolutionTranspose)
from nervure.ops.cumulative import Cumulative as Cumulative, Recurrence as Recurrence
from nervure.ops.custom import CustomDerivative as CustomDerivative
from nervure.ops.effects import Guard as Guard, HostCall as HostCall, PrintOp as PrintOp
from nervure.ops.einsum import Dot as Dot, Einsum as Einsum, MatMul as MatMul
from nervure.ops.embedding import LookupTable as LookupTable, OneHot as OneHot
from nervure.ops.exponential import (
    Cbrt as Cbrt, Exp as Exp, Exp2 as Exp2, Expm1 as Expm1, Log as Log, Log10 as Log10, Log1p as Log1p, Log2 as Log2,
    Rsqrt as Rsqrt, SafeLog as SafeLog, Sqrt as Sqrt)
from nervure.ops.finding import FindPositions as FindPositions
from nervure.ops.fourier import Fourier as Fourier, InverseRealFourier as InverseRealFourier, RealFourier as RealFourier
from nervure.ops.indexing import (
    Gather as Gather, GatherElements as GatherElements, GatherNd as GatherNd, Scatter as Scatter,
    ScatterElements as ScatterElements, ScatterNd as ScatterNd)
from nervure.ops.iota import Eye as Eye, Iota as Iota, Tril as Tril, Triu as Triu
from nervure.ops.linear_algebra import (
    Cholesky as Cholesky, Eigen as Eigen, EigenHermitian as EigenHermitian, LogDeterminant as LogDeterminant,
    PseudoInverse as PseudoInverse, Qr as Qr, ReflectionProduct as ReflectionProduct, Reflections as Reflections,
    SingularValues as SingularValues, Solve as Solve, Svd as Svd)
from nervure.ops.looping import Scan as Scan, While as While
from nervure.ops.normalization import Standardize as Standardize
from nervure.ops.pooling import AveragePool as AveragePool, MaxPool as MaxPool, Windows as Windows
from nervure.ops.random import (
    RandomBernoulli as RandomBernoulli, RandomBits as RandomBits, RandomBlocks as RandomBlocks, RandomKey as RandomKey,
    RandomNormal as RandomNormal, RandomUniform as RandomUniform)
from nervure.ops.reductions import (
    All as All, Any as Any, ArgMax as ArgMax, ArgMin as ArgMin, Max as Max, Min as Min, Prod as Prod,
    ProductChains as ProductChains, Sum as Sum)
from nervure.ops.rematerialising import After as After, Checkpoint as Checkpoint
from nervure.ops.selection import Clip as Clip, Maximum as Maximum, Minimum as Minimum, Where as Where
from nervure.ops.sharding import ShardAs as ShardAs
from nervure.ops.softmax import (
    LogSoftmax as LogSoftmax, MaskedSoftmax as MaskedSoftmax, SigmoidCrossEntropy as SigmoidCrossEntropy,
    Softmax as Softmax, SoftmaxCrossEntropy as SoftmaxCrossEntropy)
from nervure.ops.sorting import Sort as Sort, TopK as TopK
from nervure.ops.special import (
    Digamma as Digamma, Erf as Erf, ErfInv as ErfInv, Erfc as Erfc, Lgamma as Lgamma, Trigamma as Trigamma)
from nervure.ops.special_function import ComplexFunction as ComplexFunction, SpecialFunction as SpecialFunction
from nervure.ops.statistics import (
    CountNonzero as CountNonzero, Extent as Extent, L1Norm as L1Norm, L2Norm as L2Norm, LogMeanExp as LogMeanExp,
    LogSumExp as LogSumExp, Mean as Mean, SquaredL2 as SquaredL2, Std as Std, Variance as Variance)
from nervure.ops.triangles import Lu as Lu
from nervure.ops.trigonometric import (
    Acos as Acos, Acosh as Acosh, Asin as Asin, Asinh as Asinh, Atan as Atan, Atan2 as Atan2, Atanh as Atanh,
    Cos as Cos, Cosh as Cosh, Hypot as Hypot, Sin as Sin, Sinh as Sinh, Tan as Tan, Tanh as Tanh)
from nervure.ops.update import (
    AccumulateView as AccumulateView, FilledView as FilledView, IndexView as IndexView, UpdateView as UpdateView)
from nervure.ops.views import (
    AssumeShape as AssumeShape, Broadcast as Broadcast, Concatenate as Concatenate, Contiguous as Contiguous,
    Diagonal as Diagonal, FoldedPad as FoldedPad, Pad as Pad, Permute as Permute, Reshape as Reshape,
    Reverse as Reverse, Slice as Slice, Stack as Stack)

__all__: list[str]
