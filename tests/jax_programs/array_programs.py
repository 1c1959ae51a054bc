"""Convolutions, windows, reductions, special functions, integers, low precision and random numbers."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.scipy.special as js
from jax import lax
from program_table import Table

P = Table()


def conv(x, w, strides, padding, numbers, **options):
    return lax.conv_general_dilated(x, w, strides, padding, dimension_numbers=numbers, **options)


P("conv_1d", "2x3x8 4x3x3", lambda x, w: conv(x, w, (2,), "SAME", ("NCH", "OIH", "NCH")))
P("conv_nhwc_dilated", "1x7x6x2 3x2x2x3", lambda x, w: conv(x, w, (1, 2), "VALID", ("NHWC", "HWIO", "NHWC"), rhs_dilation=(2, 1)))
P("conv_input_dilated", "1x2x4x3 3x2x2x2", lambda x, w: conv(x, w, (1, 1), ((1, 1), (0, 2)), ("NCHW", "OIHW", "NHWC"), lhs_dilation=(2, 3)))
P("conv_grouped", "2x4x5x5 6x2x3x3", lambda x, w: conv(x, w, (1, 1), "SAME", ("NCHW", "OIHW", "NCHW"), feature_group_count=2))
P("conv_depthwise", "1x6x6x3 3x3x1x6", lambda x, w: conv(x, w, (2, 2), "SAME", ("NHWC", "HWIO", "NHWC"), feature_group_count=3))
P("conv_batch_groups", "4x2x5 6x2x2", lambda x, w: conv(x, w, (1,), "VALID", ("NCH", "OIH", "NCH"), batch_group_count=2))
P("conv_3d", "1x2x4x4x3 3x2x2x3x2", lambda x, w: conv(x, w, (1, 2, 1), ((0, 1), (1, 1), (1, 0)), ("NCDHW", "OIDHW", "NCDHW")))
P("conv_odd_layout", "5x2x6x3 2x3x3x4", lambda x, w: conv(x, w, (1, 1), "SAME", ("HNWC", "HWIO", "CWNH")))
P("conv_negative_padding", "1x2x7 3x2x2", lambda x, w: conv(x, w, (2,), ((-1, 2),), ("NCH", "OIH", "NCH")))
P("conv_transpose_2d", "1x4x4x3 3x3x3x2", lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME"))
P("conv_transpose_1d_valid", "2x5x2 4x2x3", lambda x, w: lax.conv_transpose(x, w, (3,), "VALID", dimension_numbers=("NHC", "HIO", "NHC")))
P("conv_transpose_kernel", "1x4x2 3x3x2", lambda x, w: lax.conv_transpose(x, w, (2,), "SAME", dimension_numbers=("NHC", "HIO", "NHC"), transpose_kernel=True))
P("conv_vmapped", "3x1x5x2 3x3x2x2", jax.vmap(lambda x, w: conv(x, w, (1,), "SAME", ("NHC", "HIO", "NHC"))))
P("convolve_correlate", "7 3", lambda x, k: (jnp.convolve(x, k), jnp.convolve(x, k, mode="same"), jnp.correlate(x, k, mode="valid")))
P("convolve_2d", "5x6 3x2", lambda x, k: (jax.scipy.signal.convolve2d(x, k, mode="full"), jax.scipy.signal.correlate(x, k, mode="same")))
P("max_pool", "1x6x6x2", lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"))
P("max_pool_overlapping_padded", "1x5x6x2", lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME"))
P("avg_pool_same", "1x5x5x1", lambda x: (s := lambda v: lax.reduce_window(v, 0.0, lax.add, (1, 3, 3, 1), (1, 2, 2, 1), "SAME"))(x) / s(jnp.ones_like(x)))
P("min_pool", "2x7", lambda x: lax.reduce_window(x, jnp.inf, lax.min, (1, 3), (1, 2), ((0, 0), (1, 0))))
P("sum_window_dilated", "4x7", lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 3), (1, 1), ((0, 1), (1, 1)), base_dilation=(2, 1), window_dilation=(1, 2)))
P("max_window_dilated", "9", lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (3,), (2,), ((2, 1),), window_dilation=(2,)), primal_only=True)
P("prod_window", "p7", lambda x: lax.reduce_window(x, 1.0, lax.mul, (3,), (2,), "VALID"), primal_only=True)
P("cumulative_ops", "3x5", lambda x: (jnp.cumsum(x, 1), jnp.cumprod(x, 0), lax.cummax(x, 1), lax.cummin(x, 0), lax.cumlogsumexp(x, 1)))
P(
    "cumulative_reverse",
    "3x5",
    lambda x: (lax.cumsum(x, 1, reverse=True), lax.cumprod(x, 0, reverse=True), lax.cummax(x, 1, reverse=True), lax.cumlogsumexp(x, 0, reverse=True)),
)
P("diff_trapezoid", "3x6", lambda x: (jnp.diff(x, n=2), jnp.trapezoid(x, dx=0.1), jnp.gradient(x, axis=1), jnp.ediff1d(x)))
P(
    "reduce_statistics",
    "3x4x2",
    lambda x: (x.std((0, 2)), x.var(1, ddof=1), x.prod(1), jnp.ptp(x, 0), jnp.average(x, 0, weights=jnp.exp(x)), jax.nn.logsumexp(x, 1)),
)
P("reduce_prod_with_zero", "4x3", lambda x: jnp.prod(x.at[1, 1].set(0.0) * x, axis=0))
P("norms", "3x4", lambda x: (*tuple(jnp.linalg.norm(x, o, axis=1) for o in (None, 1, 2, 3, jnp.inf, -jnp.inf)), jnp.linalg.norm(x), jnp.linalg.norm(x, 1)))
P("logsumexp_weights", "3x4 p3x4", lambda x, b: jax.nn.logsumexp(x, axis=1, b=b, keepdims=True))
P("covariance_corr", "3x6", lambda x: (jnp.cov(x), jnp.corrcoef(x)))
P(
    "einsum_forms",
    "2x3x4 4x3 3x3",
    lambda a, b, c: (jnp.einsum("bij,ji->b", a, b), jnp.einsum("bij,jk,kl->bil", a, b, c), jnp.einsum("ii->i", c), jnp.einsum("bij,bkj->bik", a, a)),
)
P("tensordot_outer_kron", "2x3 3x2", lambda a, b: (jnp.tensordot(a, b, ((0, 1), (1, 0))), jnp.outer(a, b), jnp.kron(a, b), jnp.inner(a, b.T), jnp.vdot(a, b.T)))
P("dot_batched", "3x2x4 3x4x5", lambda a, b: lax.dot_general(a, b, (((2,), (1,)), ((0,), (0,)))) + jnp.matmul(a, b).sum(0))
P("cross_vectors", "4x3 4x3", lambda a, b: jnp.cross(a, b))
P("gamma_family", "p6 p6", lambda x, y: (js.gammaln(x), js.digamma(x), js.polygamma(1, x), js.polygamma(2, x), js.betaln(x, y), js.gamma(x), js.factorial(x)))
P("zeta_values", "p4 p4", lambda s, q: js.zeta(s + 2, q), primal_only=True)
P("error_functions", "6", lambda x: (js.erf(x), js.erfc(x), js.erfinv(jnp.tanh(x)), js.log_ndtr(x), js.ndtr(x), js.ndtri(js.ndtr(x) * 0.9 + 0.05)))
P("bessel", "6", lambda x: (js.i0(x), js.i1(x), js.i0e(x), js.i1e(x)), second=False)
P("igamma", "p4", lambda x: (js.gammainc(1.5, x), js.gammaincc(2.5, x)), tolerance=10, second=False)
P("igamma_grad_a", "p3 p3", lambda a, x: js.gammainc(a, x), tolerance=100, second=False)
P("betainc", "u4", lambda x: js.betainc(2.0, 1.5, x), tolerance=10, second=False)
P("entropy_like", "u6 u6", lambda x, y: (js.entr(x), js.xlogy(x, y), js.xlog1py(x, y), js.rel_entr(x, y), js.kl_div(x, y), js.logit(x), js.expit(y)))
P("expint_spence", "p5", lambda x: (js.expi(x), js.exp1(x), js.spence(x + 0.3)), tolerance=100, second=False)
P(
    "unary_tour",
    "s5",
    lambda x: (
        jnp.sinc(x),
        jnp.arcsinh(x),
        jnp.arctanh(x),
        jnp.arcsin(x),
        jnp.arccos(x),
        jnp.arccosh(x + 2.5),
        jnp.cbrt(x),
        jnp.expm1(x),
        jnp.log1p(x),
        jnp.exp2(x),
        jnp.log2(x + 2),
        jnp.tan(x),
        jnp.deg2rad(x),
    ),
)
P(
    "binary_tour",
    "5 p5",
    lambda x, y: (
        jnp.arctan2(x, y),
        jnp.hypot(x, y),
        jnp.logaddexp(x, y),
        jnp.logaddexp2(x, y),
        y**x,
        jnp.fmod(x, y),
        jnp.remainder(x, y),
        jnp.copysign(y, x),
        jnp.float_power(y, 2.5),
        jnp.fmax(x, y),
        jnp.heaviside(x, y),
    ),
)
P("integer_powers", "4", lambda x: (x**0, x**1, x**-2, x**7, lax.integer_pow(x, -3), x**2.0, x**0.5))
P("power_integer_argument", "p4 i4<5", lambda x, n: x**n)
P(
    "rounding_and_clip",
    "6",
    lambda x: (jnp.clip(x, -0.5, 0.7), jnp.floor(3 * x) * x, jnp.round(x, 1) + x, jnp.trunc(x) * x, jnp.sign(x) * x, jnp.nan_to_num(x), jnp.modf(x)[0]),
)
P("frexp_bits", "p5", lambda x: jnp.frexp(x)[0] * x + jnp.frexp(x)[1], primal_only=True)
P("bitcast_roundtrip", "5", lambda x: lax.bitcast_convert_type(lax.bitcast_convert_type(x.astype(jnp.float32), jnp.int32) ^ 0, jnp.float32).astype(x.dtype) * x)
P("integer_arithmetic", "5 i5<-50", lambda x, n: x * ((n // 7) + (n % 7) - (n >> 2) * (n & 5) + (n | 3) ^ lax.population_count(n) + lax.clz(n)))
P(
    "integer_widths",
    "4 i4<200",
    lambda x, n: (
        x
        * (
            n.astype(jnp.int8).astype(x.dtype)
            + n.astype(jnp.uint8) * 2
            + (n.astype(jnp.uint16) << 9).astype(x.dtype)
            + (n.astype(jnp.uint32) * jnp.uint32(0xDEADBEEF) >> 28)
        )
    ),
)
P("pack_unpack_bits", "8 i3<256", lambda x, n: jnp.unpackbits(n.astype(jnp.uint8)).reshape(3, 8) @ x + jnp.packbits(n > 100))
P(
    "fast_inverse_sqrt",
    "p5",
    lambda x: (
        (y := lax.bitcast_convert_type(0x5F3759DF - (lax.bitcast_convert_type(x.astype(jnp.float32), jnp.int32) >> 1), jnp.float32)) * (1.5 - 0.5 * x * y * y)
    ),
)
P("next_after_where", "5", lambda x: jnp.where(jnp.nextafter(x, x + 1) > x, x**2, 0), primal_only=True)
P("bf16_matmul", "h3x4 h4x2", lambda a, b: jnp.tanh(a @ b), second=False)
P("bf16_accumulate_f32", "h3x4 h4x2", lambda a, b: jnp.matmul(a, b, preferred_element_type=jnp.float32), second=False)
P("f16_softmax", "e3x5", lambda x: jax.nn.softmax(x), second=False)
P("bf16_inside", "4x3 3x2", lambda x, w: (x.astype(jnp.bfloat16) @ w.astype(jnp.bfloat16)).astype(x.dtype).sum(0), second=False)
P("mixed_precision_mlp", "4x3 h3x5 e5", lambda x, w, b: jnp.tanh(x.astype(jnp.bfloat16) @ w).astype(jnp.float16) + b, second=False)
P("bf16_reductions", "h4x6", lambda x: (x.sum(0), x.mean(), x.max(1), jnp.cumsum(x, 1)), second=False)
P("f16_layernorm", "e3x6 e6", lambda x, g: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-3) * g, second=False)
P("fake_quantise", "3x4", lambda x: x + lax.stop_gradient(jnp.round(x * 8) / 8 - x), hidden=True)
P("reduce_precision", "5", lambda x: lax.reduce_precision(x, 8, 7) * x, dual=False)
P("float8_cast", "4", lambda x: x.astype(jnp.float8_e4m3fn).astype(x.dtype) * x, second=False)
P("prng_normal", "3", lambda x: x * jax.random.normal(jax.random.key(3), (3,), x.dtype))
P(
    "prng_uniform_split",
    "4",
    lambda x: (ks := jax.random.split(jax.random.key(1), 3)) is not None and sum(jnp.sin(x * jax.random.uniform(k, (4,), x.dtype)) for k in ks),
)
P("prng_seed_argument", "4 i<99", lambda x, s: x * jax.random.normal(jax.random.fold_in(jax.random.key(s), 7), (4,), x.dtype))
P("prng_bernoulli_dropout", "4x5", lambda x: jnp.where(jax.random.bernoulli(jax.random.key(5), 0.7, x.shape), x / 0.7, 0))
P("prng_categorical", "4x3", lambda x: jax.nn.one_hot(jax.random.categorical(jax.random.key(2), x), 3, dtype=x.dtype) * jax.nn.softmax(x))
P("prng_permutation", "6", lambda x: x[jax.random.permutation(jax.random.key(4), 6)] * x)
P("prng_choice_randint", "6", lambda x: x[jax.random.choice(jax.random.key(4), 6, (3,), replace=False)] * x[jax.random.randint(jax.random.key(8), (3,), 0, 6)])
P("prng_gumbel_softmax", "3x4", lambda x: jax.nn.softmax((x + jax.random.gumbel(jax.random.key(0), x.shape, x.dtype)) / 0.5))
P(
    "prng_truncated_exponential",
    "4",
    lambda x: x * jax.random.truncated_normal(jax.random.key(1), -1.0, 2.0, (4,), x.dtype) + x**2 * jax.random.exponential(jax.random.key(2), (4,), x.dtype),
)
P("prng_gamma_constant", "3", lambda x: x * jax.random.gamma(jax.random.key(1), 2.5, (3,), x.dtype), second=False)
P("prng_gamma_reparameterised", "p3", lambda a: jax.random.gamma(jax.random.key(1), a), hidden=True, second=False)
P(
    "prng_dirichlet_poisson",
    "p3",
    lambda a: a * jax.random.dirichlet(jax.random.key(1), jnp.ones(3, a.dtype)) + jax.random.poisson(jax.random.key(3), 2.0, (3,)),
    second=False,
)
P("prng_in_scan", "4", lambda x: lax.scan(lambda c, k: (c * 0.5 + jax.random.normal(k, (4,), x.dtype) * x, c.sum()), x, jax.random.split(jax.random.key(9), 5)))
P(
    "prng_mvn_rademacher",
    "3 m3x3",
    lambda m, c: jax.random.multivariate_normal(jax.random.key(1), m, c) * jax.random.rademacher(jax.random.key(2), (3,), dtype=m.dtype),
)
P("prng_rbg", "4", lambda x: x * jax.random.uniform(jax.random.key(0, impl="rbg"), (4,), x.dtype))
P("complex_arithmetic", "z4 z4", lambda a, b: (a * b.conj() + a / b, jnp.abs(a) ** 2, jnp.angle(a), a.real * b.imag, jnp.exp(1j * a.real)))
P(
    "complex_functions",
    "z4",
    lambda z: (jnp.sin(z), jnp.tanh(z), jnp.log(z), jnp.sqrt(z), z**2, z ** (0.5 + 1j), jnp.exp(z), jnp.cosh(z), 1 / z, jnp.log1p(z), jnp.expm1(z)),
)
P(
    "complex_inverse_functions",
    "z4",
    lambda z: (jnp.arctan(z), jnp.arcsin(z), jnp.arccosh(z), jnp.arcsinh(z), jnp.arctanh(z), jnp.arccos(z)),
    second=False,
    hidden=True,
)
P("complex_matmul", "z3x2 z2x3", lambda a, b: (a @ b, jnp.linalg.norm(a), jnp.vdot(a, b.T), jnp.einsum("ij,ji->", a, b)))
P("complex_reductions", "z3x4", lambda z: (z.sum(0), z.mean(), z.prod(1), jnp.cumsum(z, 1), jnp.cumprod(z, 0), z.var(), z[::-1].T))
P("complex_from_real", "4 4", lambda r, t: lax.complex(r * jnp.cos(t), r * jnp.sin(t)) * 1j)
P("complex_scan", "z5 z", lambda xs, c: lax.scan(lambda c, x: (c * c * 0.3 + x, jnp.abs(c) ** 2), c, xs))
P("complex_select_sort", "z5", lambda z: (jnp.where(z.real > 0, z, z.conj()), z[jnp.argsort(jnp.abs(z))]))
P("fft_family", "z8", lambda z: (jnp.fft.fft(z), jnp.fft.ifft(z, n=6), jnp.fft.fftshift(jnp.fft.fft(z, n=10)), jnp.fft.hfft(z)))
P("rfft_irfft", "3x8", lambda x: (jnp.fft.rfft(x), jnp.fft.irfft(jnp.fft.rfft(x) ** 2, n=8), jnp.fft.irfft(jnp.fft.rfft(x, axis=0), n=3, axis=0)))
P("irfft_of_complex", "z5", lambda z: (jnp.fft.irfft(z), jnp.fft.irfft(z, n=9)))
P("fft_2d_3d", "z2x4x3", lambda z: (jnp.fft.fft2(z), jnp.fft.ifftn(z), jnp.fft.fftn(z.real, axes=(0, 2))))
P("rfft_2d", "4x6", lambda x: (jnp.fft.rfft2(x), jnp.fft.irfft2(jnp.fft.rfft2(x) * jnp.arange(4), s=(4, 6)), jnp.fft.rfftn(x, axes=(0,))))
P("fft_convolution", "8 3", lambda x, k: jnp.fft.irfft(jnp.fft.rfft(x, 12) * jnp.fft.rfft(k, 12), 12)[:10])
P("dct_windowed", "8", lambda x: jax.scipy.fft.dct(x * jnp.hanning(8)))
P("stft_spectrogram", "16", lambda x: jnp.abs(jnp.fft.rfft(jnp.stack([x[i : i + 6] for i in (0, 4, 8)]) * jnp.hamming(6))) ** 2)
P("polynomials", "4 5", lambda c, x: (jnp.polyval(c, x), jnp.polyder(c), jnp.polyint(c), jnp.polymul(c, c), jnp.polyadd(c, x)))
P("polynomial_roots", "p4", lambda c: jnp.sort(jnp.abs(jnp.roots(c, strip_zeros=False))), second=False)
P("polyfit_vander", "6 6", lambda x, y: (jnp.polyfit(x, y, 2), jnp.vander(x, 4)), tolerance=1000, second=False)
P("unwrap_phase", "6", lambda x: jnp.unwrap(4 * x))
