"""Emits the search for the least or the greatest element of a panel."""

from __future__ import annotations

from collections.abc import Callable

from wengert.dialects.kernel.product_elements import ELEMENT_BYTES
from wengert.transforms.codegen.cpu.matmul.elements import Arithmetic
from wengert.transforms.codegen.llvm.builder import FunctionBuilder, Index


def word_of(element: str) -> str:
    """The integer type of an element's bits."""
    return f"i{8 * ELEMENT_BYTES[element]}"


def whole_registers(builder: FunctionBuilder, lanes: int) -> Index:
    """As many of the elements as fill registers."""
    return builder.binary("and", "i64", "%count", -lanes)


def fold(builder: FunctionBuilder, element: str, lanes: int, kind: str, neutral: int, read: Callable[[str, int], str]) -> str:
    """The least or the greatest of all elements of ``%panel``, ``%count`` of them, as they are read, registers first and what is left one by one."""
    word, whole = word_of(element), whole_registers(builder, lanes)
    words = Arithmetic(word, lanes)

    def combined(arithmetic: Arithmetic, x: str, y: str) -> str:
        return builder.op(f"call {arithmetic.vector} @llvm.{kind}.{arithmetic.suffix}({arithmetic.vector} {x}, {arithmetic.vector} {y})")

    with builder.loop(0, whole, [(words.vector, builder.splat(word, str(neutral), lanes))], step=lanes) as loop:
        loop.carry(combined(words, loop.values[0], read(builder.offset("%panel", word, loop.index), lanes)))
    total = loop.values[0]
    if lanes > 1:
        total = builder.op(f"call {word} @llvm.vector.reduce.{kind}.{words.suffix}({words.vector} {total})")
    with builder.loop(whole, "%count", [(word, total)]) as rest:
        rest.carry(combined(Arithmetic(word, 1), rest.values[0], read(builder.offset("%panel", word, rest.index), 1)))
    return rest.values[0]
