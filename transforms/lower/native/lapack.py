"""Matrix factorisations by LAPACK, called from compiled code matrix by matrix, with workspace in the arena.

LAPACK is column-major: a row-major matrix goes to scratch memory transposed, and results come back so. A Cholesky factor
needs neither, since the lower triangle of a symmetric matrix, read the other way round, is its upper triangle. Matrices of
small order are factored by generated loops (:mod:`wengert.transforms.lower.native.small_matrices`).

Workspaces are at least what LAPACK's documentation asks for, with room for blocks of 64 columns.
"""

from __future__ import annotations

from abc import abstractmethod
from math import prod
from typing import Any

from wengert.dialects import core, stablehlo
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import element, shape
from wengert.transforms.lower.buffers import aligned
from wengert.transforms.lower.cpu_target import Target
from wengert.transforms.lower.cpu_types import Element, float_literal
from wengert.transforms.lower.native.base import NativeKernel, native
from wengert.transforms.lower.native.batched_matrices import MOST_ELEMENTS, BatchedCholesky, BatchedLu
from wengert.transforms.lower.native.boxes import copy_box, zero
from wengert.transforms.lower.native.code import Code, Index
from wengert.transforms.lower.native.held import held
from wengert.transforms.lower.native.matrix_lanes import MatrixLanes, group_count, lanes_of
from wengert.transforms.lower.native.small_matrices import SMALL, small_cholesky, small_lu
from wengert.transforms.lower.native.symbols import symbol
from wengert.transforms.lower.native.triangular import PREFIX

BLOCK = 64
_STEP_NS = 0.5
"""One of the m n k steps of a factorization of a small matrix."""
I32 = Element("i", "i32", "i32", 4)


class Factorization(NativeKernel):
    """One routine over all matrices of a batch. ``spaces`` are the pieces of scratch memory, in elements or i32 numbers."""

    def __init__(self, op: Any, target: Target):
        super().__init__(op, target)
        self.m, self.n = shape(self.matrices(op))[-2:]
        self.k = min(self.m, self.n)
        self.batch = prod(shape(self.matrices(op))[:-2])
        self.element = held(op.operands[0])
        self.part = Element("f", self.element.memory, self.element.register, self.element.part_size)
        self.prefix = PREFIX[element(op.operands[0])]
        self.spaces: dict[str, int] = {}
        self.lanes = 1

    @classmethod
    def matrices(cls, op: Any) -> Any:
        """The operand whose dimensions are the batch, rows and columns."""
        return op.operands[0]

    @classmethod
    def supports(cls, op: Any) -> bool:
        return element(op.operands[0]) in PREFIX and 0 not in shape(cls.matrices(op))[-2:]

    @property
    def is_complex(self) -> bool:
        return self.element.kind == "c"

    def space(self, name: str, count: int, size: int) -> None:
        """Asks for scratch memory."""
        self.spaces[name] = aligned(count * size)

    def scratch_bytes(self) -> int:
        return sum(self.spaces.values())

    def dealt_work(self) -> tuple[int, float]:
        return group_count(self.batch, self.lanes), self.batch * _STEP_NS * self.m * self.n * self.k / self.lanes

    def places(self, code: Code) -> dict[str, str]:
        """The addresses of the pieces of scratch memory."""
        found: dict[str, str] = {}
        offset = 0
        for name, size in self.spaces.items():
            found[name] = code.byte("%scratch", offset)
            offset += size
        return found

    def try_lanes(self) -> None:
        """Asks for scratch memory for groups of matrices, if they are small and many."""
        if 1 < self.m * self.n <= MOST_ELEMENTS:
            self.lanes = lanes_of(self.element, self.target, self.batch)
        if self.lanes > 1:
            self.space("group", self.lanes * self.m * self.n, self.element.size)

    def emit(self, code: Code) -> None:
        places = self.places(code)
        with code.dealt([self.batch]) as (number,):
            operands = [self.matrix(code, f"%p{n}", operand, number) for n, operand in enumerate(self.op.operands)]
            results = [self.matrix(code, f"%q{n}", result, number) for n, result in enumerate(self.op.results)]
            self.run(code, operands, results, places)

    def matrix(self, code: Code, pointer: str, value: Any, number: Index) -> str:
        """The address of one matrix (or vector, or number) of a batch."""
        count = prod(shape(value)[len(shape(self.matrices(self.op))) - 2 :])
        return code.address(pointer, held(value), code.times(number, count))

    def run(self, code: Code, operands: list[str], results: list[str], places: dict[str, str]) -> None:
        """The routine on one matrix."""
        self.factor(code, operands[0], results, places)

    @abstractmethod
    def factor(self, code: Code, a: str, results: list[str], places: dict[str, str]) -> None:
        """Factors one matrix."""

    # -- pieces

    def transpose(self, code: Code, rows: int, columns: int, source: str, target: str, *, back: bool = False, held_: Element | None = None) -> None:
        """A row-major matrix to column-major order, or back."""
        there, here = (columns, 1), (1, rows)
        first, second = (here, there) if back else (there, here)
        copy_box(code, held_ or self.element, [rows, columns], source, first, target, second)

    def call(self, code: Code, routine: str, *arguments: str | int) -> None:
        """Calls a routine: numbers are passed by address, single letters as characters."""
        found: list[str] = []
        for argument in arguments:
            if isinstance(argument, int):
                found.append(code.constant_at("i32", argument))
            elif len(argument) == 1:
                found.append(code.constant_at("i8", ord(argument)))
            else:
                found.append(argument)
        code.call(symbol("lapack", f"{self.prefix}{routine}"), found)

    def clear_triangle(self, code: Code, matrix: str, *, lower: bool) -> None:
        """Zeroes the triangle above (or below) the diagonal of a row-major square matrix."""
        size, n = self.element.size, self.n
        with code.loop(0, n) as row:
            start = code.times(row.index, n) if not lower else code.add(code.times(row.index, n + 1), 1)
            count = row.index if not lower else code.op(f"sub nsw i64 {n - 1}, {row.index}")
            bytes_ = code.op(f"mul nsw i64 {count}, {size}")
            code.line(f"call void @llvm.memset.p0.i64(ptr {code.address(matrix, self.element, start)}, i8 0, i64 {bytes_}, i1 false)")


