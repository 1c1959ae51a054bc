"""``p.to_torch()``: a program as a function of PyTorch tensors that autograd differentiates.

The forward pass calls the compiled program, the backward pass its compiled VJP. A backward pass is a program too and is called in
the same way, so derivatives of any order work. Tensors go in and out without copies.

PyTorch's gradient of a real loss by a complex tensor is the conjugate of what our pairing without conjugation gives
(``docs/kinks.md``), so complex cotangents are conjugated on their way in and out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from wengert.frontends.torch_programs.arrays import is_tensor, to_array, to_tensor
from wengert.frontends.torch_programs.translation import torch_module
from wengert.runtime.errors import InputError
from wengert.runtime.program import Program

Function = Callable[..., tuple[Any, ...]]


def to_torch(program: Program) -> Function:
    """The program as a function from tensors to a tuple of tensors.

    Raises:
        InputError: PyTorch is not installed. The function raises it for a tensor of a wrong shape or dtype, or that is not on the CPU.
    """
    apply = _function_class().apply

    def function(*inputs: Any) -> tuple[Any, ...]:
        if len(inputs) != len(program.signature.arguments):
            raise InputError(f"{program.name} takes {len(program.signature.arguments)} arguments, found {len(inputs)}")
        for x, parameter in zip(inputs, program.signature.arguments, strict=True):
            if not is_tensor(x):
                raise InputError(f"{parameter} must be a tensor, found {type(x).__name__}")
        return apply(program, *inputs)

    function.__name__ = function.__qualname__ = program.name
    return function


@cache
def _function_class() -> Any:
    """The subclass of ``torch.autograd.Function``, made when PyTorch is first needed."""
    return type("ProgramFunction", (torch_module().autograd.Function,), {"forward": staticmethod(_forward), "backward": staticmethod(_backward)})


def _forward(context: Any, program: Program, *inputs: Any) -> tuple[Any, ...]:
    context.program = program
    context.save_for_backward(*inputs)
    context.set_materialize_grads(False)
    results = tuple(to_tensor(y) for y in program(*map(to_array, inputs)))
    context.mark_non_differentiable(*(y for y, p in zip(results, program.signature.results, strict=True) if not p.differentiable))
    return results


def _backward(context: Any, *y_bars: Any) -> tuple[Any, ...]:
    program: Program = context.program
    inputs: Sequence[Any] = context.saved_tensors
    wrt = [i for i, p in enumerate(program.signature.arguments) if p.differentiable and context.needs_input_grad[i + 1]]
    of = [j for j, p in enumerate(program.signature.results) if p.differentiable and y_bars[j] is not None]
    x_bars: list[Any] = [None] * len(inputs)
    if wrt and of:
        found = to_torch(program.vjp(wrt, of))(*inputs, *(y_bars[j].conj() for j in of))
        for i, x_bar in zip(wrt, found[len(found) - len(wrt) :], strict=True):
            x_bars[i] = x_bar.conj()
    return (None, *x_bars)
