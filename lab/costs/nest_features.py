"""The features of a nest: the instructions on registers that its schedule makes, each in the loop in which it stands.

The innermost loop runs in registers of ``lanes`` elements, of which the last one of a loop that is no multiple of them is masked, or computes elements
again. What is read or written with a stride, or at a computed position, is counted by element.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from math import ceil, prod

from xdsl.dialects.builtin import ComplexType, Float32Type, Float64Type, IntegerType
from xdsl.ir import Attribute, Operation

from wengert.dialects.facts import Effort
from wengert.dialects.kernel import STORE, ApplyOp, IndexOp, LoadOp, NestOp, WithinOp, Write
from wengert.dialects.kernel.element_formats import element_format
from wengert.dialects.kernel.positions import Position, dimensions
from wengert.dialects.kernel.schedule import Schedule
from wengert.dialects.scalar_functions import effort
from wengert.ir.tensor_types import i1, size
from wengert.ir.traversal import result_of
from wengert.transforms.analysis.loops import Loops
from wengert.transforms.analysis.symbolic.polynomial import Number
from wengert.transforms.schedule.host import host
from wengert.transforms.schedule.placement import Placement, guards_of
from wengert.transforms.schedule.tiles import is_tiled

_NEAR, _BLENDED = 4, 4
"""What is read with a step of at most so many elements, in registers of at least so many, is blended from registers, a step at a time."""
_EFFORTS = {Effort.CHEAP: "cheap", Effort.DIVISION: "division", Effort.ROOT: "root", Effort.ELEMENTARY: "elementary", Effort.SPECIAL: "special"}


def nest_features(op: NestOp) -> dict[str, Number]:
    """The features of one execution of a nest."""
    return _Nest(op).counted


class _Nest:
    """Counts the work of a nest.

    Attributes:
        starts: how often the innermost loop begins.
        iterations: how often a register of it is computed, each time.
    """

    def __init__(self, op: NestOp):
        self.schedule = op.schedule.data if op.schedule is not None else Schedule()
        self.placement = Placement.scheduled(op, self.schedule)
        self.inner = self.placement.inner
        self.extents = self._extents(op)
        self.starts = prod(self.extents[: self.inner]) if self.inner >= 0 else 1
        self.iterations = self._iterations()
        self.counted: defaultdict[str, Number] = defaultdict(int, {"nest": 1, "inner loop": self.starts})
        if self._is_masked:
            self.counted["masked end"] = self.starts
        for inside in self.placement.ops:
            self._op(inside)
        for write in self.placement.writes:
            self._write(write)

    # -- loops

    def _extents(self, op: NestOp) -> list[int]:
        """How often each loop runs: of a cut into ranges that overlap, and of tiles, what they compute again too."""
        extents, schedule = list(self.placement.loops.extents), self.schedule
        if schedule.cut is not None and schedule.cut.overlapping:
            extents[0] = ceil(Loops.of(op).extents[schedule.cut.loop] / schedule.cut.size)
        if schedule.tiled:
            extents[-2] = ceil(extents[-2] / schedule.lanes) * schedule.lanes
        return extents

    def _iterations(self) -> int:
        schedule = self.schedule
        if self.inner < 0:
            return 1
        if schedule.pieces:
            return sum(ceil(piece.length / schedule.lanes) for piece in schedule.pieces)
        full, rest = divmod(self.extents[-1], schedule.width)
        again = schedule.interleave if schedule.remainder == "repeated" else ceil(rest / schedule.lanes)
        return full * schedule.interleave + (again if rest else 0)

    @property
    def _is_masked(self) -> bool:
        """Whether the innermost loop ends with a register that is filled in part."""
        schedule = self.schedule
        whole = schedule.pieces or schedule.tiled or schedule.remainder == "repeated"
        return self.inner >= 0 and not whole and self.extents[-1] % schedule.lanes > 0

    def _times(self, level: int) -> int:
        """How often an op at this level is executed: for a register in the innermost loop, else for one element."""
        return self.starts * self.iterations if level == self.inner else prod(self.extents[: level + 1])

    def _lanes(self, level: int) -> int:
        return self.schedule.lanes if level == self.inner else 1

    # -- ops

    def _op(self, op: Operation) -> None:
        level = self.placement.depth[result_of(op)]
        times, lanes = self._times(level), self._lanes(level)
        if isinstance(op, ApplyOp):
            self._function(op, times, lanes)
        elif isinstance(op, IndexOp):
            self._position(self.placement.loops[op.at.data], times, lanes)
        elif isinstance(op, WithinOp):
            self._guards(len(op.where.data), times, lanes)
        elif isinstance(op, LoadOp):
            self._load(op, times, lanes)

    def _function(self, op: ApplyOp, times: int, lanes: int) -> None:
        """A function. Quotients and roots of half a register take half the time."""
        name, type = function_feature(op, lanes), result_of(op).type
        self.counted[name] += times * (_filled(type, lanes) if kind_of(op) in ("division", "root") else _registers(type, lanes))

    def _position(self, at: Position, times: int, lanes: int) -> None:
        """An index that a value is computed from."""
        self.counted[_of("index", lanes)] += times
        self._divisions(at, times, lanes)

    def _divisions(self, at: Position, times: int, lanes: int) -> None:
        """Quotients and remainders in a position, which are computed in every lane where they depend on the innermost loop."""
        for atom, _ in at.terms:
            if not isinstance(atom, int):
                varies = self.inner in dimensions(atom.expression)
                self.counted[_of("index division", lanes if varies else 1)] += times
                self._divisions(atom.expression, times, lanes)

    def _guards(self, count: int, times: int, lanes: int) -> None:
        self.counted[_of("guard", lanes)] += count * times

    def _load(self, op: LoadOp, times: int, lanes: int) -> None:
        at = self.placement.loops[op.at.data]
        self._guards(len(guards_of(op)), times, lanes)
        if lanes == 1:
            self.counted["load scalar"] += times
            self._divisions(at, times, 1)
        elif self._is_scattered(op.base, at):
            self.counted["lone load"] += times * lanes
            self._divisions(at, times, lanes)
        elif at.coefficient(self.inner) == 0:
            self.counted["broadcast"] += times
        elif self.placement.is_straight(at):
            self.counted["load"] += times * _registers(result_of(op).type, lanes)
        elif self.schedule.tiled and is_tiled(self.placement, op):
            self.counted["turned load"] += times
            self.counted["turned stage"] += times * (lanes.bit_length() - 1)
        elif abs(at.coefficient(self.inner)) <= _NEAR and lanes >= _BLENDED:
            self.counted["strided load"] += times * abs(at.coefficient(self.inner))
        else:
            self.counted["lone load"] += times * lanes

    def _is_scattered(self, base: object, at: Position) -> bool:
        """Whether every lane is at a computed position of its own."""
        varies = base is not None and self.placement.depth[base] == self.inner  # pyright: ignore[reportArgumentType]
        divided = any(not isinstance(atom, int) and self.inner in dimensions(atom.expression) for atom, _ in at.terms)
        return varies or divided

    # -- writes

    def _write(self, write: Write) -> None:
        at, lanes, sums = self.placement.loops[write.at], self.schedule.lanes, write.kind != STORE
        times = self._times(self.inner)
        computed = write.base is not None or write.condition is not None
        registers = _registers(write.value.type, lanes)
        if sums and not computed and self.inner >= 0 and at.coefficient(self.inner) == 0:
            what = "sum" if write.kind == "add" else "product" if write.kind == "mul" else "extreme"
            self.counted[_of(f"{what} in registers", lanes)] += ceil(times * registers / self.schedule.accumulators)
            self.counted[_of(f"{what} ended", lanes)] += self.starts
        elif self._is_scattered(write.base, at) or at.coefficient(self.inner) not in (-1, 0, 1) or (computed and at.coefficient(self.inner) != 1):
            self.counted["computed sum" if sums and computed else "lone sum" if sums else "lone store"] += times * lanes
            self._divisions(at, times, lanes)
        else:
            self.counted[_of("sum store" if sums else "store", lanes)] += times * registers
        if sums and write.base is not None:
            self.counted["sum waited for"] += Fraction(self.starts, self._places(write, at))
        elif sums and not computed and at.coefficient(self.inner) in (-1, 1):
            self._waits(at)

    def _places(self, write: Write, at: Position) -> int:
        """How many places a computed position chooses among while the loops stay where they are that it depends on besides: rows of few columns, say."""
        others = prod(self.extents[d] for d in dimensions(at) if d != self.inner)
        return max(1, size(self.placement.op.outputs[write.target]) // self._reach(at) // max(1, others))

    def _reach(self, at: Position) -> int:
        """How many elements one round of the innermost loop adds to, at a computed position."""
        return self.extents[-1] if self.inner >= 0 and self.inner in dimensions(at) else 1

    def _waits(self, at: Position) -> None:
        """Sums of whole rows wait for the last one into the same row, as often as the loops go round that the row does not depend on, up to the innermost of
        them. Rows of whole registers stay in registers meanwhile."""
        summed = [d for d in range(len(self.extents)) if d not in dimensions(at)]
        if summed and (self._is_masked or self.schedule.remainder == "repeated"):
            self.counted["sum waited for"] += prod(self.extents[: max(summed) + 1])


def function_feature(op: ApplyOp, lanes: int) -> str:
    """The name of a function's work on a register, or on one element. Functions of many instructions have names of their own, and end with their kind."""
    operands, result = [operand.type for operand in op.operands], result_of(op).type
    kind, name = kind_of(op), op.function.data
    if any(isinstance(type, ComplexType) for type in (*operands, result)):
        return _of(f"complex {kind}", lanes)
    if kind == "cheap":
        if name == "convert" and operands[0] != result:
            kind = "mask converted" if operands[0] == i1 else "conversion"
        elif isinstance(result, IntegerType) and name == "multiply":
            kind = "integer product"
        return _of(kind, lanes)
    if isinstance(operands[-1], IntegerType):
        return _of(f"integer {kind}", lanes)
    precise = _precision(result, operands)
    return _of(f"{precise}{kind}" if kind in ("division", "root") else f"{precise}{name.partition('_')[0]} {kind}", lanes)


def kind_of(op: ApplyOp) -> str:
    """The effort of a function, by name."""
    return _EFFORTS[effort(op)]


def _precision(result: Attribute, operands: list[Attribute]) -> str:
    """Functions of f32 have fewer terms, and their quotients and roots fewer bits."""
    widest = [type for type in (result, *operands) if isinstance(type, Float64Type | Float32Type)]
    return "f32 " if widest and not any(isinstance(type, Float64Type) for type in widest) else ""


def _of(name: str, lanes: int) -> str:
    return name if lanes > 1 else f"{name} scalar"


def _registers(type: Attribute, lanes: int) -> int:
    """The registers for lanes of a type."""
    return max(1, lanes * element_format(type).size // host().target.vector_bytes)


def _filled(type: Attribute, lanes: int) -> Fraction:
    """The share of a register that lanes of a type fill, or how many of them: what a quotient or a root takes grows with it."""
    return Fraction(lanes * element_format(type).size, host().target.vector_bytes) if lanes > 1 else Fraction(1)
