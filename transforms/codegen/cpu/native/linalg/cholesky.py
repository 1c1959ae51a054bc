"""Cholesky factors: many small matrices in vector lanes, a small one by generated loops, others by LAPACK's potrf.

The factor needs no transposition: the lower triangle of a symmetric matrix, read the other way round, is its upper triangle.
"""

from __future__ import annotations

from typing import Any

from wengert.dialects import core, stablehlo
from wengert.ir.attributes import int_of
from wengert.transforms.codegen.cpu.native.base import native
from wengert.transforms.codegen.cpu.native.boxes import copy_box
from wengert.transforms.codegen.cpu.native.kernel_builder import KernelBuilder
from wengert.transforms.codegen.cpu.native.linalg.batched_matrices import BatchedCholesky
from wengert.transforms.codegen.cpu.native.linalg.lapack import I32, Factorization
from wengert.transforms.codegen.cpu.native.linalg.matrix_lanes import MatrixLanes
from wengert.transforms.codegen.cpu.native.linalg.small_matrices import SMALL, small_cholesky
from wengert.transforms.codegen.llvm.types import float_literal
from wengert.transforms.schedule.target import Target


class _AnyCholesky(Factorization):
    def __init__(self, op: Any, target: Target):
        super().__init__(op, target)
        self.try_lanes()

    def emit(self, builder: KernelBuilder) -> None:
        if self.lanes == 1:
            super().emit(builder)
            return
        lanes, places = MatrixLanes(builder, self.element, self.lanes), self.places(builder)
        a, factor = self.op.operands[0], self.op.results[0]
        with lanes.groups(self.batch) as first:
            lanes.gather(self.n * self.n, self.matrix(builder, "%p0", a, first), places["group"])
            failed = BatchedCholesky(lanes, places["group"], self.n, lower=self.is_lower).run()
            lanes.scatter(self.n * self.n, places["group"], self.matrix(builder, "%q0", factor, first))
            with builder.loop(0, self.lanes) as lane:
                number = builder.add(first, lane.index)
                results = [self.matrix(builder, f"%q{n}", result, number) for n, result in enumerate(self.op.results)]
                bad = builder.extract("i1", self.lanes, failed, lane.index)
                self.finish(builder, self.matrix(builder, "%p0", a, number), results, places, bad)

    def finish(self, builder: KernelBuilder, a: str, results: list[str], places: dict[str, str], failed: str) -> None:
        """Finishes one matrix: where the generated code failed LAPACK factors it again, for its info; the other triangle is zeroed."""
        self.finish_into(builder, a, results[0], results[1], failed)

    def finish_into(self, builder: KernelBuilder, a: str, factor: str, info: str, failed: str) -> None:
        """Finishes one matrix, by the addresses of its factor and of info."""
        builder.memory().store(I32, "0", info)
        with builder.when(failed):
            self._potrf(builder, a, factor, info)
        self._clear_triangle(builder, factor)

    def factor_into(self, builder: KernelBuilder, a: str, factor: str, info: str) -> None:
        """potrf on a copy; the letters are those of the transposed matrix."""
        if self.n <= SMALL and not self.is_complex:
            failed = small_cholesky(builder, self.element, self.n, a, factor, lower=self.is_lower)
            self.finish_into(builder, a, factor, info, failed)
        else:
            self._potrf(builder, a, factor, info)
            self._clear_triangle(builder, factor)

    def _potrf(self, builder: KernelBuilder, a: str, factor: str, info: str) -> None:
        copy_box(builder, self.element, [self.n * self.n], a, [1], factor, [1])
        self.call(builder, "potrf", "U" if self.is_lower else "L", self.n, factor, self.n, info)

    def _clear_triangle(self, builder: KernelBuilder, matrix: str) -> None:
        """Zeroes the elements above the diagonal of a lower factor (below that of an upper one)."""
        size, n = self.element.size, self.n
        with builder.loop(0, n) as row:
            start = builder.multiply(row.index, n) if not self.is_lower else builder.add(builder.multiply(row.index, n + 1), 1)
            count = row.index if not self.is_lower else builder.binary("sub nsw", "i64", n - 1, row.index)
            bytes_ = builder.binary("mul nsw", "i64", count, size)
            builder.set_bytes(builder.address(matrix, self.element, start), bytes_)

    @property
    def is_lower(self) -> bool:
        return self.op.lower is not None and bool(int_of(self.op.lower))


@native(core.CholeskyOp)
class Cholesky(_AnyCholesky):
    """The factor and info."""

    def factor(self, builder: KernelBuilder, a: str, results: list[str], places: dict[str, str]) -> None:
        self.factor_into(builder, a, results[0], results[1])


@native(stablehlo.CholeskyOp)
class StableCholesky(_AnyCholesky):
    """The factor, NaN in its triangle where the matrix is not positive definite."""

    def __init__(self, op: stablehlo.CholeskyOp, target: Target):
        super().__init__(op, target)
        self.space("info", 1, 4)

    def factor(self, builder: KernelBuilder, a: str, results: list[str], places: dict[str, str]) -> None:
        self.factor_into(builder, a, results[0], places["info"])
        self._mark(builder, results[0], places)

    def finish(self, builder: KernelBuilder, a: str, results: list[str], places: dict[str, str], failed: str) -> None:
        self.finish_into(builder, a, results[0], places["info"], failed)
        self._mark(builder, results[0], places)

    def _mark(self, builder: KernelBuilder, factor: str, places: dict[str, str]) -> None:
        info = builder.load("i32", places["info"], 4)
        nan = float_literal(float("nan"), self.part.register)
        with builder.when(builder.icmp("ne", "i32", info, 0)), builder.loop(0, self.n) as row:
            start, end = (0, builder.add(row.index, 1)) if self.is_lower else (row.index, self.n)
            with builder.loop(start, end) as column:
                at = builder.address(factor, self.element, builder.linear([(row.index, self.n)], column.index))
                builder.memory().store(self.element, (nan, "0.0") if self.is_complex else nan, at)
