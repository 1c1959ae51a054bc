"""Jacobians of functions of tensors, for checks: by differences, by backward passes, and by forward mode.

A Jacobian is a matrix [elements of the output, elements of the input]; the parts of complex elements stand beside each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.eager.containers import listed
from wengert.eager.errors import GradcheckError
from wengert.eager.gradients.gradient import grad
from wengert.eager.recording import dispatch
from wengert.eager.recording.modes import enable_grad

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor

Matrix = np.ndarray[Any, np.dtype[Any]]


def get_numerical_jacobian(fn: Callable[[Any], Any], inputs: Any, target: Any = None, eps: float = 1e-3, grad_out: float = 1.0) -> list[Matrix]:
    """The Jacobians of the first output by differences of step ``eps``: for each target that requires a gradient, [elements of the target, of the output].

    Args:
        fn: takes all inputs as one argument, returns a tensor or several.
        inputs: one or several real ones, which are changed where they stand, one element at a time.
        target: those of them by which is derived; all by default.
        eps: the step.
        grad_out: only 1 is possible.
    """
    _check_real("get_numerical_jacobian", grad_out, listed(inputs))
    wanted = [x for x in listed(inputs if target is None else target) if x.tracked]
    return [numerical_jacobians(lambda *_: fn(inputs), listed(inputs), x, eps)[0].T for x in wanted]


def get_analytical_jacobian(inputs: Any, output: Tensor, nondet_tol: float = 0.0, grad_out: float = 1.0) -> tuple[tuple[Matrix, ...], bool, bool, bool]:
    """The Jacobians of an output by backward passes, as :func:`get_numerical_jacobian` gives them; whether two passes agree up to ``nondet_tol``; and whether
    gradients have the shapes and the dtypes of their inputs, which here they always have."""
    wanted = [x for x in listed(inputs) if x.tracked]
    _check_real("get_analytical_jacobian", grad_out, [*wanted, output])
    exact = tuple(analytical_jacobian(output, x, np.inf, False).T for x in wanted)
    again = tuple(analytical_jacobian(output, x, np.inf, False).T for x in wanted)
    alike = all(np.allclose(a, b, rtol=0, atol=nondet_tol + 64 * np.finfo(output.array.dtype).eps) for a, b in zip(exact, again, strict=True))
    return exact, alike, True, True


def _check_real(name: str, cotangent: float, tensors: Sequence[Any]) -> None:
    if cotangent != 1.0:
        raise ValueError(f"{name}: expected grad_out to be 1.0, found {cotangent}")
    if any(getattr(x, "array", np.zeros(0)).dtype.kind == "c" for x in tensors):
        raise ValueError(f"{name}: complex tensors have no Jacobian of one matrix; gradcheck compares their parts")


@enable_grad
def outputs_of(func: Callable[..., Any], given: Sequence[Any]) -> list[Tensor]:
    """The outputs of a function, with gradients recorded."""
    return listed(func(*given))


def _parts(array: Any) -> Matrix:
    """All elements as a vector of real numbers."""
    flat: Any = np.ascontiguousarray(array).reshape(-1)
    return flat.view(flat.real.dtype).astype(np.float64) if flat.dtype.kind == "c" else flat.astype(np.float64)


def directions_of(x: Tensor) -> list[Any]:
    """The changes that an element is given: 1, and i for a complex one."""
    return [1, 1j] if x.array.dtype.kind == "c" else [1]


def numerical_jacobians(func: Callable[..., Any], given: Sequence[Any], x: Tensor, eps: float) -> list[Matrix]:
    """Differences, by changing one element of x after the other where it stands."""

    def run() -> list[Any]:  # not in no_grad: the function may take gradients itself
        return [y.detach().array.copy() for y in outputs_of(func, given) if y.array.dtype.kind in "fVc"]

    base = run()

    columns: list[list[Matrix]] = []
    for place in np.ndindex(x.array.shape):
        before = x.array[place].copy()
        for direction in directions_of(x):
            try:
                x.array[place] = before + eps * direction
                high = run()
                x.array[place] = before - eps * direction
                low = run()
            finally:
                x.array[place] = before
            for one in (*zip(base, high, strict=True), *zip(base, low, strict=True)):
                _check_alike(*one, place, eps)
            columns.append([(_parts(h) - _parts(n)) / (2 * eps) for h, n in zip(high, low, strict=True)])
    if not columns:
        return [np.zeros((_parts(y).size, 0)) for y in base]
    return [np.stack(of_one, 1) for of_one in zip(*columns, strict=True)]


def _check_alike(first: Any, second: Any, place: tuple[int, ...], eps: float) -> None:
    for what, (one, other) in {"shape": (first.shape, second.shape), "dtype": (first.dtype, second.dtype)}.items():
        if one != other:
            raise AssertionError(
                f"gradcheck expects the function to return outputs with the same {what} when inputs are perturbed;"
                f" for element {list(place)} changed by {eps:g} there is {other}, which was {one}"
            )


def analytical_jacobian(y: Tensor, x: Tensor, repeated: float, batched: bool) -> Matrix:
    """By a backward pass for each row; those of a complex output are of its real part for the cotangent 1, and of its imaginary part for i."""
    rows = np.zeros((y.array.size * len(directions_of(y)), x.array.size * len(directions_of(x))))
    if not y.tracked:
        return rows
    number = 0
    for place in range(y.array.size):
        for direction in directions_of(y):
            one = np.zeros(y.array.size, y.array.dtype)
            one[place] = direction
            cotangent = dispatch.constant(one.reshape(y.array.shape))
            row, again = (grad(y, x, cotangent, retain_graph=True, allow_unused=True)[0] for _ in range(2))
            if row is not None and again is not None:
                rounding = 64 * np.finfo(row.array.dtype).eps * np.max(np.abs(row.array), initial=0)  # a pass may be compiled the next time
                if np.max(np.abs(row.array - again.array), initial=0) > repeated + rounding:
                    raise GradcheckError(
                        "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different values, although"
                        f" analytical gradient matches numerical gradient. The tolerance for nondeterminism was {repeated:g}."
                    )
                if batched:
                    _check_batch(y, x, cotangent, row)
                rows[number] = _parts(row.array)
            number += 1
    return rows


def _check_batch(y: Tensor, x: Tensor, cotangent: Tensor, row: Tensor) -> None:
    """Raises a GradcheckError if a stack of cotangents gives something else than each of them."""
    stacked = dispatch.constant(np.stack([cotangent.array, 2 * cotangent.array]))
    (both,) = grad(y, x, stacked, retain_graph=True, is_grads_batched=True)
    if both is None or not np.allclose(both.array, np.stack([row.array, 2 * row.array]), equal_nan=True):
        raise GradcheckError("gradcheck failed while testing batched gradient computation: a stack of cotangents gives something else than each of them")


def forward_jacobians(func: Callable[..., Any], given: Sequence[Any], checked: Sequence[Tensor], x: Tensor, numerical: Sequence[Matrix]) -> list[Matrix]:
    """A column for each element of x, by the tangents of the outputs; other tensors that are checked have the tangent 0."""
    from wengert.eager.gradients import forward_ad

    matrices = [np.zeros(m.shape) for m in numerical]
    number = 0
    for place in np.ndindex(x.array.shape):
        for direction in directions_of(x):
            tangent = np.zeros(x.array.shape, x.array.dtype)
            tangent[place] = direction
            with forward_ad.dual_level():
                along = {id(v): np.zeros(v.array.shape, v.array.dtype) for v in checked} | {id(x): tangent}
                arguments = [forward_ad.make_dual(v.detach(), dispatch.constant(along[id(v)])) if id(v) in along else v for v in given]
                outputs = [y for y in outputs_of(func, arguments) if y.array.dtype.kind in "fVc"]
                for matrix, y in zip(matrices, outputs, strict=True):
                    pushed = forward_ad.unpack_dual(y).tangent
                    if pushed is not None:
                        matrix[:, number] = _parts(pushed.array)
            number += 1
    return matrices
