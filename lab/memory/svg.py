"""A timeline as an SVG picture: bytes by role over the ops, stacked, with the peak and the beginning of the reverse part. It loads nothing."""

from __future__ import annotations

import numpy as np

from wengert.lab.draw.escaping import markup
from wengert.lab.memory.timeline import MEANINGS, ROLES, Bytes, Role, Timeline
from wengert.lab.tables import size

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 860, 300, 70, 52, 22
MOST_STEPS = 1000
"""Steps that a picture tells apart: of more, the fullest of every few is drawn."""
_CLASSES: dict[Role, str] = {"input": "e", "constant": "c", "result": "d", "kept": "b", "temporary": "a", "inside": "f"}
_LIGHT = "--t:#1b1f24;--l:#d1d9e0;--bg:#fff;--a:#54aeff;--b:#fb8f44;--c:#4ac26b;--d:#c297ff;--e:#d1d9e0;--f:#eac54f"
_DARK = "--t:#e6edf3;--l:#3d444d;--bg:#0d1117;--a:#1f6feb;--b:#bd561d;--c:#2ea043;--d:#8957e5;--e:#59636e;--f:#bb8009"
_STYLE = f"""<style>
svg.wm{{{_LIGHT};font:12px system-ui,sans-serif}}
@media (prefers-color-scheme:dark){{svg.wm{{{_DARK}}}}}
:root[data-theme=light] svg.wm,body[data-jp-theme-light=true] svg.wm{{{_LIGHT}}}
:root[data-theme=dark] svg.wm,body[data-jp-theme-light=false] svg.wm{{{_DARK}}}
.wm text{{fill:var(--t)}}.wm .bg{{fill:var(--bg)}}.wm .ax{{stroke:var(--l);fill:none}}.wm .mk{{stroke:var(--t);stroke-dasharray:3 3}}
.wm .a{{fill:var(--a)}}.wm .b{{fill:var(--b)}}.wm .c{{fill:var(--c)}}.wm .d{{fill:var(--d)}}.wm .e{{fill:var(--e)}}.wm .f{{fill:var(--f)}}
</style>"""


def svg(timeline: Timeline, title: str) -> str:
    """The picture as a document."""
    shown = _shown(timeline)
    wide, tall = WIDTH - LEFT - 10, HEIGHT - TOP - BOTTOM
    parts = [
        f'<svg class="wm" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img">',
        f'<title>{markup(title)}</title>{_STYLE}<rect class="bg" width="{WIDTH}" height="{HEIGHT}"/>',
    ]
    base, names = np.zeros(len(shown), np.int64), list[str]()
    for role in ROLES:
        bytes_of = timeline.live((role,))[shown]
        if bytes_of.any():
            points = _area(base, base + bytes_of, timeline.peak, wide, tall)
            most = size(int(bytes_of.max()))
            parts.append(f'<polygon class="{_CLASSES[role]}" points="{points}"><title>{role}: at most {most}; {MEANINGS[role]}</title></polygon>')
            names += _named(role, base, bytes_of, timeline.peak, wide, tall)
            base = base + bytes_of
    parts += [*names, *_axes(timeline, wide, tall), *_marks(timeline, shown, wide, tall), *_legend(timeline), "</svg>"]
    return "\n".join(parts)


def _shown(timeline: Timeline) -> list[int]:
    """The numbers of the steps that are drawn."""
    steps = len(timeline.steps)
    every = -(-steps // MOST_STEPS)
    return [first + int(np.argmax(timeline.total[first : first + every])) for first in range(0, steps, every)]


def _area(low: Bytes, high: Bytes, peak: int, wide: int, tall: int) -> str:
    """The outline between two lines of steps."""

    def line(values: list[int]) -> list[str]:
        points: list[str] = []
        for n, value in enumerate(values):
            y = TOP + tall * (1 - value / max(peak, 1))
            points += [f"{LEFT + wide * at / len(values):.1f},{y:.1f}" for at in (n, n + 1)]
        return points

    return " ".join([*line(high.tolist()), *reversed(line(low.tolist()))])


def _named(role: Role, base: Bytes, bytes_of: Bytes, peak: int, wide: int, tall: int) -> list[str]:
    """The role's name where its area is thickest, if it fits there."""
    at = int(np.argmax(bytes_of))
    thick, low = tall * int(bytes_of[at]) / max(peak, 1), tall * int(base[at]) / max(peak, 1)
    across = wide * int(np.count_nonzero(bytes_of * 2 > bytes_of[at])) / len(bytes_of)
    if thick < 15 or across < 60:
        return []
    x = min(max(LEFT + wide * (at + 0.5) / len(bytes_of), LEFT + 30), LEFT + wide - 30)
    return [f'<text x="{x:.1f}" y="{TOP + tall - low - thick / 2 + 4:.1f}" text-anchor="middle">{role}</text>']


def _axes(timeline: Timeline, wide: int, tall: int) -> list[str]:
    lines = [f'<path class="ax" d="M{LEFT} {TOP}V{TOP + tall}H{LEFT + wide}"/>']
    for share in (0, 0.5, 1):
        y = TOP + tall * (1 - share)
        lines.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{markup(size(round(timeline.peak * share)))}</text>')
    what = "kernels" if timeline.level == "arena" else "ops"
    lines.append(f'<text x="{LEFT + wide}" y="{TOP + tall + 16}" text-anchor="end">{len(timeline.steps)} {what}, in the order in which they run</text>')
    return lines


def _marks(timeline: Timeline, shown: list[int], wide: int, tall: int) -> list[str]:
    """The peak, and where the reverse part begins."""
    marks = [("peak", timeline.peak_step, TOP - 8)]
    if timeline.split is not None:
        marks.append(("reverse part", timeline.split, TOP + tall + 16))
    lines: list[str] = []
    for text, step, y in marks:
        at = next((n for n, number in enumerate(shown) if number >= step), len(shown) - 1)
        x = LEFT + wide * (at + (0.5 if text == "peak" else 0)) / len(shown)
        lines.append(f'<path class="mk" d="M{x:.1f} {TOP}V{TOP + tall}"/>')
        lines.append(f'<text x="{x:.1f}" y="{y}" text-anchor="{"middle" if text == "peak" else "start"}">{text}</text>')
    return lines


def _legend(timeline: Timeline) -> list[str]:
    lines: list[str] = []
    x = LEFT
    at_peak = timeline.by_role()
    for role in ROLES:
        if any(piece.role == role for piece in timeline.pieces):
            text = f"{role} {size(at_peak.get(role, 0))}"
            lines.append(f'<rect class="{_CLASSES[role]}" x="{x}" y="{HEIGHT - 20}" width="12" height="12"/>')
            lines.append(f'<text x="{x + 17}" y="{HEIGHT - 10}">{markup(text)}</text>')
            x += 30 + 7 * len(text)
    return lines
