"""Functions written once for ``wengert.numpy`` and ``jax.numpy``: of an array namespace, of transforms, and of arrays.

Arguments are written as in the table of JAX programs (``program_table``). ``second`` says whether second derivatives are compared.
"""

from __future__ import annotations

from program_table import Table

P = Table()
NO_REVERSE, NO_FORWARD = set[str](), set[str]()
"""Functions that JAX does not differentiate in reverse, and in forward mode."""


def F(name, arguments, function, reverse=True, forward=True, **options):
    P(name, arguments, function, **options)
    if not reverse:
        NO_REVERSE.add(name)
    if not forward:
        NO_FORWARD.add(name)


# -- elementwise

for name in "sin cos tan tanh sinh cosh exp expm1 atan asinh square negative positive abs".split():
    F(name, "3x2", lambda xp, t, x, name=name: getattr(xp, name)(x))
for name in "log log1p log2 log10 sqrt reciprocal".split():
    F(name, "p4", lambda xp, t, x, name=name: getattr(xp, name)(x))
for name in "asin acos atanh".split():
    F(name, "s4", lambda xp, t, x, name=name: getattr(xp, name)(x))
for name in "add subtract multiply divide maximum minimum hypot atan2 logaddexp remainder".split():
    F(name, "3x1 4", lambda xp, t, x, y, name=name: getattr(xp, name)(x, y))
for name in "ceil floor trunc round sign isnan isfinite signbit".split():
    F(name, "4", lambda xp, t, x, name=name: getattr(xp, name)(3 * x) * x)
for name in "equal not_equal less less_equal greater greater_equal".split():
    F(name, "4 4", lambda xp, t, x, y, name=name: xp.where(getattr(xp, name)(x, y), x * y, x + y))
for name in "erf erfc lgamma digamma logistic".split():
    F(name, "p4", lambda xp, t, x, name=name: getattr(t.special, name)(x))
