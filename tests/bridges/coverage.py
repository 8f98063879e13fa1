"""Counts the samples of PyTorch's own table of ops that the bridge computes as PyTorch does: a command.

    python -m tests.bridges.coverage                        all ops, float32, at most 6 samples an op
    python -m tests.bridges.coverage --ops softmax,cat      these ops
    python -m tests.bridges.coverage --dtypes int64,bool    other element types
    python -m tests.bridges.coverage --samples 2 --transformer cpu --gradients

A sample passes if the whole graph became one function and gave PyTorch's numbers; it falls back if PyTorch had to run
some of it, and the numbers are right all the same. Anything else is wrong, and the command fails.
"""

from __future__ import annotations

import argparse
import sys
import time
import types
import unittest
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from functorch.compile import aot_function, make_boxed_func
from torch.utils._pytree import tree_flatten, tree_unflatten

from nervure import flags
from nervure.bridges.torch.compiling import compiled
from nervure.bridges.torch.decompositions import decompositions
from nervure.bridges.torch.fallback import lacks

# The table's module wants a package of snapshot tests, of which it uses one base class.
sys.modules.setdefault("expecttest", types.ModuleType("expecttest")).TestCase = unittest.TestCase  # type: ignore[attr-defined]
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

TOLERANCES = {torch.float32: (2e-4, 2e-4), torch.float64: (1e-7, 1e-7), torch.bfloat16: (3e-2, 3e-2),
              torch.complex64: (2e-4, 2e-4)}

DEBUG = False

NOT_COMPARED = {
    "empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided",
    "nn.functional.rrelu"}
"""What PyTorch leaves undefined, or draws otherwise when it is compiled."""


class Verdict(NamedTuple):
    """What became of a sample: passes, falls back, wrong or not traced, with the reasons."""

    kind: str
    reason: str


