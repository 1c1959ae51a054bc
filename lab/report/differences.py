"""The differences of stages, as ``wengert diff`` finds them, for the page to show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from wengert.ir.pipeline.dumps import count_ops
from wengert.lab.diff.difference import compared
from wengert.lab.inspection.subject import Subject, subject_of
from wengert.lab.report.stages import Stage
from wengert.runtime.program import Program

MOST_OPS = 12_000
"""Ops of all pairs that are compared, beside the pairs that always are: some seconds, and a megabyte."""


def differences(stages: Sequence[Stage], modules: Mapping[int, ModuleOp], texts: Mapping[str, str], asked: tuple[int, int] | None = None) -> dict[str, Any]:
    """The differences of pairs of stages by ``"0:7"``, as JSON.

    Neighbours are compared, the program and its derivative, what comes first and last of each, and as many others as are small enough together, those that are
    nearer to one another first.

    Args:
        stages: all stages.
        modules: the modules of those that changed something, by their numbers.
        texts: the files that may be shown, by name; no other is read.
        asked: one more pair.
    """
    subjects = {number: _subject(module, f"{number} · {stages[number].name}") for number, module in modules.items()}
    sizes = {number: count_ops(module) for number, module in modules.items()}
    always = list(dict.fromkeys([*_asked(asked, modules), *_main(stages, sorted(modules)), *pairwise(sorted(modules))]))
    others = sorted((pair for pair in combinations(sorted(modules), 2) if pair not in always), key=lambda pair: pair[1] - pair[0])
    left = MOST_OPS
    made: dict[str, Any] = {}
    for a, b in (*always, *others):
        if (a, b) not in always:
            left -= sizes[a] + sizes[b]
            if left < 0:
                break
        made[f"{a}:{b}"] = compared(subjects[a], subjects[b], texts).to_json()
    return {"pairs": made, "all": len(made) == len(always) + len(others)}


def _asked(asked: tuple[int, int] | None, modules: Mapping[int, ModuleOp]) -> list[tuple[int, int]]:
    return [asked] if asked is not None and asked[0] in modules and asked[1] in modules else []


def _main(stages: Sequence[Stage], numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The last stage of the program and of its derivative, and the first and last of each section."""
    sections = {name: [n for n in numbers if stages[n].section == name] for name in ("primal", "derivative", "kernels")}
    if sections["primal"] and sections["derivative"]:
        yield sections["primal"][-1], sections["derivative"][-1]
    for there in sections.values():
        if len(there) > 1:
            yield there[0], there[-1]


def _subject(module: ModuleOp, title: str) -> Subject:
    return subject_of(Program(module, name=title))
