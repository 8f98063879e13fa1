"""PyTorch's results for the cases: computed now where it is installed, else read from ``torch_figures.npz``.

``python -m tests.nn.figures`` writes the file, with PyTorch 2.13.
"""

from __future__ import annotations

import importlib
import importlib.util
from functools import cache
from pathlib import Path

import numpy as np

import tests.nn.torch_attention_cases
import tests.nn.torch_image_cases
import tests.nn.torch_loss_cases
import tests.nn.torch_place_cases
import tests.nn.torch_recurrent_cases
import tests.nn.torch_stack_cases  # noqa: F401  # all six add cases
from tests.nn.torch_cases import CASES, Case, cotangent

FILE = Path(__file__).with_name("torch_figures.npz")


def figures(name: str) -> dict[str, np.ndarray]:
    """The result of a case, the gradients by name, and what is left behind, in float64 or as it was kept."""
    if importlib.util.find_spec("torch") is not None:
        return live(CASES[name])
    return {key.partition("/")[2]: array for key, array in kept().items() if key.partition("/")[0] == name}


def live(case: Case) -> dict[str, np.ndarray]:
    """What PyTorch gives, in float64."""
    torch = importlib.import_module("torch")
    given = {key: torch.tensor(array, dtype=torch.float64, requires_grad=True) for key, array in case.arrays.items()}
    found = case.there(torch, *given.values())
    result, behind = found if isinstance(found, tuple) else (found, {})
    (result * torch.tensor(cotangent(tuple(result.shape)))).sum().backward()
    gradients = {f"gradient of {key}": torch.zeros_like(leaf) if leaf.grad is None else leaf.grad
                 for key, leaf in given.items()}
    return {key: value.detach().numpy() for key, value in {"result": result, **gradients, **behind}.items()}


@cache
def kept() -> dict[str, np.ndarray]:
    with np.load(FILE, allow_pickle=False) as file:
        return dict(file)


def write() -> None:
    """Keeps the figures of all cases."""
    arrays = {f"{name}/{key}": array.astype(np.float32) for name, case in CASES.items()
              for key, array in live(case).items()}
    np.savez_compressed(FILE, **arrays)


if __name__ == "__main__":
    write()
