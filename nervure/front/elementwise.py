"""Elementwise functions: operands are aligned, promoted and handed to one core op.

The lines at the end of the file make most of them: how element types are chosen, the core op, the name.

>>> import nervure as nv
>>> nv.maximum(nv.constant([1, 5]), 3).tolist()
[3.0, 5.0]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nervure import ops
from nervure.errors import DtypeMismatch, InvalidArgument, NervureError, WrongKind
from nervure.front import alignment
from nervure.front.creation import as_tensor, check_numbers, numpy_array
from nervure.front.given import GivenNumber, is_number
from nervure.front.made import described
from nervure.front.promotion import floating, promote, weak_type
from nervure.front.reading import integer
from nervure.front.tensor import Operand, Tensor, is_scalar, value_only
from nervure.ir.op import Op, Value
from nervure.types.dim import Dim
from nervure.types.dtype import DType, DTypeLike, as_dtype, bool_
from nervure.types.foreign import is_array
from nervure.types.shape import Shape


def common_dtype(operands: tuple[Operand, ...], op: str) -> DType:
    """The promoted element type of operands; scalars are weak."""
    strong, weak = [], []
    for position, operand in enumerate(operands):
        if isinstance(operand, Tensor):
            strong.append(operand.dtype)
        elif is_weak(operand):
            weak.append(int if isinstance(operand, Dim) else weak_type(operand))
        else:
            strong.append(array_type(operand, op, position + 1))
    return promote(strong, weak, op)


def operate(name: str, core: Callable[..., Op], operands: tuple[Operand, ...], dtype: DType | None = None,
            **attributes: Any) -> Tensor:
    """Applies an elementwise core op to aligned operands, converted to ``dtype`` (absent: the promoted type)."""
    if dtype is None:
        dtype = common_dtype(operands, name)
    tensors = [operand if isinstance(operand, Tensor) else as_tensor(operand, name, position + 1)
               for position, operand in enumerate(operands) if not is_weak(operand)]
    if not tensors:
        return Tensor(core(*[_everywhere(operand, dtype, ()) for operand in operands], **attributes))
    if len(tensors) == 1:
        values, axes, shape = [tensors[0].value], tensors[0]._axes, tensors[0].shape
    else:
        values, axes, shape = alignment.aligned(tensors, name)
    converted = iter([converted_to(value, dtype) for value in values])
    arguments = [_everywhere(operand, dtype, shape) if is_weak(operand) else next(converted) for operand in operands]
    try:
        return Tensor(core(*arguments, **attributes), axes)
    except DtypeMismatch as error:
        if not dtype.storage_only:
            raise
        raise WrongKind(error.message, op=name, operand=error.operand, got=error.got, expected=error.expected,
                        help="convert it first: x.astype(nv.float32)") from None


def array_type(operand: Any, op: str, position: int) -> DType:
    """The element type of an array; WrongKind for what is none, or has elements that are no numbers."""
    if not is_array(operand):
        value_only(operand, op, position)
    try:
        own = operand if isinstance(operand, np.ndarray) else numpy_array(operand, op)
        check_numbers(own, op)
    except NervureError as error:
        raise error.within(op, operand=position) from None
    return as_dtype(own.dtype)


def is_weak(operand: object) -> bool:
    """Whether an operand takes the tensors' type: a Python or NumPy scalar, or a length that is an expression."""
    return isinstance(operand, Dim) or is_number(operand)


def _everywhere(number: Any, dtype: DType, shape: Shape) -> Op | Value:
    """A number, also one that a call brings, or a length that is known then, at every index."""
    if isinstance(number, GivenNumber):
        value: Value = number.tensor(dtype).value
        return ops.Broadcast(value, shape, range(len(shape))) if shape else value
    return ops.Extent(number, dtype, shape) if isinstance(number, Dim) else ops.Full(number, dtype, shape)


def converted_to(value: Value, dtype: DType, mode: str = "saturate") -> Value:
    """A core value in another element type; itself if it has it."""
    return value if value.type.dtype is dtype else ops.Convert(value, dtype, mode).output


