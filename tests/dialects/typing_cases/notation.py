"""A short notation of one op as a module, which expands to MLIR's generic form.

``case("pad", "2xf64, f64 -> 3xf64", "edge_padding_low = array<i64: 1>, ...")`` is an op applied to the arguments of a
function. In types ``2x?xf64`` stands for ``tensor<2x?xf64>``, ``c64`` and ``c128`` for the complex element types; what starts
with ``!``, ``tensor``, ``tuple``, ``index`` or ``memref`` stands for itself.
"""

from __future__ import annotations

import re

from wengert.dialects.registry import make_context
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.ir.verification.verifier import verify

Cases = list[tuple[str, str]]
"""Ill-typed modules, each with a part of the message that rejects it."""


def expand(types: str) -> list[str]:
    """The types of a comma-separated list in short notation."""
    expanded: list[str] = []
    depth, parts = 0, [""]
    for c in types:
        depth += (c in "<{(") - (c in ">})")
        if c == "," and not depth:
            parts.append("")
        else:
            parts[-1] += c
    for part in parts:
        part = part.strip()
        if part and not re.match(r"!|tensor|tuple|index|memref", part):
            part = re.sub(r"(^|x)c(64|128)$", lambda m: f"{m[1]}complex<f{int(m[2]) // 2}>", part)
            part = f"tensor<{part}>"
        if part:
            expanded.append(part)
    return expanded


def region(arguments: str, *ops: str, returns: str = "%a0") -> str:
    """A region with arguments %a0, %a1, ... and these ops; ``returns`` lists values, whose types follow a colon."""
    entry = ", ".join(f"%a{i}: {t}" for i, t in enumerate(expand(arguments)))
    values, _, types = returns.partition(":")
    types = ", ".join(expand(types) if types else expand(arguments)[: len(values.split(",")) if values else 0])
    return (
        "{\n^bb0" + (f"({entry})" if entry else "") + ":\n" + "".join(f"  {o}\n" for o in ops) + f'  "stablehlo.return"({values.strip()}) : ({types}) -> ()\n}}'
    )


def reducer(element: str, op: str = "stablehlo.add") -> str:
    """A region that combines two scalars."""
    (type,) = expand(element)
    return region(f"{element}, {element}", f'%r = "{op}"(%a0, %a1) : ({type}, {type}) -> {type}', returns=f"%r: {element}")


def predicate(elements: str, direction: str = "GT") -> str:
    """A region that compares its first two scalars."""
    type = expand(elements)[0]
    compare = f'%p = "stablehlo.compare"(%a0, %a1) <{{comparison_direction = #stablehlo<comparison_direction {direction}>}}> : ({type}, {type}) -> tensor<i1>'
    return region(elements, compare, returns="%p: i1")


def case(name: str, types: str, attributes: str = "", *regions: str) -> str:
    """A module that holds one op; a name without a dialect is StableHLO's."""
    name = name if "." in name else f"stablehlo.{name}"
    before, _, after = types.partition("->")
    operands, results = expand(before), expand(after)
    left = f"%r:{len(results)} = " if len(results) > 1 else "%r = " if results else ""
    uses = ", ".join(f"%{i}" for i in range(len(operands)))
    properties = f" <{{{attributes}}}>" if attributes else ""
    nested = f" ({', '.join(regions)})" if regions else ""
    op = f'{left}"{name}"({uses}){properties}{nested} : ({", ".join(operands)}) -> ({", ".join(results)})'
    signature = ", ".join(f"%{i}: {t}" for i, t in enumerate(operands))
    return f"func.func @main({signature}) {{\n{op}\nreturn\n}}\n"


def verdict(text: str) -> str:
    """The empty string if the module verifies, else what is wrong with it."""
    try:
        verify(parse_module(text, "case.mlir", make_context()), text, "case.mlir")
    except DiagnosticError as error:
        return "; ".join(d.message for d in error.diagnostics)
    return ""


def name_of(text: str) -> str:
    """The op that a case is about."""
    named = re.search(r'"((?:stablehlo|chlo|core)\.[-a-z_0-9]+)"\(', text)
    assert named is not None
    return named[1]


FLOATS = [
    "cbrt",
    "ceil",
    "cosine",
    "exponential",
    "exponential_minus_one",
    "floor",
    "log",
    "log_plus_one",
    "logistic",
    "negate",
    "round_nearest_afz",
    "round_nearest_even",
    "rsqrt",
    "sign",
    "sine",
    "sqrt",
    "tan",
    "tanh",
]


INEXACT = [
    "cbrt",
    "cosine",
    "exponential",
    "exponential_minus_one",
    "log",
    "log_plus_one",
    "logistic",
    "negate",
    "rsqrt",
    "sign",
    "sine",
    "sqrt",
    "tan",
    "tanh",
]


BINARY = ["add", "atan2", "divide", "maximum", "minimum", "multiply", "power", "remainder", "subtract"]


BITS = ["and", "or", "xor"]


SHIFTS = ["shift_left", "shift_right_arithmetic", "shift_right_logical"]


CHLO = ["acos", "acosh", "asin", "asinh", "atan", "atanh", "bessel_i1e", "conj", "cosh", "digamma", "erf", "erf_inv", "erfc", "lgamma", "sinh", "square", "tan"]
