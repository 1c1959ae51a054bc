"""Ctrl-C and other signals while compiled code runs: noticed at once, and everything works afterwards."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
from alarm_checks import Stop, raising_alarm

import wengert as wg

LOOP = """func.func public @main(%x: tensor<{n}xf64>, %k: tensor<i64>) -> tensor<{n}xf64> {{
  %c = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %r:2 = stablehlo.while(%i = %c, %y = %x) : tensor<i64>, tensor<{n}xf64>
    cond {{ %0 = stablehlo.compare {test}, %i, %k : (tensor<i64>, tensor<i64>) -> tensor<i1>
           stablehlo.return %0 : tensor<i1> }}
    do {{ %0 = stablehlo.sine %y : tensor<{n}xf64>
         %1 = stablehlo.add %i, %one : tensor<i64>
         stablehlo.return %1, %0 : tensor<i64>, tensor<{n}xf64> }}
  return %r#1 : tensor<{n}xf64>
}}"""
FOREVER = np.int64(1 << 60)
WITHIN = 0.8


@pytest.fixture(autouse=True)
def _interrupted_soon() -> Iterator[None]:
    with raising_alarm():
        yield


def interrupted(call, *inputs) -> float:
    """How long a call ran on after a signal that came after 0.1 s."""
    start = time.perf_counter()
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    with pytest.raises(Stop):
        call(*inputs)
    return time.perf_counter() - start - 0.1


@pytest.mark.parametrize("n", [4, 20_000], ids=["in registers", "on several threads"])
@pytest.mark.parametrize("test", ["LT", "NE"], ids=["counted", "not counted"])
def test_a_loop_ends_and_can_be_run_again(n: int, test: str):
    program = wg.parse(LOOP.format(n=n, test=test)).compile()
    x = np.linspace(0, 1, n)
    for _ in range(2):
        assert interrupted(program, x, FOREVER) < WITHIN
        np.testing.assert_allclose(program(x, np.int64(2))[0], np.sin(np.sin(x)), rtol=1e-14)


def test_calls_that_go_through_python_end_too():
    program = wg.parse(LOOP.format(n=4, test="LT")).compile()
    assert interrupted(program, [0.0, 1.0, 2.0, 3.0], FOREVER) < WITHIN
    np.testing.assert_allclose(program([0.0, 1.0, 2.0, 3.0], np.int64(0))[0], np.arange(4.0))


def test_tapes_of_an_interrupted_call_are_freed():
    program = wg.parse(LOOP.format(n=2000, test="LT")).vjp(wrt=0).compile()
    x = np.ones(2000)
    assert interrupted(program, x, np.int64(200_000), x) < WITHIN
    np.testing.assert_allclose(program(x, np.int64(1), x)[1], np.cos(x))


def test_another_thread_is_not_asked():
    program = wg.parse(LOOP.format(n=4, test="LT")).compile()
    results: list[object] = []
    thread = threading.Thread(target=lambda: results.append(program(np.ones(4), np.int64(5_000_000))[0]))
    thread.start()
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    with pytest.raises(Stop):
        time.sleep(5)
    thread.join()
    assert len(results) == 1


def test_a_handler_that_returns_changes_nothing():
    signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
    seen: list[int] = []
    program = wg.parse(LOOP.format(n=4, test="LT")).compile()
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    program(np.ones(4), np.int64(5_000_000))
    assert seen


def test_short_programs_ask_nothing():
    text = wg.parse("func.func @main(%x: tensor<9xf64>) -> tensor<9xf64> { %0 = stablehlo.sine %x : tensor<9xf64>\n return %0 : tensor<9xf64> }")
    assert "wg.interrupts" not in text.compile().executable.llvm_text  # pyright: ignore


def test_an_interrupt_while_an_op_runs_in_the_interpreter_is_not_lost():
    """Wherever in the callback it comes, even before its first instruction."""
    program = wg.parse(INTERPRETED)
    compiled = program.compile()
    assert compiled.stats.interpreted
    for _ in range(8):
        assert interrupted(compiled, np.linspace(0.1, 0.9, 3), FOREVER) < WITHIN


INTERPRETED = LOOP.replace(
    "%0 = stablehlo.sine %y :",
    """%a = stablehlo.constant dense<1.0> : tensor<f64>
         %n = stablehlo.constant dense<3> : tensor<1xi64>
         %0 = stablehlo.rng %a, %a, %n, distribution = UNIFORM : (tensor<f64>, tensor<f64>, tensor<1xi64>) ->""",
).format(n=3, test="LT")
