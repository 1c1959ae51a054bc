"""LU with pivots: many small matrices in vector lanes, a small one by generated loops, others by LAPACK's getrf."""

from __future__ import annotations

from wengert.dialects import core
from wengert.transforms.codegen.cpu.native.base import native
from wengert.transforms.codegen.cpu.native.kernel_builder import KernelBuilder
from wengert.transforms.codegen.cpu.native.linalg.batched_matrices import BatchedLu
from wengert.transforms.codegen.cpu.native.linalg.lapack import Factorization
from wengert.transforms.codegen.cpu.native.linalg.matrix_lanes import MatrixLanes
from wengert.transforms.codegen.cpu.native.linalg.small_matrices import SMALL, small_lu
from wengert.transforms.schedule.target import Target


@native(core.LuOp)
class Lu(Factorization):
    """getrf; pivots and info lie in the results at once."""

    def __init__(self, op: core.LuOp, target: Target):
        super().__init__(op, target)
        self.try_lanes()
        if self.lanes == 1 and not self.is_small:
            self.space("a", self.m * self.n, self.element.size)

    def emit(self, builder: KernelBuilder) -> None:
        if self.lanes == 1:
            super().emit(builder)
            return
        lanes, places = MatrixLanes(builder, self.element, self.lanes), self.places(builder)
        with lanes.groups(self.batch) as first:
            results = [self.matrix(builder, f"%q{n}", result, first) for n, result in enumerate(self.op.results)]
            lanes.gather(self.m * self.n, self.matrix(builder, "%p0", self.op.operands[0], first), places["group"])
            BatchedLu(lanes, (self.m, self.n), places["group"]).run(results[1], results[2])
            lanes.scatter(self.m * self.n, places["group"], results[0])

    @property
    def is_small(self) -> bool:
        return max(self.m, self.n) <= SMALL and not self.is_complex

    def factor(self, builder: KernelBuilder, a: str, results: list[str], places: dict[str, str]) -> None:
        if self.is_small:
            small_lu(builder, self.element, (self.m, self.n), a, results)
            return
        self.transpose(builder, self.m, self.n, a, places["a"])
        self.call(builder, "getrf", self.m, self.n, places["a"], self.m, results[1], results[2])
        self.transpose(builder, self.m, self.n, places["a"], results[0], back=True)
