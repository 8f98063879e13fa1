"""Random programs with loops, branches and effects, as a user writes them, and what Python makes of the same text.

A program is a list of statements on a state of three integers below 97, two variables, and a table that is looked up,
sometimes outside of it. Statements nest: loops by counts, slices and conditions, and branches.

>>> program = random_program(4)
>>> wanted = by_python(program)
>>> by_graph(program, "interpreter") == wanted == by_graph(program, "cpu")
True
"""

from __future__ import annotations

import contextlib
import io
from random import Random
from typing import Any, NamedTuple

import numpy as np

import nervure as nv
from nervure.errors import IndexOutOfRange

MODULUS, SIZE, DEEPEST = 97, 3, 3
TABLE = [5, 80, 13, 44, 96, 1, 62]
START, VALUES = [3, 50, 91], [7, 20]

Statement = tuple[Any, ...]


class Outcome(NamedTuple):
    """The state at the end, None for an error, the variables behind the call, and what was printed, if it ended."""

    state: list[int] | None
    variables: list[int]
    printed: list[str]


def random_program(seed: int) -> list[Statement]:
    """The program of a seed."""
    return _block(Random(seed), 0)


def _block(random: Random, depth: int) -> list[Statement]:
    return [_statement(random, depth) for _ in range(random.randint(1, 4))]


def _statement(random: Random, depth: int) -> Statement:
    kinds = ["set", "set", "assign", "assign", "print", "look up"]
    kinds += ["count", "slices", "while", "branch", "switch", "symbol"] if depth < DEEPEST else []
    kind = random.choice(kinds)
    if kind == "count":
        return kind, random.choice((0, 1, 2, 3)), _block(random, depth + 1)
    if kind == "symbol":
        return kind, _source(random), _block(random, depth + 1)
    if kind == "slices":
        return kind, [random.randrange(MODULUS) for _ in range(random.choice((1, 2, 4)))], random.random() < 0.5, \
            _block(random, depth + 1)
    if kind == "while":
        return kind, _source(random), random.choice((1, 2, 4)), _block(random, depth + 1)
    if kind in ("branch", "switch"):
        return kind, _source(random), [_block(random, depth + 1) for _ in range(2 if kind == "branch" else 3)]
    return kind, random.randrange(SIZE if kind != "assign" else len(VALUES)), _source(random), _source(random)


def _source(random: Random) -> tuple[str, int]:
    """A part of the state, a variable, or a number."""
    kind = random.choice(("state", "state", "variable", "number"))
    return kind, random.randrange({"state": SIZE, "variable": len(VALUES), "number": MODULUS}[kind])


def failure_of(seed: int) -> str | None:
    """How a transformer does something else than Python with the program of a seed; None if all is well."""
    program = random_program(seed)
    wanted = by_python(program)
    for transformer in ("interpreter", "cpu"):
        found = by_graph(program, transformer)
        if found != wanted:
            return f"{transformer}: {found}, not {wanted}, of {program}"
    return None


# -- Python --------------------------------------------------------------------------------------------------------


def by_python(program: list[Statement]) -> Outcome:
    """What Python's own loops and branches make of a program."""
    machine = _Python()
    try:
        state = machine.run(program, list(START))
    except IndexError:
        return Outcome(None, list(VALUES), [])
    return Outcome(state, machine.variables, machine.printed)


class _Python:
    def __init__(self) -> None:
        self.variables, self.printed = list(VALUES), []

    def value(self, source: tuple[str, int], state: list[int]) -> int:
        kind, at = source
        return state[at] if kind == "state" else self.variables[at] if kind == "variable" else at

    def run(self, block: list[Statement], state: list[int]) -> list[int]:
        state = list(state)
        for kind, *rest in block:
            if kind in ("count", "symbol"):
                trips = rest[0] if kind == "count" else self.value(rest[0], state) % 4
                for at in range(trips):
                    state[0] = (state[0] + at) % MODULUS
                    state = self.run(rest[1], state)
            elif kind == "slices":
                for number in rest[0][::-1] if rest[1] else rest[0]:
                    state[1] = (state[1] + number) % MODULUS
                    state = self.run(rest[2], state)
            elif kind == "while":
                count = self.value(rest[0], state) % 3
                while count < rest[1]:
                    state, count = self.run(rest[2], state), count + 1
            elif kind == "branch":
                state = self.run(rest[1][0 if self.value(rest[0], state) > 48 else 1], state)
            elif kind == "switch":
                state = self.run(rest[1][self.value(rest[0], state) % 3], state)
            else:
                self.simple(kind, rest[0], *[self.value(source, state) for source in rest[1:]], state)
        return state

    def simple(self, kind: str, at: int, x: int, y: int, state: list[int]) -> None:
        if kind == "set":
            state[at] = (x * 3 + y) % MODULUS
        elif kind == "assign":
            self.variables[at] = (self.variables[at] + x * y) % MODULUS
        elif kind == "look up":
            state[at] = TABLE[(x + y) % MODULUS % (len(TABLE) + (x > 80))]
        else:
            self.printed.append(f"seen: {state[at]}")


