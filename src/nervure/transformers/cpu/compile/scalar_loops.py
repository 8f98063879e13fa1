"""A while loop over single numbers as one kernel: its carries stay in registers from iteration to iteration.

The kernels of its condition and its body are runs of statements without loops. They become the head and the body of a
loop in LLVM IR: what they load of a carry is a register, and what they store is the next one.

    void kernel(ptr buffers, ptr sizes, i64 begin, i64 end, ptr scratch, ptr status)

The buffers are those of the carries, which it reads and writes, those of captured values, and a flag. At most ``end``
iterations run; then the flag says whether the loop goes on, so that signals are looked for now and then.

>>> import nervure as nv
>>> from nervure.kernel.plan import make_plan
>>> from nervure.transformers.cpu.target import Target
>>> x, y = nv.Parameter(nv.float32, ()), nv.Parameter(nv.float32, ())
>>> plans = [make_plan(nv.Function([value], [x])) for value in (x < 9.0, x * 2.0)]
>>> text = generate_scalar_loop(*plans, 1, Target.avx2())
>>> [word in text for word in ("phi float", "fcmp olt float", "fmul float")]
[True, True, True]
>>> long = nv.Parameter(nv.float32, (9,))
>>> generate_scalar_loop(plans[0], make_plan(nv.Function([long * 2.0], [long])), 1, Target.avx2()) is None
True
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure.kernel.ir import Apply, Load, Store
from nervure.kernel.plan import KernelStep, Plan
from nervure.kernel.tuning import MOST_SCALAR_STATEMENTS
from nervure.memory.storage import Storage, StorageKind
from nervure.transformers.cpu.compile.codegen.access import read_one, write_one
from nervure.transformers.cpu.compile.codegen.context import ARGUMENTS, Context, Preheader, emit_statement
from nervure.transformers.cpu.compile.codegen.element import Element, flat, shaped
from nervure.transformers.cpu.compile.codegen.generate import HasMachine
from nervure.transformers.cpu.compile.llvm.builder import Builder, Register, assemble
from nervure.transformers.cpu.compile.llvm.types import PTR
from nervure.types.dtype import bool_


def generate_scalar_loop(condition: Plan, body: Plan, carries: int, target: HasMachine) -> str | None:
    """Returns the module of a loop whose first parameters are its ``carries``.

    It is None if the plans of ``condition`` and ``body`` do more than compute single numbers.
    """
    steps = [step for plan in (condition, body) for step in plan.steps]
    if not carries or sum([_statements(step) for step in steps]) > MOST_SCALAR_STATEMENTS:
        return None
    loop = _ScalarLoop(condition, body, carries, target)
    loop.write()
    return assemble([loop.builder]) if not loop.context.sizes.table else None


def _statements(step: object) -> int:
    """Returns the number of statements of a step without loops over single numbers, a large number for any other."""
    if not isinstance(step, KernelStep) or any([storage.kind is StorageKind.CONSTANT for storage in step.read]) or any([
            not buffer.is_given or buffer.size != 1 for buffer in step.kernel.buffers]):
        return MOST_SCALAR_STATEMENTS + 1
    is_straight = all([isinstance(entry, Apply) or isinstance(entry, (Load, Store)) and entry.valid is None
                       for entry in step.kernel.body])
    return len(step.kernel.body) if is_straight else MOST_SCALAR_STATEMENTS + 1


class _ScalarLoop:
    def __init__(self, condition: Plan, body: Plan, carries: int, target: HasMachine) -> None:
        self.condition, self.body, self.carries = condition, body, carries
        b = self.builder = Builder("kernel", ARGUMENTS, attributes="nounwind", has_opaque_counters=True)
        self.context = Context(b, target.machine, 1)
        parameters = [parameter.value for parameter in body.function.parameters]
        self.dtypes = [value.dtype for value in parameters]
        self.pointers = [b.load(b.offset(b.arguments[0], number, PTR), PTR) for number in range(len(parameters) + 1)]
        self.read = {storage.number for plan in (condition, body) for step in plan.steps for storage in step.read
                     if storage.kind is StorageKind.ARGUMENT}

    def write(self) -> None:
        """Writes the function."""
        b, carries = self.builder, self.carries
        captured = {number: read_one(self.pointers[number], self.dtypes[number])
                    for number in range(carries, len(self.dtypes)) if number in self.read}
        first = [read_one(self.pointers[number], self.dtypes[number]) for number in range(carries)]
        preheaders = {id(step): Preheader(b.region(), frozenset(), True)
                      for plan in (self.condition, self.body) for step in plan.steps}
        holds: list[Register] = []

        def results(plan: Plan, state: Sequence[Register]) -> list[Element]:
            return self._results(plan, {**captured, **dict(enumerate(shaped(first, state)))}, preheaders)

        def goes_on(counter: Register, *state: Register) -> Register:
            holds.append(results(self.condition, state)[0].register)
            return holds[0] & (counter < b.arguments[3])

        def iteration(counter: Register, *state: Register) -> list[Register]:
            return [counter + 1, *flat(results(self.body, state))]

        _, *last = b.repeat([b.arguments[2], *flat(first)], goes_on, iteration)
        for element, pointer in zip(shaped(first, last), self.pointers, strict=False):
            write_one(element, pointer)
        write_one(Element(bool_, (holds[0],)), self.pointers[-1])
        b.ret()

    def _results(self, plan: Plan, parameters: dict[int, Element], preheaders: dict[int, Preheader]) -> list[Element]:
        """Emits the steps of a plan; returns its results."""
        context = self.context
        known: dict[Storage, Element] = {}

        def element_of(storage: Storage) -> Element:
            return parameters[storage.number] if storage.kind is StorageKind.ARGUMENT else known[storage]

        for step in plan.steps:
            assert isinstance(step, KernelStep)
            storages = dict(step.pairs)
            with context.inside(preheaders[id(step)]):
                for statement in step.kernel.body:
                    if isinstance(statement, Load):
                        context.keep(statement.result, context.here(element_of(storages[statement.buffer])))
                    elif isinstance(statement, Store):
                        known[storages[statement.buffer]] = context.scalar(statement.value).element
                    else:
                        emit_statement(statement, context)
        return [element_of(root) for root in plan.roots]
