"""The options of a training on a mesh: ``--mesh data=4,model=2 --shard N=data,H=model --shard-parameters data``.

>>> read_mesh("data=4,model=2"), read_shard("N=data,H=data+model")
(Mesh({'data': 4, 'model': 2}), {'N': ('data',), 'H': ('data', 'model')})
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NamedTuple

from nervure.errors import NervureError
from nervure.types.mesh import Mesh


class Distribution(NamedTuple):
    """The arguments of a Trainer that distribute it; on one device all are None."""

    mesh: Mesh | None = None
    shard: dict[str, tuple[str, ...]] | None = None
    shard_parameters: tuple[str, ...] | None = None


def add_mesh_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options to the ``parser`` of a command that trains."""
    parser.add_argument("--mesh", type=read_mesh, default=argparse.SUPPRESS, metavar="AXIS=COUNT,...",
                        help="devices in a grid, as in data=4,model=2; they are those of the transformer xla")
    parser.add_argument("--shard", type=read_shard, action="append", default=argparse.SUPPRESS, metavar="N=AXIS,...",
                        help="the axes of the mesh over which axes of tensors are split, as in N=data,H=model")
    parser.add_argument("--shard-parameters", type=read_names, default=argparse.SUPPRESS, metavar="AXIS,...",
                        help="the axes of the mesh over which parameters are split further")


def chosen_distribution(options: argparse.Namespace) -> Distribution:
    """Returns what the ``options`` of a command say about a mesh."""
    tables: Sequence[dict[str, tuple[str, ...]]] | None = getattr(options, "shard", None)
    together = None if tables is None else {name: axes for table in tables for name, axes in table.items()}
    return Distribution(getattr(options, "mesh", None), together, getattr(options, "shard_parameters", None))


def read_mesh(text: str) -> Mesh:
    """Returns the mesh that a ``text`` describes; ArgumentTypeError, which says how it is written, for another one."""
    axes = {}
    for name, length in _pairs(text, "data=4,model=2"):
        if not length.isascii() or not length.isdecimal():
            raise argparse.ArgumentTypeError(f"the axis {name} of a mesh has a number of devices, as in {name}=4, "
                                             f"not {length!r:.40}")
        axes[name] = int(length)
    try:
        return Mesh(axes)
    except NervureError as error:
        raise argparse.ArgumentTypeError(f"{error.message}: {error.got} ({error.help})") from None


def read_shard(text: str) -> dict[str, tuple[str, ...]]:
    """Returns the axes of a mesh by axes of tensors; ``+`` joins several for one."""
    return {name: tuple(axes.split("+")) for name, axes in _pairs(text, "N=data,H=model")}


def read_names(text: str) -> tuple[str, ...]:
    """Returns names that commas separate."""
    return tuple(text.split(","))


def _pairs(text: str, example: str) -> list[tuple[str, str]]:
    found = [tuple(part.split("=")) for part in text.split(",")]
    pairs = [(pair[0], pair[1]) for pair in found if len(pair) == 2 and all(pair)]
    if len(pairs) < len(found):
        raise argparse.ArgumentTypeError(f"{text!r:.60} has no such form as {example}")
    if len({name for name, _ in pairs}) < len(pairs):
        raise argparse.ArgumentTypeError(f"{text!r:.60} names an axis twice")
    return pairs
