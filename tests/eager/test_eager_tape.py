"""The tape as IR: it says what was computed, its derivative is the backward pass, and a compiled backward pass is the walked one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_eager_operations import CASES, operands

import wengert.eager as eager
from wengert.eager import graph


def everything(leaves: list[Any]) -> Any:
    """All operations of the table, weighted and added up."""
    rng = np.random.default_rng(2)
    total = eager.zeros((), dtype=eager.float64)
    for case in CASES.values():
        z = case(eager, *leaves)
        total = total + (z * eager.tensor(rng.standard_normal(z.shape)).to(z.dtype)).sum()
    return total


def test_the_program_of_a_tape_computes_what_was_computed() -> None:
    leaves = operands(eager)
    with eager.Tape() as tape:
        total = everything(leaves)
    program = tape.program()
    actual = program.compile("interpreter")(*[tape.externals[i].detach().numpy() for i in tape.steps.inputs])
    position = tape.outputs.index(tape.number(total))
    np.testing.assert_allclose(actual[position], total.detach().numpy(), rtol=1e-12)


def test_a_compiled_backward_pass_is_the_walked_one() -> None:
    gradients: list[list[Any]] = []
    for _ in range(graph.COMPILE_AFTER + 2):
        leaves = operands(eager)
        everything(leaves).backward()
        gradients.append([leaf.grad.numpy() for leaf in leaves])
    entry = max(graph.GRAPHS.values(), key=lambda e: len(e.arguments))
    assert entry.program is not None
    assert entry.program.is_compiled
    for walked, compiled in zip(gradients[0], gradients[-1], strict=True):
        np.testing.assert_allclose(compiled, walked, rtol=1e-4, atol=1e-10)  # some cases compute in float32


def test_the_tape_behind_a_tensor() -> None:
    x1, x2 = eager.tensor(2.0, requires_grad=True), eager.tensor(5.0, requires_grad=True)
    y = x1.log() + x1 * x2 - x2.sin()
    tape = eager.tape_of(y)
    ops = [line.split("= stablehlo.")[1].split(" ")[0] for line in tape.ir().splitlines() if "= stablehlo." in line]
    assert ops == ["log", "multiply", "add", "sine", "subtract"]
    assert len(tape) == 5
    # It is a program like any other: its vjp is what backward computes.
    y.backward()
    _, *bars = tape.program().vjp()(np.float32(2), np.float32(5), np.float32(1))
    np.testing.assert_allclose(bars, [x1.grad.item(), x2.grad.item()], rtol=1e-6)


def test_places_are_those_of_the_users_code() -> None:
    x = eager.tensor(1.0, requires_grad=True)
    assert 'test_eager_tape.py":' in eager.tape_of(x.exp() * 2).ir(locations=True)


def test_changes_in_place_are_new_values() -> None:
    x = eager.tensor([1.0, 2.0, 3.0])
    with eager.Tape() as tape:
        y = x * 2
        first = y[0]
        y[1:].add_(10)
        first.mul_(5)
        total = (y * first).sum()
    (result,) = (tape.program().compile("interpreter")(x.numpy())[i] for i, v in enumerate(tape.outputs) if v == tape.number(total))
    assert result == total.item() == 10 * (10 + 14 + 16)


def test_backward_passes_are_on_the_tape() -> None:
    x = eager.tensor([0.5, 1.5], requires_grad=True)
    with eager.Tape() as tape:
        (x.sin() * x).sum().backward()
        g = x.grad.clone()
    actual = tape.program().compile("interpreter")(x.detach().numpy())
    np.testing.assert_allclose(actual[tape.outputs.index(tape.number(g))], np.sin([0.5, 1.5]) + np.cos([0.5, 1.5]) * [0.5, 1.5], rtol=1e-6)


def test_what_has_no_ir_is_refused() -> None:
    class Twice(eager.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    x = eager.tensor([1.0], requires_grad=True)
    with pytest.raises(eager.AutogradError, match="TwiceBackward"):
        eager.tape_of(Twice.apply(x))
    with eager.Tape() as tape:
        Twice.apply(x)
    with pytest.raises(eager.AutogradError, match=r"Twice\.apply"):
        tape.ir()


def test_errors_name_both_places() -> None:
    x = eager.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    y.add_(1)
    with pytest.raises(eager.ModifiedError) as raised:
        y.sum().backward()
    first = test_errors_name_both_places.__code__.co_firstlineno
    assert f"test_eager_tape.py:{first + 2}" in str(raised.value)
    assert f"test_eager_tape.py:{first + 3}" in str(raised.value)


def test_derivatives_of_short_lived_tapes_are_not_kept() -> None:
    """What a loop records without asking for gradients goes away with its tensors."""
    import gc
    import weakref

    x = eager.tensor([1.0, 2.0], requires_grad=True)
    node = weakref.ref((x * 2).exp().grad_fn.next_functions[0][0])
    gc.collect()
    assert node() is None


def test_a_tensor_draws_its_graph() -> None:
    x, y = eager.tensor(2.0, requires_grad=True), eager.tensor(5.0, requires_grad=True)
    dot = (x.log() + x * y - y.sin()).draw().dot
    assert dot.startswith("digraph")
    assert all(name in dot for name in ("log", "multiply", "sine", "subtract"))
