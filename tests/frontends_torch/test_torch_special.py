"""Special functions that PyTorch does not decompose, beside SciPy and PyTorch: values in f64, derivatives by differences of them, and edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
special = pytest.importorskip("scipy.special")

from torch_cases import Case, compare_family, imported

x = np.concatenate([np.linspace(0.01, 12, 173), np.array([1.99, 2.0, 2.01, 7.99, 8.0, 8.01, 30.0, 100.0, 700.0])])
FUNCTIONS = {
    "bessel_j0": (special.j0, lambda v: -special.j1(v)),
    "bessel_j1": (special.j1, lambda v: special.j0(v) - special.j1(v) / v),
    "bessel_y0": (special.y0, lambda v: -special.y1(v)),
    "bessel_y1": (special.y1, lambda v: special.y0(v) - special.y1(v) / v),
    "modified_bessel_k0": (special.k0, lambda v: -special.k1(v)),
    "modified_bessel_k1": (special.k1, lambda v: -special.k0(v) - special.k1(v) / v),
    "scaled_modified_bessel_k0": (special.k0e, lambda v: special.k0e(v) - special.k1e(v)),
    "scaled_modified_bessel_k1": (special.k1e, lambda v: special.k1e(v) - special.k0e(v) - special.k1e(v) / v),
    "spherical_bessel_j0": (lambda v: special.spherical_jn(0, v), lambda v: special.spherical_jn(0, v, derivative=True)),
}


class Calls(torch.nn.Module):
    def __init__(self, function: Any):
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_bessel_functions_beside_scipy(name: str) -> None:
    value, slope = FUNCTIONS[name]
    program = imported(Calls(getattr(torch.special, name)), torch.tensor(x)).program
    made, change = program.jvp()(x, np.ones_like(x))
    np.testing.assert_allclose(made, value(x), rtol=2e-13, atol=2e-15)
    np.testing.assert_allclose(change, slope(x), rtol=2e-12, atol=5e-15)


@pytest.mark.parametrize("name", ["bessel_j0", "bessel_y1", "modified_bessel_k0", "scaled_modified_bessel_k1"])
def test_second_derivatives_of_bessel_functions(name: str) -> None:
    _, slope = FUNCTIONS[name]
    v, h = np.linspace(0.5, 11, 40), 1e-5
    program = imported(Calls(getattr(torch.special, name)), torch.tensor(v)).program
    second = program.jvp(wrt=0).jvp(wrt=0)(v, np.ones_like(v), np.ones_like(v))[-1]
    np.testing.assert_allclose(second, (slope(v + h) - slope(v - h)) / (2 * h), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_edges_are_those_of_pytorch(name: str) -> None:
    edges = torch.tensor([0.0, -1.5, torch.inf, torch.nan], dtype=torch.float64)
    if name.startswith(("bessel_j", "bessel_y")):
        edges = edges[:2]  # at infinity PyTorch has NaN for J and Y, whose limit is 0
    function = getattr(torch.special, name)
    (made,) = imported(Calls(function), edges).program(edges.numpy())
    np.testing.assert_allclose(made, function(edges).numpy(), rtol=1e-13)


def test_bessel_functions_vanish_at_infinity() -> None:
    for name in ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1"):
        (made,) = imported(Calls(getattr(torch.special, name)), torch.tensor([torch.inf], dtype=torch.float64)).program(np.array([np.inf]))
        assert made[0] == 0


def test_normal_quantiles_of_small_probabilities() -> None:
    p = np.concatenate([10.0 ** -np.arange(0.5, 300, 7), 1 - 10.0 ** -np.arange(1.0, 9), np.linspace(0.02, 0.98, 33)])
    program = imported(Calls(torch.special.ndtri), torch.tensor(p)).program
    made, change = program.jvp()(p, np.ones_like(p))
    np.testing.assert_allclose(made, special.ndtri(p), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(change, np.sqrt(2 * np.pi) * np.exp(special.ndtri(p) ** 2 / 2), rtol=1e-9)
    (edges,) = imported(Calls(torch.special.ndtri), torch.zeros(4, dtype=torch.float64)).program(np.array([0, 1, -0.5, np.nan]))
    np.testing.assert_array_equal(edges, [-np.inf, np.inf, np.nan, np.nan])


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("chebyshev_polynomial_t", special.eval_chebyt),
        ("chebyshev_polynomial_u", special.eval_chebyu),
        ("shifted_chebyshev_polynomial_t", special.eval_sh_chebyt),
        ("hermite_polynomial_h", special.eval_hermite),
        ("hermite_polynomial_he", special.eval_hermitenorm),
        ("laguerre_polynomial_l", special.eval_laguerre),
        ("legendre_polynomial_p", special.eval_legendre),
    ],
)
def test_polynomials_beside_scipy(name: str, reference: Any) -> None:
    v, n = np.linspace(-0.9, 1.4, 24), np.arange(24.0) % 8
    program = imported(Calls(getattr(torch.special, name)), torch.tensor(v), torch.tensor(n)).program
    made, change = program.jvp(wrt=0)(v, n, np.ones_like(v))
    whole = n.astype(np.int64)
    np.testing.assert_allclose(made, reference(whole, v), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(change, (reference(whole, v + 1e-6) - reference(whole, v - 1e-6)) / 2e-6, rtol=1e-6, atol=1e-6)


G = torch.Generator().manual_seed(3)


def r(*extents: int) -> Any:
    return torch.randn(extents, generator=G, dtype=torch.float64)


TIES = torch.tensor([[2.0, 1.0, 2.0, 1.0, 3.0], [5.0, 4.0, 3.0, 2.0, 1.0], [1.0, 7.0, 7.0, 1.0, 7.0]], dtype=torch.float64)
OVERLAPPING = torch.tensor([[[0, 3, 3, 1]]])
FAMILIES = {
    "further": [
        Case("mode", lambda a: torch.mode(a), (TIES.clone(),)),
        Case("mode of a column", lambda a: torch.mode(a, 0, keepdim=True), (TIES.clone(),)),
        Case("round", lambda a: (torch.round(a, decimals=2), torch.round(100 * a, decimals=-1)), (r(9),)),
        Case("addbmm", lambda a, b, c: torch.addbmm(a, b, c, beta=0.5, alpha=2), (r(2, 4), r(3, 2, 5), r(3, 5, 4))),
        Case("diagonal_scatter", lambda a, b: torch.diagonal_scatter(a, b, 1, 2, 0), (r(4, 2, 3), r(2, 3))),
        Case("index_reduce", lambda a, b: a.index_reduce(1, torch.tensor([0, 2, 0]), b, "mean", include_self=False), (r(2, 3), r(2, 3))),
        Case("index_select of a scalar", lambda a: torch.index_select(a, 0, torch.tensor([0])), (r(),)),
        Case("pdist", lambda a: (torch.nn.functional.pdist(a), torch.nn.functional.pdist(a, 1)), (r(5, 3),)),
        Case("cholesky", lambda a: torch.cholesky(a @ a.mT + 5 * torch.eye(3, dtype=a.dtype), upper=True), (r(2, 3, 3),)),
        Case(
            "lu_solve",
            lambda a, b: torch.linalg.lu_solve(*torch.linalg.lu_factor(a + 5 * torch.eye(3, dtype=a.dtype)), b, left=False, adjoint=True),
            (r(3, 3), r(2, 3)),
        ),
        Case("pinv of few", lambda a, b: torch.linalg.pinv(a @ b.mT), (r(5, 2), r(4, 2))),
        Case("pinv with bounds", lambda a: (torch.linalg.pinv(a, atol=0.5), torch.linalg.pinv(a @ a.mT, rtol=0.1, hermitian=True)), (r(2, 4, 3),)),
        Case("adaptive positions", lambda a: torch.nn.functional.adaptive_max_pool2d(a, (3, 2), return_indices=True), (r(2, 2, 5, 7),)),
        Case("adaptive positions in one dimension", lambda a: torch.nn.functional.adaptive_max_pool1d(a, 4, return_indices=True), (r(2, 7),)),
        Case("two to one place", lambda a: torch.nn.functional.max_unpool1d(a, OVERLAPPING, 2), (r(1, 1, 4),)),
        Case("rrelu", lambda a: torch.nn.functional.rrelu(a), (r(7),)),
    ],
}


@pytest.mark.filterwarnings("ignore:torch.cholesky is deprecated", "ignore:index_reduce\\(\\) is in beta")
@pytest.mark.parametrize("family", FAMILIES)
def test_values_and_gradients_are_those_of_pytorch(family: str) -> None:
    compare_family(FAMILIES[family], 1e-9)


def test_draws_have_their_distributions() -> None:
    n = 20000

    def draw(a: Any) -> Any:
        return (
            a.clone().log_normal_(0.5, 0.25),
            a.clone().cauchy_(1.0, 2.0),
            a.clone().geometric_(0.3),
            torch.multinomial(torch.tensor([1.0, 0.0, 3.0]), n, True),
        )

    from torch_cases import exported

    import wengert as wg

    module = wg.from_torch(exported(Calls(draw), torch.zeros(n, dtype=torch.float64)), seed=1)
    logs, cauchy, trials, chosen = module(torch.zeros(n, dtype=torch.float64))
    assert np.log(logs).mean() == pytest.approx(0.5, abs=0.01)
    assert np.log(logs).std() == pytest.approx(0.25, abs=0.01)
    np.testing.assert_allclose(np.quantile(cauchy, [0.25, 0.5, 0.75]), [-1, 1, 3], atol=0.15)
    assert trials.min() == 1
    assert trials.mean() == pytest.approx(1 / 0.3, rel=0.03)
    np.testing.assert_allclose(np.bincount(chosen, minlength=3) / n, [0.25, 0, 0.75], atol=0.02)


def test_draws_without_replacement_differ() -> None:
    from torch_cases import exported

    import wengert as wg

    weights = torch.tensor([[1.0, 2.0, 0.0, 4.0], [1.0, 1.0, 1.0, 1.0]])
    module = wg.from_torch(exported(Calls(lambda w: torch.multinomial(w, 3)), weights), seed=2)
    chosen = module(weights)
    assert all(len(set(row)) == 3 for row in chosen.tolist())
    assert set(chosen[0]) == {0, 1, 3}
