"""Programs with empty arrays: values, both modes, the direct adjoint and batches (also of no batch element) are those of JAX.

Where JAX refuses a derivative (a loop without a count in reverse), ours only has to give arrays of the right shapes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX lowers the programs")
from empty_programs import P
from jax_oracle import lower
from program_table import Array
from reference_programs import share

import wengert as wg

REFUSED = ("Reverse-mode differentiation does not work", "Slice size at index 0 in gather op is out of range")
"""What JAX says where it has no derivative of such a program."""

DIVIDED_BY_ZERO = {"logsumexp0", "max_initial", "mean_const"}
"""Programs that divide the tangent of an empty argument by zero: JAX computes 0 / 0, here such a tangent is a zero that is not computed with."""


def asked(function: Any, *arguments: Any) -> list[Array] | None:
    """What JAX computes, or None where it refuses."""
    try:
        return [np.asarray(x) for x in jax.tree.leaves(jax.jit(function)(*arguments))]
    except (ValueError, TypeError) as error:
        if not str(error).startswith(REFUSED):
            raise
        return None


def assert_same(actual: Any, wanted: list[Array], what: str) -> None:
    for a, b in zip(actual, wanted, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype), what
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12, err_msg=what)


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", share(P, 6))
def test_agrees_with_jax(name: str) -> None:
    inputs = P[name].inputs("f64")
    with jax.enable_x64(True):
        program = wg.parse(lower(P[name], "f64", inputs), name)
        outputs = asked(P[name].function, *inputs)
        assert outputs is not None
        wrt = [i for i, x in enumerate(inputs) if x.dtype.kind in "fc"]
        of = [j for j, y in enumerate(outputs) if y.dtype.kind in "fc"]

        def some(*moved: Any) -> list[Any]:
            at = dict(enumerate(inputs)) | dict(zip(wrt, moved, strict=True))
            outputs = [jax.numpy.asarray(y) for y in jax.tree.leaves(P[name].function(*(at[i] for i in range(len(inputs)))))]
            return [outputs[j] for j in of]

        xs = [inputs[i] for i in wrt]
        x_dots, y_bars = [np.full_like(x, 0.5) for x in xs], [np.full_like(outputs[j], 0.7) for j in of]
        y_dots = asked(lambda xs, ts: jax.jvp(some, xs, ts)[1], xs, x_dots)
        x_bars = asked(lambda xs, cs: jax.vjp(some, *xs)[1](cs), xs, y_bars)
        derivatives = [
            ("jvp", program.jvp(wrt, of), x_dots, y_dots, y_bars),
            ("vjp", program.vjp(wrt, of), y_bars, x_bars, x_dots),
            ("direct", program.vjp(wrt, of, strategy="direct"), y_bars, x_bars, x_dots),
        ]
        for backend in ("cpu", "interpreter"):
            assert_same(program.compile(backend)(*inputs), outputs, f"values, {backend}")
            for mode, derivative, directions, wanted, shaped in derivatives:
                actual = derivative.compile(backend)(*inputs, *directions)[len(outputs) :]
                assert [a.shape for a in actual] == [a.shape for a in shaped], mode
                if name in DIVIDED_BY_ZERO:
                    assert all(np.isnan(w).all() for w in wanted or ())
                    assert not any(a.any() for a in actual)
                elif wanted is not None:
                    assert_same(actual, wanted, f"{mode}, {backend}")
        for size in (0, 2):
            batch = [np.stack([x] * 2)[:size] for x in inputs]
            wanted = asked(jax.vmap(P[name].function), *batch)
            assert wanted is not None
            assert_same(program.vmap()(*batch), wanted, f"batch of {size}")
