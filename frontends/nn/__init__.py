"""Layers as functions of eager tensors, with their parameters as containers of tensors.

    >>> import wengert.eager as eager
    >>> import wengert.nn as nn
    >>> layer = {"weight": eager.ones(2, 3, requires_grad=True), "bias": eager.zeros(2, requires_grad=True)}
    >>> nn.linear(eager.ones(1, 3), **layer).tolist()
    [[3.0, 3.0]]

Names, arguments and layouts are those of ``torch.nn.functional``.
"""

# The folder is frontends/nn, the package wengert.nn: under another name every operation would exist twice.
if __name__ != "wengert.nn":
    raise ImportError(f"{__name__} has another name: import it as wengert.nn")

from wengert.nn.activations import dropout, gelu, relu, sigmoid, silu, softmax, softplus, tanh
from wengert.nn.convolution import conv2d
from wengert.nn.layers import embedding, linear
from wengert.nn.losses import cross_entropy, mse_loss, nll_loss
from wengert.nn.normalization import batch_norm, layer_norm

__all__ = [
    "batch_norm",
    "conv2d",
    "cross_entropy",
    "dropout",
    "embedding",
    "gelu",
    "layer_norm",
    "linear",
    "mse_loss",
    "nll_loss",
    "relu",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "tanh",
]
