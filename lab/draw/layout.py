"""Places for the nodes of a graph, in layers (Sugiyama, Tagawa and Toda 1981). The layout is grandalf's; nothing else here knows it.

A node that holds regions is laid out from the inside: its regions stand side by side under its lines, and its box is as large as
they need.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from wengert.ir.installation import command
from wengert.lab.draw.graph import Graph, Node
from wengert.runtime.errors import InputError

CHARACTER, LINE = 6.3, 13.0
"""The width and height of a character of the font, in the units of the picture."""
MARGIN = 8.0
GAP = 22.0

Point = tuple[float, float]


@dataclass(frozen=True)
class Box:
    """A placed node: its centre and size, and its regions with the upper left corner of each."""

    node: Node
    x: float
    y: float
    width: float
    height: float
    regions: tuple[tuple[Point, Layout], ...]

    @property
    def text_height(self) -> float:
        """The height of the lines of text and the margins around them."""
        return LINE * len(self.node.lines) + MARGIN


@dataclass(frozen=True)
class Route:
    """An edge of a folded graph: the path as SVG writes it, how many values go along it, and whether they are kept for the reverse part."""

    path: str
    values: int
    kept: bool


@dataclass(frozen=True)
class Frame:
    """A frame around the nodes of a part of a derivative."""

    title: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Layout:
    """A placed graph, in a frame that begins at (0, 0). Edges are ``paths``, of a folded graph ``routes``."""

    graph: Graph
    boxes: tuple[Box, ...]
    paths: tuple[tuple[Point, ...], ...]
    width: float
    height: float
    routes: tuple[Route, ...] = ()
    frames: tuple[Frame, ...] = ()


def lay_out(graph: Graph) -> Layout:
    """A layout of a graph that is not folded; raises InputError where grandalf is not installed."""
    try:
        layouts, graphs = import_module("grandalf.layouts"), import_module("grandalf.graphs")
    except ImportError:
        raise InputError(f"the layout of a picture needs grandalf: {command('draw')}; the graph as text, for Graphviz, is drawing.dot") from None
    return _placed(graph, layouts, graphs)


def _placed(graph: Graph, layouts: Any, graphs: Any) -> Layout:
    sized = [_sized(node, layouts, graphs) for node in graph.nodes]
    vertices = {box.node.name: graphs.Vertex(box) for box in sized}
    for box in sized:
        view = layouts.VertexViewer(box.width, box.height)
        vertices[box.node.name].view = view
    arrows: list[Any] = []
    for start, end in dict.fromkeys(graph.edges):
        arrow = graphs.Edge(vertices[start], vertices[end])
        arrow.view = _Route()
        arrows.append(arrow)
    boxes: list[Box] = []
    paths: list[tuple[Point, ...]] = []
    left = 0.0
    for component in graphs.Graph(list(vertices.values()), arrows, directed=True).C:
        component_boxes, routes = _component(component, layouts)
        shift = left - min(b.x - b.width / 2 for b in component_boxes)
        top = min(b.y - b.height / 2 for b in component_boxes)
        moved = [_moved(b, shift, -top) for b in component_boxes]
        boxes += moved
        paths += [tuple((x + shift, y - top) for x, y in route) for route in routes]
        left = max([b.x + b.width / 2 for b in moved] + [x for route in paths for x, _ in route]) + GAP
    least = min([0.0, *(x for route in paths for x, _ in route)])
    boxes, paths = [_moved(b, -least, 0) for b in boxes], [tuple((x - least, y) for x, y in route) for route in paths]
    height = max((b.y + b.height / 2 for b in boxes), default=0.0)
    return Layout(graph, tuple(boxes), tuple(paths), max(0.0, left - GAP - least), height)


class _Route:
    """The object that grandalf tells where an edge bends."""

    def __init__(self) -> None:
        self.points: list[Point] = []

    def setpath(self, points: Sequence[Point]) -> None:
        """Takes the points, from the centre of the first node to that of the last."""
        self.points = list(points)


def _component(component: Any, layouts: Any) -> tuple[list[Box], list[list[Point]]]:
    vertices, arrows = list(component.sV), list(component.sE)
    if len(vertices) == 1:
        vertices[0].view.xy = (0.0, 0.0)
    else:
        sugiyama = layouts.SugiyamaLayout(component)
        sugiyama.xspace, sugiyama.yspace = GAP, 1.4 * GAP
        sugiyama.init_all()
        sugiyama.draw(3)
    boxes = _apart({id(v): _moved(v.data, *v.view.xy) for v in vertices})
    layers: dict[float, float] = {}
    for box in boxes.values():
        layers[box.y] = max(layers.get(box.y, 0.0), box.height)
    routes = [_route(boxes[id(a.v[0])], boxes[id(a.v[1])], a.view.points, layers) for a in arrows]
    return list(boxes.values()), routes


def _apart(boxes: dict[int, Box]) -> dict[int, Box]:
    """Boxes of one layer moved to the right until none overlaps, which grandalf does not promise."""
    ends: dict[float, float] = {}
    moved: dict[int, Box] = {}
    for key, box in sorted(boxes.items(), key=lambda item: item[1].x):
        left = box.x - box.width / 2
        shift = max(0.0, ends.get(box.y, left - GAP) + GAP / 2 - left)
        moved[key] = _moved(box, shift, 0.0)
        ends[box.y] = left + shift + box.width
    return {key: moved[key] for key in boxes}


def _route(start: Box, end: Box, points: Sequence[Point], layers: Mapping[float, float]) -> list[Point]:
    """From box to box; straight through the whole height of each layer in between, so as not to run behind the boxes there."""
    between = [(x, y + side * layers.get(y, 0.0) / 2) for x, y in points[1:-1] for side in (-1, 1)]
    return [(start.x, start.y + start.height / 2), *between, (end.x, end.y - end.height / 2)]


def _moved(box: Box, x: float, y: float) -> Box:
    return Box(box.node, box.x + x, box.y + y, box.width, box.height, box.regions)


def _sized(node: Node, layouts: Any, graphs: Any) -> Box:
    inner = [_placed(region, layouts, graphs) for region in node.regions]
    width = max(len(line) for line in node.lines) * CHARACTER + 2 * MARGIN
    height = LINE * len(node.lines) + MARGIN
    if not inner:
        return Box(node, 0.0, 0.0, width, height, ())
    places: list[tuple[Point, Layout]] = []
    left = MARGIN
    for layout in inner:
        places.append(((left, height + LINE), layout))
        left += layout.width + 2 * MARGIN
    return Box(node, 0.0, 0.0, max(width, left), height + LINE + max(layout.height for layout in inner) + 2 * MARGIN, tuple(places))