def convert(x: Operand, dtype: DTypeLike, mode: str = "saturate") -> Tensor:
    """x in another element type. ``mode`` "saturate" clamps what does not fit, "wrap" takes integers modulo 2**bits.

    >>> nv.convert([1.7, 300.0], nv.uint8).tolist()
    [1, 255]
    """
    tensor = as_tensor(x, "convert")
    return Tensor(converted_to(tensor.value, as_dtype(dtype), mode), tensor._axes)


def bitcast(x: Operand, dtype: DTypeLike) -> Tensor:
    """The same bits as elements of another type of the same width.

    >>> hex(nv.bitcast(np.float32(1.0), nv.int32).item())
    '0x3f800000'
    """
    tensor = as_tensor(x, "bitcast")
    return Tensor(ops.Bitcast(tensor.value, as_dtype(dtype)), tensor._axes)


def where(condition: Operand, a: Operand, b: Operand) -> Tensor:
    """a where the condition holds, else b, element by element. Numbers count as true when they are not 0.

    >>> x = np.array([-1.0, 2.0])
    >>> nv.where(x > 0, x, 0).tolist()
    [0.0, 2.0]
    """
    dtype = common_dtype((a, b), "where")
    tensors = [_truth(condition), *[as_tensor(entry, "where", 2 + k, _scalar_type(entry, dtype))
                                    for k, entry in enumerate((a, b))]]
    values, axes, _ = alignment.aligned(tensors, "where")
    return Tensor(ops.Where(values[0], *[converted_to(value, dtype) for value in values[1:]]), axes)


def clip(x: Operand, low: Operand | None = None, high: Operand | None = None) -> Tensor:
    """x limited to [low, high]; a bound of None does not limit. NaN stays.

    >>> nv.clip(np.array([-2.0, 0.5, 9.0]), 0, 1).tolist()
    [0.0, 0.5, 1.0]
    """
    if low is not None and high is not None:
        return operate("clip", ops.Clip, (x, low, high))
    if low is not None:
        return operate("clip", ops.Maximum, (x, low))
    if high is not None:
        return operate("clip", ops.Minimum, (x, high))
    raise InvalidArgument("clip needs a bound", op="clip", help="nv.clip(x, low, high)", got="no bound",
                          expected="low, high, or both")


def logical_not(x: Operand) -> Tensor:
    """Whether an element is zero.

    >>> nv.logical_not(np.array([0, 3])).tolist()
    [True, False]
    """
    tensor = _truth(x)
    return Tensor(ops.LogicalNot(tensor.value), tensor._axes)


_GELUS = (False, None, "none", True, "tanh")


def gelu(x: Operand, approximate: str | bool = False) -> Tensor:
    """x times the normal distribution's cumulative function at x; ``approximate="tanh"`` uses the usual formula
    with tanh.

    >>> nv.gelu(np.array([0.0, 1.0])).numpy().round(4).tolist()
    [0.0, 0.8413]
    """
    if not isinstance(approximate, (str, bool)) and approximate is not None or approximate not in _GELUS:
        raise InvalidArgument("unknown approximation", op="gelu", operand="approximate", got=f"{approximate!r:.60}",
                              expected="'tanh' or False", help="approximate='tanh' is the usual formula with tanh")
    exact = approximate in (False, None, "none")
    return _real("gelu", ops.Gelu if exact else ops.GeluTanh)(x)


def leaky_relu(x: Operand, slope: float = 0.01) -> Tensor:
    """x where it is positive, else ``slope * x``.

    >>> nv.leaky_relu(np.array([-4.0, 2.0]), slope=0.5).tolist()
    [-2.0, 2.0]
    """
    return operate("leaky_relu", ops.LeakyRelu, (x,), floating(common_dtype((x,), "leaky_relu")), slope=slope)


