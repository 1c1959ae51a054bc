"""The kernel dialect: fused loop nests over flat buffers, and calls of what is not a loop nest.

A ``kernel.nest`` runs its body once for every point of a box of loop indices. The body loads scalars from
its operands at positions given by the indices (:mod:`wengert.dialects.kernel.positions`), computes with scalar functions,
and yields values, each to a position of a result::

    %r:2 = "kernel.nest"(%x, %b) <{bounds = array<i64: 8, 128>, operandSegmentSizes = array<i32: 2, 0>}> ({
    ^0(%0: tensor<8x128xf32>, %1: tensor<128xf32>):
      %2 = "kernel.load"(%0) <{at = #kernel.at<d0 * 128 + d1>}> : (tensor<8x128xf32>) -> f32
      %3 = "kernel.load"(%1) <{at = #kernel.at<d1>}> : (tensor<128xf32>) -> f32
      %4 = "kernel.apply"(%2, %3) <{function = "add"}> : (f32, f32) -> f32
      "kernel.yield"(%4, %4) <{at = [#kernel.at<d0 * 128 + d1>, #kernel.at<d0>], kinds = ["store", "add"]}> : (f32, f32) -> ()
    }) : (tensor<8x128xf32>, tensor<128xf32>) -> (tensor<8x128xf32>, tensor<8xf32>)

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
from functools import lru_cache
from math import prod
from typing import Any, ClassVar, NamedTuple, cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, DenseIntOrFPElementsAttr, IntegerAttr, StringAttr, TensorType
from xdsl.ir import Attribute, Block, Data, Dialect, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_attr_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from wengert.dialects.facts import KERNEL, STRUCTURE
from wengert.dialects.kernel import positions
from wengert.dialects.kernel.positions import Guard, Position
from wengert.dialects.kernel.schedule import ScheduleAttr
from wengert.dialects.stablehlo.attributes import DotDimensionNumbersAttr
from wengert.ir.attributes import int_array, ints, segment_sizes
from wengert.ir.operations import DialectOperation, op_definition
from wengert.ir.tensor_types import shape_of_type, type_of

STORE = "store"
KINDS = (STORE, "add", "mul", "max", "min", "and", "or")


@irdl_attr_definition
class AtAttr(Data[Position]):
    """A position in a flat buffer."""

    name = "kernel.at"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Position:
        with parser.in_angle_brackets():
            text = parser.parse_str_literal()
        try:
            return positions.parse(text)
        except ValueError as error:
            parser.raise_error(str(error))

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f'<"{self.data}">')


@irdl_attr_definition
class WhereAttr(Data[tuple[Guard, ...]]):
    """Conditions on loop indices, all of which must hold: ``<"2 <= d0 < 7, 0 <= d1 + 3 < 4">``."""

    name = "kernel.where"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[Guard, ...]:
        with parser.in_angle_brackets():
            text = parser.parse_str_literal()
        try:
            return positions.parse_guards(text)
        except ValueError as error:
            parser.raise_error(str(error))

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f'<"{positions.guards_text(self.data)}">')


@lru_cache(maxsize=8192)
def at_attr(position: Position) -> AtAttr:
    """The position as an attribute, shared."""
    return AtAttr(position)


@lru_cache(maxsize=512)
def string(text: str) -> StringAttr:
    """A string attribute, shared."""
    return StringAttr(text)


@op_definition
class LoadOp(DialectOperation):
    """The element at a position (plus ``base``, a computed position).

    A computed position must lie within the buffer: whoever makes it clamps it. Where the guards do not hold nothing is
    read, and the value may be anything.
    """

    name = "kernel.load"
    source = operand_def()
    base = opt_operand_def()
    at = prop_def(AtAttr)
    where = opt_prop_def(WhereAttr)
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class IndexOp(DialectOperation):
    """The value of an expression of loop indices, as a number of the result's type."""

    name = "kernel.index"
    at = prop_def(AtAttr)
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class WithinOp(DialectOperation):
    """Whether the guards hold."""

    name = "kernel.within"
    where = prop_def(WhereAttr)
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class ConstantOp(DialectOperation):
    """A scalar constant (``value`` is a rank-0 tensor constant)."""

    name = "kernel.constant"
    value = prop_def(DenseIntOrFPElementsAttr)
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class ApplyOp(DialectOperation):
    """A scalar function: StableHLO's or CHLO's elementwise op of this name on one element."""

    name = "kernel.apply"
    arguments = var_operand_def()
    function = prop_def(StringAttr)
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class YieldOp(DialectOperation):
    """Ends a body: for a nest, what goes where and how; for an interpreted op, its results.

    Value i goes to result ``targets[i]``, or to result i if there are none: several values may go to parts of one result.
    The first values are those that are written; ``bases[i]`` and ``conditions[i]`` are the numbers of the operands that
    hold the computed part of position i, and whether it is written at all (-1: none).
    """

    name = "kernel.yield"
    values = var_operand_def()
    at = opt_prop_def(ArrayAttr)
    kinds = opt_prop_def(ArrayAttr)
    targets = opt_prop_def(DenseArrayBase)
    bases = opt_prop_def(DenseArrayBase)
    conditions = opt_prop_def(DenseArrayBase)
    traits = traits_def(IsTerminator(), Pure())


