"""``ad.guard`` written out, before a function is reversed.

A batched loop goes on for instances that are done, and all branches are run for all instances; what they compute there is
discarded by a *select*. Forward mode is content with that. In reverse mode the cotangent of what is discarded is zero, but zero
times an infinite coefficient is NaN. So the operands of such regions are guarded: in place of an instance that does not count
stands one that does, for which the same is computed anyway, and no cotangent goes back to the one that it stands for::

    ad.guard %x, %mask        becomes        select(%mask, %x, stop_gradient(%x)[first instance for which %mask holds])

All operands of a region get the same stand-in, so that its coefficients are those of a real instance also where they meet
values that all instances share, whose cotangents are sums. Elsewhere a guard costs nothing: ``lower-ad`` removes it. This is the
"double where" that JAX's FAQ asks users to write (on gradients with where), done once for all.
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


def settle_guards(module: ModuleOp) -> None:
    """Replaces every guard by a choice between an instance and its stand-in, in place.

    Functions that are declared as a ``custom_jvp`` are left alone: they have to stay linear in their tangents.
    """
    functions = [function for function in module.ops if isinstance(function, FuncOp)]
    declared = set(_declared(functions))
    rewriter = Rewriter("settle-guards")
    for function in functions:
        if function.sym_name.data in declared:
            continue
        for op in [op for op in function.walk() if isinstance(op, ad.GuardOp)]:
            rewriter.move_to(op)
            rewriter.replace(op, [_settled(rewriter, op.operand, op.mask)])


def _declared(functions: Iterable[FuncOp]) -> Iterable[str]:
    for function in functions:
        if isinstance(symbol := function.attributes.get(CUSTOM_JVP), SymbolRefAttr):
            yield symbol.string_value()


def _settled(b: OpBuilder, x: Value, mask: Value) -> Value:
    """x, with the first of its parts for which the mask holds in place of those for which it does not."""
    count, inner = size(mask), shape(x)[rank(mask) :]
    if count == 0:
        return x
    source = b.create(ad.StopGradientOp, (x,), (x.type,))[0] if is_differentiable(x.type) else x
    holds = b.reshape(mask, [count])
    numbers = b.iota(0, tensor([count], i64))
    first = b.reduce(Kind.min, b.select(holds, numbers, b.full_like(numbers, count)), [0])  # a slice begins in bounds in any case
    part = b.dynamic_slice(b.reshape(source, [count, *inner]), [first, *[b.scalar(0, i64)] * len(inner)], [1, *inner])
    instead = b.broadcast_in_dim(b.reshape(part, inner), range(rank(mask), rank(x)), shape(x))
    return b.select(b.broadcast_in_dim(mask, range(rank(mask)), shape(x)), x, instead)
