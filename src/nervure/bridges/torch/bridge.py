"""The functions for users: a backend of ``torch.compile``, the import of models, a report. Only calls import PyTorch.

>>> is_installed() in (True, False)
True
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from nervure.bridges.torch.imported_module import ImportedModule
from nervure.bridges.torch.unsupported import Foreign
from nervure.errors import NotSupported
from nervure.support import forks

if TYPE_CHECKING:
    from nervure.bridges.torch.reporting import Report


def is_installed() -> bool:
    """Returns whether PyTorch is installed, which all others here need."""
    return importlib.util.find_spec("torch") is not None


def _check_installed(op: str) -> None:
    if not is_installed():
        raise NotSupported("PyTorch is not installed", op=op, got="no module torch", expected="PyTorch 2.13",
                           help="pip install 'nervure[torch]'")


def backend(graph: Foreign, inputs: Sequence[Foreign], options: Mapping[str, object] | None = None,
            mode: str | None = None) -> Callable[..., Foreign]:
    """Compiles a graph for ``torch.compile(model, backend="nervure")``: forward, backward, and without gradients.

    ``options={"strict": True}`` raises NotSupported for an op that PyTorch would have to run itself. With
    ``options={"freezing": True}`` weights are packed once for each version, rather than in each call, where no
    gradients are computed; writes through ``x.data`` are not seen then. InvalidArgument for other options, or a mode.

    PyTorch hands recurrent layers over if ``torch._dynamo.config.allow_rnn`` is set, and runs them itself if not.

    >>> if is_installed():
    ...     import torch
    ...     model = torch.compile(torch.nn.Linear(3, 2), backend=backend, options={"strict": True})
    ...     assert model(torch.ones(1, 3)).shape == (1, 2)
    """
    _check_installed("torch.compile")
    with forks.importing():
        from nervure.bridges.torch.compiling import compiled_model
    return compiled_model(graph, inputs, options, mode)


def from_torch(model: Foreign, example_inputs: Sequence[Foreign] | Mapping[str, Foreign] = (),
               dynamic: object = None) -> ImportedModule:
    """Imports a model of PyTorch, a module or an ExportedProgram, as a module of nervure.

    ``example_inputs`` are tensors like those that it takes, in order or by name. With ``dynamic=True`` their first
    axis, the batch, may have any length; ``dynamic`` may also be what ``torch.export`` calls ``dynamic_shapes``.
    Parameters and buffers have PyTorch's names, and copies of their values; a module is traced in training and in
    evaluation, and is in the mode that the model is in. In that mode its modules have theirs, as frozen batch norms do.
    An ExportedProgram is what it is. NotSupported names an op that has no translation.

    >>> if nv.bridges.torch.is_installed():
    ...     import torch
    ...     model = nv.from_torch(torch.nn.Linear(3, 2), [torch.ones(1, 3)], dynamic=True)
    ...     assert model(np.ones((5, 3), np.float32)).shape == (5, 2)
    ...     assert [path for path, _ in model.named_parameters()] == ["weight", "bias"]
    """
    _check_installed("from_torch")
    with forks.importing():
        from nervure.bridges.torch.exporting import imported
    return imported(model, example_inputs, dynamic)


def report(model: Foreign, *inputs: Foreign, **named: Foreign) -> Report:
    """Traces a ``model`` as ``torch.compile`` does, on these inputs, and reports its ops.

    For each it has the number of its calls, the user's lines that they come from, and the reason if PyTorch would run
    it. The model runs once.

    >>> if is_installed():
    ...     import torch
    ...     found = report(lambda x: torch.special.airy_ai(torch.exp(x)), torch.ones(3))
    ...     assert [(entry.op, entry.calls, entry.is_compiled) for entry in found.ops] == [
    ...         ("aten.special_airy_ai.default", 1, False), ("aten.exp.default", 1, True)]
    """
    _check_installed("report")
    with forks.importing():
        from nervure.bridges.torch.reporting import reported
    return reported(model, inputs, named)
