"""``expand-functions``: elementwise functions that compiled code has no instructions for, written out in ops that it has.

Before and after::

    %y = chlo.zeta %s, %q     ->     %y = (stablehlo.power, core.reduce over eight terms, ...)

Their derivatives and batches are their own: this comes after them. The core ops among them are written to StableHLO in the same way
(``from-core``), and an op whose facts say so costs what its expansion does (:mod:`wengert.transforms.analysis.opcost`).

To add an op, write its expansion here, or in a file of its own if it is long, and add it to :data:`EXPANSIONS`. A plug-in declares those of its ops with
:func:`expansion`; they are what the ops compute, everywhere but where it says something else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from wengert.dialects import chlo, core, stablehlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.facts import Work, facts_of
from wengert.ir.traversal import all_ops
from wengert.transforms.core import reinterpreted
from wengert.transforms.core.zeta_sums import expand_polygamma, expand_zeta
from wengert.transforms.rewriter import Rewriter

Expansion = Callable[[OpBuilder, Any], Sequence[Value] | None]
"""Writes an op out and returns what stands for its result; None where there are instructions for it after all."""

EXPANSIONS: dict[type[Operation], Expansion] = {
    chlo.PolygammaOp: expand_polygamma,
    chlo.ZetaOp: expand_zeta,
}

ON_SOME_TYPES: dict[type[Operation], tuple[Callable[[Any], bool], Expansion]] = {
    stablehlo.Atan2Op: (reinterpreted.is_complex_angle, reinterpreted.expand_complex_angle),
    stablehlo.BitcastConvertOp: (reinterpreted.changes_width, reinterpreted.expand_bitcast),
    stablehlo.CompareOp: (reinterpreted.orders_complex_numbers, reinterpreted.expand_comparison),
    stablehlo.MaximumOp: (reinterpreted.is_complex_extremum, reinterpreted.expand_extremum),
    stablehlo.MinimumOp: (reinterpreted.is_complex_extremum, reinterpreted.expand_extremum),
}
"""Ops that there are instructions for on most types, on which they are written out, and how. The interpreter has code of its own for all of them."""

StatedExpansion = TypeVar("StatedExpansion", bound=Expansion)


def expansion(*ops: type[Operation]) -> Callable[[StatedExpansion], StatedExpansion]:
    """Declares what ops of a plug-in are in other ops: ``(b, op) -> results``. The interpreter runs it, costs count it, compiled code and plain StableHLO
    are made of it."""

    def register(expand: StatedExpansion) -> StatedExpansion:
        EXPANSIONS.update(dict.fromkeys(ops, expand))
        return expand

    return register


def is_written_out(op: Operation) -> bool:
    """Whether an op has an expansion and belongs neither to StableHLO nor to CHLO, so that plain StableHLO does not have it."""
    return type(op) in EXPANSIONS and not op.name.startswith(("chlo.", "stablehlo."))


@dataclass(frozen=True)
class ExpandFunctionsPass(ModulePass):
    """Replaces elementwise functions by ops that there are instructions for. In regions that compute scalars those stay whose expansion has tensors inside."""

    name = "expand-functions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        expand_functions(op)

    def changes(self, module: ModuleOp) -> bool:
        return bool(_expanded(module))


def expand_functions(module: ModuleOp) -> None:
    """Expands all such functions of a module, in place."""
    b = Rewriter("expand-functions")
    for op in _expanded(module):
        if not (_is_elementwise_inside(op) or _is_among_tensors(op)):
            continue
        b.move_to(op)
        expand = EXPANSIONS[type(op)] if type(op) in EXPANSIONS else ON_SOME_TYPES[type(op)][1]
        values = expand(b, op)
        if values is not None:
            b.replace(op, values)


def _expanded(module: ModuleOp) -> list[Operation]:
    """The ops that have an expansion, which they need on their types."""
    expanded: list[Operation] = []
    for op in all_ops(module):
        kind = type(op)
        if kind in EXPANSIONS or (kind in ON_SOME_TYPES and ON_SOME_TYPES[kind][0](op)):
            expanded.append(op)
    return expanded


def _is_elementwise_inside(op: Operation) -> bool:
    """Whether the expansion is made of elementwise ops, so that it may stand wherever the op does."""
    return facts_of(type(op)).work is Work.EXPANSION or (type(op) in ON_SOME_TYPES and not isinstance(op, stablehlo.BitcastConvertOp))


def _is_among_tensors(op: Operation) -> bool:
    """Whether an op stands in functions, loops and branches only."""
    parent = op.parent_op()
    while parent is not None and parent.parent_op() is not None:
        if parent.name != "func.func" and not isinstance(parent, core.ForOp | core.WhileOp | core.CaseOp):
            return False
        parent = parent.parent_op()
    return True
