"""Loops over tensors: ``scan``, ``while_loop``, ``fori_loop`` and ``map`` run a function once for each iteration.

The function is traced once. It gives a *carry*, one tensor or several in any nesting, to the next iteration.

>>> import nervure as nv
>>> total, sums = nv.scan(lambda total, x: (total + x, total + x), 0.0, nv.constant([1., 2., 3.]))
>>> total.item(), sums.tolist()
(6.0, [1.0, 3.0, 6.0])
>>> nv.while_loop(lambda x: x < 100, lambda x: x * 2, nv.constant(3)).item()
192.0

What the function takes from around it, tensors and variables, stays the same in all iterations; a variable that it
assigns has its new value in the next one. Each iteration draws random numbers of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nervure import ops
from nervure.errors import AxisMismatch, InvalidArgument, ShapeMismatch, WrongKind, shown
from nervure.front import argument_parsing, pytrees
from nervure.front.alignment import arranged
from nervure.front.creation import as_tensor
from nervure.front.evaluation_order import in_order
from nervure.front.loops.bodies import TracedBody, after_assignments, iteration_seed, read_of, tensors_of_leaves
from nervure.front.loops.choices import cond, one_integer
from nervure.front.promotion import promote, weak_type
from nervure.front.pytrees import Nested, paths
from nervure.front.random import SEED
from nervure.front.tensor import Tensor, described_type, has_found_length
from nervure.front.traced_numbers import TracedNumber, is_number
from nervure.ir.function import Function
from nervure.ir.leaves import Full, Parameter
from nervure.ir.op import Value
from nervure.ir.region import INSTEAD_OF_LENGTHS
from nervure.ir.variable import Variable
from nervure.ops.branching import If
from nervure.ops.comparison import LogicalAnd
from nervure.ops.conversion import converted
from nervure.ops.looping import Scan, While
from nervure.ops.order import Sequential
from nervure.ops.scan_in_blocks import scan_in_blocks
from nervure.ops.views import moved_axes
from nervure.support.elsewhere import explain_keywords
from nervure.types.axes import Axes, AxisLike
from nervure.types.axis import Axis, make_axis, same_role
from nervure.types.axis import axis as named_axis
from nervure.types.dim import Dim, DimLike, equal, same_lengths
from nervure.types.dtype import bool_, int64, uint64


def scan(f: Callable[..., Nested], init: Nested, xs: Nested = None, length: DimLike | None = None,
         reverse: bool = False, axis: AxisLike = 0, checkpoint: int | None = None) -> Nested:
    """Runs ``carry, y = f(carry, x)`` for each slice x of ``xs``; returns the last carry, and all y stacked.

    The first carry is ``init``. ``xs`` is a tensor or several in any nesting, sliced along ``axis`` (a name, an axis or
    a position); without any (None) ``length`` is the number of iterations. With ``reverse`` they go from the last slice
    to the first; y lies where its slice does. Results are stacked along a first axis, the one of ``xs``. The carry
    keeps its types and axes, else an InvalidArgument says which leaf does not. With ``checkpoint``, a number of
    iterations, derivatives keep the carry once in that many of them, and run the iterations between again.

    >>> decay = nv.variable((), 0.5)
    >>> x = nv.placeholder("T=t, F=2")
    >>> def step(state, row):
    ...     state = state * decay + row
    ...     return state, state
    >>> run = nv.computation(nv.scan(step, nv.zeros("F=2"), x, axis="T")[1], x)
    >>> run(np.ones((3, 2))).tolist()
    [[1.0, 1.0], [1.5, 1.5], [1.75, 1.75]]
    """
    argument_parsing.require_function(f, "scan", "f", ["carry", "x"])
    return _scanned("scan", f, init, xs, length, reverse, axis, checkpoint)


def map(f: Callable[..., Nested], xs: Nested, axis: AxisLike = 0, checkpoint: int | None = None) -> Nested:
    """Returns ``f(x)`` of each slice x of ``xs`` along ``axis``, stacked. ``xs`` and results may be nested.

    ``checkpoint`` is that of ``nv.scan``.

    >>> nv.map(lambda row: nv.sum(row) * row, nv.constant([[1., 2.], [3., 4.]])).tolist()
    [[3.0, 6.0], [21.0, 28.0]]
    """
    argument_parsing.require_function(f, "map", "f", ["x"])
    return _scanned("map", lambda carry, x: (carry, f(x)), (), xs, axis=axis, checkpoint=checkpoint)[1]


@in_order
def fori_loop(lower: object, upper: object, body_fun: Callable[..., Nested], init_val: Nested,
              checkpoint: int | None = None) -> Nested:
    """Returns the value after ``value = body_fun(i, value)`` for i from ``lower`` up to, but not, ``upper``.

    i is int64, and so are bounds that are tensors, or numbers that a traced function is given. With bounds that are
    other numbers or lengths the loop has derivatives, for which ``checkpoint`` is that of ``nv.scan``.

    >>> nv.fori_loop(0, 5, lambda i, product: product * (i + 1).astype(nv.float32), 1.0).item()
    120.0
    """
    argument_parsing.require_function(body_fun, "fori_loop", "body_fun", ["i", "value"])
    if not any([isinstance(bound, (Tensor, TracedNumber)) for bound in (lower, upper)]):
        first, end = _bound(lower, "lower"), _bound(upper, "upper")
        count = end - first
        if isinstance(count, int):
            count = max(count, 0)
        numbers = Tensor(ops.Iota((count,), None, int64))
        start = as_tensor(first, "fori_loop", "lower", int64) if isinstance(first, Dim) else first
        return _scanned("fori_loop", lambda value, i: (body_fun(i + start, value), None), init_val, numbers,
                        checkpoint=checkpoint)[0]
    if checkpoint is not None:
        raise InvalidArgument("a loop between tensors has no derivatives, and keeps nothing for them", op="fori_loop",
                              operand="checkpoint", got=shown(checkpoint), expected="None",
                              help="leave it out, or give bounds that are numbers, such as static= names, or lengths")
    start, stop = _counter(lower, "lower"), _counter(upper, "upper")
    counted = _Traced("fori_loop", lambda state: (state[0] + 1, body_fun(*state)), (start, init_val), [],
                      ["i", *paths(pytrees.flatten(init_val)[1], "carry")])
    return counted.repeated(lambda state: state[0] < stop)[1]


def while_loop(cond_fun: Callable[..., Nested], body_fun: Callable[..., Nested], init_val: Nested,
               max_trips: DimLike | None = None) -> Nested:
    """Returns the value after ``value = body_fun(value)`` as long as ``cond_fun(value)``, one bool, is true.

    The value may be nested, and keeps its types and axes. With ``max_trips`` the loop has derivatives, and takes the
    time of that many iterations' conditions; a call in which it would go on after them is an error.

    >>> half = nv.while_loop(lambda x: x > 1, lambda x: x / 2, nv.constant(12.0))
    >>> half.item()
    0.75
    """
    for function, operand in ((cond_fun, "cond_fun"), (body_fun, "body_fun")):
        argument_parsing.require_function(function, "while_loop", operand, ["value"])
    loop = _Traced("while_loop", body_fun, init_val, [])
    if max_trips is None:
        return loop.repeated(cond_fun)
    most = _trips(max_trips, "while_loop", "max_trips")

    def still_holds(held: Tensor, value: Nested) -> Tensor:
        """Whether the condition has held all along: one that draws numbers might hold again once it did not."""
        return Tensor(LogicalAnd(held.value, _holds(cond_fun(value)).value).output)

    def step(state: Nested, _: Nested) -> Nested:
        held, value = state
        holds = still_holds(held, value)
        return (holds, cond(holds, body_fun, lambda same: same, value)), None
    begun = Tensor(Full(True, bool_, ())), loop.nested(loop.carries)
    (held, final), _ = _scanned("while_loop", step, begun, length=most)
    return _ended(final, still_holds(held, final), most)


def _scanned(name: str, f: Callable[..., Nested], init: Nested, xs: Nested = None, length: object = None,
             reverse: object = False, axis: AxisLike = 0, checkpoint: object = None) -> Nested:
    """Runs what ``scan`` runs, for the function ``name``, which errors are about."""
    every = None if checkpoint is None else argument_parsing.integer(
        checkpoint, name, "checkpoint", help="None, or leave it out, for no checkpoints; the square root of the number "
        "of iterations keeps least", least=1)
    leaves, pattern = pytrees.flatten(xs)
    slices = _Slices(name, leaves, pattern, length, axis)

    def step(carry: Nested, *parts: Tensor) -> Nested:
        found = f(carry, slices.nested(parts))
        if not isinstance(found, tuple) or len(found) != 2:
            raise WrongKind("the function gives a carry and what is stacked", op=name, operand="f",
                            got=f"{found!r:.80}", expected="(carry, y)", help="y may be None: return carry, None")
        return found

    backwards = argument_parsing.truth(reverse, name, "reverse")
    return _Traced(name, step, init, slices.parts, gives_pairs=True).scanned(slices, backwards, every)


# -- slices ----------------------------------------------------------------------------------------------------------


class _Slices:
    """The sliced tensors of a scan: ``tensors`` with the sliced dimension first, and ``parts`` like one slice of each.
    """

    def __init__(self, name: str, leaves: Sequence[object], pattern: pytrees.Pattern, length: object,
                 axis: AxisLike) -> None:
        self._name, self._leaves, self._pattern = name, leaves, pattern
        self.tensors: list[Tensor] = []
        self.parts: list[Tensor] = []
        self.axis: Axis | None = None
        self._length: DimLike | None = None if length is None else _trips(length, name, "length")
        for leaf, path in zip(leaves, paths(pattern, "xs"), strict=True):
            if leaf is not None:
                self._add(as_tensor(leaf, name, path), axis, path)
        if self.axis is None and isinstance(axis, (str, Axis)):
            self.axis = axis if isinstance(axis, Axis) else named_axis(axis, self.length)

    @property
    def length(self) -> DimLike:
        """The number of iterations."""
        if self._length is None:
            raise InvalidArgument("the number of iterations is not known", op=self._name,
                                  operand="length", got="no slices and no length", expected="one of them",
                                  help="give xs, or length=")
        return self._length

    def nested(self, parts: Sequence[Tensor]) -> Nested:
        """Returns slices in the nesting of ``xs``."""
        remaining = iter(parts)
        return pytrees.unflatten(self._pattern, [None if leaf is None else next(remaining) for leaf in self._leaves])

    def _add(self, x: Tensor, axis: AxisLike, path: str) -> None:
        if x.ndim == 0:
            raise ShapeMismatch("there is no axis to take slices along", op=self._name, operand=path, got=str(x.type),
                                expected="one axis or more",
                                help="what stays the same is captured: use it in the body; of a list of numbers "
                                     "nv.constant makes one tensor")
        at = argument_parsing.position_of(x, axis, self._name)
        found = x.type.shape[at]
        if self._length is None:
            self._length = found
        elif equal(found, self._length) is not True:
            raise ShapeMismatch("the slices are of different lengths", op=self._name, operand=path, got=str(found),
                                expected=str(self._length),
                                help="all of xs, and length= if it is given, have one number of iterations")
        if x.is_named and self.axis is None:
            self.axis = x.axes[at]
        moved = moved_axes(x.value, at, 0)
        axes = None if x._axes is None else Axes([*x.axes[:at], *x.axes[at + 1:]])
        self.tensors.append(Tensor(moved))
        self.parts.append(Tensor(Full(0, x.dtype, moved.type.shape[1:]), axes))

    def stacked(self, value: Value, like: Tensor, path: str) -> Tensor:
        """Returns what a body's result at a ``path`` becomes: it has the axis of the slices in front of its own."""
        if not like.is_named and not (like.ndim == 0 and self.axis is not None and not self.axis.is_anonymous):
            return Tensor(value)
        own = self.axis if self.axis is not None and not self.axis.is_anonymous else make_axis(self.length)
        if any([same_role(own, other) for other in like.axes]):
            raise AxisMismatch(f"a result has an axis {own.label} in each iteration", op=self._name, operand=path,
                               got=described_type(like), expected=f"axes other than {own.label}, that of the slices",
                               help="nv.map_roles renames axes")
        return Tensor(value, Axes([own, *like.axes]))