class _AnyCholesky(Factorization):
    def __init__(self, op: Any, target: Target):
        super().__init__(op, target)
        self.try_lanes()

    def emit(self, code: Code) -> None:
        if self.lanes == 1:
            super().emit(code)
            return
        lanes, places = MatrixLanes(code, self.element, self.lanes), self.places(code)
        a, factor = self.op.operands[0], self.op.results[0]
        with lanes.groups(self.batch) as first:
            lanes.gather(self.n * self.n, self.matrix(code, "%p0", a, first), places["group"])
            failed = BatchedCholesky(lanes, places["group"], self.n, lower=self.is_lower).run()
            lanes.scatter(self.n * self.n, places["group"], self.matrix(code, "%q0", factor, first))
            with code.loop(0, self.lanes) as lane:
                number = code.add(first, lane.index)
                results = [self.matrix(code, f"%q{n}", result, number) for n, result in enumerate(self.op.results)]
                bad = code.op(f"extractelement <{self.lanes} x i1> {failed}, i64 {lane.index}")
                self.finish(code, self.matrix(code, "%p0", a, number), results, places, bad)

    def finish(self, code: Code, a: str, results: list[str], places: dict[str, str], failed: str) -> None:
        """What is left to do for one matrix: LAPACK's answer if it failed, and zeros."""
        self.finish_into(code, a, results[0], results[1], failed)

    def finish_into(self, code: Code, a: str, factor: str, info: str, failed: str) -> None:
        """The same, with the address of info."""
        code.memory().store(I32, "0", info)
        with code.when(failed):
            self._potrf(code, a, factor, info, lower=self.is_lower)
        self.clear_triangle(code, factor, lower=self.is_lower)

    def factor_into(self, code: Code, a: str, factor: str, info: str) -> None:
        """potrf on a copy; the letters are those of the transposed matrix."""
        lower = self.is_lower
        if self.n <= SMALL and not self.is_complex:
            failed = small_cholesky(code, self.element, self.n, a, factor, lower=lower)
            self.finish_into(code, a, factor, info, failed)
        else:
            self._potrf(code, a, factor, info, lower=lower)
            self.clear_triangle(code, factor, lower=lower)

    def _potrf(self, code: Code, a: str, factor: str, info: str, *, lower: bool) -> None:
        copy_box(code, self.element, [self.n * self.n], a, [1], factor, [1])
        self.call(code, "potrf", "U" if lower else "L", self.n, factor, self.n, info)

    @property
    def is_lower(self) -> bool:
        return self.op.lower is not None and bool(int_of(self.op.lower))


@native(core.CholeskyOp)
class Cholesky(_AnyCholesky):
    """The factor and info."""

    def factor(self, code: Code, a: str, results: list[str], places: dict[str, str]) -> None:
        self.factor_into(code, a, results[0], results[1])


