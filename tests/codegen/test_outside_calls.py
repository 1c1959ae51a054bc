"""Machine code calls only what is there: LLVM may add calls of its own, to functions of a run-time library that need not be in the process.

Most are added where it looks through one operation at another (a sign that is taken from before a number was rounded), so functions are tried in pairs.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from wengert.ir.parsing.parser import parse_module
from wengert.runtime.cpu.engine import Library, UnresolvedError
from wengert.runtime.cpu.object_file import undefined
from wengert.transforms.codegen.cpu.machine_code import emit_object
from wengert.transforms.codegen.cpu.program import generate
from wengert.transforms.lowering import placed
from wengert.transforms.schedule.host import host

UNARY: tuple[str, ...] = (
    *(f"stablehlo.{name}" for name in ("abs", "negate", "sine", "tan", "sqrt", "rsqrt", "cbrt", "exponential", "log", "tanh", "logistic", "sign", "floor")),
    *(f"stablehlo.{name}" for name in ("ceil", "round_nearest_even", "round_nearest_afz", "exponential_minus_one", "log_plus_one", "cosine")),
    *(f"chlo.{name}" for name in ("acos", "asin", "atan", "sinh", "cosh", "acosh", "asinh", "atanh", "erf", "erfc", "erf_inv", "lgamma", "digamma", "bessel_i1e")),
)  # fmt: skip
BINARY: tuple[str, ...] = (*(f"stablehlo.{name}" for name in ("power", "atan2", "remainder", "divide", "maximum")), "chlo.next_after", "chlo.zeta")
PAIRS = [(first, second) for first in (*UNARY, *BINARY) for second in (*UNARY, *BINARY)]
LIBRARY = {"fmod", "fmodf", "memcpy", "memmove", "memset"}
"""What the C library that Python itself is linked with has."""


def applied(number: int, op: str, x: str, kind: str) -> str:
    operands = [x, "%x"] if op in BINARY else [x]
    return f'%{number} = "{op}"({", ".join(operands)}) : ({", ".join([kind] * len(operands))}) -> {kind}'


@pytest.mark.parametrize("element", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("extent", ["", "24x"])
def test_pairs_of_functions(element: str, extent: str) -> None:
    kind = f"tensor<{extent}{element}>"
    chosen = np.random.default_rng(len(extent)).choice(len(PAIRS), 150, replace=False)
    always = [("stablehlo.power", "stablehlo.atan2")]
    lines, results = list[str](), list[str]()
    for number, (first, second) in enumerate([*always, *(PAIRS[int(i)] for i in chosen)]):
        lines += [applied(2 * number, first, "%x", kind), applied(2 * number + 1, second, f"%{2 * number}", kind)]
        results.append(f"%{2 * number + 1}")
    types = ", ".join([kind] * len(results))
    text = f"func.func @main(%x: {kind}) -> ({types}) {{\n" + "\n".join(lines) + f"\nreturn {', '.join(results)} : {types}\n}}"
    code = generate(placed(parse_module(text)), host().target)
    unknown = undefined(emit_object(code.text)) - LIBRARY - set(code.symbols)
    assert not unknown


def test_code_that_calls_what_is_not_there_is_not_loaded() -> None:
    image = emit_object("declare double @nowhere(double)\ndefine double @f(double %x) {\n%y = call double @nowhere(double %x)\nret double %y\n}")
    with pytest.raises(UnresolvedError, match="nowhere"):
        Library(image)


def test_files_that_call_each_other_are_loaded() -> None:
    calling = "declare double @g(double)\ndefine double @f(double %x) {\n%y = call double @g(double %x)\nret double %y\n}"
    called = "define double @g(double %x) {\n%y = fadd double %x, 1.0\nret double %y\n}"
    assert Library(emit_object(calling), emit_object(called)).address("f")


FIRST = """
from wengert.runtime.cpu.engine import Library
from wengert.transforms.codegen.cpu.machine_code import emit_object

text = "declare ptr @memset(ptr, i32, i64)\\ndefine ptr @f(ptr %p, i64 %n) {\\n%q = call ptr @memset(ptr %p, i32 0, i64 %n)\\nret ptr %q\\n}"
assert Library(emit_object(text)).address("f")
"""


def test_the_c_library_is_known_to_the_first_code_of_a_process() -> None:
    subprocess.run([sys.executable, "-c", FIRST], check=True)
