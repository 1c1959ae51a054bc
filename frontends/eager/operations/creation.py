"""Making tensors: from data, filled, counted, at random."""

from __future__ import annotations

import builtins
from collections import abc
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any

import numpy as np

from wengert.eager.containers import extents
from wengert.eager.operations.promotion import default_dtype
from wengert.eager.recording import dispatch
from wengert.eager.recording.modes import STATE, no_grad
from wengert.eager.tensor import Tensor

_generator = np.random.default_rng()


def manual_seed(seed: int) -> None:
    """Makes what is drawn at random from now on repeatable."""
    global _generator  # noqa: PLW0603  (one generator for the process, as in PyTorch)
    _generator = np.random.default_rng(seed)


def generator() -> np.random.Generator:
    """The generator that random numbers are drawn from."""
    return _generator


def random_state() -> Any:
    """The state of the random numbers; :func:`drawing_from` goes back there."""
    return _generator.bit_generator.state


@contextmanager
def drawing_from(state: Any) -> abc.Generator[None]:
    """Inside, random numbers are those that followed this state; afterwards, those that would have come without."""
    global _generator  # noqa: PLW0603
    generator = _generator
    before = generator.bit_generator.state
    generator.bit_generator.state = state
    try:
        yield
    finally:
        _generator = generator
        generator.bit_generator.state = before


class Generator:
    """A source of random numbers of its own, for what takes ``generator=``."""

    def __init__(self, device: Any = None):
        self.numbers = np.random.default_rng()

    def manual_seed(self, seed: int) -> Generator:
        """Makes what is drawn from it repeatable."""
        self.numbers = np.random.default_rng(seed)
        return self


_UNUSED = ("device", "layout", "pin_memory", "memory_format")
"""Arguments that say where a tensor is to be and how it lies in memory, which has no meaning here."""


def placed(make: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A function that makes a tensor and takes, besides its own arguments, where that is to be, and a generator of random numbers."""

    @wraps(make)
    def run(*args: Any, **keywords: Any) -> Tensor:
        if not keywords:
            return make(*args)
        own = {k: v for k, v in keywords.items() if k not in _UNUSED and k != "generator"}
        generator = keywords.get("generator")
        if generator is None:
            return make(*args, **own)
        with drawing_by(generator):
            return make(*args, **own)

    return run


@contextmanager
def drawing_by(generator: Generator) -> abc.Generator[None]:
    """Inside, random numbers come from this generator."""
    global _generator  # noqa: PLW0603
    before, _generator = _generator, generator.numbers
    try:
        yield
    finally:
        _generator = before


def _made(array: Any, requires_grad: bool) -> Tensor:
    made = dispatch.constant(array)
    return made.requires_grad_() if requires_grad else made


@placed
def tensor(data: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor of numbers, nested lists or an array, which are copied. Python floats become the default dtype (float32), Python
    integers int64; arrays keep their dtype."""
    if isinstance(data, Tensor):
        data = data.array
    with no_grad():  # tensors in lists are numbers
        array = np.array(data)
    if dtype is None and not isinstance(data, np.ndarray | np.generic) and array.dtype.kind == "f":
        array = array.astype(default_dtype())
    return _made(array if dtype is None else array.astype(dtype), requires_grad)


@placed
def as_tensor(data: Any, dtype: Any = None) -> Tensor:
    """The tensor itself, or a new one where it is none or of another dtype."""
    made = data if isinstance(data, Tensor) else tensor(data, dtype)
    return made if dtype is None else made.to(dtype)


def from_numpy(array: np.ndarray[Any, np.dtype[Any]]) -> Tensor:
    """A tensor that shares the array's memory."""
    return dispatch.new(array)


@placed
def full(shape: Sequence[int], value: float, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """One number everywhere."""
    number = np.asarray(value)
    return _made(np.full(tuple(shape), value, dtype or (default_dtype() if number.dtype.kind == "f" else number.dtype)), requires_grad)


@placed
def zeros(*shape: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros."""
    return _made(np.zeros(extents(shape), dtype or default_dtype()), requires_grad)


@placed
def ones(*shape: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones."""
    return _made(np.ones(extents(shape), dtype or default_dtype()), requires_grad)


@placed
def arange(*bounds: float, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Numbers at equal steps: stop; start and stop; start, stop and step."""
    array = np.arange(*bounds)
    return _made(array.astype(dtype or (default_dtype() if array.dtype.kind == "f" else array.dtype)), requires_grad)


@placed
def linspace(start: float, end: float, steps: int, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """So many numbers at equal steps, both ends included."""
    return _made(np.linspace(float(start), float(end), int(steps)).astype(dtype or default_dtype()), requires_grad)


@placed
def eye(n: int, m: int | None = None, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """The identity matrix."""
    return _made(np.eye(n, m, dtype=dtype or default_dtype()), requires_grad)


def _drawn(draw: Any, dtype: Any, requires_grad: bool) -> Tensor:
    """Random numbers; a tape that is listening draws them anew when it is run again."""
    chosen_dtype = np.dtype(dtype or default_dtype())
    made = dispatch.new(np.asarray(draw(), chosen_dtype))
    if STATE.tape is not None:
        STATE.tape.drawn(made, lambda: np.asarray(draw(), chosen_dtype))
    return made.requires_grad_() if requires_grad else made


@placed
def randn(*shape: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Standard normal numbers."""
    return _drawn(lambda: _generator.standard_normal(extents(shape)), dtype, requires_grad)


@placed
def rand(*shape: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Uniform numbers from 0 to 1."""
    return _drawn(lambda: _generator.random(extents(shape)), dtype, requires_grad)


@placed
def randint(low: int, high: Any, shape: Any = None, *, size: Any = None, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Integers, low (0 if there is one bound) included and high not."""
    shape = size if shape is None else shape
    if shape is None:
        low, high, shape = 0, low, high
    return _drawn(lambda: _generator.integers(low, high, tuple(shape)), dtype or np.int64, requires_grad)


@placed
def randperm(n: int) -> Tensor:
    """The numbers below n in random order."""
    return _drawn(lambda: _generator.permutation(n), np.int64, False)


def is_tensor(x: Any) -> builtins.bool:
    """Whether x is a tensor."""
    return isinstance(x, Tensor)
