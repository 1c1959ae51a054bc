"""The pass ``scatters-to-gathers``: large scatters on targets where many threads run and sums keep an order.

Updates that may meet in one element are done by one thread, one after the other, since that is an order and atomic operations on floats have none.
Where there are many, each element of the result finds its updates instead:

* A scatter that replaces, or whose positions are said to be unique, has one update for an element: the last one. Its number is found by a scatter of
  integers, of which the greatest is kept; that is exact in any order, so all threads take part.
* Few updates of few elements: each element compares its position with that of every update, and adds up those that are its own.
* Otherwise positions are sorted, with the updates' numbers behind them (:mod:`wengert.transforms.fuse.sorting.network`); updates of one element are
  neighbours then, and are added up by a segmented scan (Blelloch, "Prefix sums and their applications", 1990, section 1.5).

Before and after, for unique positions::

    %y = core.scatter add of %u into %x at %i       %last = core.scatter max of (0, 1, 2, ...) into -1 at %i
                                                    %y = select(%last >= 0, %x + %u[%last], %x)

Every order is one that follows from shapes and positions alone, so results are the same to the bit in every run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from msgspec import Struct
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from wengert.dialects import core
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.core import Kind
from wengert.dialects.stablehlo.attributes import ScatterDimensionNumbersAttr, dimensions
from wengert.ir.attributes import int_attr, int_of
from wengert.ir.tensor_types import bf16, element, f16, f32, i32, i64, is_complex, shape, tensor, ui32, ui64
from wengert.transforms.ad.building_blocks.associative_scan import along, associative_scan
from wengert.transforms.core.kinds import combine, neutral
from wengert.transforms.fuse.rewriting import has_matches, replace_ops
from wengert.transforms.fuse.sorting.network import Lines, lines_of, sorted_lines
from wengert.transforms.fuse.updates.rows import Rows, taken

FEWEST = 256
"""Fewer updates are done one after the other."""
FEWEST_ROWS = 1024
"""The same for updates that are rows of so many elements that threads share them."""
WIDE = 128
"""The elements of such a row."""
MOST_COMPARISONS = 1 << 22
"""Elements of the result, times updates, up to which each is compared with all."""
FEWEST_SORTED = 4096
"""Fewer updates are not worth some dozens of kernels."""
_ATOMIC = (i32, i64, ui32, ui64)
_ELEMENTS = ScatterDimensionNumbersAttr(dimensions(()), dimensions((0,)), dimensions(()), dimensions(()), dimensions((0,)), int_attr(1))


@dataclass(frozen=True)
class ScattersToGathersPass(ModulePass):
    """Has the elements of large scatters find their updates, so that all of them are independent; sums of floats only if they may be reassociated."""

    name = "scatters-to-gathers"

    reassociate: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        replace_ops(op, self.name, (core.ScatterOp,), lambda scatter: _large(scatter, self.reassociate), _gathered)

    def changes(self, module: ModuleOp) -> bool:
        return has_matches(module, (core.ScatterOp,), lambda scatter: _large(scatter, self.reassociate))


def _large(op: core.ScatterOp, reassociate: bool) -> Rows | None:
    """The rows of a scatter that is worth it, and may be changed."""
    type, kind = element(op.operand), op.kind.data
    if is_complex(type) and kind in (Kind.max, Kind.min):
        return None
    rows = Rows.of(op)
    if rows is None or rows.count < (FEWEST_ROWS if rows.columns >= WIDE else FEWEST) or rows.rows >= 2**31 - 1:
        return None
    if type in _ATOMIC and kind not in (Kind.set, Kind.mul):
        return None
    if kind is Kind.set or _is_unique(op):
        return rows
    if kind in (Kind.add, Kind.mul) and not reassociate:
        return None
    return rows if _is_compared(rows) or rows.count >= FEWEST_SORTED else None


def _is_compared(rows: Rows) -> bool:
    """Whether each element is compared with all updates."""
    return rows.rows * rows.count * rows.columns <= MOST_COMPARISONS


def _is_unique(op: core.ScatterOp) -> bool:
    return bool(int_of(op.unique_indices))


def _gathered(b: OpBuilder, op: core.ScatterOp, rows: Rows) -> Value:
    x, updates, positions, kind = rows.operand(b), rows.updates(b), rows.positions(b), op.kind.data
    if kind is Kind.set or _is_unique(op):
        last = _last(b, positions, rows.rows)
        new = taken(b, updates, last)
        result = _where_any(b, b.compare("GE", last, b.full_like(last, 0)), new if kind is Kind.set else combine(b, kind, x, new), x)
    else:
        result = _combined(b, kind, x, updates, positions, _by_comparison if _is_compared(rows) else _by_sorting)
    return rows.restored(b, result)


def _last(b: OpBuilder, positions: Value, rows: int) -> Value:
    """The number of the last update of each row, -1 where there is none."""
    numbers = b.iota(0, tensor(shape(positions), i32))
    return b.scatter(Kind.max, b.full(-1, tensor([rows], i32)), b.reshape(positions, [*shape(positions), 1]), numbers, _ELEMENTS)


def _where_any(b: OpBuilder, has_update: Value, new: Value, old: Value) -> Value:
    return b.select(b.broadcast_in_dim(has_update, [0], shape(old)), new, old)


Combined = Callable[[OpBuilder, Kind, Value, Value, int], tuple[Value, Value]]
"""Which rows have updates, and these combined, for updates, their positions and a number of rows."""


def _combined(b: OpBuilder, kind: Kind, x: Value, updates: Value, positions: Value, combined: Combined) -> Value:
    """The rows of x combined with all of their updates; 16-bit floats are rounded once."""
    type = element(x)
    wide = f32 if type in (f16, bf16) and kind in (Kind.add, Kind.mul) else type
    x, updates = b.convert(x, wide), b.convert(updates, wide)
    has_update, total = combined(b, kind, updates, positions, shape(x)[0])
    return b.convert(_where_any(b, has_update, combine(b, kind, x, total), x), type)


def _by_comparison(b: OpBuilder, kind: Kind, updates: Value, positions: Value, rows: int) -> tuple[Value, Value]:
    """Which rows have updates, and these combined: each row is compared with the position of every update."""
    count, columns = shape(updates)
    whole = [rows, count, columns]
    here, theirs = b.iota(0, tensor([rows, count], i32)), b.broadcast_in_dim(positions, [1], [rows, count])
    own = b.compare("EQ", here, theirs)
    none = b.full(neutral(kind, element(updates)), tensor(whole, element(updates)))
    chosen = b.select(b.broadcast_in_dim(own, [0, 1], whole), b.broadcast_in_dim(updates, [1, 2], whole), none)
    return b.reduce(Kind.or_, own, [1]), b.reduce(kind, chosen, [1])


class _Ascending(Struct, frozen=True):
    """The order of positions."""

    captured: Sequence[Value] = ()

    def goes_first(self, b: OpBuilder, behind: Sequence[Value], ahead: Sequence[Value], captured: Sequence[Value]) -> Value:
        """Whether the position behind is a smaller one."""
        return b.compare("LT", behind[0], ahead[0])


def _by_sorting(b: OpBuilder, kind: Kind, updates: Value, positions: Value, rows: int) -> tuple[Value, Value]:
    """The same: updates of one row side by side, in their order, combined up to each of them by a scan that begins anew with every row."""
    count, columns = shape(updates)
    lines: Lines = sorted_lines(b, lines_of(b, [b.reshape(positions, [1, count, 1])]), _Ascending())
    ordered, numbers = b.reshape(lines.keys[0], [count]), b.reshape(lines.positions, [count])
    before = b.concatenate([b.full(-1, tensor([1], i32)), along(b, ordered, 0, 0, count - 1)], 0)
    begins = b.compare("NE", ordered, before)

    def joined(left: Sequence[Value], right: Sequence[Value]) -> list[Value]:
        (begins_left, x), (begins_right, y) = left, right
        new = b.broadcast_in_dim(begins_right, [0], [shape(y)[0], columns])
        return [b.or_(begins_left, begins_right), b.select(new, y, combine(b, kind, x, y))]

    _, running = associative_scan(b, joined, [begins, taken(b, updates, numbers)])
    last = _last(b, ordered, rows)
    return b.compare("GE", last, b.full_like(last, 0)), taken(b, running, last)
