"""The scalars of a nest's body at the gpu level: where each is in memory, and what is computed in an iteration, or in several neighbouring ones at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from xdsl.dialects import arith
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from wengert.dialects.kernel import ApplyOp, ConstantOp, Guard, IndexOp, LoadOp, WithinOp, Write
from wengert.dialects.kernel.positions import Position, Quotient, dimensions, span
from wengert.ir.elements import splat_value
from wengert.ir.traversal import operands_of
from wengert.ir.traversal import result_of as result
from wengert.transforms.codegen.gpu.code import Code, Index, Values
from wengert.transforms.codegen.gpu.functions import Functions, register_type
from wengert.transforms.schedule.placement import Placement, guards_of


class Buffer(Struct, frozen=True):
    """A flat buffer of a kernel, and the type in which its elements are computed (that of the buffer, or one of the same size)."""

    memref: SSAValue
    element: Attribute


class Body:
    """Computes the scalars of a nest for an iteration.

    Args:
        code: where ops go.
        placed: the nest with its loops in the order of its schedule.
        inputs: the buffers of what it reads.
        lanes: so many iterations of the loop ``vector`` are computed at once; what depends on that loop has so many values.
        vector: the number of that loop in the order, if there are several lanes.
    """

    def __init__(self, code: Code, functions: Functions, placed: Placement, inputs: Mapping[BlockArgument, Buffer], lanes: int = 1, vector: int = -1):
        self.code, self.functions, self.placed, self.inputs = code, functions, placed, inputs
        self.lanes, self.vector = lanes, vector
        self.index: dict[int, Index] = {}
        self.values: dict[SSAValue, Values] = {}
        self.varying: dict[SSAValue, bool] = {}

    def compute(self, level: int) -> None:
        """The values that the loop of this level is the innermost to change (-1: those that no loop changes)."""
        for op in self.placed.levels[level + 1]:
            value = result(op)
            varies = self.varying[value] = self._varies(op)
            self.values[value] = [self._emit(op, lane) for lane in range(self.lanes if varies else 1)]

    def evaluate(self, value: SSAValue) -> SSAValue:
        """A value of the body, and whatever it depends on, at the indices that are set."""
        if value not in self.values:
            op = value.owner
            assert isinstance(op, Operation)
            for operand in operands_of(op):
                if not isinstance(operand, BlockArgument):
                    self.evaluate(operand)
            self.values[value] = [self._emit(op, 0)]
        return self.get(value, 0)

    def get(self, value: SSAValue, lane: int) -> SSAValue:
        """A value of the body in one lane."""
        values = self.values[value]
        return values[lane if len(values) > 1 else 0]

    def changes(self, at: Position) -> bool:
        """Whether a position is another one in every lane."""
        return self.lanes > 1 and self.vector in dimensions(at)

    def copies(self, write: Write) -> int:
        """How many lanes a write is done in: one, if neither its position nor its value nor its condition changes."""
        if self.lanes == 1:
            return 1
        parts = [value for value in (write.value, write.base, write.condition) if value is not None]
        return self.lanes if self.changes(self.placed.loops[write.at]) or any(self.varying[value] for value in parts) else 1

    def _varies(self, op: Operation) -> bool:
        if self.lanes == 1:
            return False
        positions: list[Position] = []
        if isinstance(op, LoadOp | IndexOp):
            positions.append(self.placed.loops[op.at.data])
        if isinstance(op, LoadOp):
            positions += [self.placed.loops[at] for at, _, _ in guards_of(op)]
        elif isinstance(op, WithinOp):
            positions += [self.placed.loops[at] for at, _, _ in op.where.data]
        return any(self.changes(at) for at in positions) or any(self.varying.get(operand, False) for operand in operands_of(op))

    # -- positions

    def position(self, at: Position, lane: int) -> Index:
        """A position in terms of the loops as they are ordered."""
        total: Index = 0
        offset = at.offset
        for atom, c in at.terms:
            if isinstance(atom, int):
                total = self.code.plus(total, self.code.times(self.index[atom], c))
                offset += c * lane if atom == self.vector else 0
            else:
                total = self.code.plus(total, self.code.times(self._divided(atom, lane), c))
        return self.code.plus(total, offset)

    def _divided(self, atom: Any, lane: int) -> Index:
        """A quotient or a remainder; what is divided is made positive by a multiple of the divisor first."""
        low = span(atom.expression, self.placed.extents)[0]
        lift = -(low // atom.divisor) if low < 0 else 0
        inner = self.code.plus(self.position(atom.expression, lane), lift * atom.divisor)
        if isinstance(atom, Quotient):
            return self.code.plus(self.code.quotient(inner, atom.divisor), -lift)
        return self.code.remainder(inner, atom.divisor)

    def place(self, at: Position, base: SSAValue | None, lane: int) -> Index:
        """The position of an access, with its computed part."""
        position = self.position(self.placed.loops[at], lane)
        return position if base is None else self.code.plus(self.functions.position(self.get(base, lane), base.type), position)

    def holds(self, guards: Sequence[Guard], lane: int) -> SSAValue | None:
        """Whether guards hold; None: they always do."""
        conditions: Values = []
        for at, low, high in guards:
            least, most = span(self.placed.loops[at], self.placed.extents)
            if least < low or most >= high:
                conditions.append(self.code.below(self.position(self.placed.loops[at].shifted(-low), lane), high - low))
        return self.code.both(conditions) if conditions else None

    # -- ops

    def _emit(self, op: Operation, lane: int) -> SSAValue:
        value = result(op)
        if isinstance(op, ConstantOp):
            return self.functions.constant(splat_value(op.value), value.type)
        if isinstance(op, ApplyOp):
            operands = operands_of(op)
            return self.functions.apply(op.function.data, [self.get(v, lane) for v in operands], [v.type for v in operands], value.type)
        if isinstance(op, IndexOp):
            return self.functions.number(self.position(self.placed.loops[op.at.data], lane), value.type)
        if isinstance(op, WithinOp):
            known = self.holds(op.where.data, lane)
            return known if known is not None else self.functions.constant(True, value.type)
        assert isinstance(op, LoadOp)
        return self._load(op, lane)

    def _load(self, op: LoadOp, lane: int) -> SSAValue:
        source = op.source
        assert isinstance(source, BlockArgument)

        def there() -> Values:
            return [self.load(self.inputs[source], self.place(op.at.data, op.base, lane))]

        (value,) = self.code.choose(self.holds(guards_of(op), lane), there, lambda: [self.functions.constant(0, op.result.type)])
        return value

    def load(self, buffer: Buffer, at: Index) -> SSAValue:
        """An element of a buffer, in the type in which it is computed."""
        value = self.code.load(buffer.memref, at)
        wanted = register_type(buffer.element)
        return value if value.type == wanted else self.code.op(arith.BitcastOp, [value], wanted)
