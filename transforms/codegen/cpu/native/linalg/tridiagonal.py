"""Tridiagonal systems by LAPACK's gtsv, called from compiled code matrix by matrix, on copies in the arena."""

from __future__ import annotations

from typing import Any

from wengert.dialects import core
from wengert.transforms.codegen.cpu.native.base import native
from wengert.transforms.codegen.cpu.native.boxes import copy_box
from wengert.transforms.codegen.cpu.native.kernel_builder import KernelBuilder
from wengert.transforms.codegen.cpu.native.linalg.lapack import Factorization
from wengert.transforms.schedule.target import Target


@native(core.TridiagonalSolveOp)
class TridiagonalSolve(Factorization):
    """gtsv overwrites the diagonals, and its right-hand sides with the solution."""

    def __init__(self, op: core.TridiagonalSolveOp, target: Target):
        super().__init__(op, target)
        for name in ("lower", "main", "upper"):
            self.space(name, self.m, self.element.size)
        self.space("x", self.m * self.n, self.element.size)

    @classmethod
    def matrices(cls, op: Any) -> Any:
        """The right-hand sides."""
        return op.b

    def run(self, builder: KernelBuilder, operands: list[str], results: list[str], places: dict[str, str]) -> None:
        for name, operand in zip(("lower", "main", "upper"), operands, strict=False):
            copy_box(builder, self.element, [self.m], operand, [1], places[name], [1])
        self.factor(builder, operands[3], results, places)

    def factor(self, builder: KernelBuilder, a: str, results: list[str], places: dict[str, str]) -> None:
        """Solves for the right-hand sides at an address; LAPACK's lower diagonal begins with the second row."""
        rows, sides = self.m, self.n
        self.transpose(builder, rows, sides, a, places["x"])
        below = builder.address(places["lower"], self.element, 1)
        self.call(builder, "gtsv", rows, sides, below, places["main"], places["upper"], places["x"], rows, results[1])
        self.transpose(builder, rows, sides, places["x"], results[0], back=True)
