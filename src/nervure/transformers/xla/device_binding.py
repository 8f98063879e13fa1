"""Arguments that lie on a device already: JAX's arrays, and those of libraries that share memory by DLPack.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (2,))
>>> with nv.transformers.make_transformer("xla") as xla:
...     given = jax.numpy.ones(2, "float32")
...     arrays, bindings = DeviceBinder(nv.Function([x], [x]), xla).bind([given])
...     arrays[0].unsafe_buffer_pointer() == given.unsafe_buffer_pointer()
True
"""

from __future__ import annotations

from typing import cast

import jax
import numpy as np

from nervure.ir.function import Function
from nervure.transformers.base import Transformer
from nervure.transformers.binding import Binder
from nervure.transformers.xla.functions import Array
from nervure.types.chosen_rows import ChosenRows


class DeviceBinder(Binder):
    """A binder that leaves arguments on the device of a ``transformer``, if they have their parameters' types. Chosen
    rows stay what they are on a mesh, each of whose devices reads its own.
    """

    def __init__(self, function: Function, transformer: Transformer) -> None:
        super().__init__(function)
        self._types = [op.value.type.dtype.numpy for op in function.parameters]
        self._own_array = transformer.own_array
        self._is_on_mesh = transformer.sharding is not None

    def read(self, number: int, value: object) -> np.ndarray:
        if isinstance(value, ChosenRows) and self._is_on_mesh:
            wanted = self._types[number]
            if value.dtype == wanted or (value.dtype.kind == wanted.kind == "f" and value.ndim):
                return self.checked(number, cast("np.ndarray", value.astype(wanted)))
        own = self._own_array(value)
        if own is not None and own.dtype == self._types[number]:
            return self.checked(number, own)
        return super().read(number, value)


def taken(value: object, device: jax.Device) -> Array | None:
    """Returns ``value``, an array of JAX or one that shares its memory by DLPack, on a device.

    It is copied only from another device. None stands for anything else, and for what JAX cannot take.
    """
    if isinstance(value, (np.ndarray, np.generic)) or not hasattr(type(value), "__dlpack__"):
        return None
    with jax.enable_x64(True):
        try:
            found = value if isinstance(value, jax.Array) else jax.dlpack.from_dlpack(value)
            is_number = not jax.numpy.issubdtype(found.dtype, jax.dtypes.extended)
            return jax.device_put(found, device) if is_number else None
        except Exception:  # a foreign object may raise anything; NumPy reads it, or the error names it
            return None
