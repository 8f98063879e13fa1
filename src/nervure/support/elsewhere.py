"""Names known from NumPy, PyTorch, JAX and TensorFlow, and their equivalents here.

Looking up such a name raises an error whose help gives the equivalent:

>>> import nervure as nv
>>> try:
...     nv.conv2d
... except nv.UnknownName as error:
...     print(error.help)
here it is nv.convolution(x, f, spatial=["H", "W"])

``equivalents.py`` has the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import update_wrapper
from inspect import unwrap
from types import FunctionType
from typing import TypeVar

from nervure.errors import UnknownName, WrongKind, did_you_mean
from nervure.support.equivalents import (
    FUNCTIONS,
    IN_PLACE,
    KEYWORD_ADVICE,
    KEYWORDS,
    LAYERS,
    MEMBERS,
    METHODS_ELSEWHERE,
    OPTIMISERS,
    TENSORS,
)

Function = TypeVar("Function", bound=Callable[..., object])


def _by_name(table: dict[str, str]) -> dict[str, str]:
    """Returns advice by the name elsewhere."""
    return {name: advice for advice, names in table.items() for name in names.split()}


_functions, _members = _by_name(FUNCTIONS), _by_name(MEMBERS)
_layers = {**_functions, **_by_name(LAYERS)}
_optimisers, _keyword_advice = _by_name(OPTIMISERS), _by_name(KEYWORD_ADVICE)
_tensors = {**_functions, **{name: f"nv.{name}(x)" for name in METHODS_ELSEWHERE}, **_by_name(TENSORS)}


def unknown_function(name: str, known: Iterable[str]) -> UnknownName:
    """Returns the error for a name that ``nv`` does not have."""
    return _unknown("nv", f"nervure has no {name}", name, _functions, known)


def unknown_attribute(thing: object, name: str) -> UnknownName:
    """Returns the error for a name that tensors do not have."""
    table = {name: IN_PLACE, **_tensors} if name.endswith("_") else _tensors  # PyTorch's suffix for a change in place
    return _unknown("Tensor", f"a tensor has no {name}", name, table, dir(type(thing)))


def unknown_name(module: str, name: str, known: Iterable[str]) -> AttributeError:
    """Returns the error for a name that a ``module`` of functions does not have, such as ``nv.special``."""
    return _plain(module, name) or _unknown(module, f"there is no {name}", name, _functions, known)


def unknown_layer(name: str, known: Iterable[str], module: str = "nv.nn") -> AttributeError:
    """Returns the error for a name that ``nv.nn``, or a module in it, does not have."""
    return _plain(module, name) or _unknown(module, f"there is no {name}", name, _layers, known)


def _plain(module: str, name: str) -> AttributeError | None:
    """Returns Python's own error for names of its protocols, which it asks modules for; None for others."""
    if not name.startswith("__"):
        return None
    return AttributeError(f"module 'nervure{module.removeprefix('nv')}' has no attribute {name!r}")


def unknown_member(thing: object, name: str) -> UnknownName:
    """Returns the error for a name that modules do not have."""
    known = [*dir(type(thing)), *vars(thing)]
    return _unknown(type(thing).__name__, f"{type(thing).__name__} has no {name}", name, _members, known)


def unknown_method(thing: object, name: str) -> UnknownName:
    """Returns the error for a name that optimisers do not have."""
    return _unknown(type(thing).__name__, f"an optimiser has no {name}", name, _optimisers, dir(type(thing)))


def _unknown(op: str, message: str, name: str, table: dict[str, str], known: Iterable[str]) -> UnknownName:
    advice = table.get(name)
    if advice is None:
        public = [entry for entry in known if not entry.startswith("_")]
        advice = did_you_mean(name, public, "dir() lists the names that there are")
    elif advice.startswith(_CODE):
        advice = f"here it is {advice}"
    return UnknownName(message, op=op, got=name, help=advice)


_CODE = ("nv.", "x.", "x[", "x ", "-x", "y -", "(x")


def explains_keywords(function: Function) -> Function:
    """Makes a function called with unknown keywords raise WrongKind, with their names here.

    >>> import nervure as nv
    >>> explains_keywords(lambda x, axis=0: x)(1, dim=2)                     # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    nervure.errors.WrongKind: <lambda>: there is no argument dim
      operand:  dim
      got:      dim=2
      expected: x, axis
      help:     here it is axis=
    ...
    """
    own = unwrap(function)  # below its decorators
    code = own.__code__
    known = tuple([name for name in code.co_varnames[:code.co_argcount + code.co_kwonlyargcount] if name != "self"])
    known_set, is_made = frozenset(known), function.__name__ == "__init__"
    name = function.__qualname__.removesuffix(".__init__")

    def call(*arguments: object, **keywords: object) -> object:
        if keywords and not known_set.issuperset(keywords):
            # The class that is made may have inherited the function.
            raise refusal(arguments[0].__class__.__name__ if is_made else name, keywords, known)
        return function(*arguments, **keywords)

    refusal = unknown_keyword
    # With the globals of its own module, doctest counts it among that module's functions.
    explained = FunctionType(call.__code__, own.__globals__, name, None, call.__closure__)
    return update_wrapper(explained, function)  # type: ignore[return-value]  # called as the function is


def unknown_keyword(function: str, keywords: dict[str, object], known: tuple[str, ...]) -> WrongKind:
    """Returns the error for the first keyword that a ``function`` does not have."""
    keyword = next(name for name in keywords if name not in known)
    ours = next((here for here, names in KEYWORDS.items() if here in known and keyword in names.split()), None)
    advice = f"here it is {ours}=" if ours else _keyword_advice.get(keyword) or did_you_mean(
        keyword, known, "leave it out" if known else "it takes no arguments")
    return WrongKind(f"there is no argument {keyword}", op=function, operand=keyword,
                     got=f"{keyword}={keywords[keyword]!r:.60}", expected=", ".join(known) or "no arguments",
                     help=advice)


def explain_keywords(module: dict[str, object], names: Iterable[str]) -> None:
    """Makes the public functions of a module explain unknown keywords; the last thing that the module does."""
    for name in names:
        function = module[name]
        if isinstance(function, FunctionType) and not unwrap(function).__code__.co_flags & _TAKES_ANY_KEYWORD:
            module[name] = explains_keywords(function)


_TAKES_ANY_KEYWORD = 0x08  # inspect.CO_VARKEYWORDS
