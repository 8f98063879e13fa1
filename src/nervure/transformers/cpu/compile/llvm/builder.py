"""Functions in LLVM IR, written as text: of the forms that can be made here, LLVM reads it fastest.

>>> from nervure.transformers.cpu.compile.llvm.types import F32, PTR
>>> b = Builder("square", [("source", PTR), ("target", PTR)])
>>> source, target = b.arguments
>>> x = b.load(source, F32.vector(8), align=4)
>>> b.store(x * x + 1.0, target, align=4)
>>> b.ret()
>>> print(b.text())
define void @square(ptr %source, ptr %target) {
entry:
  %v0 = load <8 x float>, ptr %source, align 4
  %v1 = fmul <8 x float> %v0, %v0
  %v2 = fadd <8 x float> %v1, splat (float 0x3FF0000000000000)
  store <8 x float> %v2, ptr %target, align 4
  ret void
}
<BLANKLINE>
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, TypeAlias

from nervure.errors import InternalError
from nervure.transformers.cpu.compile.llvm.register import Operand, Register
from nervure.transformers.cpu.compile.llvm.types import I1, I32, I64, PTR, Type
from nervure.transformers.cpu.settings import COLD

__all__ = ["BasicBlock", "Builder", "LoopBuilder", "Operand", "InsertionPoint", "Register", "assemble"]

Number = int | float | bool
Lines: TypeAlias = "list[str | Phi | InsertionPoint]"


_MASKED = {"float": "s", "double": "d", "i32": "d", "i64": "q"}
"""The letters of elements in the names of intrinsics for masked loads."""


class Builder:
    """One function. Declarations that it needs are collected in ``declarations`` for the module.

    Lines go to the current block; ``block`` opens the next one. Blocks fall through: one that is not ended by a branch
    or a return jumps to the next. With ``has_opaque_counters`` the counters of loops are hidden from LLVM's analyses:
    rewriting them takes a quarter of its time, and gains nothing if addresses are computed as far out as possible. It
    is the intrinsic ``expect`` that hides them, which code generation drops; assembly that does nothing would take a
    twelfth of LLVM's time. If ``masks_are_vectors``, as without AVX-512, loads with masks are the processor's own.
    """

    def __init__(self, name: str, arguments: Sequence[tuple[str, Type]] = (), result: Type | None = None,
                 attributes: str = "", linkage: str = "", has_opaque_counters: bool = False,
                 masks_are_vectors: bool = False) -> None:
        self.has_opaque_counters, self.masks_are_vectors = has_opaque_counters, masks_are_vectors
        self.name, self.result, self.attributes, self.linkage = name, result, attributes, linkage
        self.declarations: dict[str, str] = {}
        self.arguments = [Register(self, type, f"%{label}") for label, type in arguments]
        self._lines: Lines = []
        self._allocations: list[str] = []
        self._count = 0
        self._labels: dict[str, int] = {}
        self._unknown: set[str] = set()  # the masks of which LLVM cannot know a lane
        self._is_open = True
        self.current = BasicBlock("entry")

    # -- lines -------------------------------------------------------------------------------------------

    def emit(self, type: Type, text: str) -> Register:
        """Appends an instruction that returns a value."""
        name = f"%v{self._count}"
        self._count += 1
        self._lines.append(f"  {name} = {text}")
        return Register(self, type, name)

    def line(self, text: str) -> None:
        """Appends an instruction without a value."""
        self._lines.append(f"  {text}")

    def constant(self, type: Type, number: Number) -> Register:
        """Returns a number in all lanes."""
        return Register(self, type, type.literal(number))

    def word(self, x: Operand) -> Register:
        """Returns a register as it is; a number as an i64."""
        return x if isinstance(x, Register) else self.constant(I64, x)

    def vector(self, type: Type, numbers: Sequence[Number]) -> Register:
        """Returns a constant vector, with a number for each lane."""
        element = type.element
        if type.lanes == 1:
            return self.constant(type, numbers[0])
        return Register(self, type, f"<{', '.join([f'{element} {element.literal(number)}' for number in numbers])}>")

    def undefined(self, type: Type) -> Register:
        """Returns a value that is never used."""
        return Register(self, type, "poison")

    # -- regions -----------------------------------------------------------------------------------------

    def region(self) -> InsertionPoint:
        """Opens a place before everything that follows, to which code can be added later with ``at``."""
        region = InsertionPoint(self.current, BasicBlock(self.label("after")))
        region.following.region = region
        self._lines.append(region)
        self.current = region.following
        return region

    def at(self, region: InsertionPoint) -> Insertion:
        """Puts the code built inside into a region."""
        return Insertion(self, region)

    # -- calls -------------------------------------------------------------------------------------------

    def call(self, name: str, result: Type | None, *arguments: Register) -> Register:
        """Calls a function by name, which is declared."""
        if name not in self.declarations:
            types = ", ".join([entry.type.text for entry in arguments])
            self.declarations[name] = f"declare {result or 'void'} @{name}({types})"
        return self.call_pointer(Register(self, PTR, f"@{name}"), result, *arguments)

    def call_pointer(self, function: Register, result: Type | None, *arguments: Register) -> Register:
        """Calls a function by address."""
        text = f"call {result or 'void'} {function.text}({_listed(arguments)})"
        if result is not None:
            return self.emit(result, text)
        self.line(text)
        return self.undefined(I1)

    def intrinsic(self, name: str, x: Register, *rest: Operand) -> Register:
        """Calls an intrinsic over operands of one type: ``intrinsic("floor", x)``, ``intrinsic("maxnum", x, y)``."""
        operands = [x, *[x._as(entry) for entry in rest]]
        return self.call(f"llvm.{name}.{x.type.suffix}", x.type, *operands)

    def define(self, function: Builder) -> None:
        """Puts a function that this one calls into the module, once."""
        self.declarations.update(function.declarations)
        self.declarations[function.name] = function.text()

    def table(self, name: str, content: bytes) -> Register:
        """Returns the address of constant bytes, which are put into the module once."""
        text = "".join([f"\\{byte:02X}" for byte in content])
        self.declarations[name] = f'@{name} = internal constant [{len(content)} x i8] c"{text}", align 64'
        return Register(self, PTR, f"@{name}")

    def fma(self, x: Register, y: Operand, z: Operand) -> Register:
        """Returns x * y + z, rounded once."""
        return self.intrinsic("fma", x, y, z)

    def where(self, condition: Register, x: Operand, y: Operand) -> Register:
        """Returns x where the ``condition`` holds, else y; the condition may be one for all lanes."""
        if not isinstance(x, Register):
            if not isinstance(y, Register):
                raise InternalError("where needs a register on one side")
            x = y._as(x)
        y = x._as(y)
        return self.emit(x.type, f"select {condition!r}, {x!r}, {y!r}")

    # -- lanes -------------------------------------------------------------------------------------------

    def splat(self, x: Register, lanes: int) -> Register:
        """Returns a scalar in all lanes."""
        if lanes == 1:
            return x
        type = x.type.vector(lanes)
        first = self.emit(type, f"insertelement {type} poison, {x.type} {x.text}, i64 0")
        return self.shuffle(first, first, [0] * lanes)

    def extract(self, x: Register, lane: int | Register) -> Register:
        """Returns one lane."""
        if x.type.lanes == 1:
            return x
        return self.emit(x.type.element, f"extractelement {x.type} {x.text}, {self.word(lane)!r}")

    def insert(self, x: Register, element: Register, lane: int | Register) -> Register:
        """Returns x with one ``lane`` replaced."""
        if x.type.lanes == 1:
            return element
        return self.emit(x.type, f"insertelement {x.type} {x.text}, {element!r}, {self.word(lane)!r}")

    def shuffle(self, x: Register, y: Register, lanes: Sequence[int]) -> Register:
        """Returns lanes chosen from x and then y, by number; -1 is any. Those of constants are a constant."""
        type = x.type.vector(len(lanes))
        known = [*_constants(x), *_constants(y)]
        if len(known) == x.type.lanes + y.type.lanes and min(lanes) >= 0 and len(lanes) > 1:
            return Register(self, type, f"<{', '.join([known[lane] for lane in lanes])}>")
        listed = ", ".join([f"i32 {lane}" if lane >= 0 else "i32 poison" for lane in lanes])
        chosen = f"<{listed}>" if any(lanes) else "zeroinitializer"
        if len(lanes) == 1:
            return self.extract(x if lanes[0] < x.type.lanes else y, lanes[0] % x.type.lanes)
        return self.emit(type, f"shufflevector {x!r}, {y!r}, <{len(lanes)} x i32> {chosen}")

    def any_lane(self, condition: Register) -> Register:
        """Returns whether a condition holds in some lane."""
        if condition.type.lanes == 1:
            return condition
        return self.call(f"llvm.vector.reduce.or.v{condition.type.lanes}i1", I1, condition)

    # -- memory ------------------------------------------------------------------------------------------

    def allocate(self, type: Type, count: int = 1, align: int = 64) -> Register:
        """Allocates ``count`` elements of a ``type`` on the stack of the function, once on entry."""
        name = f"%m{len(self._allocations)}"
        self._allocations.append(f"  {name} = alloca [{count} x {type}], align {align}")
        return Register(self, PTR, name)

    def offset(self, pointer: Register, index: Operand, element: Type) -> Register:
        """Returns the address ``index`` elements further."""
        index = self.word(index)
        if index.text == "0":
            return pointer
        type = PTR.vector(index.type.lanes)
        return self.emit(type, f"getelementptr inbounds {element}, ptr {pointer.text}, {index.type} {index.text}")

    def load(self, pointer: Register, type: Type, align: int | None = None) -> Register:
        """Loads a ``type`` from an address; by default aligned to its element."""
        return self.emit(type, f"load {type}, ptr {pointer.text}, align {align or max(type.bits // 8, 1)}")

    def opaque(self, x: Register) -> Register:
        """Returns the same value, whose origin is hidden from LLVM. For a loaded value: "store a selected value, or
        else the loaded one" would become a masked store, which is many times slower on some processors. For a
        comparison: it would be repeated in each block of code that uses it.
        """
        return self.emit(x.type, f"freeze {x.type} {x.text}")

    def unseen(self, x: Register) -> Register:
        """Returns the same integer, with its computation hidden from LLVM by assembly that does nothing."""
        return self.emit(x.type, f'call {x.type} asm "", "=r,0"({x.type} {x.text})')

    def in_order(self, pointer: Register) -> Register:
        """Returns the same address, with earlier code ordered before its loads. LLVM would load ahead, and spill
        registers that are in use.
        """
        kind = pointer.type
        return self.emit(kind, f'call {kind} asm sideeffect "", "=r,0,~{{memory}}"({kind} {pointer.text})')

    def store(self, x: Register, pointer: Register, align: int | None = None, streaming: bool = False) -> None:
        """Writes to an address; ``streaming`` past the caches, in no order with other stores."""
        how = ", !nontemporal !{i32 1}" if streaming else ""
        self.line(f"store {x.type} {x.text}, ptr {pointer.text}, align {align or max(x.type.bits // 8, 1)}{how}")

    def first_lanes(self, count: Register, lanes: int) -> Register:
        """Returns the mask of the lanes below a count of less than 2**31, a constant if the count is one."""
        if count.text.isdigit():
            return self.vector(I1.vector(lanes), [lane < int(count.text) for lane in range(lanes)])
        mask = self.vector(I32.vector(lanes), range(lanes)) < self.splat(count.cast("trunc", I32), lanes)
        self._unknown.add(mask.text)
        return mask

    def load_masked(self, pointer: Register, type: Type, mask: Register | None) -> Register:
        """Loads the lanes of a ``mask`` from an address, with zeros in the others, which are not read; all if None."""
        if mask is None:
            return self.load(pointer, type)
        if self.masks_are_vectors and type.bits >= 32 and mask.text not in self._unknown:
            return self._load_by_vector(pointer, type, mask)
        size, name = type.element.bits // 8, f"llvm.masked.load.{type.suffix}.p0"
        self.declarations[name] = f"declare {type} @{name}(ptr, i32, {mask.type}, {type})"
        return self.emit(type, f"call {type} @{name}(ptr {pointer.text}, i32 {size}, {mask.type} {mask.text}, "
                               f"{type} zeroinitializer)")

    def _load_by_vector(self, pointer: Register, type: Type, mask: Register) -> Register:
        """Does the same with instructions of AVX2. LLVM 22 loads all lanes of the second vector with a mask if it finds
        that a half of this mask has none; it does not look into its intrinsics for these. Lanes that are known here may
        be those of a shorter vector.
        """
        lanes, element, half = type.lanes, type.element, type.lanes // 2
        known, least, most = _constants(mask), 128 // type.bits, 256 // type.bits
        if known == ["i1 true"] * lanes:
            return self.load(pointer, type, type.bits // 8)
        if known == ["i1 false"] * lanes:
            return self.constant(type, 0)
        if lanes < least or lanes & (lanes - 1):
            more = max(least, 1 << lanes.bit_length()) - lanes
            wide = self.shuffle(mask, self.constant(mask.type, False), [*range(lanes), *[lanes] * more])
            whole = self._load_by_vector(pointer, type.vector(lanes + more), wide)
            return self.shuffle(whole, whole, range(lanes))
        if known == ["i1 true"] * half + ["i1 false"] * half and half > 1:
            own = self.load(pointer, type.vector(half), type.bits // 8)
            return self.shuffle(own, self.constant(own.type, 0), range(lanes))
        if lanes > most:
            low, high = [self._load_by_vector(self.offset(pointer, start, element), type.vector(half), self.shuffle(
                mask, mask, range(start, start + half))) for start in (0, half)]
            return self.shuffle(low, high, range(lanes))
        kind = ("avx.maskload.p" if type.is_float else "avx2.maskload.") + _MASKED[element.text]
        return self.call(f"llvm.x86.{kind}{'' if lanes == least else '.256'}", type, pointer,
                         mask.cast("sext", type.integer()))

    def gather(self, places: Register, element: Type, align: int = 1, mask: Register | None = None) -> Register:
        """Loads from each of some addresses, with zeros in the lanes outside of a ``mask``."""
        if places.type.lanes == 1 and mask is None:
            return self.load(places, element, align)
        type, allowed = element.vector(places.type.lanes), mask or self.constant(I1.vector(places.type.lanes), True)
        name = f"llvm.masked.gather.{type.suffix}.{places.type.suffix}"
        self.declarations[name] = f"declare {type} @{name}({places.type}, i32, {allowed.type}, {type})"
        return self.emit(type, f"call {type} @{name}({places.type} {places.text}, i32 {align}, "
                               f"{allowed.type} {allowed.text}, {type} zeroinitializer)")

    def store_masked(self, x: Register, pointer: Register, mask: Register | None) -> None:
        """Writes the lanes of a ``mask`` to an address; all if it is None."""
        if mask is None:
            return self.store(x, pointer)
        size, name = x.type.element.bits // 8, f"llvm.masked.store.{x.type.suffix}.p0"
        self.declarations[name] = f"declare void @{name}({x.type}, ptr, i32, {mask.type})"
        self.line(f"call void @{name}({x.type} {x.text}, ptr {pointer.text}, i32 {size}, {mask.type} {mask.text})")

    def fetch(self, pointer: Register) -> None:
        """Prefetches the cache line of any address."""
        self.declarations["llvm.prefetch.p0"] = "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"
        self.line(f"call void @llvm.prefetch.p0(ptr {pointer.text}, i32 0, i32 3, i32 1)")

    # -- control -----------------------------------------------------------------------------------------

    def label(self, hint: str = "block") -> str:
        """Returns a new label."""
        number = self._labels.get(hint, 0)
        self._labels[hint] = number + 1
        return f"{hint}{number}"

    def block(self, label: str) -> None:
        """Starts the block of this label."""
        if self._is_open:
            self.line(f"br label %{label}")
        self._lines.append(f"{label}:")
        self._is_open, self.current = True, BasicBlock(label)

    def jump(self, label: str) -> None:
        """Ends the block by a jump."""
        self.line(f"br label %{label}")
        self._is_open = False

    def branch(self, condition: Register, yes: str, no: str, unlikely: bool = False) -> None:
        """Ends the block by a choice between ``yes`` and ``no``. Registers are spilled in the ``unlikely`` branch
        rather than before it.
        """
        weights = ', !prof !{!"branch_weights", i32 1, i32 4095}' if unlikely else ""
        self.line(f"br i1 {condition.text}, label %{yes}, label %{no}{weights}")
        self._is_open = False

    def ret(self, x: Register | None = None) -> None:
        """Ends the function."""
        self.line("ret void" if x is None else f"ret {x.type} {x.text}")
        self._is_open = False

    def phi(self, type: Type, *sources: tuple[Register, BasicBlock]) -> Register:
        """Returns the value that belongs to the preceding block."""
        return self._phi(type, *sources).result

    def _phi(self, type: Type, *sources: tuple[Register, BasicBlock]) -> Phi:
        phi = Phi(Register(self, type, f"%v{self._count}"), list(sources))
        self._count += 1
        self._lines.append(phi)
        return phi

    @contextmanager
    def if_(self, condition: Register, unlikely: bool = False) -> Iterator[None]:
        """Runs the code built inside if a condition (one lane) holds."""
        yes, done = self.label("then"), self.label("done")
        self.branch(condition, yes, done, unlikely)
        self.block(yes)
        yield
        self.block(done)

    def choose(self, condition: Register, yes: Callable[[], Register], no: Callable[[], Register],
               unlikely: bool = False) -> Register:
        """Returns the value of one of two pieces of code, only one of which runs; if ``unlikely``, seldom the first."""
        result, = self.choose_all(condition, lambda: [yes()], lambda: [no()], unlikely)
        return result

    def choose_all(self, condition: Register, yes: Callable[[], Sequence[Register]],
                   no: Callable[[], Sequence[Register]], unlikely: bool = False) -> list[Register]:
        """Returns the values of one of two pieces of code, only one of which runs; if ``unlikely``, seldom the first.
        """
        first, second, done = self.label("then"), self.label("else"), self.label("done")
        self.branch(condition, first, second, unlikely)
        self.block(first)
        left = yes()
        left_end = self.current
        self.jump(done)
        self.block(second)
        right = no()
        right_end = self.current
        self.block(done)
        return [self.phi(x.type, (x, left_end), (y, right_end)) for x, y in zip(left, right, strict=True)]

    def choose_each(self, condition: Register, otherwise: Sequence[Register], build: Callable[[], Sequence[Register]],
                    unlikely: bool = False) -> list[Register]:
        """Returns the registers of ``build`` if a condition holds, else ``otherwise``; only then does its code run."""
        yes, done, before = self.label("then"), self.label("done"), self.current
        self.branch(condition, yes, done, unlikely)
        self.block(yes)
        results = build()
        end = self.current
        self.block(done)
        return [self.phi(x.type, (x, end), (y, before)) for x, y in zip(results, otherwise, strict=True)]

    @contextmanager
    def while_(self, condition: Callable[[], Register]) -> Iterator[None]:
        """Repeats the code built inside as long as the condition, evaluated before each iteration, holds."""
        head, body, done = self.label("while"), self.label("turn"), self.label("end")
        self.block(head)
        self.branch(condition(), body, done)
        self.block(body)
        yield
        if self._is_open:
            self.jump(head)
        self.block(done)

    def repeat(self, start: Sequence[Register], goes_on: Callable[..., Register],
               iteration: Callable[..., Sequence[Register]], unlikely: bool = False) -> list[Register]:
        """Builds a loop with its state in registers. ``goes_on`` says of a state whether another iteration follows,
        and ``iteration`` returns the next state; the last one is the result.
        """
        head, body, again, done = [self.label(hint) for hint in ("while", "turn", "again", "end")]
        before = self.current
        self.block(head)
        # The next state is named before the iteration is written: the copies cost nothing.
        names = [Register(self, entry.type, f"%{again}.{number}") for number, entry in enumerate(start)]
        state = [self.phi(entry.type, (entry, before), (name, BasicBlock(again)))
                 for entry, name in zip(start, names, strict=True)]
        self.branch(goes_on(*state), body, done, unlikely)
        self.block(body)
        following = iteration(*state)
        self.block(again)
        for name, entry in zip(names, following, strict=True):
            self.line(f"{name.text} = bitcast {entry.type} {entry.text} to {entry.type}")
        self.jump(head)
        self.block(done)
        return state

    @contextmanager
    def loop(self, start: Operand, end: Operand, step: Operand = 1, carried: Sequence[Register] = (),
             is_certain: bool = False) -> Iterator[LoopBuilder]:
        """Builds ``for (index = start; index < end; index += step)``, without iterations if start >= end. If the first
        one ``is_certain``, nothing is compared before it.

        ``carried`` are the starting values of the state that changes from iteration to iteration; set ``loop.carried``
        to the new ones in the body, and read ``loop.results`` after it.
        """
        loop = LoopBuilder(self, start, end, step, carried, is_certain)
        yield loop
        loop.close()

    # -- text --------------------------------------------------------------------------------------------

    @property
    def declaration(self) -> str:
        """The declaration for another module that calls it."""
        types = ", ".join([str(entry.type) for entry in self.arguments])
        return f"declare {self.result or 'void'} @{self.name}({types})"

    def text(self) -> str:
        """Returns the definition."""
        linkage = f"{self.linkage} " if self.linkage else ""
        head = f"define {linkage}{self.result or 'void'} @{self.name}({_listed(self.arguments)})"
        body = "\n".join(["entry:", *self._allocations, *_flattened(self._lines)])
        return f"{head}{' ' if self.attributes else ''}{self.attributes} {{\n{body}\n}}\n"


class BasicBlock:
    """A block, whose label is its text. What follows a ``region`` goes on in the block before it, unless code with
    blocks of its own was put there: a block of its own for each region would take a twentieth of LLVM's time.
    """

    __slots__ = ("label", "region")

    def __init__(self, label: str) -> None:
        self.label = label
        self.region: InsertionPoint | None = None

    def __str__(self) -> str:
        block = self
        while block.region is not None and not block.region.has_blocks:
            block = block.region.before
        return block.label


class Phi(NamedTuple):
    """A value for each preceding block, whose labels are known when the function is whole."""

    result: Register
    sources: list[tuple[Register, BasicBlock]]

    def __str__(self) -> str:
        pairs = ", ".join([f"[ {value.text}, %{block} ]" for value, block in self.sources])
        return f"  {self.result.text} = phi {self.result.type} {pairs}"


class InsertionPoint:
    """A place in a function that stays open; see :meth:`Builder.region`. ``before`` and ``following`` are the blocks
    around it, ``current`` is the one in which its code ends.
    """

    __slots__ = ("before", "current", "following", "lines")

    def __init__(self, before: BasicBlock, following: BasicBlock) -> None:
        self.before = self.current = before
        self.following = following
        self.lines: Lines = []

    @property
    def has_blocks(self) -> bool:
        """Whether its code ends in another block than it begins."""
        return self.current is not self.before and str(self.current) != str(self.before)


class Insertion:
    """The code that is being built at a region; see :meth:`Builder.at`."""

    __slots__ = ("_builder", "_here", "_region")

    def __init__(self, builder: Builder, region: InsertionPoint) -> None:
        self._builder, self._region, self._here = builder, region, (builder._lines, builder.current)

    def __enter__(self) -> None:
        self._builder._lines, self._builder.current = self._region.lines, self._region.current

    def __exit__(self, *_: object) -> None:
        self._region.current = self._builder.current
        self._builder._lines, self._builder.current = self._here


class LoopBuilder:
    """A counted loop that is being built; see :meth:`Builder.loop`."""

    def __init__(self, builder: Builder, start: Operand, end: Operand, step: Operand,
                 carried: Sequence[Register], is_certain: bool) -> None:
        b = self._builder = builder
        first, self._last = b.word(start), b.word(end)
        self._step, self._is_certain = step, is_certain
        self._head, self._body, self._done = b.label("loop"), b.label("turn"), b.label("end")
        before = b.current
        b.block(self._head)
        self._phis = [b._phi(x.type, (x, before)) for x in (first, *carried)]
        self.index, *self.results = [phi.result for phi in self._phis]
        self.carried: list[Register] = self.results
        if not is_certain:
            b.branch(self.index < self._last, self._body, self._done)
            b.block(self._body)

    def close(self) -> None:
        """Ends the body."""
        b = self._builder
        count = self.index + self._step
        following = [b.intrinsic("expect", count, 0) if b.has_opaque_counters else count, *self.carried]
        for phi, value in zip(self._phis, following, strict=True):
            phi.sources.append((value, b.current))
        if self._is_certain:
            self.index, *self.results = following
            b.branch(self.index < self._last, self._head, self._done)
        else:
            b.jump(self._head)
        b.block(self._done)


def _listed(arguments: Sequence[Register]) -> str:
    return ", ".join([f"{entry.type.text} {entry.text}" for entry in arguments])


def _constants(x: Register) -> list[str]:
    """Returns the lanes of a constant vector, each with its type; none for other registers."""
    if x.text.startswith("splat ("):
        return [x.text.removeprefix("splat (").removesuffix(")")] * x.type.lanes
    return x.text.removeprefix("<").removesuffix(">").split(", ") if x.text.startswith("<") else []


def _flattened(lines: Lines) -> Iterator[str]:
    for line in lines:
        if isinstance(line, InsertionPoint):
            yield from _flattened(line.lines)
            if line.has_blocks:
                yield from (f"  br label %{line.following}", f"{line.following}:")
        else:
            yield str(line)


def assemble(functions: Sequence[Builder], globals: Sequence[str] = (), elsewhere: Sequence[str] = (),
             is_cold: bool = False) -> str:
    """Returns a module: the declarations that the functions need, global data, the functions themselves.

    ``elsewhere`` are the declarations of functions that another module defines, if only their address is used. If the
    code ``is_cold``, little is done for its speed.
    """
    defined = {function.name for function in functions}
    declared: dict[str, str] = {}
    for function in functions:
        declared.update({name: line for name, line in function.declarations.items() if name not in defined})
    lines = sorted({*declared.values(), *elsewhere})
    return "\n".join([*[COLD] * is_cold, *lines, *globals, "", *[function.text() for function in functions]])
