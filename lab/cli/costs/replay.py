"""``wengert replay ID``: runs a record again, and says what differs."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace

from wengert.lab.cli import arguments
from wengert.lab.cli.costs.records import percent
from wengert.lab.cli.exit_codes import Exit
from wengert.lab.records.database import Database
from wengert.lab.records.replay import Replay, replay
from wengert.lab.records.selection import DEFAULT
from wengert.lab.records.verdict import EFFECT


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("id", metavar="ID", help="the beginning of the record's id, as 'wengert records list' shows it")
    parser.add_argument("--records", default=DEFAULT, metavar="FILE.db", help=f"the file of records (default: {DEFAULT})")
    parser.add_argument("--rounds", type=arguments.positive, default=25, metavar="N", help="the most samples (default: 25)")
    parser.add_argument("--effect", type=percent, default=EFFECT, metavar="5%", help="the least difference of times that counts (default: 5%%)")
    parser.add_argument("--keep", action="store_true", help="add the new record to the file")
    parser.add_argument("--json", action="store_true", help="print JSON")


def execute(options: argparse.Namespace) -> int:
    """Runs the record again; prints what differs."""
    with Database(options.records) as database:
        done = replay(database, options.id, rounds=options.rounds, effect=options.effect)
    if options.keep:
        done = _kept(options, done)
    print(json.dumps(done.to_json(), indent=1) if options.json else done)
    if done.is_wrong or done.after.result.status == "failed":
        return Exit.MISMATCH
    return Exit.COST_REGRESSION if done.regressed else Exit.OK


def _kept(options: argparse.Namespace, done: Replay) -> Replay:
    """The replay with its record written."""
    with Database(options.records, create=True) as database:
        work = done.before.work
        record = replace(done.after, run=database.begin_run(["wengert", options.command, *options.words]))
        return replace(done, after=database.add(record, database.program(work.program), database.given(work.given)))
