"""Following a page that tells its reader to edit files and to run commands: literally, in a copy of the repository.

A page is a list of steps, in order:

- a block of Python is an edit of the file that the paragraph before it names last (in backticks, with its path), or of the one that was edited last, at the
  place that the paragraph says:
  ``among the imports``, ``before `TEXT```, ``after `TEXT``` (the only line that begins so) or ``in place of `TEXT``` (which occurs once); or it is
  the whole of ``a new file``;
- a block of ``>>>`` lines is an example: Python that is run by itself and prints what stands below it;
- a block with lines that begin with ``$`` is a session: commands that print what stands below them. ``$ cat FILE`` makes the file that it shows.

In what is printed, ``...`` stands for anything. Every other block is only shown.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

COMMANDS = {"wengert": ("-m", "wengert"), "wengert-opt": ("-c", "import sys; from wengert.lab.opt import main; sys.exit(main())"), "python": ()}
"""What the commands of the package are without an installation."""
TREE = ("dialects", "frontends", "ir", "lab", "runtime", "transforms", "tests", "typings")
FILES = ("__init__.py", "__main__.py", "py.typed", "pyproject.toml")


class PageError(AssertionError):
    """The page cannot be followed, or says what is not so; the message begins with the line."""


@dataclass(frozen=True)
class Edit:
    """Text to be put into a file: ``where`` is imports, before, after or in place of."""

    line: int
    file: str
    where: str
    anchor: str
    text: str


@dataclass(frozen=True)
class Show:
    """A file that the page shows and that the reader makes."""

    line: int
    file: str
    text: str


@dataclass(frozen=True)
class Run:
    """A command, or Python if it is several lines, and what it prints; None: nothing is said of that."""

    line: int
    command: str
    printed: str | None


Step = Edit | Show | Run
_PLACE = re.compile(r"(among the imports)|(before|after|in place of) `([^`]+)`", re.IGNORECASE)
_FILE = re.compile(r"`([\w/]+\.py)`")


def steps(page: str) -> list[Step]:
    """What the page tells its reader to do."""
    parsed: list[Step] = []
    file, prose = "", ""
    lines = page.splitlines()
    at = 0
    while at < len(lines):
        if not lines[at].startswith("```"):
            prose += lines[at] + "\n"
            at += 1
            continue
        end = lines.index("```", at + 1)
        block, line = lines[at + 1 : end], at + 1
        if lines[at] == "```python" and not block[0].startswith(">>>"):
            paragraph = prose.strip().rpartition("\n\n")[2]
            file = (_FILE.findall(paragraph) or [file])[-1]
            parsed.append(_edit(line, file, paragraph, block) if "a new file" not in paragraph.lower() else Show(line, file, "\n".join(block) + "\n"))
        elif block[0].startswith((">>>", "$ ")):
            parsed.extend(_prompted(line, block, ">>> " if block[0].startswith(">>>") else "$ "))
        prose, at = "", end + 1
    return parsed


def _edit(line: int, file: str, paragraph: str, block: list[str]) -> Edit:
    places = _PLACE.findall(paragraph)
    if not paragraph.endswith(":") or not places or not file:
        raise PageError(f"line {line}: it is not said where this goes")
    imports, where, anchor = places[-1]
    return Edit(line, file, "imports" if imports else where.lower(), anchor, "\n".join(block) + "\n")


def _prompted(line: int, block: list[str], prompt: str) -> list[Step]:
    """Commands and what each prints. The Python of one block is one program, which prints as the interpreter at its prompt does."""
    if prompt == ">>> ":
        return [Run(line, "\n".join(block), None)]
    runs: list[Step] = []
    for number, text in enumerate(block):
        if not text.startswith(prompt):
            continue
        below = block[number + 1 :]
        printed = below[: next((n for n, other in enumerate(below) if other.startswith(prompt)), len(below))]
        command, place = text.removeprefix(prompt), line + 1 + number
        if command.startswith("cat "):
            runs.append(Show(place, command.removeprefix("cat "), "\n".join(printed) + "\n"))
        else:
            runs.append(Run(place, command, "\n".join(printed) if printed else None))
    return runs


class Workplace:
    """A copy of the repository, and a folder beside it that commands run in."""

    def __init__(self, repository: Path, folder: Path):
        self.repository = folder / "repository"
        self.folder = self.repository  # commands name files of the repository
        self.edited: dict[str, None] = {}
        self.repository.mkdir()
        for name in filter(lambda name: (repository / name).exists(), TREE):
            shutil.copytree(repository / name, self.repository / name, symlinks=True, ignore=shutil.ignore_patterns("golden", ".hypothesis"))
        for name in filter(lambda name: (repository / name).exists(), FILES):
            shutil.copy2(repository / name, self.repository / name)

    def follow(self, step: Step) -> None:
        """Does what a step says. Raises PageError where that is impossible or gives something else."""
        if isinstance(step, Edit):
            self._edit(step)
        elif isinstance(step, Show):
            (self.folder / step.file).write_text(step.text)
        else:
            self._run(step)

    def _edit(self, step: Edit) -> None:
        path = self.repository / step.file
        if not path.exists():
            raise PageError(f"line {step.line}: there is no {step.file}")
        before = path.read_text()
        after = with_imports(before, step.text) if step.where == "imports" else _edited(before, step)
        path.write_text(after)
        self.edited[step.file] = None

    @property
    def environment(self) -> dict[str, str]:
        """The environment that commands run in: they import the copy."""
        return {**os.environ, "PYTHONPATH": str(self.repository / "typings"), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"}

    def _run(self, step: Run) -> None:
        if step.command.startswith(">>>"):
            command = [sys.executable, "-c", _DOCTEST, step.command]
        else:
            name, *arguments = shlex.split(step.command)
            command = [sys.executable, *COMMANDS[name], *arguments]
        done = subprocess.run(command, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        printed = done.stdout.rstrip("\n")
        fails = step.printed is not None and (": error: " in step.printed or step.printed.startswith("error: "))
        if (done.returncode != 0) != fails:
            raise PageError(f"line {step.line}: {step.command}\nends with {done.returncode}:\n{printed}")
        if step.printed is not None and not matches(step.printed, printed):
            differing = "\n".join(unified_diff(step.printed.splitlines(), printed.splitlines(), "the page", "what is printed", lineterm=""))
            raise PageError(f"line {step.line}: {step.command}\n{differing}")


class EmptyFolder(Workplace):
    """A folder outside of the repository, which is empty at first: a page that edits nothing of the package is followed there, with the package that is installed."""

    def __init__(self, folder: Path):
        self.repository = self.folder = folder
        self.edited = {}
        assert list(folder.iterdir()) == []

    @property
    def environment(self) -> dict[str, str]:
        """The environment that commands run in."""
        return {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"}


_DOCTEST = """
import doctest, sys
test = doctest.DocTestParser().get_doctest(sys.argv[1] + "\\n", {}, "the example", None, 0)
sys.exit(doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test).failed)
"""


def matches(expected: str, printed: str) -> bool:
    """Whether the texts are the same, but for what stands in place of ``...``."""
    pattern = ".*".join(re.escape(part) for part in expected.split("..."))
    return re.fullmatch(pattern, printed, re.DOTALL) is not None


def with_imports(text: str, imports: str) -> str:
    """A module with other imports: names are added to a line that imports from the same module, other lines after the first such line that they may follow."""
    lines = text.splitlines()
    for line in imports.splitlines():
        module, _, names = line.partition(" import ")
        same = next((n for n, other in enumerate(lines) if other.startswith(f"{module} import ") and "(" not in other), None)
        if same is not None:
            every = {*lines[same].partition(" import ")[2].split(", "), *names.split(", ")}
            lines[same] = f"{module} import {', '.join(sorted(every, key=lambda name: (not name.isupper(), not name[0].isupper(), name)))}"
        else:
            body = next(n for n, other in enumerate(lines) if other.startswith(("class ", "def ", "@")))
            ours = [n for n, other in enumerate(lines[:body]) if other.startswith("from wengert")]
            after = [n for n in ours if lines[n] < line]
            lines.insert(_end(lines, after[-1]) + 1 if after else ours[0], line)
    return "\n".join(lines) + "\n"


def _end(lines: list[str], start: int) -> int:
    """The last line of an import that begins here."""
    return next(n for n in range(start, len(lines)) if ")" in lines[n] or "(" not in lines[start])


def _edited(text: str, step: Edit) -> str:
    if step.where == "in place of":
        if text.count(step.anchor) != 1:
            raise PageError(f"line {step.line}: {step.file} has {step.anchor!r} {text.count(step.anchor)} times")
        return text.replace(step.anchor, step.text.rstrip("\n"))
    lines = text.splitlines(keepends=True)
    at = [n for n, line in enumerate(lines) if line.lstrip().startswith(step.anchor)]
    if len(at) != 1:
        raise PageError(f"line {step.line}: {step.file} has {len(at)} lines that begin with {step.anchor!r}")
    place = at[0] + (step.where == "after")
    before, after = "".join(lines[:place]), "".join(lines[place:])
    if step.text.startswith(("@", "def ", "class ")):
        return "\n\n\n".join((before.rstrip("\n"), step.text.rstrip("\n"), after.lstrip("\n")))
    return before + step.text + after
