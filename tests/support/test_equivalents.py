"""Names from NumPy, JAX and PyTorch, all of them: each is there, or its error says what is, and guesses nothing."""

from __future__ import annotations

import difflib
import importlib
import re

import numpy as np
import pytest

import nervure as nv
from nervure import errors
from nervure.support import elsewhere, equivalents
from tests.names_elsewhere import FUNCTIONAL, TENSOR, TORCH
from tests.project.test_names import unknown

X = nv.placeholder("N=4, F=3").named("x")
NOTHING = "dir() lists the names that there are"
MEANT = re.compile(r"did you mean (.*)\?")


def public(thing):
    return [name for name in dir(thing) if not name.startswith("_")]


def told(thing, name):
    """The help for a name that something lacks; None where it has it."""
    try:
        getattr(thing, name)
    except nv.UnknownName as error:
        assert error.got == name and unknown(error.help) == [], error
        return error.help
    return None


def is_near(name, choice):
    """Whether one may be a slip for the other, or its first words, by another measure than that of the errors."""
    own, other = name.replace("_", "").lower(), choice.replace("_", "").lower()
    is_slip = own[0] == other[0] and difflib.SequenceMatcher(None, own, other).ratio() >= 0.75
    return own == other or is_slip or choice.startswith(name)


def walked(thing, names, table):
    """The guesses for the names that something lacks; all other helps are of the table."""
    guesses = {}
    for name in names:
        help = told(thing, name)
        if help is None or help == NOTHING or help.removeprefix("here it is ") in table:
            continue
        assert MEANT.fullmatch(help), (name, help)
        guesses[name] = MEANT.fullmatch(help)[1].split(" or ")
        assert all([hasattr(thing, choice) and is_near(name, choice) for choice in guesses[name]]), (name, help)
    return guesses


FUNCTION_HELPS = set(equivalents.FUNCTIONS)
TENSOR_HELPS = {*equivalents.TENSORS, *equivalents.FUNCTIONS,
                *[f"nv.{name}(x)" for name in equivalents.METHODS_ELSEWHERE]}


def test_names_of_torch():
    """A330: of torch and of torch.nn.functional, which are asked for without an underscore at the end."""
    assert walked(nv, [*TORCH, *FUNCTIONAL], FUNCTION_HELPS) == {"zero_": ["zeros"]}
    assert walked(X, TENSOR, TENSOR_HELPS) == {"stride": ["strides"]}


@pytest.mark.parametrize("module", ["numpy", "numpy.linalg", "numpy.random", "numpy.fft"])
def test_names_of_numpy(module):
    """A330: of its functions and of its arrays."""
    guesses = walked(nv, public(importlib.import_module(module)), FUNCTION_HELPS)
    assert len(guesses) <= 3, guesses
    assert walked(X, public(np.ndarray), TENSOR_HELPS) == {}


@pytest.mark.parametrize("module", ["jax", "jax.numpy", "jax.lax", "jax.nn"])
def test_names_of_jax(module):
    """A330: of its functions and of its arrays."""
    pytest.importorskip("jax", reason="JAX is not installed")
    walked(nv, [name for name in public(importlib.import_module(module)) if not name.endswith("_p")], FUNCTION_HELPS)
    assert walked(X, public(importlib.import_module("jax").Array), TENSOR_HELPS) == {}


@pytest.mark.parametrize("name", "isin addr strings "
                                 "matrix fx logistic psum dtypes".split())
def test_no_guess_is_made(name):
    """A330: for names of functions that do something else than those with a name like theirs."""
    assert not told(nv, name).startswith("did you mean")


# -- what is told does the same ---------------------------------------------------------------------------------------

def value(text, **names):
    """The value of an expression that a help has."""
    return eval(text, {"nv": nv, "np": np, **names})  # noqa: S307  # the text is the package's own


A, B, C = np.float32([0.5, -1.75, 2.5, 0.25]), np.float32([1.5, 3.0, -0.5, 2.0]), np.float32([0.1, 0.9, 0.5, 0.25])
CASES = {
    "frac": (A, B, A - np.trunc(A)), "ldexp": (A, B, A * 2 ** B), "log1mexp": (C, B, np.log(1 - np.exp(-C))),
    "rsub": (A, B, B - A),
    "isin": (A, A[:2], np.isin(A, A[:2])), "abs": (A, B, abs(A))}
"""Arguments x and y, and what the function of the name gives elsewhere."""


@pytest.mark.parametrize("name", CASES)
def test_what_is_told_does_the_same(name):
    """A330: expressions of x and y, and functions of x."""
    x, y, expected = CASES[name]
    text = re.split(", (?:for|and) |itself", told(nv, name).removeprefix("here it is "))[0]
    found = value(text, x=nv.constant(x), y=nv.constant(y))
    found = found(nv.constant(x)) if callable(found) and not isinstance(found, nv.Tensor) else found
    np.testing.assert_allclose(found.numpy(), expected, rtol=2e-6, atol=1e-6)


def test_names_without_an_equivalent_say_so():
    """A330: rather than that there is such a name, or one that sounds alike."""
    for name in ("addr", "strided", "cartesian_prod"):
        assert told(nv, name).startswith("nothing here does the same") and "nv.host_call" in told(nv, name)


def test_changes_in_place():
    """A330: PyTorch's word for them ends in an underscore, on tensors."""
    for name in ("exp_", "squeeze_", "detach_", "abs_", "anything_"):
        assert told(X, name) == equivalents.IN_PLACE
    assert elsewhere.unknown_attribute(X, "exp").help == "here it is nv.exp(x)"


@pytest.mark.parametrize(("name", "choices", "meant"), [
    ("hight", ["height", "width"], ["height"]), ("Ad", ["Add", "Mod"], ["Add"]), ("axs", ["axis"], ["axis"]),
    ("is_Nan", ["is_inf", "is_nan"], ["is_nan"]), ("isfinite", ["is_finite"], ["is_finite"]), ("smu", ["sum"], ["sum"]),
    ("learning", ["learning_rate"], ["learning_rate"]), ("concatentae", ["concatenate"], ["concatenate"]),
    ("flot32", ["float16", "float32"], ["float32"]), ("complex", ["complex64"], ["complex64"]),
    ("cov", ["cos"], []), ("real", ["relu"], []), ("depth", ["width"], []), ("fmax", ["max"], []),
    ("int1", ["int8"], []),
    ("isin", ["sin"], []), ("place", ["placeholder"], []), ("", ["x"], []), ("float128", ["float16"], [])])
def test_what_a_near_miss_is(name, choices, meant):
    """A330: a slip, the case, an underscore, the first words; neither a rhyme nor another number."""
    assert errors.did_you_mean(name, choices) == (f"did you mean {' or '.join(meant)}?" if meant else None)
