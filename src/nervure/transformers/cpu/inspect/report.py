"""The report of a plan: the ops of each kernel, its memory traffic with reasons, and the places of temporary values.

>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (4, 8))
>>> with nv.transformers.make_transformer("cpu") as cpu:
...     report = cpu.compile(nv.Function([nv.ops.Sum(nv.ops.Exp(x), [1])], [x])).report()
>>> step, = report.steps
>>> step.name, [line.op for line in step.ops], step.bytes, step.writes[0].reasons
('rows', ['Exp', 'Sum'], 144, ('result 0',))
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from nervure.ir.leaves import Leaf
from nervure.ir.op import Op, Value
from nervure.ir.traverse import postorder
from nervure.ir.variable import Variable
from nervure.kernel.cluster import Copy
from nervure.kernel.cluster import Step as Cluster
from nervure.kernel.cluster.reasons import Reason, reasons, root_name
from nervure.kernel.plan import KernelStep, OpaqueStep
from nervure.kernel.printer import print_kernel
from nervure.kernel.producers import dense_base
from nervure.kernel.schedule.products.notes import described_products
from nervure.kernel.work import work_of
from nervure.memory.storage import Storage, StorageKind
from nervure.passes import channels_last
from nervure.transformers.binding import Bindings
from nervure.transformers.call_memory import megabytes
from nervure.transformers.cpu.compile.codegen.generate import Code
from nervure.transformers.cpu.compile.compilation import Compilation
from nervure.transformers.cpu.compile.compiler import assembly
from nervure.transformers.cpu.kept_panels import Panels, PanelSource
from nervure.transformers.cpu.loaded import Borrows, LoadedFunction, StepCode
from nervure.transformers.cpu.region_code import RegionCode
from nervure.transformers.cpu.target import Target
from nervure.transformers.report import (
    CompilationReport,
    Count,
    OpReport,
    PanelReport,
    StepReport,
    StorageReport,
    Temporary,
    count,
    line_of,
    total,
)
from nervure.types.description import BasicTensorDescription


def report_of(compilation: Compilation, target: Target, bindings: Bindings | None,
              panels: Panels | None = None) -> CompilationReport:
    """Returns the report of a compiled function for a ``target``. ``panels`` are those of its last program; without
    them, all are assumed to find room.
    """
    return _Reporting(compilation, target, bindings, panels or compilation.loaded.panels()).report()


class _Reporting:
    def __init__(self, compilation: Compilation, target: Target, bindings: Bindings | None,
                 panels: Panels) -> None:
        self._loaded, self._panels = compilation.loaded, panels
        self._texts, self._compiled = compilation.texts, compilation.loaded.compiled
        self._sources = {self._compiled.storages[number]: source for number, source in panels.sources.items()}
        self._target, self._bindings = target, bindings
        self._in_place = dict(self._compiled.in_place) if bindings is None else self._loaded.in_place(bindings)
        self._plan = plan = compilation.plan
        self._function = plan.function
        self._numbers = {storage: number for number, storage in enumerate(dict.fromkeys(
            [storage for step in plan.steps for storage in step.storages]))}
        self._stored = {value for cluster in plan.clusters for value in cluster.stored}
        found = reasons(plan.function, plan.clusters, target.machine)
        self._apart = found.apart
        self._reasons = self._numbered(found.stored)

    def report(self) -> CompilationReport:
        bindings, plan = self._bindings, self._plan
        temporaries = self._temporaries()
        return CompilationReport(
            self._function.name, "cpu", tuple((bindings or {}).items()),
            tuple([self._step(number) for number in range(len(plan.steps))]), temporaries,
            _sum(temporaries), None if bindings is None else self._compiled.arena(bindings, self._panels.own)[1],
            count(self._loaded.most_borrowed(self._panels), None) if bindings is None
            else self._loaded.borrowed(bindings, self._panels),
            tuple([self._variable(variable.number) for variable in plan.in_place.values()]),
            tuple(self._kept()))

    def _numbered(self, stored: Mapping[Value, Sequence[Reason]]) -> dict[Value, list[str]]:
        """Returns the reasons why values are in memory; steps are named by the first of their kernels, or not at all.
        """
        first: dict[int, str] = {}
        for number, step in enumerate(self._plan.steps):
            for part in step.cluster.parts:
                first.setdefault(id(part), f"step {number}: ")
        return {value: [first.get(id(reason.step), "") + reason.text for reason in listed]
                for value, listed in stored.items()}

    # -- steps -------------------------------------------------------------------------------------------

    def _step(self, number: int) -> StepReport:
        step, text = self._plan.steps[number], self._texts[number]
        if isinstance(step, KernelStep) and text is not None:
            return self._kernel(number, step, text)
        reads, writes = self._places(step.read), self._places(step.written, step.cluster)
        code = self._loaded.codes[number]
        if isinstance(code, RegionCode) and isinstance(step, OpaqueStep):
            panels = self._panels.inside[number]
            estimate, most, inside = None, "at most ", code.most_borrowed(panels)
            if self._bindings is not None:
                run = code.step(self._bindings, panels)
                estimate, most, inside = run.nanoseconds * 1e-9, "", run.borrowed
            name = type(step.op).__name__
            return StepReport(number, "region", name, self._lines(step.cluster), reads, writes,
                              total([*reads, *writes]), estimated_seconds=estimate, notes=(
                                  code.described(), *self._packed_inside(code, panels),
                                  f"takes {most}{megabytes(inside)} MB for what is inside"))
        return StepReport(number, "host", str(step).removeprefix("opaque "), self._lines(step.cluster), reads, writes,
                          total([*reads, *writes]), notes=self._working(code))

    def _working(self, code: StepCode) -> tuple[str, ...]:
        """Describes the memory that a whole op takes while it runs."""
        if not isinstance(code, Borrows) or code.most_borrowed() == 0:
            return ()
        if self._bindings is None:
            return (f"takes at most {megabytes(code.most_borrowed())} MB while it runs",)
        return (f"takes {megabytes(code.step(self._bindings).borrowed)} MB while it runs",)

    def _kernel(self, number: int, step: KernelStep, code: Code) -> StepReport:
        kernel, bindings = step.lowered.kernel, self._bindings
        moved, operations, width, estimate = None, None, 4, None
        is_left_out = self._compiled.kernels[number].copies_in_place(self._in_place)
        if bindings is not None and is_left_out:
            moved, operations, estimate = 0, 0, 0.0
        elif bindings is not None:
            work = work_of(kernel, bindings, self._target.machine)
            moved, operations, width = work.bytes, round(work.operations), work.width
            estimate = self._compiled.kernels[number].launch.duration.nanoseconds(bindings) * 1e-9
        texts: Mapping[str, Callable[[], str]] = {
            "loops": lambda: print_kernel(kernel), "llvm": lambda: code.text,
            "assembly": lambda: assembly(code.text, self._target)}
        return StepReport(number, "kernel", kernel.name, self._lines(step.cluster, kernel.origins),
                          self._places(step.read), self._places(step.written, step.cluster),
                          moved, operations, width, estimate, texts=texts,
                          notes=(*self._notes(step), *["left out, since it copies memory to itself"] * is_left_out))

    def _notes(self, step: KernelStep) -> tuple[str, ...]:
        """Describes the packing of a step and its time; and the layout of channels."""
        derived = {buffer: self._when(storage) for buffer, storage in step.pairs
                   if storage.kind is StorageKind.DERIVED}
        packed = [f"packed{when}" for buffer, when in derived.items() if buffer.role == "out"]
        own = [op for op in step.cluster.ops if op in step.kernel.origins]
        layouts = [text for text in map(channels_last.described, own) if text is not None]
        return (*step.lowered.notes, *packed, *layouts, *described_products(step.kernel, derived), *self._moved(step))

    def _moved(self, step: KernelStep) -> list[str]:
        """Lists the values that are stored in place of a part of a larger one."""
        places = self._plan.inside
        return [f"{type(value.op).__name__} is stored where {type(places[value].whole.op).__name__} wants it"
                for value in step.cluster.stored if value in places and value.op in step.kernel.origins]

    def _when(self, storage: Storage) -> str:
        """Says when a derived storage is made, as words after *packed*."""
        is_kept = any([self._compiled.storages[number] is storage for number in self._panels.own])
        return self._how_often(self._sources[storage]) if is_kept else f" in each call: {_NO_ROOM}"

    def _how_often(self, source: PanelSource) -> str:
        return " once" if source.variable is None else f" once per version of {_name_of(source.variable)}"

    def _packed_inside(self, code: RegionCode, panels: Sequence[Panels]) -> tuple[str, ...]:
        """Says when weights are packed that steps inside of a branch or a loop read."""
        found = []
        for function, kept in _inside(code, panels):
            for storage in function.compiled.packs.values():
                source = kept.sources.get(storage)
                when = self._how_often(source) if source is not None and storage in kept.own else " in each run"
                no_room = f": {_NO_ROOM}" if source is not None and storage not in kept.own else ""
                found.append(f"inside, a weight is packed{when}{no_room}")
        return tuple(dict.fromkeys(found))

    def _lines(self, cluster: Cluster, origins: Collection[object] | None = None) -> tuple[OpReport, ...]:
        """Returns the ops of a step that a kernel comes from, including those computed inside of them."""
        own = [op for op in cluster.ops if origins is None or op in origins]
        known: set[Op] = {*[value.op for value in self._stored], *cluster.ops}.difference(own)
        roots = [cluster.value.op] if isinstance(cluster, Copy) else own
        return tuple([line_of(op, self._apart.get(op) if op in own else None, self._bindings)
                      for op in postorder(roots, known) if not isinstance(op, Leaf)])

    # -- memory ------------------------------------------------------------------------------------------

    def _places(self, storages: list[Storage], maker: Cluster | None = None) -> tuple[StorageReport, ...]:
        """Returns memory as a step sees it; with reasons if ``maker`` made the step."""
        return tuple([self._place(storage, maker) for storage in dict.fromkeys(storages)])

    def _place(self, storage: Storage, maker: Cluster | None) -> StorageReport:
        kind, name, value = self._named(storage)
        why: Sequence[str] = ()
        if maker is not None and value is not None and storage.kind is not StorageKind.DERIVED:
            if not _holds(storage, value):
                why = [f"{type(value.op).__name__} is made from it"]
            elif value in maker.stored:
                why = self._reasons.get(value, ())
        return StorageReport(kind, name, _type_of(storage, value), self._bytes(storage), tuple(why),
                             self._numbers[storage], storage in self._plan.in_place)

    def _named(self, storage: Storage) -> tuple[str, str, Value | None]:
        """Returns kind and name of memory, and the value that it holds."""
        function, number = self._function, storage.number
        if storage.kind is StorageKind.ARGUMENT:
            op = function.parameters[number]
            return "argument", op.name or str(number), op.value
        if storage.kind is StorageKind.VARIABLE:
            return "variable", self._variable(number), None
        if storage.kind is StorageKind.ROOT:
            kind = "result" if number < len(function.results) else "update"
            return kind, root_name(function, number), dense_base(function.roots[number])
        if storage.is_of_call:
            return str(storage.kind), self._name(storage), self._plan.held[storage]
        return "constant", "constant", None

    def _bytes(self, storage: Storage) -> Count:
        return count(storage.nbytes, self._bindings)

    def _name(self, storage: Storage) -> str:
        """Returns the name of a temporary, or of a derived storage."""
        return _numbered(storage, self._sources.get(storage))

    def _variable(self, number: int) -> str:
        return _name_of(self._function.variables[number])

    def _temporaries(self) -> tuple[Temporary, ...]:
        compiled, bindings = self._compiled, self._bindings
        offsets = {} if bindings is None else compiled.arena(bindings, self._panels.own)[0]
        lives = [(number, compiled.storages[number], life) for number, life in compiled.lives.items()
                 if number not in self._panels.own]
        return tuple([Temporary(self._name(storage), _type_of(storage, self._plan.held[storage]),
                                self._bytes(storage), first, last, offsets.get(number))
                      for number, storage, (first, last) in lives])

    def _kept(self) -> Iterator[PanelReport]:
        """Yields the panels, and those inside of branches and loops."""
        yield from self._reported(self._loaded, self._panels, "")
        for number, panels in self._panels.inside.items():
            code = self._loaded.codes[number]
            assert isinstance(code, RegionCode)
            for function, own in _inside(code, panels):
                yield from self._reported(function, own, f" inside step {number}")

    def _reported(self, function: LoadedFunction, panels: Panels, where: str) -> Iterator[PanelReport]:
        for number, panel in panels.own.items():
            storage, source = function.compiled.storages[number], panels.sources[number]
            name = None if source.variable is None else _name_of(source.variable)
            yield PanelReport(_numbered(storage, source) + where, _type_of(storage, None), name, self._bytes(storage),
                              panel.runs)


_NO_ROOM = "flags.panel_limit leaves no room for it"


def _inside(code: RegionCode, panels: Sequence[Panels]) -> Iterator[tuple[LoadedFunction, Panels]]:
    """Yields the functions inside of a branch or a loop, each with its panels."""
    for function, own in zip(code.functions, panels, strict=True):
        yield from function.functions_with(own)


def _numbered(storage: Storage, source: PanelSource | None) -> str:
    """Returns the name of memory of a call, or that lasts as its ``source`` does."""
    variable = None if source is None else source.variable
    return f"t{storage.number}" + ("" if variable is None else f" of {_name_of(variable)}")


def _name_of(variable: Variable) -> str:
    return variable.name or "unnamed"


def _type_of(storage: Storage, value: Value | None) -> str:
    """Returns a type with the labels of the value, if the memory holds the value."""
    type = BasicTensorDescription(storage.dtype, storage.shape)
    text = type.describe(value.labels if value is not None and value.shape == storage.shape else None)
    return text if storage.layout is None else f"{text} {storage.layout}"


def _holds(storage: Storage, value: Value) -> bool:
    """Whether memory holds a value itself, rather than its sources."""
    return storage.kind is StorageKind.ROOT or (storage.dtype is value.dtype and storage.shape == value.shape)


def _sum(temporaries: Sequence[Temporary]) -> int | str:
    """Returns the bytes of all temporaries."""
    known = total(temporaries)
    return " + ".join([str(entry.bytes) for entry in temporaries]) if known is None else known
