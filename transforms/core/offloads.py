"""Values outside of the arena: the calls that take a value away and bring it back, and the rewrite that forgets them.

::

    %t = stablehlo.custom_call @wengert.offload(%x) {backend_config = "disk", has_side_effect = true} : (tensor<1000xf64>) -> tensor<i64>
    ...                                                                      // %x takes no memory of the program here
    %y = stablehlo.custom_call @wengert.fetch(%t) {has_side_effect = true} : (tensor<i64>) -> tensor<1000xf64>

The first one writes the value to a place, a memory-mapped file (``disk``) or memory of the host (``host``), and returns a ticket; the second one reads it and
clears the place, so that each ticket is good for one call. Neither is differentiated or batched: a plan for memory is one of the program that it was made for,
and what is made of the program begins with values again.
"""

from __future__ import annotations

from typing import Literal, cast

from xdsl.dialects.builtin import BoolAttr, ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue

from wengert.dialects import stablehlo as hlo
from wengert.ir.construction import erase
from wengert.ir.location.places import error_at
from wengert.ir.tensor_types import i64, tensor
from wengert.ir.traversal import ops_of

OFFLOAD, FETCH = "wengert.offload", "wengert.fetch"
Place = Literal["disk", "host"]


def offload_op(value: SSAValue, place: Place, like: Operation) -> hlo.CustomCallOp:
    """A call that takes a value away; its result is the ticket."""
    properties = {"call_target_name": StringAttr(OFFLOAD), "has_side_effect": BoolAttr.from_bool(True), "backend_config": StringAttr(place)}
    return hlo.CustomCallOp.create(operands=[value], result_types=[tensor((), i64)], properties=properties, location=like.location)


def fetch_op(ticket: SSAValue, value: SSAValue, like: Operation) -> hlo.CustomCallOp:
    """A call that brings back a value."""
    properties = {"call_target_name": StringAttr(FETCH), "has_side_effect": BoolAttr.from_bool(True)}
    return hlo.CustomCallOp.create(operands=[ticket], result_types=[value.type], properties=properties, location=like.location)


def is_call_of(op: Operation, target: str) -> bool:
    """Whether an op is one of the two calls."""
    return isinstance(op, hlo.CustomCallOp) and op.call_target_name.data == target


def forget_offloads(module: ModuleOp) -> None:
    """Puts values in the place of what is fetched. Raises DiagnosticError for a ticket that is not the result of an offload in the same block."""
    calls = ops_of(module, hlo.CustomCallOp)
    for fetch in [op for op in calls if is_call_of(op, FETCH)]:
        offload = fetch.operands[0].owner if fetch.operands else None
        if not isinstance(offload, Operation) or not is_call_of(offload, OFFLOAD) or offload.operands[0].type != fetch.results[0].type:
            raise error_at(fetch, f"@{FETCH} takes the result of an @{OFFLOAD} of a value of its type")
        fetch.results[0].replace_all_uses_with(offload.operands[0])
        erase(fetch)
    for offload in [op for op in calls if is_call_of(op, OFFLOAD)]:
        if cast(SSAValue, offload.results[0]).first_use is None:
            erase(offload)
