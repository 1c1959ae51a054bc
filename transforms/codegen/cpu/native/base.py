"""The base class of native kernels, which emit ops that are neither loop nests nor matrix products but have code of their own.

A kernel is chosen by the op's class and may refuse an op (by its element types, or a region that cannot be inlined); what
no kernel takes runs in the interpreter. The code is one LLVM function of pointers: the operands ``%p0, %p1, ...`` (the op's
operands, then what its regions use from outside), the results ``%q0, ...``, and ``%scratch``, memory that the kernel asked
for. Operands are never written, and results do not overlap them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, TypeVar

from msgspec import Struct
from xdsl.ir import Operation, Region, SSAValue

from wengert.dialects.kernel import NativeOp
from wengert.dialects.kernel.schedule import Cut, Schedule
from wengert.ir.tensor_types import shape
from wengert.transforms.codegen.cpu.native.kernel_builder import KernelBuilder
from wengert.transforms.codegen.cpu.native.regions import inline
from wengert.transforms.codegen.cpu.native.value_elements import has_known_elements, value_element
from wengert.transforms.codegen.cpu.tasks import SCRATCH, begin_task, parameters
from wengert.transforms.codegen.llvm.scalars import Value
from wengert.transforms.schedule.chunks import MOST_CHUNKS, Split, single, split
from wengert.transforms.schedule.target import Target

OWN = "KERNEL."
"""The prefix of symbols that belong to one function: the program replaces its first word by the name of the function."""


COMMON = "%common"
"""The parameter of a task after its operands and results: the scratch memory that is common to all of its chunks."""
FINISH = "KERNEL.finish"
"""The first task that makes the results of what the chunks have put there; more have numbers behind it."""


ROWS, TERMS, TERM_ROWS, STEPS = range(4)
"""The numbers by which a cut names what it cuts into ranges: rows of the result; the terms of every sum, which are added up at the end, or the rows of each of
them; what is gone through in order, where each range begins anew."""


class Cuttable(Struct, frozen=True):
    """Something that a schedule may cut into ranges.

    Attributes:
        extent: how long it is; 0 or 1: it cannot be cut.
        unit: every range is a multiple of it.
        equal: whether all ranges have one length; else there are two or more, and the last one is as long as what is left.
        reassociates: whether ranges are combined in another order than one after the other, which rounds otherwise.
    """

    extent: int
    unit: int = 1
    equal: bool = True
    reassociates: bool = False


class NativeText(Struct, frozen=True):
    """A function, behind those that finish its work, its helpers by symbol, and the external functions that it calls, with their declarations."""

    text: str
    helpers: dict[str, str]
    symbols: dict[str, str]


def _captured(op: Operation) -> tuple[SSAValue, ...]:
    """The values from outside that the op's regions use: within a native op, the arguments that follow its operands."""
    block = op.parent_block()
    return tuple(block.args[len(op.operands) :]) if block is not None and isinstance(block.parent_op(), NativeOp) else ()


