"""A network at real sizes from a seed, and what has to hold of it.

A case is one to four consecutive stages of a network, with a batch that is a symbol, and two numbers for it. The
program that has the symbol gives the bits of those that have the numbers; elements of every result, gradient and new
value of a variable, drawn at random, are those of a float64 oracle: nearly to the bit, where all numbers are whole.

>>> print(Case(3, "GPT", 1, 2, (6, 1), False, "forward"))
3: 2 of GPT from (64, 384), batches 6 and 1, real numbers, forward
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import nervure as nv
from nervure.computation import Computation
from nervure.front.creation import AssignableTensorOp, variables_below
from nervure.front.tensor import Tensor
from nervure.ir.function import Function
from nervure.ir.kinds import Structured, multiply_body
from nervure.ir.leaves import Parameter, ReadVariable
from nervure.ir.traverse import rebuild
from nervure.passes.decompose import decompose
from nervure.transformers.base import Executable, Transformer
from tests.arrays import guarded
from tests.real_sizes.elements import elements_of
from tests.real_sizes.layers import CHOSEN, NETWORKS, Draw

STAGES = NETWORKS | CHOSEN

SAMPLES = 200
"""Elements of each result that are compared with the oracle's."""

BITS, FRACTION = 23, 256
"""Numbers that are multiples of a fraction, and no more of them than so many bits count, come from sums that are exact
in float32: there is room for parts of a sum to be larger.
"""

TOLERANCE, LEAST, NEARLY = 3e-4, 1e-4, 1e-6
"""How far a real number may be off, in parts of the root mean square of those that were drawn of a result and of its
own size; and at all, where what is 0 comes from others that are about 1. Whole numbers may be off by what a sum loses
whose parts were larger: much less than any of its terms.
"""


class Case(NamedTuple):
    """Stages of a network from ``first`` on, of which kind their numbers are, and what is computed: the results
    ("forward"), gradients beside them ("gradients"), or new values of all weights, too ("step"). ``given``: weights are
    arguments, of which nothing is prepacked.
    """

    seed: int
    network: str
    first: int
    count: int
    batches: tuple[int, int]
    whole: bool
    mode: str
    given: bool = False

    def __str__(self) -> str:
        shape, _ = STAGES[self.network][self.first]
        return (f"{self.seed}: {self.count} of {self.network} from {shape}, batches {self.batches[0]} and "
                f"{self.batches[1]}, {'whole' if self.whole else 'real'} numbers, {self.mode}"
                f"{', weights given' * self.given}")


