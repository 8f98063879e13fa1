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
M, S, Z = np.arange(24.0).reshape(2, 3, 4) % 7 - 3, np.array([[2.0, 1.0], [1.0, 3.0]]), A[:3] + 1j * B[:3]
WHOLE, AT = np.int32([1, 2, 7]), np.int32([2, 0])
CASES = {
    "frac": ({"x": A}, A - np.trunc(A)),
    "modf": ({"x": A}, np.modf(A)),
    "log1mexp": ({"x": C}, np.log(1 - np.exp(-C))),
    "rsub": ({"x": A, "y": B}, B - A),
    "abs": ({"x": A}, abs(A)),
    "lerp": ({"x": A, "y": B, "w": 0.25}, A + (B - A) / 4),
    "addcmul": ({"x": A, "value": 2.0, "y": B, "z": C}, A + 2 * B * C),
    "real_if_close": ({"x": Z}, Z.real),
    "addcdiv": ({"x": A, "value": 2.0, "y": B, "z": C}, A + 2 * B / C),
    "rem": ({"x": A, "y": B}, np.fmod(A, B)),
    "clamp": ({"x": A, "low": -1.0, "high": 1.0}, np.clip(A, -1, 1)),
    "population_count": ({"x": WHOLE}, [1, 1, 3]),
    "hardsigmoid": ({"x": A}, np.clip(A / 6 + 0.5, 0, 1)),
    "hardtanh": ({"x": A}, np.clip(A, -1, 1)),
    "hardshrink": ({"x": A}, np.where(abs(A) > 0.5, A, 0)),
    "softsign": ({"x": A}, A / (1 + abs(A))),
    "softshrink": ({"x": A}, np.sign(A) * np.maximum(abs(A) - 0.5, 0)),
    "tanhshrink": ({"x": A}, A - np.tanh(A)),
    "expit": ({"x": A}, 1 / (1 + np.exp(-A))),
    "select_n": ({"c": A > 0, "x": A, "y": B}, np.where(A > 0, A, B)),
    "addmm": ({"x": 1.0, "y": S, "z": S}, 1 + S @ S),
    "vecdot": ({"x": Z, "y": Z[::-1]}, np.vecdot(Z, Z[::-1])),
    "matvec": ({"x": M, "y": M[:, 0]}, np.matvec(M, M[:, 0])),
    "dot_general": ({"x": M[0], "y": M[1].T}, M[0] @ M[1].T),
    "vecmat": ({"x": M[:, :, 0] * 1j, "y": M}, np.vecmat(M[:, :, 0] * 1j, M)),
    "ger": ({"x": A, "y": B}, np.outer(A, B)),
    "bilinear": (
        {"x": M[0], "w": M[:, :1] * M[:, 0, :, None], "y": M[1]},
        np.einsum("ni,oij,nj->no", M[0], M[:, :1] * M[:, 0, :, None], M[1])),
    "chain_matmul": ({"xs": [S, S, S]}, S @ S @ S),
    "logdet": ({"x": S}, np.log(5)),
    "dist": ({"x": S, "y": -S}, 60 ** 0.5),
    "normalize": ({"x": S, "axis": 1}, S / np.linalg.norm(S, axis=1, keepdims=True)),
    "diag_embed": ({"x": S, "n": 2}, S[..., None] * np.eye(2)),
    "isin": ({"x": A, "y": A[:2]}, np.isin(A, A[:2])),
    "ediff1d": ({"x": S}, np.ediff1d(S)),
    "rev": ({"x": S, "axes": 0}, S[::-1]),
    "put": ({"x": S, "index": AT, "y": np.array([8.0, 9.0])}, [[9, 1], [8, 3]]),
    "fromiter": ({"x": [1.0, 2.0]}, [1, 2]),
    "scatter_sub": ({"x": A, "index": AT, "y": np.float32([1, 2])}, A - np.float32([2, 0, 1, 0])),
    "scatter_apply": ({"x": A, "index": AT, "function": nv.square}, np.where([1, 0, 1, 0], A * A, A)),
    "index_add": ({"x": A, "index": AT, "updates": np.float32([1, 2]), "axis": 0}, A + np.float32([2, 0, 1, 0])),
    "take_along_axis": ({"x": S, "index": np.int32([[1, 0]]), "axis": 0}, [[1, 1]]),
    "take": ({"x": S, "index": AT[1:], "axis": 0}, S[:1]),
    "repeat_interleave": ({"x": A, "counts": 2, "axis": 0}, np.repeat(A, 2)),
    "narrow": ({"x": A, "start": 1, "stop": 3}, A[1:3]),
    "block": ({"xs": [S, S], "axis": 0}, np.block([[S], [S]])),
    "broadcast_in_dim": ({"x": A, "axes": (2, 4)}, [A, A]),
    "aminmax": ({"x": A}, (-1.75, 2.5)),
    "var_mean": ({"x": S}, (np.var(S), np.mean(S))),
    "msort": ({"x": S}, np.sort(S, 0)),
    "reduce_xor": ({"x": WHOLE}, 4),
    "reduce": ({"function": nv.add, "x": A}, A.sum()),
    "array_equiv": ({"x": A, "y": A}, True),
    "sort_key_val": ({"keys": A, "values": B}, (np.sort(A), B[np.argsort(A)])),
    "sort_complex": ({"x": Z}, np.sort_complex(Z)),
    "kthvalue": ({"x": A, "k": 2}, 0.25),
    "approx_min_k": ({"x": A, "k": 1}, (-1.75, 1)),
    "bucketize": ({"boundaries": np.float32([0, 1]), "x": A}, np.searchsorted(np.float32([0, 1]), A)),
    "standardize": ({"x": 100 * S}, [[1, -1], [-1, 1]]),
    "l1_loss": ({"x": A, "y": B}, np.mean(abs(A - B))),
    "adaptive_avg_pool1d": ({"x": M, "lengths": (2,)}, M.reshape(2, 3, 2, 2).mean(-1)),
    "logsigmoid": ({"x": A}, -np.log1p(np.exp(-A))),
    "im2col": ({"x": M[None], "window": (3, 4)}, M.reshape(1, 24, 1)),
    "hann_window": ({"n": 4}, [0, 0.5, 1, 0.5]),
    "hamming_window": ({"n": 2}, [0.08, 1]),
}
"""Arguments by the names that a help has for them, and what the function of the name gives elsewhere."""


