"""Cells whose values lie on a device between calls, and are fetched when something else reads them.

>>> from nervure.types.description import BasicTensorDescription
>>> from nervure.types.dtype import float32
>>> cell = DeviceCell(Variable(BasicTensorDescription(float32, (2,)), initial=1.5))
>>> value = cell.on_device(jax.devices()[0])
>>> keep_together([cell], [value + 1], jax.devices()[:1])
>>> cell.get(), cell.version
(array([2.5, 2.5], dtype=float32), 1)
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from nervure.errors import InvalidArgument
from nervure.ir.variable import Variable
from nervure.transformers.cells import Cell, store_together
from nervure.transformers.xla.functions import Array
from nervure.transformers.xla.placements import Place, distributed
from nervure.types.ordered_arrays import in_order
from nervure.types.pieces import ArrayPiece

__all__ = ["DeviceCell", "Held", "Variable", "keep_together", "placed"]


class Held:
    """A value at a ``place``: the one of a ``version`` of its cell. ``is_fetched`` says whether the cell's own array
    has it, too.
    """

    __slots__ = ("value", "version", "is_fetched", "place")

    def __init__(self, value: Array, version: int, is_fetched: bool, place: Place) -> None:
        self.value, self.version, self.is_fetched, self.place = value, version, is_fetched, place


class DeviceCell(Cell):
    """A cell that may have its value on a device alone."""

    __slots__ = ("held",)
    held: Held | None

    @property
    def array(self) -> np.ndarray:
        """The value in memory; one that a call has left on the device is copied from there."""
        held = self.held
        if held is not None and not held.is_fetched and held.version == self.version:
            if held.value.is_deleted():
                raise InvalidArgument("the value of this variable is lost: its device failed in a call",
                                      op="xla", operand=self.name, got="no value", expected="a value",
                                      help="set it, or load it from a file")
            _ARRAY.__set__(self, in_order(fetched(held.value), self.order))
            held.is_fetched = True
        found: np.ndarray = _ARRAY.__get__(self)
        return found

    @array.setter
    def array(self, array: np.ndarray) -> None:
        self.held = None
        _ARRAY.__set__(self, array)

    def pieces(self, is_first: bool) -> list[ArrayPiece]:
        held = self.held
        if held is None or held.version != self.version or self.lent.value or held.value.is_deleted():
            return super().pieces(is_first)
        value = held.value
        if value.is_fully_addressable and not is_first:
            return []  # each process has all of it
        return [ArrayPiece(tuple([bounds.start or 0 for bounds in shard.index]),
                           np.array(shard.data, order="C", copy=True))
                for shard in value.addressable_shards if shard.replica_id == 0]

    def on_device(self, place: Place) -> Array:
        """Returns the value at a place, copied there once for each version."""
        held = self.held
        if held is None or held.version != self.version or held.value.is_deleted():
            self.held = held = Held(placed(self.array, place), self.version, True, place)
        elif held.place is not place and held.place != place:
            value = moved(held.value, place)
            self.held = held = Held(value, held.version, held.is_fetched, place)
        return held.value


def placed(array: np.ndarray, place: Place) -> Array:
    """Returns a copy of an array at a place, in its own element type whatever jax's switch for 64 bits says."""
    if isinstance(place, NamedSharding):
        return distributed(array, place)
    with jax.enable_x64(True):
        return jax.device_put(np.asarray(array, order="C"), place, may_alias=False)


def moved(value: Array, place: Place) -> Array:
    """Returns a value at another place. Where several processes hold it, or will, all of them do this."""
    is_here = value.is_fully_addressable
    with jax.enable_x64(True):
        if not isinstance(place, NamedSharding):
            return jax.device_put(value if is_here else whole(value).addressable_data(0), place, may_alias=False)
        if is_here and place.is_fully_addressable:
            return jax.device_put(value, place, may_alias=False)
        if place.device_set != value.sharding.device_set:
            return distributed(fetched(value), place)
        return jax.jit(jnp.copy, out_shardings=place)(value)


def whole(value: Array) -> Array:
    """Returns a value of which each device has all. Where several processes hold its parts, all of them do this."""
    return value if value.is_fully_replicated else moved(value, NamedSharding(value.sharding.mesh, PartitionSpec()))


def fetched(value: Array) -> np.ndarray:
    """Returns a copy of a value in memory. Where several processes hold its parts, all of them do this."""
    if value.is_fully_addressable:
        return np.array(value, order="C", copy=True)
    return np.array(whole(value).addressable_data(0), order="C", copy=True)


_ARRAY: Array = Cell.__dict__["array"]


def keep_together(cells: Sequence[DeviceCell], values: Sequence[Array], places: Sequence[Place]) -> None:
    """Stores several new values at their ``places`` at once: whatever a signal handler raises, all cells have their new
    values or none has. The caller holds the cells.
    """
    if any([cell.is_lent() for cell in cells]):
        store_together(cells, [fetched(value) for value in values])  # others read the memory itself
        return
    held = [Held(value, cell.version + 1, False, place)
            for cell, value, place in zip(cells, values, places, strict=True)]
    stamps, versions = [cell.stamp for cell in cells], [each.version for each in held]
    deque(itertools.chain(map(setattr, cells, itertools.repeat("held"), held),
                          map(setattr, stamps, itertools.repeat("value"), versions)), maxlen=0)
