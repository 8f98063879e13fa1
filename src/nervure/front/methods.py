"""The operators and methods of tensors: functions of the front with the tensor as an operand.

This file stands above the others of the front, and ``nervure/front/__init__.py`` loads it. ``interface.pyi``, which is
made from the table ``METHODS``, declares the methods that it adds.

>>> import nervure as nv
>>> x = nv.constant([[1., 2.], [3., 4.]])
>>> (6 / x).tolist(), x.sum(axis=0).tolist(), x.T[0].tolist(), x.at[0, 0].set(9).tolist()
([[6.0, 3.0], [2.0, 1.5]], [4.0, 6.0], [1.0, 3.0], [[9.0, 2.0], [3.0, 4.0]])
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from numpy import ndarray, ufunc

from nervure.errors import WrongKind
from nervure.front import accessors, creation, display, dlpack, facets, flexible, gradients, op_functions
from nervure.front.apply import Made
from nervure.front.argument_parsing import not_into
from nervure.front.arranging import indexing, views
from nervure.front.evaluation_order import check_sides
from nervure.front.matrices import contraction
from nervure.front.pointwise import complex_parts, elementary, elementwise, float_bits, predicates
from nervure.front.special import special_functions
from nervure.front.statistics import prefixes, reductions, sorts
from nervure.front.tensor import Operand, Tensor, is_operand, upward
from nervure.support import forks
from nervure.support.elsewhere import explains_keywords
from nervure.types.dtype import DTypeLike
from nervure.types.foreign import answers_itself

OPERATORS: dict[str, Callable[..., object]] = {
    "add": op_functions.add, "sub": op_functions.subtract, "mul": op_functions.multiply,
    "truediv": op_functions.divide, "floordiv": op_functions.floordivide, "mod": op_functions.mod,
    "pow": elementwise.power, "and": op_functions.bitwise_and, "or": op_functions.bitwise_or,
    "xor": op_functions.bitwise_xor, "lshift": op_functions.left_shift, "rshift": op_functions.right_shift,
    "matmul": contraction.matmul_operator, "divmod": elementwise.divmod,
}
"""Binary operators, which have a reflected form: ``1 - x`` is ``x.__rsub__(1)``."""

COMPARISONS: dict[str, Callable[..., Tensor]] = {
    "lt": op_functions.less, "le": op_functions.less_equal,
    "gt": op_functions.greater, "ge": op_functions.greater_equal,
}

EQUALITIES: dict[str, Callable[..., Tensor]] = {"eq": op_functions.equal, "ne": op_functions.not_equal}

REDUCTIONS: dict[str, Callable[..., Tensor]] = {
    "sum": reductions.sum, "prod": reductions.prod, "max": reductions.max, "min": reductions.min,
    "mean": reductions.mean, "variance": reductions.variance, "var": reductions.variance, "std": reductions.std,
    "any": reductions.any, "all": reductions.all, "argmax": reductions.argmax, "argmin": reductions.argmin,
}

RUNNING: dict[str, Callable[..., Tensor]] = {
    name: getattr(prefixes, name) for name in ("cumsum", "cumprod", "cummax", "cummin")}

UFUNC_NAMES = {"true_divide": "divide", "floor_divide": "floordivide", "arcsin": "asin", "arccos": "acos",
               "arctan": "atan", "arctan2": "atan2", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
               "fabs": "absolute", "bitwise_invert": "bitwise_not"}
"""NumPy's names of functions that have another name here."""

UFUNCS: dict[str, Callable[..., object]] = {
    "matmul": contraction.matmul_operator, **op_functions.FUNCTIONS,
    **{name: getattr(module, name) for module in (elementwise, elementary, special_functions, predicates, float_bits)
       for name in module.__all__},
    "conjugate": complex_parts.conj}


