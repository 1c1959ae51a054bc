"""``from-core``: back to plain StableHLO and CHLO, which JAX's parser reads and XLA runs.

Every core op is written again as the StableHLO op with the region that its kind stands for. The result means exactly what the
core op does, so that a derivative made by this compiler can be run and judged by another.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from wengert.dialects import ad, core
from wengert.ir.traversal import all_ops, ops_of
from wengert.transforms.core import functions
from wengert.transforms.core.control import open_control
from wengert.transforms.core.recognisers.argreductions import expand_argreduce
from wengert.transforms.core.recognisers.communication import expand_all_reduce, expand_reduce_scatter
from wengert.transforms.core.recognisers.lapack import expand_cholesky, expand_eig, expand_eigh, expand_lu, expand_qr, expand_svd, expand_tridiagonal_solve
from wengert.transforms.core.recognisers.permutations import expand_pivots_to_permutation
from wengert.transforms.core.recognisers.reductions import expand_reduce
from wengert.transforms.core.recognisers.scatters import expand_scatter
from wengert.transforms.core.recognisers.stopped import expand_stop
from wengert.transforms.core.recognisers.systems import expand_cholesky_solve, expand_lu_diagonal, expand_lu_solve
from wengert.transforms.core.recognisers.windows import expand_cumulative, expand_window
from wengert.transforms.rewriter import Rewriter

EXPANSIONS: dict[type[Operation], functions.Expansion] = {
    core.ReduceOp: expand_reduce,
    core.AllReduceOp: expand_all_reduce,
    core.ReduceScatterOp: expand_reduce_scatter,
    core.ArgReduceOp: expand_argreduce,
    core.WindowReduceOp: expand_window,
    core.CumulativeOp: expand_cumulative,
    core.ScatterOp: expand_scatter,
    core.CholeskyOp: expand_cholesky,
    core.CholeskySolveOp: expand_cholesky_solve,
    core.LuOp: expand_lu,
    core.PivotsToPermutationOp: expand_pivots_to_permutation,
    core.LuSolveOp: expand_lu_solve,
    core.LuDiagonalOp: expand_lu_diagonal,
    core.QrOp: expand_qr,
    core.EighOp: expand_eigh,
    core.SvdOp: expand_svd,
    core.EigOp: expand_eig,
    core.TridiagonalSolveOp: expand_tridiagonal_solve,
    ad.StopGradientOp: expand_stop,
}
"""The expansion into StableHLO of each core op, and of what is left of the ad dialect; elementwise ones, and those of plug-ins, are in ``functions``."""


@dataclass(frozen=True)
class FromCorePass(ModulePass):
    """Replaces core ops by the StableHLO ops that they stand for."""

    name = "from-core"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        from_core(op)


def _replace(rewriter: Rewriter, op: Operation, expand: functions.Expansion) -> None:
    rewriter.move_to(op)
    values = expand(rewriter, op)
    assert values is not None, op.name
    rewriter.replace(op, values)


def from_core(module: ModuleOp) -> None:
    """Writes the module's core ops in StableHLO, in place."""
    rewriter = Rewriter("from-core")
    while written_out := [op for op in all_ops(module) if functions.is_written_out(op)]:
        for op in written_out:
            _replace(rewriter, op, functions.EXPANSIONS[type(op)])
    for op in ops_of(module, *EXPANSIONS):
        _replace(rewriter, op, EXPANSIONS[type(op)])
    open_control(module)
