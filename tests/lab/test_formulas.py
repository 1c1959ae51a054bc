"""Costs as polynomials in sizes are those of programs of other sizes, which they were not made from."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp
from wengert.ir.diagnostics import DiagnosticError
from wengert.lab.cli.main import main
from wengert.lab.costs.formulas import formulas, formulas_of_instances, formulas_of_points, formulas_of_shapes
from wengert.runtime.errors import InputError
from wengert.transforms.analysis.program_cost import program_cost
from wengert.transforms.analysis.symbolic.instances import fitted, sample_points
from wengert.transforms.analysis.symbolic.polynomial import Polynomial

Point = dict[str, int]
Z = np.zeros


def attention(x: Any, q: Any, k: Any, v: Any) -> Any:
    scores = (x @ q) @ wnp.matrix_transpose(x @ k)
    e = wnp.exp(scores - wnp.max(scores, axis=-1, keepdims=True))
    return (e / wnp.sum(e, axis=-1, keepdims=True)) @ (x @ v)


def recurrent(steps: int) -> Callable[..., Any]:
    return lambda x, w: wg.fori_loop(0, steps, lambda i, y: wnp.tanh(w @ y), x)


def triangle(n: int) -> Callable[..., Any]:
    return lambda x: wg.fori_loop(0, n, lambda i, y: wg.fori_loop(0, i, lambda j, z: wnp.sin(z) + x, y), x)


def convolution(n: int, c: int) -> str:
    x, w, y = f"tensor<1x{n}x{n}x{c}xf64>", f"tensor<3x3x{c}x5xf64>", f"tensor<1x{n}x{n}x5xf64>"
    return f"""func.func public @main(%x: {x}, %w: {w}) -> {y} {{
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {{pad = [[1, 1], [1, 1]]}}
    {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : ({x}, {w}) -> {y}
  return %0 : {y}
}}"""


FAMILIES: dict[str, tuple[Callable[[Point], wg.Program], list[str]]] = {
    "attention": (lambda p: wg.jit(attention).program(Z((p["n"], p["d"])), *[Z((p["d"], p["d"]))] * 3), ["n", "d"]),
    "recurrent": (lambda p: wg.jit(recurrent(p["t"])).program(Z(p["n"]), Z((p["n"], p["n"]))), ["t", "n"]),
    "triangle": (lambda p: wg.jit(triangle(p["n"])).program(Z(3)), ["n"]),
    "stencil": (lambda p: wg.jit(lambda u: u[1:-1] + 0.1 * (u[2:] - 2.0 * u[1:-1] + u[:-2])).program(Z(p["n"])), ["n"]),
    "cholesky": (lambda p: wg.jit(wnp.linalg.cholesky).program(Z((p["n"], p["n"]))), ["n"]),
    "sort": (lambda p: wg.jit(lambda x: wnp.sort(x, axis=1) * x).program(Z((p["k"], p["n"]))), ["k", "n"]),
    "fourier": (lambda p: wg.jit(lambda x: wnp.real(wnp.fft.fft(x))).program(Z(p["n"])), ["n"]),
    "convolution": (lambda p: wg.parse(convolution(p["n"], p["c"])), ["n", "c"]),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_formulas_hold_at_sizes_that_were_left_out(name: str) -> None:
    make, names = FAMILIES[name]
    made = formulas_of_instances(make, names)
    assert all(cost.symbols <= set(names) for cost in made.rows.values())
    for numbers in ((9, 12), (32, 19)):
        point = dict(zip(names, numbers, strict=False))
        program = make(point)
        for row, derived in (("primal", program), ("forward", program.jvp()), ("reverse", program.vjp())):
            expected, actual = program_cost(derived.optimized_module), made.at(point).rows[row]
            assert actual.ops == expected.ops
            assert (actual.flops, actual.transcendentals, actual.bytes) == (expected.flops, expected.transcendentals, expected.bytes)


def test_a_product_of_sizes() -> None:
    make, names = FAMILIES["attention"]
    n, d = Polynomial.symbol("n"), Polynomial.symbol("d")
    assert formulas_of_instances(make, names).rows["primal"].flops.at({"n": n}) == 6 * n * d**2 + 4 * n**2 * d + 5 * n**2 - 2 * n


def test_triangular_loops_are_polynomials_in_their_length() -> None:
    make, names = FAMILIES["triangle"]
    n = Polynomial.symbol("n")
    assert formulas_of_instances(make, names).rows["primal"].transcendentals == 3 * (n**2 - n) / 2


OPEN = """func.func public @main(%x: tensor<?x?xf64>, %w: tensor<?x?xf64>) -> tensor<?x?xf64> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<?x?xf64>, tensor<?x?xf64>) -> tensor<?x?xf64>
  return %0 : tensor<?x?xf64>
}"""


def test_open_extents() -> None:
    program = wg.parse(OPEN, "p.mlir")
    named = formulas_of_shapes(program, "nxd,dxm")
    assert str(named.rows["primal"].flops) == "2 d m n"
    assert "d: extent 1 of argument 0, 0 of argument 1" in str(named)
    assert str(formulas_of_shapes(program).rows["primal"].flops) == "2 n^3"  # four sizes of their own are refused
    elementwise = wg.parse(
        "func.func public @main(%x: tensor<?x?xf64>) -> tensor<?x?xf64> {\n  %0 = stablehlo.sine %x : tensor<?x?xf64>\n  return %0 : tensor<?x?xf64>\n}"
    )
    assert str(formulas_of_shapes(elementwise).rows["primal"].flops) == "n0 n1"
    assert str(formulas_of_shapes(program, "nx4,4xm").rows["primal"].flops) == "8 m n"


def test_instances_that_differ_in_more_than_numbers_are_refused() -> None:
    def make(point: Point) -> wg.Program:
        return wg.jit(lambda x: wnp.sin(x) if point["n"] % 2 else wnp.cos(x)).program(Z(point["n"]))

    with pytest.raises(DiagnosticError, match="in more than numbers"):
        formulas_of_points([make({"n": n}) for n in (3, 4, 5)], [{"n": n} for n in (3, 4, 5)])


def test_extents_that_are_no_polynomial_are_refused() -> None:
    def make(point: Point) -> wg.Program:
        return wg.jit(lambda x: wnp.sin(x[::3])).program(Z(point["n"]))

    with pytest.raises(DiagnosticError, match="is no polynomial in the sizes"):
        formulas_of_instances(make, ["n"])


def test_names_and_values_are_checked() -> None:
    program = wg.parse(OPEN)
    with pytest.raises(InputError, match="is no name of a size"):
        formulas_of_points([program], [{"T0": 3}])
    with pytest.raises(InputError, match="the symbols are: n, d, m"):
        formulas_of_shapes(program, "nxd,dxm").at({"k": 3})
    with pytest.raises(InputError, match="is no shape"):
        formulas_of_shapes(program, "nX4,dxm")
    with pytest.raises(InputError, match="the same sizes"):
        formulas_of_points([program, program], [{"n": 3}, {"m": 3}])


def test_what_is_fitted() -> None:
    points = sample_points(["n", "m"])
    for wanted in (lambda n, m: 3 * n - m + 2, lambda n, m: 7 * n * m, lambda n, m: n**3):
        fit = fitted(points, [wanted(p["n"], p["m"]) for p in points])
        assert fit is not None
        assert fit.number({"n": 5, "m": 8}) == wanted(5, 8)
    assert fitted(points, [p["n"] // 2 for p in points]) is None
    one = sample_points(["n"])
    assert str(fitted(one, [p["n"] * (p["n"] - 1) // 2 for p in one])) == "n^2/2 - n/2"
    assert fitted(one[:2], [1, 2]) is None  # two points say nothing


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.mlir"
    path.write_text(OPEN)
    assert main(["costs", str(path), "--symbolic", "--shapes", "nxd,dxm"]) == 0
    out = capsys.readouterr().out
    assert "2 d m n" in out
    assert main(["costs", str(path), "--symbolic", "--shapes", "nxd,dxm", "--sizes", "n=3,d=4", "--strategy", "direct", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["rows"]["primal"]["flops"] == "24 m"
    assert set(result["rows"]) == {"primal", "forward", "reverse", "direct"}
    assert main(["costs", str(path), "--symbolic", "--max", "flops=3"]) == 1
    assert "go without it" in capsys.readouterr().err
    assert main(["costs", str(path), "--symbolic", "--sizes", "n"]) == 2
    capsys.readouterr()
    assert main(["costs", str(path)]) == 1
    assert "--symbolic gives formulas" in capsys.readouterr().err
    assert main(["costs", str(path), "--shapes", "3x2,2x4"]) == 0


def test_the_command_with_instances(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for n in (5, 8, 11):
        (tmp_path / f"p{n}.mlir").write_text(convolution(n, 2))
    others = [word for n in (8, 11) for word in ("--instance", f"{tmp_path}/p{n}.mlir:n={n}")]
    assert main(["costs", str(tmp_path / "p5.mlir"), "--symbolic", "--this", "n=5", *others]) == 0
    assert "180 n^2" in capsys.readouterr().out


def test_static_programs_have_formulas_in_iterations() -> None:
    program = wg.jit(lambda x: wg.while_loop(lambda y: wnp.sum(y) < 9.0, lambda y: y + wnp.exp(y), x)).program(Z(4))
    made = formulas(program)
    assert str(made.rows["primal"].transcendentals) == "4 T0"
    assert made.at({"T0": 3}).rows["reverse"].transcendentals == 12


def test_sizes_that_must_be_multiples() -> None:
    def by_four(point: Point) -> wg.Program:
        if point["n"] % 4:
            return wg.parse(OPEN).specialize((point["n"], 3), (4, 2))  # refused
        return wg.jit(lambda x: wnp.sin(wnp.reshape(x, (4, -1)))).program(Z(point["n"]))

    made = formulas_of_instances(by_four, ["n"])
    assert made.symbols["n"] == "n: a size, a multiple of 16"
    assert str(made.rows["primal"].flops) == "n"