def elu(x: Operand, alpha: float = 1.0) -> Tensor:
    """x where it is positive, else ``alpha * (exp(x) - 1)``.

    >>> nv.elu(np.array([-1.0, 2.0])).numpy().round(4).tolist()
    [-0.6321, 2.0]
    """
    return operate("elu", ops.Elu, (x,), floating(common_dtype((x,), "elu")), alpha=alpha)


def prelu(x: Operand, slope: Operand) -> Tensor:
    """x where it is positive, else ``slope * x``, with a slope that is learnt.

    >>> nv.prelu(np.array([-4.0, 2.0]), 0.25).tolist()
    [-1.0, 2.0]
    """
    return operate("prelu", ops.PRelu, (x, slope), floating(common_dtype((x, slope), "prelu")))


def safelog(x: Operand, limit: float = -50.0) -> Tensor:
    """The logarithm, limited from below so that it is finite at 0.

    >>> round(nv.safelog(0.0).item(), 4)
    -50.0
    """
    if not is_scalar(limit) or isinstance(limit, (complex, np.complexfloating)):
        raise WrongKind("the limit is a real number", op="safelog", operand="limit", got=f"{limit!r:.60}",
                        expected="a number", help="nv.maximum limits by a tensor")
    floor = float(np.exp(np.float64(limit)))
    return log(operate("safelog", ops.Maximum, (x, floor), floating(common_dtype((x, floor), "safelog"))))


def divide(x: Operand, y: Operand) -> Tensor:
    """x / y; integers give float32.

    >>> nv.divide(np.array([1, 3]), 2).tolist()
    [0.5, 1.5]
    """
    return operate("divide", ops.Divide, (x, y), floating(common_dtype((x, y), "divide")))


def power(x: Operand, y: Operand) -> Tensor:
    """x ** y. 0 ** 0 is 1; an integer to a constant negative power is an error.

    >>> nv.power(np.array([2, 3]), 3).tolist()
    [8, 27]
    """
    dtype = common_dtype((x, y), "power")
    if dtype.is_integer and isinstance(y, GivenNumber):
        y = y.noted(_exponent)
    elif dtype.is_integer and isinstance(y, (int, np.integer)):
        _exponent(y)
    if is_scalar(y) and y == 2:
        return operate("power", ops.Square, (x,), dtype)
    return operate("power", ops.Power, (x, y), dtype)


def _exponent(y: Any) -> Any:
    """An exponent for integers as it is, if it is one."""
    if y < 0:
        raise InvalidArgument("an integer has no negative powers", op="power", operand=2, got=y,
                              expected="0 or more", help="convert the base: x.astype(nv.float32) ** y")
    return y


def atan2(y: Operand, x: Operand) -> Tensor:
    """The angle of the point (x, y), in [-pi, pi]. Its derivative at the origin is NaN.

    >>> round(nv.atan2(1.0, -1.0).item(), 4)
    2.3562
    """
    return operate("atan2", ops.Atan2, (y, x), floating(common_dtype((y, x), "atan2")))


def divmod(x: Operand, y: Operand) -> tuple[Tensor, Tensor]:
    """x // y and x % y.

    >>> import nervure as nv
    >>> [part.tolist() for part in nv.divmod(nv.constant([7.0, -7.0]), 2)]
    [[3.0, -4.0], [1.0, 1.0]]
    """
    return floordivide(x, y), mod(x, y)


MOST_DECIMALS = 30
"""A power of ten within float32's range."""


