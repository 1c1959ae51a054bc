"""The process in which XLA runs: it answers, its end is an answer too, and who is forked has one of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("jax")

from fuzz.xla.oracle import NotThereError, execute
from fuzz.xla.process import XLA, XlaProcess

SINE = """func.func public @main(%x: tensor<3xbf16>) -> tensor<3xbf16> {
  %0 = stablehlo.sine %x : tensor<3xbf16>
  return %0 : tensor<3xbf16>
}"""


def test_answers() -> None:
    import ml_dtypes

    x = np.array([0, 1, 2], ml_dtypes.bfloat16)
    kind, (y,) = XLA.ask("execute", SINE, [x])
    assert kind == "ok"
    assert y.dtype == x.dtype
    np.testing.assert_allclose(y.astype(float), np.sin([0.0, 1.0, 2.0]), rtol=1e-2)
    assert XLA.ask("parse", "nonsense")[0] == "refused"
    kind, said = XLA.ask("execute", SINE, [])
    assert kind == "failed"
    assert said


def test_its_end_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    process = XlaProcess()
    monkeypatch.setattr("fuzz.xla.oracle.XLA", process)
    assert process.ask("parse", SINE)[0] == "ok"
    running = process._process
    assert running is not None
    running.kill()
    running.wait()
    assert process.ask("parse", SINE)[0] == "ended"
    assert process.ask("parse", SINE)[0] == "ok", "it is started again"
    process.close()
    monkeypatch.setattr(process, "ask", lambda name, *_: ("ok", "") if name == "parse" else ("ended", "status -11"))
    with pytest.raises(NotThereError):
        execute(SINE, [np.zeros(3, np.float32)])


FORKS = f"""
import os
from fuzz.xla.process import XlaProcess
SINE = {SINE!r}
process = XlaProcess()
assert process.ask("parse", SINE)[0] == "ok"
before = process._process.pid
child = os.fork()
if child == 0:
    answered = process.ask("parse", SINE)[0] == "ok"
    os._exit(0 if answered and process._process.pid != before else 1)
assert os.waitpid(child, 0)[1] == 0
assert process.ask("parse", SINE)[0] == "ok"
assert process._process.pid == before
process.close()
"""


def test_a_forked_process_has_its_own() -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    subprocess.run([sys.executable, "-c", FORKS], env=environment, check=True)  # where JAX is not imported: it warns of forks
