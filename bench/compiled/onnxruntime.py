"""ONNX Runtime with PyTorch models that were exported before: answers alone, for it trains nothing."""

from __future__ import annotations

import io

import onnx

from bench.compiled_models import COMPILED_MODELS, FirstAnswer, Step
from bench.contenders.onnxruntime import bound, programs, run


def exported(network):
    """The graph of a network, by PyTorch's exporter of traced modules where that of ``torch.export`` is missing."""
    import torch
    file = io.BytesIO()
    names = {"input_names": ["images"], "output_names": ["result"]}
    try:
        import onnxscript  # noqa: F401
    except ImportError:
        torch.onnx.export(network.module(), network.data()[:1], file, dynamo=False, **names)
        return onnx.load_from_string(file.getvalue())
    made = torch.onnx.export(network.module(), network.data()[:1], dynamo=True, **names)
    return made.model_proto


def answering(setting):
    """``setting(model, data)`` is given a network."""
    def prepare(_, inputs):
        network, = inputs
        return setting(exported(network), network.data()[0].numpy())
    return prepare


for name, problem in COMPILED_MODELS.items():
    if not issubclass(problem, (Step, FirstAnswer)):
        programs(name, run=answering(run), bound=answering(bound))(None)
