"""A loop that does not end at its inputs ends with an error before its tapes take all memory."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import wengert as wg
from wengert.runtime.interpreter.ops.loops import Tape
from wengert.runtime.tape_memory import VARIABLE, tape_limit

TEXT = """func.func public @main(%x: tensor<SIZExf64>) -> tensor<SIZExf64> {
  %0 = stablehlo.while(%s = %x) : tensor<SIZExf64>
  cond {
    %zero = stablehlo.constant dense<0.0> : tensor<f64>
    %t = stablehlo.reduce(%s init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<SIZExf64>, tensor<f64>) -> tensor<f64>
    %c = stablehlo.constant dense<50.0> : tensor<f64>
    %p = stablehlo.compare LT, %t, %c : (tensor<f64>, tensor<f64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %u = stablehlo.multiply %s, %s : tensor<SIZExf64>
    %v = stablehlo.add %s, %u : tensor<SIZExf64>
    stablehlo.return %v : tensor<SIZExf64>
  }
  return %0 : tensor<SIZExf64>
}"""


@pytest.mark.parametrize(("backend", "size", "limit"), [("cpu", 1 << 16, 100 << 20), ("interpreter", 64, 1 << 20)])
def test_ends_with_an_error(monkeypatch: pytest.MonkeyPatch, backend: str, size: int, limit: int) -> None:
    monkeypatch.setenv(VARIABLE, str(limit))
    gradient = wg.parse(TEXT.replace("SIZE", str(size))).vjp().compile(backend)
    with pytest.raises(MemoryError, match=f"limit {limit} bytes"):
        gradient(np.zeros(size), np.ones(size))
    x, x_bar = gradient(np.ones(size), np.ones(size))
    assert np.isfinite(x_bar).all()
    assert np.sum(x) > 50
    gc.collect()
    assert Tape.living == 0


def test_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert tape_limit() > 1 << 24
    monkeypatch.setenv(VARIABLE, "much")
    with pytest.raises(ValueError, match="number of bytes"):
        tape_limit()
