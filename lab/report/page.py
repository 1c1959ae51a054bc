"""The page: the template, with the document and the scripts in it, as one file that asks for nothing else.

The document is JSON, compressed, in base64: no text of a program is ever markup. Each stage is an element of its own, which is read when somebody looks at
the stage. What the scripts write into the page is text too. A content security policy lets only these scripts run, and no request leave.
"""

from __future__ import annotations

import base64
import gzip
import json
import secrets
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from wengert.lab.draw.escaping import printable
from wengert.lab.report.document import Document

ASSETS = Path(__file__).parent / "assets"
TEMPLATES = Path(__file__).parent / "templates"


def parts_of(document: Document) -> tuple[str, dict[int, str]]:
    """A document without the texts and ops of its stages, and these by the number of the stage: what a page reads when somebody looks at the stage."""
    data = document.to_json()
    stages = {n: packed({"text": stage["text"], "operations": stage["operations"]}) for n, stage in enumerate(data["stages"]) if stage["text"]}
    data["stages"] = [{**stage, "text": None, "operations": None} if n in stages else stage for n, stage in enumerate(data["stages"])]
    return packed(data), stages


def packed(data: dict[str, Any]) -> str:
    """Values as base64 of their compressed JSON."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    return base64.b64encode(gzip.compress(text.encode("utf-8", "surrogatepass"), 6, mtime=0)).decode()


@cache
def asset(name: str) -> str:
    """A vendored file as text."""
    return (ASSETS / name).read_text(encoding="utf-8")


@cache
def packed_asset(name: str) -> str:
    """A vendored script that only some tabs need, compressed as the document is."""
    return base64.b64encode(gzip.compress((ASSETS / name).read_bytes(), 9, mtime=0)).decode()


def page(title: str, document: str, stages: Mapping[int, str] | None = None, *, live: bool = False) -> str:
    """The page as HTML.

    Args:
        title: what the window is called.
        document: a packed document; empty for a page that asks its server for one.
        stages: the packed stages, by number.
        live: whether the page is served by ``wengert explore``: it has an editor then, and may ask its own server.
    """
    from jinja2 import Environment, FileSystemLoader

    environment = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.get_template("page.html").render(
        title=printable(title),
        nonce=secrets.token_urlsafe(16),
        document=document,
        stages=stages or {},
        style=asset("report.css"),
        script=asset("report.js"),
        editor=asset("editor.js") if live else "",
        graphviz=packed_asset("graph_worker.js"),
        live=live,
    )
