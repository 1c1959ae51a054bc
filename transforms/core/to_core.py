"""``to-core``: from StableHLO as programs write it to the core that AD and compilation work on.

Calls are inlined and functions that nothing calls any more are removed; tuples and tokens go (``tuples``), and ops that are defined by others
are written out in those (``compound``); then every op whose region is one of the
known kinds is replaced by the core op that carries the kind as an attribute. What is not recognised stays what it was: right, only less well
served. ``from-core`` is the inverse.

Before and after::

    %cst = stablehlo.constant dense<0.0> : tensor<f64>                                       %0 = core.reduce ... add, [0]
    %0 = stablehlo.reduce(%x init: %cst) applies stablehlo.add across dimensions = [0]

To recognise another construct, write its file in ``recognisers`` with a recogniser and an expansion and add the two to the tables here and in
``from_core``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnrankedTensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from wengert.dialects import sdy, stablehlo
from wengert.dialects.builder import OpBuilder
from wengert.ir.construction import erase, insert_before
from wengert.ir.location.fused import absorbing
from wengert.ir.location.places import error_at
from wengert.ir.pipeline import changes
from wengert.ir.pipeline.actions import may_rewrite
from wengert.ir.traversal import all_ops, ops_in, ops_of
from wengert.transforms.core.compound import EXPANSIONS, expand_compound
from wengert.transforms.core.control import close_control
from wengert.transforms.core.inline import inline
from wengert.transforms.core.mapping import expand_maps
from wengert.transforms.core.recognisers import communication
from wengert.transforms.core.recognisers.approximate_top_k import recognise_top_k
from wengert.transforms.core.recognisers.argreductions import recognise_argreduce
from wengert.transforms.core.recognisers.dot_algorithms import recognise_algorithm
from wengert.transforms.core.recognisers.incomplete_functions import recognise_incomplete_functions
from wengert.transforms.core.recognisers.lapack import recognise_lapack
from wengert.transforms.core.recognisers.logaddexp import recognise_logaddexp
from wengert.transforms.core.recognisers.logistic import recognise_logistic
from wengert.transforms.core.recognisers.promotion import recognise_mixed_product, recognise_promotion
from wengert.transforms.core.recognisers.reductions import recognise_empty_reduce, recognise_reduce
from wengert.transforms.core.recognisers.scatters import recognise_scatter
from wengert.transforms.core.recognisers.shardings import recognise_placement
from wengert.transforms.core.recognisers.stopped import recognise_stop
from wengert.transforms.core.recognisers.systems import recognise_systems
from wengert.transforms.core.recognisers.windows import recognise_window
from wengert.transforms.core.symbol_dce import symbol_dce
from wengert.transforms.core.tuples import STRUCTURE, flatten_tuples, gives_nested, has_nested_signature
from wengert.transforms.rewriter import Rewriter

Recogniser = Callable[[OpBuilder, Any], Sequence[SSAValue] | None]

RECOGNISERS: dict[type[Operation], tuple[Recogniser, ...]] = {
    stablehlo.AddOp: (recognise_logaddexp,),
    stablehlo.ConvertOp: (recognise_stop,),
    stablehlo.ConvolutionOp: (recognise_mixed_product,),
    stablehlo.CustomCallOp: (recognise_placement, recognise_top_k),
    stablehlo.DivideOp: (recognise_logistic,),
    stablehlo.DotGeneralOp: (recognise_algorithm, recognise_mixed_product),
    stablehlo.ReduceOp: (recognise_empty_reduce, recognise_reduce, recognise_argreduce, recognise_promotion),
    stablehlo.ReduceWindowOp: (recognise_window, recognise_promotion),
    stablehlo.ScatterOp: (recognise_scatter, recognise_promotion),
    stablehlo.SelectAndScatterOp: (recognise_promotion,),
    **communication.RECOGNISERS,
}
"""The recognisers of each op class; the first recogniser that finds its construct replaces the op."""

_COMBINING = (stablehlo.AllReduceOp, stablehlo.ReduceScatterOp)
"""Ops that may become maps."""

_LOOKED_FOR = frozenset((*RECOGNISERS, *EXPANSIONS, *STRUCTURE, stablehlo.MapOp, stablehlo.WhileOp, sdy.ManualComputationOp, *sdy.IDENTITIES))


@dataclass(frozen=True)
class ToCorePass(ModulePass):
    """Inlines calls and replaces ops with known regions by core ops."""

    name = "to-core"

    keep_custom: bool = False
    """Leave calls of functions that declare derivatives of their own."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        to_core(op, keep_custom=self.keep_custom)


