"""Mistakes that people bring along from other libraries: more of ``cases.py``, in the same form."""

from __future__ import annotations

import numpy as np

import nervure as nv
from tests.wrong.cases import fails, matrix


@fails(nv.UnknownName)
def function_known_elsewhere():
    nv.conv2d(matrix(), matrix())  # here


@fails(nv.UnknownName)
def method_known_elsewhere():
    matrix().view(-1)  # here


@fails(nv.UnknownName)
def optimiser_known_elsewhere():
    nv.optim.RMSprop(0.1)  # here


@fails(nv.UnknownName)
def method_of_an_optimiser_known_elsewhere():
    nv.optim.Adam(0.1).minimize(matrix())  # here


@fails(nv.WrongKind)
def keyword_known_elsewhere():
    nv.sum(matrix(), dim=0)  # here


@fails(nv.WrongKind)
def keyword_that_nothing_has():
    nv.constant([1.0], requires_grad=True)  # here


@fails(nv.WrongKind)
def element_set():
    k = nv.variable((2, 2))
    k[0, 0] = 5  # here


@fails(nv.WrongKind)
def tensor_made_by_its_class():
    nv.Tensor([1.0, 2.0])  # here


@fails(nv.InvalidArgument)
def loss_of_each_sample():
    w = nv.variable("F=3")
    nv.optim.Adam(0.1)(nv.mean(nv.placeholder("N=4, F=3") * w))  # here


@fails(nv.WrongKind)
def loss_as_learning_rate():
    w = nv.variable((), 1.0)
    nv.optim.Adam(w * w)  # here


@fails(nv.InvalidArgument)
def momentum_that_never_ends():
    nv.optim.SGD(0.1, momentum=1.0)  # here


@fails(nv.InvalidArgument)
def muon_for_a_vector():
    nv.optim.Muon().update(nv.variable("F=3").named("bias"), 1.0)  # here


@fails(nv.InvalidArgument)
def parameter_in_no_group():
    nv.optim.Groups([]).update(nv.variable("F=3").named("w"), 1.0)  # here


@fails(nv.InvalidArgument)
def key_of_a_state_dict_elsewhere():
    nv.from_state_dict({"layers.0.weight": [1.0]})  # here


@fails(nv.InvalidArgument)
def format_of_weights_elsewhere():
    nv.save_weights([], "weights.pt", "pt")  # here


@fails(nv.NotShared)
def elements_lent_without_a_copy():
    nv.constant([1.0]).__dlpack__(copy=False)  # here


@fails(nv.InvalidArgument)
def masked_array():
    nv.constant(np.ma.array([1.0, 2.0], mask=[False, True]))  # here


@fails(nv.InvalidArgument)
def axis_whose_length_is_not_set():
    nv.placeholder([nv.make_axis(name="batch")]) + 1  # here


@fails(nv.WrongKind)
def axis_and_a_number():
    nv.axis("H", 3) + 1  # here


@fails(nv.ShapeMismatch)
def initial_value_without_names():
    nv.variable("H=2, W=3", np.ones((1, 3)))  # here


@fails(nv.UnknownName)
def layer_known_elsewhere():
    nv.nn.Conv2d(3, 8, 3)  # here


@fails(nv.WrongKind)
def keyword_of_a_layer_known_elsewhere():
    nv.nn.LinearLayer(in_features=3, out_features=8)  # here


@fails(nv.ShapeMismatch)
def normalisation_of_other_channels():
    nv.nn.BatchNorm(64)(np.ones((2, 32, 8, 8)))  # here


@fails(nv.ShapeMismatch)
def filters_for_other_channels():
    nv.nn.Conv(64, 64, (3, 3), groups=2)(np.ones((2, 32, 8, 8)))  # here


@fails(nv.ShapeMismatch)
def a_window_of_one_length_for_images():
    nv.nn.Conv(3, 64, 7)(np.ones((2, 3, 8, 8)))  # here


@fails(nv.ShapeMismatch)
def images_without_channels():
    nv.nn.Conv(1, 64, (3, 3))(np.ones((2, 8, 8)))  # here


@fails(nv.ShapeMismatch)
def more_padding_than_a_deconvolution_has():
    nv.deconvolution(np.ones((1, 3, 2, 2)), np.ones((3, 4, 3, 3)), padding=5)  # here


@fails(nv.WrongKind)
def summary_without_an_input():
    nv.nn.Conv(1, 64, (3, 3)).summary()  # here


@fails(nv.InvalidArgument)
def strides_for_more_axes_than_a_window_has():
    nv.nn.Conv("C=3", "K=8", "H=3, W=3", strides=[1, 2, 2])  # here


@fails(nv.InvalidArgument)
def padding_of_a_pool_that_is_no_word():
    nv.nn.MaxPool(2, padding="sane")  # here


@fails(nv.InvalidArgument)
def pool_that_does_not_move():
    nv.nn.AveragePool(2, strides=[2, 0])  # here


@fails(nv.InvalidArgument)
def window_of_no_places():
    nv.nn.Conv(3, 8, (3, 0))  # here


@fails(nv.WrongKind)
def loss_of_two_results():
    nv.nn.losses.mean_squared_error((nv.placeholder("N=n"), nv.placeholder("N=n")), np.ones(3))  # here


@fails(nv.AxisMismatch)
def input_without_the_axes_of_a_layer():
    nv.nn.LinearLayer("depth=3", "K=8")(matrix())  # here


@fails(nv.AxisMismatch)
def input_without_names_for_a_layer_that_has_them():
    nv.nn.LinearLayer("width=32", "K=8")(np.zeros((28, 32)))  # here


class Scaled(nv.nn.Module):
    """A module with a field."""

    rate: float


@fails(nv.WrongKind)
def field_of_another_type():
    Scaled(rate="fast")  # here


@fails(nv.NotSupported)
def module_without_forward():
    Scaled(0.5)(matrix())  # here


@fails(nv.WrongKind)
def class_in_the_place_of_a_module():
    nv.nn.Sequential(nv.nn.LinearLayer(3, 8), nv.nn.ReLU)  # here


@fails(nv.AxisMismatch)
def targets_that_would_be_spread():
    nv.nn.losses.mean_squared_error(np.zeros((3, 1)), np.zeros(3))  # here


@fails(nv.WrongKind)
def class_numbers_that_are_floats():
    nv.nn.losses.cross_entropy(np.zeros((2, 3)), np.zeros(2))  # here


@fails(nv.InvalidArgument)
def initialiser_of_symbols():
    nv.nn.initialisers.he_normal()("F=n, K=3")  # here


@fails(nv.WrongKind)
def truth_of_a_comparison():
    assert nv.variable((), 1.0) == 1.0  # here


@fails(nv.WrongKind)
def comparison_with_a_list():
    nv.variable((2,), 1.0) == [1.0, 2.0]  # noqa: B015  # here
