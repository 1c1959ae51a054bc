"""A difference as HTML, for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wengert.lab.diff.changes import Change, SourceChanges
from wengert.lab.diff.text import headline, place_text, shortened, totals, weights_text
from wengert.lab.draw.escaping import markup

if TYPE_CHECKING:
    from wengert.lab.diff.difference import Difference

_COLORS = {"added": "#2a7d3f", "removed": "#b3372f", "changed": "#8a6100", "alike": "inherit"}
_SIGNS = {"added": "+", "removed": "-", "changed": "~", "alike": "="}
_OPEN = 20
"""Sources whose changes are unfolded at first."""


def html_of(d: Difference) -> str:
    """The difference as a fragment of HTML: a headline, a fold for each source, and a table of totals."""
    changed = [source for source in d.sources if source.changes]
    folds = [_fold(source, number < _OPEN) for number, source in enumerate(changed)]
    rows = "\n".join(totals(d.totals))
    values = f"<pre>{markup(str(d.values))}</pre>" if d.values is not None else ""
    lines = "".join(f"<div>~ {markup(line)}</div>" for line in d.signature)
    head = f"<div>&minus;&minus;&minus; {markup(d.a)}<br>+++ {markup(d.b)}</div><p><b>{markup(headline(d))}</b></p>{lines}"
    return f'<div class="wengert-diff">{head}{"".join(folds)}<pre>{markup(rows)}</pre>{values}</div>'


def _fold(source: SourceChanges, is_open: bool) -> str:
    weights = weights_text(source)
    title = f"<code>{markup(place_text(source))}</code> <code>{markup(shortened(source.text))}</code>" + (f" <i>{markup(weights)}</i>" if weights else "")
    lines = "".join(_line(change) for change in source.changes)
    return f"<details{' open' if is_open else ''}><summary>{title}</summary><pre>{lines}</pre></details>"


def _line(change: Change) -> str:
    texts = [f"{_SIGNS[change.kind]} {change.before or change.after}"]
    texts += [f"\u2192 {change.after}"] if change.kind == "changed" and change.after != change.before else []
    texts[-1] += f"   [{change.derivation}]" if change.derivation else ""
    lines = "\n".join(shortened(text) for text in (*texts, *(f"    {note}" for note in change.notes)))
    return f'<span style="color: {_COLORS[change.kind]}">{markup(lines)}\n</span>'
