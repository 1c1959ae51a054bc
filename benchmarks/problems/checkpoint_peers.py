"""Checkpoints beside those of JAX and PyTorch on the same models: ``python -m benchmarks.strategies --only checkpointing`` prints the tables.

Each row is a gradient by one way of keeping values. Its figures:

- memory: of ours the arena that is allocated, and beside it what tapes hold; of JAX what XLA's compiled program allocates beside arguments and results
  (``temp_size_in_bytes``); of PyTorch the largest number of bytes of storages that are alive at once, but for those that are alive before; of a graph of
  ``torch.compile``, in which storages are not seen, what it keeps for the backward part.
- flops: of ours and of JAX by our own counter, which reads JAX's text; of PyTorch by its own, which counts matrix products only.
- time: the least of several calls, those of all rows by turns.

PyTorch and JAX are optional; their rows are left out, by name, where they are not installed.
"""

# Peers without types.
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportMissingTypeStubs=false

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

import wengert as wg
from wengert import numpy as wnp
from wengert.runtime.program import Program
from wengert.transforms.analysis.program_cost import program_cost

ROUNDS = 7


@dataclass(frozen=True)
class Model:
    """A loss of a chain of equal steps ``step(xp, state, weights, row)``, whose state and weights are differentiated.

    Attributes:
        name: what it is.
        step: one step, in terms of a namespace such as NumPy's.
        state: what the chain begins with.
        weights: what every step reads.
        rows: what each step reads alone; None where it reads nothing.
        steps: how many there are.
        condition: for a loop that nobody counts, whether it goes on; ``steps`` is then how many it makes.
    """

    name: str
    step: Callable[[Any, Any, Any, Any], Any]
    state: Any
    weights: Any
    rows: Any
    steps: int
    condition: Callable[[Any, Any], Any] | None = None


@dataclass
class Row:
    """One way of keeping values, with its figures; ``call`` computes the gradient."""

    way: str
    memory: str
    flops: str
    call: Callable[[], Any] | None = None
    best: float = float("inf")

    def cells(self) -> list[str]:
        """The row as cells of a table."""
        return [self.way, self.memory, self.flops, "" if self.call is None else f"{self.best * 1e3:.2f} ms"]


def models(scale: int = 1) -> list[Model]:
    """An ODE by Euler's method, a recurrent network over rows, and growth until a bound is reached."""
    rng = np.random.default_rng(0)
    width, batch = 64, 32
    w, u = (rng.normal(size=(width, width)) / width**0.5 for _ in range(2))
    x = rng.normal(size=(batch, width))
    rows = rng.normal(size=(100 * scale, batch, width))
    return [
        Model("ODE", lambda xp, s, w, _: s + 0.01 * xp.sin(s @ w), x, w, None, 200 * scale),
        Model("RNN", lambda xp, s, w, row: xp.tanh(s @ w + row), x, w, rows, 100 * scale),
        Model("while", lambda xp, s, w, _: 1.01 * s + 0.01 * xp.sin(s @ w), x, u, None, 0, lambda xp, s: xp.sum(s * s) < 1e5 * scale),
    ]


def tables() -> tuple[list[str], dict[str, Any]]:
    """The tables as lines, and their numbers."""
    lines: list[str] = []
    numbers: dict[str, Any] = {}
    for model in models():
        rows = list(_ours(model))
        for name, peer in (("jax", _jax), ("torch", _torch)):
            if find_spec(name) is None:
                lines.append(f"{model.name}: {name} is not installed, so its rows are left out")
            else:
                rows += peer(model)
        timed(rows)
        lines += [f"{model.name}:", *aligned([["kept", "memory", "flops", "time"], *(row.cells() for row in rows)])]
        numbers[model.name] = [{"kept": row.way, "memory": row.memory, "flops": row.flops, "seconds": row.best} for row in rows]
    return lines, numbers


