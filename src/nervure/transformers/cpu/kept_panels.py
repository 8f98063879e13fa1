"""The panels of a program: of its own steps, and of those inside of its branches and loops.

A panel is kept between calls if what it is packed of lasts. Variables that the program leaves as they are do, and
constants, what kernels have packed of these, and arguments of inner functions that are such memory in all iterations.
What steps read says so: it leads to the *source* of a panel.

>>> import nervure as nv
>>> w, h = nv.variable((70, 70), 0.5).named("w"), nv.placeholder((2, 70))
>>> loop = nv.computation(nv.scan(lambda h, _: (nv.tanh(nv.matmul(h, w.T)), None), h, length=3)[0], h)
>>> panels = loop.executable.compilation.loaded.panels()
>>> [len(panels.own), *[len(each.own) for each in panels.inside[0]]]
[0, 1]
>>> {source.variable.name for source in panels.inside[0][0].sources.values()}
{'w'}
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from nervure.ir.variable import Variable
from nervure.transformers.cpu.compiled import CompiledKernel
from nervure.transformers.cpu.runtime import PanelMemory


class PanelSource(NamedTuple):
    """The origin of memory that lasts: a ``variable`` of the program, or else a constant.

    ``made`` tells what kernels have made of it, one after the other: their code and sizes.
    """

    variable: Variable | None
    made: tuple[object, ...] = ()

    def packed(self, kernel: CompiledKernel, size: int) -> PanelSource:
        """Returns the source of a panel of ``size`` bytes that a ``kernel`` packs of this memory."""
        launch = kernel.launch
        return self._replace(made=(*self.made, kernel.key, launch.sizes, launch.extent, size))


class Panels(NamedTuple):
    """The panels of a function that there is room for.

    ``own`` has them by the numbers of the storages whose memory they are, ``sources`` says what its storages that last
    follow from, and ``inside`` are the panels of the functions of its branches and loops, by the numbers of the steps.
    """

    own: Mapping[int, PanelMemory] = MappingProxyType({})
    sources: Mapping[int, PanelSource] = MappingProxyType({})
    inside: Mapping[int, tuple[Panels, ...]] = MappingProxyType({})


NO_PANELS = Panels()
"""Everything is packed in each call, and inside of loops in each run of the loop."""