@native(stablehlo.CholeskyOp)
class StableCholesky(_AnyCholesky):
    """The factor, NaN in its triangle where the matrix is not positive definite."""

    def __init__(self, op: stablehlo.CholeskyOp, target: Target):
        super().__init__(op, target)
        self.space("info", 1, 4)

    def factor(self, code: Code, a: str, results: list[str], places: dict[str, str]) -> None:
        self.factor_into(code, a, results[0], places["info"])
        self._mark(code, results[0], places)

    def finish(self, code: Code, a: str, results: list[str], places: dict[str, str], failed: str) -> None:
        self.finish_into(code, a, results[0], places["info"], failed)
        self._mark(code, results[0], places)

    def _mark(self, code: Code, factor: str, places: dict[str, str]) -> None:
        info = code.memory().load(I32, places["info"])
        nan = float_literal(float("nan"), self.part.register)
        with code.when(code.op(f"icmp ne i32 {info}, 0")), code.loop(0, self.n) as row:
            start, end = (0, code.add(row.index, 1)) if self.is_lower else (row.index, self.n)
            with code.loop(start, end) as column:
                at = code.address(factor, self.element, code.at([(row.index, self.n)], column.index))
                code.memory().store(self.element, (nan, "0.0") if self.is_complex else nan, at)


@native(core.LuOp)
class Lu(Factorization):
    """getrf; pivots and info lie in the results at once."""

    def __init__(self, op: core.LuOp, target: Target):
        super().__init__(op, target)
        self.try_lanes()
        if self.lanes == 1 and not self.is_small:
            self.space("a", self.m * self.n, self.element.size)

    def emit(self, code: Code) -> None:
        if self.lanes == 1:
            super().emit(code)
            return
        lanes, places = MatrixLanes(code, self.element, self.lanes), self.places(code)
        with lanes.groups(self.batch) as first:
            results = [self.matrix(code, f"%q{n}", result, first) for n, result in enumerate(self.op.results)]
            lanes.gather(self.m * self.n, self.matrix(code, "%p0", self.op.operands[0], first), places["group"])
            BatchedLu(lanes, (self.m, self.n), places["group"]).run(results[1], results[2])
            lanes.scatter(self.m * self.n, places["group"], results[0])

    @property
    def is_small(self) -> bool:
        return max(self.m, self.n) <= SMALL and not self.is_complex

    def factor(self, code: Code, a: str, results: list[str], places: dict[str, str]) -> None:
        if self.is_small:
            small_lu(code, self.element, (self.m, self.n), a, results)
            return
        self.transpose(code, self.m, self.n, a, places["a"])
        self.call(code, "getrf", self.m, self.n, places["a"], self.m, results[1], results[2])
        self.transpose(code, self.m, self.n, places["a"], results[0], back=True)


@native(core.QrOp)
class Qr(Factorization):
    """geqrf, then orgqr for the columns asked for."""

    def __init__(self, op: core.QrOp, target: Target):
        super().__init__(op, target)
        self.count = shape(op.q)[-1]
        self.work = BLOCK * max(self.n, self.count)
        size = self.element.size
        self.space("a", self.m * max(self.n, self.count), size)
        self.space("tau", self.k, size)
        self.space("work", self.work, size)
        self.space("info", 1, 4)

    def factor(self, code: Code, a: str, results: list[str], places: dict[str, str]) -> None:
        m, n, count = self.m, self.n, self.count
        packed, tau, work, info = (places[name] for name in ("a", "tau", "work", "info"))
        self.transpose(code, m, n, a, packed)
        self.call(code, "geqrf", m, n, packed, m, tau, work, self.work, info)
        zero(code, results[1], count * n * self.element.size)
        with code.loop(0, count) as row, code.loop(row.index, n) as column:
            value = code.memory().load(self.element, code.address(packed, self.element, code.at([(column.index, m)], row.index)))
            code.memory().store(self.element, value, code.address(results[1], self.element, code.at([(row.index, n)], column.index)))
        self.call(code, "ungqr" if self.is_complex else "orgqr", m, count, min(self.k, count), packed, m, tau, work, self.work, info)
        self.transpose(code, m, count, packed, results[0], back=True)


@native(core.EighOp)
class Eigh(Factorization):
    """syevd, or heevd."""

    def __init__(self, op: core.EighOp, target: Target):
        super().__init__(op, target)
        n = self.n
        self.lwork = max(2 * n + n * n, (BLOCK + 2) * n) if self.is_complex else max(1 + 6 * n + 2 * n * n, (BLOCK + 2) * n)
        self.lrwork, self.liwork = 1 + 5 * n + 2 * n * n, 3 + 5 * n
        self.space("a", n * n, self.element.size)
        self.space("work", self.lwork, self.element.size)
        if self.is_complex:
            self.space("rwork", self.lrwork, self.part.size)
        self.space("iwork", self.liwork, 4)

    def factor(self, code: Code, a: str, results: list[str], places: dict[str, str]) -> None:
        n = self.n
        self.transpose(code, n, n, a, places["a"])
        real = (places["rwork"], self.lrwork) if self.is_complex else ()
        letter = "L" if bool(int_of(self.op.lower)) else "U"
        routine = "heevd" if self.is_complex else "syevd"
        self.call(code, routine, "V", letter, n, places["a"], n, results[1], places["work"], self.lwork, *real, places["iwork"], self.liwork, results[2])
        self.transpose(code, n, n, places["a"], results[0], back=True)


