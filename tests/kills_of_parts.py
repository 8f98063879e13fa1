"""Saves in parts by two processes, one of which is killed between system calls: ``python -m tests.kills_of_parts
DIRECTORY EVERY``. The first is killed at its first call of the system, the next after ``EVERY`` more, until one comes
to its end. The other process sees that its partner is gone, and ends.

It prints a line for each: which process was killed, at which call, which content the file then has, how many files were
left, and how many after the next save.
"""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import numpy as np

from nervure.files.tensor_parts import read_arrays, write_parts
from nervure.transformers.peers import Peers
from tests.jobs import spread
from tests.kills import killed_at


def save(path: Path, number: float, index: int, line: socket.socket) -> None:
    """The part of one process, which talks to its partner over a line."""
    def gather(text: bytes) -> list[bytes]:
        line.sendall(len(text).to_bytes(8, "little") + text)
        told = received(line, int.from_bytes(received(line, 8), "little"))
        return [text, told] if index == 0 else [told, text]
    write_parts(path, {"w": spread(np.full(8, number), (2,), index, 2)}, {}, {}, Peers(index, 2, gather))


def received(line: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = line.recv(size - len(data))
        if not piece:
            os._exit(75)  # the partner is gone
        data += piece
    return data


def save_together(path: Path, number: float, killed: int = -1, call: int = 0) -> bool:
    """Saves in two processes, of which one may be ``killed`` at a call of the system; whether it came so far."""
    lines = socket.socketpair()
    partner = os.fork()
    if partner == 0:
        lines[max(killed, 0)].close()
        index = 0 if killed == 1 else 1
        try:
            save(path, number, index, lines[index])
        finally:
            os._exit(0)
    index = max(killed, 0)

    def act() -> None:
        lines[1 - index].close()
        save(path, number, index, lines[index])
    try:
        if killed < 0:
            lines[1].close()
            save(path, number, 0, lines[0])
            return True
        return killed_at(call, act)
    finally:
        for line in lines:
            line.close()
        os.waitpid(partner, 0)


def main(directory: Path, every: int) -> None:
    path = directory / "weights"
    for killed in (0, 1):
        save_together(path, 0.0)
        call, goes_on = 0, True
        while goes_on:
            goes_on = save_together(path, 1.0, killed, call)
            number, = set(read_arrays(path)[0]["w"].tolist())
            left = len(os.listdir(directory))
            save_together(path, 0.0)
            print(killed, call, number, left, len(os.listdir(directory)), flush=True)
            call += every


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
