"""``wengert COMMAND ...``: finds the command, runs it, and turns what goes wrong into messages and exit codes.

Only the module of the command that is run is imported, so that ``--help`` and mistakes answer at once.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Literal, Protocol, cast

from wengert.lab.cli.exit_codes import Exit

COMMANDS = {
    "run": "run a program on arrays",
    "jvp": "write the forward derivative of a program",
    "vjp": "write the reverse derivative of a program",
    "check": "compare derivatives with differences and with each other",
    "costs": "what a program and its derivatives cost, and which mode to use",
    "draw": "the computation graph of a program or its derivative, as SVG or DOT",
    "conformance": "run a corpus of programs against its references",
    "ops": "what can be done with each op of StableHLO and CHLO: tries it on a small program",
    "devices": "the devices that are there, and what to install for others",
    "cache": "the compiled objects on disk: where, how many, how large; --clear removes them",
    "opt": "apply passes to a file (the same as wengert-opt)",
    "demo": "the transformer block of examples/: differentiated, compiled, checked, compared",
}
_MODULES = {"jvp": "differentiate", "vjp": "differentiate"}


class Command(Protocol):
    """The interface of a command's module."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Declares the command's arguments."""

    def execute(self, options: argparse.Namespace) -> int:
        """Does the work; the result is the exit code."""
        ...


def usage() -> str:
    """The overview of all commands."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name:{width}}  {summary}" for name, summary in COMMANDS.items()]
    codes = "exit codes: 0 ok, 1 diagnostic, 2 usage, 3 wrong derivative, 4 cost regression, 70 internal"
    return "\n".join(["usage: wengert COMMAND ...", "", *lines, "", "wengert COMMAND --help says more. Every command takes --diagnostics=json.", codes])


def _command(name: str) -> Command:
    return cast(Command, import_module(f"wengert.lab.cli.{_MODULES.get(name, name)}"))


def parser_of(name: str) -> argparse.ArgumentParser:
    """The argument parser of a command."""
    parser = argparse.ArgumentParser(prog=f"wengert {name}", description=f"{COMMANDS[name][0].upper()}{COMMANDS[name][1:]}.")
    parser.add_argument("--diagnostics", choices=("text", "json"), default="text", help="how errors are written to stderr")
    _command(name).configure(parser)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """The process's whole work; returns the exit code and never raises for a user's mistake."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(usage())
        return Exit.OK if arguments else Exit.USAGE
    if arguments[0] in ("-V", "--version"):
        from wengert import __version__

        print(f"wengert {__version__}")
        return Exit.OK
    name = arguments.pop(0)
    if name not in COMMANDS:
        near = get_close_matches(name, COMMANDS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        print(f"wengert: there is no command {name!r}{hint}\n\n{usage()}", file=sys.stderr)
        return Exit.USAGE
    if name == "opt":
        return _opt(arguments)
    parser = parser_of(name)
    try:
        options = parser.parse_args(arguments)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else Exit.USAGE
    options.command = name
    return guarded(lambda: _command(name).execute(options), options.diagnostics, [name, *arguments])


def _opt(arguments: list[str]) -> int:
    try:
        return int(import_module("wengert.lab.opt").main(arguments))
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else Exit.USAGE


def guarded(work: Callable[[], int], form: Literal["text", "json"], arguments: list[str]) -> int:
    """The work's exit code; every exception as a message with the code that says whose fault it is."""
    from wengert.ir.diagnostics import DiagnosticError
    from wengert.ir.passes import InternalError
    from wengert.lab.cli import output
    from wengert.runtime.errors import ExecutionError, InputError

    try:
        code = work()
        sys.stdout.flush()
        return code
    except DiagnosticError as error:
        output.report_diagnostics(error, form)
        return Exit.DIAGNOSTIC
    except (InputError, ExecutionError) as error:
        output.report_message(str(error), form)
        return Exit.DIAGNOSTIC
    except BrokenPipeError:
        # The reader went away (| head): not an error; stdout must not be flushed again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.OK
    except OSError as error:
        output.report_message(f"{error.filename}: {error.strerror}" if error.filename else str(error), form)
        return Exit.DIAGNOSTIC
    except KeyboardInterrupt:
        output.report_message("interrupted", form)
        return Exit.INTERRUPTED
    except InternalError as error:
        where = f" What reproduces it is in {error.reproducer}" if error.reproducer else ""
        output.report_message(f"{error}\nThis is a defect of wengert.{where}", form, reproducer=str(error.reproducer or ""))
        return Exit.INTERNAL
    except Exception as error:
        from wengert.lab.cli.reproducer import write_reproducer

        path = write_reproducer(error, arguments)
        where = f" What reproduces it is in {path}" if path else ""
        message = f"internal error: {type(error).__name__}: {error}\nThis is a defect of wengert.{where}"
        output.report_message(message, form, reproducer=path)
        return Exit.INTERNAL
