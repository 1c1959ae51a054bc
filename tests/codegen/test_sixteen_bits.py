"""16-bit floats: sums, products and scatters are computed in f32 and rounded once; conversions without hardware."""

import ctypes

import llvmlite.binding as llvm
import ml_dtypes
import numpy as np
import pytest

from wengert.ir.parsing.parser import parse_module
from wengert.runtime.cpu import compile
from wengert.runtime.cpu.engine import Library
from wengert.runtime.interpreter import run
from wengert.transforms.codegen.cpu.entry import ENTRY
from wengert.transforms.codegen.cpu.program import generate
from wengert.transforms.codegen.llvm.half import half_conversions
from wengert.transforms.lowering import placed
from wengert.transforms.schedule.host import host
from wengert.transforms.schedule.target import GENERIC

TYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}


def check(text: str, *inputs: np.ndarray) -> None:
    module = parse_module(text)
    compiled = compile(module)
    assert not compiled.stats.interpreted
    (actual,), (expected,) = compiled(*inputs), run(module, list(inputs))
    assert actual.dtype == expected.dtype
    exact = ml_dtypes.finfo(actual.dtype).eps
    np.testing.assert_allclose(actual.astype(np.float64), expected.astype(np.float64), rtol=float(exact))


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("dims", ["0", "1", "0, 2", "1, 2"])
def test_sums_round_once(element: str, dims: str) -> None:
    kept = [n for d, n in enumerate((400, 5, 7)) if str(d) not in dims]
    after = f"tensor<{'x'.join(map(str, kept))}x{element}>"
    x = (1 + np.random.default_rng(0).random((400, 5, 7))).astype(TYPES[element])
    check(
        f"""func.func @main(%x: tensor<400x5x7x{element}>) -> {after} {{
        %z = stablehlo.constant dense<0.0> : tensor<{element}>
        %s = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [{dims}] : (tensor<400x5x7x{element}>, tensor<{element}>) -> {after}
        return %s : {after} }}""",
        x,
    )


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("combine", ["add", "multiply"])
def test_scatters_round_once(element: str, combine: str) -> None:
    x = np.ones((3, 4), TYPES[element])
    rows = np.random.default_rng(1).integers(-1, 4, (200, 1)).astype(np.int32)
    more = (1 + np.random.default_rng(2).random((200, 4)) / 100).astype(TYPES[element])
    check(
        f"""func.func @main(%x: tensor<3x4x{element}>, %i: tensor<200x1xi32>, %u: tensor<200x4x{element}>) -> tensor<3x4x{element}> {{
        %r = "stablehlo.scatter"(%x, %i, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
          scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> ({{
        ^bb0(%a: tensor<{element}>, %b: tensor<{element}>):
          %s = stablehlo.{combine} %a, %b : tensor<{element}>
          stablehlo.return %s : tensor<{element}>
        }}) : (tensor<3x4x{element}>, tensor<200x1xi32>, tensor<200x4x{element}>) -> tensor<3x4x{element}>
        return %r : tensor<3x4x{element}> }}""",
        x,
        rows,
        more,
    )


@pytest.mark.skipif(not llvm.get_process_triple().startswith("x86_64"), reason="F16C is a feature of x86-64")
def test_processors_without_conversions() -> None:
    """All 65536 numbers to f32 (times one) and back, by a target machine that has SSE2 only."""
    module = parse_module(
        "func.func @main(%x: tensor<65536xf16>) -> tensor<65536xf16> { %0 = stablehlo.negate %x : tensor<65536xf16>\n return %0 : tensor<65536xf16> }"
    )
    compile(module)  # sets LLVM up
    code = generate(placed(module, target="sse2"), GENERIC)
    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(cpu="x86-64", jit=True)
    image = machine.emit_object(llvm.parse_assembly(code.text))
    library = Library(image)
    x = np.arange(65536, dtype=np.uint16).view(np.float16)
    actual = np.empty_like(x)
    table = (ctypes.c_void_p * 3)(x.ctypes.data, actual.ctypes.data, None)
    assert ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(library.address(ENTRY))(table, None) == 0
    np.testing.assert_array_equal(actual, -x)


