"""f16 on processors that cannot convert it: the functions that LLVM calls instead, in the same module.

Without F16C the back end turns conversions into calls of ``__extendhfsf2`` and ``__truncsfhf2``, which belong to a compiler's
own run-time library and need not be in the process.
"""

from __future__ import annotations

from wengert.transforms.codegen.cpu.matmul.conversion import f16_of_f32, f32_of_f16
from wengert.transforms.codegen.cpu.matmul.function_text import FunctionText


def half_conversions() -> str:
    """Definitions of both functions, by integer arithmetic."""
    widen, narrow = FunctionText(), FunctionText()
    wide = f32_of_f16(widen, widen.op("bitcast half %x to i16"))
    half = narrow.op(f"bitcast i16 {f16_of_f32(narrow, '%x')} to half")
    return "\n".join(
        [
            *("define float @__extendhfsf2(half %x) nounwind {", *widen.lines, f"ret float {wide}", "}"),
            *("define half @__truncsfhf2(float %x) nounwind {", *narrow.lines, f"ret half {half}", "}", ""),
        ]
    )
