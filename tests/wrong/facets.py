"""Mistakes with tensors that exist, with inputs and with gradients, as in ``cases.py``."""

from __future__ import annotations

import numpy as np

import nervure as nv
from tests.wrong.cases import fails


@fails(nv.WrongKind)
def array_for_a_shape():
    nv.make_tensor(np.ones((3, 3)))  # here


@fails(nv.InvalidArgument)
def scalar_with_an_initial_element():
    nv.make_tensor(3.0, initial_element=1.0)  # here


@fails(nv.WrongKind)
def device_by_its_name():
    nv.make_tensor((3, 3), device="cpu")  # here


@fails(nv.InvalidArgument)
def order_that_there_is_not():
    nv.make_tensor((3, 3), order="K")  # here


@fails(nv.InvalidArgument)
def scalar_with_axes():
    nv.make_input((3, 3), "x", scalar=True)  # here


@fails(nv.InvalidArgument)
def number_of_elements_that_is_a_symbol():
    nv.make_input(("a", 10), "x").numel()  # here


@fails(nv.InvalidArgument)
def memory_of_unknown_length():
    print(nv.make_input(("a", 10), "x").storage)  # here


@fails(nv.InvalidArgument)
def storage_of_what_is_computed():
    print((nv.make_tensor((3,)) + 1).storage)  # here


@fails(nv.WrongKind)
def storage_of_another_type():
    nv.make_tensor((3,)).storage = np.ones(3)  # here


@fails(nv.InvalidArgument)
def storage_with_gaps():
    nv.make_tensor((3,)).storage = np.ones((3, 2), np.float32)[:, 0]  # here


@fails(nv.ShapeMismatch)
def storage_of_another_shape():
    nv.make_tensor((3,)).named("x").storage = np.ones(4, np.float32)  # here


@fails(nv.IndexOutOfRange)
def element_outside():
    nv.mref(nv.make_tensor((3, 3)), 3, 0)  # here


@fails(nv.WrongKind)
def element_of_what_is_computed_set():
    (nv.make_tensor((3,)) + 1).set_mref(0, 1.0)  # here


@fails(nv.WrongKind)
def gradient_of_integers():
    nv.tensor([1, 2], dtype=nv.int32, requires_grad=True)  # here


@fails(nv.InvalidArgument)
def backward_of_a_vector():
    (nv.make_tensor((3,), requires_grad=True) * 2).backward()  # here


@fails(nv.InvalidArgument)
def backward_without_gradients():
    with nv.no_grad():
        nv.make_tensor(3.0).backward()  # here


@fails(nv.InvalidArgument)
def optimiser_that_is_not_hooked():
    nv.call_optimizer(nv.make_tensor((3,), requires_grad=True))  # here


@fails(nv.WrongKind)
def hook_without_an_update():
    nv.hook_optimizer(nv.make_tensor((3,), requires_grad=True), 0.1)  # here


@fails(nv.WrongKind)
def hook_to_what_has_no_gradient():
    nv.reset_grad(nv.make_tensor((3,)))  # here


@fails(nv.WrongKind)
def computing_while_tracing():
    nv.jit(lambda x: nv.proceed(x * 2))(np.ones(3, np.float32))  # here
