"""The console command: ``nervure train digits --epochs 20 --seed 1``.

>>> build_parser().parse_args(["train", "digits", "--epochs", "5"]).epochs
5
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import nervure as nv
from nervure.errors import NervureError, NotSupported

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


def at_least(low: int) -> Callable[[str], int]:
    """Returns a type for argparse: an integer not below ``low``."""
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
    """Returns the transformers that compute: the results of ``null`` are zeros."""
    return [name for name in nv.transformers.transformer_choices() if name != "null"]


def build_parser() -> argparse.ArgumentParser:
    """Returns the parser of all commands and their options; NervureError if a switch of the environment is wrong."""
    from nervure.data.fashion import DEBIAN
    parser = argparse.ArgumentParser(prog="nervure", description="A deep-learning graph compiler.")
    parser.add_argument("--version", action="version", version=f"nervure {nv.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    train = commands.add_parser("train", help="train a network on real data")
    sets = train.add_subparsers(dest="recipe", required=True, metavar="recipe")
    _add_recipe(sets, "digits", "1,797 handwritten digits of 8x8 pixels", 30)
    fashion = _add_recipe(sets, "fashion", "Fashion-MNIST: 70,000 pictures of clothing, 28x28 pixels", 5)
    fashion.add_argument("--data", type=Path, default=DEBIAN, metavar="FOLDER", help="folder of the four files")
    text = _add_recipe(sets, "charlm", "a language model of characters, on Python's standard library", 12)
    text.add_argument("--data", type=Path, default=argparse.SUPPRESS, metavar="FOLDER",
                      help="folder of Python files (default: the standard library)")
    _add_recipe(sets, "lstm", "a recurrent network that adds two of sixty numbers", 30)
    _add_recipe(sets, "autoencoder", "digits from eight numbers each", 100)
    many = commands.add_parser("launch", help="run several processes of a command on this machine, as on a cluster",
                               usage="nervure launch -n COUNT [--logs FOLDER] -- COMMAND ...")
    many.add_argument("-n", type=at_least(1), required=True, dest="count", metavar="COUNT", help="processes")
    many.add_argument("--logs", type=Path, metavar="FOLDER", help="where the output of all but the first is kept "
                      "(default: a folder that is removed if all goes well)")
    many.add_argument("own", nargs="+", metavar="COMMAND", help="what each of them runs, with its options")
    many.set_defaults(run=_launch)
    cache = commands.add_parser("cache", help="show or clear the machine code kept on disk")
    cache.add_argument("--clear", action="store_true", help="delete all of it")
    cache.set_defaults(run=_show_cache)
    return parser


def _add_recipe(sets: Subparsers, name: str, about: str, epochs: int) -> argparse.ArgumentParser:
    """Adds the command of a recipe, ``name``, with its options."""
    from nervure import flags
    from nervure.tools.mesh_options import add_mesh_options
    own = sets.add_parser(name, help=about, description=about, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    own.add_argument("--epochs", type=at_least(1), default=epochs, help="passes over the training data")
    own.add_argument("--seed", type=at_least(0), default=0, help="of the first weights, the order, and a split")
    own.add_argument("--transformer", default=argparse.SUPPRESS, metavar="NAME", choices=able_to_train(),
                     help=f"what runs it: {' or '.join(able_to_train())} "
                          f"(default: ${flags.variable_name('transformer')}, else the best one here)")
    own.add_argument("--out", type=Path, default=Path("runs", name), help="folder for checkpoints, weights, logs, plot")
    own.add_argument("--resume", action="store_true", help="go on from the newest checkpoint in the folder")
    own.add_argument("--patience", type=at_least(1), default=argparse.SUPPRESS, metavar="EPOCHS",
                     help="hold some examples back, and stop when their loss has not fallen for so many epochs")
    add_mesh_options(own)
    own.set_defaults(run=_train)
    return own


def _train(options: argparse.Namespace) -> None:
    from nervure.tools.mesh_options import chosen_distribution
    from nervure.tools.recipes import RECIPES
    from nervure.tools.train import Settings, train
    try:
        data = RECIPES[options.recipe].load(options.seed, getattr(options, "data", None), hasattr(options, "patience"))
    except NotSupported as error:
        print(f"nervure: {error.message}: {error.help}", file=sys.stderr)
        raise SystemExit(2) from None
    distribution = chosen_distribution(options)
    if distribution.mesh is not None:
        nv.processes.join()
    named = getattr(options, "transformer", "xla" if distribution.mesh else None)  # no other has several devices
    train(options.recipe, data, Settings(options.epochs, options.seed, options.out, named, options.resume,
                                         getattr(options, "patience", None), distribution))


def _launch(options: argparse.Namespace) -> int:
    from nervure.tools.launch import launch
    return launch(options.own, options.count, options.logs)


def _show_cache(options: argparse.Namespace) -> None:
    from nervure.tools.cache import clear, describe
    print(clear() if options.clear else describe())


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns the exit status. Errors that a user can fix are one readable message."""
    try:
        options = build_parser().parse_args(arguments)
        status: int | None = options.run(options)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0
    except (NervureError, OSError) as error:
        print(f"nervure: {error}", file=sys.stderr)
        if nv.processes.count() > 1:
            nv.processes.leave(nv.processes.status_after(error))
        return 1
    except KeyboardInterrupt as stop:
        print(f"nervure: {str(stop) or 'interrupted'}", file=sys.stderr)
        if getattr(stop, "checkpoint", None) is not None:
            given = [entry for entry in (sys.argv[1:] if arguments is None else arguments) if entry != "--resume"]
            print(f"go on with: {shlex.join(['nervure', *given, '--resume'])}", file=sys.stderr)
        return 130
    return status or 0


if __name__ == "__main__":
    sys.exit(main())
