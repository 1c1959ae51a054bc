"""Convolution over images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.dialects.builder import OpBuilder, Value
from wengert.eager.containers import listed
from wengert.eager.errors import ShapeError
from wengert.eager.operations.joining import cat
from wengert.eager.recording import dispatch
from wengert.eager.recording.operation import Operation, register
from wengert.eager.tensor import Tensor
from wengert.ir.tensor_types import shape

OPERATIONS: dict[str, Operation] = {}
Pair = tuple[int, int]


def _convolve(b: OpBuilder, operands: Sequence[Value], given: tuple[Pair, Pair, Pair, int]) -> list[Value]:
    x, w = operands[:2]
    made = b.convolution(x, w, *given)
    if len(operands) == 3:
        made = b.add(made, b.broadcast_in_dim(operands[2], [1], shape(made)))
    return [made]


CONVOLUTION = register(OPERATIONS, "convolution", "ConvolutionBackward0", _convolve)


def pair(value: int | Pair) -> Pair:
    """One number for both directions, or one for each."""
    return (value, value) if isinstance(value, int) else (value[0], value[-1])


def spread(value: Any, n: int) -> list[int]:
    """One number for every direction, or one for each."""
    numbers = listed(value)
    return [int(numbers[0])] * n if len(numbers) == 1 else [int(v) for v in numbers]


def _padded(x: Tensor, name: str, window: Pair, stride: Pair, dilation: Pair) -> tuple[Tensor, Pair]:
    """An input, and how it is to be padded on both sides: one row or column more at the end is put there already."""
    if name == "valid":
        return x, (0, 0)
    if name != "same" or stride != (1, 1):
        raise ShapeError(f"conv2d: padding must be numbers, 'valid', or 'same' for a stride of 1, found {name!r}")
    whole = [(n - 1) * d for n, d in zip(window, dilation, strict=True)]
    for dim, n in zip((2, 3), whole, strict=True):
        if n % 2:
            x = cat([x, x.new_zeros([1 if d == dim else m for d, m in enumerate(x.shape)])], dim)
    return x, (whole[0] // 2, whole[1] // 2)


def check_window(name: str, extents: Sequence[int], window: Sequence[int], padding: Sequence[int], dilation: Sequence[int]) -> None:
    """Raises a ShapeError where a window is larger than the padded input."""
    for n, k, p, d in zip(extents, window, padding, dilation, strict=True):
        if n + 2 * p < (k - 1) * d + 1:
            raise ShapeError(f"{name}: a window of {(k - 1) * d + 1} does not fit the padded extent {n + 2 * p}")


def conv2d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Pair = 1,
    padding: int | Pair | str = 0,
    dilation: int | Pair = 1,
    groups: int = 1,
) -> Tensor:
    """The cross-correlation of ``x: [n, c, h, w]`` with ``weight: [m, c / groups, kh, kw]``, plus ``bias: [m]``; or of one image ``[c, h, w]``.

    ``padding`` may be ``valid`` (none) or ``same``, for results as large as the input.
    """
    if x.ndim == 3:
        return conv2d(x.unsqueeze(0), weight, bias, stride, padding, dilation, groups).squeeze(0)
    a, w = x.shape, weight.shape
    if len(a) != 4 or len(w) != 4 or a[1] != w[1] * groups or w[0] % groups:
        raise ShapeError(f"conv2d: an input of shape {list(a)} and a weight of shape {list(w)} do not go together in {groups} groups")
    if isinstance(padding, str):
        x, padding = _padded(x, padding, (w[2], w[3]), pair(stride), pair(dilation))
    check_window("conv2d", x.shape[2:], w[2:], pair(padding), pair(dilation))
    operands = (x, weight) if bias is None else (x, weight, bias)
    return dispatch.apply(CONVOLUTION, operands, (pair(stride), pair(padding), pair(dilation), groups))
