"""The output of commands: findings on stderr as text or JSON, results on stdout or in a file."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TextIO

from wengert.ir.diagnostics import DiagnosticError

Format = Literal["text", "json"]


def wants_color(stream: TextIO) -> bool:
    """Whether colours are written to a stream: to a terminal whose user did not turn them off (``NO_COLOR``), and to all if ``FORCE_COLOR`` is set."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (stream.isatty() and os.environ.get("TERM") != "dumb")


def report_diagnostics(error: DiagnosticError, form: Format) -> None:
    """Findings in a program: file, line, column, caret and hint; or one JSON object per line."""
    if form == "json":
        for finding in error.to_json():
            print(json.dumps(finding), file=sys.stderr)
    else:
        print(error.render(color=wants_color(sys.stderr)), file=sys.stderr)


def report_message(message: str, form: Format, **extra: Any) -> None:
    """A finding that has no place in a text."""
    if form == "json":
        print(json.dumps({"severity": "error", "message": message, **extra}), file=sys.stderr)
    else:
        print(f"error: {message}", file=sys.stderr)


@contextmanager
def warnings_as_findings(form: Format) -> Generator[None]:
    """Writes warnings of ours about a user's passes as findings; the others stay what they are."""
    from wengert.ir.plugins import UndoneWarning

    show = warnings.showwarning

    def shown(message: Warning | str, category: type[Warning], *rest: Any, **options: Any) -> None:
        if not issubclass(category, UndoneWarning):
            show(message, category, *rest, **options)
        elif form == "json":
            print(json.dumps({"severity": "warning", "message": str(message)}), file=sys.stderr)
        else:
            print(f"warning: {message}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UndoneWarning)
        warnings.showwarning = shown
        yield


def write_ir(text: str, path: str | None) -> None:
    """MLIR to a file, or to stdout for none or ``-``: in colours on a terminal."""
    if path in (None, "-") and wants_color(sys.stdout):
        from wengert.lab.cli.highlight import highlight

        text = highlight(text)
    write_text(text, path)


def write_bytes(data: bytes, path: str | None) -> None:
    """Bytes to a file, or to stdout for none or ``-``."""
    if path is None or path == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        Path(path).write_bytes(data)


def write_change(text: str) -> None:
    """A stage of a pipeline to stderr: in colours on a terminal."""
    if wants_color(sys.stderr):
        from wengert.lab.cli.highlight import highlight

        text = highlight(text)
    print(text, file=sys.stderr)


def write_text(text: str, path: str | None) -> None:
    """Text to a file, or to stdout for none or ``-``."""
    text = text if text.endswith("\n") else text + "\n"
    if path is None or path == "-":
        sys.stdout.write(text)
    else:
        Path(path).write_text(text)


def progress(line: str) -> None:
    """A line on stderr that the next one replaces; on something else than a terminal, nothing."""
    if sys.stderr.isatty():
        width = max(20, os.get_terminal_size(sys.stderr.fileno()).columns - 1)
        sys.stderr.write("\r\x1b[K" + line[:width])
        sys.stderr.flush()


def end_progress() -> None:
    """Clears the progress line."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
