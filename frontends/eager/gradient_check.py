"""``gradcheck`` and ``gradgradcheck``: gradients against central differences, with a table of what differs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.eager.containers import listed
from wengert.eager.errors import AutogradError
from wengert.eager.gradients.gradient import grad
from wengert.eager.recording import dispatch
from wengert.eager.recording.modes import enable_grad

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor

Matrix = np.ndarray[Any, np.dtype[Any]]
_SHOWN = 12
"""The most differences that an error lists."""


class GradcheckError(AutogradError):
    """A gradient is not what differences say; the message has a line for each element that differs."""


@dataclass(frozen=True)
class _Difference:
    """One element of a Jacobian that differs: of which output and input, where in them, and both values."""

    output: str
    input: str
    numerical: float
    analytical: float

    def row(self) -> tuple[str, ...]:
        return self.output, self.input, f"{self.numerical:.6g}", f"{self.analytical:.6g}", f"{abs(self.numerical - self.analytical):.1e}"


def gradcheck(func: Callable[..., Any], inputs: Any, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3, raise_exception: bool = True) -> bool:
    """Compares the Jacobian that the tape gives with central differences of step ``eps``, element by element.

    Args:
        func: takes the inputs, returns a tensor or several.
        inputs: one or several, of which those that require gradients are checked; float64, or differences see little.
        eps: the step.
        atol: how far numerical and analytical values may be apart in any case.
        rtol: and how far in proportion to the numerical one, in addition.
        raise_exception: whether a difference is an error, or the answer False.

    Raises:
        GradcheckError: with the table of what differs.
        ValueError: no input requires a gradient.
    """
    given = listed(inputs)
    checked = [(i, x) for i, x in enumerate(given) if getattr(x, "requires_grad", False)]
    if not checked:
        raise ValueError("gradcheck: at least one input must require a gradient")
    outputs = _outputs(func, given)
    differences: list[_Difference] = []
    count = 0
    for i, x in checked:
        numerical = _numerical(func, given, x, eps)
        for o, (y, expected) in enumerate(zip(outputs, numerical, strict=True)):
            analytical = _analytical(y, x)
            count += analytical.size
            wrong = ~(np.abs(analytical - expected) <= atol + rtol * np.abs(expected))
            for place, column in np.argwhere(wrong):
                names = _element(f"output {o}", y, int(place)), _element(f"input {i}", x, int(column))
                differences.append(_Difference(*names, float(expected[place, column]), float(analytical[place, column])))
    if differences and raise_exception:
        raise GradcheckError(_table(differences, count, eps, atol, rtol))
    return not differences


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
) -> bool:
    """:func:`gradcheck` of the gradients: by the inputs, and by the cotangents, which are random unless given."""
    given = listed(inputs)
    positions = [i for i, x in enumerate(given) if getattr(x, "requires_grad", False)]
    outputs = [y for y in _outputs(func, given) if y.is_floating_point()]
    rng: Any = np.random.default_rng(0)
    cotangents = listed(grad_outputs) if grad_outputs is not None else [dispatch.constant(np.asarray(rng.standard_normal(y.shape), y.dtype)) for y in outputs]
    cotangents = [c if c.requires_grad else c.detach().requires_grad_() for c in cotangents]

    def gradients(*both: Any) -> tuple[Any, ...]:
        arguments, weights = both[: len(given)], both[len(given) :]
        made = [y for y in listed(func(*arguments)) if y.is_floating_point()]
        return grad(made, [arguments[i] for i in positions], weights, create_graph=True, allow_unused=True, materialize_grads=True)

    return gradcheck(gradients, [*given, *cotangents], eps, atol, rtol, raise_exception)


# -- both Jacobians, as matrices [elements of the output, elements of the input]


@enable_grad
def _outputs(func: Callable[..., Any], given: Sequence[Any]) -> list[Tensor]:
    return listed(func(*given))


def _numerical(func: Callable[..., Any], given: Sequence[Any], x: Tensor, eps: float) -> list[Matrix]:
    """Differences, by changing one element of x after the other where it stands."""

    def run() -> list[Matrix]:  # not in no_grad: the function may take gradients itself
        return [np.array(y.detach().array, np.float64).reshape(-1) for y in _outputs(func, given)]

    columns: list[list[Matrix]] = []
    for place in np.ndindex(x.array.shape):
        before = x.array[place].copy()
        try:
            x.array[place] = before + eps
            high = run()
            x.array[place] = before - eps
            low = run()
        finally:
            x.array[place] = before
        columns.append([(h - n) / (2 * eps) for h, n in zip(high, low, strict=True)])
    if not columns:
        return [np.zeros((y.size, 0)) for y in run()]
    return [np.stack(of_one, 1) for of_one in zip(*columns, strict=True)]


def _analytical(y: Tensor, x: Tensor) -> Matrix:
    rows = np.zeros((y.array.size, x.array.size))
    if not y.tracked:
        return rows
    for place in range(y.array.size):
        one = np.zeros(y.array.size, y.array.dtype)
        one[place] = 1
        (row,) = grad(y, x, dispatch.constant(one.reshape(y.array.shape)), retain_graph=True, allow_unused=True)
        if row is not None:
            rows[place] = row.array.reshape(-1)
    return rows


# -- the table


def _element(name: str, x: Tensor, flat: int) -> str:
    place = np.unravel_index(flat, x.array.shape)
    return name + (f"[{', '.join(str(int(i)) for i in place)}]" if place else "")


def _table(differences: Sequence[_Difference], count: int, eps: float, atol: float, rtol: float) -> str:
    rows = [("of", "by", "numerical", "analytical", "difference"), *(d.row() for d in differences[:_SHOWN])]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    more = [f"and {len(differences) - _SHOWN} more"] if len(differences) > _SHOWN else []
    head = f"{len(differences)} of {count} derivatives are not those of differences (step {eps:g}, atol {atol:g}, rtol {rtol:g}):"
    return "\n".join([head, *lines, *more])