class Program(NamedTuple):
    """A compiled case for a batch, a number or a symbol; ``weights`` in the order of the gradients, and the values of
    those that are ``given`` by each call.
    """

    function: Function
    executable: Executable
    weights: list[AssignableTensorOp]
    given: list[np.ndarray]

    def outcome(self, data: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The results of a call, and the values behind it of the variables that it has changed."""
        written = [variable for variable, _ in self.function.updates]
        return [*self.executable(data), *[np.asarray(self.executable.transformer.get(entry)) for entry in written]]


def draw_case(seed: int, work: float = 3e8) -> Case:
    """The case of a seed; a larger batch takes about as many multiply-adds as ``work``, if 128 take no fewer."""
    random = np.random.default_rng(seed)
    network = str(random.choice(list(NETWORKS)))
    stages = NETWORKS[network]
    first = int(random.integers(len(stages)))
    count = int(min(random.integers(1, 5), len(stages) - first))
    whole, mode = bool(random.random() < 0.6), str(random.choice(["forward", "gradients", "step"]))
    case = Case(seed, network, first, count, (1, 1), whole, mode)
    most = int(min(max(work / work_of(case), 1), 128))
    large, other = int(random.integers((most + 1) // 2, most + 1)), int(random.integers(1, most + 1))
    return case._replace(batches=(large, other), given=bool(mode != "step" and random.random() < 0.4))


def work_of(case: Case) -> float:
    """About how many multiply-adds an example takes, forward and backward."""
    draw = Draw(np.random.default_rng(0), case.whole, False)
    x = nv.placeholder((1, *STAGES[case.network][case.first][0]))
    null = nv.transformers.make_transformer("null")
    function = decompose(nv.computation(_result(case, draw, x), x, transformer=null).function)
    domains = [op.structure(*[operand.type for operand in op.operands]) for op in function.operations
               if isinstance(op, Structured)]
    products = [math.prod(structure.domain) for structure in domains if structure.body is multiply_body]
    sizes = [math.prod(output.shape) for op in function.operations for output in op.outputs]
    return (sum(products) + 20.0 * sum(sizes)) * (1 if case.mode == "forward" else 3)


def _result(case: Case, draw: Draw, x: Tensor) -> Tensor:
    for _, stage in STAGES[case.network][case.first:case.first + case.count]:
        x = stage(draw, x)
    return x


def program(case: Case, batch: object, transformer: Transformer) -> Program:
    """The program of a case; that of another batch has equal weights."""
    draw = Draw(np.random.default_rng(case.seed), case.whole, case.mode != "forward")
    x = nv.placeholder((batch, *STAGES[case.network][case.first][0]))
    y = _result(case, draw, x)
    maker = nv.transformers.make_transformer("null") if case.given else transformer  # which compiles what comes of it
    if case.mode == "forward":
        return _compiled(case, maker.computation([y], x), [], transformer)
    weights = sorted(variables_below(y), key=lambda entry: entry.id)
    error = nv.placeholder(y.shape)
    x_gradient, *gradients = nv.deriv(nv.sum(y * error), [x, *weights])
    if case.mode == "gradients":
        return _compiled(case, maker.computation([y, x_gradient, *gradients], x, error), weights, transformer)
    news = [nv.assign(entry, entry - 0.5 * gradient) for entry, gradient in zip(weights, gradients, strict=True)]
    return _compiled(case, maker.computation([x_gradient, *news], x, error), weights, transformer)


def _compiled(case: Case, made: Computation[Any], weights: list[AssignableTensorOp],
              transformer: Transformer) -> Program:
    """The program of a computation; with a parameter in place of each variable, where a case has its weights given."""
    if not case.given:
        return Program(made.function, made.executable, weights, [])
    reads = [op for op in made.function.operations if isinstance(op, ReadVariable)]
    table = {op.value: Parameter(op.dtype, op.shape).value for op in reads}
    parameters = [*made.function.parameters, *[value.op for value in table.values()]]
    rebuild(made.function.operations, table)
    function = Function([table.get(value, value) for value in made.function.results], parameters)
    return Program(function, transformer.build(function), [],
                   [np.asarray(op.variable.initial_value()) for op in reads])


def arguments(case: Case, made: Program, batch: int) -> list[np.ndarray]:
    """The data of a batch, for each element of the result how much it counts, and what is given of a program. Beside
    each array is a closed page.
    """
    draw = Draw(np.random.default_rng([case.seed, batch]), case.whole, False)
    count = len(made.function.parameters) - len(made.given)
    data, *errors = [draw.data((batch, *value.shape[1:])) for value in made.function.parameters[:count]]
    arrays = [data, *[np.clip(error, -1, 1) if case.whole else error for error in errors], *made.given]
    return [guarded(array) for array in arrays]


def check(case: Case) -> None:
    """AssertionError, with the case in its text, where something does not hold on the cpu."""
    with nv.transformers.make_transformer("cpu") as transformer:
        symbolic = program(case, nv.dim("n", min=1), transformer)
        start = [transformer.get(weight).copy() for weight in symbolic.weights]
        for batch in dict.fromkeys(case.batches):
            fixed = program(case, batch, transformer)
            data = arguments(case, fixed, batch)
            for weight, value in zip(symbolic.weights, start, strict=True):
                transformer.set(weight, value)
            got, expected = symbolic.outcome(data), fixed.outcome(data)
            for number, (mine, theirs) in enumerate(zip(got, expected, strict=True)):
                assert np.array_equal(mine, theirs, equal_nan=True), (
                    f"{case}: result {number} of batch {batch} has other bits with a symbol: {_places(mine != theirs)}")
            _check_elements(case, fixed, data, got)


def _check_elements(case: Case, made: Program, data: Sequence[np.ndarray], got: Sequence[np.ndarray]) -> None:
    random = np.random.default_rng([case.seed, 1])
    places = [random.integers(0, entry.size, SAMPLES) if entry.size > SAMPLES else np.arange(entry.size)
              for entry in got]
    wanted = elements_of(made.function, data, places)
    for number, (entry, at, exact) in enumerate(zip(got, places, wanted, strict=True)):
        mine, largest = entry.reshape(-1)[at].astype(np.float64), np.max(np.abs(exact), initial=0)
        size = np.sqrt(np.mean(exact * exact)) + np.abs(exact)
        is_whole = case.whole and FRACTION * largest <= 2**BITS and np.all(exact * FRACTION % 1 == 0)
        wrong = ~(np.abs(mine - exact) <= (NEARLY * size if is_whole else TOLERANCE * size + LEAST))
        assert not wrong.any(), (
            f"{case}: result {number} of batch {len(data[0])}, {entry.shape}: {np.count_nonzero(wrong)} of {len(at)} "
            f"elements are wrong, that at {np.unravel_index(at[wrong][0], entry.shape)} is {mine[wrong][0]}, "
            f"not {exact[wrong][0]}")


def _places(differs: np.ndarray) -> str:
    at = np.argwhere(differs)
    return f"{len(at)} of {differs.size} places, {tuple(at[0].tolist())} first" if len(at) else "signs of zeros"
