"""The pieces of StableHLO's text that only one op needs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar, cast

import numpy as np
from msgspec import Struct
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Attribute, Block, Operation, Region

from wengert.dialects.stablehlo.annotations import DotAlgorithmAttr
from wengert.dialects.stablehlo.attributes import ConvDimensionNumbersAttr, DotDimensionNumbersAttr, PrecisionAttr, dimensions
from wengert.ir import elements
from wengert.ir.attributes import bool_array, bools, int_array, int_attr, int_of, ints
from wengert.ir.parsing.operations import OpState, Reader
from wengert.ir.printing.printer import Unwritable, Writer
from wengert.ir.syntax import parts as sx

_RANGES = re.compile(r"\s*\[([\d:,\s]*)\]")
_RANGE = re.compile(r"\s*(\d{1,18})\s*:\s*(\d{1,18})\s*(?::\s*(\d{1,18})\s*)?")
_LONG_NUMBER = re.compile(r"\d{19}")
"""A number that is long enough to be looked at: it may have more than 64 bits."""
_FORMAT = re.compile(r"e(\d{1,5})m(\d{1,5})")


class ConstantText(Struct, frozen=True):
    """``{attributes} dense<...> : T``: the constant says its type."""

    properties: tuple[str, ...] = ("value",)

    def read(self, reader: Reader, state: OpState) -> None:
        if reader.accept("("):
            self._read_generic(reader, state)
            return
        state.set_attributes(reader.dictionary())
        position = reader.skip()
        value = reader.attribute()
        type = getattr(value, "type", None)
        if not isinstance(type, Attribute):
            reader.fail(f"expected a constant such as 'dense<0.0> : tensor<f32>', found {value}", position)
        state.properties["value"] = value
        state.result_types = (type,)

    @staticmethod
    def _read_generic(reader: Reader, state: OpState) -> None:
        """``() {value = dense<...> : T} : () -> T``, which older versions printed."""
        reader.need(")")
        state.set_attributes(reader.dictionary())
        reader.need(":")
        state.types_at = reader.skip()
        state.operand_types, state.result_types = reader.function_type()

    def write(self, op: Operation, writer: Writer) -> None:
        value = op.properties["value"]
        if getattr(value, "type", None) != op.results[0].type:
            raise Unwritable
        writer.attribute_dictionary(op)
        writer.write(f" {writer.attribute_text(value)}")


class Ranges(Struct, frozen=True):
    """``[0:4, 1:8:2]``: start, limit and stride of every dimension."""

    properties: tuple[str, ...] = ("start_indices", "limit_indices", "strides")

    def read(self, reader: Reader, state: OpState) -> None:
        match = _RANGES.match(reader.text, reader.here)
        ranges: list[tuple[int, int, int]] = []
        if match is None or _LONG_NUMBER.search(match.group(1)):
            ranges = reader.listed("[", "]", lambda: self._range(reader))
            self._set(state, ranges)
            return
        body = match.group(1)
        for part in body.split(",") if body.strip() else ():
            ranged = _RANGE.fullmatch(part)
            if ranged is None:
                reader.fail(f"'{part.strip()}' is not a range such as '0:4' or '0:8:2'", match.start(1) + body.find(part))
            ranges.append((int(ranged.group(1)), int(ranged.group(2)), int(ranged.group(3) or 1)))
        reader.here = match.end()
        self._set(state, ranges)

    def _set(self, state: OpState, ranges: Sequence[tuple[int, int, int]]) -> None:
        for key, values in zip(self.properties, zip(*ranges) if ranges else ((), (), ())):
            state.properties[key] = int_array(values)

    @staticmethod
    def _range(reader: Reader) -> tuple[int, int, int]:
        """A range of which a number is negative, hexadecimal or long."""
        start = reader.integer()
        reader.need(":")
        limit = reader.integer()
        return start, limit, reader.integer() if reader.accept(":") else 1

    def write(self, op: Operation, writer: Writer) -> None:
        starts, limits, strides = (ints(op.properties[key]) for key in self.properties)
        writer.write(f" [{', '.join(f'{a}:{b}' if c == 1 else f'{a}:{b}:{c}' for a, b, c in zip(starts, limits, strides))}]")


class DotText:
    """``, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT]``."""

    properties = ("dot_dimension_numbers", "precision_config", "algorithm")
    _KEYS = ("batching_dims", "contracting_dims", "precision", "algorithm")

    def read(self, reader: Reader, state: OpState) -> None:
        pairs: dict[str, tuple[Sequence[int], Sequence[int]]] = {}
        seen = -1
        while reader.accept(","):
            position = reader.skip()
            key = reader.word_in(self._KEYS, "keyword")
            if self._KEYS.index(key) <= seen:
                reader.fail(f"'{key}' is given twice or too late; the order is {', '.join(self._KEYS)}", position)
            seen = self._KEYS.index(key)
            reader.need("=")
            if key == "precision":
                state.properties["precision_config"] = sx.Words(PrecisionAttr).read(reader)
            elif key == "algorithm":
                state.properties["algorithm"] = _short_algorithm(reader)
            else:
                left = reader.integers()
                reader.need("x")
                pairs[key] = (left, reader.integers())
        if "contracting_dims" not in pairs:
            reader.fail("'stablehlo.dot_general' needs 'contracting_dims = [..] x [..]'")
        batch, summed = pairs.get("batching_dims", ((), ())), pairs["contracting_dims"]
        state.properties["dot_dimension_numbers"] = DotDimensionNumbersAttr(*(dimensions(d) for d in (*batch, *summed)))

    def write(self, op: Operation, writer: Writer) -> None:
        text = self.dimensions_text(op.properties["dot_dimension_numbers"])
        if (precision := op.properties.get("precision_config")) is not None:
            text += f", precision = {sx.Words(PrecisionAttr).text(precision, writer)}"
        if (algorithm := op.properties.get("algorithm")) is not None:
            text += f", algorithm = {writer.attribute_text(algorithm).removeprefix('#stablehlo.dot_algorithm')}"
        writer.write(text)

    @staticmethod
    def dimensions_text(attribute: Attribute) -> str:
        """``, batching_dims = [0] x [0], contracting_dims = [2] x [1]``."""
        numbers = cast(DotDimensionNumbersAttr, attribute)
        batch = [list(numbers.dims(f"{side}_batching_dimensions")) for side in ("lhs", "rhs")]
        summed = [list(numbers.dims(f"{side}_contracting_dimensions")) for side in ("lhs", "rhs")]
        text = f", batching_dims = {batch[0]} x {batch[1]}" if batch[0] or batch[1] else ""
        return f"{text}, contracting_dims = {summed[0]} x {summed[1]}"


def _short_algorithm(reader: Reader) -> Attribute:
    """Reads ``<...>``, an algorithm without its name, which the key implies."""
    if reader.peek() == "#":
        return reader.attribute()
    with reader.foreign("dot algorithm"):
        return DotAlgorithmAttr.new(DotAlgorithmAttr.parse_parameters(reader))


class ConvolutionText:
    """``(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [1], pad = [[0, 0]], ...}``."""

    properties = ("dimension_numbers", "window_strides", "padding", "lhs_dilation", "rhs_dilation", "window_reversal")
    _LISTS: ClassVar = {"stride": "window_strides", "lhs_dilate": "lhs_dilation", "rhs_dilate": "rhs_dilation"}

    def read(self, reader: Reader, state: OpState) -> None:
        reader.need_word("dim_numbers")
        reader.need("=")
        with reader.foreign("dimension numbers"):
            state.properties["dimension_numbers"] = ConvDimensionNumbersAttr.parse_roles(reader)
        reader.need(",")
        reader.need_word("window")
        reader.need("=")

        seen: set[str] = set()

        def entry() -> None:
            position = reader.skip()
            key = reader.word_in((*self._LISTS, "pad", "reverse"), "window key")
            if key in seen:
                reader.fail(f"'{key}' is given twice", position)
            seen.add(key)
            reader.need("=")
            if key == "pad":
                state.properties["padding"] = self._padding(reader)
            elif key == "reverse":
                state.properties["window_reversal"] = bool_array(reader.listed("[", "]", lambda: self._flag(reader)))
            else:
                state.properties[self._LISTS[key]] = int_array(reader.integers())

        reader.listed("{", "}", entry, trailing=True)

    @staticmethod
    def _flag(reader: Reader) -> bool:
        """A boolean, or a number that stands for one."""
        return reader.word_in(("true", "false"), "boolean") == "true" if reader.next_word() else reader.integer() != 0

    def _padding(self, reader: Reader) -> Attribute:
        position = reader.skip()
        pairs = reader.listed("[", "]", reader.integers)
        if any(len(pair) != 2 for pair in pairs):
            reader.fail("padding is a list of pairs [low, high]", position)
        return elements.from_numpy(np.array(pairs, np.int64).reshape(len(pairs), 2))

    def write(self, op: Operation, writer: Writer) -> None:
        properties = op.properties
        window: list[str] = []
        if "window_strides" in properties:
            window.append(f"stride = {list(ints(properties['window_strides']))}")
        if "padding" in properties:
            padding = elements.to_numpy(cast("DenseIntOrFPElementsAttr[Any]", properties["padding"]))
            if padding.ndim != 2 or padding.shape[1] != 2 or padding.dtype != np.int64:
                raise Unwritable
            window.append(f"pad = {padding.tolist()}")
        dilations = {key: properties.get(self._LISTS[key]) for key in ("lhs_dilate", "rhs_dilate")}
        window += [f"{key} = {list(ints(factors))}" for key, factors in dilations.items() if factors is not None]
        if "window_reversal" in properties:
            window.append(f"reverse = [{', '.join('true' if b else 'false' for b in bools(properties['window_reversal']))}]")
        numbers = cast(ConvDimensionNumbersAttr, properties["dimension_numbers"]).text()
        writer.write(f" dim_numbers = {numbers}, window = {{{', '.join(window)}}}")


class FormatText:
    """``, format = e8m7``."""

    properties = ("exponent_bits", "mantissa_bits")

    def read(self, reader: Reader, state: OpState) -> None:
        reader.need(",")
        reader.need_word("format")
        reader.need("=")
        position = reader.skip()
        match = _FORMAT.fullmatch(reader.word("a format such as 'e8m7'"))
        if match is None:
            reader.fail("expected a format such as 'e8m7'", position)
        for key, bits in zip(self.properties, match.groups()):
            state.properties[key] = int_attr(int(bits), 32)

    def write(self, op: Operation, writer: Writer) -> None:
        exponent, mantissa = (int_of(op.properties[key]) for key in self.properties)
        if not (0 <= exponent < 10**5 and 0 <= mantissa < 10**5):
            raise Unwritable
        writer.write(f", format = e{exponent}m{mantissa}")


class TupleIndex:
    """``%t[1]``."""

    properties = ("index",)

    def read(self, reader: Reader, state: OpState) -> None:
        reader.operands(state)
        reader.need("[")
        state.properties["index"] = int_attr(reader.integer(32), 32)
        reader.need("]")

    def write(self, op: Operation, writer: Writer) -> None:
        writer.write(f" {writer.values(op.operands)}[{int_of(op.properties['index'])}]")


class WhileText:
    """``(%a = %x, %b = %y) : T, U cond { ... } do { ... }``."""

    properties = ()

    def read(self, reader: Reader, state: OpState) -> None:
        names: list[tuple[str, int, int]] = []

        def carried() -> None:
            names.append(reader.operand())
            reader.need("=")
            state.operands.append(reader.operand())

        reader.listed("(", ")", carried)
        if reader.accept(":"):
            state.types_at = reader.skip()
            state.operand_types = state.result_types = reader.types()
        if len(names) != len(state.operand_types):
            reader.fail(f"{len(names)} values are carried, but {len(state.operand_types)} types are given", state.types_at or None)
        if reader.accept_word("attributes"):
            state.set_attributes(reader.dictionary())
        arguments = [(name, type, position, None) for (name, _, position), type in zip(names, state.operand_types)]
        for word in ("cond", "do"):
            reader.need_word(word)
            state.regions.append(reader.region(arguments, named=True))
        state.shares_location = True

    def write(self, op: Operation, writer: Writer) -> None:
        condition, body = (region.block for region in op.regions)
        types = tuple(op.operand_types)
        if any(tuple(given) != types for given in (op.result_types, condition.arg_types, body.arg_types)):
            raise Unwritable
        if writer.locations and any(a.location != op.location for block in (condition, body) for a in block.args):
            raise Unwritable  # the pretty form has no room for the places of the arguments
        names = [writer.name_argument(value, "iterArg") for value in condition.args]
        for value, name in zip(body.args, names):
            writer.share_name(value, name)
        writer.write(f"({', '.join(f'{name} = {writer.value(value)}' for name, value in zip(names, op.operands))})")
        if op.operands:
            writer.write(f" : {writer.types(op.operand_types)}")
        writer.attribute_dictionary(op, keyword=True)
        writer.newline(" cond", op.regions[0])
        writer.write(" do")
        writer.region(op.regions[1], arguments=False)


COMPACT = frozenset(f"stablehlo.{name}" for name in ("add", "multiply", "maximum", "minimum", "and", "or", "xor"))
"""The ops that a reduction's region is abbreviated to: ``applies stablehlo.add``."""


