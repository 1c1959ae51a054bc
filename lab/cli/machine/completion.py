"""``wengert completion bash``: the script by which a shell completes commands, options and files.

eval "$(wengert completion bash)"                                     # in ~/.bashrc; zsh: in ~/.zshrc
wengert completion bash --program wengert-opt                          # the same for the other program
"""

from __future__ import annotations

import argparse
from typing import Any

from wengert.ir.installation import command
from wengert.lab.cli import output
from wengert.lab.cli.exit_codes import Exit
from wengert.runtime.errors import InputError

SHELLS = ("bash", "zsh", "tcsh")
_FILES = ("FILE", ".mlir", ".npz", ".json")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("shell", choices=SHELLS, help="which shell")
    parser.add_argument("--program", choices=("wengert", "wengert-opt"), default="wengert", help="what is completed (default: wengert)")
    parser.add_argument("-o", "--output", metavar="FILE", help="write there instead of to stdout")


def execute(options: argparse.Namespace) -> int:
    """Writes the script. Raises InputError where shtab is not installed."""
    try:
        import shtab
    except ImportError:
        raise InputError(f"completion scripts are written by shtab, which is not installed: {command('completion')}") from None
    tool: Any = shtab
    parser = whole_parser() if options.program == "wengert" else _optimizer()
    for each in [parser, *_subparsers(parser)]:
        _mark_files(each, tool)
    output.write_text(tool.complete(parser, shell=options.shell), options.output)
    return Exit.OK


def whole_parser() -> argparse.ArgumentParser:
    """All commands in one parser, as shtab wants it."""
    from wengert.lab.cli.main import COMMANDS, parser_of

    parser = argparse.ArgumentParser(prog="wengert", description="A laboratory for automatic differentiation on MLIR.")
    parser.add_argument("-V", "--version", action="store_true", help="print the version")
    commands = parser.add_subparsers(dest="command")
    for name, summary in COMMANDS.items():
        commands.add_parser(name, parents=[parser_of(name)], add_help=False, help=summary, description=summary)
    return parser


def _optimizer() -> argparse.ArgumentParser:
    from wengert.lab.opt import build_parser

    return build_parser()


def _subparsers(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    groups: list[Any] = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]  # pyright: ignore[reportPrivateUsage]
    return [each for group in groups for each in group.choices.values()]


def _mark_files(parser: argparse.ArgumentParser, tool: Any) -> None:
    """Says of which arguments files and folders are completed."""
    for action in parser._actions:
        shown: Any = action.metavar
        if isinstance(shown, str) and action.choices is None:
            if shown == "DIR":
                setattr(action, "complete", tool.DIRECTORY)  # noqa: B010  (an attribute that argparse does not declare)
            elif shown == "PLUGIN" or any(part in shown for part in _FILES):
                setattr(action, "complete", tool.FILE)  # noqa: B010
