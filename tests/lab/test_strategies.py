"""The table of strategies: every row computes the derivative, figures are those of what is compiled, and the line that decides says what is known."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import numpy as wnp
from wengert.ir import plugins
from wengert.lab.cli.main import main
from wengert.lab.costs.time_model import shipped_model, write_model
from wengert.lab.strategies import deciding
from wengert.lab.strategies import table as tables
from wengert.lab.strategies.choice import UNDECIDED, choose
from wengert.lab.strategies.default import jacobian_passes
from wengert.lab.strategies.measuring import measured, near
from wengert.lab.strategies.plans import CHUNKS
from wengert.lab.strategies.remembered import recalled, remember
from wengert.runtime.errors import InputError
from wengert.runtime.machine_model import model_path
from wengert.transforms.ad.strategies import STRATEGIES

LAYER = """
func.func public @main(%x: tensor<5xf64>, %w: tensor<4x5xf64>) -> (tensor<4xf64>, tensor<f64>) {
  %0 = stablehlo.dot_general %w, %x, contracting_dims = [1] x [0] : (tensor<4x5xf64>, tensor<5xf64>) -> tensor<4xf64>
  %1 = stablehlo.tanh %0 : tensor<4xf64>
  %c = stablehlo.constant dense<0.0> : tensor<f64>
  %2 = stablehlo.reduce(%1 init: %c) applies stablehlo.multiply across dimensions = [0] : (tensor<4xf64>, tensor<f64>) -> tensor<f64>
  %3 = stablehlo.reduce(%1 init: %c) applies stablehlo.add across dimensions = [0] : (tensor<4xf64>, tensor<f64>) -> tensor<f64>
  %4 = stablehlo.multiply %3, %3 : tensor<f64>
  return %1, %4 : tensor<4xf64>, tensor<f64>
}
"""

WIDE = """
func.func public @main(%x: tensor<40xf64>) -> tensor<36xf64> {
  %0 = stablehlo.slice %x [0:36] : (tensor<40xf64>) -> tensor<36xf64>
  %1 = stablehlo.slice %x [4:40] : (tensor<40xf64>) -> tensor<36xf64>
  %2 = stablehlo.sine %0 : tensor<36xf64>
  %3 = stablehlo.multiply %2, %1 : tensor<36xf64>
  return %3 : tensor<36xf64>
}
"""

SUM = """
func.func public @main(%x: tensor<300xf64>) -> tensor<f64> {
  %c = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0] : (tensor<300xf64>, tensor<f64>) -> tensor<f64>
  %1 = stablehlo.sine %0 : tensor<f64>
  return %1 : tensor<f64>
}
"""

UNTIL = """
func.func public @main(%x: tensor<f64>, %n: tensor<i64>) -> tensor<f64> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i64>, tensor<f64>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i64>
    %j = stablehlo.add %i, %one : tensor<i64>
    %z = stablehlo.sine %y : tensor<f64>
    stablehlo.return %j, %z : tensor<i64>, tensor<f64>
  }
  return %0#1 : tensor<f64>
}
"""


def _inputs(program: wg.Program) -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    return [generator.standard_normal(x.shape) for x in program.signature.arguments]


@pytest.mark.parametrize("text", [LAYER, WIDE])
def test_every_row_computes_the_jacobian(text: str):
    program = wg.parse(text)
    inputs = _inputs(program)
    expected = program.jacfwd()(*inputs)
    rows = wg.strategies(program).rows
    assert any(row.plan.at_once in CHUNKS and row.plan.calls > 2 for row in rows) == (text is WIDE)
    assert {"jvps", "jacfwd", "vjps", "vjps direct", "jacrev"} <= {row.name for row in rows}
    for row in rows:
        assert not row.problem
        for block, reference in zip(row.compile()(*inputs), expected, strict=True):
            assert block.shape == reference.shape
            np.testing.assert_allclose(block, reference, rtol=1e-12, atol=1e-14, err_msg=row.name)


def test_every_row_computes_the_hessian():
    program = wg.parse(LAYER)
    inputs = _inputs(program)
    expected = program.hessian()(*inputs)
    rows = wg.strategies(program, of="hessian").rows
    assert {"forward over reverse", "reverse over forward", "reverse over reverse", "forward over forward", "hvps"} <= {row.name for row in rows}
    for row in rows:
        for block, reference in zip(row.compile()(*inputs), expected, strict=True):
            np.testing.assert_allclose(block, reference, rtol=1e-10, atol=1e-12, err_msg=row.name)


def test_every_row_computes_the_gradient():
    program = wg.parse(LAYER)
    inputs = _inputs(program)
    expected = program.vjp(of=(1,))(*inputs, 1.0)[-2:]
    rows = wg.strategies(program, of="gradient", results=1).rows
    assert "vjps recompute-all" in {row.name for row in rows}
    for row in rows:
        for block, reference in zip(row.compile()(*inputs), expected, strict=True):
            np.testing.assert_allclose(block, reference, rtol=1e-12, atol=1e-14, err_msg=row.name)


def test_positions_choose_blocks():
    program = wg.parse(LAYER)
    inputs = _inputs(program)
    seen = wg.strategies(program, wrt=0, results=0)
    assert seen.rows[0].plan.calls == 5
    (block,) = seen.compile()(*inputs)
    np.testing.assert_allclose(block, program.jacrev((0,), (0,))(*inputs)[0])


def test_arenas_are_those_of_compiled_programs():
    for row in wg.strategies(wg.parse(WIDE)).rows:
        assert row.arena == row.compile().compiled.stats.arena_bytes, row.name


def test_a_budget_leaves_out_what_is_larger():
    program = wg.parse(WIDE)
    arenas = {row.name: row.arena or 0 for row in wg.strategies(program).rows}
    assert len(set(arenas.values())) > 1
    least = min(arenas.values())
    seen = wg.strategies(program, budget=least)
    assert {row.name for row in seen.usable} == {name for name, arena in arenas.items() if arena == least}
    assert seen.best.arena == least
    assert "is left out" in str(seen)
    none = wg.strategies(program, budget=least - 1)
    assert not none.usable
    assert f"{least}" in none.decision
    with pytest.raises(InputError, match="No row has an arena"):
        none.compile()


def test_measured_rows_have_errors_and_decide():
    program = wg.parse(WIDE)
    inputs = _inputs(program)
    rows = [row for row in wg.strategies(program, inputs, measure=False).rows if row.name in ("jacfwd", "jacrev")]
    timed, reference = measured(rows, inputs)
    assert "interpreter" in reference
    assert all(row.measured is not None and row.measured.error < 1e-12 for row in timed.values())
    assert "measured" in choose(list(timed.values())).line()


def test_what_only_a_run_tells():
    program = wg.parse(UNTIL)
    unknown = wg.strategies(program)
    assert any("T0" in str(row.flops) for row in unknown.rows)
    counted = wg.strategies(program, [np.float64(0.3), np.int64(7)])
    assert all(row.flops.constant is not None for row in counted.rows if not row.problem)
    given = wg.strategies(program, values={"T0": 7})
    assert given.row("jvps").flops == counted.row("jvps").flops


def test_refusals():
    program = wg.parse(LAYER)
    with pytest.raises(InputError, match="gradient is that of one number"):
        wg.strategies(program, of="gradient")
    with pytest.raises(InputError, match="there is no derivative"):
        wg.strategies(program, of="laplacian")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="no row 'jacfws'"):
        wg.strategies(program).row("jacfws")
    with pytest.raises(InputError, match="takes a program"):
        tables.strategies("main.mlir")
    complex = wg.parse("func.func public @main(%x: tensor<complex<f64>>) -> tensor<complex<f64>> { return %x : tensor<complex<f64>> }")
    with pytest.raises(InputError, match="complex"):
        wg.strategies(complex)


def test_the_table_is_text_html_and_json():
    seen = wg.strategies(wg.parse(LAYER, "layer.mlir"))
    assert seen.decision in str(seen)
    html = seen._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert "jacrev" in html
    assert "<table>" in html
    values = json.loads(json.dumps(seen.to_json()))
    assert {row["name"] for row in values["rows"]} == {row.name for row in seen.rows}
    assert values["decision"]["row"] == seen.best.name


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "layer.mlir"
    path.write_text(LAYER)
    assert main(["strategies", str(path)]) == 0
    assert "jacfwd" in capsys.readouterr().out
    assert main(["strategies", str(path), "--of", "hessian", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["of"] == "hessian"
    assert main(["strategies", "--measure", str(path), "--json"]) == 0
    assert any(row.get("measured") for row in json.loads(capsys.readouterr().out)["rows"])
    assert main(["strategies", str(path), "--budget", "1B"]) == 1
    assert "No row has an arena of at most 1 B" in capsys.readouterr().out
    assert main(["strategies", str(path), "--budget", "1 parsec"]) == 2


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_all_directions_in_one_batch(mode: str):
    program = wg.parse(LAYER)
    inputs = _inputs(program)
    joined = program.apply(f"joined-jacobian{{mode={mode} wrt=1,0 of=1}},simplify,cse,dce")
    for block, reference in zip(joined(*inputs), program.jacrev((1, 0), (1,))(*inputs), strict=True):
        np.testing.assert_allclose(block, reference, rtol=1e-12, atol=1e-14)


def test_strategies_of_users_are_rows(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(STRATEGIES, "_registered", {})  # forgotten after the test
    wg.register(wg.PipelineStrategy("split-for-this-test", vjp="linearize,transpose,join"))
    program = wg.parse(LAYER)
    inputs = _inputs(program)
    seen = wg.strategies(program, strategies=["transpose", "split-for-this-test"])
    assert "direct" not in str(seen)
    for block, reference in zip(seen.row("jacrev split-for-this-test").compile()(*inputs), program.jacrev()(*inputs), strict=True):
        np.testing.assert_allclose(block, reference, rtol=1e-12, atol=1e-14)


def test_jacobian_takes_a_mode_that_is_there():
    program = wg.parse(LAYER)
    inputs = _inputs(program)
    for block, reference in zip(program.jacobian()(*inputs), program.jacfwd()(*inputs), strict=True):
        np.testing.assert_allclose(block, reference, rtol=1e-12, atol=1e-14)
    wide = wg.parse(SUM)
    assert wide.jacobian() is wide.jacrev()
    sines = wg.parse("func.func public @main(%x: tensor<?xf64>) -> tensor<?xf64> { %0 = stablehlo.sine %x : tensor<?xf64>\n return %0 : tensor<?xf64> }")
    np.testing.assert_allclose(sines.jacobian()(np.array([0.1, 0.2]))[0], np.diag(np.cos([0.1, 0.2])))
    assert wg.parse(UNTIL).jacobian()(0.3, 3)[0] == pytest.approx(float(wg.parse(UNTIL).jacfwd()(0.3, 3)[0]))


def test_a_tie_is_called_one():
    seen = wg.strategies(wg.parse(LAYER), results=1, strategies=["transpose"])
    same = [row for row in seen.rows if row.name in ("jacrev", "vjps")]
    assert choose(same[:1]).verdict == "only"
    twice = choose([same[0], same[0]])
    assert twice.verdict == "tie"
    assert "tie" in twice.line()
    assert choose([]).verdict == "none"


def test_a_choice_that_depends_on_iterations_is_not_made():
    seen = wg.strategies(wg.parse(UNTIL))
    assert seen.choice.verdict in ("conditional", "withheld")
    with pytest.raises(InputError, match="depends"):
        seen.compile()
    assert wg.strategies(wg.parse(UNTIL), [np.float64(0.3), np.int64(7)]).best.compile()(0.3, 7)


BAND = """
func.func public @main(%x: tensor<30xf64>) -> tensor<29xf64> {
  %0 = stablehlo.slice %x [0:29] : (tensor<30xf64>) -> tensor<29xf64>
  %1 = stablehlo.slice %x [1:30] : (tensor<30xf64>) -> tensor<29xf64>
  %2 = stablehlo.multiply %0, %1 : tensor<29xf64>
  %3 = stablehlo.exponential %2 : tensor<29xf64>
  %4 = stablehlo.sine %3 : tensor<29xf64>
  return %4 : tensor<29xf64>
}
"""

NARROW = """
func.func public @main(%x: tensor<40xf64>, %w: tensor<2x40xf64>, %u: tensor<30x2xf64>) -> tensor<30xf64> {
  %0 = stablehlo.dot_general %w, %x, contracting_dims = [1] x [0] : (tensor<2x40xf64>, tensor<40xf64>) -> tensor<2xf64>
  %1 = stablehlo.tanh %0 : tensor<2xf64>
  %2 = stablehlo.dot_general %u, %1, contracting_dims = [1] x [0] : (tensor<30x2xf64>, tensor<2xf64>) -> tensor<30xf64>
  %3 = stablehlo.sine %2 : tensor<30xf64>
  return %3 : tensor<30xf64>
}
"""


@pytest.mark.parametrize(
    ("text", "wrt", "row", "directions"), [(BAND, None, "compressed columns", 2), (BAND, None, "compressed rows", 2), (NARROW, 0, "mixed", 2)]
)
def test_rows_with_fewer_directions_are_chosen_where_there_are_such(text: str, wrt: int | None, row: str, directions: int):
    program = wg.parse(text)
    seen = wg.strategies(program, wrt=wrt)
    assert seen.row(row).plan.directions == directions
    best = choose([other for other in seen.rows if not other.name.startswith("eliminated")]).row
    assert best is not None
    assert best.name.partition(" ")[0] == row.partition(" ")[0]
    inputs = _inputs(program)
    positions = None if wrt is None else (wrt,)
    expected = program.jacfwd(positions)(*inputs)
    chosen = program.jacobian(positions)
    assert chosen is program.jacobian(positions)
    assert [r.type for r in chosen.signature.results] == [r.type for r in program.jacfwd(positions).signature.results]
    for function in (seen.row(row).compile(), chosen):
        np.testing.assert_allclose(function(*inputs)[0], expected[0], rtol=1e-12, atol=1e-14)


def test_a_hessian_by_the_order_that_is_predicted_to_be_faster():
    program = wg.jit(lambda x: wnp.sum(wnp.sin(x[1:] * x[:-1]))).program(np.zeros(20))
    assert wg.strategies(program, of="hessian").best.name == "compressed over reverse"
    x = np.linspace(0.1, 1.0, 20)
    hessian = program.hessian()
    assert hessian is program.hessian()
    np.testing.assert_allclose(hessian(x)[0], program.jacrev().jacfwd()(x)[0], rtol=1e-12, atol=1e-14)


def test_traced_jacobians_take_the_predicted_mode(monkeypatch: pytest.MonkeyPatch):
    asked: list[str] = []
    monkeypatch.setattr(wg.Program, "jacobian_mode", lambda self, wrt, of, measure: asked.append("") or "jacrev")
    x = np.array([0.3, 0.4])
    jacobian = wg.jac(lambda x: wnp.sin(x) * x[0])
    np.testing.assert_allclose(jacobian(x), wg.jacfwd(lambda x: wnp.sin(x) * x[0])(x))
    np.testing.assert_allclose(jacobian(2 * x), wg.jacfwd(lambda x: wnp.sin(x) * x[0])(2 * x))
    assert len(asked) == 1
    np.testing.assert_allclose(wg.hessian(lambda x: wnp.sum(x**3))(x), np.diag(6 * x), atol=1e-12)
    assert len(asked) == 2
    inner = wg.grad(lambda y: wnp.sum(wg.jac(lambda x: wnp.sin(x) * y)(x)))(1.0)
    assert inner == pytest.approx(float(np.cos(x).sum()))
    assert len(asked) == 2


def test_ties_can_be_measured():
    program = wg.parse(WIDE)
    seen = wg.strategies(program, _inputs(program), measure="ties")
    timed = {row.name for row in seen.rows if row.measured is not None}
    numbers = {row.name: float(row.predicted.seconds.constant or 0) for row in seen.rows if row.predicted is not None}
    near = {name for name, seconds in numbers.items() if seconds <= UNDECIDED * min(numbers.values())}
    assert timed == (near if len(near) > 1 else set())
    assert seen.best.name in near


# -- what is chosen without being asked


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, and a compiler that no other test has extended."""
    monkeypatch.setenv("WENGERT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(plugins, "LOADED", {})
    monkeypatch.setattr(plugins, "_REGISTERING", set())
    return tmp_path / "cache"


def _never(*_: object, **__: object) -> object:
    raise AssertionError("this is known")


@pytest.mark.parametrize("measure", [None, False, True])
def test_what_a_jacobian_chooses_is_known_afterwards(home: Path, monkeypatch: pytest.MonkeyPatch, measure: bool | None):
    first = wg.parse(WIDE)
    x = _inputs(first)[0]
    expected = first.jacobian(measure=measure)(x)[0]
    mode, hessian = first.jacobian_mode(measure=measure), wg.parse(SUM).hessian(measure=measure)(np.ones(300))[0]
    monkeypatch.setattr(deciding, "decided", _never)
    again = wg.parse(WIDE)
    np.testing.assert_array_equal(again.jacobian(measure=measure)(x)[0], expected)
    assert again.jacobian_mode(measure=measure) == mode
    np.testing.assert_array_equal(wg.parse(SUM).hessian(measure=measure)(np.ones(300))[0], hessian)
    with pytest.raises(AssertionError, match="is known"):
        wg.parse(BAND).jacobian(measure=measure)


def test_a_known_jacobian_imports_no_ir(home: Path):
    script = f"""
import sys
import numpy as np
import wengert as wg
program = wg.parse('''{WIDE}''')
jacobian = program.jacobian()
print(jacobian(np.linspace(0, 1, 40))[0].sum(), "xdsl" in sys.modules)
"""
    environment = {**os.environ, "WENGERT_CACHE": str(home)}
    runs = [subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True).stdout.split() for _ in range(2)]
    assert runs[0][0] == runs[1][0]
    assert [run[1] for run in runs] == ["True", "False"]


