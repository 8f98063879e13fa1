"""Calls that go past what PyTorch puts around a compiled graph, where it has nothing to do.

AOTAutograd has a graph called by functions of its own, which write arguments, make views again, mark lengths and set
modes. One of them is generated: what a graph does not need is not in it. All are in Python, and a small call takes
longer in them than in machine code. The names that they use tell what they do, so those that use others than the known
ones are kept.

>>> from functools import wraps
>>> class Program:
...     is_without_ops = True
...     def run(self, arguments): return arguments
>>> compiled_fn = Program().run
>>> @wraps(compiled_fn)
... def made(*arguments): return compiled_fn(list(arguments))
>>> direct(made).__name__, direct(made)(1, 2), direct(abs) is abs
('past', [1, 2], True)
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator

from nervure.bridges.torch.unsupported import Foreign

_KNOWN = frozenset([
    # appends the arguments to parameters, of which there are none
    "params_buffers_flat", "compiled_fn", "extend",
    # tells the profiler about itself
    "record_runtime_wrapper_prologue_enter", "record_runtime_wrapper_prologue_exit",
    # calls the graph, the first time under a check of custom ops
    "_inner_compiled_fn", "_codegen_runtime_wrapper", "_first_invocation_ctx",
    # turns gradients and autocast off, which change PyTorch's ops alone, and counts the results
    "torch", "_C", "is_grad_enabled", "_set_grad_enabled", "_DisableAutocast_", "isinstance", "tuple", "list", "len",
    "AssertionError"])
"""The names in functions that do nothing for a graph of which PyTorch runs no op."""


def direct(made: Callable[..., Foreign]) -> Callable[..., Foreign]:
    """Returns ``made``, a graph that AOTAutograd has compiled, or what runs it without more, which does the same.

    There is such a function if its innermost one is the ``run`` of a program that never calls an op of PyTorch.
    """
    *around, run = _layers(made)
    if not getattr(getattr(run, "__self__", None), "is_without_ops", False):
        return made
    outer = [function for function in around if function is not made]  # that lets Dynamo pass by, as it does itself
    cells = [inspect.getclosurevars(function).nonlocals for function in outer]
    inner = [found["_codegen_runtime_wrapper"] for found in cells if "_codegen_runtime_wrapper" in found]
    if any([found.get("params_buffers_flat") for found in cells]) or not _names([*outer, *inner]) <= _KNOWN:
        return made

    def past(*arguments: Foreign) -> Foreign:
        return run(list(arguments))
    return past


def _layers(made: Callable[..., Foreign]) -> Iterator[Foreign]:
    """Yields a function, the one that it wraps, and so on."""
    layer: Foreign = made
    while layer is not None:
        yield layer
        layer = getattr(layer, "__wrapped__", None)


def _names(functions: list[Foreign]) -> set[str]:
    """Returns the names of all globals, attributes and variables of outer functions that these functions use."""
    return {name for function in functions for name in (*function.__code__.co_names, *function.__code__.co_freevars)}
