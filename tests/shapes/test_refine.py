"""The pass ``refine-shapes``: what it writes, and what it refuses and where."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.ir.pipeline.passes import Pipeline
from wengert.ir.printing.printer import print_module
from wengert.ir.verification.verifier import verify
from wengert.transforms.pipelines import parse_pipeline
from wengert.transforms.shapes.argument_shapes import read_shape, shape_text

V = "tensor<?xf64>"


def refined(text: str, options: str) -> str:
    module = parse_module(text, "open.mlir")
    verify(module, text)
    parse_pipeline(f"refine-shapes{options}").run(module)
    verify(module)
    return print_module(module)


FLAT = """func.func public @main(%x: tensor<?x4xf64>, %k: tensor<i32>) -> tensor<?xf64> {
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf64>) -> tensor<i32>
  %c = stablehlo.constant dense<4> : tensor<i32>
  %m = stablehlo.multiply %n, %c : tensor<i32>
  %s = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>
  %0 = stablehlo.dynamic_reshape %x, %s : (tensor<?x4xf64>, tensor<1xi32>) -> tensor<?xf64>
  return %0 : tensor<?xf64>
}"""


class TestThePass:
    def test_writes_the_static_form(self) -> None:
        assert refined(FLAT, '{shapes="3x4",keep}') == (
            "module {\n"
            "  func.func public @main(%x: tensor<3x4xf64>, %k: tensor<i32>) -> tensor<12xf64> {\n"
            "    %0 = stablehlo.reshape %x : (tensor<3x4xf64>) -> tensor<12xf64>\n"
            "    return %0 : tensor<12xf64>\n"
            "  }\n"
            "}\n"
        )

    @pytest.mark.parametrize("options", ['{shapes="3x4"}', "{shapes=3x4}", '{fn=main shapes="3x4",keep}', '{shapes="3x4",""}'])
    def test_options_in_several_spellings(self, options: str) -> None:
        assert "tensor<12xf64>" in refined(FLAT, options)

    def test_prints_as_it_parses(self) -> None:
        text = 'refine-shapes{fn=f shapes="3x4",keep,"","2"}'
        assert str(Pipeline.parse(text)) == text

    def test_leaves_a_static_program_as_it_is(self) -> None:
        text = "func.func @main(%x: tensor<f64>) -> tensor<f64> {\n  %0 = stablehlo.sine %x : tensor<f64>\n  return %x : tensor<f64>\n}"
        assert "stablehlo.sine" in refined(text, "")

    def test_refines_another_function_than_main(self) -> None:
        text = refined(FLAT.replace("@main", "@f"), "{fn=f shapes=2x4}")
        assert "@f(%x: tensor<2x4xf64>" in text

    def test_keeps_places(self) -> None:
        module = parse_module(FLAT, "open.mlir")
        parse_pipeline("refine-shapes{shapes=3x4}").run(module)
        assert 'loc("open.mlir":6:3)' in print_module(module, locations=True)

    @given(st.one_of(st.none(), st.lists(st.integers(0, 99), max_size=4).map(tuple)))
    def test_shapes_are_read_as_they_are_written(self, shape: tuple[int, ...] | None) -> None:
        assert read_shape(shape_text(shape)) == shape


def main(signature: str, *lines: str, functions: str = "") -> str:
    return "\n".join([f"{functions}func.func public @main{signature} {{", *[f"  {line}" for line in lines], "}"])


REFUSED = {
    "a shape computed from elements": (
        main(
            f"(%x: {V}, %s: tensor<1xi32>) -> {V}",
            f"%0 = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [0] : ({V}, tensor<1xi32>) -> {V}",
            f"return %0 : {V}",
        ),
        "3,keep",
        2,
        "stablehlo.dynamic_broadcast_in_dim: output_dimensions is computed from the arguments' elements",
    ),
    "bounds computed from elements": (
        main(
            f"(%x: {V}, %s: tensor<1xi32>) -> {V}",
            f"%0 = stablehlo.real_dynamic_slice %x, %s, %s, %s : ({V}, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> {V}",
            f"return %0 : {V}",
        ),
        "3",
        2,
        "stablehlo.real_dynamic_slice: start_indices is computed",
    ),
    "padding computed from elements, between static types": (
        main(
            "(%x: tensor<2xf64>, %v: tensor<f64>, %s: tensor<1xi32>) -> tensor<5xf64>",
            "%0 = stablehlo.dynamic_pad %x, %v, %s, %s, %s : (tensor<2xf64>, tensor<f64>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<5xf64>",
            "return %0 : tensor<5xf64>",
        ),
        "",
        2,
        "stablehlo.dynamic_pad: edge_padding_low is computed",
    ),
    "operands that differ": (
        main(f"(%x: {V}, %y: {V}) -> {V}", f"%0 = stablehlo.add %x, %y : {V}", f"return %0 : {V}"),
        "3,4",
        2,
        "stablehlo.add: operands must have the same type, found tensor<3xf64> and tensor<4xf64>",
    ),
    "a result type that says otherwise": (
        main(f"(%x: {V}) -> tensor<4xf64>", f"%0 = stablehlo.concatenate %x, %x, dim = 0 : ({V}, {V}) -> tensor<4xf64>", "return %0 : tensor<4xf64>"),
        "3",
        2,
        "stablehlo.concatenate: result type tensor<4xf64> does not match the inferred tensor<6xf64>",
    ),
    "a loop that grows what it carries": (
        main(
            f"(%x: {V}) -> {V}",
            f"%0 = stablehlo.while(%a = %x) : {V}",
            "cond {",
            "  %t = stablehlo.constant dense<true> : tensor<i1>",
            "  stablehlo.return %t : tensor<i1>",
            "} do {",
            f"  %b = stablehlo.concatenate %a, %a, dim = 0 : ({V}, {V}) -> {V}",
            f"  stablehlo.return %b : {V}",
            "}",
            f"return %0 : {V}",
        ),
        "3",
        2,
        "stablehlo.while: carries value #0 as tensor<3xf64> into the first iteration and as tensor<6xf64> into the second",
    ),
    "branches of different shapes": (
        main(
            f"(%x: {V}, %i: tensor<i32>) -> {V}",
            '%0 = "stablehlo.case"(%i) ({',
            f"  stablehlo.return %x : {V}",
            "}, {",
            f"  %b = stablehlo.concatenate %x, %x, dim = 0 : ({V}, {V}) -> {V}",
            f"  stablehlo.return %b : {V}",
            f"}}) : (tensor<i32>) -> {V}",
            f"return %0 : {V}",
        ),
        "3",
        2,
        "stablehlo.case: its branches return tensor<3xf64> and tensor<6xf64> as result #0",
    ),
    "an unknown custom call": (
        main(f"(%x: {V}) -> {V}", f"%0 = stablehlo.custom_call @mystery(%x) : ({V}) -> {V}", f"return %0 : {V}"),
        "3",
        2,
        "stablehlo.custom_call: the extents of its result tensor<?xf64> do not follow from its operands",
    ),
    "an unregistered op": (
        main(f"(%x: {V}) -> {V}", f'%0 = "foo.bar"(%x) : ({V}) -> {V}', f"return %0 : {V}"),
        "3",
        2,
        "foo.bar: the extents of its result",
    ),
    "a function that is only declared": (
        main(f"(%x: {V}) -> {V}", f"%0 = call @f(%x) : ({V}) -> {V}", f"return %0 : {V}", functions=f"func.func private @f(%x: {V}) -> {V}\n"),
        "3",
        3,
        "@f is only declared",
    ),
    "a derivative in the text": (
        main(
            f"(%x: {V}, %y: {V}) -> ({V}, {V})",
            f"%0, %1 = ad.vjp @f(%x) cotangents(%y) wrt = [0], of = [0] : ({V}, {V}) -> ({V}, {V})",
            f"return %0, %1 : {V}, {V}",
            functions=f"func.func private @f(%x: {V}) -> {V} {{\n  return %x : {V}\n}}\n",
        ),
        "3,3",
        5,
        "ad.vjp: asks for something of @f, whose types are open",
    ),
    "a failed assertion": (
        main(
            f"(%x: {V}) -> {V}",
            f"%n = stablehlo.get_dimension_size %x, dim = 0 : ({V}) -> tensor<i32>",
            "%c = stablehlo.constant dense<4> : tensor<i32>",
            "%p = stablehlo.compare GE, %n, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>",
            'stablehlo.custom_call @shape_assertion(%p, %n, %c) {error_message = "found {0}, wanted {1} or more", has_side_effect = true} : (tensor<i1>, tensor<i32>, tensor<i32>) -> ()',
            f"return %x : {V}",
        ),
        "3",
        5,
        "found 3, wanted 4 or more",
    ),
    "a shape that is not given": (FLAT, "", 1, "argument 0 of @main has the type tensor<?x4xf64>, and its shape is not given"),
    "a shape of another rank": (FLAT, "3", 1, "argument 0 of @main has the type tensor<?x4xf64>, which the shape 3 does not fit"),
    "a shape that contradicts the type": (FLAT, "3x5", 1, "which the shape 3x5 does not fit"),
    "too many shapes": (FLAT, "3x4,keep,2", 1, "@main has 2 arguments, but 3 shapes are given"),
    "a shape beyond its bound": (
        main("(%x: tensor<?xf64, #stablehlo.bounds<4>>)", "return"),
        "5",
        1,
        "by which the extent of dimension 0 is at most 4, found 5",
    ),
}


@pytest.mark.parametrize(("text", "shapes", "place", "message"), REFUSED.values(), ids=REFUSED)
def test_refused_by_name_and_place(text: str, shapes: str, place: int, message: str) -> None:
    module = parse_module(text, "open.mlir")
    with pytest.raises(DiagnosticError) as caught:
        parse_pipeline(f"refine-shapes{{shapes={shapes}}}" if shapes else "refine-shapes").run(module)
    diagnostic = caught.value.diagnostic
    assert message in diagnostic.message
    assert (diagnostic.file, diagnostic.line) == ("open.mlir", place)
    assert diagnostic.column > 0


def test_other_passes_refuse_open_extents() -> None:
    for pass_ in ("vjp", "jvp", "linearize", "batch{size=2}", "jacfwd", "jacrev", "vjp-direct"):
        with pytest.raises(DiagnosticError, match="needs static shapes, found tensor<"):
            parse_pipeline(pass_).run(parse_module(FLAT))


# -- custom calls that take extents


REDUCER = "func.func @add(%a: tensor<f64>, %b: tensor<f64>) -> tensor<f64> {\n  %0 = stablehlo.add %a, %b : tensor<f64>\n  return %0 : tensor<f64>\n}\n"
EXTENT = f"%n = stablehlo.get_dimension_size %x, dim = 0 : ({V}) -> tensor<i32>"
LIST = "%l = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>"
CALLS = {
    "dynamic_top_k": (
        main(
            f"(%x: {V}) -> {V}",
            EXTENT,
            "%o = stablehlo.constant dense<1> : tensor<i32>",
            "%k = stablehlo.subtract %n, %o : tensor<i32>",
            f"%0:2 = stablehlo.custom_call @stablehlo.dynamic_top_k(%x, %k) : ({V}, tensor<i32>) -> ({V}, tensor<?xi32>)",
            f"return %0#0 : {V}",
        ),
        "chlo.top_k(%x, k = 3) : tensor<4xf64> -> (tensor<3xf64>, tensor<3xi32>)",
    ),
    "dynamic_approx_top_k": (
        main(
            f"(%x: {V}, %i: tensor<?xi32>, %v: tensor<f64>, %j: tensor<i32>) -> {V}",
            EXTENT,
            LIST,
            f"%0:2 = stablehlo.custom_call @stablehlo.dynamic_approx_top_k(%x, %i, %v, %j, %n, %l, %l) {{called_computations = [@top_k_gt], indices_of_shape_operands = dense<[5, 6]> : "
            f"tensor<2xi64>, mhlo.backend_config = {{reduction_dim = 0 : i64}}}} : ({V}, tensor<?xi32>, tensor<f64>, tensor<i32>, tensor<i32>, tensor<1xi32>, tensor<1xi32>) -> ({V}, tensor<?xi32>)",
            f"return %0#0 : {V}",
            functions="func.func @top_k_gt(%a: tensor<f64>) -> tensor<f64> {\n  return %a : tensor<f64>\n}\n",
        ),
        "@ApproxTopK(%x, %i, %v, %j) {called_computations = [@top_k_gt], mhlo.backend_config = {reduction_dim = 0 : i64, top_k = 4 : i64}}",
    ),
    "dynamic_rng_bit_generator": (
        main(
            f"(%x: {V}, %s: tensor<2xui64>) -> tensor<?xui32>",
            EXTENT,
            LIST,
            "%0:2 = stablehlo.custom_call @stablehlo.dynamic_rng_bit_generator(%s, %l) {rng_algorithm = #stablehlo<rng_algorithm DEFAULT>} : (tensor<2xui64>, tensor<1xi32>) -> "
            "(tensor<2xui64>, tensor<?xui32>)",
            "return %0#1 : tensor<?xui32>",
        ),
        "stablehlo.rng_bit_generator %s, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)",
    ),
    "dynamic_reduce_window": (
        main(
            f"(%x: {V}, %v: tensor<f64>) -> {V}",
            EXTENT,
            LIST,
            "%o = stablehlo.constant dense<1> : tensor<1xi32>",
            "%p = stablehlo.constant dense<[[2, 1]]> : tensor<1x2xi32>",
            f"%0 = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%x, %v, %l, %o, %o, %o, %p) {{called_computations = [@add]}} : ({V}, tensor<f64>, tensor<1xi32>, tensor<1xi32>, "
            f"tensor<1xi32>, tensor<1xi32>, tensor<1x2xi32>) -> {V}",
            f"return %0 : {V}",
            functions=REDUCER,
        ),
        "window_dimensions = array<i64: 4>",
    ),
    "indices_of_shape_operands": (
        main(
            f"(%x: {V}) -> {V}",
            EXTENT,
            LIST,
            f"%0 = stablehlo.custom_call @anything(%x, %l) {{indices_of_shape_operands = dense<1> : tensor<1xi64>}} : ({V}, tensor<1xi32>) -> {V}",
            f"return %0 : {V}",
        ),
        "stablehlo.custom_call @anything(%x) : (tensor<4xf64>) -> tensor<4xf64>",
    ),
}


@pytest.mark.parametrize(("text", "expected"), CALLS.values(), ids=CALLS)
def test_custom_calls_that_take_extents(text: str, expected: str) -> None:
    actual = refined(text, '{shapes="4","4"}' if "%i: tensor<?xi32>" in text else '{shapes="4"}')
    assert expected in actual
    assert "?" not in actual


def test_positions_that_became_a_constant_are_positions() -> None:
    """Of few elements an iota is evaluated, as arithmetic on shapes is: a reduction with its positions is an argmin all the same."""
    text = main(
        f"(%x: {V}) -> (tensor<f64>, tensor<i32>)",
        EXTENT,
        LIST,
        "%p = stablehlo.dynamic_iota %l, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>",
        "%inf = stablehlo.constant dense<0x7FF0000000000000> : tensor<f64>",
        "%z = stablehlo.constant dense<0> : tensor<i32>",
        f"%0:2 = stablehlo.reduce(%x init: %inf), (%p init: %z) across dimensions = [0] : ({V}, tensor<?xi32>, tensor<f64>, tensor<i32>) -> (tensor<f64>, tensor<i32>)",
        """ reducer(%a: tensor<f64>, %b: tensor<f64>) (%i: tensor<i32>, %j: tensor<i32>) {
    %1 = stablehlo.compare LT, %a, %b, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %2 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %3 = stablehlo.or %1, %2 : tensor<i1>
    %4 = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %5 = stablehlo.compare LT, %i, %j, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %6 = stablehlo.and %4, %5 : tensor<i1>
    %7 = stablehlo.or %3, %6 : tensor<i1>
    %8 = stablehlo.select %3, %a, %b : tensor<i1>, tensor<f64>
    %9 = stablehlo.select %7, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %8, %9 : tensor<f64>, tensor<i32>
  }""",
        "return %0#0, %0#1 : tensor<f64>, tensor<i32>",
    )
    assert "core.argreduce" in str(wg.parse(text).specialize((4,)).core_module)