def _operator(name: str, function: Callable[..., object], reflected: bool = False) -> Callable[..., object]:
    """Makes a binary operator. It returns NotImplemented, so that Python asks the other operand, if that is none of
    ours or answers itself.
    """
    def method(self: Tensor, other: Operand) -> object:
        is_ours = is_operand(other) or type(other).__module__ == "builtins" or hasattr(other, "has_no_value")
        if not is_ours or answers_itself(other, self.__array_priority__):
            return NotImplemented
        return function(other, self) if reflected else function(self, other)

    method.__annotations__["return"] = function.__annotations__["return"]
    return _called(method, name, f"``nv.{function.__name__.removesuffix('_operator')}``.")


def array_function(x: Tensor, function: Callable[..., object], types: Sequence[type],
                   arguments: Sequence[object], keywords: dict[str, object]) -> object:
    """``Tensor.__array_function__``: the meaning of a function of NumPy for tensors."""
    with forks.importing():  # nearly all rooms, which most programs need not
        from nervure.front import numpy_functions
    return numpy_functions.array_function(x, function, types, arguments, keywords)


def _comparison(name: str, function: Callable[..., Tensor]) -> Callable[..., object]:
    """Makes ``<`` and the like, for which Python asks a place first, on whichever side it stands."""
    def compare(x: Tensor, y: Operand) -> Tensor:
        check_sides(function.__name__, x, y)
        return function(x, y)

    compare.__name__ = function.__name__
    return _operator(name, compare)


