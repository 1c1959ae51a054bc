"""``p.to_torch()``: a program as a function of PyTorch tensors that autograd differentiates.

Where no argument requires grad, the forward pass calls the compiled program. Otherwise it calls the program as ``linearize`` splits
it, which also returns what the transposed linear map needs; arguments and results among that are not copied, and all of it is
saved in autograd's own way, so that a tensor that was changed since is noticed and what is saved is freed with the graph. The backward
pass calls the transposed linear map. Where a graph of the backward pass itself is asked for (``create_graph``), the derivative has to depend on the
arguments and not on what was saved: it is then the whole VJP, called as any other program is, so that derivatives of any order work.

PyTorch's gradient of a real loss by a complex tensor is the conjugate of what our pairing without conjugation gives
(``docs/kinks.md``), so complex cotangents are conjugated on their way in and out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from wengert.frontends.torch_programs.arrays import is_tensor, to_array, to_tensor
from wengert.frontends.torch_programs.library import torch_module
from wengert.frontends.torch_programs.transformed import is_transformed, pushed, transformed
from wengert.runtime.derived.linear_program import LinearProgram
from wengert.runtime.errors import InputError
from wengert.runtime.program import Program

Function = Callable[..., tuple[Any, ...]]


def to_torch(program: Program) -> Function:
    """The program as a function from tensors to a tuple of tensors.

    Raises:
        InputError: PyTorch is not installed. The function raises it for a tensor of a wrong shape or dtype, or that is not on the CPU.
    """

    def function(*inputs: Any) -> tuple[Any, ...]:
        if len(inputs) != len(program.signature.arguments):
            raise InputError(f"{program.name} takes {len(program.signature.arguments)} arguments, found {len(inputs)}")
        for x, parameter in zip(inputs, program.signature.arguments, strict=True):
            if not is_tensor(x):
                raise InputError(f"{parameter} must be a tensor, found {type(x).__name__}")
        if is_transformed():
            return transformed(program, inputs)
        moving = _moving(program, inputs)
        return _function_class().apply(program.linearize(moving, shared=True) if moving else None, program, *inputs)

    function.__name__ = function.__qualname__ = program.name
    return function


@cache
def _function_class() -> Any:
    """The subclass of ``torch.autograd.Function``, made when PyTorch is first needed."""
    return type(
        "ProgramFunction",
        (torch_module().autograd.Function,),
        {"forward": staticmethod(_forward), "backward": staticmethod(_backward), "jvp": staticmethod(_jvp)},
    )


def _moving(program: Program, inputs: Sequence[Any]) -> list[int]:
    """The arguments that gradients may be asked for, if there is anything to differentiate."""
    if not torch_module().is_grad_enabled() or not any(r.differentiable for r in program.signature.results):
        return []
    return [i for i, (x, p) in enumerate(zip(inputs, program.signature.arguments, strict=True)) if p.differentiable and x.requires_grad]


def _forward(context: Any, linear: LinearProgram | None, program: Program, *inputs: Any) -> tuple[Any, ...]:
    arrays = [to_array(x) for x in inputs]
    context.program = program
    context.save_for_forward(*inputs)
    if linear is None:
        return tuple(to_tensor(y) for y in program(*arrays))
    context.linear = linear
    outputs, residuals = linear.run(arrays)
    results = tuple(to_tensor(y) for y in outputs)
    used = [i for place, i in linear.sources if place == "result"]
    kept = {i: to_tensor(x) for (place, i), x in zip(linear.sources, residuals, strict=True) if place == "kept"}
    context.used, context.kept = used, list(kept)
    context.save_for_backward(*inputs, *(results[j] for j in used), *kept.values())
    context.set_materialize_grads(False)
    context.mark_non_differentiable(*(y for y, p in zip(results, program.signature.results, strict=True) if not p.differentiable))
    return results


def _backward(context: Any, *y_bars: Any) -> tuple[Any, ...]:
    linear: LinearProgram = context.linear
    program: Program = context.program
    saved: Sequence[Any] = context.saved_tensors
    count = len(program.signature.arguments)
    inputs = saved[:count]
    of = [j for j in linear.of if y_bars[j] is not None]
    x_bars: list[Any] = [None] * count
    if of:
        given = [y_bars[j].conj() for j in of]
        if is_transformed():
            gradients = transformed(program.vjp(linear.wrt, of), [*inputs, *given])[len(program.signature.results) :]
        elif torch_module().is_grad_enabled():
            gradients = to_torch(program.vjp(linear.wrt, of))(*inputs, *given)[len(program.signature.results) :]
        else:
            used = dict(zip(context.used, saved[count:], strict=False))
            kept = dict(zip(context.kept, saved[count + len(context.used) :], strict=True))
            residuals = linear.residuals(*({k: to_array(x) for k, x in place.items()} for place in (dict(enumerate(inputs)), used, kept)))
            gradients = [to_tensor(x) for x in linear.pull(residuals, [to_array(y_bar) for y_bar in given], of)]
        for i, x_bar in zip(linear.wrt, gradients, strict=True):
            x_bars[i] = x_bar.conj()
    return (None, None, *x_bars)


def _jvp(context: Any, _: None, __: None, *x_dots: Any) -> tuple[Any, ...]:
    return pushed(context.program, context.saved_tensors, x_dots, lambda program, inputs: to_torch(program)(*inputs))
