"""VHLO as text is read: what is printed of it comes back, in the generic form and in the form that its functions have in StableHLO's tools."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from reference_programs import needs_corpus, share, texts

import wengert as wg
from wengert.dialects.vhlo.attributes import vhlo_type
from wengert.dialects.vhlo.versions import CURRENT
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.lab.opt import main as opt
from wengert.transforms.portable.from_vhlo import from_vhlo
from wengert.transforms.portable.to_vhlo import to_vhlo

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.mlir"))
FUNCTION = """#loc = loc("x")
vhlo.func_v1 @main(%arg0: !vhlo.tensor_v1<2x!vhlo.f32_v1> loc("x")) -> (!vhlo.tensor_v1<2x!vhlo.f32_v1>) {
  %0 = "vhlo.constant_v1"() <{value = #vhlo.tensor_v1<dense<2.000000e+00> : tensor<2xf32>>}> : () -> !vhlo.tensor_v1<2x!vhlo.f32_v1> loc(#loc)
  %1 = "vhlo.multiply_v1"(%0, %arg0) : (!vhlo.tensor_v1<2x!vhlo.f32_v1>, !vhlo.tensor_v1<2x!vhlo.f32_v1>) -> !vhlo.tensor_v1<2x!vhlo.f32_v1>
  "vhlo.return_v1"(%1) : (!vhlo.tensor_v1<2x!vhlo.f32_v1>) -> ()
} {arg_attrs = #vhlo.array_v1<[]>, res_attrs = #vhlo.array_v1<[]>, sym_visibility = #vhlo.string_v1<"public">}
"""
EVERY_ATTRIBUTE = """
func.func public @main(%x: tensor<2x3xf32> {jax.arg_info = "x"}, %b: tensor<?xf32, #stablehlo.bounds<4>>, %t: !stablehlo.token, %u: tensor<2xui8>) -> tensor<2x3xf32> {
  %c = stablehlo.constant dense<[[true, false, true], [false, false, true]]> : tensor<2x3xi1>
  %z = stablehlo.constant dense<(1.0, -2.0)> : tensor<2xcomplex<f64>>
  %0 = stablehlo.select %c, %x, %x : tensor<2x3xi1>, tensor<2x3xf32>
  %1 = stablehlo.exponential %0 {result_accuracy = #stablehlo.result_accuracy<atol = 1.000000e-03, ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>}
    : tensor<2x3xf32>
  %2 = stablehlo.dot_general %1, %x, contracting_dims = [1] x [1], precision = [HIGH, DEFAULT] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
  %3 = stablehlo.compare GE, %x, %x, TOTALORDER : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  %4 = stablehlo.custom_call @foreign(%x) {api_version = 4 : i32, backend_config = {k = 1 : i64, f = 0x7F800000 : f32}, called_computations = [@helper],
    output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]}
    : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %5 = stablehlo.tuple %4, %t : tuple<tensor<2x3xf32>, !stablehlo.token>
  %6 = stablehlo.uniform_quantize %x : (tensor<2x3xf32>) -> tensor<2x3x!quant.uniform<i8:f32, 3.400000e-01:16>>
  %7 = stablehlo.uniform_quantize %x : (tensor<2x3xf32>) -> tensor<2x3x!quant.uniform<i8:f32:1, {1.000000e-01:1, 2.000000e-01:2, 3.000000e-01:3}>>
  %8 = stablehlo.fft %z, type = FFT, length = [2] : (tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>>
  return %4 : tensor<2x3xf32>
}
func.func private @helper(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  return %x : tensor<2x3xf32>
}
"""


def comes_back(text: str, name: str) -> None:
    module = parse_module(text, name)
    written = to_vhlo(module, CURRENT)
    printed = print_module(written)
    again = parse_module(printed, name)
    assert print_module(again) == printed
    assert print_module(from_vhlo(again)) == print_module(from_vhlo(written))


def test_every_attribute_and_type_comes_back() -> None:
    comes_back(EVERY_ATTRIBUTE, "every")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples_come_back(path: Path) -> None:
    try:
        to_vhlo(parse_module(path.read_text(), path.name), CURRENT)
    except wg.DiagnosticError:
        pytest.skip("artifacts do not have all of its ops")
    comes_back(path.read_text(), path.name)


@needs_corpus
@pytest.mark.parametrize("path", share(texts("dev/*/*.mlir"), 10), ids=lambda p: p.stem)
def test_programs_come_back(path: Path) -> None:
    try:
        to_vhlo(parse_module(path.read_text(), path.name), CURRENT)
    except wg.DiagnosticError:
        pytest.skip("artifacts do not have all of its ops")
    comes_back(path.read_text(), path.name)


def test_functions_in_their_own_form() -> None:
    program = wg.parse(FUNCTION)
    y, x_bar = program.vjp()(np.array([1.0, 3.0], np.float32), np.ones(2, np.float32))
    assert np.array_equal(y, [2, 6])
    assert np.array_equal(x_bar, [2, 2])
    assert "func.func public @main(%arg0: tensor<2xf32>)" in str(program)


def test_types_of_functions_with_and_without_brackets() -> None:
    one = '"f"() {t = #vhlo.type_v1<!vhlo.func_v1<(!vhlo.i4_v1) -> %s>>} : () -> ()'
    assert str(parse_module(one % "!vhlo.token_v1")) == str(parse_module(one % "(!vhlo.token_v1)"))


def test_passes_take_text_of_vhlo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "p.vhlo.mlir"
    source.write_text(FUNCTION)
    assert opt([str(source)]) == 0
    assert '"vhlo.multiply_v1"(%0, %arg0)' in capsys.readouterr().out
    assert opt([str(source), "-p", "vhlo-to-stablehlo,vjp{wrt=0}"]) == 0
    assert "stablehlo.multiply" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ('#vhlo.strin_v1<"x">', r"t\.mlir:1:18: error: unknown attribute '#vhlo\.strin_v1'(.|\n)*did you mean 'string_v1'"),
        ("#vhlo<precision_v1 HI>", r"t\.mlir:1:31: error: unknown word 'HI'(.|\n)*did you mean 'HIGH'"),
        ("#vhlo.type_v1<!vhlo.tensor_v1<2x!vhlo.f33_v1>>", "unknown type '!vhlo.f33_v1'"),
        ("#vhlo.integer_v1<1.0>", "expected an integer with its type"),
        ("#vhlo.float_v1<1.0 : !vhlo.i32_v1>", "a float cannot be of type i32"),
        ("#vhlo.dict_v1<{#vhlo.bool_v1<true> = #vhlo.bool_v1<true>}>", "the key of a dictionary is a #vhlo.string_v1"),
        ("#vhlo.tensor_v1<1>", "expected a constant"),
        ("#vhlo.string_v1", "expected '<'"),
    ],
)
def test_mistakes_are_named_at_their_places(attribute: str, message: str) -> None:
    with pytest.raises(wg.DiagnosticError, match=message):
        parse_module(f'"f"() {{a = {attribute}}} : () -> ()', "t.mlir")


def test_deep_types_are_refused() -> None:
    deep = "!vhlo.complex_v1<" * 5000 + "!vhlo.f32_v1" + ">" * 5000
    with pytest.raises(wg.DiagnosticError, match="nest"):
        parse_module(f'"f"() {{a = #vhlo.type_v1<{deep}>}} : () -> ()', "t.mlir")


def test_types_without_counterpart_are_refused() -> None:
    with pytest.raises(ValueError, match="no type"):
        vhlo_type(parse_module('"f"() {a = memref<2xf32>} : () -> ()').body.block.first_op.attributes["a"])  # pyright: ignore[reportOptionalMemberAccess]