# -- the graph -----------------------------------------------------------------------------------------------------


def by_graph(program: list[Statement], transformer: str) -> Outcome:
    """What a computation with ``nv.scan``, ``nv.cond`` and their like makes of a program."""
    with nv.transformers.make_transformer(transformer) as made:
        graph = _Graph()
        start = nv.placeholder((SIZE,), nv.int64)
        step = made.computation(graph.run(program, start), start)
        with contextlib.redirect_stdout(io.StringIO()) as output:
            try:
                state = step(np.array(START)).tolist()
            except IndexOutOfRange:
                state = None
        variables = [int(made.get(variable)) for variable in graph.variables]
        return Outcome(state, variables, output.getvalue().splitlines() if state is not None else [])


class _Graph:
    def __init__(self) -> None:
        self.variables = [nv.variable((), value, nv.int64) for value in VALUES]
        self.table = nv.constant(TABLE, dtype=nv.int64)

    def value(self, source: tuple[str, int], state: nv.Tensor) -> nv.Tensor:
        kind, at = source
        if kind == "number":
            return nv.constant(at, dtype=nv.int64)
        return state[at] if kind == "state" else self.variables[at] * 1

    def run(self, block: list[Statement], state: nv.Tensor) -> nv.Tensor:
        members: list[Any] = []
        for statement in block:
            made = self.made(statement, state)
            members.append(made)
            state = made if isinstance(made, nv.Tensor) else state
        return nv.sequential([*members, state])

    def made(self, statement: Statement, state: nv.Tensor) -> Any:
        """The state behind a statement, or an assignment."""
        kind, *rest = statement
        if kind in ("count", "symbol"):
            def counted(at: nv.Tensor, own: nv.Tensor) -> nv.Tensor:
                return self.run(rest[1], changed(own, 0, (own[0] + at) % MODULUS))
            return nv.fori_loop(0, rest[0] if kind == "count" else self.value(rest[0], state) % 4, counted, state)
        if kind == "slices":
            def sliced(own: nv.Tensor, number: nv.Tensor) -> tuple[nv.Tensor, None]:
                return self.run(rest[2], changed(own, 1, (own[1] + number) % MODULUS)), None
            every = len(rest[0]) % 3 or None
            return nv.scan(sliced, state, nv.constant(rest[0], dtype=nv.int64), reverse=rest[1], checkpoint=every)[0]
        if kind == "while":
            return nv.while_loop(lambda pair: pair[1] < rest[1], lambda pair: (self.run(rest[2], pair[0]), pair[1] + 1),
                                 (state, self.value(rest[0], state) % 3))[0]
        if kind == "branch":
            return nv.cond(self.value(rest[0], state) > 48, *[self.branch(block) for block in rest[1]], state)
        if kind == "switch":
            return nv.switch(self.value(rest[0], state) % 3, [self.branch(block) for block in rest[1]], state)
        return self.simple(kind, rest[0], *[self.value(source, state) for source in rest[1:]], state)

    def branch(self, block: list[Statement]) -> Any:
        return lambda state: self.run(block, state)

    def simple(self, kind: str, at: int, x: nv.Tensor, y: nv.Tensor, state: nv.Tensor) -> Any:
        if kind == "set":
            return changed(state, at, (x * 3 + y) % MODULUS)
        if kind == "assign":
            return nv.assign(self.variables[at], (self.variables[at] + x * y) % MODULUS)
        if kind == "look up":
            place = (x + y) % MODULUS % (len(TABLE) + nv.convert(x > 80, nv.int64))
            return changed(state, at, self.table[place])
        return changed(state, at, nv.print_op(state[at], "seen"))


def changed(state: nv.Tensor, at: int, value: nv.Tensor) -> nv.Tensor:
    """The state with one other number."""
    return nv.stack([value if place == at else state[place] for place in range(SIZE)])
