"""A graph in Graphviz's language: https://graphviz.org/doc/info/lang.html."""

from __future__ import annotations

from collections import Counter
from math import log2

from wengert.lab.draw.escaping import printable
from wengert.lab.draw.graph import Graph, Kind, Node
from wengert.lab.draw.style import LOOKS, SAVED, SAVED_NOTE


def dot_of(graph: Graph) -> str:
    """The text of a ``digraph``; regions are clusters."""
    lines = [
        f"digraph {_quoted(graph.title)} {{",
        "  rankdir=TB;",
        f"  label={_quoted(graph.title)}; labelloc=t; fontname=monospace;",
        "  node [shape=box, style=filled, fontname=monospace, fontsize=10];",
        "  edge [arrowsize=0.6, color=gray40];",
        *_body(graph, "  "),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _body(graph: Graph, indent: str) -> list[str]:
    if graph.folded:
        return _folded(graph, indent)
    lines: list[str] = []
    for node in graph.nodes:
        lines += _node(node, indent)
    return lines + [f"{indent}{start} -> {end};" for start, end in graph.edges]


_PARTS = {Kind.FORWARD: "forward", Kind.TANGENT: "tangent", Kind.BACKWARD: "reverse"}


def _folded(graph: Graph, indent: str) -> list[str]:
    """A folded graph: a cluster for each part, the reverse part upside down beside the forward part with what came from the same lines on the same rank.

    For that, edges of the reverse part are turned around and drawn backward, and edges between the parts do not decide ranks.
    """
    of_part = {node.name: node.kind for node in graph.nodes if node.row >= 0 and node.kind in _PARTS}
    lines: list[str] = []
    for kind, title in _PARTS.items():
        members = [line for node in graph.nodes if of_part.get(node.name) is kind for line in _node(node, indent + "  ")]
        lines += (
            [f"{indent}subgraph cluster_{title}_{graph.nodes[0].name} {{ label={title}; color=gray60; margin=16;", *members, f"{indent}}}"] if members else []
        )
    lines += [line for node in graph.nodes if node.name not in of_part for line in _node(node, indent)]
    kinds = {node.name: node.kind for node in graph.nodes}
    for (start, end), values in Counter(graph.edges).items():
        width = f"penwidth={min(4.0, 1.0 + 0.6 * log2(values)):.1f}"
        backward = [kinds[name] is Kind.BACKWARD for name in (start, end)]
        if all(backward):
            lines.append(f"{indent}{end} -> {start} [dir=back, {width}];")
        else:
            crossing = f', constraint=false, color="{SAVED}"' if backward[1] else ", constraint=false" if backward[0] else ""
            lines.append(f"{indent}{start} -> {end} [{width}{crossing}];")
    first = {(node.kind, node.row): node.name for node in reversed(graph.nodes) if node.row >= 0}
    twins = [(name, first[Kind.BACKWARD, row]) for (kind, row), name in first.items() if kind is Kind.FORWARD and (Kind.BACKWARD, row) in first]
    return lines + [f"{indent}{one} -> {other} [style=invis, minlen=0, weight=8];" for one, other in twins]


def _node(node: Node, indent: str) -> list[str]:
    return _cluster(node, indent) if node.regions else [f"{indent}{node.name} [{_attributes(node)}];"]


def _cluster(node: Node, indent: str) -> list[str]:
    inner = indent + "  "
    lines = [f"{indent}subgraph cluster_{node.name} {{", f'{inner}label=""; style=rounded; color=gray60;', f"{inner}{node.name} [{_attributes(node)}];"]
    for i, region in enumerate(node.regions):
        lines += [f"{inner}subgraph cluster_{node.name}_{i} {{", f"{inner}  label={_quoted(region.title)}; style=dashed; color=gray60;"]
        lines += [*_body(region, inner + "  "), f"{inner}}}"]
    return [*lines, f"{indent}}}"]


def _attributes(node: Node) -> str:
    look = LOOKS[node.kind]
    style = "filled,rounded" if look.round else "filled"
    border = f"color={_quoted(SAVED)}, penwidth=2.5" if node.saved else f"color={_quoted(look.border)}"
    tooltip = "; ".join(part for part in (node.tooltip, SAVED_NOTE if node.saved else "") if part) or " ".join(node.lines)
    return f"label={_quoted(*node.lines)}, tooltip={_quoted(tooltip)}, style={_quoted(style)}, fillcolor={_quoted(look.fill)}, {border}"


def _quoted(*lines: str) -> str:
    return '"' + "\\n".join(printable(line).replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") for line in lines) + '"'
