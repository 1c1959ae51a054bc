"""The table of strategies: every row computes the derivative, figures are those of what is compiled, and the line that decides says what is known."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.programs.strategy_programs import BAND, LAYER, NARROW, SUM, UNTIL, WIDE

import wengert as wg
from wengert import numpy as wnp
from wengert.lab.cli.main import main
from wengert.lab.strategies import default
from wengert.lab.strategies import table as tables
from wengert.lab.strategies.choice import UNDECIDED, choose
from wengert.lab.strategies.measuring import measured
from wengert.lab.strategies.plans import CHUNKS
from wengert.runtime.errors import InputError
from wengert.transforms.ad.strategies import STRATEGIES


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
    np.testing.assert_allclose(wide.jacobian()(np.ones(300))[0], wide.jacrev()(np.ones(300))[0], rtol=1e-12)
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
    assert wg.strategies(program, of="hessian").best.name == "edge pushing"
    x = np.linspace(0.1, 1.0, 20)
    hessian = program.hessian()
    assert hessian is program.hessian()
    np.testing.assert_allclose(hessian(x)[0], program.jacrev().jacfwd()(x)[0], rtol=1e-12, atol=1e-14)


def test_traced_derivatives_choose_when_a_signature_is_traced(monkeypatch: pytest.MonkeyPatch):
    asked: list[str] = []
    monkeypatch.setattr(default, "jacobian_passes", lambda *_: asked.append("jacobian") or "jacrev")
    monkeypatch.setattr(default, "hessian_plan", lambda *_: asked.append("hessian") or "forward over reverse")
    x = np.array([0.3, 0.4])
    jacobian = wg.jac(lambda x: wnp.sin(x) * x[0])
    np.testing.assert_allclose(jacobian(x), wg.jacfwd(lambda x: wnp.sin(x) * x[0])(x))
    np.testing.assert_allclose(jacobian(2 * x), wg.jacfwd(lambda x: wnp.sin(x) * x[0])(2 * x))
    assert asked == ["jacobian"]
    np.testing.assert_allclose(wg.hessian(lambda x: wnp.sum(x**3))(x), np.diag(6 * x), atol=1e-12)
    assert asked == ["jacobian", "hessian"]
    inner = wg.grad(lambda y: wnp.sum(wg.jac(lambda x: wnp.sin(x) * y)(x)))(1.0)  # a function of a traced value from outside is no program of its own
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