def test_what_was_measured_before_goes_before_what_is_predicted(home: Path):
    program = wg.parse(WIDE)
    wrt, of = program.resolve()
    other = "jacrev" if jacobian_passes(program, wrt, of, None) != "jacrev" else "jacfwd"
    remember(program, "jacobian", wrt, of, "measured", other)
    assert jacobian_passes(wg.parse(WIDE), wrt, of, None) == other
    assert jacobian_passes(wg.parse(WIDE), wrt, of, True) == other
    assert jacobian_passes(wg.parse(WIDE), wrt, of, False) != other


def test_a_table_that_measures_ties_tells_later_jacobians(home: Path, monkeypatch: pytest.MonkeyPatch):
    program = wg.parse(WIDE)
    names = ["jacfwd", "jacrev", "compressed columns", "compressed rows"]
    monkeypatch.setattr(tables, "_undecided", lambda rows, at_inputs: [row for row in rows if row.plan.at_once is None])
    seen = wg.strategies(program, strategies=["transpose"])
    measured_names = {row.name: row.measured.times.minimum for row in seen.rows if row.measured is not None and row.plan.at_once is None}
    assert set(names) <= measured_names.keys()
    close = [row for row in seen.rows if row.plan.at_once is None and row.predicted is not None]
    best = min((row for row in close), key=lambda row: measured_names[row.name])
    kept = recalled(program, "jacobian", *program.resolve(), "measured")
    alone = len(near([row.unmeasured for row in close], UNDECIDED)) < 2
    assert kept == (None if alone else best.plan.passes or best.name)


