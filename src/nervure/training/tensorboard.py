"""TensorBoard: a callback that writes the numbers of a training to files which TensorBoard shows.

The files are written by the package tensorboardX (extra ``tensorboard``), which is imported when the callback is made.

>>> import nervure as nv
>>> nv.training.TensorBoard("runs/first", every=10).folder
'runs/first'
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from nervure.errors import NotSupported
from nervure.front.argument_parsing import integer
from nervure.support.atomic_file import file_name
from nervure.training.callbacks import Callback
from nervure.training.readings import Entry

if TYPE_CHECKING:
    from nervure.training.trainer import Trainer


class TensorBoard(Callback):
    """Writes each number of the history under its name, by the number of steps, to a folder. With ``every``, it also
    writes loss, metrics and learning rates of every ``every``-th step, below ``step/``. Steps that a training repeats
    when it goes on replace the earlier ones. NotSupported without tensorboardX.

    >>> trainer = nv.Trainer(nv.nn.LinearLayer(2, 1), nv.optim.SGD(0.1), nv.nn.losses.mean_squared_error)
    >>> data = np.ones((8, 2)), np.ones((8, 1))
    >>> history = trainer.fit(data, 2, callbacks=[nv.training.TensorBoard("runs/second")], shows=False)
    """

    def __init__(self, folder: str | os.PathLike[str], every: int | None = None) -> None:
        self.folder = file_name(folder, "TensorBoard", "folder", 'as in nv.training.TensorBoard("run")')
        self.every: int | None = None
        if every is not None:
            self.every = integer(every, "TensorBoard", "every", help="leave it out", least=1)
        try:
            from tensorboardX import SummaryWriter
        except ImportError:
            raise NotSupported("TensorBoard's files are written by tensorboardX, which is not installed",
                               op="TensorBoard", got="no module tensorboardX", expected="tensorboardX",
                               help="pip install 'nervure[tensorboard]'") from None
        self._open, self._writer = SummaryWriter, None

    def fit_begin(self, trainer: Trainer) -> None:
        """Opens a file, in the first process of a job; TensorBoard drops the data of others from its first step on."""
        if trainer.transformer.peers.index:
            return
        standing = trainer.standing
        steps = 0 if standing is None else standing.steps
        self._writer = self._open(self.folder, purge_step=steps + 1 if steps else None)

    def step_end(self, trainer: Trainer, means: Mapping[str, float]) -> None:
        """Writes the numbers of a step."""
        steps = 0 if trainer.standing is None else trainer.standing.steps
        if self.every is not None and steps % self.every == 0:
            self._write({f"step/{name}": value for name, value in means.items()}, steps)

    def epoch_end(self, trainer: Trainer, entry: Entry) -> None:
        """Writes the numbers of an epoch."""
        self._write({name: value for name, value in entry.items() if name not in ("epoch", "steps")},
                    int(entry["steps"]))

    def fit_end(self, trainer: Trainer) -> None:
        """Closes the file."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _write(self, numbers: Mapping[str, object], steps: int) -> None:
        for name, value in numbers.items():
            if self._writer is not None and isinstance(value, (int, float)):
                self._writer.add_scalar(name, value, steps)
