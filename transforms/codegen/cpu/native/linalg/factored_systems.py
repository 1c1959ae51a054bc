"""Emits what follows a factorisation: permutations, diagonals, and systems, whose two triangular ones are solved in place in one kernel."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from wengert.dialects import core
from wengert.dialects.kernel.memory import aligned
from wengert.dialects.stablehlo.attributes import Transpose
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import element as element_type
from wengert.ir.tensor_types import shape
from wengert.transforms.codegen.cpu.native.base import NativeKernel, native
from wengert.transforms.codegen.cpu.native.boxes import copy_box
from wengert.transforms.codegen.cpu.native.kernel_builder import KernelBuilder
from wengert.transforms.codegen.cpu.native.linalg.matrix_lanes import MatrixLanes, group_bytes, group_count
from wengert.transforms.codegen.cpu.native.linalg.substitution import PREFIX, STEP_NS, TriangularSystem, lanes_for
from wengert.transforms.codegen.cpu.native.value_elements import value_element
from wengert.transforms.codegen.llvm.builder import Index
from wengert.transforms.codegen.llvm.types import Element
from wengert.transforms.schedule.target import Target

_I32 = Element("i", "i32", "i32", 4)


def _load_row(builder: KernelBuilder, pointer: str, index: Index, rows: int, first: int = 0) -> str:
    """A row's number, which counts from ``first``, as one from 0 that is in bounds."""
    number = builder.cast("sext", builder.load("i32", builder.address(pointer, _I32, index), 4), "i32", "i64")
    above = builder.intrinsic("smax", "i64", builder.add(number, -first), 0)
    return builder.intrinsic("smin", "i64", above, rows - 1)


@native(core.PivotsToPermutationOp)
class PivotsToPermutation(NativeKernel):
    """The exchanges, one after the other."""

    @classmethod
    def supports(cls, op: core.PivotsToPermutationOp) -> bool:
        return True

    def parallel_work(self) -> tuple[int, float]:
        return prod(shape(self.op.pivots)[:-1]), 2.0 * prod(shape(self.op.permutation))

    def emit(self, builder: KernelBuilder) -> None:
        batch, k, m = prod(shape(self.op.pivots)[:-1]), shape(self.op.pivots)[-1], shape(self.op.permutation)[-1]
        with builder.parallel_loops([batch]) as (number,):
            pivots, order = (builder.address(p, _I32, builder.multiply(number, extent)) for p, extent in (("%p0", k), ("%q0", m)))
            memory = builder.memory()
            with builder.loop(0, m) as row:
                memory.store(_I32, builder.cast("trunc", row.index, "i64", "i32"), builder.address(order, _I32, row.index))
            with builder.loop(0, k) as row:
                here = builder.address(order, _I32, row.index)
                there = builder.address(order, _I32, _load_row(builder, pivots, row.index, m, first=1))
                first, second = memory.load(_I32, here), memory.load(_I32, there)
                memory.store(_I32, second, here)
                memory.store(_I32, first, there)


@native(core.LuDiagonalOp)
class LuDiagonal(NativeKernel):
    """A part of the factors (``%p1``); the matrix is not read."""

    @classmethod
    def supports(cls, op: core.LuDiagonalOp) -> bool:
        return True

    def emit(self, builder: KernelBuilder) -> None:
        batch, n = prod(shape(self.op.a)[:-2]), shape(self.op.a)[-1]
        copy_box(builder, value_element(self.op.lu), [batch, n], "%p1", [n * n, n + 1], "%q0", [n, 1])


