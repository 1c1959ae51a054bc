"""Random programs in the suite: 2,000 a day, put to a share of the checks each; and that what makes and checks them works."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from reference_programs import ROTATION

import wengert as wg
from fuzz import pool as pools
from fuzz.case import Case, noise_of
from fuzz.checks.every_check import CHECKS
from fuzz.findings import load, read_annotated, save
from fuzz.generator import Program, generate
from fuzz.pool import Job, Pool
from fuzz.reduction import reduced
from fuzz.tensors import DTYPES
from fuzz.trial import Finding, Outcome, attempt, chosen, put_to_test
from wengert.ir.printing.printer import print_module
from wengert.lab.agreement.agreement import Mismatch, assert_agree

PROGRAMS, CHUNKS = 2000, 40
SHARE = 0.3
"""Of all checks of a program, so that the suite stays quick; ``make fuzz`` makes them all."""


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_random_programs(chunk: int) -> None:
    count = PROGRAMS // CHUNKS
    first = ROTATION * PROGRAMS + chunk * count
    faults: list[str] = []
    for seed in range(first, first + count):
        outcome = put_to_test(generate(seed), chosen(seed, oracle=False, share=SHARE))
        if outcome.finding is not None:
            command = f"PYTHONPATH=tests python -m fuzz --replay {seed} --check {outcome.finding.check}"
            faults.append(f"{outcome.finding.fault}\n  {outcome.finding.details}\n  {command}")
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("path", sorted(Path(__file__).parent.glob("reduced/*.mlir")), ids=lambda path: path.stem)
def test_what_failed_once(path: Path) -> None:
    """Reduced programs of earlier findings pass all checks."""
    outcome = put_to_test(read_annotated(path), [c for c in CHECKS if not c.oracle])
    assert outcome.finding is None


def test_a_seed_is_one_program_in_every_process() -> None:
    def digest(texts: list[str]) -> str:
        return hashlib.sha256("".join(texts).encode()).hexdigest()

    code = "import hashlib; from fuzz.generator import generate; print(hashlib.sha256(''.join(generate(s).text for s in range(40)).encode()).hexdigest())"
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": str(Path(__file__).parents[1])}
    printed = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True).stdout.strip()
    assert printed == digest([generate(s).text for s in range(40)])


def test_all_ops_and_types_come_up() -> None:
    """Every op of arrays of static shape, every element type, every rank."""
    from wengert.runtime.interpreter import EVALUATION_RULES

    text = "\n".join(generate(seed).text for seed in range(1000))
    ops = {cls.name for cls in EVALUATION_RULES if cls.name.startswith(("stablehlo.", "chlo.")) and not NOT_GENERATED.search(cls.name)}
    absent = sorted(name for name in ops if f'"{name}"' not in text)
    assert not absent
    types = set(re.findall(r"tensor<((?:\d+x)*)([^>]+>?)>", text))
    assert {element for _, element in types} >= set(DTYPES)
    assert {extents.count("x") for extents, _ in types} >= set(range(7))


NOT_GENERATED = re.compile(
    r"dynamic_(?!slice|update)|real_dynamic|dimension_size|after_all|token|tuple|custom_call|async|stablehlo\.rng$|collective|cross|all_|reduce_scatter|partition|replica"
    r"|send|recv|feed|quanti"
)
"""Ops of dynamic shapes, of several devices and of no arrays, and those that leave what they compute open."""


@pytest.mark.oracle
def test_jax_reads_what_is_generated() -> None:
    from fuzz.xla.oracle import parse

    pytest.importorskip("jax")
    for seed in range(ROTATION * 60, ROTATION * 60 + 60):
        parse(generate(seed).text, f"the program of seed {seed}")


# -- tolerances


def of_text(body: str, *inputs: np.ndarray) -> Case:
    return Case(Program(body, inputs))


CANCELLING = """func.func public @main(%x: tensor<2xf64>, %y: tensor<2xf64>) -> tensor<2xf64> {
  %0 = stablehlo.exponential %x : tensor<2xf64>
  %1 = stablehlo.subtract %0, %y : tensor<2xf64>
  return %1 : tensor<2xf64>
}"""


def test_a_difference_within_rounding_passes_and_no_other() -> None:
    x = np.array([1.0, 2.0])
    case = of_text(CANCELLING, x, np.exp(x) - [1e-13, 1.0])
    moved = [case.outputs[0] + [2e-16, 0.0]]
    assert_agree("cancelled", moved, case.outputs, noise_of(case.program, case.inputs))
    with pytest.raises(Mismatch):
        assert_agree("wrong", [case.outputs[0] + [0.0, 1e-12]], case.outputs, noise_of(case.program, case.inputs))


def test_ties_of_small_integers_are_ties_in_every_noisy_run() -> None:
    text = """func.func public @main(%x: tensor<3xf32>) -> tensor<3xi1> {
      %0 = stablehlo.add %x, %x : tensor<3xf32>
      %1 = stablehlo.multiply %0, %x : tensor<3xf32>
      %2 = stablehlo.reverse %1, dims = [0] : tensor<3xf32>
      %3 = stablehlo.compare EQ, %1, %2 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
      return %3 : tensor<3xi1>
    }"""
    case = of_text(text, np.array([2, 5, 2], np.float32))
    for seed in range(5):
        assert noise_of(case.program, case.inputs)(seed)[0].all()


# -- reduction, findings, processes


def test_a_failing_program_is_reduced_to_the_op_that_fails() -> None:
    """The fault is that there is an op of one kind."""

    def fails(program: Program) -> bool:
        made = wg.parse(program.text)
        made.compile("interpreter")(*program.inputs)
        return "chlo.erf_inv" in program.text

    def is_alive(program: Program) -> bool:
        return "chlo.erf_inv" in program.text and "chlo.scan" not in program.text and "chlo.erf_inv" in print_module(wg.parse(program.text).optimized_module)

    seed = next(s for s in range(1000) if is_alive(generate(s)))
    small = reduced(generate(seed), fails, seconds=20)
    ops = [op.name for op in wg.parse(small.text).module.walk()]
    assert ops == ["builtin.module", "func.func", "chlo.erf_inv", "func.return"], small.text
    assert not any(np.asarray(x).any() for x in small.inputs)


def test_a_finding_is_read_back(tmp_path: Path) -> None:
    program = next(p for p in map(generate, range(200)) if "bf16" in p.text.split("^bb0")[0] and any(np.asarray(x).dtype.kind == "V" for x in p.inputs))
    again = load(save(tmp_path / "one", Finding("compiled", "wrong"), program))
    assert again.text == program.text
    for a, b in zip(again.inputs, program.inputs, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a.view(np.uint8) if a.ndim else a, b.view(np.uint8) if a.ndim else b)


def test_an_exception_is_a_finding_and_a_refusal_is_none() -> None:
    broken = Case(Program("func.func public @main() -> tensor<f64> {\n return %x : tensor<f64>\n}", ()))
    outcome = attempt(broken, CHECKS[0])
    assert isinstance(outcome, Finding)
    assert "undefined" in outcome.what


def misbehaving(job: Job, begins: object, oracle: bool) -> Outcome:
    begins("ending" if job[1] == 1 else "sleeping" if job[1] == 2 else "working")  # type: ignore[operator]
    if job[1] == 1:
        import signal

        os.kill(os.getpid(), signal.SIGSEGV)
    if job[1] == 2:
        import time

        time.sleep(600)
    return Outcome(job[1], checks=1)


def test_crashes_and_hangs_are_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    pool = Pool(1, misbehaving, limit=10, oracle=False)
    outcomes = {job[1]: outcome for job, outcome in pool.run(iter([("programs", s) for s in range(4)]), lambda: True)}
    assert [outcomes[s].checks for s in (0, 3)] == [1, 1]
    assert outcomes[1].finding == Finding("ending", "the process ended with SIGSEGV")
    assert outcomes[2].finding == Finding("sleeping", "no answer in 10 s")


def test_a_process_that_gets_little_of_a_processor_has_not_hung(monkeypatch: pytest.MonkeyPatch) -> None:
    at = {"clock": 0.0, "used": 0.0}
    monkeypatch.setattr(pools.time, "monotonic", lambda: at["clock"])
    monkeypatch.setattr(pools, "processor_seconds", lambda process: at["used"])
    watch = pools.Stopwatch(1)

    def exceeds(clock: float, used: float) -> bool:
        at.update(clock=clock, used=used)
        return watch.exceeds(60)

    assert [exceeds(*now) for now in ((50, 2), (500, 4), (559, 4), (600, 59))] == [False] * 4
    assert exceeds(601, 61), "it has worked for so long"
    watch = pools.Stopwatch(1)
    assert exceeds(700, 61), "it has done nothing for so long"