# -- tracing ---------------------------------------------------------------------------------------------------------


class _Traced:
    """The body of a loop, traced. Its first carry is ``init``; other parameters are like ``parts``.

    Where ``init`` is a number of Python whose type the body changes, it takes that type, and the body is traced again:
    at most once for each carry, and once more.
    ``shown`` are the texts for its leaves in errors. If ``step`` ``gives_pairs``, these are a carry, and what is
    stacked.
    """

    def __init__(self, name: str, step: Callable[..., Nested], init: Nested, parts: Sequence[Tensor],
                 shown: Sequence[str] | None = None, gives_pairs: bool = False) -> None:
        self.name, self.step, self.parts, self.gives_pairs = name, step, parts, gives_pairs
        self.leaves, self.pattern = pytrees.flatten(init)
        self.paths = paths(self.pattern, "carry") if shown is None else shown
        self.init = [None if leaf is None else as_tensor(leaf, name, path)
                     for leaf, path in zip(self.leaves, self.paths, strict=True)]
        for _ in self.leaves:  # a carry may take the type of one that takes that of another
            wider = self._trace()
            if wider is None:
                break
            self.init = wider
        else:
            self._trace(may_widen=False)

    @property
    def carries(self) -> list[Tensor]:
        """The first carries."""
        return [entry for entry in self.init if entry is not None]

    def nested(self, tensors: Sequence[Tensor]) -> Nested:
        """Returns tensors in the nesting of the carry."""
        remaining = iter(tensors)
        return pytrees.unflatten(self.pattern, [None if entry is None else next(remaining) for entry in self.init])

    def _trace(self, may_widen: bool = True) -> list[Tensor | None] | None:
        """Traces the body; returns other first carries if some have to be of another type, and they ``may_widen``."""
        count = len(self.carries)
        self.body = TracedBody(self.name, [*self.carries, *self.parts])
        with self.body.tracing():
            found = self.step(self.nested(self.body.tensors[:count]), *self.body.tensors[count:])
            carry, stacked = found if self.gives_pairs else (found, None)
            leaves, pattern = pytrees.flatten_as(self.pattern, carry)
            if pattern != self.pattern:
                raise InvalidArgument("the carry changes its nesting", op=self.name, operand="carry",
                                      got=f"{carry!r:.80}",
                                      expected=f"{self.nested(self.carries)!r:.80}, as it came in",
                                      help="the body gives a carry of the same nesting as the first one")
            wider = [self._wider(at, leaf) for at, leaf in enumerate(leaves)]
            if may_widen and any([mine is not theirs for mine, theirs in zip(wider, self.init, strict=True)]):
                return wider
            new = [tensor for tensor in [self._fitted(at, leaf) for at, leaf in enumerate(leaves)]
                   if tensor is not None]
            others, self.other_pattern = pytrees.flatten(stacked)
            self.other_paths = paths(self.other_pattern, "y")
            self.stacked = tensors_of_leaves(others, self.name, self.other_paths)
        self.body.close_leaves(others, self.stacked, new)
        return None

    def _wider(self, at: int, leaf: object) -> Tensor | None:
        """Returns the first carry at a place, in the type that the body gives if it was a number of Python."""
        first = self.init[at]
        if first is None or not is_number(self.leaves[at]) or not isinstance(leaf, Tensor) or leaf.dtype is first.dtype:
            return first
        dtype = promote([leaf.dtype], [weak_type(self.leaves[at])], self.name)
        return first if dtype is first.dtype else Tensor(converted(first.value, dtype), first._axes)

    def _fitted(self, at: int, leaf: object) -> Tensor | None:
        """Returns a carry as the body gives it, with the axes in order; InvalidArgument if it has changed."""
        first = self.init[at]
        if first is None and leaf is None:
            return None
        if first is None or leaf is None:
            raise self._changed(at, leaf, first)
        own = as_tensor(leaf, self.name, self.paths[at], first.dtype)
        try:
            own = arranged(own, first.axes, self.name, self.paths[at]) if first.is_named else own
        except AxisMismatch as error:
            raise self._changed(at, own, first) from error
        is_same = own.dtype is first.dtype and (own.ndim == 0 or own.is_named == first.is_named) and same_lengths(
            own.type.shape, first.type.shape)
        if not is_same:
            raise self._changed(at, own, first)
        return own

    def _changed(self, at: int, got: object, first: object) -> InvalidArgument:
        shown = [described_type(entry) if isinstance(entry, Tensor) else repr(entry) for entry in (got, first)]
        help = "a carry keeps its element type, shape and axes: convert the result, or make the first carry like it"
        if isinstance(got, Tensor) and has_found_length(got):
            help = f"each iteration may find another length: {INSTEAD_OF_LENGTHS}"
        return InvalidArgument(f"{self.paths[at]} comes out of the body as something else", op=self.name,
                               operand=self.paths[at], got=f"{shown[0]} came out",
                               expected=f"{shown[1]}, which came in", help=help)

    # -- the ops -------------------------------------------------------------------------------------------

    def _parameters(self) -> tuple[list[Variable], list[Variable]]:
        """Returns the variables that the body writes, and those that it only reads."""
        written = [variable for variable in self.body.variables if variable in self.body.written]
        return written, [variable for variable in self.body.variables if variable not in written]

    def scanned(self, slices: _Slices, reverse: bool, every: int | None) -> Nested:
        """Returns the last carry and what is stacked, made in blocks of ``every`` iterations if that is a number."""
        body, count, length = self.body, len(self.carries), slices.length
        written, read = self._parameters()
        sliced = [entry.value for entry in slices.tensors]
        own = body.parameters[count:]
        if SEED in body.variables:
            number = Parameter(uint64, ())
            body.replace_reads(SEED, iteration_seed(body.variables[SEED].output, number.output))
            sliced.append(ops.Iota((length,), None, uint64).output)
            own = [*own, number]
        news = [body.new_value(variable, body.variables[variable]) for variable in written]
        results = [*body.results[:count], *news, *body.results[count:]]
        function = body.function(results, [
            *body.parameters[:count], *[body.variables[each] for each in written], *own, *body.outside.values(),
            *[body.variables[each] for each in read]])
        begun = _read_after([*sliced, *body.outside], written)
        op = Scan(*[entry.value for entry in self.carries], *begun, *sliced, *body.outside,
                  *[read_of(each) for each in read], body=function, carries=count + len(written), slices=len(sliced),
                  length=length, reverse=reverse, saved=tuple(range(count + len(written))))
        outputs = op.outputs if every is None else scan_in_blocks(op, every)
        given = [*outputs[:count], *outputs[count + len(written):len(results)]]
        last = dict(zip(written, outputs[count:count + len(written)], strict=True))
        values = after_assignments(given, last, op.effectful, self.name)
        carry = self.nested([Tensor(value, entry._axes) for value, entry in zip(values, self.carries, strict=False)])
        rest = iter(values[count:])
        wholes = [None if tensor is None else slices.stacked(next(rest), tensor, path)
                  for tensor, path in zip(self.stacked, self.other_paths, strict=True)]
        return carry, pytrees.unflatten(self.other_pattern, wholes)

    def repeated(self, cond_fun: Callable[..., Nested]) -> Nested:
        """Returns the carry for which a condition is false."""
        body, carries, test = self.body, self.carries, self._condition(cond_fun)
        written, read = self._parameters()
        read += [variable for variable in test.variables if variable not in body.variables]
        outside = list(dict.fromkeys([*body.outside, *test.outside]))
        has_counter = any([SEED in entry.variables for entry in (body, test)])
        functions = []
        for entry in (test, body):
            places, counter = entry.holding([*written, *read]), [Parameter(uint64, ())] if has_counter else []
            if SEED in entry.variables:
                entry.replace_reads(SEED, iteration_seed(entry.variables[SEED].output, counter[0].output))
            news = [] if entry is test else [
                *[entry.new_value(*pair) for pair in zip(written, places, strict=False)],
                *[number.output + 1 for number in counter]]
            functions.append(entry.function([*entry.results, *news], [
                *entry.parameters, *places[:len(written)], *counter, *entry.taking(outside), *places[len(written):]]))
        first = [*[entry.value for entry in carries], *_read_after(outside, written),
                 *[Full(0, uint64, ()).output for _ in range(has_counter)]]
        op = While(*first, *outside, *[read_of(each) for each in read], condition=functions[0], body=functions[1],
                   carries=len(first))
        last = dict(zip(written, op.outputs[len(carries):], strict=False))
        values = after_assignments(op.outputs[:len(carries)], last, op.effectful, self.name)
        return self.nested([Tensor(value, entry._axes) for value, entry in zip(values, carries, strict=True)])

    def _condition(self, cond_fun: Callable[..., Nested]) -> TracedBody:
        test = TracedBody(self.name, self.carries)
        with test.tracing():
            holds = _holds(cond_fun(self.nested(test.tensors)))
        test.close([holds.value])
        if test.written:
            raise InvalidArgument("a condition assigns nothing", op=self.name, operand="cond_fun",
                                  got=f"an assignment to {next(iter(test.written))!r}", expected="a bool alone",
                                  help="assign in the body")
        return test


