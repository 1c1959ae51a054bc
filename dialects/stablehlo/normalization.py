"""StableHLO's batch normalization: each feature is shifted and scaled by what its other dimensions hold."""

from __future__ import annotations

from typing import Any, ClassVar

from xdsl.dialects.builtin import Float32Type, FloatAttr
from xdsl.irdl import operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from wengert.dialects.facts import EXPANSION
from wengert.dialects.stablehlo.base import TensorOp
from wengert.ir.attributes import I64Attr
from wengert.ir.operations import op_definition

F32Attr = FloatAttr[Float32Type]


class BatchNormOp(TensorOp):
    """The base of the three ops: epsilon is added to the variance of dimension feature_index."""

    FACTS: ClassVar = EXPANSION
    epsilon: Any = prop_def(F32Attr)
    feature_index: Any = prop_def(I64Attr)
    traits = traits_def(Pure())


@op_definition
class BatchNormTrainingOp(BatchNormOp):
    """The normalized operand, and the mean and the variance of each feature that it was normalized by."""

    name = "stablehlo.batch_norm_training"
    operand = operand_def()
    scale = operand_def()
    offset = operand_def()
    output = result_def()
    batch_mean = result_def()
    batch_var = result_def()


@op_definition
class BatchNormInferenceOp(BatchNormOp):
    """The operand normalized by a given mean and variance."""

    name = "stablehlo.batch_norm_inference"
    operand = operand_def()
    scale = operand_def()
    offset = operand_def()
    mean = operand_def()
    variance = operand_def()
    result = result_def()


@op_definition
class BatchNormGradOp(BatchNormOp):
    """The cotangents of operand, scale and offset of a batch_norm_training from that of its output."""

    name = "stablehlo.batch_norm_grad"
    operand = operand_def()
    scale = operand_def()
    mean = operand_def()
    variance = operand_def()
    grad_output = operand_def()
    grad_operand = result_def()
    grad_scale = result_def()
    grad_offset = result_def()
