"""Parameters and buffers that share memory are one argument with the whole derivative; ``as_strided`` beside PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch_cases import Case, compare_family, distance, exported, imported

import wengert as wg

nn, F = torch.nn, torch.nn.functional
D = {"dtype": torch.float64}


def leaf(*extents: int) -> Any:
    return nn.Parameter(torch.randn(*extents, **D))


class Tied(nn.Module):
    """A language model whose embedding is its last layer."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.inner, self.head = nn.Embedding(7, 4, **D), nn.Linear(4, 4, **D), nn.Linear(4, 7, bias=False, **D)
        self.head.weight = self.embedding.weight

    def forward(self, tokens: Any) -> Any:
        return F.cross_entropy(self.head(torch.tanh(self.inner(self.embedding(tokens)))), tokens)


class Shared(nn.Module):
    """A module under two names, and in a loop."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4, **D)
        self.blocks = nn.ModuleList([self.first, nn.Linear(4, 4, **D), self.first])

    def forward(self, x: Any) -> Any:
        for block in self.blocks:
            x = torch.tanh(block(x))
        return x.sum()


@pytest.mark.parametrize(("make", "aliases"), [
    (Tied, {"embedding.weight": ("head.weight",)}),
    (Shared, {"first.weight": ("blocks.0.weight", "blocks.2.weight"), "first.bias": ("blocks.0.bias", "blocks.2.bias")}),
])  # fmt: skip
def test_one_parameter_under_several_names(make: Callable[[], Any], aliases: dict[str, tuple[str, ...]]) -> None:
    torch.manual_seed(3)
    model = make()
    x = torch.tensor([1, 3, 3]) if make is Tied else torch.randn(2, 4, **D)
    module = imported(model, x)
    assert module.aliases == aliases
    assert list(module.parameters) == [name for name, _ in model.named_parameters()]
    loss, gradients = module.value_and_grad(x)
    expected = model(x)
    expected.backward()
    assert distance(loss, expected) < 1e-12
    assert list(gradients) == list(module.parameters)
    for name, p in model.named_parameters():
        assert distance(gradients[name], p.grad) < 1e-12, name
    for owner, others in aliases.items():
        assert all(module.position(name) == module.position(owner) for name in others)


class Views(nn.Module):
    """Parameters that are views of one memory: the transpose, a part, and a part of another one that overlaps with it."""

    def __init__(self) -> None:
        super().__init__()
        self.part = nn.Parameter(torch.randn(5, 4, **D))
        self.whole = nn.Parameter(self.part.data.T)
        self.part = nn.Parameter(self.whole.data.T[1:3, ::2])

    def forward(self, x: Any) -> Any:
        return (x @ self.whole).sin().sum() + (self.part**3).sum()


class Overlapping(nn.Module):
    """Two parameters of which neither holds all of their memory, and two that only lie in one."""

    def __init__(self) -> None:
        super().__init__()
        memory, other = torch.randn(10, **D), torch.randn(4, 6, **D)
        self.low, self.high = nn.Parameter(memory[:6].view(2, 3)), nn.Parameter(memory[4:])
        self.even, self.odd = nn.Parameter(other[:, ::2]), nn.Parameter(other[:, 1::2])

    def forward(self, x: Any) -> Any:
        return (self.low.sum() * self.high**2).sum() + (self.even * self.odd.exp()).sum() * x


def whole_gradient(model: Any, x: Any, name: str) -> Any:
    """The derivative by the memory of a parameter, through all that are views of it, by central differences."""
    memory = dict(model.named_parameters())[name].data
    memory = torch.as_strided(memory, (memory.untyped_storage().nbytes() // 8,), (1,), 0)
    made = torch.zeros_like(memory)
    for i in range(len(memory)):
        with torch.no_grad():
            memory[i] += 1e-6
            above = model(x)
            memory[i] -= 2e-6
            made[i] = (above - model(x)) / 2e-6
            memory[i] += 1e-6
    return made


def test_views_of_a_parameter_are_it() -> None:
    torch.manual_seed(4)
    model, x = Views(), torch.randn(3, 4, **D)
    module = imported(model, x)
    assert module.aliases == {"whole": ("part",)}
    loss, gradients = module.value_and_grad(x)
    assert distance(loss, model(x)) < 1e-12
    assert set(gradients) == {"whole"}
    assert np.abs(gradients["whole"].T.reshape(-1) - whole_gradient(model, x, "whole").numpy()).max() < 1e-7


def test_parameters_that_overlap_become_their_memory() -> None:
    torch.manual_seed(5)
    model, x = Overlapping(), torch.tensor(0.7, **D)
    module = imported(model, x)
    assert module.aliases == {"low + high": ("low", "high")}
    assert list(module.parameters) == ["low + high", "even", "odd"]
    loss, gradients = module.value_and_grad(x)
    assert distance(loss, model(x)) < 1e-12
    assert np.abs(gradients["low + high"] - whole_gradient(model, x, "low").numpy()).max() < 1e-7
    (even,) = torch.autograd.grad(model(x), model.even)
    assert distance(gradients["even"], even) < 1e-12


class Counters(nn.Module):
    """Buffers that are views of one that a call changes, through one of them."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("all", torch.arange(6.0, **D))
        self.register_buffer("middle", self.all[2:4])
        self.register_buffer("same", self.all)

    def forward(self, x: Any) -> Any:
        self.middle.mul_(2)
        self.same.add_(1)
        return self.all * x


