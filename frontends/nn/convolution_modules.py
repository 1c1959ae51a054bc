"""Convolutions as modules. Arguments, names of parameters and the numbers that they start from are PyTorch's."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

from wengert.eager import zeros
from wengert.eager.errors import ShapeError
from wengert.eager.tensor import Tensor
from wengert.nn import convolution, init
from wengert.nn.module import Module, Parameter
from wengert.nn.padding import pad

PADDINGS = {"zeros": "constant", "reflect": "reflect", "replicate": "replicate", "circular": "circular"}
"""What stands around an image, by ``padding_mode``."""


class _Convolution(Module):
    """What convolutions over 1, 2 or 3 dimensions have in common: sizes, ``weight`` and ``bias: [out_channels]``."""

    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: Any
    """Numbers, or "same" or "valid"."""
    output_padding: tuple[int, ...]
    dilation: tuple[int, ...]

    directions: ClassVar[int]
    is_transposed: ClassVar[bool] = False

    @classmethod
    def _function(cls) -> Callable[..., Any]:
        from wengert.nn import windows  # here, as it brings the table of operations, which images do without

        return (windows.transposed_convolution if cls.is_transposed else windows.convolution)(cls.directions)

    def _set(self, channels: tuple[int, int], sizes: dict[str, Any], groups: int, bias: bool, dtype: Any) -> None:
        if channels[0] % groups or channels[1] % groups:
            raise ShapeError(f"{type(self).__name__}: {channels[0]} and {channels[1]} channels are not multiples of {groups} groups")
        self.in_channels, self.out_channels, self.groups = *channels, groups
        for name, size in sizes.items():
            setattr(self, name, size if isinstance(size, str) else tuple(convolution.spread(size, self.directions)))
        kernel = convolution.spread(sizes["kernel_size"], self.directions)
        front = (channels[0], channels[1] // groups) if self.is_transposed else (channels[1], channels[0] // groups)
        self.weight = Parameter(zeros(*front, *kernel, dtype=dtype))
        self.bias = Parameter(zeros(channels[1], dtype=dtype)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws both uniformly within 1 / sqrt(fan_in), which for the weight is He's bound for leaky ReLUs of slope sqrt(5)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(init.fans(self.weight)[0])
            init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        sizes = ", ".join(f"{name}={getattr(self, name)!r}" for name in ("kernel_size", "stride", "padding"))
        return f"{self.in_channels}, {self.out_channels}, {sizes}"


class _Correlation(_Convolution):
    """Cross-correlation. ``weight: [out_channels, in_channels / groups, ...]``; ``padding`` may be "same" or "valid"."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        dtype: Any = None,
    ):
        if padding_mode not in PADDINGS:
            raise ShapeError(f"{type(self).__name__}: padding_mode must be one of {', '.join(PADDINGS)}, found {padding_mode!r}")
        self.padding_mode = padding_mode
        sizes = {"kernel_size": kernel_size, "stride": stride, "padding": padding, "dilation": dilation}
        self._set((in_channels, out_channels), sizes, groups, bias, dtype)

    def forward(self, x: Tensor) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            x, padding = pad(x, self._around(), PADDINGS[self.padding_mode]), 0
        return self._function()(x, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)

    def _around(self) -> list[int]:
        """How many elements stand before and behind, from the last dimension on."""
        if self.padding == "valid":
            return [0] * 2 * self.directions
        if self.padding == "same":
            whole = [(k - 1) * d for k, d in zip(self.kernel_size, self.dilation, strict=True)]
            return [p for w in reversed(whole) for p in (w // 2, w - w // 2)]
        return [p for p in reversed(self.padding) for _ in range(2)]


class Conv1d(_Correlation):
    """Cross-correlation of ``[n, in_channels, length]``, or of one without n, with ``weight: [out_channels, in_channels / groups, kernel_size]``."""

    directions = 1


class Conv2d(_Correlation):
    """Cross-correlation of ``[n, in_channels, h, w]``, or of one image, with ``weight: [out_channels, in_channels / groups, kh, kw]``."""

    directions = 2

    @classmethod
    def _function(cls) -> Callable[..., Any]:
        return convolution.conv2d


class Conv3d(_Correlation):
    """Cross-correlation of ``[n, in_channels, d, h, w]``, or of one without n, with ``weight: [out_channels, in_channels / groups, kd, kh, kw]``."""

    directions = 3


class _Transposed(_Convolution):
    """The transpose of a cross-correlation. ``weight: [in_channels, out_channels / groups, ...]``."""

    is_transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        dtype: Any = None,
    ):
        sizes = {"kernel_size": kernel_size, "stride": stride, "padding": padding, "output_padding": output_padding, "dilation": dilation}
        self._set((in_channels, out_channels), sizes, groups, bias, dtype)

    def forward(self, x: Tensor, output_size: Any = None) -> Tensor:
        more = self.output_padding if output_size is None else self._more(x, output_size)
        return self._function()(x, self.weight, self.bias, self.stride, self.padding, more, self.groups, self.dilation)

    def _more(self, x: Tensor, output_size: Any) -> list[int]:
        """How far the result of this size reaches beyond the least that a stride allows."""
        wanted = list(output_size)[-self.directions :]
        sizes = zip(x.shape[-self.directions :], self.stride, self.padding, self.dilation, self.kernel_size, strict=True)
        least = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, s, p, d, k in sizes]
        more = [w - n for w, n in zip(wanted, least, strict=True)]
        if any(m < 0 or m >= max(s, d) for m, s, d in zip(more, self.stride, self.dilation, strict=True)):
            raise ShapeError(f"{type(self).__name__}: results of {list(x.shape)} have sizes from {least} on, less than a stride more; found {wanted}")
        return more


class ConvTranspose1d(_Transposed):
    """The transpose of :class:`Conv1d`."""

    directions = 1


class ConvTranspose2d(_Transposed):
    """The transpose of :class:`Conv2d`."""

    directions = 2


class ConvTranspose3d(_Transposed):
    """The transpose of :class:`Conv3d`."""

    directions = 3
