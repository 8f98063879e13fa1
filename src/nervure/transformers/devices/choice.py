"""The choice of the transformer for a function: the one asked for, else the default one, under the devices of its ops.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (2,))
>>> transformer_for(nv.Function([x + x], [x])) is nv.transformers.default()
True
"""

from __future__ import annotations

from nervure import transformers
from nervure.ir.device import are_listed, is_extended, native_device
from nervure.ir.function import Function
from nervure.ir.printer import nested_functions
from nervure.transformers.base import Transformer
from nervure.transformers.labels import classes
from nervure.transformers.program_options import DEFAULT, ProgramOptions


def transformer_for(function: Function, asked: Transformer | None = None, fuses: bool = True,
                    options: ProgramOptions = DEFAULT) -> Transformer:
    """Returns the transformer that builds a function: without devices ``asked``, or the default one. ``fuses`` says
    whether the devices' own rules are applied, ``options`` what its calls may need and what they give.
    """
    if options.sharding is not None:
        options.sharding.check_known(classes(function))
    base = transformers.chosen(asked)
    device = native_device(base.name)
    operations = [op for each in nested_functions(function) for op in each.operations]
    follows_lists = asked is None and are_listed(operations)
    if not follows_lists and (device is None or not is_extended(device, operations)):
        return base.following(options)
    from nervure.transformers.devices.transformer import DeviceTransformer
    return DeviceTransformer(base, follows_lists, fuses).following(options)
