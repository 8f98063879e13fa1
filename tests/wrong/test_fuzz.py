"""Anything may be passed to anything: what comes back is a result or an error of ours, never a traceback from our
insides. Nothing hangs, and nothing is allocated that the result does not need.

A call that Python itself refuses (an argument that the signature lacks) is none of our business and is left out.
"""

from __future__ import annotations

import inspect
import operator
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nervure as nv
from tests.wrong.anything import ANYTHING, TENSORS

MEMORY = 1 << 26
"""Bytes that a computation may take: enough for whatever makes sense here."""

SECONDS = 60
"""A call that takes so long hangs."""

ABSTRACT = {"Optimizer", "Rule"}

MADE_BY_US = {"Computation", "CompiledComposite", "AssignableTensorOp", "DType", "Facet"}
"""Classes whose instances users are given, but do not make."""


def public_functions() -> dict[str, Callable[..., Any]]:
    """The functions and classes of ``nv`` that users call."""
    found = {name: getattr(nv, name) for name in dir(nv) if name not in MADE_BY_US}
    return {name: entry for name, entry in found.items() if callable(entry) and not inspect.ismodule(entry)
            and not isinstance(entry, nv.DType) and not (isinstance(entry, type) and issubclass(entry, Exception))}


FURTHER = {**{f"optim.{name}": getattr(nv.optim, name) for name in nv.optim.__all__ if name not in ABSTRACT},
           "testing.check_grads": nv.testing.check_grads,
           "transformers.make_transformer": nv.transformers.make_transformer}
BELOW = {f"{folder}.{name}": getattr(module, name) for folder, module in (
    ("nn", nv.nn), ("nn.losses", nv.nn.losses), ("nn.initialisers", nv.nn.initialisers)) for name in module.__all__}
FUNCTIONS = {**public_functions(), **FURTHER, **BELOW}
METHODS = sorted(name for name in dir(nv.Tensor) if not name.startswith("_") and callable(getattr(nv.Tensor, name)))
OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
             operator.matmul, operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift, operator.lt,
             operator.le, operator.gt, operator.ge, operator.eq, operator.ne, operator.contains]


