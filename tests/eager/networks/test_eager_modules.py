"""Modules beside torch.nn: with the same state, the same outputs, gradients and buffers; the same names; numbers drawn from the same distributions."""

from __future__ import annotations

import copy
import doctest
import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.utils.checkpoint
from side_by_side import compare, plain
from test_eager_nn import functions, random

import wengert as wg
import wengert.eager as eager
import wengert.nn as nn
import wengert.numpy as wnp
import wengert.optim as optim


def library(T: Any) -> Any:
    return torch.nn if T is torch else nn


def shaped(N: Any) -> Any:
    return N.Sequential(N.Unflatten(-1, (2, 3)), N.Linear(3, 4), N.Flatten(-2), N.Flatten(0))


def block(N: Any) -> Any:
    return N.Sequential(N.Linear(6, 8), N.Sequential(N.GELU(), N.LayerNorm(8)), N.Linear(8, 5, bias=False))


def images(N: Any) -> Any:
    return N.Sequential(N.Conv2d(3, 4, 3, stride=2, padding=1), N.BatchNorm2d(4), N.ReLU(), N.Conv2d(4, 2, (1, 2), groups=2, bias=False), N.Flatten())


CASES: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "linear": (lambda N: N.Linear(5, 3), (4, 5)),
    "linear without bias": (lambda N: N.Linear(5, 3, bias=False), (2, 4, 5)),
    "conv2d": (lambda N: N.Conv2d(4, 6, (3, 2), stride=2, padding=1, dilation=(1, 2), groups=2), (2, 4, 7, 8)),
    "batch norm 1d": (lambda N: N.BatchNorm1d(3, momentum=0.3), (6, 3)),
    "batch norm 1d of rows": (lambda N: N.BatchNorm1d(3, affine=False), (6, 3, 4)),
    "batch norm 2d": (lambda N: N.BatchNorm2d(3, track_running_stats=False), (4, 3, 2, 5)),
    "batch norm 3d": (lambda N: N.BatchNorm3d(3, eps=1e-3), (4, 3, 2, 5, 2)),
    "instance norm 1d": (lambda N: N.InstanceNorm1d(3), (4, 3, 5)),
    "instance norm 1d of one": (lambda N: N.InstanceNorm1d(3, affine=True), (3, 5)),
    "instance norm 2d": (lambda N: N.InstanceNorm2d(3, momentum=0.3, affine=True, track_running_stats=True), (4, 3, 2, 5)),
    "instance norm 3d of one": (lambda N: N.InstanceNorm3d(3, track_running_stats=True), (3, 2, 5, 2)),
    "group norm": (lambda N: N.GroupNorm(2, 6, eps=1e-3), (4, 6, 5)),
    "group norm without anything": (lambda N: N.GroupNorm(3, 6, affine=False), (4, 6)),
    "rms norm": (lambda N: N.RMSNorm((3, 4)), (5, 3, 4)),
    "rms norm without anything": (lambda N: N.RMSNorm(4, eps=1e-3, elementwise_affine=False), (5, 4)),
    "layer norm": (lambda N: N.LayerNorm((3, 4), eps=1e-3), (5, 3, 4)),
    "layer norm without bias": (lambda N: N.LayerNorm(4, bias=False), (5, 4)),
    "layer norm without anything": (lambda N: N.LayerNorm(4, elementwise_affine=False), (5, 4)),
    "activations": (lambda N: N.Sequential(N.ReLU(), N.GELU(), N.GELU(approximate="tanh"), N.SiLU(), N.Tanh(), N.Sigmoid(), N.Dropout(0.0)), (5, 4)),
    "nested": (block, (4, 6)),
    "shapes": (shaped, (2, 4, 6)),
    "pools": (lambda N: N.Sequential(N.MaxPool2d(2, 1, ceil_mode=True), N.AvgPool2d((2, 3), padding=1, count_include_pad=False)), (3, 2, 5, 7)),
    "images": (images, (3, 3, 6, 8)),
}


