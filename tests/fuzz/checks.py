"""A table of checks that a function on the cpu must pass. Each raises ``Failed`` where it does not hold.

>>> from tests.fuzz.graphs import random_case
>>> failure(random_case(5), ["values"]) is None
True
"""

from __future__ import annotations

import contextlib
import io
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np

import nervure as nv
from nervure import flags
from nervure.errors import IndexOutOfRange, InvalidArgument, NumericError
from nervure.ir.function import Function
from nervure.ir.parser import parse_function
from nervure.ir.printer import print_function
from nervure.ir.structural import equal
from nervure.ir.variable import Variable
from nervure.passes.pipelines import minimal, native
from nervure.transformers.cpu.compile import compilation as compiling
from nervure.types.duration import Duration
from tests.arrays import guarded
from tests.fuzz.comparison import MORE_RUNS, Expected, expected, wrong
from tests.fuzz.graphs import Case, arguments, states, strided
from tests.fuzz.unrolled import unrolled
from tests.fuzz.work import check_work, optimised
from tests.passes.agreement import assert_same_bits

REFUSALS = (IndexOutOfRange, InvalidArgument)
"""What a call may say of its arguments."""

LONG = Duration(known=((0, 10**12),))
"""The time of a step that is cut into as many slices as there may be."""

Arrays = Sequence[np.ndarray]
States = Mapping[Variable, np.ndarray]


class Failed(AssertionError):
    """A check that does not hold."""


def failure(case: Case, names: Sequence[str]) -> str | None:
    """What is wrong with a function: the name of the first check that fails, and what it says; None if all hold."""
    for name in names:
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                CHECKS[name](case)
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            place = f"{frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno}"
            return f"{name}: {type(error).__name__} at {place}: {str(error)[:400]}"
    return None


def is_valid(case: Case) -> bool:
    """Whether the interpreter takes the arguments: all indices are in range, no choice is among nothing, and no
    matrix is singular.

    It runs the function as it is: a pass may drop the only reader of an element that is not there.
    """
    try:
        for binding in case.bindings:
            _run("interpreter", lambda function: function, case, arguments(case.function, binding, case.seed),
                 states(case.function, case.seed))
    except (*REFUSALS, NumericError):
        return False
    return True


# -- runs ----------------------------------------------------------------------------------------------------------


def _run(name: str, prepare: Callable[[Function], Function], case: Case, arrays: Arrays,
         values: States) -> list[np.ndarray]:
    """The results and then the new values of variables, by one call on a new transformer."""
    with nv.transformers.make_transformer(name) as transformer:
        return _call(transformer, case.function, transformer.compile(prepare(case.function)), arrays, values)


def _call(transformer: Any, function: Function, executable: Any, arrays: Arrays, values: States,
          out: Arrays | None = None, donate: Sequence[int] = ()) -> list[np.ndarray]:
    for variable, value in values.items():
        transformer.set(variable, value)
    results = [np.asarray(result) for result in executable(*arrays, out=out, donate=donate)]
    return [*results, *[transformer.get(variable) for variable, _ in function.updates]]


def _compare(function: Function, got: Arrays, binding: Mapping[str, int], arrays: Arrays, values: States,
             wanted: list[Expected], note: str, contracts: bool = False) -> None:
    for at, (mine, theirs) in enumerate(zip(got, wanted, strict=True)):
        if not wrong(mine, theirs).any():
            continue
        if theirs.spread is not None:  # noise is random: a suspicion is looked at with more of it
            theirs = expected(function, binding, arrays, values, MORE_RUNS, contracts)[at]
        bad = wrong(mine, theirs)
        if bad.any():
            places = [tuple(map(int, place)) for place in np.argwhere(bad)[:3]]
            shown = [f"{place}: {mine[place]!r}, not {theirs.value[place]!r}" for place in places]
            raise Failed(f"{note} root {at} with {dict(binding)}: {int(bad.sum())} of {bad.size} wrong: {shown}")


def _same_bits(got: Arrays, wanted: Arrays, note: str) -> None:
    """O14: a NaN may have another sign where code that adds two of them takes the second one first."""
    for at, (mine, theirs) in enumerate(zip(got, wanted, strict=True)):
        assert_same_bits(mine, theirs, f"{note}: other bits in root {at}")


# -- checks --------------------------------------------------------------------------------------------------------


