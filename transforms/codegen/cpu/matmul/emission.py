"""The text of the function of a plan: copies, loops around the product, and the kernel that the plan chose."""

from __future__ import annotations

from contextlib import ExitStack

from wengert.transforms.codegen.cpu.matmul.blas import emit_gemm, gemm_declaration, gemm_definitions
from wengert.transforms.codegen.cpu.matmul.dot_kernel import emit_dot
from wengert.transforms.codegen.cpu.matmul.function_text import FunctionText
from wengert.transforms.codegen.cpu.matmul.packing import copy_operand, copy_scalars
from wengert.transforms.codegen.cpu.matmul.planner import Copy, MatmulPlan
from wengert.transforms.codegen.cpu.matmul.row_kernel import emit_rows
from wengert.transforms.codegen.cpu.matmul.scalar_kernel import emit_complex
from wengert.transforms.codegen.cpu.matmul.target import ELEMENT_BYTES


def emit_function(plan: MatmulPlan, name: str, linkage: str = "") -> str:
    """`define void @name(ptr %a, ptr %b, ptr %c, ptr %scratch)`, after the constants that it needs.

    %a, %b: the operands of dot_general; %c: the contiguous result, overwritten, which must not overlap them; %scratch: memory of
    `plan.scratch_bytes` bytes that is aligned to 64 (not read if that is 0).  The symbols in `plan.symbols` must be declared once per
    module (`declarations`) and registered (`blas.register_symbols`).  `linkage`: such as "internal".
    """
    text = FunctionText()
    definitions = ""
    if not plan.empty:
        if plan.method == "blas":
            definitions = gemm_definitions(plan, name)
        emit_body(text, plan, name)
    arguments = "ptr noalias readonly %a, ptr noalias readonly %b, ptr noalias %c, ptr noalias %scratch"
    lines = [f"define {linkage} void @{name}({arguments}) nounwind {{", "entry:", *text.lines, "ret void", "}"]
    return definitions + "\n".join(lines) + "\n"


def declarations(plan: MatmulPlan) -> str:
    """Declarations of the external functions; the same text for all plans that call the same ones."""
    return gemm_declaration(plan) if plan.symbols else ""


def emit_body(text: FunctionText, plan: MatmulPlan, name: str) -> None:
    """Copies, then the loops around one matrix product, then the conversion of the result."""
    first, second = ("%b", "%a") if plan.exchanged else ("%a", "%b")
    a = copied_or_direct(text, plan.element, plan.copy_a, first)
    b = copied_or_direct(text, plan.element, plan.copy_b, second)
    c = "%c" if plan.result_element == plan.element else text.at("%scratch", "i8", "0", 0, plan.result_offset)
    kind = f"[{ELEMENT_BYTES[plan.element]} x i8]"
    with ExitStack() as nest:
        for loop in plan.loops:
            index = nest.enter_context(text.repeat(loop.size))
            a, b, c = (text.at(pointer, kind, index, step) for pointer, step in ((a, loop.a), (b, loop.b), (c, loop.c)))
        emit_product(text, plan, name, a, b, c)
    if plan.result_element != plan.element:
        result = text.at("%scratch", "i8", "0", 0, plan.result_offset)
        copy_scalars(text, (plan.element, plan.result_element), (plan.result_size,), result, 0, (1,), "%c", 0, (1,))


def copied_or_direct(text: FunctionText, element: str, copy: Copy | None, pointer: str) -> str:
    """The address at which the kernel reads an operand."""
    if copy is None:
        return pointer
    target = text.at("%scratch", "i8", "0", 0, copy.offset_bytes)
    copy_operand(text, element, copy, pointer, target)
    return target


def emit_product(text: FunctionText, plan: MatmulPlan, name: str, a: str, b: str, c: str) -> None:
    """One matrix product by the method of the plan."""
    match plan.method:
        case "zero":
            emit_zeros(text, plan, c)
        case "scalar":
            emit_complex(text, plan, a, b, c)
        case "blas":
            emit_gemm(text, plan, name, a, b, c)
        case "dot":
            emit_dot(text, plan, a, b, c)
        case "rows" | "packed" | "gathered":
            panel = text.at("%scratch", "i8", "0", 0, plan.panel_offset)
            emit_rows(text, plan, a, b, c, panel)


def emit_zeros(text: FunctionText, plan: MatmulPlan, c: str) -> None:
    """The empty sum; a row of C is contiguous."""
    size = ELEMENT_BYTES[plan.element]
    with text.repeat(plan.m) as i:
        row = text.at(c, "i8", i, plan.c_m * size)
        text.line(f"call void @llvm.memset.p0.i64(ptr {row}, i8 0, i64 {plan.n * size}, i1 false)")
