"""Arguments for every row of the table: a list of cases for each overload, of odd shapes and several element types."""

from __future__ import annotations

import math
from typing import Any

import torch

Case = list[Any]

FLOATS, NUMBERS = (torch.float32, torch.float64), (torch.float32, torch.float64, torch.int64)
ALL = (*NUMBERS, torch.bool)
SHAPES = ((), (5,), (3, 1, 7), (0, 3))


def drawn(shape: tuple[int, ...], dtype: torch.dtype = torch.float32, low: float = -2.0, high: float = 2.0) -> Any:
    """A tensor of numbers between bounds, the same for each call with the same arguments."""
    generator = torch.Generator().manual_seed(sum(shape) * 7 + len(shape))
    if dtype is torch.bool:
        return torch.rand(shape, generator=generator) < 0.5
    if dtype.is_floating_point:
        return (torch.rand(shape, generator=generator, dtype=torch.float64) * (high - low) + low).to(dtype)
    if dtype.is_complex:
        return torch.complex(drawn(shape), drawn(shape).flip(0))
    return torch.randint(math.floor(low) - 1, math.ceil(high) + 2, shape, generator=generator, dtype=dtype)


def of_each(dtypes: Any, *further: Any, low: float = -2.0, high: float = 2.0) -> list[Case]:
    return [[drawn(shape, dtype, low, high), *further] for dtype in dtypes for shape in SHAPES]


def pairs(dtypes: Any, *further: Any, low: float = -2.0) -> list[Case]:
    found = [[drawn(left, dtype), drawn(right, dtype, low), *further] for dtype in dtypes
             for left, right in (((4,), (4,)), ((3, 1), (1, 5)), ((2, 3), ()), ((), (2,)), ((0, 2), (1,)))]
    mixed = [[drawn((3,), dtypes[0]), drawn((3,), dtypes[-1], low), *further],
             [drawn((), dtypes[-1]), drawn((2, 2), dtypes[0], low), *further]]
    return found + mixed


SPECIAL = torch.tensor([0.0, -0.0, math.inf, -math.inf, math.nan, 1.5, -1.5, 2.5])
NUMBERS_AND_SPECIAL = [[SPECIAL]]

x23, x234, x4 = drawn((2, 3)), drawn((2, 3, 4)), drawn((2, 3, 5, 7))
places = torch.tensor([[0, 2, 1], [1, 1, 0]])
mask = drawn((2, 3), torch.bool)
EMPTY: Case = []

CASES: dict[str, list[Case]] = {}


def cases(names: str, *lists: list[Case]) -> None:
    """Adds cases to each of the overloads."""
    for name in names.split():
        CASES.setdefault(name, []).extend([case for several in lists for case in several])


cases("acos.default asin.default atanh.default erfinv.default", of_each(FLOATS, low=-0.9, high=0.9))
cases("acosh.default", of_each(FLOATS, low=1.0, high=3.0))
cases("log.default log10.default log2.default log1p.default sqrt.default rsqrt.default lgamma.default digamma.default",
      of_each(FLOATS, low=0.1, high=3.0))
cases("asinh.default atan.default cos.default cosh.default erf.default erfc.default exp.default exp2.default "
      "expm1.default sigmoid.default sin.default sinh.default tan.default tanh.default reciprocal.default",
      of_each(FLOATS), [[drawn((4,), torch.int64, 1, 3)]])
cases("sigmoid.default tanh.default exp.default sqrt.default reciprocal.default", NUMBERS_AND_SPECIAL)
cases("ceil.default floor.default trunc.default round.default neg.default relu.default", of_each(NUMBERS),
      NUMBERS_AND_SPECIAL)
cases("abs.default", of_each(NUMBERS), [[drawn((3,), torch.complex64)], [SPECIAL]])
cases("sign.default isnan.default isinf.default", of_each(ALL), NUMBERS_AND_SPECIAL)
cases("elu.default", of_each(FLOATS, 1.5, 0.5, 2.0))
cases("leaky_relu.default", of_each(FLOATS, 0.2), [[SPECIAL, 0.2]])
cases("gelu.default", of_each(FLOATS))
CASES["gelu.default"] += [[x23, {"approximate": "tanh"}]]
cases("polygamma.default", [[order, drawn((4,), low=0.3)] for order in range(4)])
cases("i0.default special_i0e.default special_i1.default special_i1e.default special_erfcx.default "
      "special_modified_bessel_i0.default special_modified_bessel_i1.default special_spherical_bessel_j0.default "
      "special_bessel_j0.default special_bessel_j1.default",
      [[drawn((3, 5), dtype, -4, 4)] for dtype in FLOATS])
cases("special_modified_bessel_k0.default special_modified_bessel_k1.default special_scaled_modified_bessel_k0.default "
      "special_scaled_modified_bessel_k1.default", [[drawn((3, 5), dtype, 0.5, 4)] for dtype in FLOATS])
# PyTorch's own are off by 7e-10 in float64.
cases("special_bessel_y0.default special_bessel_y1.default", [[drawn((3, 5), torch.float32, 0.5, 2)]])
cases("special_ndtri.default", [[drawn((3, 5), dtype, 0.05, 0.95)] for dtype in FLOATS])
cases("special_zeta.default igamma.default igammac.default",
      [[drawn((3, 1), dtype, 1.2, 4), drawn((1, 5), dtype, 0.5, 3)] for dtype in FLOATS])
cases("nextafter.default", [[drawn((3, 1), dtype), drawn((1, 5), dtype)] for dtype in FLOATS])
cases("ldexp.Tensor", [[x23, torch.tensor([3, -2, 0])], [x23, drawn((3,))], [SPECIAL, torch.tensor(-3)]],
      [[drawn((4,), left), drawn((4,), right)] for left in (torch.int8, torch.int64, torch.bool)
       for right in (torch.int32, torch.float32)])
cases("frexp.Tensor", [[drawn((3, 5), dtype)] for dtype in FLOATS])
cases("signbit.default", NUMBERS_AND_SPECIAL, of_each(ALL))
cases("angle.default", NUMBERS_AND_SPECIAL, of_each(NUMBERS), [[drawn((3,), torch.complex64)]])
cases("round.decimals", [[x23, {"decimals": 1}], [x23 * 100, {"decimals": -1}]])
cases("fmax.default fmin.default copysign.Tensor", pairs(FLOATS), [[SPECIAL, SPECIAL.flip(0)]])
cases("copysign.Scalar", [[x23, -1.0]])
cases("add.Tensor sub.Tensor", pairs(NUMBERS), [[x23, 2.5], [drawn((3,), torch.int64), 2], [x23, x23, {"alpha": 3}],
                                               [drawn((3,), torch.int64), 2.5]])
