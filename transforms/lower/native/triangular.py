"""Triangular systems by substitution: generated loops for small matrices, in lanes if there are many, BLAS trsm for others.

BLAS is column-major. A row-major matrix is the transpose of what BLAS sees, so it is asked for the transposed system, in
the other triangle and from the other side: no operand is moved, and the solution overwrites a copy of the right-hand side.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.ir import Attribute

from wengert.dialects import stablehlo
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import c64, c128, element, f32, f64, shape
from wengert.transforms.lower.cpu_target import Target
from wengert.transforms.lower.cpu_types import Element
from wengert.transforms.lower.native.base import NativeKernel, native
from wengert.transforms.lower.native.batched_matrices import MOST_ELEMENTS, BatchedSubstitution
from wengert.transforms.lower.native.boxes import copy_box
from wengert.transforms.lower.native.code import Code, Index
from wengert.transforms.lower.native.held import held
from wengert.transforms.lower.native.matrix_lanes import MatrixLanes, group_bytes, group_count, lanes_of
from wengert.transforms.lower.native.symbols import symbol

SMALL = 16
"""Up to this order generated loops are faster than a call of BLAS."""

_STEP_NS = 0.5
"""One multiplication and subtraction, in a system so small that little of it is done in lanes."""

PREFIX: dict[Attribute, str] = {f32: "s", f64: "d", c64: "c", c128: "z"}
"""The first letter of a routine's name, by element type."""

ONES = {"s": ("float", "1.0"), "d": ("double", "1.0"), "c": ("<2 x float>", "<float 1.0, float 0.0>"), "z": ("<2 x double>", "<double 1.0, double 0.0>")}


@native(stablehlo.TriangularSolveOp)
class TriangularSolve(NativeKernel):
    """All matrices of a batch, one by one."""

    @classmethod
    def supports(cls, op: stablehlo.TriangularSolveOp) -> bool:
        return element(op.a) in PREFIX and min(*shape(op.a), *shape(op.b)) >= 0

    def __init__(self, op: stablehlo.TriangularSolveOp, target: Target):
        super().__init__(op, target)
        self.batch, self.n = prod(shape(op.a)[:-2]), shape(op.a)[-1]
        self.count = prod(shape(op.b)[-2:])
        small = self.n > 1 and self.count and self.n * self.n + self.count <= MOST_ELEMENTS
        self.lanes = lanes_of(held(op.a), target, self.batch) if small else 1

    def scratch_bytes(self) -> int:
        if self.lanes == 1:
            return 0
        return sum(group_bytes(count, self.lanes, held(self.op.a)) for count in (self.n * self.n, self.count))

    def dealt_work(self) -> tuple[int, float]:
        return group_count(self.batch, self.lanes), _STEP_NS * prod(shape(self.op.b)) * self.n / self.lanes

    def emit(self, code: Code) -> None:
        op = self.op
        a, b = shape(op.a), shape(op.b)
        if prod(b) == 0:
            return
        if self.lanes > 1:
            self._in_lanes(code)
            return
        held_ = held(op.a)
        n, count = a[-1], b[-1] * b[-2]
        if self.cut is None:
            copy_box(code, held_, [prod(b)], "%p1", [1], "%q0", [1])
        with code.dealt([prod(a[:-2])]) as (number,):
            matrix = code.address("%p0", held_, code.times(number, n * n))
            solution = code.address("%q0", held_, code.times(number, count))
            if self.cut is not None:
                copy_box(code, held_, [count], code.address("%p1", held_, code.times(number, count)), [1], solution, [1])
            if n <= SMALL and held_.kind == "f":
                self._substitute(code, matrix, solution)
            else:
                self._call(code, matrix, solution)

    def _call(self, code: Code, matrix: str, solution: str) -> None:
        op, n = self.op, shape(self.op.a)[-1]
        rows, columns = shape(op.b)[-2:]
        prefix = PREFIX[element(op.a)]
        letters = [
            "R" if int_of(op.left_side) else "L",
            "U" if int_of(op.lower) else "L",
            {"TRANSPOSE": "T", "ADJOINT": "C"}.get(op.transpose_a.data, "N"),
            "U" if int_of(op.unit_diagonal) else "N",
        ]
        arguments = [code.constant_at("i8", ord(letter)) for letter in letters]
        arguments += [code.constant_at("i32", columns), code.constant_at("i32", rows), code.constant_at(*ONES[prefix])]
        arguments += [matrix, code.constant_at("i32", n), solution, code.constant_at("i32", columns)]
        code.call(symbol("blas", f"{prefix}trsm"), arguments)

    def _in_lanes(self, code: Code) -> None:
        """As many systems at once as a register has lanes."""
        op, layout = self.op, self._layout()
        lanes = MatrixLanes(code, held(op.a), self.lanes)
        matrix, solution = "%scratch", code.byte("%scratch", group_bytes(self.n * self.n, self.lanes, lanes.held))
        solve = BatchedSubstitution(
            lanes, (matrix, solution), layout.matrix, layout.steps, first_to_last=layout.first_to_last, unit=bool(int_of(op.unit_diagonal))
        )
        with lanes.groups(self.batch) as first:
            lanes.gather(self.n * self.n, code.address("%p0", lanes.held, code.times(first, self.n * self.n)), matrix)
            lanes.gather(self.count, code.address("%p1", lanes.held, code.times(first, self.count)), solution)
            solve.run(self.n, layout.sides)
            lanes.scatter(self.count, solution, code.address("%q0", lanes.held, code.times(first, self.count)))

    def _layout(self) -> _Layout:
        op = self.op
        columns = shape(op.b)[-1]
        left, transposed = bool(int_of(op.left_side)), op.transpose_a.data in ("TRANSPOSE", "ADJOINT")
        turned = transposed == left  # from the right, y T = c is T^T y^T = c^T
        steps = (columns, 1) if left else (1, columns)
        sides = columns if left else shape(op.b)[-2]
        return _Layout((1, self.n) if turned else (self.n, 1), steps, self.n, sides, bool(int_of(op.lower)) != turned)

    def _substitute(self, code: Code, matrix: str, solution: str) -> None:
        """T y = c for each right-hand side: y_i = (c_i - sum over the solved k of t_ik y_k) / t_ii."""
        _Substitution(code, matrix, solution, self._layout(), held(self.op.a), unit=bool(int_of(self.op.unit_diagonal))).run()


