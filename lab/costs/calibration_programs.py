"""Small programs of every class of kernel, whose times the machine model is fitted to."""

# A table of functions of traced arrays, whose parameters have no types.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import wengert.numpy as wnp
from wengert.frontends.transforms.control_flow import cond, fori_loop, scan, while_loop
from wengert.frontends.transforms.jit import jit
from wengert.runtime.loading import parse
from wengert.runtime.program import Program

Function = Callable[..., Any]
Shape = tuple[int, ...]


def programs() -> Iterator[Program]:
    """The programs, in both precisions."""
    for precision, dtype in (("f64", np.float64), ("f32", np.float32)):
        for name, function, shapes in _FUNCTIONS:
            yield _named(jit(function).program(*[np.zeros(shape, dtype) for shape in shapes]), f"{name} {precision}")
        for name, text in _TEXTS:
            yield parse(text.replace("f64", precision).replace("1.0e300", "1.0e30"), f"{name} {precision}")


def _named(program: Program, name: str) -> Program:
    return Program(program.module, entry=program.entry, name=name)


def _chain(x: Any) -> Any:
    for _ in range(6):
        x = 0.5 * x * (1.0 - x) + 0.25
    return x


def _softmax(x: Any) -> Any:
    e = wnp.exp(x - wnp.max(x, axis=-1, keepdims=True))
    return e / wnp.sum(e, axis=-1, keepdims=True)


def _normalised(x: Any) -> Any:
    centred = x - wnp.mean(x, axis=-1, keepdims=True)
    return centred / wnp.sqrt(wnp.mean(centred * centred, axis=-1, keepdims=True) + 1e-5)


def _network(x: Any, w: Any, v: Any) -> Any:
    return wnp.mean(wnp.tanh(x @ w) @ v)


def _attention(x: Any, q: Any, k: Any, v: Any) -> Any:
    return _softmax(0.1 * (x @ q) @ wnp.matrix_transpose(x @ k)) @ (x @ v)


def _stencil(u: Any) -> Any:
    return u[1:-1, 1:-1] + 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1])


def _spd(a: Any) -> Any:
    return a @ wnp.matrix_transpose(a) + 3.0 * wnp.eye(a.shape[-1])


def _few_scalars(x: Any, y: Any, z: Any, u: Any, v: Any, w: Any) -> Any:
    return x * wnp.sin(y) + z, wnp.exp(u) - v / (w * w + 1.0), x + y, u * v


def _scalar_loop(x: Any) -> Any:
    return fori_loop(0, 50, lambda i, y: 0.3 * y * (1.0 - y) + 0.1, x)


def _vector_loop(x: Any) -> Any:
    return fori_loop(0, 20, lambda i, y: wnp.sin(y) + 0.1 * y, x)


def _recurrent(x: Any, h: Any, w: Any) -> Any:
    def step(state: Any, row: Any) -> Any:
        state = wnp.tanh(w @ state + row)
        return state, wnp.sum(state)

    return scan(step, h, x)


def _until(x: Any) -> Any:
    return while_loop(lambda y: wnp.sum(y) < 40.0, lambda y: 1.1 * y + 2.0 + wnp.sin(y), x)


def _choice(x: Any) -> Any:
    return cond(wnp.sum(x) > 0.0, lambda y: wnp.sin(y) * y, wnp.exp, x)


def _taken(x: Any) -> Any:
    rows = np.arange(0, 3 * x.shape[0], 3) % x.shape[0]
    return wnp.take(x, rows, axis=0) * 2.0


def _complex(x: Any, y: Any) -> Any:
    z = x + 1j * y
    return wnp.abs(wnp.exp(z) * z / (z + 2.0))


def _overwritten(x: Any) -> Any:
    return fori_loop(1, 20, lambda i, y: wnp.sin(y) * y[0] + x, x)


def _complex_scalars(x: Any, y: Any) -> Any:
    return wnp.abs((x + 1j * y) * (y - 1j * x) / (2.0 + 1j * x))


def _sorted(x: Any) -> Any:
    return wnp.sort(x, axis=-1) * wnp.cumulative_sum(x, axis=-1)


