"""Drawings: which nodes and edges there are, what is marked in derivatives, DOT and SVG, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import wengert as wg
from wengert.lab.cli.main import main
from wengert.lab.draw.graph import Graph, Kind, Node, is_combiner
from wengert.lab.draw.ladder import lay_out_folded
from wengert.runtime.functions import entry_function

SINE = """func.func public @main(%x: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %c = stablehlo.constant dense<0.5> : tensor<2x3xf64>
  %0 = stablehlo.sine %x : tensor<2x3xf64>
  %1 = stablehlo.multiply %0, %c : tensor<2x3xf64>
  %2 = stablehlo.multiply %1, %1 : tensor<2x3xf64>
  return %2 : tensor<2x3xf64>
}
"""
BRANCHES = """func.func public @main(%x: tensor<f64>) -> tensor<f64> {
  %c = stablehlo.constant dense<0.0> : tensor<f64>
  %p = stablehlo.compare GT, %x, %c, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
  %y = "stablehlo.if"(%p) ({
    %0 = stablehlo.sine %x : tensor<f64>
    stablehlo.return %0 : tensor<f64>
  }, {
    stablehlo.return %c : tensor<f64>
  }) : (tensor<i1>) -> tensor<f64>
  %z = func.call @f(%y) : (tensor<f64>) -> tensor<f64>
  return %z : tensor<f64>
}
func.func private @f(%x: tensor<f64>) -> tensor<f64> {
  %0 = stablehlo.cosine %x : tensor<f64>
  return %0 : tensor<f64>
}
"""


def node(graph: Graph, first: str) -> Node:
    (match,) = [n for n in graph.nodes if n.lines[0] == first]
    return match


def edges(graph: Graph) -> list[tuple[str, str]]:
    labels = {n.name: n.lines[0] for n in graph.nodes}
    return [(labels[a], labels[b]) for a, b in graph.edges]


def test_nodes_and_edges() -> None:
    graph = wg.draw(wg.parse(SINE, "f.mlir")).graph
    assert graph.title == "f.mlir: @main"
    assert [n.lines[0] for n in graph.nodes] == ["x", "0.5", "sine", "multiply", "multiply", "result 0"]
    assert ("x", "sine") in edges(graph)
    assert edges(graph).count(("multiply", "multiply")) == 2
    assert node(graph, "sine").lines[1:] == ("f64[2,3]",)
    assert node(graph, "sine").tooltip == "stablehlo.sine at f.mlir:3:3"
    assert not any(n.saved for n in graph.nodes)
    assert graph.kinds == {Kind.ARGUMENT, Kind.CONSTANT, Kind.OP, Kind.RESULT}


def test_reverse_derivatives_tell_their_parts_apart() -> None:
    graph = wg.draw(wg.parse(SINE).vjp()).graph
    assert {Kind.FORWARD, Kind.BACKWARD} <= graph.kinds
    assert node(graph, "cotangent of result 0").kind is Kind.BACKWARD
    kinds = {n.name: n for n in graph.nodes}
    crossing = {a for a, b in graph.edges if kinds[b].kind is Kind.BACKWARD and kinds[a].kind in (Kind.FORWARD, Kind.ARGUMENT)}
    assert crossing == {n.name for n in graph.nodes if n.saved}
    assert "cosine" in {kinds[name].lines[0] for name in crossing}
    assert any("(cotangent of stablehlo.sine, by " in n.tooltip for n in graph.nodes)


def test_forward_derivatives_have_tangents_and_keep_nothing() -> None:
    graph = wg.draw(wg.parse(SINE).jvp()).graph
    assert {Kind.FORWARD, Kind.TANGENT} <= graph.kinds
    assert not any(n.saved for n in graph.nodes)


def test_regions_are_graphs_of_their_own() -> None:
    program = wg.parse(BRANCHES)
    graph = wg.draw(program).graph
    branch = node(graph, "if")
    assert node(graph, "compare").lines[1:] == ("GT", "i1")
    assert [len(region.nodes) for region in branch.regions] == [3, 2]
    assert [n.kind for n in branch.regions[0].nodes if n.lines[0].startswith("from outside")] == [Kind.CAPTURE]
    assert ("x", "if") in edges(graph)
    assert node(graph, "call").lines[1] == "@f"
    assert [n.lines[0] for n in wg.draw(program, function="f").graph.nodes] == ["x", "cosine", "result 0"]
    derivative = wg.draw(program.vjp()).graph
    assert sum(bool(n.regions) for n in derivative.nodes) >= 2


def test_all_in_a_backward_region_is_backward() -> None:
    graph = wg.draw(wg.parse(BRANCHES).vjp()).graph
    nested = [n for n in graph.nodes if n.regions]
    assert {n.kind for n in nested} == {Kind.FORWARD, Kind.BACKWARD}
    for holder in nested:
        inside = {n.kind for region in holder.regions for n in region.nodes} - {Kind.ARGUMENT, Kind.CAPTURE, Kind.CONSTANT}
        assert inside == {holder.kind}


@pytest.mark.parametrize("text", [SINE, BRANCHES])
def test_dot_is_well_formed(text: str) -> None:
    for program in (wg.parse(text), wg.parse(text).vjp(), wg.parse(text).jvp()):
        dot = program.draw().dot
        declared = re.findall(r"^\s*(n\d+) \[label=", dot, re.MULTILINE)
        used = re.findall(r"^\s*(n\d+) -> (n\d+);", dot, re.MULTILINE)
        assert len(declared) == len(set(declared))
        assert {name for pair in used for name in pair} <= set(declared)
        assert dot.count("{") == dot.count("}")


@pytest.mark.parametrize("text", [SINE, BRANCHES])
def test_svg_shows_every_node_in_its_own_place(text: str, tmp_path: Path) -> None:
    pytest.importorskip("grandalf")
    from wengert.lab.draw.layout import Layout, lay_out

    def check(layout: Layout) -> int:
        for i, a in enumerate(layout.boxes):
            assert a.x - a.width / 2 >= -1e-6
            assert a.x + a.width / 2 <= layout.width + 1e-6
            assert a.y + a.height / 2 <= layout.height + 1e-6
            for b in layout.boxes[:i]:
                assert abs(a.x - b.x) >= (a.width + b.width) / 2 - 1e-6 or abs(a.y - b.y) >= (a.height + b.height) / 2 - 1e-6
        assert len(layout.paths) == len(set(layout.graph.edges))
        return len(layout.boxes) + sum(check(inner) for box in layout.boxes for _, inner in box.regions)

    for program in (wg.parse(text), wg.parse(text).vjp(), wg.parse(text).jvp()):
        drawing = wg.draw(program)
        root = ElementTree.fromstring(drawing.svg())
        assert check(lay_out(drawing.graph)) == len(root.findall(".//{*}title"))
        drawing.save(tmp_path / "p.svg")
        assert (tmp_path / "p.svg").read_text() == drawing.svg() == drawing._repr_svg_()


def test_what_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = wg.parse(BRANCHES)
    with pytest.raises(wg.InputError, match=r"has 7 ops, and a drawing shows at most 3: draw one of its functions \(function='f'.*limit=7, or read the text"):
        wg.draw(program, limit=3)
    with pytest.raises(wg.InputError, match=r"draw takes a program, found Jit; of a traced function it is f\.program\(\*args\)"):
        wg.draw(wg.jit(lambda x: x))  # pyright: ignore[reportArgumentType]
    with pytest.raises(wg.InputError, match="no function @g"):
        wg.draw(program, function="g")
    with pytest.raises(wg.InputError, match=r"\.svg, \.dot or \.gv"):
        wg.draw(program).save(tmp_path / "p.png")
    monkeypatch.setitem(__import__("sys").modules, "grandalf.layouts", None)
    with pytest.raises(wg.InputError, match=r"pip install 'grandalf"):
        wg.draw(program).svg()
    assert wg.draw(program)._repr_svg_() is None


BLOCK = Path(__file__).resolve().parents[2] / "examples" / "transformer_block.mlir"
LOOP = """func.func public @main(%x: tensor<4xf64>, %w: tensor<4xf64>) -> tensor<4xf64> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %ten = stablehlo.constant dense<10> : tensor<i64>
  %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i64>, tensor<4xf64>
    cond {
      %p = stablehlo.compare LT, %i, %ten : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %a = stablehlo.multiply %y, %w : tensor<4xf64>
      %s = stablehlo.sine %a : tensor<4xf64>
      %n = stablehlo.add %i, %one : tensor<i64>
      stablehlo.return %n, %s : tensor<i64>, tensor<4xf64>
    }
  return %r#1 : tensor<4xf64>
}
"""


def shown(graph: Graph) -> int:
    """The ops that the nodes of a folded graph say that they hold; those of loops count what is inside."""
    said = [(node, match) for node in graph.nodes if (match := re.search(r"(\d+) ops?", " ".join(node.lines[2:])))]
    named = [node for node in graph.nodes if node.row >= 0 and node not in [n for n, _ in said]]
    return sum(int(match[1]) for _, match in said) + len(named)


@pytest.mark.parametrize("fold", ["line", "stretch"])
def test_folding_loses_no_op_and_no_value(fold: Any) -> None:
    for program in (wg.load(BLOCK), wg.load(BLOCK).vjp(), wg.load(BLOCK).jvp(), wg.parse(LOOP), wg.parse(LOOP).vjp()):
        whole, graph = wg.draw(program, fold="none").graph, wg.draw(program, fold=fold).graph
        walked = [op for op in entry_function(program.module, program.entry).walk() if op.name not in ("func.func", "stablehlo.constant")]
        ops = [op for op in walked if op.next_op is not None and not (op.parent_op() is not None and is_combiner(op.parent_op()))]
        assert shown(graph) == len(ops)
        names = {node.name for node in graph.nodes}
        assert len(names) == len(graph.nodes)
        assert {name for edge in graph.edges for name in edge} <= names
        assert graph.size < whole.size or whole.size < 30
        # Arguments, results and the colours of the parts are those of the picture of every op.
        assert graph.kinds - {Kind.ARGUMENT} == whole.kinds - {Kind.CONSTANT, Kind.CAPTURE, Kind.ARGUMENT}
        outer = [[node.lines for node in g.nodes if node.kind in (Kind.ARGUMENT, Kind.RESULT)] for g in (whole, graph)]
        assert outer[0] == outer[1]


def test_the_derivative_of_the_block_fits_on_a_screen() -> None:
    derivative = wg.load(BLOCK).vjp()
    drawing = wg.draw(derivative)
    assert len(drawing.graph.nodes) < 50
    root = ElementTree.fromstring(drawing.svg())
    assert float(root.attrib["width"]) < 1400
    assert float(root.attrib["height"]) < 1000
    layout = lay_out_folded(drawing.graph)
    assert {frame.title for frame in layout.frames} == {"forward", "reverse"}
    rows: dict[int, set[float]] = {}
    for box in layout.boxes:
        if box.node.row >= 0:
            rows.setdefault(box.node.row, set()).add(box.y)
    assert all(len(heights) == 1 for heights in rows.values())  # what came from the same lines is on the same height
    for i, a in enumerate(layout.boxes):
        assert a.x - a.width / 2 >= -1e-6
        for b in layout.boxes[:i]:
            assert abs(a.x - b.x) >= (a.width + b.width) / 2 - 1e-6 or abs(a.y - b.y) >= (a.height + b.height) / 2 - 1e-6
    assert len(layout.routes) == len(set(drawing.graph.edges))
    assert any(route.kept for route in layout.routes)
    assert not any(route.kept for route in lay_out_folded(wg.draw(wg.load(BLOCK)).graph).routes)


def test_small_programs_are_not_folded() -> None:
    assert wg.draw(wg.parse(SINE).vjp()).graph == wg.draw(wg.parse(SINE).vjp(), fold="none").graph
    assert not wg.draw(wg.parse(LOOP)).graph.folded


def test_folded_loops_hold_their_bodies() -> None:
    graph = wg.draw(wg.parse(LOOP).vjp(), fold="line").graph
    loops = [node for node in graph.nodes if node.regions]
    assert [(node.kind, [region.title for region in node.regions]) for node in loops] == [(Kind.FORWARD, ["body"]), (Kind.BACKWARD, ["body"])]
    assert any(node.lines[0] == "line 11" and "cosine" in node.lines[1] for node in loops[0].regions[0].nodes)
    ElementTree.fromstring(wg.draw(wg.parse(LOOP).vjp(), fold="line").svg())


def test_folded_dot_is_well_formed() -> None:
    for program in (wg.load(BLOCK).vjp(), wg.parse(LOOP).vjp()):
        drawing = wg.draw(program, fold="line")
        declared = re.findall(r"^\s*(n\d+) \[label=", drawing.dot, re.MULTILINE)
        used = re.findall(r"^\s*(n\d+) -> (n\d+) \[", drawing.dot, re.MULTILINE)
        assert len(declared) == len(set(declared)) == drawing.graph.size
        assert {name for pair in used for name in pair} <= set(declared)
        assert drawing.dot.count("{") == drawing.dot.count("}")
        assert "cluster_reverse" in drawing.dot


def test_what_folding_refuses() -> None:
    block = wg.load(BLOCK).vjp()
    with pytest.raises(wg.InputError, match=r"has 184 ops, and a drawing shows at most 30: fold them \(fold='line'\)"):
        wg.draw(block, fold="none", limit=30)
    with pytest.raises(wg.InputError, match=r"folded by line, and a drawing shows at most 30: fold it further \(fold='stretch'\)"):
        wg.draw(block, fold="line", limit=30)
    with pytest.raises(wg.InputError, match="fold is one of auto, none, line, stretch, found 'all'"):
        wg.draw(block, fold="all")  # pyright: ignore[reportArgumentType]


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.mlir"
    path.write_text(SINE)
    assert main(["draw", str(path)]) == 0
    assert capsys.readouterr().out == wg.load(path).draw().dot
    assert main(["draw", str(path), "--vjp", "-o", str(tmp_path / "d.dot")]) == 0
    assert (tmp_path / "d.dot").read_text() == wg.load(path).vjp().draw().dot
    assert main(["draw", str(path), "--fold", "line", "-o", str(tmp_path / "l.svg")]) == 0
    assert (tmp_path / "l.svg").read_text() == wg.load(path).draw(fold="line").svg()
    assert main(["draw", str(path), "--limit", "2"]) == 1
    assert "a drawing shows at most 2" in capsys.readouterr().err


def test_programs_in_notebooks() -> None:
    html = wg.parse(SINE, "f<1>.mlir")._repr_html_()
    root = ElementTree.fromstring(html.replace("&nbsp;", " "))
    assert "stablehlo.multiply 2" in "".join(root.itertext())
    assert [cell.text for cell in root.findall(".//tr")[0]] == ["argument 0", None, "f64[2,3]"]
    assert "".join(root.find(".//pre").itertext()) == str(wg.parse(SINE))  # type: ignore[union-attr]


def test_cost_reports_in_notebooks() -> None:
    report = wg.parse(SINE, "f<1>.mlir").costs()
    assert "".join(ElementTree.fromstring(report._repr_html_()).itertext()) == str(report)


def test_names_with_control_characters_make_well_formed_documents():
    name = "a\x01b\x1b[31m<&>\ud800\ufffe\u202eπ"
    program = wg.parse("func.func @main(%x: tensor<f64>) -> tensor<f64> { %0 = stablehlo.sine %x : tensor<f64>\n return %0 : tensor<f64> }", name)
    drawing = program.draw()
    root = ElementTree.fromstring(drawing.svg())
    assert r"a\x01b\x1b[31m<&>\ud800\ufffe\u202eπ" in "".join(root.itertext())
    assert drawing.dot.isascii() or all(c.isprintable() or c == "\n" for c in drawing.dot)
    html = program._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert all(c.isprintable() or c in "\n\t" for c in html)
