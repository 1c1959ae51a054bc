"""LLVM instructions on one lane or many: the pieces that scalar functions are written with."""

from __future__ import annotations

from wengert.transforms.codegen.llvm.math import Emitter
from wengert.transforms.codegen.llvm.types import float_literal, splat, vector

Value = str | tuple[str, str]
"""The name of an SSA register or a literal; a pair of them for complex numbers."""


class Instructions:
    """Appends instructions on ``lanes`` lanes; floating-point sums of products may contract if ``contract`` is set."""

    def __init__(self, out: Emitter, lanes: int, contract: bool):
        self.out = out
        self.lanes = lanes
        self.contract = "contract " if contract else ""

    def op(self, text: str) -> str:
        """Appends one instruction."""
        name = self.out.fresh()
        self.out.line(f"{name} = {text}")
        return name

    def type(self, register: str) -> str:
        return vector(register, self.lanes)

    def constant(self, register: str, text: str | int) -> str:
        return splat(register, str(text), self.lanes)

    def float_constant(self, register: str, value: float) -> str:
        return self.constant(register, float_literal(value, register))

    def suffix(self, register: str) -> str:
        """How an intrinsic's name ends for this type."""
        scalar = {"double": "f64", "float": "f32", "half": "f16"}.get(register, register)
        return scalar if self.lanes == 1 else f"v{self.lanes}{scalar}"

    def intrinsic(self, name: str, register: str, *operands: str, flags: str = "", extra: str = "") -> str:
        kind = self.type(register)
        return self.op(f"call {flags}{kind} @llvm.{name}.{self.suffix(register)}({', '.join(f'{kind} {o}' for o in operands)}{extra})")

    def binary(self, opcode: str, register: str, x: str, y: str) -> str:
        return self.op(f"{opcode} {self.type(register)} {x}, {y}")

    def select(self, condition: str, register: str, x: str, y: str) -> str:
        kind = self.type(register)
        return self.op(f"select {self.type('i1')} {condition}, {kind} {x}, {kind} {y}")

    def compare(self, predicate: str, register: str, x: str, y: str) -> str:
        return self.op(f"{'icmp' if register[0] == 'i' else 'fcmp'} {predicate} {self.type(register)} {x}, {y}")

    def cast(self, opcode: str, x: str, source: str, target: str) -> str:
        return self.op(f"{opcode} {self.type(source)} {x} to {self.type(target)}")


def one(value: Value) -> str:
    """A value that is not complex."""
    assert isinstance(value, str)
    return value


def pair(value: Value) -> tuple[str, str]:
    """A complex value."""
    assert isinstance(value, tuple)
    return value
