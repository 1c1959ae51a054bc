"""What mutants and programs on other element types have found: texts that ended in internal errors, did not end, or gave other values on one backend."""

from __future__ import annotations

import contextlib
import re
from functools import partial

import ml_dtypes
import numpy as np
import pytest
from mutant_sources import SOURCES

import wengert as wg
from wengert.dialects.chlo.ops import Chlo
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.runtime.errors import ExecutionError, InputError, UnsupportedOpError

BACKENDS = ("interpreter", "cpu")


def test_complex_remainders_have_no_derivative() -> None:
    type = "tensor<2xcomplex<f64>>"
    program = wg.parse(f"func.func @main(%x: {type}, %y: {type}) -> {type} {{\n%r = stablehlo.remainder %x, %y : {type}\nreturn %r : {type}\n}}")
    for derive in (program.jvp, program.vjp, lambda: program.vjp(strategy="direct")):
        with pytest.raises(DiagnosticError, match=r"stablehlo.remainder has no derivative for complex numbers"):
            derive().text()


@pytest.mark.parametrize("element", ["f64", "complex<f32>"])
@pytest.mark.parametrize("name", sorted(op.name for op in Chlo.operations if hasattr(op, "operand")))
def test_unranked_tensors_are_not_computed_with(name: str, element: str) -> None:
    """What the verifier takes is refused with its place wherever a program is prepared."""
    type = f"tensor<*x{element}>"
    try:
        program = wg.parse(f'func.func @main(%x: {type}) -> {type} {{\n%r = "{name}"(%x) : ({type}) -> {type}\nreturn %r : {type}\n}}')
    except DiagnosticError:
        return
    for run in (program.compile, lambda: program(np.ones(2))):
        with pytest.raises(DiagnosticError, match="has no rank") as caught:
            run()
        assert type in str(caught.value)


TOP_K = """func.func @main(%x: tensor<4xf32>, %i: tensor<{count}xi32>, %v: tensor<f32>, %p: tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>) {{
  %0:2 = stablehlo.custom_call @ApproxTopK(%x, %i, %v, %p) {{called_computations = [@top_k_gt_f32], mhlo.backend_config = {{reduction_dim = {dimension} : i64, top_k = 2 : i64}}}} : (tensor<4xf32>, tensor<{count}xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
  return %0#0, %0#1 : tensor<2xf32>, tensor<2xi32>
}}
func.func private @top_k_gt_f32(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<i1> {{
  %0 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %0 : tensor<i1>
}}"""


@pytest.mark.parametrize(("count", "dimension", "message"), [(1, 0, "where it takes values, their positions"), (4, 1, "along dimension 1")])
def test_top_k_of_other_shapes(count: int, dimension: int, message: str) -> None:
    program = wg.parse(TOP_K.format(count=count, dimension=dimension))
    inputs = np.arange(4, dtype=np.float32), np.zeros(count, np.int32), np.float32(0), np.int32(0)
    for backend in BACKENDS:
        with pytest.raises(UnsupportedOpError, match=message):
            program.compile(backend)(*inputs)


@pytest.mark.parametrize("type", ["tensor<f32>", "tensor<2xf64>", "tensor<2x1xf32>"])
def test_top_k_of_other_results_is_not_known(type: str) -> None:
    text = TOP_K.format(count=4, dimension=0).replace(", %i: tensor<4xi32>", "").replace("tensor<2xf32>", type)
    program = wg.parse(text.replace("  %0:2", "  %i = stablehlo.iota dim = 0 : tensor<4xi32>\n  %0:2"))
    assert "ApproxTopK" in str(program.optimized_module)


@pytest.mark.parametrize(("before", "after"), [("trans_x = 78 : ui8", "trans_x = 2 : ui8"), ("diag = 78 : ui8, ", ""), ("side = 76 : ui8", "side = 1.5 : f64")])
def test_options_that_a_routine_does_not_have(before: str, after: str) -> None:
    text = """func.func @main(%a: tensor<2x2xf64>, %b: tensor<2x2xf64>) -> tensor<2x2xf64> {
      %0 = stablehlo.custom_call @lapack_dtrsm_ffi(%a, %b) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}} : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
      return %0 : tensor<2x2xf64>
    }"""
    wg.parse(text)(np.eye(2), np.eye(2))
    if after == "trans_x = 2 : ui8":
        for backend in BACKENDS:
            with pytest.raises(UnsupportedOpError, match="options that the routine does not have"):
                wg.parse(text.replace(before, after)).compile(backend)(np.eye(2), np.eye(2))
    else:
        wg.parse(text.replace(before, after)).vjp()


