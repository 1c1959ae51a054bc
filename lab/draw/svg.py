"""A placed graph as SVG: text in boxes, curves between them, and what an op is in full when the pointer rests on it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import log2

from wengert.lab.draw.escaping import markup
from wengert.lab.draw.graph import Graph, Kind
from wengert.lab.draw.ladder import lay_out_folded
from wengert.lab.draw.layout import CHARACTER, LINE, MARGIN, Box, Frame, Layout, Point, Route, lay_out
from wengert.lab.draw.style import LOOKS, SAVED, SAVED_NOTE

_EDGE = "M0,0 L6,3 L0,6 z"


def svg_of(graph: Graph) -> str:
    """An SVG document; raises InputError where there is nothing to lay it out with, which folded graphs do without."""
    layout = lay_out_folded(graph) if graph.folded else lay_out(graph)
    legend = _legend(graph)
    title = 2 * LINE
    width = max(layout.width, CHARACTER * len(graph.title), sum(w for _, w in legend)) + 2 * MARGIN
    height = layout.height + title + 2 * MARGIN
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="monospace" font-size="10.5">',
        f"<defs>{_marker('arrow', '#666666')}{_marker('kept', SAVED)}</defs>",
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{MARGIN:.0f}" y="{LINE:.0f}" font-weight="bold">{markup(graph.title)}</text>',
    ]
    left = MARGIN + CHARACTER * (len(graph.title) + 3)
    for drawn, advance in legend:
        parts.append(f'<g transform="translate({left:.1f},{LINE - 9:.1f})">{drawn}</g>')
        left += advance
    parts += [f'<g transform="translate({MARGIN:.0f},{title + MARGIN:.0f})">', *_drawn(layout), "</g>", "</svg>"]
    return "\n".join(parts) + "\n"


def _marker(name: str, colour: str) -> str:
    size = 'markerWidth="6" markerHeight="6" refX="5" refY="3" orient="auto" markerUnits="userSpaceOnUse"'
    return f'<marker id="{name}" {size}><path d="{_EDGE}" fill="{colour}"/></marker>'


def _legend(graph: Graph) -> list[tuple[str, float]]:
    """Samples of the colours that a derivative uses, each with its width."""
    entries = [(look.legend, look.fill, look.border, 1.0) for kind, look in LOOKS.items() if look.legend and kind in graph.kinds]
    if entries and Kind.BACKWARD in graph.kinds:
        entries.append((SAVED_NOTE, "#ffffff", SAVED, 2.5))
    samples: list[tuple[str, float]] = []
    for text, fill, border, stroke in entries:
        sample = f'<rect width="14" height="10" fill="{fill}" stroke="{border}" stroke-width="{stroke}"/>'
        samples.append((f'{sample}<text x="18" y="9">{text}</text>', 18 + CHARACTER * (len(text) + 2)))
    return samples


def _drawn(layout: Layout) -> list[str]:
    lines = [_frame(frame) for frame in layout.frames]
    lines += [f'<path d="{_curve(path)}" fill="none" stroke="#666666" marker-end="url(#arrow)"/>' for path in layout.paths]
    lines += [_route(route) for route in sorted(layout.routes, key=lambda route: route.kept)]
    for box in layout.boxes:
        lines += _box(box)
    return lines


def _frame(frame: Frame) -> str:
    box = f'x="{frame.x:.1f}" y="{frame.y:.1f}" width="{frame.width:.1f}" height="{frame.height:.1f}" rx="8"'
    title = f'<text x="{frame.x + MARGIN:.1f}" y="{frame.y + LINE - 2:.1f}" fill="#666666" font-style="italic">{markup(frame.title)}</text>'
    return f'<rect {box} fill="#f7f7f7" stroke="#cccccc"/>{title}'


def _route(route: Route) -> str:
    colour, arrow = (SAVED, "kept") if route.kept else ("#666666", "arrow")
    said = f"{route.values} value{'s' if route.values > 1 else ''}{', kept for the reverse part' if route.kept else ''}"
    width = min(4.0, 1.0 + 0.6 * log2(route.values))
    look = f'fill="none" stroke="{colour}" stroke-width="{width:.1f}" stroke-opacity="0.75" marker-end="url(#{arrow})"'
    return f'<g><title>{said}</title><path d="{route.path}" {look}/></g>'


def _curve(points: Sequence[Point]) -> str:
    """A curve that leaves and reaches every point from above."""
    parts = [f"M{points[0][0]:.1f},{points[0][1]:.1f}"]
    for (x, y), (u, v) in pairwise(points):
        middle = (y + v) / 2
        parts.append(f"C{x:.1f},{middle:.1f} {u:.1f},{middle:.1f} {u:.1f},{v:.1f}")
    return " ".join(parts)


def _box(box: Box) -> list[str]:
    node, look = box.node, LOOKS[box.node.kind]
    left, top = box.x - box.width / 2, box.y - box.height / 2
    border, stroke = (SAVED, 2.5) if node.saved else (look.border, 1)
    corner = 8 if look.round else 2
    fill = "#fafafa" if box.regions else look.fill
    tooltip = "; ".join(part for part in (node.tooltip, SAVED_NOTE if node.saved else "") if part) or " ".join(node.lines)
    shape = f'width="{box.width:.1f}" height="{box.height:.1f}" rx="{corner}" fill="{fill}" stroke="{border}" stroke-width="{stroke}"'
    lines = [f'<g class="{node.kind}" id="{node.name}"><title>{markup(tooltip)}</title><rect x="{left:.1f}" y="{top:.1f}" {shape}/>']
    if box.regions:
        lines.append(f'<rect x="{left:.1f}" y="{top:.1f}" width="{box.width:.1f}" height="{box.text_height:.1f}" rx="{corner}" fill="{look.fill}"/>')
    for i, text in enumerate(node.lines):
        weight = ' font-weight="bold"' if i == 0 else ""
        lines.append(f'<text x="{box.x:.1f}" y="{top + LINE * (i + 1):.1f}" text-anchor="middle"{weight}>{markup(text)}</text>')
    lines.append("</g>")
    for (x, y), layout in box.regions:
        frame = f'width="{layout.width + MARGIN:.1f}" height="{layout.height + MARGIN:.1f}"'
        lines.append(f'<g transform="translate({left + x:.1f},{top + y:.1f})">')
        lines.append(f'<rect x="{-MARGIN / 2:.1f}" y="{-MARGIN / 2:.1f}" {frame} fill="none" stroke="#aaaaaa" stroke-dasharray="3 2"/>')
        lines.append(f'<text x="0" y="{-MARGIN / 2 - 2:.1f}" fill="#777777">{markup(layout.graph.title)}</text>')
        lines += [*_drawn(layout), "</g>"]
    return lines
