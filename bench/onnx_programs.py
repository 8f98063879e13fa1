"""Programs for models of ONNX: the networks and convolutions of the table, handed over as graphs."""

from __future__ import annotations

from bench.convolutions import CONVOLUTIONS
from bench.images import IMAGES
from bench.models.onnx_graph import made, onnx_model
from bench.steps import Forward


def of_model(setting):
    """``setting(model, images)`` is given a network."""
    def prepare(_, inputs):
        model, = inputs
        return setting(onnx_model(model), model.data()[0])
    return prepare


def of_convolution(setting):
    """``setting(model, images)`` is given a convolution."""
    def prepare(node, inputs):
        x, w = inputs
        return setting(made(node, {"conv.weights": w}, x.shape), x)
    return prepare


def entered(programs, **settings):
    """Enters every problem that such a framework can take part in."""
    for name, case in CONVOLUTIONS.items():
        programs(name, **{key: of_convolution(setting) for key, setting in settings.items()})(case.node)
    for name, problem in IMAGES.items():
        if issubclass(problem, Forward):
            programs(name, **{key: of_model(setting) for key, setting in settings.items()})(None)
