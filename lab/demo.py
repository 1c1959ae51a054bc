"""The demonstration behind ``make demo``: one real program, from its text to a checked and compiled gradient. It is ``wengert demo`` too."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from wengert.lab.check import check
from wengert.lab.check.report import Outcome
from wengert.lab.cli.arguments import add_backend
from wengert.lab.costs import report
from wengert.lab.inputs import Array, random_inputs, random_like, read_inputs
from wengert.lab.tables import count, seconds
from wengert.runtime.devices.compile import device_for
from wengert.runtime.errors import InputError
from wengert.runtime.loading import load
from wengert.runtime.program import Program

T = TypeVar("T")
EXAMPLE = "transformer_block"


def find_example(name: str) -> Path:
    """The file of an example: the package holds all of them in a checkout, and in a wheel what the demonstration needs. An InputError where it is not there."""
    for folder in (Path(__file__).resolve().parents[1] / "examples", Path("examples")):
        if (folder / f"{name}.mlir").is_file():
            return folder / f"{name}.mlir"
    raise InputError("the examples are not here: name a program, or run this in a checkout of wengert")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the demonstration; returns the exit code."""
    from wengert.lab.cli.main import main as command_line

    return command_line(["demo", *(sys.argv[1:] if argv is None else argv)])


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("program", nargs="?", metavar="PROGRAM.mlir", help=f"what to demonstrate on (default: examples/{EXAMPLE}.mlir)")
    parser.add_argument("--inputs", metavar="FILE.npz", help="its inputs (default: the .npz file beside it, or random ones)")
    parser.add_argument("--dump-dir", metavar="DIR", help="where to write the IR after every stage (default: a temporary folder)")
    add_backend(parser)


def execute(options: argparse.Namespace) -> int:
    """Tells the story; 3 if a check fails."""
    path = Path(options.program) if options.program else find_example(EXAMPLE)
    dumps = Path(options.dump_dir) if options.dump_dir else Path(tempfile.mkdtemp(prefix="wengert-demo-"))
    return Demonstration(path, options.inputs, dumps, options.backend).tell()


