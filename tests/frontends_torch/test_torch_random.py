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
    actual, later = module.step(x)
    again, expected = module(x), model(x)
    for name, (mean, variance) in MOMENTS.items():
        drawn = np.asarray(actual[name], np.float64)
        fourth = np.mean((drawn - drawn.mean()) ** 4)
        assert actual[name].dtype == expected[name].numpy().dtype, name
        assert abs(drawn.mean() - mean) <= 5 * np.sqrt(variance / 4000), name
        assert abs(drawn.var() - variance) <= 5 * np.sqrt(abs(fourth - variance**2) / 4000) + 1e-3, name
        assert np.array_equal(actual[name], again[name]), name
        assert not np.array_equal(actual[name], later(x)[name]), name
    assert sorted(actual["randperm"]) == list(range(4000))
    assert set(actual["randint"]) == {3, 4, 5, 6}
    assert set(np.unique(actual["dropout"])) == {np.float32(0), np.float32(1 / 0.75)}
    assert not np.array_equal(wg.from_torch(exported(model, x), seed=4)(x)["rand"], actual["rand"])


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


class Summed(nn.Module):
    """A recurrent network, and a number of all its results."""

    def __init__(self, network: Any):
        super().__init__()
        self.network = network

    def forward(self, x: Any) -> Any:
        y, last = self.network(x)
        return (y * y).sum() + sum(h.sin().sum() for h in (last if isinstance(last, tuple) else (last,)))


@pytest.mark.parametrize(
    "make",
    [lambda: nn.LSTM(2, 3, 2, dropout=1.0, bidirectional=True, proj_size=2), lambda: nn.GRU(2, 3, 3, dropout=1.0, batch_first=True), lambda: nn.RNN(2, 3, 2, bias=False, dropout=1.0)],
    ids=["lstm", "gru", "rnn"],
)  # fmt: skip
def test_all_dropped_between_layers(make: Any) -> None:
    """Then there is no chance in it."""
    torch.manual_seed(0)
    x = torch.randn(2, 2, 2)
    model = Summed(make())
    loss, gradients = wg.from_torch(exported(model, x), seed=0).value_and_grad(x)
    expected = model(x)
    expected.backward()
    np.testing.assert_allclose(loss, expected.item(), rtol=1e-5)
    for name, parameter in model.named_parameters():
        np.testing.assert_allclose(gradients[name], parameter.grad, rtol=1e-4, atol=1e-5, err_msg=name)


def test_dropout_between_layers() -> None:
    """Numbers follow the state, and mean and deviation over many draws are PyTorch's, whose own decomposition leaves this dropout out."""
    torch.manual_seed(0)
    x = torch.randn(2, 4, 2)
    model = Summed(nn.RNN(2, 3, 2, dropout=0.5))
    module = wg.from_torch(exported(model, x), seed=0)
    assert module(x) == module(x)
    ours: list[float] = []
    for _ in range(150):
        y, module = module.step(x)
        ours.append(float(y))
    theirs = [model(x).item() for _ in range(400)]
    assert abs(np.mean(ours) - np.mean(theirs)) < 4 * np.std(theirs) * (1 / 150 + 1 / 400) ** 0.5
    assert 0.7 < np.std(ours) / np.std(theirs) < 1.4
    with pytest.raises(wg.DiagnosticError, match="come from the state of a generator"):
        wg.from_torch(exported(model, x))
    np.testing.assert_allclose(wg.from_torch(exported(model.eval(), x))(x), model(x).item(), rtol=1e-5)


class Branches(nn.Module):
    """A branch in a branch, and random numbers in one of them."""

    def __init__(self, p: float):
        super().__init__()
        self.linear, self.p = nn.Linear(3, 3), p

    def forward(self, x: Any) -> Any:
        def inner(a: Any) -> Any:
            return torch.cond(a.max() > 1, lambda b: b * 2, lambda b: F.dropout(b.sin(), self.p), (a,))

        y, z = torch.cond(x.sum() > 0, lambda a: (self.linear(a).relu(), inner(a)), lambda a: (a.softmax(-1) * 2, a.clone()), (x,))
        return (y * z).sum()


def test_branches() -> None:
    torch.manual_seed(1)
    model, start = Branches(0.0), torch.zeros(1, 3)
    module, noisy = wg.from_torch(exported(model, start)), wg.from_torch(exported(Branches(0.5), start), seed=0)
    for x in ([0.5, 2.0, -0.3], [0.5, 0.25, 0.1], [-1.0, 0.5, -0.5]):
        given = torch.tensor([x])
        wanted = given.clone().requires_grad_()
        model.zero_grad()
        expected = model(wanted)
        expected.backward()
        loss, gradients = module.value_and_grad(given)
        np.testing.assert_allclose(loss, expected.item(), rtol=1e-5)
        for name, parameter in model.named_parameters():
            np.testing.assert_allclose(gradients[name], 0 if parameter.grad is None else parameter.grad, rtol=1e-5, atol=1e-6)
        x_bar = module.program.vjp(wrt=module.position("x"))(*module.arguments(given), np.float32(1))[-1]
        np.testing.assert_allclose(x_bar, wanted.grad, rtol=1e-5, atol=1e-6)
        _, after = noisy.step(given)
        drew = not np.array_equal(after.buffers["random state"], noisy.buffers["random state"])
        assert drew == (sum(x) > 0 and max(x) <= 1)


class Repeated(nn.Module):
    def forward(self, x: Any) -> Any:
        from torch._higher_order_ops.while_loop import while_loop

        return while_loop(lambda n, y: n < 3, lambda n, y: (n + 1, y * y.cos()), (torch.tensor(0), x))[1].sum()


def test_while_loop() -> None:
    x = torch.tensor([0.3, -1.2, 0.7])
    module = wg.from_torch(exported(Repeated(), x))
    wanted = x.clone().requires_grad_()
    y = wanted
    for _ in range(3):
        y = y * y.cos()
    y.sum().backward()
    value, x_bar = module.program.vjp()(x.numpy(), np.float32(1))
    np.testing.assert_allclose(value, y.sum().item(), rtol=1e-5)
    np.testing.assert_allclose(x_bar, wanted.grad, rtol=1e-5)


def test_random_numbers_need_a_seed() -> None:
    model = nn.Dropout(0.5)
    with pytest.raises(wg.DiagnosticError, match="come from the state of a generator") as caught:
        wg.from_torch(exported(model, torch.ones(3)))
    assert "seed=0" in caught.value.diagnostic.hint
    plain = wg.from_torch(exported(model.eval(), torch.ones(3)), seed=0)
    assert len(plain.program.signature.arguments) == 1
