"""The console command: what it prints, what it leaves behind, and how it refuses."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest

import nervure as nv
from nervure.data.digits import load_digits
from nervure.tools.cli import able_to_train, main
from nervure.tools.recipes import adding, characters

pytest.importorskip("sklearn")


def numbers_of(text: str) -> list[str]:
    """The lines whose numbers depend on the seed alone, not on the machine."""
    return [line.partition(";")[0] for line in text.splitlines() if line.startswith(("epoch", "test accuracy"))]


def test_training_prints_saves_and_plots(tmp_path, capsys):
    assert main(["train", "digits", "--epochs", "2", "--out", str(tmp_path / "run")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines[:2]] == ["epoch 1/2", "epoch 2/2"]
    best = re.escape(nv.transformers.default().name)
    speed = re.fullmatch(rf"[\d.]+ steps per second on {best}, (\d+)% of the time arithmetic; "
                         r"compiled in [\d.]+ s, peak memory \d+ MB", lines[2])
    assert speed and 0 < int(speed[1]) <= 100
    assert lines[3].startswith("saved, reloaded and checked: ")
    found = re.fullmatch(r"test accuracy: (0\.\d{4})", lines[-1])
    assert found and float(found[1]) > 0.8
    weights, plot = tmp_path / "run" / "digits.safetensors", tmp_path / "run" / "digits.png"
    assert (tmp_path / "run" / "history.csv").read_text().startswith("epoch,steps,loss,accuracy,learning_rate\n1,23,")
    assert plot.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n" and plot.stat().st_size > 5_000
    data = load_digits(seed=0)
    answers = nv.load(weights)(data.test.images)
    assert f"{np.mean(answers == data.test.labels):.4f}" == found[1]


def test_the_same_seed_gives_the_same_numbers(tmp_path, capsys):
    def run(seed: str, folder: str) -> list[str]:
        main(["train", "digits", "--epochs", "1", "--seed", seed, "--out", str(tmp_path / folder)])
        return numbers_of(capsys.readouterr().out)
    first = run("3", "a")
    nv.uniform((3,)).numpy()  # what else the process has drawn does not matter
    assert run("3", "b") == first != run("4", "c")


@pytest.mark.parametrize(("options", "switch", "expected"), [
    ([], "", None), ([], "interpreter", None), (["--transformer", "interpreter"], "", "interpreter"),
    (["--transformer", "cpu"], "interpreter", "cpu")])
def test_the_transformer_is_the_default_one_or_that_of_the_option(options, switch, expected, monkeypatch):
    """The option goes before the switch."""
    asked = []
    monkeypatch.setattr("nervure.tools.train.train", lambda *given: asked.append(given[2].transformer))
    with nv.flags.overriding(transformer=switch):
        assert main(["train", "digits", *options]) == 0
    assert asked == [expected]


def test_what_computes_nothing_is_not_offered(capsys):
    """And so the help names those that do."""
    assert able_to_train() == [name for name in nv.transformers.transformer_choices() if name != "null"]
    assert main(["train", "digits", "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "cpu or interpreter or xla (default: $NERVURE_TRANSFORMER, else the best one here)" in text


@pytest.mark.parametrize(("arguments", "message"), [
    (["train", "digits", "--epochs", "0"], "0 is not at least 1"),
    (["train", "digits", "--epochs", "many"], "'many' is not an integer"),
    (["train", "digits", "--transformer", "gpu"], "invalid choice: 'gpu'"),
    (["train", "digits", "--transformer", "null"], "invalid choice: 'null'"),
    (["train", "letters"], "invalid choice: 'letters'"),
    (["train", "digits", "--speed"], "unrecognized arguments: --speed"),
    ([], "required: command")], ids=lambda entry: "-".join(entry[2:]) if isinstance(entry, list) else "")
def test_wrong_options_give_help(arguments, message, capsys):
    assert main(arguments) == 2
    text = capsys.readouterr().err
    assert message in text and text.startswith("usage: nervure") and "Traceback" not in text


def test_a_folder_that_cannot_be_made(tmp_path, capsys):
    (tmp_path / "file").write_text("here")
    assert main(["train", "digits", "--epochs", "1", "--out", str(tmp_path / "file" / "run")]) == 1
    assert capsys.readouterr().err.startswith("nervure: ")


def test_help_and_version(capsys):
    assert main(["--version"]) == 0 and capsys.readouterr().out == f"nervure {nv.__version__}\n"
    assert main(["train", "digits", "--help"]) == 0
    text = capsys.readouterr().out
    assert all(option in text for option in ("--epochs", "--seed", "--transformer", "--out", "--resume", "--patience"))


def test_piped_output_is_plain_lines(tmp_path):
    """No bar, no control characters where nobody looks."""
    command = [sys.executable, "-m", "nervure.tools.cli", "train", "digits", "--epochs", "1", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True,
                          env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    assert done.stdout.startswith("epoch 1/1: loss ") and "\r" not in done.stdout + done.stderr and done.stderr == ""


@pytest.mark.skipif(not os.environ.get("DEEP_TESTS"), reason="five trainings take minutes; DEEP_TESTS=1 runs them")
def test_accuracy_over_five_seeds(tmp_path, capsys):
    """Mean over the seeds 0 to 4 at least 97.5 %, none under 96 %."""
    accuracies = []
    for seed in range(5):
        main(["train", "digits", "--seed", str(seed), "--out", str(tmp_path)])
        accuracies.append(float(capsys.readouterr().out.split()[-1]))
    assert min(accuracies) >= 0.96 and np.mean(accuracies) >= 0.975


def test_control_c_saves_and_says_how_to_go_on(tmp_path, capsys):
    """T312, T314: with status 130; the command that it names ends where an uninterrupted one does."""
    whole = ["train", "digits", "--epochs", "2", "--seed", "5"]
    command = [*whole, "--out", str(tmp_path / "stopped")]
    process = subprocess.Popen([sys.executable, "-m", "nervure.tools.cli", *command], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    assert process.stdout.readline().startswith("epoch 1/2: ")
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=200)
    stopped, way = error.splitlines()
    assert process.returncode == 130 and stopped.startswith("nervure: interrupted in epoch 2, after ")
    assert way == f"go on with: nervure {' '.join(command)} --resume"
    assert main([*command, "--resume"]) == 0
    resumed = numbers_of(capsys.readouterr().out)
    assert main([*whole, "--out", str(tmp_path / "whole")]) == 0
    assert numbers_of(capsys.readouterr().out)[-2:] == resumed[-2:]
    histories = [(tmp_path / name / "history.json").read_text() for name in ("stopped", "whole")]
    assert histories[0] == histories[1]


def test_control_c_before_a_training_is_one_line(capsys, monkeypatch):
    """T314: with status 130, where there is no checkpoint to go on from."""
    monkeypatch.setattr("nervure.tools.train.train", lambda *given: signal.raise_signal(signal.SIGINT))
    assert main(["train", "digits"]) == 130
    assert capsys.readouterr().err == "nervure: interrupted\n"


def test_patience_holds_back_a_tenth(tmp_path, capsys):
    """T316: and ends training early."""
    assert main(["train", "digits", "--epochs", "3", "--patience", "1", "--out", str(tmp_path)]) == 0
    assert "validation loss" in capsys.readouterr().out


def test_without_the_data_one_line_says_how_to_get_them(capsys, monkeypatch):
    """Status 2."""
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    assert main(["train", "digits"]) == 2
    assert capsys.readouterr().err == ("nervure: the digits come with scikit-learn, which is not installed: "
                                       "pip install 'nervure[train]'\n")


def write_fashion(folder, count):
    """A small data set in the form of Fashion-MNIST: bright rows say the class."""
    generator = np.random.default_rng(0)
    for part, number in (("train", count), ("t10k", 100)):
        labels = generator.integers(0, 10, number).astype(np.uint8)
        images = generator.integers(0, 100, (number, 28, 28)).astype(np.uint8)
        images[np.arange(number), 2 * labels + 4] = 255
        for kind, array in (("images-idx3", images), ("labels-idx1", labels)):
            lengths = b"".join([length.to_bytes(4, "big") for length in array.shape])
            (folder / f"{part}-{kind}-ubyte").write_bytes(bytes([0, 0, 8, array.ndim]) + lengths + array.tobytes())


def test_fashion_is_trained_from_a_folder(tmp_path, capsys):
    """The network learns, and what is saved gives its answers."""
    write_fashion(tmp_path, 1500)
    out = tmp_path / "run"
    assert main(["train", "fashion", "--data", str(tmp_path), "--out", str(out), "--epochs", "2"]) == 0
    assert float(capsys.readouterr().out.split()[-1]) > 0.9 and (out / "fashion.safetensors").exists()


def test_without_fashion_one_line_says_how_to_get_it(tmp_path, capsys):
    """Status 2; a damaged file is an error of its own."""
    assert main(["train", "fashion", "--data", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (f"nervure: Fashion-MNIST is not in {tmp_path}: apt-get install "
                                       "dataset-fashion-mnist, or name the folder that has them: --data FOLDER\n")
    write_fashion(tmp_path, 10)
    images = tmp_path / "train-images-idx3-ubyte"
    images.write_bytes(images.read_bytes()[:-1])
    assert main(["train", "fashion", "--data", str(tmp_path), "--out", str(tmp_path)]) == 1
    assert "the file is cut short" in capsys.readouterr().err


def test_an_lstm_learns_to_add(tmp_path, capsys, monkeypatch):
    """With a tenth of the error of the mean, which is 1/6; of ten steps here, which take fewer epochs than sixty."""
    monkeypatch.setattr(adding, "STEPS", 10)
    assert main(["train", "lstm", "--epochs", "4", "--out", str(tmp_path)]) == 0
    assert float(re.search(r"test error: ([\d.]+) \(of the mean: 0.16667\)", capsys.readouterr().out)[1]) < 1 / 60


def test_an_autoencoder_writes_pictures(tmp_path, capsys):
    assert main(["train", "autoencoder", "--epochs", "10", "--out", str(tmp_path)]) == 0
    found = re.search(r"test error: ([\d.]+) \(of the mean picture: ([\d.]+)\)", capsys.readouterr().out)
    assert float(found[1]) < float(found[2]) / 2
    assert (tmp_path / "pictures.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    served = nv.load_together(tmp_path / "autoencoder.safetensors")
    assert sorted(served) == ["decode", "encode", "predict"]
    assert served["decode"](served["encode"](np.zeros((2, 8, 8)))).shape == (2, 8, 8)


@pytest.fixture
def small_text(tmp_path, monkeypatch):
    """A folder of small Python files, and a small model to read them."""
    for number in range(25):
        lines = [f"def f{number}{each}(x):\n\treturn x + {each}\n" for each in range(60)]
        (tmp_path / f"a{number}.py").write_text("".join(lines))
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "left_out.py").write_text("\u00e9" * 10_000)
    monkeypatch.setattr(characters.Pieces, "__len__", lambda pieces: 20)
    monkeypatch.setattr(characters.CharactersRecipe, "network", lambda recipe: characters.CharacterModel(32, 2, 1))
    return tmp_path


def test_a_language_model_writes(small_text, capsys):
    """And its chances, as the saved file gives them, are those that the command prints."""
    out = small_text / "run"
    assert main(["train", "charlm", "--data", str(small_text), "--epochs", "2", "--out", str(out)]) == 0
    text = capsys.readouterr().out
    assert float(text.split()[-1]) < 3 and "-- after 'def ':\ndef " in text
    served = nv.load_together(out / "charlm.safetensors")
    beginning = characters.encoded("def f1")
    written = served["write"](beginning.astype(np.int64), 0.1)
    assert written.shape == (characters.LENGTH,) and set(characters.decoded(written)) <= set(characters.LETTERS)


def test_a_model_draws_by_its_own_chances(small_text):
    """Cold, it takes the likeliest character, which the model without a cache finds as well."""
    nv.seed(3)
    model = characters.CharacterModel(32, 2, 1)
    served = characters.CharactersRecipe().serve(model, nv.transformers.default())
    beginning = characters.encoded("import ").astype(np.int64)
    codes = [*beginning, *served["write"](beginning, 1e-6)[:20]]
    whole = served["predict"](np.array([codes]))[0].argmax(axis=-1)
    assert codes[len(beginning):] == whole[len(beginning) - 1:-1].tolist()


def test_text_is_split_by_files(small_text, tmp_path):
    learnt, held = characters.load_sources(small_text, 0)
    assert 0 < len(held) < len(learnt) / 10
    assert not any("?" in characters.decoded(part) for part in (learnt, held))
    pieces = characters.Pieces(learnt, 0)
    nv.data.check(pieces)
    inputs, targets = next(pieces.epoch(0))
    assert (inputs[:, 1:] == targets[:, :-1]).all()


def test_too_little_text_is_one_line(tmp_path, capsys):
    """Status 2."""
    assert main(["train", "charlm", "--data", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith(f"nervure: there is too little text of Python in {tmp_path}: install ")