cases("add.Tensor mul.Tensor", pairs((torch.bool,)), [[drawn((3,), torch.complex64), drawn((3,))]])
cases("add.Scalar sub.Scalar mul.Scalar div.Scalar", [[x23, 2], [drawn((3,), torch.int64), 3]])
cases("rsub.Tensor", pairs(NUMBERS))
cases("rsub.Scalar", [[x23, 2, 3]])
cases("mul.Tensor", pairs(NUMBERS), [[x23, 0.5], [SPECIAL, 0.0]])
cases("div.Tensor", pairs(NUMBERS, low=0.5), [[x23, 0.0], [drawn((3,), torch.int64), 3]])
for _mode in ("floor", "trunc", None):
    cases("div.Tensor_mode", [[left, torch.where(right == 0, 3, right), {"rounding_mode": _mode}]
                              for left, right in pairs(NUMBERS)])
    cases("div.Scalar_mode", [[drawn((7,), torch.int64), 3, {"rounding_mode": _mode}],
                              [x23, -0.7, {"rounding_mode": _mode}]])
_divided = [[left, torch.where(right == 0, 3, right)] for left, right in pairs(NUMBERS)]
cases("floor_divide.default remainder.Tensor fmod.Tensor", _divided)
cases("remainder.Tensor fmod.Tensor", [[SPECIAL[:, None], SPECIAL]])
cases("remainder.Scalar fmod.Scalar", [[x23, -0.7], [drawn((9,), torch.int64), -2]])
cases("remainder.Scalar_Tensor", [[5, torch.tensor([2, -3, 4])]])
cases("pow.Tensor_Tensor", [[drawn((3, 1), low=0.1), drawn((4,))], [torch.tensor([2, -3]), torch.tensor([3, 0])]])
cases("pow.Tensor_Scalar", [[drawn((5,), low=0.1), power] for power in (0.5, 1, 2, 3, -0.5, -1, -2, 1.7)],
      [[drawn((4,), torch.int64), power] for power in (0, 1, 2, 5)])
cases("pow.Scalar", [[2.0, x23], [3, torch.tensor([0, 1, 4])]])
cases("atan2.default hypot.default", pairs(FLOATS))
cases("maximum.default minimum.default", pairs(ALL), [[SPECIAL, SPECIAL.flip(0)]])
cases("clamp.default", [[x23, -0.5, 0.5], [x23, None, 0.5], [SPECIAL, -1.0, 1.0], [drawn((4,), torch.int64), 0, 2],
                        [drawn((4,), torch.int64), 0.5, None]])
cases("clamp.Tensor", [[x23, drawn((3,)), None], [x23, torch.tensor(-1.0), torch.tensor(1.0)]])
cases("hardtanh.default", [[x23], [x23, -0.5, 0.25], [places, -0.5, 1.5]])
cases("where.self", [[mask, x23, drawn((3,))], [mask, torch.tensor(1), x23], [mask, places, 2.0 * x23]])
cases(" ".join(f"{name}.Tensor" for name in ("eq", "ne", "lt", "le", "gt", "ge")), pairs(ALL),
      [[SPECIAL, SPECIAL.flip(0)], [places, x23]])
cases(" ".join(f"{name}.Scalar" for name in ("eq", "ne", "lt", "le", "gt", "ge")), [[places, 1], [places, 0.5],
                                                                                  [x23, 0], [mask, 1]])
cases("logical_and.default logical_or.default logical_xor.default", pairs(ALL))
cases("logical_not.default", of_each(ALL))
cases("bitwise_and.Tensor bitwise_or.Tensor bitwise_xor.Tensor", pairs((torch.int64, torch.bool)))
cases("bitwise_and.Scalar bitwise_or.Scalar bitwise_xor.Scalar", [[places, 1], [mask, True]])
cases("bitwise_and.Scalar_Tensor bitwise_or.Scalar_Tensor bitwise_xor.Scalar_Tensor", [[1, places]])
cases("bitwise_not.default", [[places], [mask], [places.to(torch.uint8)]])
cases("_conj.default _conj_physical.default", [[drawn((2, 3), torch.complex64)]])
cases("complex.default polar.default", [[x23, drawn((3,)).expand(2, 3).contiguous()]])
cases("view_as_real.default view_as_real_copy.default", [[drawn((2, 3), torch.complex64)]])
cases("view_as_complex.default view_as_complex_copy.default", [[drawn((3, 2))]])
cases("_to_copy.default", [[x23, {"dtype": dtype}] for dtype in (torch.float64, torch.int64, torch.int8, torch.bool,
                                                               torch.bfloat16, torch.uint8, torch.complex64)],
      [[torch.tensor([300, -3, 127]), {"dtype": dtype}] for dtype in (torch.int8, torch.uint8, torch.float32)])
cases("prims.convert_element_type.default", [[x23, torch.int64], [places, torch.float32]])
cases("clone.default alias.default detach.default lift_fresh_copy.default alias_copy.default "
      "detach_copy.default", of_each((torch.float32,)))
cases("copy.default", [[x23, places], [x23, drawn((3,))]])
cases("fill.Scalar", [[x23, 2.5], [places, 7]])
cases("fill.Tensor", [[x23, torch.tensor(2.5)]])

cases("full.default", [[[2, 3], 1.5], [[2], 3], [[], True]])
cases("full_like.default", [[x23, 2], [places, 3, {"dtype": torch.float64}]])
cases("zeros_like.default ones_like.default", [[x23], [places]])
cases("zeros.default ones.default", [[[2, 3]], [[0], {"dtype": torch.int64}]])
cases("new_zeros.default new_ones.default", [[x23, [2]]])
cases("scalar_tensor.default", [[2.5], [3, {"dtype": torch.int64}]])
cases("arange.start_step", [[0, 7, 2], [7, 0, -3], [0.0, 1.0, 0.3], [2, 2, 1],
                             [0, 7, 2.0, {"dtype": torch.int64}]])
cases("prims.iota.default", [[5, {"start": 2, "step": 3, "dtype": torch.int64, "device": torch.device("cpu"),
                                  "requires_grad": False}]])
