"""What the README and the documentation say is true: the example prints what it shows, and links lead somewhere."""

from __future__ import annotations

import doctest
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "examples" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "docs/array_api.md",
        "docs/bytecode.md",
        "docs/costs.md",
        "docs/dynamic_shapes.md",
        "docs/traced_python.md",
        "docs/pictures.md",
        "docs/torch_programs.md",
    ],
)
def test_the_examples_of_a_page(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples may write files, into the folder that they are run in."""
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testfile(str(ROOT / page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert tried > 5
    assert failed == 0


def test_the_example_in_traced_python() -> None:
    first, last = runpy.run_path(str(ROOT / "examples" / "fit_network.py"))["main"](steps=300)
    assert last < first / 5


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_files(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL))
    assert [link for link in links if not (page.parent / link).exists()] == []
