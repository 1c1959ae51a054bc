"""Sorting, linear algebra, Fourier transforms, complex numbers and masks, beside PyTorch: values and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch_cases import Case, compare_family, exported

import wengert as wg

L, fft, F = torch.linalg, torch.fft, torch.nn.functional
G = torch.Generator().manual_seed(7)
inf, nan = torch.inf, torch.nan


def x(*extents: int, dtype: Any = torch.float64) -> Any:
    return torch.randn(extents, generator=G, dtype=dtype)


def z(*extents: int) -> Any:
    return x(*extents, dtype=torch.complex128)


def near(*extents: int) -> Any:
    """Matrices that are far from singular."""
    return x(*extents) + 4 * torch.eye(extents[-1], dtype=torch.float64)


def numbers(*values: Any) -> Any:
    return torch.tensor(values, dtype=torch.float64)


def mask(*extents: int) -> Any:
    return torch.rand(extents, generator=G) > 0.5


def definite(a: Any) -> Any:
    return a @ a.mH + a.shape[-1] * torch.eye(a.shape[-1], dtype=a.dtype)


def squares(vectors: Any) -> Any:
    """Of vectors that are known up to a sign."""
    return vectors * vectors


def of_svd(a: Any) -> Any:
    u, s, vh = L.svd(a, full_matrices=False)
    return s, squares(u), squares(vh), u[:, 0, None] * vh[None, 0]


def windowed(a: Any) -> Any:
    return torch.stft(a, 8, window=torch.hann_window(8, dtype=torch.float64), return_complex=True)


def assigned(a: Any, m: Any, c: Any) -> Any:
    b = a.clone()
    b[m[:, 0]] = c
    b[:, m[0]] = 0.0
    return b * a


SPECIAL = numbers(-inf, -1.0, 0.0, 2.0, inf, nan, -1.0)
WITH_NAN = numbers([1.0, nan, 3.0], [4.0, 2.0, nan], [5.0, 0.0, nan], [-1.0, 7.0, nan])
SYMMETRIC = definite(x(3, 3))

FAMILIES: dict[str, list[Case]] = {
    "ordering": [
        Case("sort", lambda a: (a.sort(), a.sort(0, descending=True), a.argsort(1), torch.msort(a)), (x(4, 5),)),
        Case("sort of infinities and NaN", lambda a: (torch.sort(a, stable=True), torch.sort(a, stable=True, descending=True)), (SPECIAL,)),
        Case("sort of a number", lambda a: (a.sort(), a.topk(1), a.cummax(0)), (x(),)),
        Case("sort of integers", lambda a: (torch.sort(a, stable=True, descending=True), torch.argsort(a, stable=True, dim=0)), (torch.tensor([[3, 1, 3], [2, 5, 2]]),)),
        Case("topk", lambda a: (a.topk(2), a.topk(3, 0, largest=False)), (x(4, 5),)),
        Case("kthvalue", lambda a: (a.kthvalue(2), a.kthvalue(3, 0, keepdim=True)), (x(4, 5),)),
        Case("median", lambda a: (a.median(), a.median(1), a.median(0, keepdim=True)), (x(4, 5),)),
        Case("median of ties", lambda a: a.median(), (numbers(1.0, 3.0, 3.0, 2.0, 3.0),)),
        Case("median with NaN", lambda a: (a.median(0), a.nanmedian(0), a.nanmedian(), a.detach().median(), a[:, 2:].nanmedian(1)), (WITH_NAN,)),
        Case("quantile", lambda a: (torch.quantile(a, 0.3, 1), torch.quantile(a, 0.75)), (x(4, 5),)),
        Case("cummax", lambda a, c: (a.cummax(0), a.cummin(1), c.cummax(0), c.cummin(0)), (x(4, 5), SPECIAL.clone())),
        Case("cummax of ties", lambda a: a.cummax(0), (numbers(1.0, 3.0, 3.0, 2.0, 3.0),)),
        Case("logcumsumexp", lambda a, c: (a.logcumsumexp(0), a.logcumsumexp(1), c.logcumsumexp(0)), (x(4, 5), numbers(-inf, -inf, 1.0, 800.0, -3.0))),
        Case("searchsorted", lambda r, a: (torch.searchsorted(r, a), torch.searchsorted(r, a, right=True, out_int32=True), torch.bucketize(a, r)), (torch.arange(5.0).double() - 2, x(3, 4))),
        Case("searchsorted in rows", lambda r, a: torch.searchsorted(r, a, side="right"), (x(3, 5).sort()[0], x(3, 4))),
        Case("unfold", lambda a: (a.unfold(1, 3, 2), a.unfold(0, 2, 1)), (x(4, 7),)),
    ],
    "systems": [
        Case("cholesky", lambda a: (L.cholesky(definite(a)), L.cholesky(definite(a), upper=True), L.cholesky_ex(definite(a))), (x(2, 3, 3),)),
        Case("cholesky reads a triangle", lambda a: (L.cholesky(a), L.cholesky(a.tril()), L.cholesky(a.triu(), upper=True)), (SYMMETRIC,)),
        Case("cholesky, complex", lambda a: L.cholesky(definite(a)), (z(3, 3),)),
        Case("cholesky_solve", lambda a, y: (torch.cholesky_solve(y, L.cholesky(definite(a))), torch.cholesky_solve(y, L.cholesky(definite(a), upper=True), upper=True)), (x(3, 3), x(3, 2))),
        Case("cholesky_inverse", lambda a: torch.cholesky_inverse(L.cholesky(definite(a))), (x(3, 3),)),
        Case("solve", lambda a, y: (L.solve(a, y), L.solve(a, y[:, 0]), L.solve(a, y.mT, left=False)), (near(3, 3), x(3, 2))),
        Case("solve in batches", lambda a, y, c, v: (L.solve(a, y), L.solve(c, v)), (near(2, 1, 3, 3), x(5, 3, 2), near(2, 3, 3), x(2, 3))),
        Case("solve, complex", lambda a, y: (L.solve(a, y), L.inv(a)), (z(3, 3), z(3, 2))),
        Case("triangular", lambda a, y: (L.solve_triangular(a, y, upper=True), L.solve_triangular(a, y.mT, upper=False, left=False, unitriangular=True)), (near(3, 3), x(3, 2))),
        Case("triangular_solve", lambda a, y: torch.triangular_solve(y, a, upper=False, transpose=True)[0], (near(3, 3), x(3, 2))),
        Case("inverse", lambda a: (L.inv(a), L.inv_ex(a)[0], L.matrix_power(a, -2), L.pinv(a[:, :, 1:])), (near(2, 3, 3),)),
        Case("determinant", lambda a: (L.det(a), torch.logdet(a), L.slogdet(a)), (near(2, 3, 3),)),
        Case("determinant below 0", lambda a: (L.det(a), L.slogdet(a)), (numbers([0.0, 2.0, 1.0], [1.0, 0.0, 0.5], [0.2, 1.0, 3.0]),)),
        Case("determinant, complex", lambda a: (L.det(a), L.slogdet(a)), (z(3, 3),)),
        Case("lu", L.lu, (x(2, 4, 3),)),
        Case("lu_solve", lambda a, y: (L.lu_factor(a), L.lu_solve(*L.lu_factor(a), y), torch.lu_unpack(*L.lu_factor(a))), (x(3, 3), x(3, 2))),
    ],
    "factorisations": [
        Case("qr", lambda a, c: (L.qr(a), L.qr(c, "complete"), L.qr(c.detach(), "r")[1]), (x(2, 4, 3), x(3, 3))),
        Case("eigh", lambda a: (L.eigvalsh(definite(a)), L.eigh(definite(a))[0], squares(L.eigh(definite(a))[1])), (x(2, 3, 3),)),
        Case("eigh reads a triangle", lambda a: (L.eigvalsh(a, UPLO="U"), squares(L.eigh(a)[1]), L.eigvalsh(a.tril())), (SYMMETRIC.clone(),)),
        Case("svd", of_svd, (x(4, 3),)),
        Case("svd, full", lambda a: (lambda u, s, vh: (s, squares(u), squares(vh)))(*L.svd(a)), (x(3, 3),)),
        Case("norms", lambda a: (L.svdvals(a), L.matrix_norm(a), L.matrix_norm(a, 2), L.matrix_norm(a, "nuc"), L.matrix_norm(a, 1), L.cond(a), L.matrix_rank(a)), (x(4, 3),)),
        Case("eig", lambda a, c: (L.eigvals(a).abs().sum(), L.eig(a)[1].abs().sum(), L.eigvals(c).abs().prod()), (x(3, 3), z(3, 3))),
        Case("householder_product", L.householder_product, (x(4, 3), x(3))),
        Case("products", lambda a, c: (L.cross(a, c), torch.kron(a, c), torch.trace(a), L.multi_dot([a, c, a]), L.matrix_power(a, 3), L.vander(a[0])), (x(3, 3), x(3, 3))),
        Case("cdist", lambda a, c: (torch.cdist(a, c), torch.cdist(a, c, p=1)), (x(4, 3), x(2, 5, 3))),
    ],
    "fourier": [
        Case("fft", lambda a: (fft.fft(a), fft.fft(a, n=7, dim=0, norm="ortho"), fft.fftn(a, norm="forward"), fft.fft2(a)), (x(4, 5),)),
        Case("fft, complex", lambda a: (fft.fft(a), fft.ifft(a, norm="ortho"), fft.ifftn(a), fft.ifft(a, norm="forward")), (z(4, 5),)),
        Case("rfft", lambda a: (fft.rfft(a), fft.rfft(a, n=3, dim=0, norm="ortho"), fft.rfftn(a, norm="forward"), fft.ihfft(a)), (x(4, 5),)),
        Case("irfft", lambda a: (fft.irfft(a), fft.irfft(a, n=7, norm="ortho"), fft.irfft(a, n=6, norm="forward"), fft.irfft(a, n=20, dim=0)), (z(4, 5),)),
        Case("irfftn", lambda a: (fft.irfftn(a), fft.hfft(a)), (z(4, 5),)),
        Case("frequencies", lambda a: (fft.fftshift(a), fft.fftfreq(5, 0.5) * a, fft.rfftfreq(8) * a), (x(4, 5),)),
        Case("stft", lambda a: (windowed(a), torch.istft(windowed(a), 8, window=torch.hann_window(8, dtype=torch.float64))), (x(20),)),
    ],
    "complex numbers": [
        Case("parts", lambda a: (a.real, a.imag, a.conj(), a.abs(), a.angle(), torch.view_as_real(a), a.conj().imag, a.sgn()), (z(4),)),
        Case("parts of reals", lambda a: (a.angle(), a.conj(), a.real), (x(4),)),
        Case("from reals", lambda a, c: (torch.complex(a, c), torch.polar(a.abs(), c), torch.view_as_complex(torch.stack([a, c], -1))), (x(4), x(4))),
        Case("arithmetic", lambda a, c: (a * c, a / c, a + 1j, a - c, a @ c, a**2, a.pow(1.5), (a.conj() * a).real, a.reciprocal(), torch.vdot(a, c), a == c), (z(4), z(4))),
        Case("functions", lambda a: (a.exp(), a.sin(), a.sqrt(), a.log(), a.tanh(), a.isnan()), (z(4),)),
        Case("reductions", lambda a: (a.sum(), a.mean(), a.prod(), a.cumsum(0), a.var(), a.std(), L.vector_norm(a), a.norm(1)), (z(4),)),
    ],
    "others": [
        Case("special", lambda a: (torch.polygamma(1, a), torch.special.zeta(a.detach() + 2, 1.5), torch.special.i1e(a)), (x(2, 3).abs() + 0.1,)),
        Case("hypot", lambda a, c, d: (torch.hypot(a, c), torch.hypot(d, d).detach()), (x(4), x(4), numbers(0.0, 1e300, inf))),
        Case("frexp", lambda a: torch.frexp(a), (numbers(0.0, -0.0, 1.0, -5.5, 3e30, 2.3e-30),)),
        Case("copysign", lambda a, c: (torch.copysign(a, c), torch.copysign(a, -2.0), torch.signbit(c)), (numbers(0.0, -2.0, 3.0, 1.0), numbers(1.0, -0.0, 2.0, -inf))),
        Case("nextafter", lambda a, c: (torch.nextafter(a, c), torch.signbit(a > 0)), (x(4).float(), x(4).float())),
        Case("fmax", lambda a, c: (torch.fmax(a, c), torch.fmin(a, c)), (numbers(1.0, nan, 2.0, 3.0, nan), numbers(2.0, 1.0, nan, 3.0, nan))),
        Case("shifts", lambda i: (i << 2, i >> 1, 1 << i, i.tril(), torch.tril_indices(3, 4, 1), torch.triu_indices(3, 2)), (torch.tensor([[1, -5], [7, 0]]),)),
        *(Case(f"scatter_reduce {r}", lambda a, i, s, r=r: (a.scatter_reduce(1, i, s, r), a.scatter_reduce(1, i, s, r, include_self=False)), (x(2, 3), torch.tensor([[0, 1, 1, 0], [2, 2, 2, 1]]), x(2, 4))) for r in ("sum", "mean", "prod", "amax", "amin")),
        Case("put", lambda a, i, s: (torch.put(a, i, s), torch.put(a, i, s, accumulate=True)), (x(3, 4), torch.tensor([0, -1, 5]), x(3))),
        Case("max_pool with positions", lambda a: (F.max_pool2d(a, (2, 3), stride=2, padding=1, dilation=(2, 1), ceil_mode=True, return_indices=True), F.max_pool1d(a[0], 3, return_indices=True)), (x(2, 3, 5, 6),)),
        Case("max_unpool", lambda a: F.max_unpool2d(*F.max_pool2d(a, 2, return_indices=True), 2), (x(2, 3, 4, 6),)),
        Case("bilinear", F.bilinear, (x(2, 3), x(2, 4), x(5, 3, 4), x(5))),
    ],
    "masks": [
        Case("masked_fill", lambda a, m, c: (a.masked_fill(m, 2.0), a.masked_fill(m, c), torch.masked_fill(a, m[0], -inf)), (x(3, 4), mask(3, 4), x())),
        Case("index_put", lambda a, m, c: (torch.index_put(a, (m,), c), torch.index_put(a, (m[:, 0],), a[0]), torch.index_put(a, (m,), c, accumulate=True)), (x(3, 4), mask(3, 4), x())),
        Case("assigned", assigned, (x(3, 4), mask(3, 4), x(4))),
        Case("masked_scatter", lambda a, m, c: (a.masked_scatter(m, c), a.masked_scatter(m[0], c)), (x(3, 4), mask(3, 4), x(20))),
    ],
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:torch.triangular_solve")
@pytest.mark.parametrize("family", FAMILIES)
def test_family(family: str) -> None:
    compare_family(FAMILIES[family], 1e-10)


class Calls(torch.nn.Module):
    def __init__(self, function: Any):
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)


def test_what_fails_is_nan() -> None:
    """PyTorch raises an error; programs do not look at their values."""
    module = wg.from_torch(exported(Calls(lambda a: (L.cholesky(a), L.cholesky_ex(a)[1])), torch.eye(2)))
    factor, info = module(-torch.eye(2))
    assert np.isnan(factor).all()
    assert info == 1


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda a: a[a > 0], r"aten\.index\.Tensor \(index\) depends on the elements of its operands"),
        (lambda a: torch.masked_select(a, a > 0).sum(), "depends on the elements"),
        (lambda a: torch.unique(a), "depends on the elements"),
        (lambda a: torch.index_put(a, (a > 0,), a.diagonal()), "as many values as there are places at which the mask holds"),
        (lambda a: L.lu(a, pivot=False), "without pivots has no translation"),
    ],
)
def test_what_has_no_static_shape_or_no_translation(function: Any, message: str) -> None:
    with pytest.raises(wg.DiagnosticError, match=message) as caught:
        wg.from_torch(exported(Calls(function), x(3, 3)))
    assert caught.value.diagnostic.file == __file__
