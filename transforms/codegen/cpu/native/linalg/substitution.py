"""Solves triangular systems by substitution, in place: generated loops for small matrices, in lanes if there are many, BLAS trsm for others.

BLAS is column-major. A row-major matrix is the transpose of what BLAS sees, so it is asked for the transposed system, in
the other triangle and from the other side: no operand is moved.
"""

from __future__ import annotations

from msgspec import Struct
from xdsl.ir import Attribute, SSAValue

from wengert.dialects.stablehlo.attributes import Transpose
from wengert.ir.tensor_types import c64, c128, f32, f64, shape
from wengert.ir.tensor_types import element as element_type
from wengert.transforms.codegen.cpu.native.kernel_builder import KernelBuilder
from wengert.transforms.codegen.cpu.native.linalg.batched_matrices import MOST_ELEMENTS, BatchedSubstitution
from wengert.transforms.codegen.cpu.native.linalg.matrix_lanes import MatrixLanes, lanes_of
from wengert.transforms.codegen.cpu.native.value_elements import value_element
from wengert.transforms.codegen.cpu.symbols import symbol
from wengert.transforms.codegen.llvm.builder import Index
from wengert.transforms.codegen.llvm.memory import Memory
from wengert.transforms.codegen.llvm.types import Element
from wengert.transforms.codegen.llvm.vector_builder import real_value
from wengert.transforms.schedule.target import Target

SMALL = 16
"""Up to this order generated loops are faster than a call of BLAS."""

STEP_NS = 0.5
"""One multiplication and subtraction, in a system so small that little of it is done in lanes."""

PREFIX: dict[Attribute, str] = {f32: "s", f64: "d", c64: "c", c128: "z"}
"""The first letter of a routine's name, by element type."""

ONES = {"s": ("float", "1.0"), "d": ("double", "1.0"), "c": ("<2 x float>", "<float 1.0, float 0.0>"), "z": ("<2 x double>", "<double 1.0, double 0.0>")}


def lanes_for(matrices: SSAValue, sides: SSAValue, target: Target, batch: int) -> int:
    """The number of systems of a batch that are solved at once."""
    n, count = shape(matrices)[-1], shape(sides)[-2] * shape(sides)[-1]
    small = n > 1 and count and n * n + count <= MOST_ELEMENTS
    return lanes_of(value_element(matrices), target, batch) if small else 1


class TriangularSystem(Struct, frozen=True):
    """``op(a) x = b`` or ``x op(a) = b``, x and b ``rows`` by ``columns``; the element type is an IR type."""

    kind: Attribute
    element: Element
    n: int
    rows: int
    columns: int
    left: bool
    lower: bool
    unit: bool
    how: Transpose

    @staticmethod
    def of(a: SSAValue, b: SSAValue, *, left: bool, lower: bool, unit: bool, how: Transpose) -> TriangularSystem:
        """The system of each matrix of a batch."""
        rows, columns = shape(b)[-2:]
        return TriangularSystem(element_type(a), value_element(a), shape(a)[-1], rows, columns, left, lower, unit, how)

    @property
    def layout(self) -> Layout:
        """The steps of substitution through the matrix and the right-hand sides."""
        turned = (self.how is not Transpose.NO_TRANSPOSE) == self.left  # from the right, y T = c is T^T y^T = c^T
        steps = (self.columns, 1) if self.left else (1, self.columns)
        sides = self.columns if self.left else self.rows
        return Layout((1, self.n) if turned else (self.n, 1), steps, self.n, sides, self.lower != turned)

    def solve(self, builder: KernelBuilder, matrix: str, solution: str) -> None:
        """Overwrites the right-hand sides of one system."""
        if self.n <= SMALL and self.element.kind == "f":
            _Substitution(builder, matrix, solution, self.layout, self.element, unit=self.unit).run()
        else:
            self._call(builder, matrix, solution)

    def solve_in_lanes(self, lanes: MatrixLanes, matrix: str, solution: str) -> None:
        """The same for as many systems as there are lanes, side by side."""
        layout = self.layout
        substitution = BatchedSubstitution(lanes, (matrix, solution), layout.matrix, layout.steps, first_to_last=layout.first_to_last, unit=self.unit)
        substitution.run(self.n, layout.sides)

    def _call(self, builder: KernelBuilder, matrix: str, solution: str) -> None:
        prefix = PREFIX[self.kind]
        letters = [
            "R" if self.left else "L",
            "U" if self.lower else "L",
            {Transpose.TRANSPOSE: "T", Transpose.ADJOINT: "C"}.get(self.how, "N"),
            "U" if self.unit else "N",
        ]
        arguments = [builder.constant_at("i8", ord(letter)) for letter in letters]
        arguments += [builder.constant_at("i32", self.columns), builder.constant_at("i32", self.rows), builder.constant_at(*ONES[prefix])]
        arguments += [matrix, builder.constant_at("i32", self.n), solution, builder.constant_at("i32", self.columns)]
        builder.call_external(symbol("blas", f"{prefix}trsm"), arguments)


