"""The pass ``convert-operands``: operands of small products that are narrower than the result are converted before, by an op of their own.

Large products convert elements where they copy them into panels. The kernels of smaller ones would have to make a converted copy of the whole operand first,
an element at a time and on one thread; a conversion is a loop in vectors, which threads share, which the ops that compute the operand take in, and which
several products have in common. It is exact, so nothing changes. A large operand of 16 bits that is read about once is converted in registers instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from wengert.dialects import stablehlo
from wengert.dialects.builder import OpBuilder
from wengert.dialects.kernel.product_elements import COMPLEX, ELEMENT_BYTES, NAMES, NARROW, convertible, pair_element
from wengert.ir.tensor_types import element, shape, size, tensor
from wengert.transforms.fuse.rewriting import has_matches, replace_ops
from wengert.transforms.schedule.host import HOST, target_named

LEAST_VOLUME, LEAST_PAIRED = 160**3, 90**3
LEAST_ELEMENTS, LEAST_TERMS = 1 << 12, 32
"""Of an operand that is converted in registers."""
LEAST_SIDE = 16
"""Products of so many multiplications, with so many rows and columns, convert elements in panels (:mod:`wengert.transforms.schedule.products.choice`); fewer if
panels then hold pairs of them, which the processor multiplies at once (measured)."""


@dataclass(frozen=True)
class ConvertOperandsPass(ModulePass):
    """Converts narrow operands of small products by ops of their own."""

    name = "convert-operands"

    target: str = HOST
    """As for the pass ``schedule``."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        replace_ops(op, self.name, (stablehlo.DotGeneralOp,), partial(_narrow, self.target), _converted)

    def changes(self, module: ModuleOp) -> bool:
        return has_matches(module, (stablehlo.DotGeneralOp,), partial(_narrow, self.target))


def _narrow(target: str, op: stablehlo.DotGeneralOp) -> bool:
    """Whether an operand is narrower than the result, and the product too small to convert it in panels."""
    *given, wide = (NAMES.get(element(x), "") for x in (op.lhs, op.rhs, op.result))
    if op.algorithm is not None or not wide or wide in (*NARROW, *COMPLEX) or given == [wide, wide] or not all(x and convertible(x, wide) for x in given):
        return False
    kept = large_operand(op, target) if wide == "f32" else None
    if kept is not None and given[1 - kept] == wide:
        return False
    return size(op.result) > 0 and size(op.lhs) > 0 and not fits_panels(op, wide, target)


def fits_panels(op: stablehlo.DotGeneralOp, sums: str, target: str) -> bool:
    """Whether a product whose sums have elements of this name is so large that a processor converts its operands in panels, or multiplies them as they are."""
    rows, columns, terms = _sizes(op)
    if min(rows, columns) < LEAST_SIDE or rows * columns * terms < LEAST_PAIRED:
        return False
    pairs = pair_element((NAMES.get(element(op.lhs), ""), NAMES.get(element(op.rhs), "")), sums)
    return rows * columns * terms >= LEAST_VOLUME or target_named(target).gains_by_pairs(pairs)


def large_operand(op: stablehlo.DotGeneralOp, target: str) -> int | None:
    """The number of the operand of bf16 or f16 that a processor converts in registers: it is large, and the other has so few rows (columns) that each of its
    elements is read about once. Half of the bytes come from memory then, and none are written. None if there is no such operand."""
    rows, columns, terms = _sizes(op)
    number = 1 if rows < min(LEAST_SIDE, columns) else 0
    if max(rows, columns) * terms < LEAST_ELEMENTS or terms < LEAST_TERMS or (number == 0 and columns > rows):
        return None
    processor, kind = target_named(target), NAMES.get(element(op.operands[number]), "")
    if kind != "bf16" and not (kind == "f16" and processor.has_f16):
        return None
    few = LEAST_SIDE - 1 if number else processor.vector_bytes // ELEMENT_BYTES["f32"] // 2
    return number if min(rows, columns) <= few else None


def _sizes(op: stablehlo.DotGeneralOp) -> tuple[int, int, int]:
    """The rows, columns and terms of the product of each batch element."""
    numbers = op.dot_dimension_numbers
    batch = prod([shape(op.lhs)[d] for d in numbers.dims("lhs_batching_dimensions")])
    terms = prod([shape(op.lhs)[d] for d in numbers.dims("lhs_contracting_dimensions")])
    rows, columns = (size(x) // max(batch * terms, 1) for x in (op.lhs, op.rhs))
    return rows, columns, terms


def _converted(b: OpBuilder, op: stablehlo.DotGeneralOp, narrow: bool) -> SSAValue:
    wide = element(op.result)
    (result,) = b.create(stablehlo.DotGeneralOp, [b.convert(x, wide) for x in op.operands], [tensor(shape(op.result), wide)], op.properties)
    return result