@pytest.mark.parametrize("name", CASES)
def test_layer(name: str) -> None:
    make, shape = CASES[name]
    torch.manual_seed(0)
    models = {torch: make(torch.nn).double(), eager: make(nn).double()}
    for x in [*models[torch].parameters(), *models[torch].buffers()]:
        x.data += torch.rand_like(x) if x.is_floating_point() else 3
    models[eager].load_state_dict(models[torch].state_dict())
    results_of: list[Any] = []
    for T, model in models.items():
        runs: list[Any] = []
        for i, mode in enumerate((True, True, False)):
            model.train(mode)
            x = random(T, *shape, seed=i)
            y = model(x)
            y.backward(random(T, *y.shape, seed=9, requires_grad=False))
            runs.append([y, x.grad, [p.grad for p in model.parameters()]])
        names = [n for n, _ in model.named_parameters()], [n for n, _ in model.named_buffers()], [n for n, _ in model.named_modules()], list(model.state_dict())
        results_of.append([plain(runs), [*map(list, names)], [np.asarray(v) for v in model.state_dict().values()]])
    compare(results_of[1], results_of[0], 1e-6 if name in ("activations", "nested") else 1e-9)


def test_embedding_and_losses() -> None:
    results_of: list[Any] = []
    theirs = torch.nn.Embedding(6, 3).double()
    for T, model in ((torch, theirs), (eager, nn.Embedding(6, 3).double())):
        model.load_state_dict(theirs.state_dict())
        N = library(T)
        logits = model(T.tensor([0, 5, 5, 2]))
        loss = N.CrossEntropyLoss(label_smoothing=0.1)(logits, T.tensor([0, 2, 1, 1])) + N.MSELoss(reduction="sum")(logits, random(T, 4, 3))
        loss.backward()
        results_of.append(plain([loss, model.weight.grad]))
    compare(results_of[1], results_of[0], 1e-9)


@pytest.mark.parametrize(
    "make",
    [
        lambda N: N.Linear(300, 200),
        lambda N: N.Conv2d(64, 64, (5, 3), groups=4),
        lambda N: N.Embedding(200, 300),
        lambda N: N.BatchNorm1d(9),
        lambda N: N.LayerNorm(9),
    ],
)
def test_parameters_start_from_the_same_distributions(make: Callable[[Any], Any]) -> None:
    eager.manual_seed(1)
    torch.manual_seed(1)
    ours, theirs = make(nn), make(torch.nn)
    for (name, p), (_, q) in zip(ours.named_parameters(), theirs.named_parameters(), strict=True):
        p, q = p.detach().numpy(), q.detach().numpy()
        assert (p.shape, p.dtype) == (q.shape, q.dtype)
        tolerance = 4 / math.sqrt(p.size)
        np.testing.assert_allclose(p.mean(), q.mean(), atol=tolerance * (q.std() + 1e-9), err_msg=name)
        np.testing.assert_allclose(p.std(), q.std(), rtol=tolerance, err_msg=name)
        np.testing.assert_allclose(np.abs(p).max(), np.abs(q).max(), rtol=3 * tolerance, err_msg=name)


@pytest.mark.parametrize("name", ["uniform_", "normal_", "zeros_", "ones_", "kaiming_uniform_", "kaiming_normal_", "xavier_uniform_", "xavier_normal_"])
def test_initialisation(name: str) -> None:
    options = {"kaiming_uniform_": {"mode": "fan_out", "nonlinearity": "relu"}, "kaiming_normal_": {"a": 2.0}, "xavier_normal_": {"gain": 3.0}}.get(name, {})
    eager.manual_seed(0)
    torch.manual_seed(0)
    p = getattr(nn.init, name)(eager.zeros(50, 30, 3, 2, requires_grad=True), **options).detach().numpy()
    q = getattr(torch.nn.init, name)(torch.zeros(50, 30, 3, 2), **options).numpy()
    np.testing.assert_allclose(p.std(), q.std(), rtol=0.03)
    np.testing.assert_allclose(p.mean(), q.mean(), atol=0.05 * q.std() + 1e-9)
    with pytest.raises(eager.ShapeError, match="fan_in"):
        nn.init.xavier_uniform_(eager.zeros(3))


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 2, 3)])
def test_orthogonal_rows_or_columns(shape: tuple[int, ...]) -> None:
    eager.manual_seed(0)
    w = nn.init.orthogonal_(eager.zeros(*shape, dtype="float64", requires_grad=True), gain=2.0).detach().numpy().reshape(shape[0], -1)
    w = w if w.shape[0] >= w.shape[1] else w.T
    np.testing.assert_allclose(w.T @ w, 4 * np.eye(w.shape[1]), atol=1e-12)


