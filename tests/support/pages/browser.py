"""Debian's chromium through playwright: pages from files or from a server of this machine, whose requests are all seen."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = os.environ.get("WENGERT_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium (WENGERT_CHROMIUM names one)")


@dataclass
class Seen:
    """What a page did: the addresses it asked for, errors, and dialogs it opened."""

    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    @property
    def outside(self) -> list[str]:
        """Requests to anything but files, what the page made itself, and this machine's server."""
        return [url for url in self.requests if not url.startswith(("file://", "blob:", "data:", "http://127.0.0.1:"))]


class Browser:
    """A browser in which each page has a profile of its own."""

    def __init__(self, chromium: Any):
        self._chromium = chromium

    @contextmanager
    def page(self, address: str | Path, *, width: int = 1600, height: int = 950, dark: bool = False, fragment: str = "") -> Generator[tuple[Any, Seen]]:
        """A page that is open and ready, and what it does."""
        context = self._chromium.new_context(viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light")
        page, seen = context.new_page(), Seen()
        page.set_default_timeout(60_000)
        page.on("request", lambda request: seen.requests.append(request.url))
        page.on("pageerror", lambda error: seen.errors.append(str(error)))
        page.on("console", lambda message: seen.errors.append(message.text) if message.type == "error" else None)

        def refuse(dialog: Any) -> None:
            seen.dialogs.append(dialog.message)
            dialog.dismiss()

        page.on("dialog", refuse)
        try:
            page.goto((address.resolve().as_uri() if isinstance(address, Path) else address) + fragment)
            page.wait_for_selector("html[data-ready=yes]")
            yield page, seen
        finally:
            context.close()


@contextmanager
def chromium() -> Generator[Browser]:
    """A browser without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])  # in containers there are no user namespaces for its sandbox
        try:
            yield Browser(running)
        finally:
            running.close()
