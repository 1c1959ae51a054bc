"""A graph in Graphviz's language: https://graphviz.org/doc/info/lang.html."""

from __future__ import annotations

from wengert.lab.draw.escaping import printable
from wengert.lab.draw.graph import Graph, Node
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
    lines: list[str] = []
    for node in graph.nodes:
        lines += _cluster(node, indent) if node.regions else [f"{indent}{node.name} [{_attributes(node)}];"]
    return lines + [f"{indent}{start} -> {end};" for start, end in graph.edges]


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
