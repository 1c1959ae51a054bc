"""``backward`` and ``grad``: what users call to run a tape backwards."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from warnings import warn

import numpy as np

from wengert.eager.containers import listed
from wengert.eager.errors import AutogradError, NonScalarError, NotTrackedError, ShapeError, UnusedInputError
from wengert.eager.gradients import attributes, edges
from wengert.eager.gradients.backward import Sweep
from wengert.eager.gradients.batched import batched_gradients
from wengert.eager.gradients.pull import run_hooks
from wengert.eager.operations import joining
from wengert.eager.recording import dispatch
from wengert.eager.recording.modes import STATE
from wengert.eager.recording.record import AccumulateGrad, Output, Record

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor

_ADDING = threading.RLock()
"""Held while a gradient is added to that of a leaf, which several threads may share."""


def _roots(outputs: Sequence[Tensor], given: Any) -> list[tuple[Tensor, Tensor]]:
    """The outputs with their cotangents, checked."""
    cotangents = [None] * len(outputs) if given is None else listed(given)
    if len(cotangents) != len(outputs):
        raise ShapeError(f"there are {len(outputs)} tensors and {len(cotangents)} gradients")
    roots: list[tuple[Tensor, Tensor]] = []
    for number, (y, cotangent) in enumerate(zip(outputs, cotangents, strict=True)):
        if not y.tracked:
            raise NotTrackedError("a gradient is asked of a tensor that does not require grad: nothing that it was computed from does")
        if cotangent is None:
            if y.array.size != 1:
                raise NonScalarError(
                    "grad can be implicitly created only for scalar outputs;"
                    f" the gradient of a tensor of shape {list(y.array.shape)} needs a cotangent of that shape"
                )
            if y.array.dtype.kind == "c":
                raise NonScalarError("grad can be implicitly created only for real scalar outputs; the gradient of a complex one needs a cotangent")
            cotangent = dispatch.constant(np.array(1, y.array.dtype).reshape(y.array.shape))
        elif cotangent.array.shape != y.array.shape:
            raise ShapeError(
                f"Mismatch in shape: grad_output[{number}] has a shape of {cotangent.array.shape} and output[{number}] has a shape of {y.array.shape}."
            )
        elif (cotangent.array.dtype.kind == "c") > (y.array.dtype.kind == "c"):
            raise ShapeError(
                f"output[{number}] and grad_output[{number}] are required to have the same dtype:"
                f" found {y.array.dtype.name} and {cotangent.array.dtype.name}, which is complex"
            )
        roots.append((y, cotangent if cotangent.array.dtype == y.array.dtype else cotangent.to(y.array.dtype)))
    return roots


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Adds the gradients of tensors to ``grad`` of the leaves that they depend on. See :meth:`Tensor.backward`."""
    if create_graph:
        warn(
            "Using backward() with create_graph=True makes a cycle of references between a parameter and its gradient, which holds memory until Python collects"
            " it; autograd.grad makes none, or set grad to None afterwards",
            UserWarning,
            stacklevel=3,
        )
    wanted = None if inputs is None else edges.tensors(inputs)
    if wanted is not None and not wanted:
        raise NotTrackedError("backward: inputs cannot be empty")
    roots = _roots(edges.tensors(tensors), grad_tensors)
    sweep = Sweep(roots, wanted, create_graph if retain_graph is None else retain_graph, create_graph)
    sweep.running(lambda: _accumulate_all(sweep, wanted))


def _accumulate_all(sweep: Sweep, wanted: Sequence[Tensor] | None) -> None:
    """Runs a backward pass and adds what arrives to ``grad``."""

    # What the pass holds must not hold the pass: what is in a cycle lives on until the collector comes.
    def finish(leaf: Tensor, cotangent: Tensor, create: bool, fresh: bool) -> None:
        if any(x is leaf for x in wanted or ()):
            accumulate(leaf, cotangent, create, fresh)

    sweep.finish = accumulate if wanted is None else finish
    sweep.run()
    sweep.finish_leaves()
    for x in wanted or ():
        key = _inside(x)
        if key is not None and key in sweep.captured and not x.retains_grad:
            accumulate(x, sweep.captured[key], sweep.create)


