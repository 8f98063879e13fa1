r"""Functions that are made by functions: each gets its name, and a docstring with an example that runs.

>>> described(lambda x: x * x, "square", "x times x.", "3", "9.0").__doc__
'x times x.\n\n>>> round(nv.square(3).item(), 4)\n9.0\n'
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import cleandoc
from typing import TypeVar

Made = TypeVar("Made", bound=Callable[..., object])


def described(function: Made, name: str, document: str | None, arguments: str, result: str) -> Made:
    """The function with its name, and a docstring: what its op says, and the result of a call with these arguments.

    A result is a list, or a number to four digits, so that the example holds wherever it runs.
    """
    call = f"nv.{name}({arguments})"
    shown = f"{call}.tolist()" if result.startswith("[") else f"round({call}.item(), 4)"
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{cleandoc(document or '')}\n\n>>> {shown}\n{result}\n"
    return function
