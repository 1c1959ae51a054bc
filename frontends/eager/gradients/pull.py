"""The step of a backward pass over one record: hooks, and the record's own derivative, which takes the cotangents of its results to those of its operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.eager.containers import listed
from wengert.eager.errors import AutogradError
from wengert.eager.graph import on_tape
from wengert.eager.recording import dispatch
from wengert.eager.recording.modes import STATE
from wengert.eager.recording.operation import Operation, Signature
from wengert.eager.recording.program import inline
from wengert.eager.recording.record import Record

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor


def run_hooks(hooks: Sequence[Callable[[Tensor], Tensor | None]], cotangent: Tensor) -> Tensor:
    """The cotangent after hooks, each of which may replace it."""
    for hook in list(hooks):
        _only_once("a hook")
        replacement: Any = hook(cotangent)
        if replacement is not None:
            if not hasattr(replacement, "array"):
                raise AutogradError(f"a hook returned a {type(replacement).__name__}, expected a tensor or None")
            if replacement.array.shape != cotangent.array.shape:
                raise AutogradError(f"a hook returned a gradient of shape {list(replacement.array.shape)}, expected {list(cotangent.array.shape)}")
            cotangent = replacement
    return cotangent


def run_hooks_on_nothing(hooks: Sequence[Callable[[Any], Tensor | None]]) -> None:
    """Tells hooks that there is no cotangent, in the place of which they cannot put one."""
    for hook in list(hooks):
        _only_once("a hook")
        if hook(None) is not None:
            raise AutogradError("a hook cannot replace a gradient that is None by a tensor")


def _only_once(what: str) -> None:
    if STATE.tape is not None:
        STATE.tape.only_once(f"{what} ran in its backward pass")


def before_node(record: Record, cotangents: list[Tensor | None]) -> list[Tensor | None]:
    """The cotangents of a record's results after hooks that run before it."""
    for hook in list(record.node_prehooks or ()):
        _only_once("a hook")
        replacements = hook(tuple(cotangents))
        if replacements is not None:
            given = listed(replacements)
            if len(given) != len(cotangents):
                raise AutogradError(f"a hook before {record.name()} returned {len(given)} gradients, expected {len(cotangents)}")
            cotangents = given
    return cotangents


def after_node(record: Record, arrived: Sequence[Tensor | None], cotangents: Sequence[Tensor | None]) -> Sequence[Tensor | None]:
    """The cotangents of a record's operands after hooks that run after it."""
    chosen = record.signature.operation.differentiable
    edges: list[Any] = list(arrived[chosen])
    for hook in list(record.node_hooks or ()):
        _only_once("a hook")
        replacements = hook(tuple(edges), tuple(cotangents))
        if replacements is not None:
            given = listed(replacements)
            if len(given) != len(edges):
                raise AutogradError(f"a hook on {record.name()} returned {len(given)} gradients, expected {len(edges)}")
            edges = given
    result = list(arrived)
    result[chosen] = edges
    return result


def pull(record: Record, cotangents: Sequence[Tensor | None], create: bool) -> list[Tensor | None]:
    """The cotangents of a record's operands from those of its results."""
    own = getattr(record, "pull", None)
    if own is not None:
        return own(cotangents, create)
    signature = record.signature
    saved = dict(zip(signature.keeps, record.kept(), strict=True))
    if any(c is not None for i, c in enumerate(cotangents) if i not in signature.differentiable):
        signature = signature.complete
    present = tuple(i for i in signature.differentiable if cotangents[i] is not None)
    if present != signature.differentiable:
        signature = signature.reaching(present)
    given = [_converted(c, signature.results[i][1]) for i, c in enumerate(cotangents) if c is not None]
    types = (*signature.types, *signature.results)
    pulled: Sequence[Tensor]
    if create or STATE.tape is not None:
        operands = [on_tape(record, position, saved[position][0]) for position in signature.keeps]
        pulled = dispatch.apply_many(pullback(signature), (*operands, *given))
    else:
        arrays = [np.asarray(saved[position][0], types[position][1]) for position in signature.keeps]
        pulled = [dispatch.new(array) for array in signature.backward(*arrays, *(c.array for c in given))]
    arrived: list[Tensor | None] = [None] * len(record.inputs)
    for position, cotangent, unreached in zip(signature.wanted, pulled, signature.unreached, strict=True):
        if not unreached:
            arrived[position] = cotangent
    return arrived


def _converted(cotangent: Tensor, dtype: np.dtype[Any]) -> Tensor:
    return cotangent if cotangent.array.dtype == dtype else cotangent.to(dtype)


def pullback(signature: Signature) -> Operation:
    """The derivative of an operation as an operation itself, so that it can be recorded and differentiated again."""
    if signature.pullback is None:
        base = signature.operation
        module = signature.backward.module
        signature.pullback = Operation(f"{base.name}_backward", f"{base.node}Backward", lambda b, operands, _: inline(b, module, operands), exact_zeros=False)
    return signature.pullback