def test_other_starts() -> None:
    eager.manual_seed(0)
    torch.manual_seed(0)
    p, q = (i.trunc_normal_(T.zeros(400, 50), 0.5, 2.0, -1.0, 3.0).numpy() for T, i in ((eager, nn.init), (torch, torch.nn.init)))
    assert p.min() >= -1
    assert p.max() <= 3
    np.testing.assert_allclose([p.mean(), p.std()], [q.mean(), q.std()], atol=0.03)
    for name, shape, options in (("constant_", (2, 3), {"val": 7}), ("eye_", (2, 3), {}), ("dirac_", (6, 2, 3, 2), {"groups": 2}), ("dirac_", (2, 3, 3), {})):
        ours, theirs = (getattr(i, name)(T.zeros(*shape), **options).numpy() for T, i in ((eager, nn.init), (torch, torch.nn.init)))
        np.testing.assert_array_equal(ours, theirs)
    assert nn.init.calculate_gain("leaky_relu", 0.1) == torch.nn.init.calculate_gain("leaky_relu", 0.1)
    for call in (lambda: nn.init.eye_(eager.zeros(3)), lambda: nn.init.dirac_(eager.zeros(3, 3)), lambda: nn.init.orthogonal_(eager.zeros(3))):
        with pytest.raises(ValueError, match="wanted"):
            call()


def test_states_that_do_not_fit_are_refused_as_a_whole() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    before = model.state_dict()
    state = {**{n: v + 1 for n, v in before.items() if n != "1.bias"}, "0.weight": np.zeros((3, 3)), "2.weight": np.zeros(1)}
    with pytest.raises(nn.StateDictError) as raised:
        model.load_state_dict(state)
    assert str(raised.value) == ("the state does not fit this Sequential: 1.bias is missing; there is no 2.weight; 0.weight has shape [3, 2], found [3, 3]")
    assert all((v == before[n]).all() for n, v in model.state_dict().items())
    with pytest.raises(nn.StateDictError, match=r"0\.weight has shape"):
        model.load_state_dict(state, strict=False)
    model.load_state_dict({"0.bias": [1.0, 2.0, 3.0]}, strict=False)
    assert model[0].bias.tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(nn.StateDictError, match=r"there is no 0\.size"):
        model.load_tree({**model.tree(), "0": {**model.tree()["0"], "size": 1}})


class Own(nn.Module):
    """Parameters, buffers and modules of all kinds, without a call of ``super().__init__``."""

    def __init__(self) -> None:
        self.first = nn.Linear(2, 2)
        self.same = self.first
        self.scale = nn.Parameter(eager.ones(2))
        self.frozen = nn.Parameter(eager.ones(2), requires_grad=False)
        self.plain = eager.ones(2)
        self.layers = nn.ModuleList([nn.Linear(2, 2), nn.Dropout(0.5)])
        self.register_buffer("count", eager.zeros(()))
        self.register_buffer("cache", eager.zeros(3), persistent=False)
        self.register_parameter("late", nn.Parameter(eager.ones(1)))

    def forward(self, x: Any, *, times: int = 1) -> Any:
        self.count.add_(times)
        for layer in [self.first, *self.layers]:
            x = layer(x) * self.scale
        return x * times


def test_what_a_module_owns() -> None:
    model = Own()
    assert [n for n, _ in model.named_parameters()] == ["scale", "frozen", "late", "first.weight", "first.bias", "layers.0.weight", "layers.0.bias"]
    assert [n for n, _ in model.named_parameters(recurse=False)] == ["scale", "frozen", "late"]
    assert [n for n, _ in model.named_buffers()] == ["count", "cache"]
    assert [n for n, _ in model.named_modules()] == ["", "first", "layers", "layers.0", "layers.1"]
    assert len(list(model.children())) == 3
    assert "cache" not in model.state_dict()
    assert not model.eval().layers[1].training
    assert model.train().layers[1].training
    model(eager.ones(1, 2), times=2).sum().backward()
    assert model.count.item() == 2
    assert model.frozen.grad is None
    assert model.scale.grad is not None
    model.zero_grad(set_to_none=False)
    assert model.scale.grad.tolist() == [0.0, 0.0]
    model.zero_grad()
    assert model.scale.grad is None
    assert all(not p.requires_grad for p in model.requires_grad_(False).parameters())
    assert model.double().scale.dtype == np.float64
    assert repr(nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.ReLU()))) == (
        "Sequential(\n  (0): Linear(in_features=2, out_features=3, bias=True)\n  (1): Sequential(\n    (0): ReLU()\n  )\n)"
    )
    assert isinstance(nn.Sequential(nn.ReLU(), nn.Tanh())[:1], nn.Sequential)
    with pytest.raises(NotImplementedError, match="ModuleList has no method forward"):
        model.layers(1)


