"""Connectionist temporal classification (A. Graves et al., "Connectionist temporal classification: labelling unsegmented sequence data with recurrent
neural networks", 2006).

The loss is minus the logarithm of the sum over all alignments of a target with the frames of an input. The target is written with a blank before, between
and after its classes; a[t, s] is the logarithm of the probability that the first t frames end at place s of it, by a loop over frames.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from wengert.dialects.builder import Value
from wengert.frontends.aten.builder import AtenBuilder
from wengert.frontends.aten.meanings import means
from wengert.frontends.kinks import declared
from wengert.frontends.transforms.control_flow import scan
from wengert.frontends.transforms.differentiation_control import stop_gradient
from wengert.ir.tensor_types import element, i64, shape, tensor
from wengert.numpy import arange, clip, concat, cumulative_sum, exp, full, log, take, take_along_axis, where

_NONE, _MEAN, _SUM = range(3)
_INF = float("inf")


def aligned(given: Mapping[str, Any]) -> tuple[TensorType[Any]]:
    """A number for each sequence, or one."""
    x = given["log_probs"]
    extents = () if given["reduction"] != _NONE or len(shape(x)) < 3 else (shape(x)[1],)
    return (tensor(extents, element(x)),)


def _log_sum(parts: Sequence[Any]) -> Any:
    """log(sum(exp(parts))), without NaN in value or derivative where all are minus infinity."""
    top = parts[0]
    for part in parts[1:]:
        top = where(part > top, part, top)
    top = stop_gradient(top)
    nothing = top == -_INF
    base = where(nothing, 0.0, top)
    summed = sum(where(part == -_INF, 0.0, exp(where(part == -_INF, 0.0, part) - base)) for part in parts)
    return where(nothing, -_INF, log(where(nothing, 1.0, summed)) + base)


def _losses(logs: Any, targets: Any, lengths: Any, target_lengths: Any, blank: int) -> Any:
    """logs: [t, n, c], targets: [n, s], both lengths: [n] -> [n]."""
    frames, n, _ = logs.shape
    s = targets.shape[1]
    blanks = full((n, s, 1), blank, dtype=targets.dtype)
    spread = concat([concat([blanks, targets[:, :, None]], axis=2).reshape((n, 2 * s)), blanks[:, :1, 0]], axis=1) if s else full((n, 1), blank)
    places = arange(2 * s + 1)
    read = take_along_axis(logs, full((frames, 1, 1), 0, dtype=spread.dtype) + spread[None], axis=2)  # [t, n, 2 s + 1]
    within = (places[None] <= 2 * target_lengths[:, None])[None]
    read = where(within, read, -_INF)
    before = -_INF * full((n, 2), 1.0, dtype=logs.dtype)

    def shifted(a: Any, by: int) -> Any:
        return concat([before[:, :by], a[:, : a.shape[1] - by]], axis=1)[:, : a.shape[1]]

    # A blank between two classes may be left out where they differ.
    two_back = concat([full((n, 2), blank, dtype=spread.dtype), spread[:, :-2]], axis=1)[:, : 2 * s + 1] if s else spread
    skips = (spread != two_back) & (places[None] % 2 == 1)
    first = where(places[None] <= 1, read[0], -_INF)

    def step(a: Any, given: Any) -> tuple[Any, Any]:
        t, here = given
        moved = _log_sum([a, shifted(a, 1), where(skips, shifted(a, 2), -_INF)])
        added = where((moved == -_INF) | (here == -_INF), -_INF, moved + here)
        return where((t < lengths)[:, None], added, a), ()

    last, _ = scan(step, first, (arange(1, frames), read[1:])) if frames > 1 else (first, None)
    ends = [take_along_axis(last, where(target_lengths > 0, 2 * target_lengths - k, 0)[:, None], axis=1)[:, 0] for k in (0, 1)]
    log_likelihood = where(target_lengths > 0, _log_sum(ends), last[:, 0])
    # Of no frames, only the empty target is made.
    return where(lengths > 0, -log_likelihood, where(target_lengths > 0, _INF, 0.0))


def _rows(b: AtenBuilder, targets: Value, lengths: Value, longest: int) -> Value:
    """Targets that lie one after another, as rows of as many places as the longest has."""

    def cut(targets: Any, lengths: Any) -> Any:
        first = cumulative_sum(lengths) - lengths
        return take(targets, clip(first[:, None] + arange(longest)[None], 0, targets.shape[0] - 1))

    return b.by_numpy(cut, targets, lengths)


def _loss(b: AtenBuilder, logs: Value, targets: Value, lengths: Value, target_lengths: Value, blank: int) -> Value:
    frames, n, _ = shape(logs)
    losses = b.by_numpy(_losses, logs, targets, lengths, target_lengths, blank)
    # By the frames that count, PyTorch's derivative has exp(log_probs) in addition. On the way back through log_softmax it vanishes: exponentials sum to 1.
    counts = b.compare("LT", b.iota(0, tensor((frames, n), i64)), b.broadcast_in_dim(lengths, [1], (frames, n)))
    finite = b.compare("LT", b.stopped(losses), b.full_like(losses, _INF))
    counts = b.and_(counts, b.broadcast_in_dim(finite, [1], (frames, n)))
    shown = b.along(logs, b.convert(counts, element(logs)), [2])
    extra = declared(b, b.full_like(logs, 0), (logs, b.multiply(b.exponential(logs), shown)))
    return b.add(losses, b.reduce_sum(extra, [0, 2]))


@means(
    "ctc_loss.Tensor(log_probs, targets, input_lengths, target_lengths, blank=0, reduction=1, zero_infinity=False)",
    "ctc_loss.IntList(log_probs, targets, input_lengths, target_lengths, blank=0, reduction=1, zero_infinity=False)",
    results=aligned,
)
def ctc_loss(
    b: AtenBuilder,
    logs: Value,
    targets: Value,
    lengths: Value | Sequence[int],
    target_lengths: Value | Sequence[int],
    blank: int = 0,
    reduction: int = _MEAN,
    zero_infinity: bool = False,
) -> Value:
    """log_probs: [t, n, c], targets: [n, s], or one after another, lengths: [n] -> [n], or its mean by target lengths, or its sum."""
    if len(shape(logs)) == 2:
        logs = b.reshape(logs, [shape(logs)[0], 1, shape(logs)[1]])
    if not shape(logs)[0]:
        raise ValueError("ctc_loss needs one frame at least")
    n = shape(logs)[1]
    known = None if isinstance(target_lengths, SSAValue) else [int(k) for k in target_lengths]
    first, second = (_lengths(b, x, n) for x in (lengths, target_lengths))
    targets = b.convert(targets, i64)
    if len(shape(targets)) == 1:
        longest = shape(targets)[0] if known is None else max(known)
        targets = _rows(b, targets, second, longest) if shape(targets)[0] else b.full(0, tensor((n, 0), i64))
    losses = _loss(b, logs, targets, first, second, blank)
    if zero_infinity:
        infinite = b.compare("EQ", losses, b.full_like(losses, _INF))
        losses = b.select(infinite, b.full_like(losses, 0), losses)
    if reduction == _MEAN:
        counts = b.convert(second, element(losses))
        return b.mean(b.divide(losses, b.maximum(counts, b.full_like(counts, 1))), [0])
    return b.reduce_sum(losses, [0]) if reduction == _SUM else b.reshape(losses, b.extents)


def _lengths(b: AtenBuilder, given: Value | Sequence[int], n: int) -> Value:
    value = given if isinstance(given, SSAValue) else b.constant(np.array(given, np.int64).reshape(-1))
    return b.reshape(b.convert(value, i64), [n])