@pytest.mark.parametrize("shape", ["", "5x", "40x"])
@pytest.mark.parametrize("op", ["atan2 %0, %x", "atan2 %x, %0", "remainder %0, %x", "divide %0, %x", "power %0, %x"])
def test_numbers_that_were_f64_and_give_a_sign(shape: str, op: str) -> None:
    """A power is computed in f64; LLVM takes the sign of the number before it was rounded."""
    kind = f"tensor<{shape}f16>"
    x = np.random.default_rng(0).uniform(0.1, 2, [int(n) for n in shape.split("x") if n]).astype(np.float16)
    check(f"func.func @main(%x: {kind}) -> {kind} {{\n %0 = stablehlo.power %x, %x : {kind}\n %1 = stablehlo.{op} : {kind}\n return %1 : {kind}\n}}", x)


@pytest.mark.skipif(not llvm.get_process_triple().startswith("x86_64"), reason="F16C is a feature of x86-64")
@pytest.mark.parametrize("native", [False, True])
def test_doubles_are_rounded_once(native: bool) -> None:
    """As NumPy rounds them: ties and their neighbours, subnormal numbers, overflow, infinities and NaN."""
    compile(parse_module("func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }"))  # sets LLVM up
    if native and not host().target.has_f16:
        pytest.skip("this processor has no F16C")
    text = f"""define i16 @narrowed(double %x) {{
      %h = call half @__truncdfhf2(double %x)
      %b = bitcast half %h to i16
      ret i16 %b
    }}
    {half_conversions("half double", native=native)}"""
    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(cpu="x86-64", features="+f16c,+avx" if native else "", jit=True)
    library = Library(machine.emit_object(llvm.parse_assembly(text)))
    function = ctypes.CFUNCTYPE(ctypes.c_uint16, ctypes.c_double)(library.address("narrowed"))
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float64)
    ties = (halves[1:] + halves[:-1]) / 2
    numbers = [
        *np.nextafter(ties, 0)[::37],
        *ties[::37],
        *np.nextafter(ties, 1e9)[::37],
        *halves[::37],
        65519.999999,
        65520.0,
        1e300,
        5e-324,
        1e-40,
        np.inf,
        0.0,
    ]
    for number in [*numbers, *(-n for n in numbers)]:
        with np.errstate(over="ignore"):
            assert function(number) == np.float64(number).astype(np.float16).view(np.uint16), number
    assert np.isnan(np.uint16(function(np.nan)).view(np.float16))


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("sizes", [(1, 120, 70), (4, 70, 300), (9, 130, 200), (15, 64, 65), (300, 70, 1), (200, 90, 3), (250, 40, 8), (3, 5000, 3)])
@pytest.mark.parametrize("contracted", ["[1] x [0]", "[1] x [1]", "[0] x [0]", "[0] x [1]"])
def test_products_of_few_rows_or_columns(element: str, sizes: tuple[int, int, int], contracted: str) -> None:
    """The large operand is converted where it is read."""
    (m, k, n), (left, right) = sizes, (contracted[1], contracted[-2])
    shapes = ((m, k) if left == "1" else (k, m), (k, n) if right == "0" else (n, k))
    given = [f"tensor<{'x'.join(map(str, (2, *shape)))}x{element}>" for shape in shapes]
    dims = f"batching_dims = [0] x [0], contracting_dims = [{int(left) + 1}] x [{int(right) + 1}]"
    random = np.random.default_rng(0)
    check(
        f"""func.func @main(%x: {given[0]}, %y: {given[1]}) -> tensor<2x{m}x{n}x{element}> {{
        %0 = stablehlo.dot_general %x, %y, {dims} : ({given[0]}, {given[1]}) -> tensor<2x{m}x{n}x{element}>
        return %0 : tensor<2x{m}x{n}x{element}> }}""",
        *[random.integers(0, 8, (2, *shape)).astype(TYPES[element]) for shape in shapes],
    )
