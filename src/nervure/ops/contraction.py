"""The core op of all sums of products: ``Contract``, of two tensors.

Each dimension is named by the number of its index, as in the sum ``c[i, j] = sum over k of a[i, k] * b[k, j]``:

>>> import nervure as nv
>>> a, b = nv.Parameter(nv.float32, (2, 3)), nv.Parameter(nv.float32, (3, 4))
>>> Contract(a, b, x_indices=(0, 2), y_indices=(2, 1), indices=(0, 1))
f32[2, 4] Contract(Parameter, Parameter)

The usual names (``MatMul``, ``Dot``, ``Einsum``) are in :mod:`nervure.ops.einsum`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nervure.errors import InvalidArgument, ShapeMismatch
from nervure.ir import field
from nervure.ir.kinds import Access, Structure, Structured, multiply_body, require_admitted
from nervure.ir.op import Gradients, Op, Value
from nervure.ops.checking import require_equal, require_same_dtype
from nervure.types.description import BasicTensorDescription, Labels
from nervure.types.dim import DimLike, index
from nervure.types.element_groups import ANY

Indices = tuple[int, ...]


class Contract(Structured):
    """result[indices] = sum of x[x_indices] * y[y_indices] over every index that the result lacks.

    The three attributes number the dimensions of x, y and the result. An index occurs at most once in each and in at
    least two of the three: in all three it is a batch dimension, in x and y alone it is contracted, in one operand and
    the result it is free. So a gradient of a contraction is a contraction. Low-precision floats add up in float32;
    integers wrap; for bool the result is the or of ands. The sum over nothing is 0.
    """

    operand_names = "x y"
    x_indices = field.ints()
    y_indices = field.ints()
    indices = field.ints()

    def infer(self, *types: BasicTensorDescription) -> BasicTensorDescription:
        require_same_dtype(self, types, (0, 1))
        require_admitted(self, types[0], ANY)
        self._check_indices(types)
        extents = contraction_extents(self, (self.x_indices, self.y_indices), types)
        return types[0].with_(shape=tuple([extents[entry] for entry in self.indices]), layout=None)

    def _check_indices(self, types: Sequence[BasicTensorDescription]) -> None:
        triples = (("x_indices", self.x_indices), ("y_indices", self.y_indices), ("indices", self.indices))
        for (name, indices), type in zip(triples, types, strict=False):
            if len(indices) != len(type.shape):
                raise self.fail(ShapeMismatch, f"attribute {name} needs one number a dimension", operand=name,
                                got=f"{indices} for {type}", expected=f"{len(type.shape)} numbers",
                                help="write the index of each dimension: a[i, k] is (0, 2)")
        counts: dict[int, int] = {}
        for name, indices in triples:
            if len(set(indices)) != len(indices):
                raise self.fail(InvalidArgument, f"attribute {name} has an index twice", operand=name, got=indices,
                                expected="each index once",
                                help="take the diagonal first; ops.Einsum does")
            for entry in indices:
                counts[entry] = counts.get(entry, 0) + 1
        for entry, count in counts.items():
            if count == 1:
                alone = next(name for name, indices in triples if entry in indices)
                raise self.fail(InvalidArgument, f"index {entry} occurs in {alone} alone", operand=alone,
                                got=", ".join(f"{name}={indices}" for name, indices in triples),
                                expected="each index in at least two of the three",
                                help="sum it, or broadcast the result, with an op of its own")

    def infer_labels(self, types: tuple[BasicTensorDescription, ...]) -> tuple[Labels | None, ...]:
        return (labels_by_index(self.operands, (self.x_indices, self.y_indices), self.indices),)

    def structure(self, *types: BasicTensorDescription) -> Structure:
        extents = dict(zip(self.y_indices, types[1].shape, strict=True))
        extents.update(zip(self.x_indices, types[0].shape, strict=True))
        contracted = sorted(set(self.x_indices).difference(self.indices))  # the sum runs in this order
        order = {entry: index(d) for d, entry in enumerate([*self.indices, *contracted])}

        def access(indices: Indices) -> Access:
            return Access(tuple([order[entry] for entry in indices]))
        return Structure(domain=tuple([extents[entry] for entry in order]),
                         reads=(access(self.x_indices), access(self.y_indices)), writes=(access(self.indices),),
                         body=multiply_body, combine="add", accumulate=types[0].dtype.compute)

    def vmap(self, length: DimLike, mapped: Sequence[bool], *operands: Value) -> tuple[Value, ...]:
        number = max((*self.x_indices, *self.y_indices), default=-1) + 1  # the last, so that sums keep their order
        terms = [(number, *term) if is_mapped else term
                 for is_mapped, term in zip(mapped, (self.x_indices, self.y_indices), strict=True)]
        return Contract(*operands, *terms, (number, *self.indices)).outputs

    def vjp(self, gradient: Value, x: Value, y: Value) -> Gradients:
        return (Contract(gradient, y, self.indices, self.y_indices, self.x_indices),
                Contract(gradient, x, self.indices, self.x_indices, self.y_indices))


def contraction_extents(op: Op, terms: Sequence[Indices], types: Sequence[BasicTensorDescription],
                        spelled: Callable[[int], str] = "index {}".format) -> dict[int, DimLike]:
    """Returns the length of each index; ShapeMismatch, naming the operand, if two lengths differ.

    ``spelled`` returns the text for an index in errors.
    """
    extents: dict[int, DimLike] = {}
    for position, (term, type) in enumerate(zip(terms, types, strict=True)):
        for d, (entry, length) in enumerate(zip(term, type.shape, strict=True)):
            known = extents.setdefault(entry, length)
            if known is not length:
                require_equal(op, length, known, f"{spelled(entry)} has two lengths", got=f"{length} in {type}",
                              operand=f"{op.operand_label(position)}, dimension {d}", expected=known,
                              help="contracted and batch dimensions must be equally long")
    return extents


def labels_by_index(operands: Sequence[Value], terms: Sequence[Indices], indices: Indices) -> Labels | None:
    """Returns the labels of a result, taken from the dimensions of the operands with the same index."""
    known: dict[int, str | None] = {}
    for operand, term in zip(operands, terms, strict=True):
        for entry, label in zip(term, operand.labels or (None,) * len(term), strict=True):
            known[entry] = known.get(entry) or label
    labels = tuple([known.get(entry) for entry in indices])
    return labels if any(labels) else None
