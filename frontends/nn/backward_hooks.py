"""Hooks on the backward pass of a module: they see the gradients of its outputs and of its inputs, and may replace them.

The outputs and the inputs of a call go through a function that passes them on, so that there is a node on either side of the module: before the first runs,
the gradients of the outputs are there, and after the second those of the inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from wengert.eager.autograd import Function
from wengert.eager.containers import listed
from wengert.eager.errors import AutogradError
from wengert.eager.tensor import Tensor

if TYPE_CHECKING:
    from wengert.nn.module import Module

Hook = Callable[..., Any]


class BackwardHookFunction(Function):
    """Passes tensors and their gradients on."""

    @staticmethod
    def forward(ctx: Any, *tensors: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx.mark_non_differentiable(*(x for x in tensors if not x.requires_grad))
        return tensors

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        return cotangents


class Sides:
    """The hooks of one call of a module.

    Args:
        module: the module.
        before: hooks that take (module, gradients of the outputs) and may return others.
        after: hooks that take (module, gradients of the inputs, gradients of the outputs) and may return other gradients of the inputs.
    """

    def __init__(self, module: Module, before: Sequence[Hook], after: Sequence[Hook]):
        self.module = module
        self.before = before
        self.after = after
        self._outputs: tuple[Any, ...] | None = None
        self._count = 0
        self._has_inputs = False

    def around_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments of the call, whose gradients are seen."""
        self._count = len(args)
        made, node, places = _passed(args)
        if node is not None:
            self._has_inputs = True
            node.register_hook(partial(self._inputs_are, places))
        return made

    def around_outputs(self, result: Any) -> Any:
        """The result of the call, whose gradients are seen."""
        made, node, places = _passed(tuple(listed(result)))
        if node is None:
            return result
        node.register_prehook(partial(self._outputs_are, len(made), places))
        if isinstance(result, list):
            return list(made)
        return made if isinstance(result, tuple) else made[0]

    def _outputs_are(self, count: int, places: Sequence[int], gradients: Sequence[Any]) -> Any:
        full = _spread(count, places, gradients)
        for hook in self.before:
            changed = hook(self.module, full)
            full = full if changed is None else _as_many(changed, len(full), "full backward pre hook")
        self._outputs = full
        if not self._has_inputs:
            for hook in self.after:
                if hook(self.module, (None,) * self._count, full) is not None:
                    raise AutogradError("a full backward hook cannot replace the gradients of inputs of which none requires one")
            self._outputs = None
        return tuple(full[place] for place in places)

    def _inputs_are(self, places: Sequence[int], gradients: Sequence[Any], _: Sequence[Any]) -> Any:
        if self._outputs is None:  # the gradient did not come through the module: a derivative of its derivative
            return None
        full = _spread(self._count, places, gradients)
        for hook in self.after:
            changed = hook(self.module, full, self._outputs)
            full = full if changed is None else _as_many(changed, len(full), "full backward hook")
        self._outputs = None
        return tuple(full[place] for place in places)


def _passed(values: tuple[Any, ...]) -> tuple[tuple[Any, ...], Any, list[int]]:
    """The values, tensors passed through a node; the node; and the positions of the tensors. No node where no gradient is recorded."""
    places = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
    passed = BackwardHookFunction.apply(*(values[i] for i in places)) if any(values[i].requires_grad for i in places) else ()
    node = next((x.grad_fn for x in passed if x.grad_fn is not None), None)
    if node is None:
        return values, None, places
    made = list(values)
    for place, x in zip(places, passed, strict=True):
        made[place] = x
    return tuple(made), node, places


def _spread(count: int, places: Sequence[int], gradients: Sequence[Any]) -> tuple[Any, ...]:
    """Gradients of all positions: None for what is no tensor."""
    full: list[Any] = [None] * count
    for place, gradient in zip(places, gradients, strict=True):
        full[place] = gradient
    return tuple(full)


def _as_many(changed: Any, count: int, what: str) -> tuple[Any, ...]:
    given = tuple(listed(changed))
    if len(given) != count:
        raise AutogradError(f"a {what} returned {len(given)} gradients, expected {count}")
    return given
