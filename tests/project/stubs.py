"""Makes the stubs of names that exist only while the package runs: those of ``nervure``, and the methods of tensors.

``nervure/__init__.py`` imports a name at its first use, ``nervure/ops/__init__.py`` takes its names from the registry,
families of functions are made by a function, and ``front/methods.py`` adds methods to the class of tensors. None of it
is seen without running it, so the stubs are made from what is there when it has run. What a file declares with ``def``
or ``class`` is imported from there.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import nervure
from nervure import ops
from nervure.front import op_functions
from nervure.front.methods import METHODS

HEADER = "# Made from the package: `make generated` writes it, tests/project/test_generated.py compares it.\n"

# Where the names that stand in annotations are declared, if they are no classes, from the ground up.
DECLARING = ("typing", "nervure.types.dim", "nervure.types.shape", "nervure.types.dtype", "nervure.types.axes",
             "nervure.front.tensor")

WIDTH = 120
NO_BREAK = "\N{NO-BREAK SPACE}"


class Plain(str):
    """An annotation as it was written: the text of a signature shows it without quotes."""

    def __repr__(self) -> str:
        return str(self)


def package() -> str:
    """``src/nervure/__init__.pyi``: every public name with its type."""
    made: dict[str, Callable[..., Any]] = {}
    declared = [("nervure", name) for name in nervure._SUBMODULES]
    for module, name in public_names():
        value = getattr(nervure, name)
        if is_made(value) and name not in op_functions.FUNCTIONS:
            made[name] = value
        else:
            declared.append((module, name))
    exports = imports((module, f"{name} as {name}") for module, name in declared)
    document = f'"""{inspect.getdoc(nervure)}\n"""'
    functions = [definition(name, made[name]) for name in sorted(made)]
    needed = imports({home for function in made.values() for home in homes(function)} - set(public_names()))
    return "\n".join([HEADER + document, "", needed, exports + "__version__: str", "", "".join(functions)])


def interface() -> str:
    """``src/nervure/front/interface.pyi``: the operators and methods of tensors."""
    functions = {name: method.fget if isinstance(method, property) else method for name, method in METHODS.items()}
    needed = imports({home for function in functions.values() for home in homes(function)})
    lines = []
    for name, function in functions.items():
        decorator = "@property\n" if isinstance(METHODS[name], property) else ""
        text = decorator + definition(name, function, is_method=True)
        if hasattr(object, name) and name in ("__eq__", "__ne__"):  # which give tensors, unlike those of object
            text = text.replace("\n", "  # type: ignore[override]\n", 1)
        lines.append(textwrap.indent(text, "    "))
        lines += setter(name, METHODS[name])
    return "\n".join([HEADER, needed, "class Interface:\n" + "".join(lines)])


def setter(name: str, method: Any) -> list[str]:
    """What declares that a property may be set."""
    if not isinstance(method, property) or method.fset is None:
        return []
    value = list(inspect.signature(method.fset).parameters.values())[1]
    text = f"@{name}.setter\ndef {name}(self, {value.name}: {value.annotation}) -> None: ...\n"
    return [textwrap.indent(text, "    ")]


def functions() -> str:
    """``src/nervure/front/op_functions.pyi``: the functions that op classes declare."""
    needed = imports({home for function in op_functions.FUNCTIONS.values() for home in homes(function)})
    table = "from collections.abc import Callable\n" + needed + "\nFUNCTIONS: dict[str, Callable[..., Tensor]]\n"
    made = sorted(op_functions.FUNCTIONS.items())
    return "\n".join([HEADER, table, "".join([definition(name, function) for name, function in made])])


def vocabulary() -> str:
    """``src/nervure/ops/__init__.pyi``: every op class."""
    classes = [(getattr(ops, name).__module__, f"{name} as {name}") for name in ops.__all__]
    return "\n".join([HEADER, imports(classes), "__all__: list[str]", ""])


def public_names() -> Iterator[tuple[str, str]]:
    """(module, name) of everything that ``nervure`` makes public, but for its folders."""
    yield from [(module, name) for name, module in nervure._WHERE.items()]
    for module in nervure._WHOLE:
        yield from [(module, name) for name in importlib.import_module(module).__all__]


def modules_of_functions() -> str:
    """``src/nervure/support/public_functions.py``: the modules of the functions that ``nervure`` makes public."""
    document = ('"""The modules of public functions, so that the first use of one imports no other.\n\n'
                f">>> MODULES['matmul']\n{_modules()['matmul']!r}\n\"\"\"")
    names: dict[str, list[str]] = {}
    for name, module in _modules().items():
        names.setdefault(module, []).append(name)
    rows = [f'    "{module}":\n{_wrapped(listed)},' for module, listed in names.items()]
    table = "MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}\n"
    return "\n".join([HEADER + document, "", "from __future__ import annotations", "", "_NAMES = {", *rows, "}", table])