F("acosh", "p4", lambda xp, t, x: xp.acosh(x + 1.5))
F("pow", "p3 3", lambda xp, t, x, y: x**y + x**2 + x**-3 + 2.0**y)
F("pow_at_zero", "3", lambda xp, t, x: (x * 0.0) ** 2 + (x * 0.0) ** 1 + x**3)
F("floor_divide", "4", lambda xp, t, x: (x // 0.3) * x + x % 0.7)
F("clip", "5", lambda xp, t, x: xp.clip(x, -0.5, 0.7) * x)
F("copysign_nextafter", "4 4", lambda xp, t, x, y: xp.copysign(x, y) + 0.0 * xp.nextafter(t.stop_gradient(x), t.stop_gradient(y)))
F("logic", "4 4", lambda xp, t, x, y: xp.where(xp.logical_and(x > 0, xp.logical_not(y > 0)), xp.sin(x), y**2) + xp.where((x > 1) | (y > 1), x, -y))
F("integers", "4 i4<7", lambda xp, t, x, i: x * (i // 2) + x * (i % 3) + x * (i << 1) + x * (i & 3) - x * (i ^ 5) + x * (~i))
F("complex_parts", "4", lambda xp, t, x: (lambda z: xp.real(z * xp.conj(z)) + xp.imag(z * z) + xp.abs(z + 2))(x + 1j * xp.sin(x)))
F("complex_exp", "3 3", lambda xp, t, x, y: xp.real(xp.exp((x + 1j * y) * (0.3 - 0.5j))))
F("scalars_mixed", "f 3", lambda xp, t, a, x: (1 + a * x - 2.5) / (3 - x * 0.25) + (a > 0) * x)
F("where_safe", "4", lambda xp, t, x: xp.where(x > 0, xp.sqrt(xp.where(x > 0, x, 1.0)), 0.0))

# -- reductions

for name in "sum prod mean var std max min".split():
    F(f"{name}_axis", "3x4", lambda xp, t, x, name=name: getattr(xp, name)(x, axis=1))
    F(f"{name}_keepdims", "2x3x2", lambda xp, t, x, name=name: x * getattr(xp, name)(x, axis=(0, 2), keepdims=True))
F("sum_all", "3x4", lambda xp, t, x: xp.sum(x) * x)
F("sum_integers", "3 i3<5", lambda xp, t, x, i: x * xp.sum(i) + xp.mean(xp.astype(i, xp.float64)))
F("var_correction", "3x5", lambda xp, t, x: xp.var(x, axis=1, correction=1) + xp.std(x, axis=1, correction=1))
F("all_any", "4", lambda xp, t, x: xp.where(xp.any(x > 0) & xp.all(x < 5), x, 2 * x))
F("count_nonzero", "4", lambda xp, t, x: x * xp.count_nonzero(x > 0))
F("cumulative_sum", "3x4", lambda xp, t, x: xp.cumulative_sum(x, axis=1) ** 2)
F("cumulative_sum_initial", "5", lambda xp, t, x: xp.cumulative_sum(x, include_initial=True) ** 2)
F("cumulative_prod", "4", lambda xp, t, x: xp.cumulative_prod(x))
F("diff", "6", lambda xp, t, x: xp.diff(x, n=2) ** 2)
F("logsumexp_softmax", "3x4", lambda xp, t, x: (t.special.logsumexp(x, axis=1), t.special.softmax(x, axis=0), t.special.log_softmax(x, axis=1)))
F("average_weights", "4 p4", lambda xp, t, x, w: xp.sum(x * w) / xp.sum(w))

# -- manipulation

F("reshape", "3x4", lambda xp, t, x: xp.reshape(x, (2, -1)) ** 2)
F("permute_dims", "2x3x4", lambda xp, t, x: xp.permute_dims(x, (2, 0, 1)) ** 2)
F("moveaxis_swap", "2x3x4", lambda xp, t, x: xp.sin(xp.moveaxis(x, 0, -1)) + xp.swapaxes(x, 0, 1).mT ** 2)
F("transpose_attributes", "3x4", lambda xp, t, x: x.T @ x + (x.mT @ x) ** 2)
F("expand_squeeze", "3", lambda xp, t, x: xp.squeeze(xp.expand_dims(x, axis=0) * xp.expand_dims(x, axis=1)[None], axis=0))
F("broadcast", "3", lambda xp, t, x: xp.broadcast_to(x, (2, 3)) * xp.broadcast_arrays(x[:, None], x)[0][:2])
F("concat", "2x3 4x3", lambda xp, t, x, y: xp.concat([x, y, x * y[:2]], axis=0) ** 2)
F("concat_flat", "2x3 2", lambda xp, t, x, y: xp.concat([x, y], axis=None) ** 2)
F("stack", "3 3", lambda xp, t, x, y: xp.stack([x, y, x * y], axis=1) ** 2)
F("unstack", "3x2", lambda xp, t, x: (lambda a, b, c: a * b + xp.sin(c))(*xp.unstack(x)))
F("flip_roll", "3x4", lambda xp, t, x: xp.flip(x, axis=1) * xp.roll(x, 1, axis=0) + xp.roll(x, 5))
F("repeat_tile", "3", lambda xp, t, x: xp.repeat(x, 2) * xp.tile(x, 2))
F(
    "repeat_counts",
    "3",
    lambda xp, t, x: xp.repeat(x, t.constant([1, 0, 3]), total_repeat_length=4) ** 2 if t.is_jax else xp.repeat(x, t.constant([1, 0, 3])) ** 2,
)
F("pad", "2x3", lambda xp, t, x: xp.pad(x, ((1, 0), (2, 1)), constant_values=2.0) ** 2)
F("tril_triu", "4x4", lambda xp, t, x: xp.tril(x, k=-1) * 2 + xp.triu(x, k=1) ** 2)
F("meshgrid", "3 2", lambda xp, t, x, y: (lambda a, b: a * b)(*xp.meshgrid(x, y)))
F("meshgrid_ij", "3 2", lambda xp, t, x, y: (lambda a, b: a**2 * b)(*xp.meshgrid(x, y, indexing="ij")))
F("linspace_traced", "f f", lambda xp, t, a, b: xp.linspace(a, b, 5) ** 2)
F("creation", "3", lambda xp, t, x: x * xp.arange(3) + xp.zeros_like(x) + xp.full((3,), 2.0) @ xp.eye(3) + xp.ones(3) * xp.full((3,), x[0]))
F("asarray_nested", "2", lambda xp, t, x: xp.asarray([[x[0], 1.0], [x[1], x[0] * x[1]]]) ** 2)
F("astype", "4", lambda xp, t, x: xp.astype(xp.astype(x, xp.float32), xp.float64) * xp.astype(x > 0, xp.float64), tolerance=1e4)

# -- indexing

F("slices", "5x6", lambda xp, t, x: x[1:4, ::2] ** 2 + x[::-2, 5:0:-2])
F("slices_new_axes", "3x4", lambda xp, t, x: x[None, 1, ..., None] * x[2, None, :, None])
F("integer_index", "3x4", lambda xp, t, x: x[1] * x[-1] + x[0, 2] * x[..., 1][1])
F("traced_index", "5x3 i<5", lambda xp, t, x, i: x[i] ** 2 + x[i, 1] * x[i - 5, 2])
F("index_array", "5x3 i4<5", lambda xp, t, x, i: x[i] ** 2)
F("index_array_column", "5x3 i4<3", lambda xp, t, x, i: x[:, i] ** 2)
F("index_arrays_together", "5x3x2 i4<5 i4<3", lambda xp, t, x, i, j: x[i, j] ** 2)
F("index_arrays_apart", "4x3x5 i2<4 i2<5", lambda xp, t, x, i, j: x[i, :, j] ** 2)
F("index_arrays_broadcast", "5x4 i3<5 i2<4", lambda xp, t, x, i, j: x[i[:, None], j[None, :]] ** 2)
F("index_scalar_and_array", "4x5x3 i2<5", lambda xp, t, x, i: x[1, i].T @ x[:2, i, 0])
F("index_concrete_mask", "5", lambda xp, t, x: x[t.constant([True, False, True, True, False])] ** 2)
F("index_concrete_list", "5x2", lambda xp, t, x: x[t.constant([3, 0, 3])] ** 2)
F("take", "4x3 i5<3", lambda xp, t, x, i: xp.take(x, i, axis=1) ** 2)
F("take_along_axis", "4x3 i4x2<3", lambda xp, t, x, i: xp.take_along_axis(x, i, axis=1) ** 2)
F("at_set", "4x3", lambda xp, t, x: x.at[1:3, 0].set(x[0, 1] ** 2) * x)
F("at_set_dynamic", "5x2 i<5", lambda xp, t, x, i: x.at[i].set(x[0] ** 2) * x)
F("at_add_repeated", "5 i6<5 6", lambda xp, t, x, i, y: x.at[i].add(y**2) * x)
F("at_multiply", "5 3", lambda xp, t, x, y: x.at[1:4].multiply(y), second=False)
F("at_max", "5 3", lambda xp, t, x, y: x.at[t.constant([0, 2, 4])].max(y), second=False)
F("at_strided", "6", lambda xp, t, x: x.at[::2].add(x[1::2] ** 2))
F("iterate_rows", "3x2", lambda xp, t, x: sum((row**2 for row in x), xp.zeros(2)))

# -- searching and sorting

F("argmax", "3x4", lambda xp, t, x: x[:, 0] * xp.argmax(x, axis=1) + x[:, 1] * xp.argmin(x, axis=1))
F("sort", "3x5", lambda xp, t, x: xp.sort(x, axis=1) * xp.arange(5))
F("sort_first_axis", "5x3", lambda xp, t, x: xp.sort(x, axis=0) ** 2)
F("sort_descending", "6", lambda xp, t, x: xp.sort(x, descending=True) * xp.arange(6))
F("argsort", "6", lambda xp, t, x: x * xp.argsort(x) + x * xp.argsort(x, descending=True))
F("searchsorted", "5 4", lambda xp, t, x, y: y * xp.searchsorted(xp.sort(x), y) + y * xp.searchsorted(xp.sort(x), y, side="right"))

# -- linear algebra

F("matmul", "3x4 4x2", lambda xp, t, x, y: x @ y)
F("matmul_vectors", "3x4 4 3", lambda xp, t, a, x, y: (a @ x) * (y @ a @ x))
F("matmul_batched", "2x3x4 2x4x2", lambda xp, t, x, y: xp.matmul(x, y) ** 2)
F("matmul_broadcast", "3x4 2x4x2", lambda xp, t, x, y: x @ y)
F("matmul_batch_vector", "4 2x4x2", lambda xp, t, x, y: x @ y)
F("tensordot", "2x3x4 4x3", lambda xp, t, x, y: xp.tensordot(x, y, axes=([1, 2], [1, 0])) + xp.sum(xp.tensordot(x, y, axes=1)))
F("vecdot_outer", "3 3", lambda xp, t, x, y: xp.vecdot(x, y) * xp.linalg.outer(x, y))
F("cross", "2x3 2x3", lambda xp, t, x, y: xp.linalg.cross(x, y))
F("diagonal_trace", "4x3", lambda xp, t, x: xp.linalg.diagonal(x, offset=-1) ** 2 * xp.linalg.trace(x))
F("einsum_matrix", "2x3x4 2x4x3", lambda xp, t, x, y: xp.einsum("bij,bjk->bik", x, y))
F("einsum_three", "3x4 4x5 5x2", lambda xp, t, x, y, z: xp.einsum("ij,jk,kl->il", x, y, z))
F("einsum_trace", "3x3 3", lambda xp, t, x, y: xp.einsum("ii,i", x, y) + xp.einsum("ii->i", x) + xp.einsum("...i->...", x))
F("cholesky", "m3x3", lambda xp, t, a: xp.linalg.cholesky(a))
F("cholesky_upper_batched", "m2x3x3", lambda xp, t, a: xp.linalg.cholesky(a, upper=True))
F("solve", "m3x3 3x2", lambda xp, t, a, b: xp.linalg.solve(a, b))
F("solve_vector_batched", "m2x3x3 2x3x1", lambda xp, t, a, b: xp.linalg.solve(a + 0.3 * xp.triu(a), b))
F("solve_column", "3x3 3", lambda xp, t, a, b: xp.linalg.solve(a, b), tolerance=1e3)
F("solve_shared", "m3x3 2x3x2", lambda xp, t, a, b: xp.linalg.solve(a, b))
F("inv", "m3x3", lambda xp, t, a: xp.linalg.inv(a))
F("det_slogdet", "m2x3x3", lambda xp, t, a: xp.linalg.det(a) + xp.linalg.slogdet(a)[1])
F("det_negative", "3x3", lambda xp, t, a: xp.linalg.det(a) * xp.linalg.slogdet(a)[0])
F("qr", "4x3", lambda xp, t, a: (lambda q, r: (q**2, r))(*xp.linalg.qr(a)), tolerance=1e2)
F("eigh", "m3x3", lambda xp, t, a: (lambda w, v: (w, v**2))(*xp.linalg.eigh(a)), tolerance=1e2)
F("eigvalsh", "m2x3x3", lambda xp, t, a: xp.linalg.eigvalsh(a), tolerance=1e2)
F("svdvals", "4x3", lambda xp, t, a: xp.linalg.svdvals(a), tolerance=1e2)
F("svd", "3x4", lambda xp, t, a: (lambda u, s, v: (u @ (s[:, None] * v), s))(*xp.linalg.svd(a, full_matrices=False)), tolerance=1e2)
F("pinv_power", "4x3 m3x3", lambda xp, t, a, b: (xp.linalg.pinv(a), xp.linalg.matrix_power(b, 3), xp.linalg.matrix_power(b, -2)), tolerance=1e3)
F("vector_norms", "3x4", lambda xp, t, x: tuple(xp.linalg.vector_norm(x, axis=1, ord=o) for o in (1, 2, 3, float("inf"), -float("inf"))))
F("matrix_norms", "3x3", lambda xp, t, x: tuple(xp.linalg.matrix_norm(x, ord=o) for o in ("fro", "nuc", 1, 2, float("inf"))), tolerance=1e2)

# -- Fourier

F("fft", "6", lambda xp, t, x: (lambda z: xp.real(z) ** 2 + xp.imag(z))(xp.fft.fft(x)))
F("fft_padded", "2x5", lambda xp, t, x: xp.abs(xp.fft.fft(x, n=8, axis=1, norm="ortho") + 1))
F("ifft", "6", lambda xp, t, x: xp.real(xp.fft.ifft(x + 1j * x**2)) ** 2)
F("rfft", "7", lambda xp, t, x: xp.abs(xp.fft.rfft(x) + 3) ** 2)
F("irfft", "4 4", lambda xp, t, x, y: xp.fft.irfft(x + 1j * y) ** 2)
F("fftn", "3x4", lambda xp, t, x: xp.real(xp.fft.fftn(x) * xp.fft.ifftn(x)) + xp.real(xp.fft.fftshift(xp.fft.fftn(x, axes=(1,)))))
F("spectral_filter", "8", lambda xp, t, x: xp.fft.irfft(xp.fft.rfft(x) * xp.exp(-xp.fft.rfftfreq(8)), n=8))

# -- control flow

F("cond", "f 3", lambda xp, t, a, x: t.cond(a > 0, lambda u: xp.sin(u) * a, lambda u: u**2, x))
F("cond_captures", "3 3", lambda xp, t, x, y: t.cond(xp.sum(x) > 0, lambda: x * y, lambda: x - y**2))
F("switch", "3 i<3", lambda xp, t, x, i: t.switch(i, [lambda u: u, lambda u: u**2, lambda u: xp.exp(u)], x))
F("fori", "3", lambda xp, t, x: t.fori_loop(0, 4, lambda i, s: xp.sin(s) + x * i, x))
F("fori_offset_tree", "3", lambda xp, t, x: t.fori_loop(2, 5, lambda i, s: {"a": s["a"] * x + s["b"], "b": s["b"] + 1.0 / i}, {"a": x, "b": 0.0})["a"])
F("fori_index", "4x3", lambda xp, t, x: t.fori_loop(0, 4, lambda i, s: s * xp.cos(x[i]) + x[i], xp.ones(3)))
F("fori_update", "4", lambda xp, t, x: t.fori_loop(1, 4, lambda i, s: s.at[i].set(s[i - 1] * x[i]), x))
F("scan", "3 5x3", lambda xp, t, c, xs: t.scan(lambda s, x: (xp.tanh(s + x), s * x), c, xs))
F("scan_reverse", "2 4x2", lambda xp, t, c, xs: t.scan(lambda s, x: (s * x + 1, xp.sin(s)), c, xs, reverse=True))
F("scan_tree", "3x3 5x3", lambda xp, t, w, xs: t.scan(lambda s, x: ((xp.tanh(w @ s[0] + x), s[1] + 1), {"h": s[0]}), (xp.zeros(3), 0.0), xs))
F("scan_length", "3", lambda xp, t, x: t.scan(lambda s, _: (s * xp.cos(x), s), x, None, length=4))
F("scan_of_scan", "2 3x2", lambda xp, t, c, xs: t.scan(lambda s, x: (t.scan(lambda u, y: (u * xp.sin(y), u), s, xs)[0] + x, s), c, xs)[0])
F("while", "f", lambda xp, t, x: t.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, xp.sin(s[1]) * x), (0, x))[1], reverse=False)
F("cond_in_scan", "6", lambda xp, t, x: t.scan(lambda s, v: t.cond(v > 0, lambda: (s + v**2, s), lambda: (s * 0.9, v)), 0.0, x))

# -- transforms inside

F("grad_inside", "3", lambda xp, t, x: t.grad(lambda y: xp.sum(xp.sin(y) * x))(x**2))
F("grad_two_arguments", "3 3", lambda xp, t, x, y: t.grad(lambda a, b: xp.sum(a**2 * xp.exp(b)), argnums=(0, 1))(x, y))
F("value_and_grad_tree", "3", lambda xp, t, x: t.value_and_grad(lambda p: xp.sum(p["w"] ** 3 * p["b"]))({"w": x, "b": x[0]}))
F("grad_has_aux", "3", lambda xp, t, x: t.grad(lambda y: (xp.sum(y**3), y * 2), has_aux=True)(x))
F("grad_of_grad", "f", lambda xp, t, x: t.grad(t.grad(t.grad(lambda y: xp.sin(y) * y**3)))(x))
F("perturbation", "f", lambda xp, t, x: t.grad(lambda a: a * t.grad(lambda b: a + b * a)(1.0))(x) * x)
F("jvp_inside", "3 3", lambda xp, t, x, v: t.jvp(lambda y: xp.cumulative_sum(y**2) * x, (x,), (v,)))
F("vjp_inside", "3 3", lambda xp, t, x, v: (lambda y, pull: (y, pull(v), pull(2 * y)))(*t.vjp(lambda a: xp.sin(a) * x[::-1], x)))
F("vjp_two_results", "3", lambda xp, t, x: t.vjp(lambda a: (a**2, xp.sum(a)), x)[1]((x, 1.0)))
F("linearize_inside", "3 3", lambda xp, t, x, v: (lambda y, push: y + push(v) * push(x))(*t.linearize(lambda a: xp.exp(a) * xp.sum(a), x)))
F("vmap_pullback", "3 2x3", lambda xp, t, x, v: t.vmap(t.vjp(lambda a: xp.sin(a) ** 2, x)[1])(v))
F("vmap_pushforward", "3 2x3", lambda xp, t, x, v: t.vmap(t.linearize(lambda a: xp.sin(a) ** 2, x)[1])(v))
F("jacfwd_inside", "3", lambda xp, t, x: t.jacfwd(lambda y: y**2 * xp.sum(xp.sin(y)))(x))
F("jacrev_inside", "3", lambda xp, t, x: t.jacrev(lambda y: y**2 * xp.sum(xp.sin(y)))(x))
F("jacrev_tree", "2 3", lambda xp, t, x, y: t.jacrev(lambda p: {"u": xp.linalg.outer(p[0], p[1]), "s": xp.sum(p[0])})((x, y)))
F("hessian_inside", "3", lambda xp, t, x: t.hessian(lambda y: xp.prod(y) + xp.sum(xp.sin(y)))(x))
F("vmap_axes", "4x3 3", lambda xp, t, x, y: t.vmap(lambda a, b: a * b + xp.sum(a), in_axes=(0, None))(x, y))
F("vmap_out_axes", "3x4", lambda xp, t, x: t.vmap(lambda a: (a**2, xp.sum(a)), in_axes=1, out_axes=(1, 0))(x))
F("vmap_tree_axes", "4 3x4", lambda xp, t, x, y: t.vmap(lambda p: p["a"] * p["b"], in_axes=({"a": 0, "b": 1},))({"a": x, "b": y}))
F("vmap_vmap", "3 4", lambda xp, t, x, y: t.vmap(lambda a: t.vmap(lambda b: xp.sin(a * b))(y))(x))
F("vmap_grad", "4 f", lambda xp, t, x, w: t.vmap(t.grad(lambda a, w: w**2 * xp.exp(a)), in_axes=(0, None))(x, w))
F("vmap_cond", "4", lambda xp, t, x: t.vmap(lambda a: t.cond(a > 0, lambda: xp.sin(a), lambda: a**2))(x))
F("vmap_scan", "4 5", lambda xp, t, x, xs: t.vmap(lambda a: t.scan(lambda s, y: (s * xp.cos(y) + a, s), a, xs)[0])(x))
F("vmap_solve", "m3x2x2 3x2", lambda xp, t, a, b: t.vmap(xp.linalg.solve)(a, b))
F("jit_inside", "3", lambda xp, t, x: t.jit(lambda y: xp.sin(y) * x)(x) + t.jit(xp.cos)(x))
F("checkpoint", "3", lambda xp, t, x: t.checkpoint(lambda y: xp.sin(xp.exp(y) * x))(x))
F("stop_gradient", "3", lambda xp, t, x: t.stop_gradient(x) * x + t.stop_gradient(xp.sin(x)))
F("grad_of_scan", "3 4x3", lambda xp, t, c, xs: t.grad(lambda s: xp.sum(t.scan(lambda u, x: (xp.tanh(u + x), u), s, xs)[0]))(c))
F("scan_of_grad", "3", lambda xp, t, x: t.fori_loop(0, 3, lambda i, s: s - 0.1 * t.grad(lambda y: xp.sum((y * x) ** 2))(s), x))
F("hvp_inside", "3 3", lambda xp, t, x, v: t.jvp(t.grad(lambda y: xp.sum(xp.sin(y) ** 3)), (x,), (v,))[1])


def _custom_square(t, x):
    @t.custom_jvp
    def f(x):
        return x * x

    @f.defjvp
    def rule(primals, tangents):
        (x,), (x_dot,) = primals, tangents
        return f(x), 3.0 * x * x_dot

    return f(x)


def _clipped(xp, t, x):
    f = t.custom_vjp(lambda x, scale: xp.sin(x) * scale)
    f.defvjp(lambda x, scale: (f(x, scale), (x, scale)), lambda kept, y_bar: (2.0 * y_bar * xp.cos(kept[0]) * kept[1], 0.0 * kept[1]))
    return f(x, x[0])


F("custom_jvp", "3", lambda xp, t, x: _custom_square(t, x) * x)
F("custom_jvp_mapped", "3", lambda xp, t, x: t.vmap(lambda a: _custom_square(t, xp.sin(a)))(x))
F("custom_vjp", "3", lambda xp, t, x: _clipped(xp, t, x), forward=False)

# -- small models


def _mlp(xp, x, w, v):
    return xp.tanh(x @ w) @ v


F("mlp_gradient", "5x3 3x4 4x2", lambda xp, t, x, w, v: t.grad(lambda p: xp.mean(_mlp(xp, x, *p) ** 2))((w, v)))
F("convolution", "2x3x5 4x3x2", lambda xp, t, x, w: t.special.convolution(x, w))
F("convolution_2d", "2x3x6x5 4x3x3x2", lambda xp, t, x, w: t.special.convolution(x, w, stride=(2, 1), padding=1, dilation=(1, 2)))
F("convolution_groups", "1x4x4x4 6x2x2x2", lambda xp, t, x, w: t.special.convolution(x, w, groups=2, padding=(0, 1)))
F("attention", "4x3 4x3 4x3", lambda xp, t, q, k, v: t.special.softmax(q @ k.T / 3**0.5, axis=-1) @ v)
F("layer_norm", "3x5", lambda xp, t, x: (x - xp.mean(x, axis=1, keepdims=True)) / xp.sqrt(xp.var(x, axis=1, keepdims=True) + 1e-3))
F("gaussian_process", "4 4", lambda xp, t, x, y: (lambda k: y @ xp.linalg.solve(k, y) + xp.linalg.slogdet(k)[1])(xp.exp(-((x[:, None] - x) ** 2)) + xp.eye(4)))
F("pairwise_potential", "4x3", lambda xp, t, x: xp.sum(1 / (1 + xp.sum((x[:, None] - x[None]) ** 2, axis=-1))))
F("newton_step", "3", lambda xp, t, x: (lambda f: x - xp.linalg.solve(t.hessian(f)(x), t.grad(f)(x)))(lambda y: xp.sum(y**4) + xp.sum(y) ** 2 + xp.sum(y**2)))
F("runge_kutta", "2", lambda xp, t, x: t.fori_loop(0, 4, lambda i, s: s + 0.1 * xp.stack([s[1], -xp.sin(s[0] + 0.05 * s[1])]), x))
F("batch_norm_pair", "6x3 3 3", lambda xp, t, x, g, b: (x - xp.mean(x, axis=0)) / xp.std(x, axis=0) * g + b)
