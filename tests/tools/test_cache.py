"""``nervure cache``: what it shows, what it deletes."""

from __future__ import annotations

import pytest

from nervure import flags
from nervure.tools.cli import main
from nervure.transformers.cpu.cache.code_cache import make_key, user_cache


@pytest.fixture(autouse=True)
def own_cache(tmp_path):
    with flags.overriding(cache_directory=str(tmp_path / "kept"), cache_limit=1_000_000):
        yield


def fill(count: int) -> None:
    for number in range(count):
        user_cache().put(make_key("kernel", str(number)), bytes(1_000))


def test_what_is_there_is_shown(capsys, tmp_path):
    fill(3)
    assert main(["cache"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"directory  {tmp_path / 'kept'}", "entries    3", "bytes      3,144", "limit      1,000,000"]


def test_an_empty_cache_is_shown_and_not_made(capsys, tmp_path):
    assert main(["cache"]) == 0
    assert "entries    0" in capsys.readouterr().out and not (tmp_path / "kept").exists()


@pytest.mark.parametrize(("count", "said"), [(0, "0 entries of 0 bytes"), (1, "1 entry of 1,048 bytes"),
                                             (2, "2 entries of 2,096 bytes")])
def test_clearing_says_what_went(capsys, tmp_path, count, said):
    fill(count)
    assert main(["cache", "--clear"]) == 0
    assert capsys.readouterr().out == f"{said} deleted from {tmp_path / 'kept'}\n"
    assert user_cache().entries() == 0


def test_a_cache_that_is_off_is_said_to_be(capsys):
    with flags.overriding(cache=False):
        for arguments in (["cache"], ["cache", "--clear"]):
            assert main(arguments) == 0
            assert capsys.readouterr().out == "no machine code is kept: the switch cache is off\n"


def test_a_directory_that_is_not_the_users_alone_is_not_cleared(capsys, tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept").chmod(0o777)
    with pytest.warns(RuntimeWarning, match="others can write"):
        assert main(["cache", "--clear"]) == 1
    assert "others can write" in capsys.readouterr().err
