"""PyTorch models compiled by nervure, as a backend of ``torch.compile``; with *freezing* weights are packed once.

*Unguarded* ones do without Dynamo's guards of modules. *Imported* models have left PyTorch behind, by
``nv.from_torch``, and are given NumPy's arrays, like those of ONNX Runtime.
"""

from __future__ import annotations

from functools import partial

import nervure as nv
from bench.compiled import calling, settings_of
from bench.compiled_models import COMPILED_MODELS, FirstAnswer, Step
from bench.contenders import Prepared
from bench.contenders.nervure import programs


def backend(function, **options):
    import torch

    from nervure.bridges.torch import backend, compiling  # noqa: F401  # imported before anything is timed
    return torch.compile(function, dynamic=False, backend=backend, options=options)


def unguarded(function):
    import torch
    return backend(function, freezing=True, guard_filter_fn=torch.compiler.skip_guard_on_all_nn_modules_unsafe)


FREEZING = {"freezing": partial(backend, freezing=True), "unguarded": unguarded}


def imported(_, inputs):
    """A setting: a module that is exported to nervure, and compiled for the shape of its data."""
    network, = inputs
    given = network.data()[:1]
    arrays = [entry.numpy() for entry in given]
    places = [nv.placeholder(entry.shape, dtype=entry.dtype) for entry in arrays]
    return Prepared(nv.computation(nv.from_torch(network.module().eval(), given)(*places), *places), arrays)


for name, problem in COMPILED_MODELS.items():
    compilers = {"backend": backend, **({} if issubclass(problem, Step) else FREEZING)}
    answers_alone = {} if issubclass(problem, (Step, FirstAnswer)) else {"imported": imported}
    programs(name, **settings_of(problem, compilers), **answers_alone)(None)

programs("small_call", backend=calling(backend))(None)
