"""Operators and methods of tensors: functions of the front that know the tensor as an operand."""

from __future__ import annotations

import inspect

import nervure as nv
from nervure.front.methods import METHODS


class Knows:
    """An object of a class that knows tensors and answers a product with one itself."""

    def __matmul__(self, other):
        return "left"

    def __rmatmul__(self, other):
        return "right"


def test_a_class_that_knows_tensors_answers_a_matrix_product_itself():
    x = nv.ones((2, 2))
    assert (x @ Knows(), Knows() @ x) == ("right", "left")


def test_methods_are_called_as_their_signatures_say():
    parameters = inspect.signature(nv.Tensor.std).parameters
    assert list(parameters) == ["x", "reduction_axes", "out_axes", "axis", "keepdims", "ddof", "dtype", "out"]
    assert nv.Tensor.dot is nv.dot and inspect.signature(nv.Tensor.sum).parameters["keepdims"].default is False


def test_every_method_says_what_it_does():
    assert [name for name, method in METHODS.items() if not method.__doc__] == []
    assert nv.Tensor.__rsub__.__doc__ == "``nv.subtract``."


def test_the_operands_of_atan2_have_their_names():
    """The angle of the point (x, y): y comes first."""
    assert nv.atan2(x=0.0, y=1.0).item() == nv.atan2(1.0, 0.0).item() > 1.5
