"""The kernel dialect: fused loop nests over flat buffers, and calls of what is not a loop nest.

A ``kernel.nest`` runs its body once for every point of a box of loop indices. The body loads scalars from
its operands at positions given by the indices (:mod:`wengert.dialects.kernel.positions`), computes with scalar functions,
and yields values, each to a position of a result::

    %r:2 = kernel.nest (d0, d1) = (0, 0) to (8, 128) iterators [parallel, reduction]
        ins(%a = %x: tensor<8x128xf32>, %c = %b: tensor<128xf32>)
        outs(out0: tensor<8x128xf32>, out1: tensor<8xf32>) {
      %2 = kernel.load %a[d0, d1] : tensor<8x128xf32>
      %3 = kernel.load %c[d1] : tensor<128xf32>
      %4 = kernel.add %2, %3 : f32
      kernel.yield store %4 to out0[d0, d1] : f32,
                   add %4 to out1[d0] : f32
    }

Where a subscript has as many parts as the buffer has dimensions it is an index; a single one is a position in the flat buffer, ``%a[d0 * 128 + d1]``,
which is what the IR holds. The text is read and written in :mod:`wengert.dialects.kernel.body_syntax` and :mod:`wengert.dialects.kernel.region_syntax`.

A value of kind ``store`` is written (its position is different for every point); one of a reduction kind is combined with
what is there, starting from the kind's neutral element. A result may be tied to an ``into`` operand: then the nest writes
only a part of it, and the rest is what the operand held.

Scalar functions (``kernel.apply``) have the names and the meaning of StableHLO's and CHLO's elementwise ops on one
element. That is why they are not ``arith`` ops: StableHLO's are total (x / 0 = -1 for integers, oversized shifts are 0,
conversions saturate, unsigned types exist), while the corresponding ``arith`` ops leave these cases undefined.

What is no loop nest but has code of its own is a ``kernel.native``, and what has none a ``kernel.interpret``, which runs in the
interpreter; the body of both is the original op.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import IsolatedFromAbove, Pure
from xdsl.utils.exceptions import VerifyException

from wengert.dialects.facts import KERNEL, STRUCTURE
from wengert.dialects.kernel.base import KernelOp
from wengert.dialects.kernel.body_ops import ApplyOp, ConstantOp, IndexOp, LoadOp, WithinOp, Write, YieldOp
from wengert.dialects.kernel.gpu_schedule import GpuScheduleAttr
from wengert.dialects.kernel.product_schedule import ProductScheduleAttr
from wengert.dialects.kernel.product_syntax import ProductText
from wengert.dialects.kernel.region_syntax import BodyText, NestText, StripMineText
from wengert.dialects.kernel.schedule import ScheduleAttr
from wengert.dialects.kernel.subscripts import buffer_shape
from wengert.dialects.stablehlo.attributes import DotDimensionNumbersAttr
from wengert.ir.attributes import int_array, ints, segment_sizes
from wengert.ir.operations import op_definition
from wengert.ir.syntax.parts import ResultTypes, Syntax
from wengert.ir.tensor_types import shape_of_type, type_of


@op_definition
class NestOp(KernelOp):
    """A loop nest; see the module's docstring. Result i continues ``into`` operand ``ties[i]`` unless that is -1.

    ``schedule`` says how it runs on a CPU (:mod:`wengert.dialects.kernel.schedule`), ``gpu_schedule`` how on a GPU
    (:mod:`wengert.dialects.kernel.gpu_schedule`); what it computes does not depend on that.
    """

    name = "kernel.nest"
    SYNTAX: ClassVar = Syntax(NestText())
    DISTINCT_NAMES: ClassVar = True
    FACTS: ClassVar = KERNEL
    inputs = var_operand_def()
    into = var_operand_def()
    bounds = prop_def(DenseArrayBase)
    ties = opt_prop_def(DenseArrayBase)
    schedule = opt_prop_def(ScheduleAttr)
    gpu_schedule = opt_prop_def(GpuScheduleAttr)
    body = region_def("single_block")
    outputs = var_result_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(IsolatedFromAbove())

    @property
    def extents(self) -> tuple[int, ...]:
        """The loop bounds."""
        return ints(self.bounds)

    @property
    def tied(self) -> tuple[int, ...]:
        """For every result the ``into`` operand it continues, or -1."""
        return ints(self.ties) if self.ties is not None else (-1,) * len(self.outputs)

    @property
    def terminator(self) -> YieldOp:
        """The yield that ends the body."""
        last = self.body.block.last_op
        assert isinstance(last, YieldOp)
        return last

    @property
    def writes(self) -> list[Write]:
        """What is written, and where, by every iteration."""
        return self.terminator.writes

    def verify_(self) -> None:
        last = self.body.block.last_op
        if not isinstance(last, YieldOp):
            raise VerifyException("a nest's body ends in a kernel.yield with positions and kinds")
        if any(n < 0 for n in self.extents) or len(self.outputs) != len(self.tied):
            raise VerifyException("bounds are not negative, and ties are as many as results")
        if [arg.type for arg in self.body.block.args] != [operand.type for operand in self.inputs]:
            raise VerifyException("the body's arguments must have the types of the inputs")
        for value in (*self.inputs, *self.into, *self.outputs):
            if buffer_shape(value.type) is None:
                raise VerifyException(f"a nest reads and writes tensors of static shape, found {value.type}")
        for value, tie in zip(self.outputs, self.tied, strict=True):
            if tie >= len(self.into) or (tie >= 0 and self.into[tie].type != value.type):
                raise VerifyException(f"a result of {value.type} continues 'into' operand {tie}, which there is not, or is of another type")
        for op in self.body.block.ops:
            if not isinstance(op, LoadOp | IndexOp | WithinOp | ConstantOp | ApplyOp | YieldOp):
                raise VerifyException(f"the body computes with scalars; '{op.name}' has no place in it")


@op_definition
class EmptyOp(KernelOp):
    """A tensor whose elements are not yet written."""

    name = "kernel.empty"
    SYNTAX: ClassVar = Syntax(ResultTypes())
    FACTS: ClassVar = STRUCTURE
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class MatmulOp(KernelOp):
    """A contraction: ``stablehlo.dot_general`` of two strided views of buffers.

    Element (i, j, ...) of an operand is element ``offset + i * strides[0] + j * strides[1] + ...`` of its buffer, so that
    transposes, slices and broadcasts of the operands cost no copy. The result is contiguous. ``schedule`` says how it runs
    (:mod:`wengert.dialects.kernel.product_schedule`).
    """

    name = "kernel.matmul"
    SYNTAX: ClassVar = Syntax(ProductText())
    FACTS: ClassVar = KERNEL
    lhs = operand_def()
    rhs = operand_def()
    dimension_numbers = prop_def(DotDimensionNumbersAttr)
    lhs_shape = prop_def(DenseArrayBase)
    lhs_strides = prop_def(DenseArrayBase)
    rhs_shape = prop_def(DenseArrayBase)
    rhs_strides = prop_def(DenseArrayBase)
    offsets = prop_def(DenseArrayBase)
    schedule = opt_prop_def(ProductScheduleAttr)
    result = result_def()
    traits = traits_def(Pure())

    def verify_(self) -> None:
        operands = ((self.lhs, self.lhs_shape, self.lhs_strides), (self.rhs, self.rhs_shape, self.rhs_strides))
        for (value, extents, steps), offset in zip(operands, ints(self.offsets), strict=True):
            if len(extents) != len(steps) or min([*ints(extents), *ints(steps), offset], default=0) < 0:
                raise VerifyException("shapes and strides must be lists of equal length, of numbers that are not negative")
            reach = offset + sum((n - 1) * step for n, step in zip(ints(extents), ints(steps), strict=True))
            if 0 not in ints(extents) and reach >= prod(shape_of_type(type_of(value))):
                raise VerifyException(f"the operand reaches position {reach}, outside of {value.type}")


@op_definition
class InterpretOp(KernelOp):
    """Runs one op that has no kernel in the interpreter. The body holds the op and a yield of its results."""

    name = "kernel.interpret"
    SYNTAX: ClassVar = Syntax(BodyText())
    DISTINCT_NAMES: ClassVar = True
    FACTS: ClassVar = KERNEL
    inputs = var_operand_def()
    body = region_def("single_block")
    outputs = var_result_def()

    def verify_(self) -> None:
        _verify_whole(self)


@op_definition
class NativeOp(KernelOp):
    """Runs one op by code of its own (:mod:`wengert.transforms.codegen.cpu.native`). The body holds the op and a yield of its results.

    ``schedule`` says how threads share the code, if it has a form for that: ``parallel`` is about its iterations, which are independent, and
    ``cut`` makes ranges of the rows of its result (loop 0). The other entries are for nests.
    """

    name = "kernel.native"
    SYNTAX: ClassVar = Syntax(BodyText(("schedule",)))
    DISTINCT_NAMES: ClassVar = True
    FACTS: ClassVar = KERNEL
    inputs = var_operand_def()
    schedule = opt_prop_def(ScheduleAttr)
    body = region_def("single_block")
    outputs = var_result_def()

    def verify_(self) -> None:
        _verify_whole(self)


def _verify_whole(op: InterpretOp | NativeOp) -> None:
    """Whether the body is an op on the inputs and a yield of its results."""
    first, last = op.body.block.first_op, op.body.block.last_op
    if first is None or not isinstance(last, YieldOp) or first.next_op is not last or tuple(last.values) != tuple(first.results):
        raise VerifyException("the body is one op, and a kernel.yield of its results")
    if [value.type for value in op.body.block.args] != [value.type for value in op.inputs] or last.operand_types != op.result_types:
        raise VerifyException("the body's arguments must have the types of the inputs, and what it yields those of the results")


@op_definition
class StripMineOp(KernelOp):
    """Runs nests on one strip of rows after another; see :mod:`wengert.transforms.kernel.strip_mining`.

    In iteration i the body sees elements ``[i * step, i * step + n)`` of an operand, n being the size of its argument (all of
    it if the step is 0), and what it yields are those elements of the results.
    """

    name = "kernel.strip_mine"
    SYNTAX: ClassVar = Syntax(StripMineText())
    DISTINCT_NAMES: ClassVar = True
    FACTS: ClassVar = KERNEL
    inputs = var_operand_def()
    iterations = prop_def(IntegerAttr)
    input_steps = prop_def(DenseArrayBase)
    output_steps = prop_def(DenseArrayBase)
    schedule = opt_prop_def(ScheduleAttr)
    body = region_def("single_block")
    outputs = var_result_def()
    traits = traits_def(IsolatedFromAbove())

    def verify_(self) -> None:
        last, iterations = self.body.block.last_op, self.iterations.value.data
        if not isinstance(last, YieldOp) or len(last.values) != len(self.outputs):
            raise VerifyException("the body must end in a kernel.yield of the strips of all results")
        parts = [(self.inputs, self.body.block.args, self.input_steps), (self.outputs, last.values, self.output_steps)]
        for wholes, strips, steps in parts:
            if not len(wholes) == len(strips) == len(ints(steps)):
                raise VerifyException(f"there are {len(wholes)} operands or results, {len(strips)} strips and {len(ints(steps))} steps of them")
            for whole, strip, step in zip(wholes, strips, ints(steps), strict=True):
                count, part = (prod(shape_of_type(type_of(value))) for value in (whole, strip))
                if part + (iterations - 1) * step != count or (step not in (0, part)):
                    raise VerifyException(f"{iterations} strips of {strip.type} with step {step} are not {whole.type}")


def nest(
    inputs: Sequence[SSAValue], into: Sequence[SSAValue], outputs: Sequence[Attribute], extents: Sequence[int], ties: Sequence[int], body: Block
) -> NestOp:
    """A nest op from its parts."""
    properties: dict[str, Attribute] = {"bounds": int_array(extents), AttrSizedOperandSegments.attribute_name: segment_sizes(len(inputs), len(into))}
    if any(tie >= 0 for tie in ties):
        properties["ties"] = int_array(ties)
    return NestOp.create(operands=[*inputs, *into], result_types=outputs, properties=properties, regions=[Region(body)])
