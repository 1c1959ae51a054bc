"""``wengert explain p.mlir --vjp %99``: why an op is there; ``--missing arg:1``: why there is no cotangent."""

from __future__ import annotations

import argparse
import json

from wengert.lab.cli.exit_codes import Exit
from wengert.lab.cli.subject import add_subject, read_subject
from wengert.lab.cli.usage import Parser, usage_error
from wengert.lab.provenance.explain import explain_subject
from wengert.lab.provenance.explanation import SHOWN


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    if isinstance(parser, Parser):
        parser.intermixed = True
    add_subject(parser)
    parser.add_argument("selectors", nargs="*", metavar="OP", help="what to explain: %%12, result:0, FILE:LINE or a line, op:tanh, role:cotangent")
    parser.add_argument("--missing", metavar="VALUE", help="say why an argument (arg:1) or value of the program has no cotangent")
    parser.add_argument("--all", action="store_true", help=f"show all ops that are named, not only the first {SHOWN}")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def execute(options: argparse.Namespace) -> int:
    """Prints explanations."""
    if options.missing is None and not options.selectors:
        raise usage_error(options.prog, options.words, "nothing to explain is named", hint="such as %12, op:tanh, role:cotangent, a line, or --missing arg:0")
    if options.missing is not None:
        from wengert.lab.provenance.missing import missing

        reasons = missing(read_subject(options, default="vjp"), options.missing)
        print(json.dumps(reasons.to_json(), indent=1) if options.json else reasons)
        return Exit.OK
    explained = explain_subject(read_subject(options), *options.selectors)
    print(json.dumps(explained.to_json(), indent=1) if options.json else explained.text(len(explained) if options.all else SHOWN))
    return Exit.OK
