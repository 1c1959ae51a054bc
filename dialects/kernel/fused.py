"""A product and the nest that makes its results of the sums, block by block.

%5 = kernel.fused ins(%a = %x: tensor<64x96xf32>, %b = %w: tensor<96x48xf32>, %c = %bias: tensor<48xf32>) {
  %6 = kernel.matmul %a, %b, contracting_dims = [1] x [0] : (tensor<64x96xf32>, tensor<96x48xf32>) -> tensor<64x48xf32>
  %7 = kernel.nest (d0, d1) = (0, 0) to (64, 48) iterators [parallel, parallel]
      ins(%s = %6: tensor<64x48xf32>, %t = %c: tensor<48xf32>)
      outs(out0: tensor<64x48xf32>) { ... }
  kernel.yield %7 : tensor<64x48xf32>
}
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import SSAValue
from xdsl.irdl import region_def, traits_def, var_operand_def, var_result_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from wengert.dialects.facts import KERNEL
from wengert.dialects.kernel.attributes import STORE
from wengert.dialects.kernel.base import KernelOp
from wengert.dialects.kernel.body_ops import ApplyOp, ConstantOp, LoadOp, YieldOp
from wengert.dialects.kernel.ops import MatmulOp, NestOp
from wengert.dialects.kernel.positions import Position, combine
from wengert.dialects.kernel.region_syntax import BodyText
from wengert.ir.operations import op_definition
from wengert.ir.syntax.parts import Syntax
from wengert.ir.tensor_types import element, size
from wengert.ir.traversal import ops_in


@op_definition
class FusedOp(KernelOp):
    """Runs a product and a nest that reads the sums; see the module's docstring. What it computes is what its body computes, one op after the other.

    The nest has a loop over rows of the sums and one over columns, and reads of them the element of the iteration alone. So it may run on any part of the rows
    and columns as soon as their sums are complete. The sums are the first result if they are needed elsewhere; otherwise they lie in the memory of a
    result that is stored element by element where they are (:attr:`target`), and are gone afterwards.
    """

    name = "kernel.fused"
    SYNTAX: ClassVar = Syntax(BodyText())
    DISTINCT_NAMES: ClassVar = True
    FACTS: ClassVar = KERNEL
    inputs = var_operand_def()
    body = region_def("single_block")
    outputs = var_result_def()
    traits = traits_def(Pure())

    @property
    def product(self) -> MatmulOp:
        """The product."""
        first = self.body.block.first_op
        assert isinstance(first, MatmulOp)
        return first

    @property
    def nest(self) -> NestOp:
        """The nest that follows it."""
        second = self.product.next_op
        assert isinstance(second, NestOp)
        return second

    @property
    def keeps_sums(self) -> bool:
        """Whether the sums are a result."""
        return len(self.outputs) > len(self.nest.outputs)

    @property
    def target(self) -> int:
        """The number of the result in whose memory the sums lie."""
        if self.keeps_sums:
            return 0
        target = sums_target(self.nest, self.product.result)
        assert target is not None
        return target

    def verify_(self) -> None:
        ops = ops_in(self.body.block)
        if [type(op) for op in ops] != [MatmulOp, NestOp, YieldOp]:
            raise VerifyException("the body is a product, a nest, and a kernel.yield of their results")
        product, nest, last = self.product, self.nest, ops[-1]
        if tuple(last.operands) not in (tuple(nest.results), (product.result, *nest.results)):
            raise VerifyException("it yields the results of the nest, perhaps after the sums")
        if [argument.type for argument in self.body.block.args] != list(self.operand_types) or last.operand_types != self.result_types:
            raise VerifyException("the body's arguments must have the types of the inputs, and what it yields those of the results")
        if problem := not_element_by_element(nest, product.result):
            raise VerifyException(problem)
        if not self.keeps_sums and sums_target(nest, product.result) is None:
            raise VerifyException("sums that are not kept need a result of their type that is stored where they are read")


def not_element_by_element(nest: NestOp, sums: SSAValue) -> str:
    """Why a nest cannot run on parts of the sums while others are not there yet; nothing if it can."""
    if len(nest.extents) != 2 or nest.extents[0] * nest.extents[1] != size(sums):
        return "the nest has a loop over the rows of the sums and one over their columns"
    if len(nest.into) > 0 or any(write.kind != STORE or write.base is not None or write.condition is not None for write in nest.writes):
        return "the nest stores all of its results"
    here, columns = own_element(nest), dict[SSAValue, int]()
    for op in ops_in(nest.body.block)[:-1]:
        if isinstance(op, LoadOp):
            if op.base is not None or op.where is not None or not op.at.data.is_affine():
                return "the nest reads at positions that follow from its loops alone"
            if nest.inputs[_number(op)] is sums and op.at.data != here:
                return "the nest reads other sums than that of its iteration"
            if columns.setdefault(op.source, op.at.data.coefficient(1)) != op.at.data.coefficient(1):
                return "the nest reads a buffer at places that move differently along a row"
        elif not isinstance(op, ApplyOp | ConstantOp):
            return f"'{op.name}' depends on more than an element"
    if not all(write.at.is_affine() for write in nest.writes) or len({write.target for write in nest.writes}) < len(nest.writes):
        return "the nest stores each result once, at positions that follow from its loops"
    return ""


def sums_target(nest: NestOp, sums: SSAValue) -> int | None:
    """The result of a nest in whose memory the sums can lie: of their type, and stored where they are read."""
    here = own_element(nest)
    for write in nest.writes:
        result = nest.outputs[write.target]
        if write.at == here and element(result) == element(sums) and size(result) == size(sums):
            return write.target
    return None


def own_element(nest: NestOp) -> Position:
    """The position of the element of an iteration, in rows of as many columns as the inner loop has iterations."""
    return combine(0, ((0, nest.extents[1]), (1, 1)))


def _number(load: LoadOp) -> int:
    """The number of the input that a load reads."""
    return load.source.index  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
