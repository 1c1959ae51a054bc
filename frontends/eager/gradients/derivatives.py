"""Derivatives of functions: ``jacobian``, ``hessian``, ``vjp``, ``jvp``, ``vhp``, ``hvp``, with the names and meanings of ``torch.autograd.functional``.

The function is run once on copies of its inputs, and its tape is run backwards as often as needed, for the rows of a Jacobian at once. A
derivative in forward mode is that of the reverse pass, which is linear in its cotangent, transposed once more (J. Townsend, "A new trick
for calculating Jacobian vector products", 2017).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.eager.containers import listed
from wengert.eager.errors import AutogradError, NonScalarError, ShapeError
from wengert.eager.gradients.gradient import grad
from wengert.eager.recording import dispatch
from wengert.eager.recording.modes import enable_grad

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor

Function = Callable[..., Any]


# -- inputs and results


def _copies(what: str, inputs: Any, create_graph: bool) -> list[Tensor]:
    """The inputs as leaves of their own, or as what leads to them where the derivative is to be differentiated by them."""
    given = listed(inputs)
    if not given or not all(hasattr(x, "array") for x in given):
        raise TypeError(f"The inputs given to {what} must be either a Tensor or a tuple of Tensors, found {_shown(inputs)}")
    return [x.view_as(x) if create_graph and x.requires_grad else x.detach().requires_grad_() for x in given]


def _shown(given: Any) -> str:
    """The type of what was given, and of what is in it."""
    name = type(given).__name__
    return f"{name} of {', '.join(type(x).__name__ for x in listed(given))}" if isinstance(given, list | tuple) else name


def _run(what: str, function: Function, inputs: Sequence[Tensor]) -> tuple[Any, list[Tensor]]:
    outcome = function(*inputs)
    outputs = listed(outcome)
    if not outputs or not all(hasattr(y, "array") for y in outputs):
        raise TypeError(f"The outputs of the user-provided function given to {what} must be either a Tensor or a tuple of Tensors, found {_shown(outcome)}")
    return outcome, outputs


def _like(given: Any, tensors: Sequence[Any], create_graph: bool) -> Any:
    """One tensor or several, as what was given is; off the tape unless they are to be differentiated."""
    made = tuple(x if create_graph else x.detach() for x in tensors)
    return made if isinstance(given, list | tuple) else made[0]


_NEEDED = {
    "input": "The vector v can only be None if the input to the user-provided function is a single Tensor with a single element",
    "output": "The vector v can only be None if the user-provided function returns a single Tensor with a single element",
}


def _directions(name: str, v: Any, tensors: Sequence[Tensor], what: str) -> list[Tensor]:
    """The vectors, checked: of the shapes of the inputs or outputs, and 1 for one of one element."""
    if v is None:
        if len(tensors) != 1 or tensors[0].array.size != 1:
            raise NonScalarError(_NEEDED[what])
        return [_zeros(tensors[0]) + 1]
    given = listed(v)
    if not all(hasattr(x, "array") for x in given):
        raise TypeError(f"The v given to {name} must be either a Tensor or a tuple of Tensors, found {_shown(v)}")
    if len(given) != len(tensors):
        expected = "a single Tensor" if len(tensors) == 1 else f"{len(tensors)} Tensors, one for each {what}"
        raise ShapeError(f"The given v should contain {expected}. Found {len(given)}")
    for x, t in zip(given, tensors, strict=True):
        if x.array.shape != t.array.shape:
            raise ShapeError(f"v has invalid size: should be torch.Size({list(t.shape)}), the shape of the {what}, but got {list(x.shape)}")
    return given


def _zeros(x: Tensor) -> Tensor:
    return dispatch.constant(np.zeros(x.array.shape, x.array.dtype))


def _gradients(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    cotangents: Sequence[Tensor] | None,
    strict: bool,
    create: bool,
    retain: bool | None = None,
    *,
    of: str = "Output {} of the user-provided function is independent of input {}.",
    again: str = "",
    batch: int | None = None,
) -> list[Tensor]:
    """The gradients; zeros, or an error if ``strict``, where inputs do not matter. ``of`` and ``again`` say which dependence is missing, of outputs
    and of their derivatives; ``batch`` cotangents are given at once."""
    used = [i for i, y in enumerate(outputs) if y.tracked]
    if strict and len(used) < len(outputs):
        missing = next(i for i, y in enumerate(outputs) if not y.tracked)
        raise AutogradError(
            f"Output {missing} of the user-provided function does not require gradients. The outputs must be computed from the inputs in strict mode."
        )

    def zeros(x: Tensor) -> Tensor:
        return _zeros(x) if batch is None else dispatch.constant(np.zeros((batch, *x.array.shape), x.array.dtype))

    if not used:
        return [zeros(x) for x in inputs]
    given = None if cotangents is None else [cotangents[i] for i in used]
    gradients = grad([outputs[i] for i in used], inputs, given, retain_graph=retain, create_graph=create, allow_unused=True, is_grads_batched=batch is not None)
    for position, g in enumerate(gradients if strict else ()):
        if g is None:
            raise AutogradError(f"{of.format(0, position)} This is not allowed when strict=True.")
        if create and not g.tracked and again:
            raise AutogradError(f"{again.format(position)} This is not allowed when strict=True.")
    return [zeros(x) if g is None else g for x, g in zip(inputs, gradients, strict=True)]


_OUTPUT = "Output {} of the user-provided function is independent of input {}."
_JACOBIAN = "The jacobian of the user-provided function is independent of input {}."
_FIRST = "The jacobian of the user-provided function with respect to input {1} is zero: the output is independent of it."
_ALONE = "The output of the user-provided function is independent of input {1}"
_SECOND = "The jacobian of the user-provided function with respect to input {1} is independent of the inputs"


# -- products with vectors


@enable_grad
def vjp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """(outputs, v^T J), with one product for every input.

    Args:
        func: takes the inputs, returns a tensor or several.
        inputs: one tensor or several.
        v: the cotangents of the outputs; may be left out for one output of one element.
        create_graph: records the derivative, so that it can be differentiated, by the inputs too.
        strict: raises an AutogradError where an output does not depend on an input; otherwise the derivative is zeros.
    """
    leaves = _copies("vjp", inputs, create_graph)
    outcome, outputs = _run("vjp", func, leaves)
    products = _gradients(outputs, leaves, _directions("vjp", v, outputs, "output"), strict, create_graph, of=_ALONE, again=_JACOBIAN)
    return _like(outcome, outputs, create_graph), _like(inputs, products, create_graph)


@enable_grad
def jvp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """(outputs, J v), with one product for every output; ``v`` are tangents of the inputs. Otherwise as :func:`vjp`."""
    leaves = _copies("jvp", inputs, create_graph)
    directions = _directions("jvp", v, leaves, "input")
    outcome, outputs = _run("jvp", func, leaves)
    cotangents = [_zeros(y).requires_grad_() for y in outputs]
    pulled = _gradients(outputs, leaves, cotangents, strict, create=True, of=_ALONE)
    products = _gradients(pulled, cotangents, directions, strict, create_graph)
    if strict and create_graph and not all(any(y.tracked for y in (p,)) for p in products):
        raise AutogradError(f"{_JACOBIAN.format(0)} This is not allowed when strict=True.")
    return _like(outcome, outputs, create_graph), _like(outcome, products, create_graph)


def _scalar(outputs: Sequence[Tensor], what: str) -> None:
    if len(outputs) != 1 or outputs[0].array.size != 1:
        single = len(outputs) == 1 and outputs[0].array.size != 1
        expected = "should contain a single element" if single else "should return a single Tensor"
        subject = "The Tensor returned by the function given" if single else "The function given"
        raise NonScalarError(f"{subject} to {what} {expected}, found {[list(y.shape) for y in outputs]}")


@enable_grad
def vhp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """(output, v^T H) of a function with one element, by reverse over reverse. Otherwise as :func:`vjp`."""
    return _product("vhp", func, inputs, v, create_graph, strict)


def _product(what: str, func: Function, inputs: Any, v: Any, create_graph: bool, strict: bool) -> tuple[Any, Any]:
    leaves = _copies(what, inputs, create_graph)
    directions = _directions(what, v, leaves, "input")
    outcome, outputs = _run(what, func, leaves)
    _scalar(outputs, what)
    first = _gradients(outputs, leaves, None, strict, create=True, of=_ALONE, again=_SECOND.replace("{1}", "{}"))
    products = _gradients(first, leaves, directions, strict, create_graph, of=_SECOND)
    return _like(outcome, outputs, create_graph), _like(inputs, products, create_graph)


@enable_grad
def hvp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """(output, H v) of a function with one element: the same as :func:`vhp`, since H is symmetric."""
    return _product("hvp", func, inputs, v, create_graph, strict)


# -- matrices


@enable_grad
def jacobian(func: Function, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False, strategy: str = "reverse-mode") -> Any:
    """All derivatives, of the shape of the output followed by that of the input.

    A tensor for one output and one input, a tuple for several inputs, and a tuple of these for several outputs. All rows are computed at once where
    no Python runs on the way back (:mod:`wengert.eager.gradients.batched`); ``vectorize`` and ``strategy`` are taken for compatibility.
    """
    if strict and vectorize:
        raise AutogradError("strict=True and vectorize=True are not supported together")
    return _matrices(func, inputs, create_graph, strict, _OUTPUT)


def _matrices(func: Function, inputs: Any, create_graph: bool, strict: bool, of: str) -> Any:
    leaves = _copies("jacobian", inputs, create_graph)
    outcome, outputs = _run("jacobian", func, leaves)
    rows = [_like(inputs, _jacobian_of(y, leaves, strict, create_graph, of), create_graph) for y in outputs]
    return tuple(rows) if isinstance(outcome, list | tuple) else rows[0]


def _jacobian_of(y: Tensor, leaves: Sequence[Tensor], strict: bool, create: bool, of: str) -> list[Tensor]:
    """The Jacobians of one output."""
    count = y.array.size
    if not count:
        return [dispatch.constant(np.zeros((*y.array.shape, *x.array.shape), x.array.dtype)) for x in leaves]
    units = dispatch.constant(np.eye(count, dtype=y.array.dtype).reshape(count, *y.array.shape))
    rows = _gradients([y], leaves, [units], strict, create, retain=True, of=of, again=_JACOBIAN, batch=count)
    return [column.reshape(*y.array.shape, *x.array.shape) for column, x in zip(rows, leaves, strict=True)]


@enable_grad
def hessian(
    func: Function, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False, outer_jacobian_strategy: str = "reverse-mode"
) -> Any:
    """All second derivatives of a function with one element: a tensor for one input, for several a tuple of tuples."""
    several = isinstance(inputs, list | tuple)
    if strict and vectorize:
        raise AutogradError("strict=True and vectorize=True are not supported together")
    _copies("hessian", inputs, create_graph)

    def gradient(*given: Tensor) -> Any:
        _, outputs = _run("hessian", func, given)
        _scalar(outputs, "hessian")
        gradients = _gradients(outputs, given, None, strict, create=True, of=_FIRST, again=_SECOND.replace("{1}", "{}"))
        return tuple(gradients) if several else gradients[0]

    return _matrices(gradient, inputs, create_graph, strict, _SECOND)
