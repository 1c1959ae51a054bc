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
which is what the IR holds. The text is read and written in :mod:`wengert.dialects.kernel.syntax` and beside it.

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
from typing import Any, ClassVar, NamedTuple, cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, DenseIntOrFPElementsAttr, IntegerAttr, MemRefType, StringAttr, TensorType
from xdsl.ir import Attribute, Block, BlockArgument, Dialect, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
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
from xdsl.traits import IsolatedFromAbove, IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from wengert.dialects.facts import KERNEL, STRUCTURE
from wengert.dialects.kernel import positions
from wengert.dialects.kernel.attributes import KINDS, AtAttr, WhereAttr, at_attr, string
from wengert.dialects.kernel.functions import arity, op_classes
from wengert.dialects.kernel.positions import Position
from wengert.dialects.kernel.product_syntax import ProductText
from wengert.dialects.kernel.region_syntax import BodyText, NestText, StripMineText
from wengert.dialects.kernel.schedule import ScheduleAttr
from wengert.dialects.kernel.syntax import FunctionText, GuardsText, IndexText, LoadText, ScalarText, YieldText, buffer_shape
from wengert.dialects.stablehlo.attributes import DotDimensionNumbersAttr
from wengert.ir.attributes import int_array, ints, segment_sizes
from wengert.ir.foreign import print_operation, read_operation
from wengert.ir.operations import DialectOperation, op_definition
from wengert.ir.syntax import ResultTypes, Syntax
from wengert.ir.tensor_types import i1, shape_of_type, type_of


class KernelOp(DialectOperation):
    """An op of the dialect: stock xDSL reads and writes it by its syntax, too."""

    SYNTAX: ClassVar[Syntax]

    def __init_subclass__(cls, **arguments: object) -> None:
        super().__init_subclass__(**arguments)
        if not hasattr(cls, "mnemonics"):  # what several names stand for has the generic form there
            cls.parse = classmethod(read_operation)  # pyright: ignore[reportAttributeAccessIssue]
            cls.print = print_operation  # pyright: ignore[reportAttributeAccessIssue]


@op_definition
class LoadOp(KernelOp):
    """The element at a position (plus ``base``, a computed position).

    A computed position must lie within the buffer: whoever makes it clamps it. Where the guards do not hold nothing is
    read, and the value may be anything.
    """

    name = "kernel.load"
    SYNTAX: ClassVar = Syntax(LoadText())
    source = operand_def()
    base = opt_operand_def()
    at = prop_def(AtAttr)
    where = opt_prop_def(WhereAttr)
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class IndexOp(KernelOp):
    """The value of an expression of loop indices, as a number of the result's type."""

    name = "kernel.index"
    SYNTAX: ClassVar = Syntax(IndexText(), ResultTypes())
    at = prop_def(AtAttr)
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class WithinOp(KernelOp):
    """Whether the guards hold."""

    name = "kernel.within"
    SYNTAX: ClassVar = Syntax(GuardsText(), ResultTypes())
    where = prop_def(WhereAttr)
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class ConstantOp(KernelOp):
    """A scalar constant (``value`` is a rank-0 tensor constant)."""

    name = "kernel.constant"
    SYNTAX: ClassVar = Syntax(ScalarText())
    value = prop_def(DenseIntOrFPElementsAttr)
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class ApplyOp(KernelOp):
    """A scalar function: StableHLO's or CHLO's elementwise op of this name on one element."""

    name = "kernel.apply"
    SYNTAX: ClassVar = Syntax(FunctionText())
    arguments = var_operand_def()
    function = prop_def(StringAttr)
    result = result_def()
    traits = traits_def(Pure())

    @property
    def mnemonic(self) -> str:
        """The name under which the op is written: ``kernel.add``."""
        return f"kernel.{self.function.data}"

    @classmethod
    def mnemonics(cls) -> tuple[str, ...]:
        """The names of functions, for hints."""
        return tuple(op_classes())

    @classmethod
    def by_mnemonic(cls, name: str) -> Syntax | None:
        """The syntax of a function; None if there is none of this name."""
        return Syntax(FunctionText(name)) if arity(name) is not None else None

    def verify_(self) -> None:
        wanted = arity(self.function.data)
        if wanted is None:
            raise VerifyException(f"there is no scalar function {self.function.data!r}")
        if len(self.arguments) != wanted:
            raise VerifyException(f"{self.function.data!r} takes {wanted} operands; there are {len(self.arguments)}")


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
class YieldOp(KernelOp):
    """Ends a body: for a nest, what goes where and how; for an interpreted op, its results.

    Value i goes to result ``targets[i]``, or to result i if there are none: several values may go to parts of one result.
    The first values are those that are written; ``bases[i]`` and ``conditions[i]`` are the numbers of the operands that
    hold the computed part of position i, and whether it is written at all (-1: none).
    """

    name = "kernel.yield"
    SYNTAX: ClassVar = Syntax(YieldText())
    values = var_operand_def()
    at = opt_prop_def(ArrayAttr)
    kinds = opt_prop_def(ArrayAttr)
    targets = opt_prop_def(DenseArrayBase)
    bases = opt_prop_def(DenseArrayBase)
    conditions = opt_prop_def(DenseArrayBase)
    traits = traits_def(IsTerminator(), Pure())

    @property
    def writes(self) -> list[Write]:
        """What a nest writes: the values, and where each goes."""
        kinds = [kind.data for kind in cast("ArrayAttr[StringAttr]", self.kinds)]
        at = [where.data for where in cast("ArrayAttr[AtAttr]", self.at)]
        targets = range(len(kinds)) if self.targets is None else ints(self.targets)
        bases, conditions = (
            [None if n < 0 else self.values[n] for n in ints(p)] if p is not None else [None] * len(kinds) for p in (self.bases, self.conditions)
        )
        return [Write(*parts) for parts in zip(self.values, at, kinds, targets, bases, conditions, strict=False)]

    @property
    def accesses(self) -> list[tuple[Position, str, SSAValue | None]]:
        """Position, kind and computed base of every write."""
        return [(write.at, write.kind, write.base) for write in self.writes]


