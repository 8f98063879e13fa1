"""Sums of products under their usual names: ``Dot``, ``MatMul``, ``Einsum``.

All are one composite with three notations: each gives the index of every dimension of its operands and of the result;
types, labels and the order of the products follow from these, in shared code.

>>> import nervure as nv
>>> a, b, c = nv.Parameter(nv.float32, (2, 3)), nv.Parameter(nv.float32, (3, 4)), nv.Parameter(nv.float32, (4,))
>>> MatMul(a, b).type == Dot(a, b, pairs=[(1, 0)]).type == Einsum(a, b, subscripts="ik, kj -> ij").type
True
>>> Einsum(a, b, c, subscripts="ik, kj, j -> i")
f32[2] Einsum(Parameter, Parameter, Parameter)
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import prod

from nervure.errors import InvalidArgument, ShapeMismatch
from nervure.ir import field
from nervure.ir.kinds import require_admitted
from nervure.ir.op import Operand, Value
from nervure.ops.checking import checked_axis, require_rank, require_same_dtype
from nervure.ops.composite import InComputeType
from nervure.ops.contraction import Contract, Indices, contraction_extents, labels_by_index
from nervure.ops.reductions import Any, Sum
from nervure.ops.update import IndexView
from nervure.ops.views import Permute, Reshape
from nervure.types.description import BasicTensorDescription, Labels
from nervure.types.dim import DimLike, index
from nervure.types.dtype import bool_
from nervure.types.element_groups import ANY
from nervure.types.index_map import IndexMap

Shape = Sequence[DimLike]
Notation = tuple[list[Indices], Indices]
"""The index of each dimension of each operand, and those of the result's dimensions."""

REPEATED = -1
"""Stands for the index of a dimension of 1 that is repeated along the other operands' dimension there."""


class SumOfProducts(InComputeType, abstract=True):
    """The product of the operands, summed over every index that the result lacks.

    What one operand alone has is summed before it is multiplied: where numbers are infinite or overflow, this differs.
    """

    def notation(self, shapes: Sequence[Shape]) -> Notation:
        """Returns the index of each dimension of each operand (``REPEATED`` if it has none), and those of the result.
        """
        raise NotImplementedError

    def spelled(self, entry: int) -> str:
        """Returns the text for an index in errors."""
        return f"index {entry}"

    def infer(self, *types: BasicTensorDescription) -> BasicTensorDescription:
        terms, result = self.notation([type.shape for type in types])
        require_same_dtype(self, types, range(len(types)))
        require_admitted(self, types[0], ANY)
        extents = contraction_extents(self, terms, types, self.spelled)
        return types[0].with_(shape=tuple([extents[entry] for entry in result]), layout=None)

    def infer_labels(self, types: tuple[BasicTensorDescription, ...]) -> tuple[Labels | None, ...]:
        terms, result = self.notation([operand.shape for operand in self.operands])
        return (labels_by_index(self.operands, terms, result),)

    def formula(self, *operands: Value) -> Value:
        terms, result = self.notation([operand.shape for operand in operands])
        pending = [_without_repetition(*entry) for entry in zip(operands, terms, strict=True)]
        while len(pending) > 1:
            left, right = _cheapest_pair(pending)
            y, x = pending.pop(right), pending.pop(left)
            needed = {entry for _, term in pending for entry in term}.union(result)
            pending.insert(left, _product(x, y, needed))
        value, term = _sum_out(pending[0], set(result))
        order = tuple([term.index(entry) for entry in result])
        return value if order == tuple(range(len(order))) else Permute(value, order).output

    def decompose(self, *operands: Value) -> Operand:
        # A single contraction adds up in the compute type and rounds once: only formulas of several ops are converted.
        return self.formula(*operands) if self._is_one_contraction() else super().decompose(*operands)

    def _is_one_contraction(self) -> bool:
        terms, result = self.notation([operand.shape for operand in self.operands])
        return len(terms) == 2 and {*terms[0]} ^ {*terms[1]} <= {REPEATED, *result}


Factor = tuple[Value, Indices]


def _product(x: Factor, y: Factor, needed: set[int]) -> Factor:
    """Multiplies two factors, and sums over the indices that are not ``needed`` afterwards. The contraction numbers
    indices in the order of x's dimensions, then y's, so that it and its gradients sum in the order of memory.
    """
    x, y = _sum_out(x, needed.union(y[1])), _sum_out(y, needed.union(x[1]))
    entries = tuple(dict.fromkeys((*x[1], *y[1])))
    kept = tuple([entry for entry in entries if entry in needed])
    numbers = [tuple([entries.index(entry) for entry in term]) for term in (x[1], y[1], kept)]
    return Contract(x[0], y[0], *numbers).output, kept


