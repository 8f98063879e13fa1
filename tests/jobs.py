"""Jobs of several processes, as threads of a test: each sees the others through its ``Peers``.

>>> job(2, lambda peers: peers.together(lambda: f"{peers.index}".encode()))
[[b'0', b'1'], [b'0', b'1']]
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

import numpy as np

import nervure as nv
from nervure.transformers.peers import Peers
from nervure.types.pieces import ArrayPiece, Spread

Answer = TypeVar("Answer")


def job(count: int, act: Callable[[Peers], Answer]) -> list[Answer | BaseException]:
    """What ``act`` gives in each of ``count`` processes, or raises."""
    barrier, board = threading.Barrier(count, timeout=60), [b""] * count
    found: list[Answer | BaseException] = [RuntimeError("it did not end")] * count

    def run(index: int) -> None:
        def gather(text: bytes) -> list[bytes]:
            board[index] = text
            barrier.wait()
            told = list(board)
            barrier.wait()
            return told
        try:
            found[index] = act(Peers(index, count, gather))
        except BaseException as error:
            found[index] = error
    threads = [threading.Thread(target=run, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def spread(whole: np.ndarray, cuts: tuple[int, ...], index: int, count: int) -> Spread:
    """The pieces of an array, cut into so many along each axis, that one of ``count`` processes has, in turns."""
    pieces = [ArrayPiece((0,) * whole.ndim, whole)]
    for axis, parts in enumerate(cuts):
        length = whole.shape[axis] // parts
        pieces = [ArrayPiece((*start[:axis], start[axis] + at * length, *start[axis + 1:]), part)
                  for start, array in pieces for at, part in enumerate(np.split(array, parts, axis))]
    return Spread(nv.BasicTensorDescription.of(whole), pieces[index::count])
