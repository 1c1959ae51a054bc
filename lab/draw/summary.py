"""The summary of a program in a notebook: its signature, how many ops of which kind, and its text behind a fold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from wengert.lab.draw.escaping import markup
from wengert.lab.draw.graph import short_type
from wengert.runtime.program import Program
from wengert.runtime.signature import Parameter

SHOWN = 12
"""Kinds of ops that are listed, the most frequent first."""
LONGEST_TEXT = 200_000


def html_of(program: Program) -> str:
    """The program as a fragment of HTML."""
    counts = Counter(op.name for op in program.module.walk() if op.name not in ("builtin.module", "func.func", "func.return"))
    total = sum(counts.values())
    listed = [f"{markup(name)}&nbsp;{n}" for name, n in counts.most_common(SHOWN)]
    rest = len(counts) - len(listed)
    text = str(program)
    shown = text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}\n… {len(text) - LONGEST_TEXT} more characters"
    return "\n".join(
        [
            f"<div><b>{markup(program.name)}</b>, <code>@{markup(program.entry)}</code>",
            "<table>",
            *_rows("argument", program.signature.arguments),
            *_rows("result", program.signature.results),
            "</table>",
            f"<p>{total} ops: {', '.join(listed)}{f' and {rest} other kinds' if rest > 0 else ''}</p>",
            f"<details><summary>text</summary><pre>{markup(shown)}</pre></details></div>",
        ]
    )


def _rows(role: str, parameters: Sequence[Parameter]) -> list[str]:
    cells = [(f"{role} {p.position}", p.name or "", short_type(p.type)) for p in parameters]
    return [f"<tr>{''.join(f'<td>{markup(cell)}</td>' for cell in row)}</tr>" for row in cells]