def _sum_out(factor: Factor, needed: set[int]) -> Factor:
    value, term = factor
    alone = [d for d, entry in enumerate(term) if entry not in needed]
    if not alone:
        return factor
    total = Any(value, alone) if value.dtype is bool_ else Sum(value, alone)
    return total.output, tuple([entry for entry in term if entry in needed])


def _without_repetition(value: Value, term: Indices) -> Factor:
    """Drops the dimensions of 1 that are repeated, and takes the diagonal of dimensions that share an index."""
    if REPEATED in term:
        kept = [d for d, entry in enumerate(term) if entry != REPEATED]
        value = Reshape(value, tuple([value.shape[d] for d in kept])).output
        term = tuple([term[d] for d in kept])
    distinct = tuple(dict.fromkeys(term))
    if len(distinct) == len(term):
        return value, term
    shape = tuple([value.shape[term.index(entry)] for entry in distinct])
    coordinates = tuple([index(distinct.index(entry)) for entry in term])
    return IndexView(value, IndexMap(shape, coordinates)).output, distinct


def _cheapest_pair(pending: Sequence[Factor]) -> tuple[int, int]:
    """Returns the pair whose product takes the fewest multiplications; the first two if a length is not known."""
    shapes = {entry: length for value, term in pending for entry, length in zip(term, value.shape, strict=True)}
    lengths = {entry: length for entry, length in shapes.items() if isinstance(length, int)}
    if len(pending) == 2 or len(lengths) < len(shapes):
        return 0, 1

    def work(pair: tuple[int, int]) -> int:
        return prod([lengths[entry] for entry in {*pending[pair[0]][1], *pending[pair[1]][1]}])
    return min(combinations(range(len(pending)), 2), key=work)


def _mark_repeated(terms: list[Indices], shapes: Sequence[Shape], batch: Sequence[int]) -> list[Indices]:
    """Puts ``REPEATED`` for each literal 1 at a batch index that is longer elsewhere."""
    longer = {entry for term, shape in zip(terms, shapes, strict=True)
              for entry, length in zip(term, shape, strict=True) if entry in batch and length != 1}
    return [tuple([REPEATED if entry in longer and length == 1 else entry
                   for entry, length in zip(term, shape, strict=True)])
            for term, shape in zip(terms, shapes, strict=True)]


class Dot(SumOfProducts):
    """The sum over pairs of dimensions (x's, y's). The result has the other dimensions of x, then those of y.

    Without pairs it is the outer product.
    """

    operand_names = "x y"
    pairs = field.pairs(())

    def notation(self, shapes: Sequence[Shape]) -> Notation:
        ranks = [len(shape) for shape in shapes]
        partner: dict[int, int] = {}
        for pair in self.pairs:
            if len(pair) != 2:
                raise self.fail(InvalidArgument, "a pair is a dimension of x and one of y", operand="pairs", got=pair,
                                expected="pairs of integers",
                                help="the last of x with the first of y is pairs=[(-1, 0)]")
            mine, theirs = [checked_axis(self, axis, rank, "pairs") for axis, rank in zip(pair, ranks, strict=True)]
            if theirs in partner or mine in partner.values():
                raise self.fail(InvalidArgument, "a dimension is in two pairs", operand="pairs", got=self.pairs,
                                expected="each dimension once", help="take the diagonal first; ops.Einsum does")
            partner[theirs] = mine
        x = tuple(range(ranks[0]))
        y = tuple([partner.get(d, ranks[0] + d) for d in range(ranks[1])])
        contracted = set(partner.values())
        return [x, y], tuple([entry for entry in (*x, *y) if entry not in contracted])


class MatMul(SumOfProducts):
    """The matrix product of the last two dimensions, at each place of the others (the batch), with NumPy's rules.

    A vector is a row on the left and a column on the right, and the result lacks that dimension. Batch dimensions
    align from the right; a literal 1 in an operand is repeated.
    """

    operand_names = "x y"

    def spelled(self, entry: int) -> str:
        return "the dimension that is summed over" if entry == 2 else f"batch dimension {2 - entry}"

    def notation(self, shapes: Sequence[Shape]) -> Notation:
        for position, operand in enumerate(self.operands):
            require_rank(self, position, operand.type, 1)
        return matmul_notation(shapes)


