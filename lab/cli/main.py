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
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, Protocol, cast

from wengert.lab.cli.exit_codes import Exit
from wengert.lab.cli.usage import Parser, UsageError

if TYPE_CHECKING:
    from wengert.ir.plugins import PluginError

COMMANDS = {
    "run": "run a program on arrays",
    "jvp": "write the forward derivative of a program",
    "vjp": "write the reverse derivative of a program",
    "check": "compare derivatives with differences and with each other",
    "costs": "what a program and its derivatives cost, and which mode to use",
    "calibrate": "fit the machine model by which times are predicted; takes seconds",
    "strategies": "every way to compute a derivative, and which one to use",
    "compare": "strategies of reverse mode over a corpus: right or wrong, and what they cost",
    "sweep": "a program over sizes and modes: table, growth, crossover of the modes, plot",
    "records": "what sweeps and comparisons recorded: list, show, export, merge, compare",
    "replay": "run a record again, and say what differs",
    "bisect": "the pass that breaks a program or its derivative, what is wrong within it, and a small program that shows it",
    "reduce": "a smaller program with smaller inputs that shows the same",
    "report": "one page with every stage of a derivative side by side, and what is known of it",
    "explore": "the same page live: edit the program or the passes and see every stage again",
    "kept": "what a reverse derivative keeps: how large, who needs it, what computing it again would cost",
    "checkpoint": "a reverse derivative within a budget of memory: what is computed again, and what every budget costs",
    "memory": "memory over a run: a timeline, what the peak is made of, and how two peaks differ",
    "explain": "why an op is there: its source line, rule, factors, users and passes; or why there is no cotangent",
    "profile": "the time of each kernel of a compiled run, by source line, beside the predicted time",
    "draw": "the computation graph of a program or its derivative, as SVG or DOT",
    "conformance": "run a corpus of programs against its references",
    "diff": "what is different between two programs, derivatives, dumps or commits, op by op",
    "trace": "the values of a run by name, and where NaN and infinity begin",
    "ops": "what can be done with each op of StableHLO and CHLO: tries it on a small program",
    "devices": "the devices that are there, and what to install for others",
    "cache": "the compiled objects on disk: where, how many, how large; --clear removes them",
    "opt": "apply passes to a file (the same as wengert-opt)",
    "completion": "the script by which a shell completes commands, options and files",
    "demo": "the transformer block of examples/: differentiated, compiled, checked, compared",
}
_MODULES = {
    "run": "derivatives.run",
    "jvp": "derivatives.differentiate",
    "vjp": "derivatives.differentiate",
    "check": "derivatives.check",
    "costs": "costs.costs",
    "calibrate": "costs.calibrate",
    "strategies": "costs.strategies",
    "checkpoint": "costs.checkpoint",
    "compare": "costs.compare",
    "sweep": "costs.sweep",
    "records": "costs.records",
    "replay": "costs.replay",
    "report": "views.report",
    "explore": "views.explore",
    "kept": "views.kept",
    "memory": "views.memory",
    "explain": "views.explain",
    "profile": "views.profile",
    "draw": "views.draw",
    "diff": "views.diff",
    "trace": "views.trace",
    "bisect": "faults.bisect",
    "reduce": "faults.reduce",
    "conformance": "faults.conformance",
    "ops": "machine.ops",
    "devices": "machine.devices",
    "cache": "machine.cache",
    "completion": "machine.completion",
    "demo": "machine.demo",
}
"""The folder and the module of each command; that of a command which is not here bears its name."""


class Command(Protocol):
    """The interface of a command's module."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Declares the command's arguments."""

    def execute(self, options: argparse.Namespace) -> int:
        """Does the work; the result is the exit code."""
        ...


def add_common(parser: argparse.ArgumentParser) -> None:
    """Adds the options that every command has."""
    parser.add_argument(
        "--load", action="append", default=[], metavar="PLUGIN", help="load passes, strategies and ops of your own: a file FILE.py or a module; may be repeated"
    )
    if not any(action.dest == "diagnostics" for action in parser._actions):
        parser.add_argument("--diagnostics", choices=("text", "json"), default="text", help="how errors are written to stderr")


def load_plugins(arguments: Sequence[str]) -> None:
    """Loads what the words of a command line ask for with ``--load``, before anything else is looked at."""
    sources = [word.partition("=")[2] for word in arguments if word.startswith("--load=")]
    sources += [value for word, value in pairwise(arguments) if word == "--load"]
    if sources:
        from wengert.ir.plugins import load_plugin

        if "" not in sys.path and os.getcwd() not in sys.path:
            sys.path.append(os.getcwd())  # modules beside the programs, as python -m finds them
        for source in sources:
            load_plugin(source)


def diagnostics_form(arguments: Sequence[str]) -> Literal["text", "json"]:
    """How errors are to be written, those in the command line among them."""
    return "json" if "--diagnostics=json" in arguments or ("--diagnostics", "json") in pairwise(arguments) else "text"


