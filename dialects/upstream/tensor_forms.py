"""The custom forms of ``tensor`` and of slices, which ``memref.subview`` shares."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import IndexType

from wengert.dialects.upstream import written_forms as written
from wengert.dialects.upstream.forms import (
    Form,
    Operand,
    bracketed,
    dense,
    dictionary,
    element_of,
    integer,
    keyword,
    mixed,
    operands,
    reassociation,
    segments,
    use,
)
from wengert.ir.parsing.operations import OpState, Reader
from wengert.ir.tensor_types import DYNAMIC

INDEX = IndexType()


def indexes(state: OpState, listed: list[Operand]) -> None:
    """Adds operands of type index."""
    use(state, listed, [INDEX] * len(listed))


def cast_to(reader: Reader, state: OpState) -> None:
    """``%a : T to U``."""
    listed = operands(reader)
    dictionary(reader, state)
    reader.need(":")
    use(state, listed, [reader.type()])
    reader.need_word("to")
    state.result_types = [reader.type()]


def dim(reader: Reader, state: OpState) -> None:
    """``%t, %d : T``."""
    listed = operands(reader)
    dictionary(reader, state)
    reader.need(":")
    use(state, listed[:1], [reader.type()])
    indexes(state, listed[1:])
    state.result_types = [INDEX]


def rank(reader: Reader, state: OpState) -> None:
    """``%t : T``."""
    listed = operands(reader)
    dictionary(reader, state)
    reader.need(":")
    use(state, listed, [reader.type()])
    state.result_types = [INDEX]


def _empty(reader: Reader, state: OpState) -> None:
    indexes(state, bracketed(reader))
    dictionary(reader, state)
    reader.need(":")
    state.result_types = [reader.type()]


def load(reader: Reader, state: OpState) -> None:
    """``%t[%i, %j] : T``: an element."""
    source = [reader.operand()]
    listed = bracketed(reader, "[", "]")
    dictionary(reader, state)
    reader.need(":")
    type = reader.type()
    use(state, source, [type])
    indexes(state, listed)
    state.result_types = [element_of(type)]


def _insert(reader: Reader, state: OpState) -> None:
    value = [reader.operand()]
    reader.need_word("into")
    target = [reader.operand()]
    listed = bracketed(reader, "[", "]")
    dictionary(reader, state)
    reader.need(":")
    type = reader.type()
    use(state, value + target, [element_of(type), type])
    indexes(state, listed)
    state.result_types = [type]


def slice_of(reader: Reader, state: OpState) -> list[list[Operand]]:
    """Reads ``[offsets] [sizes] [strides]`` into the static attributes; the operands of each."""
    groups: list[list[Operand]] = []
    for name in ("static_offsets", "static_sizes", "static_strides"):
        static, dynamic = mixed(reader)
        state.attributes[name] = dense(static)
        groups.append(dynamic)
    return groups


def extract_slice(reader: Reader, state: OpState) -> None:
    """``%t[...] [...] [...] : T to U``."""
    source = [reader.operand()]
    groups = slice_of(reader, state)
    dictionary(reader, state)
    reader.need(":")
    use(state, source, [reader.type()])
    for group in groups:
        indexes(state, group)
    segments(state, 1, *map(len, groups))
    reader.need_word("to")
    state.result_types = [reader.type()]


def _insert_slice(reader: Reader, state: OpState) -> None:
    source = [reader.operand()]
    reader.need_word("into")
    target = [reader.operand()]
    groups = slice_of(reader, state)
    dictionary(reader, state)
    reader.need(":")
    type = reader.type()
    reader.need_word("into")
    into = reader.type()
    use(state, source + target, [type, into])
    for group in groups:
        indexes(state, group)
    segments(state, 1, 1, *map(len, groups))
    state.result_types = [] if state.name == "tensor.parallel_insert_slice" else [into]


def expand_shape(reader: Reader, state: OpState) -> None:
    """``%t [[0, 1]] output_shape [2, %n] : T into U``; older texts have no output shape."""
    source, dynamic = [reader.operand()], list[Operand]()
    state.attributes["reassociation"] = reassociation(reader)
    if reader.accept_word("output_shape"):
        static, dynamic = mixed(reader)
        state.attributes["static_output_shape"] = dense(static)
    dictionary(reader, state)
    reader.need(":")
    use(state, source, [reader.type()])
    indexes(state, dynamic)
    reader.need_word("into")
    state.result_types = [reader.type()]
    shape: Any = state.result_types[0]
    state.attributes.setdefault("static_output_shape", dense([DYNAMIC if n < 0 else n for n in shape.get_shape()]))


def collapse_shape(reader: Reader, state: OpState) -> None:
    """``%t [[0, 1]] : T into U``."""
    source = [reader.operand()]
    state.attributes["reassociation"] = reassociation(reader)
    dictionary(reader, state)
    reader.need(":")
    use(state, source, [reader.type()])
    reader.need_word("into")
    state.result_types = [reader.type()]


def reshape(reader: Reader, state: OpState) -> None:
    """``%t(%shape) : (T, U) -> V``."""
    listed = [reader.operand(), *bracketed(reader)]
    dictionary(reader, state)
    _typed(reader, state, listed)


def _typed(reader: Reader, state: OpState, listed: list[Operand]) -> None:
    reader.need(":")
    inputs, outputs = reader.function_type()
    use(state, listed, inputs)
    state.result_types = outputs


def _concat(reader: Reader, state: OpState) -> None:
    reader.need_word("dim")
    reader.need("(")
    state.attributes["dim"] = integer(reader.integer())
    reader.need(")")
    listed = operands(reader)
    dictionary(reader, state)
    _typed(reader, state, listed)


def _from_elements(reader: Reader, state: OpState) -> None:
    listed = operands(reader)
    dictionary(reader, state)
    reader.need(":")
    type = reader.type()
    use(state, listed, [element_of(type)] * len(listed))
    state.result_types = [type]


def _splat(reader: Reader, state: OpState) -> None:
    value = [reader.operand()]
    sizes = bracketed(reader, "[", "]")
    dictionary(reader, state)
    reader.need(":")
    type = reader.type()
    use(state, value, [element_of(type)])
    indexes(state, sizes)
    state.result_types = [type]


def _generate(reader: Reader, state: OpState) -> None:
    indexes(state, operands(reader))
    state.regions.append(reader.region())
    dictionary(reader, state)
    reader.need(":")
    state.result_types = [reader.type()]


def _pad(reader: Reader, state: OpState) -> None:
    source = [reader.operand()]
    keyword(reader, state, "nofold")
    groups: list[list[Operand]] = []
    for name in ("low", "high"):
        reader.need_word(name)
        static, dynamic = mixed(reader)
        state.attributes[f"static_{name}"] = dense(static)
        groups.append(dynamic)
    state.regions.append(reader.region())
    dictionary(reader, state)
    reader.need(":")
    use(state, source, [reader.type()])
    for group in groups:
        indexes(state, group)
    segments(state, 1, *map(len, groups))
    reader.need_word("to")
    state.result_types = [reader.type()]


def one_yield(reader: Reader, state: OpState) -> None:
    """``%a, %b : T, U``: what ends a region."""
    listed = operands(reader)
    dictionary(reader, state)
    use(state, listed, reader.types() if reader.accept(":") else [])


def _gather(reader: Reader, state: OpState) -> None:
    """``%t[%i] gather_dims([0]) unique : (T, U) -> V``."""
    source = [reader.operand()]
    listed = bracketed(reader, "[", "]")
    _gathered(reader, state, source + listed, "gather_dims")


def _scatter(reader: Reader, state: OpState) -> None:
    source = [reader.operand()]
    reader.need_word("into")
    target = [reader.operand()]
    _gathered(reader, state, source + target + bracketed(reader, "[", "]"), "scatter_dims")


def _gathered(reader: Reader, state: OpState, listed: list[Operand], name: str) -> None:
    reader.need_word(name)
    reader.need("(")
    state.attributes[name] = dense(reader.integers())
    reader.need(")")
    keyword(reader, state, "unique")
    dictionary(reader, state)
    _typed(reader, state, listed)


FORMS: dict[str, Form] = {
    "tensor.bitcast": Form(cast_to),
    "tensor.cast": Form(cast_to),
    "tensor.collapse_shape": Form(collapse_shape, written.collapse_shape),
    "tensor.concat": Form(_concat),
    "tensor.dim": Form(dim, written.dim),
    "tensor.empty": Form(_empty, written.empty),
    "tensor.expand_shape": Form(expand_shape, written.expand_shape),
    "tensor.extract": Form(load, written.extract),
    "tensor.extract_slice": Form(extract_slice, written.extract_slice),
    "tensor.from_elements": Form(_from_elements, written.made),
    "tensor.gather": Form(_gather),
    "tensor.generate": Form(_generate, written.generate),
    "tensor.insert": Form(_insert, written.insert),
    "tensor.insert_slice": Form(_insert_slice, written.insert_slice),
    "tensor.pad": Form(_pad),
    "tensor.parallel_insert_slice": Form(_insert_slice),
    "tensor.rank": Form(rank),
    "tensor.reshape": Form(reshape),
    "tensor.scatter": Form(_scatter),
    "tensor.splat": Form(_splat, written.splat),
    "tensor.yield": Form(one_yield, written.plain),
}
