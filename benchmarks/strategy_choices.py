"""``python -m benchmarks.strategy_choices [--precision f64,f32] [--json FILE]``: how often the choice of a strategy is right, on programs of no corpus.

Thirty functions of the kinds that people take Jacobians of, which the machine model was not fitted to and whose times nobody looked at while its features were
chosen: wide and narrow ones, with products, loops, branches, scatters, sorting and linear algebra, from 1 to some hundred arguments and results. Protocol and
figures are those of ``wengert conformance --strategies``: all batched plans are compiled and timed in turns, by one thread.
"""

# A table of functions of traced arrays, whose parameters have no types.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import wengert as wg
from wengert import numpy as wnp
from wengert.lab.plain import plain
from wengert.lab.strategies.accuracy import Chosen, choice_for, summary

Shapes = tuple[tuple[int, ...], ...]


def _robot_arm(q: Any, links: Any) -> Any:
    angles = wnp.cumulative_sum(q)
    return wnp.stack([wnp.sum(links * wnp.cos(angles)), wnp.sum(links * wnp.sin(angles)), angles[-1]])


def _gaussian_mixture(x: Any, m: Any, s: Any) -> Any:
    d = (x[:, None] - m[None, :]) / s[None, :]
    return wnp.log(wnp.sum(wnp.exp(-0.5 * d * d) / s[None, :], axis=1))


def _heat(u: Any, k: Any) -> Any:
    def step(i: Any, v: Any) -> Any:
        return v + k * wnp.pad(v[2:] - 2.0 * v[1:-1] + v[:-2], (1, 1))

    return wg.fori_loop(0, 10, step, u)


def _lorenz(x: Any, p: Any) -> Any:
    def step(i: Any, y: Any) -> Any:
        return y + 0.01 * wnp.stack([p[0] * (y[1] - y[0]), y[0] * (p[1] - y[2]) - y[1], y[0] * y[1] - p[2] * y[2]])

    return wg.fori_loop(0, 30, step, x)


def _newton(a: Any, y: Any) -> Any:
    return wg.while_loop(lambda x: wnp.max(wnp.abs(x * x - a)) > 1e-3, lambda x: 0.5 * (x + a / x), 1.0 + y * y)


def _camera(points: Any, pose: Any) -> Any:
    c, s = wnp.cos(pose[0]), wnp.sin(pose[0])
    turned = wnp.stack([c * points[:, 0] - s * points[:, 2], points[:, 1], s * points[:, 0] + c * points[:, 2]], axis=1) + pose[1:4]
    depth = turned[:, 2:] ** 2 + 1.0
    return pose[4] * turned[:, :2] / depth


def _autoencoder(x: Any, w: Any, v: Any) -> Any:
    return wnp.tanh(wnp.tanh(x @ w) @ v)


def _attention(q: Any, k: Any, v: Any) -> Any:
    s = q @ wnp.matrix_transpose(k) / 2.0
    e = wnp.exp(s - wnp.max(s, axis=-1, keepdims=True))
    return (e / wnp.sum(e, axis=-1, keepdims=True)) @ v


def _unrolled_cell(x: Any, h: Any, w: Any, u: Any) -> Any:
    for t in range(4):
        h = wnp.tanh(x[t] @ w + h @ u)
    return h


def _scanned_cell(x: Any, h: Any, w: Any, u: Any) -> Any:
    def step(state: Any, row: Any) -> Any:
        state = wnp.tanh(row @ w + state @ u)
        return state, wnp.sum(state)

    return wg.scan(step, h, x)


def _histogram(x: Any, w: Any) -> Any:
    bins = wnp.astype(wnp.clip(wnp.floor(3.0 * (x + 1.0)), 0.0, 5.0), np.int64)
    return wnp.at(wnp.zeros_like(w))[bins].add(x * x) * w


def _spring_chain(x: Any) -> Any:
    stretch = wnp.sqrt(1.0 + (x[1:] - x[:-1]) ** 2)
    force = (stretch - 1.0) / stretch * (x[1:] - x[:-1])
    return wnp.concat([force[:1], force[1:] - force[:-1], -force[-1:]])


def _least_squares(a: Any, b: Any) -> Any:
    return wnp.linalg.solve(wnp.matrix_transpose(a) @ a + 0.1 * wnp.astype(wnp.eye(a.shape[1]), a.dtype), wnp.matrix_transpose(a) @ b)


def _covariance(x: Any) -> Any:
    centred = x - wnp.mean(x, axis=0)
    return wnp.matrix_transpose(centred) @ centred / (x.shape[0] - 1.0)


def _ranked(x: Any, w: Any) -> Any:
    return wnp.sort(x) * w


def _relu_layers(x: Any, a: Any, b: Any) -> Any:
    return wnp.maximum(wnp.maximum(a @ x, 0.0) - b, 0.0) ** 2


def _polynomial(c: Any, x: Any) -> Any:
    y = 0.0 * x
    for k in range(c.shape[0]):
        y = y * x + c[k]
    return y


def _kernel_matrix(x: Any, y: Any, length: Any) -> Any:
    d = x[:, None, :] - y[None, :, :]
    return wnp.exp(-wnp.sum(d * d, axis=-1) / (length * length))


def _option_prices(s: Any, k: Any, v: Any) -> Any:
    d = (wnp.log(s / k) + 0.5 * v * v) / v
    return s / (1.0 + wnp.exp(-1.7 * d)) - k / (1.0 + wnp.exp(-1.7 * (d - v)))


