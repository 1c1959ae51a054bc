"""The page that goes from an empty folder to transforms of one's own, followed literally in such a folder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from followed_page import EmptyFolder, PageError, Run, Show, steps

PAGE = Path(__file__).parents[2] / "docs" / "writing_a_transform.md"
MOST_LINES = 60


def test_the_page_is_followed(tmp_path: Path) -> None:
    page = PAGE.read_text()
    followed = steps(page)
    files = [step for step in followed if isinstance(step, Show)]
    assert page.count("```python") == sum(step.file.endswith(".py") and f"`{step.file}`" in page for step in files) + page.count("```python\n>>>")
    assert page.count("\n$ ") == sum(isinstance(step, Run) and not step.command.startswith(">>>") for step in followed) + page.count("\n$ cat ")
    workplace = EmptyFolder(tmp_path)
    for step in followed:
        workplace.follow(step)


@pytest.mark.parametrize("name", ["count_ops.py", "keep_products.py", "op_by_op.py", "eliminate_elementwise.py", "row_norm.py"])
def test_each_transform_is_short(name: str) -> None:
    (text,) = [step.text for step in steps(PAGE.read_text()) if isinstance(step, Show) and step.file == name]
    assert text.count("\n") < MOST_LINES


def test_what_is_wrong_in_the_page_is_noticed(tmp_path: Path) -> None:
    page = PAGE.read_text()
    session = re.search(r"(?s)```text\n\$ cat chain\.mlir.*?```\n", page)
    assert session is not None
    workplace = EmptyFolder(tmp_path)
    shown, wrong = steps(session[0] + "\n```text\n$ wengert check chain.mlir --strategy other\nok\n```\n")
    workplace.follow(shown)
    with pytest.raises(PageError, match="there is no 'other'"):
        workplace.follow(wrong)