@op_definition
class NestOp(KernelOp):
    """A loop nest; see the module's docstring. Result i continues ``into`` operand ``ties[i]`` unless that is -1.

    ``schedule`` says how it runs (:mod:`wengert.dialects.kernel.schedule`); what it computes does not depend on that.
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

    @property
    def written(self) -> Sequence[SSAValue]:
        """What the writes go to: the results, or without results the buffers that the nest writes in place."""
        return self.outputs or self.into

    def verify_(self) -> None:
        last = self.body.block.last_op
        if not isinstance(last, YieldOp) or last.at is None or last.kinds is None:
            raise VerifyException("the body must end in a kernel.yield with positions and kinds")
        if not len(last.values) >= len(last.at) == len(last.kinds) or len(self.outputs) != len(self.tied):
            raise VerifyException("every yielded value needs a position and a kind")
        targets = set(range(len(last.kinds)) if last.targets is None else ints(last.targets))
        if targets != set(range(len(self.written))):
            raise VerifyException("every result, and every buffer that is written, needs a yielded value")
        if [arg.type for arg in self.body.block.args] != [operand.type for operand in self.inputs]:
            raise VerifyException("the body's arguments must have the types of the inputs")
        self._verify_ties()
        for op in self.body.block.ops:
            if not isinstance(op, LoadOp | IndexOp | WithinOp | ConstantOp | ApplyOp | YieldOp):
                raise VerifyException(f"the body computes with scalars; '{op.name}' has no place in it")
            if isinstance(op, LoadOp | IndexOp):
                self._verify_loops(op.at.data)
            for at, _, _ in op.where.data if isinstance(op, LoadOp | WithinOp) and op.where is not None else ():
                self._verify_loops(at)
            if isinstance(op, LoadOp):
                self._verify_load(op)
        for write in self.writes:
            self._verify_write(self.written[write.target].type, write)

    def _verify_ties(self) -> None:
        for value, tie in zip(self.outputs, self.tied, strict=True):
            if tie >= len(self.into) or (tie >= 0 and self.into[tie].type != value.type):
                raise VerifyException(f"a result of {value.type} continues 'into' operand {tie}, which there is not, or is of another type")
        if not self.outputs and not all(isinstance(value.type, MemRefType) for value in self.into):
            raise VerifyException("a nest without results writes memrefs")

    def _verify_loops(self, at: Position) -> None:
        last = max(positions.dimensions(at), default=-1)
        if last >= len(self.extents):
            raise VerifyException(f"position {at} depends on loop {last}; the nest has {len(self.extents)} loops")

    def _verify_write(self, type: Attribute, write: Write) -> None:
        value, at, kind = write.value, write.at, write.kind
        if kind not in KINDS:
            raise VerifyException(f"unknown kind {kind!r}; expected one of {', '.join(KINDS)}")
        self._verify_loops(at)
        if value.type != _buffer(type).element_type:
            raise VerifyException(f"a value of type {value.type} is yielded to a result of {type}")
        if write.condition is not None and write.condition.type != i1:
            raise VerifyException(f"the condition of a write is an i1, found {write.condition.type}")
        if write.base is None:
            self._verify_range(at, type)

    def _verify_load(self, op: LoadOp) -> None:
        if not isinstance(op.source, BlockArgument) or op.source.block is not self.body.block:
            raise VerifyException("a load reads an argument of the body")
        if op.result.type != _buffer(op.source.type).element_type:
            raise VerifyException(f"a load from {op.source.type} gives an element of it, found {op.result.type}")
        if op.where is None and op.base is None:
            self._verify_range(op.at.data, op.source.type)

    def _verify_range(self, at: Position, type: Attribute) -> None:
        low, high = positions.span(at, self.extents)
        if 0 not in self.extents and (low < 0 or high >= prod(buffer_shape(type) or ())):
            raise VerifyException(f"position {at} reaches [{low}, {high}], outside of {type}")


def _buffer(type: Attribute) -> TensorType[Any] | MemRefType[Any]:
    if buffer_shape(type) is None or not isinstance(type, TensorType | MemRefType):
        raise VerifyException(f"a buffer is a tensor or a memref of static shape, found {type}")
    return cast("TensorType[Any] | MemRefType[Any]", type)


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
    transposes, slices and broadcasts of the operands cost no copy. The result is contiguous.
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


@op_definition
class NativeOp(KernelOp):
    """Runs one op by code of its own (:mod:`wengert.transforms.codegen.cpu.native`). The body holds the op and a yield of its results."""

    name = "kernel.native"
    SYNTAX: ClassVar = Syntax(BodyText())
    DISTINCT_NAMES: ClassVar = True
    FACTS: ClassVar = KERNEL
    inputs = var_operand_def()
    body = region_def("single_block")
    outputs = var_result_def()


@op_definition
class StripMineOp(KernelOp):
    """Runs nests on one strip of rows after another; see :mod:`wengert.transforms.kernel.strip_mining`.

    In trip i the body sees elements ``[i * step, i * step + n)`` of an operand, n being the size of its argument (all of
    it if the step is 0), and what it yields are those elements of the results.
    """

    name = "kernel.strip_mine"
    SYNTAX: ClassVar = Syntax(StripMineText())
    DISTINCT_NAMES: ClassVar = True
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
