"""Element types and tensors of PyTorch as those of nervure, in the same memory.

>>> import torch
>>> x = torch.ones(2, dtype=torch.bfloat16)
>>> array = as_array(x)
>>> array[0] = 3
>>> array.dtype.name, x.tolist(), as_tensor(array).dtype
('bfloat16', [3.0, 1.0], torch.bfloat16)
"""

from __future__ import annotations

import numpy as np
import torch

from nervure.bridges.torch.unsupported import Unsupported
from nervure.types import dtype as types
from nervure.types.dtype import DType

_TYPES: dict[torch.dtype, DType] = {
    torch.bool: types.bool_, torch.uint8: types.uint8, torch.int8: types.int8, torch.int16: types.int16,
    torch.int32: types.int32, torch.int64: types.int64, torch.float16: types.float16, torch.bfloat16: types.bfloat16,
    torch.float32: types.float32, torch.float64: types.float64, torch.complex64: types.complex64,
    torch.complex128: types.complex128}

_BY_TYPE = {ours: theirs for theirs, ours in _TYPES.items()}


def dtype_of(theirs: torch.dtype) -> DType:
    """Returns the element type that is called so here; Unsupported if there is none."""
    found = _TYPES.get(theirs)
    if found is None:
        raise Unsupported(f"{theirs} elements")
    return found


def torch_dtype(ours: DType) -> torch.dtype:
    """Returns PyTorch's name of an element type."""
    return _BY_TYPE[ours]


def as_array(tensor: torch.Tensor, is_kept: bool = False) -> np.ndarray:
    """Returns the memory of a tensor as an array of the same shape and strides.

    PyTorch never resizes memory of which an array ``is_kept``; another array is for the time of a call.
    """
    tensor = tensor.detach()
    if tensor.dtype is torch.bfloat16:
        return as_array(tensor.view(torch.int16), is_kept).view(types.bfloat16.numpy)
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    return tensor.numpy() if is_kept else np.from_dlpack(tensor)


def as_tensor(array: np.ndarray) -> torch.Tensor:
    """Returns the memory of an array as a tensor of the same shape and strides, which autograd takes for no view."""
    if array.dtype == types.bfloat16.numpy:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16).detach()
    return torch.from_numpy(array)
