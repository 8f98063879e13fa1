"""Choices between functions: ``cond`` and ``switch`` run one of several, which a value decides when the program runs.

>>> import nervure as nv
>>> x = nv.constant(3.0)
>>> nv.cond(x > 2, lambda y: y * 10, lambda y: -y, x).item()
30.0
>>> nv.switch(1, [nv.exp, nv.negative, nv.sqrt], x).item()
-3.0

The others do not run: neither their effects happen nor their checks. All give results of the same types and axes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from nervure.errors import AxisMismatch, InvalidArgument, WrongKind
from nervure.front import argument_parsing, pytrees
from nervure.front.alignment import arranged
from nervure.front.creation import as_tensor
from nervure.front.loops.bodies import TracedBody, after_assignments, read_of, tensors_of_leaves
from nervure.front.promotion import promote, weak_type
from nervure.front.pytrees import Nested, paths
from nervure.front.tensor import Tensor, TensorLike, described_type, has_found_length
from nervure.front.traced_numbers import is_number
from nervure.ir.function import Function
from nervure.ir.op import Value
from nervure.ir.region import INSTEAD_OF_LENGTHS
from nervure.ir.variable import Variable
from nervure.ops.branching import Branches, If, Switch
from nervure.ops.conversion import converted
from nervure.support.elsewhere import explain_keywords
from nervure.types.dim import Dim
from nervure.types.dtype import DType, bool_, int64


def cond(pred: TensorLike, true_fun: Callable[..., Nested], false_fun: Callable[..., Nested],
         *operands: Nested) -> Nested:
    """Returns ``true_fun(*operands)`` if ``pred``, one bool, is true, else ``false_fun(*operands)``.

    Operands and results may be nested. Both functions give results of one nesting, with the same types and axes
    (else InvalidArgument, which names the leaf).

    >>> x = nv.placeholder("N=n")
    >>> norm = nv.sum(x * x, out_axes=())
    >>> clipped = nv.computation(nv.cond(norm > 1, lambda: x / nv.sqrt(norm), lambda: x), x)
    >>> clipped(np.float32([0, 4])).tolist(), clipped(np.float32([0.5])).tolist()
    ([0.0, 1.0], [0.5])
    """
    chooser = as_tensor(pred, "cond", "pred")
    if chooser.dtype is not bool_ or chooser.ndim:
        raise WrongKind("the predicate is one bool", op="cond", operand="pred", got=str(chooser.type),
                        expected="bool[]", help="compare it: x > 0; nv.any and nv.all make one bool of many, "
                             "and nv.where chooses element by element")
    return _choose("cond", chooser, {"true_fun": true_fun, "false_fun": false_fun}, operands)


def switch(index: TensorLike, branches: Sequence[Callable[..., Nested]], *operands: Nested) -> Nested:
    """Returns ``branches[index](*operands)``; an index below 0 takes the first branch, one that is too large the last.

    The branches are as those of ``nv.cond``.

    >>> [nv.switch(k, [lambda x: x + 1, lambda x: x * x], nv.constant(5.0)).item() for k in (-1, 0, 1, 2)]
    [6.0, 6.0, 25.0, 25.0]
    """
    listed = argument_parsing.members(branches, "switch", "branches", "a list of functions")
    if not listed or not all(map(callable, listed)):
        raise WrongKind("the branches are functions", op="switch", operand="branches", got=f"{branches!r:.80}",
                        expected="a list of one function or more", help="nv.switch(index, [f, g], x)")
    functions = cast("list[Callable[..., Nested]]", listed)
    chooser = one_integer(index, "switch", "index", "the index of a branch")
    return _choose("switch", chooser, {f"branches[{at}]": function for at, function in enumerate(functions)}, operands)


def one_integer(value: object, op: str, operand: str, what: str) -> Tensor:
    """Returns a tensor of one integer as it is; lengths, and numbers that are known or come with each call, as int64.

    ``what`` says in errors what it is.
    """
    is_whole = isinstance(value, Dim) or is_number(value) and weak_type(value) is int
    own = as_tensor(value, op, operand, int64 if is_whole else None)
    if not own.dtype.is_integer or own.ndim:
        raise WrongKind(f"{what} is one integer", op=op, operand=operand, got=str(own.type),
                        expected="an integer without axes", help="convert it: x.astype(nv.int64)")
    return own


class _Branch:
    """One traced branch: its body, and the leaves of its results, None for those that have no value.

    Entries are in the order of those of ``result``, the pattern of the first branch.
    """

    def __init__(self, name: str, operand: str, function: Callable[..., Nested], pattern: pytrees.Pattern,
                 like: Sequence[Tensor], result: pytrees.Pattern | None) -> None:
        self.body = TracedBody(name, like)
        with self.body.tracing():
            arguments: Nested = pytrees.unflatten(pattern, self.body.tensors)
            found = function(*arguments)
            self.leaves, self.pattern = pytrees.flatten(found) if result is None else pytrees.flatten_as(
                result, found)
            self.weak = [is_number(leaf) for leaf in self.leaves]
            shown = paths(self.pattern, f"result of {operand}")
            self.tensors = tensors_of_leaves(self.leaves, name, shown)

    def close(self, first: _Branch, dtypes: Sequence[DType | None]) -> None:
        """Gives the results the axes of the ``first`` branch's, and these element types."""
        name = self.body.name
        with self.body.tracing():
            for at, (mine, theirs, path) in enumerate(zip(self.tensors, first.tensors, paths(self.pattern, "result"),
                                                          strict=True)):
                if mine is not None and theirs is not None:
                    self.tensors[at] = _fitted(mine, theirs, dtypes[at], name, path)
        self.body.close_leaves(self.leaves, self.tensors)