# -- small parts -----------------------------------------------------------------------------------------------------


def _read_after(values: Sequence[Value], written: Sequence[Variable]) -> list[Value]:
    """Returns mentions of variables that a body writes, after all updates of them that ``values`` hold."""
    return [Sequential(*values, read_of(each)).output for each in written]


def _bound(value: object, operand: str) -> DimLike:
    return value if isinstance(value, Dim) else argument_parsing.integer(
        value, "fori_loop", operand, help="a number, a length, or a tensor of one integer will do")


def _trips(value: object, name: str, operand: str) -> DimLike:
    """Returns a number of iterations that is known when the loop is built."""
    if isinstance(value, Dim):
        return value
    number = None if isinstance(value, Tensor) else argument_parsing.as_integer(value)
    if number is None:
        got = described_type(value) if isinstance(value, Tensor) else shown(value)
        raise WrongKind(f"{operand} is known when the loop is built", op=name, operand=operand, got=got,
                        expected="an integer, or a length such as nv.dim('n')",
                        help="nv.fori_loop takes bounds that are tensors, and nv.while_loop any condition")
    if number < 0:
        raise InvalidArgument("a number of iterations is not negative", op=name, operand=operand, got=number,
                              expected="0 or more", help="with 0 iterations the first carry comes out as it is")
    return number