LAPACK = (
    ("lapack_dtrsm_ffi", "diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8", ["2x2xf64", "300x2xf64"], ["300x2xf64"]),
    ("lapack_dgetrf_ffi", "", ["2x2xf64"], ["2x2xf64", "1xi32", "i32"]),
    ("lapack_dgetrf_ffi", "", ["300x300xf64"], ["2x2xf64", "2xi32", "i32"]),
    ("lapack_dpotrf_ffi", "uplo = 76 : ui8", ["300x2xf64"], ["300x2xf64", "i32"]),
    ("lapack_dgesdd_ffi", "mode = 83 : ui8", ["4x3xf64"], ["4x3xf64", "1xf64", "4x3xf64", "3x3xf64", "i32"]),
    ("lapack_dsyevd_ffi", "mode = 86 : ui8, uplo = 76 : ui8", ["4x4xf64"], ["4x4xf64", "1xf64", "i32"]),
    ("lapack_sgtsv_ffi", "", ["1xf32", "4xf32", "4xf32", "4x1xf32"], ["1xf32", "4xf32", "4xf32", "4x1xf32", "i32"]),
)
"""Calls whose operands and results do not fit each other: LAPACK would write beyond a result."""


@pytest.mark.parametrize(("target", "options", "operands", "results"), LAPACK)
def test_extents_of_lapack_calls(target: str, options: str, operands: list[str], results: list[str]) -> None:
    inputs, outputs = ([f"tensor<{type}>" for type in types] for types in (operands, results))
    names = [f"%x{k}" for k in range(len(inputs))]
    arguments = ", ".join(f"{name}: {type}" for name, type in zip(names, inputs, strict=True))
    text = f"""func.func @main({arguments}) -> ({", ".join(outputs)}) {{
      %0:{len(outputs)} = stablehlo.custom_call @{target}({", ".join(names)}) {{mhlo.backend_config = {{{options}}}}} : ({", ".join(inputs)}) -> ({", ".join(outputs)})
      return {", ".join(f"%0#{k}" for k in range(len(outputs)))} : {", ".join(outputs)}
    }}"""
    program = wg.parse(text)
    given = [np.ones(p.shape, p.dtype) for p in program.signature.arguments]
    for backend in BACKENDS:
        with pytest.raises((DiagnosticError, UnsupportedOpError, InputError), match=r"custom_call|lapack"):
            program.compile(backend)(*given)


def test_names_that_are_no_unicode() -> None:
    text = 'func.func @main(%x: tensor<2xf64> {jax.arg_info = "\\FF"}) -> tensor<2xf64> { return %x : tensor<2xf64> }'
    np.testing.assert_array_equal(wg.parse(text)(np.ones(2))[0], np.ones(2))


@pytest.mark.parametrize("limit", [2**63 - 1, 10**18, -1])
def test_ranges_of_long_numbers_are_read_as_they_are_printed(limit: int) -> None:
    text = f"func.func @main(%x: tensor<8xf32>) -> tensor<3xf32> {{\n%r = stablehlo.slice %x [1:{limit}:2] : (tensor<8xf32>) -> tensor<3xf32>\nreturn %r : tensor<3xf32>\n}}"
    printed = print_module(parse_module(text))
    assert f"[1:{limit}:2]" in printed
    assert print_module(parse_module(printed)) == printed


def test_padding_of_other_shapes_is_written_in_the_generic_form() -> None:
    x, y = "tensor<1x4x2xf32>", "tensor<3x2x2xf32>"
    attributes = "batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64, padding = dense<1> : tensor<1x3xi64>"
    text = f"""func.func @main(%x: {x}, %k: {y}) -> {x} {{
      %r = "stablehlo.convolution"(%x, %k) <{{{attributes}}}> : ({x}, {y}) -> {x}
      return %r : {x}
    }}"""
    printed = print_module(parse_module(text))
    assert '"stablehlo.convolution"' in printed
    assert print_module(parse_module(printed)) == printed
    with pytest.raises(DiagnosticError, match="padding"):
        wg.parse(text)


