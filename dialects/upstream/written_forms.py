"""Writes custom forms of upstream ops on tensors and of structured control flow; what they have no word for is left to the generic form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, IndexType, IntegerAttr
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.ir import Attribute, Operation, Region, SSAValue

from wengert.dialects.upstream.forms import element_of, with_element
from wengert.ir.attributes import ints
from wengert.ir.printing.printer import Unwritable, Writer
from wengert.ir.tensor_types import DYNAMIC, i1

Write = Callable[[Operation, Writer], None]
INDEX = IndexType()
_SLICE = ("static_offsets", "static_sizes", "static_strides")


def _attributes(op: Operation, *known: str) -> dict[str, Attribute]:
    """The attributes of an op, which has none but these."""
    entries = {**op.attributes, **op.properties}
    if set(entries) - set(known):
        raise Unwritable
    return entries


def _type(writer: Writer, value: SSAValue) -> str:
    return writer.types([value.type])


def _positions(values: Sequence[SSAValue]) -> None:
    """Values whose type is not written are of type index."""
    for value in values:
        _implied(value.type, INDEX)


def _listed(writer: Writer, values: Sequence[SSAValue], brackets: str = "[]") -> str:
    return f"{brackets[0]}{writer.values(values)}{brackets[1]}"


def _implied(given: Attribute, implied: Attribute) -> None:
    """A type that the form leaves out has to be the one that its reader infers."""
    if given != implied:
        raise Unwritable


def plain(op: Operation, writer: Writer) -> None:
    """``%a, %b : T, U``: terminators."""
    _attributes(op)
    writer.write(f" {writer.values(op.operands)} : {writer.types([x.type for x in op.operands])}" if op.operands else "")


def part(result: Callable[[Attribute], Attribute]) -> Write:
    """``%a : T``: the result's type follows from it, and all operands have it."""

    def write(op: Operation, writer: Writer) -> None:
        _attributes(op)
        type = op.operands[0].type
        for operand in op.operands:
            _implied(operand.type, type)
        _implied(op.results[0].type, result(type))
        writer.write(f" {writer.values(op.operands)} : {_type(writer, op.operands[0])}")

    return write


def tested(type: Attribute) -> Attribute:
    """Booleans in the shape of a type."""
    return with_element(type, i1)


def dim(op: Operation, writer: Writer) -> None:
    """``%t, %d : T``."""
    _attributes(op)
    _positions([*op.operands[1:], *op.results])
    writer.write(f" {writer.values(op.operands)} : {_type(writer, op.operands[0])}")


def made(op: Operation, writer: Writer) -> None:
    """``%a, %b : T`` of the result."""
    _attributes(op)
    writer.write(f" {writer.values(op.operands)} : {_type(writer, op.results[0])}")


def select(op: Operation, writer: Writer) -> None:
    """``%c, %a, %b : T``, or ``: C, T`` where there is a boolean for each element."""
    _attributes(op)
    condition, value = op.operands[0].type, op.operands[1].type
    _implied(op.operands[2].type, value)
    _implied(op.results[0].type, value)
    if not hasattr(condition, "element_type"):
        _implied(condition, i1)
    writer.write(f" {writer.values(op.operands)} : {writer.types([condition, value] if hasattr(condition, 'element_type') else [value])}")


def extract(op: Operation, writer: Writer) -> None:
    """``%t[%i, %j] : T``."""
    _attributes(op)
    _implied(op.results[0].type, element_of(op.operands[0].type))
    _positions(op.operands[1:])
    writer.write(f" {writer.value(op.operands[0])}{_listed(writer, op.operands[1:])} : {_type(writer, op.operands[0])}")


def insert(op: Operation, writer: Writer) -> None:
    """``%v into %t[%i, %j] : T``."""
    _attributes(op)
    value, target, *at = op.operands
    _implied(value.type, element_of(target.type))
    _implied(op.results[0].type, target.type)
    _positions(at)
    writer.write(f" {writer.value(value)} into {writer.value(target)}{_listed(writer, at)} : {_type(writer, target)}")


def empty(op: Operation, writer: Writer) -> None:
    """``(%n) : T``."""
    _attributes(op)
    _positions(op.operands)
    writer.write(f"{_listed(writer, op.operands, '()')} : {_type(writer, op.results[0])}")


def splat(op: Operation, writer: Writer) -> None:
    """``%a[%n] : T``."""
    _attributes(op)
    _implied(op.operands[0].type, element_of(op.results[0].type))
    _positions(op.operands[1:])
    extents = _listed(writer, op.operands[1:]) if len(op.operands) > 1 else ""
    writer.write(f" {writer.value(op.operands[0])}{extents} : {_type(writer, op.results[0])}")


def _places(op: Operation, writer: Writer, dynamic: Sequence[SSAValue]) -> str:
    """``[%i, 0] [1, 4] [1, 1]``."""
    entries, rest = _attributes(op, "operandSegmentSizes", *_SLICE), iter(dynamic)
    _positions(dynamic)
    if set(_SLICE) - set(entries):
        raise Unwritable
    lists = [[writer.value(next(rest)) if n == DYNAMIC else str(n) for n in ints(entries[key])] for key in _SLICE]
    return " ".join(f"[{', '.join(one)}]" for one in lists)


def extract_slice(op: Operation, writer: Writer) -> None:
    """``%t[%i, 0] [1, 4] [1, 1] : T to U``."""
    places = _places(op, writer, op.operands[1:])
    writer.write(f" {writer.value(op.operands[0])}{places} : {_type(writer, op.operands[0])} to {_type(writer, op.results[0])}")


