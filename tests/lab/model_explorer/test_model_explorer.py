"""Graphs for Model Explorer: layers by part, line and region, names that link a program and its derivative, costs, kept values, and the package's data classes."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import wengert as wg
from wengert.lab.kept import kept
from wengert.lab.model_explorer.graphs import DERIVATIVE, PRIMAL, graphs_of, graphs_of_file
from wengert.lab.model_explorer.nested import BYTES, FLOPS, KEPT, LayeredGraph, LayeredNode

BLOCK = Path(__file__).resolve().parents[3] / "examples" / "transformer_block.mlir"
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


def node(graph: LayeredGraph, name: str) -> LayeredNode:
    (match,) = [n for n in graph.nodes if n.name == name]
    return match


def sources(graph: LayeredGraph, name: str) -> list[str]:
    return [edge.source for edge in node(graph, name).edges]


def check_closed(graph: LayeredGraph) -> None:
    """Names are unique, edges and links end at nodes, results exist, and no edge closes a circle."""
    place = {n.name: i for i, n in enumerate(graph.nodes)}
    assert len(place) == len(graph.nodes)
    for n in graph.nodes:
        for edge in n.edges:
            assert place[edge.source] < place[n.name]
            assert edge.result < len(graph.nodes[place[edge.source]].results)
            assert graph.nodes[place[edge.source]].results[edge.result].type == edge.type
        assert len({edge.input for edge in n.edges}) == len(n.edges)
        assert {name for names in n.links.values() for name in names} <= place.keys()
        assert not any("/" in layer for layer in n.layers)
    assert {name for edge in graph.kept for name in (edge.source, edge.target)} <= place.keys()


def test_the_block_and_its_derivative() -> None:
    primal, derivative, called = graphs_of_file(str(BLOCK))
    assert (primal.name, derivative.name, called.name) == (PRIMAL, DERIVATIVE, "@_where")
    for graph in (primal, derivative, called):
        check_closed(graph)
    assert {n.layers[0] for n in derivative.nodes if n.layers} == {"forward", "reverse"}
    # Layers have the same lines in both, and so stand side by side.
    stretches = {n.layers[0] for n in primal.nodes if n.layers}
    assert {n.layers[1] for n in derivative.nodes if n.layers} <= stretches
    assert len(stretches) <= 12
    rsqrt = next(n for n in primal.nodes if n.label == "rsqrt")
    same = node(derivative, rsqrt.name)
    assert (same.label, same.layers) == ("rsqrt", ("forward", *rsqrt.layers))
    back = node(derivative, f"cotangent of {rsqrt.name}: multiply")
    assert back.links == {"derived from": (rsqrt.name,)}
    assert back.name in same.links["derived ops"]
    assert back.layers[0] == "reverse"
    assert back.layers[1:] == same.layers[1:]
    assert back.attributes["role"] == "cotangent"
    assert [n.functions for n in primal.nodes if n.functions] == [("_where",)]


def test_costs_are_those_of_the_analyses() -> None:
    program = wg.load(BLOCK)
    primal, derivative, _ = graphs_of(program)
    product = next(n for n in primal.nodes if n.label == "dot_general")
    assert product.numbers == {FLOPS: 2 * 2 * 16 * 32 * 96, BYTES: 2 * 16 * 96 * 8}
    report = kept(program)
    assert derivative.total(KEPT) == sum(r.bytes for r in report.residuals if r.where == "memory")
    assert derivative.total(KEPT, ("reverse",)) == 0
    assert {edge.source for edge in derivative.kept} <= {n.name for n in derivative.nodes if "kept for the reverse part" in n.attributes}


def test_values_flow_through_loops() -> None:
    primal, derivative = graphs_of(wg.parse(LOOP, "loop.mlir"))
    for graph in (primal, derivative):
        check_closed(graph)
    loop = "while at loop.mlir:5:3"
    assert node(primal, "sine at loop.mlir:11:7").layers == ("line 5", loop, "body")
    assert node(primal, "compare at loop.mlir:7:7").layers == ("line 5", loop, "condition")
    assert sources(primal, f"body argument 1 of {loop}") == ["argument 0"]
    assert sources(primal, "multiply at loop.mlir:10:7") == [f"body argument 1 of {loop}", "argument 1"]
    assert "sine at loop.mlir:11:7" in sources(primal, loop)
    assert sources(primal, "result 0") == [loop]
    assert node(derivative, loop).label == "for"
    assert derivative.total(KEPT) == 2 * 10 * 32
    assert node(derivative, "coefficient of sine at loop.mlir:11:7: cosine").attributes["kept for the reverse part"] == "320 B, in memory"


def test_a_program_without_a_derivative_says_why() -> None:
    text = "func.func @main(%x: tensor<4xi64>) -> tensor<4xi64> {\n  %0 = stablehlo.abs %x : tensor<4xi64>\n  return %0 : tensor<4xi64>\n}"
    (graph,) = graphs_of(wg.parse(text, "whole.mlir"))
    assert "float" in graph.facts["no reverse derivative"]


def test_a_dump_of_a_derivative_is_shown_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "d.mlir"
    path.write_text(wg.parse(LOOP, "loop.mlir").vjp().text(locations=True))
    (graph,) = graphs_of_file(str(path))
    check_closed(graph)
    assert graph.name == DERIVATIVE
    assert {n.layers[0] for n in graph.nodes if n.layers} == {"forward", "reverse"}
    assert graph.total(KEPT) == 2 * 10 * 32


def explorer() -> Any:
    return pytest.importorskip("model_explorer", reason="Model Explorer is not installed: the extra model-explorer")


@pytest.mark.parametrize("name", ["block", "loop"])
def test_the_adapter_gives_the_data_classes_of_the_package(name: str, tmp_path: Path) -> None:
    package = explorer()
    from wengert.lab.model_explorer.main import WengertAdapter, WengertNodeData

    path = tmp_path / "p.mlir"
    path.write_text(BLOCK.read_text() if name == "block" else LOOP)
    builder = package.graph_builder
    answer = WengertAdapter().convert(str(path), {})
    layered = graphs_of_file(str(path))
    assert [graph.id for graph in answer["graphs"]] == [graph.name for graph in layered]
    for graph, known in zip(answer["graphs"], layered):
        assert isinstance(graph, builder.Graph)
        assert all(isinstance(n, builder.GraphNode) for n in graph.nodes)
        assert [n.id for n in graph.nodes] == [n.name for n in known.nodes]
        assert [n.namespace for n in graph.nodes] == ["/".join(n.layers) for n in known.nodes]
        types = {(n.id, output.id): {a.key: a.value for a in output.attrs}["tensor_shape"] for n in graph.nodes for output in n.outputsMetadata}
        for n in graph.nodes:
            inputs = {item.id: {a.key: a.value for a in item.attrs}["tensor_shape"] for item in n.inputsMetadata}
            for edge in n.incomingEdges:
                assert types[edge.sourceNodeId, edge.sourceNodeOutputId] == inputs[edge.targetNodeInputId]
        named = {n.namespace for n in graph.nodes}
        assert named <= set(graph.groupNodeAttributes)
        json.dumps(asdict(graph))
        for metadata in WengertNodeData.metadata:
            data = WengertNodeData().run(metadata.id, str(path), graph.id, {}, graph)
            assert not data.error
            assert {key: result.value for key, result in data.result.results.items()} == {
                n.name: n.numbers[metadata.name] for n in known.nodes if metadata.name in n.numbers
            }
    overlay = answer["graphs"][1].tasksData.edgeOverlaysDataListLeftPane[0].overlays[0]
    assert [(edge.sourceNodeId, edge.targetNodeId) for edge in overlay.edges] == [(edge.source, edge.target) for edge in layered[1].kept]
    assert overlay.edges


def test_what_node_data_cannot_be_made_of_is_said(tmp_path: Path) -> None:
    explorer()
    from wengert.lab.model_explorer.main import WengertNodeData

    path = tmp_path / "p.mlir"
    path.write_text(LOOP)
    assert "no graph 'other'" in WengertNodeData().run("wengert_flops", str(path), "other", {}, None).error
    path.write_text("no program")
    assert f"{path}:1:1" in WengertNodeData().run("wengert_flops", str(path), PRIMAL, {}, None).error


MANAGER = """
import json, sys
from model_explorer.extension_manager import ExtensionManager
manager = ExtensionManager(["wengert.lab.model_explorer"])
manager.load_extensions()
adapters = [e.metadata.id for e in manager.extensions if e.type == "adapter" and "mlir" in e.metadata.fileExts]
data = [e.metadata.name for e in manager.extensions if e.type == "node_data_provider"]
made = manager.run_cmd({"cmdId": "convert", "extensionId": adapters[0], "modelPath": sys.argv[1], "settings": {}, "deleteAfterConversion": False})
json.dump([adapters, data, [graph["id"] for graph in made["graphs"]]], sys.stderr)
"""


def test_the_package_finds_the_extensions_and_takes_this_one_for_mlir(tmp_path: Path) -> None:
    explorer()
    path = tmp_path / "p.mlir"
    path.write_text(LOOP)
    done = subprocess.run([sys.executable, "-c", MANAGER, str(path)], capture_output=True, text=True, check=True)
    adapters, data, graphs = json.loads(done.stderr.splitlines()[-1])
    assert adapters == ["wengert"]
    assert data == [FLOPS, BYTES, KEPT]
    assert graphs == [PRIMAL, DERIVATIVE]
