"""Programs that are derived of a program: derivatives, Jacobians, batches."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, cast, overload

from wengert.ir.pipeline.stages import staged_property
from wengert.runtime.derived.batching import Axes, BatchedProgram, batch_pass, checked_size, chosen_axes
from wengert.runtime.derived.jacobians import Jacobians
from wengert.runtime.derived.positions import Positions, choose
from wengert.runtime.derived.requests import Residuals, Strategy, chosen, positions_text
from wengert.runtime.dump_folders import DUMP_DIR, PathLike
from wengert.runtime.errors import InputError

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from wengert.runtime.derived.linear_program import LinearProgram
    from wengert.runtime.program import Program
    from wengert.transforms.checkpoint.frontier import Frontier
    from wengert.transforms.checkpoint.search import Plan


class Derivable(Jacobians):
    """A module with an entry function, its forms, and what is derived of it; base class of :class:`wengert.Program`."""

    def jvp(self, wrt: Positions = None, of: Positions = None, *, strategy: Strategy = "transpose", dump_dir: PathLike | None = None) -> Program:
        """The forward derivative: (inputs, tangents of ``wrt``) -> (outputs, tangents of ``of``).

        Args:
            wrt: positions of the arguments that move; every float or complex one by default.
            of: positions of the results whose tangents are asked; every float or complex one by default.
            strategy: how, by name; ours are the same here, that of a plug-in may differ.
            dump_dir: a folder for the IR after every pass.

        Raises:
            InputError: a position is out of range, named twice, or of an integer type.
            DiagnosticError: an op has no derivative rule; names the op and its place.
        """
        return self._derivative("jvp", wrt, of, dump_dir, strategy)

    def vjp(
        self,
        wrt: Positions = None,
        of: Positions = None,
        *,
        strategy: Strategy = "transpose",
        residuals: Residuals = "auto",
        memory: int | str | None = None,
        dump_dir: PathLike | None = None,
    ) -> Program:
        """The reverse derivative: (inputs, cotangents of ``of``) -> (outputs, cotangents of ``wrt``).

        Arguments and errors are those of :meth:`jvp`. Complex cotangents follow JAX: the pairing is
        Re(sum(cotangent * tangent)), without conjugation. ``strategy`` is how, by name: "transpose" (linearize, transpose, join),
        "direct" (the adjoint of every op), or that of a plug-in; the results are the same, the costs may differ.

        ``residuals`` says what the forward part keeps for the reverse part, and what that computes again: "auto" (all that is at hand, and in
        loops and branches what is not cheap), "save-all", "recompute-cheap" or "recompute-all"; for loops "sqrt" (a state for each block of as many
        iterations as there are blocks) or "binomial-8" (8 states, or another number). What is asked to be computed again is not
        shared with the forward part by any later pass. The strategy "direct" takes "auto" only.

        ``memory`` is the largest arena of the compiled derivative: bytes, or "64MB". Values are computed again as the pass ``checkpoint`` plans it
        (:func:`wengert.lab.checkpoint.checkpoints` shows all plans). A DiagnosticError names the least memory that there is a plan for, where this is less.
        """
        derivative = self._derivative("vjp", wrt, of, None if memory is not None else dump_dir, strategy, residuals)
        return derivative if memory is None else derivative.within(memory, dump_dir=dump_dir)

    def within(self, memory: int | str, *, dump_dir: PathLike | None = None) -> Program:
        """The reverse derivative that this is, within so many bytes of arena, by computing values again, as in :meth:`vjp`.

        Raises:
            InputError: that is no number of bytes.
            DiagnosticError: this is no reverse derivative, or no plan takes so little; names the least.
        """
        from wengert.ir.byte_counts import byte_count

        try:
            budget = byte_count(memory)
        except ValueError as error:
            raise InputError(f"memory: {error}") from None

        def make(folder: Path | None) -> ModuleOp:
            from wengert.runtime.derived.derivation import apply

            plan = self.frontier.within(budget)
            if folder is not None:
                return apply(self.frontier.derivative(plan), f"checkpoint{{budget={budget}}}", folder)
            return self.frontier.module(plan)

        return self._derived(("checkpoint", budget), "checkpoint", f"budget={budget}", dump_dir, make)

    def planned(self, plan: Plan) -> Program:
        """The reverse derivative that this is, by a plan of its :attr:`frontier`."""
        return self._derived(("plan", plan.name), "checkpoint", f"plan={plan.name}", None, lambda _: self.frontier.module(plan))

    @staged_property
    def frontier(self) -> Frontier:
        """The plans for computing values of this reverse derivative again, by memory and flops; searched for once. Raises as :meth:`within`.

        Where this was made by :meth:`vjp`, what loops keep is part of the plans.
        """
        from wengert.transforms.checkpoint.frontier import Frontier

        return Frontier(self.optimized_module, loops=self.loop_choices() if self.loop_choices is not None else None)

    def taylor(self, order: int, wrt: Positions = None, of: Positions = None, *, series: bool = False, dump_dir: PathLike | None = None) -> Program:
        """Taylor coefficients along a path: (inputs, directions of ``wrt``) -> (outputs, coefficients 1 to ``order`` of each result in ``of``).

        The coefficients of a result are one array with the order in front. Along ``x + t v`` the coefficient i is the i-th derivative by t over i factorial.

        Args:
            order: the highest order, at least 1.
            wrt: positions of the arguments that move; every float or complex one by default.
            of: positions of the results; every float or complex one by default.
            series: whether arguments are given whole paths, their coefficients 1 to ``order`` as one array, in place of directions.
            dump_dir: a folder for the IR after every pass.

        Raises:
            InputError: as :meth:`jvp`; an order below 1.
            DiagnosticError: an op has no derivative rule; names the op and its place.
        """
        if order < 1:
            raise InputError(f"taylor: the order must be at least 1, not {order}")
        inputs, outputs = self.resolve(wrt=wrt, of=of)
        path = " series=true" if series else ""
        text = f"taylor{{order={order} wrt={positions_text(inputs)} of={positions_text(outputs)}{path}}}"
        return self._transformed("taylor", text, dump_dir)

    def linearize(self, wrt: Positions = None, of: Positions = None, *, shared: bool = False, residuals: Residuals = "recompute-cheap") -> LinearProgram:
        """The program split at a point: evaluated once, then a linear map and its transpose as often as needed.

        Args:
            wrt: positions of the arguments that move, as for :meth:`jvp`.
            of: positions of the results whose derivatives may be asked for.
            residuals: what is kept and what the linear map computes again, as for :meth:`vjp`.
            shared: residuals that are arguments or results are these arrays, not copies; nobody may change them.

        Raises:
            InputError, DiagnosticError: as :meth:`jvp`.
        """
        from wengert.runtime.derived.linear_program import LinearProgram

        asked = (choose("wrt", wrt, self.signature.arguments), choose("of", of, self.signature.results), shared, residuals)
        key = (*asked, *chosen("transpose", residuals), os.environ.get(DUMP_DIR))
        if key not in self._linearized:
            self._linearized[key] = LinearProgram(cast("Program", self), *asked)
        return self._linearized[key]

    # -- Jacobians

    # -- batching

    @overload
    def vmap(self, in_axes: Axes = 0, out_axes: Axes = 0, *, size: int, dump_dir: PathLike | None = None) -> Program: ...
    @overload
    def vmap(self, in_axes: Axes = 0, out_axes: Axes = 0, *, size: None = None, dump_dir: PathLike | None = None) -> BatchedProgram: ...
    def vmap(self, in_axes: Axes = 0, out_axes: Axes = 0, *, size: int | None = None, dump_dir: PathLike | None = None) -> Program | BatchedProgram:
        """The program for many batch elements at once.

        Args:
            in_axes: the dimension of each argument that holds the batch elements (one number for all arguments, or one for each);
                None for an argument that is the same for all batch elements. Negative dimensions count from the end.
            out_axes: the same for the results; None only for a result that does not depend on the batch element.
            size: the number of batch elements. Without it the result is a :class:`BatchedProgram`, which finds the number in its
                arguments when it is called.
            dump_dir: a folder for the IR after every pass.

        Raises:
            InputError: the axes do not fit the program.
            DiagnosticError: an op cannot be batched, or a result depends on the batch element whose axis is None.
        """
        starts = chosen_axes("in_axes", in_axes, self.signature.arguments)
        ends = chosen_axes("out_axes", out_axes, self.signature.results)
        if size is None:
            return BatchedProgram(lambda n: self.vmap(starts, ends, size=n, dump_dir=dump_dir), self.signature, starts, f"vmap of {self.name}")
        return self._transformed("vmap", batch_pass(checked_size(size), starts, ends), dump_dir)