def usage() -> str:
    """The overview of all commands."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name:{width}}  {summary}" for name, summary in COMMANDS.items()]
    codes = "exit codes: 0 ok, 1 diagnostic, 2 usage, 3 wrong derivative, 4 cost regression, 5 not settled, 6 plug-in, 70 internal"
    common = "wengert COMMAND --help says more. Every command takes --diagnostics=json, and --load FILE.py or MODULE for passes of your own."
    return "\n".join(["usage: wengert COMMAND ...", "", *lines, "", common, codes])


def _command(name: str) -> Command:
    return cast(Command, import_module(f"wengert.lab.cli.{_MODULES.get(name, name)}"))


def parser_of(name: str) -> Parser:
    """The argument parser of a command."""
    parser = Parser(prog=f"wengert {name}", description=f"{COMMANDS[name][0].upper()}{COMMANDS[name][1:]}.")
    if name == "opt":
        import_module("wengert.lab.opt").configure(parser)
    else:
        _command(name).configure(parser)
    for each in (parser, *parser.actions().values()):
        add_common(each)
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
        return int(import_module("wengert.lab.opt").main(arguments))
    return run(lambda: parser_of(name), _command(name).execute, name, arguments)


def run(make: Callable[[], Parser], execute: Callable[[argparse.Namespace], int], name: str, arguments: list[str]) -> int:
    """The exit code of a command: plug-ins are loaded first, so that what is checked after them knows their names."""

    def work() -> int:
        load_plugins(arguments)
        parser = make()
        options = parser.parse(arguments)
        options.command, options.words, options.prog = name, arguments, parser.prog
        return execute(options)

    try:
        return guarded(work, diagnostics_form(arguments), [name, *arguments])
    except SystemExit as stop:  # after the help
        return stop.code if isinstance(stop.code, int) else Exit.USAGE


def guarded(work: Callable[[], int], form: Literal["text", "json"], arguments: list[str]) -> int:
    """The work's exit code; every exception as a message with the code that says whose fault it is."""
    from wengert.ir.diagnostics import DiagnosticError
    from wengert.ir.location.places import error_at
    from wengert.ir.pipeline.options import PIPELINE
    from wengert.ir.pipeline.passes import InternalError
    from wengert.ir.plugins import PluginError, PluginNotFoundError, blamed
    from wengert.lab.cli import output
    from wengert.runtime.errors import ExecutionError, InputError
    from wengert.runtime.tape_memory import TapeMemoryError

    try:
        with output.warnings_as_findings(form):
            code = work()
        sys.stdout.flush()
        return code
    except UsageError as error:
        output.report_diagnostics(error, form)
        return Exit.USAGE
    except PluginNotFoundError as error:
        output.report_message(f"--load: {error}", form)
        return Exit.USAGE
    except PluginError as error:
        return _report_plugin(error, form)
    except DiagnosticError as error:
        output.report_diagnostics(error, form)
        return Exit.USAGE if error.diagnostic.file == PIPELINE else Exit.DIAGNOSTIC
    except InputError as error:
        output.report_message(str(error), form)
        return Exit.DIAGNOSTIC
    except ExecutionError as error:
        if error.op is None:
            output.report_message(error.finding, form)
        else:
            output.report_diagnostics(error_at(error.op, error.finding), form)
        return Exit.DIAGNOSTIC
    except BrokenPipeError:
        # The reader went away (| head): not an error; stdout must not be flushed again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.OK
    except OSError as error:
        output.report_message(f"{error.filename}: {error.strerror}" if error.filename else str(error), form)
        return Exit.DIAGNOSTIC
    except MemoryError as error:  # of what the program asks for, such as an argument of more elements than there is memory
        output.report_message(str(error) if isinstance(error, TapeMemoryError) else f"not enough memory is free: {error}".removesuffix(": "), form)
        return Exit.DIAGNOSTIC
    except KeyboardInterrupt:
        output.report_message("interrupted", form)
        return Exit.INTERRUPTED
    except InternalError as error:
        where = f" What reproduces it is in {error.reproducer}" if error.reproducer else ""
        output.report_message(f"{error}\nThis is a defect of wengert.{where}", form, reproducer=str(error.reproducer or ""))
        return Exit.INTERNAL
    except Exception as error:
        theirs = blamed(error)
        if theirs is not None:
            return _report_plugin(theirs, form)
        from wengert.lab.cli.reproducer import write_reproducer

        path = write_reproducer(error, arguments)
        where = f" What reproduces it is in {path}" if path else ""
        message = f"internal error: {type(error).__name__}: {error}\nThis is a defect of wengert.{where}"
        output.report_message(message, form, reproducer=path)
        return Exit.INTERNAL


def _report_plugin(error: PluginError, form: Literal["text", "json"]) -> int:
    from wengert.lab.cli import output

    where = f"\nWhat shows it is in {error.reproducer}" if error.reproducer else ""
    output.report_message(
        f"{error.message}\n{error.details.rstrip()}\nThis is a defect of the plug-in, not of wengert.{where}", form, reproducer=str(error.reproducer or "")
    )
    return Exit.PLUGIN
