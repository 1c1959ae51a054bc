"""Writes the functions that turn matrices in memory: blocks of a register's side are read, turned in registers, and written as whole lines of the cache.

A block at the end of a dimension overlaps the one before it, so that all are full; a dimension that is shorter than a register has blocks of its size.
"""

from __future__ import annotations

from msgspec import Struct

from wengert.transforms.codegen.cpu.matmul.elements import Arithmetic
from wengert.transforms.codegen.cpu.matmul.row_kernel import interleaved
from wengert.transforms.codegen.llvm.builder import FunctionBuilder, Operand
from wengert.transforms.codegen.llvm.module import SHARED

PARAMETERS = ("ptr noalias readonly %source", "i64 %from", "ptr noalias %target", "i64 %to", "i64 %rows", "i64 %columns")
"""The first elements, and the distances in elements of rows of the source and of the target, which has a row for each column of the source."""


class Turn(Struct, frozen=True):
    """A function by the bytes of an element (4 or 8), the lanes of a register, and the rows and columns of a block, at most so many."""

    size: int
    lanes: int
    rows: int
    columns: int

    @staticmethod
    def of(size: int, vector_bytes: int, rows: int, columns: int) -> Turn:
        """The function for a matrix of so many rows and columns."""
        lanes = max(vector_bytes // size, 1)
        return Turn(size, lanes, min(rows, lanes), min(columns, lanes))

    @property
    def symbol(self) -> str:
        return f"wg.turn.i{8 * self.size}.{self.rows}x{self.columns}x{self.lanes}"

    def call(self, builder: FunctionBuilder, source: str, source_step: int, target: str, target_step: int, rows: int, columns: int) -> None:
        """``target[j, i] = source[i, j]`` for so many rows i and columns j."""
        builder.module.once(self.symbol, self.function)
        operands: list[Operand] = [("ptr", source), ("i64", source_step), ("ptr", target), ("i64", target_step), ("i64", rows), ("i64", columns)]
        builder.call_void(self.symbol, operands)

    def function(self) -> str:
        """``define internal void @wg.turn...``, see :data:`PARAMETERS`."""
        builder, arithmetic = FunctionBuilder(), Arithmetic(f"i{8 * self.size}", self.lanes)
        kind = arithmetic.scalar
        last_row, last_column = builder.add("%rows", -self.rows), builder.add("%columns", -self.columns)
        with builder.loop(0, "%columns", step=self.columns) as along:
            column = builder.intrinsic("umin", "i64", along.index, last_column)
            source = builder.offset("%source", kind, column)
            target = builder.offset("%target", kind, builder.multiply(column, "%to"))
            with builder.loop(0, "%rows", step=self.rows) as across:
                row = builder.intrinsic("umin", "i64", across.index, last_row)
                first = builder.offset(source, kind, builder.multiply(row, "%from"))
                places = [builder.offset(first, kind, builder.multiply("%from", r)) for r in range(self.rows)]
                self._write(builder, arithmetic, [arithmetic.load_first(builder, place, self.columns) for place in places], builder.offset(target, kind, row))
        return builder.definition(self.symbol, PARAMETERS, attributes=f"{SHARED} nounwind")

    def _write(self, builder: FunctionBuilder, arithmetic: Arithmetic, rows: list[str], target: str) -> None:
        """Stores the columns of a block as rows."""
        count = 1 << (self.rows - 1).bit_length()
        mixed = interleaved(builder, arithmetic, [*rows, *["poison"] * (count - self.rows)])
        each = self.lanes // count
        for column in range(self.columns):
            vector, first = mixed[column // each], column % each * count
            if each > 1 or self.rows < count:
                vector = builder.shuffle(arithmetic.scalar, self.lanes, vector, "poison", range(first, first + self.rows))
            place = builder.offset(target, arithmetic.scalar, builder.multiply("%to", column))
            builder.store(f"<{self.rows} x {arithmetic.scalar}>", vector, place, arithmetic.bytes)