def accumulate(leaf: Tensor, cotangent: Tensor, create: bool, fresh: bool = False) -> None:
    """Adds to ``grad`` of a leaf: in place, unless the addition itself is to be differentiable.

    A cotangent that others may hold, or that lies in their memory, is copied, because the next pass will write to it.
    """
    if not leaf.tracked and leaf.source is None:  # it was detached, or requires none any more, since it was used
        return
    if leaf.leaf_hooks and leaf.source is None:
        cotangent, fresh = run_hooks(leaf.leaf_hooks, cotangent), False
    known = leaf.accumulator
    node = known if isinstance(known, AccumulateGrad) else None  # no hooks otherwise
    if node is None and not leaf.accumulate_hooks:
        with _ADDING:
            _add(leaf, cotangent, create, fresh)
        return
    for hook in list(node.prehooks) if node is not None else ():
        replacement = hook((cotangent,))
        if replacement is not None:
            (cotangent,), fresh = listed(replacement), False
    with _ADDING:
        first = _add(leaf, cotangent, create, fresh)
    known_now = leaf._grad  # pyright: ignore[reportPrivateUsage]
    if first and known_now is not None:  # hooks that change grad in place change what later ones see
        cotangent = known_now
    hooks = [*(leaf.accumulate_hooks or ()), *(node.hooks if node is not None else ())]
    if hooks and STATE.tape is not None:
        STATE.tape.only_once("a hook ran in its backward pass")
    for hook in list(leaf.accumulate_hooks or ()):
        if hook(leaf) is not None:
            raise AutogradError("hooks should return None. One of register_post_accumulate_grad_hook returned something else")
    for hook in list(node.hooks) if node is not None else ():
        hook((), (cotangent,))


def _add(leaf: Tensor, cotangent: Tensor, create: bool, fresh: bool) -> bool:
    """Adds to ``grad``; whether it was none before."""
    if leaf.gradient_dtype is not attributes.OWN:
        cotangent = attributes.in_gradient_dtype(leaf, cotangent)
    known = leaf.grad if leaf.source is None else leaf._grad  # pyright: ignore[reportPrivateUsage]  (reading that of other tensors warns)
    if known is None:
        leaf.grad = cotangent if create or fresh else cotangent.detach().clone()
    elif create:
        leaf.grad = known + cotangent
    else:
        before = STATE.grad, STATE.inference
        STATE.set(False, False)
        try:
            known.add_(cotangent)
        finally:
            STATE.set(*before)
    return known is None


def _inside(x: Tensor) -> tuple[int, int] | None:
    source = dispatch.source_of(x)
    if isinstance(source, Record):
        return source.number, 0
    return (source.record.number, source.number) if isinstance(source, Output) else None


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of outputs with respect to inputs, which need not be leaves; no ``grad`` is touched.

    Args:
        outputs: one tensor or several.
        inputs: one tensor or several.
        grad_outputs: cotangents of the outputs; 1 for scalars by default.
        retain_graph: keeps what the tape kept; by default as ``create_graph``.
        create_graph: records the backward pass, so that the gradients can be differentiated.
        allow_unused: gives None for inputs that the outputs do not depend on; by default as ``materialize_grads``.
        is_grads_batched: takes cotangents with a new first dimension, and gives gradients with one. All are computed at once
            (:mod:`wengert.eager.gradients.batched`); where Python runs on the way back, one after the other.
        materialize_grads: gives zeros for them.

    Raises:
        UnusedInputError: an input does not matter for any output. Otherwise as :meth:`Tensor.backward`.
        ValueError: ``allow_unused`` is False, and zeros are asked for.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.")
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    if is_grads_batched:
        keep = create_graph if retain_graph is None else retain_graph
        return _batched(outputs, inputs, listed(grad_outputs), keep, create_graph, allow_unused, materialize_grads)
    wanted = edges.tensors(inputs)
    if not wanted:
        raise NotTrackedError("grad: inputs cannot be empty")
    for x in wanted:
        if not x.tracked:
            raise NotTrackedError("a gradient is asked with respect to a tensor that does not require grad")
    roots = _roots(edges.tensors(outputs), grad_outputs)
    sweep = Sweep(roots, wanted, create_graph if retain_graph is None else retain_graph, create_graph)
    sweep.early = True
    return sweep.running(lambda: _collected(sweep, wanted, allow_unused, materialize_grads))


