"""``docs/functions.md``: everything public, by family, with the first sentence of its docstring."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterable, Iterator
from typing import Any

import nervure as nv
from nervure.front.methods import METHODS
from tests.project.stubs import public_names

HEAD = """\
# Every public name

Made from the docstrings by `make generated`. In Python, `help(nv.softmax)` shows all of one, with an example that runs;
type checkers and editors read the same from the package's stubs.
"""

FAMILIES = {
    "Making tensors": ("front.creation", "front.facets", "front.arranging.filled", "front.arranging.grids",
                       "front.random", "front.dlpack", "front.signals.window_functions"),
    "Computing now, gradients": ("eager", "tensor_storage", "front.gradients", "front.flexible"),
    "Quantised numbers": ("front.pointwise.quantisation",),
    "Elementwise functions": ("front.pointwise.elementwise", "front.op_functions", "front.pointwise.elementary",
                              "front.pointwise.float_bits",
                              "front.networks.nonlinearities", "front.special.special_functions",
                              "front.special.bessel_functions", "front.pointwise.predicates",
                              "front.pointwise.complex_parts", "front.pointwise.bits"),
    "Reductions": ("front.statistics.reductions", "front.statistics.nan_reductions", "front.statistics.differences",
                   "front.statistics.prefixes", "front.statistics.ranks", "front.statistics.bins",
                   "front.statistics.segment_reductions", "front.signals.polynomials",
                   "front.signals.polynomial_roots"),
    "Sums of products": ("front.matrices.contraction", "front.matrices.matrix_products",
                         "front.statistics.distances"),
    "Shapes and axes of tensors": ("front.arranging.views", "front.arranging.rearranging",
                                   "front.arranging.joining", "front.arranging.stacking",
                                   "front.arranging.diagonals"),
    "Choosing elements": ("front.arranging.indexing", "front.arranging.gathering", "front.arranging.found",
                          "front.statistics.sets", "front.statistics.sorts", "front.arranging.index_grids",
                          "front.arranging.selecting", "front.arranging.editing"),
    "Networks": ("front.images.convolution", "front.images.pooling", "front.images.sampling",
                 "front.images.interpolation", "front.images.regions_of_interest", "front.images.pool_positions",
                 "front.images.deformable", "front.networks.normalization", "front.networks.attention",
                 "front.networks.noise"),
    "Derivatives": ("autodiff.derivative", "front.custom", "functions.gradient", "functions.directions",
                    "functions.jacobian", "functions.mapping", "front.loops.checkpointing"),
    "Loops and branches": ("front.loops.loop_functions", "front.loops.associative_scan", "front.loops.choices"),
    "Effects": ("front.effects",),
    "Computing, saving, explaining": ("computation", "build", "jit", "files.saving", "inspection.explain",
                                      "inspection.profiling", "inspection.config", "training.trainer"),
    "Models of PyTorch and StableHLO": ("bridges.torch.bridge", "bridges.stablehlo"),
    "State dicts": ("files.state_dict", "files.state_loading", "files.model_formats"),
    "Tensors, axes, lengths, element types": ("front.tensor", "types.axes", "types.axis", "types.axis_class",
                                              "types.dim", "types.dtype", "types.description"),
    "Meshes of devices": ("types.mesh", "front.sharding"),
    "Devices and ops of users": ("front.devices", "front.nodes", "transformers.devices.pool"),
    "Loops over memory, of users": ("front.iterators",),
    "The graph": ("ir.function", "ops", "ir.provenance"),
    "Errors": ("errors",),
}
"""The sections, and the modules whose public names stand in each."""

FOLDERS = {"fft": "Fourier transforms", "flags": "Switches", "linalg": "Linear algebra", "nn": "Modules and layers",
           "nn.losses": "Losses", "nn.initialisers": "Initialisers",
           "optim": "Optimisers", "processes": "Processes of a job", "random": "Distributions",
           "special": "Special functions", "training": "Training",
           "data": "Data", "data.transforms": "Transforms of pictures",
           "testing": "For tests", "transformers": "Transformers"}
"""What is public below ``nv.``, and what its section is called."""


def page() -> str:
    """The whole page."""
    title_of = {f"nervure.{module}": title for title, modules in FAMILIES.items() for module in modules}
    families: dict[str, list[tuple[str, Any]]] = {title: [] for title in FAMILIES}
    for module, name in public_names():
        families[title_of[module]].append((f"nv.{name}", getattr(nv, name)))
    families["Methods of tensors"] = [(f"x.{name}", method) for name, method in METHODS.items() if name[0] != "_"]
    families |= {title: list(_members(folder)) for folder, title in FOLDERS.items()}
    return "\n".join([HEAD, *[section(title, members) for title, members in families.items()]])


def section(title: str, members: Iterable[tuple[str, Any]]) -> str:
    """A family: a line for each of its functions and classes, and one for all element types."""
    ordered = sorted(members, key=lambda member: member[0].lower())
    lines = [line(name, value) for name, value in ordered if not isinstance(value, nv.DType)]
    types = [f"`{name}`" for name, value in ordered if isinstance(value, nv.DType)]
    if types:
        lines.append(f"- {', '.join(types)}: the element types.")
    return "\n".join([f"## {title}", "", *lines, ""])


def line(name: str, value: Any) -> str:
    """A name, how it is called, and what it is: its docstring says that, or the text that stands for it."""
    if isinstance(value, str):
        return f"- `{name}`: {plain(value)}"
    return f"- `{name}{call(value, skipped=name.startswith('x.'))}`: {plain(summary(value))}"


def call(value: Any, skipped: int) -> str:
    """``(x, axis, *, keepdims)``: what a function takes after so many arguments; nothing for classes and properties."""
    if inspect.isclass(value) or isinstance(value, property):
        return ""
    parameters = list(inspect.signature(value).parameters.values())[skipped:]
    plain = [entry.replace(annotation=entry.empty, default=entry.empty) for entry in parameters
             if entry.annotation != "Never"]  # what is refused is no way to call it
    return str(inspect.Signature(plain))


def summary(value: Any) -> str:
    """The first sentence of a docstring."""
    paragraph = " ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split())
    return re.split(r"(?<=[^.]\.) (?=[A-Z`])", paragraph)[0]


def plain(text: str) -> str:
    """A docstring's text as Markdown: code between single quotes, and nothing else that Markdown would read."""
    parts = re.split(r"(``.*?``)", text)
    return "".join(f"`{part[2:-2]}`" if part.startswith("``") else re.sub(r"([*_|<])", r"\\\1", part) for part in parts)


def _members(folder: str) -> Iterator[tuple[str, Any]]:
    module = importlib.import_module(f"nervure.{folder}")
    for name in module.__all__:
        yield f"nv.{folder}.{name}", getattr(module, name)
    if folder == "flags":
        yield from [(f"nv.flags.{name}", switch.doc) for name, switch in module.SWITCHES.items()]