def _few_rows(x: Any, y: Any) -> Any:
    """Rows that are taken again and again, so that their cotangents are added up in few places."""
    return wnp.take(x, np.arange(y.shape[0]) % x.shape[0], axis=0) * y


def _elements(x: Any, y: Any) -> Any:
    return wnp.take(x, (7 * np.arange(y.shape[0])) % x.shape[0]) * y


def _nearest(x: Any, c: Any) -> Any:
    distances = wnp.sum((x[:, None, :] - c[None, :, :]) ** 2, axis=-1)
    return wnp.sum(wnp.take(c, wnp.argmin(distances, axis=1), axis=0) * x)


def _clipped(x: Any) -> Any:
    return wnp.where(x > 0.2, wnp.clip(x, -1.0, 1.0), 0.3 * x) + wnp.maximum(x, -0.5)


def _bands(x: Any) -> Any:
    return wnp.concat([x[:1], x[1:] - x[:-1], 0.5 * x[-1:]]) + wnp.pad(x[1:], (1, 1))


def _strided(x: Any) -> Any:
    return wnp.sum(wnp.reshape(x, (-1, 2)), axis=1) + x[::2] * x[1::2]


def _layers(x: Any, a: Any, b: Any, c: Any) -> Any:
    return wnp.tanh(wnp.tanh(x @ a) @ b) @ c


def _gated(x: Any, h: Any, w: Any, u: Any) -> Any:
    def step(state: Any, row: Any) -> Any:
        gate = 1.0 / (1.0 + wnp.exp(-(row @ w)))
        state = gate * state + (1.0 - gate) * wnp.tanh(state @ u)
        return state, state

    return scan(step, h, x)


def _oscillator(x: Any, k: Any) -> Any:
    def slope(y: Any) -> Any:
        return wnp.stack([y[1], -k[0] * wnp.sin(y[0]) - k[1] * y[1]])

    def step(i: Any, y: Any) -> Any:
        first = slope(y)
        return y + 0.05 * (first + slope(y + 0.1 * first))

    return fori_loop(0, 12, step, x)


def _powers(x: Any, a: Any) -> Any:
    return fori_loop(0, 8, lambda i, y: wnp.tanh(a @ y) + 0.1 * y, x)


def _steps_of_scalars(x: Any, y: Any) -> Any:
    def step(i: Any, state: Any) -> Any:
        a, b = state
        return a + 0.1 * a * (1.0 - b), b - 0.1 * b * (0.5 - a)

    return fori_loop(0, 25, step, (x, y))


def _rows_of_pairs(x: Any, y: Any) -> Any:
    d = x[:, None, :] - y[None, :, :]
    r = wnp.sqrt(wnp.sum(d * d, axis=-1) + 0.1)
    return wnp.sum(d / r[..., None], axis=1)


