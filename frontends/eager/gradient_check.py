"""``gradcheck`` and ``gradgradcheck``: gradients against central differences, with a table of what differs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from warnings import warn

import numpy as np

from wengert.eager.containers import listed
from wengert.eager.errors import AutogradError
from wengert.eager.function import Function
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
    made = _outputs(func, given)
    outputs = [y for y in made if y.array.dtype.kind in "fVc"]
    numerical = {i: _numerical(func, given, x, limits.eps) for i, x in checked}
    if reverse and not any(y.tracked for y in outputs):
        _check_constants(numerical)
    if reverse:
        by_backward = [(o, y, i, x, _analytical(y, x, limits.repeated, batched), numerical[i][o]) for i, x in checked for o, y in enumerate(outputs)]
        _compare(by_backward, limits, "")
        _check_products(outputs, [x for _, x in checked])
    if forward:
        zeros = [x for _, x in checked]
        pushed = {i: _by_forward_mode(func, given, zeros, x, numerical[i]) for i, x in checked}
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
    count = len(_outputs(func, given))
    for without in (range(count), *((i,) for i in range(count) if count > 1)):
        outputs = _outputs(func, given)
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
    outputs = [y for y in _outputs(func, given) if y.array.dtype.kind in "fVc"]
    rng: Any = np.random.default_rng(0)
    cotangents = listed(grad_outputs) if grad_outputs is not None else [dispatch.constant(np.asarray(rng.standard_normal(y.shape), y.dtype)) for y in outputs]
    if grad_outputs is None:
        cotangents = [c.requires_grad_() for c in cotangents]

    def gradients(*both: Any) -> tuple[Any, ...]:
        arguments, weights = both[: len(given)], both[len(given) :]
        made = [y for y in listed(func(*arguments)) if y.array.dtype.kind in "fVc"]
        return grad(made, [arguments[i] for i in positions], weights, create_graph=True, allow_unused=True, materialize_grads=True)

    return gradcheck(gradients, [*given, *cotangents], check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev, **options)


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
    return [_numerical(lambda *_: fn(inputs), listed(inputs), x, eps)[0].T for x in wanted]


def get_analytical_jacobian(inputs: Any, output: Tensor, nondet_tol: float = 0.0, grad_out: float = 1.0) -> tuple[tuple[Matrix, ...], bool, bool, bool]:
    """The Jacobians of an output by backward passes, as :func:`get_numerical_jacobian` gives them; whether two passes agree up to ``nondet_tol``; and whether
    gradients have the shapes and the dtypes of their inputs, which here they always have."""
    wanted = [x for x in listed(inputs) if x.tracked]
    _check_real("get_analytical_jacobian", grad_out, [*wanted, output])
    exact = tuple(_analytical(output, x, np.inf, False).T for x in wanted)
    again = tuple(_analytical(output, x, np.inf, False).T for x in wanted)
    alike = all(np.allclose(a, b, rtol=0, atol=nondet_tol + 64 * np.finfo(output.array.dtype).eps) for a, b in zip(exact, again, strict=True))
    return exact, alike, True, True


def _check_real(name: str, cotangent: float, tensors: Sequence[Any]) -> None:
    if cotangent != 1.0:
        raise ValueError(f"{name}: expected grad_out to be 1.0, found {cotangent}")
    if any(getattr(x, "array", np.zeros(0)).dtype.kind == "c" for x in tensors):
        raise ValueError(f"{name}: complex tensors have no Jacobian of one matrix; gradcheck compares their parts")


# -- Jacobians, as matrices [elements of the output, elements of the input]; the parts of complex elements stand beside each other


@enable_grad
def _outputs(func: Callable[..., Any], given: Sequence[Any]) -> list[Tensor]:
    return listed(func(*given))


def _parts(array: Any) -> Matrix:
    """All elements as a vector of real numbers."""
    flat: Any = np.ascontiguousarray(array).reshape(-1)
    return flat.view(flat.real.dtype).astype(np.float64) if flat.dtype.kind == "c" else flat.astype(np.float64)


def _directions(x: Tensor) -> list[Any]:
    """What an element is changed by: 1, and i for a complex one."""
    return [1, 1j] if x.array.dtype.kind == "c" else [1]


def _numerical(func: Callable[..., Any], given: Sequence[Any], x: Tensor, eps: float) -> list[Matrix]:
    """Differences, by changing one element of x after the other where it stands."""

    def run() -> list[Any]:  # not in no_grad: the function may take gradients itself
        return [y.detach().array.copy() for y in _outputs(func, given) if y.array.dtype.kind in "fVc"]

    base = run()

    columns: list[list[Matrix]] = []
    for place in np.ndindex(x.array.shape):
        before = x.array[place].copy()
        for direction in _directions(x):
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


def _analytical(y: Tensor, x: Tensor, repeated: float, batched: bool) -> Matrix:
    """By a backward pass for each row; those of a complex output are of its real part for the cotangent 1, and of its imaginary part for i."""
    rows = np.zeros((y.array.size * len(_directions(y)), x.array.size * len(_directions(x))))
    if not y.tracked:
        return rows
    number = 0
    for place in range(y.array.size):
        for direction in _directions(y):
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


def _by_forward_mode(func: Callable[..., Any], given: Sequence[Any], checked: Sequence[Tensor], x: Tensor, numerical: Sequence[Matrix]) -> list[Matrix]:
    """A column for each element of x, by the tangents of the outputs; other tensors that are checked have the tangent 0."""
    from wengert.eager.gradients import forward_ad

    matrices = [np.zeros(m.shape) for m in numerical]
    number = 0
    for place in np.ndindex(x.array.shape):
        for direction in _directions(x):
            tangent = np.zeros(x.array.shape, x.array.dtype)
            tangent[place] = direction
            with forward_ad.dual_level():
                along = {id(v): np.zeros(v.array.shape, v.array.dtype) for v in checked} | {id(x): tangent}
                arguments = [forward_ad.make_dual(v.detach(), dispatch.constant(along[id(v)])) if id(v) in along else v for v in given]
                outputs = [y for y in _outputs(func, arguments) if y.array.dtype.kind in "fVc"]
                for matrix, y in zip(matrices, outputs, strict=True):
                    pushed = forward_ad.unpack_dual(y).tangent
                    if pushed is not None:
                        matrix[:, number] = _parts(pushed.array)
            number += 1
    return matrices


# -- the table


def _element(name: str, x: Tensor, flat: int) -> str:
    parts = len(_directions(x))
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
