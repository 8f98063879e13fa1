"""The account of a plan: which ops each kernel computes, what it moves and why, where temporary values lie.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (4, 8))
>>> with nv.transformers.make_transformer("cpu") as cpu:
...     account = cpu.compile(nv.Function([nv.ops.Sum(nv.ops.Exp(x), [1])], [x])).account()
>>> step, = account.steps
>>> step.name, [line.op for line in step.ops], step.bytes, step.writes[0].reasons
('rows', ['Exp', 'Sum'], 144, ('result 0',))
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from nervure.ir.leaves import Leaf
from nervure.ir.op import Op, Value
from nervure.ir.traverse import postorder
from nervure.kernel.cluster import Copy
from nervure.kernel.cluster import Step as Cluster
from nervure.kernel.cluster.reasons import Reason, ops_of, reasons, root_name, stored_by
from nervure.kernel.cluster.storing import dense_base
from nervure.kernel.printer import print_kernel
from nervure.kernel.work import work
from nervure.memory.storage import Storage
from nervure.transformers.account import Account, Line, Place, Step, Temporary, count, line_of, total
from nervure.transformers.binding import Bindings
from nervure.transformers.cpu.jit import assembly
from nervure.transformers.cpu.machine import Target
from nervure.transformers.cpu.native import NativeKernel, NativePlan
from nervure.transformers.cpu.plan import HostStep
from nervure.types.description import BasicTensorDescription
from nervure.types.dim import DimLike


def account_of(native: NativePlan, target: Target, bindings: Bindings | None) -> Account:
    """The account of a compiled plan; ``target`` is what it was compiled for."""
    return _Accounting(native, target, bindings).account()


class _Accounting:
    def __init__(self, native: NativePlan, target: Target, bindings: Bindings | None) -> None:
        self._native, self._target, self._bindings = native, target, bindings
        self._plan = plan = native.plan
        self._function = plan.function
        self._stored = {value for cluster in plan.clusters for value in stored_by(cluster)}
        found = reasons(plan.function, plan.clusters)
        self._apart = found.apart
        self._reasons = self._numbered(found.stored)

    def account(self) -> Account:
        bindings, plan = self._bindings, self._plan
        temporaries = self._temporaries()
        return Account(
            self._function.name, "cpu", tuple((bindings or {}).items()),
            tuple([self._step(number, step) for number, step in enumerate(self._native.steps)]), temporaries,
            _sum(temporaries), None if bindings is None else self._native.arena(bindings)[1],
            tuple([variable.source.name for variable in plan.in_place.values()]))

    def _numbered(self, stored: Mapping[Value, Sequence[Reason]]) -> dict[Value, list[str]]:
        """Why values are in memory; steps are named by the first of their kernels."""
        first: dict[int, int] = {}
        for number, step in enumerate(self._plan.steps):
            first.setdefault(id(step.cluster), number)
        return {value: [reason.text if reason.step is None else f"step {first[id(reason.step)]}: {reason.text}"
                        for reason in listed] for value, listed in stored.items()}

    # -- steps -------------------------------------------------------------------------------------------

    def _step(self, number: int, step: NativeKernel | HostStep) -> Step:
        if isinstance(step, HostStep):
            reads, writes = self._places(step.read), self._places(step.written, step.cluster)
            return Step(number, "host", type(step.op).__name__, self._lines(step.cluster), reads, writes,
                        total([*reads, *writes]))
        (made, code), bindings = step.source, self._bindings
        lowered = made.lowered
        done = None if bindings is None else work(lowered.kernel, bindings)
        estimate = None if bindings is None else max(step.points(bindings), 0) * step.told.nanoseconds * 1e-9
        texts: Mapping[str, Callable[[], str]] = {
            "loops": lambda: print_kernel(lowered.kernel), "llvm": lambda: code.text,
            "assembly": lambda: assembly(code.text, self._target)}
        return Step(number, "kernel", lowered.kernel.name, self._lines(made.cluster, lowered.kernel.origins),
                    self._places(made.read), self._places(made.written, made.cluster),
                    done and done.bytes, done and done.operations, 4 if done is None else done.width, estimate,
                    texts=texts)

    def _lines(self, cluster: Cluster, origins: Collection[object] | None = None) -> tuple[Line, ...]:
        """The ops of a step that a kernel comes from, those that are computed inside of them included."""
        own = [op for op in ops_of(cluster) if origins is None or op in origins]
        known: set[Op] = {*[value.op for value in self._stored], *ops_of(cluster)}.difference(own)
        roots = [cluster.value.op] if isinstance(cluster, Copy) else own
        return tuple([line_of(op, self._apart.get(op) if op in own else None)
                      for op in postorder(roots, known) if not isinstance(op, Leaf)])

    # -- memory ------------------------------------------------------------------------------------------

    def _places(self, storages: list[Storage], maker: Cluster | None = None) -> tuple[Place, ...]:
        """Memory as a step sees it; with reasons if ``maker`` is what made the step."""
        return tuple([self._place(storage, maker) for storage in dict.fromkeys(storages)])

    def _place(self, storage: Storage, maker: Cluster | None) -> Place:
        kind, name, value = self._named(storage)
        why: Sequence[str] = ()
        if maker is not None and value is not None:
            if not _holds(storage, value):
                why = [f"{type(value.op).__name__} is made from it"]
            elif value in stored_by(maker):
                why = self._reasons.get(value, ())
        return Place(kind, name, _type_of(storage, value), count(byte_count(storage), self._bindings), tuple(why))

    def _named(self, storage: Storage) -> tuple[str, str, Value | None]:
        """Kind and name of memory, and the value that it holds."""
        function, number = self._function, storage.number
        if storage.kind == "argument":
            op = function.parameters[number]
            return "argument", op.name or str(number), op.value
        if storage.kind == "variable":
            return "variable", storage.source.name or "unnamed", None
        if storage.kind == "root":
            kind = "result" if number < len(function.results) else "update"
            return kind, root_name(function, number), dense_base(function.roots[number])
        if storage.kind == "temporary":
            return "temporary", f"t{number}", storage.source
        return "constant", "constant", None

    def _temporaries(self) -> tuple[Temporary, ...]:
        offsets = {} if self._bindings is None else self._native.arena(self._bindings)[0]
        return tuple([Temporary(f"t{storage.number}", _type_of(storage, storage.source),
                                count(byte_count(storage), self._bindings), first, last, offsets.get(storage))
                      for storage, (first, last) in self._plan.lives.items()])


def byte_count(storage: Storage) -> DimLike:
    """The bytes that a storage takes."""
    return storage.size * storage.dtype.itemsize


def _type_of(storage: Storage, value: Value | None) -> str:
    """A type with the labels of the value that the memory holds, if it is that."""
    type = BasicTensorDescription(storage.dtype, storage.shape)
    return type.describe(value.labels if value is not None and value.shape == storage.shape else None)


def _holds(storage: Storage, value: Value) -> bool:
    """Whether memory holds a value itself, and not what it is made from."""
    return storage.kind == "root" or (storage.dtype is value.dtype and storage.shape == value.shape)


def _sum(temporaries: Sequence[Temporary]) -> int | str:
    """The bytes of all temporaries."""
    known = total(temporaries)
    return " + ".join([str(entry.bytes) for entry in temporaries]) if known is None else known