class Layout(Struct, frozen=True):
    """Steps of the matrix from row to row and from column to column; of a solution from element to element, and from one
    right-hand side to the next; the order of the matrix, how many right-hand sides there are, and where substitution begins."""

    matrix: tuple[int, int]
    steps: tuple[int, int]
    n: int
    sides: int
    first_to_last: bool


class _Substitution:
    """The loops of one small system."""

    def __init__(self, builder: KernelBuilder, matrix: str, solution: str, layout: Layout, element: Element, *, unit: bool):
        self.builder = builder
        self.matrix = matrix
        self.solution = solution
        self.t, self.steps, self.n, self.sides = layout.matrix, layout.steps, layout.n, layout.sides
        self.element = element
        self.first_to_last = layout.first_to_last
        self.unit = unit

    def run(self) -> None:
        builder = self.builder
        lanes = builder.target.vector_bytes // self.element.size
        while lanes > 1 and lanes // 2 >= self.sides:
            lanes //= 2
        if self.steps[1] != 1 and self.sides < lanes:
            lanes = 1
        whole = self.sides // lanes * lanes
        with builder.loop(0, whole, step=lanes) as loop:
            self._sides(loop.index, lanes, lanes)
        if whole < self.sides:
            self._sides(whole, lanes, self.sides - whole)

    def _sides(self, first: Index, lanes: int, active: int) -> None:
        """Solves for the right-hand sides in the lanes."""
        builder, element, n = self.builder, self.element, self.n
        start = builder.address(self.solution, element, builder.multiply(first, self.steps[1]))
        memory, scalars = builder.memory(lanes, active), builder.scalars(lanes)

        def place(row: Index) -> str:
            return builder.address(start, element, builder.multiply(row, self.steps[0]))

        def entry(row: Index, column: Index) -> str:
            at = builder.address(self.matrix, element, builder.linear([(row, self.t[0]), (column, self.t[1])]))
            return builder.splat(element.register, real_value(builder.memory().load(element, at)), lanes)

        with builder.loop(0, n) as rows:
            row: Index = rows.index if self.first_to_last else builder.binary("sub nsw", "i64", n - 1, rows.index)
            span: tuple[Index, Index] = (0, row) if self.first_to_last else (builder.add(row, 1), n)
            with builder.loop(span[0], span[1], [(scalars.type(element.register), self._load(memory, place(row)))]) as inner:
                factor = entry(row, inner.index)
                product = scalars.apply("multiply", [factor, self._load(memory, place(inner.index))], [element, element], element)
                inner.carry(real_value(scalars.apply("subtract", [inner.values[0], product], [element, element], element)))
            solution: str = inner.values[0]
            if not self.unit:
                solution = real_value(scalars.apply("divide", [solution, entry(row, row)], [element, element], element))
            self._store(memory, solution, place(row))

    def _load(self, memory: Memory, at: str) -> str:
        """One element of the right-hand sides in the lanes, from the address of the first."""
        if memory.lanes == 1 or self.steps[1] == 1:
            return real_value(memory.load(self.element, at) if memory.lanes == 1 else memory.load_contiguous(self.element, at, 1))
        return real_value(memory.load_lanes(self.element, lambda lane: self.builder.address(at, self.element, lane * self.steps[1])))

    def _store(self, memory: Memory, value: str, at: str) -> None:
        if memory.lanes == 1:
            memory.store(self.element, value, at)
        elif self.steps[1] == 1:
            memory.store_contiguous(self.element, value, at, 1)
        else:
            memory.store_lanes(self.element, value, lambda lane: self.builder.address(at, self.element, lane * self.steps[1]))
