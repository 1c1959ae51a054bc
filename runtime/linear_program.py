"""A program split at a point: run once for its results and residuals, then as a linear map and its transpose as often as needed.

A residual is an array that the linear map needs. One may be an argument of the program or one of its results; whoever looks after these
(PyTorch's autograd notices when a saved tensor is changed) asks for residuals that are shared, so that they are not copied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import ReturnOp

from wengert.runtime.derivation import transform, with_main
from wengert.transforms.ad.given import take_given
from wengert.transforms.ad.request import function_named

if TYPE_CHECKING:
    from wengert.runtime.program import Array, Program

Indexed = Sequence[Any] | Mapping[int, Any]
Source = tuple[Literal["argument", "result", "kept"], int]
"""Where a residual is found: at this position of the arguments, of the results, or of what is kept besides."""


class LinearProgram:
    """The parts that ``linearize`` and ``transpose`` make of a program (:meth:`wengert.Program.linearize`)::

        linear = program.linearize(wrt=0)
        results, residuals = linear.run(arrays)
        y_dots = linear.push(residuals, [x_dot])
        x_bars = linear.pull(residuals, y_bars)

    Residuals are arrays. Where they are not (the tape of a loop whose trips nobody counts), derivatives are evaluated together with the
    program each time; then the residuals are the program's arguments.

    Attributes:
        wrt: positions of the arguments that move.
        of: positions of the results whose derivatives may be asked for.
    """

    def __init__(self, program: Program, wrt: Sequence[int], of: Sequence[int], shared: bool = False):
        self._program = program
        self.wrt, self.of = tuple(wrt), tuple(of)
        self._shared = shared
        self._is_empty = not wrt or not of
        self._transposes: dict[tuple[int, ...], Program] = {}

    @cached_property
    def _module(self) -> ModuleOp:
        return transform(self._program.optimized_module, f"linearize{{wrt={_text(self.wrt)} of={_text(self.of)}}}", None)

    @cached_property
    def is_split(self) -> bool:
        """Whether the linear map needs nothing but residuals, so that nothing of the program is computed again."""
        return not self._is_empty and all(isinstance(t, TensorType) for t in function_named(self._module, "main").function_type.outputs)

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        """Where each residual is found; all are kept besides unless residuals are shared."""
        count = len(self._program.signature.results)
        if not self.is_split:
            return tuple(("argument", i) for i in range(len(self._program.signature.arguments)))
        block = function_named(self._module, "main").body.block
        returned = block.last_op
        assert isinstance(returned, ReturnOp)
        values = list(returned.operands)
        if not self._shared:
            return tuple(("kept", k) for k in range(len(values) - count))
        known: dict[Any, Source] = {value: ("result", j) for j, value in reversed(list(enumerate(values[:count])))}
        known.update((argument, ("argument", i)) for i, argument in enumerate(block.args))
        kept = 0
        for value in values[count:]:
            if value not in known:
                known[value] = ("kept", kept)
                kept += 1
        return tuple(known[value] for value in values[count:])

    @cached_property
    def primal(self) -> Program:
        """The program that also returns what is kept: arguments -> (results, kept). There is one only if the program :attr:`is_split`."""
        from wengert.runtime.program import Program

        module, count = self._without("main_linear"), len(self._program.signature.results)
        seen: set[Source] = set()
        elsewhere: list[int] = []
        for k, source in enumerate(self.sources):
            if source[0] != "kept" or source in seen:
                elsewhere.append(count + k)
            seen.add(source)
        take_given(function_named(module, "main"), (), elsewhere)
        return Program(module, name=f"linearize of {self._program.name}")

    @cached_property
    def linear(self) -> Program:
        """The linear map: (residuals, tangents of ``wrt``) -> tangents of ``of``."""
        from wengert.runtime.program import Program

        return Program(self._linear_module(), name=f"linear map of {self._program.name}")

    def _linear_module(self) -> ModuleOp:
        """The linear map as ``@main`` of a module of its own."""
        return with_main(self._without("main"), "main_linear")

    def _without(self, name: str) -> ModuleOp:
        module = self._module.clone()
        module.body.block.erase_op(function_named(module, name), safe_erase=False)
        return module

    def transposed(self, of: tuple[int, ...]) -> Program:
        """The transpose for cotangents of these results, (residuals, cotangents) -> cotangents of ``wrt``; other results take no part in it."""
        from wengert.runtime.program import Program

        if of not in self._transposes:
            module = self._linear_module()
            linear = function_named(module, "main")
            take_given(linear, (), [k for k, j in enumerate(self.of) if j not in of])
            count = len(linear.function_type.inputs)
            moving = _text(range(count - len(self.wrt), count))
            module = transform(module, f"transpose{{fn=main wrt={moving}}}", None)
            self._transposes[of] = Program(module, name=f"transpose of {self._program.name}")
        return self._transposes[of]

    def run(self, arrays: Sequence[Array]) -> tuple[Sequence[Array], list[Array]]:
        """The results, and the residuals."""
        if not self.is_split:
            return self._program(*arrays), list(arrays)
        found = self.primal(*arrays)
        results = found[: len(self._program.signature.results)]
        return results, self.residuals(arrays, results, found[len(results) :])

    def residuals(self, arguments: Indexed, results: Indexed, kept: Indexed) -> list[Any]:
        """The residuals, from where they are found."""
        places = {"argument": arguments, "result": results, "kept": kept}
        return [places[place][i] for place, i in self.sources]

    def push(self, residuals: Sequence[Array], tangents: Sequence[Any]) -> Sequence[Array]:
        """Tangents of the results."""
        if self._is_empty:
            return _zeros(self._program.signature.results, self.of)
        if not self.is_split:
            return self._program.jvp(self.wrt, self.of)(*residuals, *tangents)[len(self._program.signature.results) :]
        return self.linear(*residuals, *tangents)

    def pull(self, residuals: Sequence[Array], cotangents: Sequence[Any], of: Sequence[int] | None = None) -> Sequence[Array]:
        """Cotangents of the arguments, from those of the results, or of some of them."""
        chosen = self.of if of is None else tuple(of)
        if self._is_empty or not chosen:
            return _zeros(self._program.signature.arguments, self.wrt)
        if not self.is_split:
            return self._program.vjp(self.wrt, chosen)(*residuals, *cotangents)[len(self._program.signature.results) :]
        return self.transposed(chosen)(*residuals, *cotangents)


def _zeros(parameters: Sequence[Any], chosen: Sequence[int]) -> list[Array]:
    import numpy as np

    return [np.zeros(parameters[i].shape, parameters[i].dtype) for i in chosen]


def _text(positions: Sequence[int]) -> str:
    return ",".join(map(str, positions))
