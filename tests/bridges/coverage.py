"""Counts the samples of PyTorch's own table of ops that the bridge computes as PyTorch does: a command.

    python -m tests.bridges.coverage                        all ops, float32, at most 6 samples an op
    python -m tests.bridges.coverage --ops softmax,cat      these ops
    python -m tests.bridges.coverage --dtypes int64,bool    other element types
    python -m tests.bridges.coverage --samples 2 --transformer cpu --gradients
    python -m tests.bridges.coverage --core                 samples of core ATen alone, and a list of its overloads

A sample passes if the whole graph became one function and gave PyTorch's numbers; it falls back if PyTorch had to run
some of it, and the numbers are right all the same. Anything else is wrong, and the command fails. Where PyTorch itself
is less exact in few digits, as with places that it computes in them, numbers of its float32 are right.

With ``--core`` the samples are those whose graphs, once PyTorch's own decompositions have been applied, consist of
overloads that PyTorch tags as core.
"""

from __future__ import annotations

import argparse
import sys
import time
import types
import unittest
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from functorch.compile import aot_function
from torch.utils._pytree import tree_flatten, tree_unflatten

from nervure import flags
from nervure.bridges.torch.compiling import compiled
from nervure.bridges.torch.decompositions import decompositions
from nervure.bridges.torch.factorisation_checks import without_checks
from nervure.bridges.torch.fallback import lacks
from tests.bridges.core_overloads import beyond, by_route

# The table's module wants a package of snapshot tests, of which it uses one base class.
sys.modules.setdefault("expecttest", types.ModuleType("expecttest")).TestCase = unittest.TestCase  # type: ignore[attr-defined]
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

TOLERANCES = {torch.float32: (2e-4, 2e-4), torch.float64: (1e-7, 1e-7), torch.bfloat16: (3e-2, 3e-2),
              torch.complex64: (2e-4, 2e-4), torch.complex128: (1e-7, 1e-7)}

FEW_DIGITS = (torch.bfloat16, torch.float16)

DEBUG = False

NOT_COMPARED = {
    "empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided",
    "nn.functional.rrelu"}
"""What PyTorch leaves undefined, or draws otherwise when it is compiled."""

GRADIENTS_NOT_COMPARED = {"logcumsumexp"}
"""Ops with samples so far from 0, at 10,000, that gradients of eager mode are off by more than is allowed."""


UP_TO_PHASES = {"svd", "linalg.svd", "linalg.eig", "linalg.eigh", "symeig", "svd_lowrank", "pca_lowrank"}
"""Ops with vectors of which libraries choose the signs. Their gradients are those of results without signs."""

CHOOSING = {"sort": 0, "argsort": 0, "topk": 1, "kthvalue": 1, "median": 0, "nanmedian": 0, "mode": 0}
"""Ops that give positions, any one of equal elements, and the number of the argument for the axis."""


class Verdict(NamedTuple):
    """What became of a sample: passes, falls back, wrong or not traced, with the reasons."""

    kind: str
    reason: str


class Counted(NamedTuple):
    """The samples of each kind, how often PyTorch ran what, and what was wrong."""

    kinds: Counter[str]
    reasons: Counter[str]
    wrong: list[str]

    def add(self, label: str, found: Verdict) -> None:
        """Counts a sample, and prints it if it is wrong."""
        self.kinds[found.kind] += 1
        if found.kind == "wrong":
            self.wrong.append(f"{label}: {found.reason}")
            print(self.wrong[-1], flush=True)
        elif found.kind == "falls back":
            self.reasons.update([reason.strip() for reason in found.reason.split(";")])

    def __str__(self) -> str:
        lines = [f"{count:6}  {reason}" for reason, count in self.reasons.most_common()]
        traced = sum(self.kinds.values()) - self.kinds["not traced"]
        kinds = {kind: self.kinds[kind] for kind in ("passes", "falls back", "wrong", "not traced")}
        return "\n".join([*lines, f"{kinds}: {self.kinds['passes'] / max(traced, 1):.1%} of what is traced"])


