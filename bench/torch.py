"""PyTorch models compiled by nervure against eager mode, Inductor and ONNX Runtime, each in a process of its own.

``python -m bench torch [name ...]`` measures the rows whose names contain one of the words, such as ``resnet18_1``,
``bert_128`` or ``_step``: all without a word. Its options are those of ``python -m bench workloads``. It needs PyTorch,
torchvision and transformers; onnx, onnxruntime and onnxscript take part where they are installed.
"""

from __future__ import annotations

from bench import workloads
from bench.compiled_models import TABLE

OPTIONS = ("--frameworks", "nervure,torch,onnxruntime", "--limit", "120")
"""Others may be given. Inductor takes minutes for a recurrent network that is unrolled."""


def main(arguments: list[str]) -> None:
    """Measures and prints the table."""
    workloads.main([*OPTIONS, *arguments], TABLE)