def test_what_is_written_to_a_view_is_read_through_all() -> None:
    module = imported(Counters(), x := torch.tensor(3.0, **D))
    assert module.aliases == {"all": ("middle", "same")}
    y, after = module.step(x)
    model = Counters()
    assert distance(y, model(x)) == 0
    assert list(after.buffers) == ["all"]
    assert distance(after.buffers["all"], model.all) == 0


def test_a_decomposed_export_has_one_argument_too() -> None:
    tokens = torch.tensor([1, 3, 3])
    module = wg.from_torch(exported(Tied(), tokens).run_decompositions({}))
    assert module.aliases == {"embedding.weight": ("head.weight",)}


def test_memory_of_two_dtypes_is_refused() -> None:
    class Mixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("number", torch.zeros(4, **D))
            self.register_buffer("bits", self.number.view(torch.int64))

        def forward(self, x: Any) -> Any:
            return x * self.number + self.bits

    with pytest.raises(wg.InputError, match="number and bits share memory with different dtypes"):
        imported(Mixed(), torch.ones(4, **D))


def x(*extents: int) -> Any:
    return torch.randn(extents, generator=torch.Generator().manual_seed(len(extents)), **D)


def test_as_strided() -> None:
    compare_family(
        [
            Case("rows", lambda a: torch.as_strided(a, (2, 3), (4, 1)), (x(3, 4),)),
            Case("columns with steps", lambda a: torch.as_strided(a, (2, 3), (2, 4), 1), (x(3, 4),)),
            Case("transposed", lambda a: torch.as_strided(a.T, (3, 2), (1, 4), 2), (x(3, 4),)),
            Case("repeated", lambda a: torch.as_strided(a, (2, 3, 4), (0, 4, 0)), (x(3, 4),)),
            Case("windows", lambda a: torch.as_strided(a, (9, 4), (1, 1)), (x(3, 4),)),
            Case("interleaved", lambda a: torch.as_strided(a, (3, 3), (3, 2), 1), (x(3, 4),)),
            Case("one", lambda a: (torch.as_strided(a, (), (), 5), torch.as_strided(a, (1, 1), (7, 9), 11)), (x(3, 4),)),
            Case("none", lambda a: torch.as_strided(a, (0, 3), (1, 1)), (x(3, 4),)),
            # PyTorch 2.13 has wrong derivatives: where x is written to instead of elsewhere, and in the layout of a contiguous x. These are not compared.
            Case("written", lambda a, s: torch.as_strided_scatter(a.detach(), s, (2, 3), (2, 4), 1), (x(3, 4), x(2, 3))),
            Case("written to the transpose", lambda a, s: torch.as_strided_scatter(a.T.detach(), s.detach(), (3, 2), (1, 4), 2), (x(3, 4), x(3, 2))),
            Case("last row", lambda a: torch.as_strided(a, (3, 1, 2), (5, 7, 1)), (x(3, 4),)),
        ],
        1e-12,
    )
