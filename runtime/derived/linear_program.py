"""A program split at a point: run once for its results and residuals, then as a linear map and its transpose as often as needed.

A residual is an array that the linear map needs. One may be an argument of the program or one of its results; whoever looks after these
(PyTorch's autograd notices when a saved tensor is changed) asks for residuals that are shared, so that they are not copied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp

from wengert.dialects.ad_parts import forget_parts, mark_linear
from wengert.ir.pipeline.stages import stage, staged_property
from wengert.ir.traversal import ops_of
from wengert.runtime.derived.derivation import transform, with_main
from wengert.runtime.derived.labels import name_forward, name_linear
from wengert.runtime.derived.requests import Residuals
from wengert.runtime.dump_folders import dump_folder
from wengert.runtime.errors import InputError
from wengert.runtime.signature import Parameter
from wengert.transforms.ad.requests.request import function_named
from wengert.transforms.ad.residuals.results_as_arguments import results_to_arguments
from wengert.transforms.pipelines import STACKS, parse_pipeline

if TYPE_CHECKING:
    from wengert.runtime.program import Array, Program

Indexed = Sequence[Any] | Mapping[int, Any]
Call = Callable[["Program", Sequence[Any]], Sequence[Any]]
"""Applies a program to arguments: it is run, or a call of it is written into what is being traced."""
Source = tuple[Literal["argument", "result", "kept"], int]
"""The source of a residual: this position of the arguments, of the results, or of what is kept besides."""


def _run(program: Program, operands: Sequence[Any]) -> Sequence[Any]:
    return program(*operands)


class LinearProgram:
    """The parts that ``linearize`` and ``transpose`` make of a program (:meth:`wengert.Program.linearize`)::

        linear = program.linearize(wrt=0)
        results, residuals = linear.run(arrays)
        y_dots = linear.push(residuals, [x_dot])
        x_bars = linear.pull(residuals, y_bars)

    Residuals are arrays. Where they are not (the tape of a loop whose iterations nobody counts), the program is not split: derivatives are
    evaluated together with the program each time, and the residuals are the program's arguments. Nothing moves where ``wrt`` or ``of`` is
    empty: then there is no linear map, and :meth:`push` and :meth:`pull` give zeros.

    Attributes:
        wrt: positions of the arguments that move.
        of: positions of the results whose derivatives may be asked for.
    """

    def __init__(self, program: Program, wrt: Sequence[int], of: Sequence[int], shared: bool = False, residuals: Residuals = "recompute-cheap"):
        self._program = program
        self.wrt, self.of = tuple(wrt), tuple(of)
        self._shared, self._policy = shared, residuals
        self._is_empty = not wrt or not of
        self._transposes: dict[tuple[int, ...], Program] = {}

    # -- the parts

    @staged_property
    def is_split(self) -> bool:
        """Whether the linear map needs nothing but residuals, so that nothing of the program is computed again."""
        return not self._is_empty and all(isinstance(t, TensorType) for t in function_named(self._module, "main").function_type.outputs)

    @staged_property
    def primal(self) -> Program:
        """The program that also returns what is kept: arguments -> (results, kept). The program itself if it is not split."""
        if not self.is_split:
            return self._program
        module, count = _alone(self._module, "main"), len(self._program.signature.results)
        first: dict[Source, int] = {}
        for k, source in enumerate(self.sources):
            first.setdefault(source, k)
        kept = [k for (place, _), k in first.items() if place == "kept"]
        results_to_arguments(function_named(module, "main"), (), [count + k for k in range(len(self.sources)) if k not in kept])
        name_forward(module, self._program.signature, kept)
        return _made(module, f"linearize of {self._program.name}")

    @staged_property
    def linear(self) -> Program:
        """The linear map: (residuals, tangents of ``wrt``) -> tangents of ``of``.

        The whole JVP if the program is not split: its last results are these tangents. Raises an InputError where nothing moves.
        """
        self._check_moves()
        if not self.is_split:
            return self._program.jvp(self.wrt, self.of)
        module = _alone(self._module, "main_linear")
        name_linear(module, len(self.sources), self._arguments, self._results(self.of), "tangent")
        return _made(module, f"linear map of {self._program.name}")

    def transposed(self, of: Sequence[int] | None = None) -> Program:
        """The transpose: (residuals, cotangents of ``of``) -> cotangents of ``wrt``; the whole VJP if the program is not split.

        Args:
            of: which of the results have cotangents, in the order of :attr:`of`; all by default. Others take no part in it.

        Raises:
            InputError: nothing moves, or results are named that are not in :attr:`of` or in another order.
        """
        chosen = self.of if of is None else tuple(of)
        return self._transposes.get(chosen) or self._transpose(chosen)

    @stage()
    def _transpose(self, of: tuple[int, ...]) -> Program:
        if of not in self._transposes:
            self._transposes[of] = self._transposed(of)
        return self._transposes[of]

    def _transposed(self, of: tuple[int, ...]) -> Program:
        self._check_moves()
        if not of or of != tuple(j for j in self.of if j in of):
            raise InputError(f"{self._program.name} was linearized for its results {_text(self.of)}; cotangents are asked for {_text(of) or 'none'}")
        if not self.is_split:
            return self._program.vjp(self.wrt, of)
        module, count = _alone(self._module, "main_linear"), len(self.sources)
        function, tangents = function_named(module, "main"), range(count, count + len(self.wrt))
        results_to_arguments(function, (), [k for k, j in enumerate(self.of) if j not in of])
        mark_linear(function, tangents)  # a result that no tangent reaches is zero, also where that is not seen
        text = f"transpose{{fn=main wrt={_text(tangents)}}}"
        module = transform(module, text, dump_folder(None, "transpose"))
        name_linear(module, count, self._results(of), self._arguments, "cotangent")
        return _made(module, f"transpose of {self._program.name}")

    @staged_property
    def _module(self) -> ModuleOp:
        """Both parts, ``@main`` and ``@main_linear``, with all residuals among the results of the first."""
        text = f"linearize{{wrt={_text(self.wrt)} of={_text(self.of)} residuals={self._policy}}},{STACKS}"
        return transform(self._program.optimized_module, text, dump_folder(None, "linearize"))

    @property
    def _arguments(self) -> list[Parameter]:
        return [self._program.signature.arguments[i] for i in self.wrt]

    def _results(self, of: Sequence[int]) -> list[Parameter]:
        return [self._program.signature.results[j] for j in of]

    def _check_moves(self) -> None:
        if self._is_empty:
            raise InputError(f"{self._program.name} has no float {'result' if self.wrt else 'argument'}, so that there is no linear map to show")

    # -- residuals

    @staged_property
    def sources(self) -> tuple[Source, ...]:
        """The source of each residual; all are kept besides unless residuals are shared."""
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

    def residuals(self, arguments: Indexed, results: Indexed, kept: Indexed) -> list[Any]:
        """The residuals, from where they are found."""
        places = {"argument": arguments, "result": results, "kept": kept}
        return [places[place][i] for place, i in self.sources]

    # -- running

    def run(self, arrays: Sequence[Array]) -> tuple[Sequence[Array], list[Array]]:
        """The results, and the residuals."""
        outputs = self.primal(*arrays)
        count = len(self._program.signature.results)
        results = outputs[:count]
        return results, self.residuals(arrays, results, outputs[count:])

    def push(self, residuals: Sequence[Any], tangents: Sequence[Any], *, call: Call = _run) -> Sequence[Any]:
        """Tangents of the results, from those of the arguments; ``call`` is how programs are applied."""
        if self._is_empty:
            return _zeros(self._program.signature.results, self.of)
        return self._own(call(self.linear, [*residuals, *tangents]))

    def pull(self, residuals: Sequence[Any], cotangents: Sequence[Any], of: Sequence[int] | None = None, *, call: Call = _run) -> Sequence[Any]:
        """Cotangents of the arguments, from those of the results, or of some of them (see :meth:`transposed`); ``call`` as for :meth:`push`."""
        chosen = self.of if of is None else tuple(of)
        if self._is_empty or not chosen:
            return _zeros(self._program.signature.arguments, self.wrt)
        return self._own(call(self.transposed(chosen), [*residuals, *cotangents]))

    def _own(self, outputs: Sequence[Any]) -> Sequence[Any]:
        """The results of the linear map, without the program's results that come first where it is a whole derivative."""
        return outputs if self.is_split else outputs[len(self._program.signature.results) :]


def _alone(module: ModuleOp, entry: str) -> ModuleOp:
    """One half of a module as the ``@main`` of another, with what it needs but for the other half."""
    copy = with_main(module, entry)
    for function in ops_of(copy, FuncOp):
        forget_parts(function)
    return parse_pipeline("symbol-dce").run(copy)


def _made(module: ModuleOp, name: str) -> Program:
    """A program of a module that is in core form and optimised."""
    from wengert.runtime.program import static_program

    program = static_program(module, name)
    program.is_optimized = True
    return program


def _zeros(parameters: Sequence[Parameter], chosen: Sequence[int]) -> list[Array]:
    import numpy as np

    return [np.zeros(parameters[i].shape, parameters[i].dtype) for i in chosen]


def _text(positions: Sequence[int]) -> str:
    return ",".join(map(str, positions))