def _counter(value: object, operand: str) -> Tensor:
    return Tensor(converted(one_integer(value, "fori_loop", operand, "a bound").value, int64))


def _holds(found: object) -> Tensor:
    holds = as_tensor(found, "while_loop", "cond_fun")
    if holds.dtype is not bool_ or holds.ndim:
        raise WrongKind("the condition of a loop is one bool", op="while_loop", operand="cond_fun", got=str(holds.type),
                        expected="bool[]", help="compare numbers; nv.any and nv.all make one bool of many")
    return holds


def _ended(final: Nested, goes_on: Tensor, most: DimLike) -> Nested:
    """Returns the value of a bounded loop; a call in which it would go on is an error."""
    leaves, pattern = pytrees.flatten(final)
    tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
    if not tensors:
        return final
    functions = []
    for is_error in (True, False):
        own = [Parameter.of(entry.type) for entry in tensors]
        guard = ops.Guard(Full(False, bool_, ()), f"the loop would go on after max_trips={most} iterations")
        functions.append(Function(own, own, effects=[guard] if is_error else [], name="ended"))
    op = If(goes_on.value, *[entry.value for entry in tensors], branches=tuple(functions))
    values = iter([Tensor(value, entry._axes) for value, entry in zip(op.outputs, tensors, strict=True)])
    return pytrees.unflatten(pattern, [next(values) if isinstance(leaf, Tensor) else leaf for leaf in leaves])


__all__ = ["fori_loop", "map", "scan", "while_loop"]

explain_keywords(globals(), __all__)
