"""The sums and other combinations that a nest writes: in registers over the loops inside of those that a position depends on, in memory over those outside."""

from __future__ import annotations

from math import prod

from msgspec import Struct
from xdsl.ir import Attribute, SSAValue

from wengert.dialects.core import Kind
from wengert.dialects.gpu.atomics import AtomicKind, AtomicRMWOp
from wengert.dialects.kernel import STORE, Write
from wengert.dialects.kernel.positions import Position, dimensions
from wengert.ir.construction import append
from wengert.ir.tensor_types import EIGHT_BITS, bf16, f16, f32, is_unsigned, size
from wengert.transforms.codegen.gpu.body import Buffer
from wengert.transforms.codegen.gpu.code import Index
from wengert.transforms.codegen.gpu.functions import Functions
from wengert.transforms.core.kinds import neutral
from wengert.transforms.schedule.placement import Placement, deepest

_FUNCTIONS = {"add": "add", "mul": "multiply", "max": "maximum", "min": "minimum", "and": "and", "or": "or"}
_ATOMICS = {
    "add": AtomicKind.ADDI,
    "maxs": AtomicKind.MAXS,
    "maxu": AtomicKind.MAXU,
    "mins": AtomicKind.MINS,
    "minu": AtomicKind.MINU,
    "or": AtomicKind.ORI,
    "and": AtomicKind.ANDI,
}


class Total(Struct, frozen=True, eq=False):
    """A write that combines what the loops inside of ``level`` compute (the innermost that its position depends on).

    ``in_memory``: the element is combined with what is there, from before the nest or from other iterations of outer loops.
    """

    write: Write
    at: Position
    level: int
    in_memory: bool


def totals_of(placed: Placement, shared: int) -> list[Total]:
    """The writes that combine over an inner loop at least; the first ``shared`` loops are those that threads share."""
    totals: list[Total] = []
    for write in placed.writes:
        at = placed.loops[write.at]
        level = max(deepest(at), shared - 1)
        if write.kind != STORE and write.base is None and write.condition is None and level < placed.inner:
            totals.append(Total(write, at, level, is_in_memory(placed, write, shared)))
    return totals


def is_in_memory(placed: Placement, write: Write, shared: int) -> bool:
    """Whether a write that combines finds something at its place: it continues an operand, or comes there more than once."""
    at = placed.loops[write.at]
    used, level = dimensions(at), max(deepest(at), shared - 1)
    again = any(d not in used and placed.extents[d] > 1 for d in range(level + 1)) or write.base is not None or write.condition is not None
    return again or placed.op.tied[write.target] >= 0 or sum(other.target == write.target for other in placed.writes) > 1


def filled(placed: Placement, shared: int) -> dict[int, str]:
    """The results that have to hold neutral elements before the nest runs, each with the kind of what is combined with them."""
    fills: dict[int, str] = {}
    for write in placed.writes:
        if write.kind == STORE or placed.op.tied[write.target] >= 0:
            continue
        elements = prod(placed.op.extents[d] for d in dimensions(write.at))
        if 0 in placed.op.extents or is_in_memory(placed, write, shared) or elements < size(placed.op.outputs[write.target]):
            fills[write.target] = write.kind
    return fills


class Combining:
    """Combines elements, 16-bit and 8-bit floats that are added up in f32, and rounds a total once."""

    def __init__(self, functions: Functions):
        self.functions, self.code = functions, functions.code

    @staticmethod
    def working_type(kind: str, element: Attribute) -> Attribute:
        """The type of the kernel dialect in which elements are combined."""
        return f32 if kind in ("add", "mul") and (element in (f16, bf16) or element in EIGHT_BITS) else element

    def neutral(self, kind: str, element: Attribute) -> SSAValue:
        """What a total begins with, in its working type."""
        return self.functions.constant(neutral(Kind(kind), element), self.working_type(kind, element))

    def widened(self, kind: str, value: SSAValue, element: Attribute) -> SSAValue:
        """An element in its working type."""
        return self.functions.convert(value, element, self.working_type(kind, element))

    def rounded(self, kind: str, total: SSAValue, element: Attribute) -> SSAValue:
        """A total as an element."""
        return self.functions.convert(total, self.working_type(kind, element), element)

    def combined(self, kind: str, x: SSAValue, y: SSAValue, element: Attribute) -> SSAValue:
        """Two totals combined."""
        working = self.working_type(kind, element)
        return self.functions.apply(_FUNCTIONS[kind], [x, y], [working, working], working)

    def atomically(self, write: Write, value: SSAValue, buffer: Buffer, at: Index) -> None:
        """Combines an integer with what is at a place, in one step."""
        element = write.value.type
        word = write.kind + ("u" if is_unsigned(element) else "s") * (write.kind in ("max", "min"))
        append(self.code.block, AtomicRMWOp.of(_ATOMICS[word], value, buffer.memref, (self.code.value(at),)))
