"""Checkpoints: all that a training needs to go on as if nothing had happened, in one file, written atomically. Each
process of a training on a mesh writes a part.

>>> import tempfile
>>> folder = tempfile.mkdtemp()
>>> write(path_in(folder, 7), StateDict({}), Standing({"examples": 4}, steps=7), (1, 0, 3))
>>> [os.path.basename(path) for path in paths(folder)], Folder(folder, keep=2).newest().random
(['checkpoint-00000007.safetensors'], (1, 0, 3))
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from nervure.errors import FormatError, InvalidArgument, notice
from nervure.files.state_dict import OF_EPOCH, SpreadState, StateDict, paths_text, with_paths
from nervure.files.tensor_file import from_json, write_tensors
from nervure.files.tensor_parts import read_arrays, remove_parts, wholes, write_parts
from nervure.training.draws import Random
from nervure.training.standing import Standing, from_text
from nervure.transformers.peers import ALONE, Peers

_NAME = re.compile(r"checkpoint-(\d{8,})\.safetensors")
_STANDING, _RANDOM = "nervure.training", "nervure.random"


class SavedTraining(NamedTuple):
    """The state of model and optimiser, the position of the training, and that of its random numbers."""

    path: str
    state: StateDict
    standing: Standing
    random: Random


def path_in(folder: str, steps: int) -> str:
    """Returns the path of the checkpoint after ``steps`` steps."""
    return os.path.join(folder, f"checkpoint-{steps:08}.safetensors")


def paths(folder: str) -> list[str]:
    """Lists the checkpoints of a folder, the newest first."""
    with contextlib.suppress(FileNotFoundError):
        names = [found[0] for name in os.listdir(folder) if (found := _NAME.fullmatch(name))]
        return [os.path.join(folder, name) for name in sorted(names, key=_steps, reverse=True)]
    return []


def write(path: str, state: StateDict, standing: Standing, random: Random) -> None:
    """Writes a checkpoint of ``state``, ``standing`` and ``random`` to ``path``; until it is complete, no file has its
    name.
    """
    write_tensors(path, {**state.arrays(), **standing.arrays()}, _strings(state, standing, random))
    remove_parts(path)


def write_together(path: str, state: SpreadState, standing: Standing, random: Random, peers: Peers) -> None:
    """Writes a checkpoint of ``state``, ``standing`` and ``random`` in parts, one by each of the ``peers``."""
    write_parts(path, state.table, standing.arrays(), _strings(state, standing, random), peers)


def _strings(state: StateDict | SpreadState, standing: Standing, random: Random) -> dict[str, str]:
    return {_STANDING: standing.text(), _RANDOM: json.dumps(random), **paths_text(state)}


def read(path: str) -> SavedTraining:
    """Reads the checkpoint in a file, or in parts; FormatError for one that is damaged, or is no checkpoint."""
    table, strings = read_arrays(path)
    if _STANDING not in strings or _RANDOM not in strings:
        raise FormatError("the file holds no training to go on with", op="fit", operand=path,
                          got="a file of arrays alone", expected="a checkpoint that trainer.fit has written",
                          help="nv.load_weights(module, path) loads weights alone")
    own = {key: array for key, array in table.items() if not key.startswith(OF_EPOCH)}
    return SavedTraining(path, with_paths(own, strings, path), from_text(strings[_STANDING], table, path),
                      _random(strings[_RANDOM], path))


class Folder:
    """The checkpoints of a training in a folder: the newest ones, as many as ``keep`` says, and the best one. All of
    the ``peers`` call the same methods, and the first removes files.

    Damaged files are neither counted nor removed: something in them may still be of use.
    """

    def __init__(self, path: str, keep: int, peers: Peers = ALONE) -> None:
        self.path, self._keep, self._peers = path, keep, peers
        self._damaged: dict[str, str] = {}
        self._start: int | None = -1  # None once the files of other trainings are gone

    def newest(self) -> SavedTraining | None:
        """Returns the newest checkpoint that is complete, None if there is none at all. Damaged ones, and others that
        cannot be read, are skipped with a warning; FormatError if all are; InvalidArgument if other processes find
        another one.
        """
        found: list[SavedTraining | None] = []

        def find() -> bytes:
            found.append(self._newest())
            return b"" if found[0] is None else os.path.basename(found[0].path).encode()
        told = self._peers.together(find)
        if len(set(told)) > 1:
            listed = [name.decode() or "none" for name in told]
            raise InvalidArgument("the processes find different checkpoints", op="fit", operand=self.path,
                                  got=", ".join(listed), expected="the same newest one for all",
                                  help="the processes of a job use a folder that all of them share")
        return found[0]

    def _newest(self) -> SavedTraining | None:
        for path in paths(self.path):
            try:
                found = read(path)
            except (FormatError, OSError) as error:
                self._damaged[path] = error.message if isinstance(error, FormatError) else error.strerror or str(error)
                continue
            for other, message in self._damaged.items():
                notice(f"{other} is damaged ({message}): an older checkpoint is taken")
            return found
        if self._damaged:
            told = "; ".join([f"{os.path.basename(path)}: {message}" for path, message in self._damaged.items()])
            raise FormatError("all checkpoints are damaged", op="fit", operand=self.path, got=told,
                              expected="one that is complete",
                              help="restore one of them, or train anew: resume=False, or another folder=")
        return None

    def go_on(self, steps: int) -> None:
        """Continues a training after ``steps`` steps: files with more steps belong to another one."""
        self._start = steps

    def add(self, steps: int, write: Callable[[str], None], best: int | None) -> str:
        """Calls ``write`` for a checkpoint after ``steps`` steps, removes the files that need not be kept, and returns
        its path.
        """
        if self._start is not None:
            spared = set(self._damaged) if self._start >= 0 else set[str]()
            self._remove([path for path in paths(self.path) if _steps(path) > self._start and path not in spared])
            self._start = None
        own = path_in(self.path, steps)
        write(own)
        self._damaged.pop(own, None)
        sound = [path for path in paths(self.path) if path not in self._damaged]
        self._remove([path for path in sound[self._keep:] if _steps(path) != best])
        return own

    def _remove(self, listed: Iterable[str]) -> None:
        """Removes checkpoints, and parts that no checkpoint names."""
        if self._peers.index != 0:
            return
        for path in listed:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        for name in wholes(self.path):
            if _NAME.fullmatch(name):
                remove_parts(os.path.join(self.path, name))


def _steps(path: str) -> int:
    return int(os.path.basename(path)[11:-12])


def _random(text: str, path: str) -> Random:
    try:
        low, high, step = from_json(text)
        if all([type(number) is int and 0 <= number < 1 << 64 for number in (low, high, step)]):
            return low & 0xFFFFFFFF, high & 0xFFFFFFFF, step
    except (ValueError, TypeError):
        pass
    raise FormatError("the random numbers of a checkpoint are damaged", op="fit", operand=path, got=f"{text!r:.80}",
                      help="take another checkpoint")
