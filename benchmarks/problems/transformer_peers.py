"""A transformer within less memory, beside checkpoints of JAX and PyTorch: the figures of ``checkpoint_peers`` for straight-line code."""

# Peers without types.
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false, reportMissingTypeStubs=false

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import numpy as np
from benchmarks.problems.checkpoint_peers import Row, aligned, bytes_text, our_row, timed

import wengert as wg
from wengert import numpy as wnp
from wengert.runtime.program import Program
from wengert.transforms.analysis.program_cost import program_cost

LAYERS, TOKENS, WIDTH = 6, 64, 32
PARTS = 0.33
"""The part of the arena that is allowed."""


def layer(xp: Any, x: Any, q: Any, k: Any, v: Any, o: Any, a: Any, b: Any) -> Any:
    """Attention and an MLP of one head, each behind a normalisation and added to what it was given."""

    def normal(x):
        centred = x - xp.mean(x, axis=-1, keepdims=True)
        return centred / xp.sqrt(xp.mean(centred * centred, axis=-1, keepdims=True) + 1e-5)

    def softmax(x):
        e = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
        return e / xp.sum(e, axis=-1, keepdims=True)

    h = normal(x)
    x = x + softmax((h @ q) @ xp.swapaxes(h @ k, 0, 1) * 0.25) @ (h @ v) @ o
    return x + xp.tanh(normal(x) @ a) @ b


def shapes(layers: int, width: int) -> list[tuple[int, int]]:
    """Those of all weights, six for each layer."""
    return [(width, width), (width, width), (width, width), (width, width), (width, 4 * width), (4 * width, width)] * layers


def loss(xp: Any, wrapped: Callable[..., Any], x: Any, *weights: Any) -> Any:
    """The sum of squares behind all layers; ``wrapped`` is one of them as it is to be kept."""
    for w in zip(*[iter(weights)] * 6, strict=True):
        x = wrapped(x, *w)
    return xp.sum(x * x)


def transformer(layers: int, tokens: int = TOKENS, width: int = WIDTH) -> Program:
    """The loss as a program."""

    def plain(x, *w):
        return layer(wnp, x, *w)

    def total(x, *weights):
        return loss(wnp, plain, x, *weights)

    return wg.jit(total).program(np.zeros((tokens, width)), *[np.zeros(shape) for shape in shapes(layers, width)])


def table() -> tuple[list[str], dict[str, Any]]:
    """The table as lines, and its numbers."""
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal((TOKENS, WIDTH)), *(rng.standard_normal(shape) / WIDTH**0.5 for shape in shapes(LAYERS, WIDTH))]
    lines: list[str] = []
    rows = list(_ours(inputs))
    for name, peer in (("jax", _jax), ("torch", _torch)):
        if find_spec(name) is None:
            lines.append(f"{name} is not installed, so its rows are left out")
        else:
            rows += peer(inputs)
    timed(rows)
    lines += [f"gradient of a transformer of {LAYERS} layers:", *aligned([["kept", "memory", "flops", "time"], *(row.cells() for row in rows)])]
    return lines, {"transformer beside peers": [{"kept": row.way, "memory": row.memory, "flops": row.flops, "seconds": row.best} for row in rows]}


def _ours(inputs: list[Any]) -> Iterator[Row]:
    program = transformer(LAYERS)
    full = program.vjp()
    yield our_row("wengert, all", full, [*inputs, np.array(1.0)])
    budget = int(PARTS * full.compile().stats.arena_bytes)
    yield our_row(f"wengert, memory={budget // 1024} KiB", program.vjp(memory=budget), [*inputs, np.array(1.0)])
    least = full.frontier.best[-1].arena
    yield our_row(f"wengert, least memory ({least // 1024} KiB)", program.vjp(memory=least), [*inputs, np.array(1.0)])


def _jax(inputs: list[Any]) -> Iterator[Row]:
    import jax
    from jax import numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def plain(x, *w):
        return layer(jnp, x, *w)

    policies = jax.checkpoint_policies
    ways = {
        "all": plain,
        "checkpoint of a layer": jax.checkpoint(plain),
        "dots_saveable": jax.checkpoint(plain, policy=policies.dots_saveable),
        "dots_with_no_batch_dims_saveable": jax.checkpoint(plain, policy=policies.dots_with_no_batch_dims_saveable),
        "everything_saveable": jax.checkpoint(plain, policy=policies.everything_saveable),
    }
    arguments = [jnp.asarray(x) for x in inputs]
    for name, wrapped in ways.items():

        def total(x, *weights, wrapped=wrapped):
            return loss(jnp, wrapped, x, *weights)

        lowered = jax.jit(jax.value_and_grad(total, tuple(range(len(inputs))))).lower(*arguments)
        compiled: Any = lowered.compile()
        flops = int(program_cost(wg.parse(lowered.as_text()).core_module).flops.constant or 0)
        memory = bytes_text(compiled.memory_analysis().temp_size_in_bytes)
        yield Row(f"JAX, {name}", memory, f"{flops / 1e6:.1f} M", lambda compiled=compiled: jax.block_until_ready(compiled(*arguments)))


def _torch(inputs: list[Any]) -> Iterator[Row]:
    import torch
    from benchmarks.problems.torch_memory import kept_bytes, peak_bytes, product_flops
    from torch.utils.checkpoint import checkpoint

    xp = SimpleNamespace(mean=torch.mean, sqrt=torch.sqrt, exp=torch.exp, max=torch.amax, sum=torch.sum, swapaxes=torch.swapaxes, tanh=torch.tanh)

    def plain(x, *w):
        return layer(xp, x, *w)

    def gradient(wrapped):
        given = [torch.tensor(x, requires_grad=True) for x in inputs]
        loss(xp, wrapped, *given).backward()
        return [x.grad for x in given]

    ways = {"eager": plain, "checkpoint of a layer": lambda x, *w: checkpoint(plain, x, *w, use_reentrant=False)}
    for name, wrapped in ways.items():
        row = Row(f"PyTorch, {name}", bytes_text(peak_bytes(lambda wrapped=wrapped: gradient(wrapped))), "", lambda wrapped=wrapped: gradient(wrapped))
        row.flops = f"{product_flops(lambda wrapped=wrapped: gradient(wrapped)) / 1e6:.1f} M"
        yield row
    flat = np.concatenate([w.ravel() for w in inputs[1:]])
    sizes = [w.size for w in inputs[1:]]

    def packed(x, w):
        parts = [part.reshape(shape) for part, shape in zip(torch.split(w, sizes), shapes(LAYERS, WIDTH), strict=True)]
        return loss(xp, plain, x, *parts)

    for budget in (1.0, 0.5, 0.33, 0.1):
        kept = kept_bytes(packed, SimpleNamespace(state=inputs[0], weights=flat), budget)
        yield Row(f"PyTorch, activation_memory_budget={budget}", kept, "")