def check_values(case: Case) -> None:
    """The cpu gives what the interpreter gives, in a first call and in those that follow, wherever arrays lie, and
    touches nothing beside them.

    Results of earlier calls stay as they are, and variables that have changed are the next call's.
    """
    earlier: list[tuple[np.ndarray, bytes]] = []
    with nv.transformers.make_transformer("cpu") as cpu:
        executable = cpu.compile(optimised(case.function))
        for binding in case.bindings:
            arrays, values = arguments(case.function, binding, case.seed), states(case.function, case.seed)
            if not _raises_alike(case, cpu, executable, arrays, values):
                got = _checked_calls(case, cpu, executable, binding, arrays, values)
                earlier += [(result, result.tobytes()) for result in got]
    if any([result.tobytes() != before for result, before in earlier]):
        raise Failed("a later call has written into the results of an earlier one")


def _checked_calls(case: Case, cpu: Any, executable: Any, binding: Mapping[str, int], arrays: Arrays,
                   values: States) -> list[np.ndarray]:
    function, count = case.function, len(case.function.results)
    got = _call(cpu, function, executable, arrays, values)
    _compare(function, got, binding, arrays, values, expected(function, binding, arrays, values), "cpu")
    _same_bits(_call(cpu, function, executable, arrays, values), got, f"a second call with {binding}")
    moved = strided(arrays, case.seed)
    _same_bits(_call(cpu, function, executable, moved, values), got, f"arrays elsewhere with {binding}")
    out = strided([np.zeros_like(result) for result in got[:count]], case.seed)
    _same_bits(_call(cpu, function, executable, arrays, values, out), got, f"out= with {binding}")
    plain = [guarded(np.empty_like(result)) for result in got[:count]]
    beside = [guarded(array, at_start=case.seed % 4 == 0) for array in arrays]
    _same_bits(_call(cpu, function, executable, beside, values, plain), got, f"beside closed pages with {binding}")
    given = [np.array(array) for array in arrays]
    _same_bits(_call(cpu, function, executable, given, values, donate=range(len(given))), got,
               f"donated arguments with {binding}")
    if function.updates:
        changed = {variable: cpu.get(variable) for variable in values}
        after = _call(cpu, function, executable, arrays, {})
        _compare(function, after, binding, arrays, changed, expected(function, binding, arrays, changed), "a next call")
    return got


def _raises_alike(case: Case, cpu: Any, executable: Any, arrays: Arrays, values: States) -> bool:
    """Whether these arguments are an error; then they are the same one on the cpu, and no variable has changed.

    Also where only the function as it is has that error, as passes have dropped the op that tells it.
    """
    try:
        _run("interpreter", optimised, case, arrays, values)
    except REFUSALS as refusal:
        for lying in (arrays, arrays, strided(arrays, case.seed), list(map(guarded, arrays))):
            try:
                _call(cpu, case.function, executable, lying, values)
            except type(refusal):
                _same_bits([cpu.get(variable) for variable in values], list(values.values()), "after an error")
            else:
                raise Failed(f"the cpu does not say: {refusal}") from None
        return True
    except NumericError:  # a rounding decides whether a matrix without full rank is singular, so both may differ
        return True
    return not is_valid(case)


def check_xla(case: Case) -> None:
    """A call on xla gives what the interpreter gives, where that refuses nothing. What prints is left to the cpu."""
    if not is_valid(case):
        return
    with nv.transformers.make_transformer("xla") as xla:
        try:
            executable = xla.compile(optimised(case.function))
        except nv.NotSupported:
            return
        for binding in case.bindings:
            arrays, values = arguments(case.function, binding, case.seed), states(case.function, case.seed)
            wanted = expected(case.function, binding, arrays, values, contracts=True)
            got = _call(xla, case.function, executable, arrays, values)
            _compare(case.function, got, binding, arrays, values, wanted, "xla", contracts=True)


def check_unoptimised(case: Case) -> None:
    """The function as it was written, with composites written out, is compiled right, too."""
    if not is_valid(case):
        return
    binding = case.bindings[0]
    arrays, values = arguments(case.function, binding, case.seed), states(case.function, case.seed)
    wanted = expected(case.function, binding, arrays, values)
    got = _run("cpu", minimal, case, arrays, values)
    _compare(case.function, got, binding, arrays, values, wanted, "without passes")


def check_passes(case: Case) -> None:
    """On the interpreter passes change no bit."""
    if not is_valid(case):
        return
    for binding in case.bindings[:2]:
        arrays, values = arguments(case.function, binding, case.seed), states(case.function, case.seed)
        before = _run("interpreter", minimal, case, arrays, values)
        after = _run("interpreter", optimised, case, arrays, values)
        for at, (mine, theirs) in enumerate(zip(after, before, strict=True)):
            if wrong(mine, Expected(theirs, None)).any():
                raise Failed(f"passes change root {at} with {binding}")


def check_threads(case: Case) -> None:
    """Two threads, which share every step however small, give the bits of one."""
    if not is_valid(case):
        return
    binding = case.bindings[-1]
    arrays, values = arguments(case.function, binding, case.seed), states(case.function, case.seed)
    with flags.overriding(threads=1):
        one = _run("cpu", optimised, case, arrays, values)
    with flags.overriding(threads=2), _long_steps():
        two = _run("cpu", optimised, case, arrays, values)
    _same_bits(two, one, f"two threads with {binding}")


