"""The pass ``factorizations-to-loops``: factorisations and systems of equations as counted loops over columns or rows.

Compiled code for a CPU has kernels of its own for them (:mod:`wengert.transforms.codegen.cpu.native`), devices have none. In these loops a step is a few
kernels over whole matrices of a batch, which fusion makes of elementwise ops, reductions and reads at computed positions.

Before and after::

    %l, %info = "core.cholesky"(%a) <{lower = true}> : (tensor<5x9x9xf64>) -> (tensor<5x9x9xf64>, tensor<5xi32>)

    %n = stablehlo.constant dense<9> : tensor<i64>
    %columns = core.for %n, %a { (one elementwise computation on tensor<5x9x9xf64>) }
    %l = (the lower triangle of %columns)
    %info = (the first element of its diagonal that is not positive)

Floats of 16 bits are factored in f32. ``core.eig`` stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from wengert.dialects import core, stablehlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.tensor_types import element
from wengert.ir.traversal import ops_of
from wengert.transforms.linalg.cholesky import cholesky, stable_cholesky
from wengert.transforms.linalg.eigh import eigh
from wengert.transforms.linalg.lu import lu, lu_diagonal, lu_solve
from wengert.transforms.linalg.permutations import pivots_to_permutation
from wengert.transforms.linalg.qr import qr
from wengert.transforms.linalg.svd import svd
from wengert.transforms.linalg.triangular import cholesky_solve, triangular_solve
from wengert.transforms.linalg.tridiagonal import tridiagonal_solve
from wengert.transforms.rewriter import Rewriter

_FORMS: dict[type[Operation], Callable[[OpBuilder, Any], Sequence[Value]]] = {
    core.CholeskyOp: cholesky,
    core.CholeskySolveOp: cholesky_solve,
    core.EighOp: eigh,
    core.LuDiagonalOp: lu_diagonal,
    core.LuOp: lu,
    core.LuSolveOp: lu_solve,
    core.PivotsToPermutationOp: pivots_to_permutation,
    core.QrOp: qr,
    core.SvdOp: svd,
    core.TridiagonalSolveOp: tridiagonal_solve,
    stablehlo.CholeskyOp: stable_cholesky,
    stablehlo.TriangularSolveOp: triangular_solve,
}


@dataclass(frozen=True)
class FactorizationsToLoopsPass(ModulePass):
    """Writes factorisations of matrices and systems of equations as loops over columns or rows."""

    name = "factorizations-to-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewriter = Rewriter(self.name)
        for factorization in ops_of(op, *_FORMS):
            rewriter.move_to(factorization)
            rewriter.replace(factorization, _FORMS[type(factorization)](rewriter, factorization))

    def changes(self, module: ModuleOp) -> bool:
        return bool(ops_of(module, *_FORMS))