class Write(NamedTuple):
    """One value that a nest writes in every iteration: to which position of which result, and how.

    A write with a computed ``base`` may hit an element several times; it does so in row-major order of the iterations.
    """

    value: SSAValue
    at: Position
    kind: str
    target: int
    base: SSAValue | None = None
    condition: SSAValue | None = None


@op_definition
class NestOp(DialectOperation):
    """A loop nest; see the module's docstring. Result i continues ``into`` operand ``ties[i]`` unless that is -1.

    ``schedule`` says how it runs (:mod:`wengert.dialects.kernel.schedule`); what it computes does not depend on that.
    """

    name = "kernel.nest"
    FACTS: ClassVar = KERNEL
    inputs = var_operand_def()
    into = var_operand_def()
    bounds = prop_def(DenseArrayBase)
    ties = opt_prop_def(DenseArrayBase)
    schedule = opt_prop_def(ScheduleAttr)
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
        last = self.terminator
        kinds = [kind.data for kind in cast("ArrayAttr[StringAttr]", last.kinds)]
        at = [where.data for where in cast("ArrayAttr[AtAttr]", last.at)]
        targets = range(len(kinds)) if last.targets is None else ints(last.targets)
        bases, conditions = (
            [None if n < 0 else last.values[n] for n in ints(p)] if p is not None else [None] * len(kinds) for p in (last.bases, last.conditions)
        )
        return [Write(*parts) for parts in zip(last.values, at, kinds, targets, bases, conditions, strict=False)]

    def verify_(self) -> None:
        last = self.body.block.last_op
        if not isinstance(last, YieldOp) or last.at is None or last.kinds is None:
            raise VerifyException("the body must end in a kernel.yield with positions and kinds")
        if not len(last.values) >= len(last.at) == len(last.kinds) or len(self.outputs) != len(self.tied):
            raise VerifyException("every yielded value needs a position and a kind")
        targets = set(range(len(last.kinds)) if last.targets is None else ints(last.targets))
        if targets != set(range(len(self.outputs))):
            raise VerifyException("every result needs a yielded value")
        if [arg.type for arg in self.body.block.args] != [operand.type for operand in self.inputs]:
            raise VerifyException("the body's arguments must have the types of the inputs")
        if 0 in self.extents:
            return
        for write in self.writes:
            self._verify_write(type_of(self.outputs[write.target]), write)
        for op in self.body.block.ops:
            if isinstance(op, LoadOp):
                self._verify_load(op)

    def _verify_write(self, type: TensorType[Any], write: Write) -> None:
        value, at, kind = write.value, write.at, write.kind
        if kind not in KINDS:
            raise VerifyException(f"unknown kind {kind!r}; expected one of {', '.join(KINDS)}")
        if value.type != type.element_type:
            raise VerifyException(f"a value of type {value.type} is yielded to a result of {type}")
        low, high = positions.span(at, self.extents)
        if write.base is None and (low < 0 or high >= prod(shape_of_type(type))):
            raise VerifyException(f"position {at} reaches [{low}, {high}], outside of {type}")

    def _verify_load(self, op: LoadOp) -> None:
        if op.where is not None or op.base is not None:
            return
        low, high = positions.span(op.at.data, self.extents)
        if low < 0 or high >= prod(shape_of_type(type_of(op.source))):
            raise VerifyException(f"position {op.at.data} reaches [{low}, {high}], outside of {op.source.type}")