def _equality(name: str, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Makes ``==`` or ``!=``, element by element. None, a text and other things without elements are no operands:
    Python then compares by identity.
    """
    def method(self: Tensor, other: object) -> Tensor:
        has_elements = is_operand(other) or isinstance(other, (list, tuple)) or hasattr(other, "has_no_value")
        if not has_elements or answers_itself(other, self.__array_priority__):
            return NotImplemented
        check_sides(function.__name__, self, other)
        return function(self, other)

    return _called(method, name, f"``nv.{function.__name__}``; ``x is y`` compares the tensors themselves.")


def _reduction(name: str, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Makes a reduction method that may also be called as NumPy's: ``x.sum(axis=None, dtype=None, out=None)``."""
    def method(self: Tensor, *arguments: object, dtype: DTypeLike | None = None, out: None = None,
               **keywords: object) -> Tensor:
        if out is not None:
            raise not_into(out, name)
        return function(self if dtype is None else elementwise.convert(self, dtype), *arguments, **keywords)

    method.__dict__["__signature__"] = _joined(function, method)  # inspect looks for it
    return _called(method, name, f"``nv.{function.__name__}`` of this tensor; ``dtype`` converts it first.")


def _called(method: Made, name: str, document: str) -> Made:
    """Names a method and documents it like one that is written out."""
    method.__name__, method.__qualname__, method.__doc__ = name, f"Tensor.{name}", document
    return method


def _joined(function: Callable[..., object], method: Callable[..., object]) -> inspect.Signature:
    """The signature of a function with the keywords that a method adds."""
    own = inspect.signature(function)
    added = [parameter for parameter in inspect.signature(method).parameters.values()
             if parameter.kind is parameter.KEYWORD_ONLY]
    return own.replace(parameters=[*own.parameters.values(), *added])


def array_ufunc(x: Tensor, ufunc: ufunc, method: str, *inputs: Any, **keywords: object) -> object:
    """``np.add(array, x)`` and ``array + x``: NumPy's universal function by its nervure name."""
    name = UFUNC_NAMES.get(ufunc.__name__, ufunc.__name__)
    if method != "__call__" or keywords or name not in UFUNCS:
        raise WrongKind("this NumPy function does not know tensors", op=f"np.{ufunc.__name__}",
                        help=_instead(name if method == "__call__" else ""), got="a tensor",
                        expected="arrays")
    return UFUNCS[name](*inputs)


def _instead(name: str) -> str:
    """Says what to use in place of one of NumPy's universal functions."""
    array = "x.numpy() gives an array, without a derivative"
    return f"nv.{name} does it for each element; {array}" if name in UFUNCS else array


def storage(x: Tensor) -> ndarray:
    """The memory of a tensor that exists, or of an input, live on both sides; an assigned array is used as it is. A
    view has that of the tensor below.
    """
    array: ndarray = upward().storage(x)
    return array


def set_storage(x: Tensor, array: ndarray) -> None:
    """Puts an array in place of the storage."""
    upward().set_storage(x, array)


def mref(x: Tensor, *index: int) -> complex:
    """``nv.mref(x, i, j)``: one element of a tensor."""
    found: complex = upward().mref(x, *index)
    return found


def set_mref(x: Tensor, *index_and_value: complex) -> None:
    """``x.set_mref(i, j, value)`` writes one element of a tensor that keeps a value of its own, through views too."""
    upward().set_mref(x, *index_and_value)


@explains_keywords
def backward(x: Tensor, accumulate: bool = False) -> None:
    """Writes the derivatives of a scalar to the ``grad`` of all parameters below it, or adds them (``accumulate``)."""
    upward().backward(x, accumulate)


ACCESSORS: dict[str, Callable[..., object]] = {
    "belongs_to": accessors.belongs_to, "buffer_id": accessors.buffer_identifier,
    "description": accessors.description, "device": facets.device, "facet": facets.facet,
    "flexible_at": flexible.flexible_at, "grad": gradients.grad, "has_param_ancestor": gradients.has_param_ancestor,
    "id": accessors.identifier, "is_scalar": accessors.is_scalar, "is_view": accessors.is_view,
    "node": accessors.node, "offset": accessors.offset, "order": accessors.order, "orig_shape": accessors.orig_shape,
    "parents": accessors.parents, "requires_grad": gradients.requires_grad, "state": facets.state,
    "state_dict_name": accessors.state_dict_name, "strides": accessors.strides, "view_spec": accessors.view_spec,
}
"""The properties of a tensor."""

METHODS: dict[str, Callable[..., object] | property] = {
    **{f"__{name}__": _operator(f"__{name}__", function) for name, function in OPERATORS.items()},
    **{f"__{name}__": _comparison(f"__{name}__", function) for name, function in COMPARISONS.items()},
    **{f"__r{name}__": _operator(f"__r{name}__", function, reflected=True) for name, function in OPERATORS.items()},
    **{f"__{name}__": _equality(f"__{name}__", function) for name, function in EQUALITIES.items()},
    "__bool__": facets.truth_value,
    "__neg__": op_functions.negative,
    "__pos__": creation.expression,
    "__abs__": op_functions.absolute,
    "__round__": elementwise.round,
    "__invert__": op_functions.bitwise_not,
    "__getitem__": indexing.get_item,
    "__array_ufunc__": array_ufunc,
    "__array_function__": array_function,
    "__dlpack__": dlpack.to_dlpack,
    "__dlpack_device__": dlpack.dlpack_device,
    "_repr_html_": display.as_html,
    **{name: _reduction(name, function) for name, function in (REDUCTIONS | RUNNING).items()},
    "astype": elementwise.convert,
    "dot": contraction.dot,
    "argsort": sorts.argsort,
    "sort": sorts.sort,
    "top_k": sorts.top_k,
    "reshape": views.reshape_method,
    "transpose": views.transpose_method,
    "flatten": views.flatten,
    "broadcast_to": views.broadcast,
    "squeeze": views.squeeze,
    "variables": creation.variables_below,
    "T": property(views.transposed),
    "mT": property(views.matrix_transposed),
    "at": property(indexing.AtIndexer),
    "backward": backward,
    "detach": gradients.detach,
    "mref": mref,
    "numel": accessors.numel,
    "set_mref": set_mref,
    "storage": property(storage, set_storage),
    **{name: property(function) for name, function in ACCESSORS.items()},
}

for _name, _method in METHODS.items():
    setattr(Tensor, _name, _method)
