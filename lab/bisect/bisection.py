"""``bisect``: the pass that breaks a program or its derivative, what is wrong within it, and a reproducer of a few ops."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from wengert.ir.pipeline.options import print_pass
from wengert.ir.pipeline.passes import Pipeline
from wengert.ir.plugins import is_foreign, load_options, owner_of
from wengert.ir.printing.printer import print_module
from wengert.lab.bisect.culprits import Culprit, find_culprit
from wengert.lab.bisect.faults import Fault
from wengert.lab.bisect.pipelines import pipeline_of
from wengert.lab.bisect.prefix import broken_at, shown_with, shows
from wengert.lab.bisect.stages import SECONDS, Array, patience
from wengert.lab.bisect.walk import OVER, Broken, Progress, Tried, is_long_program, walk
from wengert.lab.inputs import random_inputs
from wengert.lab.inspection.subject import Request
from wengert.lab.plain import plain
from wengert.lab.recorded_ops import pieces
from wengert.lab.reduce.candidate import Candidate
from wengert.lab.reduce.reducer import Reducer
from wengert.lab.reduce.reproducer import Reproducer, write
from wengert.runtime.arguments import bind
from wengert.runtime.derived.derivation import with_main
from wengert.runtime.loading import parse
from wengert.runtime.program import Program
from wengert.transforms.pipelines import parse_pipeline

COMPARED = (
    "compared: every stage is run on the same inputs, and its results with those of the program before, up to 16 units in the last place or, where they differ "
    "by more, 16 times what errors of 2 units in every op do to them; tangents with differences, cotangents with tangents by dot products"
)
"""What is compared, and the tolerance."""
NOTHING_ALONE = "within it: no rewrite can be left out, and every op is right by itself: the mistake lies in how it puts ops together"


OPS_OF_A_PIECE = 64
SECONDS_OF_PIECES = 20.0
"""How many ops of a long program are tried together to find some that show what is wrong by themselves, and for how long."""
SECONDS_OF_AN_OP = 0.02
"""How long a stage of a long program may take, for each op of the program."""


@dataclass(frozen=True)
class Bisection:
    """The outcome of a bisection; true if nothing is wrong.

    Attributes:
        program: the name of the program.
        pipeline: all steps that it was to go through.
        seed: for what is drawn.
        tried: the steps that were tried, and how each came out.
        position: the position of the wrong step, from 1; 0 if nothing is wrong.
        step: the wrong step.
        owner: whose pass it is, if it is a plug-in's.
        fault: what is wrong behind it.
        culprit: what is wrong within it, as far as that was found.
        reproducer: the reduced program, if there was time for it.
        seconds: how long all of it took.
    """

    program: str
    pipeline: str
    seed: int
    tried: tuple[Tried, ...]
    position: int = 0
    step: str = ""
    owner: str = ""
    fault: Fault | None = None
    culprit: Culprit | None = None
    reproducer: Reproducer | None = None
    seconds: float = 0.0
    unexamined: int = 0
    """How many ops of a long program there was no time to try by themselves."""

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return self.fault is None

    def __bool__(self) -> bool:
        return self.ok

    def to_json(self) -> dict[str, Any]:
        """Everything as what JSON holds."""
        return {**plain(self), "ok": self.ok, "compared": COMPARED.removeprefix("compared: ")}

    def __str__(self) -> str:
        lines = [f"{self.program} through {len(self.tried) - 1} of {len(parse_pipeline(self.pipeline))} steps, seed {self.seed}"]
        lines += _table(self.tried)
        if self.fault is None:
            return "\n".join([*lines, "nothing is wrong", COMPARED])
        theirs = f" of {self.owner}" if self.owner else ""
        lines.append(f"wrong: '{self.step}'{theirs}, step {self.position}: {self.fault}")
        nothing = f"within it: no op that was tried by itself is wrong; there was no time for {self.unexamined} more" if self.unexamined else NOTHING_ALONE
        lines.append(str(self.culprit) if self.culprit else nothing)
        if self.reproducer is not None:
            lines += [str(self.reproducer), *(f"    {line}" for line in self.reproducer.text.strip().splitlines()), f"again: {self.reproducer.command}"]
        return "\n".join([*lines, COMPARED])


def _table(tried: Sequence[Tried]) -> list[str]:
    """A line for each step that did something; those that changed nothing are counted."""
    shown = [one for one in tried if one.outcome not in ("no change", OVER)]
    width = max(len(one.step) for one in shown)
    lines = [f"  {one.position:3}  {one.step:{width}}  {one.outcome}" for one in shown]
    for outcome, words in (("no change", "changed nothing"), (OVER, "were stepped over: what comes behind them is right")):
        count = sum(one.outcome == outcome for one in tried)
        lines += [f"       ({count} more {words})"] if count else []
    return lines


def bisect(
    program: Program,
    pipeline: str = "",
    inputs: Sequence[Any] | None = None,
    *,
    request: Request | None = None,
    seed: int = 0,
    reduce: bool = True,
    seconds: float = 30.0,
    path: str | None = None,
    progress: Progress = lambda line: None,
) -> Bisection:
    """Runs a program after every step of a pipeline, and finds the first step behind which something is wrong.

    Args:
        program: the program, as it is written.
        pipeline: passes, and translations behind them; derivative passes too, whose results are compared with differences. By default all that the compiler
            does, down to assembly.
        inputs: what the program is run on; drawn at random with the seed by default.
        request: a derivative, made before the pipeline.
        seed: for inputs, directions and cotangents.
        reduce: whether to make the program smaller, to a reproducer.
        seconds: how long that may take.
        path: the file for the reproducer; a new one in the folder for reproducers by default.
        progress: called with a line of text about what is being done.

    Raises:
        InputError: inputs do not fit.
        DiagnosticError: the text is no pipeline.
    """
    begun = time.monotonic()
    pipeline = pipeline_of(program, request, pipeline)
    steps = parse_pipeline(pipeline)
    arrays = bind(program.signature, inputs) if inputs is not None else random_inputs(program.signature, seed)
    module = with_main(program.module, program.entry)
    with patience(max(SECONDS, SECONDS_OF_AN_OP * sum(1 for _ in module.walk()))):
        walked = walk(steps, module, arrays, seed, progress)
    result = Bisection(program.name, pipeline, seed, walked.tried)
    broken = walked.broken
    if broken is not None:
        progress("looking for what is wrong within it")
        step, owner = print_pass(broken.step), owner_of(broken.step) if is_foreign(broken.step) else ""
        with patience(broken.seconds):
            result = replace(result, position=broken.position, step=step, owner=owner, fault=broken.fault)
            piece = _piece(steps, broken, module, arrays, seed) if is_long_program(module) else None
            if piece is not None:
                module, arrays, broken = piece
            culprit, left = find_culprit(broken, every_rewrite=not is_long_program(module))
            result = replace(result, culprit=culprit, unexamined=left)
            if reduce and not is_long_program(module):
                result = _reduced(result, steps, broken, module, arrays, seconds, path, progress)
    return replace(result, seconds=time.monotonic() - begun)


def _piece(steps: Pipeline, broken: Broken, module: ModuleOp, inputs: Sequence[Array], seed: int) -> tuple[ModuleOp, Sequence[Array], Broken] | None:
    """A stretch of a long program that shows the same by itself, with its inputs and what is wrong there; None if none of those that there is time for does."""
    ends = time.monotonic() + SECONDS_OF_PIECES
    upto = steps[: broken.position]
    for piece, values in pieces(module, inputs, OPS_OF_A_PIECE):
        shown = shown_with(upto, lambda pipeline, piece=piece, values=values: shows(pipeline, broken.position, broken.fault, piece, values, seed))
        if shown is not None:
            there = broken_at(shown, broken.position, piece, values, seed)
            if there is not None:
                return piece, values, there
        if time.monotonic() > ends:
            return None
    return None


def _reduced(
    result: Bisection, steps: Pipeline, broken: Broken, module: ModuleOp, inputs: Sequence[Array], seconds: float, path: str | None, progress: Progress
) -> Bisection:
    """The bisection with a reproducer, and with the culprit that the reproducer shows where the whole program showed none."""
    upto = shown_with(steps[: broken.position], lambda pipeline: shows(pipeline, broken.position, broken.fault, module, inputs, result.seed))
    if upto is None:
        return result

    def interesting(candidate: Candidate) -> bool:
        small = with_main(parse(candidate.text).module, "main")
        return shows(upto, broken.position, broken.fault, small, candidate.inputs, result.seed)

    reducer = Reducer(Candidate(print_module(module), tuple(inputs)), interesting, seconds, progress)
    best = reducer.reduce()
    culprit = result.culprit or _culprit_of(upto, broken.position, best, result.seed)

    def command(path: str) -> str:
        words = ["wengert bisect", path, "-p", f'"{upto}"', "--inputs", path, *(["--seed", str(result.seed)] if result.seed else []), *load_options()]
        return " ".join(words)

    about = [f"wrong: '{result.step}': {result.fault}", *(str(culprit).splitlines() if culprit else [])]
    reproducer = write(best, "bisect", command, about, reducer.trials, path)
    return replace(result, culprit=culprit, reproducer=reproducer)


def _culprit_of(pipeline: Pipeline, position: int, candidate: Candidate, seed: int) -> Culprit | None:
    broken = broken_at(pipeline, position, with_main(parse(candidate.text).module, "main"), candidate.inputs, seed)
    return None if broken is None else find_culprit(broken)[0]
