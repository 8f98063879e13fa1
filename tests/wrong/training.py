"""Mistakes with trainers; as in ``cases.py``."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

import nervure as nv
from nervure import nn
from tests.wrong.cases import fails

DATA = (np.ones((4, 2), np.float32), np.ones((4, 1), np.float32))


def trainer(module: object = None) -> nv.Trainer:
    model = nn.LinearLayer(2, 1, weights=0.5, bias=False) if module is None else module
    return nv.Trainer(model, nv.optim.SGD(0.1), nn.losses.mean_squared_error)


@fails(nv.WrongKind)
def optimiser_that_was_not_made():
    nv.Trainer(nn.LinearLayer(2, 1), nv.optim.Adam, nn.losses.mean_squared_error)  # here


@fails(nv.WrongKind)
def loss_of_each_example():
    nv.Trainer(nn.LinearLayer(2, 1), nv.optim.SGD(0.1), lambda x, y: x - y).fit(DATA, 1, shows=False)  # here


@fails(nv.InvalidArgument)
def metric_named_loss():
    nv.Trainer(nv.relu, nv.optim.SGD(0.1), nn.losses.cross_entropy, {"loss": nv.training.accuracy})  # here


@fails(nv.ShapeMismatch)
def arrays_of_different_lengths():
    trainer().fit((DATA[0], DATA[1][1:]), 1, shows=False)  # here


@fails(nv.WrongKind)
def targets_in_the_place_of_epochs():
    trainer().fit(*DATA, shows=False)  # here


@fails(nv.InvalidArgument)
def epochs_of_nothing():
    trainer().fit(DATA, 0, shows=False)  # here


@fails(nv.InvalidArgument)
def training_resumed_on_other_data():
    own = trainer()
    own.fit(DATA, 1, shows=False)
    own.fit(DATA, 2, size=2, resume=True, shows=False)  # here


@fails(nv.FormatError)
def weights_in_the_place_of_a_checkpoint():
    path = f"{tempfile.mkdtemp()}/weights"
    nv.save_weights(nn.LinearLayer(2, 1), path)
    try:
        trainer().fit(DATA, 1, resume=path, shows=False)  # here
    except nv.FormatError as error:
        error.operand = "a file"
        raise


@fails(nv.FormatError)
def checkpoints_that_are_all_damaged():
    folder = Path(tempfile.mkdtemp())
    (folder / "checkpoint-00000001.safetensors").write_bytes(b"half")
    try:
        trainer().fit(DATA, 1, folder=folder, resume=True, shows=False)  # here
    except nv.FormatError as error:
        error.operand = "a folder"
        raise


class Renamed(nn.Module):
    """Two layers, whose names are given."""

    def __init__(self, *names: str) -> None:
        for name in names:
            setattr(self, name, nn.LinearLayer(2, 2, bias=False))


def loaded(model: nn.Module, format: str, line: Callable[[str], object]) -> None:
    """Weights of a model in a file that is named alike in each run."""
    path = f"{tempfile.mkdtemp()}/weights"
    nv.save_weights(model, path, format)
    try:
        line(path)
    except nv.InvalidArgument as error:
        error.operand = "a file"
        raise


@fails(nv.InvalidArgument)
def weights_of_attributes_with_other_names():
    loaded(Renamed("first", "second"), "safetensors",
           lambda path: nv.load_weights(Renamed("encoder", "decoder"), path))  # here


@fails(nv.InvalidArgument)
def weights_of_pytorch_with_something_in_front():
    loaded(nn.Sequential(Renamed("first", "second")), "torch",
           lambda path: nv.load_weights(Renamed("first", "second"), path, "torch"))  # here


@fails(nv.NumericError)
def loss_that_is_not_finite():
    scale = nv.variable((), 0.0)
    trainer(lambda x: nv.log(x[:, :1] * scale)).fit(DATA, 1, shows=False)  # here


@fails(nv.NumericError)
def data_that_are_not_finite():
    trainer().fit((DATA[0] * np.nan, DATA[1]), 1, shows=False)  # here


@fails(nv.InvalidArgument)
def dict_batch_whose_targets_have_no_name():
    trainer().fit({"images": DATA[0], "labels": DATA[1]}, 1, shows=False)  # here


@fails(nv.WrongKind)
def dict_batch_with_an_entry_that_goes_nowhere():
    own = nv.Trainer(nn.LinearLayer(2, 1), nv.optim.SGD(0.1), nn.losses.mean_squared_error, targets="y")
    own.fit({"x": DATA[0], "mask": DATA[0], "y": DATA[1]}, 1, shows=False)  # here


@fails(nv.InvalidArgument)
def generator_for_several_epochs():
    trainer().fit((DATA for _ in range(3)), 2, shows=False)  # here


@fails(nv.WrongKind)
def loss_that_takes_no_weights():
    nv.Trainer(nv.relu, nv.optim.SGD(0.1), lambda x, y: nv.mean(x - y, out_axes=()), weights=2)  # here


@fails(nv.WrongKind)
def callback_that_was_not_made():
    trainer().fit(DATA, 1, callbacks=[nv.training.TensorBoard], shows=False)  # here


@fails(nv.InvalidArgument)
def data_that_are_others_when_read_again():
    drawn = np.random.default_rng(1)
    nv.data.check(lambda number: [(drawn.integers(1000, size=3), np.zeros(3)) for _ in range(2)])  # here


@fails(nv.InvalidArgument)
def copy_of_a_module_with_a_computed_field():
    layer = nn.LinearLayer(2, 1)
    layer.doubled = layer.weights * 2
    copy.deepcopy(layer)  # here