_FUNCTIONS: list[tuple[str, Function, list[Shape]]] = [
    *[(f"chain {n}", _chain, [(n,)]) for n in (5, 64, 1500, 40_000, 1_000_000)],
    *[(f"exp {n}", lambda x: wnp.exp(-x * x), [(n,)]) for n in (3, 40, 2000)],
    *[(f"log tanh {n}", lambda x: wnp.log(1.0 + x * x) + wnp.tanh(x), [(n,)]) for n in (6, 700)],
    *[(f"sin {n}", lambda x: wnp.sin(x) * wnp.cos(2.0 * x), [(n,)]) for n in (3, 40, 2000)],
    *[(f"power {n}", lambda x: (x * x + 1.0) ** 1.7, [(n,)]) for n in (6, 500)],
    *[(f"division {n}", lambda x: x / (1.0 + x * x) + 1.0 / (2.0 + x), [(n,)]) for n in (10, 900)],
    *[(f"root {n}", lambda x: wnp.sqrt(x * x + 1.0), [(n,)]) for n in (10, 900)],
    ("scalars", _few_scalars, [()] * 6),
    ("one scalar", lambda x: wnp.sin(x) * x, [()]),
    *[(f"sum {n}", lambda x: wnp.sum(x * x), [(n,)]) for n in (10, 3000, 100_000)],
    *[(f"sum of rows {m}x{n}", lambda x: wnp.sum(x * x, axis=1), [(m, n)]) for m, n in ((30, 7), (20, 150))],
    *[(f"sum of columns {m}x{n}", lambda x: wnp.sum(x * x, axis=0), [(m, n)]) for m, n in ((30, 7), (150, 20))],
    *[(f"softmax {m}x{n}", _softmax, [(m, n)]) for m, n in ((4, 6), (40, 64))],
    *[(f"normalised {m}x{n}", _normalised, [(m, n)]) for m, n in ((6, 8), (30, 64))],
    *[(f"sum of columns {m}x{n}", lambda x: wnp.sum(x * x, axis=0), [(m, n)]) for m, n in ((12, 5), (40, 9), (9, 16), (200, 3))],
    *[(f"sum of middle {k}x{m}x{n}", lambda x: wnp.sum(wnp.sin(x), axis=1), [(k, m, n)]) for k, m, n in ((6, 5, 7), (9, 12, 4), (5, 6, 16))],
    ("sum of outer and inner", lambda x: wnp.sum(x * x, axis=(0, 2)), [(8, 6, 10)]),
    *[(f"mean and variance {m}x{n}", lambda x: (x - wnp.mean(x, axis=0)) / wnp.sqrt(wnp.var(x, axis=0) + 0.1), [(m, n)]) for m, n in ((12, 5), (16, 8))],
    *[(f"clipped {n}", _clipped, [(n,)]) for n in (9, 600)],
    *[(f"bands {n}", _bands, [(n,)]) for n in (11, 60)],
    *[(f"strided {n}", _strided, [(n,)]) for n in (12, 200)],
    *[(f"few rows {m} of {n}", _few_rows, [(n, k), (m, k)]) for m, n, k in ((60, 4, 9), (80, 3, 2), (20, 10, 8))],
    *[(f"elements {m} of {n}", _elements, [(n,), (m,)]) for m, n in ((90, 40), (60, 3))],
    ("nearest", _nearest, [(30, 4), (3, 4)]),
    ("pairs", _rows_of_pairs, [(7, 3), (9, 3)]),
    ("outer", lambda x, y: wnp.sum(wnp.abs(x[:, None] - y[None, :]), axis=1), [(40,), (60,)]),
    ("maximum", lambda x: wnp.max(wnp.where(x > 0.1, x, 0.1 * x), axis=1), [(25, 30)]),
    ("argmax", lambda x: (wnp.argmax(x, axis=1), x + 1.0), [(20, 40)]),
    *[(f"product {n}", lambda a, b: a @ b, [(n, n), (n, n)]) for n in (3, 8, 20, 64, 200)],
    *[(f"product with vector {n}", lambda a, x: a @ x, [(n, n), (n,)]) for n in (6, 50, 300)],
    *[(f"products of {m}x{k} and {k}x{n}", lambda a, b: a @ b, [(m, k), (k, n)]) for m, k, n in ((6, 4, 9), (20, 5, 3), (3, 40, 10), (33, 17, 6))],
    *[(f"products of {b} of {m}x{k} and {k}x{n}", lambda x, y: x @ y, [(b, m, k), (b, k, n)]) for b, m, k, n in ((8, 3, 3, 3), (5, 6, 10, 4))],
    ("contraction of two dimensions", lambda a, b: wnp.tensordot(a, b, axes=((1, 3), (0, 1))), [(14, 3, 4, 4, 2), (3, 4, 5)]),
    ("contraction that copies", lambda a, b: wnp.einsum("abcd,ebd->aec", a, b), [(6, 4, 5, 3), (7, 4, 3)]),
    ("contraction of three", lambda a, b, c: wnp.einsum("ij,jkl,lm->ikm", a, b, c), [(3, 4), (4, 5, 6), (6, 2)]),
    ("products in a batch", lambda a, b: a @ b, [(12, 5, 7), (12, 7, 4)]),
    ("transposed product", lambda a, b: wnp.matrix_transpose(a) @ b, [(30, 18), (30, 22)]),
    *[(f"network {n}", _network, [(n, 10), (10, 16), (16, 3)]) for n in (4, 40)],
    *[(f"attention {n}", _attention, [(n, 12), (12, 12), (12, 12), (12, 12)]) for n in (6, 40)],
    *[(f"stencil {n}", _stencil, [(n, n)]) for n in (10, 70)],
    ("transposed", lambda x: wnp.matrix_transpose(x) * 2.0 + 1.0, [(60, 45)]),
    ("rolled", lambda x: wnp.roll(x, 3) * x + wnp.flip(x), [(500,)]),
    ("joined", lambda x, y: wnp.concat([x, y * 2.0, x + 1.0]), [(100,), (60,)]),
    ("taken", _taken, [(60, 9)]),
    *[(f"sorted {n}", _sorted, [(4, n)]) for n in (9, 120)],
    *[(f"running sum {n}", lambda x: wnp.cumulative_sum(x * x), [(n,)]) for n in (8, 600)],
    ("running product", wnp.cumulative_prod, [(30,)]),
    *[(f"cholesky {n}", lambda a: wnp.linalg.cholesky(_spd(a)), [(n, n)]) for n in (4, 24)],
    *[(f"solve {n}", lambda a, b: wnp.linalg.solve(_spd(a), b), [(n, n), (n,)]) for n in (4, 20)],
    *[(f"eigenvalues {n}", lambda a: wnp.linalg.eigh(_spd(a)), [(n, n)]) for n in (4, 12)],
    *[(f"qr {m}x{n}", lambda a: wnp.linalg.qr(a + 0.1), [(m, n)]) for m, n in ((6, 3), (20, 12))],
    *[(f"singular values {m}x{n}", lambda a: wnp.linalg.svd(a, full_matrices=False), [(m, n)]) for m, n in ((5, 3), (14, 9))],
    ("determinant", lambda a: wnp.linalg.slogdet(_spd(a)), [(10, 10)]),
    ("inverse", lambda a: wnp.linalg.inv(_spd(a)), [(8, 8)]),
    *[(f"fourier {n}", lambda x: wnp.abs(wnp.fft.fft(x)), [(n,)]) for n in (16, 300)],
    ("fourier of real", lambda x: wnp.abs(wnp.fft.rfft(x)), [(128,)]),
    *[(f"layers {n}", _layers, [(n, 5), (5, 8), (8, 6), (6, 2)]) for n in (1, 7)],
    *[(f"gated {n}x{k}", _gated, [(n, k), (k,), (k, k), (k, k)]) for n, k in ((5, 4), (6, 9))],
    ("gated rows", _gated, [(4, 3, 5), (3, 6), (5, 6), (6, 6)]),
    ("oscillator", _oscillator, [(2,), (2,)]),
    *[(f"powers {n}", _powers, [(n,), (n, n)]) for n in (3, 10)],
    ("steps of scalars", _steps_of_scalars, [(), ()]),
    ("scalar loop", _scalar_loop, [()]),
    ("vector loop", _vector_loop, [(40,)]),
    ("recurrent", _recurrent, [(15, 12), (12,), (12, 12)]),
    ("until", _until, [(5,)]),
    ("choice", _choice, [(6,)]),
    ("complex exponentials", _complex, [(60,), (60,)]),
    ("overwritten", _overwritten, [(25,)]),
    ("complex scalars", _complex_scalars, [(), ()]),
    *[(f"shared {n}", lambda x: wnp.sin(x) * x, [(n,)]) for n in (150_000, 600_000)],
    ("shared product", lambda a, b: a @ b, [(400, 400), (400, 400)]),
]

