"""PyTorch's own: eager mode, and Inductor, which generates C++; with *freezing* its weights are constants."""

from __future__ import annotations

from functools import partial

import torch

from bench.compiled import calling, settings_of
from bench.compiled_models import COMPILED_MODELS, Step
from bench.contenders.torch import programs

inductor = partial(torch.compile, dynamic=False)
COMPILERS = {"eager": lambda function: function, "inductor": inductor}
FREEZING = {"inductor_freezing": partial(inductor, options={"freezing": True})}

for name, problem in COMPILED_MODELS.items():
    programs(name, **settings_of(problem, COMPILERS if issubclass(problem, Step) else COMPILERS | FREEZING))(None)

programs("small_call", inductor=calling(inductor))(None)
