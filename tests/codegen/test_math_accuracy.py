"""The vector math functions against references of higher precision: f32 against NumPy and SciPy in f64, f64 against mpmath.

Run as a script, it prints the largest errors over many more points, from which the table in `bounds.py` was made:

    python tests/codegen/test_math_accuracy.py [points per cluster] [function ...]
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special

from wengert.transforms.codegen.llvm.builder import FunctionBuilder
from wengert.transforms.codegen.llvm.math import BOUNDS, SUPPORTED, emit
from wengert.transforms.codegen.llvm.math.expressions import FORMATS

mp = pytest.importorskip("mpmath")
mp.mp.prec = 150

Array = NDArray[Any]
TYPES = {"f32": np.float32, "f64": np.float64}
INF, NAN = float("inf"), float("nan")
_modules: list[Any] = []


@cache
def compiled(function: str, element: str, lanes: int) -> Callable[..., Array]:
    """The function over whole arrays, `lanes` elements at a time."""
    arity, kind = SUPPORTED[function, element], FORMATS[element].llvm
    vector = kind if lanes == 1 else f"<{lanes} x {kind}>"
    builder = FunctionBuilder()
    arguments = ["%a", "%b"][:arity]
    loads = [f"{x}.at = getelementptr {kind}, ptr {x}.base, i64 %i\n{x} = load {vector}, ptr {x}.at, align 4" for x in arguments]
    result = emit(function, element, lanes, arguments, builder)
    text = "\n".join(
        [
            builder.module.text(),
            "define void @apply(ptr %a.base, ptr %b.base, ptr %y, i64 %n) {\nentry:\nbr label %loop\nloop:",
            "%i = phi i64 [0, %entry], [%next, %latch]",
            *loads,
            *builder.lines,
            f"%to = getelementptr {kind}, ptr %y, i64 %i\nstore {vector} {result}, ptr %to, align 4\nbr label %latch\nlatch:",
            f"%next = add i64 %i, {lanes}\n%more = icmp ult i64 %next, %n\nbr i1 %more, label %loop, label %done\ndone:\nret void\n}}",
        ]
    )
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(text)
    module.verify()
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2, jit=True)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    _modules.append(engine)
    pointer = ctypes.c_void_p
    entry = ctypes.CFUNCTYPE(None, pointer, pointer, pointer, ctypes.c_int64)(engine.get_function_address("apply"))

    def apply(*inputs: Array) -> Array:
        count = len(inputs[0])
        padded = [np.concatenate([x, x[: -count % lanes]]) if count % lanes else np.ascontiguousarray(x) for x in inputs]
        y = np.empty_like(padded[0])
        entry(padded[0].ctypes.data, padded[-1].ctypes.data, y.ctypes.data, len(y))
        return y[:count]

    return apply


def edge_values(dtype: type[Any]) -> Array:
    """Zeros, infinities, NaN, subnormal numbers, thresholds of overflow and underflow, neighbours of 1, with both signs."""
    info = np.finfo(dtype)
    least = float(info.smallest_subnormal)
    values = [0.0, least, 3 * least, 12345 * least, float(info.tiny), 1.5 * float(info.tiny), 0.75 * float(info.tiny), float(info.max)]
    values += [float(info.eps), 1e-30, 1e-10, 1e-5, 1e-3, 0.1, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 8.0, 9.0, 10.0, 20.0, INF, NAN]
    values += [1 + float(info.eps), 1 - float(info.eps) / 2, 87.3, 88.7, 89.0, 103.9, 104.0, 127.0, 128.0, 149.0, 150.0]
    values += [709.7, 709.79, 710.4, 744.5, 745.2, 1e4, 1e6]
    values += [np.pi / 4, np.pi / 2, np.pi, 2.0**15 + 0.5, 2.0**30 + 1, 1e10, 1e22, 2.0**62, 2.0**100, float(info.max) / 2, np.e, 1.4616321449683622]
    array = np.array(values, dtype)
    return np.concatenate([array, -array])


def points(dtype: type[Any], count: int, seed: int) -> Array:
    """The edges, random bit patterns over the whole range, and clusters where functions have zeros, poles or pieces."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2 ** (8 * np.dtype(dtype).itemsize), count, dtype=np.uint64).astype(f"u{np.dtype(dtype).itemsize}").view(dtype)
    exponents = rng.uniform(-1, 1, count) * (110 if dtype is np.float32 else 750)
    clusters = [
        rng.uniform(-1, 1, count),
        rng.uniform(0.3, 3, count),
        rng.uniform(-30, 30, count),
        exponents,
        1 + rng.uniform(-1, 1, count) * np.exp2(rng.uniform(-50, 0, count)),
        np.round(rng.uniform(-1e4, 1e4, count)) * (np.pi / 2),
        np.exp2(rng.uniform(-40, 5, count)) * np.sign(rng.uniform(-1, 1, count)),
    ]
    return np.concatenate([edge_values(dtype), bits, *(cluster.astype(dtype) for cluster in clusters)])


