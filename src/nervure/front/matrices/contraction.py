"""Sums of products: ``dot`` over matching axes, ``matmul`` over positions, ``einsum`` over either.

>>> import nervure as nv
>>> x, w = nv.placeholder("N=32, F=784"), nv.placeholder("F=784, K=256")
>>> print(nv.dot(x, w).axes)
(N: 32, K: 256)
>>> print(nv.einsum("N F, F K -> K N", x, w).axes)
(K: 256, N: 32)

Where an axis has an offset, a level n on the left meets the level n + 1 of the same class on the right, so that
a square matrix can say which of its axes is contracted.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from functools import partial

from nervure import ops
from nervure.errors import AxisMismatch, InvalidArgument, NervureError, ShapeMismatch, warn_user
from nervure.front import alignment
from nervure.front.apply import product_dtype, promoted_pair
from nervure.front.argument_parsing import positions_of
from nervure.front.arranging.views import permuted
from nervure.front.creation import as_tensor
from nervure.front.op_functions import multiply
from nervure.front.tensor import Operand, Tensor
from nervure.ir.op import Value
from nervure.ir.signature import Signature
from nervure.ir.where_string import is_run
from nervure.ops.conversion import converted
from nervure.ops.einsum import REPEATED, Notation, Shape, einsum_notation, matmul_notation
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import Axes, AxesLike
from nervure.types.axis import Axis, match
from nervure.types.dim import DimLike, equal
from nervure.types.dtype import DTypeLike


def dot(x: Operand, y: Operand, batch: AxesLike = (), *, out_axes: AxesLike | None = None,
        dtype: DTypeLike | None = None) -> Tensor:
    """Sums products over the axes of ``x`` and ``y`` that match. ``batch`` axes, which both must have, stay where x
    has them.

    The result has x's axes without the contracted ones, then y's without contracted and batch ones; ``out_axes`` gives
    another order. If no axis matches, the result is the outer product. If two or more match and none is left, a
    warning says so, since a matrix product was probably meant; ``out_axes=()`` turns it off. Anonymous tensors follow
    NumPy's ``dot``.

    Both operands are converted to ``dtype`` first, which is the element type of the sum, too; it must hold the values
    of both.

    >>> x, w = nv.ones("N=2, F=3"), nv.ones("F=3, K=4")
    >>> print(nv.dot(x, w).axes)
    (N: 2, K: 4)
    >>> nv.dot(np.array([200, 100], np.uint8), np.array([-2, 3], np.int8), dtype=nv.int32).item()
    -100
    """
    left, right = promoted_pair(x, y, "dot", dtype)
    if not left.is_named and not right.is_named:
        return _ordered(_numpy_dot(left, right), out_axes)
    mine, theirs = alignment.both_named(left, right, "dot")
    shared = _batch_axes(mine, theirs, batch)
    if not shared:
        _check_one_reading(left, right)
    pairs = _contracted(mine, theirs, shared)
    if out_axes is None:
        _warn_of_nothing_left(mine, theirs, pairs)
    return _ordered(_contract(mine, theirs, pairs, shared), out_axes)


def outer(x: Operand, y: Operand, *, dtype: DTypeLike | None = None) -> Tensor:
    """Multiplies every element of ``x`` with every element of ``y``; nothing is contracted. ``dtype`` is as in
    ``dot``.

    >>> nv.outer(np.array([1, 2]), np.array([3, 4])).tolist()
    [[3, 4], [6, 8]]
    """
    left, right = promoted_pair(x, y, "outer", dtype)
    if not left.is_named and not right.is_named:
        return Tensor(ops.Dot(left.value, right.value, pairs=()))
    left, right = alignment.both_named(left, right, "outer")
    return _contract(left, right, [], [])


def matmul(x: Operand, y: Operand, *, dtype: DTypeLike | None = None) -> Tensor:
    """Multiplies matrices over the last two axes, at each index of the others; NumPy's rules for vectors and batches.

    ``dtype`` is as in ``dot``.

    >>> nv.matmul(np.array([[1, 2], [3, 4]]), np.array([1, 1])).tolist()
    [3, 7]
    """
    left, right = promoted_pair(x, y, "matmul", dtype)
    if left.is_named or right.is_named:
        raise AxisMismatch("matmul goes by positions", op="matmul", got=f"{left.axes} and {right.axes}",
                           help="nv.dot(x, y) and x @ y go by axes", expected="anonymous axes")
    for position, entry in enumerate((left, right)):
        if entry.ndim == 0:
            raise ShapeMismatch("a scalar has no matrix product", op="matmul", operand=position + 1,
                                got=str(entry.type), expected="one axis or more", help="multiply with *")
    return Tensor(ops.MatMul(*_alike([left.value, right.value], matmul_notation, "matmul")))


def matmul_operator(x: Operand, y: Operand) -> Tensor:
    """``x @ y``: dot for named, matmul for anonymous tensors."""
    named = any(isinstance(entry, Tensor) and entry.is_named for entry in (x, y))
    return dot(x, y) if named else matmul(x, y)


def einsum(subscripts: str, *operands: Operand, dtype: DTypeLike | None = None) -> Tensor:
    """Einstein's sum. Named tensors: ``"N H W, W K -> N H K"`` over axis names; anonymous ones: ``"ij,jk->ik"`` over
    letters. A where string, ``"A[~ i j] B[~ j k] -> C[~ i k]"``, gives the sum over positions, and is strict.
    ``dtype`` is as in ``dot``. A letter that one operand alone has is summed before the operands are multiplied, so
    ``"i,k->"`` of no elements and an infinity is NaN.

    >>> nv.einsum("ij,j->i", [[1, 2], [3, 4]], [1, 10]).tolist()
    [21.0, 43.0]
    >>> print(nv.einsum("N F, F K -> K N", nv.ones("N=2, F=3"), nv.ones("F=3, K=4")).axes)
    (K: 4, N: 2)
    >>> nv.einsum("A[~ i j] x[j] -> y[~ i]", [[1, 2], [3, 4]], [1, 10]).tolist()
    [21.0, 43.0]
    """
    tensors = [as_tensor(entry, "einsum", position + 1) for position, entry in enumerate(operands)]
    if not tensors or not isinstance(subscripts, str):
        raise InvalidArgument("einsum takes a string and then operands", op="einsum", got=repr(subscripts),
                              expected="einsum(subscripts, x, y)", help='nv.einsum("ij,jk->ik", x, y)')
    common = product_dtype(tuple(tensors), dtype, "einsum")
    values = [converted(entry.value, common) for entry in tensors]
    if "[" in subscripts:
        return _einsum_by_where(subscripts, values)
    if any(entry.is_named for entry in tensors):
        return _einsum_by_names(subscripts, tensors, values)
    alike = _alike(values, partial(einsum_notation, subscripts), "einsum")
    return Tensor(ops.Einsum(*alike, subscripts=subscripts))


# -- dot by axes -----------------------------------------------------------------------------------

Pair = tuple[int, int]


def _check_one_reading(left: Tensor, right: Tensor) -> None:
    """Raises AxisMismatch if an anonymous matrix could take the names by position, and could also be multiplied by
    NumPy's rules.
    """
    if left.is_named == right.is_named or left.ndim != right.ndim or left.ndim < 2:
        return
    if equal(left.type.shape[-1], right.type.shape[-2]) is True:
        place, (own, named) = (1, (left, right)) if right.is_named else (2, (right, left))
        raise AxisMismatch(f"operand {place} has no axis names, and there are two ways to read it", op="dot",
                           operand=place, got=str(own.axes), expected=f"names: those of {named.axes}, or others",
                           help='nv.cast_axes(y, axes) gives it names: dot contracts those that both operands have')


def _warn_of_nothing_left(left: Tensor, right: Tensor, pairs: Sequence[Pair]) -> None:
    """Warns if all axes of both operands, two or more and without offsets, are contracted."""
    is_whole = len(pairs) > 1 and len(pairs) == left.ndim == right.ndim
    if is_whole and not any([axis.level for axis in (*left.axes, *right.axes)]):
        warn_user(f"dot: every axis of {left.axes} and {right.axes} is contracted, and a single number is left. Where "
                  "that is meant, out_axes=() says so; else rename an axis that shall stay, as in "
                  f'nv.map_roles(y, {{"{left.axes[0].label}": "K"}})')


def _ordered(result: Tensor, out_axes: AxesLike | None) -> Tensor:
    """Returns a product with its axes in the order ``out_axes``, if given."""
    if out_axes is None:
        return result
    order = positions_of(result, out_axes, "dot")
    if len(order) != result.ndim:
        raise InvalidArgument("out_axes must have every axis of the result once", op="dot", operand="out_axes",
                              got=str(out_axes), expected=str(result.axes),
                              help="nv.map_roles(y, {old: new}) renames an axis that shall stay")
    return permuted(result, order)


def _batch_axes(left: Tensor, right: Tensor, batch: AxesLike) -> list[Pair]:
    return list(zip(positions_of(left, batch, "dot"), _matching(left, right, batch), strict=True))


def _matching(left: Tensor, right: Tensor, batch: AxesLike) -> list[int]:
    """Returns the positions of the batch axes in the right operand."""
    found = []
    for at in positions_of(left, batch, "dot"):
        partners = [other for other, axis in enumerate(right.axes) if match(left.axes[at], axis) is not False]
        if not partners:
            raise AxisMismatch(f"batch axis {left.axes[at].label} is not in both operands", op="dot", operand=2,
                               got=str(right.axes), expected=str(left.axes[at]),
                               help="an axis of one operand alone needs no batch=")
        found.append(partners[0])
    return found


def _contracted(left: Tensor, right: Tensor, batch: Sequence[Pair]) -> list[Pair]:
    """Returns the pairs of positions that are contracted."""
    mine = [(at, axis) for at, axis in enumerate(left.axes) if at not in [pair[0] for pair in batch]]
    theirs = [(at, axis) for at, axis in enumerate(right.axes) if at not in [pair[1] for pair in batch]]
    by_offsets = any(axis.level for _, axis in [*mine, *theirs])
    shift = 1 if by_offsets else 0
    pairs = [pair for wanted in (True, None) for pair in _pairs(mine, theirs, shift, wanted)]
    chosen: list[Pair] = []
    for pair in pairs:
        if all(pair[0] != other[0] and pair[1] != other[1] for other in chosen):
            chosen.append(pair)
    if by_offsets and not chosen and mine and theirs:
        raise _nothing_contracts(left, right)
    if not by_offsets:
        _check_lengths(mine, theirs, chosen)
    return sorted(chosen)


def _pairs(mine: Sequence[tuple[int, Axis]], theirs: Sequence[tuple[int, Axis]], shift: int,
           wanted: bool | None) -> list[Pair]:
    return [(at, other) for at, axis in mine for other, partner in theirs
            if match(axis.offset(shift) if shift else axis, partner) is wanted]


def _check_lengths(mine: Sequence[tuple[int, Axis]], theirs: Sequence[tuple[int, Axis]], pairs: Sequence[Pair]) -> None:
    """Raises AxisMismatch for a class that both operands have but no pair contracts."""
    met = {axis.axis_class for at, axis in mine if at in [pair[0] for pair in pairs]}
    for _, axis in mine:
        for _, other in theirs:
            if axis.axis_class == other.axis_class and axis.axis_class not in met:
                raise AxisMismatch(f"axis {axis.label} has two lengths", op="dot", operand=2, got=str(other),
                                   expected=str(axis),
                                   help="slice or pad one of them, rename it with nv.map_roles, or use nv.outer")


def _nothing_contracts(left: Tensor, right: Tensor) -> AxisMismatch:
    levels = [" ".join(f"{axis.label}[{axis.level}]" for axis in tensor.axes) for tensor in (left, right)]
    plain = [Axes([axis.transposed() if axis.level < 0 else axis for axis in tensor.axes]) for tensor in (left, right)]
    would = any(match(axis, other) is True for axis in plain[0] for other in plain[1])
    help = "drop the .T" if would else "nv.outer(x, y) multiplies without contracting"
    return AxisMismatch("no axis contracts: level n on the left meets level n + 1 on the right", op="dot",
                        got=f"{levels[0]} with {levels[1]}",
                        expected="an axis of one class and length, one level higher",
                        help=f"{help}; see also nv.outer" if would else help)


def _contract(left: Tensor, right: Tensor, pairs: Sequence[Pair], batch: Sequence[Pair]) -> Tensor:
    """Builds the core contraction for pairs of positions, and gives the result its axes."""
    y_of = {pair[1]: pair[0] for pair in [*pairs, *batch]}
    x_indices = tuple(range(left.ndim))
    y_indices = tuple([y_of.get(at, left.ndim + at) for at in range(right.ndim)])
    gone = {pair[0] for pair in pairs}
    kept_x = [at for at in x_indices if at not in gone]
    kept_y = [at for at in range(right.ndim) if at not in y_of]
    axes = [*[left.axes[at] for at in kept_x], *[right.axes[at] for at in kept_y]]
    _check_result(axes)
    target = tuple([left.type.shape[y_of[at]] if at in y_of else length for at, length in enumerate(right.type.shape)])
    value = alignment.assume_shape(right.value, target, "dot")
    op = ops.Contract(left.value, value, x_indices, y_indices, (*kept_x, *[left.ndim + at for at in kept_y]))
    return Tensor(op, Axes(axes))


def _check_result(axes: Sequence[Axis]) -> None:
    for position, axis in enumerate(axes):
        if any(match(axis, other) is True for other in axes[:position]):
            raise InvalidArgument(f"axis {axis.label} would occur twice in the result", op="dot",
                                  got=", ".join(map(str, axes)), help="rename it in one operand with nv.map_roles",
                                  expected="different axes")


def _numpy_dot(left: Tensor, right: Tensor) -> Tensor:
    """NumPy's dot: a scalar multiplies; otherwise x's last axis with y's second last (its only one)."""
    if left.ndim == 0 or right.ndim == 0:
        return multiply(left, right)
    return sum_over([(left.ndim - 1, max(right.ndim - 2, 0))], left, right, "dot")


