"""Fragments of HTML for notebooks and pages: they carry their own style, follow the light or dark of where they are shown, and load nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wengert.lab.draw.escaping import markup

_LIGHT = "--wg-text:#1b1f24;--wg-faint:#59636e;--wg-line:#d1d9e0;--wg-back:#fff;--wg-a:#0969da;--wg-b:#bc4c00;--wg-c:#1a7f37;--wg-d:#8250df;--wg-e:#59636e"
_DARK = "--wg-text:#e6edf3;--wg-faint:#9198a1;--wg-line:#3d444d;--wg-back:#0d1117;--wg-a:#4493f8;--wg-b:#f0883e;--wg-c:#3fb950;--wg-d:#ab7df8;--wg-e:#9198a1"
STYLE = f"""<style>
.wg{{{_LIGHT};color:var(--wg-text);background:var(--wg-back);font:13px/1.45 system-ui,sans-serif;padding:.4em .6em}}
@media (prefers-color-scheme:dark){{.wg{{{_DARK}}}}}
:root[data-theme=light] .wg,body[data-jp-theme-light=true] .wg{{{_LIGHT}}}
:root[data-theme=dark] .wg,body[data-jp-theme-light=false] .wg{{{_DARK}}}
.wg table{{border-collapse:collapse;margin:.4em 0}}
.wg th,.wg td{{border-bottom:1px solid var(--wg-line);padding:.15em .6em;text-align:left;vertical-align:top}}
.wg th{{color:var(--wg-faint);font-weight:600}}.wg .n{{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}}
.wg p{{margin:.25em 0}}.wg .f{{color:var(--wg-faint)}}
.wg code{{font:12px ui-monospace,monospace}}.wg svg{{max-width:100%;height:auto}}
</style>"""


def fragment(*parts: str) -> str:
    """Parts of HTML as one fragment with its style."""
    return "\n".join([f'<div class="wg">{STYLE}', *parts, "</div>"])


def paragraph(text: str, *, faint: bool = False) -> str:
    """A paragraph of text."""
    return f"<p{' class=f' if faint else ''}>{markup(text)}</p>"


def html_table(header: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> str:
    """A table of text; the columns in ``right`` hold numbers."""

    def line(tag: str, cells: Sequence[str]) -> str:
        return "".join(f"<{tag}{' class=n' if i in right else ''}>{markup(cell)}</{tag}>" for i, cell in enumerate(cells))

    body = "".join(f"<tr>{line('td', row)}</tr>" for row in rows)
    return f"<table><thead><tr>{line('th', header)}</tr></thead><tbody>{body}</tbody></table>"


def folded(summary: str, content: str) -> str:
    """Content behind a fold."""
    return f"<details><summary>{markup(summary)}</summary>{content}</details>"
