"""A program split at a point: run once for its results and residuals, then as a linear map and its transpose as often as needed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from xdsl.dialects.builtin import ModuleOp, TensorType

from wengert.frontends.tracing.context import current_trace
from wengert.frontends.tracing.operands import is_traced
from wengert.frontends.transforms.program_calls import call_program
from wengert.runtime.derivation import transform, with_main
from wengert.runtime.errors import InputError
from wengert.runtime.labels import name_forward, name_linear
from wengert.runtime.program import Array, Program
from wengert.runtime.signature import Parameter
from wengert.transforms.ad.request import function_named
from wengert.transforms.pipelines import parse_pipeline


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
    def forward(self) -> Program:
        """The forward half: the arguments to the results and the residuals."""
        if self._is_empty or self._has_tapes:
            return self._program
        module = _alone(self._module, "main")
        name_forward(module, self._program.signature, self._residuals)
        return _made(module, f"linearize of {self._program.name}")

    @cached_property
    def linear(self) -> Program:
        """The linear map: residuals and tangents of the arguments to tangents of the results.

        Where residuals are no arrays, the whole JVP: its last results are these tangents. Raises an InputError where nothing moves.
        """
        self._check_moves()
        if self._has_tapes:
            return self._program.jvp(self._wrt, self._of)
        module = _alone(self._module, "main_linear")
        name_linear(module, self._residuals, self._arguments, self._chosen_results, "tangent")
        return _made(module, f"linear map of {self._program.name}")

    @cached_property
    def transposed(self) -> Program:
        """Its transpose: residuals and cotangents of the results to cotangents of the arguments; else the whole VJP, as :attr:`linear`."""
        self._check_moves()
        if self._has_tapes:
            return self._program.vjp(self._wrt, self._of)
        linear = [self._residuals + i for i in range(len(self._wrt))]
        module = transform(self._module, f"transpose{{fn=main_linear wrt={_text(linear)}}}", None)
        module = _alone(module, "main_linear")
        name_linear(module, self._residuals, self._chosen_results, self._arguments, "cotangent")
        return _made(module, f"transpose of {self._program.name}")

    @property
    def _residuals(self) -> int:
        return len(function_named(self._module, "main_linear").function_type.inputs) - len(self._wrt)

    @property
    def _arguments(self) -> list[Parameter]:
        return [self._program.signature.arguments[i] for i in self._wrt]

    @property
    def _chosen_results(self) -> list[Parameter]:
        return [self._program.signature.results[j] for j in self._of]

    def _check_moves(self) -> None:
        if self._is_empty:
            raise InputError(f"{self._program.name} has no float result, so that there is no linear map to show")

    def run(self, arrays: Sequence[Array]) -> tuple[Sequence[Array], Sequence[Array]]:
        """The results, and what the linear map needs."""
        if self._is_empty or self._has_tapes:
            return self._program(*arrays), arrays
        found = self.forward(*arrays)
        return found[: self._results], found[self._results :]

    def push(self, residuals: Sequence[Array], tangents: Sequence[Any]) -> Sequence[Any]:
        """Tangents of the results; arrays, or traced where one of the tangents is."""
        if self._is_empty:
            return _zeros(self._program.signature.results, self._of)
        return self._own(_called(self.linear, [*residuals, *tangents]))

    def pull(self, residuals: Sequence[Array], cotangents: Sequence[Any]) -> Sequence[Any]:
        """Cotangents of the arguments; arrays, or traced where one of the cotangents is."""
        if self._is_empty:
            return _zeros(self._program.signature.arguments, self._wrt)
        return self._own(_called(self.transposed, [*residuals, *cotangents]))

    def _own(self, found: Sequence[Any]) -> Sequence[Any]:
        """What the linear map computes, without the results that come first where it is a whole derivative."""
        return found[self._results :] if self._has_tapes else found


def _called(program: Program, operands: Sequence[Any]) -> Sequence[Any]:
    """A program run on arrays, or called from what is being traced."""
    if current_trace() is not None and is_traced(*operands):
        return call_program(program, operands)
    return program(*operands)


def _alone(module: ModuleOp, entry: str) -> ModuleOp:
    """One function of a module as the ``@main`` of another."""
    return parse_pipeline("symbol-dce").run(with_main(module, entry))


def _made(module: ModuleOp, name: str) -> Program:
    """A program of a module that is in core form and optimised."""
    program = Program(module, name=name)
    program.core_module = program.optimized_module = module
    return program


def _zeros(parameters: Sequence[Any], chosen: Sequence[int]) -> list[Array]:
    import numpy as np

    return [np.zeros(parameters[i].shape, parameters[i].dtype) for i in chosen]


def _text(positions: Sequence[int]) -> str:
    return ",".join(map(str, positions))
