"""The choice of the transformer for a function: the one asked for, else the default one, under the devices of its ops.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (2,))
>>> transformer_for(nv.Function([x + x], [x])) is nv.transformers.default()
True
"""

from __future__ import annotations

from nervure import flags, transformers
from nervure.errors import InvalidArgument
from nervure.ir.device import are_listed, is_extended, native_device
from nervure.ir.function import Function
from nervure.transformers.base import Transformer


def transformer_for(function: Function, asked: Transformer | None = None, fuses: bool = True,
                    memory_limit: int | None = None) -> Transformer:
    """Returns the transformer that builds a function: without devices ``asked``, or the default one. ``fuses`` says
    whether the devices' own rules are applied, ``memory_limit`` how many bytes a call may need (None: any number).
    """
    base = transformers.chosen(asked)
    device = native_device(base.name)
    follows_lists = asked is None and are_listed(function.operations)
    if not follows_lists and (device is None or not is_extended(device, function.operations)):
        return base if memory_limit is None else base.within(memory_limit)
    from nervure.transformers.devices.transformer import DeviceTransformer
    found = DeviceTransformer(base, follows_lists, fuses)
    return found if memory_limit is None else found.within(memory_limit)


def read_memory_limit(given: object, op: str) -> int | None:
    """Returns a limit as bytes: None for none. InvalidArgument, which names ``op``, if it is no number of bytes.

    >>> read_memory_limit("1MB", "computation"), read_memory_limit(None, "computation")
    (1000000, None)
    """
    found = None if given is None else flags.byte_count(given)
    if found is None and given is not None:
        raise InvalidArgument("this is no limit of memory", op=op, operand="memory_limit", got=f"{given!r:.60}",
                              expected="bytes: an integer of at least 0, or a text", help='as in memory_limit="512MB"')
    return found
