"""The sizes that the functions of products in blocks compute with: numbers where a function is written for one product, or what it reads from a table.

Functions that read them are the same for all products with such tiles, and are compiled once for a process; a program has a table for each product.
"""

from __future__ import annotations

from typing import Self

from msgspec import Struct

from wengert.dialects.kernel.product_elements import ELEMENT_BYTES
from wengert.transforms.codegen.llvm.builder import FunctionBuilder, Index
from wengert.transforms.schedule.chunks import Split
from wengert.transforms.schedule.products.plan import Loop, MatmulPlan, aligned

SIZES = "%sizes"
"""The parameter of functions that read their sizes: where the table lies."""


class _Sizes(Struct, frozen=True):
    @classmethod
    def read(cls, builder: FunctionBuilder, first: int = 0) -> Self:
        """The sizes that stand in the table from this place on."""
        return cls(*[builder.load("i64", builder.offset(SIZES, "i64", first + number), 8) for number in range(len(cls.__struct_fields__))])

    @property
    def numbers(self) -> tuple[Index, ...]:
        """All sizes in the order of the table."""
        return tuple([getattr(self, field) for field in self.__struct_fields__])


class BlockSizes(_Sizes, frozen=True):
    """Sizes of the function of a block.

    ``k`` terms are summed, ``depth`` at a time; strides count elements. ``group_rows`` rows of A are copied together, and ``group_columns`` columns of B.
    In the scratch memory, the panels of A begin ``panels`` bytes from its beginning, those of B ``a_panels`` behind them, what is kept of these
    ``b_panels`` behind, and the sums of a block, if they are computed apart in rows of ``pitch`` elements, ``factors`` behind that.
    """

    k: Index
    depth: Index
    a_m: Index
    a_k: Index
    b_k: Index
    b_n: Index
    c_m: Index
    group_rows: Index
    group_columns: Index
    panels: Index
    a_panels: Index
    b_panels: Index
    factors: Index
    pitch: Index

    @classmethod
    def of(cls, plan: MatmulPlan) -> BlockSizes:
        """Those of a product."""
        assert plan.blocks is not None
        size = ELEMENT_BYTES[plan.element]
        return cls(
            plan.k,
            plan.blocks.depth,
            plan.a_m,
            plan.a_k,
            plan.b_k,
            plan.b_n,
            plan.c_m,
            plan.tile.rows * plan.a_group,
            plan.tile.columns * plan.tile.lanes * plan.b_group,
            plan.panel_offset,
            aligned(plan.a_panels * size),
            aligned(plan.b_panels * size),
            aligned(plan.panel_factors * size),
            plan.block_pitch,
        )


class RunSizes(_Sizes, frozen=True):
    """Sizes of a run of blocks.

    C has ``m`` rows and ``n`` columns, in blocks of ``rows`` and ``columns``, of which there are ``block_rows`` below one another and ``block_columns``
    beside one another; at most ``beside`` of the latter are computed together. Strides count elements. A chunk is ``grain`` of ``iterations`` blocks.
    """

    m: Index
    n: Index
    rows: Index
    columns: Index
    block_rows: Index
    block_columns: Index
    beside: Index
    a_m: Index
    b_n: Index
    c_m: Index
    c_n: Index
    grain: Index
    iterations: Index

    @classmethod
    def of(cls, plan: MatmulPlan, cut: Split | None = None) -> RunSizes:
        """Those of a product, and of how threads share it."""
        assert plan.blocks is not None
        rows, columns = plan.blocks.rows, plan.blocks.columns
        beside, shared = plan.together // columns, (0, 0) if cut is None else (cut.grain, cut.iterations)
        return cls(plan.m, plan.n, rows, columns, plan.block_rows, plan.block_columns, beside, plan.a_m, plan.b_n, plan.c_m, plan.c_n, *shared)


class LoopSizes(_Sizes, frozen=True):
    """The iterations of a loop around a product, and how far the pointers move from one to the next, in elements."""

    size: Index
    a: Index
    b: Index
    c: Index

    @classmethod
    def of(cls, loop: Loop) -> LoopSizes:
        """Those of a product."""
        return cls(loop.size, loop.a, loop.b, loop.c)


def table_name(name: str) -> str:
    """The symbol of the table of a function's product."""
    return f"{name}.sizes"


def table(name: str, numbers: tuple[Index, ...]) -> str:
    """The definition of a table."""
    return f"@{table_name(name)} = internal constant [{len(numbers)} x i64] [{', '.join([f'i64 {number}' for number in numbers])}], align 8\n"