_UNARY = """func.func public @main(%x: tensor<{n}xf64>) -> tensor<{n}xf64> {{
  %0 = {op} %x : tensor<{n}xf64>{to}
  return %0 : tensor<{n}xf64>
}}"""
_STABLEHLO = ("exponential", "exponential_minus_one", "log", "log_plus_one", "tanh", "logistic", "sine", "cosine", "tan", "sqrt", "rsqrt", "cbrt")
_CHLO = ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "sinh", "erf", "erfc", "erf_inv", "lgamma", "digamma")

_CONVOLUTION = """func.func public @main(%x: tensor<2x{n}x{n}x{c}xf64>, %w: tensor<3x3x{c}x8xf64>) -> tensor<2x{n}x{n}x8xf64> {{
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {{pad = [[1, 1], [1, 1]]}}
    {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : (tensor<2x{n}x{n}x{c}xf64>, tensor<3x3x{c}x8xf64>) -> tensor<2x{n}x{n}x8xf64>
  return %0 : tensor<2x{n}x{n}x8xf64>
}}"""

_POOL = """func.func public @main(%x: tensor<2x{n}x{n}x4xf64>) -> tensor<2x{m}x{m}x4xf64> {{
  %z = stablehlo.constant dense<{start}> : tensor<f64>
  %0 = "stablehlo.reduce_window"(%x, %z) <{{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}}> ({{
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %1 = stablehlo.{kind} %a, %b : tensor<f64>
    stablehlo.return %1 : tensor<f64>
  }}) : (tensor<2x{n}x{n}x4xf64>, tensor<f64>) -> tensor<2x{m}x{m}x4xf64>
  return %0 : tensor<2x{m}x{m}x4xf64>
}}"""

