"""Functions that read at computed or drawn places: grids, bags of rows, fractional pooling; and the loss over alignments of sequences."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.dialects.builder import OpBuilder
from wengert.eager.containers import listed
from wengert.eager.errors import ShapeError
from wengert.eager.library.calling import Called, aten
from wengert.eager.operations.creation import as_tensor, rand
from wengert.eager.recording import dispatch
from wengert.frontends.aten.calls import call

Function = Callable[..., Any]
_INTERPOLATIONS = {"bilinear": 0, "nearest": 1, "bicubic": 2}
_PADDINGS = {"zeros": 0, "border": 1, "reflection": 2}
_BAGS = {"sum": 0, "mean": 1, "max": 2}
_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}
_GRID = {n: aten(f"grid_sampler_{n}d.default") for n in (2, 3)}
_AFFINE = aten("affine_grid_generator.default")


def _bag(b: OpBuilder, *args: Any) -> Any:
    return call(b, "_embedding_bag_forward_only.default", *args)[0]


_BAG = Called("embedding_bag", _bag, "EmbeddingBagBackward0")
_CTC = {"ints": aten("ctc_loss.IntList"), "tensors": aten("ctc_loss.Tensor")}
_FRACTIONAL = {n: aten(f"fractional_max_pool{n}d.default") for n in (2, 3)}


def _chosen(what: str, name: str, known: dict[str, int]) -> int:
    if name not in known:
        raise ShapeError(f"{what} is one of {', '.join(map(repr, known))}, found {name!r}")
    return known[name]


def grid_sample(x: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None) -> Any:
    """Images ``[n, c, h, w]`` at places ``[n, p, q, 2]`` of [-1, 1], the horizontal one first, or with one dimension more each -> ``[n, c, p, q]``."""
    rank = x.array.ndim - 2
    if rank not in _GRID:
        raise ShapeError(f"grid_sample takes images of two or three dimensions, found a tensor of shape {x.array.shape}")
    given = _chosen("grid_sample: mode", mode, _INTERPOLATIONS), _chosen("grid_sample: padding_mode", padding_mode, _PADDINGS)
    return _GRID[rank](x, grid, *given, bool(align_corners))


def affine_grid(theta: Any, size: Any, align_corners: bool | None = None) -> Any:
    """The places that matrices ``[n, 2, 3]`` move the elements of images of this size to, for :func:`grid_sample`."""
    return _AFFINE(theta, listed(size), bool(align_corners))


def embedding_bag(
    x: Any,
    weight: Any,
    offsets: Any = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:
    """Sums, means or maxima of rows of ``weight: [n, e]``: of the rows of ``x: [bags, m]``, or of ``x: [m]`` from each offset to the next."""
    if max_norm is not None:
        raise ShapeError("embedding_bag: max_norm, which changes the weight in place, is not supported; use a hook or change the weight before the call")
    if x.array.ndim == 2:
        if offsets is not None:
            raise ShapeError("embedding_bag takes offsets with a list of positions only, found a matrix of them")
        rows, count = x.array.shape
        offsets = dispatch.new(np.arange(0, rows * count, count) if count else np.zeros(rows, np.int64))
        x = x.reshape(-1)
        per_sample_weights = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    if offsets is None:
        raise ShapeError("embedding_bag needs offsets with a list of positions")
    padding = -1 if padding_idx is None else padding_idx % weight.array.shape[0]
    kind = _chosen("embedding_bag: mode", mode, _BAGS)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(f"embedding_bag: per_sample_weights are for mode='sum', found mode={mode!r}")
    return _BAG(weight, x, offsets, bool(scale_grad_by_freq), kind, False, per_sample_weights, bool(include_last_offset), padding)


def ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False
) -> Any:
    """Minus the logarithm of the probability of targets, over all alignments with ``log_probs: [t, n, c]`` (Graves et al., 2006)."""
    kind = _chosen("ctc_loss: reduction", reduction, _REDUCTIONS)
    lengths = [input_lengths, target_lengths]
    if not any(hasattr(x, "array") for x in lengths):
        first, second = (tuple(int(n) for n in (x if isinstance(x, list | tuple) else [x])) for x in lengths)
        return _CTC["ints"](log_probs, targets, first, second, blank, kind, bool(zero_infinity))
    first, second = (x if hasattr(x, "array") else as_tensor(np.array(x)) for x in lengths)
    return _CTC["tensors"](log_probs, targets, first, second, blank, kind, bool(zero_infinity))


def fractional_max_pool(n: int, with_positions: bool = False) -> Function:
    """The largest element of windows that begin at random."""

    def run(x: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False, _random_samples: Any = None) -> Any:
        if output_size is None and output_ratio is None:
            raise ValueError(f"fractional_max_pool{n}d requires specifying either an output_size or an output_ratio")
        kernel = [kernel_size] * n if isinstance(kernel_size, int) else listed(kernel_size)
        if output_size is None:
            ratios = [output_ratio] * n if isinstance(output_ratio, float | int) else list(output_ratio)
            output_size = [int(m * r) for m, r in zip(x.array.shape[x.array.ndim - n :], ratios, strict=True)]
        output = [output_size] * n if isinstance(output_size, int) else listed(output_size)
        front = x.array.shape[: x.array.ndim - n]
        samples = rand(*((1, *front) if len(front) == 1 else front), n, dtype=x.array.dtype) if _random_samples is None else _random_samples
        pooled, positions = _FRACTIONAL[n](x, kernel, output, samples)
        return (pooled, positions) if return_indices or with_positions else pooled

    return run


SAMPLING: dict[str, Function] = {
    "grid_sample": grid_sample,
    "affine_grid": affine_grid,
    "embedding_bag": embedding_bag,
    "ctc_loss": ctc_loss,
    **{f"fractional_max_pool{n}d": fractional_max_pool(n) for n in (2, 3)},
    **{f"fractional_max_pool{n}d_with_indices": fractional_max_pool(n, with_positions=True) for n in (2, 3)},
}
