"""QR by LAPACK's geqrf and orgqr (ungqr)."""

from __future__ import annotations

from wengert.dialects import core
from wengert.ir.tensor_types import shape
from wengert.transforms.codegen.cpu.native.base import native
from wengert.transforms.codegen.cpu.native.boxes import zero
from wengert.transforms.codegen.cpu.native.kernel_builder import KernelBuilder
from wengert.transforms.codegen.cpu.native.linalg.lapack import BLOCK, Factorization
from wengert.transforms.schedule.target import Target


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

    def factor(self, builder: KernelBuilder, a: str, results: list[str], places: dict[str, str]) -> None:
        m, n, count = self.m, self.n, self.count
        packed, tau, work, info = (places[name] for name in ("a", "tau", "work", "info"))
        self.transpose(builder, m, n, a, packed)
        self.call(builder, "geqrf", m, n, packed, m, tau, work, self.work, info)
        zero(builder, results[1], count * n * self.element.size)
        with builder.loop(0, count) as row, builder.loop(row.index, n) as column:
            value = builder.memory().load(self.element, builder.address(packed, self.element, builder.linear([(column.index, m)], row.index)))
            builder.memory().store(self.element, value, builder.address(results[1], self.element, builder.linear([(row.index, n)], column.index)))
        self.call(builder, "ungqr" if self.is_complex else "orgqr", m, count, min(self.k, count), packed, m, tau, work, self.work, info)
        self.transpose(builder, m, count, packed, results[0], back=True)
