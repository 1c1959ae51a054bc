"""Ops of several threads: they wait for one another, or exchange values. No thread of a group may be elsewhere meanwhile."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import I1, I32, IntegerAttr, UnitAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import operand_def, opt_prop_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from wengert.dialects.facts import DEVICE
from wengert.dialects.gpu import text
from wengert.dialects.gpu.attributes import Reduction, ReductionAttr, ShuffleMode, ShuffleModeAttr
from wengert.dialects.gpu.base import DeviceOp, shown
from wengert.ir.operations import op_definition
from wengert.ir.syntax import parts as sx
from wengert.ir.tensor_types import i1, is_float, is_integer


@op_definition
class BarrierOp(DeviceOp):
    """Every thread of a work-group waits until all have come here; what they wrote before, all can read after."""

    name = "gpu.barrier"
    FACTS: ClassVar = DEVICE
    SYNTAX: ClassVar[sx.Syntax | None] = sx.Syntax(sx.AttributeDictionary())


@op_definition
class ShuffleOp(DeviceOp):
    """The value of another lane of the subgroup, among ``width`` lanes; the second result says whether there is that lane.

    The lane is the own one xor ``offset``, plus it (``down``), minus it (``up``), or ``offset`` itself (``idx``). Without that lane the value is
    not defined.
    """

    name = "gpu.shuffle"
    FACTS: ClassVar = DEVICE
    SYNTAX: ClassVar[sx.Syntax | None] = sx.Syntax(sx.Value("mode", sx.Word(ShuffleModeAttr)), sx.Operands(), text.ShuffleTypes())
    value = operand_def()
    offset = operand_def(I32)
    width = operand_def(I32)
    mode = prop_def(ShuffleModeAttr)
    shuffled = result_def()
    valid = result_def(I1)

    @classmethod
    def of(cls, mode: ShuffleMode, value: SSAValue, offset: SSAValue, width: SSAValue) -> ShuffleOp:
        """A shuffle of a value."""
        return cls.create(operands=[value, offset, width], result_types=[value.type, i1], properties={"mode": ShuffleModeAttr(mode)})

    def verify_(self) -> None:
        if self.shuffled.type != self.value.type:
            raise VerifyException(f"the result has the type of the value, {shown(self.value.type)}, found {shown(self.shuffled.type)}")
        if not (is_integer(self.value.type) or is_float(self.value.type)):
            raise VerifyException(f"an integer or a floating-point number is shuffled, found {shown(self.value.type)}")


_INTEGRAL = (Reduction.MINUI, Reduction.MINSI, Reduction.MAXUI, Reduction.MAXSI, Reduction.AND, Reduction.OR, Reduction.XOR)
_FLOATING = (Reduction.MINNUMF, Reduction.MAXNUMF, Reduction.MINIMUMF, Reduction.MAXIMUMF)


@op_definition
class SubgroupReduceOp(DeviceOp):
    """The combination of a value of all lanes of the subgroup, in each of them; of groups of ``cluster_size`` lanes, ``cluster_stride`` apart, if
    that is given. The order in which a device combines values is its own."""

    name = "gpu.subgroup_reduce"
    FACTS: ClassVar = DEVICE
    SYNTAX: ClassVar[sx.Syntax | None] = sx.Syntax(text.SubgroupReduceText(), sx.FunctionType())
    value = operand_def()
    op = prop_def(ReductionAttr)
    uniform = opt_prop_def(UnitAttr)
    cluster_size = opt_prop_def(IntegerAttr[I32])
    cluster_stride = opt_prop_def(IntegerAttr[I32])
    result = result_def()

    @classmethod
    def of(cls, kind: Reduction, value: SSAValue) -> SubgroupReduceOp:
        """The reduction of a value."""
        properties: dict[str, Attribute] = {"op": ReductionAttr(kind)}
        return cls.create(operands=[value], result_types=[value.type], properties=properties)

    def verify_(self) -> None:
        type, kind = self.value.type, self.op.data
        if self.result.type != type:
            raise VerifyException(f"the result has the type of the value, {shown(type)}, found {shown(self.result.type)}")
        if not (is_integer(type) or is_float(type)) or (is_integer(type) and kind in _FLOATING) or (is_float(type) and kind in _INTEGRAL):
            raise VerifyException(f"'{kind}' does not combine values of type {shown(type)}")
