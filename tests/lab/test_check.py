"""The gradient check finds what is wrong, leaves alone what is right, and knows a kink when it sees one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.lab.check import check
from wengert.lab.check.culprit import Culprit
from wengert.lab.check.declared_rules import WrongRule
from wengert.lab.check.differences import ladder, slopes
from wengert.lab.cli.main import main


def program(body: str, arguments: str = "%x: tensor<3xf64>", result: str = "tensor<3xf64>") -> wg.Program:
    return wg.parse(f"func.func public @main({arguments}) -> {result} {{\n{body}\n  return %r : {result}\n}}", "p.mlir")


SMOOTH = "%0 = stablehlo.sine %x : tensor<3xf64>\n  %r = stablehlo.multiply %0, %x : tensor<3xf64>"


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_right_derivatives(backend: str) -> None:
    report = check(program(SMOOTH), backend=backend, second_order=True)
    assert report.ok
    assert [f.test for f in report.arguments[0].findings] == ["values", "differences", "dot product", "second order"]
    assert all(f.verdict == "ok" for f in report.arguments[0].findings)
    assert report.arguments[0].findings[1].bound < 1e-7


@pytest.mark.parametrize(("element", "bound"), [("f32", 1e-2), ("f16", 1.0), ("bf16", 2.0)])
def test_low_precision_is_held_to_what_it_can_do(element: str, bound: float) -> None:
    p = program(SMOOTH.replace("f64", element), f"%x: tensor<3x{element}>", f"tensor<3x{element}>")
    report = check(p)
    assert report.ok, str(report)
    assert report.arguments[0].findings[1].bound < bound


def test_precision_is_that_of_the_coarsest_type_inside() -> None:
    body = "%0 = stablehlo.convert %x : (tensor<3xf64>) -> tensor<3xbf16>\n  %1 = stablehlo.sine %0 : tensor<3xbf16>\n"
    report = check(program(body + "  %r = stablehlo.convert %1 : (tensor<3xbf16>) -> tensor<3xf64>"))
    assert report.precision == "bfloat16"
    assert report.ok, str(report)


def test_complex() -> None:
    body = "%0 = stablehlo.exponential %x : tensor<3xcomplex<f64>>\n  %r = stablehlo.multiply %0, %x : tensor<3xcomplex<f64>>"
    assert check(program(body, "%x: tensor<3xcomplex<f64>>", "tensor<3xcomplex<f64>>"), second_order=True).ok
    modulus = program("%r = stablehlo.abs %x : (tensor<3xcomplex<f64>>) -> tensor<3xf64>", "%x: tensor<3xcomplex<f64>>")
    assert check(modulus).ok


def test_integers_are_skipped() -> None:
    report = check(program(SMOOTH, "%x: tensor<3xf64>, %n: tensor<i32>"))
    assert [a.verdict for a in report.arguments] == ["ok", "skipped"]
    assert "skipped: not of a float or complex type" in str(report)


def test_empty_and_rank_zero() -> None:
    assert check(program(SMOOTH.replace("3x", "0x"), "%x: tensor<0xf64>", "tensor<0xf64>")).ok
    assert check(program(SMOOTH.replace("3x", ""), "%x: tensor<f64>", "tensor<f64>")).ok


@pytest.mark.parametrize(("x", "verdict"), [([0.0, 1.0, -1.0], "at a kink"), ([0.5, 1.0, -1.0], "ok")])
def test_kinks(x: list[float], verdict: str) -> None:
    report = check(program("%r = stablehlo.abs %x : tensor<3xf64>"), [x])
    assert report.arguments[0].verdict == verdict, str(report)
    assert report.ok
    if verdict == "at a kink":
        assert "not decided by differences: argument 0" in str(report)


def test_values_that_are_not_finite() -> None:
    report = check(program("%r = stablehlo.log %x : tensor<3xf64>"), [[-1.0, -2.0, -3.0]])
    assert report.arguments[0].verdict == "unsettled"
    assert report.outcome == "not settled"
    assert not report.ok
    assert report.culprit is None
    assert str(report).splitlines()[-1].startswith("NOT SETTLED in argument 0")
    assert (report.to_json()["outcome"], report.to_json()["ok"]) == ("not settled", False)
    assert check(program("%r = stablehlo.log %x : tensor<3xf64>"), [[-1.0, 2.0, 3.0]]).arguments[0].verdict == "ok"


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("options", [[], ["--json"], ["--second-order"], ["--tests", "differences"], ["--tests", "dot product"]])
def test_not_settled_has_an_exit_code_of_its_own(value: float, options: list[str], tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.mlir"
    program(SMOOTH).save(path)
    np.savez(tmp_path / "x.npz", in_0=np.full(3, value))
    assert main(["check", str(path), "--inputs", str(tmp_path / "x.npz"), *options]) == 5
    assert "not settled" in capsys.readouterr().out.lower()


def wrong_transpose(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reverse mode with a wrong sign in every cotangent of argument 0."""
    right = wg.Program.vjp

    def vjp(self: wg.Program, *args: Any, **options: Any) -> wg.Program:
        derivative = right(self, *args, **options)
        if not any(op.name == "stablehlo.cosine" for op in derivative.module.walk()):
            return derivative
        return wg.parse(str(derivative).replace("stablehlo.cosine", "stablehlo.sine"), "wrong.mlir")

    monkeypatch.setattr(wg.Program, "vjp", vjp)


