"""Takes the screenshots of the report and the explorer that the documentation shows: python docs/screenshots.py (with chromium and playwright).

Each is a window of a real browser, at a place that a permalink or a click leads to.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
BLOCK = HERE.parent / "examples" / "transformer_block.mlir"
WIDE, NARROW = (1440, 860), (430, 860)


def main() -> None:
    """Makes the report, opens it, and takes the pictures."""
    from playwright.sync_api import sync_playwright

    chromium = os.environ.get("WENGERT_CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        shutil.copy(BLOCK, folder)
        subprocess.run([sys.executable, "-m", "wengert", "report", BLOCK.name, "-o", "report.html"], cwd=folder, check=True, env=_environment())
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        report = (Path(folder) / "report.html").as_uri()
        take = _taker(browser)
        take("report", report, then=lambda page: _choose(page, "source", "stablehlo.rsqrt"))
        take("memory", report + "#tab=memory", dark=True, then=lambda page: _choose(page, "derivative", "stablehlo.exponential"))
        take("graph", report + "#tab=graph", then=_large_graph)
        take("diff", report + "#tab=diff")
        take("strategies", report + "#tab=strategies", then=lambda page: page.keyboard.press("z"))
        take("narrow", report, size=NARROW, then=lambda page: _choose(page, "derivative", "stablehlo.rsqrt"))
        with _explorer(folder) as address:
            take("explore", address, then=_mistake)
        browser.close()


def _taker(browser: Any) -> Callable[..., None]:
    def take(name: str, address: str, *, size: tuple[int, int] = WIDE, dark: bool = False, then: Callable[[Any], None] | None = None) -> None:
        context = browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme="dark" if dark else "light")
        page = context.new_page()
        page.goto(address)
        page.wait_for_selector("html[data-ready=yes]")
        if then is not None:
            then(page)
        page.wait_for_timeout(600)
        page.screenshot(path=HERE / "screenshots" / f"{name}.png")
        sys.stdout.write(f"screenshots/{name}.png\n")
        context.close()

    return take


def _choose(page: Any, slot: str, text: str) -> None:
    """Clicks the first line of a pane with this text."""
    page.evaluate(
        "([slot, text]) => { const pane = wengert.panes.get(slot); pane.reveal(pane.view.lines.findIndex((line) => line.includes(text))); }", [slot, text]
    )
    page.locator(f'.pane[data-slot="{slot}"] .row', has_text=text).first.locator(".number").click()  # the middle of a long line is not in sight


def _large_graph(page: Any) -> None:
    page.keyboard.press("z")
    page.wait_for_selector(".node")
    page.keyboard.press("Tab")
    page.locator("svg.graph").focus()
    page.keyboard.press("f")


def _mistake(page: Any) -> None:
    page.wait_for_selector("html[data-fresh=whole]")
    page.locator(".cm-line", has_text="stablehlo.tanh").click()
    page.keyboard.press("Home")
    for _ in range(len("%3 = stablehlo.tan")):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Backspace")
    page.wait_for_selector("html[data-fresh=failed]")


@contextmanager
def _explorer(folder: str) -> Generator[str]:
    command = [sys.executable, "-m", "wengert", "explore", "--no-browser", "--seconds", "60"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, env=_environment())
    try:
        assert process.stdout is not None
        yield next(match.group() for line in process.stdout if (match := re.search(r"http://\S+", line)))
    finally:
        process.terminate()
        process.wait()


def _environment() -> dict[str, str]:
    return {**os.environ, "NO_COLOR": "1"}


if __name__ == "__main__":
    main()
