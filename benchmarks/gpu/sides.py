"""The sides of a measurement on a GPU: ours, JAX and torch.compile, each with its arrays on the device, as a call that asks for the work and one that waits.

A side that cannot run says why; nothing stands in its place.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from benchmarks.gpu.torch_functions import torch_function
from benchmarks.gpu.workloads import Shape, Workload

import wengert as wg
import wengert.numpy as wnp

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Side:
    """One implementation of one workload: ``ask`` enqueues it once, ``wait`` returns when all is done, ``results`` reads what the last one computed."""

    name: str
    ask: Callable[[], Any]
    wait: Callable[[], Any]
    results: Callable[[], list[Array]]


class Unavailable(Exception):
    """This side cannot run here; the message says why."""


def numbers(workload: Workload, shapes: Sequence[Shape], seed: int = 0) -> list[Array]:
    """Inputs, and a cotangent of the value if a gradient is asked for."""
    rng = np.random.default_rng(seed)
    made = [rng.standard_normal(shape, np.float32) * np.float32(shape[0] ** -0.5 if len(shape) == 2 and n else 1) for n, shape in enumerate(shapes)]
    if workload.gradient:
        made.append(rng.standard_normal(program(workload, shapes, gradient=False).signature.results[0].shape, np.float32))
    return [x.astype(ml_dtypes.bfloat16) for x in made] if workload.dtype == "bfloat16" else made


def program(workload: Workload, shapes: Sequence[Shape], *, gradient: bool) -> wg.Program:
    """The workload as a program, or its derivative by reverse mode."""
    traced = wg.jit(lambda *arrays: workload.function(wnp, *arrays)).program(*[wg.ArraySpec(shape, workload.dtype) for shape in shapes])
    return traced.vjp() if gradient else traced


def ours(workload: Workload, shapes: Sequence[Shape], backend: str) -> Side:
    """Our kernels on a device."""
    compiled: Any = program(workload, shapes, gradient=workload.gradient).compile(backend).executable
    inputs = numbers(workload, shapes)
    return Side("wengert", compiled.bring(*inputs), compiled.device.wait, lambda: [np.asarray(x, np.float32) for x in compiled(*inputs)])


def jax_side(workload: Workload, shapes: Sequence[Shape], backend: str) -> Side:
    """JAX on the same GPU.

    Raises:
        Unavailable: it is not installed, or sees no GPU.
    """
    try:
        import jax
    except ImportError:
        raise Unavailable("JAX is not installed") from None
    if backend != "cuda" or jax.default_backend() != "gpu":
        raise Unavailable("JAX sees no GPU")
    import jax.numpy as jnp

    function = lambda *arrays: workload.function(jnp, *arrays)  # noqa: E731 - a name of its own would say no more

    def gradient(*arrays: Any) -> Any:
        value, pullback = jax.vjp(function, *arrays[:-1])
        return value, *pullback(arrays[-1])

    jax.config.update("jax_default_matmul_precision", "highest")  # products of f32 in f32, as ours are
    jitted: Any = jax.jit(gradient if workload.gradient else function)
    placed = [jax.device_put(x) for x in numbers(workload, shapes)]
    last: list[Any] = [None]

    def ask() -> None:
        last[0] = jitted(*placed)

    return Side("jax", ask, lambda: jax.block_until_ready(last[0]), lambda: [np.asarray(x, np.float32) for x in jax.tree.leaves(jitted(*placed))])


def torch_side(workload: Workload, shapes: Sequence[Shape], backend: str) -> Side:
    """PyTorch compiled with max-autotune on the same GPU.

    Raises:
        Unavailable: it is not installed, or sees no GPU.
    """
    try:
        import torch
    except ImportError:
        raise Unavailable("PyTorch is not installed") from None
    if backend != "cuda" or not torch.cuda.is_available():
        raise Unavailable("PyTorch sees no GPU")
    torch.backends.cuda.matmul.allow_tf32 = False
    compile: Any = torch.compile
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        function = compile(torch_function(workload.function), mode="max-autotune-no-cudagraphs")
        inputs = [torch.from_numpy(x.astype(np.float32)).cuda().to(getattr(torch, workload.dtype)) for x in numbers(workload, shapes)]
        arrays = [x.requires_grad_(workload.gradient) for x in inputs[: len(shapes)]]

        def call() -> tuple[Any, ...]:
            value = function(*arrays)
            return (value, *torch.autograd.grad(value, arrays, inputs[-1])) if workload.gradient else (value,)

        call()
    return Side("torch.compile", call, torch.cuda.synchronize, lambda: [x.detach().float().cpu().numpy() for x in call()])


SIDES: dict[str, Callable[[Workload, Sequence[Shape], str], Side]] = {"wengert": ours, "jax": jax_side, "torch.compile": torch_side}
