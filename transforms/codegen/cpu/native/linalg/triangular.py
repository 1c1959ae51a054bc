"""``triangular_solve``: the right-hand sides are copied, and solved for in place."""

from __future__ import annotations

from math import prod

from wengert.dialects import stablehlo
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import element as element_type
from wengert.ir.tensor_types import shape
from wengert.transforms.codegen.cpu.native.base import NativeKernel, native
from wengert.transforms.codegen.cpu.native.boxes import copy_box
from wengert.transforms.codegen.cpu.native.kernel_builder import KernelBuilder
from wengert.transforms.codegen.cpu.native.linalg.matrix_lanes import MatrixLanes, group_bytes, group_count
from wengert.transforms.codegen.cpu.native.linalg.substitution import PREFIX, STEP_NS, TriangularSystem, lanes_for
from wengert.transforms.codegen.cpu.native.value_elements import value_element
from wengert.transforms.schedule.target import Target


@native(stablehlo.TriangularSolveOp)
class TriangularSolve(NativeKernel):
    """All matrices of a batch, one by one or in lanes."""

    @classmethod
    def supports(cls, op: stablehlo.TriangularSolveOp) -> bool:
        return element_type(op.a) in PREFIX and min(*shape(op.a), *shape(op.b)) >= 0

    def __init__(self, op: stablehlo.TriangularSolveOp, target: Target):
        super().__init__(op, target)
        self.batch, self.n = prod(shape(op.a)[:-2]), shape(op.a)[-1]
        self.count = prod(shape(op.b)[-2:])
        self.lanes = lanes_for(op.a, op.b, target, self.batch)
        left, lower, unit = (bool(int_of(flag)) for flag in (op.left_side, op.lower, op.unit_diagonal))
        self.system = TriangularSystem.of(op.a, op.b, left=left, lower=lower, unit=unit, how=op.transpose_a.data)

    def scratch_bytes(self) -> int:
        if self.lanes == 1:
            return 0
        return sum(group_bytes(count, self.lanes, value_element(self.op.a)) for count in (self.n * self.n, self.count))

    def parallel_work(self) -> tuple[int, float]:
        return group_count(self.batch, self.lanes), STEP_NS * prod(shape(self.op.b)) * self.n / self.lanes

    def emit(self, builder: KernelBuilder) -> None:
        if self.batch * self.count == 0:
            return
        if self.lanes > 1:
            self._in_lanes(builder)
            return
        element, n, count = value_element(self.op.a), self.n, self.count
        if self.cut is None:
            copy_box(builder, element, [self.batch * count], "%p1", [1], "%q0", [1])
        with builder.parallel_loops([self.batch]) as (number,):
            matrix = builder.address("%p0", element, builder.multiply(number, n * n))
            solution = builder.address("%q0", element, builder.multiply(number, count))
            if self.cut is not None:
                copy_box(builder, element, [count], builder.address("%p1", element, builder.multiply(number, count)), [1], solution, [1])
            self.system.solve(builder, matrix, solution)

    def _in_lanes(self, builder: KernelBuilder) -> None:
        """As many systems at once as a register has lanes."""
        lanes, squares = MatrixLanes(builder, value_element(self.op.a), self.lanes), self.n * self.n
        matrix, solution = "%scratch", builder.byte("%scratch", group_bytes(squares, self.lanes, lanes.element))
        with lanes.groups(self.batch) as first:
            lanes.gather(squares, builder.address("%p0", lanes.element, builder.multiply(first, squares)), matrix)
            lanes.gather(self.count, builder.address("%p1", lanes.element, builder.multiply(first, self.count)), solution)
            self.system.solve_in_lanes(lanes, matrix, solution)
            lanes.scatter(self.count, solution, builder.address("%q0", lanes.element, builder.multiply(first, self.count)))