def _fitted(mine: Tensor, theirs: Tensor, dtype: DType | None, name: str, path: str) -> Tensor:
    try:
        if theirs.ndim and mine.ndim and mine.is_named != theirs.is_named:
            raise _differ(name, path, mine, theirs)
        if theirs.is_named:
            mine = arranged(mine, theirs.axes, name, path)
    except AxisMismatch as error:
        raise _differ(name, path, mine, theirs) from error
    made = Tensor(converted(mine.value, dtype) if dtype is not None else mine.value, mine._axes)
    if made.type.shape != theirs.type.shape:
        raise _differ(name, path, mine, theirs)
    return made


def _differ(name: str, path: str, mine: object, theirs: object) -> InvalidArgument:
    shown = [described_type(entry) if isinstance(entry, Tensor) else f"{entry!r:.80}" for entry in (mine, theirs)]
    help = "all branches give results of the same nesting, types and axes"
    if any([isinstance(entry, Tensor) and has_found_length(entry) for entry in (mine, theirs)]):
        help = f"each branch finds a length of its own: {INSTEAD_OF_LENGTHS}"
    return InvalidArgument(f"the branches differ in {path}", op=name, operand=path, got=shown[0],
                           expected=f"{shown[1]}, as the first branch gives it", help=help)


def _choose(name: str, chooser: Tensor, functions: Mapping[str, Callable[..., Nested]],
            operands: Sequence[object]) -> Nested:
    leaves, pattern = pytrees.flatten(tuple(operands))
    given = [as_tensor(leaf, name, path) for leaf, path in zip(leaves, paths(pattern, "operands"), strict=True)]
    branches: list[_Branch] = []
    for operand, function in functions.items():
        argument_parsing.require_function(function, name, operand, [f"operands[{at}]" for at in range(len(operands))])
        branches.append(_Branch(name, operand, function, pattern, given, branches[0].pattern if branches else None))
    first = branches[0]
    for other in branches[1:]:
        if other.pattern != first.pattern or [each is None for each in other.tensors] != [
                each is None for each in first.tensors]:
            raise _differ(name, "the nesting of the result", pytrees.unflatten(other.pattern, other.leaves),
                          pytrees.unflatten(first.pattern, first.leaves))
    dtypes = [_common(name, branches, at) for at in range(len(first.leaves))]
    for branch in branches:
        branch.close(first, dtypes)
    return _built(name, chooser, branches, given)


def _common(name: str, branches: Sequence[_Branch], at: int) -> DType | None:
    """Returns the element type of a result, which numbers of Python take from the other branches."""
    found = [branch.tensors[at] for branch in branches]
    if found[0] is None:
        return None
    strong = [tensor.dtype for tensor, branch in zip(found, branches, strict=True)
              if tensor is not None and not branch.weak[at]]
    if len(set(strong)) > 1:
        other = next(tensor for tensor, branch in zip(found, branches, strict=True)
                     if tensor is not None and not branch.weak[at] and tensor.dtype is not strong[0])
        first = next(tensor for tensor in found if tensor is not None and tensor.dtype is strong[0])
        raise _differ(name, paths(branches[0].pattern, "result")[at], other, first)
    weak = [tensor.dtype for tensor in found if tensor is not None]
    return strong[0] if strong else promote(weak, op=name)


def _built(name: str, chooser: Tensor, branches: Sequence[_Branch], given: Sequence[Tensor]) -> Nested:
    """Returns the results of the op that runs one of the closed branches."""
    bodies = [branch.body for branch in branches]
    outside = list(dict.fromkeys([value for body in bodies for value in body.outside]))
    variables = list(dict.fromkeys([variable for body in bodies for variable in body.variables]))
    written = [variable for variable in variables if any([variable in body.written for body in bodies])]
    operands = [*[entry.value for entry in given], *outside, *[read_of(variable) for variable in variables]]
    made = [_function(branch.body, outside, variables, written) for branch in branches]
    cls: type[Branches] = If if name == "cond" else Switch
    op = cls(chooser.value, *operands, branches=tuple(made))
    first = branches[0]
    count = len(op.outputs) - len(written)
    last = dict(zip(written, op.outputs[count:], strict=True))
    results = iter(after_assignments(op.outputs[:count], last, op.effectful, name))
    leaves = [None if tensor is None else Tensor(next(results), tensor._axes) for tensor in first.tensors]
    return pytrees.unflatten(first.pattern, leaves)


def _function(body: TracedBody, outside: Sequence[Value], variables: Sequence[Variable],
              written: Sequence[Variable]) -> Function:
    taken, places = body.taking(outside), body.holding(variables)
    own = dict(zip(variables, places, strict=True))
    news = [body.new_value(variable, own[variable]) for variable in written]
    return body.function([*body.results, *news], [*body.parameters, *taken, *places])


__all__ = ["cond", "switch"]

explain_keywords(globals(), __all__)
