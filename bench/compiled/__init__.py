"""Programs for PyTorch models: what makes a module, or a step that trains it, ready for calls.

A setting compiles a module, or gives it back for eager mode. Frameworks differ in nothing else.

>>> [*settings_of(PROBLEMS["lstm_step"], {"eager": lambda function: function, "compiled": abs})]
['eager', 'compiled', 'compiled_unrolled']
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bench.compiled_models import Answer, FirstAnswer, Step
from bench.contenders import Prepared
from bench.models.pytorch import loss_of, optimiser_of
from bench.problems import PROBLEMS  # noqa: F401  # of the example

Compile = Callable[[Any], Any]
"""Makes a function, or a module, that PyTorch compiles when it is first called."""


def read(returned: Any) -> list[np.ndarray]:
    """The array of the tensor that a call returned."""
    return [returned.detach().numpy()]


def with_threads() -> None:
    """Gives PyTorch the threads of all contenders."""
    import torch
    import torch._dynamo  # which else the first call imports
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))


def answering(compile_it: Compile) -> Callable[..., Prepared]:
    """A setting: the module alone, without gradients."""
    def prepare(_: object, inputs: Any) -> Prepared:
        import torch
        with_threads()
        network, = inputs
        torch.set_grad_enabled(False)
        return Prepared(compile_it(network.module()), network.data()[:1], read)
    return prepare


def training(compile_it: Compile) -> Callable[..., Prepared]:
    """A setting: the loss and its gradients, compiled, and the update by PyTorch's own optimiser."""
    def prepare(_: object, inputs: Any) -> Prepared:
        with_threads()
        network, = inputs
        module = network.module(is_training=True)
        own = optimiser_of(module)
        compiled = compile_it(lambda given, wanted: loss_of(module, given, wanted))

        def step(given: Any, wanted: Any) -> Any:
            loss = compiled(given, wanted)
            loss.backward()
            own.step()
            own.zero_grad(set_to_none=True)
            return loss
        return Prepared(step, network.data(), read)
    return prepare


def calling(compile_by: Callable[..., Any]) -> Callable[..., Prepared]:
    """A setting of a small function, which is given what ``torch.compile`` is told."""
    def prepare(_: object, inputs: Any) -> Prepared:
        import torch
        with_threads()
        torch.set_grad_enabled(False)
        arguments = [torch.from_numpy(entry) for entry in inputs]
        result = (_sum(*arguments),)
        guarded = torch.compile(_guarded_sum, dynamic=False, backend=lambda graph, given: lambda *_: result)
        return Prepared(compile_by(_sum), arguments, read, floor=guarded)
    return prepare


def _sum(a: Any, b: Any) -> Any:
    return (a + b).relu()


def _guarded_sum(a: Any, b: Any) -> Any:
    """The same again: what PyTorch compiles of a function, it keeps with its code."""
    return (a + b).relu()


def with_recurrence(compile_it: Compile) -> Compile:
    """Compiles recurrent layers step by step, too, which PyTorch leaves to eager mode unless it is told otherwise."""
    def compiled(function: Any) -> Any:
        import torch._dynamo
        torch._dynamo.config.allow_rnn = True
        return compile_it(function)
    return compiled


def settings_of(problem: type[Answer], compilers: Mapping[str, Compile]) -> dict[str, Callable[..., Prepared]]:
    """The settings in which a framework takes part in a row; in the rows of first calls those that compile."""
    prepare = training if issubclass(problem, Step) else answering
    chosen = {name: compile_it for name, compile_it in compilers.items()
              if name != "eager" or not issubclass(problem, FirstAnswer)}
    if problem.network == "lstm":
        chosen |= {f"{name}_unrolled": with_recurrence(compile_it) for name, compile_it in chosen.items()
                   if name != "eager"}
    return {name: prepare(compile_it) for name, compile_it in chosen.items()}
