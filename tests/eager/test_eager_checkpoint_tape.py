"""Checkpoints on tapes and in compiled functions: the IR's own, and what that saves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from side_by_side import leaf

import wengert.eager as eager
from wengert import nn
from wengert.eager.recording.program import program_of


def test_the_tape_has_a_checkpoint() -> None:
    x = leaf(eager, 0.1, 0.2)

    def inner(h: Any) -> Any:
        return (h.sin() * 2).exp()

    y = eager.checkpoint(lambda h: eager.checkpoint(inner, h.exp()).tanh(), x * 1.5) * 3
    program = eager.tape_of(y).program()
    names = [op.name for function in program.module.ops for op in function.body.block.ops if op.name.startswith("ad.")]
    assert names == ["ad.checkpoint"] * 2
    y.backward(eager.ones(2))
    _, x_bar = program.vjp()(np.float32([0.1, 0.2]), np.float32([1, 1]))
    np.testing.assert_allclose(x_bar, x.grad.numpy(), rtol=1e-5)


BLOCKS, LAYERS, ROWS, SIZE = 4, 4, 256, 16
ONE = ROWS * SIZE * 4
"""The bytes of what goes from layer to layer."""


def deep(checkpointed: bool) -> Callable[..., Any]:
    def block(h: Any, w: Any) -> Any:
        for _ in range(LAYERS):
            h = (h @ w).tanh()
        return h

    def run(h: Any, w: Any) -> Any:
        for _ in range(BLOCKS):
            h = eager.checkpoint(block, h, w) if checkpointed else block(h, w)
        return h.sum()

    return run


def matrix(seed: int, rows: int = ROWS, requires_grad: bool = True) -> Any:
    return eager.tensor(np.random.default_rng(seed).standard_normal((rows, SIZE)) / SIZE**0.5, dtype="float32", requires_grad=requires_grad)


def peak(module: Any) -> int:
    """What the compiled program holds at most besides its arguments."""
    return program_of(module, "peak").compile().stats.peak_bytes


def test_compiled_forward_keeps_arguments_only() -> None:
    results, sizes, peaks = [], [], []
    for checkpointed in (False, True):
        run = eager.compile(deep(checkpointed))
        for _ in range(2):
            x, w = matrix(0), matrix(1, SIZE)
            y = run(x, w)
        sizes.append(eager.saved_bytes(y))
        peaks.append(peak(y.grad_fn.signature.backward.module) + sizes[-1])
        y.backward()
        results.append([y.detach().numpy(), x.grad.numpy(), w.grad.numpy()])
    for plain, again in zip(*results, strict=True):
        np.testing.assert_allclose(again, plain, rtol=1e-4, atol=1e-6)
    assert sizes == [BLOCKS * LAYERS * ONE, (BLOCKS - 1) * ONE]
    assert peaks[1] < peaks[0] / 1.5


def test_compiled_step_computes_again() -> None:
    """The whole step in one program: what is computed again stays so, behind a barrier, and the program needs less memory."""
    actual: list[Any] = []
    for checkpointed in (False, True):
        w, run = matrix(1, SIZE), deep(checkpointed)

        @eager.compile
        def step(x: Any, w: Any = w, run: Any = run) -> Any:
            w.grad = None
            loss = run(x, w)
            loss.backward()
            with eager.no_grad():
                w.sub_(0.01 * w.grad)
            return loss.detach()

        losses = [step(matrix(i, requires_grad=False)).item() for i in range(3)]
        assert step.reasons == ["recorded: the first call of this kind"]
        (trace,) = next(iter(step._traces.values()))
        actual.append((losses, w.detach().numpy(), peak(trace.tape.steps.module(trace.values))))
    np.testing.assert_allclose(actual[1][0], actual[0][0], rtol=1e-4)
    np.testing.assert_allclose(actual[1][1], actual[0][1], rtol=1e-4, atol=1e-6)
    assert actual[1][2] < actual[0][2] / 2


def test_compiled_dropout_is_the_same_the_second_time() -> None:
    x = eager.ones(500)

    @eager.compile
    def step(x: Any) -> Any:
        w = eager.ones(500, requires_grad=True)
        y = eager.checkpoint(lambda h: nn.dropout(h, 0.5).exp() * nn.dropout(h, 0.5), x * w)
        (g,) = eager.autograd.grad(y.sum(), w)
        return y.detach(), g

    masks = []
    for _ in range(3):
        y, g = step(x)
        assert ((g.numpy() == 0) == (y.numpy() == 0)).all()
        masks.append(tuple(y.tolist()))
    assert len(set(masks)) == 3
    assert len(step.reasons) == 1
