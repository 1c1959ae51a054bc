"""A small program about one op, and the short notation in which most of them are written.

``example("add", "3xf64, 3xf64 -> 3xf64")`` is a function that applies the op to its arguments and returns what it gives. In types
``2x3xf64`` stands for ``tensor<2x3xf64>``, ``c64`` and ``c128`` for the complex element types; what starts with ``!``, ``tensor`` or
``tuple`` stands for itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Example:
    """A program about an op, and where its arguments lie."""

    op: str
    text: str
    low: float = 0.2
    high: float = 0.8
    """Floats are drawn between these bounds, which most functions are defined between."""
    integers: tuple[int, int] = (0, 3)
    """Integers are drawn from this half-open range."""
    random: bool = False
    """Whether it draws random numbers, so that two runs need not agree."""


def types(text: str) -> list[str]:
    """The types of a comma-separated list in short notation."""
    parsed: list[str] = []
    for part in re.findall(r"(?:[^,<]|<(?:[^<>]|<[^<>]*>)*>)+", text):
        part = part.strip()
        if part and not re.match(r"!|tensor|tuple", part):
            part = re.sub(r"(^|x)c(64|128)$", lambda m: f"{m[1]}complex<f{int(m[2]) // 2}>", part)
            part = f"tensor<{part}>"
        if part:
            parsed.append(part)
    return parsed


def region(arguments: str, *ops: str, returns: str) -> str:
    """A region with arguments %a0, %a1, ... and these ops; ``returns`` is values, a colon, and their types."""
    entry = ", ".join(f"%a{i}: {t}" for i, t in enumerate(types(arguments)))
    values, _, returned = returns.partition(":")
    lines = "".join(f"    {op}\n" for op in ops)
    end = f'    "stablehlo.return"({values.strip()}) : ({", ".join(types(returned))}) -> ()\n'
    return "{\n" + (f"  ^bb0({entry}):\n" if entry else "") + lines + end + "  }"


def combine(element: str, op: str = "stablehlo.add") -> str:
    """A region that combines two scalars."""
    (type,) = types(element)
    return region(f"{element}, {element}", f'%r = "{op}"(%a0, %a1) : ({type}, {type}) -> {type}', returns=f"%r : {element}")


def compare(elements: str, direction: str = "LT") -> str:
    """A region that compares its first two scalars."""
    type = types(elements)[0]
    line = f'%p = "stablehlo.compare"(%a0, %a1) <{{comparison_direction = #stablehlo<comparison_direction {direction}>}}> : ({type}, {type}) -> tensor<i1>'
    return region(elements, line, returns="%p : i1")


def example(
    name: str,
    signature: str,
    attributes: str = "",
    *regions: str,
    constants: tuple[str, ...] = (),
    low: float = 0.2,
    high: float = 0.8,
    integers: tuple[int, int] = (0, 3),
    random: bool = False,
    before: str = "",
) -> Example:
    """A program that applies the op; the last operands may be constants, and ``before`` comes before the function."""
    before_arrow, _, after = signature.partition("->")
    operands, results = types(before_arrow), types(after)
    passed = operands[: len(operands) - len(constants)]
    given = operands[len(passed) :]
    values = [f"%{i}" for i in range(len(passed))] + [f"%c{i}" for i in range(len(given))]
    lines = [f'  %c{i} = "stablehlo.constant"() <{{value = {c} : {t}}}> : () -> {t}' for i, (c, t) in enumerate(zip(constants, given, strict=True))]
    left = f"%r:{len(results)} = " if len(results) > 1 else "%r = " if results else ""
    properties = f" <{{{attributes}}}>" if attributes else ""
    nested = f" ({', '.join(regions)})" if regions else ""
    lines.append(f'  {left}"{name}"({", ".join(values)}){properties}{nested} : ({", ".join(operands)}) -> ({", ".join(results)})')
    returned = [f"%r#{j}" for j in range(len(results))] if len(results) > 1 else ["%r"] * len(results)
    lines.append(f"  return {', '.join(returned)} : {', '.join(results)}" if results else "  return")
    head = f"func.func public @main({', '.join(f'%{i}: {t}' for i, t in enumerate(passed))}) -> ({', '.join(results)}) {{"
    return Example(name, "\n".join([*([before] if before else []), head, *lines, "}", ""]), low, high, integers, random)


def program(name: str, signature: str, *lines: str, before: str = "", low: float = 0.2, high: float = 0.8) -> Example:
    """A program of several lines about an op; arguments are %0, %1, ..., and what ends each line ``return`` is written out."""
    arguments, _, results = signature.partition("->")
    head = f"func.func public @main({', '.join(f'%{i}: {t}' for i, t in enumerate(types(arguments)))}) -> ({', '.join(types(results))}) {{"
    return Example(name, "\n".join([*([before] if before else []), head, *(f"  {line}" for line in lines), "}", ""]), low, high)
