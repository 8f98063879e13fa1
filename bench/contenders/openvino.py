"""OpenVINO, for what it is made for: networks and convolutions that are asked, with weights that stay, in float32."""

from __future__ import annotations

import io
import os

import numpy as np
import openvino

from bench.contenders import Prepared, Programs
from bench.onnx_programs import entered

programs = Programs("openvino", openvino.__version__.partition("-")[0])


def infer(model, images):
    """A setting: inputs and results are handed over without copies."""
    core = openvino.Core()
    settings = {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY",
                "INFERENCE_NUM_THREADS": int(os.environ.get("OMP_NUM_THREADS", "2"))}
    compiled = core.compile_model(core.read_model(io.BytesIO(model.SerializeToString())), "CPU", settings)
    request = compiled.create_infer_request()

    def call(images):
        return request.infer([images], share_inputs=True, share_outputs=True)
    return Prepared(call, (images,), lambda results: [np.array(results[0])])


entered(programs, infer=infer)
