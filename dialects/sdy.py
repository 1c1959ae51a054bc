"""The ops of Shardy (``sdy``): meshes, how values are split over them, and computations on the blocks of devices.

On whole tensors a constraint is the identity, and so are Shardy's collectives, which only say how a value is split from there on. Attributes are kept as they
were written; :mod:`wengert.dialects.sdy_shardings` reads what they say.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import StringAttr, UnregisteredAttr
from xdsl.ir import Attribute, Dialect, Operation
from xdsl.irdl import operand_def, prop_def, region_def, result_def, traits_def, var_operand_def, var_result_def
from xdsl.traits import IsTerminator, Pure, SymbolOpInterface

from wengert.dialects.facts import STRUCTURE, UNBATCHED
from wengert.dialects.stablehlo.base import TensorOp
from wengert.ir.operations import op_definition
from wengert.ir.parsing.operations import OpState, Reader
from wengert.ir.printing.printer import Writer
from wengert.ir.syntax import parts as sx


class Raw:
    """An attribute whose name the op implies, as raw text between two brackets."""

    def __init__(self, name: str, brackets: str, opaque: bool = False):
        self.name, self.open, self.close, self.opaque = name, brackets[0], brackets[1], opaque

    def read(self, reader: Reader) -> Attribute:
        """Reads the text between the brackets."""
        body = reader.balanced(self.open, self.close)
        inner = body if self.open == "<" else f"{self.open}{body}{self.close}"
        return reader.unregistered(self.name, inner, self.opaque)

    def text(self, value: Attribute, writer: Writer) -> str:
        """The text with its brackets."""
        assert isinstance(value, UnregisteredAttr)
        body = value.value.data
        return f"<{body}>" if self.open == "<" else body


_MESH, _SHARDING = Raw("sdy.mesh", "<>"), Raw("sdy.sharding", "<>")
_PER_VALUE, _AXES = Raw("sdy.sharding_per_value", "[]"), Raw("sdy.manual_axes", "{}", opaque=True)


class MeshText:
    """``@mesh = <["x"=2]>``."""

    properties = ("sym_name", "mesh")

    def read(self, reader: Reader, state: OpState) -> None:
        state.properties["sym_name"] = StringAttr(reader.symbol())
        reader.need("=")
        state.properties["mesh"] = _MESH.read(reader)
        state.set_attributes(reader.dictionary())

    def write(self, op: Operation, writer: Writer) -> None:
        name = op.properties["sym_name"]
        assert isinstance(name, StringAttr)
        writer.write(f" {writer.symbol(name.data)} = {_MESH.text(op.properties['mesh'], writer)}")
        writer.attribute_dictionary(op)


class ManualComputationText:
    """``(%x) in_shardings=[...] out_shardings=[...] manual_axes={...} (%y: T) { ... } : (U) -> V``."""

    properties = ("in_shardings", "out_shardings", "manual_axes")

    def read(self, reader: Reader, state: OpState) -> None:
        sx.ParenthesizedOperands().read(reader, state)
        for key, codec in zip(self.properties, (_PER_VALUE, _PER_VALUE, _AXES)):
            reader.need_word(key)
            reader.need("=")
            state.properties[key] = codec.read(reader)
        arguments = reader.listed("(", ")", reader.block_argument)
        state.regions.append(reader.region(arguments, named=True))

    def write(self, op: Operation, writer: Writer) -> None:
        writer.write(f"({writer.values(op.operands)})")
        for key, codec in zip(self.properties, (_PER_VALUE, _PER_VALUE, _AXES)):
            writer.write(f" {key}={codec.text(op.properties[key], writer)}")
        writer.write(f" ({', '.join(writer.block_argument(a) for a in op.regions[0].blocks[0].args)})")
        writer.region(op.regions[0], arguments=False)


@op_definition
class MeshOp(TensorOp):
    """A named mesh of devices."""

    name = "sdy.mesh"
    FACTS: ClassVar = STRUCTURE
    SYNTAX: ClassVar = sx.Syntax(MeshText())
    sym_name = prop_def(StringAttr)
    mesh = prop_def()
    traits = traits_def(SymbolOpInterface())


@op_definition
class ShardingConstraintOp(TensorOp):
    """The operand, sharded as the attribute says."""

    name = "sdy.sharding_constraint"
    FACTS: ClassVar = UNBATCHED
    SYNTAX: ClassVar = sx.Syntax(sx.Operands(), sx.Value("sharding", _SHARDING), sx.SameType())
    input = operand_def()
    sharding = prop_def()
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class ManualComputationOp(TensorOp):
    """A computation on the shards of its operands."""

    name = "sdy.manual_computation"
    FACTS: ClassVar = STRUCTURE
    SYNTAX: ClassVar = sx.Syntax(ManualComputationText(), sx.FunctionType())
    tensors = var_operand_def()
    in_shardings = prop_def()
    out_shardings = prop_def()
    manual_axes = prop_def()
    body = region_def()
    results_ = var_result_def()


@op_definition
class ReturnOp(TensorOp):
    """Ends a manual computation and gives its values."""

    name = "sdy.return"
    FACTS: ClassVar = STRUCTURE
    SYNTAX: ClassVar = sx.Syntax(sx.OptionalOperandTypes())
    results_ = var_operand_def()
    traits = traits_def(IsTerminator(), Pure())


class OutSharding:
    """``out_sharding=<@mesh, [{"x"}]>``."""

    properties = ("out_sharding",)

    def read(self, reader: Reader, state: OpState) -> None:
        reader.need_word("out_sharding")
        reader.need("=")
        state.properties["out_sharding"] = _SHARDING.read(reader)

    def write(self, op: Operation, writer: Writer) -> None:
        writer.write(f" out_sharding={_SHARDING.text(op.properties['out_sharding'], writer)}")


_LISTS, _LIST = Raw("sdy.list_of_axis_ref_lists", "[]", opaque=True), Raw("sdy.axis_ref_list", "{}", opaque=True)
_MOVES = Raw("sdy.all_to_all_param_list", "[]", opaque=True)


class ReshardingOp(TensorOp):
    """The base of Shardy's collectives: the operand, split in another way from there on."""

    FACTS: ClassVar = UNBATCHED
    tensor = operand_def()
    out_sharding = prop_def()
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class AllGatherOp(ReshardingOp):
    """No longer split along these axes."""

    name = "sdy.all_gather"
    SYNTAX: ClassVar = sx.Syntax(sx.Value("gathering_axes", _LISTS), sx.Operands(), OutSharding(), sx.SameType())
    gathering_axes = prop_def()


