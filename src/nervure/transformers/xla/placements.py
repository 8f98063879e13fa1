"""Places of the values of a program: all on one device, or distributed over a mesh of devices.

>>> one = OneDevice(jax.devices()[0])
>>> one.arguments([np.float32([1, 2])])[0].tolist()
[1.0, 2.0]

On a mesh the parameters, variables and results of a function lie as the classes of their axes say, which their labels
give; XLA's partitioner distributes all other values, and inserts the exchange between devices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from nervure.errors import InvalidArgument
from nervure.ir.function import Function
from nervure.ir.op import Value
from nervure.ir.variable import Variable
from nervure.ops.sharding import ShardAs
from nervure.transformers.binding import Bindings
from nervure.transformers.labels import variable_labels
from nervure.transformers.memory_estimate import numbers
from nervure.transformers.report import PlaceReport
from nervure.transformers.xla.functions import Array
from nervure.types.chosen_rows import ChosenRows
from nervure.types.description import BasicTensorDescription, Labels
from nervure.types.dim import Dim, DimLike
from nervure.types.mesh import Sharding, Split

Place: TypeAlias = "jax.Device | NamedSharding"
"""Where one value lies."""

_ROUNDED = {"xla_allow_excess_precision": False}
_WHERE_KNOWN = {"xla_disable_hlo_passes": "algsimp",
                "xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT"}


@cache
def compiler_options() -> dict[str, object]:
    """Returns the options by which XLA computes what the program says: each value is rounded to its own type.

    Its pass algsimp, which all devices have, would take 1/7 for a division by 7, a/(b*c) for (a/b)/c, and would add
    constants first. The CPU of jaxlib 0.10.2 fuses a product with what follows, which is wrong if one matrix serves a
    whole batch: all scores of a softmax are then equal. Versions that do not know an option go without it.
    """
    return _ROUNDED | {name: value for name, value in _WHERE_KNOWN.items() if _is_known({name: value})}


def _is_known(option: dict[str, object]) -> bool:
    try:
        jax.jit(jnp.negative, compiler_options=option).lower(0.0).compile()
    except jax.errors.JaxRuntimeError:
        return False
    return True


class OneDevice:
    """All values lie on one device."""

    def __init__(self, device: jax.Device) -> None:
        self.device = device

    def of_variable(self, variable: Variable) -> Place:
        """Returns the place of a variable."""
        return self.device

    def arguments(self, arrays: Sequence[np.ndarray | ChosenRows]) -> list[Array]:
        """Returns the arguments of a call as the program takes them."""
        return list(arrays)

    def pinned(self, value: Array, op: ShardAs) -> Array:
        """Returns a value that an op distributes over a mesh: itself."""
        return value

    def reports(self) -> list[PlaceReport]:
        """Returns the places of tensors on a mesh: there is none."""
        return []

    def jitted(self, traced: Callable[..., Any], read: Sequence[Variable], replaced: Sequence[Variable],
               may_fail: bool) -> Any:
        """Returns a traced function as a program; the memory of what is ``replaced`` is given to it."""
        return jax.jit(traced, donate_argnums=(2,), compiler_options=compiler_options())


class OnMesh:
    """The values of a function, with these ``bindings`` of its symbols, distributed over the devices of a mesh."""

    def __init__(self, function: Function, sharding: Sharding, mesh: jax.sharding.Mesh, bindings: Bindings) -> None:
        self.mesh, self._function, self._sharding, self._bindings = mesh, function, sharding, bindings
        self._labels = variable_labels(function)
        self.parameters = [self._placed(op.output, f"argument {number + 1}" + (f" ({op.name})" if op.name else ""))
                           for number, op in enumerate(function.parameters)]
        self.variables = {variable: self._of(self._split_of(variable)) for variable in function.variables}
        # Results are copied to the host: where several processes hold the devices, each gets all of them.
        self.results = [self._whole if spans_processes(mesh) else self._placed(value, f"result {number + 1}")
                        for number, value in enumerate(function.results)]

    @property
    def _whole(self) -> NamedSharding:
        return NamedSharding(self.mesh, PartitionSpec())

    def of_variable(self, variable: Variable) -> Place:
        """Returns the place of a variable."""
        return self.variables[variable]

    def arguments(self, arrays: Sequence[np.ndarray | ChosenRows]) -> list[Array]:
        """Returns the arguments of a call as the program takes them: each device has read its own part."""
        return [distributed(array, place) for array, place in zip(arrays, self.parameters, strict=True)]

    def pinned(self, value: Array, op: ShardAs) -> Array:
        """Returns a value distributed as an op says. InvalidArgument for an axis that the mesh does not have, or that
        does not divide the length.
        """
        known = self._sharding.mesh
        for entry in op.splits:
            for name in entry or ():
                if name not in known.axes:
                    raise op.fail(InvalidArgument, f"the mesh has no axis {name}", got=name,
                                  expected=", ".join(known.axes), help="name an axis of the mesh of the computation")
        splits = [entry and self._divided(entry, *lengths) for entry, *lengths in zip(
            op.splits, op.output.type.shape, value.shape, strict=True)]
        for entry, length in zip(splits, value.shape, strict=True):
            parts = self._sharding.parts(entry or ())
            if length % parts:
                raise op.fail(InvalidArgument, f"a length of {length} is not split over {parts} devices", got=length,
                              expected=f"a multiple of {parts}", help="choose such a length, or leave the axis out")
        spec = PartitionSpec(*[PartitionSpec.UNCONSTRAINED if entry is None else entry or None for entry in splits])
        return jax.lax.with_sharding_constraint(value, NamedSharding(self.mesh, spec))

    def jitted(self, traced: Callable[..., Any], read: Sequence[Variable], replaced: Sequence[Variable],
               may_fail: bool) -> Any:
        """Returns a traced function as a program; the memory of what is ``replaced`` is given to it."""
        of_read, of_replaced = [[self.variables[variable] for variable in listed] for listed in (read, replaced)]
        status = (self._whole,) * 3 if may_fail else ()
        return jax.jit(traced, donate_argnums=(2,), compiler_options=compiler_options(),
                       in_shardings=(self.parameters, of_read, of_replaced),
                       out_shardings=(self.results, of_replaced, status))

    def reports(self) -> list[PlaceReport]:
        """Returns the places of arguments, variables and results."""
        function = self._function
        rows = [("argument", op.name or str(number + 1), op.output.type, op.output.labels, place)
                for number, (op, place) in enumerate(zip(function.parameters, self.parameters, strict=True))]
        rows += [("variable", variable.name or "unnamed", variable.type, self._labels.get(variable), place)
                 for variable, place in self.variables.items() if variable.type.shape]
        rows += [("result", str(number + 1), value.type, value.labels, place)
                 for number, (value, place) in enumerate(zip(function.results, self.results, strict=True))]
        return [self._report(*row) for row in rows]

    def _report(self, kind: str, name: str, type: BasicTensorDescription, labels: Labels | None,
                place: NamedSharding) -> PlaceReport:
        shape = numbers(type.shape, self._bindings)
        own = labels or [None] * len(shape)
        split = [f"{label or f'axis {axis}'} over {' and '.join([entry] if isinstance(entry, str) else entry)}"
                 for axis, (label, entry) in enumerate(zip(own, place.spec, strict=False)) if entry]
        part = math.prod(place.shard_shape(shape)) * type.dtype.itemsize
        return PlaceReport(kind, name, type.with_(shape=shape).describe(labels), ", ".join(split) or "whole", part)

    def _placed(self, value: Value, what: str) -> NamedSharding:
        shape = numbers(value.type.shape, self._bindings)
        split = self._sharding.split(value.labels, what, len(shape))
        split = tuple([self._divided(*each) for each in zip(split, value.type.shape, shape, strict=True)])
        self._sharding.check_divided(split, value.labels, shape, what)
        return self._of(split)

    def _divided(self, names: tuple[str, ...], declared: DimLike, length: int) -> tuple[str, ...]:
        """Returns the axes of the mesh over which a length lies: none if it is a rest, which each device computes as
        one device would.
        """
        is_rest = self._sharding.allows_rest and isinstance(declared, Dim) and length % self._sharding.parts(names)
        return () if is_rest else names

    def _split_of(self, variable: Variable) -> Split:
        what, labels = f"the variable {variable.name or 'without a name'}", self._labels.get(variable)
        shape = numbers(variable.type.shape, self._bindings)
        split = self._sharding.split(labels, what, len(shape))
        self._sharding.check_divided(split, labels, shape, what)
        return self._sharding.split_further(split, shape) if variable.type.dtype.is_float else split

    def _of(self, split: Split) -> NamedSharding:
        return NamedSharding(self.mesh, PartitionSpec(*[entry or None for entry in split]))


def spans_processes(mesh: jax.sharding.Mesh) -> bool:
    """Whether other processes hold some of the devices of a mesh."""
    return len({device.process_index for device in mesh.devices.flat}) > 1


def distributed(array: np.ndarray | ChosenRows, place: NamedSharding) -> Array:
    """Returns an array on the devices of a mesh, of which this process reads what its own devices hold."""
    if isinstance(array, np.ndarray):
        array = np.asarray(array, order="C")
    with jax.enable_x64(True):
        return jax.make_array_from_callback(array.shape, place, lambda index: np.array(array[index], copy=True))


def as_mesh(sharding: Sharding, op: str = "shard") -> jax.sharding.Mesh:
    """Returns the mesh of jax's devices; InvalidArgument if there are fewer than it needs, or if some process of a job
    has none of them.
    """
    mesh, devices = sharding.mesh, jax.devices()
    if mesh.size > len(devices):
        raise InvalidArgument("the mesh is larger than the number of devices", op=op, operand="mesh",
                              got=f"{mesh} of {mesh.size} devices", expected=f"at most {len(devices)}, as jax lists",
                              help="make the mesh smaller, or start more processes: nervure launch -n 4 -- COMMAND; "
                                   "XLA_FLAGS=--xla_force_host_platform_device_count=8 gives 8 devices for a trial "
                                   "on one processor")
    idle = sorted({device.process_index for device in devices[mesh.size:]}
                  - {device.process_index for device in devices[:mesh.size]})
    if idle:
        raise InvalidArgument("the mesh leaves processes of the job without a device", op=op, operand="mesh",
                              got=f"{mesh} of {mesh.size} devices, none of process {', '.join(map(str, idle))}",
                              expected=f"more of the {len(devices)} devices, as jax lists them",
                              help="make the mesh larger, or start fewer processes: all make each step together")
    grid = np.array(devices[:mesh.size]).reshape(list(mesh.axes.values()))
    return jax.sharding.Mesh(grid, tuple(mesh.axes))


Placement: TypeAlias = OneDevice | OnMesh
"""Where the values of a program lie."""
