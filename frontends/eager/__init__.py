"""Define-by-run: tensors that compute at once, and whose tape is IR.

    >>> import wengert.eager as eager
    >>> x = eager.tensor(0.5, requires_grad=True)
    >>> y = x.sin() * x.exp()
    >>> y.backward()
    >>> print(f"{x.grad.item():.5f}")
    2.23733

The names and their meaning are those of ``torch`` and ``torch.autograd``.
"""

from importlib import import_module
from typing import Any

# The folder is frontends/eager, the package wengert.eager: under another name every class would exist twice.
if __name__ != "wengert.eager":
    raise ImportError(f"{__name__} has another name: import it as wengert.eager")

import numpy as _np

from wengert.eager import autograd, library
from wengert.eager.checkpoint import checkpoint, checkpoint_sequential
from wengert.eager.checkpoint_switches import GraphExecGroup, set_checkpoint_debug_enabled, set_checkpoint_early_stop
from wengert.eager.compilation.compile import Compiled, compile
from wengert.eager.errors import (
    AnomalyError,
    AutogradError,
    CheckpointError,
    FreedTapeError,
    InferenceTensorError,
    InPlaceError,
    LeafModifiedError,
    ModifiedError,
    NonScalarError,
    NotTrackedError,
    PositionError,
    ShapeError,
    UnusedInputError,
    missing,
)
from wengert.eager.library import fft, linalg, masked, signal, special
from wengert.eager.operations.contraction import addmm
from wengert.eager.operations.creation import (
    Generator,
    arange,
    as_tensor,
    eye,
    from_numpy,
    full,
    is_tensor,
    linspace,
    manual_seed,
    ones,
    rand,
    randint,
    randn,
    randperm,
    tensor,
    zeros,
)
from wengert.eager.operations.einsum import einsum
from wengert.eager.operations.functional import FUNCTIONS, allclose, atan2, equal, is_inference, isfinite, logical_and, logical_not, outer, where
from wengert.eager.operations.joining import cat, stack
from wengert.eager.operations.memory.layout import contiguous_format, device, preserve_format, strided
from wengert.eager.operations.promotion import default_dtype as get_default_dtype
from wengert.eager.operations.promotion import set_default_dtype
from wengert.eager.operations.tensor_classes import CLASSES
from wengert.eager.recording.memory import saved_bytes
from wengert.eager.recording.modes import enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad, set_grad_enabled
from wengert.eager.recording.tape import Tape, tape_of
from wengert.eager.saving import load, save
from wengert.eager.tensor import Tensor

float32, float64, int32, int64, bool_ = (_np.dtype(t) for t in (_np.float32, _np.float64, _np.int32, _np.int64, _np.bool_))


inf, nan, pi, e, newaxis = _np.inf, _np.nan, _np.pi, _np.e, None
_DTYPES = {"bool": bool_, "long": int64, "double": float64, "float": float32, "int": int32} | {
    name: _np.dtype(kind)
    for kind, names in {
        "int8": ("char",), "int16": ("short",), "uint8": ("byte",), "float16": ("half",), "complex64": ("cfloat",), "complex128": ("cdouble",),
    }.items()
    for name in (kind, *names)
}  # fmt: skip


_PACKAGES = ("nn", "optim")
"""Packages that PyTorch has within its own, and that are beside this one here."""
_OF_NN = frozenset(
    (
        *("alpha_dropout", "avg_pool1d", "bilinear", "celu", "channel_shuffle", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d"),
        *("conv_transpose3d", "cosine_similarity", "dropout", "group_norm", "hardshrink", "layer_norm", "max_pool1d", "max_pool2d", "max_pool3d"),
        *("pairwise_distance", "pdist", "pixel_shuffle", "pixel_unshuffle", "prelu", "rms_norm", "rrelu", "selu", "threshold"),
    )
)
"""Functions of ``nn.functional`` that PyTorch has under its own name too, with the same arguments."""


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"wengert.{name}")
    if name in _DTYPES:
        return _DTYPES[name]
    if name in CLASSES:
        return CLASSES[name]
    if name.startswith("_foreach_"):
        return library.foreach(name.removeprefix("_foreach_"))
    function = FUNCTIONS.get(name) or (None if name.startswith("__") else library.functions().get(name))
    if function is None and name in _OF_NN:
        function = getattr(import_module("wengert.nn.functional"), name)
    if function is None and name.endswith("_") and not name.startswith("_") and name[:-1] in {*FUNCTIONS, *library.functions()}:
        function = library.in_place(name)
    if function is None:
        raise missing(f"module 'wengert.eager' has no attribute {name!r}", name, [*__all__, *FUNCTIONS, *library.functions()])
    return function


__all__ = [
    "AnomalyError",
    "AutogradError",
    "CheckpointError",
    "Compiled",
    "FreedTapeError",
    "Generator",
    "GraphExecGroup",
    "InPlaceError",
    "InferenceTensorError",
    "LeafModifiedError",
    "ModifiedError",
    "NonScalarError",
    "NotTrackedError",
    "PositionError",
    "ShapeError",
    "Tape",
    "Tensor",
    "UnusedInputError",
    "addmm",
    "allclose",
    "arange",
    "as_tensor",
    "atan2",
    "autograd",
    "bool_",
    "cat",
    "checkpoint",
    "checkpoint_sequential",
    "compile",
    "contiguous_format",
    "device",
    "einsum",
    "enable_grad",
    "equal",
    "eye",
    "fft",
    "float32",
    "float64",
    "from_numpy",
    "full",
    "get_default_dtype",
    "inference_mode",
    "int32",
    "int64",
    "is_grad_enabled",
    "is_inference",
    "is_inference_mode_enabled",
    "is_tensor",
    "isfinite",
    "linalg",
    "linspace",
    "load",
    "logical_and",
    "logical_not",
    "manual_seed",
    "masked",
    "no_grad",
    "ones",
    "outer",
    "preserve_format",
    "rand",
    "randint",
    "randn",
    "randperm",
    "save",
    "saved_bytes",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_default_dtype",
    "set_grad_enabled",
    "signal",
    "special",
    "stack",
    "strided",
    "tape_of",
    "tensor",
    "where",
    "zeros",
]
