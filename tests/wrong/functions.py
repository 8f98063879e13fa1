"""Mistakes with functions of functions; as in ``cases.py``."""

from __future__ import annotations

import numpy as np

import nervure as nv
from tests.wrong.cases import fails

PARAMETERS, X = {"w": np.ones((3,), np.float32)}, np.ones((4, 3), np.float32)


def score(parameters: dict[str, nv.Tensor], x: nv.Tensor) -> nv.Tensor:
    return nv.sum(x * parameters["w"])


@fails(nv.InvalidArgument)
def tangents_that_are_nested_in_another_way():
    nv.jvp(score, (PARAMETERS, X), ({"v": PARAMETERS["w"]}, None))  # here


@fails(nv.ShapeMismatch)
def tangent_of_another_shape():
    nv.jvp(score, (PARAMETERS, X), ({"w": np.ones((2,), np.float32)}, None))  # here


@fails(nv.WrongKind)
def primals_without_a_tuple():
    nv.jvp(nv.exp, X, X)  # here


@fails(nv.WrongKind)
def tangent_of_an_integer():
    nv.jvp(nv.exp, (np.arange(3),), (np.ones(3),))  # here


@fails(nv.NotSupported)
def forward_mode_through_a_clipped_gradient():
    clipped = nv.custom_vjp(lambda x: x, lambda gradient, x: nv.clip(gradient, -1, 1))
    nv.jvp(clipped, (1.0,), (1.0,))  # here


@fails(nv.ShapeMismatch)
def different_numbers_of_examples():
    nv.vmap(score)({"w": np.ones((5, 3), np.float32)}, X)  # here


@fails(nv.InvalidArgument)
def axes_of_too_few_arguments():
    nv.vmap(score, in_axes=(0,))(PARAMETERS, X)  # here


@fails(nv.InvalidArgument)
def number_mapped_over():
    nv.vmap(nv.multiply)(X, 2.0)  # here


@fails(nv.InvalidArgument)
def examples_without_a_name():
    weights = nv.variable("F=3")
    nv.vmap(lambda row: row * weights)(nv.placeholder((4,)))  # here


@fails(nv.NotSupported)
def assignment_for_each_example():
    total = nv.variable(()).named("total")

    def counted(x):
        return nv.sequential([nv.assign(total, x), x])  # here
    nv.vmap(counted)(X[:, 0])


@fails(nv.InvalidArgument)
def unknown_mode_of_a_jacobian():
    nv.jacobian(nv.exp, mode="backward")(X)  # here
