"""Callbacks of JAX in imported functions: values, order, derivatives, batches and refusals, beside JAX where JAX has an order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX functions are imported")
import jax.numpy as jnp
import transform_sides  # noqa: F401, for JAX's settings
from jax import lax
from jax.experimental import io_callback

import wengert as wg
from wengert.ir.diagnostics import DiagnosticError
from wengert.runtime.errors import ExecutionError, InputError, UnsupportedOpError
from wengert.runtime.host_functions import PROCESS

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]
X = np.array([0.1, 0.2])
BACKENDS = ("interpreter", "cpu")


def called(function: Callable[..., Any], x: Any, like: Any = None) -> Any:
    like = x if like is None else like
    return jax.pure_callback(function, jax.ShapeDtypeStruct(like.shape, like.dtype), x)


def logging(log: list[Any]) -> Callable[[Any], Any]:
    """A function with callbacks of all kinds, in a loop and a branch of it, each of which writes into a log."""

    def note(name: str) -> Callable[..., None]:
        return lambda *xs: log.append((name, *(float(np.sum(x)) for x in xs)))

    def f(x: Any) -> Any:
        y = called(lambda a: 2 * np.asarray(a), lax.stop_gradient(x))
        jax.debug.callback(note("begin"), x, ordered=True)

        def body(i: Any, c: Any) -> Any:
            jax.debug.callback(note("step"), i, c, ordered=True)

            def odd(c: Any) -> Any:
                io_callback(note("odd"), None, lax.stop_gradient(c), ordered=True)
                return jnp.sin(c)

            return lax.cond(i % 2 == 1, odd, jnp.cos, c)

        z = lax.fori_loop(0, 4, body, x)
        io_callback(note("end"), None, lax.stop_gradient(z), ordered=True)
        return jnp.sum(y * x + z)

    return f


@pytest.mark.parametrize("backend", BACKENDS)
def test_order_is_kept_under_differentiation(backend: str) -> None:
    log: list[Any] = []
    f = logging(log)
    program = wg.from_jax(f, X).program
    expected_value, expected = jax.value_and_grad(f)(X)
    expected_log = list(log)
    assert [entry[0] for entry in expected_log] == ["begin", "step", "step", "odd", "step", "step", "odd", "end"]
    for derivative, inputs in (
        (program, (X,)),
        (program.vjp(), (X, 1.0)),
        (program.vjp(residuals="recompute-all"), (X, 1.0)),
        (program.vjp(strategy="direct"), (X, 1.0)),
        (program.jvp(), (X, np.ones(2))),
        (program.vjp().jvp(wrt=0, of=1), (X, 1.0, np.ones(2))),
    ):
        log.clear()
        results = derivative.compile(backend)(*inputs)
        np.testing.assert_allclose(results[0], expected_value, rtol=1e-13)
        assert [entry[0] for entry in log] == [entry[0] for entry in expected_log]
        for ours, theirs in zip(log, expected_log, strict=True):
            np.testing.assert_allclose(ours[1:], theirs[1:], rtol=1e-13)
    np.testing.assert_allclose(program.vjp().compile(backend)(X, 1.0)[1], expected, rtol=1e-12)


def test_printing(capsys: pytest.CaptureFixture[str]) -> None:
    program = wg.from_jax(lambda x: (jax.debug.print("x is {x}", x=x[0]), 2 * x)[1], X).program
    np.testing.assert_allclose(program(X)[0], 2 * X)
    program.vjp()(X, X)
    assert capsys.readouterr().out == "x is 0.1\n" * 2


@pytest.mark.parametrize("backend", BACKENDS)
def test_callbacks_with_declared_derivatives(backend: str) -> None:
    f = jax.custom_vjp(lambda x: called(np.sin, x))
    f.defvjp(lambda x: (f(x), x), lambda x, y_bar: (called(np.cos, x) * y_bar,))
    total = lambda x: jnp.sum(f(x * x))
    value, gradient = wg.from_jax(total, X).program.vjp().compile(backend)(X, 1.0)
    np.testing.assert_allclose(value, np.sum(np.sin(X * X)), rtol=1e-14)
    np.testing.assert_allclose(gradient, 2 * X * np.cos(X * X), rtol=1e-14)


def test_narrow_and_many_results() -> None:
    def both(x: Any) -> Any:
        return jax.pure_callback(lambda a: (np.asarray(a) > 0.15, np.float32(a.sum())), (jax.ShapeDtypeStruct((2,), bool), jax.ShapeDtypeStruct((), "f4")), x)

    for backend in BACKENDS:
        flags, total = wg.from_jax(both, np.float32(X)).program.compile(backend)(np.float32(X))
        assert flags.tolist() == [False, True]
        assert total.dtype == np.float32
        np.testing.assert_allclose(total, 0.3, rtol=1e-6)


def test_no_derivative_of_its_own() -> None:
    program = wg.from_jax(lambda x: jnp.sum(called(np.sin, x)), X).program
    for strategy in ("transpose", "direct"):
        with pytest.raises(DiagnosticError, match=r"test_jax_callbacks.py:\d+:\d+: error: the Python function sin has no derivative(.|\n)*jax.custom_jvp"):
            program.vjp(strategy=strategy).text()
    with pytest.raises(DiagnosticError, match="the Python function sin has no derivative"):
        program.jvp().text()


@pytest.mark.parametrize("backend", BACKENDS)
def test_batches_call_for_each_active_element(backend: str) -> None:
    seen: list[float] = []

    def double(a: Any) -> Any:
        seen.append(float(a))
        return 2 * np.asarray(a)

    f = lambda x: lax.cond(x > 0.15, lambda x: called(double, x), lambda x: x - 1, x)
    batched = wg.from_jax(f, X[0]).program.vmap([0], size=3)
    np.testing.assert_allclose(batched.compile(backend)(np.array([0.1, 0.2, 0.3]))[0], [-0.9, 0.4, 0.6])
    assert seen == [0.2, 0.3]
    ordered = wg.from_jax(lambda x: io_callback(double, jax.ShapeDtypeStruct((), x.dtype), x, ordered=True), X[0]).program
    with pytest.raises(DiagnosticError, match=r"double .*is to be called in order, so not for many batch elements"):
        ordered.vmap([0], size=3).text()


@pytest.mark.parametrize("backend", BACKENDS)
def test_errors_of_the_function_arrive(backend: str) -> None:
    def fails(a: Any) -> Any:
        raise ZeroDivisionError("on purpose")

    with pytest.raises(ZeroDivisionError, match="on purpose"):
        wg.from_jax(lambda x: called(fails, x), X).program.compile(backend)(X)
    with pytest.raises(ExecutionError, match=r"test_jax_callbacks.py:\d+.*calls the Python function .*lambda.* which returned float64\[1\] for float64\[2\]"):
        wg.from_jax(lambda x: called(lambda a: np.ones(1), x), X).program.compile(backend)(X)


def test_unused_pure_callbacks_are_removed_and_others_are_not() -> None:
    log: list[str] = []

    def note(a: Any) -> Any:
        log.append("called")
        return np.asarray(a)

    wg.from_jax(lambda x: (called(note, x), x)[1], X).program(X)
    assert not log
    wg.from_jax(lambda x: (io_callback(note, jax.ShapeDtypeStruct(x.shape, x.dtype), x), x)[1], X).program(X)
    assert log == ["called"]


def written(folder: Path, text: str) -> wg.Program:
    (folder / "p.mlir").write_text(text)
    return wg.load(folder / "p.mlir")


def test_texts_of_other_processes(tmp_path: Path) -> None:
    """What a text says of a callback is not enough to call it."""
    f = lambda x: called(np.sin, x)
    by_jax = jax.jit(f).lower(X).as_text(debug_info=True)
    for backend in BACKENDS:
        with pytest.raises(
            UnsupportedOpError, match=r"test_jax_callbacks.py:\d+.*calls a Python function .*python_cpu_callback.* lives in the process that made"
        ):
            written(tmp_path, by_jax).compile(backend)(X)
    ours = wg.from_jax(f, X).program.text()
    np.testing.assert_allclose(written(tmp_path, ours)(X)[0], np.sin(X))
    with pytest.raises(UnsupportedOpError, match="calls the Python function sin, which lives in the process that made this text"):
        written(tmp_path, ours.replace(PROCESS, "0" * len(PROCESS)))(X)


def test_devices_and_jax_refuse_them() -> None:
    program = wg.from_jax(lambda x: called(np.sin, x), X).program
    with pytest.raises((DiagnosticError, UnsupportedOpError), match=r"test_jax_callbacks.py:\d+.*the Python function sin"):
        program.compile("ptx-interpreter")(X)
    with pytest.raises(InputError, match="the Python function sin"):
        jax.jit(program.to_jax())(X)
