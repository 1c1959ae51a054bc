"""Complex arithmetic on numbers in registers, one lane or many."""

from __future__ import annotations

from wengert.transforms.codegen.cpu.native.kernel_builder import KernelBuilder
from wengert.transforms.fuse.fourier.arithmetic import Arithmetic

Number = tuple[str, str]
"""The registers of real and imaginary part."""


class Numbers(Arithmetic[str]):
    """Appends complex arithmetic on so many lanes of ``float`` or ``double``."""

    def __init__(self, builder: KernelBuilder, register: str, lanes: int):
        self.scalars = builder.scalars(lanes)
        self.register = register
        self.flags = self.scalars.contract.rstrip()

    def real(self, opcode: str, x: str, y: str) -> str:
        """One instruction on real numbers."""
        return self.scalars.binary(f"{opcode} {self.flags}".rstrip(), self.register, x, y)

    def constant(self, value: float) -> str:
        """The same number in every lane."""
        return self.scalars.float_constant(self.register, value)

    def plus(self, x: str, y: str) -> str:
        return self.real("fadd", x, y)

    def minus(self, x: str, y: str) -> str:
        return self.real("fsub", x, y)

    def times(self, x: str, y: str) -> str:
        return self.real("fmul", x, y)

    def negative(self, x: str) -> str:
        return self.scalars.negate(self.register, x)

    def multiply(self, x: Number, y: Number) -> Number:
        return self.scalars.multiply_complex(self.register, x, y)
