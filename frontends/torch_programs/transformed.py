"""Programs in the transforms of ``torch.func`` (``grad``, ``vmap``, ``jacrev``, ``jvp``, ...), and in PyTorch's forward mode.

Such a transform asks a function for its derivative or batch as a function that can be transformed again. Ours are programs: a VJP, a
JVP and a batch of a program are called in the same way as the program itself, so transforms nest in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from wengert.frontends.torch_programs.arrays import to_array, to_tensor
from wengert.frontends.torch_programs.library import torch_module
from wengert.runtime.program import Program

Call = Callable[[Program, Sequence[Any]], tuple[Any, ...]]


def is_transformed() -> bool:
    """Whether a transform of ``torch.func`` is running."""
    return bool(torch_module()._C._are_functorch_transforms_active())


def transformed(program: Program, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """The program's results in whatever transforms are running."""
    return _function_class().apply(program, *inputs)


@cache
def _function_class() -> Any:
    members: dict[str, Any] = {"forward": _forward, "setup_context": _setup_context, "backward": _backward, "jvp": _jvp, "vmap": _vmap}
    return type("TransformedProgram", (torch_module().autograd.Function,), {name: staticmethod(member) for name, member in members.items()})


def _forward(program: Program, *inputs: Any) -> tuple[Any, ...]:
    return tuple(to_tensor(y) for y in program(*(to_array(x) for x in inputs)))


def _setup_context(context: Any, inputs: tuple[Any, ...], output: tuple[Any, ...]) -> None:
    context.program = inputs[0]
    context.save_for_backward(*inputs[1:])
    context.save_for_forward(*inputs[1:])
    context.mark_non_differentiable(*(y for y, p in zip(output, context.program.signature.results, strict=True) if not p.differentiable))


def _backward(context: Any, *y_bars: Any) -> tuple[Any, ...]:
    program: Program = context.program
    arguments, results = program.signature.arguments, program.signature.results
    wrt = [i for i, p in enumerate(arguments) if p.differentiable and context.needs_input_grad[1 + i]]
    of = [j for j, p in enumerate(results) if p.differentiable and y_bars[j] is not None]
    x_bars: list[Any] = [None] * len(arguments)
    if wrt and of:
        gradients = transformed(program.vjp(wrt, of), [*context.saved_tensors, *(y_bars[j].conj() for j in of)])
        for i, x_bar in zip(wrt, gradients[len(results) :], strict=True):
            x_bars[i] = x_bar.conj()
    return (None, *x_bars)


def _jvp(context: Any, _: None, *x_dots: Any) -> tuple[Any, ...]:
    return pushed(context.program, context.saved_tensors, x_dots, transformed)


def pushed(program: Program, inputs: Sequence[Any], x_dots: Sequence[Any], call: Call) -> tuple[Any, ...]:
    """The tangents of all results, None for those that have none, from those of the arguments."""
    arguments, results = program.signature.arguments, program.signature.results
    wrt = [i for i, p in enumerate(arguments) if p.differentiable and x_dots[i] is not None]
    of = [j for j, p in enumerate(results) if p.differentiable]
    y_dots: list[Any] = [None] * len(results)
    if wrt and of:
        tangents = call(program.jvp(wrt, of), [*inputs, *(x_dots[i] for i in wrt)])
        for j, y_dot in zip(of, tangents[len(results) :], strict=True):
            y_dots[j] = y_dot
    return tuple(y_dots)


def _vmap(info: Any, in_dims: Sequence[int | None], program: Program, *inputs: Any) -> tuple[tuple[Any, ...], int]:
    size: int = info.batch_size
    batched = program.vmap(list(in_dims[1:]), size=size)
    return transformed(batched, inputs), 0
