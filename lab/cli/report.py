"""``wengert report p.mlir -o report.html``: one page with every stage of a derivative, side by side, and what is known of it."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from wengert.lab.cli import arguments
from wengert.lab.cli.exit_codes import Exit
from wengert.lab.report.assemble import Wanted, assemble
from wengert.lab.report.page import packed, page
from wengert.lab.report.source_texts import SourceText
from wengert.runtime.program import Program

_ANALYSES = ("costs", "strategies", "check")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    arguments.add_program(parser)
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--vjp", action="store_true", help="the reverse derivative (default)")
    group.add_argument("--jvp", action="store_true", help="the forward derivative")
    group.add_argument("--hvp", action="store_true", help="the second derivative, forward over reverse")
    group.add_argument("--primal", action="store_true", help="no derivative: the program alone")
    group.add_argument("-p", "--pass-pipeline", metavar="PIPELINE", help="these passes, on the program as it is written")
    arguments.add_positions(parser)
    arguments.add_strategy(parser)
    parser.add_argument("-o", "--output", metavar="FILE.html", help="write there (default: the program's name with .html; - for stdout)")
    parser.add_argument("--skip", type=arguments.names, default=(), metavar="A,B", help=f"leave out analyses: {', '.join(_ANALYSES)}")
    parser.add_argument("--with", dest="only", type=arguments.names, default=(), metavar="A,B", help="make these analyses of large programs too")
    parser.add_argument("--json", action="store_true", help="write the document that the page shows, as JSON")


def execute(options: argparse.Namespace) -> int:
    """Writes the page."""
    arguments.check_strategy(options)
    program = arguments.read_program(options)
    wanted = Wanted(
        mode=next((mode for mode in ("jvp", "hvp") if getattr(options, mode)), "none" if options.primal else "vjp"),
        wrt=options.wrt,
        of=options.of,
        strategy=options.strategy,
        pipeline=options.pass_pipeline,
        skip=frozenset(options.skip),
        only=frozenset(options.only),
    )
    document = assemble(program, sources_of(options.program, program), wanted, options.program)
    path = options.output or ("report.html" if options.program == "-" else f"{Path(options.program).stem}.html")
    if options.json:
        text = json.dumps(document.to_json(), indent=1)
        path = options.output or "-"
    else:
        text = page(options.program, packed(document))
    if path == "-":
        sys.stdout.write(text)
        return Exit.OK
    Path(path).write_text(text, encoding="utf-8")
    print(f"{path}: {len(document.stages)} stages, {len(text) / 1e6:.1f} MB; open it in a browser, it asks for nothing from any network")
    return Exit.OK


def sources_of(path: str, program: Program) -> list[SourceText]:
    """The text of the program's file."""
    return [] if path == "-" else [SourceText(path, "mlir", Path(path).read_text(encoding="utf-8"))]
