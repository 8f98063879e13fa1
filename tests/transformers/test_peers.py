"""Processes of a job, as each of them sees the others."""

from __future__ import annotations

import pytest

import nervure as nv
from nervure.transformers.peers import ALONE
from tests.jobs import job


def test_what_one_says_all_hear():
    assert job(3, lambda peers: peers.together(lambda: bytes([peers.index]))) == [[b"\0", b"\1", b"\2"]] * 3
    assert ALONE.together(lambda: b"") == [b""]


def test_what_the_first_does_all_wait_for():
    done = []
    assert job(3, lambda peers: (peers.by_first(lambda: done.append(peers.index)), list(done))) == [(None, [0])] * 3


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_where_one_fails_all_fail(error):
    def act(peers):
        def own() -> bytes:
            if peers.index == 1:
                raise error
            return b""
        peers.together(own)
    first, second, third = job(3, act)
    assert second is error and isinstance(first, nv.InvalidArgument) and isinstance(third, nv.InvalidArgument)
    assert "process 1 of 3 has failed" in str(first) and type(error).__name__ in str(first) and first.help