def round(x: Operand, decimals: int = 0) -> Tensor:
    """x rounded to so many decimals, where it lies halfway to the even digit; negative ones round to tens, hundreds.

    Integers have no decimals: they stay, and are not rounded to tens.

    >>> import nervure as nv
    >>> nv.round(nv.constant([0.5, 1.5, 2.6])).tolist(), f"{nv.round(2.71828, 2):.4f}"
    ([0.0, 2.0, 3.0], '2.7200')
    """
    places = integer(decimals, "round", "decimals")
    if places == 0:
        return operate("round", ops.Round, (x,))
    dtype, own = common_dtype((x,), "round"), as_tensor(x, "round")
    if dtype.is_integer and places > 0:
        return own
    if dtype.is_integer or not -MOST_DECIMALS <= places <= MOST_DECIMALS:
        raise InvalidArgument("this many decimals cannot be rounded to", op="round", operand="decimals",
                              got=f"{places}, of {dtype.name}",
                              expected=f"{-MOST_DECIMALS} to {MOST_DECIMALS}; for integers 0 or more",
                              help="convert integers first: x.astype(nv.float64)")
    scale, wide = 10.0 ** abs(places), convert(own, dtype.compute)
    scaled = multiply(wide, scale) if places > 0 else divide(wide, scale)
    whole = operate("round", ops.Round, (scaled,))
    rounded = divide(whole, scale) if places > 0 else multiply(whole, scale)
    return convert(where(is_finite(scaled), rounded, wide), dtype)


def subtract(x: Operand, y: Operand) -> Tensor:
    """x - y; not defined for two bool tensors.

    >>> nv.subtract(np.array([5, 7]), 2).tolist()
    [3, 5]
    """
    return operate("subtract", ops.Subtract, (x, y))


def stop_gradient(x: Operand) -> Tensor:
    """x itself; derivatives do not pass.

    >>> x = nv.variable((), 3.0)
    >>> nv.deriv(x * nv.stop_gradient(x), x).item()
    3.0
    """
    tensor = as_tensor(x, "stop_gradient")
    return Tensor(ops.StopGradient(tensor.value), tensor._axes)


def _truth(x: Operand) -> Tensor:
    tensor = as_tensor(x, "condition")
    return tensor if tensor.dtype is bool_ else Tensor(converted_to(tensor.value, bool_), tensor._axes)


def _scalar_type(operand: Operand, dtype: DType) -> DType | None:
    return dtype if is_weak(operand) else None


# -- the families ----------------------------------------------------------------------------------


def _plain(name: str, core: type[Op]) -> Callable[..., Tensor]:
    """The operands' promoted type."""
    if core.arity == 1:
        def unary(x: Operand) -> Tensor:
            return operate(name, core, (x,))
        return unary

    def binary(x: Operand, y: Operand) -> Tensor:
        return operate(name, core, (x, y))
    return binary


def _real(name: str, core: type[Op]) -> Callable[..., Tensor]:
    """Functions of real numbers: integers and bool become float32."""
    def unary(x: Operand) -> Tensor:
        return operate(name, core, (x,), floating(common_dtype((x,), name)))

    def binary(x: Operand, y: Operand) -> Tensor:
        return operate(name, core, (x, y), floating(common_dtype((x, y), name)))
    return unary if core.arity == 1 else binary


def _logical(name: str, core: type[Op]) -> Callable[..., Tensor]:
    """Functions of truth values: numbers count as true when they are not 0."""
    def binary(x: Operand, y: Operand) -> Tensor:
        values, axes, _ = alignment.aligned([_truth(x), _truth(y)], name)
        return Tensor(core(*values), axes)
    return binary


def _named(family: Callable[..., Callable[..., Tensor]], core: type[Op], name: str, arguments: str,
           result: str) -> Callable[..., Tensor]:
    """A function of a family by its name; its docstring shows the result for some arguments."""
    return described(family(name, core), name, core.__doc__, arguments, result)


