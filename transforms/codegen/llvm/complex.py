"""Functions of complex numbers: pairs of registers. Those of many instructions come from :mod:`wengert.transforms.codegen.llvm.math`."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.transforms.codegen.llvm.floats import FLOAT_PREDICATES, FloatFunctions
from wengert.transforms.codegen.llvm.math.complex_functions import COMPLEX_FUNCTIONS, emit_complex, emit_modulus
from wengert.transforms.codegen.llvm.types import Element
from wengert.transforms.codegen.llvm.vector_builder import Value, complex_value


class ComplexFunctions(FloatFunctions):
    """Arithmetic of complex numbers, which may contract, and functions."""

    def complex_function(self, function: str, operands: Sequence[Value], element: Element) -> Value:
        pairs = [complex_value(operand) for operand in operands]
        part, (re, im) = element.register, pairs[0]
        if function in COMPLEX_FUNCTIONS:
            return emit_complex(function, element.math, self.lanes, pairs, self.builder)
        if function in ("add", "subtract"):
            opcode = "fadd" if function == "add" else "fsub"
            return self.binary(opcode, part, re, pairs[1][0]), self.binary(opcode, part, im, pairs[1][1])
        if function == "multiply":
            return self.multiply_complex(part, pairs[0], pairs[1])
        if function == "negate":
            return self.negate(part, re), self.negate(part, im)
        if function == "conj":
            return re, self.negate(part, im)
        if function in ("real", "imag"):
            return re if function == "real" else im
        if function == "abs":
            return emit_modulus(element.math, self.lanes, pairs[0], self.builder)
        predicate = FLOAT_PREDICATES[function]
        first = self.compare(predicate, part, re, pairs[1][0])
        return self.binary("and" if function == "eq" else "or", "i1", first, self.compare(predicate, part, im, pairs[1][1]))

    def multiply_complex(self, part: str, x: tuple[str, str], y: tuple[str, str]) -> tuple[str, str]:
        """(a + bi)(c + di) = (ac - bd) + (ad + bc)i."""
        flags = self.contract.rstrip()
        ac, bd, ad, bc = [self.binary(f"fmul {flags}", part, p, q) for p, q in ((x[0], y[0]), (x[1], y[1]), (x[0], y[1]), (x[1], y[0]))]
        return self.binary(f"fsub {flags}", part, ac, bd), self.binary(f"fadd {flags}", part, ad, bc)