@native(core.SvdOp)
class Svd(Factorization):
    """gesdd."""

    def __init__(self, op: core.SvdOp, target: Target):
        super().__init__(op, target)
        m, n, k, size = self.m, self.n, self.k, self.element.size
        most = max(m, n)
        self.columns, self.rows = shape(op.u)[-1], shape(op.vh)[-2]
        self.lwork = 4 * k * k + 7 * k + most + BLOCK * (most + 3 * k)
        self.space("a", m * n, size)
        self.space("u", m * self.columns, size)
        self.space("vh", self.rows * n, size)
        self.space("work", self.lwork, size)
        if self.is_complex:
            self.space("rwork", max(5 * k * k + 7 * k, 2 * most * k + 2 * k * k + k), self.part.size)
        self.space("iwork", 8 * k, 4)

    def factor(self, code: Code, a: str, results: list[str], places: dict[str, str]) -> None:
        m, n = self.m, self.n
        self.transpose(code, m, n, a, places["a"])
        real = (places["rwork"],) if self.is_complex else ()
        letter = "A" if bool(int_of(self.op.full)) else "S"
        call = (
            letter,
            m,
            n,
            places["a"],
            m,
            results[1],
            places["u"],
            m,
            places["vh"],
            self.rows,
            places["work"],
            self.lwork,
            *real,
            places["iwork"],
            results[3],
        )
        self.call(code, "gesdd", *call)
        self.transpose(code, m, self.columns, places["u"], results[0], back=True)
        self.transpose(code, self.rows, n, places["vh"], results[2], back=True)


@native(core.EigOp)
class Eig(Factorization):
    """geev. For a real matrix it packs a conjugate pair of vectors as real part and imaginary part."""

    def __init__(self, op: core.EigOp, target: Target):
        super().__init__(op, target)
        n, size = self.n, self.element.size
        self.lwork = (BLOCK + 4) * n
        for name in ("a", "left", "right"):
            self.space(name, n * n, size)
        self.space("work", self.lwork, size)
        for name, count in (("rwork", 2 * n),) if self.is_complex else (("re", n), ("im", n)):
            self.space(name, count, self.part.size)

    def factor(self, code: Code, a: str, results: list[str], places: dict[str, str]) -> None:
        n = self.n
        self.transpose(code, n, n, a, places["a"])
        values = (results[0],) if self.is_complex else (places["re"], places["im"])
        extra = (places["rwork"],) if self.is_complex else ()
        call = ("V", "V", n, places["a"], n, *values, places["left"], n, places["right"], n, places["work"], self.lwork, *extra, results[3])
        self.call(code, "geev", *call)
        if self.is_complex:
            self.transpose(code, n, n, places["left"], results[1], back=True)
            self.transpose(code, n, n, places["right"], results[2], back=True)
        else:
            self._unpack(code, results, places)

    def _unpack(self, code: Code, results: list[str], places: dict[str, str]) -> None:
        n, part, memory = self.n, self.part, code.memory()
        pair = Element("c", part.memory, part.register, 2 * part.size)
        with code.loop(0, n) as column:
            re, im = (memory.load(part, code.address(places[name], part, column.index)) for name in ("re", "im"))
            assert isinstance(re, str)
            assert isinstance(im, str)
            memory.store(pair, (re, im), code.address(results[0], pair, column.index))
            first, second = (code.op(f"fcmp {test} {part.register} {im}, 0.0") for test in ("ogt", "olt"))
            real = code.op(f"select i1 {second}, i64 {code.op(f'call i64 @llvm.smax.i64(i64 {code.add(column.index, -1)}, i64 0)')}, i64 {column.index}")
            next_ = code.op(f"call i64 @llvm.smin.i64(i64 {code.add(column.index, 1)}, i64 {n - 1})")
            imaginary = code.op(f"select i1 {first}, i64 {next_}, i64 {column.index}")
            with code.loop(0, n) as row:
                for name, result in (("left", results[1]), ("right", results[2])):
                    x, y = (memory.load(part, code.address(places[name], part, code.at([(at, n)], row.index))) for at in (real, imaginary))
                    assert isinstance(x, str)
                    assert isinstance(y, str)
                    minus = code.op(f"fneg {part.register} {y}")
                    lower = code.op(f"select i1 {second}, {part.register} {minus}, {part.register} 0.0")
                    z = code.op(f"select i1 {first}, {part.register} {y}, {part.register} {lower}")
                    memory.store(pair, (x, z), code.address(result, pair, code.at([(row.index, n)], column.index)))
