"""``python -m bench.torch_models [library or name ...]``: families of models through the PyTorch bridge.

Each family is compared in a process of its own, in evaluation and in training, so that one that fails, crashes or takes
too long ends nothing. It needs torchvision, timm and transformers; no weights are fetched.
"""

from __future__ import annotations

import importlib
import json
import platform
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version

from bench.torch_models.family import Family

LIBRARIES = ("torchvision", "timm", "transformers")
_ONE = "--one"
_SECONDS = 600
"""A family may take this long."""


def families(libraries: tuple[str, ...] = LIBRARIES) -> Iterator[Family]:
    """Yields the families of some libraries, which are imported."""
    for library in libraries:
        yield from importlib.import_module(f"bench.torch_models.{library}_families").families()


def _told(family: str, library: str) -> dict[str, object]:
    """Returns what a process of its own tells of a family, or its error."""
    try:
        run = subprocess.run([sys.executable, "-m", "bench.torch_models", _ONE, library, family], capture_output=True,
                             text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return {"failure": f"more than {_SECONDS} s"}
    lines = run.stdout.strip().splitlines()
    if run.returncode or not lines:
        return {"failure": (run.stderr.strip().splitlines() or [f"exit status {run.returncode}"])[-1]}
    return json.loads(lines[-1])


def _one(library: str, name: str) -> None:
    """Prints what one family shows, as JSON."""
    from bench.torch_models.comparing import compared
    family = next(entry for entry in families((library,)) if entry.name == name)
    found: dict[str, object] = {}
    for mode in ("evaluation", "training") if family.is_trained else ("evaluation",):
        try:
            found[mode] = compared(family, mode == "training")._asdict()
        except Exception as error:
            text = str(error).strip().splitlines() or [""]
            found[mode] = {"failure": f"{type(error).__name__}: {text[0]}"}
    print(json.dumps(found))


def _cells(found: dict, mode: str) -> list[str]:
    part = found if "failure" in found else found.get(mode)
    if part is None:
        return ["-", "-"]
    if "failure" in part:
        return [part["failure"][:90].replace("|", "/"), "-"]
    return [f"{part['ratio']:.2f}", str(part["graphs"])]


def row(family: Family, found: dict) -> str:
    """Returns the line of a family in the table."""
    calls = Counter[str]()
    for mode in ("evaluation", "training"):
        for op, count in (found.get(mode) or {}).get("fallbacks", {}).items():
            calls[op] = max(calls[op], count)
    fallen = ", ".join([f"{op} {count}" for op, count in sorted(calls.items())]) or "none"
    cells = [family.library, family.name, *_cells(found, "evaluation"), *_cells(found, "training"), fallen]
    return f"| {' | '.join(cells)} |"


def main(arguments: list[str]) -> None:
    """Prints the table of all families, or of those in the libraries, or with the names, that are given."""
    if arguments[:1] == [_ONE]:
        _one(*arguments[1:])
        return
    packages = ", ".join([f"{name} {version(name)}" for name in ("torch", *LIBRARIES)])
    print(f"{platform.machine()}, Python {platform.python_version()}, {packages}, {time.strftime('%Y-%m-%d')}\n")
    print("| library | family | ratio, evaluation | graphs | ratio, training | graphs | calls in PyTorch |")
    print("|---|---|---|---|---|---|---|", flush=True)
    known = list(families())
    for family in known:
        if not arguments or {family.library, family.name} & set(arguments):
            print(row(family, _told(family.name, family.library)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
