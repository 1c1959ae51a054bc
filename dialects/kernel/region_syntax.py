"""The text of the kernel ops that hold a region: nests, strip-mined loops, and ops that run as a whole::

%0:2 = kernel.nest (d0, d1) = (0, 0) to (8, 128) iterators [parallel, reduction]
ins(%arg1 = %x: tensor<8x128xf32>)
outs(out0: tensor<8x128xf32>, out1: tensor<8xf32>) {
...
}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from msgspec import Struct
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Block, Operation

from wengert.dialects.core.syntax import bound_text, check_places, read_bound
from wengert.dialects.kernel.affine import AffineText
from wengert.dialects.kernel.iterators import ITERATORS, iterator_kinds
from wengert.dialects.kernel.positions import Position, index
from wengert.dialects.kernel.schedule import ScheduleAttr
from wengert.dialects.kernel.schedule_clause import read_clause, read_gpu_clause, write_clauses
from wengert.dialects.kernel.subscripts import Nest, buffer_shape, inside, read_affine
from wengert.ir.attributes import int_array, int_attr, ints, segment_sizes
from wengert.ir.parsing.operations import OpState, Reader
from wengert.ir.printing.printer import Unwritable, Writer


def read_loops(reader: Reader) -> tuple[dict[str, int], tuple[int, ...]]:
    """Reads ``(d0, d1) = (0, 0) to (8, 128)``: the loops by name, and their bounds."""
    names: dict[str, int] = {}

    def name() -> None:
        position = reader.skip()
        word = reader.word("the name of a loop")
        if word in names:
            reader.fail(f"'{word}' is named twice", position)
        names[word] = len(names)

    reader.listed("(", ")", name)
    reader.need("=")
    position = reader.skip()
    starts = reader.listed("(", ")", reader.integer)
    if starts != [0] * len(names):
        reader.fail(f"the {len(names)} loops of a nest begin at 0", position)
    reader.need_word("to")
    position = reader.skip()
    bounds = reader.listed("(", ")", reader.integer)
    if len(bounds) != len(names) or any(n < 0 for n in bounds):
        reader.fail(f"{len(names)} loops need as many bounds, which are not negative", position)
    return names, tuple(bounds)


def loops_text(bounds: Sequence[int]) -> str:
    """The text that :func:`read_loops` reads."""
    names, zeros = [f"d{d}" for d in range(len(bounds))], ["0"] * len(bounds)
    return f"({', '.join(names)}) = ({', '.join(zeros)}) to ({', '.join(map(str, bounds))})"


class NestText(Struct, frozen=True):
    """``(d0) = (0) to (4) iterators [parallel] ins(%a = %x: T) outs(out0: T, out1 = %y: U) schedule<lanes = 8> attributes {...} { ... }``.

    The iterator kinds follow from the writes; a text that says others is refused. What stands behind ``outs`` are the results, by the names that the
    writes have for them; one with a value continues that.
    """

    properties: tuple[str, ...] = ("bounds", "ties", "operandSegmentSizes", "schedule", "gpu_schedule")

    def read(self, reader: Reader, state: OpState) -> None:
        loops, bounds = read_loops(reader)
        state.properties["bounds"] = int_array(bounds)
        reader.need_word("iterators")
        kinds_at = reader.skip()
        kinds = reader.listed("[", "]", lambda: reader.word_in(ITERATORS, "iterator kind"))
        inputs = read_bound(reader, state, "ins")
        names, types, ties = self._read_outputs(reader, state)
        state.properties["operandSegmentSizes"] = segment_sizes(len(inputs), len(state.operands) - len(inputs))
        if any(tie >= 0 for tie in ties):
            state.properties["ties"] = int_array(ties)
        read_clause(reader, state, ScheduleAttr)
        read_gpu_clause(reader, state)
        if reader.accept_word("attributes"):
            state.set_attributes(reader.dictionary())
        with inside(reader, Nest(loops, names, types)):
            region = reader.region(inputs, named=True, isolated=True)
        state.regions.append(region)
        state.shares_location = True
        self._check_kinds(reader, kinds, kinds_at, bounds, region.block)

    @staticmethod
    def _read_outputs(reader: Reader, state: OpState) -> tuple[dict[str, int], list[Attribute], list[int]]:
        names: dict[str, int] = {}
        types: list[Attribute] = []
        ties: list[int] = []
        first = len(state.operands)

        def output() -> None:
            position = reader.skip()
            name = reader.word("the name of a result")
            if name in names:
                reader.fail(f"'{name}' is named twice", position)
            continued = reader.operand() if reader.accept("=") else None
            reader.need(":")
            type_at = reader.skip()
            type = reader.type()
            if buffer_shape(type) is None:
                reader.fail(f"a nest writes tensors of static shape, found {type}", type_at)
            names[name] = len(names)
            types.append(type)
            ties.append(len(state.operands) - first if continued is not None else -1)
            if continued is not None:
                state.operands.append(continued)
                state.operand_types = (*state.operand_types, type)

        reader.need_word("outs")
        reader.listed("(", ")", output)
        state.result_types = tuple(types)
        return names, types, ties

    @staticmethod
    def _check_kinds(reader: Reader, kinds: Sequence[str], position: int, bounds: Sequence[int], block: Block) -> None:
        """Fails where the body does not do what the kinds say. A body that is malformed is left to the verifier."""
        last = cast("Any", block.last_op)
        if last is None or last.name != "kernel.yield" or last.at is None:
            reader.fail("the body of a nest ends in a 'kernel.yield' of writes", reader.here - 1)
        expected = iterator_kinds(bounds, block, last.accesses)
        if len(kinds) != len(bounds):
            reader.fail(f"{len(bounds)} loops need as many iterator kinds; there are {len(kinds)}", position)
        for d, (kind, right) in enumerate(zip(kinds, expected)):
            if kind != right:
                reader.fail(f"loop {d} is said to be {kind}, but by what the nest writes it is {right}", position, hint=f"[{', '.join(expected)}]")

    def write(self, op: Operation, writer: Writer) -> None:
        check_places(op, writer)
        nest = cast("Any", op)
        block, extents = op.regions[0].block, ints(op.properties["bounds"])
        kinds = iterator_kinds(extents, block, nest.terminator.accesses)
        writer.write(f" {loops_text(extents)} iterators [{', '.join(kinds)}]")
        inputs = bound_text(writer, "ins", block.args, nest.inputs)
        if inputs:
            writer.write(f"{writer.indent}   {inputs}")
        writer.write(f"{writer.indent}    outs({', '.join(self._outputs(nest, writer))})")
        write_clauses(op, writer)
        writer.attribute_dictionary(op, keyword=True)
        writer.region(op.regions[0], arguments=False)

    @staticmethod
    def _outputs(nest: Any, writer: Writer) -> list[str]:
        if [tie for tie in nest.tied if tie >= 0] != list(range(len(nest.into))):
            raise Unwritable
        texts: list[str] = []
        for number, (value, tie) in enumerate(zip(nest.outputs, nest.tied, strict=True)):
            if tie >= 0 and nest.into[tie].type != value.type:
                raise Unwritable
            texts.append(f"out{number}{f' = {writer.value(nest.into[tie])}' if tie >= 0 else ''}: {writer.type_text(value.type)}")
        return texts


class BodyText(Struct, frozen=True):
    """``ins(%a = %x: T) { ... }`` for an op that holds another: its results are those that its body yields. It may have a schedule."""

    properties: tuple[str, ...] = ()

    def read(self, reader: Reader, state: OpState) -> None:
        inputs = read_bound(reader, state, "ins")
        if "schedule" in self.properties:
            read_clause(reader, state, ScheduleAttr)
        if reader.accept_word("attributes"):
            state.set_attributes(reader.dictionary())
        with inside(reader, None):
            region = reader.region(inputs, named=True)
        state.regions.append(region)
        state.shares_location = True
        last = region.block.last_op
        if last is None or last.name != "kernel.yield":
            reader.fail(f"the body of '{state.name}' ends in a 'kernel.yield' of its results", reader.here - 1)
        state.result_types = tuple(last.operand_types)

    def write(self, op: Operation, writer: Writer) -> None:
        check_places(op, writer)
        block = op.regions[0].block
        last = block.last_op
        if last is None or last.name != "kernel.yield" or tuple(last.operand_types) != tuple(op.result_types):
            raise Unwritable
        writer.write(bound_text(writer, "ins", block.args, op.operands))
        write_clauses(op, writer)
        writer.attribute_dictionary(op, keyword=True)
        writer.region(op.regions[0], arguments=False)


class StripMineText(Struct, frozen=True):
    """``(d0) = (0) to (25) ins(%a = %x[d0 * 4096]: T as U, %b = %w: V) outs([d0 * 4096]: T) { ... }``.

    In every iteration ``%a`` is the part of ``%x`` that begins at this position and has type U, and what is yielded is such a part of each result.
    """

    properties: tuple[str, ...] = ("iterations", "input_steps", "output_steps", "schedule")

    def read(self, reader: Reader, state: OpState) -> None:
        position = reader.skip()
        loops, bounds = read_loops(reader)
        if len(bounds) != 1:
            reader.fail("'kernel.strip_mine' is one loop", position)
        state.properties["iterations"] = int_attr(bounds[0])
        steps: list[int] = []
        arguments: list[tuple[str, Attribute, int, None]] = []
        results: list[Attribute] = []

        def operand() -> None:
            name, _, at = reader.operand()
            reader.need("=")
            state.operands.append(reader.operand())
            steps.append(self._step(reader))
            reader.need(":")
            whole = reader.type()
            state.operand_types = (*state.operand_types, whole)
            arguments.append((name, reader.type() if reader.accept_word("as") else whole, at, None))

        def result() -> None:
            steps.append(self._step(reader))
            reader.need(":")
            results.append(reader.type())

        with inside(reader, Nest(loops, {}, ())):
            reader.need_word("ins")
            reader.listed("(", ")", operand)
            state.properties["input_steps"] = int_array(steps)
            steps.clear()
            reader.need_word("outs")
            reader.listed("(", ")", result)
        state.properties["output_steps"] = int_array(steps)
        state.result_types = tuple(results)
        read_clause(reader, state, ScheduleAttr)
        if reader.accept_word("attributes"):
            state.set_attributes(reader.dictionary())
        with inside(reader, None):
            state.regions.append(reader.region(arguments, named=True, isolated=True))
        state.shares_location = True

    @staticmethod
    def _step(reader: Reader) -> int:
        """Reads ``[d0 * 4096]``; 0 if there is none."""
        if not reader.accept("["):
            return 0
        position = reader.skip()
        at = read_affine(reader, AffineText.position)
        reader.need("]")
        step = at.coefficient(0)
        if at != index(0).times(step):
            reader.fail("the strips of a buffer begin at multiples of the loop's index", position)
        return step

    def write(self, op: Operation, writer: Writer) -> None:
        check_places(op, writer)
        block, iterations = op.regions[0].block, cast("IntegerAttr[Any]", op.properties["iterations"]).value.data
        writer.write(f" {loops_text([iterations])}")
        shown: list[str] = []
        for argument, value, step in zip(block.args, op.operands, ints(op.properties["input_steps"]), strict=True):
            part = f" as {writer.type_text(argument.type)}" if argument.type != value.type else ""
            at = f"[{Position(0, ((0, step),))}]" if step else ""
            shown.append(f"{writer.name_argument(argument, 'arg')} = {writer.value(value)}{at}: {writer.type_text(value.type)}{part}")
        steps = ints(op.properties["output_steps"])
        results = [f"[{Position(0, ((0, step),))}]: {writer.type_text(type)}" for type, step in zip(op.result_types, steps, strict=True)]
        writer.write(f"{writer.indent}    ins({', '.join(shown)})")
        writer.write(f"{writer.indent}    outs({', '.join(results)})")
        write_clauses(op, writer)
        writer.attribute_dictionary(op, keyword=True)
        writer.region(op.regions[0], arguments=False)
