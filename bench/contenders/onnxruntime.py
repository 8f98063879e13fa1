"""ONNX Runtime, for what it is made for: networks and convolutions that are asked, with weights that stay."""

from __future__ import annotations

import os

import onnxruntime
from onnxruntime import InferenceSession, OrtValue, SessionOptions

from bench.contenders import Prepared, Programs
from bench.onnx_programs import entered

programs = Programs("onnxruntime", onnxruntime.__version__)


def session(model):
    """A session with every rewrite, on as many threads as the other contenders have."""
    options = SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = int(os.environ.get("OMP_NUM_THREADS", "2")), 1
    return InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def run(model, images):
    """A setting: arrays in, new arrays out."""
    return Prepared(session(model).run, (["result"], {"images": images}))


def bound(model, images):
    """A setting: inputs and results lie in memory that is kept."""
    own = session(model)
    binding = own.io_binding()
    binding.bind_ortvalue_input("images", OrtValue.ortvalue_from_numpy(images))
    binding.bind_output("result")
    own.run_with_iobinding(binding)
    binding.bind_ortvalue_output("result", binding.get_outputs()[0])
    return Prepared(lambda: own.run_with_iobinding(binding), (), lambda _: binding.copy_outputs_to_cpu())


entered(programs, run=run, bound=bound)
