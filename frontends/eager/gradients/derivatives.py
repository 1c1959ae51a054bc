"""Derivatives of functions: ``jacobian``, ``hessian``, ``vjp``, ``jvp``, ``vhp``, ``hvp``, with the names and meanings of ``torch.autograd.functional``.

The function is run once on copies of its inputs, and its tape is run backwards as often as needed: once for every row of a Jacobian. A
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
from wengert.eager.operations import joining
from wengert.eager.recording import dispatch
from wengert.eager.recording.modes import enable_grad

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor

Function = Callable[..., Any]


# -- inputs and results


def _copies(inputs: Any, create_graph: bool) -> list[Tensor]:
    """The inputs as leaves of their own, or as what leads to them where the derivative is to be differentiated by them."""
    given = listed(inputs)
    if not given or not all(hasattr(x, "array") for x in given):
        raise TypeError(f"the inputs must be a tensor or a tuple of tensors, found {type(inputs).__name__}")
    return [x.view_as(x) if create_graph and x.requires_grad else x.detach().requires_grad_() for x in given]


def _run(function: Function, inputs: Sequence[Tensor]) -> tuple[Any, list[Tensor]]:
    outcome = function(*inputs)
    outputs = listed(outcome)
    if not outputs or not all(hasattr(y, "array") for y in outputs):
        raise TypeError(f"the function must return a tensor or a tuple of tensors, found {type(outcome).__name__}")
    return outcome, outputs


def _like(given: Any, tensors: Sequence[Any], create_graph: bool) -> Any:
    """One tensor or several, as what was given is; off the tape unless they are to be differentiated."""
    made = tuple(x if create_graph else x.detach() for x in tensors)
    return made if isinstance(given, list | tuple) else made[0]


def _directions(v: Any, tensors: Sequence[Tensor], what: str) -> list[Tensor]:
    if v is None:
        if len(tensors) != 1 or tensors[0].array.size != 1:
            raise NonScalarError(f"v may be left out only where there is one {what} of one element")
        return [_zeros(tensors[0]) + 1]
    given = listed(v)
    if [x.array.shape for x in given] != [x.array.shape for x in tensors]:
        raise ShapeError(f"v must have the shapes of the {what}s, {[list(x.shape) for x in tensors]}, found {[list(x.shape) for x in given]}")
    return given


def _zeros(x: Tensor) -> Tensor:
    return dispatch.constant(np.zeros(x.array.shape, x.array.dtype))


def _gradients(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], cotangents: Sequence[Tensor] | None, strict: bool, create: bool, retain: bool | None = None
) -> list[Tensor]:
    """The gradients; zeros, or an error if ``strict``, where inputs do not matter."""
    used = [i for i, y in enumerate(outputs) if y.tracked]
    if strict and len(used) < len(outputs):
        raise AutogradError("an output does not depend on any input, which strict=True does not allow")
    if not used:
        return [_zeros(x) for x in inputs]
    given = None if cotangents is None else [cotangents[i] for i in used]
    gradients = grad([outputs[i] for i in used], inputs, given, retain_graph=retain, create_graph=create, allow_unused=True)
    if strict and any(g is None or (create and not g.tracked) for g in gradients):
        position = next(i for i, g in enumerate(gradients) if g is None or (create and not g.tracked))
        raise AutogradError(f"the derivative does not depend on input {position}, which strict=True does not allow")
    return [_zeros(x) if g is None else g for x, g in zip(inputs, gradients, strict=True)]


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
    leaves = _copies(inputs, create_graph)
    outcome, outputs = _run(func, leaves)
    products = _gradients(outputs, leaves, _directions(v, outputs, "output"), strict, create_graph)
    return _like(outcome, outputs, create_graph), _like(inputs, products, create_graph)


@enable_grad
def jvp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """(outputs, J v), with one product for every output; ``v`` are tangents of the inputs. Otherwise as :func:`vjp`."""
    leaves = _copies(inputs, create_graph)
    directions = _directions(v, leaves, "input")
    outcome, outputs = _run(func, leaves)
    cotangents = [_zeros(y).requires_grad_() for y in outputs]
    pulled = _gradients(outputs, leaves, cotangents, strict, create=True)
    products = _gradients(pulled, cotangents, directions, strict, create_graph)
    return _like(outcome, outputs, create_graph), _like(outcome, products, create_graph)


def _scalar(outputs: Sequence[Tensor], what: str) -> None:
    if len(outputs) != 1 or outputs[0].array.size != 1:
        raise NonScalarError(f"{what}: the function must return one tensor of one element, found {[list(y.shape) for y in outputs]}")


@enable_grad
def vhp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """(output, v^T H) of a function with one element, by reverse over reverse. Otherwise as :func:`vjp`."""
    leaves = _copies(inputs, create_graph)
    directions = _directions(v, leaves, "input")
    outcome, outputs = _run(func, leaves)
    _scalar(outputs, "vhp")
    products = _gradients(_gradients(outputs, leaves, None, strict, create=True), leaves, directions, strict, create_graph)
    return _like(outcome, outputs, create_graph), _like(inputs, products, create_graph)


@enable_grad
def hvp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """(output, H v) of a function with one element: the same as :func:`vhp`, since H is symmetric."""
    return vhp(func, inputs, v, create_graph, strict)


# -- matrices


@enable_grad
def jacobian(func: Function, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False, strategy: str = "reverse-mode") -> Any:
    """All derivatives, of the shape of the output followed by that of the input.

    A tensor for one output and one input, a tuple for several inputs, and a tuple of these for several outputs. ``vectorize`` and
    ``strategy`` are taken for compatibility: rows are computed one by one.
    """
    leaves = _copies(inputs, create_graph)
    outcome, outputs = _run(func, leaves)
    rows = [_like(inputs, _jacobian_of(y, leaves, strict, create_graph), create_graph) for y in outputs]
    return tuple(rows) if isinstance(outcome, list | tuple) else rows[0]


def _jacobian_of(y: Tensor, leaves: Sequence[Tensor], strict: bool, create: bool) -> list[Tensor]:
    """The Jacobians of one output."""
    rows: list[list[Tensor]] = []
    for place in range(y.array.size):
        one = np.zeros(y.array.size, y.array.dtype)
        one[place] = 1
        rows.append(_gradients([y], leaves, [dispatch.constant(one.reshape(y.array.shape))], strict, create, retain=True))
    if not rows:
        return [dispatch.constant(np.zeros((*y.array.shape, *x.array.shape), x.array.dtype)) for x in leaves]
    return [joining.stack(column, 0).reshape(*y.array.shape, *x.array.shape) for column, x in zip(zip(*rows, strict=True), leaves, strict=True)]


@enable_grad
def hessian(
    func: Function, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False, outer_jacobian_strategy: str = "reverse-mode"
) -> Any:
    """All second derivatives of a function with one element: a tensor for one input, for several a tuple of tuples."""
    several = isinstance(inputs, list | tuple)

    def gradient(*given: Tensor) -> Any:
        _, outputs = _run(func, given)
        _scalar(outputs, "hessian")
        gradients = _gradients(outputs, given, None, strict, create=True)
        return tuple(gradients) if several else gradients[0]

    return jacobian(gradient, inputs, create_graph, strict)
