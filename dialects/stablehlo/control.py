"""StableHLO's control flow, calls out of the program, and barriers."""

from __future__ import annotations

from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import ArrayAttr, BoolAttr, DictionaryAttr, IntegerAttr, StringAttr, SymbolRefAttr
from xdsl.irdl import (
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.traits import IsTerminator, Pure, RecursiveMemoryEffect

from wengert.dialects.facts import REGIONS, STRUCTURE, Facts, Work
from wengert.dialects.stablehlo import syntax as st
from wengert.dialects.stablehlo.base import TensorOp
from wengert.ir.attributes import I32Attr
from wengert.ir.operations import op_definition
from wengert.ir.symbols import CallsFunction
from wengert.ir.syntax import parts as sx


@op_definition
class WhileOp(TensorOp):
    """Repeats the body while the condition holds; carried values are the operands and results."""

    name = "stablehlo.while"
    FACTS: ClassVar = STRUCTURE
    SYNTAX: ClassVar = sx.Syntax(st.WhileText())
    operand = var_operand_def()
    cond = region_def()
    body = region_def()
    results_ = var_result_def()
    traits = traits_def(RecursiveMemoryEffect())


@op_definition
class CaseOp(TensorOp):
    """Runs the branch that the index picks (the last one where it is out of range)."""

    name = "stablehlo.case"
    FACTS: ClassVar = STRUCTURE
    index = operand_def()
    branches = var_region_def()
    results_ = var_result_def()
    traits = traits_def(RecursiveMemoryEffect())


@op_definition
class IfOp(TensorOp):
    """Runs one of two branches."""

    name = "stablehlo.if"
    FACTS: ClassVar = STRUCTURE
    pred = operand_def()
    true_branch = region_def()
    false_branch = region_def()
    results_ = var_result_def()
    traits = traits_def(RecursiveMemoryEffect())


@op_definition
class ReturnOp(TensorOp):
    """Ends a region and gives its values."""

    name = "stablehlo.return"
    FACTS: ClassVar = STRUCTURE
    SYNTAX: ClassVar = sx.Syntax(sx.OptionalOperandTypes())
    values = var_operand_def()
    traits = traits_def(IsTerminator(), Pure())


@op_definition
class CustomCallOp(TensorOp):
    """A call to a function outside the program, by name."""

    name = "stablehlo.custom_call"
    FACTS: ClassVar = Facts(work=Work.FORMULA)
    SYNTAX: ClassVar = sx.Syntax(sx.SymbolName("call_target_name"), sx.ParenthesizedOperands(), sx.FunctionType())
    inputs = var_operand_def()
    call_target_name = prop_def(StringAttr)
    has_side_effect = opt_prop_def(BoolAttr)
    backend_config = opt_prop_def()
    api_version = opt_prop_def(I32Attr)
    called_computations = opt_prop_def(ArrayAttr)
    operand_layouts = opt_prop_def(ArrayAttr)
    result_layouts = opt_prop_def(ArrayAttr)
    output_operand_aliases = opt_prop_def(ArrayAttr)
    results_ = var_result_def()

    @property
    def options(self) -> dict[str, Any]:
        """The options in ``mhlo.backend_config``, or ``backend_config``, as Python values where they are numbers or text."""
        config = self.attributes.get("mhlo.backend_config", self.backend_config)
        entries = cast("dict[str, Any]", config.data) if isinstance(config, DictionaryAttr) else {}
        return {key: _plain(value) for key, value in entries.items()}


def _plain(attribute: Any) -> Any:
    if isinstance(attribute, IntegerAttr):
        return cast("IntegerAttr[Any]", attribute).value.data
    return attribute.data if isinstance(attribute, StringAttr) else attribute


@op_definition
class CompositeOp(TensorOp):
    """An op with a name of its own and a decomposition into others."""

    name = "stablehlo.composite"
    FACTS: ClassVar = STRUCTURE
    SYNTAX: ClassVar = sx.Syntax(sx.Value("name", sx.STRING), sx.Operands(optional=True), sx.FunctionType())
    inputs = var_operand_def()
    composite_name = prop_def(StringAttr, prop_name="name")
    composite_attributes = opt_prop_def(DictionaryAttr)
    decomposition = prop_def(SymbolRefAttr)
    version = opt_prop_def(I32Attr)
    composite_regions = var_region_def()
    results_ = var_result_def()
    traits = traits_def(Pure(), CallsFunction("decomposition"))


@op_definition
class OptimizationBarrierOp(TensorOp):
    """The operands, behind a line that no optimisation crosses."""

    name = "stablehlo.optimization_barrier"
    FACTS: ClassVar = REGIONS
    SYNTAX: ClassVar = sx.Syntax(sx.OptionalOperandTypes(results=True, empty="()"))
    operand = var_operand_def()
    results_ = var_result_def()


@op_definition
class AfterAllOp(TensorOp):
    """A token after all of the given tokens."""

    name = "stablehlo.after_all"
    FACTS: ClassVar = STRUCTURE
    SYNTAX: ClassVar = sx.Syntax(sx.Operands(optional=True), sx.OneType())
    inputs = var_operand_def()
    result = result_def()


@op_definition
class CreateTokenOp(TensorOp):
    """A new token."""

    name = "stablehlo.create_token"
    FACTS: ClassVar = STRUCTURE
    SYNTAX: ClassVar = sx.Syntax(sx.ResultTypes())
    output = result_def()


@op_definition
class TupleOp(TensorOp):
    """A tuple of values."""

    name = "stablehlo.tuple"
    FACTS: ClassVar = STRUCTURE
    SYNTAX: ClassVar = sx.Syntax(sx.Operands(optional=True), sx.TupleTypes())
    val = var_operand_def()
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class GetTupleElementOp(TensorOp):
    """One element of a tuple."""

    name = "stablehlo.get_tuple_element"
    FACTS: ClassVar = STRUCTURE
    SYNTAX: ClassVar = sx.Syntax(st.TupleIndex(), sx.FunctionType())
    operand = operand_def()
    index = prop_def(I32Attr)
    result = result_def()
    traits = traits_def(Pure())
