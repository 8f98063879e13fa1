"""nervure: tensors with named axes, a strictly typed graph, derivatives, and transformers that compile whole functions.

>>> import nervure as nv
>>> x = nv.constant([[1., 2.], [3., 4.]], axes="H=2, W=2")
>>> nv.sum(x * x, out_axes="H=2").tolist()
[5.0, 25.0]

Names are imported at their first use, so that ``import nervure`` costs little more than NumPy.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

from nervure.support.forks import importing
from nervure.support.public_functions import MODULES

__version__ = "0.1.0"

_NAMES = {
    "nervure.errors": "AxisMismatch DtypeMismatch FormatError Immutable InUse IndexOutOfRange InternalError "
                      "InvalidArgument NervureError NodeNotFound NotShared NotSupported NumericError ProcessLost "
                      "ShapeMismatch UnknownName WrongKind",
    "nervure.inspection.config": "show_config",
    "nervure.types.dtype": "DType as_dtype bfloat16 bool_ complex64 complex128 float4_e2m1fn float8_e3m4 float8_e4m3 "
                           "float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz "
                           "float8_e8m0fnu float16 float32 float64 int2 int4 int8 int16 int32 int64 uint2 uint4 uint8 "
                           "uint16 uint32 uint64",
    "nervure.types.dim": "Dim dim dim_max dim_min",
    "nervure.types.axis": "Axis FlattenedAxis axis make_axis",
    "nervure.types.axis_class": "make_axis_class",
    "nervure.types.axes": "Axes make_axes",
    "nervure.types.mesh": "Mesh",
    "nervure.types.description": "BasicTensorDescription TensorDescription",
    "nervure.ir.function": "Function",
    "nervure.ops": "Parameter",
    "nervure.ir.provenance": "metadata name_scope no_grad",
    "nervure.front.tensor": "AbstractTensor Tensor",
    "nervure.front.creation": "AssignableTensorOp constant persistent_tensor placeholder temporary tensor variable",
    "nervure.front.devices": "CPUTensor NumPyTensor ScalarTensor XLATensor converts device_in_force devices implement "
                             "show_backends",
    "nervure.front.special.bessel_functions": "i0",
    "nervure.front.dlpack": "from_dlpack",
    "nervure.front.effects": "assign doall fill host_call print_op sequential set_item value_of",
    "nervure.front.custom": "custom_vjp",
    "nervure.front.nodes": "defnode",
    "nervure.autodiff.derivative": "deriv",
    "nervure.transformers.devices.pool": "memory_pool",
    "nervure.computation": "Computation computation evaluate seed",
    "nervure.eager": "call_optimizer parameter proceed rand randn reset_grad",
    "nervure.tensor_storage": "mref",
    "nervure.jit": "jit",
    "nervure.functions.gradient": "grad value_and_grad",
    "nervure.functions.directions": "hvp jvp linearize vjp",
    "nervure.functions.jacobian": "hessian jacobian",
    "nervure.functions.mapping": "vmap",
    "nervure.files.saving": "load load_notes load_together save",
    "nervure.inspection.explain": "explain",
    "nervure.files.state_dict": "StateDict from_state_dict make_state_dict parse_state_dict_key",
    "nervure.files.state_loading": "load_from_state_dict",
    "nervure.files.model_formats": "define_model_format load_weights save_weights",
    "nervure.bridges.torch.bridge": "from_torch",
    "nervure.bridges.stablehlo": "export_stablehlo",
    "nervure.build": "CompiledComposite build forward train_step",
    "nervure.inspection.profiling": "disassemble proceed_bench proceed_time",
    "nervure.training.trainer": "Trainer",
}
"""The modules of the public names, except those of the modules below, which list theirs in ``__all__``."""

_WHOLE = tuple([f"nervure.front.{name}" for name in (
    "pointwise.elementwise", "op_functions", "pointwise.elementary", "networks.nonlinearities",
    "special.special_functions", "pointwise.complex_parts", "statistics.reductions", "pointwise.predicates",
    "statistics.nan_reductions", "matrices.contraction", "statistics.sorts", "statistics.prefixes",
    "statistics.ranks", "statistics.bins", "statistics.segment_reductions", "signals.polynomials",
    "signals.polynomial_roots", "pointwise.bits", "pointwise.float_bits", "arranging.views",
    "arranging.rearranging", "arranging.joining", "arranging.stacking", "arranging.indexing", "arranging.gathering",
    "arranging.found", "statistics.sets", "arranging.selecting", "arranging.editing", "arranging.filled",
    "arranging.diagonals", "arranging.grids", "arranging.index_grids", "matrices.matrix_products",
    "statistics.differences", "pointwise.quantisation", "signals.window_functions", "images.convolution",
    "images.pooling", "images.sampling", "images.interpolation", "images.regions_of_interest",
    "images.pool_positions", "images.deformable", "networks.normalization", "networks.attention", "random",
    "networks.noise", "statistics.distances", "facets", "gradients", "flexible", "iterators", "loops.choices",
    "loops.checkpointing", "sharding", "loops.loop_functions", "loops.associative_scan")])
_SUBMODULES = ("autodiff", "bridges", "data", "fft", "flags", "front", "ir", "linalg", "nn", "ops", "optim", "passes",
               "processes", "random", "special", "testing", "tools", "training", "transformers", "types")
_WHERE = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return _imported(f"nervure.{name}")
    if name in _WHERE:
        value = getattr(_imported(_WHERE[name]), name)
    elif name.startswith("__"):
        raise AttributeError(f"module 'nervure' has no attribute {name!r}")
    else:
        value = _search(name)
    globals()[name] = value
    return value


def _imported(name: str) -> ModuleType:
    with importing():
        return importlib.import_module(name)


def _search(name: str) -> Any:
    """Returns a function of one of the modules that are public as a whole, of which others are seldom imported."""
    for module_name in [*filter(None, [MODULES.get(name)]), *_WHOLE]:
        module = _imported(module_name)
        if name in module.__all__:
            return getattr(module, name)
    from nervure.support.elsewhere import unknown_function
    raise unknown_function(name, __dir__())


class _Package(ModuleType):
    """Keeps ``nervure.computation`` and ``nervure.jit`` the functions: importing the modules would replace them."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _WHERE and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __reduce__(self) -> tuple[object, ...]:
        return importlib.import_module, (self.__name__,)  # as cloudpickle keeps plain modules


sys.modules[__name__].__class__ = _Package


def __dir__() -> list[str]:
    whole = [name for module in _WHOLE for name in _imported(module).__all__]
    return sorted({*_WHERE, *whole, *_SUBMODULES, "__version__"})
