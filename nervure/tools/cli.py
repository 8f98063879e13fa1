"""The console command: ``nervure train digits --epochs 20 --seed 1``.

>>> build_parser().parse_args(["train", "digits", "--epochs", "5"]).epochs
5
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import nervure as nv
from nervure import flags
from nervure.errors import NervureError


def at_least(low: int) -> Callable[[str], int]:
    """A type for argparse: an integer not below ``low``."""
    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not an integer") from None
        if number < low:
            raise argparse.ArgumentTypeError(f"{number} is not at least {low}")
        return number
    return read


def able_to_train() -> list[str]:
    """The transformers that compute: the results of ``null`` are zeros."""
    return [name for name in nv.transformers.transformer_choices() if name != "null"]


def build_parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    parser = argparse.ArgumentParser(prog="nervure", description="A deep-learning graph compiler.")
    parser.add_argument("--version", action="version", version=f"nervure {nv.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    train = commands.add_parser("train", help="train a network on real data")
    sets = train.add_subparsers(dest="data", required=True, metavar="data")
    digits = sets.add_parser("digits", help="1,797 handwritten digits of 8x8 pixels",
                             formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    digits.add_argument("--epochs", type=at_least(1), default=30, help="passes over the training data")
    digits.add_argument("--seed", type=at_least(0), default=0, help="of the split, the first weights and the order")
    digits.add_argument("--transformer", default=argparse.SUPPRESS, metavar="NAME", choices=able_to_train(),
                        help=f"what runs it: {' or '.join(able_to_train())} "
                             f"(default: ${flags.variable_name('transformer')}, else the best one here)")
    digits.add_argument("--out", type=Path, default=Path("runs/digits"), help="folder for weights and plot")
    digits.set_defaults(run=_train_digits)
    cache = commands.add_parser("cache", help="show or clear the machine code kept on disk")
    cache.add_argument("--clear", action="store_true", help="delete all of it")
    cache.set_defaults(run=_show_cache)
    return parser


def _train_digits(options: argparse.Namespace) -> None:
    from nervure.tools.train_digits import train
    train(options.epochs, options.seed, getattr(options, "transformer", None), options.out)


def _show_cache(options: argparse.Namespace) -> None:
    from nervure.tools.cache import clear, describe
    print(clear() if options.clear else describe())


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns the exit status. Errors that a user can fix are one readable message."""
    try:
        options = build_parser().parse_args(arguments)
        options.run(options)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0
    except (NervureError, OSError) as error:
        print(f"nervure: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("nervure: interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
