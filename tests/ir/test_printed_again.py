"""What is printed is read again, by us and by JAX's parser, and means the same: every string, name, place and number."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects import builtin
from xdsl.dialects.builtin import FileLineColLoc, FloatAttr, FloatData, FusedLoc, IntAttr, LocationAttr, ModuleOp, NameLoc, NoneAttr, StringAttr, UnknownLoc
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from wengert.ir.construction import unverified
from wengert.ir.float_formats import Special, bits_of, format_of, value_of
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module

FLOATS: tuple[Attribute, ...] = (
    *(builtin.Float64Type(), builtin.Float32Type(), builtin.Float16Type(), builtin.BFloat16Type(), builtin.FloatTF32Type()),
    *(builtin.Float80Type(), builtin.Float128Type(), builtin.Float8E8M0FNUType()),
    *(builtin.Float8E5M2Type(), builtin.Float8E4M3Type(), builtin.Float8E3M4Type(), builtin.Float8E4M3FNType()),
    *(builtin.Float8E5M2FNUZType(), builtin.Float8E4M3FNUZType(), builtin.Float8E4M3B11FNUZType()),
    *(builtin.Float6E2M3FNType(), builtin.Float6E3M2FNType(), builtin.Float4E2M1FNType()),
)
JaxText = Callable[[str], str]


@pytest.fixture(scope="module")
def jax_text() -> JaxText:
    """A text as JAX prints what it reads, with places, in the generic form."""
    pytest.importorskip("jax")
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir

    context = mlir.make_ir_context()

    def again(text: str) -> str:
        with context:
            return ir.Module.parse(text).operation.get_asm(print_generic_op_form=True, enable_debug_info=True)

    return again


def bytes_as_text(data: bytes) -> str:
    """Any bytes as a string of our IR, where those that are no UTF-8 are lone surrogates."""
    return data.decode("utf-8", "surrogateescape")


STRINGS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"])), st.binary().map(bytes_as_text), st.sampled_from(["\ufeff", "φω", "\0", '"\\', "a\nb\tc\r\x7f"])
)
NUMBERS = st.integers(0, 2**32 - 1)
LOCATIONS: st.SearchStrategy[LocationAttr] = st.recursive(
    st.one_of(st.just(UnknownLoc()), st.builds(lambda f, a, b: FileLineColLoc(StringAttr(f), IntAttr(a), IntAttr(b)), STRINGS, NUMBERS, NUMBERS)),
    lambda inner: st.one_of(
        st.builds(lambda name, at: NameLoc(StringAttr(name), at), STRINGS, inner),
        st.builds(builtin.CallSiteLoc, inner, inner),
        st.builds(lambda parts: FusedLoc(builtin.ArrayAttr(parts), NoneAttr()), st.lists(inner, min_size=1, max_size=3)),
    ),
    max_leaves=5,
)


def function(name: str = "f", attributes: dict[str, Attribute] | None = None, location: LocationAttr | None = None) -> ModuleOp:
    """A module that declares a function."""
    declaration = FuncOp.external(name, [], [])
    declaration.attributes.update(attributes or {})
    declaration.location = location or UnknownLoc()
    return ModuleOp([declaration])


def read_again(module: ModuleOp) -> FuncOp:
    """The function, printed in both forms and read again."""
    functions: list[FuncOp] = []
    for generic in (False, True):
        again = parse_module(print_module(module, generic=generic, locations=True))
        assert again.is_structurally_equivalent(module)
        assert print_module(again, generic=generic, locations=True) == print_module(module, generic=generic, locations=True)
        declaration = again.body.block.first_op
        assert isinstance(declaration, FuncOp)
        functions.append(declaration)
    return functions[0]


@given(STRINGS, STRINGS, STRINGS)
def test_strings_names_and_keys(text: str, name: str, key: str) -> None:
    declaration = read_again(function(name, {key or "k": StringAttr(text)}))
    assert (declaration.sym_name.data, declaration.attributes[key or "k"]) == (name, StringAttr(text))


@given(LOCATIONS)
def test_places(location: LocationAttr) -> None:
    assert read_again(function(location=location)).location == location


def patterns(type: Attribute, count: int) -> Sequence[int]:
    """All bit patterns of a small format, and for others those at the ends of its ranges and some between."""
    format = format_of(type)
    assert format is not None
    if format.width <= 8:
        return range(1 << format.width)
    width, step = format.width, max((1 << format.width) // count, 1) | 1
    ends = [base + offset for base in (0, 1 << width - 1, 1 << format.fraction, (1 << width) - 1) for offset in (-1, 0, 1)]
    return [bits % (1 << width) for bits in (*ends, *range(0, 1 << width, step))]


def number(type: Attribute, bits: int) -> FloatAttr | None:
    """The number of a pattern as an attribute, if there is one."""
    format = format_of(type)
    assert format is not None
    value = value_of(bits, format)
    return None if value is None else unverified(FloatAttr, value=FloatData(value), type=type)


def same(one: float, other: float) -> bool:
    """Bit for bit, with the payloads of NaNs."""
    return struct.pack("<d", one) == struct.pack("<d", other)


@pytest.mark.parametrize("type", FLOATS, ids=str)
def test_numbers(type: Attribute) -> None:
    format = format_of(type)
    assert format is not None
    numbers_by_name = {f"n{bits:x}": attribute for bits in patterns(type, 200) if (attribute := number(type, bits)) is not None}
    again = read_again(function(attributes=dict(numbers_by_name)))
    for key, attribute in numbers_by_name.items():
        one, other = attribute.value.data, again.attributes[key].value.data  # pyright: ignore[reportAttributeAccessIssue]
        assert same(one, other), (key, one, other)
        assert bits_of(one, format) == int(key[1:], 16) or (format.special is not Special.IEEE and math.isnan(one))


@pytest.mark.oracle
@pytest.mark.parametrize("type", FLOATS, ids=str)
def test_jax_reads_the_same_numbers(type: Attribute, jax_text: JaxText) -> None:
    """JAX's reading of the numbers that we print is its reading of their bit patterns."""
    format = format_of(type)
    assert format is not None
    actual = {f"n{bits:x}": attribute for bits in patterns(type, 100) if (attribute := number(type, bits)) is not None}
    written = ", ".join(f"{key} = 0x{int(key[1:], 16):0{-(-format.width // 4)}X} : {type}" for key in actual)
    wanted = jax_text(f"module {{ func.func private @f() attributes {{{written}}} }}")
    assert jax_text(print_module(function(attributes=dict(actual)))).partition(" loc(")[0] == wanted.partition(" loc(")[0]


