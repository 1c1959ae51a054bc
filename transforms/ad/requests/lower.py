"""``lower-ad``: the end of differentiation. Requests are expanded, declared derivatives forgotten, gradients no longer stopped or guarded.

What is left computes the same and knows nothing of AD; it can be compiled, or printed for other compilers.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp

from wengert.dialects import ad
from wengert.dialects.ad_parts import PARTS, forget_parts
from wengert.ir.traversal import all_ops, ops_of
from wengert.transforms.ad.requests.custom import CUSTOM_JVP, CUSTOM_VJP
from wengert.transforms.core.inline import inline
from wengert.transforms.core.symbol_dce import symbol_dce


def lower_ad(module: ModuleOp, *, keep_stopped: bool = False) -> None:
    """Removes the ad dialect from the module, in place, but for ad.stop_gradient if asked. A module without it is left alone."""
    if not uses_ad(module):
        return
    from wengert.transforms.ad.requests.expand import expand_ad  # with all of batching, which most programs do without

    expand_ad(module)
    for function in module.ops:
        if isinstance(function, FuncOp):
            function.attributes.pop(CUSTOM_JVP, None)
            function.attributes.pop(CUSTOM_VJP, None)
            forget_parts(function)
    inline_checkpoints(module)
    inline(module)
    symbol_dce(module)
    for op in ops_of(module, ad.GuardOp, *([] if keep_stopped else [ad.StopGradientOp])):
        op.result.replace_all_uses_with(op.operand)
        op.detach()
        op.erase()


def inline_checkpoints(module: ModuleOp) -> None:
    """Makes ordinary code of checkpoints, in place: they have done their service once the module has been differentiated."""
    checkpoints = ops_of(module, ad.CheckpointOp)
    for op in checkpoints:
        _call_instead(op)
    if checkpoints:
        inline(module)
        symbol_dce(module)


def _call_instead(op: ad.CheckpointOp) -> None:
    types = [result.type for result in op.results]
    call = CallOp.create(operands=op.operands, result_types=types, properties={"callee": op.callee}, location=op.location)
    assert op.parent is not None
    op.parent.insert_op_before(call, op)
    for old, new in zip(op.results, call.results, strict=True):
        old.replace_all_uses_with(new)
    op.detach()
    op.erase()


def uses_ad(module: ModuleOp) -> bool:
    """Whether the module holds anything of the ad dialect, or a function that declares its own derivative and its calls."""
    return any(op.name.startswith("ad.") or type(op) is CallOp or not _MARKS.isdisjoint(op.attributes) for op in all_ops(module))


_MARKS = frozenset((CUSTOM_JVP, CUSTOM_VJP, *PARTS))
"""Attributes of functions that belong to the dialect."""
