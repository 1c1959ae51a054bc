"""StableHLO's linear algebra and Fourier transforms."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, DenseArrayBase
from xdsl.irdl import operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from wengert.dialects.facts import FORMULA, Facts, Work
from wengert.dialects.stablehlo.attributes import FftTypeAttr, TransposeAttr
from wengert.dialects.stablehlo.base import TensorOp
from wengert.ir.operations import op_definition
from wengert.ir.syntax import parts as sx


@op_definition
class CholeskyOp(TensorOp):
    """The Cholesky factor of batched symmetric (Hermitian) positive definite matrices."""

    name = "stablehlo.cholesky"
    FACTS: ClassVar = FORMULA
    SYNTAX: ClassVar = sx.Syntax(sx.Operands(), sx.Keys(sx.Key("lower", "lower", sx.BOOL, optional=True)), sx.SameType())
    a = operand_def()
    lower = opt_prop_def(BoolAttr)
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class TriangularSolveOp(TensorOp):
    """Solves op(a) x = b, or x op(a) = b, for batched triangular a."""

    name = "stablehlo.triangular_solve"
    FACTS: ClassVar = Facts(work=Work.FORMULA, linear=(1,))
    a = operand_def()
    b = operand_def()
    left_side = prop_def(BoolAttr)
    lower = prop_def(BoolAttr)
    unit_diagonal = prop_def(BoolAttr)
    transpose_a = prop_def(TransposeAttr)
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class FftOp(TensorOp):
    """Discrete Fourier transform over the trailing dimensions."""

    name = "stablehlo.fft"
    FACTS: ClassVar = Facts(work=Work.FORMULA, linear="all")
    SYNTAX: ClassVar = sx.keyed(sx.Key("type", "fft_type", sx.Word(FftTypeAttr)), sx.Key("length", "fft_length", sx.INTS))
    operand = operand_def()
    fft_type = prop_def(FftTypeAttr)
    fft_length = prop_def(DenseArrayBase)
    result = result_def()
    traits = traits_def(Pure())
