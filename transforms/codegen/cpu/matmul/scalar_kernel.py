"""Plain loops for complex elements (stored as pairs of real and imaginary part)."""

from __future__ import annotations

from wengert.transforms.codegen.cpu.matmul.function_text import FunctionText
from wengert.transforms.codegen.cpu.matmul.planner import MatmulPlan


def emit_complex(text: FunctionText, plan: MatmulPlan, a: str, b: str, c: str) -> None:
    """C = A B, one element of C at a time; strides count complex numbers."""
    kind, suffix, align = ("float", "f32", 4) if plan.element == "c64" else ("double", "f64", 8)

    def multiply_add(x: str, y: str, sum: str) -> str:
        return text.op(f"call {kind} @llvm.fmuladd.{suffix}({kind} {x}, {kind} {y}, {kind} {sum})")

    def parts(pointer: str) -> tuple[str, str]:
        return text.load(kind, pointer, align), text.load(kind, text.at(pointer, kind, "0", 0, 1), align)

    with text.repeat(plan.m) as i, text.repeat(plan.n) as j:
        a_row = text.at(a, kind, i, 2 * plan.a_m)
        b_column = text.at(b, kind, j, 2 * plan.b_n)
        place = text.at(text.at(c, kind, i, 2 * plan.c_m), kind, j, 2)
        with text.loop(plan.k) as loop:
            real, imaginary = loop.carry(kind, "0.0"), loop.carry(kind, "0.0")
            x, y = parts(text.at(a_row, kind, loop.index, 2 * plan.a_k))
            u, v = parts(text.at(b_column, kind, loop.index, 2 * plan.b_k))
            minus_y = text.op(f"fneg {kind} {y}")
            new_real = multiply_add(minus_y, v, multiply_add(x, u, real))
            new_imaginary = multiply_add(y, u, multiply_add(x, v, imaginary))
            loop.update(real, new_real)
            loop.update(imaginary, new_imaginary)
        text.store(kind, new_real, place, align)
        text.store(kind, new_imaginary, text.at(place, kind, "0", 0, 1), align)
