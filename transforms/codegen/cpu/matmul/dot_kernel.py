"""The kernel with vectors along k, for rows of A and columns of B that are contiguous: each accumulator is summed over its lanes at the end."""

from __future__ import annotations

from wengert.transforms.codegen.cpu.matmul.elements import Arithmetic
from wengert.transforms.codegen.cpu.matmul.function_text import FunctionText
from wengert.transforms.codegen.cpu.matmul.planner import MatmulPlan
from wengert.transforms.codegen.cpu.matmul.tiling import balanced, parts


def emit_dot(text: FunctionText, plan: MatmulPlan, a: str, b: str, c: str) -> None:
    """C = A B with a_k = b_k = 1."""
    arithmetic = Arithmetic(plan.element, min(plan.target.lanes(plan.element), plan.k))
    limit = plan.target.registers - 4
    rows = balanced(plan.m, 4)
    columns = balanced(plan.n, max(1, min(3, limit // rows)))
    start_row = 0
    for row_size, row_count in parts(plan.m, rows):
        start_column = 0
        for column_size, column_count in parts(plan.n, columns):
            with text.repeat(column_count) as j, text.repeat(row_count) as i:
                a_tile = text.at(a, arithmetic.scalar, i, row_size * plan.a_m, start_row * plan.a_m)
                b_tile = text.at(b, arithmetic.scalar, j, column_size * plan.b_n, start_column * plan.b_n)
                c_row = text.at(c, arithmetic.scalar, i, row_size * plan.c_m, start_row * plan.c_m + start_column * plan.c_n)
                emit_dot_tile(text, plan, arithmetic, (row_size, column_size), a_tile, b_tile, text.at(c_row, arithmetic.scalar, j, column_size * plan.c_n))
            start_column += column_size * column_count
        start_row += row_size * row_count


def emit_dot_tile(text: FunctionText, plan: MatmulPlan, arithmetic: Arithmetic, shape: tuple[int, int], a: str, b: str, c: str) -> None:
    """The dot products of some rows of A with some columns of B."""
    rows, columns = shape
    lanes, kind = arithmetic.lanes, arithmetic.scalar
    sets = min(4, max(1, 8 // (rows * columns)), plan.k // lanes)
    turns, rest = divmod(plan.k, lanes * sets)

    def step(sums: list[str], index: str, p: int, width: int) -> list[str]:
        """The sums after `width` elements of k from index * lanes * sets + p on."""

        def read(base: str, offset: int) -> str:
            start = text.at(text.at(base, kind, index, lanes * sets, p), kind, "0", 0, offset)
            return load_part(text, arithmetic, start, width)

        right = [read(b, j * plan.b_n) for j in range(columns)]
        left = [read(a, i * plan.a_m) for i in range(rows)]
        return [arithmetic.multiply_add(text, left[i], right[j], sums[i * columns + j]) for i in range(rows) for j in range(columns)]

    with text.loop(turns) as loop:
        carried = [[loop.carry(arithmetic.vector, arithmetic.zero) for _ in range(rows * columns)] for _ in range(sets)]
        following = [step(carried[s], loop.index, s * lanes, lanes) for s in range(sets)]
        for old, new in zip(carried, following, strict=True):
            for name, value in zip(old, new, strict=True):
                loop.update(name, value)
    sums = following[0]
    for other in following[1:]:
        sums = [arithmetic.add(text, x, y) for x, y in zip(sums, other, strict=True)]
    done = turns * lanes * sets
    while rest:
        width = min(lanes, rest)
        sums = step(sums, "0", done, width)
        done, rest = done + width, rest - width
    for i in range(rows):
        for j in range(columns):
            total = arithmetic.sum_lanes(text, sums[i * columns + j])
            text.store(kind, total, text.at(c, kind, "0", 0, i * plan.c_m + j * plan.c_n), arithmetic.bytes)


def load_part(text: FunctionText, arithmetic: Arithmetic, pointer: str, width: int) -> str:
    """`width` elements, with zeros in the lanes beyond."""
    if width == arithmetic.lanes:
        return text.load(arithmetic.vector, pointer, arithmetic.bytes)
    part = f"<{width} x {arithmetic.scalar}>"
    value = text.load(part, pointer, arithmetic.bytes)
    lanes = ", ".join(f"i32 {min(i, width)}" for i in range(arithmetic.lanes))
    return text.op(f"shufflevector {part} {value}, {part} zeroinitializer, <{arithmetic.lanes} x i32> <{lanes}>")
