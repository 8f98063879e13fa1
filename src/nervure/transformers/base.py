"""The base of transformers: a compiler of Functions for one device, and the owner of the state they share.

A backend writes two classes: a Transformer that says what it supports and compiles, and an Executable that runs. The
contract of a call is defined here for all of them: the arguments are checked before anything runs, and state
(variables, ``out`` arrays) changes at the end, when nothing can fail any more.

>>> import numpy as np
>>> import nervure as nv
>>> x = nv.Parameter(nv.float32, (2,))
>>> with nv.transformers.make_transformer() as transformer:
...     double = transformer.compile(nv.Function([nv.ops.Add(x, x)], [x]))
...     double(np.float32([1, 2]))
(array([2., 4.], dtype=float32),)
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from nervure.errors import InvalidArgument, NotSupported, WrongKind
from nervure.ir.function import Function
from nervure.ir.gc_paused import gc_paused
from nervure.ir.identity import Uncopyable
from nervure.ir.op import Op
from nervure.ir.ordered_locks import holding
from nervure.ir.printer import nested_functions
from nervure.ir.variable import Variable
from nervure.support import forks
from nervure.transformers.borrowing import as_version, shared_array
from nervure.transformers.cells import Cell, Cells, own_copy
from nervure.transformers.executable import Executable
from nervure.transformers.peers import ALONE, Peers
from nervure.transformers.program_options import ProgramOptions
from nervure.types.description import BasicTensorDescription
from nervure.types.mesh import Sharding
from nervure.types.ordered_arrays import in_order
from nervure.types.pieces import Spread

__all__ = ["Executable", "Transformer"]


class Transformer(Uncopyable, ABC):
    """Compiles Functions and owns the cells of their variables, which everything compiled by it shares.

    Use it in a ``with`` statement, or close it, to release the state; its executables cannot be used afterwards.
    """

    name: ClassVar[str]
    sharding: Sharding | None = None
    """How values are distributed over a mesh; None on one device."""

    @property
    def peers(self) -> Peers:
        """The processes that run the same computations on parts of the same values."""
        return ALONE

    def __init__(self, cell: type[Cell] = Cell) -> None:
        self.cells = Cells(self.name, cell)
        self.is_open = True

    @abstractmethod
    def supports(self, op_class: type[Op]) -> bool:
        """Whether it runs this class of ops. Ops that it does not support are decomposed."""

    @abstractmethod
    def make_executable(self, function: Function) -> Executable:
        """Compiles a function all of whose ops are supported."""

    def pipeline(self) -> Callable[..., Function]:
        """Returns the passes that ``build`` runs. They are imported when they run: a function in a cache needs none."""
        with forks.importing():
            from nervure.passes.pipelines import standard
        return standard

    def build(self, function: Function) -> Executable:
        """Returns the function, after the passes that every function goes through, as a callable."""
        self.check_open()
        with gc_paused():
            return self.compile(self.optimised(function))

    def optimised(self, function: Function) -> Function:
        """Returns the function that ``build`` compiles."""
        with forks.importing():
            from nervure.transformers.interpreter.evaluate import evaluate
        return self.pipeline()(function, evaluate, self.supports)

    def compile(self, function: Function) -> Executable:
        """Returns the function as it is, as a callable. NotSupported names an op that it can neither run nor
        decompose.
        """
        return self.make_executable(self.prepared(function))

    def prepared(self, function: Function) -> Function:
        """Returns the function with ops alone that this transformer runs. NotSupported names one that it can neither
        run nor decompose.
        """
        self.check_open()
        if not isinstance(function, Function):
            raise WrongKind("only a Function can be compiled", op="compile", got=type(function).__name__,
                            expected="Function", help="nv.computation builds and compiles one from tensors")
        with forks.importing():
            from nervure.passes.decompose import decompose
        ready = decompose(function, self.supports)
        for op in [op for held in nested_functions(ready) for op in held.operations]:
            if not self.supports(type(op)):
                raise op.fail(NotSupported, f"{self.name} cannot run this op", got=type(op).__name__,
                              help="give the op a decomposition, or a forward: @nv.implement(..., device=...)",
                              expected="ops that it supports, or that decompose into such")
        return ready

    def within(self, memory_limit: int) -> Transformer:
        """Returns a transformer over the same variables whose programs need at most ``memory_limit`` bytes.

        They make values again rather than keeping them. NotSupported if this one does not plan memory.
        """
        raise NotSupported(f"the transformer {self.name} keeps no limit of memory", op=self.name,
                           operand="memory_limit", got=f"{memory_limit:,} bytes", expected="the transformer cpu",
                           help="leave the limit out")

    def following(self, options: ProgramOptions) -> Transformer:
        """Returns a transformer over the same variables whose programs follow ``options``. NotSupported names one that
        it has not. Here results lie in memory, where arrays of NumPy are.
        """
        if options.sharding is not None:
            raise NotSupported(f"the transformer {self.name} runs on one device", op=self.name, operand="mesh",
                               got=f"{options.sharding.mesh}", expected="the transformer xla",
                               help='transformer=nv.transformers.make_transformer("xla"), or '
                                    'nv.flags.transformer = "xla"')
        return self if options.memory_limit is None else self.within(options.memory_limit)

    def own_array(self, value: object) -> Any:
        """Returns an array of another library as one that a call takes as it is; None if NumPy has to read it."""
        return None

    def computation(self, returns: object, *parameters: object) -> Any:
        """Makes a computation, as ``nv.computation`` does, on this transformer."""
        self.check_open()
        with forks.importing():
            front = importlib.import_module("nervure.computation")
        return front.computation(returns, *parameters, transformer=self)

    def get(self, variable: object) -> np.ndarray:
        """Returns a copy of a variable's value."""
        self.check_open()
        return self.cells.of([self._variable(variable)])[0].get()

    def set(self, variable: Any, value: object) -> None:
        """Sets a variable to anything that NumPy reads, converted as an argument would be."""
        self.check_open()
        found = self._variable(variable)
        given = value if variable is found else variable.given(value, "set", found.name or "variable")
        self.cells.store({found: own_copy(given, found.type, found.name)}, op="set")

    def borrow(self, variable: object, array: object, version: int) -> None:
        """Lets a variable lie in the memory of ``array``, of its type, shape and order, which the caller owns.

        ``array`` is one of NumPy, or of a library that shares memory (DLPack). New values are written there. Borrow
        it again, with another ``version``, when you have changed elements: what was made of them, such as packed
        weights, is kept until memory or version is another one.
        """
        self.check_open()
        found = self._variable(variable)
        own = shared_array(array, found.type, found.name)
        self.cells.borrow(found, own, as_version(version, found.name))

    def copy_state(self, other: Transformer) -> None:
        """Copies the values of all variables that another transformer has used."""
        self.check_open()
        if not isinstance(other, Transformer):
            raise WrongKind("state is copied from a transformer", op="copy_state", got=type(other).__name__,
                            expected="a transformer", help="first.copy_state(second) takes over what second has")
        other.check_open()
        self._store(other.snapshot([variable for variable, _ in other.cells.known()]), "copy_state")

    def snapshot(self, variables: Sequence[Variable]) -> dict[Variable, np.ndarray]:
        """Returns the values of several variables, all of one moment: no call comes in between. They must not be
        written.
        """
        self.check_open()
        cells = self.cells.of(variables)
        arrays = holding(cells, lambda: [cell.read() for cell in cells], op="snapshot")
        return dict(zip(variables, arrays, strict=True))

    def spread(self, variables: Sequence[Variable]) -> list[Spread]:
        """Returns the values of several variables, all of one moment, as the pieces of them that this process keeps.
        They must not be written.
        """
        self.check_open()
        cells, is_first = self.cells.of(variables), self.peers.index == 0
        return holding(cells, lambda: [Spread(cell.type, cell.pieces(is_first)) for cell in cells], op="snapshot")

    def restore(self, values: Mapping[Variable, np.ndarray]) -> None:
        """Sets several variables, all at one moment: the inverse of ``snapshot``. Types and shapes must be theirs.

        Raises DtypeMismatch or ShapeMismatch, and changes nothing, if one differs; raises InUse inside of a call that
        uses one of them.
        """
        self.check_open()
        for variable, value in values.items():
            kind = BasicTensorDescription.of(value)
            error = kind.mismatch(variable.type)
            if error is not None:
                raise error("the value of a variable is of another kind", op="restore", operand=variable.name, got=kind,
                            expected=variable.type, help="convert or reshape it first")
        self._store(values, "restore")

    def _store(self, values: Mapping[Variable, np.ndarray], op: str) -> None:
        self.cells.store({variable: in_order(value, variable.type.order, copy=True)
                          for variable, value in values.items()}, op)

    def _variable(self, variable: object) -> Variable:
        found = variable if isinstance(variable, Variable) else getattr(variable, "variable", None)
        if not isinstance(found, Variable):
            raise WrongKind("only a variable has a value on a transformer", op=self.name, got=type(variable).__name__,
                            expected="a variable", help="nv.evaluate(x) computes any tensor")
        if variable is not found and not found.persistent:
            raise InvalidArgument("only what is persistent has a value on a transformer", op=self.name,
                                  operand=found.name, got=repr(variable), expected="a variable",
                                  help="a placeholder's value comes with each call, a temporary's ends with it")
        return found

    def close(self) -> None:
        """Releases all cells. Any later use of the transformer is an error."""
        self.is_open = False
        self.cells.clear()

    def check_open(self) -> None:
        """Raises InvalidArgument if the transformer was closed."""
        if not self.is_open:
            raise InvalidArgument("the transformer is closed", op=self.name, got=repr(self), expected="an open one",
                                  help="make another one: make_transformer()")

    def __enter__(self) -> Transformer:
        self.check_open()
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<transformer {self.name}{'' if self.is_open else ', closed'}>"
