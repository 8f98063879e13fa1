"""Mistakes with models, by ``nv.build``: more of ``cases.py``, in the same form."""

from __future__ import annotations

import numpy as np

import nervure as nv
from tests.wrong.cases import fails


def model():
    x, y = nv.placeholder("N=n, F=3").named("image"), nv.placeholder("N=n").named("mask")
    return nv.build(nv.sum(x, "F") * y * nv.variable((), 1.0).named("scale"), inputs=("image", "mask"))


@fails(nv.InvalidArgument)
def model_with_too_few_arguments():
    model().forward(np.ones((4, 3)))  # here


@fails(nv.InvalidArgument)
def model_without_such_an_input():
    model().set_input("imag", np.ones((4, 3)))  # here


@fails(nv.ShapeMismatch)
def model_with_an_argument_of_another_rank():
    model().forward(np.ones(4), np.ones(4))  # here


@fails(nv.ShapeMismatch)
def model_with_an_argument_of_another_length():
    model().forward(np.ones((4, 2)), np.ones(4))  # here


@fails(nv.ShapeMismatch)
def model_with_two_values_of_one_symbol():
    model().forward(np.ones((4, 3)), np.ones(5))  # here


@fails(nv.InvalidArgument)
def model_with_an_input_that_was_not_set():
    x = nv.placeholder("N=2").named("x")
    nv.build(x * 2).forward()  # here


@fails(nv.InvalidArgument)
def backward_before_forward():
    model().backward()  # here


@fails(nv.InvalidArgument)
def backward_after_a_parameter_was_written():
    w = nv.variable((), 1.0).named("w")
    square = nv.build(w * w)
    square.forward()
    nv.evaluate(nv.assign(w, 2.0))
    square.backward()  # here


@fails(nv.InvalidArgument)
def backward_that_was_not_built():
    w = nv.variable((), 1.0)
    nv.build(w * w, construct_backward=False).backward()  # here


@fails(nv.InvalidArgument)
def two_inputs_of_one_name():
    x, y = nv.placeholder("N=2").named("x"), nv.placeholder("N=2").named("x")
    nv.build(x + y)  # here


@fails(nv.InvalidArgument)
def mode_that_there_is_not():
    nv.build(nv.add(1, 1), compile_mode="fastes")  # here


@fails(nv.WrongKind)
def step_without_an_optimiser():
    model().step(0.001, np.ones((4, 3)), np.ones(4))  # here


@fails(nv.WrongKind)
def model_of_several_results():
    w = nv.variable((), 1.0)
    nv.build([w * w, w + 1])  # here