def timed(rows: Sequence[Row]) -> None:
    """Times the calls of all rows by turns."""
    for row in rows:
        if row.call is not None:
            row.call()
    for _ in range(ROUNDS):
        for row in rows:
            if row.call is not None:
                start = time.perf_counter()
                row.call()
                row.best = min(row.best, time.perf_counter() - start)


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """A table as lines, the first column to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  " + "  ".join(cell.ljust(w) if n == 0 else cell.rjust(w) for n, (cell, w) in enumerate(zip(row, widths, strict=True))) for row in rows]


def bytes_text(count: float) -> str:
    """Bytes in words."""
    return f"{count / 1024:.0f} KiB"


def program(model: Model) -> Program:
    """The loss as a program of the state, the weights and the rows."""

    @wg.jit
    def loss(x: Any, w: Any, *rows: Any) -> Any:
        if model.condition is not None:
            condition = model.condition
            return wnp.sum(wg.while_loop(lambda s: condition(wnp, s), lambda s: model.step(wnp, s, w, None), x))
        if rows:
            return wnp.sum(wg.scan(lambda s, row: (model.step(wnp, s, w, row), ()), x, rows[0])[0])
        return wnp.sum(wg.fori_loop(0, model.steps, lambda i, s: model.step(wnp, s, w, None), x))

    return loss.program(*_arguments(model))


def _arguments(model: Model) -> list[Any]:
    return [model.state, model.weights, *([] if model.rows is None else [model.rows])]


def _ours(model: Model) -> Iterator[Row]:
    made, inputs = program(model), [*_arguments(model), np.array(1.0)]
    full = made.vjp(wrt=(0, 1))
    ways = {"all": full} | {name: made.vjp(wrt=(0, 1), residuals=name) for name in ("recompute-all", "sqrt", "binomial-16", "binomial-4")}
    if model.condition is not None:
        del ways["sqrt"]
    budget = full.compile().stats.arena_bytes // 8 if model.condition is None else 400_000
    ways[f"memory={budget // 1024} KiB"] = made.vjp(wrt=(0, 1), memory=budget)
    for name, derivative in ways.items():
        yield our_row(f"wengert, {name}", derivative, inputs)


def our_row(way: str, derivative: Program, inputs: list[Any]) -> Row:
    """The row of a derivative of ours."""
    from wengert.runtime.interpreter import Counter, run

    compiled, counter = derivative.compile(), Counter()
    run(derivative.optimized_module, inputs, counter=counter)
    pushed = sum(counter.ops[f"core.tape_{kind}"] for kind in ("push", "set"))
    tapes = ""
    if pushed:
        entries = _tape_bytes(derivative, counter)
        tapes = f" + {bytes_text(entries)} of tapes"
    return Row(
        way, f"{bytes_text(compiled.stats.arena_bytes)}{tapes}", f"{counter.flops / 1e6:.{1 if counter.flops < 1e8 else 0}f} M", lambda: compiled(*inputs)
    )


def _tape_bytes(derivative: Program, counter: Any) -> int:
    """The bytes that were pushed on tapes that grow."""
    from wengert.dialects import core
    from wengert.ir.tensor_types import bytes_of_type

    total = 0
    for op in derivative.optimized_module.walk():
        if isinstance(op, core.TapePushOp):
            total += counter.blocks[op.parent] * bytes_of_type(op.value.type)  # pyright: ignore[reportArgumentType]
    return total


def _jax(model: Model) -> Iterator[Row]:
    import jax
    from jax import lax
    from jax import numpy as jnp

    jax.config.update("jax_enable_x64", True)
    if model.condition is not None:
        yield Row("JAX", "refuses reverse mode of while_loop", "")
        return

    def loss(wrapped: Callable[[Any], Any], block: int) -> Callable[..., Any]:
        def step(s: Any, w: Any, row: Any) -> Any:
            return model.step(jnp, s, w, row)

        def total(x: Any, w: Any, *rows: Any) -> Any:
            given = rows[0] if rows else None
            body = wrapped(lambda s, row: (step(s, w, row), None))
            if block == 1:
                return jnp.sum(lax.scan(body, x, given, length=model.steps)[0])
            outer = None if given is None else given.reshape(-1, block, *given.shape[1:])
            inner = jax.checkpoint(lambda s, part: (lax.scan(lambda t, row: (step(t, w, row), None), s, part, length=block)[0], None))
            return jnp.sum(lax.scan(inner, x, outer, length=model.steps // block)[0])

        return total

    policies = jax.checkpoint_policies
    ways = {
        "scan": (lambda f: f, 1),
        "checkpoint": (jax.checkpoint, 1),
        "dots_saveable": (lambda f: jax.checkpoint(f, policy=policies.dots_saveable), 1),
        "everything_saveable": (lambda f: jax.checkpoint(f, policy=policies.everything_saveable), 1),
        "blocks of 20": (lambda f: f, 20),
    }
    arguments = [jnp.asarray(x) for x in _arguments(model)]
    for name, (wrapped, block) in ways.items():
        lowered = jax.jit(jax.value_and_grad(loss(wrapped, block), (0, 1))).lower(*arguments)
        compiled: Any = lowered.compile()
        flops = program_cost(wg.parse(lowered.as_text()).core_module).flops.constant
        memory = compiled.memory_analysis().temp_size_in_bytes
        yield Row(f"JAX, {name}", bytes_text(memory), f"{int(flops or 0) / 1e6:.0f} M", lambda compiled=compiled: jax.block_until_ready(compiled(*arguments)))


def _torch(model: Model) -> Iterator[Row]:
    import torch
    from benchmarks.problems.torch_memory import kept_bytes, peak_bytes, product_flops
    from torch.utils.checkpoint import checkpoint

    rows = None if model.rows is None else torch.tensor(model.rows)

    def segment(s: Any, w: Any, first: int, last: int) -> Any:
        for n in range(first, last):
            s = model.step(torch, s, w, None if rows is None else rows[n])
        return s

    def gradient(block: int | None) -> Any:
        x, w = torch.tensor(model.state, requires_grad=True), torch.tensor(model.weights, requires_grad=True)
        s = x
        if model.condition is not None:
            while bool(model.condition(torch, s)):
                s = model.step(torch, s, w, None) if block is None else checkpoint(segment, s, w, 0, block, use_reentrant=False)
        elif block is None:
            s = segment(s, w, 0, model.steps)
        else:
            for first in range(0, model.steps, block):
                s = checkpoint(segment, s, w, first, min(first + block, model.steps), use_reentrant=False)
        torch.sum(s).backward()
        return x.grad, w.grad

    blocks: tuple[int | None, ...] = (None, 1) if model.condition is not None else (None, 1, 20)
    for block in blocks:
        way = "eager" if block is None else f"checkpoint of {block} steps"
        row = Row(f"PyTorch, {way}", bytes_text(peak_bytes(lambda block=block: gradient(block))), "", lambda block=block: gradient(block))
        row.flops = f"{product_flops(lambda block=block: gradient(block)) / 1e6:.0f} M"
        yield row
    if model.condition is None:
        for budget in (1.0, 0.5, 0.1):
            yield Row(f"PyTorch, activation_memory_budget={budget}, 10 steps", kept_bytes(lambda x, w: segment(x, w, 0, 10), model, budget), "")