def sum_over(pairs: Sequence[Pair], left: Tensor, right: Tensor, op: str) -> Tensor:
    """Returns the sums of products over ``pairs`` of positions, whose lengths are assumed to be equal where it is not
    known that they differ.
    """
    partners = {second: first for first, second in pairs}
    terms = [tuple(range(left.ndim)), tuple([partners.get(at, left.ndim + at) for at in range(right.ndim)])]
    return Tensor(ops.Dot(*_alike([left.value, right.value], lambda shapes: (terms, ()), op), pairs=pairs))


def _alike(values: Sequence[Value], notation: Callable[[Sequence[Shape]], Notation], op: str) -> list[Value]:
    """Returns the operands of a sum of products with one length for each index. An unknown equality is assumed, and
    numbers are preferred to symbols. Lengths that certainly differ, and all other mistakes, are left to the op.
    """
    try:
        terms, _ = notation([value.type.shape for value in values])
    except NervureError:
        return list(values)
    extents: dict[int, DimLike] = {}
    for term, value in zip(terms, values, strict=True):
        for index, length in zip(term, value.type.shape, strict=True):
            if index not in extents or (type(length) is int and equal(extents[index], length) is None):
                extents[index] = length
    shapes = [tuple([length if index == REPEATED or equal(extents[index], length) is False else extents[index]
                     for index, length in zip(term, value.type.shape, strict=True)])
              for term, value in zip(terms, values, strict=True)]
    return [alignment.assume_shape(value, shape, op) for value, shape in zip(values, shapes, strict=True)]


