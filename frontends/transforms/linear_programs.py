"""A program split at a point: run once for its results and residuals, then as a linear map and its transpose as often as needed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from xdsl.dialects.builtin import TensorType

from wengert.runtime.derivation import transform
from wengert.runtime.program import Array, Program
from wengert.transforms.ad.request import function_named


class LinearProgram:
    """The parts that ``linearize`` and ``transpose`` make of a program.

    Residuals are arrays. Where they are not (the tape of a loop whose trips nobody counts), derivatives are evaluated together with the
    program each time; then the residuals are the program's arguments.
    """

    def __init__(self, program: Program, wrt: Sequence[int], of: Sequence[int]):
        self._program = program
        self._wrt, self._of = tuple(wrt), tuple(of)
        self._results = len(program.signature.results)
        self._is_empty = not wrt or not of
        if not self._is_empty:
            self._module = transform(program.optimized_module, f"linearize{{wrt={_text(wrt)} of={_text(of)}}}", None)

    @cached_property
    def _has_tapes(self) -> bool:
        return any(not isinstance(t, TensorType) for t in function_named(self._module, "main").function_type.outputs)

    @cached_property
    def _primal(self) -> Any:
        return Program(self._module, name=f"linearize of {self._program.name}").compile()

    @cached_property
    def _linear(self) -> Any:
        return Program(self._module, entry="main_linear", name=f"linear map of {self._program.name}").compile()

    @cached_property
    def _transposed(self) -> Any:
        count = len(function_named(self._module, "main_linear").function_type.inputs)
        linear = ",".join(str(i) for i in range(count - len(self._wrt), count))
        module = transform(self._module, f"transpose{{fn=main_linear wrt={linear}}}", None)
        return Program(module, entry="main_linear", name=f"transpose of {self._program.name}").compile()

    def run(self, arrays: Sequence[Array]) -> tuple[Sequence[Array], Sequence[Array]]:
        """The results, and what the linear map needs."""
        if self._is_empty or self._has_tapes:
            return self._program(*arrays), arrays
        found = self._primal(*arrays)
        return found[: self._results], found[self._results :]

    def push(self, residuals: Sequence[Array], tangents: Sequence[Any]) -> Sequence[Array]:
        """Tangents of the results."""
        if self._is_empty:
            return _zeros(self._program.signature.results, self._of)
        if self._has_tapes:
            return self._program.jvp(self._wrt, self._of)(*residuals, *tangents)[self._results :]
        return self._linear(*residuals, *tangents)

    def pull(self, residuals: Sequence[Array], cotangents: Sequence[Any]) -> Sequence[Array]:
        """Cotangents of the arguments."""
        if self._is_empty:
            return _zeros(self._program.signature.arguments, self._wrt)
        if self._has_tapes:
            return self._program.vjp(self._wrt, self._of)(*residuals, *cotangents)[self._results :]
        return self._transposed(*residuals, *cotangents)


def _zeros(parameters: Sequence[Any], chosen: Sequence[int]) -> list[Array]:
    import numpy as np

    return [np.zeros(parameters[i].shape, parameters[i].dtype) for i in chosen]


def _text(positions: Sequence[int]) -> str:
    return ",".join(map(str, positions))
