"""Derivatives of functions along directions, and their transposes: ``jvp``, ``vjp``, ``linearize``, ``hvp``.

>>> import nervure as nv
>>> value, slope = jvp(lambda x, y: x * x * y, (3.0, 2.0), (1.0, 0.0))
>>> value.item(), slope.item()
(18.0, 12.0)
>>> value, pull = vjp(lambda x, y: x * x * y, 3.0, 2.0)
>>> [gradient.item() for gradient in pull(1.0)]
[12.0, 9.0]

Called with arrays they compute; inside of a function that is traced, and with tensors that calls supply, they extend
the graph, so they can be applied to each other. ``vjp`` and ``linearize`` give a *linear* function: a graph of its
arguments and of residuals, the values that it needs of the original function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from nervure import ops
from nervure.autodiff.derivative import weights_like
from nervure.autodiff.forward import tangents as tangents_of
from nervure.autodiff.reverse import gradients
from nervure.errors import InvalidArgument, WrongKind, shown
from nervure.front.argument_parsing import require_function
from nervure.front.creation import as_tensor
from nervure.front.tensor import Tensor
from nervure.functions.gradient import gradients_of
from nervure.functions.nesting import (
    Moving,
    Nest,
    Nested,
    called,
    has_derivative,
    name_of,
    tensors_of,
    together,
    values_of,
)
from nervure.ir.leaves import Parameter
from nervure.ir.op import Value, or_zeros
from nervure.ir.region import Region
from nervure.jit import Jitted
from nervure.support.elsewhere import explain_keywords


def jvp(fun: Callable[..., Nest], primals: Sequence[Nest], tangents: Sequence[Nest]) -> tuple[Nest, Nest]:
    """Returns the value of ``fun(*primals)``, and its derivative along the direction ``tangents``, in one pass.

    Both have an entry for each argument of the function, and ``tangents`` are nested as ``primals`` are. A tangent has
    the axes of its primal, or fewer; None keeps a primal where it is, as integers stay. The derivative is nested as the
    value is; that of integers and booleans is 0. Each call traces the function, unless ``nv.jit`` keeps the trace.

    >>> value, slope = nv.jvp(nv.sin, (0.0,), (2.0,))
    >>> value.item(), slope.item()
    (0.0, 2.0)
    """
    require_function(fun, "jvp")
    return _along(fun, primals, tangents, "jvp")


def _along(fun: Callable[..., Nest], primals: Sequence[Nest], tangents: Sequence[Nest], op: str) -> tuple[Nest, Nest]:
    """Returns what ``jvp`` does, for a function ``op`` of functions."""
    def traced(primals: Nest, tangents: Nest) -> object:
        start = Nested.of(primals)
        directions = start.alike(tangents, op, "tangents", "primals")
        moving = Moving.of(start, [at for at, entry in enumerate(directions) if entry is not None], op)
        given = [entry for entry in directions if entry is not None]
        weights = [weights_like(entry, node, op, f"tangents{start.paths[at]}", "its primal")
                   for entry, node, at in zip(given, moving.nodes, moving.places, strict=True)]
        value = moving.applied(fun, op)
        found = _filled(value, tangents_of(values_of(value), moving.values, weights))
        slopes = iter([Tensor(together(entry, value), leaf._axes)
                       for entry, leaf in zip(found, tensors_of(value), strict=True)])
        return value.again(value.leaves), value.again([None if leaf is None else next(slopes)
                                                       for leaf in value.leaves])

    return called(traced, fun, _listed(primals, op, "primals"), _listed(tangents, op, "tangents"))


def vjp(fun: Callable[..., Nest], *primals: Nest) -> tuple[Nest, Callable[[Nest], tuple[Nest, ...]]]:
    """Returns the value of ``fun(*primals)``, and the linear function from gradients of the value to those of primals.

    That function takes one argument, nested as the value is (None for zero), and gives a tuple with an entry for each
    primal, nested in its way; the gradient of what is no float is None. It may be called again and again: what it needs
    of the first call is kept.

    >>> value, pull = nv.vjp(lambda x: {"y": x * x}, np.float32([1, 2]))
    >>> value["y"].tolist(), pull({"y": np.float32([1, 10])})[0].tolist()
    ([1.0, 4.0], [2.0, 40.0])
    """
    require_function(fun, "vjp")

    def pulling(moving: Moving, value: Nested) -> _Linear:
        real = [at for at, leaf in enumerate(value.leaves) if has_derivative(leaf)]
        outputs = values_of(value.only(real))
        seeds = [Parameter.of(output.type) for output in outputs]
        found = gradients(outputs, moving.values, seeds)
        region = Region.of([*map(or_zeros, found, moving.values)], seeds)
        return _Linear(region, value.only(real), moving.arguments.only(moving.places))

    value, pull = _linearized(fun, primals, "vjp", "gradients", "value", pulling)
    return value, lambda gradients: pull(gradients)


def linearize(fun: Callable[..., Nest], *primals: Nest) -> tuple[Nest, Callable[..., Nest]]:
    """Returns the value of ``fun(*primals)``, and its derivative there: the linear function of directions.

    That function takes a tangent for each primal, as ``nv.jvp`` does, and gives what jvp gives as the derivative. It
    may be called again and again: what it needs of the first call is kept.

    >>> value, push = nv.linearize(nv.exp, 0.0)
    >>> value.item(), push(1.0).item(), push(3.0).item()
    (1.0, 1.0, 3.0)
    """
    require_function(fun, "linearize")

    def pushing(moving: Moving, value: Nested) -> _Linear:
        directions = [Parameter.of(node.type) for node in moving.nodes]
        found = tangents_of(values_of(value), moving.values, directions)
        return _Linear(Region.of(_filled(value, found), directions), moving.arguments.only(moving.places), value)

    value, push = _linearized(fun, primals, "linearize", "tangents", "primals", pushing)
    return value, lambda *tangents: push(tangents)


def hvp(fun: Callable[..., Nest], primals: Sequence[Nest], tangents: Sequence[Nest]) -> Nest:
    """Returns the Hessian of a scalar function at ``primals``, times ``tangents``: the derivative of its gradient along
    them.

    It takes a few times as long as the function, whatever the number of elements: no matrix is made. The result is
    nested as the one primal is, and is a tuple of such for several. All primals are floats.

    >>> nv.hvp(lambda x: nv.sum(x * x * x), (np.float32([1, 2]),), (np.float32([1, 0]),)).tolist()
    [6.0, 0.0]
    """
    require_function(fun, "hvp")

    def gradient(*arguments: Nest) -> Nest:
        moving = Moving.of_given(Nested.of(arguments), "hvp", "primals")
        return gradients_of(moving.result(fun), [moving], "hvp")[0]

    gradient.__name__ = name_of(fun)
    products = _along(gradient, primals, tangents, "hvp")[1]
    return products[0] if len(primals) == 1 else products


class _Linear(NamedTuple):
    """A linear function: a ``region`` whose parameters stand for the leaves of ``inputs``, and its results for those of
    ``outputs``. These leaves are tensors of the types and axes that are meant, or None for what takes no part.
    """

    region: Region
    inputs: Nested
    outputs: Nested

    def residuals(self, value: Nested) -> list[Tensor]:
        """Returns what the region needs from outside, read where the function's ``value`` is."""
        return [Tensor(together(entry, value)) for entry in self.region.captured]

    def applied(self, given: Sequence[object], residuals: Sequence[object], op: str, operand: str, of: str) -> object:
        """Returns the outputs for leaves that are given for the inputs."""
        weights = []
        for leaf, like, path in zip(given, self.inputs.leaves, self.inputs.paths, strict=True):
            if isinstance(like, Tensor):
                weights.append(like.value.full(0) if leaf is None else
                               weights_like(leaf, like, op, f"{operand}{path}", f"the {of} there"))
            elif leaf is not None:
                raise InvalidArgument(f"the {of} there is no float, and has no derivative", op=op,
                                      operand=f"{operand}{path}", got=shown(leaf), expected="None",
                                      help="give None for what takes no part")
        found = iter(self.region.body(*weights, *[as_tensor(entry).value for entry in residuals]))
        return self.outputs.again([Tensor(next(found), leaf._axes) if isinstance(leaf, Tensor) else None
                                   for leaf in self.outputs.leaves])