# -- einsum ----------------------------------------------------------------------------------------


def _einsum_by_names(subscripts: str, tensors: Sequence[Tensor], values: Sequence[Value]) -> Tensor:
    """Evaluates terms of axis names, separated by spaces; each name must be an axis of its operand."""
    terms_text, arrow, result_text = subscripts.partition("->")
    terms = [term.split() for term in terms_text.split(",")]
    if not arrow or len(terms) != len(tensors):
        raise InvalidArgument("einsum needs a term for each operand and a result", op="einsum", got=repr(subscripts),
                              expected=f'{len(tensors)} terms, as in "N H W, W K -> N H K"',
                              help="names stand apart, with spaces between them; terms with commas")
    numbers: dict[str, int] = {}
    axes: dict[str, Axis] = {}
    moved = []
    for position, (term, tensor, value) in enumerate(zip(terms, tensors, values, strict=True)):
        moved.append(_in_order(term, tensor, value, position, axes))
        for name in term:
            numbers.setdefault(name, len(numbers))
    result = result_text.split()
    for name in result:
        if name not in numbers:
            raise AxisMismatch(f"axis {name} of the result is in no term", op="einsum", got=repr(subscripts),
                               expected=", ".join(numbers), help="nv.broadcast(x, axes) adds an axis")
    letters = {name: chr(97 + number) if number < 26 else chr(65 + number - 26) for name, number in numbers.items()}
    text = ",".join("".join(letters[name] for name in term) for term in terms)
    text += "->" + "".join(letters[name] for name in result)
    return Tensor(ops.Einsum(*moved, subscripts=text), Axes([axes[name] for name in result]))


