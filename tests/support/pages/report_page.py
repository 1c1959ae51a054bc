"""Reports in a browser: written to a file, read line by line, and quiet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from browser import Seen

import wengert as wg
from wengert.lab.report.assemble import ANALYSES, Wanted, assemble
from wengert.lab.report.page import page, parts_of
from wengert.lab.report.source_texts import SourceText


def written(folder: Path, text: str, name: str, wanted: Wanted | None = None, analyses: tuple[str, ...] = ANALYSES) -> Path:
    document = assemble(wg.parse(text, name), [SourceText(name, "mlir", text)], wanted or Wanted(), name, analyses)
    path = folder / "report.html"
    path.write_text(page(name, *parts_of(document)), encoding="utf-8")
    return path


def row(shown: Any, slot: str, text: str) -> Any:
    """The first line in a pane that holds this text, scrolled to."""
    shown.evaluate(
        "([slot, text]) => { const pane = wengert.panes.get(slot); pane.reveal(pane.view.lines.findIndex((line) => line.includes(text))); }", [slot, text]
    )
    return shown.locator(f'.pane[data-slot="{slot}"] .row', has_text=text).first


def until(shown: Any, condition: str) -> None:
    """Waits for a condition; playwright's own way to wait evaluates text, which the page's policy refuses."""
    for _ in range(600):
        if shown.evaluate(f"() => {condition}"):
            return
        shown.wait_for_timeout(50)
    raise AssertionError(condition)


def quiet(seen: Seen) -> None:
    assert not seen.outside
    assert not seen.errors
    assert not seen.dialogs
