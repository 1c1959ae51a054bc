"""Layers as functions of eager tensors, with their parameters as containers of tensors, and as modules, which own their parameters.

    >>> import wengert.eager as eager
    >>> import wengert.nn as nn
    >>> layer = {"weight": eager.ones(2, 3, requires_grad=True), "bias": eager.zeros(2, requires_grad=True)}
    >>> nn.linear(eager.ones(1, 3), **layer).tolist()
    [[3.0, 3.0]]
    >>> model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    >>> model(eager.ones(5, 3)).shape
    (5, 2)
    >>> [name for name, _ in model.named_parameters()]
    ['0.weight', '0.bias', '2.weight', '2.bias']

Names, arguments and layouts are those of ``torch.nn.functional`` and ``torch.nn``.
"""

# The folder is frontends/nn, the package wengert.nn: under another name every operation would exist twice.
if __name__ != "wengert.nn":
    raise ImportError(f"{__name__} has another name: import it as wengert.nn")

from importlib import import_module
from typing import Any

from wengert.eager.errors import missing
from wengert.nn import init
from wengert.nn.activations import dropout, gelu, relu, sigmoid, silu, softmax, softplus, tanh
from wengert.nn.containers import DataParallel, ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from wengert.nn.convolution import conv2d
from wengert.nn.convolution_modules import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from wengert.nn.layers import embedding, linear
from wengert.nn.losses import cross_entropy, mse_loss, nll_loss
from wengert.nn.module import Module, Parameter, StateDictError
from wengert.nn.modules import (
    GELU,
    AvgPool2d,
    Bilinear,
    CrossEntropyLoss,
    Dropout,
    Embedding,
    EmbeddingBag,
    Flatten,
    Identity,
    Linear,
    MaxPool2d,
    MSELoss,
    PReLU,
    ReLU,
    Sigmoid,
    SiLU,
    Tanh,
    Unflatten,
)
from wengert.nn.normalization import batch_norm, layer_norm
from wengert.nn.normalization_modules import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    GroupNorm,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    LayerNorm,
    RMSNorm,
)
from wengert.nn.pooling import avg_pool2d, max_pool2d

_LATER = {
    **dict.fromkeys(("GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNCell"), "recurrent"),
    **dict.fromkeys(("MultiheadAttention", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder", "TransformerEncoderLayer"), "transformer"),
}
"""Modules that are loaded when one is first asked for, and where they are."""

_PARTS = {"functional": "functional", "utils": "all_parameters"}
"""Names of PyTorch's for parts of this package, and the modules that they are."""


def __getattr__(name: str) -> Any:
    """Modules and functions beyond those above, which are loaded when one is first asked for."""
    if name.startswith("__"):
        raise AttributeError(name)
    if name in _LATER:
        return getattr(import_module(f"wengert.nn.{_LATER[name]}"), name)
    if name in _PARTS:
        return import_module(f"wengert.nn.{_PARTS[name]}")
    from wengert.nn.functional import FUNCTIONAL

    if name in FUNCTIONAL:
        return FUNCTIONAL[name]
    from wengert.nn.functional_modules import MODULES

    if name not in MODULES:
        raise missing(f"module 'wengert.nn' has no attribute {name!r}", name, [*__all__, *_LATER, *FUNCTIONAL, *MODULES])
    return MODULES[name]


__all__ = [
    "GELU",
    "AvgPool2d",
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "Bilinear",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "CrossEntropyLoss",
    "DataParallel",
    "Dropout",
    "Embedding",
    "EmbeddingBag",
    "Flatten",
    "GroupNorm",
    "Identity",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LayerNorm",
    "Linear",
    "MSELoss",
    "MaxPool2d",
    "Module",
    "ModuleDict",
    "ModuleList",
    "PReLU",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "RMSNorm",
    "ReLU",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "StateDictError",
    "Tanh",
    "Unflatten",
    "avg_pool2d",
    "batch_norm",
    "conv2d",
    "cross_entropy",
    "dropout",
    "embedding",
    "gelu",
    "init",
    "layer_norm",
    "linear",
    "max_pool2d",
    "mse_loss",
    "nll_loss",
    "relu",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "tanh",
]
