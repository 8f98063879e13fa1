"""Roles of tensors in a computation, and the four flags that define them.

>>> role_of(constant=False, persistent=None, trainable=True, input=False)
'variable'
"""

from __future__ import annotations

from nervure.errors import InvalidArgument
from nervure.front.argument_parsing import truth

FLAGS = ("constant", "persistent", "trainable", "input")

ROLES = {"constant": (True, True, False, False), "placeholder": (False, True, False, True),
         "persistent": (False, True, False, False), "variable": (False, True, True, False),
         "temporary": (False, False, False, False)}
"""The flags of each role."""

OF_ONE_RUN = ("placeholder", "temporary")
"""The roles whose values last for one run, which settles symbolic lengths."""


def role_of(**flags: object) -> str:
    """Returns the role that has these flags; ``persistent`` of None follows from the others. InvalidArgument if no
    role has them.
    """
    known = {name: None if flag is None else truth(flag, "AssignableTensorOp", name) for name, flag in flags.items()}
    if known["persistent"] is None:
        known["persistent"] = any(known.values())
    asked = tuple([known[name] for name in FLAGS])
    found = [role for role, row in ROLES.items() if row == asked]
    if found:
        return found[0]
    raise InvalidArgument("no tensor has these flags", op="AssignableTensorOp", got=_listed(asked),
                          expected="; ".join([f"{role}: {_listed(row)}" for role, row in ROLES.items()]),
                          help="nv.variable, nv.placeholder and the others set them")


def _listed(row: tuple[bool | None, ...]) -> str:
    return ", ".join([name for name, flag in zip(FLAGS, row, strict=True) if flag]) or "none"
