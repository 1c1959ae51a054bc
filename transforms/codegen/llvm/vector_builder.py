"""Writes LLVM instructions on one lane or many, of which scalar functions are made."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.transforms.codegen.llvm.builder import FunctionBuilder, Index
from wengert.transforms.codegen.llvm.types import float_literal, intrinsic_suffix, splat, vector

Value = str | tuple[str, str]
"""The name of an SSA register or a literal; a pair of them for complex numbers."""


class VectorBuilder:
    """Appends instructions on ``lanes`` lanes, given the types of one lane; floating-point sums of products may contract if ``contract`` is set."""

    def __init__(self, builder: FunctionBuilder, lanes: int, contract: bool):
        self.builder = builder
        self.op = builder.op
        self.lanes = lanes
        self.contract = "contract " if contract else ""

    def type(self, register: str) -> str:
        return vector(register, self.lanes)

    def constant(self, register: str, text: str | int) -> str:
        return splat(register, str(text), self.lanes)

    def float_constant(self, register: str, value: float) -> str:
        return self.constant(register, float_literal(value, register))

    def suffix(self, register: str) -> str:
        """How an intrinsic's name ends for this type."""
        return intrinsic_suffix(register, self.lanes)

    def intrinsic(self, name: str, register: str, *operands: str, extra: str = "") -> str:
        kind = self.type(register)
        return self.op(f"call {kind} @llvm.{name}.{self.suffix(register)}({', '.join([f'{kind} {o}' for o in operands])}{extra})")

    def binary(self, opcode: str, register: str, x: str, y: str) -> str:
        return self.op(f"{opcode} {self.type(register)} {x}, {y}")

    def select(self, condition: str, register: str, x: str, y: str) -> str:
        """Lane by lane, by a mask."""
        kind = self.type(register)
        return self.op(f"select {self.type('i1')} {condition}, {kind} {x}, {kind} {y}")

    def compare(self, predicate: str, register: str, x: str, y: str) -> str:
        return self.op(f"{'icmp' if register[0] == 'i' else 'fcmp'} {predicate} {self.type(register)} {x}, {y}")

    def cast(self, opcode: str, x: str, source: str, target: str) -> str:
        return self.op(f"{opcode} {self.type(source)} {x} to {self.type(target)}")

    # -- lanes

    def splat(self, register: str, scalar: str) -> str:
        """A scalar register in every lane."""
        return self.builder.splat(register, scalar, self.lanes)

    def insert(self, register: str, whole: str, scalar: str, lane: Index) -> str:
        """The vector with another scalar in one lane."""
        return self.builder.insert(register, self.lanes, whole, scalar, lane)

    def extract(self, register: str, whole: str, lane: Index) -> str:
        """One lane of a vector."""
        return self.builder.extract(register, self.lanes, whole, lane)

    def shuffle(self, register: str, x: str, y: str, order: Sequence[int]) -> str:
        """A vector of the lanes with these numbers, of which those of y follow those of x."""
        return self.builder.shuffle(register, self.lanes, x, y, order)

    def any(self, mask: str) -> str:
        """An ``i1``: whether some lane of a mask is true."""
        return mask if self.lanes == 1 else self.op(f"call i1 @llvm.vector.reduce.or.v{self.lanes}i1({self.type('i1')} {mask})")


def real_value(value: Value) -> str:
    """The register of a value that is not complex."""
    assert isinstance(value, str)
    return value


def complex_value(value: Value) -> tuple[str, str]:
    """The registers of a complex value: the real part and the imaginary part."""
    assert isinstance(value, tuple)
    return value