@contextmanager
def _long_steps() -> Iterator[None]:
    """Steps are taken to last so long that each is cut into as many slices as there may be."""
    with mock.patch.multiple(compiling, duration_of=lambda *_: LONG, chunk_alignment=lambda _: 1):
        yield


def check_rows(case: Case) -> None:
    """A row of a batch has the bits that it has alone."""
    binding = case.bindings[0]
    arrays = arguments(case.function, binding, case.seed)
    has_batch = [bool(parameter.shape) and isinstance(parameter.shape[0], nv.Dim)
                 for parameter in case.function.parameters]
    with nv.transformers.make_transformer("cpu") as cpu:
        executable = cpu.compile(optimised(case.function))
        together = [np.asarray(result) for result in executable(arrays)]
        for row in {0, binding["n"] // 2, binding["n"] - 1}:
            own = [array[row:row + 1] if is_batch else array for array, is_batch in zip(arrays, has_batch, strict=True)]
            alone = [np.asarray(result) for result in executable(own)]
            _same_bits(alone, [result[row:row + 1] for result in together], f"row {row} of {binding['n']}")


def check_text(case: Case) -> None:
    """A function that is read back from its text is the same one, and gives the same bits, as is and optimised.

    One that keeps derivatives of its own under ``nv.vmap`` calls the host program in them, and has no text.
    """
    text = print_function(case.function)
    if "=<host function" in text:
        return
    again = parse_function(text)
    if not equal(again, case.function) or print_function(again) != text:
        raise Failed("the text of the function that was read is another one")
    if not is_valid(case):
        return
    arrays, values = arguments(case.function, case.bindings[0], case.seed), states(case.function, case.seed)
    named = {variable.name: values[variable] for variable in values}
    theirs = case._replace(function=again), {variable: named[variable.name] for variable in again.variables}
    for prepare in (optimised, native):
        _same_bits(_run("cpu", prepare, theirs[0], arrays, theirs[1]), _run("cpu", prepare, case, arrays, values),
                   "the function that was read")


def check_prints(case: Case) -> None:
    """The cpu prints what the interpreter prints, and in that order, if only exact numbers are shown."""
    if not is_valid(case):
        return
    for binding in case.bindings[:2]:
        arrays, values = arguments(case.function, binding, case.seed), states(case.function, case.seed)
        shown = []
        for name, prepare in (("interpreter", minimal), ("interpreter", optimised), ("cpu", optimised)):
            with contextlib.redirect_stdout(io.StringIO()) as output:
                _run(name, prepare, case, arrays, values)
            shown.append(output.getvalue())
        if len(set(shown)) > 1:
            raise Failed(f"prints differ with {binding}: {[len(entry.splitlines()) for entry in shown]} lines")


def check_unrolled(case: Case) -> None:
    """A373: an iteration has the bits that it has in a chain of iterations."""
    if not is_valid(case):
        return
    arrays, values = arguments(case.function, case.bindings[0], case.seed), states(case.function, case.seed)
    chain = unrolled(case.function)
    _same_bits(_run("cpu", optimised, case._replace(function=chain), arrays, values),
               _run("cpu", optimised, case, arrays, values), "a chain of iterations")


def check_shared(case: Case) -> None:
    """A391: kernels that share an outer loop give the bits of kernels apart, on a machine of small caches, too."""
    if not is_valid(case):
        return
    own_cache = 2 ** ((14 if len(case.bindings) == 1 else 16) + case.seed % 3)  # rows that are symbols count as long
    found = []
    for is_shared in (False, True):
        with flags.overriding(share_loops=is_shared), nv.transformers.make_transformer("cpu") as cpu:
            if is_shared:
                cpu.target = cpu.target._replace(machine=cpu.target.machine._replace(
                    first_cache=1024, own_cache=own_cache, threads=1 + case.seed % 5))
            executable = cpu.build(case.function)
            found.append([_call(cpu, case.function, executable, arguments(case.function, binding, case.seed),
                                states(case.function, case.seed)) for binding in case.bindings])
    for binding, mine, theirs in zip(case.bindings, found[1], found[0], strict=True):
        _same_bits(mine, theirs, f"shared loops with {binding}")


CHECKS: dict[str, Callable[[Case], None]] = {
    "values": check_values, "unoptimised": check_unoptimised, "passes": check_passes, "threads": check_threads,
    "rows": check_rows, "work": check_work, "text": check_text, "prints": check_prints,
    "unrolled": check_unrolled, "shared": check_shared,
    "xla": check_xla}
