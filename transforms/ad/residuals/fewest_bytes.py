"""The residuals of a loop that cost least to store and to recompute, where those of all iterations do not stay in a cache.

The choice is a minimum cut. Each value has a node at its entry and one at its exit, with an edge of what it costs to store between them. A value that only its
own op can give hangs on the source, and so does, at what it costs to compute again, one that a cheap op gives; the op's operands lead to it without a bound,
because they must be there to compute it; the residuals lead to the sink. Then

- a value whose entry is on the source's side and whose exit is not is stored;
- one whose entry is on the sink's side is recomputed, from values that are stored or recomputed themselves.

So one step of an integrator keeps the state that it begins with and computes its stages again. That fused ops are nearly free to run again, and that a minimum
cut then chooses what to store, is the observation of H. He and S. Yu, "Transcending runtime-memory tradeoffs in checkpointing by being fusion aware" (2023);
there only bytes are counted, here what runs again has a price, too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from math import inf

from xdsl.ir import Block, Operation, SSAValue

from wengert.dialects import stablehlo as hlo
from wengert.dialects.facts import facts_of
from wengert.transforms.ad.minimum_cut import SINK, SOURCE, FlowNetwork

STORING = 10
"""What a byte that is stored costs, written to memory and read again, where one that a fused kernel computes again costs 1 (Zen 5: 83 and 4 ns per kB)."""

_MOVES = (hlo.ConcatenateOp, hlo.PadOp)
"""Ops that move elements and are cheaper to run again than to load from memory, though not from a cache."""


def fewest_bytes(block: Block, residuals: Sequence[SSAValue], derivable: Collection[SSAValue], size: Callable[[SSAValue], int]) -> list[SSAValue]:
    """The values of a block to store, from which cheap ops compute the residuals, in the order of the block.

    Args:
        block: the body of a loop.
        residuals: its values that are read in the linear part.
        derivable: the values that need not be stored.
        size: the bytes of a value.
    """
    network = FlowNetwork()
    read = [value for value in dict.fromkeys(residuals) if value not in derivable]
    pending = list(read)
    while pending:
        value = pending.pop()
        if value not in network.entry:
            network.add(value, STORING * max(size(value), 1))
            pending.extend(_needed(value, derivable) or ())
    for value, entry in network.entry.items():
        needed = _needed(value, derivable)
        network.connect(SOURCE, entry, inf if needed is None else size(value))
        for operand in needed or ():
            network.connect(network.entry[operand] + 1, entry, inf)
    for value in read:
        network.connect(network.entry[value] + 1, SINK, inf)
    network.saturate()
    stored = network.cut(network.reached())
    values: list[SSAValue] = [*block.args, *(result for op in block.ops for result in op.results)]
    order = {value: n for n, value in enumerate(values)}
    return sorted(stored, key=order.__getitem__)


def _needed(value: SSAValue, derivable: Collection[SSAValue]) -> list[SSAValue] | None:
    """The operands of the cheap op that computes a value, but for those that need not be stored; None if the op is not cheap."""
    op = value.owner
    if not isinstance(op, Operation) or not (facts_of(type(op)).recompute or isinstance(op, _MOVES)):
        return None
    return list(dict.fromkeys(operand for operand in op.operands if operand not in derivable))
