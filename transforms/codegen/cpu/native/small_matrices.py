"""Factorisations of small matrices by generated loops, which cost less than a call of LAPACK."""

from __future__ import annotations

from typing import cast

from wengert.transforms.codegen.cpu.native.boxes import copy_box
from wengert.transforms.codegen.cpu.native.code import Code, Index
from wengert.transforms.codegen.llvm.types import Element

SMALL = 16
"""The largest order."""


def small_cholesky(code: Code, held: Element, n: int, a: str, factor: str, *, lower: bool) -> str:
    """One triangle of the factor, row by row: l_ij = (a_ij - sum over k < j of l_ik l_jk) / l_jj, l_ii its square root.

    Returns whether a pivot was not positive (then the factor is of no use).
    """
    kind, memory = held.register, code.memory()

    def place(pointer: str, i: Index, j: Index) -> str:
        return code.address(pointer, held, code.at([(i, n), (j, 1)] if lower else [(j, n), (i, 1)]))

    def load(pointer: str, i: Index, j: Index) -> str:
        return cast(str, memory.load(held, place(pointer, i, j)))

    def rest(i: Index, j: Index) -> str:
        with code.loop(0, j, [(kind, load(a, i, j))]) as inner:
            product = code.op(f"fmul contract {kind} {load(factor, i, inner.index)}, {load(factor, j, inner.index)}")
            inner.carry(code.op(f"fsub contract {kind} {inner.values[0]}, {product}"))
        return inner.values[0]

    with code.loop(0, n, [("i1", "false")]) as row:
        with code.loop(0, row.index) as column:
            found = code.op(f"fdiv {kind} {rest(row.index, column.index)}, {load(factor, column.index, column.index)}")
            memory.store(held, found, place(factor, row.index, column.index))
        pivot = rest(row.index, row.index)
        bad = code.op(f"fcmp ule {kind} {pivot}, 0.0")
        memory.store(held, code.scalars().intrinsic("sqrt", kind, pivot), place(factor, row.index, row.index))
        row.carry(code.op(f"or i1 {row.values[0]}, {bad}"))
    return row.values[0]


def small_lu(code: Code, held: Element, extents: tuple[int, int], a: str, results: list[str]) -> None:
    """Gaussian elimination with partial pivoting on a copy, row-major: results are l and u packed, pivots from 1, and info."""
    _Elimination(code, held, extents, results).run(a)


class _Elimination:
    def __init__(self, code: Code, held: Element, extents: tuple[int, int], results: list[str]):
        self.code = code
        self.held = held
        self.m, self.n = extents
        self.lu, self.pivots, self.info = results
        self.number = Element("i", "i32", "i32", 4)

    def place(self, i: Index, j: Index) -> str:
        return self.code.address(self.lu, self.held, self.code.at([(i, self.n)], j))

    def load(self, i: Index, j: Index) -> str:
        return cast(str, self.code.memory().load(self.held, self.place(i, j)))

    def run(self, a: str) -> None:
        code, kind, memory = self.code, self.held.register, self.code.memory()
        copy_box(code, self.held, [self.m * self.n], a, [1], self.lu, [1])
        with code.loop(0, min(self.m, self.n), [("i32", "0")]) as step:
            k = step.index
            row = self._pivot(k)
            number = code.op(f"trunc i64 {code.add(row, 1)} to i32")
            memory.store(self.number, number, code.address(self.pivots, self.number, k))
            with code.when(code.op(f"icmp ne i64 {row}, {k}")):
                self._exchange(k, row)
            pivot = self.load(k, k)
            zero = code.op(f"fcmp oeq {kind} {pivot}, 0.0")
            first = code.op(f"and i1 {zero}, {code.op(f'icmp eq i32 {step.values[0]}, 0')}")
            info = code.op(f"select i1 {first}, i32 {code.op(f'trunc i64 {code.add(k, 1)} to i32')}, i32 {step.values[0]}")
            divisor = code.op(f"select i1 {zero}, {kind} 1.0, {kind} {pivot}")
            self._eliminate(k, divisor)
            step.carry(info)
        memory.store(self.number, step.values[0], self.info)

    def _pivot(self, k: Index) -> str:
        """The first row from k on whose element in column k is largest in absolute value."""
        code, kind = self.code, self.held.register
        start = code.scalars().intrinsic("fabs", kind, self.load(k, k))
        with code.loop(code.add(k, 1), self.m, [(kind, start), ("i64", str(k))]) as loop:
            size = code.scalars().intrinsic("fabs", kind, self.load(loop.index, k))
            larger = code.op(f"fcmp ogt {kind} {size}, {loop.values[0]}")
            best = code.op(f"select i1 {larger}, {kind} {size}, {kind} {loop.values[0]}")
            loop.carry(best, code.op(f"select i1 {larger}, i64 {loop.index}, i64 {loop.values[1]}"))
        return loop.values[1]

    def _exchange(self, i: Index, j: Index) -> None:
        code, memory = self.code, self.code.memory()
        with code.loop(0, self.n) as loop:
            x, y = self.load(i, loop.index), self.load(j, loop.index)
            memory.store(self.held, y, self.place(i, loop.index))
            memory.store(self.held, x, self.place(j, loop.index))

    def _eliminate(self, k: Index, divisor: str) -> None:
        code, kind, memory = self.code, self.held.register, self.code.memory()
        with code.loop(code.add(k, 1), self.m) as row:
            factor = code.op(f"fdiv {kind} {self.load(row.index, k)}, {divisor}")
            memory.store(self.held, factor, self.place(row.index, k))
            with code.loop(code.add(k, 1), self.n) as column:
                product = code.op(f"fmul contract {kind} {factor}, {self.load(k, column.index)}")
                memory.store(self.held, code.op(f"fsub contract {kind} {self.load(row.index, column.index)}, {product}"), self.place(row.index, column.index))