def _einsum_by_where(where: str, values: Sequence[Value]) -> Tensor:
    """Evaluates the terms of a where string: a name is one length at all its positions, and ``~`` the same dimensions.
    """
    rule = Signature.parse(where)
    entries = [entry for pattern in (*rule.operands, *rule.results) for entry in pattern.entries]
    strange = next((entry for entry in entries if isinstance(entry, int) or (is_run(entry) and entry != "~")), None)
    if strange is not None or len(rule.results) > 1 or len(set(entries)) > len(string.ascii_letters):
        raise InvalidArgument("a where string of einsum has one result, and names of lengths and ~", op="einsum",
                              got=where, expected='"A[~ i j] B[~ j k] -> C[~ i k]"',
                              help="nv.defnode takes any where string")
    letters = {**dict(zip(dict.fromkeys(entries), string.ascii_letters, strict=False)), "~": "..."}
    terms = ["".join([letters[entry] for entry in pattern.entries]) for pattern in (*rule.operands, *rule.results)]
    subscripts = f"{','.join(terms[:-1])}->{terms[-1]}"
    alike = _alike(values, partial(einsum_notation, subscripts), "einsum")
    try:
        rule.infer(None, [value.type for value in alike])
    except NervureError as error:
        error.op = "einsum"
        raise
    return Tensor(ops.Einsum(*alike, subscripts=subscripts))