class Sample(NamedTuple):
    """A sample of an op's arguments as a function of its tensors; ``gradients`` tells whether theirs are wanted."""

    label: str
    function: Callable[..., Any]
    tensors: list[torch.Tensor]
    gradients: bool

    @classmethod
    def of(cls, label: str, op: Any, sample: Any, gradients: bool) -> Sample:
        """Returns a sample of PyTorch's table, whose other arguments stay what they are."""
        flat, form = tree_flatten((sample.input, sample.args, sample.kwargs))
        places = [at for at, entry in enumerate(flat) if isinstance(entry, torch.Tensor)]

        def function(*tensors: torch.Tensor) -> Any:
            filled = list(flat)
            for at, tensor in zip(places, tensors, strict=True):
                filled[at] = tensor
            given, arguments, named = tree_unflatten(filled, form)
            value = op.op(given, *arguments, **named)
            if gradients:
                return sample.output_process_fn_grad(value)
            if op.name in UP_TO_PHASES:
                return [part.abs() for part in value]
            if op.name == "argsort" or op.name in CHOOSING and isinstance(value, tuple):
                *values, positions = [value] if op.name == "argsort" else value
                return values, chosen(given, positions, sample, CHOOSING[op.name])
            return value
        tensors = [flat[at].detach().clone().requires_grad_(flat[at].requires_grad) for at in places]
        return cls(label, function, tensors, gradients)

    def results(self, function: Callable[..., Any]) -> list[Any]:
        """Returns the results of a function of the tensors, and the gradients if they are wanted."""
        return _results(function, [tensor.clone() for tensor in self.tensors], self.gradients)

    def wide_results(self, like: Sequence[Any]) -> list[Any]:
        """Returns what PyTorch computes in float32 of tensors in few digits, rounded to the types of results."""
        wide = [tensor.detach().float().requires_grad_(tensor.requires_grad) if tensor.dtype in FEW_DIGITS else tensor
                for tensor in self.tensors]
        found = _results(self.function, [tensor.clone() for tensor in wide], self.gradients)
        return [entry if own is None or entry is None else entry.to(own.dtype) for entry, own in zip(found, like)]

    def is_core(self) -> bool:
        """Whether PyTorch writes it with overloads of core ATen alone."""
        try:
            return not beyond(self.function, self.results)
        except Exception:  # PyTorch cannot trace it
            return False


def chosen(given: torch.Tensor, positions: torch.Tensor, sample: Any, place: int) -> torch.Tensor:
    """Returns the elements at positions along the axis of a sample, the argument at this place."""
    axis = sample.kwargs.get("dim", sample.args[place] if len(sample.args) > place else -1)
    if not given.dim():
        return given
    fits = positions.dim() == given.dim()
    found = torch.gather(given, axis, positions if fits else positions.unsqueeze(axis))
    return found if fits else found.squeeze(axis)


def samples(dtype: torch.dtype, limit: int, gradients: bool, names: Collection[str]) -> Iterator[Sample]:
    """Yields at most ``limit`` samples of each op of the table, or of those with these names."""
    for op in op_db:
        supported = op.supported_backward_dtypes("cpu") if gradients else op.supported_dtypes("cpu")
        if names and op.name not in names or op.name in NOT_COMPARED or dtype not in supported or (
                gradients and (not op.supports_autograd or op.name in GRADIENTS_NOT_COMPARED)):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = op.sample_inputs("cpu", dtype, requires_grad=gradients)
            for number, sample in zip(range(limit), found):
                variant = f".{op.variant_test_name}" if op.variant_test_name else ""
                yield Sample.of(f"{op.name}{variant} {dtype} {number}", op, sample, gradients)


def judged(sample: Sample) -> Verdict:
    """Compares the bridge with PyTorch on one sample."""
    reasons: list[str] = []
    drawn: list[Any] = []

    def compiler(graph: Any, inputs: Any) -> Any:
        reasons.extend([f"{lack.op}: {lack.reason}" for lack in lacks(without_checks(graph))])
        drawn.extend([node for node in graph.graph.nodes
                      if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())])
        return compiled(graph)
    try:
        torch.manual_seed(0)
        expected = sample.results(sample.function)
    except Exception as error:  # PyTorch itself refuses this sample
        return Verdict("not traced", f"eager: {error}")
    try:
        bridged = aot_function(sample.function, fw_compiler=compiler, decompositions=decompositions())
        sample.results(bridged)  # the first call compiles
        torch.manual_seed(0)
        got = sample.results(bridged)
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
    is_coarse = any([tensor.dtype in FEW_DIGITS for tensor in sample.tensors])
    if problem is not None and not (is_coarse and difference(got, sample.wide_results(expected)) is None):
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


def counted(found: Iterator[Sample], only_core: bool, verbose: bool) -> Counted:
    """Judges samples, or those of them that core ATen can say."""
    total = Counted(Counter(), Counter(), [])
    for sample in found:
        if only_core and not sample.is_core():
            continue
        verdict = judged(sample)
        total.add(sample.label, verdict)
        if verbose:
            print(sample.label, *verdict, flush=True)
    return total


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", default="")
    parser.add_argument("--dtypes", default="float32")
    parser.add_argument("--samples", type=int, default=6)
    parser.add_argument("--gradients", action="store_true")
    parser.add_argument("--core", action="store_true")
    parser.add_argument("--transformer", default="interpreter")
    parser.add_argument("--verbose", action="store_true")
    chosen = parser.parse_args(arguments)
    flags.transformer = chosen.transformer
    names = frozenset(filter(None, chosen.ops.split(",")))
    if chosen.core:
        for route, overloads in by_route().items():
            print(f"{route}, {len(overloads)} overloads of core ATen: {', '.join(overloads)}\n")
    is_right = True
    for name in chosen.dtypes.split(","):
        start = time.perf_counter()
        found = counted(samples(getattr(torch, name), chosen.samples, chosen.gradients, names), chosen.core,
                        chosen.verbose)
        kind = "gradients in " if chosen.gradients else ""
        print(f"{kind}{name}, {time.perf_counter() - start:.0f} s; what PyTorch ran, in the samples that fell back:\n"
              f"{found}\n", flush=True)
        is_right = is_right and not found.wrong
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
