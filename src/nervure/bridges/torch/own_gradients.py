"""Gradients that a model defines itself, which ``torch.export`` drops: in training they are refused.

>>> import torch
>>> with OwnGradients(True):
...     torch.ones(2, requires_grad=True).exp().register_hook(lambda gradient: gradient * 2)
Traceback (most recent call last):
nervure.errors.NotSupported: from_torch: torch.export drops gradients of a model's own: those of register_hook
  expected: gradients that follow from the ops
...
"""

from __future__ import annotations

from functools import partial
from traceback import walk_stack
from types import TracebackType

import torch
from torch.nn.modules._functions import BackwardHookFunction
from torch.overrides import TorchFunctionMode
from torch.utils.checkpoint import CheckpointFunction

from nervure.bridges.torch.unsupported import Foreign
from nervure.errors import Location, NotSupported

_NAME = "apply"
_APPLY = vars(torch.autograd.Function)[_NAME]
_BETWEEN = ("nervure", "torch", "contextlib")


class OwnGradients(TorchFunctionMode):
    """While it is entered, in training, hooks of gradients and a model's own autograd functions raise NotSupported.

    A checkpoint, which runs its function without gradients and once more for them, only runs it.
    """

    def __init__(self, is_training: bool) -> None:
        super().__init__()
        self._is_training = is_training

    def __torch_function__(self, function: Foreign, types: Foreign, arguments: tuple[Foreign, ...] = (),
                           named: dict[str, Foreign] | None = None) -> Foreign:
        if self._is_training and function is torch.Tensor.register_hook:
            raise refused("register_hook")
        return function(*arguments, **(named or {}))

    def __enter__(self) -> Foreign:
        setattr(torch.autograd.Function, _NAME, classmethod(partial(_applied, self._is_training)))
        return super().__enter__()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        setattr(torch.autograd.Function, _NAME, _APPLY)
        super().__exit__(kind, error, trace)


def _applied(is_training: bool, function: Foreign, *arguments: Foreign, **named: Foreign) -> Foreign:
    """Does what ``apply`` does for a ``function``; PyTorch's own, but for hooks, have the gradients of their ops."""
    if function is CheckpointFunction:
        run, _, *given = arguments
        return run(*given)
    is_own = function is BackwardHookFunction or function.__module__.split(".")[0] != "torch"
    if is_own and is_training and torch.is_grad_enabled():
        raise refused("a hook of a module" if function is BackwardHookFunction else f"{function.__name__}.backward")
    return _APPLY.__get__(None, function)(*arguments, **named)


def refuse_hooks(model: torch.nn.Module) -> None:
    """Raises NotSupported if a parameter of a model has hooks of its gradient."""
    for name, parameter in model.named_parameters():
        if parameter._backward_hooks:
            raise refused(f"a hook of {name}")


def refused(source: str) -> NotSupported:
    """Returns the error for gradients from this ``source``, at the innermost line that is the user's."""
    lines = [Location(frame.f_code.co_filename, line) for frame, line in walk_stack(None)
             if frame.f_code.co_filename[0] != "<"
             and str(frame.f_globals.get("__name__")).split(".")[0] not in _BETWEEN]
    return NotSupported(f"torch.export drops gradients of a model's own: those of {source}", op="from_torch",
                        location=lines[0] if lines else None, expected="gradients that follow from the ops",
                        help='torch.compile(model, backend="nervure") keeps them; evaluation is imported without them')