def test_the_model_of_the_machine_is_part_of_what_is_known(home: Path, monkeypatch: pytest.MonkeyPatch):
    program = wg.parse(WIDE)
    wrt, of = program.resolve()
    remember(program, "jacobian", wrt, of, "predicted", "jacrev")
    remember(program, "jacobian", wrt, of, "measured", "jacrev")
    assert recalled(program, "jacobian", wrt, of, "predicted") == "jacrev"
    path = model_path()
    assert path is not None
    write_model(shipped_model(), path)
    assert recalled(program, "jacobian", wrt, of, "predicted") is None
    assert recalled(program, "jacobian", wrt, of, "measured") == "jacrev"
    monkeypatch.setenv("WENGERT_NUM_THREADS", "3")
    assert recalled(program, "jacobian", wrt, of, "measured") is None
    monkeypatch.setenv("WENGERT_CACHE", "off")
    assert recalled(wg.parse(WIDE), "jacobian", wrt, of, "measured") is None


def test_ties_are_measured_by_default_and_not_with_predict(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "layer.mlir"
    path.write_text(LAYER)

    def told(*options: str) -> dict[str, Any]:
        assert main(["strategies", str(path), "--json", *options]) == 0
        return json.loads(capsys.readouterr().out)

    default = told()["decision"]
    assert default["by"] == "measurement"
    assert len(default["measured"]) > 1
    assert "; predicted was " in default["line"]
    assert default["predicted"]["row"] in {row["name"] for row in told("--predict")["rows"]}
    predicted = told("--predict")
    assert predicted["decision"]["by"] == "prediction"
    assert not any(row["measured"] for row in predicted["rows"])
    assert predicted["decision"]["line"].rstrip(".").endswith("predicted") or "is chosen" in predicted["decision"]["line"]
    assert main(["strategies", str(path), "--predict", "--measure"]) == 2


def test_what_is_clear_is_not_measured():
    seen = wg.strategies(wg.parse(SUM), strategies=["transpose"])
    numbers = [float(row.predicted.seconds.constant or 0) for row in seen.rows if row.predicted is not None]
    if sum(n <= UNDECIDED * min(numbers) for n in numbers) == 1:
        assert "no other row is predicted within 25 %" in seen.decision
    assert all(row.measured is None for row in wg.strategies(wg.parse(SUM), measure=False).rows)


def test_nothing_is_measured_at_drawn_inputs_where_iterations_are_given_or_not_known():
    for values in ({}, {"T0": 7}):
        seen = wg.strategies(wg.parse(UNTIL), values=values)
        assert all(row.measured is None for row in seen.rows)


def test_traced_jacobians_can_be_settled_by_measuring(monkeypatch: pytest.MonkeyPatch):
    asked: list[bool | None] = []
    monkeypatch.setattr(wg.Program, "jacobian_mode", lambda self, wrt, of, measure: asked.append(measure) or "jacrev")
    x = np.array([0.3, 0.4])
    np.testing.assert_allclose(wg.jacobian(wnp.sin, measure=True)(x), np.diag(np.cos(x)))
    np.testing.assert_allclose(wg.hessian(lambda x: wnp.sum(x**3), measure=False)(x), np.diag(6 * x), atol=1e-12)
    assert asked == [True, False]
    monkeypatch.undo()
    np.testing.assert_allclose(wg.jacobian(wnp.sin, measure=True)(x), np.diag(np.cos(x)))
