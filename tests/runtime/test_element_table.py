"""Elementwise ops on every element type: what StableHLO takes is taken, both backends agree in values and types, folding agrees with them,
and derivatives have the types of what they are derivatives of."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from element_table import ELEMENTS, Array, Line, conversions, folded, inputs, lines, program
from reference_programs import share

import wengert as wg
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.ir.tensor_types import is_complex, is_float
from wengert.transforms.pipelines import parse_pipeline

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

NOT_COMPUTED = {("remainder", "complex<f32>"), ("remainder", "complex<f64>")}
"""StableHLO's verifier takes these, and nobody says what they are; they are refused by name where they are run."""

STRICTER = {"chlo.bessel_i1e": "no complex Bessel function here", "TOTALORDER": "an order of floats (the specification's compare C3 to C6)"}
"""What StableHLO's verifier takes and ours does not."""

WITHOUT_DERIVATIVE = {"chlo.next_after", "chlo.polygamma"}
"""Refused by name: a step of bits, and the order of polygamma."""


SUMS_OF_TERMS = {"chlo.lgamma": 8, "chlo.digamma": 32, "chlo.polygamma": 400}
"""How many units of the last place functions may be off that are sums of terms larger than themselves, numbers below 1 counting as 1."""


AMPLIFIED = 2e-5
"""How far a complex power may be off: the rounding of its logarithm times 7e10, the largest of the exponents here times a logarithm."""


def is_taken(element: str, line: Line) -> bool:
    try:
        wg.parse(program(element, line))
    except DiagnosticError:
        return False
    return True


def taken(element: str) -> dict[str, Line]:
    """The ops that take this element type and are computed."""
    return {name: line for name, line in lines(element).items() if (name, element) not in NOT_COMPUTED and is_taken(element, line)}


def bits_of(x: Array) -> tuple[Array, Array]:
    """The bytes of each element, and where it is NaN, whose bits do not matter."""
    wide = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64) if is_inexact(x.dtype) else x
    return np.ascontiguousarray(x).view(np.uint8).reshape((*x.shape, -1)), np.isnan(wide) if is_inexact(x.dtype) else np.zeros(x.shape, bool)


def same_bits(a: Array, b: Array, name: str = "") -> Array:
    """Where two arrays agree bit by bit, or are both NaN."""
    (x, x_nan), (y, y_nan) = bits_of(a), bits_of(b)
    return (x == y).all(-1) | (x_nan & y_nan)


def near(a: Array, b: Array, name: str) -> Array:
    """Where two arrays agree but for rounding; a complex number may be off in proportion to its modulus."""
    ulps, least = next(((ulps, 1.0) for op, ulps in SUMS_OF_TERMS.items() if name.startswith(op)), (8, 0.0))
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    slack = AMPLIFIED if a.dtype.kind == "c" and name.startswith("power") else ulps * float(ml_dtypes.finfo(a.dtype).eps)
    x, y = a.astype(wide), b.astype(wide)
    with np.errstate(all="ignore"):
        close = np.abs(x - y) <= slack * np.maximum(np.abs(y), least)
    parts = [np.array([read(x), read(y)]) for read in (np.real, np.imag)]
    same = [(p[0] == p[1]) | (np.isnan(p[0]) & np.isnan(p[1])) for p in parts]
    return close | (same[0] & same[1])


def agree(a: Array, b: Array, name: str) -> Array:
    return same_bits(a, b) | near(a, b, name) if is_inexact(a.dtype) else same_bits(a, b)


def is_inexact(dtype: np.dtype[Any]) -> bool:
    """Complex numbers and floats, those of ml_dtypes included."""
    return dtype.kind == "c" or "float" in dtype.name


def complaints(names: list[str], actual: list[Array], wanted: list[Array], compare: Any = agree) -> list[str]:
    said: list[str] = []
    for name, a, b in zip(names, actual, wanted, strict=True):
        if a.dtype != b.dtype or a.shape != b.shape:
            said.append(f"{name}: {a.dtype}{a.shape} instead of {b.dtype}{b.shape}")
        elif not (ok := compare(a, b, name)).all():
            k = int(np.argmin(ok))
            said.append(f"{name}[{k}]: {a[k]!r} instead of {b[k]!r}")
    return said


def simplified(text: str) -> list[Array]:
    """The results of a program without arguments after simplification."""
    module = parse_pipeline("simplify").applied(parse_module(text))
    return list(wg.Program(module).compile("interpreter")())


@pytest.mark.oracle
def test_what_is_taken() -> None:
    """Our verifier takes what StableHLO's takes."""
    mlir = pytest.importorskip("jax._src.interpreters.mlir")
    from jaxlib.mlir import ir

    context: Any = mlir.make_ir_context()
    wrong: list[str] = []
    for element in share(ELEMENTS, 3):
        for name, line in lines(element).items():
            with context:
                try:
                    ir.Module.parse(program(element, line)).operation.verify()
                    theirs = True
                except Exception:
                    theirs = False
            if theirs != is_taken(element, line) and not (theirs and any(key in name for key in STRICTER)):
                wrong.append(f"{name} of {element}: StableHLO {'takes' if theirs else 'refuses'} it")
    assert wrong == []


@pytest.mark.parametrize("element", share(ELEMENTS, 2))
def test_values(element: str) -> None:
    """Every op on both backends, and folded."""
    table = taken(element)
    p, xs = wg.parse(program(element, *table.values())), inputs(ELEMENTS[element], 1)
    slow, fast = list(p.compile("interpreter")(*xs)), list(p.compile()(*xs))
    assert [x.dtype for x in slow] == [r.dtype for r in p.signature.results]
    assert complaints(list(table), fast, slow) == []
    assert complaints([f"{name}, folded" for name in table], simplified(folded(element, xs, *table.values())), slow) == []


