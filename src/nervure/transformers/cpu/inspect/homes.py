"""The memory of the values of a compiled function: the plan's decisions, and the places in the block of a call.

>>> import nervure as nv
>>> x = nv.placeholder((4, 8))
>>> compiled = nv.computation(nv.softmax(x, axis=1), x)
>>> for value, described in compiled.value_descriptions.items():
...     if described.storage is not None:
...         print(type(value.op).__name__, described.layout, described.storage)
Parameter strides (8, 1) argument 0
Multiply strides (8, 1) root 0
"""

from __future__ import annotations

from nervure.ir.op import Value
from nervure.kernel.cluster.inside import Place
from nervure.kernel.plan import Plan
from nervure.memory.storage import Storage, StorageKind
from nervure.transformers.cpu.compiled import CompiledFunction
from nervure.transformers.descriptions import Home
from nervure.types.dim import DimLike
from nervure.types.layout import Layout, row_major


def homes_of(plan: Plan, compiled: CompiledFunction) -> dict[Value, tuple[Home, Layout]]:
    """Returns the memory of each value that has some, and its layout there."""
    numbers = {(storage.kind, storage.number): number for number, storage in enumerate(compiled.storages)}
    offsets = {} if plan.function.symbols else compiled.arena({})[0]
    homes = {}
    for value, storage in plan.places.items():
        layout = _layout(value, storage, plan)
        number = numbers.get((storage.kind, storage.number))
        if layout is not None and (number is not None or not storage.is_of_call):
            own = plan.in_place.get(storage, storage)
            offset = offsets.get(number) if number is not None and own.kind is StorageKind.TEMPORARY else None
            homes[value] = Home(str(own.kind), own.number, offset), layout
    return homes


def _layout(value: Value, storage: Storage, plan: Plan) -> Layout | None:
    """Returns the layout of a value in its memory; None if the memory is that of another shape, in an order of its
    own.
    """
    if value in plan.inside:
        return _inside(value, storage, plan)
    if storage.layout is None:
        return row_major(value.shape)
    return storage.layout if storage.shape == value.shape else None


def _inside(value: Value, storage: Storage, plan: Plan) -> Layout | None:
    """Returns the layout of a value in the memory of a larger one."""
    place: Place = plan.inside[value]
    whole = _layout(place.whole, storage, plan)
    if whole is None:
        return None
    offset = whole.place(place.starts)
    steps = [stride for stride, length in zip(whole.strides, place.shape, strict=True) if length != 1]
    remaining = iter(steps)
    if len(steps) != len([length for length in value.shape if length != 1]):
        return None
    strides: list[DimLike] = [0 if length == 1 else next(remaining) for length in value.shape]
    return Layout(tuple(strides), offset)
