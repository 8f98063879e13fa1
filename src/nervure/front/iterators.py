"""Iterators: loops over the storages of tensors, planned for locality, with a block of the user's own inside.

>>> import nervure as nv
>>> x, y = nv.make_tensor((2, 3), initial_element=2.0), nv.make_tensor((2, 3))
>>> source, target = x.storage.reshape(-1), y.storage.reshape(-1)
>>> @nv.compiled_loop([x, y])
... def double(one, other):
...     for k in range(one.size):
...         target[other.offset + k * other.stride] = 2 * source[one.offset + k * one.stride]
>>> y.tolist()
[[4.0, 4.0, 4.0], [4.0, 4.0, 4.0]]
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from nervure.errors import InvalidArgument, ShapeMismatch, WrongKind, shown
from nervure.front import argument_parsing
from nervure.front.effects import assign
from nervure.front.tensor import Tensor, upward
from nervure.ops.conversion import converted
from nervure.ops.tracing import traced
from nervure.support.elsewhere import explain_keywords
from nervure.types.dim import Dim, DimLike
from nervure.types.layout import Layout
from nervure.types.loop_nest import BlockView, LoopNest, loop_nest

__all__ = ["call_with_view", "compiled_loop", "offset_of", "size_of", "stride_of", "under_multi_thread"]

Block = Callable[..., object]
"""A function that is called with a view of each tensor."""


class _State(threading.local):
    is_shared = False


_state = _State()


def under_multi_thread() -> bool:
    """Whether this code is a block that runs beside others, on a thread of ``parallel=True``.

    >>> nv.under_multi_thread()
    False
    """
    return _state.is_shared


def size_of(view: BlockView, dimension: int = 0) -> DimLike:
    """Returns the number of elements that a block has along one of its dimensions.

    >>> _ = nv.call_with_view(lambda view: print(nv.size_of(view)), [nv.make_tensor((4, 5))])
    20
    """
    return _checked_view(view, "size_of", dimension).sizes[dimension]


def stride_of(view: BlockView, dimension: int = 0) -> DimLike:
    """Returns the distance in the storage between neighbours of a block along a dimension, in elements.

    >>> _ = nv.call_with_view(lambda view: print(nv.stride_of(view)), [nv.make_tensor((4, 5))[:, 0]])
    5
    """
    return _checked_view(view, "stride_of", dimension).strides[dimension]


def offset_of(view: BlockView) -> DimLike:
    """Returns the position in the storage of the first element of a block, in elements.

    >>> _ = nv.call_with_view(lambda view: print(nv.offset_of(view)), [nv.make_tensor((4, 5))[2:]])
    10
    """
    return _checked_view(view, "offset_of", 0).offset


def call_with_view(function: Block, tensors: Sequence[Tensor], at_least_dim: int = 1, force_order: bool = False,
                   parallel: bool = False) -> LoopNest:
    """Calls ``function`` with a view of each tensor, once for each iteration of loops over their shape. Returns the
    loops, which can be printed.

    ``at_least_dim`` dimensions are left to the function, which loops over them itself. The others are interchanged and
    collapsed, so that memory is walked through in small steps, unless ``force_order``. With ``parallel`` calls run on
    several threads. Raises ShapeMismatch unless all tensors have one shape, and InvalidArgument if the loops, rather
    than the blocks, have symbolic lengths.

    >>> x = nv.make_tensor((100, 100, 100))
    >>> print(nv.call_with_view(lambda view: None, [x], at_least_dim=2))
    for i < 100:
      block(100 by 100 x 100 by 1 from 10000*i)
    """
    is_kept = argument_parsing.truth(force_order, "call_with_view", "force_order")
    nest, _ = _planned(tensors, at_least_dim, is_kept, "call_with_view", "at_least_dim")
    if nest.is_symbolic:
        raise InvalidArgument("the loops have lengths that are not known yet", op="call_with_view", operand="tensors",
                              got=", ".join(map(str, nest.lengths)), expected="numbers",
                              help="give the inputs values, or let the block take these dimensions: at_least_dim=")
    is_shared = argument_parsing.truth(parallel, "call_with_view", "parallel")
    argument_parsing.require_function(function, "call_with_view", "function")
    _run(function, nest, is_shared)
    return nest


class compiled_loop:  # lower case, as it is used as a decorator
    """Loops over tensors of one shape: a decorator that runs a block at once, or an iterable of views.

    The parameters are those of ``call_with_view``, with ``kernel_size`` in place of ``at_least_dim`` and ``collapse``
    in place of ``not force_order``. Every length is a number. ``mode="generate"`` takes a scalar expression over the
    namespace of scalars instead, ``function(s, x, ...)``, for the elements of the last tensor, and compiles it.

    >>> x = nv.make_tensor((2, 3), initial_element=1.0)
    >>> [view.size for view, in nv.compiled_loop([x[:, :2]])]
    [2, 2]
    """

    def __init__(self, tensors: Sequence[Tensor], kernel_size: int = 1, collapse: bool = True, mode: str = "runtime",
                 parallel: bool = False) -> None:
        argument_parsing.one_of(mode, ("runtime", "generate"), "compiled_loop", "mode",
                                "'generate' compiles a scalar expression, 'runtime' calls a block")
        is_kept = not argument_parsing.truth(collapse, "compiled_loop", "collapse")
        self._nest, self._tensors = _planned(tensors, kernel_size, is_kept, "compiled_loop", "kernel_size")
        self._mode, self._parallel = mode, argument_parsing.truth(parallel, "compiled_loop", "parallel")
        if any([isinstance(length, Dim) for length in (*self._nest.lengths, *self._nest.sizes)]):
            raise InvalidArgument("a length is not known yet", op="compiled_loop", operand="tensors",
                                  got=str(self._nest), expected="tensors whose lengths are numbers",
                                  help="nv.call_with_view gives a block sizes in symbols")

    def __iter__(self) -> Iterator[tuple[BlockView, ...]]:
        return self._nest.blocks()

    def __call__(self, function: Block) -> Any:
        """Runs the block. Returns the block, or with ``mode="generate"`` the computation, to run again."""
        argument_parsing.require_function(function, "compiled_loop", "function")
        if self._mode == "runtime":
            _run(function, self._nest, self._parallel)
            return function
        computation = self._generated(function)
        computation()
        return computation

    def _generated(self, expression: Block) -> Any:
        """Builds the computation that writes the expression of the other tensors' elements to the last one."""
        *sources, target = self._tensors
        value = traced(expression, [source.value for source in sources], getattr(expression, "__name__", "expression"))
        effect = assign(target, Tensor(converted(value, target.dtype), target._axes))
        return upward().computation(effect)

    def __str__(self) -> str:
        return str(self._nest)


