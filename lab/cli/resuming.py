"""``wengert run p.mlir --checkpoint run.ckpt [--checkpoint-every 60s] [--resume]``: a run that goes on where it was interrupted."""

from __future__ import annotations

import argparse
import re
import signal
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wengert.lab.inputs import Array
from wengert.runtime.errors import InputError

if TYPE_CHECKING:
    from wengert.runtime.program import Program
    from wengert.runtime.resumable.checkpoint import Checkpoint
    from wengert.runtime.resumable.devices import Devices

EVERY = 60.0
"""Seconds between two checkpoints."""
_SECONDS = {"ms": 1e-3, "s": 1.0, "": 1.0, "min": 60.0, "h": 3600.0}


def add_checkpoints(parser: argparse.ArgumentParser) -> None:
    """Adds the options of runs that can be resumed."""
    parser.add_argument("--checkpoint", metavar="FILE", help="write how far loops are to this file every so often; it is removed when the results are there")
    parser.add_argument("--checkpoint-every", type=span, metavar="60s", help="how often: 500ms, 60s, 5min, 1h (default: 60s)")
    parser.add_argument("--resume", action="store_true", help="go on from the file of --checkpoint, if it is there")


def check_checkpoints(options: argparse.Namespace) -> None:
    """Raises InputError where the options do not go together, or a file would be lost."""
    if options.checkpoint is None:
        for given, name in ((options.resume, "--resume"), (options.checkpoint_every is not None, "--checkpoint-every")):
            if given:
                raise InputError(f"{name} needs the file of the checkpoint: --checkpoint FILE")
        return
    for given, name in ((options.stats, "--stats"), (options.dump_dir, "--dump-dir")):
        if given:
            raise InputError(f"{name} is about a program in one piece: leave --checkpoint out")
    path = Path(options.checkpoint)
    if not path.resolve().parent.is_dir():
        raise InputError(f"there is no folder {path.parent} for the checkpoint")
    if path.exists() and not options.resume:
        raise InputError(f"{path} is there, from a run that did not end: --resume goes on from it (or remove it)")


def run_resumably(options: argparse.Namespace, program: Program, devices: Devices, inputs: Sequence[Array], own: Sequence[Sequence[Array]], count: int) -> Any:
    """The results of the own devices.

    Args:
        options: those of :func:`add_checkpoints`, and the backend.
        program: what each device runs.
        devices: where.
        inputs: all inputs, of which the checkpoint keeps a hash.
        own: the arguments of the devices in this process.
        count: how many devices there are.
    """
    from wengert.runtime.resumable.run import ResumableRun

    about = _about(program, inputs, options.backend, count)
    run = ResumableRun(program, devices, options.checkpoint, options.checkpoint_every or EVERY, about)
    if devices.writes and not run.cut.loops:
        print(f"note: {program.name} has no loop that can be interrupted, so there are no checkpoints", file=sys.stderr)
    checkpoint = _to_go_on_from(options, about) if devices.writes else None
    if checkpoint is not None:
        print(f"goes on from {options.checkpoint}: iteration {checkpoint.iteration:,} of loop {_loop(run.cut.segments, checkpoint.segment)}", file=sys.stderr)
    with _ends_as_interrupted():
        return run.run(own, checkpoint)


def remove_checkpoint(options: argparse.Namespace) -> None:
    """Removes the checkpoint of a run of which the results are out."""
    if options.checkpoint is not None:
        Path(options.checkpoint).unlink(missing_ok=True)


def span(text: str) -> float:
    """``90s`` or ``5min`` in seconds."""
    match = re.fullmatch(r"(\d+(?:\.\d*)?)\s*(ms|s|min|h)?", text.strip())
    if match is None:
        raise argparse.ArgumentTypeError(f"expected a time, as in 500ms, 60s, 5min or 1h, found {text!r}")
    return float(match[1]) * _SECONDS[match[2] or ""]


def _loop(segments: Sequence[Any], place: int) -> int:
    """The number of a segment among the loops, from 1."""
    from wengert.transforms.core.loop_segments import LoopSegment

    return sum(isinstance(segment, LoopSegment) for segment in segments[: place + 1])


def _about(program: Program, inputs: Sequence[Array], backend: str, devices: int) -> dict[str, Any]:
    from wengert import __version__
    from wengert.lab.records.work import arrays_hash, program_hash
    from wengert.transforms.schedule.host import host

    what = {"program": program_hash(program), "inputs": arrays_hash(inputs), "backend": backend, "devices": devices}
    return {**what, "version": __version__, "processor": host().cpu}


_NAMES = {"program": "another program", "devices": "another number of devices", "backend": "another backend", "inputs": "other inputs"}


def _to_go_on_from(options: argparse.Namespace, about: dict[str, Any]) -> Checkpoint | None:
    """The checkpoint of an earlier run; None where there is none. Raises InputError for one of another run."""
    from wengert.runtime.resumable.checkpoint import read

    if not Path(options.checkpoint).exists():
        return None
    checkpoint = read(options.checkpoint)
    for name, what in _NAMES.items():
        if checkpoint.about.get(name) != about[name]:
            raise InputError(f"{options.checkpoint} is of a run of {what}, and cannot be gone on from")
    for name in ("version", "processor"):
        if checkpoint.about.get(name) != about[name]:
            print(f"note: {options.checkpoint} was written on {name} {checkpoint.about.get(name)}: last bits may differ", file=sys.stderr)
    return checkpoint


@contextmanager
def _ends_as_interrupted() -> Generator[None]:
    """SIGTERM, by which job systems end a process, counts as Ctrl-C: the last iterations are written."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
