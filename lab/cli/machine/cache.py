"""``wengert cache [--clear | --limit-mb N]``: the compiled objects on disk, and the records of the programs that they are of."""

from __future__ import annotations

import argparse
import json
import time

from wengert.lab.cli import arguments
from wengert.lab.cli.exit_codes import Exit
from wengert.runtime import cache


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--clear", action="store_true", help="remove all objects and records")
    group.add_argument("--limit-mb", type=arguments.positive, metavar="N", help="remove what was not used for longest until N MB are left")
    parser.add_argument("--json", action="store_true", help="print what there is as JSON")


def execute(options: argparse.Namespace) -> int:
    """Removes what is asked, and prints what there is."""
    home = cache.folder()
    if home is None:
        print(json.dumps({"folder": None}) if options.json else "the cache is off (WENGERT_CACHE=off)")
        return Exit.OK
    removed = 0
    if options.clear or options.limit_mb:
        removed = cache.sweep(home, 0 if options.clear else options.limit_mb << 20)
    entries = cache.entries(home)
    objects = sum(path.suffix == cache.OBJECT for _, _, path in entries)
    size = sum(size for _, size, _ in entries)
    if options.json:
        print(
            json.dumps(
                {
                    "folder": str(home),
                    "objects": objects,
                    "records": len(entries) - objects,
                    "bytes": size,
                    "limit_bytes": cache.limit(),
                    "removed": removed,
                    "not_used": cache.distrusted(home),
                }
            )
        )
        return Exit.OK
    if options.clear or options.limit_mb:
        print(f"removed {removed} entries")
    if reason := cache.distrusted(home):
        print(f"{home} is not used: {reason}")
    print(f"{home}: {objects} objects, {len(entries) - objects} records of programs, {size / 2**20:.1f} MiB of at most {cache.limit() / 2**20:.0f} MiB")
    if entries:
        print(f"last used: {_ago(entries[-1][0])}; not used for longest: {_ago(entries[0][0])}")
    return Exit.OK


def _ago(moment: float) -> str:
    seconds = max(time.time() - moment, 0.0)
    for unit, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit} ago"
    return f"{seconds:.0f} second{'s' * (round(seconds) != 1)} ago"
