"""LLVM types of elements, and the arithmetic of those that the vector kernels accept."""

from __future__ import annotations

from msgspec import Struct

from wengert.dialects.kernel.product_elements import ELEMENT_BYTES
from wengert.transforms.codegen.llvm.builder import FunctionBuilder
from wengert.transforms.codegen.llvm.types import first_lanes


class Arithmetic(Struct, frozen=True):
    """Vectors of `lanes` elements (scalars if 1)."""

    element: str
    lanes: int

    @property
    def floating(self) -> bool:
        return self.element in ("f32", "f64")

    @property
    def scalar(self) -> str:
        """The LLVM type of one element; an integer of its size for elements that are only moved (complex, bf16, f16)."""
        return {"f32": "float", "f64": "double", "c64": "i64", "c128": "i128"}.get(self.element) or f"i{8 * self.bytes}"

    @property
    def bytes(self) -> int:
        return ELEMENT_BYTES[self.element]

    @property
    def vector(self) -> str:
        """The LLVM type of a vector."""
        return self.scalar if self.lanes == 1 else f"<{self.lanes} x {self.scalar}>"

    @property
    def suffix(self) -> str:
        """How intrinsics spell the vector type."""
        name = self.element if self.floating else self.scalar
        return name if self.lanes == 1 else f"v{self.lanes}{name}"

    @property
    def padded(self) -> Arithmetic:
        """The same with a power of two of lanes, if this is another number of floats: LLVM takes three times as long for those, and computes in whole
        registers too. Not in registers of 16 bytes, since processors whose registers are no larger have no masked loads."""
        lanes = 1 << (self.lanes - 1).bit_length()
        return Arithmetic(self.element, lanes) if self.floating and lanes * self.bytes > 16 else self

    @property
    def zero(self) -> str:
        if self.lanes > 1:
            return "zeroinitializer"
        return "0.0" if self.floating else "0"

    def multiply_add(self, builder: FunctionBuilder, a: str, b: str, sum: str | None) -> str:
        """a * b + sum, or a * b; floats are fused where the processor can."""
        kind = self.vector
        if self.floating:
            if sum is None:
                return builder.binary("fmul", kind, a, b)
            return builder.op(f"call {kind} @llvm.fmuladd.{self.suffix}({kind} {a}, {kind} {b}, {kind} {sum})")
        product = builder.binary("mul", kind, a, b)
        return product if sum is None else builder.binary("add", kind, sum, product)

    def add(self, builder: FunctionBuilder, a: str, b: str) -> str:
        return builder.binary("fadd" if self.floating else "add", self.vector, a, b)

    def load_first(self, builder: FunctionBuilder, pointer: str, count: int) -> str:
        """A vector whose first lanes are in memory; the others are zeros."""
        if count == self.lanes:
            return builder.load(self.vector, pointer, self.bytes)
        operands = f"ptr {pointer}, i32 {self.bytes}, <{self.lanes} x i1> {first_lanes(count, self.lanes)}, {self.vector} zeroinitializer"
        return builder.op(f"call {self.vector} @llvm.masked.load.{self.suffix}.p0({operands})")

    def first(self, builder: FunctionBuilder, value: str, count: int) -> str:
        """The first lanes of a vector."""
        return value if count == self.lanes else builder.shuffle(self.scalar, self.lanes, value, "poison", range(count))

    def broadcast(self, builder: FunctionBuilder, value: str) -> str:
        """One element in every lane."""
        return builder.splat(self.scalar, value, self.lanes)

    def sum_lanes(self, builder: FunctionBuilder, value: str) -> str:
        """The sum of the lanes, in the order that is best for the processor."""
        if self.lanes == 1:
            return value
        if self.floating:
            return builder.op(f"call reassoc {self.scalar} @llvm.vector.reduce.fadd.{self.suffix}({self.scalar} -0.0, {self.vector} {value})")
        return builder.op(f"call {self.scalar} @llvm.vector.reduce.add.{self.suffix}({self.vector} {value})")
