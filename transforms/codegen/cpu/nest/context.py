"""The state that the parts of nest emission share: the nest as its schedule places it, the text so far, and the current point of the loops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct
from xdsl.ir import Operation, SSAValue

from wengert.dialects.kernel import Guard, LoadOp
from wengert.dialects.kernel.positions import Position
from wengert.dialects.kernel.schedule import Schedule
from wengert.ir.traversal import operands_of, result_of
from wengert.transforms.codegen.llvm.builder import FunctionBuilder
from wengert.transforms.codegen.llvm.scalars import Scalars, Value
from wengert.transforms.codegen.llvm.types import Element, element_of
from wengert.transforms.schedule.placement import Placement, guards_of
from wengert.transforms.schedule.target import Target


class Load(Struct, frozen=True):
    """A load in terms of the generated loops: base pointer, element, position, guards, computed position."""

    pointer: str
    element: Element
    at: Position
    guards: tuple[Guard, ...]
    base: SSAValue | None


class Context:
    """The function of a nest while it is written.

    Attributes:
        placed: the nest with its loops as they run.
        out: the text so far.
        lanes: the iterations of the innermost loop that are computed at once; fewer where a loop ends.
        index: the current index of the innermost loop, a register or a number.
        known: guards whose value is known there.
        in_place: the nest may write to a buffer that it reads: all loads of an iteration come before its stores.
    """

    def __init__(self, placed: Placement, schedule: Schedule, target: Target, strict: bool, *, in_place: bool, debug_lines: bool = False):
        self.op = op = placed.op
        self.schedule = schedule
        self.target = target
        self.strict = strict
        self.in_place = in_place
        self.debug_lines = debug_lines
        self.placed = placed
        self.out = FunctionBuilder()
        self.lanes = schedule.width
        self.index: str | int = 0
        self.known: Mapping[Guard, bool] = {}
        pointers: dict[SSAValue, str] = {argument: f"%p{number}" for number, argument in enumerate(op.body.block.args)}
        self.loads: dict[Operation, Load] = {load: self._load(load, pointers) for load in self.placed.ops if isinstance(load, LoadOp)}
        self._labels = 0

    def _load(self, op: LoadOp, pointers: Mapping[SSAValue, str]) -> Load:
        source, base = (*operands_of(op), None)[:2]
        assert source is not None
        return Load(pointers[source], element_of(result_of(op).type), self.placed.loops[op.at.data], guards_of(op), base)

    @property
    def inner(self) -> int:
        """The number of the innermost loop."""
        return self.placed.inner

    @property
    def extents(self) -> list[int]:
        """The iterations of the loops."""
        return self.placed.extents

    def arithmetic(self, lanes: int) -> Scalars:
        """Scalar functions of the program, which may be contracted unless it is strict."""
        return Scalars(self.out, lanes, not self.strict)

    def exact(self, lanes: int) -> Scalars:
        """Scalar functions that are never contracted: for indices, masks and moves."""
        return Scalars(self.out, lanes, False)


def parts_of(value: Value) -> tuple[str, ...]:
    """The registers of a value: one, or two for complex numbers."""
    return value if isinstance(value, tuple) else (value,)


def of_parts(parts: list[str]) -> Value:
    """The value of one register or two."""
    return (parts[0], parts[1]) if len(parts) == 2 else parts[0]


def regroup(names: Iterable[str], like: Value) -> Value:
    """The next one or two names, as a value of the same form as another."""
    source = iter(names)
    return (next(source), next(source)) if isinstance(like, tuple) else next(source)