def _collected(sweep: Sweep, wanted: Sequence[Tensor], allow_unused: bool, materialize_grads: bool) -> tuple[Tensor | None, ...]:
    """Runs a backward pass; what arrives at the wanted tensors."""
    sweep.run()
    gradients: list[Tensor | None] = []
    for position, x in enumerate(wanted):
        key = _inside(x)
        if key is not None:
            cotangent = sweep.captured.get(key)
        else:
            arrived = sweep.leaves.get(id(x))
            cotangent = None if arrived is None else run_hooks(x.leaf_hooks or (), arrived[1])
            if cotangent is not None and x.gradient_dtype is not attributes.OWN:
                cotangent = attributes.in_gradient_dtype(x, cotangent)
        gradients.append(_instead(x, position, cotangent, None, sweep.create, allow_unused, materialize_grads))
    return tuple(gradients)


def _instead(x: Tensor, position: int, cotangent: Tensor | None, count: int | None, create: bool, allow: bool, materialize: bool) -> Tensor | None:
    """The gradient of an input, or what is given where there is none: zeros (for ``count`` cotangents at once), None or an error."""
    if cotangent is None and materialize:
        if edges.is_stand_in(x):
            raise AutogradError("materialize_grads cannot be used when the given input is a GradientEdge")
        cotangent = dispatch.constant(np.zeros(x.array.shape if count is None else (count, *x.array.shape), x.array.dtype))
        cotangent.tracked = create
    if cotangent is None and not allow:
        raise UnusedInputError(f"input {position} was not used to compute the outputs. Set allow_unused=True to get None for it")
    return cotangent


def _batched(outputs: Any, inputs: Any, batches: list[Any], retain: bool, create: bool, allow: bool, materialize: bool) -> tuple[Tensor | None, ...]:
    """The gradients for every position along the first dimension of the cotangents: by one batched program, or by a pass for each where there is none."""
    sizes = {c.array.shape[0] if c is not None and c.array.ndim else 0 for c in batches}
    if len(sizes) != 1 or not (count := sizes.pop()):
        raise ShapeError(f"is_grads_batched: every cotangent must have a first dimension of one extent, found {[c and list(c.shape) for c in batches]}")
    for y, c in zip(listed(outputs), batches, strict=False):
        if c is not None and hasattr(y, "array") and c.array.shape[1:] != y.array.shape:
            raise ShapeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. The sizes of the remaining dimensions"
                f" are expected to match the shape of corresponding output, but found {list(c.shape)} for an output of shape {list(y.shape)}"
            )
    ends, wanted = edges.tensors(outputs), edges.tensors(inputs)
    pairs = list(zip(ends, batches, strict=False))
    if count > 1 and len(ends) == len(batches) and all(y.tracked and c is not None for y, c in pairs) and all(x.tracked for x in wanted):
        gradients = batched_gradients(ends, wanted, batches, retain, create)
        if gradients is not None:
            return tuple(_instead(x, i, g, count, create, allow, materialize) for i, (x, g) in enumerate(zip(wanted, gradients, strict=True)))
    rows = [
        grad(outputs, inputs, [c[i] for c in batches], retain or i + 1 < count, create, allow_unused=allow, materialize_grads=materialize) for i in range(count)
    ]
    return tuple(None if column[0] is None else joining.stack([g for g in column if g is not None]) for column in zip(*rows, strict=True))
