"""``reduce``: a smaller program with smaller inputs that is interesting in the same way, by what makes it so.

What is interesting is said by a :class:`Predicate`: a command's exit code, as in ``llvm-reduce`` and C-Reduce (Regehr et al., "Test-Case Reduction for C
Compiler Bugs", PLDI 2012), a fault that ``bisect`` finds, or a crash.
"""

from __future__ import annotations

import shlex
import subprocess
import tempfile
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wengert.ir.pipeline.passes import Pipeline
from wengert.ir.plugins import load_options
from wengert.ir.printing.printer import print_module
from wengert.lab.bisect.faults import Kind
from wengert.lab.plain import plain
from wengert.lab.reduce.annotated import annotated
from wengert.lab.reduce.candidate import Array, Candidate
from wengert.lab.reduce.reducer import Reducer
from wengert.lab.reduce.reproducer import Reproducer, counted, ops_of_program, write
from wengert.runtime.derived.derivation import with_main
from wengert.runtime.errors import InputError
from wengert.runtime.loading import parse
from wengert.runtime.program import Program
from wengert.transforms.pipelines import parse_pipeline

COMMAND_SECONDS = 120.0
"""How long a command may take for one program."""


@dataclass(frozen=True)
class Predicate:
    """The condition that makes a program interesting.

    Attributes:
        is_interesting: tells of a program with inputs.
        command: the command that shows it, given a file.
        what: what the program itself is not, where it is not interesting.
    """

    is_interesting: Callable[[Candidate], bool]
    command: Callable[[str], str]
    what: str


@dataclass(frozen=True)
class Smaller:
    """A smaller program.

    Attributes:
        before: how many ops the program had that it was made of.
        reproducer: the program, its file, and the command that shows that it is interesting.
    """

    before: int
    reproducer: Reproducer

    @property
    def text(self) -> str:
        """The program."""
        return self.reproducer.text

    def to_json(self) -> dict[str, Any]:
        """Everything as what JSON holds."""
        return plain(self)

    def __str__(self) -> str:
        made = self.reproducer
        first = f"{counted(self.before)} -> {counted(made.ops)}, {made.trials} candidates tried: {made.path or 'not written'}"
        return "\n".join([first, *(f"    {line}" for line in made.text.strip().splitlines()), f"again: {made.command}"])


def reduce(
    program: Program,
    inputs: Sequence[Array],
    predicate: Predicate,
    *,
    seconds: float = 60.0,
    path: str | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> Smaller:
    """Makes a program and its inputs smaller, as long as they are interesting.

    Args:
        program: the program.
        inputs: its inputs.
        predicate: what makes it interesting.
        seconds: how long it may take.
        path: the file for the result; a new one in the folder for reproducers by default.
        progress: called with a line about what is being done.

    Raises:
        InputError: the program itself is not interesting.
    """
    whole = Candidate(print_module(with_main(program.module, program.entry)), tuple(inputs))
    if not predicate.is_interesting(whole):
        raise InputError(f"{program.name} {predicate.what}, so there is nothing to reduce")
    reducer = Reducer(whole, predicate.is_interesting, seconds, progress)
    best = reducer.reduce()
    written = None if path == "-" else write(best, "reduce", predicate.command, [f"reduced from {program.name}"], reducer.trials, path)
    return Smaller(ops_of_program(whole.text), written or Reproducer(best.text, ops_of_program(best.text), "", predicate.command("FILE"), reducer.trials))


def command_predicate(command: str) -> Predicate:
    """A command of the shell whose exit code is 0 for interesting programs. ``{}`` in it stands for the file with the program and its inputs, which comes
    behind the command where it has none."""

    def with_file(path: str) -> str:
        return command.replace("{}", path) if "{}" in command else f"{command} {path}"

    def is_interesting(candidate: Candidate) -> bool:
        with tempfile.TemporaryDirectory(prefix="wengert-reduce-") as folder:
            path = Path(folder) / "candidate.mlir"
            path.write_text("\n".join([*(f"// {line}" for line in annotated(candidate.inputs)), "", candidate.text]))
            try:
                quiet = subprocess.DEVNULL
                done = subprocess.run(with_file(shlex.quote(str(path))), shell=True, stdout=quiet, stderr=quiet, check=False, timeout=COMMAND_SECONDS)
                return done.returncode == 0
            except subprocess.TimeoutExpired:
                return False

    return Predicate(is_interesting, with_file, f"is not interesting (the exit code of '{command}' is not 0)")


def fault_predicate(pipeline: str, seed: int = 0, kinds: Collection[Kind] | None = None) -> Predicate:
    """What ``bisect`` finds wrong on the way through a pipeline: the same kind of fault at the same step as for the first program that is asked about.

    Args:
        pipeline: passes and translations.
        seed: for what is drawn.
        kinds: only these kinds of faults; :data:`CRASHES`, say.
    """
    from wengert.lab.bisect.prefix import shown_with, shows
    from wengert.lab.bisect.stages import patience
    from wengert.lab.bisect.walk import Broken, walk

    first: list[tuple[Broken, Pipeline]] = []

    def find(candidate: Candidate) -> bool:
        steps = parse_pipeline(pipeline)
        module = with_main(parse(candidate.text).module, "main")
        broken = walk(steps, module, candidate.inputs, seed).broken
        if broken is None or (kinds is not None and broken.fault.kind not in kinds):
            return False
        upto = shown_with(steps[: broken.position], lambda one: shows(one, broken.position, broken.fault, module, candidate.inputs, seed))
        first.extend([] if upto is None else [(broken, upto)])
        return bool(first)

    def is_interesting(candidate: Candidate) -> bool:
        if not first:
            return find(candidate)
        broken, upto = first[0]
        with patience(broken.seconds):
            return shows(upto, broken.position, broken.fault, with_main(parse(candidate.text).module, "main"), candidate.inputs, seed)

    def command(path: str) -> str:
        seeded = ["--seed", str(seed)] if seed else []
        upto = str(first[0][1]) if first else pipeline
        return " ".join(["wengert bisect", path, "-p", f'"{upto}"', "--inputs", path, *seeded, *load_options()])

    return Predicate(is_interesting, command, "has nothing wrong with it that 'wengert bisect' finds" if kinds is None else "does not crash")


CRASHES: tuple[Kind, ...] = ("exception", "crash", "no end")
"""Faults that are no wrong results and no refusals."""