negative = _named(_plain, ops.Negative, "negative", "np.array([1, -2])", "[-1, 2]")
absolute = _named(_plain, ops.Absolute, "absolute", "np.array([-1.5, 2.0])", "[1.5, 2.0]")
sign = _named(_plain, ops.Sign, "sign", "np.array([-3, 0, 5])", "[-1, 0, 1]")
square = _named(_plain, ops.Square, "square", "np.array([3, -4])", "[9, 16]")
relu = _named(_plain, ops.Relu, "relu", "np.array([-1.0, 2.0])", "[0.0, 2.0]")
floor = _named(_plain, ops.Floor, "floor", "np.array([1.7, -1.2])", "[1.0, -2.0]")
ceil = _named(_plain, ops.Ceil, "ceil", "np.array([1.2, -1.7])", "[2.0, -1.0]")
trunc = _named(_plain, ops.Truncate, "trunc", "np.array([1.7, -1.7])", "[1.0, -1.0]")
add = _named(_plain, ops.Add, "add", "np.array([1, 2]), 10", "[11, 12]")
multiply = _named(_plain, ops.Multiply, "multiply", "np.array([1, 2]), 3", "[3, 6]")
maximum = _named(_plain, ops.Maximum, "maximum", "np.array([1, 5]), 3", "[3, 5]")
minimum = _named(_plain, ops.Minimum, "minimum", "np.array([1, 5]), 3", "[1, 3]")
floordivide = _named(_plain, ops.FloorDivide, "floordivide", "np.array([7, -7]), 2", "[3, -4]")
mod = _named(_plain, ops.Mod, "mod", "np.array([7, -7]), 3", "[1, 2]")
equal = _named(_plain, ops.Equal, "equal", "np.array([1, 2]), 2", "[False, True]")
not_equal = _named(_plain, ops.NotEqual, "not_equal", "np.array([1, 2]), 2", "[True, False]")
less = _named(_plain, ops.Less, "less", "np.array([1, 2]), 2", "[True, False]")
less_equal = _named(_plain, ops.LessEqual, "less_equal", "np.array([1, 2]), 1", "[True, False]")
greater = _named(_plain, ops.Greater, "greater", "np.array([1, 2]), 1", "[False, True]")
greater_equal = _named(_plain, ops.GreaterEqual, "greater_equal", "np.array([1, 2]), 2", "[False, True]")
bitwise_and = _named(_plain, ops.BitwiseAnd, "bitwise_and", "np.array([6, 5]), 3", "[2, 1]")
bitwise_or = _named(_plain, ops.BitwiseOr, "bitwise_or", "np.array([6, 5]), 3", "[7, 7]")
bitwise_xor = _named(_plain, ops.BitwiseXor, "bitwise_xor", "np.array([6, 5]), 3", "[5, 6]")
bitwise_not = _named(_plain, ops.BitwiseNot, "bitwise_not", "np.array([0, 5])", "[-1, -6]")
left_shift = _named(_plain, ops.ShiftLeft, "left_shift", "np.array([1, 3]), 2", "[4, 12]")
right_shift = _named(_plain, ops.ShiftRight, "right_shift", "np.array([8, 5]), 1", "[4, 2]")
squared_difference = _named(_plain, ops.SquaredDifference, "squared_difference", "np.array([1, 2]), 5", "[16, 9]")
is_nan = _named(_plain, ops.IsNan, "is_nan", "np.array([1.0, np.nan])", "[False, True]")
is_inf = _named(_plain, ops.IsInf, "is_inf", "np.array([1.0, -np.inf])", "[False, True]")
is_finite = _named(_plain, ops.IsFinite, "is_finite", "np.array([1.0, np.inf])", "[True, False]")

