"""Transformers: each turns Functions into Executables for one device. A backend is a folder and a line in
the table.

>>> transformer_choices()
('cpu', 'interpreter', 'null', 'xla')
>>> make_transformer("interprter")
Traceback (most recent call last):
    ...
nervure.errors.InvalidArgument: make_transformer: there is no transformer interprter
  got:      interprter
  expected: cpu, interpreter, null, xla
  help:     did you mean interpreter?
...
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from nervure import flags
from nervure.errors import InvalidArgument, NotSupported, WrongKind, did_you_mean, notice, shown
from nervure.support import forks

if TYPE_CHECKING:
    from nervure.transformers.base import Transformer

__all__ = ["default", "make_transformer", "register", "transformer_choices"]

# The class of each transformer; its module is imported at the first use.
_TABLE: dict[str, str] = {
    "cpu": "nervure.transformers.cpu.transformer:CpuTransformer",
    "interpreter": "nervure.transformers.interpreter.transformer:Interpreter",
    "null": "nervure.transformers.null:NullTransformer",
    "xla": "nervure.transformers.xla.transformer:XlaTransformer",
}

_lock = forks.lock()
_default: Transformer | None = None


def register(name: str, where: str) -> None:
    """Makes a transformer known: ``register("mine", "my_package.module:MyTransformer")``.

    >>> nv.transformers.register("interpreter", "nervure.transformers.interpreter.transformer:Interpreter")
    >>> "interpreter" in nv.transformers.transformer_choices()
    True
    """
    _TABLE[name] = where


def transformer_choices() -> tuple[str, ...]:
    """Returns the names of all transformers.

    >>> "cpu" in nv.transformers.transformer_choices()
    True
    """
    return tuple(sorted(_TABLE))


def make_transformer(name: str | None = None) -> Transformer:
    """Makes a new transformer with state of its own. Without a ``name``, it is the one that ``flags.transformer``
    names, else the best one that this machine can run.

    >>> x = nv.placeholder("N=2")
    >>> with nv.transformers.make_transformer("interpreter") as transformer:
    ...     nv.computation(x + 1, x, transformer=transformer)([1, 2]).tolist()
    [2.0, 3.0]
    """
    name = (flags.transformer or _best()) if name is None else name
    if not isinstance(name, str) or name not in _TABLE:
        raise InvalidArgument(f"there is no transformer {name}", op="make_transformer", got=name,
                              expected=", ".join(transformer_choices()),
                              help=did_you_mean(str(name), _TABLE, "leave out the name for the default one"))
    module, _, attribute = _TABLE[name].partition(":")
    with forks.importing():
        found = importlib.import_module(module)
    return getattr(found, attribute)()


def _best() -> str:
    """Returns the name of the fastest transformer that runs here."""
    with forks.importing():
        from nervure.transformers.cpu.target import Target
    try:
        target = Target.host()
    except NotSupported:
        return "interpreter"
    try:
        target.check_llvm()
    except NotSupported as error:
        notice(f"everything runs on the interpreter, which is slow: {error.message}; {error.help}")
        return "interpreter"
    return "cpu"


def chosen(transformer: Transformer | None) -> Transformer:
    """Returns the transformer that a caller asked for; absent, the default one. WrongKind for anything else."""
    from nervure.transformers.base import Transformer
    if transformer is None:
        return default()
    if not isinstance(transformer, Transformer):
        raise WrongKind("this is no transformer", op="transformer",
                        got=shown(transformer),
                        expected="a transformer", help="nv.transformers.make_transformer(name) makes one")
    return transformer


def current() -> Transformer | None:
    """Returns the default transformer if it has been made by now."""
    return _default if _default is not None and _default.is_open else None


def default() -> Transformer:
    """Returns the transformer of everything lazy (``x.numpy()``), made at its first use, and again after it was
    closed.

    >>> w = nv.variable((), 1.0)
    >>> nv.transformers.default().set(w, 5)
    >>> w.item()
    5.0
    """
    global _default
    with _lock:
        if _default is None or not _default.is_open:
            _default = make_transformer()
        return _default
