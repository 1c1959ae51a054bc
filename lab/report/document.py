"""The page's contents, as one JSON document.

The document is versioned: a page reads the version that it was built with. Its entries are what the commands print with ``--json``, beside the stages, which
are texts with columns of ops (:mod:`wengert.lab.report.operation_table`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wengert.lab.plain import plain
from wengert.lab.report.operation_table import ROLES, Strings
from wengert.lab.report.source_texts import Places, SourceText
from wengert.lab.report.stages import Stage

FORMAT = "wengert-report"
VERSION = 1


@dataclass(frozen=True)
class LeftOut:
    """An analysis that is not in the document: why, and the command that makes it."""

    reason: str
    command: str = ""

    def to_json(self) -> dict[str, Any]:
        """A dictionary for JSON."""
        return {"left_out": self.reason, "command": self.command}


@dataclass(frozen=True)
class Document:
    """A program on its way down, and what is known of it.

    Attributes:
        title: the program's name.
        signature: ``(tensor<...>, ...) -> ...``.
        request: what was asked for: the derivative, by which strategy, or a pipeline.
        pipeline: all passes, as ``wengert-opt -p`` takes them.
        sources: the texts it was written in.
        stages: the stages of the pipeline.
        places: the places of ops in sources.
        changes: what passes did to ops that they rewrote, merged or removed: the places that an op came from, and a sentence.
        strings: what the columns of ops number.
        analyses: costs, strategies, checks, memory, kept values, by name: what the commands give as JSON, or a :class:`LeftOut`.
        commands: the commands that make each part of the page again: a title, a command line.
        diagnostics: what stopped the pipeline, as ``DiagnosticError.to_json`` gives it.
        made: how long it took in seconds, by which version, when.
    """

    title: str
    signature: str
    request: str
    pipeline: str
    sources: tuple[SourceText, ...]
    stages: tuple[Stage, ...]
    places: Places
    strings: Strings
    changes: tuple[tuple[list[int], str], ...] = ()
    analyses: Mapping[str, Any] = field(default_factory=dict[str, Any])
    commands: tuple[tuple[str, str], ...] = ()
    diagnostics: tuple[Mapping[str, Any], ...] = ()
    made: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def to_json(self) -> dict[str, Any]:
        """Everything as what JSON holds."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "title": self.title,
            "signature": self.signature,
            "request": self.request,
            "pipeline": self.pipeline,
            "roles": list(ROLES),
            "sources": [source.to_json() for source in self.sources],
            "stages": [stage.to_json() for stage in self.stages],
            "places": [list(place) for place in self.places.listed],
            "files": self.places.files,
            "changes": [[places, text] for places, text in self.changes],
            "strings": self.strings.listed,
            "analyses": {name: value.to_json() if isinstance(value, LeftOut) else plain(value) for name, value in self.analyses.items()},
            "commands": [list(command) for command in self.commands],
            "diagnostics": [plain(diagnostic) for diagnostic in self.diagnostics],
            "made": plain(self.made),
        }