_ROOTS = """func.func public @main(%x: tensor<{n}xf64>) -> tensor<{n}xf64> {{
  %0 = stablehlo.multiply %x, %x : tensor<{n}xf64>
  %1 = stablehlo.exponential %0 : tensor<{n}xf64>
  %2 = stablehlo.rsqrt %1 : tensor<{n}xf64>
  return %2 : tensor<{n}xf64>
}}"""

_TOP = """func.func public @main(%x: tensor<6x{n}xf64>) -> (tensor<6x3xf64>, tensor<6x3xi32>) {{
  %0:2 = chlo.top_k(%x, k = 3) : tensor<6x{n}xf64> -> (tensor<6x3xf64>, tensor<6x3xi32>)
  return %0#0, %0#1 : tensor<6x3xf64>, tensor<6x3xi32>
}}"""

_INTERPRETED = """func.func public @main(%x: tensor<{n}xcomplex<f64>>, %y: tensor<{n}xcomplex<f64>>) -> tensor<{n}xcomplex<f64>> {{
  %0 = stablehlo.atan2 %x, %y : tensor<{n}xcomplex<f64>>
  return %0 : tensor<{n}xcomplex<f64>>
}}"""

_BINARY = """func.func public @main(%x: tensor<{n}xf64>, %y: tensor<{n}xf64>) -> tensor<{n}xf64> {{
  %0 = stablehlo.{op} %x, %y : tensor<{n}xf64>
  return %0 : tensor<{n}xf64>
}}"""

_CONVERTED = """func.func public @main(%x: tensor<{n}xf64>, %i: tensor<{n}x{kind}>) -> (tensor<{n}xf64>, tensor<{n}x{kind}>) {{
  %0 = stablehlo.convert %i : (tensor<{n}x{kind}>) -> tensor<{n}xf64>
  %1 = stablehlo.multiply %0, %x : tensor<{n}xf64>
  %2 = stablehlo.convert %x : (tensor<{n}xf64>) -> tensor<{n}x{kind}>
  %3 = stablehlo.multiply %2, %i : tensor<{n}x{kind}>
  return %1, %3 : tensor<{n}xf64>, tensor<{n}x{kind}>
}}"""

_TEXTS = [
    *[(f"{op} {n}", _UNARY.format(n=n, op=f"stablehlo.{op}", to="")) for op in _STABLEHLO for n in (6, 300)],
    *[(f"{op} {n}", _UNARY.format(n=n, op=f"chlo.{op}", to=f" -> tensor<{n}xf64>")) for op in _CHLO for n in (6, 300)],
    *[(f"{op} {n}", _BINARY.format(n=n, op=op)) for op in ("power", "atan2", "remainder") for n in (6, 300)],
    *[(f"converted {kind}", _CONVERTED.format(n=200, kind=kind)) for kind in ("i32", "i64")],
    *[(f"interpreted {n}", _INTERPRETED.format(n=n)) for n in (4, 400)],
    *[(f"roots {n}", _ROOTS.format(n=n)) for n in (6, 300)],
    ("largest", _TOP.format(n=40)),
    *[(f"convolution {n}x{n}x{c}", _CONVOLUTION.format(n=n, c=c)) for n, c in ((6, 3), (14, 6))],
    *[(f"pool {kind} {n}", _POOL.format(n=n, m=n // 2, kind=kind, start=start)) for kind, n, start in (("maximum", 12, "-1.0e300"), ("add", 20, "0.0"))],
]