def _modules() -> dict[str, str]:
    """The modules of functions by their names; where two have one name, the first is public."""
    made: dict[str, str] = {}
    for module in nervure._WHOLE:
        for name in importlib.import_module(module).__all__:
            made.setdefault(name, module)
    return made


def _wrapped(names: list[str]) -> str:
    """Names as one text on several lines."""
    return "\n".join([f'        "{line}"' for line in textwrap.wrap(" ".join(names), 100)]).replace('"\n', ' "\n')


def is_made(value: Any) -> bool:
    """Whether a function was made by another one: no ``def`` has its name."""
    return inspect.isfunction(value) and inspect.unwrap(value).__code__.co_name != value.__name__


def definition(name: str, function: Callable[..., Any], is_method: bool = False) -> str:
    """``def name(...)`` with a function's signature and docstring."""
    signature = inspect.signature(function)
    parameters = [entry if entry.annotation is entry.empty else entry.replace(annotation=Plain(entry.annotation))
                  for entry in signature.parameters.values()]
    if is_method:
        parameters[0] = parameters[0].replace(name="self", annotation=inspect.Parameter.empty)
    returned = function.__name__ if inspect.isclass(function) else signature.return_annotation
    signature = signature.replace(parameters=parameters, return_annotation=Plain(returned))
    lines = (inspect.getdoc(function) or "").splitlines()
    document = f'"""{lines[0]}"""' if len(lines) == 1 else '"""' + "\n".join([*lines, '"""'])
    whole = f"def {name}{signature}: {document}\n"
    if len(lines) == 1 and len(whole) < WIDTH - 4:  # methods are indented
        return whole
    return f"def {name}{signature}:\n{textwrap.indent(document, '    ')}\n"


def imports(homes: Iterable[tuple[str, str]]) -> str:
    """A statement for each module, with all of its names."""
    names: dict[str, list[str]] = {}
    for module, name in sorted(homes):
        names.setdefault(module, []).append(name)
    return "".join(_import(module, listed) for module, listed in names.items())


def _import(module: str, names: list[str]) -> str:
    """A statement on one line, or in brackets on as few as there may be. ``x as x`` is one word."""
    whole = f"from {module} import {', '.join(names)}"
    if len(whole) <= WIDTH:
        return whole + "\n"
    words = ", ".join(name.replace(" ", NO_BREAK) for name in names)
    listed = textwrap.fill(words, WIDTH, initial_indent="    ", subsequent_indent="    ").replace(NO_BREAK, " ")
    return f"from {module} import (\n{listed})\n"


def homes(function: Callable[..., Any]) -> Iterator[tuple[str, str]]:
    """(module, name) of each name in a function's annotations that is not one of Python's own."""
    if inspect.isclass(function):
        yield function.__module__, function.__name__
        return
    signature = inspect.signature(function)
    texts = [entry.annotation for entry in signature.parameters.values()] + [signature.return_annotation]
    known = vars(sys.modules[DECLARING[-1]]) | vars(sys.modules[inspect.unwrap(function).__module__])
    for text in texts:
        for node in ast.walk(ast.parse(text)) if isinstance(text, str) else ():
            if isinstance(node, ast.Name) and node.id in known:
                value = known[node.id]
                declaring = [module for module in DECLARING if vars(sys.modules[module]).get(node.id) is value]
                yield (value.__module__ if inspect.isclass(value) else declaring[0]), node.id
