"""The document of a report: its stages, and the ops on their lines."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import wengert as wg
from wengert.ir.location.locations import Role, at, derived_at
from wengert.lab.cli.main import main
from wengert.lab.inspection.subject import Request
from wengert.lab.report.assemble import Wanted, assemble
from wengert.lab.report.document import VERSION, Document
from wengert.lab.report.operation_table import ROLES
from wengert.lab.report.source_texts import Places, SourceText, python_words

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
LOOP = """\
func.func @main(%a: tensor<4xf64>) -> tensor<4xf64> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %count = stablehlo.constant dense<5> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<4xf64>
    cond {
      %1 = stablehlo.compare LT, %i, %count, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = stablehlo.sine %x : tensor<4xf64>
      %2 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %2, %1 : tensor<i32>, tensor<4xf64>
    }
  return %0#1 : tensor<4xf64>
}
"""


def document_of(text: str, wanted: Wanted | None = None, analyses: tuple[str, ...] = ()) -> Document:
    return assemble(wg.parse(text, "p.mlir"), [SourceText("p.mlir", "mlir", text)], wanted or Wanted(), "p.mlir", analyses)


@pytest.fixture(scope="module", params=["scalar", "mlp", "transformer_block", "loop"])
def document(request: pytest.FixtureRequest) -> Document:
    return document_of(LOOP if request.param == "loop" else (EXAMPLES / f"{request.param}.mlir").read_text())


def test_stages_go_from_the_program_to_code(document: Document):
    sections = [stage.section for stage in document.stages]
    order = ["primal", "derivative", "kernels", "code"]
    assert list(dict.fromkeys(sections)) == order
    assert sections == sorted(sections, key=order.index)
    assert document.stages[0].name == "input"
    assert document.stages[-1].name == "optimize-llvm"
    assert not document.diagnostics


def test_a_stage_that_changed_nothing_refers_to_the_one_before(document: Document):
    shown = -1
    for number, stage in enumerate(document.stages):
        assert (stage.same_as == -1) == bool(stage.text)
        if stage.same_as >= 0:
            assert stage.same_as == shown
            assert stage.operations is None
        else:
            shown = number


def test_ops_are_on_the_lines_that_their_text_begins_on(document: Document):
    strings = document.strings.listed
    checked = 0
    for stage in document.stages:
        table, lines = stage.operations, stage.text.splitlines()
        if table is None:
            continue
        assert len({len(column) for column in vars(table).values()}) == 1
        for op, line in enumerate(table.line):
            name = strings[table.name[op]]
            if name == "argument" or strings[table.name[table.parent[op]]] not in ("func.func", "stablehlo.while"):
                continue
            written = lines[line].strip()
            assert name.removeprefix("func.") in written, (stage.name, name, written)
            if table.results[op]:
                assert written.startswith(table.results[op]), (stage.name, table.results[op], written)
            checked += 1
    assert checked >= 20


def test_operands_and_parents_come_before(document: Document):
    for stage in document.stages:
        if stage.operations is not None:
            for op, (parent, operands) in enumerate(zip(stage.operations.parent, stage.operations.operands, strict=True)):
                assert -1 <= parent < op
                assert all(0 <= operand < op for operand in operands)


def test_derived_ops_have_roles_and_places_of_the_source(document: Document):
    stage = next(stage for stage in document.stages if stage.name == "vjp")
    table = stage.operations
    assert table is not None
    roles = {ROLES[role] for role in table.role}
    assert {"", "cotangent"} <= roles
    text = document.sources[0].text.splitlines()
    names = document.strings.listed
    for op, places in enumerate(table.places):
        for place in places:
            source, line, _ = document.places.listed[place]
            assert source == 0
            assert text[line - 1].strip()
        if ROLES[table.role[op]] == "cotangent":
            assert names[table.derivation[op]].startswith("vjp/cotangent/")


def test_peaks_and_ops_are_those_of_the_dumps(tmp_path: Path):
    text = (EXAMPLES / "mlp.mlir").read_text()
    document = document_of(text)
    program = wg.parse(text)
    program.vjp(dump_dir=tmp_path)
    index = (tmp_path / "index.md").read_text()
    for stage in document.stages:
        if stage.section == "derivative" and stage.label.startswith("vjp"):
            row = next(line for line in index.splitlines() if "| `vjp{" in line)
            assert f"| {stage.ops} |" in row
    derivative = next(stage for stage in reversed(document.stages) if stage.section == "derivative")
    assert derivative.peak == program.costs().reverse.cost.peak_bytes


def test_every_request_is_made(document: Document):
    text = document.sources[0].text
    forward = document_of(text, Wanted(Request("jvp"), code=False))
    second = document_of(text, Wanted(Request("hvp"), code=False))
    alone = document_of(text, Wanted(None, code=False))
    passes = document_of(text, Wanted(None, "to-core,simplify"))
    assert "tangent" in {ROLES[role] for role in _last(forward).role}
    assert [stage.name for stage in second.stages if stage.name in ("vjp", "jvp")] == ["vjp", "jvp"]
    assert {stage.section for stage in alone.stages} == {"primal"}
    assert [stage.label for stage in passes.stages] == ["", "to-core", "simplify"]


def _last(document: Document):
    table = next(stage.operations for stage in reversed(document.stages) if stage.operations is not None)
    assert table is not None
    return table


def test_a_pipeline_that_stops_leaves_the_stages_before_it():
    text = "func.func @main(%x: tensor<4xf64>) -> tensor<4xf64> {\n  %0 = stablehlo.custom_call @other(%x) : (tensor<4xf64>) -> tensor<4xf64>\n  return %0 : tensor<4xf64>\n}\n"
    document = document_of(text, analyses=("costs",))
    assert document.stages[0].name == "input"
    assert document.stages[-1].section == "primal"
    assert document.diagnostics[0]["line"] == 2
    assert set(document.analyses) <= {"rules"}


def test_analyses_that_cannot_be_made_say_why_and_name_the_command():
    analyses = document_of(LOOP, Wanted(skip=frozenset({"check"})), ("costs", "check")).to_json()["analyses"]
    assert analyses["check"] == {"left_out": "It was left out of this report.", "command": "wengert check p.mlir"}
    assert set(analyses["costs"]["rows"]) == {"primal", "forward", "reverse"}


def test_rules_are_named_with_their_mathematics():
    text = "func.func @main(%x: tensor<f64>) -> tensor<f64> {\n  %0 = stablehlo.sine %x : tensor<f64>\n  %1 = stablehlo.multiply %0, %x : tensor<f64>\n  return %1 : tensor<f64>\n}\n"
    rules = document_of(text, Wanted(code=False)).analyses["rules"]
    assert rules["vjp/coefficient/stablehlo.sine"]["place"].startswith("transforms/ad/rules/elementwise.py:")
    assert "cos" in rules["vjp/coefficient/stablehlo.sine"]["math"]
    assert rules["vjp/cotangent/stablehlo.multiply"]["op"] == "stablehlo.multiply"
    assert any(rule["kind"] == "sum" for rule in rules.values()), "x is used twice"


def test_large_programs_leave_out_what_takes_long(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("wengert.lab.report.assemble.LARGE", 5)
    wanted = Wanted(code=False)
    assert "more than 5 ops" in document_of(LOOP, wanted, ("costs",)).to_json()["analyses"]["costs"]["left_out"]
    asked = replace(wanted, only=frozenset({"costs"}))
    assert "rows" in document_of(LOOP, asked, ("costs",)).to_json()["analyses"]["costs"]


def test_the_document_is_json_of_a_version(document: Document):
    data = json.loads(json.dumps(document.to_json()))
    assert (data["format"], data["version"]) == ("wengert-report", VERSION)
    assert len(data["places"]) == len(data["files"])


def test_words_of_python_make_up_its_lines():
    text = 'def f(x):\n    """A\n    string."""\n    return x  # done\n'
    lines = python_words(text)
    assert [sum(length for length, _ in words) for words in lines] == [len(line) for line in text.split("\n")]
    assert lines[0][0] == (3, "k")
    assert lines[2][-1][1] == "sd"


def test_places_of_a_call_are_those_of_the_callee_and_the_caller():
    from xdsl.dialects.builtin import CallSiteLoc

    sine = derived_at(at("a.mlir", 3, 4), "stablehlo.sine", Role.COTANGENT, "vjp")
    places = Places({"a.mlir": 0})
    seen = places.of(CallSiteLoc(sine, at("b.mlir", 5, 6)))
    assert (seen.places, seen.calls, seen.inferred, seen.derivation) == ([0, 1], 1, [], "vjp/cotangent/stablehlo.sine")
    assert places.listed == [(0, 3, 4), (-1, 5, 6)]
    assert places.files == ["a.mlir", "b.mlir"]


def test_what_a_rewrite_looked_through_is_an_inferred_place():
    text = """\
