"""Derivatives of bodies that assign variables and read them again, beside those of the same program without a body."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure.ir.printer import print_function
from tests.conformance.running import TRANSFORMERS

START = np.float32([1.5, -0.5])


class Program:
    """A variable, and a step that assigns it before it reads it again."""

    def __init__(self) -> None:
        self.v, self.w = nv.variable((2,), START), nv.variable((), 0.75)

    def first(self, c):
        return nv.sequential([nv.assign(self.v, c * 2.0), self.v * c])

    def later(self, c):
        return nv.sequential([nv.assign(self.v, c * self.v * self.w), nv.sin(self.v) * c + self.v * self.w])

    def part(self, c):
        return nv.sequential([nv.assign(self.v[0], c[1] * self.v[1]), self.v * self.v * c * self.w])

    def beside(self, c):
        read = self.v * 1.0
        return nv.sequential([c, read, nv.doall([nv.assign(self.v, c * self.w), nv.assign(self.w, self.w * 0.5)]),
                              self.v * c * self.w + read])

    def without(self, c):
        with nv.no_grad():
            effect = nv.assign(self.v, c * self.v)
        return nv.sequential([effect, self.v * c])

    def inner(self, c):
        return nv.sequential([nv.assign(self.v, c * self.v), nv.cond(c[0] > 0, self.later, self.first, c)]) * self.v


STEPS = [name for name in vars(Program) if not name.startswith("_")]


def unrolled(step, c):
    for _ in range(3):
        c = step(c)
    return c


BODIES = {
    "checkpoint": (lambda step, c: nv.checkpoint(step)(c), lambda step, c: step(c)),
    "cond": (lambda step, c: nv.cond(c[0] > -9, step, lambda c: c, c), lambda step, c: step(c)),
    "switch": (lambda step, c: nv.switch(1, [lambda c: c, step], c), lambda step, c: step(c)),
    "scan": (lambda step, c: nv.scan(lambda c, _: (step(c), None), c, None, length=3)[0], unrolled),
    "blocks": (lambda step, c: nv.scan(lambda c, _: (step(c), None), c, None, length=3, checkpoint=2)[0], unrolled),
    "fori_loop": (lambda step, c: nv.fori_loop(0, 3, lambda i, c: step(c), c), unrolled),
    "while_loop": (lambda step, c: nv.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, step(c[1])), (0, c),
                                                 max_trips=4)[1], unrolled),
    "map": (lambda step, c: nv.map(step, nv.stack([c, c * 0.5])),
            lambda step, c: nv.stack([step(c), step(c * 0.5)])),
}


def found(run, step, transformer):
    """Values, first and second derivatives in both modes, and those in the variables, each from a fresh program."""
    x, t = nv.placeholder((2,)), nv.placeholder((2,))

    def slopes(f, program):
        return nv.grad(lambda x: nv.sum(nv.deriv(f(x), program.v)) + nv.deriv(f(x), program.w))(x)

    def second(f, program):
        of_v, of_w = nv.deriv(f(x), [program.v, program.w])
        return nv.deriv(nv.sum(of_v) + of_w, [program.v, program.w])

    wanted = [lambda f, _: f(x), lambda f, _: nv.grad(f)(x), lambda f, _: nv.jvp(f, (x,), (t,)),
              lambda f, _: nv.jvp(nv.grad(f), (x,), (t,)), lambda f, _: nv.grad(lambda x: nv.sum(nv.grad(f)(x) * t))(x),
              lambda f, program: nv.deriv(f(x), [program.v, program.w]), slopes, second]
    returns = []
    for make in wanted:
        program = Program()
        made = make(lambda x, program=program: nv.sum(nv.cos(run(getattr(program, step), x)), out_axes=()), program)
        returns += [*(made if isinstance(made, (tuple, list)) else [made]), program.v, program.w]
    made = nv.computation(returns, x, t, transformer=nv.transformers.make_transformer(transformer))
    return made(np.float32([0.5, 1.25]), np.float32([1.0, -2.0]))


@pytest.mark.parametrize("body, step, transformer", [
    *[(body, "later", transformer) for body in BODIES for transformer in ("interpreter", "cpu")],
    *[(body, step, "interpreter") for body in ("checkpoint", "cond", "scan") for step in STEPS if step != "later"]])
def test_an_assignment_in_a_body_cuts_the_derivative(body, step, transformer):
    """A271: as it does without a body; reads after it count as reads of the variable."""
    inside, outside = BODIES[body]
    for mine, theirs in zip(found(inside, step, transformer), found(outside, step, transformer), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("transformer", TRANSFORMERS)
def test_tangents_of_open_loops_are_cut(transformer):
    """A271: where the number of iterations is a tensor, there are tangents."""
    program, count, x = Program(), nv.placeholder((), dtype=nv.int64), nv.placeholder((2,))
    results = nv.jvp(lambda x: nv.fori_loop(0, count, lambda i, c: program.later(c), x), (x,), (x,))
    others = nv.jvp(lambda x: unrolled(Program().later, x), (x,), (x,))
    made = nv.transformers.make_transformer(transformer)
    start = np.float32([0.5, 1.25])
    for mine, theirs in zip(nv.computation([*results], count, x, transformer=made)(3, start),
                            nv.computation([*others], x, transformer=made)(start), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=2e-5)


@pytest.mark.parametrize("transformer", TRANSFORMERS)
def test_symbolic_lengths_in_bodies_that_assign(transformer):
    """A271: the length of a call; what is stacked is cut, too. An operand in front of c would be read before it."""
    def step(v, c, row):
        return nv.sequential([nv.assign(v, c * row + v), v * c * row])

    data = np.float32([0.5, 2.0, 1.5])
    v, x = nv.variable((), 2.0), nv.placeholder({"N": nv.dim("n")})
    last, rows = nv.scan(lambda c, row: (step(v, c, row), v * row), nv.constant(1.0), x)
    other, y, c, rows_one_by_one = nv.variable((), 2.0), nv.placeholder((3,)), nv.constant(1.0), []
    for at in range(3):
        c = step(other, c, y[at])
        rows_one_by_one.append(nv.sequential([c, other * y[at]]))
        c = nv.sequential([rows_one_by_one[-1], c])
    made = nv.transformers.make_transformer(transformer)
    f, g = last + nv.sum(rows, out_axes=()), c + sum(rows_one_by_one)
    for mine, theirs in zip(nv.computation([f, *nv.deriv(f, [x, v]), v], x, transformer=made)(data),
                            nv.computation([g, *nv.deriv(g, [y, other]), other], y, transformer=made)(data),
                            strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5)


def test_statistics_in_bodies_leave_derivatives_alone():
    """A271: those of a batch normalisation carry no derivative from one iteration to the next."""
    norm, x = nv.nn.BatchNorm("F=3"), nv.placeholder({"N": 4, "F": 3})
    norm.training = True
    loss = nv.sum(nv.scan(lambda c, _: (nv.tanh(norm(c)), None), x, None, length=3)[0], out_axes=())
    step = nv.computation([loss, nv.deriv(loss, x)], x)
    text = print_function(step.optimised)
    backward = text[text.index("function scan_body_backward"):]
    assert "StraightThrough" not in text and "0x1.99999ap-4" not in backward  # the momentum
