"""The transformer over XLA: needs jax, and runs on the first device that jax lists.

>>> import numpy as np
>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (2,))
>>> with XlaTransformer() as transformer:
...     transformer.compile(nv.Function([x * 2.0], [x]))(np.float32([1, 2]))
(array([2., 4.], dtype=float32),)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nervure.errors import NotSupported
from nervure.ir.function import Function
from nervure.ir.leaves import Leaf
from nervure.ir.op import Op
from nervure.ops.attention import Attention
from nervure.support import forks
from nervure.transformers.base import Executable, Transformer
from nervure.transformers.program_options import DEFAULT, ProgramOptions
from nervure.types.mesh import Sharding

if TYPE_CHECKING:
    from nervure.transformers.binding import Bindings
    from nervure.transformers.peers import Peers
    from nervure.transformers.xla.placements import Placement


class XlaTransformer(Transformer):
    """Runs every op that has a kind of meaning, guards, branches and loops, on a ``device`` of jax."""

    name = "xla"

    def __init__(self) -> None:
        try:
            with forks.importing():
                import jax
        except ImportError:
            raise NotSupported("the transformer xla needs jax", op="make_transformer", got="no package jax",
                               expected="jax", help='pip install "nervure[xla]"', location=None) from None
        with forks.importing():
            from nervure.transformers.xla.device_cells import DeviceCell
        super().__init__(DeviceCell)
        self.device, self.options = jax.local_devices()[0], DEFAULT

    @property
    def has_fused_attention(self) -> bool:
        """Whether the device has kernels for attention as a whole."""
        return self.device.platform == "gpu"

    @property
    def peers(self) -> Peers:
        with forks.importing():
            from nervure.transformers.xla.job_peers import peers
        return peers()

    def supports(self, op_class: type[Op]) -> bool:
        if op_class is Attention:
            return self.has_fused_attention
        with forks.importing():
            from nervure.transformers.xla.jax_program import supports
        return issubclass(op_class, Leaf) or supports(op_class)

    def make_executable(self, function: Function) -> Executable:
        with forks.importing():
            from nervure.transformers.xla.executable import XlaExecutable
        return XlaExecutable(function, self)

    def placement(self, function: Function, bindings: Bindings) -> Placement:
        """Returns where the values of a function lie in a program for these values of its symbols."""
        with forks.importing():
            from nervure.transformers.xla.placements import OneDevice
        return OneDevice(self.device)

    def following(self, options: ProgramOptions) -> Transformer:
        chosen = super().following(options._replace(sharding=None))
        if options == DEFAULT:
            return chosen
        return _Following(self, options) if options.sharding is None else _OnMesh(self, options, options.sharding)

    def own_array(self, value: object) -> Any:
        with forks.importing():
            from nervure.transformers.xla.device_binding import taken
        return taken(value, self.device)


class _Following(XlaTransformer):
    """The transformer ``base``, whose variables it shares, with ``options`` for what it compiles."""

    def __init__(self, base: XlaTransformer, options: ProgramOptions) -> None:
        self.cells, self.device, self.options, self._base = base.cells, base.device, options, base

    @property
    def is_open(self) -> bool:  # type: ignore[override]  # an attribute of others
        """Whether the base is open."""
        return self._base.is_open

    def close(self) -> None:
        self._base.close()

    def following(self, options: ProgramOptions) -> Transformer:
        return self if options == DEFAULT else self._base.following(options)


class _OnMesh(_Following):
    """A transformer that distributes what it compiles over the devices of a mesh, as ``sharding`` says."""

    def __init__(self, base: XlaTransformer, options: ProgramOptions, sharding: Sharding) -> None:
        super().__init__(base, options)
        with forks.importing():
            from nervure.transformers.xla.placements import as_mesh
        self.sharding, self._sharding, self.mesh = sharding, sharding, as_mesh(sharding)

    def placement(self, function: Function, bindings: Bindings) -> Placement:
        with forks.importing():
            from nervure.transformers.xla.placements import OnMesh
        return OnMesh(function, self._sharding, self.mesh, bindings)

    def own_array(self, value: object) -> Any:
        return None  # each device reads its own part
