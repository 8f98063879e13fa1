"""A fresh checkout finds its Python and makes its environment. A stand-in for Python takes notes."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project.source import ROOT

TOOLS = ("sh", "cat", "cksum", "dirname", "mkdir", "rm", "cp", "chmod")
SHIM = "#!/bin/sh\necho 'the shim knows no such version' >&2\nexit 127\n"
# Answers the question for version and venv as the running Python would, with another version put in.
VERSIONED = '#!/bin/sh\nexec {python} -c "import sys; sys.version_info = {version}; exec(sys.argv[2])" "$@"\n'
WITHOUT_PIP = f"""#!/bin/sh
exec {sys.executable} -c "import sys; sys.modules['ensurepip'] = None; exec(sys.argv[2])" "$@"
"""
# As above, and "makes" environments: a folder whose Python is a copy of itself. Each call of pip is a line of pip.log.
STAND_IN = f"""#!/bin/sh
case "$2" in
    venv) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
    pip) echo "$@" >> pip.log; test ! -e pip.fails ;;
    *) exec {sys.executable} "$@" ;;
esac
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the set-up is a shell script")


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def checkout(tmp_path) -> Path:
    """A checkout with the script and the two files it depends on; its path has a space in it."""
    root = tmp_path / "a checkout"
    (root / "scripts").mkdir(parents=True)
    for name in ("scripts/environment", "pyproject.toml", "constraints.txt", "Makefile"):
        shutil.copy(ROOT / name, root / name)
    for tool in TOOLS:
        (root / "bin").mkdir(exist_ok=True)
        (root / "bin" / tool).symlink_to(shutil.which(tool))
    return root


def environment(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the script with nothing on the PATH but the few tools it needs and what a test put there."""
    return subprocess.run([root / "scripts" / "environment", *arguments], cwd=root, text=True, capture_output=True,
                          env={"PATH": str(root / "bin")})


def set_up(root: Path) -> int:
    """Makes the environment; how often pip was called for it."""
    log = root / "pip.log"
    before = len(log.read_text().splitlines()) if log.exists() else 0
    done = environment(root, "dev,train")
    assert done.returncode == 0, done.stderr
    return (len(log.read_text().splitlines()) if log.exists() else 0) - before


def test_the_first_python_that_works_is_taken(checkout):
    program(checkout / "bin" / "python3.14", SHIM)
    program(checkout / "bin" / "python3.13", VERSIONED.format(python=sys.executable, version="(3, 10, 4)"))
    program(checkout / "bin" / "python3", VERSIONED.format(python=sys.executable, version="(3, 12, 4)"))
    assert environment(checkout, "--python").stdout == "python3\n"
    program(checkout / "bin" / "python3.11", VERSIONED.format(python=sys.executable, version="(3, 11, 0)"))
    assert environment(checkout, "--python").stdout == "python3.11\n"


def test_a_python_that_cannot_make_an_environment_is_passed_over(checkout):
    program(checkout / "bin" / "python3.14", WITHOUT_PIP)
    assert environment(checkout, "--python").returncode == 1


@pytest.mark.parametrize("version", ["(3, 10, 9)", "(3, 15, 0)", "(2, 7, 18)"])
def test_without_a_python_one_line_says_what_to_install(checkout, version):
    program(checkout / "bin" / "python3", VERSIONED.format(python=sys.executable, version=version))
    for arguments in (["--python"], ["dev,train"]):
        answer = environment(checkout, *arguments)
        assert answer.returncode == 1
        assert answer.stdout == "" and len(answer.stderr.splitlines()) == 1
        assert "Python 3.11 to 3.14" in answer.stderr and "python3-venv" in answer.stderr
    assert not (checkout / ".venv").exists()


def test_set_up_happens_once_per_change(checkout):
    program(checkout / "bin" / "python3.12", STAND_IN)
    assert set_up(checkout) == 2  # the build tool, then the package
    assert set_up(checkout) == 0
    with open(checkout / "constraints.txt", "a") as constraints:
        constraints.write("# changed\n")
    assert set_up(checkout) == 2
    os.utime(checkout / "pyproject.toml")  # a new date alone changes nothing
    assert set_up(checkout) == 0


def test_a_checkout_that_was_moved_is_set_up_again(checkout):
    program(checkout / "bin" / "python3.12", STAND_IN)
    set_up(checkout)
    assert set_up(checkout.rename(checkout.with_name("elsewhere"))) == 2


def test_a_set_up_that_failed_starts_from_nothing(checkout):
    program(checkout / "bin" / "python3.12", STAND_IN)
    (checkout / "pip.fails").touch()
    assert environment(checkout, "dev,train").returncode != 0
    (checkout / ".venv" / "half of a package").touch()
    (checkout / "pip.fails").unlink()
    assert set_up(checkout) == 2
    assert not (checkout / ".venv" / "half of a package").exists()
    assert set_up(checkout) == 0


def test_a_working_environment_is_kept_and_a_broken_one_is_not(checkout):
    program(checkout / "bin" / "python3.12", STAND_IN)
    set_up(checkout)
    kept = checkout / ".venv" / "kept"
    kept.touch()
    with open(checkout / "pyproject.toml", "a") as project:
        project.write("\n")
    set_up(checkout)
    assert kept.exists()
    program(checkout / ".venv" / "bin" / "python", SHIM)
    assert set_up(checkout) == 2
    assert not kept.exists()


def test_every_target_makes_its_environment_first(checkout):
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    for target in ("run", "test", "check", "bench", "test-deep", "fuzz"):
        plan = subprocess.run([shutil.which("make"), "--no-print-directory", "-n", target], cwd=checkout, text=True,
                              capture_output=True, check=True)
        assert plan.stdout.startswith("scripts/environment "), target