cases("empty.memory_format", EMPTY)
for _name in ("empty.memory_format", "empty_strided.default", "empty_like.default", "new_empty.default",
              "new_empty_strided.default"):
    CASES[_name] = []  # their elements are not defined

_axes = [[x234, [1], True], [x234, [0, -1], False], [x234, None, False], [torch.zeros(0, 3), [0], False],
         [torch.tensor(2.0), [], False]]
cases("sum.dim_IntList", _axes, [[places, [1], False], [mask, [0], True]])
cases("mean.dim", _axes)
cases("sum.default prod.default", of_each(ALL))
cases("mean.default", of_each(FLOATS))
cases("prod.dim_int", [[x234, 1, True], [places, 0]])
cases("var.correction", [[x234, [1], {"correction": 1}], [x234, None, {"correction": 0, "keepdim": True}],
                         [x234, [0, 2], {"correction": 0.5}]])
cases("var.dim", [[x234, [1], True, False]])
cases("var_mean.correction", [[x234, [0, 2], {"correction": 0, "keepdim": True}], [x234, [1]]])
cases("linalg_vector_norm.default", [[x234, order, [1], True] for order in (2, 1, 0, math.inf, -math.inf, 3, 0.5)],
      [[x234]])
cases("amax.default amin.default", [[x234, [1], True], [x234, []], [mask, [0]], [SPECIAL, [0]]])
cases("max.default min.default", [[x234], [mask], [SPECIAL]])
cases("max.dim min.dim", [[x234, 1, True], [places, 0], [SPECIAL, 0], [mask, 1], [torch.tensor(1.0), 0]])
cases("argmax.default argmin.default", [[x234, 1, True], [x234], [torch.tensor([1, 3, 3]), 0], [SPECIAL]])
cases("any.default all.default", of_each(ALL))
cases("any.dim all.dim", [[mask, 1, True], [places, 0], [torch.zeros(2, 0), 1]])
cases("any.dims all.dims", [[drawn((2, 3, 4), torch.bool), [0, 2], False], [mask, []]])

cases("view.default _unsafe_view.default view_copy.default", [[x234, [6, 4]], [x234, [-1]]])
cases("_reshape_alias.default", [[x234, [6, 4], [4, 1]]])
cases("unsqueeze.default unsqueeze_copy.default", [[x23, 1], [x23, -1]])
cases("squeeze.dim squeeze_copy.dim", [[drawn((2, 1, 3)), 1], [x23, 0]])
cases("squeeze.dims squeeze_copy.dims", [[drawn((2, 1, 1)), [1, 2]]])
cases("squeeze.default squeeze_copy.default", [[drawn((2, 1, 1))]])
cases("permute.default permute_copy.default", [[x234, [2, 0, -2]]])
cases("transpose.int transpose_copy.int", [[x234, 0, -1]])
cases("t.default t_copy.default", [[x23], [drawn((3,))]])
cases("expand.default expand_copy.default", [[drawn((3, 1)), [2, 3, 4]], [x23, [-1, 3]], [torch.tensor(1.0), [2]]])
cases("flip.default", [[x234, [0, -1]]])
cases("slice.Tensor slice_copy.Tensor", [[x234, 1, 1, 3], [x234, -1, -3, 100, 2], [x234, 0, 5, 9], [x234, 1, 2, 1]])
cases("select.int select_copy.int", [[x234, 1, -1], [x234, 0, 1]])
cases("split_with_sizes.default split_with_sizes_copy.default", [[x234, [1, 3], -1]])
cases("split.Tensor split_copy.Tensor", [[x234, 3, -1]])
cases("unbind.int unbind_copy.int", [[x234, 1]])
cases("narrow_copy.default", [[x234, 1, 1, 2], [x234, -1, -2, 2]])
cases("unfold.default unfold_copy.default", [[x234, 2, 3, 1], [drawn((9,)), 0, 4, 2]])
cases("diagonal.default diagonal_copy.default", [[x23, 1], [x234, -1, 0, 2]])
cases("slice_scatter.default", [[x234, drawn((2, 2, 4)), 1, 1, 3], [x234, drawn((2, 3, 2)), 2, 0, 4, 2],
                                [x234, drawn((2, 3, 1)), -1, -1]])
cases("select_scatter.default", [[x234, drawn((2, 4)), 1, -2]])
cases("diagonal_scatter.default", [[x23, drawn((2,)), 1]])
_columns = x234.permute(2, 0, 1).contiguous().permute(1, 2, 0)
cases("as_strided.default as_strided_copy.default",
      [[x234, [4, 3, 2], [6, 2, 1]], [x234, [2, 3, 4], [1, 2, 6]], [_columns, [2, 12], [1, 2]],
       [x234, [3, 1, 5], [4, 1, 1]], [_columns, [2, 3], [0, 5]], [x23, [], []], [x234, [2, 3], [3, 1], 7]])
cases("resize.default", [[x234, [4, 2]], [_columns, [5]], [x23, [2, 3]], [x23, [0, 7]]])
cases("as_strided_scatter.default",
      [[x234, drawn((4, 6)), [4, 6], [6, 1]], [_columns, drawn((6, 4)), [6, 4], [1, 6]],
       [x234, drawn((3, 2)), [3, 2], [7, 2]], [_columns, drawn((1, 5)), [1, 5], [1, 4]]])
cases("cat.default", [[[x23, drawn((1, 3))], 0], [[x23, torch.zeros(0), places], 1], [[torch.zeros(0)]]])
cases("stack.default", [[[x23, x23 * 2], -1], [[places, places], 0]])
cases("repeat.default", [[x23, [2, 1, 3]], [torch.tensor(2.0), [3]]])
cases("constant_pad_nd.default", [[x23, [1, 2], 0.5], [x23, [-1, 1, 0, 2]], [places, [1, 0], 7]])
cases("reflection_pad1d.default", [[drawn((2, 3, 4)), [2, 1]]])
cases("reflection_pad2d.default replication_pad2d.default", [[x4, [1, 2, 3, 0]]])
cases("replication_pad1d.default", [[drawn((2, 3, 4)), [2, 5]]])
cases("reflection_pad2d.default replication_pad2d.default", [[x4, [-1, 3, 2, -2]], [x4, [3, -2, -1, -1]]])
cases("reflection_pad3d.default replication_pad3d.default", [[drawn((1, 2, 3, 4, 5)), [1, 1, 2, 0, 1, 1]]])