@op_definition
class EmptyOp(DialectOperation):
    """A tensor whose elements are not yet written."""

    name = "kernel.empty"
    FACTS: ClassVar = STRUCTURE
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class MatmulOp(DialectOperation):
    """A contraction: ``stablehlo.dot_general`` of two strided views of buffers.

    Element (i, j, ...) of an operand is element ``offset + i * strides[0] + j * strides[1] + ...`` of its buffer, so that
    transposes, slices and broadcasts of the operands cost no copy. The result is contiguous.
    """

    name = "kernel.matmul"
    FACTS: ClassVar = KERNEL
    lhs = operand_def()
    rhs = operand_def()
    dimension_numbers = prop_def(DotDimensionNumbersAttr)
    lhs_shape = prop_def(DenseArrayBase)
    lhs_strides = prop_def(DenseArrayBase)
    rhs_shape = prop_def(DenseArrayBase)
    rhs_strides = prop_def(DenseArrayBase)
    offsets = prop_def(DenseArrayBase)
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
class InterpretOp(DialectOperation):
    """Runs one op that has no kernel in the interpreter. The body holds the op and a yield of its results."""

    name = "kernel.interpret"
    FACTS: ClassVar = KERNEL
    inputs = var_operand_def()
    body = region_def("single_block")
    outputs = var_result_def()


@op_definition
class NativeOp(DialectOperation):
    """Runs one op by code of its own (:mod:`wengert.transforms.codegen.cpu.native`). The body holds the op and a yield of its results."""

    name = "kernel.native"
    FACTS: ClassVar = KERNEL
    inputs = var_operand_def()
    body = region_def("single_block")
    outputs = var_result_def()


@op_definition
class StripMineOp(DialectOperation):
    """Runs nests on one strip of rows after another; see :mod:`wengert.transforms.kernel.strip_mining`.

    In trip i the body sees elements ``[i * step, i * step + n)`` of an operand, n being the size of its argument (all of
    it if the step is 0), and what it yields are those elements of the results. ``schedule`` says whether strips run in parallel.
    """

    name = "kernel.strip_mine"
    FACTS: ClassVar = KERNEL
    inputs = var_operand_def()
    trips = prop_def(IntegerAttr)
    input_steps = prop_def(DenseArrayBase)
    output_steps = prop_def(DenseArrayBase)
    schedule = opt_prop_def(ScheduleAttr)
    body = region_def("single_block")
    outputs = var_result_def()
    traits = traits_def(IsolatedFromAbove())

    def verify_(self) -> None:
        last, trips = self.body.block.last_op, self.trips.value.data
        if not isinstance(last, YieldOp) or len(last.values) != len(self.outputs):
            raise VerifyException("the body must end in a kernel.yield of the strips of all results")
        parts = [(self.inputs, self.body.block.args, self.input_steps), (self.outputs, last.values, self.output_steps)]
        for wholes, strips, steps in parts:
            for whole, strip, step in zip(wholes, strips, ints(steps), strict=True):
                count, part = (prod(shape_of_type(type_of(value))) for value in (whole, strip))
                if part + (trips - 1) * step != count or (step not in (0, part)):
                    raise VerifyException(f"{trips} strips of {strip.type} with step {step} are not {whole.type}")


Kernel = Dialect(
    "kernel",
    [ApplyOp, ConstantOp, EmptyOp, IndexOp, InterpretOp, LoadOp, MatmulOp, NativeOp, NestOp, StripMineOp, WithinOp, YieldOp],
    [AtAttr, ScheduleAttr, WhereAttr],
)


def yielded(writes: Sequence[Write]) -> YieldOp:
    """The end of a nest's body that writes this."""
    properties: dict[str, Attribute] = {"at": ArrayAttr([at_attr(w.at) for w in writes]), "kinds": ArrayAttr([string(w.kind) for w in writes])}
    if [w.target for w in writes] != list(range(len(writes))):
        properties["targets"] = int_array([w.target for w in writes])
    operands = [w.value for w in writes]
    for name, extra in (("bases", [w.base for w in writes]), ("conditions", [w.condition for w in writes])):
        numbers = [-1] * len(extra)
        for number, scalar in enumerate(extra):
            if scalar is not None:
                numbers[number] = len(operands)
                operands.append(scalar)
        if any(n >= 0 for n in numbers):
            properties[name] = int_array(numbers)
    return YieldOp.create(operands=operands, properties=properties)


def nest(
    inputs: Sequence[SSAValue], into: Sequence[SSAValue], outputs: Sequence[Attribute], extents: Sequence[int], ties: Sequence[int], body: Block
) -> NestOp:
    """A nest op from its parts."""
    properties: dict[str, Attribute] = {"bounds": int_array(extents), AttrSizedOperandSegments.attribute_name: segment_sizes(len(inputs), len(into))}
    if any(tie >= 0 for tie in ties):
        properties["ties"] = int_array(ties)
    return NestOp.create(operands=[*inputs, *into], result_types=outputs, properties=properties, regions=[Region(body)])