class Demonstration:
    """One program and what is shown of it."""

    def __init__(self, path: Path, inputs: str | None, dumps: Path, backend: str):
        self.path, self.dumps, self.backend = path, dumps, backend
        self.program, self.parsing = timed(lambda: load(path))
        beside = path.with_suffix(".npz")
        self.inputs = self._inputs(inputs or (str(beside) if beside.is_file() else None))
        self.outcome: Outcome = "ok"

    def _inputs(self, path: str | None) -> list[Array]:
        return read_inputs(path, self.program.signature) if path else random_inputs(self.program.signature, 0)

    def tell(self) -> int:
        """All chapters, in order."""
        for number, chapter in enumerate((self.parse, self.differentiate, self.run, self.check, self.costs, self.stages), 1):
            print(f"\n{number}. {(chapter.__doc__ or '').splitlines()[0].rstrip('.')}\n")
            chapter()
        print()
        return {"ok": 0, "MISMATCH": 3, "not settled": 5}[self.outcome]

    def parse(self) -> None:
        """The program, read and verified."""
        text = self.path.read_text()
        print(f"   {self.path.name}: {text.count(chr(10))} lines of StableHLO, {operations(self.program)} ops, read in {seconds(self.parsing)}")
        for parameter in (*self.program.signature.arguments, *self.program.signature.results):
            print(f"   {parameter}")

    def differentiate(self) -> None:
        """Differentiated in both modes, by passes over the IR."""
        self.jvp, forward = timed(lambda: self.program.jvp(dump_dir=self.dumps / "forward"))
        self.vjp, reverse = timed(lambda: self.program.vjp(dump_dir=self.dumps / "reverse"))
        self.hvp, second = timed(lambda: self.vjp.jvp(wrt=0))
        primal = operations(self.program)
        made = (("forward (JVP)", self.jvp, forward), ("reverse (VJP)", self.vjp, reverse), ("second order (JVP of VJP)", self.hvp, second))
        for name, program, taken in made:
            ops, text = operations(program), str(program)
            print(f"   {name:26} {ops:5} ops, {ops / primal:.1f} times the primal, made in {seconds(taken)}; {count(len(text))} characters of StableHLO")

    def run(self) -> None:
        """Compiled and run."""
        primal = self._compiled("primal", self.program, self.inputs)
        wrt, of = self.program.resolve()
        generator = np.random.default_rng(0)
        self.tangents = [random_like(self.program.signature.arguments[i], generator) for i in wrt]
        self.cotangents = [random_like(self.program.signature.results[j], generator) for j in of]
        pushed = self._compiled("forward", self.jvp, [*self.inputs, *self.tangents])[len(primal) :]
        pulled = self._compiled("reverse", self.vjp, [*self.inputs, *self.cotangents])[len(primal) :]
        left = sum(inner(c, t) for c, t in zip(self.cotangents, pushed, strict=True))
        right = sum(inner(b, t) for b, t in zip(pulled, self.tangents, strict=True))
        self._on_a_device(pulled)
        print(f"   cotangents . JVP = {left:.15g}\n   VJP . tangents   = {right:.15g}, which should be the same")

    def _compiled(self, name: str, program: Program, inputs: Sequence[Array]) -> tuple[Array, ...]:
        compiled, making = timed(lambda: program.compile(self.backend))
        results, first = timed(lambda: compiled(*inputs))
        best = min(timed(lambda: compiled(*inputs))[1] for _ in range(20))
        print(f"   {name:8} compiled for {self.backend} in {seconds(making)}, first run {seconds(first)}, then {seconds(best)} per run")
        return results

    def _on_a_device(self, expected: Sequence[Array]) -> None:
        """Runs the reverse derivative on a device, if there is one, and shows where its kernels are to be read."""
        backend, missing = _device()
        if not backend:
            print(f"   reverse  not run on a device: {missing}")
            return
        folder = self.dumps / "device"
        compiled, making = timed(lambda: self.vjp.compile(backend, dump_dir=folder))
        results, _ = timed(lambda: compiled(*self.inputs, *self.cotangents)[-len(expected) :])
        again, taken = timed(lambda: compiled(*self.inputs, *self.cotangents)[-len(expected) :])
        apart = max(float(np.max(np.abs(a - b), initial=0.0)) for a, b in zip(results, expected, strict=True))
        same = all(a.tobytes() == b.tobytes() for a, b in zip(results, again, strict=True))
        counted = compiled.stats
        print(f"   reverse  on the device {counted.device} ({backend}): compiled in {seconds(making)}, {seconds(taken)} per run,")
        host = sum(counted.host.values())
        print(f"            {counted.launches} launches of {counted.kernels} kernels, {host} ops on the host; {apart:.1e} from {self.backend};")
        print(f"            a second run gives {'the same' if same else 'OTHER'} bits")
        for path in folder.glob("*-gpu-kernel-outlining.mlir"):
            print(f"            its kernels in the gpu dialect: {path}")

    def check(self) -> None:
        """Checked against differences, argument by argument."""
        report = check(self.program, self.inputs, backend=self.backend)
        for argument in report.arguments:
            line = next((f for f in argument.findings if f.test == "differences"), None)
            detail = f"largest distance to differences {line.error:.1e}, which are good to {line.bound:.1e}" if line else argument.reason
            print(f"   {argument.argument:14} {argument.verdict:10} {detail}")
        if not report.ok:
            print(report)
        self.outcome = report.outcome

    def costs(self) -> None:
        """The costs of each mode, counted and measured."""
        costs = report(self.program, self.inputs, measure=True, backend=self.backend)
        print("\n".join(f"   {line}".rstrip() for line in str(costs).splitlines()[1:]))

    def stages(self) -> None:
        """Every stage, to look at."""
        for folder in sorted(self.dumps.iterdir()):
            files = sorted(f.name for f in folder.iterdir())
            print(f"   {folder}: {', '.join(files)}")
        here = min(str(self.path), os.path.relpath(self.path), key=len)
        print(f"\n   Next: wengert vjp {here} | less;  wengert-opt {here} -p to-core;  wengert check {here}")


def _device() -> tuple[str, str]:
    """The backend of a device that is there; else nothing, and what to install."""
    missing = ""
    for backend in ("cuda", "opencl"):
        try:
            device_for(backend)
        except InputError as error:
            missing = str(error)
        else:
            return backend, ""
    return "", missing


def operations(program: Program) -> int:
    """The number of ops in a program's functions."""
    return sum(1 for op in program.module.walk() if not op.name.startswith(("builtin.", "func.")))


def inner(a: Array, b: Array) -> float:
    """Re(sum(a * b)) in double precision."""
    return float(np.sum(a.astype(np.complex128) * b.astype(np.complex128)).real)


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """Runs the work; its result, and the seconds it took."""
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
