"""Choosing a transformer: the table, the default, and the one that runs nothing."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import flags, transformers
from nervure.errors import InvalidArgument, NotSupported, WrongKind
from nervure.transformers.cpu.target import Target
from tests.transformers.build import compiled, parameter, read, variable


def test_choices():
    assert {"cpu", "interpreter", "null"} <= set(transformers.transformer_choices())
    assert transformers.make_transformer("null").name == "null"


def test_the_best_that_runs_here_is_the_default(monkeypatch):
    with flags.overriding(transformer=""):
        monkeypatch.setattr(Target, "host", staticmethod(lambda: Target.avx512()))
        assert transformers.make_transformer().name == "cpu"
        monkeypatch.setattr(Target, "host", staticmethod(refused))
        assert transformers.make_transformer().name == "interpreter"


@pytest.mark.parametrize("wrong", ["cpu", nv.CPUTensor, 1], ids=str)
def test_what_is_no_transformer_is_told(wrong):
    """Before anything is done."""
    x = nv.placeholder((3,))
    for use in (lambda: nv.computation(x + 1, x, transformer=wrong), lambda: nv.jit(nv.exp, transformer=wrong),
                lambda: nv.seed(0, transformer=wrong),
                lambda: nv.load("no such file", transformer=wrong),
                lambda: nv.load_together("no such file", transformer=wrong)):
        with pytest.raises(WrongKind, match="this is no transformer") as caught:
            use()
        assert "make_transformer" in caught.value.help


def refused():
    raise NotSupported("there is no code for this machine")


def test_an_unknown_name_gets_a_suggestion():
    with pytest.raises(InvalidArgument) as caught:
        transformers.make_transformer("interpretor")
    assert caught.value.help == "did you mean interpreter?" and caught.value.location.file == __file__
    with flags.overriding(transformer="nul"), pytest.raises(InvalidArgument, match="null"):
        transformers.make_transformer()


def test_a_backend_is_one_line(monkeypatch):
    monkeypatch.setattr(transformers, "_TABLE", dict(transformers._TABLE))
    transformers.register("again", "nervure.transformers.null:NullTransformer")
    assert transformers.make_transformer("again").name == "null" and "again" in transformers.transformer_choices()


def test_the_default_is_one_until_it_is_closed(monkeypatch):
    monkeypatch.setattr(transformers, "_default", None)
    first = transformers.default()
    assert transformers.default() is first
    first.close()
    assert transformers.default() is not first and transformers.default().is_open


def test_null_checks_and_runs_nothing(capsys):
    p, w = parameter(2, 3), variable(5.0)
    with transformers.make_transformer("null") as null:
        run = compiled([nv.ops.Softmax(nv.ops.PrintOp(p), (1,)), p], [p],
                       updates=[(w, nv.ops.Negative(read(w)))], transformer=null)
        first, second = run(np.ones((2, 3)))
        assert (first == 0).all() and (second == 0).all() and first.dtype == np.float32 and first.shape == (2, 3)
        with pytest.raises(InvalidArgument):
            run()
        assert null.get(w) == 5
    assert capsys.readouterr().out == ""
