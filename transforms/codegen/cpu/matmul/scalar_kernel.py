"""Emits plain loops for complex elements (stored as pairs of real and imaginary part)."""

from __future__ import annotations

from wengert.transforms.codegen.llvm.builder import FunctionBuilder
from wengert.transforms.schedule.products.plan import MatmulPlan


def emit_complex(builder: FunctionBuilder, plan: MatmulPlan, a: str, b: str, c: str) -> None:
    """C = A B, one element of C at a time; strides count complex numbers."""
    kind, suffix, align = ("float", "f32", 4) if plan.element == "c64" else ("double", "f64", 8)

    def multiply_add(x: str, y: str, sum: str) -> str:
        return builder.op(f"call {kind} @llvm.fmuladd.{suffix}({kind} {x}, {kind} {y}, {kind} {sum})")

    def parts(pointer: str) -> tuple[str, str]:
        return builder.load(kind, pointer, align), builder.load(kind, builder.shared_offset(pointer, kind, offset=1), align)

    with builder.repeat(plan.m) as i, builder.repeat(plan.n) as j:
        a_row = builder.shared_offset(a, kind, i, 2 * plan.a_m)
        b_column = builder.shared_offset(b, kind, j, 2 * plan.b_n)
        place = builder.shared_offset(builder.shared_offset(c, kind, i, 2 * plan.c_m), kind, j, 2 * plan.c_n)
        with builder.rotated_loop(plan.k, [(kind, "0.0"), (kind, "0.0")]) as loop:
            real, imaginary = loop.values
            x, y = parts(builder.shared_offset(a_row, kind, loop.index, 2 * plan.a_k))
            u, v = parts(builder.shared_offset(b_column, kind, loop.index, 2 * plan.b_k))
            minus_y = builder.negate(kind, y)
            real = multiply_add(minus_y, v, multiply_add(x, u, real))
            imaginary = multiply_add(y, u, multiply_add(x, v, imaginary))
            loop.carry(real, imaginary)
        builder.store(kind, loop.results[0], place, align)
        builder.store(kind, loop.results[1], builder.shared_offset(place, kind, offset=1), align)
