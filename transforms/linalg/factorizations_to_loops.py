"""The pass ``factorizations-to-loops``: factorisations and systems of equations as counted loops over columns or rows.

Compiled code for a CPU has kernels of its own for them (:mod:`wengert.transforms.codegen.cpu.native`), devices have none. In these loops a step is a few
kernels over whole matrices of a batch, which fusion makes of elementwise ops, reductions and reads at computed positions.

Before and after::

    %l, %info = "core.cholesky"(%a) <{lower = true}> : (tensor<5x9x9xf64>) -> (tensor<5x9x9xf64>, tensor<5xi32>)

    %n = stablehlo.constant dense<9> : tensor<i64>
    %columns = core.for %n, %a { (one elementwise computation on tensor<5x9x9xf64>) }
    %l = (the lower triangle of %columns)
    %info = (the first element of its diagonal that is not positive)

Very small matrices are factored without a loop, element by element. Floats of up to 16 bits are factored in f32. ``core.eig`` stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from wengert.dialects import core, stablehlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.tensor_types import element, f32, f64, is_float, shape, tensor
from wengert.ir.traversal import ops_of
from wengert.transforms.linalg.cholesky import cholesky, stable_cholesky
from wengert.transforms.linalg.eigh import eigh
from wengert.transforms.linalg.lu import lu, lu_diagonal, lu_solve
from wengert.transforms.linalg.permutations import pivots_to_permutation
from wengert.transforms.linalg.qr import qr
from wengert.transforms.linalg.svd import svd
from wengert.transforms.linalg.triangular import cholesky_solve, triangular_solve
from wengert.transforms.linalg.tridiagonal import tridiagonal_solve
from wengert.transforms.optimize.dce import dce
from wengert.transforms.rewriter import Rewriter

FORMS: dict[type[Operation], Callable[[OpBuilder, Any], Sequence[Value]]] = {
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
"""How each op is written with loops: builds what stands for its results."""


@dataclass(frozen=True)
class FactorizationsToLoopsPass(ModulePass):
    """Writes factorisations of matrices and systems of equations as loops over columns or rows."""

    name = "factorizations-to-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewriter = Rewriter(self.name)
        for factorization in ops_of(op, *FORMS):
            rewriter.move_to(factorization)
            wide = _widened(rewriter, factorization)
            rewriter.move_to(wide)
            rewriter.replace(wide, FORMS[type(wide)](rewriter, wide))
        if rewriter.changed:
            dce(op)  # results that nothing uses: pivots, infos, vectors

    def changes(self, module: ModuleOp) -> bool:
        return bool(ops_of(module, *FORMS))


def _widened(b: Rewriter, op: Operation) -> Operation:
    """The op on f32, if it is one on narrower floats, whose results are rounded to them; itself otherwise."""
    if not any(_is_narrow(value) for value in op.operands):
        return op
    operands = [b.convert(value, f32) if _is_narrow(value) else value for value in op.operands]
    types = [tensor(shape(result), f32) if _is_narrow(result) else result.type for result in op.results]
    results = b.create(type(op), operands, types, op.properties)
    wide = results[0].owner
    assert isinstance(wide, Operation)
    b.replace(op, [b.convert(value, element(result)) for value, result in zip(results, op.results, strict=True)])
    return wide


def _is_narrow(value: SSAValue) -> bool:
    return is_float(element(value)) and element(value) not in (f32, f64)
