"""Batching for users: which dimension of each argument holds the batch elements, and programs for batches of any size.

The text of a program states its shapes, so a batched program is one for a number of batch elements. Where that number is not
given, a :class:`BatchedProgram` stands for all of them: it is called as a program is, finds the number in its arguments, and
makes the program for it once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.runtime.errors import InputError
from wengert.runtime.signature import Parameter, Signature

if TYPE_CHECKING:
    from wengert.runtime.derived.positions import Positions
    from wengert.runtime.program import Array, Program

Axes = int | None | Sequence[int | None]
"""One dimension for all, or one for each; None: the same value for all batch elements. Negative ones count from the end."""


def chosen_axes(option: str, axes: Axes, parameters: Sequence[Parameter]) -> tuple[int | None, ...]:
    """The dimension that holds the batch elements, for each argument or result of a batched program; raises InputError."""
    noun = "argument" if option == "in_axes" else "result"
    each = list(axes) if isinstance(axes, Sequence) and not isinstance(axes, str) else [axes] * len(parameters)
    if len(each) != len(parameters):
        raise InputError(f"{option} has {len(each)} entries, but the program has {len(parameters)} {noun}s; give one for each, or one number for all")
    return tuple(_axis(option, axis, parameter) for axis, parameter in zip(each, parameters, strict=True))


def _axis(option: str, axis: Any, parameter: Parameter) -> int | None:
    if axis is None:
        return None
    if isinstance(axis, bool | np.bool_) or not hasattr(axis, "__index__"):
        raise InputError(f"{option} takes dimensions or None, found {axis!r}")
    rank = len(parameter.shape) + 1
    if not -rank <= int(axis) < rank:
        raise InputError(f"{option}: axis {axis} is out of range for rank {rank} of {parameter} with its batch dimension")
    return int(axis) % rank


def checked_size(size: Any) -> int:
    """A number of batch elements; raises InputError."""
    if isinstance(size, bool | np.bool_) or not hasattr(size, "__index__") or int(size) < 0:
        raise InputError(f"size takes the number of batch elements, found {size!r}")
    return int(size)


def batch_pass(size: int, in_axes: Sequence[int | None], out_axes: Sequence[int | None]) -> str:
    """The pass that batches a program, as text."""
    options = [
        f"{key}={','.join('-1' if axis is None else str(axis) for axis in axes)}" for key, axes in (("in-axes", in_axes), ("out-axes", out_axes)) if axes
    ]
    return f"batch{{{' '.join([f'size={size}', *options])}}}"


class BatchedProgram:
    """A program for batches of any size.

    Attributes:
        name: what was batched, for messages.
    """

    def __init__(self, make: Callable[[int], Program], signature: Signature, in_axes: Sequence[int | None], name: str):
        self._make = make
        self._signature = signature
        self._in_axes = tuple(in_axes)
        self.name = name
        self._programs: dict[int, Program] = {}
        if all(axis is None for axis in in_axes):
            raise InputError("in_axes names no batched argument; give size= to say how many batch elements there are")

    def of_size(self, size: int) -> Program:
        """The program for this many batch elements."""
        size = checked_size(size)
        if size not in self._programs:
            self._programs[size] = self._make(size)
        return self._programs[size]

    def __call__(self, *inputs: Any) -> tuple[Array, ...]:
        """The results for the number of batch elements that the arguments hold; otherwise as a program is called."""
        return self.of_size(self._size(inputs))(*inputs)

    def jvp(self, wrt: Positions = None, of: Positions = None) -> BatchedProgram:
        """The forward derivative of the batched program: see :meth:`Program.jvp`."""
        return self._derived("jvp", lambda size: self.of_size(size).jvp(wrt, of))

    def vjp(self, wrt: Positions = None, of: Positions = None) -> BatchedProgram:
        """The reverse derivative of the batched program: see :meth:`Program.vjp`."""
        return self._derived("vjp", lambda size: self.of_size(size).vjp(wrt, of))

    def _derived(self, mode: str, make: Callable[[int], Program]) -> BatchedProgram:
        return BatchedProgram(make, self._signature, self._in_axes, f"{mode} of {self.name}")

    def _size(self, inputs: Sequence[Any]) -> int:
        """The number of batch elements: the arguments that come first are those of the program that was batched."""
        sizes: dict[int, Parameter] = {}
        for parameter, axis, given in zip(self._signature.arguments, self._in_axes, inputs, strict=False):
            if axis is None:
                continue
            extents = np.shape(given)
            if len(extents) != len(parameter.shape) + 1:
                raise InputError(f"{parameter}: a batch of it has {len(parameter.shape) + 1} dimensions, found an array of shape {extents}")
            sizes.setdefault(extents[axis], parameter)
        if len(sizes) != 1:
            told = ", ".join(f"{size} by {parameter.label}" for size, parameter in sizes.items())
            raise InputError(f"the arguments do not hold one number of batch elements: {told or 'there is no batched argument'}")
        return next(iter(sizes))

    def __repr__(self) -> str:
        return f"<BatchedProgram {self.name}; in_axes={self._in_axes}>"
