"""Making tensors: from data, filled, counted, at random."""

from __future__ import annotations

import builtins
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from wengert.eager.containers import extents
from wengert.eager.operations.promotion import default_dtype
from wengert.eager.recording import dispatch
from wengert.eager.recording.modes import STATE
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
def drawing_from(state: Any) -> Generator[None]:
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


def _made(array: Any, requires_grad: bool) -> Tensor:
    made = dispatch.constant(array)
    return made.requires_grad_() if requires_grad else made


def tensor(data: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor of numbers, nested lists or an array, which are copied. Python floats become the default dtype (float32), Python
    integers int64; arrays keep their dtype."""
    if isinstance(data, Tensor):
        data = data.array
    array = np.array(data)
    if dtype is None and not isinstance(data, np.ndarray | np.generic) and array.dtype.kind == "f":
        array = array.astype(default_dtype())
    return _made(array if dtype is None else array.astype(dtype), requires_grad)


def as_tensor(data: Any) -> Tensor:
    """The tensor itself, or a new one."""
    return data if isinstance(data, Tensor) else tensor(data)


def from_numpy(array: np.ndarray[Any, np.dtype[Any]]) -> Tensor:
    """A tensor that shares the array's memory."""
    return dispatch.new(array)


def full(shape: Sequence[int], value: float, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """One number everywhere."""
    number = np.asarray(value)
    return _made(np.full(tuple(shape), value, dtype or (default_dtype() if number.dtype.kind == "f" else number.dtype)), requires_grad)


def zeros(*shape: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros."""
    return _made(np.zeros(extents(shape), dtype or default_dtype()), requires_grad)


def ones(*shape: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones."""
    return _made(np.ones(extents(shape), dtype or default_dtype()), requires_grad)


def zeros_like(x: Tensor, requires_grad: bool = False) -> Tensor:
    """Zeros of the shape and dtype of x."""
    return _made(np.zeros(x.array.shape, x.array.dtype), requires_grad)


def ones_like(x: Tensor, requires_grad: bool = False) -> Tensor:
    """Ones of the shape and dtype of x."""
    return _made(np.ones(x.array.shape, x.array.dtype), requires_grad)


def arange(*bounds: float, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Numbers at equal steps: stop; start and stop; start, stop and step."""
    array = np.arange(*bounds)
    return _made(array.astype(dtype or (default_dtype() if array.dtype.kind == "f" else array.dtype)), requires_grad)


def linspace(start: float, end: float, steps: int, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """So many numbers at equal steps, both ends included."""
    return _made(np.linspace(start, end, steps).astype(dtype or default_dtype()), requires_grad)


def eye(n: int, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """The identity matrix."""
    return _made(np.eye(n, dtype=dtype or default_dtype()), requires_grad)


def _drawn(draw: Any, dtype: Any, requires_grad: bool) -> Tensor:
    """Random numbers; a tape that is listening draws them anew when it is run again."""
    chosen_dtype = np.dtype(dtype or default_dtype())
    made = dispatch.new(np.asarray(draw(), chosen_dtype))
    if STATE.tape is not None:
        STATE.tape.drawn(made, lambda: np.asarray(draw(), chosen_dtype))
    return made.requires_grad_() if requires_grad else made


def randn(*shape: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Standard normal numbers."""
    return _drawn(lambda: _generator.standard_normal(extents(shape)), dtype, requires_grad)


def rand(*shape: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Uniform numbers from 0 to 1."""
    return _drawn(lambda: _generator.random(extents(shape)), dtype, requires_grad)


def randint(low: int, high: int, shape: Sequence[int]) -> Tensor:
    """Integers, low included and high not."""
    return _drawn(lambda: _generator.integers(low, high, tuple(shape)), np.int64, False)


def randperm(n: int) -> Tensor:
    """The numbers below n in random order."""
    return _drawn(lambda: _generator.permutation(n), np.int64, False)


def is_tensor(x: Any) -> builtins.bool:
    """Whether x is a tensor."""
    return isinstance(x, Tensor)