def _in_order(term: Sequence[str], tensor: Tensor, value: Value, position: int, axes: dict[str, Axis]) -> Value:
    """Returns the operand with its axes in the order of its term."""
    if not tensor.is_named and tensor.ndim:
        raise AxisMismatch(f"operand {position + 1} has no axis names; give it axes=(...)", op="einsum",
                           operand=position + 1, got=str(tensor.type), expected=" ".join(term),
                           help="nv.cast_axes(x, axes) gives it names")
    order = positions_of(tensor, list(term), "einsum")
    if len(order) != tensor.ndim:
        raise AxisMismatch("a term must name every axis of its operand", op="einsum", operand=position + 1,
                           got=" ".join(term), expected=str(tensor.axes),
                           help="an axis that the result lacks is summed over")
    shape = []
    for name, at in zip(term, order, strict=True):
        known = axes.setdefault(name, tensor.axes[at])
        if match(known, tensor.axes[at]) is False:
            raise AxisMismatch(f"axis {name} differs between operands", op="einsum", operand=position + 1,
                               got=str(tensor.axes[at]), expected=str(known),
                               help="slice or pad one of them, or rename it with nv.map_roles")
        shape.append(known.length)
    return alignment.assume_shape(alignment.reordered(value, order), tuple(shape), "einsum")


__all__ = ["dot", "einsum", "matmul", "outer"]

explain_keywords(globals(), __all__)