@dataclass(frozen=True)
class _Layout:
    """Steps of the matrix from row to row and from column to column; of a solution from element to element, and from one
    right-hand side to the next; the order of the matrix, how many right-hand sides there are, and where substitution begins."""

    matrix: tuple[int, int]
    steps: tuple[int, int]
    n: int
    sides: int
    first_to_last: bool


class _Substitution:
    """The loops of one small system."""

    def __init__(self, code: Code, matrix: str, solution: str, layout: _Layout, element: Element, *, unit: bool):
        self.code = code
        self.matrix = matrix
        self.solution = solution
        self.t, self.steps, self.n, self.sides = layout.matrix, layout.steps, layout.n, layout.sides
        self.element = element
        self.first_to_last = layout.first_to_last
        self.unit = unit

    def run(self) -> None:
        code = self.code
        lanes = code.target.vector_bytes // self.element.size
        while lanes > 1 and lanes // 2 >= self.sides:
            lanes //= 2
        if self.steps[1] != 1 and self.sides < lanes:
            lanes = 1
        whole = self.sides // lanes * lanes
        with code.loop(0, whole, step=lanes) as loop:
            self._sides(loop.index, lanes, lanes)
        if whole < self.sides:
            self._sides(whole, lanes, self.sides - whole)

    def _sides(self, first: Index, lanes: int, active: int) -> None:
        """Solves for the right-hand sides in the lanes."""
        code, held_, n = self.code, self.element, self.n
        start = code.address(self.solution, held_, code.times(first, self.steps[1]))
        memory, scalars = code.memory(lanes, active), code.scalars(lanes)
        kind = scalars.type(held_.register)

        def place(row: Index) -> str:
            return code.address(start, held_, code.times(row, self.steps[0]))

        def load(row: Index) -> str:
            at = place(row)
            if lanes == 1:
                found = code.memory().load(held_, at)
            elif self.steps[1] == 1:
                found = memory.load_contiguous(held_, at, 1)
            else:
                found = memory.load_lanes(held_, lambda lane: code.address(at, held_, lane * self.steps[1]))
            assert isinstance(found, str)
            return found

        def entry(row: Index, column: Index) -> str:
            found = code.memory().load(held_, code.address(self.matrix, held_, code.at([(row, self.t[0]), (column, self.t[1])])))
            assert isinstance(found, str)
            return found

        with code.loop(0, n) as rows:
            row: Index = rows.index if self.first_to_last else code.op(f"sub nsw i64 {n - 1}, {rows.index}")
            span: tuple[Index, Index] = (0, row) if self.first_to_last else (code.add(row, 1), n)
            with code.loop(span[0], span[1], [(kind, load(row))]) as inner:
                factor = code.splat(held_.register, entry(row, inner.index), lanes)
                product = scalars.apply("multiply", [factor, load(inner.index)], [held_, held_], held_)
                rest = scalars.apply("subtract", [inner.values[0], product], [held_, held_], held_)
                assert isinstance(rest, str)
                inner.carry(rest)
            found: str = inner.values[0]
            if not self.unit:
                divisor = code.splat(held_.register, entry(row, row), lanes)
                quotient = scalars.apply("divide", [found, divisor], [held_, held_], held_)
                assert isinstance(quotient, str)
                found = quotient
            at = place(row)
            if lanes == 1:
                code.memory().store(held_, found, at)
            elif self.steps[1] == 1:
                memory.store_contiguous(held_, found, at, 1)
            else:
                memory.store_lanes(held_, found, lambda lane: code.address(at, held_, lane * self.steps[1]))
