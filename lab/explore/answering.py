"""The work of the explorer's process: a document, or diagnostics, for each program that comes in."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import msgspec

from wengert.lab.explore.requests import Answer, Posted, read_posted

_SMALL = "func.func @main(%x: tensor<8xf64>) -> tensor<8xf64> { %0 = stablehlo.sine %x : tensor<8xf64> func.return %0 : tensor<8xf64> }"


def serve(connection: Connection, plugins: Sequence[str], memory: int) -> None:
    """A process's life: says that it is ready, then answers one request after the other until its connection is closed."""
    _limit(memory)
    _load(plugins)
    answer(Posted(_SMALL))  # imports what every request needs
    try:
        connection.send_bytes(b"ready")
        while True:
            connection.send_bytes(msgspec.json.encode(answer(read_posted(connection.recv_bytes()))))
    except (EOFError, KeyboardInterrupt, BrokenPipeError):
        pass


def answer(posted: Posted) -> Answer:
    """The document of a program, or why there is none. Runs passes, and nothing that they make."""
    from wengert.ir.diagnostics import DiagnosticError
    from wengert.ir.pipeline.passes import InternalError
    from wengert.ir.plugins import PluginError
    from wengert.lab.report.assemble import assemble
    from wengert.lab.report.source_texts import SourceText
    from wengert.runtime.errors import InputError
    from wengert.runtime.loading import parse

    try:
        program = parse(posted.text, posted.name, entry=posted.entry)
        document = assemble(program, [SourceText(posted.name, "mlir", posted.text)], posted.wanted(), posted.name, posted.analyses)
    except DiagnosticError as error:
        return Answer(diagnostics=tuple(error.to_json()))
    except (InputError, PluginError, InternalError) as error:
        return _said(str(error))
    except RecursionError:
        return _said("the program is nested too deeply")
    except MemoryError:
        return _said("the program needs more memory than the explorer may use; --memory allows more")
    except Exception as error:
        return _said(f"internal error: {type(error).__name__}: {error}. This is a defect of wengert; wengert report on the same program says where")
    return Answer(msgspec.Raw(json.dumps(document.to_json(), separators=(",", ":")).encode()), tuple(dict(diagnostic) for diagnostic in document.diagnostics))


def _said(message: str) -> Answer:
    return Answer(diagnostics=({"severity": "error", "file": "", "line": 0, "column": 0, "message": message},))


def _limit(memory: int) -> None:
    """Lets the process have so many bytes beside what it has, where the system can see to that."""
    try:
        import resource
    except ImportError:  # no such limits on this system
        return
    limits: Any = resource
    limits.setrlimit(limits.RLIMIT_CORE, (0, 0))
    statistics = Path("/proc/self/statm")
    if memory and statistics.exists():
        pages = int(statistics.read_text(encoding="ascii").split()[0])
        most = pages * os.sysconf("SC_PAGE_SIZE") + memory
        limits.setrlimit(limits.RLIMIT_AS, (most, most))


def _load(plugins: Sequence[str]) -> None:
    if not plugins:
        return
    from wengert.ir.plugins import load_plugin

    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    for plugin in plugins:
        load_plugin(plugin)
