"""Writes the functions around the products of Winograd's convolution: the transforms of kernel, input and result, and plain sums for what is not finite.

All are on f32, ``lanes`` at a time: neighbouring tiles of a line (a last vector overlaps the one before it), or neighbouring pairs of features of a kernel.
The 16 places of a transformed tile are ``%apart`` elements from one another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wengert.transforms.codegen.cpu.matmul.elements import Arithmetic
from wengert.transforms.codegen.llvm.builder import FunctionBuilder, Index
from wengert.transforms.codegen.llvm.module import SHARED

KERNEL_PARAMETERS = ("ptr noalias readonly %source", "ptr noalias %target", "i64 %count", "i64 %apart")
"""The nine taps of all pairs of features, the transformed ones, how many pairs there are (taps are so far apart), and the distance of places."""
INPUT_PARAMETERS = (
    *("ptr noalias readonly %source", "i64 %plane", "i64 %pitch", "ptr noalias %target", "i64 %apart", "i64 %step"),
    *("i64 %features", "i64 %lines", "i64 %across"),
)
"""The padded image at the first line of a block, the distances of its features and lines; where the first tile goes, and the distances of places and
features there; the features, and the lines of tiles and tiles in a line."""
RESULT_PARAMETERS = (*INPUT_PARAMETERS, "ptr noalias %rest")
"""The same from tiles (``%apart``, ``%step``) to the image (``%plane``, ``%pitch``); to a vector at ``%rest``, zero times each element is added."""
PLAIN_PARAMETERS = (
    *("ptr noalias readonly %source", "i64 %plane", "i64 %pitch", "i64 %features", "ptr noalias readonly %taps", "i64 %count", "i64 %from", "i64 %to"),
    *("ptr noalias %target", "i64 %target.plane", "i64 %target.pitch", "i64 %outputs", "i64 %height", "i64 %width"),
)
"""The padded image and the taps, with the distances of the features that are summed and that result; the image that results."""


def symbol(what: str, lanes: int) -> str:
    """The name of one of the functions."""
    return f"wg.winograd.{what}.{lanes}"


def kernel_function(lanes: int) -> str:
    """G w G' of all pairs of features."""
    builder, form = FunctionBuilder(), Arithmetic("f32", lanes)

    def along(taps: Sequence[str]) -> list[str]:
        first, middle, last = taps
        ends = form.add(builder, first, last)
        halves = [builder.binary("fmul", form.vector, x, form.broadcast(builder, "0.5")) for x in (ends, middle)]
        return [first, form.add(builder, *halves), builder.binary("fsub", form.vector, *halves), last]

    with builder.loop(0, "%count", step=lanes) as loop:

        def place(base: str, number: int, apart: str) -> str:
            return builder.offset(builder.offset(base, "float", loop.index), "float", builder.multiply(apart, number))

        taps = [[builder.load(form.vector, place("%source", 3 * i + j, "%count"), 4) for i in range(3)] for j in range(3)]
        lines = [along(column) for column in taps]
        for i in range(4):
            for j, value in enumerate(along([line[i] for line in lines])):
                builder.store(form.vector, value, place("%target", 4 * i + j, "%apart"), 4)
    return builder.definition(symbol("kernel", lanes), KERNEL_PARAMETERS, attributes=f"{SHARED} nounwind")


def _tiles(builder: FunctionBuilder, lanes: int, body: Callable[[Index, Index], None]) -> None:
    """All vectors of tiles of a block; ``body`` gets the addresses of the first element in the image and among the tiles."""
    with builder.loop(0, "%features") as feature, builder.loop(0, "%lines") as line, builder.loop(0, "%across", step=lanes) as vector:
        first = builder.intrinsic("umin", "i64", vector.index, builder.add("%across", -lanes))
        at = builder.linear([(feature.index, "%plane"), (builder.multiply(line.index, 2), "%pitch"), (first, 2)])
        tile = builder.linear([(feature.index, "%step"), (line.index, "%across")], first)
        body(at, tile)