class ReduceText:
    """``(%x init: %a), (%y init: %b) across dimensions = [0] : (..) -> .. reducer(%p: T, %q: T) { ... }``.

    A region that is one op of two operands is written ``applies <op>``.
    """

    properties = ("dimensions",)

    def read(self, reader: Reader, state: OpState) -> None:
        inputs, initial = list[tuple[str, int, int]](), list[tuple[str, int, int]]()
        while True:
            reader.need("(")
            inputs.append(reader.operand())
            reader.need_word("init")
            reader.need(":")
            initial.append(reader.operand())
            reader.need(")")
            if not reader.accept(","):
                break
        state.operands = inputs + initial
        applied, applied_at = "", 0
        if reader.accept_word("applies"):
            applied_at = reader.skip()
            applied = reader.word("an operation")
            if applied not in COMPACT:
                reader.fail(f"a reduction applies one of {', '.join(sorted(COMPACT))}; found '{applied}'", applied_at)
        reader.need_word("across")
        reader.need_word("dimensions")
        reader.need("=")
        state.properties["dimensions"] = int_array(reader.integers())
        state.set_attributes(reader.dictionary())
        reader.need(":")
        state.types_at = reader.skip()
        state.operand_types, state.result_types = reader.function_type()
        if len(state.operand_types) != 2 * len(inputs):
            reader.fail(f"{2 * len(inputs)} operands but {len(state.operand_types)} operand types", state.types_at)
        if applied:
            state.regions.append(self._applied(reader, state, applied, applied_at))
            state.shares_location = state.implicit_region = True
        else:
            state.regions.append(self._region(reader))

    def _applied(self, reader: Reader, state: OpState, name: str, position: int) -> Region:
        cls = reader.op_class(name, position)
        if len(state.operands) != 2 or len(state.operand_types) != 2:
            reader.fail("'applies' is for the reduction of one tensor", position)
        type = state.operand_types[1]
        block = Block(arg_types=(type, type))
        combined = cls.create(operands=block.args, result_types=(type,))
        block.add_ops((combined, reader.op_class("stablehlo.return", position).create(operands=combined.results)))
        return Region(block)

    def _region(self, reader: Reader) -> Region:
        reader.need_word("reducer")
        pairs: list[list[Any]] = []
        position = reader.skip()
        while reader.peek() == "(":
            pairs.append(reader.listed("(", ")", reader.block_argument))
        if any(len(pair) != 2 for pair in pairs):
            reader.fail("a reducer takes pairs of arguments: (%a: T, %b: T)", position)
        return reader.region([pair[0] for pair in pairs] + [pair[1] for pair in pairs], named=True)

    def write(self, op: Operation, writer: Writer) -> None:
        half = len(op.operands) // 2
        block = op.regions[0].block
        if len(block.args) != 2 * half or len(op.operands) != 2 * half or not half:
            raise Unwritable
        pairs = zip(op.operands[:half], op.operands[half:])
        writer.write(", ".join(f"({writer.value(x)} init: {writer.value(a)})" for x, a in pairs))
        applied = applied_op(op)
        if applied is not None and not writer.hides_location(op, applied):
            writer.write(f" applies {applied.name}")
        else:
            applied = None
        writer.write(f" across dimensions = {list(ints(op.properties['dimensions']))}")
        writer.attribute_dictionary(op)
        writer.write(f" : {writer.function_type(op.operand_types, op.result_types)}")
        if applied is None:
            writer.newline(" reducer", None)
            arguments = op.regions[0].blocks[0].args
            pairs = zip(arguments[: len(arguments) // 2], arguments[len(arguments) // 2 :])
            writer.write(" ".join(f"({writer.block_argument(a)}, {writer.block_argument(b)})" for a, b in pairs))
            writer.region(op.regions[0], arguments=False)


def applied_op(op: Operation) -> Operation | None:
    """The op that a reduction's region consists of, if that is all there is in it."""
    region = op.regions[0]
    if len(op.operands) != 2 or len(region.blocks) != 1:
        return None
    block = region.blocks[0]
    inner, last = block.first_op, block.last_op
    if inner is None or last is None or inner.next_op is not last or last.name != "stablehlo.return" or inner.name not in COMPACT:
        return None
    type = op.operands[1].type
    plain = not (inner.attributes or inner.properties or last.attributes) and len(block.args) == 2 and tuple(last.operands) == tuple(inner.results)
    same = all(value.type == type for value in (*block.args, *inner.results))
    return inner if plain and same and tuple(inner.operands) == tuple(block.args) else None
