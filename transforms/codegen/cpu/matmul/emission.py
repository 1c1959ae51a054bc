"""Emits the function of a plan: copies, loops around the product, and the kernel that the plan names."""

from __future__ import annotations

from contextlib import ExitStack
from functools import lru_cache

from wengert.dialects.kernel.product_elements import ELEMENT_BYTES
from wengert.transforms.codegen.cpu.matmul.blas import emit_gemm, gemm_declaration
from wengert.transforms.codegen.cpu.matmul.block_runs import Blocks, emit_blocks, size_table
from wengert.transforms.codegen.cpu.matmul.blocked_kernel import block_name, blocked_functions, finished_block_function, shared_block_function, written
from wengert.transforms.codegen.cpu.matmul.dot_kernel import emit_dot
from wengert.transforms.codegen.cpu.matmul.finish import MORE, Finish, shared_result
from wengert.transforms.codegen.cpu.matmul.packing import copy_operand, copy_scalars
from wengert.transforms.codegen.cpu.matmul.row_kernel import emit_rows
from wengert.transforms.codegen.cpu.matmul.scalar_kernel import emit_complex
from wengert.transforms.codegen.cpu.matmul.sizes import table_name
from wengert.transforms.codegen.llvm.builder import FunctionBuilder
from wengert.transforms.schedule.products.plan import Copy, MatmulPlan

PARAMETERS = ("ptr noalias readonly %a", "ptr noalias readonly %b", "ptr noalias %c", "ptr noalias %scratch")


@lru_cache(maxsize=128)
def emit_function(plan: MatmulPlan, name: str, linkage: str = "", finish: Finish | None = None) -> str:
    """`define void @name(ptr %a, ptr %b, ptr %c, ptr %scratch)`, after the constants that it needs.

    %a, %b: the operands of dot_general; %c: the contiguous result, overwritten, which must not overlap them; %scratch: memory of
    `plan.scratch_bytes` bytes that is aligned to 64 (not read if that is 0).  The symbols in `plan.symbols` must be declared once per
    module (`helpers`) and registered (`symbols.register_symbols`).  `linkage`: such as "internal". ``finish``: what is done with
    complete rows of a product in blocks; the function takes the array of its pointers besides.  The text depends on nothing else; that of the last
    plans is kept, since layers of a model and programs of a process have many products alike.
    """
    builder = FunctionBuilder()
    if not plan.empty:
        emit_body(builder, plan, name, finish)
    parameters = PARAMETERS if finish is None else (*shared_result(PARAMETERS), f"ptr {MORE}")
    function = builder.definition(name, parameters, head=linkage, attributes="nounwind")
    before = ""
    if plan.method == "blocked" and not plan.empty:
        before = size_table(plan, name) if finish is None else finished_block_function(plan, f"{name}.block", finish)
    return builder.module.text() + before + function


def helpers(plan: MatmulPlan, *, finished: bool = False) -> dict[str, str]:
    """The functions that a module needs once for all plans that call them, by symbol: their definitions, and declarations of external ones. The block of a
    product that is ``finished`` is not among them."""
    if plan.method == "blocked" and not plan.empty:
        functions = blocked_functions(plan)
        if not finished:
            functions[block_name(plan)] = written(block_name(plan), lambda: shared_block_function(plan))
        return functions
    return dict.fromkeys(plan.symbols, gemm_declaration(plan)) if plan.symbols else {}


def emit_body(builder: FunctionBuilder, plan: MatmulPlan, name: str, finish: Finish | None = None) -> None:
    """Copies, then the loops around one matrix product, then the conversion of the result."""
    first, second = ("%b", "%a") if plan.exchanged else ("%a", "%b")
    a = copied_or_direct(builder, plan.element, plan.copy_a, first)
    b = copied_or_direct(builder, plan.element, plan.copy_b, second)
    apart = plan.result_element != plan.element and plan.method != "blocked"
    c = "%c" if not apart else builder.shared_offset("%scratch", "i8", offset=plan.result_offset)
    kinds = [f"[{ELEMENT_BYTES[element]} x i8]" for element in (*plan.stored, plan.element if apart else plan.result_element)]
    with ExitStack() as nest:
        for loop in plan.loops:
            index = nest.enter_context(builder.repeat(loop.size))
            a, b, c = (
                builder.shared_offset(pointer, kind, index, step) for pointer, kind, step in zip((a, b, c), kinds, (loop.a, loop.b, loop.c), strict=True)
            )
        emit_product(builder, plan, name, a, b, c, finish)
    if apart:
        result = builder.shared_offset("%scratch", "i8", offset=plan.result_offset)
        copy_scalars(builder, (plan.element, plan.result_element), (plan.result_size,), result, 0, (1,), "%c", 0, (1,))


def copied_or_direct(builder: FunctionBuilder, element: str, copy: Copy | None, pointer: str) -> str:
    """The address at which the kernel reads an operand."""
    if copy is None:
        return pointer
    target = builder.shared_offset("%scratch", "i8", offset=copy.offset_bytes)
    copy_operand(builder, element, copy, pointer, target)
    return target


def emit_product(builder: FunctionBuilder, plan: MatmulPlan, name: str, a: str, b: str, c: str, finish: Finish | None = None) -> None:
    """One matrix product by the method of the plan."""
    match plan.method:
        case "zero":
            emit_zeros(builder, plan, c)
        case "scalar":
            emit_complex(builder, plan, a, b, c)
        case "blas":
            emit_gemm(builder, plan, name, a, b, c)
        case "blocked":
            blocks = Blocks.of(plan, block_name(plan), f"@{table_name(name)}") if finish is None else Blocks.of(plan, f"{name}.block")
            emit_blocks(builder, blocks, (a, b, c, "%scratch"))
        case "dot":
            emit_dot(builder, plan, a, b, c)
        case "rows" | "packed" | "gathered":
            panel = builder.shared_offset("%scratch", "i8", offset=plan.panel_offset)
            emit_rows(builder, plan, a, b, c, panel)


def emit_zeros(builder: FunctionBuilder, plan: MatmulPlan, c: str) -> None:
    """The empty sum; a row of C is contiguous."""
    size = ELEMENT_BYTES[plan.element]
    with builder.repeat(plan.m) as i:
        row = builder.shared_offset(c, "i8", i, plan.c_m * size)
        builder.set_bytes(row, plan.n * size)
