"""Checkpoints of a folder: which are kept, and which are passed over."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

import nervure as nv
from nervure import nn
from nervure.errors import FormatError
from nervure.files.state_dict import SpreadState
from nervure.training import checkpoints as files
from nervure.training.checkpoints import Folder
from nervure.training.standing import Standing
from nervure.transformers.peers import ALONE
from tests.jobs import job, spread
from tests.training.samples import DATA, SETTINGS, STEPS, checkpoints


def trainer():
    return nv.Trainer(nn.LinearLayer(6, 3), nv.optim.SGD(0.1), nn.losses.cross_entropy,
                      transformer=nv.transformers.make_transformer("interpreter"))


def damage(path):
    path.write_bytes(path.read_bytes()[:-1])


def written(folder, *steps):
    for number in steps:
        files.write(files.path_in(str(folder), number), nv.StateDict({}), Standing({}, steps=number), (1, 2, 3))


def left(folder):
    return [int(name[11:-12]) for name in checkpoints(folder)]


def add(kept, steps, best=None):
    kept.add(steps, lambda path: files.write(path, nv.StateDict({}), Standing({}, steps=steps), (1, 2, 3)), best)


def test_damaged_checkpoints_are_not_counted(tmp_path):
    """T336: nor removed; the next ones stay beside them, and one of their name takes their place."""
    written(tmp_path, 2, 4, 6, 8)
    damage(tmp_path / "checkpoint-00000006.safetensors")
    damage(tmp_path / "checkpoint-00000008.safetensors")
    kept = Folder(str(tmp_path), 1)
    with pytest.warns(RuntimeWarning, match="is damaged") as caught:
        found = kept.newest()
    assert found.standing.steps == 4 and len(caught) == 2
    kept.go_on(4)
    add(kept, 5)
    assert left(tmp_path) == [5, 6, 8]
    add(kept, 6)
    assert left(tmp_path) == [6, 8] and files.read(files.path_in(str(tmp_path), 6)).standing.steps == 6
    add(kept, 9)
    assert left(tmp_path) == [8, 9]


@pytest.mark.parametrize("make", [os.mkdir, lambda path: os.symlink("nowhere", path)], ids=["folder", "link"])
def test_what_cannot_be_read_is_passed_over(make, tmp_path):
    """T336: a folder, or a link to nothing, of a checkpoint's name; where there is nothing else it is an error."""
    make(tmp_path / "checkpoint-00000009.safetensors")
    with pytest.raises(FormatError, match="all checkpoints are damaged"):
        Folder(str(tmp_path), 1).newest()
    written(tmp_path, 4)
    with pytest.warns(RuntimeWarning, match="is damaged"):
        assert Folder(str(tmp_path), 1).newest().standing.steps == 4


def test_a_training_goes_on_beside_a_damaged_checkpoint(tmp_path):
    """T336: each of its own stays, until there are newer ones."""
    trainer().fit(DATA, 2, folder=tmp_path, **SETTINGS)
    damage(tmp_path / f"checkpoint-{2 * STEPS:08}.safetensors")
    with pytest.warns(RuntimeWarning, match="is damaged"), pytest.raises(nv.training.Interrupted):
        trainer().fit(Stopped(), 3, folder=tmp_path, keep=1, save_every=1, resume=True, shows=False)
    assert left(tmp_path) == [STEPS + 2, 2 * STEPS]
    with pytest.warns(RuntimeWarning, match="is damaged"):
        trainer().fit(DATA, 3, folder=tmp_path, keep=1, resume=True, **SETTINGS)
    assert left(tmp_path) == [3 * STEPS]


class Stopped(nv.data.Batches):
    """Data that press Ctrl-C after two batches of the second epoch."""

    def __init__(self):
        super().__init__(*DATA, size=8, seed=3)

    def epoch(self, number, start=0):
        for count, batch in enumerate(super().epoch(number, start)):
            if number == 1 and count == 1:
                signal.raise_signal(signal.SIGINT)
            yield batch


def test_where_all_are_damaged_training_does_not_begin_anew(tmp_path):
    """T336: an error names them, and they stay; without ``resume`` they go."""
    trainer().fit(DATA, 2, folder=tmp_path, **SETTINGS)
    for name in checkpoints(tmp_path):
        damage(tmp_path / name)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(FormatError, match="all checkpoints are damaged") as caught:
        trainer().fit(DATA, 3, folder=tmp_path, resume=True, **SETTINGS)
    assert all([name in caught.value.got for name in checkpoints(tmp_path)]) and len(checkpoints(tmp_path)) == 2
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    trainer().fit(DATA, 1, folder=tmp_path, **SETTINGS)
    assert left(tmp_path) == [STEPS]


def test_an_earlier_checkpoint_takes_the_place_of_later_ones(tmp_path):
    """T336: what training goes on from it writes is not removed as older than those."""
    trainer().fit(DATA, 3, folder=tmp_path, keep=3, **SETTINGS)
    first = files.path_in(str(tmp_path), STEPS)
    trainer().fit(DATA, 2, folder=tmp_path, keep=1, resume=first, **SETTINGS)
    assert left(tmp_path) == [2 * STEPS]
    assert len(trainer().fit(DATA, 3, folder=tmp_path, resume=True, **SETTINGS)) == 3


def test_the_best_stays_beside_the_newest(tmp_path):
    """T337: for as long as it is the best."""
    kept = Folder(str(tmp_path), 2)
    for steps, best in [(1, 1), (2, 2), (3, 2), (4, 2), (5, 2), (6, 6), (7, 6)]:
        add(kept, steps, best)
        assert left(tmp_path) == sorted({best, *range(max(steps - 1, 1), steps + 1)})


def test_parts_are_removed_with_their_checkpoint(tmp_path):
    """J8: also those that a kill has left behind; those of other files stay."""
    folder, standing = Folder(str(tmp_path), keep=1), Standing({})
    state = SpreadState({"param:linearlayer.0.bias": spread(np.zeros(4), (2,), 0, 1)}, {})
    left = [tmp_path / f"{name}.0123456789abcdef.part" for name in (
        "checkpoint-00000001.safetensors", "checkpoint-00000009.safetensors", "weights")]
    for path in left:
        path.write_bytes(b"")
    for steps in (2, 3):
        folder.add(steps, lambda path: files.write_together(path, state, standing, (0, 0, 0), ALONE), None)
    first, second, third = sorted(os.listdir(tmp_path))
    assert first == "checkpoint-00000003.safetensors" and second.startswith(first) and third == left[2].name
    assert folder.newest().state.table["param:linearlayer.0.bias"].tolist() == [0] * 4
    files.write(str(tmp_path / first), nv.StateDict({}), standing, (0, 0, 0))
    assert len(os.listdir(tmp_path)) == 2


def test_processes_that_find_different_checkpoints(tmp_path):
    """J7: where they share no folder."""
    files.write(files.path_in(str(tmp_path), 3), nv.StateDict({}), Standing({}), (0, 0, 0))
    found = job(2, lambda peers: Folder(str(tmp_path / ("" if peers.index else "other")), 2, peers).newest())
    assert all("the processes find different checkpoints" in str(error) for error in found)
    assert "none, checkpoint-00000003.safetensors" in str(found[0])
