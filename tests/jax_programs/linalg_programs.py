"""Linear algebra."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jl
from jax import lax
from program_table import Table

P = Table()

P("solve_vector", "4x4 4", lambda a, b: jnp.linalg.solve(a + 4 * jnp.eye(4), b))
P("solve_batched", "2x3x3 2x3x2", lambda a, b: jnp.linalg.solve(a + 4 * jnp.eye(3), b))
P("solve_assume_positive", "m3x3 3x2", lambda a, b: jl.solve(a, b, assume_a="pos"), hidden=True)
P("inv_det", "m2x3x3", lambda a: (jnp.linalg.inv(a), jnp.linalg.det(a), jnp.linalg.slogdet(a)[1]))
P("det_sign_negative", "3x3", lambda a: jnp.linalg.slogdet(a - 2 * jnp.eye(3)))
P("det_2x2", "2x2 3x3", lambda a, b: jnp.linalg.det(a) * jnp.linalg.det(b))
P("cholesky_both", "m2x3x3", lambda a: (jnp.linalg.cholesky(a), jnp.linalg.cholesky(a, upper=True), jl.cholesky(a[0], lower=False)), hidden=True)
P("cho_solve", "m3x3 3", lambda a, b: jl.cho_solve(jl.cho_factor(a), b), hidden=True)
P(
    "triangular_variants",
    "m3x3 3x2",
    lambda a, b: tuple(jl.solve_triangular(a, b, lower=lower, trans=t, unit_diagonal=u) for lower in (0, 1) for t in (0, 1) for u in (0, 1)),
)
P("triangular_right", "m3x3 2x3", lambda a, b: lax.linalg.triangular_solve(a, b, left_side=False, lower=True, transpose_a=True))
P("lu_factors", "2x3x3", lambda a: jl.lu(a[0])[1:])
P("lu_solve", "4x4 4", lambda a, b: jl.lu_solve(jl.lu_factor(a + 4 * jnp.eye(4)), b, trans=1))
P("lu_rectangular", "4x3", lambda a: lax.linalg.lu(a)[0])
P("lu_wide", "3x5", lambda a: lax.linalg.lu(a)[0])
P("qr_thin", "5x3", lambda a: jnp.linalg.qr(a))
P("qr_batched_square", "2x3x3", lambda a: jnp.linalg.qr(a))
P("qr_r_only", "4x3", lambda a: jnp.linalg.qr(a, mode="r"))
P("eigh_values_vectors", "m2x3x3", lambda a: (r := jnp.linalg.eigh(a)) and (r[0], r[1] ** 2))
P("eigvalsh", "m4x4", lambda a: jnp.linalg.eigvalsh(a))
P("eigh_function", "m3x3", lambda a: (e := jnp.linalg.eigh(a)) and (e[1] * jnp.log(e[0])) @ e[1].T)
P("eigvals_general", "3x3", lambda a: jnp.sort(jnp.abs(jnp.linalg.eigvals(a))), second=False)
P("eig_vectors", "3x3", lambda a: (e := jnp.linalg.eig(a)) and (e[0].real.sum(), jnp.abs(e[1] @ jnp.diag(e[0]) @ jnp.linalg.inv(e[1]))), primal_only=True)
P("svd_thin", "4x3", lambda a: (s := jnp.linalg.svd(a, full_matrices=False)) and (s[1], (s[0] * s[1] ** 2) @ s[2]))
P("svd_wide_batched", "2x2x4", lambda a: (s := jnp.linalg.svd(a, full_matrices=False)) and (s[1], s[0] ** 2, s[2] ** 2))
P("svd_values", "3x4", lambda a: jnp.linalg.svd(a, compute_uv=False))
P("svd_square_full", "3x3", lambda a: (s := jnp.linalg.svd(a)) and s[0] @ jnp.diag(s[1] ** 0.5) @ s[2])
P("nuclear_spectral_norms", "3x4", lambda a: (jnp.linalg.norm(a, "nuc"), jnp.linalg.norm(a, 2), jnp.linalg.cond(a)))
P("pinv_tall", "4x2", lambda a: jnp.linalg.pinv(a))
P("lstsq", "5x2 5", lambda a, b: jnp.linalg.lstsq(a, b)[0], tolerance=10)
P("matrix_rank_weight", "3x3", lambda a: a * jnp.linalg.matrix_rank(a))
P("expm", "3x3", lambda a: jl.expm(0.5 * a), tolerance=10)
P("expm_action_logm", "m2x2", lambda a: jl.expm(jl.expm(0.1 * a)), second=False, tolerance=10)
P("matrix_powers", "3x3", lambda a: (jnp.linalg.matrix_power(a, 5), jnp.linalg.matrix_power(a + 3 * jnp.eye(3), -2)))
P("multi_dot", "2x3 3x4 4x2", lambda a, b, c: jnp.linalg.multi_dot([a, b, c]))
P("sqrtm_by_newton", "m3x3", lambda a: lax.fori_loop(0, 8, lambda i, y: 0.5 * (y + jnp.linalg.solve(y, a)), jnp.eye(3, dtype=a.dtype)))
P("complex_solve", "z3x3 z3", lambda a, b: jnp.linalg.solve(a + 4 * jnp.eye(3), b))
P("complex_hermitian_eigh", "z3x3", lambda a: jnp.linalg.eigvalsh(a + a.conj().T))
P("complex_hermitian_vectors", "z3x3", lambda a: (e := jnp.linalg.eigh(a + a.conj().T)) and (e[1] * jnp.exp(0.1 * e[0])) @ e[1].conj().T)
P("complex_cholesky", "z3x3", lambda a: jnp.linalg.cholesky(a @ a.conj().T + 2 * jnp.eye(3)))
P("complex_svd", "z3x2", lambda a: jnp.linalg.svd(a, compute_uv=False))
P("complex_qr_inv", "z3x3", lambda a: (jnp.linalg.qr(a)[1], jnp.linalg.inv(a + 3 * jnp.eye(3)), jnp.linalg.det(a)))
P("complex_triangular", "z3x3 z3", lambda a, b: (jl.solve_triangular(a + 3 * jnp.eye(3), b, trans=2), jl.solve_triangular(a + 3 * jnp.eye(3), b, lower=True)))
P("tridiagonal_solve", "p5 p5 p5 5x1", lambda dl, d, du, b: lax.linalg.tridiagonal_solve(dl.at[0].set(0), d + 4, du.at[-1].set(0), b), second=False)
P("thomas_scan", "p5 p5 p5 5", lambda dl, d, du, b: thomas(dl, d + 4, du, b))
P("vmap_cholesky_solve", "m2x3x3 2x3", jax.vmap(lambda a, b: jl.solve_triangular(jnp.linalg.cholesky(a), b, lower=True)))
P("vmap_eigh", "m3x2x2", jax.vmap(lambda a: jnp.linalg.eigh(a)[0] ** 2))
P("vmap_shared_solve", "3x3 4x3", lambda a, b: jax.vmap(lambda v: jnp.linalg.solve(a + 4 * jnp.eye(3), v))(b))
P("hessenberg_free_schur", "m3x3", lambda a: jnp.trace(jl.polar(a, method="svd")[0] @ a), second=False)
P("block_diag_toeplitz", "2x2 3x3 4", lambda a, b, c: (jl.block_diag(a, b), jl.toeplitz(c)))
P("log_det_via_cholesky", "m4x4 4", lambda a, b: (l := jnp.linalg.cholesky(a)) is not None and 2 * jnp.log(jnp.diag(l)).sum() + b @ jl.cho_solve((l, True), b))
P("woodbury", "4x2 p4 4", lambda u, d, b: b / d - (u / d[:, None]) @ jnp.linalg.solve(jnp.eye(2) + u.T @ (u / d[:, None]), u.T @ (b / d)))
P("gram_schmidt", "4x3", lambda a: gram_schmidt(a))
P("power_iteration", "m4x4 4", lambda a, v: lax.fori_loop(0, 10, lambda i, v: (w := a @ v) / jnp.linalg.norm(w), v))
P("procrustes", "5x3 5x3", lambda a, b: (s := jnp.linalg.svd(a.T @ b)) and s[0] @ s[2])
P("mahalanobis_batch", "4x3 m3x3", lambda x, c: jnp.einsum("ni,ij,nj->n", x, jnp.linalg.inv(c), x))
P("householder", "4 4", lambda v, x: x - 2 * v * (v @ x) / (v @ v))


def thomas(dl, d, du, b):
    def forward(carry, row):
        c, x = carry
        l, m, u, r = row
        w = m - l * c
        return (u / w, (r - l * x) / w), (u / w, (r - l * x) / w)

    zero = jnp.zeros((), b.dtype)
    _, (cs, xs) = lax.scan(forward, (zero, zero), (dl.at[0].set(0), d, du, b))
    return lax.scan(lambda x, cx: (cx[1] - cx[0] * x,) * 2, zero, (cs.at[-1].set(0), xs), reverse=True)[1]


def gram_schmidt(a):
    columns = []
    for k in range(a.shape[1]):
        v = a[:, k] - sum(((q @ a[:, k]) * q for q in columns), jnp.zeros(a.shape[0], a.dtype))
        columns.append(v / jnp.linalg.norm(v))
    return jnp.stack(columns, 1)