def _planned(tensors: Sequence[Tensor], block_rank: object, keep_order: bool, op: str,
             operand: str) -> tuple[LoopNest, list[Tensor]]:
    """Returns the loop nest for tensors of one shape, and the tensors."""
    rank = argument_parsing.integer(block_rank, op, operand, least=1,
                                    help="1 is for work on single elements, 2 for matrices")
    if isinstance(tensors, Tensor):
        raise WrongKind("tensors are given as a list", op=op, operand="tensors", got=repr(tensors),
                        expected="a list of tensors", help=f"write nv.{op}(..., [x])")
    listed = argument_parsing.members(tensors, op, "tensors", "a list of tensors")
    if not listed:
        raise InvalidArgument("there are no tensors to visit", op=op, operand="tensors", got="an empty list",
                              expected="one or more", help="the block gets a view of each")
    visited = [_checked(entry, op, position + 1) for position, entry in enumerate(listed)]
    shape = visited[0].shape
    for position, entry in enumerate(visited):
        if entry.shape != shape:
            raise ShapeMismatch("the tensors have different shapes", op=op, operand=position + 1,
                                got=entry.shape, expected=shape,
                                help="nv.broadcast spreads one of them over the shape of the others")
    try:
        layouts = [Layout(entry.strides, entry.offset) for entry in visited]
        return loop_nest(shape, layouts, rank, keep_order), visited
    except InvalidArgument as error:
        raise error.within(op, operand=operand) from None


def _checked(x: object, op: str, position: int) -> Tensor:
    if not isinstance(x, Tensor):
        raise WrongKind("only tensors are visited", op=op, operand=position, got=shown(x),
                        expected="a tensor with storage, or a view of one", help="nv.tensor(x) makes one of an array")
    return x


def _checked_view(view: object, op: str, dimension: object) -> BlockView:
    if not isinstance(view, BlockView):
        raise WrongKind("this is no view of a block", op=op, operand=1, got=shown(view),
                        expected="what nv.call_with_view and nv.compiled_loop give to a block",
                        help="x.shape, x.strides and x.offset are those of a tensor")
    rank, position = len(view.sizes), argument_parsing.integer(
        dimension, op, "dimension", help="0 is the first one")
    if not -rank <= position < rank:
        raise InvalidArgument("the block has no such dimension", op=op, operand="dimension", got=position,
                              expected=f"{-rank} to {rank - 1}", help="at_least_dim= says how many it has")
    return view


def _run(function: Block, nest: LoopNest, parallel: bool) -> None:
    if not parallel:
        _visit(function, nest)
        return
    parts = nest.parts(len(os.sched_getaffinity(0)))
    with ThreadPoolExecutor(max_workers=max(1, len(parts)), thread_name_prefix="nervure-block") as pool:
        for waited in [pool.submit(_run_part, function, part) for part in parts]:
            waited.result()


def _run_part(function: Block, nest: LoopNest) -> None:
    _state.is_shared = True
    _visit(function, nest)


def _visit(function: Block, nest: LoopNest) -> None:
    for views in nest.blocks():
        function(*views)


explain_keywords(globals(), ["call_with_view"])
