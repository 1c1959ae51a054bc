"""The custom forms of ``linalg``."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IndexType, MemRefType, StringAttr, TensorType
from xdsl.ir import Attribute, Block, Region

from wengert.dialects.upstream import written_forms as written
from wengert.dialects.upstream.forms import (
    Form,
    Operand,
    arguments,
    body,
    dense,
    dictionary,
    element_of,
    integer,
    mixed,
    operands,
    segments,
    types_if,
    use,
)
from wengert.dialects.upstream.named_linalg import STRUCTURED
from wengert.dialects.upstream.tensor_forms import indexes, one_yield
from wengert.ir.parsing.operations import OpState, Reader

INDEX = IndexType()


def _typed_list(reader: Reader) -> tuple[list[Operand], list[Attribute]]:
    reader.need("(")
    listed, types = operands(reader), list[Attribute]()
    if reader.accept(":"):
        types = reader.types()
    reader.need(")")
    return listed, types


def _ins_outs(reader: Reader, state: OpState) -> None:
    """``ins(%a : T) outs(%b : U)``."""
    sizes: list[int] = []
    for word in ("ins", "outs"):
        listed, types = list[Operand](), list[Attribute]()
        if word == "outs":
            reader.need_word(word)
            listed, types = _typed_list(reader)
        elif reader.accept_word(word):
            listed, types = _typed_list(reader)
        use(state, listed, types)
        sizes.append(len(listed))
    segments(state, *sizes)


def _results(reader: Reader, state: OpState) -> None:
    """``-> T``, or what the outputs are where it is left out."""
    given = types_if(reader)
    outs = list(state.operand_types)[-_outputs(state) :] if _outputs(state) else []
    state.result_types = given or [type for type in outs if isinstance(type, TensorType)]


def _outputs(state: OpState) -> int:
    return cast(Any, state.attributes["operandSegmentSizes"]).get_values()[1]


def _keys(reader: Reader, state: OpState) -> None:
    """Reads what stands between the name of an op and its operands: a dictionary, ``key = value``, ``dimension(2)``."""
    while True:
        if reader.peek() == "{":
            dictionary(reader, state)
        elif reader.next_word() not in ("ins", "outs", "") and (key := reader.accept_key()):
            state.attributes[key] = reader.attribute()
        elif reader.accept_word("dimension"):
            reader.need("(")
            state.attributes["dimension"] = integer(reader.integer())
            reader.need(")")
        else:
            return


def _named(reader: Reader, state: OpState) -> None:
    """``{...} indexing_maps = [...] ins(...) outs(...) permutation = [...] -> T``."""
    _keys(reader, state)
    _ins_outs(reader, state)
    while reader.peek() == "{" or reader.next_word() in ("permutation", "dimensions"):
        if reader.peek() == "{":
            dictionary(reader, state)
        else:
            key = reader.accept_key()
            state.attributes[key] = dense(reader.integers())
    _results(reader, state)


def _generic(reader: Reader, state: OpState) -> None:
    position = reader.skip()
    if reader.peek() == "#":
        trait = reader.attribute()
        if not isinstance(trait, DictionaryAttr):
            reader.fail("expected a dictionary of indexing maps and iterator types", position)
        state.attributes.update(trait.data)
    else:
        dictionary(reader, state)
    _ins_outs(reader, state)
    if reader.accept_key():
        dictionary(reader, state)
    state.regions.append(reader.region())
    if reader.peek() == "{":
        dictionary(reader, state)
    _results(reader, state)


def _payload(reader: Reader, state: OpState) -> tuple[str, dict[str, Attribute]] | None:
    """Reads ``{ arith.addf {fastmath = ...} }``: the only op of a body that is not written."""
    if reader.peek() != "{":
        return None
    reader.need("{")
    name = reader.word("the name of an op")
    attributes = reader.dictionary()
    reader.need("}")
    return name, attributes


def _map(reader: Reader, state: OpState) -> None:
    payload = _payload(reader, state)
    _ins_outs(reader, state)
    if reader.peek() == "{":
        dictionary(reader, state)
    _body(reader, state, payload, with_outputs=False)
    _results(reader, state)
    del state.attributes["operandSegmentSizes"]


def _reduce(reader: Reader, state: OpState) -> None:
    payload = _payload(reader, state)
    _ins_outs(reader, state)
    if reader.accept_key() != "dimensions":
        reader.unexpected("'dimensions = [...]'")
    state.attributes["dimensions"] = dense(reader.integers())
    if reader.peek() == "{":
        dictionary(reader, state)
    _body(reader, state, payload, with_outputs=True)
    _results(reader, state)
    del state.attributes["operandSegmentSizes"]


def _body(reader: Reader, state: OpState, payload: tuple[str, dict[str, Attribute]] | None, *, with_outputs: bool) -> None:
    if payload is None:
        state.regions.append(body(reader, arguments(reader)))
        return
    elements = [element_of(type) for type in state.operand_types]
    count = len(elements) - _outputs(state)
    block = Block(arg_types=elements)
    name, attributes = payload
    cls = reader.op_class(name, reader.skip())
    values = list(block.args)
    taken = [*values[count:], *values[:count]] if with_outputs else values[:count]
    location = reader.place(state.start)
    made = cls.create(operands=taken, result_types=[elements[-1]], attributes=attributes, location=location)
    ending = reader.op_class("linalg.yield", state.start).create(operands=made.results, location=location)
    block.add_ops([made, ending])
    state.regions.append(Region(block))


def _index(reader: Reader, state: OpState) -> None:
    state.attributes["dim"] = integer(reader.integer())
    dictionary(reader, state)
    reader.need(":")
    state.result_types = [reader.type()]


def _pack(reader: Reader, state: OpState) -> None:
    """``%src padding_value(%p : f32) outer_dims_perm = [..] inner_dims_pos = [..] inner_tiles = [..] into %dest : T -> U``."""
    source, padding, tiles = [reader.operand()], list[Operand](), list[Operand]()
    padding_types: list[Attribute] = []
    if reader.accept_word("padding_value"):
        padding, padding_types = _typed_list(reader)
    static: list[int] = []
    while key := reader.accept_key():
        if key == "inner_tiles":
            static, tiles = mixed(reader)
            state.attributes["static_inner_tiles"] = dense(static)
        else:
            state.attributes[key] = dense(reader.integers())
    reader.need_word("into")
    target = [reader.operand()]
    dictionary(reader, state)
    reader.need(":")
    first = reader.type()
    reader.need("->")
    second = reader.type()
    use(state, source + target + padding, [first, second, *padding_types])
    indexes(state, tiles)
    segments(state, 1, 1, *((len(padding),) if state.name == "linalg.pack" else ()), len(tiles))
    state.result_types = [] if isinstance(second, MemRefType) else [second]


FORMS: dict[str, Form] = {
    **{f"linalg.{name}": Form(_named) for name in STRUCTURED},
    "linalg.generic": Form(_generic, written.generic),
    "linalg.index": Form(_index),
    "linalg.map": Form(_map),
    "linalg.pack": Form(_pack),
    "linalg.reduce": Form(_reduce),
    "linalg.unpack": Form(_pack),
    "linalg.yield": Form(one_yield, written.plain),
}


def strings(attribute: Attribute) -> list[str]:
    """The iterator types of a ``linalg.generic``: strings, or ``#linalg.iterator_type<parallel>``."""
    assert isinstance(attribute, ArrayAttr)
    entries = cast("ArrayAttr[Attribute]", attribute).data
    return [entry.data if isinstance(entry, StringAttr) else _kind(str(entry)) for entry in entries]


def _kind(text: str) -> str:
    return next((kind for kind in ("parallel", "reduction", "window") if kind in text), text)