def trigamma(x: Array) -> Array:
    """SciPy's for positive numbers, and the reflection formula."""
    size = special.polygamma(1, np.where(x < 0, 1 - x, x))
    y = np.where(x < 0, (np.pi / np.sin(np.pi * np.fmod(x, 1))) ** 2 - size, size)
    return np.where((x <= 0) & (np.floor(x) == x), INF, y)


def exact_trigamma(x: Any) -> Any:
    """mpmath's, which steps to positive numbers one by one, after reflection."""
    return mp.polygamma(1, x) if x > 0 else (mp.pi / mp.sinpi(x)) ** 2 - mp.polygamma(1, 1 - x)


REFERENCE: dict[str, Callable[..., Any]] = {
    "bessel_i1e": lambda x: np.copysign(special.i1e(x), x),
    "logistic": special.expit,
    "erf": special.erf,
    "erfc": special.erfc,
    "erf_inv": lambda x: np.where(x == 0, x, special.erfinv(x)),
    "lgamma": lambda x: np.where(np.isinf(x), INF, special.gammaln(x)),
    "trigamma": trigamma,
    "digamma": lambda x: np.where((x <= 0) & (np.floor(x) == x), NAN, special.digamma(x)),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "atan2": np.arctan2,
    "pow": np.power,
}
EXACT: dict[str, Callable[..., Any]] = {
    "trigamma": exact_trigamma,
    "exp2": lambda x: mp.mpf(2) ** x,
    "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
    "bessel_i1e": lambda x: (
        mp.sign(x) * mp.besseli(1, abs(x)) * mp.exp(-abs(x))
        if abs(x) < 1e6
        else mp.sign(x) / mp.sqrt(2 * mp.pi * abs(x)) * (1 - 3 / (8 * abs(x)) - 15 / (128 * x * x))
    ),
    "logistic": lambda x: 1 / (1 + mp.exp(-x)),
    "rsqrt": lambda x: 1 / mp.sqrt(x),
    "erf_inv": mp.erfinv,
    "lgamma": lambda x: mp.loggamma(x) if x > 0 else mp.log(abs(mp.gamma(x))) if x > -1e5 else mp.log(mp.pi / abs(x * mp.sinpi(x))) - mp.loggamma(-x),
    "pow": mp.power,
}


def reference(function: str, inputs: tuple[Array, ...]) -> Array:
    """NumPy's or SciPy's result in f64: the value for f32, and the value at special points for f64."""
    with np.errstate(all="ignore"):
        return np.asarray((REFERENCE.get(function) or getattr(np, function))(*(x.astype(np.float64) for x in inputs)), dtype=np.float64)


