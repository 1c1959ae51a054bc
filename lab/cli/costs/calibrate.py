"""``wengert calibrate``: fits the machine model by which times are predicted, and keeps it for this machine and number of threads."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import msgspec

from wengert.lab.cli import output
from wengert.lab.cli.exit_codes import Exit
from wengert.lab.costs.calibration import calibrate
from wengert.lab.costs.network.calibration import Calibration
from wengert.lab.costs.time_model import MachineModel, machine_model, write_model
from wengert.lab.tables import seconds, size, table
from wengert.runtime.errors import InputError
from wengert.runtime.machine_model import model_path


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("--show", action="store_true", help="print the model that is used, and measure nothing")
    parser.add_argument(
        "--mpi", action="store_true", help="fit the network instead, as 'mpiexec -n 2 wengert calibrate --mpi': the time of a message and of a byte"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write the model there (default: the cache folder, where it is used from then on)")
    parser.add_argument("--json", action="store_true", help="print the model as JSON")


def execute(options: argparse.Namespace) -> int:
    """Times small programs, fits, and prints the figures."""
    if options.mpi:
        return _network(options)
    if options.show:
        _print(options, machine_model())
        return Exit.OK
    path = Path(options.output) if options.output else model_path()
    if path is None:
        raise InputError("the cache is off (WENGERT_CACHE=off): name a file with -o")
    model, samples = calibrate(lambda name: output.progress(f"timing {name}"))
    output.end_progress()
    write_model(model, path)
    _print(options, model)
    if not options.json:
        print(f"fitted to {len(samples)} programs; kept in {path}")
    return Exit.OK


def _network(options: argparse.Namespace) -> int:
    """Fits alpha and beta to messages between two processes; shows them."""
    from wengert.lab.costs.network import calibration as network

    if options.show:
        known = network.read_calibration()
        if known is None:
            raise InputError("the network of this machine was not calibrated: mpiexec -n 2 wengert calibrate --mpi")
        _print_network(options, known)
        return Exit.OK
    path = Path(options.output) if options.output else network.network_path()
    if path is None:
        raise InputError("the cache is off (WENGERT_CACHE=off): name a file with -o")
    fitted = network.calibrate_network()
    if fitted is None:
        return Exit.OK
    network.write_calibration(fitted, path)
    _print_network(options, fitted)
    if not options.json:
        print(f"kept in {path}; 'wengert costs --ranks' uses it")
    return Exit.OK


def _print_network(options: argparse.Namespace, fitted: Calibration) -> None:
    if options.json:
        print(json.dumps(msgspec.to_builtins(fitted), indent=1))
        return
    print(f"network of two processes of this machine, {fitted.library}, {fitted.taken}")
    print(f"  alpha  {seconds(fitted.alpha)} a message")
    print(f"  beta   {fitted.beta:.3g} s a byte ({1 / fitted.beta / 1e9:.3g} GB/s)" if fitted.beta else "  beta   0")
    lines = [[size(bytes), seconds(time), seconds(fitted.alpha + bytes * fitted.beta)] for bytes, time in fitted.seconds.items()]
    print("\n".join(table(["message", "measured", "fitted"], lines)))
    print(f"the largest factor between measured and fitted is {fitted.factor:.2g}")


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
