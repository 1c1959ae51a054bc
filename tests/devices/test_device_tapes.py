"""Tapes in the memory of devices: growth, every op, the limit, derivatives of loops whose number of iterations is not known."""

from __future__ import annotations

import numpy as np
import pytest
from device_backends import BACKENDS
from tape_programs import EVERY_OP, loop

import wengert as wg
from wengert.runtime.devices.ptx import PTXInterpreter
from wengert.runtime.devices.tapes import FIRST_CHUNK_BYTES, Tape, TapeMemory
from wengert.runtime.tape_memory import VARIABLE


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("n", [0, 1, 5])
def test_pushes(n: int, backend: str) -> None:
    """Of as many values as chunks hold, and of one more; values of the call before are not seen."""
    program = wg.parse(loop(n))
    compiled = program.compile(backend, poison=True)
    for iterations in (17, 1, 64, 65, 200 if backend == "opencl" else 66):
        x = np.linspace(0.1, 1, n)
        last, size = compiled(x, np.array(iterations))
        np.testing.assert_allclose(last, program.compile("interpreter")(x, np.array(iterations))[0], rtol=1e-13)
        assert size == iterations
    assert compiled.stats.host == {}


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_op(backend: str) -> None:
    program = wg.parse(EVERY_OP)
    compiled = program.compile(backend, poison=True)
    for k in (0, 1, 2, 40, 70):
        inputs = [np.array([1.5, -2.0], np.float32), np.array(k)]
        for mine, theirs in zip(compiled(*inputs), program.compile("cpu")(*inputs), strict=True):
            np.testing.assert_array_equal(mine, theirs)
    assert compiled.stats.host == {}


HALVING = """func.func @main(%x: tensor<SIZExf64>, %by: tensor<f64>) -> tensor<SIZExf64> {
  %0 = stablehlo.while(%s = %x) : tensor<SIZExf64>
  cond {
    %zero = stablehlo.constant dense<0.0> : tensor<f64>
    %t = stablehlo.reduce(%s init: %zero) applies stablehlo.maximum across dimensions = [0] : (tensor<SIZExf64>, tensor<f64>) -> tensor<f64>
    %c = stablehlo.constant dense<1.0> : tensor<f64>
    %p = stablehlo.compare GT, %t, %c : (tensor<f64>, tensor<f64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %b = stablehlo.broadcast_in_dim %by, dims = [] : (tensor<f64>) -> tensor<SIZExf64>
    %u = stablehlo.multiply %s, %b : tensor<SIZExf64>
    %v = stablehlo.tanh %u : tensor<SIZExf64>
    %w = stablehlo.add %u, %v : tensor<SIZExf64>
    stablehlo.return %w : tensor<SIZExf64>
  }
  return %0 : tensor<SIZExf64>
}"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_derivatives_of_a_loop_that_nobody_can_count(backend: str) -> None:
    """First and second ones; what is recorded stays on the device."""
    program = wg.parse(HALVING.replace("SIZE", "3"))
    inputs = [np.array([30.0, 2.0, -7.0]), np.array(0.4), np.ones(3)]
    for derivative, more in ((program.vjp(), []), (program.vjp().jvp(), [np.ones(3), np.array(1.0), np.ones(3)])):
        compiled = derivative.compile(backend, poison=True)
        for mine, theirs in zip(compiled(*inputs, *more), derivative.compile("cpu")(*inputs, *more), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-10)
        assert compiled.stats.host == {}


@pytest.mark.parametrize("backend", BACKENDS)
def test_ends_with_an_error(monkeypatch: pytest.MonkeyPatch, backend: str) -> None:
    """A loop that does not end at its inputs; the program can be called again."""
    monkeypatch.setenv(VARIABLE, str(1 << 20))
    gradient = wg.parse(HALVING.replace("SIZE", "8192")).vjp().compile(backend)
    x, x_bar = np.full(8192, 3.0), np.ones(8192)
    with pytest.raises(MemoryError, match=f"limit {1 << 20} bytes"):
        gradient(x, np.array(1.0), x_bar)
    results = gradient(x, np.array(0.3), x_bar)
    assert all(np.isfinite(result).all() for result in results)


@pytest.mark.parametrize("size", [0, 1, 1000, FIRST_CHUNK_BYTES + 1])
def test_chunks(size: int) -> None:
    """Every position has a place of its own, which stays where it is."""
    memory = TapeMemory(PTXInterpreter(1 << 26))
    tape = Tape(memory, size)
    places: list[tuple[int, int]] = []
    for count in range(1, 100):
        tape.grow(count)
        place = tape.place(count - 1)
        assert place.size == size
        places.append((place.memory, place.offset))
        assert [(p.memory, p.offset) for p in map(tape.place, range(count))] == places
    assert size == 0 or len({memory + offset for memory, offset in places}) == len(places)
