"""How many operands and results upstream ops have as their maps, bodies and outputs say, where no number does (:mod:`wengert.dialects.upstream.arities`)."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import AffineMapAttr, AffineSetAttr, ArrayAttr, TensorType
from xdsl.ir import Attribute, Operation

from wengert.dialects.upstream.arities import group_sizes

_MAPPED = {"affine.apply": ("map", 0), "affine.load": ("map", 1), "affine.store": ("map", 2), "affine.if": ("condition", 0)}
"""Affine ops whose operands, behind so many, are those of a map or set."""


def wrong_parts(op: Operation) -> str:
    """How an op's operands, results and body do not fit each other in number, or nothing."""
    return _of_map(op) or _of_reductions(op) or _of_outputs(op) or _of_body(op)


def _of_map(op: Operation) -> str:
    """What is wrong with the number of a map's operands."""
    name, first = _MAPPED.get(op.name, ("", 0))
    mapped = op.attributes.get(name)
    if not isinstance(mapped, AffineMapAttr | AffineSetAttr):
        return ""
    wanted, given = mapped.data.num_dims + mapped.data.num_symbols, len(op.operands) - first
    return "" if given == wanted else f"its {name} takes {wanted} operand{'s' * (wanted != 1)}, found {given}"


def _of_reductions(op: Operation) -> str:
    """What is wrong with the numbers of a parallel loop's reductions."""
    if op.name == "affine.parallel":
        reductions = op.attributes.get("reductions")
        count = len(cast("ArrayAttr[Attribute]", reductions)) if isinstance(reductions, ArrayAttr) else 0
        return "" if count == len(op.results) else f"expected {count} result{'s' * (count != 1)}, one for each reduction, found {len(op.results)}"
    if op.name == "scf.reduce" and len(op.regions) != len(op.operands):
        return f"expected a region for each of {len(op.operands)} operands, found {len(op.regions)}"
    return ""


def _output_count(op: Operation) -> int | None:
    """How many of the last operands of a structured op are its outputs; None for other ops."""
    if op.name == "linalg.map":
        return 1
    if op.name == "linalg.reduce":
        return len(op.operands) // 2
    sizes = group_sizes(op)
    return sizes[1] if op.name.startswith("linalg.") and sizes is not None and len(sizes) == 2 else None


def _of_outputs(op: Operation) -> str:
    """What is wrong with the number of a structured op's results: one for each output that is a tensor."""
    count = _output_count(op)
    if count is None:
        return ""
    tensors = sum(isinstance(value.type, TensorType) for value in op.operands[len(op.operands) - count :])
    return "" if len(op.results) == tensors else f"expected {tensors} result{'s' * (tensors != 1)}, one for each output, found {len(op.results)}"


def _of_body(op: Operation) -> str:
    """What is wrong with the numbers of the arguments of a structured op's body, and of what it yields."""
    block = op.regions[0].first_block if op.name in ("linalg.generic", "linalg.map", "linalg.reduce") and op.regions else None
    if block is None:
        return ""
    count, outputs, ending = len(op.operands), _output_count(op), block.last_op
    if op.name == "linalg.reduce" and count % 2:
        return f"expected as many initial values as inputs, found {count} operands"
    if len(block.args) not in ((count, count - 1) if op.name == "linalg.map" else (count,)):
        return f"the body takes {len(block.args)} arguments, but there are {count} operands"
    if ending is not None and ending.name == "linalg.yield" and outputs is not None and len(ending.operands) != outputs:
        return f"the body yields {len(ending.operands)} values for {outputs} output{'s' * (outputs != 1)}"
    return ""