cases("mm.default", [[x23, drawn((3, 4))], [torch.zeros(0, 3), drawn((3, 2))]])
cases("bmm.default", [[x234, drawn((2, 4, 5))]])
cases("_trilinear.default",
      [[drawn((4, 3)), drawn((5, 3, 2)), drawn((4, 2)), [1, 3], [0], [1, 2], [2, 3]],
       [drawn((4, 5)), drawn((5, 3, 2)), drawn((4, 2)), [2, 3], [0], [1, 2], [0, 3]],])
cases("dist.default", [[x23, drawn((3,)) * 2, order] for order in (2, 1, 0, math.inf, -math.inf, 3)],
      [[x23.double(), drawn(()), 0.5]])
cases("mv.default", [[x23, drawn((3,))]])
cases("dot.default", [[drawn((4,)), drawn((4,)) * 2]])
cases("addmm.default", [[drawn((4,)), x23, drawn((3, 4)), {"beta": 2, "alpha": 0.5}],
                        [drawn((2, 4)) * math.nan, x23, drawn((3, 4)), {"beta": 0}]])
cases("baddbmm.default", [[drawn((2, 3, 5)), x234, drawn((2, 4, 5))]])
cases("addmv.default", [[drawn((2,)), x23, drawn((3,)), {"alpha": 2}]])
cases("addbmm.default", [[drawn((3, 5)), x234, drawn((2, 4, 5))]])

for _order in (2.0, 1.0, 0.0, math.inf, 3.0, 0.5):
    _points, _others = drawn((2, 4, 3)), drawn((2, 5, 3)) * 1.1
    cases("_cdist_forward.default", [[_points, _others, _order, None]])
    cases("_cdist_backward.default", [[drawn((2, 4, 5)), _points, _others, _order,
                                       torch.ops.aten._cdist_forward(_points, _others, _order, None)]])
    cases("_pdist_forward.default", [[_points[0], _order]])
    cases("_pdist_backward.default", [[drawn((6,)), _points[0], _order,
                                       torch.ops.aten._pdist_forward(_points[0], _order)]])
cases("_cdist_forward.default", [[_points, _points[:1, :2], 2.0, 2]])
cases("_cdist_backward.default", [[drawn((4, 4)), _points[0], _points[0], _order,
                                   torch.ops.aten._cdist_forward(_points[0], _points[0], _order, None)]
                                  for _order in (2.0, 1.0, 3.0, 0.5)])

_signal = [drawn((2, length, 3), dtype) for dtype in (torch.complex64, torch.complex128)
           for length in (1, 2, 7, 30, 67, 72, 134)]
# Of several axes, the last are transformed: PyTorch 2.13 itself writes beyond its memory (glibc ends the process with
# "malloc(): invalid size") where a transform of two axes leaves the last axis out, as [0, 1] of 2x200x3 complex128.
cases("_fft_c2c.default", [[x, [1], 0, True] for x in _signal],
      [[x.movedim(1, 2).contiguous(), [1, 2], mode, False] for mode in (1, 2) for x in _signal[3:6:2]])
cases("_fft_r2c.default", [[drawn((2, length, 3), torch.float64), [1], 0, onesided] for length in (1, 2, 7, 30, 72, 134)
                           for onesided in (True, False)], [[x4, [1, 3, 2], 1, True]])
