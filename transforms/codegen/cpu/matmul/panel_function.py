"""Writes the functions that copy a panel of an operand: for each term of the sums, that element of so many rows of A, or columns of B, side by side.

What a panel at an edge has too much is filled with zeros, whose products nobody looks at.
"""

from __future__ import annotations

from typing import Literal

from wengert.transforms.codegen.cpu.matmul.elements import Arithmetic
from wengert.transforms.codegen.cpu.matmul.row_kernel import write_turned
from wengert.transforms.codegen.llvm.builder import FunctionBuilder, Index

Form = Literal["across", "along", "apart"]
"""Which neighbours in memory are read together: elements of one term, terms of one row or column, or none."""

PARAMETERS = ("ptr noalias readonly %source", "ptr noalias %target", "i64 %count", "i64 %depth", "i64 %step", "i64 %turn")
"""The first element, the panel, how many rows (columns) of it there are, the terms, and the distances of rows (columns) and of terms in elements."""


def panel_form(step: int, turn: int) -> Form:
    """How an operand is read whose rows (columns) and terms are so far apart."""
    return "across" if step == 1 else "along" if turn == 1 else "apart"


def panel_name(element: str, width: int, lanes: int, form: Form) -> str:
    """The symbol of the function for panels of this width."""
    return f"wg.panel.{element}.{width}x{lanes}.{form}"


def panel_function(element: str, width: int, lanes: int, form: Form) -> str:
    """``define internal void @wg.panel...``, see :data:`PARAMETERS`; it reads registers of ``lanes`` elements."""
    builder, arithmetic = FunctionBuilder(), Arithmetic(element, lanes)
    if form == "apart" or lanes == 1:
        _copy_singly(builder, arithmetic, width, 0)
    else:
        with builder.conditional(builder.icmp("eq", "i64", "%count", width)) as branches:
            _copy_rows(builder, arithmetic, width) if form == "across" else _copy_turned(builder, arithmetic, width)
            branches.otherwise()
            _copy_singly(builder, arithmetic, width, 0)
    return builder.definition(panel_name(element, width, lanes, form), PARAMETERS, attributes="noinline nounwind")


def _copy_rows(builder: FunctionBuilder, arithmetic: Arithmetic, width: int) -> None:
    """The elements of a term are neighbours."""
    kind = arithmetic.scalar
    with builder.rotated_loop("%depth") as loop:
        source = builder.offset("%source", kind, builder.multiply(loop.index, "%turn"))
        target = builder.offset("%target", kind, builder.multiply(loop.index, width))
        start = 0
        while start < width:
            lanes = min(arithmetic.lanes, 1 << ((width - start).bit_length() - 1))
            piece = Arithmetic(arithmetic.element, lanes).vector
            value = builder.load(piece, builder.offset(source, kind, start), arithmetic.bytes)
            builder.store(piece, value, builder.offset(target, kind, start), arithmetic.bytes)
            start += lanes


def _copy_turned(builder: FunctionBuilder, arithmetic: Arithmetic, width: int) -> None:
    """The terms of a row are neighbours: a register of each row, which are turned together."""
    kind, lanes = arithmetic.scalar, arithmetic.lanes
    whole = builder.multiply(builder.binary("udiv", "i64", "%depth", lanes), lanes)
    with builder.loop(0, whole, step=lanes) as loop:
        source = builder.offset("%source", kind, loop.index)
        target = builder.offset("%target", kind, builder.multiply(loop.index, width))
        most = lanes & -lanes
        for start in range(0, width, most):
            rows = [
                builder.load(arithmetic.vector, builder.offset(source, kind, builder.multiply(w, "%step")), arithmetic.bytes)
                for w in range(start, min(start + most, width))
            ]
            write_turned(builder, arithmetic, rows, builder.offset(target, kind, start), width)
    _copy_singly(builder, arithmetic, width, whole)


def _copy_singly(builder: FunctionBuilder, arithmetic: Arithmetic, width: int, first: Index) -> None:
    """One element after the other, from a term on; zeros where there are no more rows."""
    kind, size = arithmetic.scalar, arithmetic.bytes
    zero = Arithmetic(arithmetic.element, 1).zero
    with builder.loop(first, "%depth") as term:
        source = builder.offset("%source", kind, builder.multiply(term.index, "%turn"))
        target = builder.offset("%target", kind, builder.multiply(term.index, width))
        with builder.loop(0, "%count") as row:
            value = builder.load(kind, builder.offset(source, kind, builder.multiply(row.index, "%step")), size)
            builder.store(kind, value, builder.offset(target, kind, row.index), size)
        with builder.loop("%count", width) as row:
            builder.store(kind, zero, builder.offset(target, kind, row.index), size)
