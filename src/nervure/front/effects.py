"""Effects: assignment, sequencing, printing, and calls of the host, as a user writes them.

>>> import nervure as nv
>>> x, y = nv.variable((), 1.0), nv.variable((), 2.0)
>>> swap = nv.doall([nv.assign(x, y), nv.assign(y, x)])
>>> nv.evaluate(nv.sequential([swap, x * 10 + y])).item()
21.0

This module records only what shall happen; :mod:`nervure.front.placement` decides which state each read sees.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast, overload

from nervure import ops
from nervure.errors import InvalidArgument, WrongKind, shown, warn_user
from nervure.front import alignment, argument_parsing
from nervure.front.arranging.index_expressions import choose
from nervure.front.arranging.views import base_of
from nervure.front.creation import AssignableTensorOp, as_tensor, received
from nervure.front.tensor import Number, Operand, Tensor, TensorLike, is_operand, value_only
from nervure.front.traced_numbers import is_number
from nervure.ir.identity import Uncopyable
from nervure.ir.leaves import ReadVariable
from nervure.ir.op import Op, Value
from nervure.ir.variable import Variable
from nervure.ops.conversion import converted
from nervure.ops.order import Assign, DoAll, Sequential, kept
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import Axes
from nervure.types.frozen import put
from nervure.types.index_map import IndexMap


class Effect(Uncopyable):
    """Something to be done that has no value: an assignment, or several side by side.

    Using it as an operand is an error that says so, on either side of every operator.
    """

    __slots__ = ("op",)
    has_no_value = True
    __array_ufunc__ = None  # NumPy's arrays leave an operator to the methods below

    def __init__(self, op: Op) -> None:
        self.op = op

    @property
    def value(self) -> Value:
        """The token that stands for it among the members of a sequence."""
        return self.op.outputs[0]

    def __repr__(self) -> str:
        about = f"to {self.op.variable!r}" if isinstance(self.op, Assign) else f"of {len(self.op.operands)}"
        return f"<effect {type(self.op).__name__} {about}>"


def _refusal(op: str) -> Callable[..., object]:
    """Makes the method of an operator, which refuses effects."""
    def method(self: Effect, *others: object) -> None:
        value_only(self, op, 1)
    return method


for _name, _op in {"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floordivide",
                   "mod": "mod", "pow": "power", "matmul": "dot", "and": "bitwise_and", "or": "bitwise_or",
                   "xor": "bitwise_xor", "lshift": "left_shift", "rshift": "right_shift"}.items():
    setattr(Effect, f"__{_name}__", _refusal(_op))
    setattr(Effect, f"__r{_name}__", _refusal(_op))
for _name, _op in {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "neg": "negative",
                   "abs": "absolute", "invert": "bitwise_not"}.items():
    setattr(Effect, f"__{_name}__", _refusal(_op))


def assign(target: Tensor, value: TensorLike) -> Effect:
    """Writes ``value`` to a variable, persistent tensor, placeholder or temporary, or through a view to its base.

    The value's axes must be a subset of the target's (else AxisMismatch); it is broadcast and converted to the
    target's type.

    >>> w = nv.variable("H=2", 1.0)
    >>> step = nv.computation([nv.assign(w, w + 1), nv.assign(w[0], 0), w])
    >>> step()[2].tolist(), step()[2].tolist()
    ([0.0, 2.0], [0.0, 3.0])
    """
    variable, index_map = _target_of(target)
    own = received(value, target.dtype, "assign")
    return Effect(Assign(converted(alignment.fitted(own, target, "assign"), target.dtype), variable, index_map))


def fill(target: Tensor, number: Number) -> Effect:
    """Writes one number to every element of a variable or view.

    >>> w = nv.variable((3,))
    >>> nv.evaluate(nv.sequential([nv.fill(w[1:], 7), w])).tolist()
    [0.0, 7.0, 7.0]
    """
    if not is_number(number):
        raise WrongKind("fill takes a number", op="fill", operand=2, got=type(number).__name__, expected="a number",
                        help="nv.assign writes tensors")
    return assign(target, number)


def set_item(target: Tensor, item: object, value: TensorLike) -> Effect:
    """``target[item] = value``: an assignment through the view ``target[item]``.

    If index arrays choose the elements, the whole target is written.

    >>> w = nv.variable((3,))
    >>> nv.evaluate(nv.sequential([nv.set_item(w, 0, 5), w])).tolist()
    [5.0, 0.0, 0.0]
    """
    if not isinstance(target, Tensor):
        raise _no_place("set_item", target)
    view, picks = choose(target, item)
    return assign(target, target.at[item].set(value)) if picks.dimensions else assign(view, value)


def sequential(members: Iterable[object]) -> Any:
    """Runs the members one after the other; its value is the last member's (an effect if that one has none).

    >>> w = nv.variable((), 1.0)
    >>> nv.evaluate(nv.sequential([nv.assign(w, w + 1), nv.assign(w, w * 10), w])).item()
    20.0
    """
    listed = _members(members, "sequential")
    if not listed:
        raise InvalidArgument("a sequence needs a member", op="sequential", expected="one or more",
                              got="no members", help="nothing to do is nv.doall([])")
    op = Sequential(*[member.value for member in listed])
    last = listed[-1]
    return Effect(op) if isinstance(last, Effect) else Tensor(op, last._axes)


def doall(members: Iterable[object]) -> Effect:
    """Does all members side by side: every read sees the state at entry, all writes land together at the end.

    >>> x, y = nv.variable((), 1.0), nv.variable((), 2.0)
    >>> nv.evaluate(nv.doall([nv.assign(x, y), nv.assign(y, x)]))
    >>> x.item(), y.item()
    (2.0, 1.0)
    """
    return Effect(DoAll(*[member.value for member in _members(members, "doall")]))


def value_of(x: Tensor) -> Tensor:
    """Returns the value of a tensor at this place: the read of a variable is placed together with the expression
    around it.

    >>> w = nv.variable((), 1.0)
    >>> before = nv.value_of(w)
    >>> nv.evaluate(nv.sequential([before, nv.assign(w, 5), before + w])).item()
    6.0
    """
    own = as_tensor(x, "value_of")
    return Tensor(own.value, own._axes)


class Printed(Tensor, is_device=False):
    """The result of ``print_op``; it warns if it is dropped before anything is made of it."""

    __slots__ = ("_is_read",)

    def __new__(cls, value: Value | Op, axes: Axes | None = None) -> Printed:
        made = super().__new__(cls, value, axes)
        put(made, "_is_read", False)
        return cast("Printed", made)

    @property
    def value(self) -> Value:
        """The core value; an expression, or a computation, that asks for it reads the tensor."""
        put(self, "_is_read", True)
        return self._value

    def __del__(self) -> None:
        if not (getattr(self, "_is_read", True) or sys.is_finalizing()):
            warn_user("print_op: nothing reads the result, so nothing is printed: go on with it, as in "
                      "x = nv.print_op(x), or put it among the returns of a computation", self._value.op.location)


def print_op(x: TensorLike, prefix: str | None = None) -> Tensor:
    """Prints x to standard output at each run, and passes it on. A result that nothing reads is never printed, and a
    warning says so.

    >>> nv.print_op(nv.constant([1, 2]), "x").tolist()
    x: [1. 2.]
    [1.0, 2.0]
    """
    own = as_tensor(x, "print_op")
    return Printed(ops.PrintOp(own.value, prefix="" if prefix is None else str(prefix)), own._axes)


@overload
def host_call(function: Callable[..., object], operands: Sequence[TensorLike], like: Operand,
              effectful: bool = False) -> Tensor: ...


@overload
def host_call(function: Callable[..., object], operands: Sequence[TensorLike],
              like: list[Operand] | tuple[Operand, ...], effectful: bool = False) -> tuple[Tensor, ...]: ...


def host_call(function: Callable[..., object], operands: Sequence[object], like: object,
              effectful: bool = False) -> Tensor | tuple[Tensor, ...]:
    """Calls a Python function with arrays while the graph runs.

    ``like`` declares the results: a tensor with the axes and type of the result, or a list of such tensors. An
    ``effectful`` call runs once per run even if its results are not read. The function receives the ``operands`` as
    read-only arrays, which it may keep. It may use other computations, but changing a variable of the running one
    raises InUse.

    >>> x = nv.constant([3, 1, 2])
    >>> nv.host_call(np.sort, [x], like=x).tolist()
    [1.0, 2.0, 3.0]
    """
    declared = list(like) if isinstance(like, (list, tuple)) else [like]
    operands = argument_parsing.members(operands, "host_call", "operands", "a list of tensors")
    kinds = [as_tensor(entry, "host_call") for entry in declared]
    tensors = [as_tensor(operand, "host_call", position + 1) for position, operand in enumerate(operands)]
    call = ops.HostCall(*[entry.value for entry in tensors], function=function, types=[kind.type for kind in kinds],
                        effectful=effectful)
    results = [Tensor(value, kind._axes) for value, kind in zip(call.outputs, kinds, strict=True)]
    return tuple(results) if isinstance(like, (list, tuple)) else results[0]


def _members(members: Iterable[object], op: str) -> list[Tensor | Effect]:
    if isinstance(members, (Tensor, Effect)):
        raise WrongKind(f"{op} takes a list", op=op, got=repr(members), expected="a list of tensors and effects",
                        help=f"write nv.{op}([...])")
    listed = argument_parsing.members(members, op, "members", "a list of tensors and effects")
    return [_member(member, op, position + 1) for position, member in enumerate(listed)]


def _member(member: object, op: str, position: int) -> Tensor | Effect:
    if isinstance(member, (Tensor, Effect)):
        return member
    if not is_operand(member):
        value_only(member, op, position)
    return as_tensor(member, op, position)


def _target_of(target: object) -> tuple[Variable, IndexMap | None]:
    """Returns the variable below a target, and the index map of the views between (None: all of it)."""
    if not isinstance(target, Tensor):
        raise _no_place("assign", target)
    if isinstance(target, AssignableTensorOp):
        if target.variable is None:
            raise InvalidArgument("a constant cannot be assigned", op="assign", operand=1, got=repr(target),
                                  expected="a variable or a view of one",
                                  help="make it with nv.persistent_tensor or nv.variable")
        return target.variable, None
    base, index_map = base_of(target.value)
    read = kept(base)
    if not isinstance(read, ReadVariable):
        raise InvalidArgument("only a variable, or a view of one, can be assigned", op="assign", operand=1,
                              got=repr(target), expected="a variable or a view of one",
                              help="an expression is computed, not stored")
    return read.variable, index_map


def _no_place(op: str, target: object) -> WrongKind:
    return WrongKind("only a tensor can be assigned", op=op, operand=1, got=shown(target),
                     expected="a variable or a view of one", help="nv.variable and nv.persistent_tensor make places")


explain_keywords(globals(), ["assign", "doall", "fill", "host_call", "print_op", "sequential", "set_item", "value_of"])