cases("_fft_c2r.default", [[drawn((2, length // 2 + 1, 3), torch.complex64), [1], 2, length]
                           for length in (1, 2, 7, 30, 71, 72)], [[drawn((4, 6, 5), torch.complex64), [0, 1, 2], 0, 9]])

_plain = ([1, 1], [0, 0], [1, 1], False, [0, 0], 1)
cases("convolution.default", [[x4, drawn((4, 3, 3, 2)), drawn((4,)), *_plain],
                              [x4, drawn((6, 1, 3, 3)), None, [2, 1], [1, 2], [1, 2], False, [0, 0], 3],
                              [x4, drawn((3, 2, 3, 3)), drawn((2,)), [2, 3], [1, 0], [1, 1], True, [1, 2], 1],
                              [x234, drawn((2, 3, 2)), None, [1], [1], [1], False, [0], 1]])
_beyond = [[[1, 2], [padding, 1], [4, 3], True, [further, 2], 1] for padding, further in ((1, 3), (3, 1), (0, 2))]
cases("convolution.default", [[x4, drawn((3, 2, 2, 3)), drawn((2,)), *further] for further in _beyond])
cases("convolution_backward.default",
      [[drawn((2, 2, 9 - 2 * further[1][0] + further[4][0], 19)), x4, drawn((3, 2, 2, 3)), [2], *further,
        [True, True, True]] for further in _beyond])
cases("convolution_backward.default",
      [[drawn((2, 4, 3, 6)), x4, drawn((4, 3, 3, 2)), [4], *_plain, [True, True, True]],
       [drawn((2, 4, 3, 6)), x4, drawn((4, 3, 3, 2)), [4], *_plain, [False, True, False]],
       [drawn((2, 2, 10, 21)), x4, drawn((3, 2, 3, 3)), [2], [2, 3], [1, 0], [1, 1], True, [1, 0], 1,
        [True, True, True]]])
cases("max_pool2d_with_indices.default", [[x4, [2, 3]], [x4, [3, 3], [2, 2], [1, 1]],
                                          [x4, [2, 2], [2, 2], [0, 0], [2, 2]],
                                          [x4, [2, 2], [2, 2], [1, 1], [1, 1], True],
                                          [torch.full((1, 1, 4, 4), -math.inf), [3, 3], [1, 1], [1, 1]]])
cases("max_pool3d_with_indices.default", [[drawn((1, 2, 4, 5, 6)), [2, 2, 3]]])
_found = torch.ops.aten.max_pool2d_with_indices.default(x4, [3, 3], [2, 2], [1, 1])
cases("max_pool2d_with_indices_backward.default", [[drawn(tuple(_found[0].shape)), x4, [3, 3], [2, 2], [1, 1], [1, 1],
                                                    False, _found[1]]])
_deep = drawn((1, 2, 4, 5, 6))
_found3 = torch.ops.aten.max_pool3d_with_indices.default(_deep, [2, 2, 2])
cases("max_pool3d_with_indices_backward.default", [[drawn(tuple(_found3[0].shape)), _deep, [2, 2, 2], [2, 2, 2],
                                                    [0, 0, 0], [1, 1, 1], False, _found3[1]]])
cases("avg_pool1d.default", [[x234, [2], [1]], [x234, [3], [2], [1], False, False]])
cases("avg_pool2d.default", [[x4, [2, 3]], [x4, [3, 3], [2, 2], [1, 1]], [x4, [3, 3], [2, 2], [1, 1], True, False],
                             [x4, [3, 3], [2, 2], [1, 1], True, True], [x4, [2, 2], [1, 1], [0, 0], False, True, 3]])
cases("avg_pool3d.default", [[_deep, [2, 2, 2]], [_deep, [3, 2, 2], [2, 1, 2], [1, 0, 1], True, False]])
cases("avg_pool2d.default", [[drawn((1, 2, 6, 7), torch.int64, -9, 9), [3, 2], [2, 2], [1, 1]]])
cases("avg_pool2d_backward.default", [[drawn((2, 3, 3, 4)), x4, [3, 3], [2, 2], [1, 1], False, counted, None]
                                      for counted in (True, False)])
cases("avg_pool3d_backward.default", [[drawn((1, 2, 2, 2, 3)), _deep, [2, 2, 2], [2, 2, 2], [0, 0, 0], False, True,
                                       None]])
cases("_adaptive_avg_pool2d.default", [[x4, [1, 1]], [x4, [3, 2]], [drawn((1, 2, 6, 4)), [3, 2]], [x4, [7, 9]]])
cases("_adaptive_avg_pool3d.default", [[_deep, [2, 1, 3]]])
cases("adaptive_avg_pool1d.default", [[x234, [3]]])
cases("_adaptive_avg_pool2d_backward.default",
      [[drawn((2, 3, 1, 1)), x4], [drawn((2, 3, 3, 2)), x4], [drawn((2, 3, 7, 9)), x4]])
cases("_adaptive_avg_pool3d_backward.default", [[drawn((1, 2, 2, 1, 3)), _deep], [drawn((2, 2, 1, 3)), _deep[0]]])
cases("adaptive_max_pool2d.default", [[x4, [1, 1]], [x4, [3, 2]], [drawn((2, 6, 4)), [3, 2]], [x4.double(), [7, 9]],
                                      [torch.full((1, 3, 4), -math.inf), [2, 3]]])
cases("adaptive_max_pool3d.default", [[_deep, [2, 1, 3]], [_deep, [3, 2, 4]]])
cases("fractional_max_pool2d.default", [[x4, [2, 3], [4, 3], drawn((2, 3, 2), low=0.0, high=1.0)],
                                        [x4[0].double(), [1, 2], [1, 6], drawn((1, 3, 2), torch.float64, 0.0, 1.0)]])
cases("fractional_max_pool3d.default", [[_deep, [2, 1, 2], [2, 3, 4], drawn((1, 2, 3), low=0.0, high=1.0)]])
_windows, _windows3 = [[2, 3], [4, 3]], [[2, 1, 2], [2, 3, 4]]
for _name, _x, _said, _drawn in (
        ("adaptive_max_pool2d", x4, [], [[3, 2]]), ("adaptive_max_pool2d", x4[0], [], [[5, 1]]),
        ("adaptive_max_pool3d", _deep, [], [[2, 1, 3]]), ("adaptive_max_pool3d", _deep[0], [], [[2, 1, 3]]),
        ("fractional_max_pool2d", x4, _windows, [drawn((2, 3, 2), low=0.0, high=1.0)]),
        ("fractional_max_pool3d", _deep[0], _windows3, [drawn((1, 2, 3), low=0.0, high=1.0)])):
    _largest, _at_largest = getattr(torch.ops.aten, _name)(_x, *_said, *_drawn)
    cases(f"{_name}_backward.default", [[drawn(tuple(_largest.shape)), _x, *_said, _at_largest]])

cases("embedding.default", [[drawn((5, 4)), places], [drawn((5, 4)), places, 1]])
cases("embedding_dense_backward.default", [[x234, places, 6, -1, False], [x234, places, 6, 1, False],
                                           [x234, places, 6, 1, True]])
cases("index_select.default", [[x234, -1, torch.tensor([3, 0, 0])], [x23, 1, torch.tensor(2)],
                               [torch.tensor(2.5), 0, torch.tensor([0])]])
cases("gather.default", [[drawn((3, 4)), 1, places], [drawn((2, 3)), 0, places % 2],
                         [torch.tensor(2.5), 0, torch.tensor(0)], [drawn((3,)), 0, torch.tensor(2)],
                         [torch.tensor(2.5), 0, torch.tensor([0, 0])]])
cases("index.Tensor _unsafe_index.Tensor", [[x234, [None, torch.tensor([0, -1])]], [x234, [places % 2, None, places]],
                                            [x234, [None, places, torch.tensor([[1], [2]])]],
                                            [x234, [torch.tensor(1)]]])
cases("index_put.default _unsafe_index_put.default",
      [[x234, [torch.tensor([1, 0]), torch.tensor([2, 2])], drawn((2, 4))],
       [x234, [None, torch.tensor([0, 0, 1])], drawn((4,)), True], [x23, [mask], torch.tensor(5.0)],
       [x234, [torch.tensor([1, 0]), None, torch.tensor([2, 3])], drawn((2, 3))]])
cases("scatter.src", [[drawn((3, 4)), 1, places, drawn((2, 3))], [drawn((2, 3)), 0, torch.tensor([[1, 0]]), x23]])
cases("scatter.value", [[drawn((3, 4)), 1, places, 2.0]])
cases("scatter_add.default", [[drawn((3, 4)), 1, places, drawn((2, 3))]])
cases("scatter_add.default", [[mask, 1, places, mask], [torch.tensor(1.5), 0, torch.tensor(0), torch.tensor(2.0)]])
cases("scatter_reduce.two", [[drawn((3, 4), dtype), 1, places, drawn((2, 3), dtype), reduce, {"include_self": own}]
                             for dtype in (torch.float32, torch.int64) for own in (True, False)
                             for reduce in ("sum", "prod", "mean", "amax", "amin")],
      [[mask, 1, places, ~mask, reduce] for reduce in ("sum", "prod", "amax", "amin")],
      [[torch.tensor(1.5), 0, torch.tensor(0), torch.tensor(2.0), "prod"]])
cases("gather.default", [[drawn((2, 3)), 1, torch.zeros(0, dtype=torch.int64)]])
for _mode in ("add", "multiply"):
    cases("scatter.reduce", [[drawn((3, 4)), 1, places, drawn((2, 3)), {"reduce": _mode}]])
    cases("scatter.value_reduce", [[drawn((3, 4)), 1, places, 2.0, {"reduce": _mode}]])
cases("scatter_add.default", [[drawn((2, 3)), 1, torch.zeros(0, dtype=torch.int64), torch.zeros(0)]])
cases("index_reduce.default", [[drawn((3, 5), dtype), 1, torch.tensor([4, 0, 4]), drawn((3, 3), dtype), reduce,
                                {"include_self": own}]
                               for dtype in (torch.float32, torch.int64) for own in (True, False)
                               for reduce in ("prod", "mean", "amax", "amin")],
      [[torch.tensor(1.5), 0, torch.tensor(0), torch.tensor(2.0), "mean"]])
cases("put.default", [[x234, torch.tensor([[3, -1], [7, 0]]), drawn((2, 2)), adds] for adds in (False, True)],
      [[places, torch.tensor([5, 5, 1]), torch.tensor([2, 3, 4]), True],
       [x23, torch.zeros(0, dtype=torch.int64), torch.zeros(0)]])
_lengths, _lengths2 = torch.tensor([2, 0, 3]), torch.tensor([[1, 2], [3, 0]])
_factors = torch.tensor([[1.5, 0.0, 2.0], [2.0, 2.0, 2.0], [0.0, 2.0, -1.0], [3.0, 0.0, math.nan], [0.5, 3.0, 2.0]])
for _reduce in ("sum", "mean", "prod", "max", "min"):
    for _elements, _axis, _named in ((_factors, 0, {"lengths": _lengths}), (x234, 1, {"lengths": _lengths2}),
                                     (_factors, 0, {"offsets": torch.tensor([0, 2, 2, 5])}),
                                     (_factors.double(), 0, {"lengths": _lengths, "initial": 2.0})):
        _named = {**_named, "axis": _axis, "unsafe": True}
        cases("segment_reduce.default", [[_elements, _reduce, _named]])
        _reduced = torch.ops.aten.segment_reduce(_elements, _reduce, **_named)
        del _named["unsafe"]
        cases("_segment_reduce_backward.default",
              [[drawn(tuple(_reduced.shape), _elements.dtype), _reduced, _elements, _reduce, _named]])
_several = torch.tensor([[True, False, True, True], [False, True, False, True], [False, False, False, True]])
cases("index_put.default",
      [[drawn((3, 4, 2)), [_several], drawn((6, 2))], [drawn((3, 4)), [_several], drawn((6,)), True],
       [drawn((3, 4, 2)), [_several], drawn((1, 2))], [drawn((3, 4)), [_several[0, :3]], drawn((2, 4))]])
_table, _at, _offsets = drawn((6, 3)), torch.tensor([1, 2, 4, 5, 1, 1, 0]), torch.tensor([0, 3, 3, 5])
_given_weights = drawn((7,))
for _mode, _of_each, _padding, _ends in ((0, None, -1, False), (1, None, -1, False), (1, None, 1, False),
                                         (0, _given_weights, 1, True), (0, _given_weights, -1, False),
                                         (2, None, -1, False), (2, None, 1, True)):
    _settings = [_mode, False, _of_each, _ends, _padding]
    _bounds = torch.cat([_offsets, torch.tensor([7])]) if _ends else _offsets
    _bag = torch.ops.aten._embedding_bag(_table, _at, _bounds, False, *_settings)
    cases("_embedding_bag_backward.default", [[drawn((4, 3)), _at, _bounds, *_bag[1:], 6, False, _mode, False, _of_each,
                                               _padding]])
    cases("_embedding_bag_forward_only.default", [[_table, _at, _bounds, False, *_settings]])
    if _of_each is not None:
        cases("_embedding_bag_per_sample_weights_backward.default",
              [[drawn((4, 3)), _table, _at, _bounds, _bag[1], _mode, _padding]])
cases("_embedding_bag.default", EMPTY)  # test_compiling has cases: results but for the first one are PyTorch's own
cases("embedding_renorm.default", [[drawn((6, 3), dtype), at, 1.5, order] for dtype in FLOATS
                                   for at in (_at, _at[:6].reshape(2, 3)) for order in (2.0, 1.0, math.inf)])
cases("repeat_interleave.Tensor", [[torch.tensor([2, 0, 3], dtype=dtype), {"output_size": 5}]
                                   for dtype in (torch.int64, torch.int32)],
      [[torch.tensor([0, 0]), {"output_size": 0}]])
cases("histc.default", [[x234], [x234, 5], [x234, 7, -1.5, 1.0], [x234, 4, 0.5, 0.5], [torch.ones(3), 3],
                        [torch.tensor([0.0, 1.0, math.nan, 4.0, 3.0]).double(), 4, 0, 4]])
_points, _bounds = drawn((4, 5, 2)), [torch.tensor([-2.0, 0.0, 1.5]), torch.tensor([-1.0, -0.5, 0.0, 2.0])]
for _named in ({"density": False}, {"density": True}, {"weight": drawn((4, 5), low=0.1)}, {"range": [-1.0, 1.0]}):
    cases("histogram.bin_ct", [[_points[..., 0].contiguous(), 4, _named]])
    _both = {**_named, "range": [-1.0, 1.0, 0.5, 0.5]} if "range" in _named else _named
    cases("_histogramdd_bin_edges.default _histogramdd_from_bin_cts.default", [[_points, [2, 3], _both]])
    if "range" not in _named:
        cases("histogram.bins_tensor", [[_points[..., 0].contiguous(), _bounds[1], _named]])
        cases("_histogramdd_from_bin_tensors.default", [[_points, _bounds, _named]])
cases("histogram.bin_ct", [[torch.ones(3, dtype=torch.float64), 3]])
cases("masked_scatter.default", [[drawn((3, 4)), _several, drawn((2, 4))], [x234, _several[0], drawn((20,))],
                                 [drawn((200,)), drawn((200,), torch.bool), drawn((300,))], [x23, mask & False, x4]])

cases("_safe_softmax.default", [[x234, 1], [torch.tensor([[-math.inf, -math.inf], [-math.inf, 1.0]]), -1]])
cases("_softmax.default _log_softmax.default", [[x234, 1, False], [torch.tensor([-math.inf, 0.0]), 0, False],
                                                [torch.tensor(1.0), 0, False]])
cases("_weight_norm_interface_backward.default",
      [[drawn(v.shape, low=0.1), v, drawn(norms.shape) + 3, norms, axis] for v, norms, axis in
       ((x234, x234.norm(dim=(1, 2), keepdim=True), 0), (x234, x234.norm(dim=(0, 1), keepdim=True), 2))])
cases("native_layer_norm.default", [[x234, [3, 4], drawn((3, 4)), drawn((3, 4)) * 2, 1e-5],
                                    [x234, [4], None, None, 1e-3]])
cases("native_group_norm.default", [[drawn((2, 6, 5)), drawn((6,)), drawn((6,)) * 2, 2, 6, 5, 3, 1e-5],
                                    [drawn((2, 6, 5)), None, None, 2, 6, 5, 2, 1e-5]])
cases("_native_batch_norm_legit_no_training.default", [[x4, drawn((3,)), drawn((3,)), drawn((3,)) * 2,
                                                        drawn((3,), low=0.5), 0.1, 1e-5]])

_query, _keys = drawn((2, 4, 3, 8)), drawn((2, 4, 5, 8))
_flash = "_scaled_dot_product_flash_attention_for_cpu"
cases(f"{_flash}.default", [[_query, _keys, _keys.flip(2)], [_query, _query, _query, 0.0, True],
                            [_query, _keys[:, :2], _keys[:, :2]],
                            [_query, _keys, _keys, 0.0, False, {"attn_mask": drawn((2, 1, 3, 5)), "scale": 0.3}]])
for _given in ([_query, _keys, _keys.flip(2), 0.0, False], [_query, _query, _query * 0.5, 0.0, True],
               [_query, _keys[:, :2], _keys[:, :2].flip(2), 0.0, False, {"scale": 0.3}],
               [_query, _keys, _keys, 0.0, False, {"attn_mask": drawn((2, 1, 3, 5)), "scale": 0.3}],
               [_query, _keys, _keys, 0.0, True, {"attn_mask": drawn((3, 5), low=-9.0)}]):
    _named = _given[5] if len(_given) > 5 else {}
    _attended = getattr(torch.ops.aten, _flash).default(*_given[:5], **_named)
    cases(f"{_flash}_backward.default", [[drawn((2, 4, 3, 8)), *_given[:3], *_attended, *_given[3:]]])

_long = [[drawn((2, 200)) + 1.1, 1], [drawn((150, 3), torch.int64), 0], [drawn((4200,)), 0]]
cases("cumsum.default cumprod.default", [[x234, 1], [places, 0], [mask, 0], [torch.tensor(2.0), 0]])
cases("cumsum.default", _long, [[SPECIAL, 0]])
cases("cumprod.default", _long[:1])
cases("cummax.default cummin.default", _long, [[x234, 1], [places, 0], [SPECIAL, 0], [SPECIAL.flip(0), 0], [mask, 1],
                                               [torch.tensor(2.0), 0]])
cases("sort.default", [[x234, 1, True], [places, 0], [SPECIAL, 0], [SPECIAL, 0, True], [mask, 1]])
cases("sort.stable", [[places, {"stable": True, "dim": 1, "descending": True}]])
cases("topk.default", [[x234, 2, 2], [x234, 3, 1, False], [SPECIAL[:6], 3], [places[1] + places[0] * 3, 2],
                       [x234[0].to(torch.bfloat16), 2, 0]])
cases("logcumsumexp.default", [[x234, 1], [torch.tensor(2.0), 0], [torch.tensor([-math.inf, 0.0, 1e3, 1.0]), 0],
                               [drawn((300,)).double(), 0]])
_ordered, _numbers = drawn((3, 7)).sort(1)[0], drawn((3, 4), low=-2.5, high=2.5)
_equals = torch.tensor([1, 1, 3, 3, 3, 4])
_both = [[_ordered, _numbers], [_ordered[0], drawn((2, 3, 4))], [torch.zeros(0), x23], [torch.zeros(2, 0), x23],
         [torch.tensor([-1.0, 0.0, 2.0]), torch.tensor([math.nan, math.inf, -0.0, -math.inf])]]
cases("searchsorted.Tensor", _both, [[*pair, {"right": True}] for pair in _both],
      [[_equals, torch.arange(6), {"side": "right", "out_int32": True}], [_equals, torch.arange(6)],
       [drawn((3, 7)), _numbers, {"sorter": drawn((3, 7)).argsort(1)}]])
cases("searchsorted.Scalar", [[_equals, 3], [_ordered[0], 0.5, {"right": True}]])
cases("bucketize.Tensor", [[x234, _ordered[0]], [places, _ordered[0], {"right": True}],
                           [places, _equals, {"out_int32": True}]])
cases("bucketize.Scalar", [[3, _equals], [0.5, _ordered[0], {"right": True}]])
_holed = x234.masked_fill(x234 > 1.5, math.nan)
_gone = torch.full((2, 3), math.nan)
cases("median.dim nanmedian.dim", [[x234, 1, True], [x234, -1], [_holed, 2], [_gone, 1], [torch.tensor(1.5), 0],
                                   [torch.tensor([[3, 1, 2], [5, 8, 7]]), 1]])
cases("median.default nanmedian.default", [[x234], [_holed], [_gone], [places], [torch.tensor(1.5)]])
cases("kthvalue.default", [[x234, 2, 1, True], [x234, 1], [torch.tensor([3, 1, 2]), 3], [torch.tensor(1.5), 1]])
cases("mode.default", [[torch.tensor([[3, 1, 1, 2], [5, 7, 8, 7]]), 1], [x234, 1, True], [torch.tensor(1.5)]])
cases("nonzero_static.default", [[places, {"size": size}] for size in (0, 3, 8)], [[x23, {"size": 7, "fill_value": 5}],
                                                                                   [drawn((5,)), {"size": 2}]])

GIVEN = {"linalg_inv_ex.default": 1, "linalg_cholesky_ex.default": 1, "_linalg_solve_ex.default": 1,
         "_linalg_slogdet.default": 2, "_linalg_det.default": 1, "_embedding_bag_forward_only.default": 1}
"""How many results a row gives, where the others are left to PyTorch."""

UP_TO_PHASES = {"_linalg_svd.default", "_linalg_eigh.default", "linalg_eig.default"}
"""Overloads with vectors of which libraries choose the signs."""

_squares = [drawn((2, 3, 3)) + 3 * torch.eye(3), (drawn((3, 3)) + 2 * torch.eye(3)).double(),
            drawn((3, 3), torch.complex64) + 4 * torch.eye(3)]
_positive = [_a @ _a.mH for _a in _squares]
_lower = [torch.linalg.cholesky(_a) for _a in _positive]
cases("linalg_inv_ex.default _linalg_slogdet.default _linalg_det.default linalg_eig.default _linalg_eigvals.default "
      "linalg_eigvals.default linalg_matrix_exp.default geqrf.default", [[_a] for _a in _squares[1:2]])
cases("linalg_inv_ex.default _linalg_slogdet.default _linalg_det.default linalg_matrix_exp.default geqrf.default",
      [[_a] for _a in _squares])
cases("geqrf.default", [[drawn((4, 2))]])
cases("_linalg_solve_ex.default", [[_squares[0], drawn((2, 3, 2))], [_squares[1], drawn((3,)).double()],
                                   [_squares[0], drawn((2, 3))],
                                   [_squares[1], drawn((2, 3)).double(), {"left": False}]])
cases("linalg_solve_triangular.default",
      [[_a, _a.flip(-1), {"upper": upper}] for _a in _squares for upper in (True, False)],
      [[_squares[0], drawn((2, 5, 3)), {"upper": True, "left": False, "unitriangular": True}]])
cases("triangular_solve.default", [[_squares[0], _squares[0].flip(0)], [_squares[1], _squares[1], False, True, True]])
cases("linalg_cholesky_ex.default cholesky.default", [[_a] for _a in _positive], [[_positive[2], {"upper": True}]])
cases("cholesky_solve.default", [[_squares[0], _lower[0]], [_squares[2], _lower[2].mH.contiguous(), True]])
cases("cholesky_inverse.default", [[_lower[0]], [_lower[2].mH.contiguous(), True]])
cases("linalg_pinv.atol_rtol_tensor",
      [[drawn((2, 4, 3))], [_squares[2]], [drawn((3, 1)) @ drawn((1, 4)), {"rtol": torch.tensor(1e-3)}],
       [_positive[1] - 4 * torch.eye(3), {"hermitian": True}], [drawn((4, 3)), {"atol": torch.tensor(1.5)}]])
cases("linalg_qr.default", [[drawn((4, 3))], [drawn((2, 3, 5))], [drawn((4, 3)), "r"], [drawn((3, 4)), "complete"]])
cases("linalg_householder_product.default", [[drawn((5, 4)), drawn((2,))], [torch.zeros(3, 0), torch.zeros(0)]],
      [[*torch.geqrf(drawn((4, 3)))], [*torch.geqrf(_squares[2])]])
_reflected = torch.geqrf(drawn((4, 3)))
cases("ormqr.default", [[*_reflected, drawn((4, 2))], [*_reflected, drawn((4, 2)), True, True],
                        [*_reflected, drawn((2, 4)), False], [*_reflected, drawn((2, 4)), False, True],
                        [*torch.geqrf(_squares[2]), drawn((3, 2), torch.complex64), True, True]])
cases("_linalg_svd.default", [[drawn((4, 3))], [drawn((3, 3)), True], [_squares[2], False, False]])
cases("_linalg_eigh.default", [[_positive[1]], [_positive[0], "U"], [_positive[2], "L", False]])

_places = drawn((2, 4, 5, 2), low=-1.4, high=1.4)
_cubes, _spots = drawn((1, 2, 3, 4, 5)), drawn((1, 2, 2, 3, 3), low=-1.4, high=1.4)
for _choice in ((0, 0, False), (0, 1, True), (0, 2, False), (1, 0, True), (2, 2, True), (2, 0, False)):
    cases("grid_sampler_2d.default", [[x4, _places, *_choice]])
    cases("grid_sampler_2d_backward.default", [[drawn((2, 3, 4, 5)), x4, _places, *_choice, [True, True]]])
for _choice in ((0, 0, False), (0, 2, True), (1, 1, False)):
    cases("grid_sampler_3d.default", [[_cubes, _spots, *_choice]])
    cases("grid_sampler_3d_backward.default", [[drawn((1, 2, 2, 2, 3)), _cubes, _spots, *_choice, [True, True]]])

for _size in ([2, 3, 4, 5], [2, 3, 1, 5]):
    cases("affine_grid_generator.default", [[drawn((2, 2, 3)), _size, False], [drawn((2, 2, 3)), _size, True]])
cases("affine_grid_generator.default", [[drawn((2, 3, 4)), [2, 1, 2, 3, 4], False]])

for _lengths, _ends, _scales in (([3, 9], False, []), ([3, 9], True, []), ([2, 3], False, [0.4, 0.5]),
                                 ([1, 1], True, [])):
    for _mode in ("bilinear", "bicubic"):
        cases(f"_upsample_{_mode}2d_aa.default", [[x4, _lengths, _ends, *_scales]])
        cases(f"_upsample_{_mode}2d_aa_backward.default", [[drawn((2, 3, *_lengths)), _lengths, [2, 3, 5, 7], _ends,
                                                            *_scales]])

_factored = [torch.linalg.lu_factor(_a) for _a in _squares]
cases("linalg_lu_factor_ex.default", [[_a] for _a in _squares], [[drawn((5, 3))], [drawn((2, 3, 5))]])
cases("linalg_lu.default", [[_a] for _a in _squares], [[drawn((5, 3))]])
cases("lu_unpack.default", [list(_pair) for _pair in _factored])
cases("linalg_lu_solve.default", [[*_factored[0], drawn((2, 3, 2))], [*_factored[1], drawn((3, 2)).double()],
                                  [*_factored[2], drawn((3, 2), torch.complex64), {"adjoint": True}],
                                  [*_factored[0], drawn((2, 2, 3)), {"left": False}]])

for _name in ("chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w",
              "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
              "shifted_chebyshev_polynomial_w", "hermite_polynomial_h", "hermite_polynomial_he",
              "laguerre_polynomial_l", "legendre_polynomial_p"):
    cases(f"special_{_name}.default", [[drawn((4, 1), dtype, -1, 1), torch.tensor([0, 1, 2, 5, 8, -3])]
                                       for dtype in FLOATS], [[drawn((3,)), torch.tensor([2.9, 1.0, -0.5])],
                                                           [torch.tensor(0.3), torch.tensor(4)]])
    cases(f"special_{_name}.n_scalar", [[drawn((4,), low=0.1, high=0.9), order] for order in (0, 3, 20)])
    cases(f"special_{_name}.x_scalar", [[0.3, torch.tensor([0, 4])]])
