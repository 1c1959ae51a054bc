"""Expansion of ``ad.guard`` before reverse mode.

A batched loop also runs for batch elements that are done, and all branches run for all batch elements; a *select* discards what they
compute there. This is correct in forward mode. In reverse mode the cotangent of a discarded value is zero, but zero
times an infinite coefficient is NaN. So the operands of such regions are guarded: an inactive batch element is replaced by an active
one, for which the same is computed anyway, and gets no cotangent::

    ad.guard %x, %mask        becomes        select(%mask, %x, stop_gradient(%x)[first batch element where %mask holds])

All operands of a region are replaced by those of the same batch element, so that coefficients are those of an active one also where they multiply
unbatched values, whose cotangents are summed over the batch. In other places a guard costs nothing: ``lower-ad`` removes it. This automates the
"double where" that JAX's FAQ recommends (on gradients with where).
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.dialects.func import FuncOp

from wengert.dialects import ad
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.core import Kind
from wengert.ir.tensor_types import i64, is_differentiable, rank, shape, size, tensor
from wengert.transforms.ad.requests.custom import CUSTOM_JVP
from wengert.transforms.rewriter import Rewriter


def expand_guards(module: ModuleOp) -> None:
    """Replaces every guard by a select between a batch element and an active one, in place.

    Functions that are declared as a ``custom_jvp`` are skipped: they have to stay linear in their tangents.
    """
    functions = [function for function in module.ops if isinstance(function, FuncOp)]
    declared = set(_declared(functions))
    rewriter = Rewriter("settle-guards")
    for function in functions:
        if function.sym_name.data in declared:
            continue
        for op in [op for op in function.walk() if isinstance(op, ad.GuardOp)]:
            rewriter.move_to(op)
            rewriter.replace(op, [_expanded(rewriter, op.operand, op.mask)])


def _declared(functions: Iterable[FuncOp]) -> Iterable[str]:
    for function in functions:
        if isinstance(symbol := function.attributes.get(CUSTOM_JVP), SymbolRefAttr):
            yield symbol.string_value()


def _expanded(b: OpBuilder, x: Value, mask: Value) -> Value:
    """x, with inactive batch elements replaced by the first active one."""
    count, inner = size(mask), shape(x)[rank(mask) :]
    if count == 0:
        return x
    source = b.create(ad.StopGradientOp, (x,), (x.type,))[0] if is_differentiable(x.type) else x
    flat_mask = b.reshape(mask, [count])
    numbers = b.iota(0, tensor([count], i64))
    first = b.reduce(Kind.min, b.select(flat_mask, numbers, b.full_like(numbers, count)), [0])  # if there is none, the slice is clamped to bounds
    part = b.dynamic_slice(b.reshape(source, [count, *inner]), [first, *[b.scalar(0, i64)] * len(inner)], [1, *inner])
    stand_in = b.broadcast_in_dim(b.reshape(part, inner), range(rank(mask), rank(x)), shape(x))
    return b.select(b.broadcast_in_dim(mask, range(rank(mask)), shape(x)), x, stand_in)
