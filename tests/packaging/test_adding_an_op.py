"""The page that says how to add an op, followed literally in a copy of the repository; and that whoever follows pages notices what is wrong in one."""

from __future__ import annotations

from pathlib import Path

import pytest
from followed_page import Edit, PageError, Run, Show, Workplace, matches, steps, with_imports

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "adding_an_op.md"
MOST_FILES = 5


def follow(page: str, repository: Path, folder: Path) -> list[str]:
    """Does what a page says; the files that were edited."""
    workplace = Workplace(repository, folder)
    for step in steps(page):
        workplace.follow(step)
    return list(workplace.edited)


def test_the_page_is_followed(tmp_path: Path) -> None:
    page = PAGE.read_text()
    followed = steps(page)
    assert page.count("```python") == sum(isinstance(step, Edit) or (isinstance(step, Run) and step.command.startswith(">>>")) for step in followed)
    assert page.count("\n$ ") == sum(isinstance(step, Show) or (isinstance(step, Run) and not step.command.startswith(">>>")) for step in followed)
    edited = follow(page, ROOT, tmp_path)
    assert len(edited) <= MOST_FILES, edited


def test_an_op_without_facts_is_noticed_at_once(tmp_path: Path) -> None:
    page = PAGE.read_text().replace("    FACTS: ClassVar = expanded(FLOAT)\n", "")
    with pytest.raises(PageError, match=r"nothing is known of 'core\.softplus': its class declares no FACTS"):
        follow(page, ROOT, tmp_path)


SOURCE = "from wengert.ir.a import one\n\nNAMES = {\n    1: 2,\n}\n\n\ndef f():\n    return NAMES\n"
RIGHT = """In `ir/thing.py`, after `1: 2`:

```python
    3: 4,
```

```text
$ python -c "exec(open('ir/thing.py').read().partition('import one')[2]); print(f())"
{1: 2, ...}
```

```python
>>> print("one"); 2 + 3
one
5
```
"""


def follow_in_a_small_repository(page: str, folder: Path) -> None:
    (folder / "source" / "ir").mkdir(parents=True)
    (folder / "source" / "ir" / "thing.py").write_text(SOURCE)
    follow(page, folder / "source", folder)


def test_a_page_that_is_right(tmp_path: Path) -> None:
    follow_in_a_small_repository(RIGHT, tmp_path)
    assert "    1: 2,\n    3: 4,\n}" in (tmp_path / "repository" / "ir" / "thing.py").read_text()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("after `1: 2`", "after `2: 2`", "line 3: ir/thing.py has 0 lines that begin with '2: 2'"),
        ("after `1: 2`", "in place of `NAMES`", "line 3: ir/thing.py has 'NAMES' 2 times"),
        ("after `1: 2`", "somewhere", "line 3: it is not said where this goes"),
        ("after `1: 2`:", "after `1: 2`.", "line 3: it is not said where this goes"),
        ("ir/thing.py`, after", "ir/other.py`, after", "line 3: there is no ir/other.py"),
        ("{1: 2, ...}", "{1: 3, ...}", r"(?s)line 8.*-\{1: 3, ...\}.*\+\{1: 2, 3: 4\}"),
        ("print(f())", "print(g())", "(?s)line 8.*ends with 1.*NameError"),
        ("\n5\n", "\n6\n", "(?s)line 12.*Expected:.*6.*Got:.*5"),
    ],
)
def test_what_is_wrong_in_a_page_is_noticed(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert old in RIGHT
    with pytest.raises(PageError, match=message):
        follow_in_a_small_repository(RIGHT.replace(old, new), tmp_path)


def test_imports_are_added_where_they_belong() -> None:
    text = "from math import pi\n\nfrom wengert.ir.a import one\nfrom wengert.ir.c import (\n    x,\n)\n\n\ndef f(): ...\n"
    assert "ir.a import ONE, one, two\n" in with_imports(text, "from wengert.ir.a import two, ONE")
    assert "import one\nfrom wengert.ir.b import z\nfrom wengert.ir.c" in with_imports(text, "from wengert.ir.b import z")
    assert "    x,\n)\nfrom wengert.ir.d import z\n" in with_imports(text, "from wengert.ir.d import z")


def test_dots_stand_for_anything() -> None:
    assert matches("a ... c\n...", "a b\n c\nd")
    assert not matches("a ... c", "a b d")
