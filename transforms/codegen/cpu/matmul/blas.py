"""Emits large products as calls of the gemm that SciPy brings.

The text calls the symbols `wg.blas.sgemm` and `wg.blas.dgemm`, which are made known to LLVM before a module that uses them is loaded
(:mod:`wengert.transforms.codegen.cpu.symbols`). BLAS is column-major, so it is asked for C^T = B^T A^T.
"""

from __future__ import annotations

from wengert.transforms.codegen.llvm.builder import FunctionBuilder
from wengert.transforms.schedule.products.plan import MatmulPlan


def gemm_constants(builder: FunctionBuilder, plan: MatmulPlan, name: str) -> dict[str, str]:
    """The addresses of the constants that gemm reads, by name."""
    kind = "float" if plan.element == "f32" else "double"
    b_rows, a_rows = plan.b_n == 1 and plan.b_k >= plan.n, plan.a_k == 1 and plan.a_m >= plan.k  # where both steps are 1, only one may be the leading one
    b_step, a_step = (plan.b_k if b_rows else plan.b_n), (plan.a_m if a_rows else plan.a_k)
    constants = {
        "b_form": ("i8", ord("N") if b_rows else ord("T")),
        "a_form": ("i8", ord("N") if a_rows else ord("T")),
        "m": ("i32", plan.m),
        "n": ("i32", plan.n),
        "k": ("i32", plan.k),
        "a_step": ("i32", a_step),
        "b_step": ("i32", b_step),
        "c_step": ("i32", plan.c_m),
        "one": (kind, 1.0),
        "zero": (kind, 0.0),
    }
    return {key: builder.constant(f"{name}.{key}", type, str(value), linkage="private") for key, (type, value) in constants.items()}


def gemm_declaration(plan: MatmulPlan) -> str:
    """The declaration of the routine, which a module contains once."""
    return f"declare void @{plan.symbols[0]}({', '.join(['ptr'] * 13)})\n"


def emit_gemm(builder: FunctionBuilder, plan: MatmulPlan, name: str, a: str, b: str, c: str) -> None:
    """C = A B by one call."""
    given = {**gemm_constants(builder, plan, name), "a": a, "b": b, "c": c}
    order = ("b_form", "a_form", "n", "m", "k", "one", "b", "b_step", "a", "a_step", "zero", "c", "c_step")
    builder.call_void(plan.symbols[0], [("ptr", given[item]) for item in order])
