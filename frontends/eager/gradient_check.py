"""``gradcheck`` and ``gradgradcheck``: gradients against central differences, with a table of what differs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from warnings import warn

import numpy as np

from wengert.eager.containers import listed
from wengert.eager.errors import AutogradError, GradcheckError
from wengert.eager.function import Function
from wengert.eager.gradient_jacobians import Matrix, analytical_jacobian, directions_of, forward_jacobians, numerical_jacobians, outputs_of
from wengert.eager.gradients.gradient import grad
from wengert.eager.recording import dispatch

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor

_SHOWN = 12
"""The most differences that an error lists."""


@dataclass(frozen=True)
class _Difference:
    """One element of a Jacobian that differs: of which output and input, where in them, and both values."""

    output: str
    input: str
    numerical: float
    analytical: float

    def row(self) -> tuple[str, ...]:
        return self.output, self.input, f"{self.numerical:.6g}", f"{self.analytical:.6g}", f"{abs(self.numerical - self.analytical):.1e}"


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compares the Jacobian that the tape gives with central differences of step ``eps``, element by element.

    A complex element counts as two real ones, its real and its imaginary part, on both sides.

    Args:
        func: takes the inputs, returns a tensor or several.
        inputs: one or several, of which those that require gradients are checked; float64, or differences see little.
        eps: the step.
        atol: how far numerical and analytical values may be apart in any case.
        rtol: and how far in proportion to the numerical one, in addition.
        raise_exception: whether a difference is an error, or the answer False.
        nondet_tol: how far two backward passes of the same values may be apart.
        check_undefined_grad: whether backward passes are also run where nothing arrives at the outputs, or at one of them.
        check_grad_dtypes: whether gradients must have the dtypes of their inputs; here they always do.
        check_batched_grad: whether gradients of a stack of cotangents are compared with those of each.
        check_batched_forward_grad: taken for compatibility; there is no batched forward mode.
        check_forward_ad: whether forward mode is compared too.
        check_backward_ad: whether reverse mode is.
        fast_mode: taken for compatibility: every element is compared.
        masked: taken for compatibility: all tensors are dense.

    Raises:
        GradcheckError: with the table of what differs.
        ValueError: no input requires a gradient, or neither mode is to be checked.
    """
    given = listed(inputs)
    checked = [(i, x) for i, x in enumerate(given) if getattr(x, "requires_grad", False)]
    if not checked:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of the them have requires_grad=True.")
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    for i, x in checked:
        _check_input(i, x)
    try:
        _check(func, given, checked, _Limits(eps, atol, rtol, nondet_tol), forward=check_forward_ad, reverse=check_backward_ad, batched=check_batched_grad)
        if check_undefined_grad and check_backward_ad:
            _check_nothing(func, given, [x for _, x in checked])
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _check_input(number: int, x: Tensor) -> None:
    """Warns of a dtype whose differences say little; an error where several elements are one place in memory, which differences would change together."""
    if x.array.dtype.name not in ("float64", "complex128"):
        warn(
            f"Input #{number} requires gradient and is not a double precision floating point or complex: differences of less precision hardly show derivatives",
            UserWarning,
            stacklevel=3,
        )
    if x.array.size and any(n > 1 and s == 0 for n, s in zip(x.array.shape, x.array.strides, strict=True)):
        raise AutogradError(f"The {number}th input has a dimension with stride 0: elements that are one place in memory cannot be changed one by one")


@dataclass(frozen=True)
class _Limits:
    """The step, and how far apart values may be."""

    eps: float
    atol: float
    rtol: float
    repeated: float


def _check(
    func: Callable[..., Any], given: Sequence[Any], checked: Sequence[tuple[int, Tensor]], limits: _Limits, *, forward: bool, reverse: bool, batched: bool
) -> None:
    made = outputs_of(func, given)
    outputs = [y for y in made if y.array.dtype.kind in "fVc"]
    numerical = {i: numerical_jacobians(func, given, x, limits.eps) for i, x in checked}
    if reverse and not any(y.tracked for y in outputs):
        _check_constants(numerical)
    if reverse:
        by_backward = [(o, y, i, x, analytical_jacobian(y, x, limits.repeated, batched), numerical[i][o]) for i, x in checked for o, y in enumerate(outputs)]
        _compare(by_backward, limits, "")
        _check_products(outputs, [x for _, x in checked])
    if forward:
        zeros = [x for _, x in checked]
        pushed = {i: forward_jacobians(func, given, zeros, x, numerical[i]) for i, x in checked}
        _compare([(o, y, i, x, pushed[i][o], numerical[i][o]) for i, x in checked for o, y in enumerate(outputs)], limits, " computed with forward mode")


