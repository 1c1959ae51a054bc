"""The custom forms of ``arith``, ``math``, ``complex`` and ``index``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, ComplexType, DenseIntOrFPElementsAttr, FloatAttr, IndexType, IntegerAttr
from xdsl.ir import Attribute, Operation

from wengert.dialects.upstream import written_forms as written
from wengert.dialects.upstream.forms import Form, boolean, dictionary, element_of, flags, integer, operands, use, with_element
from wengert.ir.parsing.operations import OpState, Reader
from wengert.ir.printing.printer import Unwritable, Writer
from wengert.ir.tensor_types import i1

INDEX = IndexType()
CMPI = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
"""Integer predicates by number."""
CMPF = ("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true")
"""Floating-point predicates by number."""


def _same(reader: Reader, state: OpState) -> None:
    """``%a, %b flags {} : T``: operands and result of one type."""
    known = operands(reader)
    flags(reader, state)
    dictionary(reader, state)
    reader.need(":")
    type = reader.type()
    use(state, known, [type] * len(known))
    state.result_types = [type]


def _same_or_given(reader: Reader, state: OpState) -> None:
    """``%a, %b : T, U``: one type for each operand, or one for all; the result has the first."""
    known = operands(reader)
    flags(reader, state)
    dictionary(reader, state)
    reader.need(":")
    types = reader.types()
    use(state, known, types if len(types) == len(known) else [types[0]] * len(known))
    state.result_types = [types[0]]


def _test(reader: Reader, state: OpState) -> None:
    """``%a : T``: a boolean."""
    _same(reader, state)
    state.result_types = [boolean(state.operand_types[0])]


def _cast(reader: Reader, state: OpState) -> None:
    """``%a flags : T to U``."""
    known = operands(reader)
    flags(reader, state)
    dictionary(reader, state)
    reader.need(":")
    types = [reader.type()]
    while reader.accept(","):
        types.append(reader.type())
    use(state, known, types)
    reader.need_word("to")
    state.result_types = [reader.type()]


def _compare(predicates: tuple[str, ...]) -> Any:
    def read(reader: Reader, state: OpState) -> None:
        quoted = reader.peek() == '"'
        position = reader.skip()
        word = reader.string() if quoted else reader.word_in(predicates, "predicate")
        if word not in predicates:
            reader.fail(f"unknown predicate '{word}'", position)
        state.attributes["predicate"] = integer(predicates.index(word))
        reader.need(",")
        _test(reader, state)

    return read


def _select(reader: Reader, state: OpState) -> None:
    """``%c, %a, %b : T``, or ``: C, T`` where the condition is no single boolean."""
    known = operands(reader)
    flags(reader, state)
    dictionary(reader, state)
    reader.need(":")
    types = reader.types()
    use(state, known, [i1 if len(types) == 1 else types[0], types[-1], types[-1]])
    state.result_types = [types[-1]]


def _constant(reader: Reader, state: OpState) -> None:
    dictionary(reader, state)
    value = reader.attribute()
    state.attributes["value"] = value
    state.result_types = [_type_of(reader, value)]


def _type_of(reader: Reader, value: Attribute) -> Attribute:
    if isinstance(value, IntegerAttr | FloatAttr | DenseIntOrFPElementsAttr):
        return cast(Attribute, value.type)  # pyright: ignore[reportUnknownMemberType]
    own = getattr(value, "type", None)
    if own is None:
        reader.fail("expected a constant with a type", hint="such as 1 : index, 2.0 : f64 or dense<0.0> : tensor<4xf64>")
    return cast(Attribute, own)


def _extended_add(reader: Reader, state: OpState) -> None:
    """``%a, %b : T, i1``: the sum and whether it overflows."""
    _same_or_given_types(reader, state, 2)


def _extended_product(reader: Reader, state: OpState) -> None:
    """``%a, %b : T``: the low and the high half."""
    _same(reader, state)
    state.result_types = [state.result_types[0]] * 2


def _same_or_given_types(reader: Reader, state: OpState, results: int) -> None:
    known = operands(reader)
    dictionary(reader, state)
    reader.need(":")
    types = reader.types()
    use(state, known, [types[0]] * len(known))
    state.result_types = types if len(types) == results else [types[0], boolean(types[0])]


def _clamp(reader: Reader, state: OpState) -> None:
    """``%x to [%low, %high] : T``."""
    known = [reader.operand()]
    reader.need_word("to")
    known += reader.listed("[", "]", reader.operand)
    flags(reader, state)
    dictionary(reader, state)
    reader.need(":")
    type = reader.type()
    use(state, known, [type] * 3)
    state.result_types = [type]


def _two(reader: Reader, state: OpState) -> None:
    """``%x : T``: two results of this type."""
    _same(reader, state)
    state.result_types = [state.result_types[0]] * 2


# -- the same, written


def _write_same(op: Operation, writer: Writer) -> None:
    """``%a, %b : T``; what has other attributes or types is left to the generic form."""
    if op.attributes or op.properties or len({value.type for value in (*op.operands, *op.results)}) != 1:
        raise Unwritable
    writer.write(f" {writer.values(op.operands)} : {writer.types([op.results[0].type])}")


def _write_cast(op: Operation, writer: Writer) -> None:
    """``%a : T to U``."""
    if op.attributes or op.properties:
        raise Unwritable
    source, target = [value.type for value in op.operands], [op.results[0].type]
    writer.write(f" {writer.values(op.operands)} : {writer.types(source)} to {writer.types(target)}")


def _write_compare(predicates: tuple[str, ...]) -> Any:
    def write(op: Operation, writer: Writer) -> None:
        """``predicate, %a, %b : T``."""
        attributes = {**op.attributes, **op.properties}
        predicate = attributes.pop("predicate", None)
        if attributes or not isinstance(predicate, IntegerAttr) or not 0 <= predicate.value.data < len(predicates):
            raise Unwritable
        type = op.operands[0].type
        if type != op.operands[1].type or op.results[0].type != with_element(type, i1):
            raise Unwritable
        writer.write(f" {predicates[predicate.value.data]}, {writer.values(op.operands)} : {writer.types([op.operands[0].type])}")

    return write


def _write_constant(op: Operation, writer: Writer) -> None:
    """``1.0 : f64``."""
    attributes = {**op.attributes, **op.properties}
    value = attributes.pop("value", None)
    if attributes or value is None or getattr(value, "type", None) != op.results[0].type:
        raise Unwritable
    writer.write(f" {writer.attribute_text(value)}")


# -- complex


def real_of(type: Attribute) -> Attribute:
    """The type of the parts of a complex value."""
    element = element_of(type)
    return with_element(type, cast(Attribute, element.element_type)) if isinstance(element, ComplexType) else type  # pyright: ignore[reportUnknownMemberType]


def _part(reader: Reader, state: OpState) -> None:
    _same(reader, state)
    state.result_types = [real_of(state.operand_types[0])]


def _create(reader: Reader, state: OpState) -> None:
    known = operands(reader)
    dictionary(reader, state)
    reader.need(":")
    type = reader.type()
    use(state, known, [real_of(type)] * 2)
    state.result_types = [type]


def _complex_constant(reader: Reader, state: OpState) -> None:
    dictionary(reader, state)
    state.attributes["value"] = value = reader.attribute()
    position = reader.skip()
    reader.need(":")
    type = reader.type()
    if not isinstance(value, ArrayAttr) or not isinstance(type, ComplexType):
        reader.fail("a complex constant is written [1.0, 2.0] : complex<f64>", position)
    state.result_types = [type]


# -- index


def _index(reader: Reader, state: OpState) -> None:
    known = operands(reader)
    dictionary(reader, state)
    use(state, known, [INDEX] * len(known))
    state.result_types = [INDEX]


def _index_compare(reader: Reader, state: OpState) -> None:
    word = reader.word_in(CMPI, "predicate")
    state.attributes["pred"] = reader.unregistered("index.cmp_predicate", f" {word}", opaque=True)
    known = reader.listed("(", ")", reader.operand)
    dictionary(reader, state)
    use(state, known, [INDEX] * 2)
    state.result_types = [i1]


def _index_constant(reader: Reader, state: OpState) -> None:
    state.attributes["value"] = integer(reader.integer(), INDEX)
    dictionary(reader, state)
    state.result_types = [INDEX]


def _index_boolean(reader: Reader, state: OpState) -> None:
    state.attributes["value"] = reader.attribute()
    state.result_types = [i1]


def _index_cast(reader: Reader, state: OpState) -> None:
    _cast(reader, state)


def _none(reader: Reader, state: OpState) -> None:
    dictionary(reader, state)
    state.result_types = [INDEX]


def _all(dialect: str, names: str, read: Any, write: Any = None) -> Iterable[tuple[str, Form]]:
    return ((f"{dialect}.{name}", Form(read, write)) for name in names.split())


ARITH_SAME = (
    "addf addi andi ceildivsi ceildivui divf divsi divui floordivsi maximumf maxnumf maxsi maxui minimumf minnumf minsi minui mulf muli negf ori "
    "remf remsi remui shli shrsi shrui subf subi xori"
)
_ARITH_CASTS = "bitcast extf extsi extui fptosi fptoui index_cast index_castui sitofp truncf trunci uitofp scaling_extf scaling_truncf convertf"
MATH_SAME = (
    "absf absi acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh ctlz ctpop cttz erf erfc exp exp2 expm1 floor fma ipowi log log10 log1p "
    "log2 powf round roundeven rsqrt sin sinh sqrt tan tanh trunc"
)
COMPLEX_SAME = "add atan2 conj cos div exp expm1 log log1p mul neg pow rsqrt sign sin sqrt sub tan tanh"
_INDEX_SAME = "add and ceildivs ceildivu divs divu floordivs maxs maxu mins minu mul or rems remu shl shrs shru sub xor"

FORMS: dict[str, Form] = {
    **dict(_all("arith", ARITH_SAME, _same, _write_same)),
    **dict(_all("arith", _ARITH_CASTS, _cast, _write_cast)),
    **dict(_all("math", MATH_SAME, _same, _write_same)),
    **dict(_all("math", "isfinite isinf isnan isnormal", _test, written.part(written.tested))),
    **dict(_all("complex", COMPLEX_SAME, _same, _write_same)),
    **dict(_all("complex", "abs angle im re", _part, written.part(real_of))),
    **dict(_all("complex", "eq neq", _test, written.part(written.tested))),
    **dict(_all("index", _INDEX_SAME, _index)),
    **dict(_all("index", "casts castu", _index_cast)),
    "arith.addui_extended": Form(_extended_add),
    "arith.subui_extended": Form(_extended_add),
    "arith.cmpf": Form(_compare(CMPF), _write_compare(CMPF)),
    "arith.cmpi": Form(_compare(CMPI), _write_compare(CMPI)),
    "arith.constant": Form(_constant, _write_constant),
    "arith.mulsi_extended": Form(_extended_product),
    "arith.mului_extended": Form(_extended_product),
    "arith.select": Form(_select, written.select),
    "math.clampf": Form(_clamp),
    "math.fpowi": Form(_same_or_given),
    "math.sincos": Form(_two),
    "complex.bitcast": Form(_cast),
    "complex.constant": Form(_complex_constant),
    "complex.create": Form(_create, written.made),
    "complex.powi": Form(_same_or_given),
    "index.bool.constant": Form(_index_boolean),
    "index.cmp": Form(_index_compare),
    "index.constant": Form(_index_constant),
    "index.sizeof": Form(_none),
}