@pytest.mark.parametrize("name", CASES)
def test_what_is_told_does_the_same(name, monkeypatch):
    """A330: expressions, and functions of all arguments."""
    monkeypatch.setattr(nv.flags, "transformer", "interpreter")
    arguments, expected = CASES[name]
    given = {key: nv.constant(entry) if isinstance(entry, np.ndarray) else entry for key, entry in arguments.items()}
    found = value(re.split(", (?:for|and) |itself| or ", told(nv, name).removeprefix("here it is "))[0], **given)
    found = found(*given.values()) if callable(found) and not isinstance(found, nv.Tensor) else found
    several = isinstance(expected, tuple)
    for part, wanted in zip(found if several else [found], expected if several else [expected], strict=True):
        np.testing.assert_allclose(part.numpy(), np.broadcast_to(wanted, part.shape), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("module", "name", "help"), [
    ("special", "expit", "nv.sigmoid"), ("special", "bessel_j0", "nv.special.j0"), ("nn", "swish", "nv.silu"),
    ("linalg", "vecdot", "nv.sum(nv.conj(x) * y, axis=-1)")])
def test_modules_of_functions_tell_too(module, name, help):
    """A330: where users of SciPy, JAX and PyTorch look for a function."""
    assert told(getattr(nv, module), name) == f"here it is {help}"
    assert told(nv.fft, "rft") == "did you mean rfft?"


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
