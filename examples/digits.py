"""The common part of the two programs that learn to read digits: data, batches, three ways to train, and the table at the end.

A network is given as its initial parameters (drawn with NumPy, so that every way begins with the same numbers), its logits for traced Python, and
a module for code that is run at once. The module is one text for :mod:`wengert.nn` and for :mod:`torch.nn`: the names are the same.

All train with Adam (D. P. Kingma, J. Ba: "Adam: A Method for Stochastic Optimization", 2015) on the same batches in the same order.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import numpy as np
import optree

import wengert as wg
import wengert.eager as eager
import wengert.nn
import wengert.numpy as wnp
import wengert.optim

Array = np.ndarray[Any, Any]
Parameters = dict[str, Array]


@dataclass(frozen=True)
class Settings:
    """The settings of the training: how long and how fast to learn."""

    epochs: int = 20
    batch: int = 64
    rate: float = 2e-3
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    seed: int = 0
    steps: int | None = None
    """Steps of an epoch; None for all batches."""


@dataclass(frozen=True)
class Network:
    """A classifier of images ``f32[n, 64]``; logits are ``f32[n, 10]``.

    Attributes:
        name: what the table calls it.
        initial: parameters from a random generator.
        traced: logits of ``(params, x)`` in wengert.numpy.
        module: the network as a module of wengert.nn or torch.nn, whichever it is given; its parameters have the names of the initial ones.
    """

    name: str
    initial: Callable[[np.random.Generator], Parameters]
    traced: Callable[[Any, Any], Any]
    module: Callable[[Any], Any]


@dataclass(frozen=True)
class Digits:
    """Images as ``f32[n, 64]`` between 0 and 1, and their classes ``i64[n]``."""

    x: Array
    y: Array
    x_test: Array
    y_test: Array

    def batches(self, settings: Settings, epoch: int) -> Iterator[tuple[Array, Array]]:
        """The batches of an epoch: a shuffle that depends on the seed and the epoch alone. What is left of a last batch is not used."""
        order = np.random.default_rng([settings.seed, epoch]).permutation(len(self.x))
        for i in range(self.count(settings)):
            chosen = order[i * settings.batch : (i + 1) * settings.batch]
            yield self.x[chosen], self.y[chosen]

    def count(self, settings: Settings) -> int:
        """The number of batches of an epoch."""
        whole = len(self.x) // settings.batch
        return whole if settings.steps is None else min(whole, settings.steps)


def load_digits(seed: int = 0, held_out: int = 360) -> Digits:
    """1797 digits of 8 by 8 points, some of them held out for the test.

    They are those that scikit-learn has, of E. Alpaydin and C. Kaynak: "Optical Recognition of Handwritten Digits", UCI Machine Learning Repository, 1998
    (CC BY 4.0, https://doi.org/10.24432/C50P49).
    """
    with np.load(Path(__file__).with_name("digits.npz")) as stored:
        images, classes = stored["images"], stored["classes"]
    order = np.random.default_rng(seed).permutation(len(images))
    x, y = (images[order] / 16).astype(np.float32), classes[order].astype(np.int64)
    return Digits(x[held_out:], y[held_out:], x[:held_out], y[:held_out])


# -- the three ways


class Learner(Protocol):
    """Parameters that change with every batch."""

    def step(self, x: Array, y: Array) -> float:
        """Learns from a batch; its loss before that."""
        ...

    def logits(self, x: Array) -> Array:
        """The present logits of the network."""
        ...


class Traced:
    """Traced Python: the loss, its gradient and the step of the optimizer are one compiled function of a tree to a tree."""

    def __init__(self, network: Network, settings: Settings):
        params = network.initial(np.random.default_rng(settings.seed))
        zeros = optree.tree_map(np.zeros_like, params)
        # The count in f64: 1 - 0.999^t has lost half of its digits in f32 when t is 1.
        self.state: Any = {"params": params, "mean": zeros, "square": zeros, "count": np.float64(0)}
        self.forward = wg.jit(network.traced)
        (first, second), rate, eps = settings.betas, settings.rate, settings.eps

        def loss(params: Any, x: Any, y: Any) -> Any:
            logs = wnp.special.log_softmax(network.traced(params, x))
            return -wnp.mean(wnp.take_along_axis(logs, wnp.expand_dims(y, axis=1), axis=1))

        @wg.jit
        def step(state: Any, x: Any, y: Any) -> Any:
            value, gradient = wg.value_and_grad(loss)(state["params"], x, y)
            count = state["count"] + 1
            mean = optree.tree_map(lambda m, g: first * m + (1 - first) * g, state["mean"], gradient)
            square = optree.tree_map(lambda s, g: second * s + (1 - second) * g * g, state["square"], gradient)
            m_scale, s_scale = (wnp.astype(1 / (1 - beta**count), wnp.float32) for beta in (first, second))
            params = optree.tree_map(lambda p, m, s: p - rate * m * m_scale / (wnp.sqrt(s * s_scale) + eps), state["params"], mean, square)
            return {"params": params, "mean": mean, "square": square, "count": count}, value

        self.function = step

    def step(self, x: Array, y: Array) -> float:
        self.state, loss = self.function(self.state, x, y)
        return float(loss)

    def logits(self, x: Array) -> Array:
        return self.forward(self.state["params"], x)


class DefineByRun:
    """A module, ``backward()`` and an optimizer that changes parameters in place: the same text for wengert.eager and for PyTorch."""

    def __init__(self, network: Network, settings: Settings, tensors: Any, modules: Any, optimizers: Any, compiled: bool = False):
        self.tensors = tensors
        self.model = model = network.module(modules)
        initial = network.initial(np.random.default_rng(settings.seed))
        model.load_state_dict({name: tensors.from_numpy(array) for name, array in initial.items()})
        optimizer = optimizers.Adam(model.parameters(), lr=settings.rate, betas=settings.betas, eps=settings.eps)
        loss_of = modules.CrossEntropyLoss()

        def step(x: Any, y: Any) -> Any:
            optimizer.zero_grad()
            loss = loss_of(model(x), y)
            loss.backward()
            optimizer.step()
            return loss.detach()

        self.function = tensors.compile(step) if compiled else step

    def step(self, x: Array, y: Array) -> float:
        return self.function(self.tensors.from_numpy(x), self.tensors.from_numpy(y)).item()

    def logits(self, x: Array) -> Array:
        with self.tensors.no_grad():
            return self.model(self.tensors.from_numpy(x)).numpy()


def ways(network: Network, settings: Settings, style: str, torch: ModuleType | None) -> dict[str, Callable[[], Learner]]:
    """The ways to train that a style names ("traced", "eager" or "both"), and PyTorch's if it is given."""
    makers: dict[str, Callable[[], Learner]] = {}
    if style in ("traced", "both"):
        makers["traced"] = lambda: Traced(network, settings)
    if style in ("eager", "both"):
        makers["define by run"] = lambda: DefineByRun(network, settings, eager, wengert.nn, wengert.optim)
        makers["define by run, compiled"] = lambda: DefineByRun(network, settings, eager, wengert.nn, wengert.optim, compiled=True)
    if torch is not None:
        makers["PyTorch"] = lambda: DefineByRun(network, settings, torch, torch.nn, torch.optim)
    return makers


# -- training and the table


@dataclass
class Course:
    """The course of a training: the loss of every step, the seconds of every epoch, the share of the test that was right at the end."""

    steps: int
    losses: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    accuracy: float = 0.0

    @property
    def last_loss(self) -> float:
        """The mean over the last epoch."""
        return float(np.mean(self.losses[-self.steps :]))


def train(name: str, learner: Learner, digits: Digits, settings: Settings) -> Course:
    """All epochs, under a progress bar."""
    from tqdm import tqdm

    course = Course(digits.count(settings))
    with tqdm(total=settings.epochs * course.steps, desc=f"{name:>24}", unit="step") as bar:
        for epoch in range(settings.epochs):
            start = time.perf_counter()
            for x, y in digits.batches(settings, epoch):
                course.losses.append(learner.step(x, y))
                bar.update()
            course.seconds.append(time.perf_counter() - start)
            bar.set_postfix(loss=f"{course.last_loss:.4f}")
    course.accuracy = float(np.mean(np.argmax(learner.logits(digits.x_test), axis=1) == digits.y_test))
    return course


def table(courses: dict[str, Course]) -> str:
    """One line for each way; the first epoch, which compiles, apart from the others."""
    lines = [f"{'':24} {'loss':>9} {'test accuracy':>14} {'first epoch':>12} {'later ones':>11}"]
    for name, course in courses.items():
        later = f"{np.median(course.seconds[1:]):9.4f} s" if len(course.seconds) > 1 else ""
        lines.append(f"{name:24} {course.last_loss:9.5f} {course.accuracy:13.2%} {course.seconds[0]:10.3f} s {later:>11}")
    return "\n".join(lines)


def disagreement(courses: dict[str, Course]) -> float:
    """The largest difference between the losses that two ways have in the same step of the first epoch."""
    first = np.array([course.losses[: course.steps] for course in courses.values()])
    return float(np.max(first.max(axis=0) - first.min(axis=0)))


def compare(network: Network, settings: Settings, style: str = "both", torch: ModuleType | None = None) -> dict[str, Course]:
    """Trains in every way that is asked for and prints the table."""
    digits = load_digits(settings.seed)
    courses = {name: train(name, make(), digits, settings) for name, make in ways(network, settings, style, torch).items()}
    count = sum(array.size for array in network.initial(np.random.default_rng(settings.seed)).values())
    print(f"\n{network.name}: {count} parameters, {len(digits.x)} images")
    print(f"batches of {settings.batch}, {settings.epochs} epochs of {digits.count(settings)} steps\n")
    print(table(courses))
    if len(courses) > 1:
        print(f"\nIn the first epoch the losses of a step differ by {disagreement(courses):.1e} at most.")
    return courses


def main(network: Network, settings: Settings, arguments: list[str] | None = None) -> dict[str, Course]:
    """The command line of an example."""
    parser = argparse.ArgumentParser(description=f"Trains {network.name} on handwritten digits and compares with PyTorch.")
    parser.add_argument("--style", choices=("traced", "eager", "both"), default="both")
    parser.add_argument("--epochs", type=int, default=settings.epochs)
    parser.add_argument("--steps", type=int, default=None, help="steps of an epoch (all batches)")
    parser.add_argument("--no-torch", action="store_true", help="leave PyTorch out")
    chosen = parser.parse_args(arguments)
    torch = None if chosen.no_torch else installed_torch()
    # One thread for everybody: on matrices this small, threads cost more than they bring.
    os.environ["WENGERT_NUM_THREADS"] = "1"
    if torch is not None:
        torch.set_num_threads(1)
    return compare(network, replace(settings, epochs=chosen.epochs, steps=chosen.steps), chosen.style, torch)


def installed_torch() -> ModuleType | None:
    """PyTorch, if it is installed."""
    try:
        import torch
    except ImportError:
        print("PyTorch is not installed: nothing to compare with (pip install torch)")
        return None
    return torch
