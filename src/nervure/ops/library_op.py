"""Ops that a compiled loop of NumPy's computes: factorisations by LAPACK, and Fourier transforms.

NumPy's generalised functions hold pointers to loops of machine code, which go over a batch of small problems and need
no Python. The interpreter calls the function, the cpu its loop: both have the same bits, those of the library.

>>> import nervure as nv
>>> a, b = nv.Parameter(nv.float64, (5, 3, 3)), nv.Parameter(nv.float64, (5, 3, 2))
>>> solve = nv.ops.Solve(a, b)
>>> solve, solve.core_lengths
(f64[5, 3, 2] Solve(Parameter, Parameter), (3, 2))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.linalg import _umath_linalg

from nervure.errors import NumericError, ShapeMismatch
from nervure.ir.kinds import require_admitted
from nervure.ir.whole_op import WholeOp
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import DimLike, equal, same_lengths
from nervure.types.dtype import DType, complex64, complex128, float32, float64
from nervure.types.shape import index_at

DOUBLES = frozenset([float64, complex128])
SINGLES_AND_DOUBLES = frozenset([float32, float64, complex64, complex128])
LETTERS = {"float32": "f", "float64": "d", "complex64": "F", "complex128": "D"}


class LibraryOp(WholeOp, abstract=True):
    """An op over a batch of problems, each of which a loop of NumPy's solves.

    ``core`` names the last dimensions of operands and results, as in ``"m m, m n -> m n"``; those in front number the
    problems, and are the same for all operands.
    """

    core: ClassVar[str]
    admits: ClassVar[frozenset[DType]] = SINGLES_AND_DOUBLES
    failure: ClassVar[str | None] = None  # what the first element of a result that is NaN means
    remedy: ClassVar[str] = "nothing was changed by this call"
    writes_first: ClassVar[bool] = False  # whether the loop writes its result over the operand
    scale: ClassVar[bool] = False  # whether the loop takes a factor behind the operands

    @property
    def loop_name(self) -> str:
        """The name of NumPy's function."""
        raise NotImplementedError

    def results(self, dtype: DType) -> tuple[DType, ...]:
        """Returns the element types of the results."""
        return (dtype,) * len(self._names()[1])

    def extents(self, known: Mapping[str, DimLike]) -> Mapping[str, DimLike]:
        """Returns the lengths that results have and operands lack."""
        return {}

    @classmethod
    def _names(cls) -> tuple[list[list[str]], list[list[str]]]:
        operands, results = [[term.split() for term in side.split(",")] for side in cls.core.split("->")]
        return operands, results

    def _lengths(self, types: Sequence[BasicTensorDescription]) -> dict[str, DimLike]:
        """Returns the length of each name; ShapeMismatch where operands disagree."""
        known: dict[str, DimLike] = {}
        batch = types[0].shape[:len(types[0].shape) - len(self._names()[0][0])]
        for position, (names, type) in enumerate(zip(self._names()[0], types, strict=True)):
            require_admitted(self, type, self.admits)
            count = len(type.shape) - len(names)
            own = list(zip(names, type.shape[max(count, 0):], strict=False))
            fits = count >= 0 and same_lengths(batch, type.shape[:count])
            if not fits or any([equal(known.setdefault(name, length), length) is not True for name, length in own]):
                raise self.fail(ShapeMismatch, "the operands do not fit together", operand=self.operand_label(position),
                                got=type, expected=f"batch dimensions {[*map(str, batch)]}, then {' '.join(names)}",
                                help=f"the last dimensions are {self.core}")
        return {**known, **self.extents(known)}

    def infer(self, *types: BasicTensorDescription) -> BasicTensorDescription | tuple[BasicTensorDescription, ...]:
        lengths = self._lengths(types)
        first, batch = types[0], types[0].shape[:len(types[0].shape) - len(self._names()[0][0])]
        made = tuple([first.with_(dtype=dtype, shape=(*batch, *[lengths[name] for name in names]), layout=None)
                      for names, dtype in zip(self._names()[1], self.results(first.dtype), strict=True)])
        return made[0] if len(made) == 1 else made

    def infer_labels(self, types: tuple[BasicTensorDescription, ...]) -> tuple[None, ...]:
        return (None,) * len(types)

    def raised(self, length: DimLike) -> Mapping[str, object]:
        return self.attributes

    # -- what a backend needs ------------------------------------------------------------------------------------

    @property
    def core_names(self) -> tuple[str, ...]:
        """The names of core dimensions, in the order of their first occurrence."""
        operands, results = self._names()
        return tuple(dict.fromkeys([name for names in (*operands, *results) for name in names]))

    @property
    def core_lengths(self) -> tuple[DimLike, ...]:
        """The lengths of the core dimensions, in the order of their names."""
        lengths = self._lengths([operand.type for operand in self.operands])
        return tuple([lengths[name] for name in self.core_names])

    def core_shapes(self) -> list[tuple[DimLike, ...]]:
        """Returns the core shape of each operand and each result, in order."""
        operands, results = self._names()
        values = [*self.operands, *self.outputs]
        return [value.shape[len(value.shape) - len(names):]
                for value, names in zip(values, [*operands, *results], strict=True)]

    @property
    def loop_types(self) -> str:
        """NumPy's letters for the element types of operands and results, as in ``"dd->d"``."""
        before = [LETTERS[operand.dtype.name] for operand in self.operands]
        factor = [LETTERS[self.operands[0].dtype.part.name]] if self.scale else []
        made = self.outputs[1:] if self.writes_first else self.outputs
        return "".join([*before, *factor, "->", *[LETTERS[output.dtype.name] for output in made]])

    @property
    def function(self) -> np.ufunc:
        """NumPy's function."""
        found: np.ufunc = getattr(_umath_linalg, self.loop_name)
        return found

    @property
    def factor(self) -> np.ndarray:
        """The factor of a loop that takes one."""
        return np.ones((), self.operands[0].dtype.part.numpy)

    def compute(self, *arrays: np.ndarray, bound: int = 0) -> Sequence[np.ndarray]:
        given = [np.array(array, order="C") for array in arrays] if self.writes_first else list(arrays)
        if self.scale:
            given.append(self.factor)
        with np.errstate(all="ignore"):
            found = self._called(given)
        results = [given[0]] if self.writes_first else []
        results += [np.asarray(result) for result in (found if isinstance(found, tuple) else (found,))]
        if self.failure is not None:
            self._check(arrays, results[0])
        return results

    def _called(self, given: Sequence[np.ndarray]) -> object:
        return self.function(*given, signature=self.loop_types)

    def _check(self, operands: Sequence[np.ndarray], result: np.ndarray) -> None:
        """Raises NumericError for the first problem whose result is NaN while its operands are finite."""
        operand_names, result_names = self._names()
        rank = result.ndim - len(result_names[0])
        if not result.size:
            return
        wrong = np.isnan(result.reshape(*result.shape[:rank], -1)[..., 0])
        for names, operand in zip(operand_names, operands, strict=True):
            axes = tuple(range(operand.ndim - len(names), operand.ndim))
            wrong = wrong & np.isfinite(operand).all(axes)
        if wrong.any():
            raise self.failed(int(np.argmax(wrong)), wrong.shape)

    def failed(self, problem: int, batch: Sequence[int]) -> NumericError:
        """Returns the error for a ``problem`` of a ``batch``, by its number, that has no result."""
        place = list(index_at(problem, batch))
        return self.fail(NumericError, str(self.failure), operand=self.operand_label(0),
                         got=f"the matrix at {place} of the batch" if place else "this matrix",
                         expected="a matrix for which there is a result", help=self.remedy)
