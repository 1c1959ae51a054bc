"""Places for the nodes of a folded graph: the parts of a derivative in columns side by side, what came from the same lines on the same height.

The forward part runs down and the reverse part up again, so that what is kept goes straight across, from the rung of a line to that of its derivative.
Arguments stand at the left, at the height where they are used first, and cotangents of arguments at the right, where they are made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from wengert.lab.draw.graph import Graph, Kind, Node
from wengert.lab.draw.layout import CHARACTER, LINE, MARGIN, Box, Frame, Layout, Point, Route

_GUTTER, _SIDE, _ROW = 90.0, 56.0, 20.0
"""The widths between columns, and between the outer columns and what stands beside them; the height between rows."""
_COLUMNS = {Kind.OP: 1, Kind.FORWARD: 1, Kind.TANGENT: 2, Kind.BACKWARD: 3}
_LEFT, _RIGHT = 0, 4
_TITLES = {Kind.FORWARD: "forward", Kind.TANGENT: "tangent", Kind.BACKWARD: "reverse"}


@dataclass(frozen=True)
class _Seat:
    """The place of a node: the column, and the row in it."""

    column: int
    row: int


def lay_out_folded(graph: Graph) -> Layout:
    """The layout of a folded graph."""
    sized = {node.name: _sized(node) for node in graph.nodes}
    seats = _seats(graph)
    placed = _placed(graph, sized, seats)
    width = max((box.x + box.width / 2 for box in placed.values()), default=0.0) + _SIDE * (
        max((seat.column for seat in seats.values()), default=0) == _RIGHT - 1
    )
    height = max((box.y + box.height / 2 for box in placed.values()), default=0.0) + MARGIN
    frames = tuple(
        _frame(title, boxes) for kind, title in _TITLES.items() if (boxes := [b for b in placed.values() if b.node.kind is kind and b.node.row >= 0])
    )
    return Layout(graph, tuple(placed.values()), (), width, height, _routes(graph, placed, seats), frames if len(frames) > 1 else ())


def _sized(node: Node) -> Box:
    inner = [lay_out_folded(region) for region in node.regions]
    width = max(len(line) for line in node.lines) * CHARACTER + 2 * MARGIN
    height = LINE * len(node.lines) + MARGIN
    left, places = MARGIN, list[tuple[Point, Layout]]()
    for layout in inner:
        places.append(((left, height + LINE), layout))
        left += layout.width + 2 * MARGIN
    deepest = max((layout.height for layout in inner), default=0.0)
    return Box(node, 0.0, 0.0, max(width, left if inner else 0.0), height + (LINE + deepest + 2 * MARGIN if inner else 0.0), tuple(places))


def _seats(graph: Graph) -> dict[str, _Seat]:
    """The seat of each node. Nodes beside the columns have the row of the first node that uses them, or of the one that they come from."""
    by_name = {node.name: node for node in graph.nodes}
    seats = {node.name: _Seat(_COLUMNS[node.kind], node.row) for node in graph.nodes if node.row >= 0}
    below = max((seat.row for seat in seats.values()), default=0) + 1
    top = not any(node.kind is Kind.RESULT for node in graph.nodes)  # of a region
    for node in graph.nodes:
        if node.name in seats:
            continue
        users = [seats[end].row for start, end in graph.edges if start == node.name and end in seats]
        makers = [by_name[start] for start, end in graph.edges if end == node.name]
        if node.kind is Kind.ARGUMENT and top:
            seats[node.name] = _Seat(next((seat.column for seat in seats.values()), 1), -1)
        elif node.kind is Kind.ARGUMENT:
            seats[node.name] = _Seat(_LEFT, min(users, default=0))
        elif node.kind is Kind.TANGENT:
            seats[node.name] = _Seat(_RIGHT, min(users, default=0))
        elif node.kind is Kind.BACKWARD:
            seats[node.name] = _Seat(_COLUMNS[Kind.BACKWARD], below)
        else:
            kinds = {maker.kind: seats[maker.name].row for maker in makers if maker.name in seats}
            seats[node.name] = _Seat(_RIGHT, kinds[Kind.BACKWARD]) if Kind.BACKWARD in kinds else _Seat(2 if Kind.TANGENT in kinds else 1, below)
    return seats


def _placed(graph: Graph, sized: Mapping[str, Box], seats: Mapping[str, _Seat]) -> dict[str, Box]:
    cells: dict[_Seat, list[Box]] = {}
    for node in graph.nodes:
        cells.setdefault(seats[node.name], []).append(sized[node.name])
    inside = {seat: boxes for seat, boxes in cells.items() if _LEFT < seat.column < _RIGHT}
    tops: dict[int, float] = {}
    y = LINE + MARGIN if any(box.node.row >= 0 and box.node.kind in _TITLES for box in sized.values()) else 0.0
    for row in sorted({seat.row for seat in inside}):
        tops[row] = y
        y += max(_stacked(boxes) for seat, boxes in inside.items() if seat.row == row) + _ROW
    centres = _centres(cells)
    placed: dict[str, Box] = {}
    for seat, boxes in inside.items():
        at = tops[seat.row]
        for box in boxes:
            placed[box.node.name] = replace(box, x=centres[seat.column], y=at + box.height / 2)
            at += box.height + _ROW / 2
    for side in (_LEFT, _RIGHT):
        at = 0.0
        for seat in sorted((seat for seat in cells if seat.column == side), key=lambda seat: seat.row):
            at = max(at, tops.get(seat.row, 0.0))
            for box in cells[seat]:
                placed[box.node.name] = replace(box, x=centres[side], y=at + box.height / 2)
                at += box.height + _ROW / 3
    return {node.name: placed[node.name] for node in graph.nodes}


def _stacked(boxes: Sequence[Box]) -> float:
    return sum(box.height for box in boxes) + _ROW / 2 * (len(boxes) - 1)


def _centres(cells: Mapping[_Seat, Sequence[Box]]) -> dict[int, float]:
    widths: dict[int, float] = {}
    for seat, boxes in cells.items():
        widths[seat.column] = max(widths.get(seat.column, 0.0), *(box.width for box in boxes))
    centres: dict[int, float] = {}
    left = 0.0 if _LEFT in widths else _SIDE / 2
    for column in sorted(widths):
        centres[column] = left + widths[column] / 2
        left += widths[column] + (_SIDE if column == _LEFT or column == _RIGHT - 1 else _GUTTER)
    return centres


def _frame(title: str, boxes: Iterable[Box]) -> Frame:
    listed = list(boxes)
    left, top = min(b.x - b.width / 2 for b in listed) - MARGIN, min(b.y - b.height / 2 for b in listed) - LINE - MARGIN / 2
    right, bottom = max(b.x + b.width / 2 for b in listed) + MARGIN, max(b.y + b.height / 2 for b in listed) + MARGIN
    return Frame(title, left, top, right - left, bottom - top)


def _routes(graph: Graph, placed: Mapping[str, Box], seats: Mapping[str, _Seat]) -> tuple[Route, ...]:
    orders: dict[int, list[str]] = {}
    for name in sorted(placed, key=lambda name: placed[name].y):
        orders.setdefault(seats[name].column, []).append(name)
    position = {name: number for names in orders.values() for number, name in enumerate(names)}
    routes: list[Route] = []
    for (start, end), values in Counter(graph.edges).items():
        a, b = placed[start], placed[end]
        if seats[start].column == seats[end].column:
            path = _along(a, b, position[end] - position[start], 1 if seats[start].column == _COLUMNS[Kind.BACKWARD] else -1)
        elif seats[start].column == _LEFT and seats[end].column > 1 and 1 in orders:
            path = _behind(a, b, [placed[name] for name in orders[1]])
        else:
            path = _across(a, b)
        crosses = b.node.kind is Kind.BACKWARD and a.node.kind in (Kind.FORWARD, Kind.ARGUMENT) and seats[end].column != seats[start].column
        routes.append(Route(path, values, crosses))
    return tuple(routes)


def _along(a: Box, b: Box, steps: int, side: int) -> str:
    """Inside of a column: straight to a neighbour, else around at the column's side."""
    if abs(steps) == 1:
        down = 1 if steps > 0 else -1
        return f"M{a.x:.1f},{a.y + down * a.height / 2:.1f} L{b.x:.1f},{b.y - down * b.height / 2:.1f}"
    bulge = side * min(_SIDE * 0.8, 10.0 + 5.0 * abs(steps))
    x, u = a.x + side * a.width / 2, b.x + side * b.width / 2
    out = (max if side > 0 else min)(x, u) + bulge
    return f"M{x:.1f},{a.y:.1f} C{out:.1f},{a.y:.1f} {out:.1f},{b.y:.1f} {u:.1f},{b.y:.1f}"


def _across(a: Box, b: Box) -> str:
    side = 1 if b.x >= a.x else -1
    x, u = a.x + side * a.width / 2, b.x - side * b.width / 2
    return f"M{x:.1f},{a.y:.1f} {_bend((x, a.y), (u, b.y))}"


def _behind(a: Box, b: Box, column: Sequence[Box]) -> str:
    """From the left to the right of a column, between two of its rows: above the one at the height of the end."""
    nearest = min(column, key=lambda box: abs(box.y - b.y))
    gap = nearest.y - nearest.height / 2 - _ROW / 3
    left, right = min(box.x - box.width / 2 for box in column), max(box.x + box.width / 2 for box in column)
    start, end = (a.x + a.width / 2, a.y), (b.x - b.width / 2, b.y - b.height / 4)
    return f"M{start[0]:.1f},{start[1]:.1f} {_bend(start, (left, gap))} L{right:.1f},{gap:.1f} {_bend((right, gap), end)}"


def _bend(start: Point, end: Point) -> str:
    middle = (start[0] + end[0]) / 2
    return f"C{middle:.1f},{start[1]:.1f} {middle:.1f},{end[1]:.1f} {end[0]:.1f},{end[1]:.1f}"
