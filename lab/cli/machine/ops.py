"""``wengert ops [NAME ...]``: what can be done with the ops of StableHLO and CHLO."""

from __future__ import annotations

import argparse
import json

from wengert.ir.diagnostics import did_you_mean
from wengert.lab.cli import output
from wengert.lab.cli.exit_codes import Exit
from wengert.lab.ops.attempt import COLUMNS, Row
from wengert.lab.ops.names import OPS
from wengert.lab.ops.table import EXAMPLES, markdown, row_of, rows
from wengert.lab.tables import table
from wengert.runtime.errors import InputError


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="ops, such as stablehlo.gather or gather (default: all of them)")
    parser.add_argument("--markdown", action="store_true", help="write the page of the documentation")
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    parser.add_argument("-o", "--output", metavar="FILE", help="write there instead of to stdout")


def execute(options: argparse.Namespace) -> int:
    """Tries the ops, and writes what can be done with them."""
    names = [_known(name) for name in options.names] or list(OPS)
    table_rows = rows(names) if options.markdown or not options.names else [row_of(name) for name in names]
    if options.json:
        output.write_text(json.dumps([{"op": row.op, **row.cells, "notes": list(row.notes)} for row in table_rows], indent=1), options.output)
        return Exit.OK
    text = markdown(table_rows) if options.markdown else _one_by_one(table_rows) if options.names else _listed(table_rows)
    output.write_text(text, options.output)
    return Exit.OK


def _known(name: str) -> str:
    for candidate in (name, f"stablehlo.{name}", f"chlo.{name}"):
        if candidate in OPS:
            return candidate
    raise InputError(
        f"neither StableHLO nor CHLO has an op {name!r}; {did_you_mean(name, [*OPS, *(op.partition('.')[2] for op in OPS)]) or 'wengert ops lists them'}"
    )


def _listed(table_rows: list[Row]) -> str:
    return "\n".join(table(("op", *COLUMNS), [(row.op, *(row.cells[c] for c in COLUMNS)) for row in table_rows])) + "\n"


def _one_by_one(table_rows: list[Row]) -> str:
    parts: list[str] = []
    for row in table_rows:
        parts.append(f"{row.op}\n" + "".join(f"  {c:10} {row.cells[c]}\n" for c in COLUMNS) + "".join(f"  {note}\n" for note in row.notes))
        if row.op in EXAMPLES:
            parts.append("".join(f"  | {line}\n" for line in EXAMPLES[row.op].text.splitlines()))
    return "\n".join(parts)