def samples(op: Any, dtype: torch.dtype, limit: int, gradients: bool) -> Iterator[Any]:
    """Yields samples of an op's arguments, at most ``limit``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = op.sample_inputs("cpu", dtype, requires_grad=gradients)
        for _, sample in zip(range(limit), found):
            yield sample


def judged(op: Any, sample: Any, gradients: bool) -> Verdict:
    """Compares the bridge with PyTorch on one sample."""
    flat, form = tree_flatten((sample.input, sample.args, sample.kwargs))
    places = [at for at, entry in enumerate(flat) if isinstance(entry, torch.Tensor)]
    tensors = [flat[at].detach().clone().requires_grad_(flat[at].requires_grad) for at in places]

    def function(*tensors: torch.Tensor) -> Any:
        filled = list(flat)
        for at, tensor in zip(places, tensors, strict=True):
            filled[at] = tensor
        given, arguments, named = tree_unflatten(filled, form)
        value = op.op(given, *arguments, **named)
        return sample.output_process_fn_grad(value) if gradients else value

    reasons: list[str] = []
    drawn: list[Any] = []

    def compiler(graph: Any, inputs: Any) -> Any:
        reasons.extend([f"{lack.op}: {lack.reason}" for lack in lacks(graph)])
        drawn.extend([node for node in graph.graph.nodes
                      if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())])
        return make_boxed_func(compiled(graph))
    try:
        torch.manual_seed(0)
        expected = _results(function, [tensor.clone() for tensor in tensors], gradients)
    except Exception as error:  # PyTorch itself refuses this sample
        return Verdict("not traced", f"eager: {error}")
    try:
        bridged = aot_function(function, fw_compiler=compiler, decompositions=decompositions())
        _results(bridged, [tensor.clone() for tensor in tensors], gradients)  # the first call compiles
        torch.manual_seed(0)
        got = _results(bridged, [tensor.clone() for tensor in tensors], gradients)
    except Exception as error:
        if DEBUG:
            raise
        name = type(error).__name__
        is_ours = reasons or "nervure" in name or any(
            ["nervure/bridges" in str(frame) for frame in _files(error)])
        return Verdict("wrong" if is_ours else "not traced", f"{name}: {str(error)[:300]}")
    # The table seeds random ops inside of the function, where a compiled graph does not: numbers are not compared.
    problem = difference(got, [None if entry is None else own if drawn and own.shape == entry.shape else entry
                               for own, entry in zip(got, expected)])
    if problem is not None:
        return Verdict("wrong", problem)
    return Verdict("falls back" if reasons else "passes", "; ".join(dict.fromkeys(reasons)))


def _files(error: BaseException) -> Iterator[str]:
    trace = error.__traceback__
    while trace is not None:
        yield trace.tb_frame.f_code.co_filename
        trace = trace.tb_next


def _results(function: Any, tensors: Sequence[torch.Tensor], gradients: bool) -> list[Any]:
    found = [entry for entry in tree_flatten(function(*tensors))[0] if isinstance(entry, torch.Tensor)]
    if not gradients:
        return found
    totals = [(entry.abs() if entry.is_complex() else entry).mul(_weights(entry)).sum() for entry in found
              if entry.requires_grad]
    wanted = [tensor for tensor in tensors if tensor.requires_grad]
    if totals and wanted:
        found = [*found, *torch.autograd.grad(sum(totals), wanted, allow_unused=True)]
    return found


def _weights(entry: torch.Tensor) -> torch.Tensor:
    """A number for each element, so that each has another gradient."""
    return torch.arange(entry.numel(), dtype=entry.abs().dtype).cos().reshape(entry.shape)


def difference(got: Sequence[Any], expected: Sequence[Any]) -> str | None:
    """Returns how the results differ from PyTorch's; None if they do not."""
    if len(got) != len(expected):
        return f"{len(got)} results for {len(expected)}"
    for own, theirs in zip(got, expected, strict=True):
        if own is None or theirs is None:
            if own is not theirs and (own if theirs is None else theirs).abs().sum() != 0:
                return "a gradient is missing"
            continue
        if own.dtype != theirs.dtype or own.shape != theirs.shape:
            return f"{own.dtype}{list(own.shape)} for {theirs.dtype}{list(theirs.shape)}"
        relative, absolute = TOLERANCES.get(theirs.dtype, (0.0, 0.0))
        if absolute and theirs.layout is torch.strided:
            finite = theirs.detach()[theirs.isfinite()].abs()
            absolute *= max(1.0, float(finite.max())) if finite.numel() else 1.0
        try:
            torch.testing.assert_close(own.detach(), theirs.detach(), rtol=relative, atol=absolute, equal_nan=True)
        except AssertionError as error:
            return " ".join(str(error).split())[:300]
    return None


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", default="")
    parser.add_argument("--dtypes", default="float32")
    parser.add_argument("--samples", type=int, default=6)
    parser.add_argument("--gradients", action="store_true")
    parser.add_argument("--transformer", default="interpreter")
    parser.add_argument("--verbose", action="store_true")
    chosen = parser.parse_args(arguments)
    flags.transformer = chosen.transformer
    names = set(filter(None, chosen.ops.split(",")))
    start = time.perf_counter()
    counts, reasons, wrong = Counter[str](), Counter[str](), list[str]()
    for dtype in [getattr(torch, name) for name in chosen.dtypes.split(",")]:
        for op in op_db:
            supported = op.supported_backward_dtypes("cpu") if chosen.gradients else op.supported_dtypes("cpu")
            if names and op.name not in names or op.name in NOT_COMPARED or dtype not in supported or (
                    chosen.gradients and not op.supports_autograd):
                continue
            for number, sample in enumerate(samples(op, dtype, chosen.samples, chosen.gradients)):
                found = judged(op, sample, chosen.gradients)
                counts[found.kind] += 1
                label = f"{op.name}{'.' + op.variant_test_name if op.variant_test_name else ''} {dtype} {number}"
                if found.kind == "wrong":
                    wrong.append(f"{label}: {found.reason}")
                    print(wrong[-1], flush=True)
                elif found.kind == "falls back":
                    reasons.update([reason.strip() for reason in found.reason.split(";")])
                if chosen.verbose:
                    print(label, found.kind, found.reason, flush=True)
    print(f"\nwhat PyTorch ran, in the samples that fell back ({time.perf_counter() - start:.0f} s):")
    for reason, count in reasons.most_common():
        print(f"{count:6}  {reason}")
    print({kind: counts[kind] for kind in ("passes", "falls back", "wrong", "not traced")})
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