@native(core.LuSolveOp)
class LuSolve(NativeKernel):
    """All systems of a batch, one by one or in lanes. The matrix itself (``%p0``) is not read."""

    @classmethod
    def supports(cls, op: core.LuSolveOp) -> bool:
        return element_type(op.a) in PREFIX

    def __init__(self, op: core.LuSolveOp, target: Target):
        super().__init__(op, target)
        self.batch, self.n, self.columns = prod(shape(op.a)[:-2]), shape(op.a)[-1], shape(op.b)[-1]
        self.count = self.n * self.columns
        self.element = value_element(op.a)
        self.lanes = lanes_for(op.a, op.b, target, self.batch)
        self.turned = bool(int_of(op.transpose))
        how = Transpose.TRANSPOSE if self.turned else Transpose.NO_TRANSPOSE
        low = TriangularSystem.of(op.lu, op.b, left=True, lower=True, unit=True, how=how)
        high = TriangularSystem.of(op.lu, op.b, left=True, lower=False, unit=False, how=how)
        self.systems = (high, low) if self.turned else (low, high)

    def scratch_bytes(self) -> int:
        if self.lanes > 1:
            return sum(group_bytes(count, self.lanes, self.element) for count in (self.n * self.n, self.count))
        return aligned(self.count * self.element.size) if self.turned else 0

    def parallel_work(self) -> tuple[int, float]:
        return group_count(self.batch, self.lanes), 2 * STEP_NS * prod(shape(self.op.b)) * self.n / self.lanes

    def emit(self, builder: KernelBuilder) -> None:
        if self.batch * self.count == 0:
            return
        if self.lanes > 1:
            self._in_lanes(builder)
            return
        with builder.parallel_loops([self.batch]) as (number,):
            lu, order, b, x = self._matrices(builder, number)
            if self.turned:
                copy_box(builder, self.element, [self.count], b, [1], "%scratch", [1])
                self._solve(builder, lu, "%scratch")
                self._move_rows(builder, order, lambda row, there: ("%scratch", row, x, there))
            else:
                self._move_rows(builder, order, lambda row, there: (b, there, x, row))
                self._solve(builder, lu, x)

    def _solve(self, builder: KernelBuilder, lu: str, solution: str) -> None:
        for system in self.systems:
            system.solve(builder, lu, solution)

    def _move_rows(self, builder: KernelBuilder, order: str, rows: Callable[[Index, Index], tuple[str, Index, str, Index]]) -> None:
        """Copies a row for each pair of a row and its place in the permutation: from (matrix, row) to (matrix, row)."""
        with builder.loop(0, self.n) as loop:
            source, row, target, there = rows(loop.index, _load_row(builder, order, loop.index, self.n))
            start, end = (builder.address(pointer, self.element, builder.multiply(index, self.columns)) for pointer, index in ((source, row), (target, there)))
            copy_box(builder, self.element, [self.columns], start, [1], end, [1])

    def _matrices(self, builder: KernelBuilder, number: Index) -> tuple[str, str, str, str]:
        """The factors, the permutation, the right-hand sides and the solution of one system of the batch."""
        lu = builder.address("%p1", self.element, builder.multiply(number, self.n * self.n))
        order = builder.address("%p2", _I32, builder.multiply(number, self.n))
        b, x = (builder.address(pointer, self.element, builder.multiply(number, self.count)) for pointer in ("%p3", "%q0"))
        return lu, order, b, x

    def _in_lanes(self, builder: KernelBuilder) -> None:
        """As many systems at once as a register has lanes, each with an order of its own."""
        lanes, squares = MatrixLanes(builder, self.element, self.lanes), self.n * self.n
        factors, solution = "%scratch", builder.byte("%scratch", group_bytes(squares, self.lanes, self.element))
        with lanes.groups(self.batch) as first:
            lu, order, b, x = self._matrices(builder, first)
            lanes.gather(squares, lu, factors)
            if self.turned:
                lanes.gather(self.count, b, solution)
            else:
                self._permuted(lanes, order, b, lambda places, there: lanes.store(str(lanes.memory.load_lanes(self.element, places)), there), solution)
            for system in self.systems:
                system.solve_in_lanes(lanes, factors, solution)
            if self.turned:
                self._permuted(lanes, order, x, lambda places, there: lanes.memory.store_lanes(self.element, lanes.load(there), places), solution)
            else:
                lanes.scatter(self.count, solution, x)

    def _permuted(self, lanes: MatrixLanes, order: str, matrices: str, move: Callable[[Callable[[int], str], str], None], solution: str) -> None:
        """``move`` between element (permutation[row], column) of each matrix in memory and element (row, column) in lanes."""
        builder = lanes.builder
        with builder.loop(0, self.n) as row:
            starts: list[str] = []
            for lane in range(self.lanes):
                there = _load_row(builder, order, builder.add(row.index, lane * self.n), self.n)
                starts.append(builder.address(matrices, self.element, builder.linear([(there, self.columns)], lane * self.count)))
            with builder.loops([self.columns]) as (column,):
                place = lanes.address(solution, builder.linear([(row.index, self.columns)], column))
                move(lambda lane: builder.address(starts[lane], self.element, column), place)


@native(core.CholeskySolveOp)
class CholeskySolve(NativeKernel):
    """Both systems in place. The matrix itself (``%p0``) is not read."""

    @classmethod
    def supports(cls, op: core.CholeskySolveOp) -> bool:
        return element_type(op.a) in PREFIX

    def __init__(self, op: core.CholeskySolveOp, target: Target):
        super().__init__(op, target)
        self.batch, self.squares, self.count = prod(shape(op.a)[:-2]), shape(op.a)[-1] ** 2, prod(shape(op.b)[-2:])
        self.element = value_element(op.a)
        self.lanes = lanes_for(op.a, op.b, target, self.batch)
        lower, turned = bool(int_of(op.lower)), Transpose.ADJOINT if self.element.kind == "c" else Transpose.TRANSPOSE
        hows = (Transpose.NO_TRANSPOSE, turned) if lower else (turned, Transpose.NO_TRANSPOSE)
        self.systems = [TriangularSystem.of(op.factor, op.b, left=True, lower=lower, unit=False, how=how) for how in hows]

    def scratch_bytes(self) -> int:
        return 0 if self.lanes == 1 else sum(group_bytes(count, self.lanes, self.element) for count in (self.squares, self.count))

    def parallel_work(self) -> tuple[int, float]:
        return group_count(self.batch, self.lanes), 2 * STEP_NS * prod(shape(self.op.b)) * shape(self.op.a)[-1] / self.lanes

    def emit(self, builder: KernelBuilder) -> None:
        if self.batch * self.count == 0:
            return
        if self.lanes > 1:
            self._in_lanes(builder)
            return
        with builder.parallel_loops([self.batch]) as (number,):
            factor, b, x = self._matrices(builder, number)
            copy_box(builder, self.element, [self.count], b, [1], x, [1])
            for system in self.systems:
                system.solve(builder, factor, x)

    def _matrices(self, builder: KernelBuilder, number: Index) -> list[str]:
        places = (("%p1", self.squares), ("%p2", self.count), ("%q0", self.count))
        return [builder.address(pointer, self.element, builder.multiply(number, count)) for pointer, count in places]

    def _in_lanes(self, builder: KernelBuilder) -> None:
        lanes = MatrixLanes(builder, self.element, self.lanes)
        factors, solution = "%scratch", builder.byte("%scratch", group_bytes(self.squares, self.lanes, self.element))
        with lanes.groups(self.batch) as first:
            factor, b, x = self._matrices(builder, first)
            lanes.gather(self.squares, factor, factors)
            lanes.gather(self.count, b, solution)
            for system in self.systems:
                system.solve_in_lanes(lanes, factors, solution)
            lanes.scatter(self.count, solution, x)
