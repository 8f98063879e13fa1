"""The bits of random functions and of networks at real sizes, kept from one commit and compared on another.

    python -m tests.deep.bits keep FILE                  writes functions as text, networks as seeds, and digests of
                                                         their results (--count 400 --networks 200)
    python -m tests.deep.bits compare FILE               runs the same programs; exits with the number of differences

A change that promises to keep every bit is checked with it: ``keep`` runs on the commit before, ``compare`` after.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import nervure as nv
from nervure.errors import NervureError
from nervure.ir.function import Function
from nervure.ir.parser import parse_function
from nervure.ir.printer import print_function
from tests.fuzz.graphs import arguments, random_case, random_rows, states
from tests.real_sizes import cases

TRANSFORMERS = ("interpreter", "cpu")

WORK = 3e8
"""Multiply-adds of a network: about a second of both of its batches."""


def kept(seed: int) -> dict[str, Any] | None:
    """What is written of a seed: its function as text, sizes, and digests; None where the text cannot be read back."""
    case = (random_rows if seed % 6 == 3 else random_case)(seed)
    try:
        text = print_function(case.function)
        function = parse_function(text)
    except NervureError:
        return None
    return {"seed": seed, "text": text, "bindings": case.bindings, "digests": digests(function, case.bindings, seed)}


def digests(function: Function, bindings: list[dict[str, int]], seed: int) -> dict[str, list[list[str]]]:
    """By transformer and sizes: the digest of each result and of each variable's new value."""
    return {name: [_digests(name, function, binding, seed) for binding in bindings] for name in TRANSFORMERS}


def _digests(name: str, function: Function, binding: dict[str, int], seed: int) -> list[str]:
    with nv.transformers.make_transformer(name) as transformer:
        for variable, value in states(function, seed).items():
            transformer.set(variable, value)
        try:
            results = transformer.compile(function)(*arguments(function, binding, seed))
        except NervureError as error:
            return [type(error).__name__]
        arrays = [*results, *[transformer.get(variable) for variable, _ in function.updates]]
    return [_digest(np.asarray(array)) for array in arrays]


def _digest(array: np.ndarray) -> str:
    return f"{array.dtype}{array.shape} " + hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


def differences(entry: dict[str, Any]) -> list[str]:
    """What differs from a kept entry, a line each."""
    now = digests(parse_function(entry["text"]), entry["bindings"], entry["seed"])
    return [f"seed {entry['seed']} on {name} with {binding}: {before} became {after}"
            for name in TRANSFORMERS
            for binding, before, after in zip(entry["bindings"], entry["digests"][name], now[name], strict=True)
            if before != after]


def kept_network(seed: int) -> dict[str, Any]:
    """The digests of a network at real sizes, whose batch is a symbol."""
    return {"network": seed, "digests": network_digests(seed)}


def network_digests(seed: int) -> list[list[str]]:
    """For each batch of the case of a seed the digests of its results, on the cpu."""
    case = cases.draw_case(seed, WORK)
    with nv.transformers.make_transformer("cpu") as transformer:
        made = cases.program(case, nv.dim("n", min=1), transformer)
        return [[_digest(array) for array in made.outcome(cases.arguments(case, made, batch))]
                for batch in case.batches]


def network_differences(entry: dict[str, Any]) -> list[str]:
    """A line that says how the digests of a kept network differ, if they do."""
    now = network_digests(entry["network"])
    return [] if now == entry["digests"] else [f"network {entry['network']}: {entry['digests']} became {now}"]


def main(arguments: list[str] | None = None) -> int:
    """Keeps or compares, as the command line says; the number of differences, at most 100."""
    parser = argparse.ArgumentParser(prog="python -m tests.deep.bits", description="the bits of random functions")
    parser.add_argument("action", choices=("keep", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--count", type=int, default=400, help="how many functions are kept")
    parser.add_argument("--networks", type=int, default=200, help="how many networks are kept")
    options = parser.parse_args(arguments)
    if options.action == "keep":
        entries = [entry for entry in map(kept, range(options.count)) if entry is not None]
        entries += map(kept_network, range(options.networks))
        options.file.write_text("".join([json.dumps(entry) + "\n" for entry in entries]))
        print(f"{len(entries)} programs kept")
        return 0
    lines = options.file.read_text().splitlines()
    found = [line for entry in map(json.loads, lines)
             for line in (network_differences if "network" in entry else differences)(entry)]
    print("\n".join([*found, f"{len(lines)} programs, {len(found)} differences"]))
    return min(len(found), 100)


if __name__ == "__main__":
    sys.exit(main())
