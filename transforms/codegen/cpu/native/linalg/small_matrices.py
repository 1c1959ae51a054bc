"""Factorisations of small matrices by generated loops, which cost less than a call of LAPACK."""

from __future__ import annotations

from typing import cast

from wengert.transforms.codegen.cpu.native.boxes import copy_box
from wengert.transforms.codegen.cpu.native.kernel_builder import KernelBuilder
from wengert.transforms.codegen.llvm.builder import Index
from wengert.transforms.codegen.llvm.types import Element

SMALL = 16
"""The largest order."""


def small_cholesky(builder: KernelBuilder, element: Element, n: int, a: str, factor: str, *, lower: bool) -> str:
    """One triangle of the factor, row by row: l_ij = (a_ij - sum over k < j of l_ik l_jk) / l_jj, l_ii its square root.

    Returns whether a pivot was not positive (then the factor is of no use).
    """
    kind, memory = element.register, builder.memory()

    def place(pointer: str, i: Index, j: Index) -> str:
        return builder.address(pointer, element, builder.linear([(i, n), (j, 1)] if lower else [(j, n), (i, 1)]))

    def load(pointer: str, i: Index, j: Index) -> str:
        return cast(str, memory.load(element, place(pointer, i, j)))

    def rest(i: Index, j: Index) -> str:
        with builder.loop(0, j, [(kind, load(a, i, j))]) as inner:
            product = builder.binary("fmul contract", kind, load(factor, i, inner.index), load(factor, j, inner.index))
            inner.carry(builder.binary("fsub contract", kind, inner.values[0], product))
        return inner.values[0]

    with builder.loop(0, n, [("i1", "false")]) as row:
        with builder.loop(0, row.index) as column:
            quotient = builder.binary("fdiv", kind, rest(row.index, column.index), load(factor, column.index, column.index))
            memory.store(element, quotient, place(factor, row.index, column.index))
        pivot = rest(row.index, row.index)
        bad = builder.fcmp("ule", kind, pivot, "0.0")
        memory.store(element, builder.scalars().intrinsic("sqrt", kind, pivot), place(factor, row.index, row.index))
        row.carry(builder.binary("or", "i1", row.values[0], bad))
    return row.values[0]


def small_lu(builder: KernelBuilder, element: Element, extents: tuple[int, int], a: str, results: list[str]) -> None:
    """Gaussian elimination with partial pivoting on a copy, row-major: results are l and u packed, pivots from 1, and info."""
    _Elimination(builder, element, extents, results).run(a)


class _Elimination:
    def __init__(self, builder: KernelBuilder, element: Element, extents: tuple[int, int], results: list[str]):
        self.builder = builder
        self.element = element
        self.m, self.n = extents
        self.lu, self.pivots, self.info = results
        self.number = Element("i", "i32", "i32", 4)

    def place(self, i: Index, j: Index) -> str:
        return self.builder.address(self.lu, self.element, self.builder.linear([(i, self.n)], j))

    def load(self, i: Index, j: Index) -> str:
        return cast(str, self.builder.memory().load(self.element, self.place(i, j)))

    def run(self, a: str) -> None:
        builder, kind, memory = self.builder, self.element.register, self.builder.memory()
        copy_box(builder, self.element, [self.m * self.n], a, [1], self.lu, [1])
        with builder.loop(0, min(self.m, self.n), [("i32", "0")]) as step:
            k = step.index
            row = self._pivot(k)
            number = builder.cast("trunc", builder.add(row, 1), "i64", "i32")
            memory.store(self.number, number, builder.address(self.pivots, self.number, k))
            with builder.when(builder.icmp("ne", "i64", row, k)):
                self._exchange(k, row)
            pivot = self.load(k, k)
            zero = builder.fcmp("oeq", kind, pivot, "0.0")
            first = builder.binary("and", "i1", zero, builder.icmp("eq", "i32", step.values[0], 0))
            info = builder.select(first, "i32", builder.cast("trunc", builder.add(k, 1), "i64", "i32"), step.values[0])
            divisor = builder.select(zero, kind, "1.0", pivot)
            self._eliminate(k, divisor)
            step.carry(info)
        memory.store(self.number, step.values[0], self.info)

    def _pivot(self, k: Index) -> str:
        """The first row from k on whose element in column k is largest in absolute value."""
        builder, kind = self.builder, self.element.register
        start = builder.scalars().intrinsic("fabs", kind, self.load(k, k))
        with builder.loop(builder.add(k, 1), self.m, [(kind, start), ("i64", str(k))]) as loop:
            size = builder.scalars().intrinsic("fabs", kind, self.load(loop.index, k))
            larger = builder.fcmp("ogt", kind, size, loop.values[0])
            best = builder.select(larger, kind, size, loop.values[0])
            loop.carry(best, builder.select(larger, "i64", loop.index, loop.values[1]))
        return loop.values[1]

    def _exchange(self, i: Index, j: Index) -> None:
        builder, memory = self.builder, self.builder.memory()
        with builder.loop(0, self.n) as loop:
            x, y = self.load(i, loop.index), self.load(j, loop.index)
            memory.store(self.element, y, self.place(i, loop.index))
            memory.store(self.element, x, self.place(j, loop.index))

    def _eliminate(self, k: Index, divisor: str) -> None:
        builder, kind, memory = self.builder, self.element.register, self.builder.memory()
        with builder.loop(builder.add(k, 1), self.m) as row:
            factor = builder.binary("fdiv", kind, self.load(row.index, k), divisor)
            memory.store(self.element, factor, self.place(row.index, k))
            with builder.loop(builder.add(k, 1), self.n) as column:
                product = builder.binary("fmul contract", kind, factor, self.load(k, column.index))
                memory.store(
                    self.element, builder.binary("fsub contract", kind, self.load(row.index, column.index), product), self.place(row.index, column.index)
                )
