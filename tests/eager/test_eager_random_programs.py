"""Random define-by-run programs do what they do in PyTorch: the same lines raise, and tensors, flags and gradients are alike behind each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from define_by_run_lines import KINDS, Lines
from define_by_run_programs import check, difference, set_up

import wengert.eager as eager

SEEDS = 600
PARTS = 6


@pytest.fixture(autouse=True)
def double_precision() -> Iterator[None]:
    before = torch.get_default_dtype(), eager.get_default_dtype()
    set_up()
    yield
    torch.set_default_dtype(before[0])
    eager.set_default_dtype(before[1])


@pytest.mark.parametrize("part", range(PARTS))
def test_random_programs(part: int) -> None:
    complaints = [text for seed in range(part, SEEDS, PARTS) if (text := check(seed))]
    assert not complaints, "\n".join(complaints)


FOUND = {
    "a view that is added to itself": ["a = x.cos()", "b = a.view(3)", "b.add_(b)", "b.sum().backward()"],
    "a view that its base is added to": ["a = x.cos()", "b = a.view(3)", "c = a.view(3, 1)", "b.add_(c.view(3))", "c.sum().backward()"],
    "a copy in order": ["b = x.t().contiguous().view(-1)", "b.prod().backward()"],
    "windows are views": ["a = x * 1", "b = a.view(3).unfold(0, 2, 2)", "b.mul_(2)", "a.square().sum().backward()"],
    "windows of what is changed": ["a = x * 1", "b = a.view(3).unfold(0, 2, 1)", "a.mul_(2)", "b.square().sum().backward()"],
    "an expanded view with one place for each element": ["a = x * 1", "b = a.expand(1, 1, 3)", "b.mul_(3)", "(a * a).sum().backward()"],
    "all of it is a view": ["a = x[...]", "a.sin().sum().backward()"],
    "a mask of more dimensions": ["y = x.view(3).sin().masked_fill(T.tensor([[1.0], [-1.0]]) > 0, 2.0)", "y.square().sum().backward()"],
    "ones in front of a value": ["a = x * 1", "a[0, :] = x.detach().view(1, 1, 3)", "a.sum().backward()"],
    "an infinity beside the smaller one": ["y = T.maximum(x, T.tensor(float('inf')))", "(y * y.detach().cos()).sum().backward()"],
    "NaN as a cotangent of an extremum": ["y = x.sqrt().max()", "(y * y.detach()).backward()"],
    "equal rows": ["y = T.cdist(x, x).sqrt()", "y.sum().backward()"],
    "a leaf that is detached": ["y = x.sin()", "x.detach_()", "y.sum().backward()"],
    "empty vectors beside matrices": ["y = T.cat([x, T.tensor([])], 1)", "y.sum().backward()"],
    "no piece has elements": ["y = x[:, 3:].split(2, 1)", "z = y[0].sum()"],
    "integers that lie in another order": ["y = T.tensor([[1, 2, 3], [4, 5, 6]]).t().reshape(-1)", "z = y.repeat(2)"],
    "angles of integers and floats": ["y = T.atan2(T.tensor([1, 2, 3]), x.detach().float()) * 0"],
    "a float into integers": ["y = T.tensor([[1, 2, 3]])", "y[0, 1] = x.sum()", "y.masked_fill_(y > 2, 7.0)"],
    "a repeated tensor is its own": ["y = x.repeat(2, 1)", "y.detach_()", "y.mul_(2)"],
}
"""Programs that were wrong, with the leaf ``x`` of one row of three."""


@pytest.mark.parametrize("name", FOUND)
def test_what_random_programs_found(name: str) -> None:
    first = difference(["x = T.tensor([[0.5, -1.5, 2.0]], requires_grad=True)", *FOUND[name]])
    assert first is None, first


REFUSED = {
    "t of three dimensions": "x.view(1, 1, 3).t()",
    "diag of three dimensions": "T.diag(x.view(1, 1, 3))",
    "trace of a vector": "T.trace(x[0])",
    "outer of matrices": "T.outer(x, x)",
    "blocks of three dimensions": "T.block_diag(x.view(1, 1, 3))",
    "choices of matrices": "T.cartesian_prod(x, x)",
    "a window that is too long": "x.unfold(1, 4, 1)",
    "more than there is": "x.narrow(1, 2, 2)",
    "along no dimension": "x.sum().roll(1, 0)",
    "-1 of no elements": "x[:, 3:].reshape(-1, 0)",
    "a summand that is larger": "T.addmm(x, x[:, :1], x[:, :1])",
    "batches of matrices": "T.baddbmm(x, x, x)",
    "rows of other lengths": "T.cdist(x, x[:, :2])",
    "ranks of a cross product": "T.cross(x, x[0])",
    "the root of integers in place": "T.tensor([1, 2]).sqrt_()",
    "a logarithm of integers in place": "T.tensor([1, 2]).log1p_()",
    "one of several views whose base was changed": "a = x * 1; b = a.split(1, 1)[0]; a.mul_(2); b.sum()",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_both_refuse(name: str) -> None:
    x = "x = T.tensor([[0.5, -1.5, 2.0]], requires_grad=True)"
    for namespace in (torch, eager):
        with pytest.raises((RuntimeError, IndexError, ValueError)):
            exec(f"{x}; {REFUSED[name]}", {"T": namespace})


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("y = x * (2 if T.__name__ == 'torch' else 3)", "value"),
        ("y = x.detach() if T.__name__ == 'torch' else x * 1", "requires_grad"),
        ("y = x if T.__name__ == 'torch' else x * 1", "is_leaf"),
        ("(x * (2 if T.__name__ == 'torch' else 3)).sum().backward()", "grad"),
        ("y = x.nothing() if T.__name__ == 'torch' else x", "raises"),
    ],
)
def test_differences_are_seen(line: str, kind: str) -> None:
    first = difference(["x = T.tensor([1.0], requires_grad=True)", "z = x * 1", line])
    assert first is not None
    assert (first.kind, first.line) == (kind, line)


def test_all_kinds_of_lines_are_drawn() -> None:
    from random import Random

    lines = Lines(Random(0))
    drawn = {lines.line({"x0": (2, 3), "x1": (3,)}) for _ in range(2000)}
    assert len(drawn) > 1000
    assert len(KINDS) == 8
