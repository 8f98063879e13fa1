"""Computations as files of StableHLO, which anything that has JAX or another reader of StableHLO runs, without nervure.

>>> import jax.export
>>> import nervure as nv
>>> x, w = nv.placeholder("N=n, F=2"), nv.variable("F=2", 3.0)
>>> export_stablehlo(nv.computation(nv.dot(x, w), x), "model.stablehlo")
>>> with open("model.stablehlo", "rb") as file:
...     program = jax.export.deserialize(bytearray(file.read()))
>>> program.call(np.ones((4, 2), np.float32))[0].tolist()
[6.0, 6.0, 6.0, 6.0]
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from textwrap import shorten
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from nervure import transformers
from nervure.computation import Computation
from nervure.errors import InvalidArgument, NervureError, NotSupported, WrongKind, did_you_mean, shown
from nervure.front.argument_parsing import as_integer, one_of, truth
from nervure.ir.function import Function
from nervure.ir.names import Names
from nervure.ir.variable import Variable
from nervure.support import forks
from nervure.support.atomic_file import file_name, write_atomically
from nervure.transformers.binding import Binder, Bindings
from nervure.transformers.memory_estimate import numbers

if TYPE_CHECKING:
    import jax.export

    from nervure.transformers.xla.jax_program import XlaProgram

VARIABLES = ("constants", "arguments")
"""The forms of variables in a file: their values of this moment, or arguments of each call."""


def export_stablehlo(computation: Computation[Any], path: str | os.PathLike[str], *,
                     sizes: Mapping[str, int] | None = None, variables: str = "constants",
                     unchecked: bool = False) -> None:
    """Writes ``computation`` to the file ``path`` as StableHLO, by ``jax.export``, for any reader of that.

    ``jax.export.deserialize`` reads it: ``call(*arguments)`` gives the tuple of the results. With ``variables`` as
    ``"constants"`` the file holds their values. As ``"arguments"`` they come first, as a dict by their names, and a
    call gives a pair: the results, and the dict of the new values of those that it changes.

    A symbol stays open, for lengths of at least 1, unless it has a number in ``sizes``. A stored program raises no
    errors: if the computation checks indices or has guards, say that it may go ``unchecked``; an index out of range is
    the nearest one in range then. The file replaces one of that name once it is complete. NotSupported without JAX, for
    what the transformer xla does not run, for arguments and results of 2 bits, and where lengths have to fit each
    other or the program depends on numbers of symbols.

    >>> import jax.export
    >>> w = nv.variable((2,), 1.0).named("w")
    >>> step = nv.computation(nv.assign(w, w * 2.0))
    >>> nv.export_stablehlo(step, "step.stablehlo", variables="arguments")
    >>> with open("step.stablehlo", "rb") as file:
    ...     program = jax.export.deserialize(bytearray(file.read()))
    >>> results, changed = program.call({"w": np.float32([3, 4])})
    >>> results, changed["w"].tolist()
    ((), [6.0, 8.0])
    """
    if not isinstance(computation, Computation):
        raise WrongKind("a computation can be exported", op="export_stablehlo", operand="computation",
                        got=type(computation).__name__, expected="a Computation",
                        help="nv.computation(returns, *parameters) makes one")
    place, allowed = file_name(path, "export_stablehlo"), truth(unchecked, "export_stablehlo", "unchecked")
    one_of(variables, VARIABLES, "export_stablehlo", "variables", 'variables="arguments" keeps them open')
    function = computation.function
    if function.updates and variables == "constants":
        names = ", ".join([variable.name or "a variable" for variable, _ in function.updates])
        raise InvalidArgument("a computation that changes variables has no constants for them", op="export_stablehlo",
                              operand="variables", got=f"it changes {names}", expected="variables='arguments'",
                              help="a call gives the new values then; or export what does not change them")
    known = _known(function, {} if sizes is None else sizes)
    with transformers.make_transformer("xla") as xla:
        bindings, executable = _bindings(function, known), xla.build(function)
        program = cast("XlaProgram", executable.specialise(bindings))
        if program.may_fail and not allowed:
            raise InvalidArgument("a stored program cannot raise an error", op="export_stablehlo", operand="unchecked",
                                  got="a computation with guards, or indices that are data", expected="unchecked=True",
                                  help="unchecked=True leaves out its checks; the caller has to make them")
        values = computation.transformer.snapshot(function.variables)
        kept = values if variables == "constants" else None
        content = _serialized(executable.function, program, bindings, known, kept)
    write_atomically(place, [content])


def _known(function: Function, sizes: object) -> dict[str, int]:
    """Returns the numbers of symbols, each of which the function has."""
    symbols = sorted({str(symbol) for symbol in function.symbols})
    if not isinstance(sizes, Mapping):
        raise WrongKind("sizes are numbers of symbols", op="export_stablehlo", operand="sizes", got=shown(sizes),
                        expected="a mapping of names to numbers", help='as in sizes={"n": 8}')
    known = {}
    for name, number in sizes.items():
        if name not in symbols:
            raise InvalidArgument(f"there is no symbol {name}", op="export_stablehlo", operand="sizes", got=shown(name),
                                  expected=", ".join(symbols) or "no symbols",
                                  help=did_you_mean(str(name), symbols, "leave it out"))
        length = as_integer(number)
        if length is None or not 0 <= length < 2**63:
            raise InvalidArgument("a length is a number", op="export_stablehlo", operand=name, got=shown(number),
                                  expected="an integer from 0 to 2**63 - 1", help='as in sizes={"n": 8}')
        known[name] = length
    return known


def _bindings(function: Function, known: Mapping[str, int]) -> Bindings:
    """Returns the values of all symbols: numbers, checked as those of a call are, or symbols of JAX."""
    with forks.importing():
        import jax.export
    missing = sorted({str(symbol) for symbol in function.symbols if not str(symbol).startswith("?")} - known.keys())
    if not missing:
        shapes = [(op.value.type.dtype.numpy, numbers(op.value.type.shape, known)) for op in function.parameters]
        try:
            arrays = [np.broadcast_to(np.zeros((), dtype), shape) for dtype, shape in shapes]
        except ValueError:
            raise InvalidArgument("no memory has arrays of these lengths", op="export_stablehlo", operand="sizes",
                                  got=", ".join([f"{name} = {number}" for name, number in known.items()]),
                                  expected="fewer than 2**63 bytes", help="give smaller numbers") from None
        return Binder(function).bind(arrays)[1]
    if function.assumptions:
        raise _needs_numbers(missing, known, "; ".join(map(str, function.assumptions)))
    scope, names = jax.export.SymbolicScope(), Names()
    words = {name: names.unique(f"{name}_length" if name in _WORDS else name)
             for name in sorted(missing, key=lambda name: name in _WORDS)}
    return {**known, **{name: jax.export.symbolic_shape(words[name], scope=scope)[0] for name in missing}}


_WORDS = ("max", "min", "mod", "floordiv", "_")
"""The names that mean something else in JAX's text of a shape."""