@pytest.mark.parametrize(("exponent", "mantissa"), [(-1, 7), (8, -7), (8, 10**6)])
def test_formats_that_no_name_says_are_written_in_the_generic_form(exponent: int, mantissa: int) -> None:
    properties = f"exponent_bits = {exponent} : i32, mantissa_bits = {mantissa} : i32"
    text = f"""func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {{
  %0 = "stablehlo.reduce_precision"(%x) <{{{properties}}}> : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}}"""
    printed = print_module(parse_module(text))
    assert properties in printed
    assert print_module(parse_module(printed)) == printed


def test_scales_along_a_dimension_of_an_unranked_tensor() -> None:
    type = "tensor<*x!quant.uniform<i8:f32:1, {0.5:1,0.25}>>"
    text = f"func.func @main(%x: tensor<2x2xf32>) -> {type} {{\n%r = stablehlo.uniform_quantize %x : (tensor<2x2xf32>) -> {type}\nreturn %r : {type}\n}}"
    with pytest.raises(DiagnosticError, match="uniform_quantize on quantized numbers needs static shapes"):
        wg.parse(text)


@pytest.mark.parametrize("distribution", ["UNIFORM", "NORMAL"])
def test_random_numbers_of_a_format_without_zero(distribution: str) -> None:
    """They were written out in terms of themselves without an end."""
    scalar, result = "tensor<f8E8M0FNU>", "tensor<3x4xf8E8M0FNU>"
    text = f"""func.func @main(%a: {scalar}, %b: {scalar}) -> {result} {{
  %s = stablehlo.constant dense<[3, 4]> : tensor<2xi64>
  %r = stablehlo.rng %a, %b, %s, distribution = {distribution} : ({scalar}, {scalar}, tensor<2xi64>) -> {result}
  return %r : {result}
}}"""
    one = np.array(1, ml_dtypes.float8_e8m0fnu)
    for backend in BACKENDS:
        (numbers,) = wg.parse(text).compile(backend)(one, one)
        assert numbers.shape == (3, 4)


def test_a_future_as_an_argument() -> None:
    text = """func.func @main(%x: !stablehlo.future<tensor<2xf32>>) -> tensor<2xf32> {
  %r = "stablehlo.async_done"(%x) : (!stablehlo.future<tensor<2xf32>>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}"""
    for backend in BACKENDS:
        np.testing.assert_array_equal(wg.parse(text).compile(backend)(np.array([1, 2], np.float32))[0], [1, 2])


@pytest.mark.parametrize(("element", "dtype"), [("i4", ml_dtypes.int4), ("ui4", ml_dtypes.uint4), ("i2", ml_dtypes.int2)])
def test_positions_of_few_bits(element: str, dtype: type) -> None:
    text = f"""func.func @main(%x: tensor<9xf32>, %i: tensor<3x1x{element}>, %j: tensor<{element}>) -> (tensor<3xf32>, tensor<2xf32>) {{
  %0 = "stablehlo.gather"(%x, %i) <{{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}}> : (tensor<9xf32>, tensor<3x1x{element}>) -> tensor<3xf32>
  %1 = stablehlo.dynamic_slice %x, %j, sizes = [2] : (tensor<9xf32>, tensor<{element}>) -> tensor<2xf32>
  return %0, %1 : tensor<3xf32>, tensor<2xf32>
}}"""
    x, i, j = np.arange(9, dtype=np.float32), np.array([[1], [0], [1]], dtype), np.array(1, dtype)
    bars = np.array([1, 2, 3], np.float32), np.array([10, 20], np.float32)
    for backend in BACKENDS:
        picked, part = wg.parse(text).compile(backend)(x, i, j)
        np.testing.assert_array_equal(picked, [1, 0, 1])
        np.testing.assert_array_equal(part, [1, 2])
        for strategy in ("transpose", "direct"):
            *_, x_bar = wg.parse(text).vjp(wrt=0, strategy=strategy).compile(backend)(x, i, j, *bars)
            np.testing.assert_array_equal(x_bar, [2, 14, 20, 0, 0, 0, 0, 0, 0])


