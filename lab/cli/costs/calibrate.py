"""``wengert calibrate``: fits the machine model by which times are predicted, and keeps it for this machine and number of threads."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import msgspec

from wengert.lab.cli import output
from wengert.lab.cli.exit_codes import Exit
from wengert.lab.costs.calibration import calibrate
from wengert.lab.costs.time_model import MachineModel, machine_model, write_model
from wengert.runtime.errors import InputError
from wengert.runtime.machine_model import model_path


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("--show", action="store_true", help="print the model that is used, and measure nothing")
    parser.add_argument("--out", metavar="FILE", help="write the model there (default: the cache folder, where it is used from then on)")
    parser.add_argument("--json", action="store_true", help="print the model as JSON")


def execute(options: argparse.Namespace) -> int:
    """Times small programs, fits, and prints the figures."""
    if options.show:
        _print(options, machine_model())
        return Exit.OK
    path = Path(options.out) if options.out else model_path()
    if path is None:
        raise InputError("the cache is off (WENGERT_CACHE=off): name a file with --out")
    model, samples = calibrate(lambda name: output.progress(f"timing {name}"))
    output.end_progress()
    write_model(model, path)
    _print(options, model)
    if not options.json:
        print(f"fitted to {len(samples)} programs; kept in {path}")
    return Exit.OK


def _print(options: argparse.Namespace, model: MachineModel) -> None:
    if options.json:
        print(json.dumps(msgspec.to_builtins(model), indent=1, sort_keys=True))
        return
    origin = "calibrated" if model.calibrated else "comes with the package: 'wengert calibrate' fits one to this machine"
    print(f"machine model of {model.processor}, {model.threads} thread{'s' if model.threads > 1 else ''}, {model.taken} ({origin})")
    print(f"nine of ten programs that it was not fitted to were within a factor of {model.factor:g}")
    width = max(map(len, model.nanoseconds))
    for name, nanoseconds in sorted(model.nanoseconds.items()):
        print(f"  {name:{width}}  {nanoseconds:10.3f} ns{'  assumed' if name in model.nominal else ''}")