def wrong_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forward mode that takes sine for the derivative of sine."""
    right = wg.Program.jvp

    def jvp(self: wg.Program, *args: Any, **options: Any) -> wg.Program:
        derivative = right(self, *args, **options)
        if not any(op.name == "stablehlo.cosine" for op in derivative.module.walk()):
            return derivative
        return wg.parse(str(derivative).replace("stablehlo.cosine", "stablehlo.sine"), "wrong.mlir")

    monkeypatch.setattr(wg.Program, "jvp", jvp)


def test_a_wrong_rule_is_found_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong_rule(monkeypatch)
    body = "%0 = stablehlo.exponential %x : tensor<3xf64>\n  %1 = stablehlo.sine %0 : tensor<3xf64>\n  %r = stablehlo.multiply %1, %x : tensor<3xf64>"
    report = check(program(body))
    assert not report
    verdicts = {f.test: f.verdict for f in report.arguments[0].findings}
    assert verdicts == {"values": "ok", "differences": "MISMATCH", "dot product": "MISMATCH"}
    assert report.culprit is not None
    assert report.culprit.op == "stablehlo.sine"
    assert report.culprit.place == "p.mlir:3:3"
    assert "operand 0: differences: MISMATCH" in report.culprit.finding


def test_a_wrong_transpose_shows_in_the_dot_product_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong_transpose(monkeypatch)
    report = check(program(SMOOTH))
    verdicts = {f.test: f.verdict for f in report.arguments[0].findings}
    assert verdicts == {"values": "ok", "differences": "ok", "dot product": "MISMATCH"}
    assert report.culprit is not None
    assert "dot product: MISMATCH" in report.culprit.finding


def test_the_command_says_how_to_repeat_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    wrong_rule(monkeypatch)
    path = tmp_path / "p.mlir"
    program(SMOOTH, "%n: tensor<i32>, %x: tensor<3xf64>").save(path)
    assert main(["check", str(path), "--seed", "4"]) == 3
    out = capsys.readouterr().out
    assert "MISMATCH in argument 1" in out
    assert f"again: wengert check {path} --wrt 1 --tests 'differences,dot product' --seed 4 --backend cpu" in out
    assert "stablehlo.sine at " in out
    assert "step" in out


DECLARED = """func.func public @main(%n: tensor<i32>, %x: tensor<3xf64>) -> tensor<3xf64> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %e = call @g(%x) : (tensor<3xf64>) -> tensor<3xf64>
  %r:2 = stablehlo.while(%i = %c0, %y = %e) : tensor<i32>, tensor<3xf64>
   cond {
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %j = stablehlo.add %i, %c1 : tensor<i32>
    %z = func.call @f(%y) : (tensor<3xf64>) -> tensor<3xf64>
    stablehlo.return %j, %z : tensor<i32>, tensor<3xf64>
  }
  return %r#1 : tensor<3xf64>
}
func.func private @f(%x: tensor<3xf64>) -> tensor<3xf64> attributes {ad.custom_vjp = [@f_fwd, @f_bwd]} {
  %0 = stablehlo.sine %x : tensor<3xf64>
  return %0 : tensor<3xf64>
}
func.func private @f_fwd(%x: tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>) {
  %0 = stablehlo.sine %x : tensor<3xf64>
  %1 = stablehlo.cosine %x : tensor<3xf64>
  return %0, %1 : tensor<3xf64>, tensor<3xf64>
}
func.func private @f_bwd(%c: tensor<3xf64>, %y_bar: tensor<3xf64>) -> tensor<3xf64> {
  %0 = stablehlo.BACKWARD %y_bar, %c : tensor<3xf64>
  return %0 : tensor<3xf64>
}
func.func private @g(%x: tensor<3xf64>) -> tensor<3xf64> attributes {ad.custom_jvp = @g_jvp} {
  %0 = stablehlo.exponential %x : tensor<3xf64>
  return %0 : tensor<3xf64>
}
func.func private @g_jvp(%x: tensor<3xf64>, %x_dot: tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>) {
  %0 = stablehlo.FORWARD %x : tensor<3xf64>
  %1 = stablehlo.multiply %0, %x_dot : tensor<3xf64>
  return %0, %1 : tensor<3xf64>, tensor<3xf64>
}
"""


def declared(forward: str = "exponential", backward: str = "multiply") -> str:
    return DECLARED.replace("FORWARD", forward).replace("BACKWARD", backward)


@pytest.mark.parametrize(
    ("text", "n", "function", "rule", "place", "called", "finding"),
    [
        (declared(forward="cosine"), 2, "@g", ("@g_jvp",), "p.mlir:33:1", "p.mlir:4:3", "values"),
        (declared(backward="divide"), 2, "@f", ("@f_fwd", "@f_bwd"), "p.mlir:20:1 and p.mlir:25:1", "p.mlir:11:5", "differences"),
    ],
)
def test_a_wrong_declared_derivative_is_named(text: str, n: int, function: str, rule: tuple[str, ...], place: str, called: str, finding: str) -> None:
    report = check(wg.parse(text, "p.mlir"), [n, [0.1, 0.2, 0.3]])
    assert not report
    culprit = report.culprit
    assert isinstance(culprit, WrongRule)
    assert (culprit.function, culprit.rule, culprit.place, culprit.called) == (function, rule, place, called)
    assert f"operand 0: {finding}: MISMATCH" in culprit.finding


def test_declared_derivatives_that_are_right_or_not_met_are_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    x = [0.1, 0.2, 0.3]
    assert check(wg.parse(declared()), [2, x]).ok
    assert check(wg.parse(declared(backward="divide")), [0, x]).ok  # no iteration
    wrong_rule(monkeypatch)
    text = declared(backward="divide").replace("return %r#1", "%s = stablehlo.sine %r#1 : tensor<3xf64>\n  return %s")
    report = check(wg.parse(text), [0, x])
    assert isinstance(report.culprit, Culprit)
    assert report.culprit.op == "stablehlo.sine"


def test_a_rule_declared_in_python_is_named_where_it_is_defined() -> None:
    @wg.custom_jvp
    def f(x: Any) -> Any:
        return wg.numpy.sin(x)

    @f.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        return f(*primals), wg.numpy.sin(*primals) * tangents[0]

    report = wg.jit(lambda x: wg.vmap(f)(x) * x).program(np.ones(3)).check()
    assert isinstance(report.culprit, WrongRule)
    assert report.culprit.place == f"{__file__}:{rule.__code__.co_firstlineno}:1"


def test_the_command_names_a_wrong_declared_derivative(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.mlir"
    path.write_text(declared(forward="cosine"))
    assert main(["check", str(path)]) == 3
    assert f"declared derivative that disagrees by itself: @g_jvp of @g at {path}:33:1, called at {path}:4:3" in capsys.readouterr().out
    assert main(["check", str(path), "--json"]) == 3
    assert '"rule": [\n' in capsys.readouterr().out


def test_positions_and_inputs_are_checked() -> None:
    p = program(SMOOTH)
    with pytest.raises(wg.InputError, match="there is no argument 1"):
        check(p, wrt=1)
    with pytest.raises(wg.InputError, match="argument 0 must be"):
        check(p, [np.zeros(4)])


def test_through_the_program() -> None:
    assert program(SMOOTH).check(np.ones(3), seed=3).seed == 3


def test_slopes_know_their_error() -> None:
    def f(x: Any) -> list[Any]:
        return [np.sin(x[0]) * np.exp(x[1])]

    x = [np.linspace(-2, 2, 7), np.array(0.3)]
    v = [np.ones(7), np.array(0.0)]
    (slope,) = slopes(f, x, v, 2.2e-16)
    actual = np.cos(x[0]) * np.exp(0.3)
    assert (np.abs(slope.value - actual) <= slope.error).all()
    assert slope.error.max() < 1e-8
    assert not slope.kink.any()


def test_ladders_end_where_rounding_begins() -> None:
    assert ladder(2.2e-16)[-1] < 1e-8
    assert ladder(1.2e-7)[-1] > 4e-5
    assert len(ladder(2**-8)) == 3


def logistic_maps(iterations: int) -> wg.Program:
    """x -> 3.9 x (1 - x), many times: rounding grows by two thirds each time, as in a deep network whose layers are not contractions."""
    lines = [
        "%one = stablehlo.constant dense<1.0> : tensor<3xf64>",
        "%rate = stablehlo.constant dense<3.9> : tensor<3xf64>",
        "%y0 = stablehlo.sine %x : tensor<3xf64>",
    ]
    for n in range(iterations):
        lines += [
            f"%a{n} = stablehlo.subtract %one, %y{n} : tensor<3xf64>",
            f"%b{n} = stablehlo.multiply %y{n}, %a{n} : tensor<3xf64>",
            f"%y{n + 1} = stablehlo.multiply %b{n}, %rate : tensor<3xf64>",
        ]
    return program("\n".join([*lines, f"%r = stablehlo.negate %y{iterations} : tensor<3xf64>"]))


def test_bounds_of_deep_programs_are_measured() -> None:
    report = check(logistic_maps(40), [np.array([0.3, 0.4, 0.9])], backend="interpreter")
    (differences,) = [f for f in report.arguments[0].findings if f.test == "differences"]
    assert report.outcome == "ok", str(report)
    assert differences.rounding is not None
    assert "rounding moves it by" in str(report)


def test_wrong_derivatives_of_deep_programs_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong_rule(monkeypatch)
    report = check(logistic_maps(40), [np.array([0.3, 0.4, 0.9])], backend="interpreter")
    assert report.outcome == "MISMATCH"


def test_what_is_lost_in_rounding_is_not_settled() -> None:
    report = check(logistic_maps(120), [np.array([0.3, 0.4, 0.9])], backend="interpreter")
    assert report.outcome == "not settled", str(report)
    assert "lost in rounding" in str(report)