def test_a_copy_is_another_module() -> None:
    model = Own()
    model(eager.ones(1, 2))
    other = copy.deepcopy(model)
    assert [n for n, _ in other.named_parameters()] == [n for n, _ in model.named_parameters()]
    assert other.same is other.first
    other.load_state_dict({n: v + 1 for n, v in model.state_dict().items()})
    assert (other.first.weight.detach().numpy() == model.first.weight.detach().numpy() + 1).all()
    other(eager.ones(1, 2)).sum().backward()
    assert model.first.weight.grad is None


def test_hooks() -> None:
    for T in (torch, eager):
        N = library(T)
        layer = N.ReLU()
        seen: list[Any] = []
        first = layer.register_forward_pre_hook(lambda module, args, seen=seen: seen.append(len(args)) or args[0] * 2)
        second = layer.register_forward_hook(lambda module, args, y, seen=seen: seen.append(args[0].tolist()) or y + 1)
        x = T.tensor([1.0, -1.0])
        assert layer(x).tolist() == [3.0, 1.0]
        assert seen == [1, [2.0, -2.0]]
        first.remove()
        second.remove()
        assert layer(x).tolist() == [1.0, 0.0]


def test_training_beside_torch_and_compiled() -> None:
    """The same steps from the same state: a model with batch norm under AdamW, as it is and compiled."""
    torch.manual_seed(0)
    theirs = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Linear(8, 3)).double()
    start = {name: v.clone() for name, v in theirs.state_dict().items()}
    results_of: list[Any] = []
    for T, compiled in ((torch, False), (eager, False), (eager, True)):
        model = theirs if T is torch else nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3)).double()
        model.load_state_dict(start)
        optimizer = (torch.optim if T is torch else optim).AdamW(model.parameters(), lr=0.05)

        def step(x: Any, y: Any, T: Any = T, model: Any = model, optimizer: Any = optimizer) -> Any:
            optimizer.zero_grad()
            loss = functions(T).cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss.detach()

        run = eager.compile(step) if compiled else step
        losses = [run(random(T, 10, 6, seed=i, requires_grad=False), T.tensor([i % 3] * 5 + [1, 2, 0, 1, 2])).item() for i in range(6)]
        results_of.append([losses, [np.asarray(v) for v in model.state_dict().values()]])
        if compiled:
            assert len(run.reasons) <= 2, run.reasons
    compare(results_of[1], results_of[0], 1e-8)
    compare(results_of[2], results_of[0], 1e-8)


def test_compiled_functions_see_every_mode() -> None:
    """``eval()`` reaches a module however deep it is, and so does the guard."""
    deep: Any = nn.Dropout(1.0)
    for _ in range(9):
        deep = nn.Sequential(deep)
    f = eager.compile(lambda x: deep(x) + 1)
    x = eager.ones(2)
    assert f(x).tolist() == [1.0, 1.0]
    deep.eval()
    assert f(x).tolist() == [2.0, 2.0]
    assert "training was True and is False" in f.reasons[1]


def test_traced_code_takes_the_tree() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    x = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)

    def loss(tree: Any, x: Any) -> Any:
        h = wnp.tanh(x @ tree["0"]["weight"].T + tree["0"]["bias"])
        return wnp.sum(h @ tree["2"]["weight"].T + tree["2"]["bias"])

    gradient = wg.grad(loss)(model.tree(), x)
    model(eager.from_numpy(x)).sum().backward()
    for name, p in model.named_parameters():
        layer, kind = name.split(".")
        np.testing.assert_allclose(gradient[layer][kind], p.grad.numpy(), rtol=1e-5, atol=1e-6)
    model.load_tree(gradient)
    assert (model[0].weight.detach().numpy() == gradient["0"]["weight"]).all()


def test_checkpointed_modules() -> None:
    results_of: list[Any] = []
    torch.manual_seed(0)
    theirs = block(torch.nn)
    for T, model in ((torch, theirs), (eager, block(nn))):
        model.load_state_dict(theirs.state_dict())
        x = T.tensor([[0.1 * i for i in range(6)]], requires_grad=True)
        y = eager.checkpoint(model, x) if T is eager else torch.utils.checkpoint.checkpoint(model, x, use_reentrant=False)
        y.sum().backward()
        results_of.append(plain([y, x.grad, [p.grad for p in model.parameters()]]))
    compare(results_of[1], results_of[0], 1e-5)


def test_examples() -> None:
    failed, tried = doctest.testmod(importlib.import_module("wengert.nn.module"))
    assert tried > 4
    assert failed == 0