def _needs_numbers(names: Iterable[str], known: Mapping[str, int], reason: str) -> NotSupported:
    """Returns the error for symbols that cannot stay open."""
    missing = [name for name in names if name not in known]
    return NotSupported("a file of this computation needs the numbers of some symbols", op="export_stablehlo",
                        operand="sizes", got=shorten(reason, 200), expected=f"a number of {', '.join(missing)}",
                        help=f"as in sizes={{{', '.join([f'{name!r}: 8' for name in missing])}}}")


def _serialized(function: Function, program: XlaProgram, bindings: Bindings, known: Mapping[str, int],
                values: Mapping[Variable, np.ndarray] | None) -> bytes:
    """Returns a program as ``jax.export`` writes it; without ``values`` variables are arguments. NotSupported where it
    does not, or has to know more numbers than those that are ``known``.
    """
    with forks.importing():
        import jax
    try:
        exported = _exported(function, program, bindings, values)
    except NervureError:
        raise
    except (jax.errors.InconclusiveDimensionOperation, NotImplementedError, TypeError, ValueError) as error:
        # JAX and rows raise these where they meet a symbol and need a number; with all numbers known they go on up.
        if len(known) == len(bindings):
            raise
        raise _needs_numbers(bindings, known, str(error).split("\n")[0]) from None
    try:
        return bytes(exported.serialize())
    except ImportError:
        raise NotSupported("jax.export writes files by flatbuffers, which is not installed", op="export_stablehlo",
                           got="no module flatbuffers", expected="flatbuffers",
                           help='pip install "nervure[xla]"') from None
    except KeyError as error:  # it has a table of element types
        raise NotSupported("jax.export cannot store arguments and results of this element type", op="export_stablehlo",
                           got=str(error.args[0]), expected="another element type, such as int8",
                           help="convert inside: constants and values between may have any type") from None


def _exported(function: Function, program: XlaProgram, bindings: Bindings,
              values: Mapping[Variable, np.ndarray] | None) -> jax.export.Exported:
    """Returns a program with JAX's own arguments and results; without ``values`` variables are arguments."""
    with forks.importing():
        import jax
        import jax.export

        from nervure.transformers.xla.sizes import numbers
    shapes = [jax.ShapeDtypeStruct(numbers(op.value.type.shape, bindings), op.value.type.dtype.numpy)
              for op in function.parameters]
    names = _names([*program.read, *program.replaced])
    kept = {names[variable]: jax.ShapeDtypeStruct(variable.type.shape, variable.type.dtype.numpy)
            for variable in names}

    def closed(*arguments: Any) -> Any:
        assert values is not None
        return tuple(program.unchecked(arguments, [jax.numpy.asarray(values[variable]) for variable in program.read],
                                       [])[0])

    def opened(states: Mapping[str, Any], *arguments: Any) -> Any:
        read, replaced = [[states[names[variable]] for variable in listed]
                          for listed in (program.read, program.replaced)]
        results, fresh = program.unchecked(arguments, read, replaced)
        return tuple(results), dict(zip([names[variable] for variable in program.replaced], fresh, strict=True))
    run: Callable[..., Any] = opened if values is None else closed
    with jax.enable_x64(True):
        return jax.export.export(jax.jit(run))(*([kept] if values is None else []), *shapes)


def _names(variables: list[Variable]) -> dict[Variable, str]:
    """Returns a name for each variable, unlike those of the others."""
    names = Names()
    return {variable: names.unique(variable.name or f"variable_{number}")
            for number, variable in enumerate(variables)}
