"""The ops of Shardy (``sdy``) that JAX prints around programs: carried along. A constraint is the identity; shards are not computed.

Shardings are attributes that nothing here looks into; they are kept as they were written.
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


Sdy = Dialect("sdy", [MeshOp, ShardingConstraintOp, ManualComputationOp, ReturnOp])
