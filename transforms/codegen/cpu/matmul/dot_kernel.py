"""Emits the kernel with vectors along k, for rows of A and columns of B that are contiguous: each accumulator is summed over its lanes at the end."""

from __future__ import annotations

from wengert.transforms.codegen.cpu.matmul.conversion import convert_vector
from wengert.transforms.codegen.cpu.matmul.elements import Arithmetic
from wengert.transforms.codegen.llvm.builder import FunctionBuilder
from wengert.transforms.schedule.products.plan import MatmulPlan
from wengert.transforms.schedule.products.tiling import parts


def emit_dot(builder: FunctionBuilder, plan: MatmulPlan, a: str, b: str, c: str) -> None:
    """C = A B with a_k = b_k = 1."""
    arithmetic = Arithmetic(plan.element, plan.tile.lanes)
    start_row = 0
    for row_size, row_count in parts(plan.m, plan.tile.rows):
        start_column = 0
        for column_size, column_count in parts(plan.n, plan.tile.columns):
            with builder.repeat(column_count) as j, builder.repeat(row_count) as i:
                a_tile = builder.shared_offset(a, Arithmetic(plan.stored[0], 1).scalar, i, row_size * plan.a_m, start_row * plan.a_m)
                b_tile = builder.shared_offset(b, Arithmetic(plan.stored[1], 1).scalar, j, column_size * plan.b_n, start_column * plan.b_n)
                c_row = builder.shared_offset(c, arithmetic.scalar, i, row_size * plan.c_m, start_row * plan.c_m + start_column * plan.c_n)
                c_tile = builder.shared_offset(c_row, arithmetic.scalar, j, column_size * plan.c_n)
                emit_dot_tile(builder, plan, arithmetic, (row_size, column_size), a_tile, b_tile, c_tile)
            start_column += column_size * column_count
        start_row += row_size * row_count


def emit_dot_tile(builder: FunctionBuilder, plan: MatmulPlan, arithmetic: Arithmetic, shape: tuple[int, int], a: str, b: str, c: str) -> None:
    """The dot products of some rows of A with some columns of B."""
    rows, columns = shape
    lanes, kind = arithmetic.lanes, arithmetic.scalar
    tile = rows * columns
    sets = min(plan.sets(tile), plan.k // lanes)
    iterations, rest = divmod(plan.k, lanes * sets)

    def step(sums: list[str], index: str, p: int, width: int) -> list[str]:
        """The sums after `width` elements of k from index * lanes * sets + p on."""

        def read(base: str, stored: str, offset: int) -> str:
            given = Arithmetic(stored, lanes)
            start = builder.shared_offset(builder.shared_offset(base, given.scalar, index, lanes * sets, p), given.scalar, offset=offset)
            return convert_vector(builder, load_part(builder, given, start, width), stored, arithmetic.element, lanes)

        right = [read(b, plan.stored[1], j * plan.b_n) for j in range(columns)]
        left = [read(a, plan.stored[0], i * plan.a_m) for i in range(rows)]
        return [arithmetic.multiply_add(builder, left[i], right[j], sums[i * columns + j]) for i in range(rows) for j in range(columns)]

    with builder.rotated_loop(iterations, [(arithmetic.vector, arithmetic.zero)] * (tile * sets)) as loop:
        carried = [loop.values[s * tile : (s + 1) * tile] for s in range(sets)]
        following = [step(carried[s], loop.index, s * lanes, lanes) for s in range(sets)]
        loop.carry(*[value for sums in following for value in sums])
    sums = following[0]
    for other in following[1:]:
        sums = [arithmetic.add(builder, x, y) for x, y in zip(sums, other, strict=True)]
    done = iterations * lanes * sets
    while rest:
        width = min(lanes, rest)
        sums = step(sums, "0", done, width)
        done, rest = done + width, rest - width
    for i in range(rows):
        for j in range(columns):
            total = arithmetic.sum_lanes(builder, sums[i * columns + j])
            builder.store(kind, total, builder.shared_offset(c, kind, offset=i * plan.c_m + j * plan.c_n), arithmetic.bytes)


def load_part(builder: FunctionBuilder, arithmetic: Arithmetic, pointer: str, width: int) -> str:
    """`width` elements, with zeros in the lanes beyond."""
    if width == arithmetic.lanes:
        return builder.load(arithmetic.vector, pointer, arithmetic.bytes)
    part = f"<{width} x {arithmetic.scalar}>"
    value = builder.load(part, pointer, arithmetic.bytes)
    return builder.shuffle(arithmetic.scalar, width, value, "zeroinitializer", [min(lane, width) for lane in range(arithmetic.lanes)])