func.func @main(%x: tensor<3x2xf64>) -> tensor<2x3xf64> {
  %0 = stablehlo.reshape %x : (tensor<3x2xf64>) -> tensor<6xf64>
  %1 = stablehlo.reshape %0 : (tensor<6xf64>) -> tensor<2x3xf64>
  return %1 : tensor<2x3xf64>
}
"""
    document = document_of(text, Wanted(None, "to-core,simplify"))
    table = _last(document)
    op = [document.strings.listed[name] for name in table.name].index("stablehlo.reshape")
    assert [document.places.listed[place][1] for place in table.places[op]] == [3, 2]
    assert [document.places.listed[place][1] for place in table.inferred[op]] == [2]


def test_what_became_of_ops_that_are_gone_is_told():
    text = "func.func @main(%x: tensor<f64>) -> tensor<f64> {\n  %0 = stablehlo.sine %x : tensor<f64>\n  %1 = stablehlo.cosine %x : tensor<f64>\n  return %0 : tensor<f64>\n}\n"
    document = document_of(text, Wanted(None, "to-core,dce"))
    ((places, told),) = [(places, told) for places, told in document.changes if "cosine" in told]
    assert [document.places.listed[place][1] for place in places] == [3]
    assert "dce: stablehlo.cosine removed" in told


def test_a_text_cannot_make_a_report_show_other_files(tmp_path: Path):
    secret = tmp_path / "secret.py"
    secret.write_text("PASSWORD = 'do-not-copy'\n")
    program = tmp_path / "p.mlir"
    program.write_text(
        f'func.func @main(%x: tensor<f64>) -> tensor<f64> {{\n  %0 = stablehlo.sine %x : tensor<f64> loc("{secret}":1:1)\n  return %0 : tensor<f64>\n}}\n'
    )
    report = tmp_path / "report.json"
    assert main(["report", str(program), "--json", "--skip", "costs,strategies,check", "-o", str(report)]) == 0
    text = report.read_text()
    assert "do-not-copy" not in text
    assert json.loads(text)["files"].count(str(secret)) == 1


def test_a_python_function_is_shown_with_its_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "model.py").write_text("import wengert.numpy as wnp\n\n\ndef f(x):\n    y = wnp.sin(x)\n    return wnp.sum(y * x)\n")
    monkeypatch.chdir(tmp_path)
    assert main(["report", "model.py:f", "--shapes", "3xf64", "--json", "--skip", "costs,strategies,check", "-o", "report.json"]) == 0
    document = json.loads(Path("report.json").read_text())
    assert [source["language"] for source in document["sources"]] == ["python"]
    vjp = next(stage for stage in document["stages"] if stage["name"] == "vjp")
    cotangents = [op for op, role in enumerate(vjp["operations"]["role"]) if document["roles"][role] == "cotangent"]
    lines = {document["places"][place][1] for op in cotangents for place in vjp["operations"]["places"][op]}
    assert 5 in lines


def test_llvm_text_is_shown_as_it_is(tmp_path: Path):
    path = tmp_path / "p.ll"
    path.write_text("define void @f() {\n  ret void\n}\n")
    assert main(["report", str(path), "--json", "-o", str(tmp_path / "r.json")]) == 0
    (stage,) = json.loads((tmp_path / "r.json").read_text())["stages"]
    assert (stage["section"], stage["form"], stage["operations"]) == ("code", "ll", None)


def test_a_dump_of_kernels_has_no_derivative(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    wg.parse((EXAMPLES / "mlp.mlir").read_text()).compile(dump_dir=tmp_path)
    fused = next(tmp_path.glob("*-fuse.mlir"))
    assert main(["report", str(fused), "--json", "--skip", "costs,strategies,check", "-o", str(tmp_path / "r.json")]) == 0
    document = json.loads((tmp_path / "r.json").read_text())
    assert {stage["section"] for stage in document["stages"]} == {"kernels", "code"}


def test_the_command_says_what_it_wrote_and_refuses_what_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)
    assert main(["report", str(EXAMPLES / "scalar.mlir")]) == 0
    assert Path("scalar.html").read_text().startswith("<!doctype html>")
    assert "scalar.html" in capsys.readouterr().err
    assert main(["report", str(EXAMPLES / "scalar.mlir"), "--skip", "cost"]) == 2
    assert "costs" in capsys.readouterr().err
    assert main(["report", "nothing.mlir"]) == 1


def test_stages_are_compared_as_diff_compares_them():
    text = (EXAMPLES / "transformer_block.mlir").read_text()
    compared = document_of(text, Wanted(Request("vjp"), "simplify"), ("diff",)).to_json()["analyses"]["diff"]
    assert compared["all"]
    numbers = sorted({int(n) for pair in compared["pairs"] for n in pair.split(":")})
    assert len(compared["pairs"]) == len(numbers) * (len(numbers) - 1) // 2
    program = wg.parse(text)
    (last,) = [known for pair, known in compared["pairs"].items() if pair == f"{numbers[0]}:{numbers[-1]}"]
    expected = wg.diff(program, program.vjp()).to_json()
    assert {name: last[name] for name in ("added", "removed", "changed", "alike", "totals")} == {
        name: expected[name] for name in ("added", "removed", "changed", "alike", "totals")
    }


def test_neighbours_are_always_compared_and_others_as_far_as_there_is_room(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("wengert.lab.report.differences.MOST_OPS", 0)
    text = (EXAMPLES / "transformer_block.mlir").read_text()
    wanted = Wanted(Request("vjp"), "simplify", pair=(0, 2))
    compared = document_of(text, wanted, ("diff",)).to_json()["analyses"]["diff"]
    assert not compared["all"]
    assert {"0:1", "1:2", "0:2"} <= set(compared["pairs"])


def test_long_programs_are_not_compared_unless_it_is_asked_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("wengert.lab.report.assemble.LARGE", 5)
    left_out = document_of(LOOP, Wanted(None, "dce"), ("diff",)).to_json()["analyses"]["diff"]
    assert left_out["left_out"].startswith("It is left out of reports of more than 5 ops")
    asked = document_of(LOOP, Wanted(None, "to-core,dce", only=frozenset({"diff"})), ("diff",)).to_json()["analyses"]["diff"]
    assert asked["pairs"]
