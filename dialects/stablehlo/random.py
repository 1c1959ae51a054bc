"""StableHLO's random numbers."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from wengert.dialects.facts import UNBATCHED
from wengert.dialects.stablehlo.attributes import RngAlgorithmAttr, RngDistributionAttr
from wengert.dialects.stablehlo.base import TensorOp
from wengert.ir.operations import op_definition
from wengert.ir.syntax import parts as sx


@op_definition
class RngBitGeneratorOp(TensorOp):
    """Random bits and the next state from a state, by a named algorithm."""

    name = "stablehlo.rng_bit_generator"
    FACTS: ClassVar = UNBATCHED
    SYNTAX: ClassVar = sx.keyed(sx.Key("algorithm", "rng_algorithm", sx.Word(RngAlgorithmAttr)))
    initial_state = operand_def()
    rng_algorithm = prop_def(RngAlgorithmAttr)
    output_state = result_def()
    output = result_def()
    traits = traits_def(Pure())


@op_definition
class RngOp(TensorOp):
    """Random numbers of a distribution (the generator is left to the backend)."""

    name = "stablehlo.rng"
    FACTS: ClassVar = UNBATCHED
    SYNTAX: ClassVar = sx.keyed(sx.Key("distribution", "rng_distribution", sx.Word(RngDistributionAttr)))
    a = operand_def()
    b = operand_def()
    shape = operand_def()
    rng_distribution = prop_def(RngDistributionAttr)
    result = result_def()
