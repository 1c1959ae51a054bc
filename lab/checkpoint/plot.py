"""The frontier as an SVG picture: bytes of arena over flops, in steps, with the budget as a line. It loads nothing."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.lab.draw.escaping import markup
from wengert.lab.tables import size

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 640, 320, 80, 46, 34, 24
_STYLE = (
    "<style>svg.ck{--t:#1b1f24;--l:#d1d9e0;--bg:#fff;--a:#0072b2;--b:#d55e00;font:12px system-ui,sans-serif}"
    "@media (prefers-color-scheme:dark){svg.ck{--t:#e6edf3;--l:#3d444d;--bg:#0d1117;--a:#56b4e9;--b:#e69f00}}"
    ".ck text{fill:var(--t)}.ck .bg{fill:var(--bg)}.ck .ax{stroke:var(--l);fill:none}.ck .st{stroke:var(--a);fill:none;stroke-width:2}"
    ".ck .pt{fill:var(--a)}.ck .bu{stroke:var(--b);stroke-dasharray:4 3}</style>"
)


def svg(points: Sequence[tuple[float, int, str]], title: str, budget: int | None = None) -> str:
    """The picture as a document.

    Args:
        points: flops relative to the derivative that keeps everything, bytes of the arena, and name of each plan, in the order of flops.
        title: what was planned.
        budget: the bytes that were asked for.
    """
    low, high = points[0][0], max(points[-1][0], points[0][0] + 0.05)
    most = max([arena for _, arena, _ in points] + ([budget] if budget is not None and budget <= 2 * points[0][1] else []))
    wide, tall = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def at(flops: float, arena: int) -> tuple[float, float]:
        return LEFT + wide * (flops - low) / (high - low), TOP + tall * (1 - arena / max(most, 1))

    places = [at(flops, arena) for flops, arena, _ in points]
    steps = f"M{places[0][0]:.1f} {places[0][1]:.1f}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in places[1:]) + f"H{LEFT + wide}"
    parts = [
        f'<svg class="ck" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img">',
        f'<title>{markup(title)}</title>{_STYLE}<rect class="bg" width="{WIDTH}" height="{HEIGHT}"/>',
        f'<text x="{LEFT}" y="18">{markup(title)}</text><path class="ax" d="M{LEFT} {TOP}V{TOP + tall}H{LEFT + wide}"/><path class="st" d="{steps}"/>',
    ]
    for share in (0.0, 0.5, 1.0):
        x, y = LEFT + wide * share, TOP + tall * (1 - share)
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{markup(size(round(most * share)))}</text>')
        parts.append(f'<text x="{x:.1f}" y="{TOP + tall + 16}" text-anchor="middle">{low + (high - low) * share:.3g}</text>')
    parts.append(f'<text x="{LEFT + wide}" y="{HEIGHT - 10}" text-anchor="end">flops, relative to computing nothing again; arena upward</text>')
    if budget is not None and budget <= most:
        y = at(low, budget)[1]
        parts.append(f'<path class="bu" d="M{LEFT} {y:.1f}H{LEFT + wide}"/><text x="{LEFT + 4}" y="{y - 4:.1f}">budget {markup(size(budget))}</text>')
    for (x, y), (flops, arena, name) in zip(places, points, strict=True):
        shown = f"{name}: {size(arena)}, {flops:.3f} times the flops"
        parts.append(f'<circle class="pt" cx="{x:.1f}" cy="{y:.1f}" r="4"><title>{markup(shown)}</title></circle>')
    return "\n".join([*parts, "</svg>"])
