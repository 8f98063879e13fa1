"""Mistakes with devices and with ops of one's own: more of ``cases.py``, in the same form."""

from __future__ import annotations

import numpy as np

import nervure as nv
from nervure import ops
from tests.wrong.cases import fails


class ListTensor(nv.AbstractTensor):
    """Elements in a list; it implements sums."""

    def allocate(self, shape, dtype, initial_element=None, vec=None):
        return [initial_element or 0] * int(np.prod(shape)) if vec is None else vec

    def vref(self, i):
        return self.storage[i]

    def set_vref(self, i, value):
        self.storage[i] = value


@nv.implement(ops.Add, device=ListTensor)
def add_in_lists(op, x, y, out):
    for i in range(out.count):
        out.set_vref(i, x.vref(i) + y.vref(i))


class AbsentTensor(nv.CPUTensor):
    """A device of hardware that this machine lacks."""

    @classmethod
    def missing(cls):
        return "there is no such hardware here"


@fails(nv.NotSupported)
def device_that_is_missing():
    with nv.devices(AbsentTensor, nv.CPUTensor):  # here
        pass


@fails(nv.WrongKind)
def list_of_something_else_than_devices():
    with nv.devices("cpu"):  # here
        pass


@fails(nv.NodeNotFound)
def op_that_no_device_implements():
    with nv.devices(ListTensor):
        y = nv.exp(nv.ones((3,)))  # here
    y.numpy()


@fails(nv.NotSupported)
def conversion_that_is_not_declared():
    x = nv.ones((3,))
    with nv.devices(ListTensor, nv.CPUTensor, strict=True):
        y = nv.exp(x + x)  # here
    y.numpy()


@fails(nv.WrongKind)
def implementation_with_other_parameters():
    nv.implement(ops.Exp, device=ListTensor)(lambda x: x)  # here


@fails(nv.ShapeMismatch)
def operands_that_do_not_fit_a_where_string():
    @nv.defnode("A[~ i j] B[~ j k] bias[k] -> C[~ i k]")
    class Affine:
        """A B + bias."""
    Affine(nv.ones((5, 2, 3)), nv.ones((3, 4)), nv.ones((1,)))  # here


@fails(nv.InvalidArgument)
def where_string_without_an_arrow():
    nv.defnode("A[~ i j] B[~ j k]")(type("Arrowless", (), {}))  # here
