"""Innermost loops in pieces: where guards hold or fail throughout, no masks; results are the interpreter's."""

from itertools import combinations

import numpy as np
import pytest

from wengert.dialects.kernel.positions import Position, constant, substitute
from wengert.ir.parsing.parser import parse_module
from wengert.runtime.cpu import compile
from wengert.runtime.interpreter import run
from wengert.transforms.schedule.versions import guard_values, pieces, uniform_guards

VIEWS = {
    "before": "%{r} = stablehlo.pad {x}, %c, low = [0, 137], high = [0, 0], interior = [0, 0] : ({k}, tensor<{t}>) -> {w}",
    "behind": "%{r} = stablehlo.pad {x}, %c, low = [0, 0], high = [0, 137], interior = [0, 0] : ({k}, tensor<{t}>) -> {w}",
    "both": "%{r} = stablehlo.pad {x}, %c, low = [0, 3], high = [0, 134], interior = [0, 0] : ({k}, tensor<{t}>) -> {w}",
    "turned": "%{r}a = stablehlo.pad {x}, %c, low = [0, 61], high = [0, 76], interior = [0, 0] : ({k}, tensor<{t}>) -> {w}\n"
    "%{r} = stablehlo.reverse %{r}a, dims = [1] : {w}",
    "spread": "%{r} = stablehlo.pad {x}, %c, low = [0, 0], high = [0, 5], interior = [0, 1] : ({k}, tensor<{t}>) -> {w}",
    "rows": "%{r}a = stablehlo.pad {x}, %c, low = [2, 130], high = [-2, 7], interior = [0, 0] : ({k}, tensor<{t}>) -> {w}\n%{r} = stablehlo.tanh %{r}a : {w}",
    "joined": "%{r} = stablehlo.concatenate {x}, {x}, %d, dim = 1 : ({k}, {k}, tensor<64x4x{t}>) -> {w}",
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex64])
@pytest.mark.parametrize("pair", list(combinations(VIEWS, 2)))
def test_results(pair: tuple[str, str], dtype: type[np.number]) -> None:
    """Two views of two arrays in one nest, multiplied, with a constant added."""
    t = {"d": "f64", "f": "f32", "F": "complex<f32>"}[np.dtype(dtype).char]
    k, w, zero = f"tensor<64x133x{t}>", f"tensor<64x270x{t}>", "(0.5, 0.0)" if t[0] == "c" else "0.5"
    lines = [VIEWS[name].format(r=r, x=x, k=k, w=w, t=t) for name, r, x in zip(pair, "ab", ("%x", "%y"), strict=True)]
    body = "\n".join(lines)
    module = parse_module(f"""func.func @main(%x: {k}, %y: {k}) -> {w} {{
        %c = stablehlo.constant dense<{zero}> : tensor<{t}>
        %d = stablehlo.constant dense<{zero}> : tensor<64x4x{t}>
        {body}
        %r = stablehlo.multiply %a, %b : {w}
        return %r : {w} }}""")
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=(64, 133)).astype(dtype) for _ in range(2))
    np.testing.assert_allclose(compile(module)(x, y)[0], run(module, [x, y])[0], rtol=1e-14 if t == "f64" else 1e-6)


@pytest.mark.parametrize("factor", [1, 2, 3, -1, -2])
def test_guards_are_known_right(factor: int) -> None:
    """Pieces cover the loop in order, and what they know holds for each of their iterations."""
    at = Position(-20 if factor > 0 else 150, ((1, factor),))
    guards = [((at, low, high), at) for low, high in ((0, 60), (-7, 31), (200, 210), (59, 1000))]
    chosen = pieces([*guards, ((Position(0), 0, 1), Position(0, ((0, 1), (1, 1))))], 1, 100, 4)
    assert [p.start for p in chosen] == [0, *(p.stop for p in chosen[:-1])]
    assert chosen[-1].stop == 100
    assert not all(p.masked for p in chosen)
    for p in chosen:
        known = guard_values(guards, 1, p)
        assert p.masked or None not in known.values()
        for (_, low, high), said in [(guard, known[guard]) for guard, _ in guards]:
            said_right = {low <= factor * i + at.offset < high for i in range(p.start, p.stop)}
            assert said_right == ({True, False} if said is None else {said})


@pytest.mark.parametrize("factor", [1, -2])
def test_where_guards_of_rows_hold_throughout(factor: int) -> None:
    """Conditions on outer loops say when a guard holds in all iterations of the innermost one, or in none; there are none for guards of that alone."""
    extents = (9, 12)
    at = {name: Position(offset, terms) for name, offset, terms in (("row", 2, ((0, 1),)), ("both", -3, ((0, 10), (1, factor))), ("inner", 0, ((1, 1),)))}
    guards = {
        "row": (at["row"], 3, 9),
        "both": (at["both"], 0, 60),
        "inner": (at["inner"], 0, 12),
        "seldom": (at["row"], 3, 4),
        "neither": (at["both"], *((40, 45) if factor == 1 else (20, 30))),
    }
    conditions = uniform_guards([(guard, guard[0]) for guard in guards.values()], 1, extents)
    assert set(conditions) == {guards["row"], guards["both"], guards["seldom"]}
    for (position, low, high), (outer, count, uniform) in conditions.items():
        for row in range(extents[0]):
            said = (0 <= substitute(outer, {0: constant(row)}, extents).offset < count) == uniform
            values = [substitute(position, {0: constant(row), 1: constant(i)}, extents).offset for i in range(extents[1])]
            assert said == all((low <= value < high) == uniform for value in values)
