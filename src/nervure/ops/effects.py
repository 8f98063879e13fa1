"""Ops with effects: a call of a Python function, printing, a guard that ends the run.

They happen in the order of their Function's ``effects``; nothing drops, merges or reorders them.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (3,))
>>> PrintOp(x, prefix="x")
f32[3] PrintOp(Parameter)
>>> HostCall(x, function=lambda array: array[::-1], types=[x.type], effectful=False)
f32[3] HostCall(Parameter)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nervure.errors import DtypeMismatch, InvalidArgument, NervureError, NumericError
from nervure.ir import field
from nervure.ir.leaves import Full
from nervure.ir.op import Gradient, Gradients, Op, Value
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import DimLike
from nervure.types.dtype import bool_


class HostCall(Op):
    """A Python function of NumPy arrays, with declared result types. Every transformer can run it.

    ``function(*arrays)`` receives read-only arrays, which it may keep, and returns an array (a tuple of them if
    ``types`` has several; None if it has none), which is converted like an argument of a call. A call that is not
    ``effectful`` must depend on its operands alone: it may be left out, merged with an equal one, or run again. The
    function may read the variables of the call that it runs in, but not change them (InUse).
    """

    operand_names = "*xs"
    function = field.function_of_host()
    types = field.types()
    effectful = field.boolean(True)

    def infer(self, *types: BasicTensorDescription) -> tuple[BasicTensorDescription, ...]:
        return self.types

    def vmap(self, length: DimLike, mapped: Sequence[bool], *operands: Value) -> tuple[Value, ...]:
        """Calls the function for one element after the other.

        What has lengths that are symbols for one element has an example without elements behind the operands: its shape
        is that of the results for no element at all.
        """
        function, types, first = self.function, self.types, list(mapped).index(True)
        examples = {at: Full(0, type.dtype, (0, *type.shape)).output for at, type in enumerate(types) if type.symbols}

        def for_each(*arrays: np.ndarray) -> object:
            rows = [function(*[array[k, ...] if is_mapped else array
                               for array, is_mapped in zip(arrays, mapped, strict=False)])
                    for k in range(len(arrays[first]))]
            known = dict(zip(examples, arrays[len(mapped):], strict=True))
            if len(types) == 1:
                return _stacked(rows, types[0], known.get(0))
            return tuple([_stacked([row[at] for row in rows], type, known.get(at))
                          for at, type in enumerate(types)]) or None

        several = [type.with_(shape=(length, *type.shape), layout=None) for type in types]
        return HostCall(*operands, *examples.values(), function=for_each, types=several,
                        effectful=self.effectful).outputs


def _stacked(arrays: Sequence[object], type: BasicTensorDescription, example: np.ndarray | None) -> np.ndarray:
    if arrays:
        return np.stack([np.asarray(array) for array in arrays])
    if example is not None:
        return example
    return np.empty((0, *[length for length in type.shape if isinstance(length, int)]), type.dtype.numpy)


class EffectOp(Op, abstract=True):
    """An op that is an effect, whatever its attributes."""

    @property
    def effectful(self) -> bool:
        """True: it is neither dropped nor merged nor reordered."""
        return True

    def raised(self, length: DimLike) -> Mapping[str, object]:
        return self.attributes


class PrintOp(EffectOp):
    """x itself; each run prints it to standard output, after ``prefix`` if there is one."""

    signature = "x[~] -> y[~]"
    prefix = field.string("")

    def vjp(self, gradient: Value, x: Value) -> Gradients:
        return (gradient,)


class Guard(EffectOp):
    """Ends the run with an error if an element of ``condition`` is false; then nothing has been changed.

    ``kind`` selects the error: "value" an InvalidArgument, "numeric" a NumericError. It has no output.
    """

    operand_names = "condition"
    message = field.string()
    kind = field.choice("value", "numeric", default="value")

    def infer(self, *types: BasicTensorDescription) -> tuple[BasicTensorDescription, ...]:
        if types[0].dtype is not bool_:
            raise self.fail(DtypeMismatch, "a condition is of bool elements", operand=self.operand_label(0),
                            got=types[0], expected=types[0].with_(dtype=bool_),
                            help="compare it: ops.NotEqual(x, x.full(0))")
        return ()

    def failure(self, position: tuple[int, ...] | None) -> NervureError:
        """Returns the error of a run in which the condition is false, at a position if that is known."""
        return self.fail(NumericError if self.kind == "numeric" else InvalidArgument, self.message,
                         got=f"false at position {position}" if position else None,
                         expected="conditions that hold", help="nothing was changed by this call")

    def vjp(self, gradient: Gradient, condition: Value) -> Gradients:
        return (None,)
