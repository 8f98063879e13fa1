"""Whole derivatives of functions: ``jacobian`` and ``hessian``.

>>> import numpy as np
>>> import nervure as nv
>>> jacobian(lambda x: x * x)(np.float32([1, 2])).tolist()
[[2.0, 0.0], [0.0, 4.0]]
>>> hessian(lambda x: nv.sum(x * x * x))(np.float32([1, 2])).tolist()
[[6.0, 0.0], [0.0, 12.0]]

A Jacobian has the axes of the result, then those of the argument. Forward mode maps tangents over the elements of the
argument, reverse mode gradients over those of the result: one graph, whatever their number.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from nervure.autodiff.batching import batched
from nervure.autodiff.forward import tangents
from nervure.autodiff.reverse import gradients
from nervure.errors import InvalidArgument, WrongKind, shown
from nervure.front.argument_parsing import require_function
from nervure.front.tensor import Tensor
from nervure.functions.gradient import argument_name, moving_in
from nervure.functions.nesting import Nest, Nested, results_of, tensors_of, together
from nervure.ir.leaves import Full, Parameter
from nervure.ir.op import Value
from nervure.jit import Jitted, signature_of
from nervure.ops.iota import Eye
from nervure.ops.views import Permute, Reshape
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import Axes
from nervure.types.axis import Axis, same_role
from nervure.types.dim import DimLike, less_equal, product

Argument = int | str
"""The position or the name of an argument."""


def jacobian(fun: Callable[..., Nest], argnums: Argument | Sequence[Argument] = 0,
             mode: str | None = None) -> Jitted[Nest]:
    """Returns a function that computes the derivative of each element of a result with respect to each of an argument.

    It has the axes of the result, then those of the argument, of the next level where both have one. ``argnums`` is
    the position or the name of an argument; several give a tuple. Nested results and arguments give results of
    arguments. ``mode`` is "forward" (a pass for each element of the argument) or "reverse" (one for each of the
    result); absent, forward if the argument is known to have no more elements. All passes are one graph.

    >>> nv.jacobian(lambda x: x * nv.sum(x))(np.float32([1, 2])).tolist()
    [[4.0, 1.0], [2.0, 5.0]]
    """
    require_function(fun, "jacobian")
    if mode not in (None, "forward", "reverse"):
        raise InvalidArgument("there is no such mode", op="jacobian", operand="mode", got=shown(mode),
                              expected="'forward', 'reverse' or None", help="None chooses by the numbers of elements")
    return _jacobian(fun, argnums, mode, "jacobian")


def _jacobian(fun: Callable[..., Nest], argnums: Argument | Sequence[Argument], mode: str | None,
              op: str) -> Jitted[Nest]:
    """Returns what ``jacobian`` does, for a function ``op`` of functions."""
    signature, several = signature_of(fun), isinstance(argnums, (list, tuple))
    listed: Sequence[object] = argnums if isinstance(argnums, (list, tuple)) else [argnums]
    names = [argument_name(signature, entry, fun, op) for entry in listed]

    @functools.wraps(fun)
    def traced(*arguments: Nest, **keywords: Nest) -> object:
        bound = signature.bind(*arguments, **keywords)
        moving = moving_in(bound, names, op)
        nodes = [node for entry in moving for node in entry.nodes]
        value = results_of(fun(*bound.args, **bound.kwargs), op)
        outputs = _real(value, op)
        is_forward = mode == "forward" or (mode is None and less_equal(_size(nodes), _size(outputs)) is True)
        rows = _forward(outputs, nodes) if is_forward else _reverse(outputs, nodes)
        found = iter([[Tensor(together(entry, value), _axes(output, node))
                       for node, entry in zip(nodes, row, strict=True)]
                      for output, row in zip(outputs, rows, strict=True)])

        def arguments_of(row: list[Tensor]) -> object:
            entries = iter(row)
            nested = tuple([argument.nested(entries) for argument in moving])
            return nested if several else nested[0]
        return value.again([None if leaf is None else arguments_of(next(found)) for leaf in value.leaves])

    return Jitted(traced)


def hessian(fun: Callable[..., Nest], argnums: Argument | Sequence[Argument] = 0) -> Jitted[Nest]:
    """Returns a function that computes the second derivatives of a function: the Jacobian of its Jacobian.

    Of a scalar function it has the axes of the argument twice, the second time of the next level. ``argnums`` is as for
    ``jacobian``; several arguments give a tuple of tuples. It is computed forward over reverse.

    >>> nv.hessian(lambda x, y: nv.sum(x * x * y))(np.float32([1, 2]), np.float32([3, 4])).tolist()
    [[6.0, 0.0], [0.0, 8.0]]
    """
    require_function(fun, "hessian")
    return _jacobian(_jacobian(fun, argnums, "reverse", "hessian"), argnums, "forward", "hessian")


def _real(value: Nested, op: str) -> list[Tensor]:
    """Returns the tensors of a value; WrongKind if one has no derivative."""
    for leaf, path in zip(value.leaves, value.paths, strict=True):
        if isinstance(leaf, Tensor) and not leaf.dtype.is_float:
            raise WrongKind("only floats have derivatives", op=op, operand=f"result{path}", got=str(leaf.type),
                            expected="a float element type", help="return it apart, or as a float")
    return tensors_of(value)


def _size(tensors: Sequence[Tensor]) -> DimLike:
    total: DimLike = 0
    for tensor in tensors:
        total = total + product(tensor.shape)
    return total


def _forward(outputs: Sequence[Tensor], nodes: Sequence[Tensor]) -> list[list[Value]]:
    """Returns a row for each output, of its derivatives for each node: the tangents along each element of the node."""
    columns = []
    for node in nodes:
        direction = Parameter.of(node.type).output
        found = tangents([output.value for output in outputs], [node.value], [direction])
        columns.append([_derivative(output, node, _mapped(entry, direction), is_behind=True)
                        for output, entry in zip(outputs, found, strict=True)])
    return [[column[at] for column in columns] for at in range(len(outputs))]


def _reverse(outputs: Sequence[Tensor], nodes: Sequence[Tensor]) -> list[list[Value]]:
    """Returns a row for each output, of its derivatives for each node: the gradients of each element of the output."""
    rows = []
    for output in outputs:
        seed = Parameter.of(output.type).output
        found = gradients([output.value], [node.value for node in nodes], [seed])
        rows.append([_derivative(output, node, _mapped(entry, seed), is_behind=False)
                     for node, entry in zip(nodes, found, strict=True)])
    return rows


def _mapped(linear: Value | None, argument: Value) -> Value | None:
    """Returns a linear function of an argument at each of its units, numbered by a dimension in front."""
    if linear is None:
        return None
    count = product(argument.shape)
    units = Reshape(Eye((count, count), 0, argument.dtype), (count, *argument.shape)).output
    found = batched([linear], {argument: units}, count)[0]
    return found.value if found.differs else None


def _derivative(output: Tensor, node: Tensor, found: Value | None, is_behind: bool) -> Value:
    """Returns a derivative in the shapes of output and node, from what was found with one of them numbered in front."""
    shape = (*output.shape, *node.shape)
    if found is None:
        return Full(0, output.dtype, shape).output
    if is_behind:
        found = Permute(found, [*range(1, found.rank), 0]).output
    return Reshape(found, shape).output


def _axes(output: Tensor, node: Tensor) -> Axes | None:
    """Returns the axes of output and node together; None if they cannot stand together, or have no names."""
    if not output.ndim or not node.ndim:
        return node._axes if node.ndim else output._axes
    if not (output.is_named and node.is_named):
        return None
    axes: list[Axis] = list(output.axes)
    for own in node.axes:
        while any([same_role(own, other) for other in axes]):
            own = own.offset(1)
        axes.append(own)
    return Axes(axes)


__all__ = ["hessian", "jacobian"]

explain_keywords(globals(), __all__)
