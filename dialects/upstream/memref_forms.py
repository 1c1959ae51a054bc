"""The custom forms of ``memref`` and ``bufferization``."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import (
    AffineMapAttr,
    MemRefType,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
)
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineDimExpr, AffineMap

from wengert.dialects.upstream.affine_forms import REDUCTIONS
from wengert.dialects.upstream.forms import (
    Form,
    Operand,
    bracketed,
    dense,
    dictionary,
    element_of,
    ended,
    integer,
    keyword,
    mixed,
    operands,
    segments,
    types_if,
    use,
)
from wengert.dialects.upstream.tensor_forms import cast_to, collapse_shape, dim, expand_shape, extract_slice, indexes, load, one_yield, rank, reshape
from wengert.ir.parsing.operations import OpState, Reader
from wengert.ir.tensor_types import tensor


def _alloc(reader: Reader, state: OpState) -> None:
    sizes, symbols = bracketed(reader), bracketed(reader, "[", "]")
    dictionary(reader, state)
    reader.need(":")
    state.result_types = [reader.type()]
    indexes(state, sizes + symbols)
    segments(state, len(sizes), len(symbols))


def _one(reader: Reader, state: OpState) -> None:
    """``%m : T``."""
    known = operands(reader)
    dictionary(reader, state)
    reader.need(":")
    use(state, known, reader.types())


def _store(reader: Reader, state: OpState) -> None:
    value = [reader.operand()]
    reader.need(",")
    target = [reader.operand()]
    known = bracketed(reader, "[", "]")
    dictionary(reader, state)
    reader.need(":")
    type = reader.type()
    use(state, value + target, [element_of(type), type])
    indexes(state, known)


def _copy(reader: Reader, state: OpState) -> None:
    known = operands(reader)
    dictionary(reader, state)
    reader.need(":")
    first = reader.type()
    reader.need_word("to")
    use(state, known, [first, reader.type()])


def _reinterpret(reader: Reader, state: OpState) -> None:
    """``%m to offset: [0], sizes: [2, %n], strides: [%s, 1] : T to U``."""
    source = [reader.operand()]
    reader.need_word("to")
    groups: list[list[Operand]] = []
    for word in ("offset", "sizes", "strides"):
        if groups:
            reader.need(",")
        reader.need_word(word)
        reader.need(":")
        static, dynamic = mixed(reader)
        state.attributes[f"static_{word if word != 'offset' else 'offsets'}"] = dense(static)
        groups.append(dynamic)
    dictionary(reader, state)
    reader.need(":")
    use(state, source, [reader.type()])
    for group in groups:
        indexes(state, group)
    segments(state, 1, *map(len, groups))
    reader.need_word("to")
    state.result_types = [reader.type()]


def _transpose(reader: Reader, state: OpState) -> None:
    """``%m (i, j) -> (j, i) : T to U``."""
    source = [reader.operand()]
    names = reader.listed("(", ")", reader.word)
    reader.need("->")
    order = [names.index(name) if name in names else reader.fail(f"unknown dimension '{name}'") for name in reader.listed("(", ")", reader.word)]
    state.attributes["permutation"] = AffineMapAttr(AffineMap(len(names), 0, tuple(AffineDimExpr(d) for d in order)))
    dictionary(reader, state)
    reader.need(":")
    use(state, source, [reader.type()])
    reader.need_word("to")
    state.result_types = [reader.type()]


def _global(reader: Reader, state: OpState) -> None:
    """``"private" constant @name : T = dense<...>``."""
    if reader.peek() == '"':
        state.attributes["sym_visibility"] = StringAttr(reader.string())
    elif reader.next_word() in ("private", "public", "nested"):
        state.attributes["sym_visibility"] = StringAttr(reader.word())
    keyword(reader, state, "constant")
    state.attributes["sym_name"] = StringAttr(reader.symbol())
    reader.need(":")
    type = reader.type()
    state.attributes["type"] = type
    if reader.accept("="):
        state.attributes["initial_value"] = _initial(reader, type)
    dictionary(reader, state)


def _initial(reader: Reader, type: Attribute) -> Attribute:
    if reader.accept_word("uninitialized"):
        return UnitAttr()
    if not isinstance(type, MemRefType):
        reader.fail("a global is a memref")
    buffer = cast("MemRefType[Any]", type)
    position = reader.skip()
    if reader.accept_dense():
        return reader.dense(cast(Any, tensor(buffer.get_shape(), buffer.element_type)))
    reader.fail("the value of a global is written dense<...>", position)


def _get_global(reader: Reader, state: OpState) -> None:
    state.attributes["name"] = SymbolRefAttr(reader.symbol())
    dictionary(reader, state)
    reader.need(":")
    state.result_types = [reader.type()]


def _atomic(reader: Reader, state: OpState) -> None:
    """``addf %v, %m[%i] : (f64, T) -> f64``."""
    state.attributes["kind"] = integer(REDUCTIONS.index(reader.word_in(REDUCTIONS, "kind")))
    value = [reader.operand()]
    reader.need(",")
    target = [reader.operand()]
    known = bracketed(reader, "[", "]")
    dictionary(reader, state)
    reader.need(":")
    inputs, state.result_types = reader.function_type()
    use(state, value + target, inputs)
    indexes(state, known)


def _generic_atomic(reader: Reader, state: OpState) -> None:
    """``%m[%i] : T { ^bb0(%old: f64): ... }``."""
    target = [reader.operand()]
    known = bracketed(reader, "[", "]")
    reader.need(":")
    type = reader.type()
    use(state, target, [type])
    indexes(state, known)
    state.regions.append(reader.region())
    dictionary(reader, state)
    state.result_types = [element_of(type)]


def _scope(reader: Reader, state: OpState) -> None:
    state.result_types = types_if(reader)
    state.regions.append(ended(reader, reader.region(), "memref.alloca_scope.return"))
    dictionary(reader, state)


def _alignment(reader: Reader, state: OpState) -> None:
    known = [reader.operand()]
    reader.need(",")
    state.attributes["alignment"] = integer(reader.integer())
    dictionary(reader, state)
    reader.need(":")
    type = reader.type()
    use(state, known, [type])
    state.result_types = [type]


def _refused(reader: Reader, state: OpState) -> None:
    reader.fail(f"'{state.name}' is read in the generic form only, and has no meaning here")


# -- bufferization


def _to_tensor(reader: Reader, state: OpState) -> None:
    known = operands(reader)
    for word in ("restrict", "writable"):
        keyword(reader, state, word)
    dictionary(reader, state)
    reader.need(":")
    type = reader.type()
    use(state, known, [type])
    if reader.accept_word("to"):
        state.result_types = [reader.type()]
    else:  # texts of before MLIR 21
        buffer = cast("MemRefType[Any]", type)
        state.result_types = [tensor(buffer.get_shape(), buffer.element_type)]


def _to_buffer(reader: Reader, state: OpState) -> None:
    known = operands(reader)
    keyword(reader, state, "read_only")
    dictionary(reader, state)
    reader.need(":")
    type = reader.type()
    if reader.accept_word("to"):
        use(state, known, [type])
        state.result_types = [reader.type()]
    else:
        buffer = cast("MemRefType[Any]", type)
        use(state, known, [tensor(buffer.get_shape(), buffer.element_type)])
        state.result_types = [type]


def _materialize(reader: Reader, state: OpState) -> None:
    source = [reader.operand()]
    reader.need_word("in")
    for word in ("restrict", "writable"):
        keyword(reader, state, word)
    target = [reader.operand()]
    dictionary(reader, state)
    reader.need(":")
    inputs, state.result_types = reader.function_type()
    use(state, source + target, inputs)


def _alloc_tensor(reader: Reader, state: OpState) -> None:
    sizes, copied = bracketed(reader), list[Operand]()
    while reader.next_word() in ("copy", "size_hint"):
        word = reader.word()
        reader.need("=") if word == "size_hint" else None
        known = bracketed(reader) if word == "copy" else [reader.operand()]
        copied += known if word == "copy" else []
    dictionary(reader, state)
    reader.need(":")
    type = reader.type()
    indexes(state, sizes)
    use(state, copied, [type] * len(copied))
    segments(state, len(sizes), len(copied), 0)
    state.result_types = [type]


FORMS: dict[str, Form] = {
    "memref.alloc": Form(_alloc),
    "memref.alloca": Form(_alloc),
    "memref.alloca_scope": Form(_scope),
    "memref.alloca_scope.return": Form(one_yield),
    "memref.assume_alignment": Form(_alignment),
    "memref.atomic_rmw": Form(_atomic),
    "memref.atomic_yield": Form(one_yield),
    "memref.cast": Form(cast_to),
    "memref.collapse_shape": Form(collapse_shape),
    "memref.copy": Form(_copy),
    "memref.dealloc": Form(_one),
    "memref.dim": Form(dim),
    "memref.expand_shape": Form(expand_shape),
    "memref.extract_aligned_pointer_as_index": Form(_refused),
    "memref.extract_strided_metadata": Form(_refused),
    "memref.generic_atomic_rmw": Form(_generic_atomic),
    "memref.get_global": Form(_get_global),
    "memref.global": Form(_global),
    "memref.load": Form(load),
    "memref.memory_space_cast": Form(cast_to),
    "memref.prefetch": Form(_refused),
    "memref.rank": Form(rank),
    "memref.realloc": Form(_refused),
    "memref.reinterpret_cast": Form(_reinterpret),
    "memref.reshape": Form(reshape),
    "memref.store": Form(_store),
    "memref.subview": Form(extract_slice),
    "memref.transpose": Form(_transpose),
    "memref.view": Form(_refused),
    "bufferization.alloc_tensor": Form(_alloc_tensor),
    "bufferization.clone": Form(cast_to),
    "bufferization.dealloc_tensor": Form(_one),
    "bufferization.materialize_in_destination": Form(_materialize),
    "bufferization.to_buffer": Form(_to_buffer),
    "bufferization.to_memref": Form(_to_buffer),
    "bufferization.to_tensor": Form(_to_tensor),
}