class NativeKernel(ABC):
    """The code of one op.

    A kernel that ``returns_status`` ends with ``ret i32 1`` where it fails (which ends the program); one that ``uses_tapes``
    has one more parameter, ``%tapes``, the list of the tapes of this call. ``schedule`` says how threads share the code.
    """

    schedule: Schedule = Schedule()

    returns_status: ClassVar[bool] = False
    uses_tapes: ClassVar[bool] = False
    prepares: ClassVar[bool] = False
    """Whether something is prepared before the iterations of a chunk, so that a thread had better run neighbouring chunks as one."""

    def __init__(self, op: Any, target: Target):
        self.op = op
        self.target = target
        self.captured = _captured(op)
        self.outside: dict[SSAValue, Value] = {}

    @classmethod
    @abstractmethod
    def supports(cls, op: Any) -> bool:
        """Whether there is code for this op."""

    def scratch_bytes(self) -> int:
        """The bytes of scratch memory that the code needs while it runs."""
        return 0

    def parallel_work(self) -> tuple[int, float]:
        """The number of iterations of ``builder.parallel_loops``, if ``emit`` uses it, and the nanoseconds of all of them."""
        return 1, 0.0

    def cuttable(self) -> Mapping[int, Cuttable]:
        """What the schedule may cut into ranges, by its number; empty: the kernel has no such form."""
        return {}

    def choose_cut(self) -> Cut | None:
        """The ranges that are best for threads, which ``parallel_work`` then counts."""
        return None

    def common_bytes(self) -> int:
        """The bytes of scratch memory, apart from what is private to a thread, into which all chunks write what is made into results at the end."""
        return 0

    def common(self, builder: KernelBuilder) -> str:
        """The address of this memory: behind what is private where there are no threads."""
        return COMMON if self.cut is not None else builder.byte(SCRATCH, self.scratch_bytes() - self.common_bytes())

    def finishing(self) -> Sequence[tuple[int, float]]:
        """The iterations, and the nanoseconds of all of them, of each stage behind all chunks; none: ``emit`` writes the results."""
        return ()

    def emit_finish(self, builder: KernelBuilder, stage: int, common: str) -> None:
        """Goes on with what lies in the common memory, in a parallel loop; the last stage makes the results."""
        raise NotImplementedError

    @cached_property
    def finishing_cuts(self) -> Sequence[Split]:
        """How the stages at the end are cut into chunks; none if there are none, or no threads: then they follow in the function itself."""
        return [_chunks(iterations, nanoseconds) for iterations, nanoseconds in self.finishing() if iterations] if self.cut is not None else ()

    @cached_property
    def cut(self) -> Split | None:
        """How the iterations are cut into chunks for threads: then the code is a task."""
        shared = self.schedule.parallel
        return None if shared is None else Split(self.parallel_work()[0], shared.chunk, shared.nanoseconds, joined=self.prepares)

    @abstractmethod
    def emit(self, builder: KernelBuilder) -> None:
        """Emits the body of the function, up to the stages at the end."""

    def inline(self, builder: KernelBuilder, lanes: int, region: Region, arguments: Sequence[Value]) -> list[Value]:
        """A region of the op on these arguments, in all lanes."""
        outside = {value: builder.broadcast(value_element(value), scalar, lanes) for value, scalar in self.outside.items()}
        return inline(builder.scalars(lanes), region, arguments, outside)

    def text(self, *, strict: bool) -> NativeText:
        """The function, named ``@KERNEL``."""
        builder, pointers = KernelBuilder(self.target, strict=strict, cut=self.cut), self._pointers()
        begin_task(builder, pointers, self.cut)
        for number, value in enumerate(self.captured, len(self.op.operands)):
            if shape(value) == ():
                self.outside[value] = builder.memory().load(value_element(value), f"%p{number}")
        self.emit(builder)
        if self.cut is None:
            for stage in range(len(self.finishing())):
                self.emit_finish(builder, stage, self.common(builder))
        others = [] if self.cut is not None else ["%scratch", "%tapes"] if self.uses_tapes else ["%scratch"]
        finish: list[str] = []
        definitions, externals = dict(builder.module.definitions), dict(builder.module.externals)
        for stage, cut in enumerate(self.finishing_cuts):
            end = KernelBuilder(self.target, strict=strict, cut=cut)
            begin_task(end, pointers, cut)
            self.emit_finish(end, stage, COMMON)
            finish.append(end.definition(finishing_task(stage), parameters(pointers, cut), attributes=self.target.attributes))
            definitions |= end.module.definitions
            externals |= end.module.externals
        own = {symbol: text for symbol, text in definitions.items() if symbol.startswith(OWN)}
        function = builder.definition(
            "KERNEL",
            parameters([*pointers, *others], self.cut),
            result="i32" if self.returns_status else "void",
            returns="0" if self.returns_status else "",
            attributes=self.target.attributes,
        )
        shared = {symbol: text for symbol, text in definitions.items() if symbol not in own}
        return NativeText("".join([*own.values(), *finish, function]), shared, externals)

    def _pointers(self) -> list[str]:
        """The names of operands, captured values and results, and of the common memory where there is an end."""
        names = [f"%p{n}" for n in range(len(self.op.operands) + len(self.captured))] + [f"%q{n}" for n in range(len(self.op.results))]
        return [*names, COMMON] if self.finishing_cuts else names


def finishing_task(stage: int) -> str:
    """The name of the task of a stage at the end."""
    return f"{FINISH}{stage or ''}"


def _chunks(iterations: int, nanoseconds: float) -> Split:
    if iterations > MOST_CHUNKS:
        return split(iterations, nanoseconds) or Split(iterations, iterations, int(nanoseconds))
    return single(iterations, nanoseconds)


Kernel = TypeVar("Kernel", bound=type[NativeKernel])
_KERNELS: dict[type[Operation], list[type[NativeKernel]]] = {}
"""Kernels by op class; the first that supports an op has it."""


def native(*ops: type[Operation]) -> Callable[[Kernel], Kernel]:
    """Registers a kernel class for op classes."""

    def register(kernel: Kernel) -> Kernel:
        for op in ops:
            _KERNELS.setdefault(op, []).append(kernel)
        return kernel

    return register


def registered_kernel(op: Operation) -> type[NativeKernel] | None:
    """The class that has code for this op, of those that are imported."""
    kernels = _KERNELS.get(type(op), ())
    if not kernels or not (kernels[0].uses_tapes or all(has_known_elements(value) for value in (*op.operands, *op.results))):
        return None
    return next((kernel for kernel in kernels if kernel.supports(op)), None)