def matmul_notation(shapes: Sequence[Shape]) -> Notation:
    """Returns the indices of a matrix product of two tensors with at least one dimension each."""
    row, column, inner, first = 0, 1, 2, 3
    batches = [tuple(range(first + len(shape) - 3, first - 1, -1)) for shape in shapes]
    x = (*batches[0], row, inner) if len(shapes[0]) > 1 else (inner,)
    y = (*batches[1], inner, column) if len(shapes[1]) > 1 else (inner,)
    batch = max(batches, key=len)
    result = (*batch, *[entry for entry in (row, column) if entry in x or entry in y])
    return _mark_repeated([x, y], shapes, batch), result


class Einsum(SumOfProducts):
    """Einstein's sum: ``"ij, jk -> ik"`` has a term for each operand, with a letter for each dimension.

    Letters that the result lacks are summed; a letter twice in a term takes the diagonal. Without ``->`` the result
    has the letters that occur once, in alphabetical order. ``...`` stands for dimensions that align from the right,
    along which a literal 1 is repeated. More than two operands are multiplied pair by pair, the cheapest first.
    """

    operand_names = "*operands"
    subscripts = field.string()

    def spelled(self, entry: int) -> str:
        return _spelled(entry)

    def notation(self, shapes: Sequence[Shape]) -> Notation:
        try:
            return einsum_notation(self.subscripts, shapes)
        except ShapeMismatch as error:  # raised for one operand, by its number
            position = int(error.operand or 1) - 1
            error.operand, error.got = self.operand_label(position), str(self.operands[position].type)
            raise


def einsum_notation(subscripts: str, shapes: Sequence[Shape]) -> Notation:
    """Returns the indices of an Einstein sum: letters as their codes; those that ``...`` stands for count from -2
    backwards.

    Raises InvalidArgument if the subscripts make no sense, ShapeMismatch if an operand has another rank.
    """
    text, arrow, result = subscripts.replace(" ", "").partition("->")
    words = text.split(",")
    if len(words) != len(shapes):
        raise _wrong("there must be a term for each operand", expected=f"{len(shapes)} terms",
                     got=f"{len(words)} terms in {subscripts!r}")
    hidden = [_hidden(word, shape, at) for at, (word, shape) in enumerate(zip(words, shapes))]
    batch = max(hidden, key=len)
    terms = [_indices(word, dots) for word, dots in zip(words, hidden, strict=True)]
    if not arrow:
        letters = [entry for term in terms for entry in term if entry >= 0]
        indices = (*batch, *sorted([entry for entry in set(letters) if letters.count(entry) == 1]))
    else:
        indices = _indices(result, batch)
        _check_result(subscripts, indices, terms)
    return _mark_repeated(terms, shapes, batch), indices


def _hidden(word: str, shape: Shape, position: int) -> Indices:
    """Returns the indices that ``...`` stands for in a term: -2 is the last dimension, -3 the one before."""
    letters = word.replace("...", "", 1)
    if not all([letter.isascii() and letter.isalpha() for letter in letters]):
        raise _wrong("a term has letters and at most one ...", got=repr(word), expected="a to z, A to Z, ...")
    count = len(shape) - len(letters)
    if count < 0 or count and letters == word:
        raise ShapeMismatch(f"the term {word!r} has {len(letters)} letters for {len(shape)} dimensions",
                            operand=position + 1, got=shape, expected=f"rank {len(letters)}",
                            help="write ... for dimensions without a letter")
    return tuple(range(-1 - count, -1))


def _indices(word: str, hidden: Indices) -> Indices:
    before, dots, after = word.partition("...")
    return (*map(ord, before), *(hidden if dots else ()), *map(ord, after))


def _check_result(subscripts: str, indices: Indices, terms: Sequence[Indices]) -> None:
    known = {entry for term in terms for entry in term}
    for entry in indices:
        if entry not in known or indices.count(entry) > 1:
            raise _wrong(f"the result's {_spelled(entry)} must be in a term, and once in the result",
                         got=repr(subscripts), expected="letters of the terms, each at most once")


def _spelled(entry: int) -> str:
    return f"index {chr(entry)}" if entry >= 0 else f"dimension {entry + 1} of ..."


def _wrong(message: str, got: str, expected: str) -> InvalidArgument:
    return InvalidArgument(message, operand="subscripts", got=got, expected=expected,
                           help='as in "ij, jk -> ik": a letter a dimension, a term an operand')
