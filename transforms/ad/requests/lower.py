"""``lower-ad``: expands all requests, and removes declared derivatives (of functions and of values), gradient stops and guards; implicit functions
become calls of their solvers.

The result computes the same without the ad dialect; it can be compiled, or printed for other compilers.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp

from wengert.dialects import ad
from wengert.dialects.ad_implicit import IMPLICIT
from wengert.dialects.ad_parts import PARTS, forget_parts
from wengert.ir.traversal import all_ops, ops_of
from wengert.transforms.ad.requests.request import replace_request
from wengert.transforms.core.inline import CUSTOM_DERIVATIVES, inline
from wengert.transforms.core.symbol_dce import is_private, references, symbol_dce


def lower_ad(module: ModuleOp, *, keep_stopped: bool = False) -> None:
    """Removes the ad dialect from the module, in place, except ad.stop_gradient with ``keep_stopped``. A module without it is not changed."""
    if not uses_ad(module):
        return
    _forget_unused_rules(module)
    from wengert.transforms.ad.requests.expand import expand_ad  # with all of batching, which most programs do without

    expand_ad(module)
    if ops_of(module, *IMPLICIT):
        from wengert.transforms.ad.implicit.lower import lower_implicit  # as above

        lower_implicit(module)
    for op in ops_of(module, ad.LinearCallOp):
        _replace_by_call(op)
    for function in module.ops:
        if isinstance(function, FuncOp):
            for name in CUSTOM_DERIVATIVES:
                function.attributes.pop(name, None)
            forget_parts(function)
    inline_checkpoints(module)
    inline(module)
    symbol_dce(module)
    for op in ops_of(module, ad.PartialsOp):
        replace_request(op, [op.value])
    for op in ops_of(module, ad.GuardOp, *([] if keep_stopped else [ad.StopGradientOp])):
        replace_request(op, [op.operand])


def _forget_unused_rules(module: ModuleOp) -> None:
    """Removes the derivatives that functions declare if nothing that runs asks for a derivative: they need not be expanded."""
    functions = [op for op in module.ops if isinstance(op, FuncOp)]
    declared = [(op, name, op.attributes.pop(name)) for op in functions for name in CUSTOM_DERIVATIVES if name in op.attributes]
    if not declared:
        return
    by_name, pending = {op.sym_name.data: op for op in functions}, [op for op in module.ops if not (isinstance(op, FuncOp) and is_private(op))]
    reached: set[str] = set()
    asks = False
    while pending and not asks:
        op = pending.pop()
        asks = any(inner.name.startswith("ad.") and not isinstance(inner, _LEFT_OUT) for inner in all_ops(op))
        new = {name for name in references(op) if name in by_name} - reached
        reached |= new
        pending += [by_name[name] for name in new]
    if asks:
        for op, name, attribute in declared:
            op.attributes[name] = attribute
    else:
        symbol_dce(module)


_LEFT_OUT = (ad.PartialsOp, ad.GuardOp, ad.StopGradientOp)
"""Ops that are nothing but their operand where nothing is differentiated."""


def inline_checkpoints(module: ModuleOp) -> None:
    """Replaces checkpoints by ordinary code, in place: they have no effect once the module has been differentiated."""
    checkpoints = ops_of(module, ad.CheckpointOp)
    for op in checkpoints:
        _replace_by_call(op)
    if checkpoints:
        inline(module)
        symbol_dce(module)


def _replace_by_call(op: ad.CheckpointOp | ad.LinearCallOp) -> None:
    types = [result.type for result in op.results]
    call = CallOp.create(operands=op.operands, result_types=types, properties={"callee": op.callee}, location=op.location)
    assert op.parent is not None
    op.parent.insert_op_before(call, op)
    replace_request(op, call.results)


def uses_ad(module: ModuleOp) -> bool:
    """Whether the module has ops or attributes of the ad dialect, or calls (of functions that declare a derivative)."""
    return any(op.name.startswith("ad.") or type(op) is CallOp or not _MARKER_ATTRIBUTES.isdisjoint(op.attributes) for op in all_ops(module))


_MARKER_ATTRIBUTES = frozenset((*CUSTOM_DERIVATIVES, *PARTS))
"""Attributes of functions that belong to the dialect."""
