"""The contenders: a module a framework, with its programs for the problems, written as its experts would.

A module has ``programs``, a :class:`Programs`. A program may be entered with several settings; each is a contender of
its own, such as ``torch.compile``, and runs in a process of its own.

>>> programs = Programs("plain", "1.0")
>>> def called(program, inputs):
...     return Prepared(program, inputs)
>>> @programs("sum_squares", loop=called)
... def sum_squares(x, y):
...     return np.float32(sum((a - b) ** 2 for a, b in zip(x, y)))
>>> prepared = programs.prepare("sum_squares", "loop", [[1, 2], [3, 5]])
>>> prepared.read(prepared.call(*prepared.arguments))
[array(13., dtype=float32)]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

FRAMEWORKS = ("nervure", "numpy", "numexpr", "torch", "jax", "onnxruntime", "openvino")
OURS = "nervure"


def as_arrays(returned: Any) -> list[np.ndarray]:
    """What a call returned, one thing or several, as arrays."""
    return [np.asarray(entry) for entry in (returned if isinstance(returned, (tuple, list)) else [returned])]


class Prepared(NamedTuple):
    """A program ready to be measured: ``call(*arguments)``; ``read`` makes arrays of what that returns.

    Whatever could be done once, before the first of many calls, has been done. A call may be several ``steps``. Where
    only what is above a ``floor`` counts, that is called with the same arguments.
    """

    call: Callable[..., Any]
    arguments: Sequence[Any] = ()
    read: Callable[[Any], list[np.ndarray]] = as_arrays
    steps: int = 1
    floor: Callable[..., Any] | None = None


class Programs:
    """The programs of one framework, by problem and setting."""

    def __init__(self, framework: str, version: str) -> None:
        self.framework, self.version = framework, version
        self.table: dict[str, dict[str, tuple[Callable[..., Any], Callable[..., Prepared]]]] = {}

    def __call__(self, problem: str, **settings: Callable[..., Prepared]) -> Callable[[Any], Any]:
        """Enters a program for a problem; a setting is a function that prepares (program, inputs)."""
        def enter(program: Any) -> Any:
            entries = self.table.setdefault(problem, {})
            entries.update({name: (program, prepare) for name, prepare in settings.items()})
            return program
        return enter

    def prepare(self, problem: str, setting: str, inputs: Sequence[Any]) -> Prepared:
        """Makes a program ready for these inputs, which it may overwrite."""
        program, prepare = self.table[problem][setting]
        return prepare(program, inputs)


def made(program: Callable[..., Prepared], inputs: Sequence[Any]) -> Prepared:
    """The setting of a program that does its own preparing: it is given the inputs and returns a Prepared."""
    return program(*inputs)


def from_definition(prepare: Callable[..., Prepared]) -> Callable[..., Prepared]:
    """The setting in which a call prepares the program, too."""
    def setting(program: Any, inputs: Sequence[Any]) -> Prepared:
        def call() -> list[np.ndarray]:
            prepared = prepare(program, inputs)
            return prepared.read(prepared.call(*prepared.arguments))
        return Prepared(call)
    return setting
