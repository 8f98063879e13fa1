"""The bits of random functions, kept from one commit and compared on another.

    python -m tests.deep.bits keep FILE --count 300      writes functions as text, and digests of their results
    python -m tests.deep.bits compare FILE               runs the same texts; exits with the number of differences

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

TRANSFORMERS = ("interpreter", "cpu")


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


def main(arguments: list[str] | None = None) -> int:
    """Keeps or compares, as the command line says; the number of differences, at most 100."""
    parser = argparse.ArgumentParser(prog="python -m tests.deep.bits", description="the bits of random functions")
    parser.add_argument("action", choices=("keep", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--count", type=int, default=300, help="how many functions are kept")
    options = parser.parse_args(arguments)
    if options.action == "keep":
        entries = [entry for entry in map(kept, range(options.count)) if entry is not None]
        options.file.write_text("".join([json.dumps(entry) + "\n" for entry in entries]))
        print(f"{len(entries)} functions kept")
        return 0
    lines = options.file.read_text().splitlines()
    found = [line for entry in map(json.loads, lines) for line in differences(entry)]
    print("\n".join([*found, f"{len(lines)} functions, {len(found)} differences"]))
    return min(len(found), 100)


if __name__ == "__main__":
    sys.exit(main())