def reflected_scale(function: str, inputs: tuple[Array, ...], expected: Array) -> Array:
    """The size relative to which an error counts: the terms that the reflection formulas of the gamma family subtract."""
    if function not in ("lgamma", "digamma", "trigamma"):
        return expected
    terms = np.maximum(1.0, np.abs(reference(function, (1 + np.abs(inputs[0].astype(np.float64)),)))) + np.abs(expected)
    return np.where((inputs[0] < 0) & np.isfinite(terms), terms, expected)


def same_special(got: Array, expected: Array) -> Array:
    """Equal infinities and zeros with their signs, and NaN where NaN is expected."""
    return (np.isnan(got) & np.isnan(expected)) | ((got == expected) & (np.signbit(got) == np.signbit(expected)))


def errors(function: str, element: str, inputs: tuple[Array, ...], got: Array) -> Array:
    """The error of each result in units of the last place; inf where a special value is wrong."""
    dtype = TYPES[element]
    info = np.finfo(dtype)
    expected = reference(function, inputs)
    minimum, fraction, top = info.minexp, info.nmant, 2.0**127 * 2 if element == "f32" else INF
    result = np.zeros(len(got))
    with np.errstate(all="ignore"):
        scale = reflected_scale(function, inputs, expected)
        special_point = ~np.isfinite(expected) | (expected == 0)
        result[special_point & ~same_special(got, expected)] = INF
        unit = np.ldexp(1.0, np.clip(np.frexp(scale)[1] - 1, minimum, info.maxexp - 1) - fraction)
        difference = np.abs(np.clip(got.astype(np.float64), -top, top) - np.clip(expected, -top, top)) / unit
        result = np.where(special_point, result, np.where(np.isnan(got), INF, difference))
    if element == "f32":
        return result
    # mpmath has no signed zeros; elsewhere it decides, also where NumPy overflows early.
    for i in np.flatnonzero(np.all([np.isfinite(x) & ((x != 0) | (len(inputs) == 1)) for x in inputs], axis=0)):
        if special_point[i] and result[i] == 0:
            continue
        result[i] = exact_error(function, [float(x[i]) for x in inputs], float(got[i]), float(unit[i]))
    return result


def exact_error(function: str, arguments: list[float], got: float, unit: float) -> float:
    """The error of one f64 result by mpmath, in the given unit or that of the exact result if it is larger."""
    try:
        exact = (EXACT.get(function) or getattr(mp, function))(*(mp.mpf(x) for x in arguments))
    except (ValueError, ZeroDivisionError):
        return INF
    if isinstance(exact, mp.mpc) or np.isnan(got):
        return INF
    value = mp.mpf(2) ** 1024 * (1 if got > 0 else -1) if np.isinf(got) else mp.mpf(got)
    exponent = max(mp.mag(exact) - 1, -1022) if exact else -1022
    own = mp.ldexp(1, min(exponent, 1023) - 52)
    return float(abs(value - max(min(exact, mp.mpf(2) ** 1024), -(mp.mpf(2) ** 1024))) / max(own, mp.mpf(unit) if np.isfinite(unit) else own))


def operands(function: str, element: str, count: int, seed: int) -> tuple[Array, ...]:
    """Random operands; for two, independent shuffles and moderate pairs."""
    dtype = TYPES[element]
    first = points(dtype, count, seed)
    if SUPPORTED[function, element] == 1:
        return (first,)
    rng = np.random.default_rng(seed)
    second = rng.permutation(points(dtype, count, seed + 1))
    base, power = rng.uniform(0, 20, 8 * count).astype(dtype), rng.uniform(-30, 30, 8 * count).astype(dtype)
    near, large = (1 + rng.normal(size=count) * 1e-3).astype(dtype), (rng.normal(size=count) * 1e4).astype(dtype)
    return np.concatenate([first, base, near]), np.concatenate([second, power, large])