def _branches(x: Any, y: Any) -> Any:
    return wg.cond(wnp.sum(x) > 0.0, lambda a, b: wnp.sin(a) * wnp.sum(b), lambda a, b: wnp.exp(-a) + b[0], x, y)


def _image_gradient(u: Any) -> Any:
    dx, dy = u[1:, :-1] - u[:-1, :-1], u[:-1, 1:] - u[:-1, :-1]
    return wnp.sum(wnp.sqrt(dx * dx + dy * dy + 0.01))


def _pendulum_energy(q: Any, p: Any) -> Any:
    return wnp.sum(p * p) / 2.0 - wnp.sum(wnp.cos(q[1:] - q[:-1]))


def _bottleneck(x: Any) -> Any:
    generator = np.random.default_rng(1)
    w, u = (generator.standard_normal(shape).astype(x.dtype) for shape in ((3, 120), (90, 3)))
    return wnp.sin(u @ wnp.tanh(w @ wnp.sin(x))) + 0.1


def _windows(x: Any, w: Any) -> Any:
    return wnp.stack([x[i : i + 16] for i in range(3)], axis=1) @ w


def _normalised(x: Any, g: Any) -> Any:
    c = x - wnp.mean(x, axis=-1, keepdims=True)
    return c / wnp.sqrt(wnp.mean(c * c, axis=-1, keepdims=True) + 1e-3) * g


def _embedding(table: Any, w: Any) -> Any:
    rows = wnp.take(table, np.array([3, 1, 4, 1, 5, 9, 2, 6]) % table.shape[0], axis=0)
    return wnp.mean(rows, axis=0) @ w


PROGRAMS: list[tuple[str, Callable[..., Any], Shapes]] = [
    ("robot arm", _robot_arm, ((6,), (6,))),
    ("gaussian mixture", _gaussian_mixture, ((40,), (3,), (3,))),
    ("heat equation", _heat, ((30,), ())),
    ("lorenz", _lorenz, ((3,), (3,))),
    ("newton's square roots", _newton, ((12,), (12,))),
    ("camera", _camera, ((20, 3), (5,))),
    ("autoencoder", _autoencoder, ((4, 12), (12, 3), (3, 12))),
    ("attention", _attention, ((5, 4), (5, 4), (5, 6))),
    ("unrolled cell", _unrolled_cell, ((4, 5), (6,), (5, 6), (6, 6))),
    ("scanned cell", _scanned_cell, ((7, 5), (6,), (5, 6), (6, 6))),
    ("histogram", _histogram, ((60,), (6,))),
    ("spring chain", _spring_chain, ((80,),)),
    ("least squares", _least_squares, ((12, 4), (12,))),
    ("covariance", _covariance, ((15, 6),)),
    ("ranked", _ranked, ((20,), (20,))),
    ("relu layers", _relu_layers, ((10,), (14, 10), (14,))),
    ("polynomial", _polynomial, ((7,), (25,))),
    ("kernel matrix", _kernel_matrix, ((8, 3), (9, 3), ())),
    ("option prices", _option_prices, ((50,), (50,), (50,))),
    ("branches", _branches, ((9,), (4,))),
    ("image gradient", _image_gradient, ((18, 20),)),
    ("pendulum energy", _pendulum_energy, ((10,), (10,))),
    ("bottleneck", _bottleneck, ((120,),)),
    ("windows", _windows, ((18,), (3, 4))),
    ("normalised", _normalised, ((6, 10), (10,))),
    ("embedding", _embedding, ((10, 5), (5, 7))),
    ("determinant", lambda a: wnp.linalg.det(a + 3.0 * wnp.astype(wnp.eye(a.shape[0]), a.dtype)), ((6, 6),)),
    ("spectrum", lambda x: wnp.abs(wnp.fft.rfft(x)) ** 2, ((32,),)),
    ("outer difference", lambda x, y: wnp.tanh(x[:, None] - y[None, :]), ((9,), (11,))),
    ("cumulative products", lambda x: wnp.cumulative_prod(1.0 + 0.1 * x), ((24,),)),
]


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints a line for each choice that is not right, and the share of those that are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--precision", default="f64,f32")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    os.environ["WENGERT_NUM_THREADS"] = "1"
    all_choices: list[Chosen] = []
    for precision in options.precision.split(","):
        choices = [_choice(name, function, shapes, precision) for name, function, shapes in PROGRAMS]
        for choice in choices:
            if not choice.is_right or choice.skipped:
                print(choice)
        print("\n".join([f"{precision}:", *summary(choices)]), flush=True)
        all_choices += choices
    if options.json is not None:
        options.json.write_text(json.dumps([plain(choice) for choice in all_choices], indent=1))
    return 0


def _choice(name: str, function: Callable[..., Any], shapes: Shapes, precision: str) -> Chosen:
    generator = np.random.default_rng(0)
    dtype = np.float64 if precision == "f64" else np.float32
    inputs = [(0.5 + 0.4 * generator.random(shape)).astype(dtype) for shape in shapes]
    program = wg.jit(function).program(*inputs)
    wrt, of = program.resolve()
    return choice_for(name, precision, program, inputs, wrt, of)


if __name__ == "__main__":
    raise SystemExit(main())
