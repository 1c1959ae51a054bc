"""Writes the functions that make the subnormal numbers of panels normal, for processors that compute slowly with them.

A multiply-add takes many Intel cores more than a hundred cycles where an operand is subnormal, and every element of a panel is an operand of many. So a
panel that holds some is multiplied by a power of two, if none of its elements is too large for that, and the sums of its tiles by the inverse. Both are
exact, but for sums that are subnormal: those are rounded once and not after each term. Whether that is done follows from the elements
of the two panels of a tile, never from threads.
"""

from __future__ import annotations

from msgspec import Struct

from wengert.dialects.kernel.product_elements import ELEMENT_BYTES
from wengert.dialects.kernel.product_schedule import Tile
from wengert.transforms.codegen.cpu.matmul.elements import Arithmetic
from wengert.transforms.codegen.cpu.matmul.panel_extremes import fold, whole_registers, word_of
from wengert.transforms.codegen.cpu.matmul.tile_function import PARAMETERS, tile_name
from wengert.transforms.codegen.llvm.builder import FunctionBuilder, Operand
from wengert.transforms.codegen.llvm.module import SHARED
from wengert.transforms.codegen.llvm.types import float_literal

ONE = "1.0"
"""What the sums of panels that were not multiplied are multiplied by."""


class Range(Struct, frozen=True):
    """The range of a float format, and which panels are multiplied.

    ``fraction`` bits of a significand are stored and the exponent's bias is ``bias``. Multiplied by 2^``shift`` the least subnormal number is normal, and
    sums of thousands of products of two magnitudes below 2^``most`` do not overflow; so panels below 2^(``most`` - ``shift``) may be multiplied.
    """

    fraction: int
    bias: int
    shift: int
    most: int

    def doubled_bits(self, exponent: int) -> int:
        """The bits of 2^exponent without their sign, times two."""
        return (exponent + self.bias) << (self.fraction + 1)


RANGES = {"f32": Range(23, 127, 40, 57), "f64": Range(52, 1023, 200, 505)}


def normalise_name(element: str) -> str:
    """The symbol of the function that multiplies a panel if it has to be: ``scalar @name(ptr %panel, i64 %count)``; what sums are multiplied by."""
    return f"wg.normalise.{element}"


def unequal_name(element: str, tile: Tile) -> str:
    """The symbol of the function for tiles of which one panel is multiplied; the parameters are those of a tile, with a factor for each panel."""
    return f"wg.normalised{tile_name(element, tile, scaled=False).removeprefix('wg')}"


def normalisation_functions(element: str, tile: Tile) -> dict[str, str]:
    """The functions by their symbols."""
    lanes = 1 << (tile.lanes.bit_length() - 1)
    return {
        normalise_name(element): _normalise_function(element, lanes),
        _largest(element): _largest_function(element, lanes),
        _multiply(element): _multiply_function(element, lanes),
        unequal_name(element, tile): _unequal_function(element, tile),
    }


_PANEL = ("ptr noalias %panel", "i64 %count")
_OPERANDS: list[Operand] = [("ptr", "%panel"), ("i64", "%count")]


def _largest(element: str) -> str:
    return f"wg.largest.{element}"


def _multiply(element: str) -> str:
    return f"wg.multiply.{element}"


def _normalise_function(element: str, lanes: int) -> str:
    """Whether there are subnormal numbers is seen from all elements, whether the panel may be multiplied only if there are."""
    builder, kind, word, range = FunctionBuilder(), Arithmetic(element, 1).scalar, word_of(element), RANGES[element]

    def doubled_less_one(place: str, count: int) -> str:
        # Zero is the greatest then, and below the least normal number are subnormal ones only.
        type = Arithmetic(word, count).vector
        return builder.binary("add", type, _doubled(builder, word, place, count), builder.splat(word, "-1", count))

    least = fold(builder, element, lanes, "umin", -1, doubled_less_one)
    with builder.conditional(builder.icmp("ult", word, least, range.doubled_bits(1 - range.bias) - 1), [kind]) as some:
        largest = builder.call(_largest(element), word, _OPERANDS)
        with builder.conditional(builder.icmp("ult", word, largest, range.doubled_bits(range.most - range.shift)), [kind]) as small:
            builder.call_void(_multiply(element), [*_OPERANDS, (kind, _power(element, range.shift))])
            small.give(_power(element, -range.shift))
            small.otherwise()
            small.give(ONE)
        some.give(small.results[0])
        some.otherwise()
        some.give(ONE)
    return builder.definition(normalise_name(element), _PANEL, result=kind, returns=some.results[0], attributes=f"{SHARED} nounwind")


