"""Placing: random programs against a plain evaluator of the rule, and wrapped in sequences. The numbers are claims of
docs/axes.md."""

from __future__ import annotations

import sys
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nervure as nv

VARIABLES = ("v", "w")


class Node(NamedTuple):
    """One op instance of a program: a read, arithmetic on earlier nodes, or an assignment before an earlier node."""

    kind: str
    left: int = 0
    right: int = 0
    variable: str = "v"


class Program(NamedTuple):
    """Nodes in an order in which they can be built, and members: (variable, node) assigns, (None, node) is a value."""

    nodes: list[Node]
    members: list[tuple[str | None, int]]


@st.composite
def programs(draw):
    count = draw(st.integers(2, 9))
    nodes = [Node("read", variable=draw(st.sampled_from(VARIABLES)))]
    for position in range(1, count):
        earlier = st.integers(0, position - 1)
        nodes.append(Node(draw(st.sampled_from(["read", "add", "multiply", "assign", "together"])), draw(earlier),
                          draw(earlier), draw(st.sampled_from(VARIABLES))))
    anywhere = st.integers(0, count - 1)
    members = draw(st.lists(st.tuples(st.sampled_from([None, *VARIABLES]), anywhere), max_size=3))
    return Program(nodes, [*members, (None, count - 1)])


class Dual(NamedTuple):
    """A number and its derivative with respect to the reads of w."""

    value: float
    slope: float


class Evaluator:
    """The rule itself: operands from the left, then the op, each once; an assignment cuts the derivative."""

    def __init__(self, nodes):
        self.nodes, self.done, self.state = nodes, {}, {"v": 1.0, "w": 2.0}

    def value(self, position):
        if position not in self.done:
            self.done[position] = self._computed(self.nodes[position])
        return self.done[position]

    def _computed(self, node):
        if node.kind == "read":
            return Dual(self.state[node.variable], float(node.variable == "w"))
        left = self.value(node.left)
        if node.kind == "assign":
            self.state[node.variable] = left.value
        right = self.value(node.right)
        if node.kind == "add":
            return Dual(left.value + right.value, left.slope + right.slope)
        if node.kind == "multiply":
            return Dual(left.value * right.value, left.slope * right.value + left.value * right.slope)
        return right


def built(nodes, wrapped=lambda position: False):
    """The program as tensors, each use of a node wrapped in a sequence of its own where ``wrapped`` says so."""
    variables = {"v": nv.variable((), 1.0, dtype=nv.float64), "w": nv.variable((), 2.0, dtype=nv.float64)}
    tensors, uses = [], iter(range(1 << 20))

    def use(position):
        tensor = tensors[position]
        return nv.sequential([tensor]) if wrapped(next(uses)) else tensor

    make = {"read": lambda node: nv.value_of(variables[node.variable]),
            "add": lambda node: use(node.left) + use(node.right),
            "multiply": lambda node: use(node.left) * use(node.right),
            "assign": lambda node: nv.sequential([nv.assign(variables[node.variable], use(node.left)),
                                                  use(node.right)]),
            "together": lambda node: nv.sequential([use(node.left), use(node.right)])}
    for node in nodes:
        tensors.append(make[node.kind](node))
    return tensors, variables


def run(returns):
    with nv.transformers.make_transformer("interpreter") as transformer:
        return [None if entry is None else entry.item() for entry in transformer.computation(returns)()]


def returns_of(program, wrapped=lambda position: False, derivative_first=False):
    """What is computed of a program: its members, the derivative of the last one, the final state."""
    tensors, variables = built(program.nodes, wrapped)
    returns = [tensors[position] if variable is None else nv.assign(variables[variable], tensors[position])
               for variable, position in program.members]
    slope = nv.deriv(tensors[-1], variables["w"])
    ordered = [*returns[:-1], slope, returns[-1]] if derivative_first else [*returns, slope]
    return [*ordered, variables["v"], variables["w"]]


@given(programs())
def test_programs_take_place_as_python_evaluates_them(program):
    """A200, A203, A204, A270: the values of all members and the final state are those of a plain evaluator."""
    evaluator, expected = Evaluator(program.nodes), []
    for variable, position in program.members:
        value = evaluator.value(position).value
        if variable is not None:
            evaluator.state[variable] = value
        expected.append(value if variable is None else None)
    last = evaluator.value(len(program.nodes) - 1)
    assert run(returns_of(program)) == [*expected, last.slope, evaluator.state["v"], evaluator.state["w"]]


