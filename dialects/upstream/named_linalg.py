"""The named ops of ``linalg`` that are a ``linalg.generic``: their iteration spaces, as the indexing maps of MLIR's definitions.

A row says for each operand which dimensions it is indexed by, one letter each. A capital letter is a window's dimension, and a small letter whose
capital occurs in the row stands in the input for ``stride * small + dilation * capital``, as in ``nw wc`` for a convolution over ``w``.
"""

from __future__ import annotations

CONTRACTIONS: dict[str, str] = {
    "batch_matmul": "bmk bkn bmn",
    "batch_matvec": "bmk bk bm",
    "batch_mmt4d": "bmkpr bnkqr bmnpq",
    "batch_reduce_matmul": "bmk bkn mn",
    "batch_vecmat": "bk bkn bn",
    "dot": "m m ",
    "matmul": "mk kn mn",
    "matmul_transpose_a": "km kn mn",
    "matmul_transpose_b": "mk nk mn",
    "batch_matmul_transpose_a": "bkm bkn bmn",
    "batch_matmul_transpose_b": "bmk bnk bmn",
    "matvec": "mn n m",
    "mmt4d": "mkpr nkqr mnpq",
    "vecmat": "m mn n",
    "quantized_batch_matmul": "bmk bkn bmn",
    "quantized_matmul": "mk kn mn",
}
"""Sums of products: what they read and where they add."""

CONVOLUTIONS: dict[str, str] = {
    "conv_1d": "w W w",
    "conv_2d": "hw HW hw",
    "conv_3d": "dhw DHW dhw",
    "conv_1d_ncw_fcw": "ncw fcW nfw",
    "conv_1d_nwc_wcf": "nwc Wcf nwf",
    "conv_2d_nchw_fchw": "nchw fcHW nfhw",
    "conv_2d_nchw_fchw_q": "nchw fcHW nfhw",
    "conv_2d_ngchw_fgchw": "ngchw fgcHW ngfhw",
    "conv_2d_ngchw_gfchw": "ngchw gfcHW ngfhw",
    "conv_2d_ngchw_gfchw_q": "ngchw gfcHW ngfhw",
    "conv_2d_nhwc_fhwc": "nhwc fHWc nhwf",
    "conv_2d_nhwc_fhwc_q": "nhwc fHWc nhwf",
    "conv_2d_nhwc_hwcf": "nhwc HWcf nhwf",
    "conv_2d_nhwc_hwcf_q": "nhwc HWcf nhwf",
    "conv_2d_nhwgc_gfhwc": "nhwgc gfHWc nhwgf",
    "conv_2d_nhwgc_gfhwc_q": "nhwgc gfHWc nhwgf",
    "conv_3d_ncdhw_fcdhw": "ncdhw fcDHW nfdhw",
    "conv_3d_ndhwc_dhwcf": "ndhwc DHWcf ndhwf",
    "conv_3d_ndhwc_dhwcf_q": "ndhwc DHWcf ndhwf",
    "depthwise_conv_1d_ncw_cw": "ncw cW ncw",
    "depthwise_conv_1d_nwc_wc": "nwc Wc nwc",
    "depthwise_conv_1d_nwc_wcm": "nwc Wcm nwcm",
    "depthwise_conv_2d_nchw_chw": "nchw cHW nchw",
    "depthwise_conv_2d_nhwc_hwc": "nhwc HWc nhwc",
    "depthwise_conv_2d_nhwc_hwc_q": "nhwc HWc nhwc",
    "depthwise_conv_2d_nhwc_hwcm": "nhwc HWcm nhwcm",
    "depthwise_conv_2d_nhwc_hwcm_q": "nhwc HWcm nhwcm",
    "depthwise_conv_3d_ncdhw_cdhw": "ncdhw cDHW ncdhw",
    "depthwise_conv_3d_ndhwc_dhwc": "ndhwc DHWc ndhwc",
    "depthwise_conv_3d_ndhwc_dhwcm": "ndhwc DHWcm ndhwcm",
}
"""Convolutions: input, filter and output."""

POOLINGS: dict[str, str] = {
    "pooling_nchw_max": "nchw HW nchw",
    "pooling_nchw_sum": "nchw HW nchw",
    "pooling_ncw_max": "ncw W ncw",
    "pooling_ncw_sum": "ncw W ncw",
    "pooling_ndhwc_max": "ndhwc DHW ndhwc",
    "pooling_ndhwc_min": "ndhwc DHW ndhwc",
    "pooling_ndhwc_sum": "ndhwc DHW ndhwc",
    "pooling_nhwc_max": "nhwc HW nhwc",
    "pooling_nhwc_max_unsigned": "nhwc HW nhwc",
    "pooling_nhwc_min": "nhwc HW nhwc",
    "pooling_nhwc_min_unsigned": "nhwc HW nhwc",
    "pooling_nhwc_sum": "nhwc HW nhwc",
    "pooling_nwc_max": "nwc W nwc",
    "pooling_nwc_max_unsigned": "nwc W nwc",
    "pooling_nwc_min": "nwc W nwc",
    "pooling_nwc_min_unsigned": "nwc W nwc",
    "pooling_nwc_sum": "nwc W nwc",
}
"""Reductions over windows: input, a tensor of the window's shape, output."""

UNARY = ("abs", "ceil", "erf", "exp", "floor", "log", "negf", "reciprocal", "round", "rsqrt", "sqrt", "square", "tanh")
"""Elementwise ops of one operand."""
BINARY = ("add", "div", "div_unsigned", "max", "max_unsigned", "min", "min_unsigned", "mul", "powf", "sub")
"""Elementwise ops of two operands; ``min_unsigned`` and ``max_unsigned`` are kinds of ``linalg.elementwise``."""
TERNARY = ("select",)
"""Elementwise ops of three operands."""
ELEMENTWISE = (*UNARY, *BINARY, *TERNARY)
REFUSED = ("fill_rng_2d", "winograd_filter_transform", "winograd_input_transform", "winograd_output_transform")
"""Named ops that are read and have no meaning here."""
STRUCTURED = (*CONTRACTIONS, *CONVOLUTIONS, *POOLINGS, *ELEMENTWISE, *REFUSED, "copy", "contract", "elementwise", "fill", "softmax", "broadcast", "transpose")
"""Ops with ``ins(...) outs(...)``."""