def test_shapes_that_are_said_to_be_of_billions_of_operands() -> None:
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.custom_call"(%x) {call_target_name = "f", indices_of_shape_operands = dense<0> : tensor<4294967297xi64>} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}"""
    with pytest.raises(DiagnosticError, match="must name an operand for each of the 1 results"):
        wg.parse(text).compile("interpreter")(np.ones(4, np.float32))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_future_of_elements_that_there_are_none_of(backend: str) -> None:
    text = """func.func @main() -> !stablehlo.future<tensor<0xtf32>> {
  %0 = "stablehlo.custom_call"() <{call_target_name = "f"}> : () -> !stablehlo.future<tensor<0xtf32>>
  return %0 : !stablehlo.future<tensor<0xtf32>>
}"""
    with pytest.raises(DiagnosticError, match=r"2:3: error: stablehlo\.custom_call computes with elements of type tf32, which are not supported"):
        wg.parse(text).compile(backend)


def test_no_entry_of_an_array_is_taken_for_an_open_extent() -> None:
    """2^63 is read as -2^63, the number that stands for an open extent in types: it is refused in every array of every op."""
    tried = 0
    for source in SOURCES:
        text = print_module(parse_module(source), generic=True)
        for array in re.finditer(r"array<i64: ([^>]*)>", text):
            entries = array[1].split(", ")
            for i in range(len(entries)):
                changed = [*entries[:i], str(2**63), *entries[i + 1 :]]
                with pytest.raises(DiagnosticError):
                    wg.parse(f"{text[: array.start(1)]}{', '.join(changed)}{text[array.end(1) :]}")
                tried += 1
    assert tried > 100


FACTORISATIONS = {
    "qr": lambda jax, a: jax.numpy.linalg.qr(a),
    "lu": lambda jax, a: jax.scipy.linalg.lu_factor(a),
    "eigh": lambda jax, a: jax.numpy.linalg.eigh(a),
    "eig": lambda jax, a: jax.numpy.linalg.eig(a),
    "svd": lambda jax, a: jax.numpy.linalg.svd(a),
    "cholesky": lambda jax, a: jax.numpy.linalg.cholesky(a),
    "triangular": lambda jax, a: jax.scipy.linalg.solve_triangular(a, a),
    "tridiagonal": lambda jax, a: jax.lax.linalg.tridiagonal(a)[0],
}


@pytest.mark.oracle
@pytest.mark.parametrize("name", FACTORISATIONS)
def test_extents_of_factorisations_that_are_wrong(name: str) -> None:
    """Custom calls have types that no rule infers: extents of operands and results that the routine does not have are refused where it runs."""
    square = np.random.default_rng(0).standard_normal((2, 4, 4)).astype(np.float32)
    x = square @ square.transpose(0, 2, 1) + 4 * np.eye(4, dtype=np.float32)
    jax = pytest.importorskip("jax", reason="the programs are lowered by JAX")
    text = jax.jit(partial(FACTORISATIONS[name], jax)).lower(x).as_text()
    tried = 0
    for call in re.finditer(r"custom_call @\w+.*?: (\(.*?\) -> .*)$", text, re.MULTILINE):
        for extent in re.finditer(r"(\d+)x", call[1]):
            at = call.start(1) + extent.start()
            for other in ("1x", "3x", ""):
                tried += 1
                try:
                    program = wg.parse(text[:at] + other + text[at + len(extent[0]) :])
                except DiagnosticError:
                    continue
                for backend in BACKENDS:
                    with contextlib.suppress(DiagnosticError, ExecutionError):
                        program.compile(backend)(x)
    assert tried > 5


HUGE = "tensor<9223372036854775807x0xi64>"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("op", "message"),
    [(f"stablehlo.constant dense<> : {HUGE}", "no array has the extents"), (f"stablehlo.iota dim = 0 : {HUGE}", r"extends over 64\.0 EiB")],
)
def test_arrays_without_elements_whose_other_extents_are_too_large(op: str, message: str, backend: str) -> None:
    """NumPy refuses them by the product of the extents that are not zero."""
    text = f"func.func @main() -> {HUGE} {{\n%r = {op}\nreturn %r : {HUGE}\n}}"
    with pytest.raises(DiagnosticError, match=message) as caught:
        wg.parse(text).compile(backend)()
    assert caught.value.diagnostic.line == 2
