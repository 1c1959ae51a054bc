"""Finds sums of a product that has other uses too, of which fused multiply-adds may be made.

LLVM contracts a product into a sum where nothing else uses the product. Of ``t = c d`` in ``|t - 1| < eps`` and ``h t`` it leaves the
rounding error in, and a continued fraction that is done after thirty steps takes the six hundred that it is allowed.

But one result must not see both the rounded product and the exact one: ``t - floor(t)`` lies in [0, 1) only if both are the same
``t``. So a sum is contracted where what it reaches and what other uses of the product reach are different results of the nest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from wengert.dialects.kernel import ApplyOp, Write
from wengert.dialects.kernel.element_formats import element_format
from wengert.ir.traversal import operands_of, result_of


def shared_products(ops: Sequence[Operation], writes: Sequence[Write]) -> dict[Operation, int]:
    """The sums of a body that may be contracted though their product is used elsewhere, with the number of the operand that is this product."""
    candidates = [(op, at) for op in ops if isinstance(op, ApplyOp) and op.function.data in ("add", "subtract") for at in (0, 1) if _is_shared(op, at)]
    if not candidates:
        return {}
    written: dict[SSAValue, int] = defaultdict(int)
    for write in writes:
        for value in (write.value, write.base, write.condition):
            if value is not None:
                written[value] |= 1 << write.target
    reached = defaultdict(int, written)
    for op in reversed(ops):
        for operand in operands_of(op):
            reached[operand] |= reached[result_of(op)]
    contracted: dict[Operation, int] = {}
    for op, at in candidates:
        product = op.operands[at]
        elsewhere = written[product]
        for use in product.uses:
            if use.operation is not op and use.operation.results:
                elsewhere |= reached[result_of(use.operation)]
        if not elsewhere & reached[result_of(op)]:
            contracted.setdefault(op, at)
    return contracted


def _is_shared(op: ApplyOp, at: int) -> bool:
    """Whether the operand is a product of floats that something else uses, too."""
    operands = operands_of(op)
    product = operands[at]
    if not isinstance(owner := product.owner, ApplyOp) or owner.function.data != "multiply" or operands[0] is operands[1]:
        return False
    format = element_format(product.type)
    return format.kind == "f" and not format.narrow and not product.has_one_use()