@op_definition
class AllSliceOp(ReshardingOp):
    """Split along these axes too."""

    name = "sdy.all_slice"
    SYNTAX: ClassVar = sx.Syntax(sx.Value("slicing_axes", _LISTS), sx.Operands(), OutSharding(), sx.SameType())
    slicing_axes = prop_def()


@op_definition
class AllToAllOp(ReshardingOp):
    """Axes move from dimensions to other ones."""

    name = "sdy.all_to_all"
    SYNTAX: ClassVar = sx.Syntax(sx.Value("params", _MOVES), sx.Operands(), OutSharding(), sx.SameType())
    params = prop_def()


@op_definition
class CollectivePermuteOp(ReshardingOp):
    """Axes are exchanged by others of the same size."""

    name = "sdy.collective_permute"
    SYNTAX: ClassVar = sx.Syntax(sx.Operands(), OutSharding(), sx.SameType())


@op_definition
class AllReduceOp(ReshardingOp):
    """Sums what was still to be summed along these axes."""

    name = "sdy.all_reduce"
    SYNTAX: ClassVar = sx.Syntax(sx.Value("reduction_axes", _LIST), sx.Operands(), OutSharding(), sx.SameType())
    reduction_axes = prop_def()


@op_definition
class ReduceScatterOp(ReshardingOp):
    """Sums what was still to be summed along these axes, and splits it along them."""

    name = "sdy.reduce_scatter"
    SYNTAX: ClassVar = sx.Syntax(sx.Value("reduce_scatter_axes", _LISTS), sx.Operands(), OutSharding(), sx.SameType())
    reduce_scatter_axes = prop_def()


@op_definition
class ReshardOp(TensorOp):
    """The operand, split as the attribute says."""

    name = "sdy.reshard"
    FACTS: ClassVar = UNBATCHED
    SYNTAX: ClassVar = sx.Syntax(sx.Operands(), sx.Value("sharding", _SHARDING), sx.SameType())
    input = operand_def()
    sharding = prop_def()
    result = result_def()
    traits = traits_def(Pure())


IDENTITIES = (
    *(AllGatherOp, AllReduceOp, AllSliceOp, AllToAllOp, CollectivePermuteOp, ReduceScatterOp),
    *(ReshardOp, ShardingConstraintOp),
)
"""Ops that say how a value is split, which is the same value."""

Sdy = Dialect("sdy", [MeshOp, ManualComputationOp, ReturnOp, *IDENTITIES])

# Registers the typing rules of the ops above.
from wengert.dialects import sdy_typing  # noqa: E402, F401  # pyright: ignore[reportUnusedImport]
