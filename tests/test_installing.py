"""Installing: an editable install is found from everywhere, by Python and type checkers; what runs without llvmlite."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

PROGRAM = """
from typing import assert_type
import nervure as nv

class Net(nv.nn.Module):
    def forward(self, x: nv.Tensor) -> nv.Tensor:
        return nv.relu(x)

x = nv.placeholder("N=n")
assert_type(Net()(x), nv.Tensor)
assert_type(nv.nn.LinearLayer(3, 2)(x), nv.Tensor)
Net()("x")  # type: ignore[arg-type]
Net()(x, x)  # type: ignore[call-arg]
nv.exp("x")  # type: ignore[arg-type]
"""

NEVER_READ = """
[mypy]
[mypy-jax.*,jaxlib.*,matplotlib.*,sympy.*,torch.*]
follow_imports = skip
"""
"""What bridges import need not be read: it takes most of the time, and the types are the same without it."""

WITHOUT_LLVMLITE = """
import sys, warnings
sys.modules["llvmlite"] = None
import numpy as np
import nervure as nv

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert nv.transformers.default().name == "interpreter"
said, = [str(entry.message) for entry in caught]
assert said == ("everything runs on the interpreter, which is slow: llvmlite is not installed; "
                "pip install 'llvmlite==0.50.*'"), said
model = nv.nn.Sequential(nv.nn.LinearLayer("F=3", "H=4"), nv.nn.ReLU(), nv.nn.LinearLayer("H=4", "Y=2"))
x, labels = nv.placeholder("N=n, F=3").named("x"), nv.placeholder("N=n", dtype=nv.int64)
loss = nv.mean(nv.nn.losses.cross_entropy(model(x), labels), out_axes=())
step = nv.computation([loss, nv.optim.Adam(0.1)(loss)], x, labels)
pictures, classes = np.random.default_rng(1).standard_normal((8, 3), np.float32), np.arange(8) % 2
losses = [step(pictures, classes)[0].item() for _ in range(20)]
assert losses[-1] < losses[0] / 2, losses
before = model.eval()(nv.tensor(pictures, "N=8, F=3")).numpy()
nv.save_weights(model, sys.argv[1] + "/w.safetensors")
nv.load_weights(model, sys.argv[1] + "/w.safetensors")
nv.save(sys.argv[1] + "/net.nervure", nv.computation(model(x), x))
assert np.array_equal(nv.load(sys.argv[1] + "/net.nervure")(pictures), before)
assert nv.jit(lambda x: x * 2)(np.float32([1, 2])).tolist() == [2.0, 4.0]
nv.show_config()
try:
    nv.transformers.make_transformer("cpu")
except nv.NotSupported as error:
    assert error.message == "llvmlite is not installed" and "pip install" in error.help
else:
    raise AssertionError("there is no LLVM")
"""


def run(*arguments: object, cwd: Path, **variables: str) -> str:
    """What a program prints, which must end well."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MYPYPATH")}
    done = subprocess.run([str(argument) for argument in arguments], cwd=cwd, env=kept | variables, text=True,
                          capture_output=True, timeout=200, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the clone, which is called nervure, and an environment with what an editable install writes
    into one: the folder of the sources, in a file ``.pth``. What the package needs is found where it is now.
    """
    folder = tmp_path_factory.mktemp("projects")
    (folder / "nervure").symlink_to(ROOT)
    run(sys.executable, "-m", "venv", "--without-pip", folder / "environment", cwd=folder)
    packages = sysconfig.get_path("purelib", vars={"base": str(folder / "environment")})
    needed = sysconfig.get_path("purelib")
    Path(packages, "nervure.pth").write_text(f"{folder}/nervure/src\n{needed}\n")
    return folder


def test_an_editable_install_names_the_folder_of_the_sources(tmp_path):
    """Claim Q33: type checkers follow such a file, and no hook that Python code would set."""
    pytest.importorskip("setuptools")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "src" / "nervure").mkdir(parents=True)
    for name in ("__init__.py", "__init__.pyi", "py.typed"):
        shutil.copy(ROOT / "src" / "nervure" / name, tmp_path / "src" / "nervure" / name)
    run(sys.executable, "-c", "from setuptools.build_meta import build_editable; build_editable('.')", cwd=tmp_path)
    wheel, = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        lines = {name: archive.read(name).decode() for name in archive.namelist() if name.endswith((".pth", ".py"))}
    assert [text.strip() for text in lines.values()] == [str(tmp_path / "src")], lines


def test_python_finds_it_beside_the_clone(installed):
    """Claim Q33: the folder nervure is the clone there, not the package."""
    printed = run(installed / "environment" / "bin" / "python", "-c",
                  "import nervure as nv; print(nv.__file__, nv.Tensor.__name__)", cwd=installed)
    assert printed.split() == [str(installed / "nervure" / "src" / "nervure" / "__init__.py"), "Tensor"]


def test_mypy_finds_it_and_its_types_beside_the_clone(installed):
    """Claims T360 and Q33."""
    pytest.importorskip("mypy")
    (installed / "program.py").write_text(PROGRAM)
    (installed / "mypy.ini").write_text(NEVER_READ)
    printed = run(sys.executable, "-m", "mypy", "--strict", "--cache-dir", installed / "cache", "--python-executable",
                  installed / "environment" / "bin" / "python", "program.py", cwd=installed)
    assert printed == "Success: no issues found in 1 source file\n"


def test_without_llvmlite_the_interpreter_runs_everything(tmp_path):
    """Claim Q34."""
    run(sys.executable, "-c", WITHOUT_LLVMLITE, tmp_path, cwd=tmp_path, PYTHONPATH=str(ROOT / "src"),
        NERVURE_TRANSFORMER="")