def _largest_function(element: str, lanes: int) -> str:
    """``word @name(ptr %panel, i64 %count)``: the bits of the largest magnitude, times two."""
    builder, word = FunctionBuilder(), word_of(element)
    largest = fold(builder, element, lanes, "umax", 0, lambda place, count: _doubled(builder, word, place, count))
    return builder.definition(_largest(element), _PANEL, result=word, returns=largest, attributes=f"{SHARED} nounwind")


def _multiply_function(element: str, lanes: int) -> str:
    """``void @name(ptr %panel, i64 %count, scalar %factor)``."""
    builder, size = FunctionBuilder(), ELEMENT_BYTES[element]
    whole = whole_registers(builder, lanes)
    for step, start, end in ((lanes, 0, whole), (1, whole, "%count")):
        arithmetic = Arithmetic(element, step)
        with builder.loop(start, end, step=step) as loop:
            place = builder.offset("%panel", arithmetic.scalar, loop.index)
            value = builder.binary("fmul", arithmetic.vector, builder.load(arithmetic.vector, place, size), arithmetic.broadcast(builder, "%factor"))
            builder.store(arithmetic.vector, value, place, size)
    return builder.definition(_multiply(element), (*_PANEL, f"{Arithmetic(element, 1).scalar} %factor"), attributes=f"{SHARED} nounwind")


def _unequal_function(element: str, tile: Tile) -> str:
    """If the panel that is as it was has elements too large for the other one, that one is as it was for this tile as well."""
    builder, kind, word, range = FunctionBuilder(), Arithmetic(element, 1).scalar, word_of(element), RANGES[element]
    sizes = [builder.multiply(width, "%depth") for width in (tile.rows, tile.columns * tile.lanes)]
    first = builder.fcmp("olt", kind, "%a_factor", ONE)
    multiplied, other = ([("ptr", builder.select(first, "ptr", x, y)), ("i64", builder.select(first, "i64", m, n))] for x, y, m, n in (
        ("%a", "%b", sizes[0], sizes[1]), ("%b", "%a", sizes[1], sizes[0]),
    ))  # fmt: skip
    operands: list[Operand] = [(parameter.split()[0], parameter.split()[-1]) for parameter in PARAMETERS]
    large = builder.icmp("uge", word, builder.call(_largest(element), word, other), range.doubled_bits(range.most))
    with builder.conditional(large) as branches:
        builder.call_void(_multiply(element), [*multiplied, (kind, _power(element, -range.shift))])
        builder.call_void(tile_name(element, tile, scaled=True), [*operands, (kind, ONE)])
        builder.call_void(_multiply(element), [*multiplied, (kind, _power(element, range.shift))])
        branches.otherwise()
        builder.call_void(tile_name(element, tile, scaled=True), [*operands, (kind, _power(element, -range.shift))])
    parameters = (*PARAMETERS, f"{kind} %a_factor", f"{kind} %b_factor")
    return builder.definition(unequal_name(element, tile), parameters, attributes=f"{SHARED} nounwind")


def _power(element: str, exponent: int) -> str:
    return float_literal(2.0**exponent, Arithmetic(element, 1).scalar)


def _doubled(builder: FunctionBuilder, word: str, place: str, lanes: int) -> str:
    """The bits of so many elements, times two: without their signs."""
    words = Arithmetic(word, lanes)
    bits = builder.load(words.vector, place, words.bytes)
    return builder.binary("add", words.vector, bits, bits)