def insert_slice(op: Operation, writer: Writer) -> None:
    """``%a into %t[%i, 0] [1, 4] [1, 1] : T into U``."""
    source, target, *dynamic = op.operands
    _implied(op.results[0].type, target.type)
    places = _places(op, writer, dynamic)
    writer.write(f" {writer.value(source)} into {writer.value(target)}{places} : {_type(writer, source)} into {_type(writer, target)}")


def _groups(op: Operation, *known: str) -> str:
    groups: Any = _attributes(op, "reassociation", *known).get("reassociation")
    if not isinstance(groups, ArrayAttr):
        raise Unwritable
    return str([[number.value.data for number in cast("ArrayAttr[IntegerAttr[Any]]", group)] for group in cast("ArrayAttr[Any]", groups)])


def collapse_shape(op: Operation, writer: Writer) -> None:
    """``%t [[0, 1], [2]] : T into U``."""
    writer.write(f" {writer.value(op.operands[0])} {_groups(op)} : {_type(writer, op.operands[0])} into {_type(writer, op.results[0])}")


def expand_shape(op: Operation, writer: Writer) -> None:
    """``%t [[0, 1], [2]] output_shape [2, 3, 4] : T into U``, of a static shape."""
    groups = _groups(op, "static_output_shape")
    shape = {**op.attributes, **op.properties}.get("static_output_shape")
    if len(op.operands) != 1 or shape is None:
        raise Unwritable
    writer.write(
        f" {writer.value(op.operands[0])} {groups} output_shape {list(ints(shape))} : {_type(writer, op.operands[0])} into {_type(writer, op.results[0])}"
    )


def generate(op: Operation, writer: Writer) -> None:
    """``%n { ^bb0(%i: index): ... } : T``."""
    _attributes(op)
    writer.write(f" {writer.values(op.operands)}" if op.operands else "")
    writer.region(op.regions[0])
    writer.write(f" : {_type(writer, op.results[0])}")


def generic(op: Operation, writer: Writer) -> None:
    """``{indexing_maps = [...], iterator_types = [...]} ins(...) outs(...) { ... } -> T``."""
    entries = _attributes(op, "operandSegmentSizes", "indexing_maps", "iterator_types")
    maps, kinds, sizes = (cast(Any, entries.get(key)) for key in ("indexing_maps", "iterator_types", "operandSegmentSizes"))
    if sizes is None or not all(isinstance(kind, IteratorTypeAttr) for kind in kinds) or not all(isinstance(map, AffineMapAttr) for map in maps):
        raise Unwritable
    count = ints(sizes)[0]
    words = ", ".join(f'"{kind.data.value}"' for kind in kinds)
    writer.write(f" {{indexing_maps = [{', '.join(map(writer.attribute_text, maps))}], iterator_types = [{words}]}}")
    for word, values in (("ins", op.operands[:count]), ("outs", op.operands[count:])):
        if values:
            writer.write(f" {word}({writer.values(values)} : {writer.types([x.type for x in values])})")
    writer.region(op.regions[0])
    writer.write(_results(op, writer))


def _results(op: Operation, writer: Writer) -> str:
    """``-> T`` or ``-> (T, U)``."""
    types = writer.types([x.type for x in op.results])
    return "" if not op.results else f" -> {types}" if len(op.results) == 1 else f" -> ({types})"


def _assigned(writer: Writer, arguments: Sequence[Any], values: Sequence[SSAValue]) -> str:
    """``(%a = %x, %b = %y)``."""
    pairs = [f"{writer.name_argument(a, 'arg')} = {writer.value(x)}" for a, x in zip(arguments, values, strict=True)]
    return f"({', '.join(pairs)})"


def loop(op: Operation, writer: Writer) -> None:
    """``%i = %a to %b step %c iter_args(%x = %y) -> (T) { ... }``."""
    _attributes(op)
    low, high, step, *initial = op.operands
    counter, *carried = op.regions[0].block.args
    if writer.attribute_text(counter.type) != "index":
        raise Unwritable
    bounds = f"{writer.value(low)} to {writer.value(high)} step {writer.value(step)}"
    writer.write(f" {writer.name_argument(counter, 'arg')} = {bounds}")
    if initial:
        writer.write(f" iter_args{_assigned(writer, carried, initial)} -> ({writer.types([x.type for x in op.results])})")
    writer.region(op.regions[0], arguments=False, terminators=bool(initial))


def branch(op: Operation, writer: Writer) -> None:
    """``%c -> (T) { ... } else { ... }``."""
    _attributes(op)
    writer.write(f" {writer.value(op.operands[0])}")
    writer.write(f" -> ({writer.types([x.type for x in op.results])})" if op.results else "")
    _branch(writer, op.regions[0], bool(op.results))
    if len(op.regions) > 1 and op.regions[1].blocks:
        writer.write(" else")
        _branch(writer, op.regions[1], bool(op.results))


def _branch(writer: Writer, region: Region, has_results: bool) -> None:
    writer.region(region, arguments=False, terminators=has_results)


def while_loop(op: Operation, writer: Writer) -> None:
    """``(%a = %x) : (T) -> U { ... } do { ^bb0(%b: U): ... }``."""
    _attributes(op)
    before, after = op.regions
    types = writer.function_type([x.type for x in op.operands], [x.type for x in op.results])
    writer.write(f" {_assigned(writer, before.block.args, op.operands)} : {types}" if op.operands else f" : {types}")
    writer.region(before, arguments=False)
    writer.write(" do")
    writer.region(after)


def condition(op: Operation, writer: Writer) -> None:
    """``(%c) %a, %b : T, U``."""
    _attributes(op)
    flag, *carried = op.operands
    writer.write(f"({writer.value(flag)})")
    writer.write(f" {writer.values(carried)} : {writer.types([x.type for x in carried])}" if carried else "")