@pytest.mark.oracle
@given(STRINGS, STRINGS, LOCATIONS)
@settings(max_examples=60)
def test_jax_reads_the_same_strings_and_places(jax_text: JaxText, text: str, name: str, location: LocationAttr) -> None:
    module = function(name or "f", {"a": StringAttr(text)}, location)
    forms = {jax_text(print_module(module, generic=generic, locations=True)) for generic in (False, True)}
    assert len(forms) == 1
    again = parse_module(forms.pop())
    assert again.is_structurally_equivalent(module)


@pytest.mark.oracle
def test_jax_reads_programs_with_greek_names(jax_text: JaxText) -> None:
    import jax
    import jax.numpy as jnp

    @jax.jit
    def ωμέγα(x: jax.Array) -> jax.Array:
        with jax.named_scope("φάση"):
            return jnp.sin(x)

    text = jax.jit(lambda x: ωμέγα(x) * 2).lower(1.0).as_text(debug_info=True)
    assert "\\CF\\89" in text
    module = parse_module(text, "t.mlir")
    assert jax_text(print_module(module, locations=True)) == jax_text(print_module(module, generic=True, locations=True))
    assert any("ωμέγα" in op.sym_name.data for op in module.walk() if isinstance(op, FuncOp))


@pytest.mark.parametrize(
    "op",
    ['"arith.addi"(%i, %i) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i3', '"arith.cmpi"(%i, %i) <{predicate = 2 : i64}> : (i32, i32) -> i7'],
)
def test_an_op_of_another_dialect_that_its_short_form_does_not_say(op: str) -> None:
    """Its short form leaves out the types that it does not have, so that it is printed in full."""
    text = f"func.func @main(%i: i32) {{\n  %0 = {op}\n  return\n}}"
    printed = print_module(parse_module(text))
    assert print_module(parse_module(printed)) == printed
    assert op.partition(" ")[0] in printed


HINTS = st.sampled_from([None, "x", "x_0", "x_1", "x_2", "x_0_1", "y", "y_1"])


@given(st.lists(st.tuples(st.sampled_from(["constant", "sine"]), HINTS), min_size=1, max_size=7))
def test_names_stay_as_they_are_printed(ops: list[tuple[str, str | None]]) -> None:
    """Whatever names derivatives and passes leave: what they print is printed the same when it is read."""
    lines = ['%v0 = "stablehlo.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>']
    for number, (name, _) in enumerate(ops):
        value, operands, types = ("<{value = dense<2.0> : tensor<f32>}>", "", "") if name == "constant" else ("", f"%v{number}", "tensor<f32>")
        lines.append(f'%v{number + 1} = "stablehlo.{name}"({operands}) {value} : ({types}) -> tensor<f32>')
    module = parse_module("func.func @main() -> tensor<f32> {\n" + "\n".join(lines) + f"\nreturn %v{len(ops)} : tensor<f32>\n}}")
    made = [op for op in module.walk() if op.name.startswith("stablehlo.")]
    for op, (_, hint) in zip(made[1:], ops, strict=True):
        op.results[0].name_hint = hint
    text = print_module(module)
    assert print_module(parse_module(text)) == text