def input_function(lanes: int) -> str:
    """B' x B of all tiles of a block."""
    builder, form = FunctionBuilder(), Arithmetic("f32", lanes)

    def along(x: Sequence[str]) -> list[str]:
        pairs = ((x[0], "fsub", x[2]), (x[1], "fadd", x[2]), (x[2], "fsub", x[1]), (x[1], "fsub", x[3]))
        return [builder.binary(opcode, form.vector, left, right) for left, opcode, right in pairs]

    def line(place: str) -> list[str]:
        """The four columns of the tiles along a line."""
        columns: list[str] = []
        for start in (0, 2):
            left, right = [builder.load(form.vector, builder.offset(place, "float", start + half), 4) for half in (0, lanes)]
            columns += [builder.shuffle("float", lanes, left, right, range(odd, 2 * lanes, 2)) for odd in (0, 1)]
        return columns

    def body(at: Index, tile: Index) -> None:
        source, target = builder.offset("%source", "float", at), builder.offset("%target", "float", tile)
        lines = [line(builder.offset(source, "float", builder.multiply("%pitch", i))) for i in range(4)]
        columns = [along([row[j] for row in lines]) for j in range(4)]
        for i in range(4):
            for j, value in enumerate(along([column[i] for column in columns])):
                builder.store(form.vector, value, builder.offset(target, "float", builder.multiply("%apart", 4 * i + j)), 4)

    _tiles(builder, lanes, body)
    return builder.definition(symbol("input", lanes), INPUT_PARAMETERS, attributes=f"{SHARED} nounwind")


def result_function(lanes: int) -> str:
    """A' m A of all tiles of a block."""
    builder, form = FunctionBuilder(), Arithmetic("f32", lanes)

    def along(m: Sequence[str]) -> list[str]:
        low, high = form.add(builder, m[0], m[1]), builder.binary("fsub", form.vector, m[1], m[2])
        return [form.add(builder, low, m[2]), builder.binary("fsub", form.vector, high, m[3])]

    def body(at: Index, tile: Index) -> None:
        source, target = builder.offset("%source", "float", tile), builder.offset("%target", "float", at)
        m = [builder.load(form.vector, builder.offset(source, "float", builder.multiply("%apart", place)), 4) for place in range(16)]
        columns = [along([m[4 * i + j] for i in range(4)]) for j in range(4)]
        rest = builder.load(form.vector, "%rest", 4)
        for i in range(2):
            (even, odd), place = along([column[i] for column in columns]), builder.offset(target, "float", builder.multiply("%pitch", i))
            for value in (even, odd):
                rest = form.multiply_add(builder, value, form.zero, rest)
            for half in range(2):
                order = [lane + side * lanes for lane in range(half * lanes // 2, (half + 1) * lanes // 2) for side in (0, 1)]
                builder.store(form.vector, builder.shuffle("float", lanes, even, odd, order), builder.offset(place, "float", half * lanes), 4)
        builder.store(form.vector, rest, "%rest", 4)

    _tiles(builder, lanes, body)
    return builder.definition(symbol("result", lanes), RESULT_PARAMETERS, attributes=f"{SHARED} nounwind")


def plain_function(lanes: int) -> str:
    """The convolution itself, sum by sum."""
    builder, form = FunctionBuilder(), Arithmetic("f32", lanes)

    def at(base: str, terms: Sequence[tuple[Index, Index]]) -> str:
        return builder.offset(base, "float", builder.linear(terms))

    with builder.loop(0, "%outputs") as output, builder.loop(0, "%height") as line, builder.loop(0, "%width", step=lanes) as vector:
        first = builder.intrinsic("umin", "i64", vector.index, builder.add("%width", -lanes))
        source, taps = at("%source", [(line.index, "%pitch"), (first, 1)]), at("%taps", [(output.index, "%to")])
        with builder.loop(0, "%features", [(form.vector, form.zero)]) as feature:
            total = feature.values[0]
            x, w = at(source, [(feature.index, "%plane")]), at(taps, [(feature.index, "%from")])
            for i in range(3):
                for j in range(3):
                    tap = builder.load("float", at(w, [("%count", 3 * i + j)]), 4)
                    near = builder.load(form.vector, at(x, [("%pitch", i), (1, j)]), 4)
                    total = form.multiply_add(builder, form.broadcast(builder, tap), near, total)
            feature.carry(total)
        builder.store(form.vector, feature.results[0], at("%target", [(output.index, "%target.plane"), (line.index, "%target.pitch"), (first, 1)]), 4)
    return builder.definition(symbol("plain", lanes), PLAIN_PARAMETERS, attributes=f"{SHARED} nounwind")