def _linearized(fun: Callable[..., Nest], primals: Sequence[Nest], op: str, operand: str, of: str,
                linear_at: Callable[[Moving, Nested], _Linear]) -> tuple[Nest, Callable[[Nest], Nest]]:
    """Returns the value of a function, and a linear function that was traced with it. ``linear_at`` makes that of the
    floats among the primals, and of the value.
    """
    made: list[_Linear] = []

    def traced(primals: Nest) -> object:
        moving = Moving.of_floats(Nested.of(primals), op)
        value = moving.applied(fun, op)
        made.append(linear_at(moving, value))
        return value.again(value.leaves), made[-1].residuals(value)

    value, residuals = called(traced, fun, primals)
    linear = made[-1]

    def apply(given: Sequence[object], residuals: Sequence[object]) -> object:
        return linear.applied(given, residuals, op, operand, of)

    kept = Jitted(apply)
    return value, lambda given: kept(linear.inputs.alike(given, op, operand, of), residuals)


def _listed(values: object, op: str, operand: str) -> tuple[object, ...]:
    """Returns arguments that are given as a tuple or list; WrongKind for one argument alone."""
    if not isinstance(values, (tuple, list)):
        raise WrongKind(f"{operand} are a tuple, with an entry for each argument of the function", op=op,
                        operand=operand, got=shown(values), expected="a tuple or a list",
                        help=f"for one argument write nv.{op}(f, (x,), (direction,))")
    return tuple(values)


def _filled(value: Nested, found: Sequence[Value | None]) -> list[Value]:
    """Returns the tangents of a function's value, with zeros for None."""
    return [Tensor(ops.Full(0, leaf.dtype, leaf.type.shape)).value if entry is None else entry
            for leaf, entry in zip(tensors_of(value), found, strict=True)]


__all__ = ["hvp", "jvp", "linearize", "vjp"]

explain_keywords(globals(), __all__)
