"""The transformer over XLA: needs jax, and runs on the first device that jax lists.

>>> import numpy as np
>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (2,))
>>> with XlaTransformer() as transformer:
...     transformer.compile(nv.Function([x * 2.0], [x]))(np.float32([1, 2]))
(array([2., 4.], dtype=float32),)
"""

from __future__ import annotations

from nervure.errors import NotSupported
from nervure.ir.function import Function
from nervure.ir.leaves import Leaf
from nervure.ir.op import Op
from nervure.support import forks
from nervure.transformers.base import Executable, Transformer


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
        self.device = jax.devices()[0]

    def supports(self, op_class: type[Op]) -> bool:
        with forks.importing():
            from nervure.transformers.xla.jax_program import supports
        return issubclass(op_class, Leaf) or supports(op_class)

    def make_executable(self, function: Function) -> Executable:
        with forks.importing():
            from nervure.transformers.xla.executable import XlaExecutable
        return XlaExecutable(function, self)