def worst(function: str, element: str, lanes: int, count: int, seed: int = 0) -> tuple[float, tuple[float, ...]]:
    """The largest error and where it occurs."""
    inputs = operands(function, element, count, seed)
    error = errors(function, element, inputs, compiled(function, element, lanes)(*inputs))
    place = int(np.argmax(error))
    return float(error[place]), tuple(float(x[place]) for x in inputs)


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("function", sorted({name for name, _ in SUPPORTED}))
def test_error_is_within_the_stated_bound(function: str, element: str) -> None:
    error, place = worst(function, element, 16 if element == "f32" else 8, 3000 if element == "f32" else 60)
    assert error <= BOUNDS[function, element], f"{function} of {element} at {place}: {error:.3f} ulp"


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("function", sorted({name for name, _ in SUPPORTED}))
def test_scalars_and_vectors_agree(function: str, element: str) -> None:
    inputs = operands(function, element, 200, 1)
    scalar, vector = compiled(function, element, 1)(*inputs), compiled(function, element, 16 if element == "f32" else 8)(*inputs)
    np.testing.assert_array_equal(scalar, vector)
    np.testing.assert_array_equal(np.signbit(scalar[~np.isnan(scalar)]), np.signbit(vector[~np.isnan(vector)]))


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("function", ["pow", "atan2"])
def test_all_pairs_of_edge_values(function: str, element: str) -> None:
    """C99 annex F for every pair of zeros, infinities, NaN, subnormal, whole, odd and huge numbers."""
    info = np.finfo(TYPES[element])
    some = [0.0, float(info.smallest_subnormal), float(info.tiny), 1e-3, 0.5, 1 - float(info.eps) / 2, 1.0, 1 + float(info.eps), 1.5, 2.0, 3.0, 4.0]
    some += [2.0**info.nmant - 1, 2.0**info.nmant, 2.0 ** (info.nmant + 1), 2.0 ** (info.nmant + 2), float(info.max), INF, NAN]
    values = np.array([*some, *(-x for x in some)], TYPES[element])
    x, y = (grid.ravel() for grid in np.meshgrid(values, values))
    error = errors(function, element, (x, y), compiled(function, element, 8)(x, y))
    place = int(np.argmax(error))
    assert error[place] <= BOUNDS[function, element], f"{function}({x[place]}, {y[place]})"


@pytest.mark.parametrize(("triple", "processor"), [("x86_64-unknown-linux-gnu", "haswell"), ("aarch64-unknown-linux-gnu", "generic")])
def test_nothing_outside_the_module_is_called(triple: str, processor: str) -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(triple).create_target_machine(cpu=processor, opt=1, reloc="pic", codemodel="small")
    for (function, element), arity in SUPPORTED.items():
        vector, builder = f"<4 x {FORMATS[element].llvm}>", FunctionBuilder()
        result = emit(function, element, 4, ["%a", "%b"][:arity], builder)
        body = "\n".join([builder.module.text(), f"define {vector} @apply({vector} %a, {vector} %b) {{", *builder.lines, f"ret {vector} {result}\n}}"])
        assembly = machine.emit_assembly(llvm.parse_assembly(f'target triple = "{triple}"\n{body}'))
        called = re.findall(r"^\s+(?:callq?|bl|jmp|b)\s+([^\s.][\w.@]*)", assembly, re.MULTILINE)
        assert all(symbol.startswith("wg.math.") for symbol in called), (function, element, called)
        assert ("wg.math" in assembly) == (function in ("sin", "cos", "tan"))


def test_every_function_states_its_bound() -> None:
    assert BOUNDS.keys() == SUPPORTED.keys()
    assert all(BOUNDS[name, element] <= 2 for name in ("exp", "log", "tanh", "sin", "cos") for element in TYPES)
    assert max(BOUNDS.values()) <= 4


def main() -> None:
    """Prints the largest error of each function."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    chosen = sys.argv[2:] or sorted({name for name, _ in SUPPORTED})
    for function in chosen:
        for element, size in (("f32", 40 * count), ("f64", count)):
            error, place = max(worst(function, element, 8, size, seed) for seed in (0, 1))
            print(f'    ("{function}", "{element}"): {error:.2f},  # {place}', flush=True)


if __name__ == "__main__":
    main()