exp = _named(_real, ops.Exp, "exp", "1.0", "2.7183")
exp2 = _named(_real, ops.Exp2, "exp2", "3.0", "8.0")
expm1 = _named(_real, ops.Expm1, "expm1", "1.0", "1.7183")
log = _named(_real, ops.Log, "log", "10.0", "2.3026")
log2 = _named(_real, ops.Log2, "log2", "8.0", "3.0")
log10 = _named(_real, ops.Log10, "log10", "1000.0", "3.0")
log1p = _named(_real, ops.Log1p, "log1p", "1.0", "0.6931")
sqrt = _named(_real, ops.Sqrt, "sqrt", "2.0", "1.4142")
rsqrt = _named(_real, ops.Rsqrt, "rsqrt", "4.0", "0.5")
cbrt = _named(_real, ops.Cbrt, "cbrt", "-8.0", "-2.0")
reciprocal = _named(_real, ops.Reciprocal, "reciprocal", "4.0", "0.25")
sin = _named(_real, ops.Sin, "sin", "np.pi / 6", "0.5")
cos = _named(_real, ops.Cos, "cos", "np.pi / 3", "0.5")
tan = _named(_real, ops.Tan, "tan", "np.pi / 4", "1.0")
asin = _named(_real, ops.Asin, "asin", "1.0", "1.5708")
acos = _named(_real, ops.Acos, "acos", "0.0", "1.5708")
atan = _named(_real, ops.Atan, "atan", "1.0", "0.7854")
sinh = _named(_real, ops.Sinh, "sinh", "1.0", "1.1752")
cosh = _named(_real, ops.Cosh, "cosh", "1.0", "1.5431")
tanh = _named(_real, ops.Tanh, "tanh", "1.0", "0.7616")
asinh = _named(_real, ops.Asinh, "asinh", "1.0", "0.8814")
acosh = _named(_real, ops.Acosh, "acosh", "2.0", "1.317")
atanh = _named(_real, ops.Atanh, "atanh", "0.5", "0.5493")
hypot = _named(_real, ops.Hypot, "hypot", "3.0, 4.0", "5.0")
sigmoid = _named(_real, ops.Sigmoid, "sigmoid", "1.0", "0.7311")
log_sigmoid = _named(_real, ops.LogSigmoid, "log_sigmoid", "0.0", "-0.6931")
softplus = _named(_real, ops.Softplus, "softplus", "0.0", "0.6931")
silu = _named(_real, ops.Silu, "silu", "1.0", "0.7311")
mish = _named(_real, ops.Mish, "mish", "1.0", "0.8651")
selu = _named(_real, ops.Selu, "selu", "-1.0", "-1.1113")
hard_sigmoid = _named(_real, ops.HardSigmoid, "hard_sigmoid", "1.0", "0.6667")
hard_swish = _named(_real, ops.HardSwish, "hard_swish", "1.0", "0.6667")
erf = _named(_real, ops.Erf, "erf", "1.0", "0.8427")
erfc = _named(_real, ops.Erfc, "erfc", "1.0", "0.1573")
erf_inv = _named(_real, ops.ErfInv, "erf_inv", "0.5", "0.4769")
lgamma = _named(_real, ops.Lgamma, "lgamma", "5.0", "3.1781")
digamma = _named(_real, ops.Digamma, "digamma", "1.0", "-0.5772")

logical_and = _named(_logical, ops.LogicalAnd, "logical_and", "np.array([True, False]), True", "[True, False]")
logical_or = _named(_logical, ops.LogicalOr, "logical_or", "np.array([True, False]), False", "[True, False]")
logical_xor = _named(_logical, ops.LogicalXor, "logical_xor", "np.array([True, False]), True", "[False, True]")

__all__ = [
    "absolute", "acos", "acosh", "add", "asin", "asinh", "atan", "atan2", "atanh", "bitcast",
    "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "cbrt", "ceil", "clip", "convert", "cos",
    "cosh", "digamma", "divide", "divmod", "elu", "equal", "erf", "erf_inv", "erfc", "exp", "exp2", "expm1", "floor",
    "floordivide", "gelu", "greater", "greater_equal", "hard_sigmoid", "hard_swish", "hypot", "is_finite",
    "is_inf", "is_nan", "leaky_relu", "left_shift", "less", "less_equal", "lgamma", "log", "log10", "log1p", "log2",
    "log_sigmoid", "logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum",
    "mish", "mod", "multiply", "negative", "not_equal", "power", "prelu", "reciprocal", "relu", "right_shift",
    "round", "rsqrt", "safelog", "selu", "sigmoid", "sign", "silu", "sin", "sinh", "softplus", "sqrt",
    "square", "squared_difference", "stop_gradient", "subtract", "tan", "tanh", "trunc", "where"]