def _refuse_unranked(module: ModuleOp) -> None:
    for op in all_ops(module):
        for value in op.body.block.args if isinstance(op, FuncOp) and not op.is_declaration else op.results:
            type: Attribute = value.type
            if isinstance(type, UnrankedTensorType):
                message = f"{type} has no rank, without which nothing can be computed"  # pyright: ignore[reportUnknownMemberType]
                raise error_at(op, message, hint="give it extents, of which some may be open: tensor<?x?xf64>")


def to_core(module: ModuleOp, *, keep_custom: bool = False) -> None:
    """Brings the module to core level, in place. Raises a DiagnosticError where calls cannot be inlined."""
    inline(module, keep_custom=keep_custom)
    symbol_dce(module)
    _end_functions(module)
    _refuse_unranked(module)
    known = [op for op in all_ops(module) if type(op) in _LOOKED_FOR]
    if keep_custom and any(type(op) is stablehlo.WhileOp for op in known) and recognise_incomplete_functions(module):
        inline(module, keep_custom=True)
        known = [op for op in all_ops(module) if type(op) in _LOOKED_FOR]
    if _has_nested_values(module, known):
        flatten_tuples(module)
        known = [op for op in all_ops(module) if type(op) in _LOOKED_FOR]
    if any(type(op) in EXPANSIONS for op in known):
        expand_compound(module)
        known = ops_of(module, *RECOGNISERS, sdy.ManualComputationOp, *sdy.IDENTITIES)
    if any(type(op) in communication.RECOGNISERS for op in known):
        communication.number_groups(module)
    if any(isinstance(op, sdy.IDENTITIES) for op in known):
        known = _without_placements(known)
    rewriter = Rewriter("to-core")
    for op in known:
        rewriter.move_to(op)
        for recognise in RECOGNISERS.get(type(op), ()):
            if (values := recognise(rewriter, op)) is not None and may_rewrite(_name_of(recognise), op):
                operands = list(op.operands)
                rewriter.replace(op, values)
                _erase_unused(operands, values)
                break
    factorised = recognise_lapack(module)
    close_control(module)
    if any(type(op) is stablehlo.MapOp for op in known) or any(type(op) in _COMBINING for op in known):
        expand_maps(module)
    if factorised:
        recognise_systems(module)
    if any(type(op) is sdy.ManualComputationOp for op in known):
        from wengert.transforms.spmd.together import join_devices  # with all of batching, which most programs do without

        join_devices(module)
        symbol_dce(module)


def _without_placements(known: Sequence[Operation]) -> list[Operation]:
    """The other ops, once what says how values are split is gone: it may stand in a region that is recognised as a whole."""
    rewriter = Rewriter("to-core")
    for op in [op for op in known if isinstance(op, sdy.IDENTITIES)]:
        rewriter.replace(op, [op.operands[0]])
    return [op for op in known if not isinstance(op, sdy.IDENTITIES)]


def _name_of(recognise: Recogniser) -> str:
    """The name of the rewrite that a recogniser makes."""
    return recognise.__name__.strip("_").replace("_", "-")


def _end_functions(module: ModuleOp) -> None:
    """Ends every function in func.return; text may end it in stablehlo.return too."""
    for op in ops_in(module.body.block):
        if isinstance(op, FuncOp):
            for block in op.body.blocks:
                if isinstance(end := block.last_op, stablehlo.ReturnOp):
                    insert_before(end, ReturnOp.create(operands=end.operands, location=end.location))
                    erase(end)


def _has_nested_values(module: ModuleOp, known: Sequence[Operation]) -> bool:
    """Whether anything in the module is a tuple, a token or a future, or reaches out of it."""
    if any(isinstance(op, FuncOp) and has_nested_signature(op) for op in ops_in(module.body.block)):
        return True
    return any(type(op) in STRUCTURE or (isinstance(op, stablehlo.CustomCallOp) and gives_nested(op)) for op in known)


_FEEDERS = (
    *(stablehlo.ConstantOp, stablehlo.BroadcastInDimOp, stablehlo.IotaOp),
    *(stablehlo.AddOp, stablehlo.ExponentialOp, stablehlo.NegateOp),
)


def _erase_unused(values: Sequence[SSAValue], replacements: Sequence[SSAValue]) -> None:
    """Erases constants, broadcasts of them, counts and steps of a formula that only fed what was replaced; ``replacements`` stand for them too."""
    pending = list(values)
    while pending:
        op = pending.pop().owner
        if isinstance(op, _FEEDERS) and op.parent is not None and not op.results[0].uses:
            pending.extend(op.operands)
            for value in replacements:
                if isinstance(value.owner, Operation):
                    value.owner.location = absorbing(value.owner.location, op, ToCorePass.name)
            if changes.RECORDER is not None:
                changes.RECORDER.removed(op, "what was recognised says it")
            op.parent.erase_op(op)
