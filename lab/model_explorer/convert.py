"""Layered graphs as the data classes of Model Explorer: https://github.com/google-ai-edge/model-explorer/wiki/4.-API-Guide."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from itertools import accumulate
from typing import Any

from wengert.lab.draw.escaping import printable
from wengert.lab.draw.graph import Kind
from wengert.lab.draw.origins import Part
from wengert.lab.draw.style import LOOKS, SAVED, SAVED_NOTE
from wengert.lab.model_explorer.nested import BYTES, FLOPS, KEPT, LayeredGraph, LayeredNode
from wengert.lab.tables import size

_LAYER_LOOKS = {Part.FORWARD: Kind.FORWARD, Part.TANGENT: Kind.TANGENT, Part.REVERSE: Kind.BACKWARD}


def to_builder(graphs: Sequence[LayeredGraph]) -> list[Any]:
    """The graphs as ``model_explorer.graph_builder.Graph``; raises ImportError where the package is not installed."""
    builder: Any = import_module("model_explorer.graph_builder")
    names = {graph.function: graph.name for graph in graphs if graph.name.startswith("@")}
    return [_graph(builder, graph, names) for graph in graphs]


def _graph(builder: Any, graph: LayeredGraph, functions: dict[str, str]) -> Any:
    made = builder.Graph(graph.name, [_node(builder, node, functions) for node in graph.nodes])
    made.groupNodeAttributes = {"": {key: printable(value) for key, value in graph.facts.items()}} | {"/".join(at): _layer(graph, at) for at in _layers(graph)}
    made.groupNodeConfigs = [
        builder.GroupNodeConfig(f"^{part.value}$", backgroundColor=LOOKS[kind].fill, borderColor=LOOKS[kind].border) for part, kind in _LAYER_LOOKS.items()
    ]
    if graph.kept:
        edges = [builder.Edge(edge.source, edge.target, edge.text) for edge in graph.kept]
        overlay = builder.EdgeOverlay(SAVED_NOTE, SAVED, edges, showEdgesConnectedToSelectedNodeOnly=False)
        overlays = [builder.EdgeOverlaysData("kept values", overlays=[overlay])]
        made.tasksData = builder.TasksData(overlays, overlays)  # in one pane, and beside the program in the right one
    return made


def _node(builder: Any, node: LayeredNode, functions: dict[str, str]) -> Any:
    links = [builder.KeyValue(key, builder.NodeIdsNodeAttributeValue(nodeIds=list(names))) for key, names in node.links.items()]
    return builder.GraphNode(
        id=printable(node.name),
        label=printable(node.label),
        namespace="/".join(map(printable, node.layers)),
        subgraphIds=[functions[name] for name in node.functions if name in functions],
        attrs=[builder.KeyValue(key, printable(value)) for key, value in node.attributes.items()] + links,
        incomingEdges=[builder.IncomingEdge(edge.source, str(edge.result), str(edge.input)) for edge in node.edges],
        outputsMetadata=[
            builder.MetadataItem(str(number), _pairs(builder, tensor_name=value.name, tensor_shape=value.type, bytes=size(value.bytes)))
            for number, value in enumerate(node.results)
        ],
        inputsMetadata=[builder.MetadataItem(str(edge.input), _pairs(builder, tensor_shape=edge.type)) for edge in node.edges],
        style=builder.GraphNodeStyle(node.fill, node.border),
    )


def _pairs(builder: Any, **values: str) -> list[Any]:
    return [builder.KeyValue(key, printable(value)) for key, value in values.items() if value]


def _layers(graph: LayeredGraph) -> list[tuple[str, ...]]:
    """All layers of a graph, each once."""
    return list(dict.fromkeys(layers for node in graph.nodes for layers in accumulate((name,) for name in node.layers)))


def _layer(graph: LayeredGraph, at: tuple[str, ...]) -> dict[str, str]:
    ops = sum(node.layers[: len(at)] == at for node in graph.nodes)
    said = {"ops": str(ops), FLOPS: f"{graph.total(FLOPS, at):,}", BYTES: size(graph.total(BYTES, at))}
    return {**said, **({KEPT: size(kept)} if (kept := graph.total(KEPT, at)) else {})}
