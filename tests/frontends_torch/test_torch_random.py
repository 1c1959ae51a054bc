"""Random numbers in exported modules: distributions, reproducibility, gradients through dropout, and training that moves the state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch_cases import exported

import wengert as wg

nn, F = torch.nn, torch.nn.functional


class Draws(nn.Module):
    """A few thousand numbers of every distribution."""

    def forward(self, x: Any) -> Any:
        chance = torch.full((4000,), 0.3)
        return {
            "rand": torch.rand(4000, dtype=torch.float64),
            "rand of 32 bits": torch.rand_like(x),
            "uniform": torch.empty(4000).uniform_(-2, 4),
            "randn": torch.randn(4000, dtype=torch.float64),
            "normal": torch.normal(2.0 + torch.zeros(4000), 3.0),
            "exponential": torch.empty(4000).exponential_(2.0),
            "randint": torch.randint(3, 7, (4000,)),
            "bernoulli": torch.bernoulli(chance),
            "bernoulli by p": torch.empty(4000).bernoulli_(0.3),
            "dropout": F.dropout(torch.ones(4000), 0.25),
            "randperm": torch.randperm(4000),
        }


MOMENTS = {
    "rand": (0.5, 1 / 12), "rand of 32 bits": (0.5, 1 / 12), "uniform": (1.0, 3.0), "randn": (0.0, 1.0), "normal": (2.0, 9.0), "exponential": (0.5, 0.25),
    "randint": (4.5, 1.25), "bernoulli": (0.3, 0.21), "bernoulli by p": (0.3, 0.21), "dropout": (1.0, 1 / 3), "randperm": (1999.5, (4000**2 - 1) / 12),
}  # fmt: skip


def test_distributions() -> None:
    """Means and variances within five standard deviations of what they should be, for one seed; then for what is drawn next."""
    x = torch.zeros(4000)
    model = Draws()
    module = wg.from_torch(exported(model, x), seed=3)
    found, later = module.step(x)
    again, expected = module(x), model(x)
    for name, (mean, variance) in MOMENTS.items():
        drawn = np.asarray(found[name], np.float64)
        fourth = np.mean((drawn - drawn.mean()) ** 4)
        assert found[name].dtype == expected[name].numpy().dtype, name
        assert abs(drawn.mean() - mean) <= 5 * np.sqrt(variance / 4000), name
        assert abs(drawn.var() - variance) <= 5 * np.sqrt(abs(fourth - variance**2) / 4000) + 1e-3, name
        assert np.array_equal(found[name], again[name]), name
        assert not np.array_equal(found[name], later(x)[name]), name
    assert sorted(found["randperm"]) == list(range(4000))
    assert set(found["randint"]) == {3, 4, 5, 6}
    assert set(np.unique(found["dropout"])) == {np.float32(0), np.float32(1 / 0.75)}
    assert not np.array_equal(wg.from_torch(exported(model, x), seed=4)(x)["rand"], found["rand"])


def test_training_with_dropout() -> None:
    """The gradient is that of the network without the units that this call dropped."""
    torch.manual_seed(0)
    first, second = nn.Linear(3, 50), nn.Linear(50, 1)

    class Training(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = first, second

        def forward(self, x: Any) -> Any:
            h = F.dropout(self.first(x), 0.5)
            return (self.second(h) ** 2).mean()

    x = torch.randn(4, 3)
    module = wg.from_torch(exported(Training(), x), seed=1)
    assert list(module.buffers) == ["random state"]
    assert [a.name for a in module.program.signature.arguments][-1] == "random state"
    loss, gradients = module.value_and_grad(x)
    assert loss == module(x)
    mask = wg.from_torch(exported(nn.Sequential(nn.Dropout(0.5)), torch.ones(4, 50)), seed=1)
    kept = mask(torch.ones(4, 50))  # the same seed and shape: the same units
    inner = (torch.from_numpy(kept) * first(x)) @ second.weight.T + second.bias
    expected = torch.autograd.grad((inner**2).mean(), [first.weight, second.weight])
    np.testing.assert_allclose(gradients["first.weight"], expected[0], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(gradients["second.weight"], expected[1], rtol=1e-4, atol=1e-6)
    _, moved = module.step(x)
    assert not np.array_equal(moved.buffers["random state"], module.buffers["random state"])
    assert moved.value_and_grad(x)[0] != loss


def test_dropout_that_pytorch_would_lose() -> None:
    """Its decomposition of recurrent networks leaves out the dropout between layers."""
    model = nn.LSTM(2, 3, num_layers=2, dropout=0.5)
    x = torch.ones(4, 1, 2)
    with pytest.raises(wg.DiagnosticError, match=r"the dropout between the layers of aten\.lstm\.input"):
        wg.from_torch(exported(model, x), seed=0)
    assert wg.from_torch(exported(model.eval(), x))(x)[0].shape == (4, 1, 3)


def test_random_numbers_need_a_seed() -> None:
    model = nn.Dropout(0.5)
    with pytest.raises(wg.DiagnosticError, match="come from the state of a generator") as caught:
        wg.from_torch(exported(model, torch.ones(3)))
    assert "seed=0" in caught.value.diagnostic.hint
    plain = wg.from_torch(exported(model.eval(), torch.ones(3)), seed=0)
    assert len(plain.program.signature.arguments) == 1