def some(test: Callable[..., Any]) -> Callable[..., Any]:
    """A quarter of the usual number of examples: there are two hundred functions."""
    return settings(max_examples=max(settings.default.max_examples // 4, 1))(test)


@contextmanager
def no_hanging() -> Iterator[None]:
    """Ends a call that never ends."""
    def expire(*_: Any) -> None:
        raise AssertionError(f"the call takes longer than {SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, expire)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def attempt(function: Callable[..., Any], /, *arguments: Any, **keywords: Any) -> None:
    """Calls a function and uses its result. A refusal is an error of ours, complete with a place."""
    try:
        with warnings.catch_warnings(), nv.flags.overriding(memory_limit=MEMORY), no_hanging():
            warnings.simplefilter("ignore")
            use(function(*arguments, **keywords))
    except nv.NervureError as error:
        assert str(error) and error.location is not None
    except Exception as error:
        if not any("built at" in note for note in getattr(error, "__notes__", ())):
            raise  # but what a function of the host raises comes through, with a note that says where it was built


def use(result: Any) -> None:
    """What a user does next: looks at it, computes tensors, gives effects to a computation."""
    repr(result)
    if isinstance(result, nv.Tensor):
        nv.evaluate(result)
    elif hasattr(result, "has_no_value"):
        nv.computation(result)
    elif isinstance(result, nv.nn.Module):
        result._repr_html_(), result.state_names(), [nv.evaluate(place) for place in result.parameters()]


@st.composite
def calls(draw: Any, function: Callable[..., Any]) -> tuple[list[Any], dict[str, Any]]:
    """Arguments that fit the signature of a function, and nothing else."""
    parameters = list(inspect.signature(function).parameters.values())
    positional = [entry for entry in parameters if entry.kind in (entry.POSITIONAL_ONLY, entry.POSITIONAL_OR_KEYWORD)]
    required = sum(entry.default is entry.empty for entry in positional)
    several = any(entry.kind is entry.VAR_POSITIONAL for entry in parameters)
    count = draw(st.integers(required, min(len(positional), required + 2) + 3 * several))
    arguments = [draw(ANYTHING) for _ in range(count)]
    named = [entry.name for entry in parameters if entry.kind not in (entry.VAR_POSITIONAL, entry.VAR_KEYWORD)
             and entry not in positional[:count]]
    demanded = [entry.name for entry in parameters if entry.kind is entry.KEYWORD_ONLY and entry.default is entry.empty]
    chosen = demanded + (draw(st.lists(st.sampled_from(named), unique=True, max_size=2)) if named else [])
    return arguments, {name: draw(ANYTHING) for name in chosen}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Whatever is written is written to a folder of its own."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - {"load", "save"}))
def test_functions(name):
    @some
    @given(calls(FUNCTIONS[name]))
    def run(call: tuple[list[Any], dict[str, Any]]) -> None:
        attempt(FUNCTIONS[name], *call[0], **call[1])
    run()


LAYERS = [
    nv.nn.LinearLayer("H=3", "K=2"), nv.nn.LinearLayer(3, 2), nv.nn.Embedding(5, 2), nv.nn.Embedding("V=5", "F=2"),
    nv.nn.Conv("C=3", "K=5", "Y=3, X=3"), nv.nn.Conv(3, 5, (3, 3)), nv.nn.MaxPool("Y=2"), nv.nn.AveragePool(2),
    nv.nn.BatchNorm("C=3"), nv.nn.BatchNorm(3), nv.nn.LayerNorm("H=3"), nv.nn.LayerNorm((2, 3)), nv.nn.RMSNorm(3),
    nv.nn.GroupNorm(1, 3), nv.nn.GroupNorm(3, "C=3"), nv.nn.Dropout(0.5), nv.nn.PReLU("H=3"), nv.nn.Softmax(),
    nv.nn.Residual(nv.relu), nv.nn.Sequential(nv.nn.ReLU(), nv.nn.Identity())]


@given(st.sampled_from(LAYERS), st.booleans(), ANYTHING)
def test_inputs_of_layers(layer, mode, x):
    attempt(layer.train(mode), x)
    attempt(layer.summary, x)


@given(ANYTHING, ANYTHING)
def test_files(path, content):
    for function, arguments in ((nv.load, [path]), (nv.save, [path, content])):
        try:
            attempt(function, *arguments)
        except OSError as error:  # what is wrong with a file, Python says itself
            assert error.filename is not None


@pytest.mark.parametrize("name", METHODS)
def test_methods(name):
    @some
    @given(st.sampled_from(TENSORS), st.lists(ANYTHING, max_size=3))
    def run(x: nv.Tensor, arguments: list[Any]) -> None:
        method = getattr(x, name)
        try:
            inspect.signature(method).bind(*arguments)
        except TypeError:
            return
        try:
            attempt(method, *arguments)
        except TypeError as error:
            assert is_about_the_call(error), error
    run()


def is_about_the_call(error: TypeError) -> bool:
    """Whether Python refuses a call because of the number or the names of its arguments."""
    return "argument" in str(error) and ("takes" in str(error) or "missing" in str(error) or "multiple" in str(error))


@given(st.sampled_from(TENSORS), st.one_of(ANYTHING, st.lists(ANYTHING, max_size=3).map(tuple)), ANYTHING)
def test_items(x, item, value):
    attempt(operator.getitem, x, item)
    attempt(lambda: x.at[item].set(value))
    attempt(lambda: x.at[item].add(value))
    attempt(nv.set_item, x, item, value)


@given(st.sampled_from(OPERATORS), st.sampled_from(TENSORS), ANYTHING)
def test_operators(apply, x, other):
    for left, right in ((x, other), (other, x)):
        try:
            attempt(apply, left, right)
        except (TypeError, ValueError) as error:  # Python's or NumPy's own, where neither side knows the other
            assert not isinstance(right, nv.Tensor) or not isinstance(left, nv.Tensor), error


@given(st.lists(ANYTHING, max_size=3), st.sampled_from([None, {}, {"x": 1.0}]))
def test_arguments_of_computations(arguments, feed):
    x, y = nv.placeholder("N=n, H=3").named("x"), nv.placeholder((2, 3), nv.int32)
    run = nv.computation([x * 2, y + 1], x, y)
    attempt(run, *arguments)
    attempt(run, *arguments, feed_dict=feed)


@given(st.lists(ANYTHING, max_size=2))
def test_arguments_of_compiled_functions(arguments):
    def function(x, y=1):
        return nv.sum(nv.multiply(nv.exp(x), y))

    for compiled in (nv.jit(function), nv.grad(function)):
        attempt(compiled, *arguments)
