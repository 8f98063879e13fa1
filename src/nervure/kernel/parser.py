"""Text to kernels: the inverse of :mod:`nervure.kernel.printer`.

>>> text = '''kernel reversed(in x: f32[N], out y: f32[N]):
...   symbol N:1..
...   for i < N parallel vector:
...     v0 = x[-i + N - 1]
...     y[i] = v0
... '''
>>> kernel = parse_kernel(text)
>>> kernel.body[0].body[0].address
Address(base=N - 1, steps=((%0, -1),), terms=())
>>> from nervure.kernel.printer import print_kernel
>>> print_kernel(kernel) == text
True

Variables and loop indices may have any names; a line that begins with # is skipped. Text that does not follow the
grammar of :mod:`nervure.kernel.ir` is a FormatError with the line, the text found and the text expected. The verifier
checks whether the kernel is right. It has no origins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from nervure.errors import InternalError
from nervure.ir.scanner import INTEGER, WORD, Scanner, token
from nervure.kernel import ir
from nervure.kernel.loop_index import Indices
from nervure.kernel.routines import ROUTINES
from nervure.kernel.scalar_types import carries_type, result_type
from nervure.kernel.scope import ParserScope
from nervure.types.dtype import int64

MAX_DEPTH = 60
"""The deepest nesting of loops."""

INDENT = 2
"""The indentation of a body, in spaces."""

_KEYWORD = token(r"(?:for|check|prefetch)(?= )")
_KIND = token(r"(?:reduce|fold|contract|index)(?= )")
_COMBINE = token("|".join(ir.COMBINERS))
_COMBINERS = f"one of {', '.join(ir.COMBINERS)}"
_STRATEGY = token("|".join(ir.STRATEGIES))
_STRATEGIES = f"one of {', '.join(ir.STRATEGIES)}"
_ROUTINE = token("|".join(ROUTINES))
_ROUTINES = f"one of {', '.join(ROUTINES)}"
_GIVE = token(r"give(?= |$)")


def parse_kernel(text: str) -> ir.Kernel:
    """Returns the kernel of a text; FormatError if it has none."""
    return _Parser(text).kernel()


class _Parser:
    """The state of reading a text."""

    def __init__(self, text: str) -> None:
        lines = [Scanner(line.rstrip(), number) for number, line in enumerate(text.split("\n"), 1)]
        self._lines = [line for line in lines if line.text and not line.text.lstrip().startswith("#")]
        self._read = 0  # lines read
        self._scope = ParserScope()

    # -- lines -----------------------------------------------------------------------------------------------

    def kernel(self) -> ir.Kernel:
        """Reads a kernel: its head without the buffers, whose sizes use the symbols; then symbols; buffers;
        statements.
        """
        if not self._lines:
            raise Scanner("", 1).error("there is no kernel", expected="kernel name(buffers):")
        head = self._take()
        head.expect("kernel")
        name = head.take(WORD, "the name of the kernel")
        while self._stands(INDENT) and self._next.text.startswith("symbol ", INDENT):
            self._scope.declare(self._take())
        buffers = self._scope.read_buffers(head)
        head.expect(":")
        head.end()
        body = self._block(INDENT)
        if self._read < len(self._lines):
            raise self._next.error("this line is in no loop", expected=f"{INDENT} spaces before a statement")
        return ir.Kernel(name, buffers, body)

    @property
    def _next(self) -> Scanner:
        return self._lines[self._read]

    def _take(self) -> Scanner:
        self._read += 1
        return self._lines[self._read - 1]

    def _stands(self, margin: int) -> bool:
        """Whether another line with this margin follows."""
        return self._read < len(self._lines) and _margin(self._next) == margin

    def _block(self, margin: int) -> ir.Body:
        if margin > INDENT * (MAX_DEPTH + 1):
            raise self._lines[self._read - 1].error("loops stand too deep", expected=f"at most {MAX_DEPTH}")
        statements: list[ir.Statement] = []
        while self._stands(margin) and _GIVE.match(self._next.text) is None:
            line = self._take()
            statements.append(self._statement(line, margin))
        return tuple(statements)

    def _given(self, margin: int) -> tuple[ir.Scalar, ...]:
        """Reads the line that ends the body of a reduction or fold."""
        if not self._stands(margin) or _GIVE.match(self._next.text) is None:
            line = self._next if self._read < len(self._lines) else self._lines[-1]
            raise line.error("a reduction gives nothing", expected=f"give, {margin} spaces from the left")
        line = self._take()
        line.match(_GIVE)
        values = self._scope.scalars(line)
        line.end()
        return values

    # -- statements --------------------------------------------------------------------------------------------

    def _statement(self, line: Scanner, margin: int) -> ir.Statement:
        keyword = line.match(_KEYWORD)
        if keyword == "for":
            return self._for(line, margin)
        if keyword == "check":
            return self._check(line)
        if keyword == "prefetch":
            return self._prefetch(line)
        names = [line.take(WORD, "a statement")]
        if line.accept("["):
            return self._store(line, names[0])
        while line.accept(","):
            names.append(line.take(WORD, "a variable"))
        line.expect("=")
        kind = line.match(_KIND)
        if kind == "reduce":
            return self._reduce(line, names, margin)
        if kind == "fold":
            return self._fold(line, names, margin)
        if kind == "contract":
            return self._contract(line, names, margin)
        if len(names) > 1:
            raise line.error("only reductions and folds define several variables", expected="reduce or fold")
        made = self._index(line, names[0]) if kind == "index" else self._apply_or_load(line, names[0])
        line.end()
        return made

    def _for(self, line: Scanner, margin: int) -> ir.For:
        indices = self._scope.ranges(line)
        strip = self._strip(line) if line.accept("by ") else []
        parallel, vector = line.accept("parallel"), line.accept("vector")
        tile = self._tile(line) if line.accept("tile ") else None
        widths = self._widths(line)
        unrolled = widths is not None and line.accept("unrolled")
        routine = line.take(_ROUTINE, _ROUTINES) if line.accept("as ") else None
        if len(indices) > 1:
            raise line.error("a loop has one index", got=", ".join([entry for entry, _ in indices]))
        with self._inside(line, [*indices, *strip]) as ((index, extent), *lengths):
            found = [ir.Strip(length, most - 1) for (length, _), (_, most) in zip(lengths, strip, strict=True)]
            body = self._block(margin + INDENT)
            return ir.For(index, extent, body, parallel, vector, widths, unrolled, tile, routine, *found)

    def _strip(self, line: Scanner) -> list[tuple[str, int]]:
        name = line.take(WORD, "a loop index")
        line.expect("<=")
        return [(name, line.integer("iterations") + 1)]

    def _tile(self, line: Scanner) -> ir.Tiling:
        columns = line.integer("columns")
        line.expect("lanes")
        return ir.Tiling(columns, self._numbers(line))

    def _widths(self, line: Scanner) -> ir.Widths | None:
        full = self._numbers(line) if line.accept("lanes ") else ()
        masked = line.integer("lanes") if line.accept("masked ") else 0
        return ir.Widths(full, masked) if full or masked else None

    def _numbers(self, line: Scanner) -> tuple[int, ...]:
        found = [line.integer("lanes")]
        while line.accept(","):
            found.append(line.integer("lanes"))
        return tuple(found)

    def _reduce(self, line: Scanner, names: Sequence[str], margin: int) -> ir.Reduce:
        combine = [line.take(_COMBINE, _COMBINERS)]
        while line.accept(","):
            combine.append(line.take(_COMBINE, _COMBINERS))
        start = self._scope.scalars(line) if line.accept("from ") else ()
        line.expect("over")
        ranges = self._scope.ranges(line)
        order = self._order(line) if line.accept("order ") else ir.DEFAULT_ORDER
        strategy = self._strategy(line) if line.accept("as ") else None
        with self._inside(line, ranges) as indices:
            body = self._block(margin + INDENT)
            values = self._given(margin + INDENT)
        self._check_count(line, len(combine), values)
        results = self._results(line, names, values)
        return ir.Reduce(results, tuple(combine), indices, body, values, strategy, order, start)

    def _order(self, line: Scanner) -> ir.Order:
        lanes = line.integer("lanes")
        line.expect(",")
        block = line.integer("points")
        return ir.Order(lanes, block, line.integer("blocks")) if line.accept(",") else ir.Order(lanes, block)

    def _strategy(self, line: Scanner) -> ir.Strategy:
        name, lanes = line.take(_STRATEGY, _STRATEGIES), line.match(INTEGER)
        return ir.Strategy(name) if lanes is None else ir.Strategy(name, int(lanes))

    def _fold(self, line: Scanner, names: Sequence[str], margin: int) -> ir.Fold:
        line.expect("over")
        with self._inside(line, self._scope.ranges(line)) as indices:
            body = self._block(margin + INDENT)
            values = self._given(margin + INDENT)
        if not self._stands(margin):
            raise line.error("a fold does not say how it combines", expected="combine (...), (...): after it")
        head = self._take()
        head.expect("combine")
        left = self._arguments(head, values)
        head.expect(",")
        right = self._arguments(head, values)
        head.expect(":")
        head.end()
        combine = self._block(margin + INDENT)
        combined = self._given(margin + INDENT)
        self._check_count(head, len(combined), values)
        return ir.Fold(self._results(line, names, values), indices, body, values, left, right, combine, combined)

    def _contract(self, line: Scanner, names: Sequence[str], margin: int) -> ir.Contract:
        line.expect("over")
        with self._inside(line, self._scope.ranges(line)) as indices:
            body = self._block(margin + INDENT)
            values = self._given(margin + INDENT)
        if len(values) != 2:
            raise line.error("a contraction multiplies two scalars", got=len(values), expected="give x, y")
        result, = self._results(line, names, values[:1])
        return ir.Contract(result, indices, body, *values)

    def _arguments(self, line: Scanner, values: Sequence[ir.Scalar]) -> tuple[ir.Variable, ...]:
        line.expect("(")
        names = [line.take(WORD, "a variable")]
        while line.accept(","):
            names.append(line.take(WORD, "a variable"))
        line.expect(")")
        return self._results(line, names, values)

    def _results(self, line: Scanner, names: Sequence[str], values: Sequence[ir.Scalar]) -> tuple[ir.Variable, ...]:
        """Defines variables of the types of some values."""
        self._check_count(line, len(names), values)
        return tuple([self._scope.define(line, name, value.dtype) for name, value in zip(names, values, strict=True)])

    def _check_count(self, line: Scanner, count: int, values: Sequence[ir.Scalar]) -> None:
        if count != len(values):
            raise line.error("the lists of a reduction differ in length", got=count, expected=len(values))

    @contextmanager
    def _inside(self, line: Scanner, indices: Sequence[tuple[str, object]]) -> Iterator[Indices]:
        """Opens the loop whose head ends here."""
        line.expect(":")
        line.end()
        with self._scope.inside(line, indices) as found:
            yield found

    def _check(self, line: Scanner) -> ir.Check:
        condition = self._scope.scalar(line)
        line.expect("else")
        failure = line.integer("the number of a failure")
        line.expect(",")
        value = self._scope.scalar(line)
        line.end()
        return ir.Check(condition, failure, value)

    def _prefetch(self, line: Scanner) -> ir.Prefetch:
        name = line.take(WORD, "a buffer")
        line.expect("[")
        made = ir.Prefetch(self._scope.buffer(line, name), self._scope.address(line))
        line.end()
        return made

    def _store(self, line: Scanner, name: str) -> ir.Store | ir.InterleavedStore:
        buffer, address = self._scope.buffer(line, name), self._scope.address(line)
        combine = line.match(_COMBINE)
        line.expect("=")
        value = self._scope.scalar(line)
        values = [value]
        while combine is None and line.accept(","):
            values.append(self._scope.scalar(line))
        valid = self._scope.scalar(line) if len(values) == 1 and line.accept("if ") else None
        streaming = self._scope.dim(line) if line.accept("streaming ") else 0
        line.end()
        if len(values) > 1:
            return ir.InterleavedStore(buffer, address, tuple(values), streaming)
        return ir.Store(buffer, address, value, combine, valid, streaming)

    def _index(self, line: Scanner, name: str) -> ir.Index:
        expression = self._scope.dim(line)
        return ir.Index(self._scope.define(line, name, int64), expression)

    def _apply_or_load(self, line: Scanner, name: str) -> ir.Apply | ir.Load:
        what = line.take(WORD, "a function or a buffer")
        if not line.accept("("):
            line.expect("[")
            return self._load(line, name, what)
        operands = () if line.accept(")") else self._scope.scalars(line)
        if operands:
            line.expect(")")
        carried = self._scope.dtype(line) if carries_type(what) else None
        try:
            dtype = result_type(what, [operand.dtype for operand in operands], carried)
        except InternalError as error:
            raise line.error(str(error), expected="a function of scalars, and operands that it takes") from None
        return ir.Apply(self._scope.define(line, name, dtype), what, operands)

    def _load(self, line: Scanner, name: str, what: str) -> ir.Load:
        buffer, address = self._scope.buffer(line, what), self._scope.address(line)
        valid = self._scope.scalar(line) if line.accept("if ") else None
        fill = self._scope.scalar(line) if line.accept("else ") else None
        return ir.Load(self._scope.define(line, name, buffer.dtype), buffer, address, valid, fill)


def _margin(line: Scanner) -> int:
    return len(line.text) - len(line.text.lstrip(" "))
