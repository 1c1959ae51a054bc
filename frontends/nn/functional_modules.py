"""Modules that are a function and the options it is called with: ``LeakyReLU(0.1)`` calls ``leaky_relu`` with a slope of 0.1.

Options, their order and their defaults are those of PyTorch's module of the name, but for ``size_average`` and ``reduce``, which ``reduction`` has replaced.
``inplace`` is taken and changes nothing: the result is a new tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter, Signature
from typing import Any, ClassVar

from wengert.eager.errors import ShapeError
from wengert.eager.tensor import Tensor
from wengert.nn import activations
from wengert.nn.functional import FUNCTIONAL
from wengert.nn.losses import nll_loss
from wengert.nn.module import Module
from wengert.nn.padding import interpolate, pad
from wengert.nn.windows import spread

Function = Callable[..., Any]
REQUIRED = Parameter.empty
"""The default of an option that has none."""


class FunctionModule(Module):
    """A function with options, which are attributes; tensors among them are buffers that :meth:`state_dict` leaves out.

    Attributes:
        function: called with the inputs, and by keyword with the options, and with ``training`` if it depends on that.
        options: the parameters of the constructor.
    """

    function: ClassVar[Function]
    options: ClassVar[Signature]
    depends_on_training: ClassVar[bool] = False

    def __init__(self, *args: Any, **keywords: Any):
        try:
            given = self.options.bind(*args, **keywords)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}: {error}; the options are {self.options}") from None
        given.apply_defaults()
        for name, value in given.arguments.items():
            if isinstance(value, Tensor):
                self.register_buffer(name, value, persistent=False)
            else:
                setattr(self, name, value)

    def forward(self, *inputs: Any, **keywords: Any) -> Any:
        options = {name: getattr(self, name) for name in self.options.parameters if name != "inplace"}
        if self.depends_on_training:
            options["training"] = self.training
        return type(self).function(*inputs, **{**options, **keywords})

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in self.options.parameters if name != "inplace")


def _module(name: str, function: Function, options: Mapping[str, Any], *, training: bool = False) -> type[FunctionModule]:
    signature = Signature([Parameter(option, Parameter.POSITIONAL_OR_KEYWORD, default=default) for option, default in options.items()])
    said = (function.__doc__ or f"{name} as a module.").split("\n")[0]
    return type(name, (FunctionModule,), {"function": staticmethod(function), "options": signature, "depends_on_training": training, "__doc__": said})


def _padding(n: int, mode: str) -> Function:
    """More elements around the last n dimensions."""

    def run(x: Tensor, padding: Any, value: float | None = None) -> Tensor:
        if x.ndim not in (n + 1, n + 2):
            raise ShapeError(f"padding over {n} dimensions: expected {n + 1} or {n + 2} dimensions, found {list(x.shape)}")
        return pad(x, spread(padding, 2 * n), mode, value)

    return run


def _softmax_of_channels(x: Tensor) -> Tensor:
    """The softmax over channels at each place of an image."""
    return x.softmax(-3)


def _upsampled(mode: str) -> Function:
    """An image of another size."""

    def run(x: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
        return interpolate(x, size, scale_factor, mode, True if mode == "bilinear" else None)

    return run


_DIRECTIONS = (1, 2, 3)
_REDUCTION = {"reduction": "mean"}
_MAX_POOL = {"kernel_size": REQUIRED, "stride": None, "padding": 0, "dilation": 1, "return_indices": False, "ceil_mode": False}
_AVG_POOL = {"kernel_size": REQUIRED, "stride": None, "padding": 0, "ceil_mode": False, "count_include_pad": True}
_LP_POOL = {"norm_type": REQUIRED, "kernel_size": REQUIRED, "stride": None, "ceil_mode": False}
_FRACTIONAL = {"kernel_size": REQUIRED, "output_size": None, "output_ratio": None, "return_indices": False, "_random_samples": None}

ACTIVATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "LeakyReLU": ("leaky_relu", {"negative_slope": 0.01, "inplace": False}),
    "ELU": ("elu", {"alpha": 1.0, "inplace": False}),
    "CELU": ("celu", {"alpha": 1.0, "inplace": False}),
    "SELU": ("selu", {"inplace": False}),
    "ReLU6": ("relu6", {"inplace": False}),
    "GLU": ("glu", {"dim": -1}),
    "Mish": ("mish", {"inplace": False}),
    "Hardswish": ("hardswish", {"inplace": False}),
    "Hardsigmoid": ("hardsigmoid", {"inplace": False}),
    "Hardtanh": ("hardtanh", {"min_val": -1.0, "max_val": 1.0, "inplace": False}),
    "Hardshrink": ("hardshrink", {"lambd": 0.5}),
    "Softshrink": ("softshrink", {"lambd": 0.5}),
    "Tanhshrink": ("tanhshrink", {}),
    "Softsign": ("softsign", {}),
    "LogSigmoid": ("logsigmoid", {}),
    "Threshold": ("threshold", {"threshold": REQUIRED, "value": REQUIRED, "inplace": False}),
    "Softmin": ("softmin", {"dim": REQUIRED}),
    "LogSoftmax": ("log_softmax", {"dim": REQUIRED}),
}
RANDOM: dict[str, tuple[str, dict[str, Any]]] = {
    "RReLU": ("rrelu", {"lower": 1 / 8, "upper": 1 / 3, "inplace": False}),
    "AlphaDropout": ("alpha_dropout", {"p": 0.5, "inplace": False}),
    "FeatureAlphaDropout": ("feature_alpha_dropout", {"p": 0.5, "inplace": False}),
    **{f"Dropout{n}d": (f"dropout{n}d", {"p": 0.5, "inplace": False}) for n in _DIRECTIONS},
}
"""What is drawn in training only."""
WINDOWS: dict[str, tuple[str, dict[str, Any]]] = {
    **{f"MaxPool{n}d": (f"max_pool{n}d", _MAX_POOL) for n in (1, 3)},
    "AvgPool1d": ("avg_pool1d", _AVG_POOL),
    "AvgPool3d": ("avg_pool3d", {**_AVG_POOL, "divisor_override": None}),
    **{f"LPPool{n}d": (f"lp_pool{n}d", _LP_POOL) for n in _DIRECTIONS},
    **{f"MaxUnpool{n}d": (f"max_unpool{n}d", {"kernel_size": REQUIRED, "stride": None, "padding": 0}) for n in _DIRECTIONS},
    **{f"FractionalMaxPool{n}d": (f"fractional_max_pool{n}d", _FRACTIONAL) for n in (2, 3)},
    **{f"AdaptiveAvgPool{n}d": (f"adaptive_avg_pool{n}d", {"output_size": REQUIRED}) for n in _DIRECTIONS},
    **{f"AdaptiveMaxPool{n}d": (f"adaptive_max_pool{n}d", {"output_size": REQUIRED, "return_indices": False}) for n in _DIRECTIONS},
    "Unfold": ("unfold", {"kernel_size": REQUIRED, "dilation": 1, "padding": 0, "stride": 1}),
    "Fold": ("fold", {"output_size": REQUIRED, "kernel_size": REQUIRED, "dilation": 1, "padding": 0, "stride": 1}),
    "LocalResponseNorm": ("local_response_norm", {"size": REQUIRED, "alpha": 1e-4, "beta": 0.75, "k": 1.0}),
    "PixelShuffle": ("pixel_shuffle", {"upscale_factor": REQUIRED}),
    "PixelUnshuffle": ("pixel_unshuffle", {"downscale_factor": REQUIRED}),
    "ChannelShuffle": ("channel_shuffle", {"groups": REQUIRED}),
    "Upsample": ("interpolate", {"size": None, "scale_factor": None, "mode": "nearest", "align_corners": None, "recompute_scale_factor": None}),
}
PAIRS: dict[str, tuple[str, dict[str, Any]]] = {
    "CosineSimilarity": ("cosine_similarity", {"dim": 1, "eps": 1e-8}),
    "PairwiseDistance": ("pairwise_distance", {"p": 2.0, "eps": 1e-6, "keepdim": False}),
    "L1Loss": ("l1_loss", _REDUCTION),
    "SmoothL1Loss": ("smooth_l1_loss", {**_REDUCTION, "beta": 1.0}),
    "HuberLoss": ("huber_loss", {**_REDUCTION, "delta": 1.0}),
    "BCELoss": ("binary_cross_entropy", {"weight": None, **_REDUCTION}),
    "BCEWithLogitsLoss": ("binary_cross_entropy_with_logits", {"weight": None, **_REDUCTION, "pos_weight": None}),
    "KLDivLoss": ("kl_div", {**_REDUCTION, "log_target": False}),
    "PoissonNLLLoss": ("poisson_nll_loss", {"log_input": True, "full": False, "eps": 1e-8, **_REDUCTION}),
    "GaussianNLLLoss": ("gaussian_nll_loss", {"full": False, "eps": 1e-6, **_REDUCTION}),
    "HingeEmbeddingLoss": ("hinge_embedding_loss", {"margin": 1.0, **_REDUCTION}),
    "SoftMarginLoss": ("soft_margin_loss", _REDUCTION),
    "MarginRankingLoss": ("margin_ranking_loss", {"margin": 0.0, **_REDUCTION}),
    "CosineEmbeddingLoss": ("cosine_embedding_loss", {"margin": 0.0, **_REDUCTION}),
    "MultiMarginLoss": ("multi_margin_loss", {"p": 1, "margin": 1.0, "weight": None, **_REDUCTION}),
    "MultiLabelMarginLoss": ("multilabel_margin_loss", _REDUCTION),
    "MultiLabelSoftMarginLoss": ("multilabel_soft_margin_loss", {"weight": None, **_REDUCTION}),
    "TripletMarginLoss": ("triplet_margin_loss", {"margin": 1.0, "p": 2.0, "eps": 1e-6, "swap": False, **_REDUCTION}),
    "TripletMarginWithDistanceLoss": ("triplet_margin_with_distance_loss", {"distance_function": None, "margin": 1.0, "swap": False, **_REDUCTION}),
    "CTCLoss": ("ctc_loss", {"blank": 0, **_REDUCTION, "zero_infinity": False}),
}
"""Distances and losses."""

MODULES: dict[str, type[FunctionModule]] = {
    **{name: _module(name, FUNCTIONAL[function], options) for table in (ACTIVATIONS, WINDOWS, PAIRS) for name, (function, options) in table.items()},
    **{name: _module(name, FUNCTIONAL[function], options, training=True) for name, (function, options) in RANDOM.items()},
    "Softplus": _module("Softplus", activations.softplus, {"beta": 1.0, "threshold": 20.0}),
    "Softmax": _module("Softmax", activations.softmax, {"dim": REQUIRED}),
    "NLLLoss": _module("NLLLoss", nll_loss, {"weight": None, "ignore_index": -100, **_REDUCTION}),
    "Softmax2d": _module("Softmax2d", _softmax_of_channels, {}),
    "UpsamplingNearest2d": _module("UpsamplingNearest2d", _upsampled("nearest"), {"size": None, "scale_factor": None}),
    "UpsamplingBilinear2d": _module("UpsamplingBilinear2d", _upsampled("bilinear"), {"size": None, "scale_factor": None}),
    **{f"ConstantPad{n}d": _module(f"ConstantPad{n}d", _padding(n, "constant"), {"padding": REQUIRED, "value": REQUIRED}) for n in _DIRECTIONS},
    **{f"ZeroPad{n}d": _module(f"ZeroPad{n}d", _padding(n, "constant"), {"padding": REQUIRED}) for n in _DIRECTIONS},
    **{f"ReflectionPad{n}d": _module(f"ReflectionPad{n}d", _padding(n, "reflect"), {"padding": REQUIRED}) for n in _DIRECTIONS},
    **{f"ReplicationPad{n}d": _module(f"ReplicationPad{n}d", _padding(n, "replicate"), {"padding": REQUIRED}) for n in _DIRECTIONS},
    **{f"CircularPad{n}d": _module(f"CircularPad{n}d", _padding(n, "circular"), {"padding": REQUIRED}) for n in _DIRECTIONS},
}
"""The modules by name."""