def _check_products(outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> None:
    """Raises a GradcheckError if a cotangent of zeros does not give gradients of zeros."""
    for y in outputs:
        if not y.tracked:
            continue
        zeros = dispatch.constant(np.zeros(y.array.shape, y.array.dtype))
        if any(g is not None and g.array.any() for g in grad(y, inputs, zeros, retain_graph=True, allow_unused=True)):
            raise GradcheckError("backward not multiplied by grad_output: for a cotangent of zeros the gradient is not zero")


class _Nothing(Function):
    """Passes a tensor on, and nothing back."""

    @staticmethod
    def forward(*args: Any) -> Any:
        return args[1].clone()

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        return None


def _check_nothing(func: Callable[..., Any], given: Sequence[Any], inputs: Sequence[Tensor]) -> None:
    """Raises a GradcheckError if a backward pass fails where nothing arrives at the outputs (at all of them, and at each of several), or makes a gradient."""
    count = len(outputs_of(func, given))
    for without in (range(count), *((i,) for i in range(count) if count > 1)):
        outputs = outputs_of(func, given)
        ends = [_Nothing.apply(y) if i in without else y for i, y in enumerate(outputs) if y.tracked]
        zeros = [dispatch.constant(np.zeros(y.array.shape, y.array.dtype)) for y in ends]
        if not ends:
            return
        try:
            gradients = grad(ends, inputs, zeros, allow_unused=True)
        except RuntimeError as error:
            raise GradcheckError(f"Expected backward function to handle undefined output grads (None, where nothing arrives at an output): {error}") from error
        if any(g is not None and g.array.any() for g in gradients):
            raise GradcheckError("Expected all input grads to be undefined or zero when all output grads are undefined or zero")


def _check_constants(numerical: Mapping[int, Sequence[Matrix]]) -> None:
    """Raises a GradcheckError if outputs that have no gradient are no constants."""
    if any(np.any(matrix) for matrices in numerical.values() for matrix in matrices):
        raise GradcheckError("Numerical gradient for function expected to be zero, because none of its outputs requires a gradient")


def _compare(pairs: Sequence[tuple[int, Tensor, int, Tensor, Matrix, Matrix]], limits: _Limits, mode: str) -> None:
    """Raises a GradcheckError if Jacobians differ from those of differences; imaginary parts of outputs are named first."""
    differences = [d for o, y, i, x, slope, expected in pairs for d in _compared(slope, expected, (o, y), (i, x), limits)]
    if differences:
        differences.sort(key=lambda d: not d.output.endswith(".imag"))
        raise GradcheckError(_table(differences, sum(pair[4].size for pair in pairs), limits, mode))


def _compared(analytical: Matrix, expected: Matrix, output: tuple[int, Tensor], given: tuple[int, Tensor], limits: _Limits) -> list[_Difference]:
    """The elements that differ."""
    wrong = ~(np.abs(analytical - expected) <= limits.atol + limits.rtol * np.abs(expected))
    return [
        _Difference(
            _element(f"output {output[0]}", output[1], int(row)),
            _element(f"input {given[0]}", given[1], int(column)),
            float(expected[row, column]),
            float(analytical[row, column]),
        )
        for row, column in np.argwhere(wrong)
    ]


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    gen_non_contig_grad_outputs: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    **options: Any,
) -> bool:
    """:func:`gradcheck` of the gradients: by the inputs, and by the cotangents, which are random unless given. Options are those of :func:`gradcheck`."""
    given = listed(inputs)
    positions = [i for i, x in enumerate(given) if getattr(x, "requires_grad", False)]
    outputs = [y for y in outputs_of(func, given) if y.array.dtype.kind in "fVc"]
    rng: Any = np.random.default_rng(0)
    cotangents = listed(grad_outputs) if grad_outputs is not None else [dispatch.constant(np.asarray(rng.standard_normal(y.shape), y.dtype)) for y in outputs]
    if grad_outputs is None:
        cotangents = [c.requires_grad_() for c in cotangents]

    def gradients(*both: Any) -> tuple[Any, ...]:
        arguments, weights = both[: len(given)], both[len(given) :]
        made = [y for y in listed(func(*arguments)) if y.array.dtype.kind in "fVc"]
        return grad(made, [arguments[i] for i in positions], weights, create_graph=True, allow_unused=True, materialize_grads=True)

    return gradcheck(gradients, [*given, *cotangents], check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev, **options)


# -- the table


def _element(name: str, x: Tensor, flat: int) -> str:
    parts = len(directions_of(x))
    place = np.unravel_index(flat // parts, x.array.shape)
    part = f".{('real', 'imag')[flat % 2]}" if parts == 2 else ""
    return name + (f"[{', '.join(str(int(i)) for i in place)}]" if place else "") + part


def _table(differences: Sequence[_Difference], count: int, limits: _Limits, mode: str) -> str:
    rows = [("of", "by", "numerical", "analytical", "difference"), *(d.row() for d in differences[:_SHOWN])]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    more = [f"and {len(differences) - _SHOWN} more"] if len(differences) > _SHOWN else []
    first = differences[0]
    part = "While considering the imaginary part of complex outputs only, " if first.output.endswith(".imag") else ""
    where = f"{part}Jacobian{mode} mismatch for {first.output.partition('[')[0]} with respect to {first.input.partition('[')[0]}"
    said = f"(step {limits.eps:g}, atol {limits.atol:g}, rtol {limits.rtol:g})"
    head = f"{where}: {len(differences)} of {count} derivatives are not those of differences {said}:"
    return "\n".join([head, *lines, *more])