WITHOUT_ZERO = "f8E8M0FNU"
"""A format of powers of two alone: a derivative that needs a zero is refused."""


@pytest.mark.parametrize("element", share([e for e in ELEMENTS if is_float(ELEMENTS[e]) or is_complex(ELEMENTS[e])], 4))
def test_derivatives(element: str) -> None:
    """Both modes by both strategies, and batches, have the program's values and the types of its arguments and results."""
    table = {name: line for name, line in taken(element).items() if name not in WITHOUT_DERIVATIVE}
    p, xs = wg.parse(program(element, *table.values())), inputs(ELEMENTS[element], 2)
    if element == WITHOUT_ZERO:
        for derive in (p.jvp, p.vjp, lambda: p.vjp(strategy="direct")):
            with pytest.raises(DiagnosticError, match="f8E8M0FNU>, which has no zero, so that derivatives have no meaning in it"):
                derive()
        return
    of = [k for k, r in enumerate(p.signature.results) if r.differentiable]
    moved = [np.ones_like(x) for x in xs[:3]]
    pulled = [np.ones(p.signature.results[k].shape, p.signature.results[k].dtype) for k in of]
    primal = list(p.compile("interpreter")(*xs))
    programs = {
        "jvp": (p.jvp(), moved, [primal[k] for k in of]),
        "vjp": (p.vjp(), pulled, moved),
        "vjp-direct": (p.vjp(strategy="direct"), pulled, moved),
    }
    for mode, (derivative, seeds, like) in programs.items():
        for backend in ("interpreter", "cpu"):
            results = list(derivative.compile(backend)(*xs, *seeds))
            assert complaints([f"{name} in the {mode}, {backend}" for name in table], results[: len(primal)], primal) == []
            assert [r.dtype for r in results[len(primal) :]] == [x.dtype for x in like], (mode, backend)
    batch = list(p.vmap(size=2).compile()(*(np.stack([x, x[::-1]]) for x in xs)))
    assert complaints([f"{name} in a batch" for name in table], [y[0] for y in batch], primal) == []


@pytest.mark.parametrize("reduced", ["reduce", "reduce_window"])
def test_sums_without_zero(reduced: str) -> None:
    """A sum is not separated from its initial value where there is no zero to begin with, in texts, too; its derivatives are refused."""
    window = {"reduce": "dimensions = array<i64: 0>", "reduce_window": "window_dimensions = array<i64: 2>, window_strides = array<i64: 2>"}[reduced]
    result = {"reduce": f"tensor<{WITHOUT_ZERO}>", "reduce_window": f"tensor<3x{WITHOUT_ZERO}>"}[reduced]
    p = wg.parse(f"""
        func.func @main(%x: tensor<6x{WITHOUT_ZERO}>) -> {result} {{
          %one = stablehlo.constant dense<1.0> : tensor<{WITHOUT_ZERO}>
          %y = "stablehlo.{reduced}"(%x, %one) ({{
          ^bb0(%a: tensor<{WITHOUT_ZERO}>, %b: tensor<{WITHOUT_ZERO}>):
            %sum = stablehlo.add %a, %b : tensor<{WITHOUT_ZERO}>
            stablehlo.return %sum : tensor<{WITHOUT_ZERO}>
          }}) {{{window}}} : (tensor<6x{WITHOUT_ZERO}>, tensor<{WITHOUT_ZERO}>) -> {result}
          return %y : {result}
        }}""")
    x = np.array([1, 2, 4, 8, 1, 1], p.signature.arguments[0].dtype)
    expected = {"reduce": 16, "reduce_window": [4, 16, 4]}[reduced]
    again = wg.parse(str(wg.Program(p.optimized_module)))
    for either in (p, again):
        for backend in ("interpreter", "cpu"):
            assert complaints([reduced], list(either.compile(backend)(x)), [np.array(expected, x.dtype)]) == []


@pytest.mark.parametrize("strategy", ["transpose", "direct"])
def test_tangents_without_zero(strategy: str) -> None:
    """They are refused where they would come about, with the place, unless no derivative goes there."""
    p = wg.parse(f"""
        func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {{
          %s = stablehlo.convert %y : (tensor<4xf32>) -> tensor<4x{WITHOUT_ZERO}>
          %t = stablehlo.convert %s : (tensor<4x{WITHOUT_ZERO}>) -> tensor<4xf32>
          %z = stablehlo.multiply %x, %t : tensor<4xf32>
          return %z : tensor<4xf32>
        }}""")
    with pytest.raises(DiagnosticError, match=r":3:\d+: error: stablehlo.convert has a tangent of type tensor<4xf8E8M0FNU>, which has no zero"):
        p.vjp(strategy=strategy)
    x, y = np.array([1, 2, 3, 4], np.float32), np.array([1, 2, 4, 0.5], np.float32)
    _, x_bar = p.vjp(wrt=(0,), strategy=strategy)(x, y, np.ones(4, np.float32))
    assert complaints(["multiply"], [x_bar], [y]) == []


@pytest.mark.parametrize("source", share(ELEMENTS, 2))
def test_conversions(source: str) -> None:
    """To every element type, bit by bit on both backends, and folded."""
    table = conversions(source)
    p, xs = wg.parse(program(source, *table.values())), inputs(ELEMENTS[source], 3)
    slow, fast = list(p.compile("interpreter")(*xs)), list(p.compile()(*xs))
    assert complaints([f"to {target}" for target in table], fast, slow, same_bits) == []
    assert complaints([f"to {target}, folded" for target in table], simplified(folded(source, xs, *table.values())), slow, same_bits) == []