@given(programs())
def test_a_derivative_sees_what_its_function_sees(program):
    """A201, A202, A271: placed before its function, a derivative is the same, and so is everything else."""
    after = run(returns_of(program))
    *members, last, slope, v, w = after
    assert run(returns_of(program, derivative_first=True)) == [*members, slope, last, v, w]


@given(programs(), st.sets(st.integers(0, 20)))
def test_a_sequence_of_one_changes_nothing(program, wrapped):
    """A270: any use of any subexpression may be wrapped in ``sequential([e])``, derivatives included."""
    assert run(returns_of(program, wrapped.__contains__)) == run(returns_of(program))


def fresh():
    return nv.variable((), 1.0), nv.variable((), 2.0), nv.placeholder(())


def shared_with_a_sequence():
    v, _, _ = fresh()
    tripled = v * 3
    return [nv.assign(v, 5.0), nv.sequential([tripled * 2]) + tripled], [45.0]


def derivative_of_a_shared_op():
    v, w, _ = fresh()
    y = nv.square(nv.sequential([w * (v * 3)]))
    return [nv.assign(v, 5.0), nv.deriv(y, w)], [900.0]


def derivative_before_its_function():
    v, w, _ = fresh()
    y = nv.square(nv.sequential([nv.assign(v, 5.0), w * v]))
    return [nv.deriv(y, w), y], [100.0, 100.0]


def derivative_without_the_value_of_the_sequence():
    v, w, _ = fresh()
    y = nv.sequential([nv.assign(v, 5.0), w * v]) + 1.0
    return [nv.deriv(y, w)], [5.0]


def second_derivative_of_a_sequence():
    v, w, _ = fresh()
    y = nv.square(nv.sequential([nv.assign(v, 5.0), w * v]))
    return [nv.deriv(nv.deriv(y, w), w), v], [50.0, 5.0]


@pytest.mark.parametrize("make", [shared_with_a_sequence, derivative_of_a_shared_op, derivative_before_its_function,
                                  derivative_without_the_value_of_the_sequence, second_derivative_of_a_sequence])
@pytest.mark.parametrize("name", ["interpreter", "cpu"])
def test_ops_inside_and_outside_a_sequence(name, make):
    """A270, A271: what a sequence and what surrounds it share is computed on one state."""
    returns, expected = make()
    with nv.transformers.make_transformer(name) as transformer:
        results = transformer.computation(returns)()
    assert [entry.item() for entry in results if entry is not None] == expected


def test_a_derivative_through_a_sequence_of_a_placeholder():
    """A271: a placeholder that is read inside a sequence is bound to its parameter for the derivative, too."""
    _, w, x = fresh()
    y = nv.square(nv.sequential([w * (x * 3)]))
    assert nv.computation([nv.deriv(y, w)], x)(1.0)[0].item() == 36.0


def test_a_derivative_prints_what_its_function_prints(capsys):
    """A271, A217: the effects of f take place with its derivative, once."""
    _, w, _ = fresh()
    y = nv.print_op(w * 3.0, "y ") + 1.0
    run([nv.deriv(y, w), y])
    assert capsys.readouterr().out.split() == ["y", ":", "6.0"]


def test_an_assignment_cuts_the_derivative():
    """A271: what a read inside f gets from an assignment inside f has no derivative."""
    v, w, _ = fresh()
    y = nv.sequential([nv.assign(v, w * 3.0), v * w])
    assert run([nv.deriv(y, w), nv.deriv(y, v)]) == [6.0, 2.0]


def test_variables_do_not_count_what_is_only_assigned():
    """A184: a sequence is computed from its last member."""
    v, w, _ = fresh()
    assigned = nv.sequential([nv.assign(v, w * 3.0), v * 2.0])
    assert (assigned + 1.0).variables() == [v]
    assert nv.sequential([w * 2.0, v]).variables() == [v]
    assert (nv.deriv(nv.square(assigned), v) * w).variables() == [v, w]


def test_many_members_side_by_side_and_deep_nesting():
    """A206, A218: many writes of one variable's elements, and sequences and doalls deeper than Python's stack."""
    x = nv.persistent_tensor((1_200,), 0.0)
    effect = nv.doall([nv.assign(x[position], float(position)) for position in range(1_200)])
    with nv.transformers.make_transformer("interpreter") as transformer:
        assert len(transformer.computation([effect]).function.updates) == 1
    y = nv.persistent_tensor((), 0.0)
    nested = nv.assign(y, y + 1.0)
    deep = sys.getrecursionlimit() + 100
    for _ in range(deep):
        nested = nv.doall([nv.sequential([nested, nv.assign(y, y + 1.0)])])
    assert run([nested, y])[-1] == deep + 1.0
