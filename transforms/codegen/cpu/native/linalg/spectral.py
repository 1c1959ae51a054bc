"""Eigenvalues and singular values, with their vectors, by LAPACK: syevd or heevd, geev, gesdd."""

from __future__ import annotations

from wengert.dialects import core
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import shape
from wengert.transforms.codegen.cpu.native.base import native
from wengert.transforms.codegen.cpu.native.kernel_builder import KernelBuilder
from wengert.transforms.codegen.cpu.native.linalg.lapack import BLOCK, Factorization
from wengert.transforms.codegen.llvm.types import Element
from wengert.transforms.schedule.target import Target


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

    def factor(self, builder: KernelBuilder, a: str, results: list[str], places: dict[str, str]) -> None:
        n = self.n
        self.transpose(builder, n, n, a, places["a"])
        real = (places["rwork"], self.lrwork) if self.is_complex else ()
        letter = "L" if bool(int_of(self.op.lower)) else "U"
        routine = "heevd" if self.is_complex else "syevd"
        self.call(builder, routine, "V", letter, n, places["a"], n, results[1], places["work"], self.lwork, *real, places["iwork"], self.liwork, results[2])
        self.transpose(builder, n, n, places["a"], results[0], back=True)


@native(core.SvdOp)
class Svd(Factorization):
    """gesdd or gesvd."""

    def __init__(self, op: core.SvdOp, target: Target):
        super().__init__(op, target)
        m, n, k, size = self.m, self.n, self.k, self.element.size
        most = max(m, n)
        self.columns, self.rows = shape(op.u)[-1], shape(op.vh)[-2]
        self.by_iteration = op.by_iteration is not None and bool(int_of(op.by_iteration))
        self.lwork = 4 * k * k + 7 * k + most + BLOCK * (most + 3 * k)  # gesvd does with less
        self.space("a", m * n, size)
        self.space("u", m * self.columns, size)
        self.space("vh", self.rows * n, size)
        self.space("work", self.lwork, size)
        if self.is_complex:
            self.space("rwork", max(5 * k * k + 7 * k, 2 * most * k + 2 * k * k + k), self.part.size)
        self.space("iwork", 8 * k, 4)

    def factor(self, builder: KernelBuilder, a: str, results: list[str], places: dict[str, str]) -> None:
        m, n = self.m, self.n
        self.transpose(builder, m, n, a, places["a"])
        real = (places["rwork"],) if self.is_complex else ()
        letter = "A" if bool(int_of(self.op.full)) else "S"
        call = (
            *((letter, letter) if self.by_iteration else (letter,)),
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
            *(() if self.by_iteration else (places["iwork"],)),
            results[3],
        )
        self.call(builder, "gesvd" if self.by_iteration else "gesdd", *call)
        self.transpose(builder, m, self.columns, places["u"], results[0], back=True)
        self.transpose(builder, self.rows, n, places["vh"], results[2], back=True)


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

    def factor(self, builder: KernelBuilder, a: str, results: list[str], places: dict[str, str]) -> None:
        n = self.n
        self.transpose(builder, n, n, a, places["a"])
        values = (results[0],) if self.is_complex else (places["re"], places["im"])
        extra = (places["rwork"],) if self.is_complex else ()
        call = ("V", "V", n, places["a"], n, *values, places["left"], n, places["right"], n, places["work"], self.lwork, *extra, results[3])
        self.call(builder, "geev", *call)
        if self.is_complex:
            self.transpose(builder, n, n, places["left"], results[1], back=True)
            self.transpose(builder, n, n, places["right"], results[2], back=True)
        else:
            self._unpack(builder, results, places)

    def _unpack(self, builder: KernelBuilder, results: list[str], places: dict[str, str]) -> None:
        n, part, memory = self.n, self.part, builder.memory()
        pair = Element("c", part.memory, part.register, 2 * part.size)
        with builder.loop(0, n) as column:
            re, im = (memory.load(part, builder.address(places[name], part, column.index)) for name in ("re", "im"))
            assert isinstance(re, str)
            assert isinstance(im, str)
            memory.store(pair, (re, im), builder.address(results[0], pair, column.index))
            first, second = (builder.fcmp(test, part.register, im, "0.0") for test in ("ogt", "olt"))
            real = builder.select(second, "i64", builder.intrinsic("smax", "i64", builder.add(column.index, -1), 0), column.index)
            next_ = builder.intrinsic("smin", "i64", builder.add(column.index, 1), n - 1)
            imaginary = builder.select(first, "i64", next_, column.index)
            with builder.loop(0, n) as row:
                for name, result in (("left", results[1]), ("right", results[2])):
                    x, y = (memory.load(part, builder.address(places[name], part, builder.linear([(at, n)], row.index))) for at in (real, imaginary))
                    assert isinstance(x, str)
                    assert isinstance(y, str)
                    minus = builder.negate(part.register, y)
                    lower = builder.select(second, part.register, minus, "0.0")
                    z = builder.select(first, part.register, y, lower)
                    memory.store(pair, (x, z), builder.address(result, pair, builder.linear([(row.index, n)], column.index)))
