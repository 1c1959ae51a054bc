"""A program as IR: its forms, and what is derived of it: derivatives, Jacobians, batches, each a program again.

A derivative is made when it is asked for, so that what is wrong is said there; except of a program that is known
(:mod:`wengert.runtime.known_programs`): its module is made when somebody looks at it, and the passes are imported for that.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from wengert.ir.stages import stage, staged_property
from wengert.runtime.batching import Axes, BatchedProgram, batch_pass, checked_size, chosen_axes
from wengert.runtime.dump_folders import DUMP_DIR, PathLike, dump_folder
from wengert.runtime.errors import InputError
from wengert.runtime.identity import of_module
from wengert.runtime.jacobians import MODES, JacobianMode, compressed_jacobian_pass, jacobian_pass, seeded_jacobian_pass
from wengert.runtime.known_programs import Identified, Lineage
from wengert.runtime.positions import Positions, choose
from wengert.runtime.requests import Mode, Residuals, Strategy, chosen, positions_text

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from wengert.runtime.compiled_program import CompiledProgram
    from wengert.runtime.linear_program import LinearProgram
    from wengert.runtime.program import Program
    from wengert.runtime.signature import Signature
    from wengert.runtime.sparsity import SparseJacobian
    from wengert.transforms.ad.jacobians.sparse import Colouring
    from wengert.transforms.checkpoint.frontier import Frontier


class Derivable:
    """A module with an entry function, its forms, and what is derived of it; base class of :class:`wengert.Program`."""

    def __init__(self, module: ModuleOp, *, entry: str = "main", name: str = "<module>"):
        from wengert.runtime.functions import entry_function, signature_of

        self.module = module
        self._start(signature_of(entry_function(module, entry)), entry, name)

    def _start(self, signature: Signature, entry: str, name: str) -> None:
        """Sets everything but the module."""
        self.entry = entry
        self.name = name
        self.as_given = False
        self.is_optimized = False
        self.origin: tuple[Program, str] | None = None
        """The program that this one was made of to be compiled, and the pipeline in place of its optimisation."""
        self.signature: Signature = signature
        self._executables: dict[tuple[Any, ...], CompiledProgram] = {}
        self._derivatives: dict[tuple[Any, ...], Program] = {}
        self._linearized: dict[tuple[Any, ...], LinearProgram] = {}
        self._sparse: dict[tuple[Any, ...], SparseJacobian] = {}
        self._unread: Callable[[], ModuleOp] | None = None

    @staged_property
    def lineage(self) -> Lineage:
        """The program behind those that it was derived from, as other processes know them; empty where it has no identity.

        That of a program that was parsed, or derived, is known when it is made; any other's is a hash of its module.
        """
        identity = of_module(self.module, f"{self.entry} {self.as_given} {self.is_optimized}")
        return (Identified(identity, self.signature, is_recorded=True),) if identity is not None else ()

    @property
    def identity(self) -> str | None:
        """The hash by which other processes know the program (:mod:`wengert.runtime.identity`), if it has one."""
        return self.lineage[-1].identity if self.lineage else None

    @abstractmethod
    def _derived_program(self, what: str, request: str, make: Callable[[], ModuleOp], *, now: bool) -> Program:
        """The program of a module that is made of this one's by a request; ``now``: the module is made at once, also where the program is known."""

    # -- differentiating

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
        loops and branches what is not cheap), "save-all", "recompute-cheap" or "recompute-all". What is asked to be computed again is not
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
            from wengert.runtime.derivation import apply

            if folder is not None:
                return apply(self.optimized_module, f"checkpoint{{budget={budget}}}", folder)
            return self.frontier.module(self.frontier.within(budget))

        return self._derived(("checkpoint", budget), "checkpoint", f"budget={budget}", dump_dir, make)

    @staged_property
    def frontier(self) -> Frontier:
        """The plans for computing values of this reverse derivative again, by memory and flops; searched for once. Raises as :meth:`within`."""
        from wengert.transforms.checkpoint.frontier import Frontier

        return Frontier(self.optimized_module)

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
        from wengert.runtime.linear_program import LinearProgram

        asked = (choose("wrt", wrt, self.signature.arguments), choose("of", of, self.signature.results), shared, residuals)
        key = (*asked, *chosen("transpose", residuals), os.environ.get(DUMP_DIR))
        if key not in self._linearized:
            self._linearized[key] = LinearProgram(cast("Program", self), *asked)
        return self._linearized[key]

    # -- Jacobians

    def jacfwd(self, wrt: Positions = None, of: Positions = None, *, holomorphic: bool = False, dump_dir: PathLike | None = None) -> Program:
        """The Jacobian by forward mode: inputs -> one array for each result in ``of`` and each argument in ``wrt``.

        Results come in the order (result 0, argument 0), (result 0, argument 1), ..., each of the shape of the result followed by
        that of the argument. Cheaper than :meth:`jacrev` where the arguments have fewer elements than the results.

        Args:
            wrt: positions of the arguments; every float or complex one by default.
            of: positions of the results; every float or complex one by default.
            holomorphic: says that complex results are holomorphic in complex arguments, so that there is one derivative.
            dump_dir: a folder for the IR after every pass.

        Raises:
            InputError: as :meth:`jvp`; also for complex arguments unless ``holomorphic``.
            DiagnosticError: an op has no derivative rule or cannot be batched; names the op and its place.
        """
        return self._jacobian("jacfwd", wrt, of, holomorphic, dump_dir)

    def jacrev(self, wrt: Positions = None, of: Positions = None, *, holomorphic: bool = False, dump_dir: PathLike | None = None) -> Program:
        """The Jacobian by reverse mode: as :meth:`jacfwd`, cheaper where the results have fewer elements than the arguments.

        Complex results need ``holomorphic``.
        """
        return self._jacobian("jacrev", wrt, of, holomorphic, dump_dir)

    @overload
    def jacobian(
        self,
        wrt: Positions = None,
        of: Positions = None,
        *,
        measure: bool | None = None,
        holomorphic: bool = False,
        dump_dir: PathLike | None = None,
        sparse: Literal[False] = False,
    ) -> Program: ...
    @overload
    def jacobian(self, wrt: Positions = None, of: Positions = None, *, sparse: Literal[True]) -> SparseJacobian: ...
    def jacobian(
        self,
        wrt: Positions = None,
        of: Positions = None,
        *,
        measure: bool | None = None,
        holomorphic: bool = False,
        dump_dir: PathLike | None = None,
        sparse: bool = False,
    ) -> Program | SparseJacobian:
        """The Jacobian by what is predicted to be the fastest: a mode, batched in one of several ways, both modes from a narrow cut, or columns or rows
        compressed. Arguments, results and errors are those of :meth:`jacfwd`, to rounding.

        The candidates are taken down to buffers for the prediction, once for each choice of positions; the choice is kept on disk with the program
        (:func:`wengert.strategies` shows it, with more ways). Where it depends on what only a run tells, or the program is complex, the mode with fewer
        directions is taken.

        Args:
            wrt: positions of the arguments, as for :meth:`jacfwd`.
            of: positions of the results, likewise.
            measure: True compiles and times the candidates that are predicted within 25 per cent of the best, at random inputs, unless that was done before on
                this machine; False takes the prediction whatever was measured. By default what was measured before decides, here or by
                :func:`wengert.strategies`, and where nothing was, the prediction.
            holomorphic: as for :meth:`jacfwd`.
            dump_dir: a folder for the IR after every pass.
            sparse: :meth:`sparse_jacobian` instead, which returns a matrix of ``scipy.sparse``.
        """
        if sparse:
            return self.sparse_jacobian(wrt, of)
        inputs, outputs = self.resolve(wrt=wrt, of=of)
        key = ("jacobian", inputs, outputs, holomorphic, measure)
        if dump_dir is None and key in self._derivatives:
            return self._derivatives[key]
        from wengert.lab.strategies.default import jacobian_passes

        passes = jacobian_passes(cast("Program", self), inputs, outputs, measure)
        self._derivatives[key] = self._jacobian(passes, inputs, outputs, holomorphic, dump_dir)
        return self._derivatives[key]

    @overload
    def hessian(
        self, wrt: Positions = None, of: Positions = None, *, measure: bool | None = None, holomorphic: bool = False, sparse: Literal[False] = False
    ) -> Program: ...
    @overload
    def hessian(self, wrt: Positions = None, of: Positions = None, *, sparse: Literal[True]) -> SparseJacobian: ...
    def hessian(
        self, wrt: Positions = None, of: Positions = None, *, measure: bool | None = None, holomorphic: bool = False, sparse: bool = False
    ) -> Program | SparseJacobian:
        """Second derivatives, by the order of modes that is predicted to be the fastest, as for :meth:`jacobian`: one array for each result in ``of`` and each
        pair of arguments in ``wrt``, of the shape of the result followed by those of both arguments. Arguments and errors are those of :meth:`jacobian`. With
        ``sparse=True``, :meth:`sparse_hessian`."""
        if sparse:
            return self.sparse_hessian(wrt, of)
        inputs, outputs = self.resolve(wrt=wrt, of=of)
        key = ("hessian", inputs, outputs, holomorphic, measure)
        if key not in self._derivatives:
            from wengert.lab.strategies.default import hessian_plan

            self._derivatives[key] = self._hessian(hessian_plan(cast("Program", self), inputs, outputs, measure), inputs, outputs, holomorphic)
        return self._derivatives[key]

    def _hessian(self, plan: str, wrt: tuple[int, ...], of: tuple[int, ...], holomorphic: bool) -> Program:
        """The Hessian by a row of the table, such as ``forward over reverse``."""
        second, _, first = plan.partition(" over ")
        gradient = (self.jacfwd if first == "forward" else self.jacrev)(wrt, of, holomorphic=holomorphic)
        if second == "compressed":
            every = tuple(range(len(gradient.signature.results)))
            numbers = sum(prod(self.signature.results[j].shape) for j in of)
            passes = seeded_jacobian_pass(wrt, every, symmetric=numbers == 1)
            return gradient._jacobian(passes, wrt, every, holomorphic, None)  # pyright: ignore[reportPrivateUsage]
        return (gradient.jacfwd if second == "forward" else gradient.jacrev)(wrt, holomorphic=holomorphic)

    def sparsity(self, wrt: Positions = None, of: Positions = None, *, at: Sequence[Any] | None = None) -> Any:
        """Which elements of the results may depend on which elements of the arguments: a ``scipy.sparse.csr_array`` of booleans, with one row for each element
        of the results in ``of`` and one column for each element of the arguments in ``wrt``.

        It holds at all arguments; with ``at``, arguments as for a call, at these: the places that are read and the branches that are taken there. Elements
        outside are zero. (Index sets: Griewank, Walther, "Evaluating Derivatives", 2nd ed., sec. 7.1.)
        """
        from wengert.runtime.sparsity import pattern_of

        return pattern_of(cast("Program", self), *self.resolve(wrt=wrt, of=of), at)

    def sparse_jacobian(self, wrt: Positions = None, of: Positions = None, *, colouring: Colouring = "best") -> SparseJacobian:
        """The Jacobian as a function of the arguments that returns a ``scipy.sparse.csr_array``, of which only the elements in :meth:`sparsity` are computed.

        Args:
            wrt: positions of the arguments; every float one by default.
            of: positions of the results; every float one by default.
            colouring: what shares directions: "columns" (forward mode), "rows" (reverse mode), "both", or the "best" of these; for symmetric matrices "star"
                and "acyclic".

        Raises:
            InputError: as :meth:`jvp`; also for what is complex, and where a colouring for symmetric matrices is asked for one that is not square.
        """
        from wengert.runtime.sparsity import SparseJacobian

        inputs, outputs = self.resolve(wrt=wrt, of=of)
        return self._kept(("sparse jacobian", inputs, outputs, colouring), lambda: SparseJacobian(cast("Program", self), inputs, outputs, colouring))

    def sparse_hessian(self, wrt: Positions = None, of: Positions = None, *, colouring: Colouring = "best") -> SparseJacobian:
        """The second derivatives of one number as a function of the arguments that returns a ``scipy.sparse.csr_array``: forward over reverse mode, in
        directions that a star colouring or an acyclic colouring of the symmetric pattern leads to. As :meth:`sparse_jacobian`."""
        from wengert.runtime.sparsity import sparse_hessian

        inputs, outputs = self.resolve(wrt=wrt, of=of)
        return self._kept(("sparse hessian", inputs, outputs, colouring), lambda: sparse_hessian(cast("Program", self), inputs, outputs, colouring))

    def _kept(self, key: tuple[Any, ...], make: Callable[[], SparseJacobian]) -> SparseJacobian:
        if key not in self._sparse:
            self._sparse[key] = make()
        return self._sparse[key]

    def jacobian_mode(self, wrt: Positions = None, of: Positions = None, *, measure: bool | None = None) -> JacobianMode:
        """The one of :meth:`jacfwd` and :meth:`jacrev` that is predicted to be faster, chosen as in :meth:`jacobian`."""
        from wengert.lab.strategies.default import jacobian_mode

        return jacobian_mode(cast("Program", self), *self.resolve(wrt=wrt, of=of), measure)

    def compressed_jacobian(self, wrt: Positions = None, of: Positions = None, *, dump_dir: PathLike | None = None) -> Program:
        """The columns of a Jacobian whose rows do not mix: inputs -> one array for each result in ``of``.

        Column c of an argument moves by one in all its rows (indices of the first dimension) at once. Where every row of a result depends on one
        row of each argument, as in a batch or where rows are gathered, these are all nonzeros of the Jacobian. Each column is differentiated
        on its own, and costs only what depends on it.

        Results have the shape of the result followed by the number of columns, those of all arguments in ``wrt`` in order: an
        argument of shape (n, a, b) has a b of them, one of rank 0 or 1 has one.

        Args:
            wrt: positions of the arguments; every float one by default.
            of: positions of the results; every float or complex one by default.
            dump_dir: a folder for the IR after every pass.

        Raises:
            InputError: as :meth:`jvp`; also for complex arguments.
            DiagnosticError: an op has no derivative rule; names the op and its place.
        """
        inputs, outputs = self.resolve(wrt=wrt, of=of)
        results, text = [self.signature.results[j] for j in outputs], compressed_jacobian_pass(self.signature, inputs, outputs)

        def finish(module: ModuleOp) -> None:
            from wengert.runtime.labels import name_compressed

            name_compressed(module, self.signature, results)

        return self._transformed("compressed-jacobian", text, dump_dir, finish)

    def _jacobian(self, how: str, wrt: Positions, of: Positions, holomorphic: bool, dump_dir: PathLike | None) -> Program:
        """The Jacobian by ``jacfwd`` or ``jacrev``, or by another pass, as text."""
        inputs, outputs = self.resolve(wrt=wrt, of=of)
        arguments, results = [self.signature.arguments[i] for i in inputs], [self.signature.results[j] for j in outputs]
        mode: JacobianMode | None = next((known for known in MODES if how == known), None)
        text = how if mode is None else jacobian_pass(mode, self.signature, inputs, outputs, holomorphic=holomorphic)

        def finish(module: ModuleOp) -> None:
            from wengert.runtime.labels import name_jacobian

            name_jacobian(module, self.signature, arguments, results)

        return self._transformed(text.partition("{")[0], text, dump_dir, finish)

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

    def _transformed(self, label: str, text: str, dump_dir: PathLike | None, finish: Callable[[ModuleOp], None] | None = None) -> Program:
        """The program after a pass, written as text, and optimisation."""

        def make(folder: Path | None) -> ModuleOp:
            from wengert.runtime.derivation import transform

            module = transform(self.optimized_module, text, folder)
            if finish is not None:
                finish(module)
            return module

        return self._derived((label, text), label, text, dump_dir, make)

    def _derivative(
        self, mode: Mode, wrt: Positions, of: Positions, dump_dir: PathLike | None, strategy: Strategy = "transpose", residuals: Residuals = "auto"
    ) -> Program:
        inputs, outputs = self.resolve(wrt=wrt, of=of)

        def make(folder: Path | None) -> ModuleOp:
            from wengert.runtime.derivation import derive, derive_with_dumps
            from wengert.runtime.labels import name_derivative

            if folder is None:
                module = derive(self.optimized_module, mode, inputs, outputs, strategy, residuals)
            else:
                from wengert.ir.dumps import Dumper

                module = derive_with_dumps(self.module, self.entry, mode, inputs, outputs, Dumper(folder), strategy, residuals)
            name_derivative(module, self.signature, mode, inputs, outputs)
            return module

        key = (mode, *chosen(strategy, residuals), inputs, outputs)
        return self._derived(key, mode, f"wrt={inputs} of={outputs} strategy={strategy} residuals={residuals}", dump_dir, make)

    @stage()
    def _derived(self, key: tuple[Any, ...], label: str, request: str, dump_dir: PathLike | None, make: Callable[[Path | None], ModuleOp]) -> Program:
        """The program of a module that is made with a folder for dumps, or none; made once if nobody asks for dumps."""
        key = (*key, os.environ.get(DUMP_DIR))
        if dump_dir is None and (made := self._derivatives.get(key)) is not None:
            return made
        folder = dump_folder(dump_dir, label)
        program = self._derivatives[key] = self._derived_program(label, request, lambda: make(folder), now=folder is not None)
        return program

    def resolve(self, *, wrt: Positions = None, of: Positions = None) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The positions that :meth:`jvp` and :meth:`vjp` take these to mean."""
        return choose("wrt", wrt, self.signature.arguments), choose("of", of, self.signature.results)

    # -- the IR

    @staged_property
    def module(self) -> ModuleOp:
        """The IR; treat it as read-only (clone it to work on it). That of a known program is made at the first look."""
        assert self._unread is not None, "any other program is made of its module"
        return self._unread()

    @staged_property
    def core_module(self) -> ModuleOp:
        """The program in core form, as ``@main``: calls inlined, known regions recognised. Treat it as read-only."""
        if self.is_optimized:
            return self.module
        from wengert.runtime.derivation import core_form

        return core_form(self.module, self.entry)

    @staged_property
    def optimized_module(self) -> ModuleOp:
        """The core form with fewer ops: what is differentiated, compiled and counted. Treat it as read-only. The core form itself of a program that is
        :attr:`as_given`."""
        if self.as_given or self.is_optimized:
            return self.core_module
        from wengert.runtime.derivation import optimized_form

        return optimized_form(self.module, self.entry)

    @staged_property
    def counted_module(self) -> ModuleOp:
        """The optimised module as its costs are counted: what solves an equation stands in the place of the value that it gives."""
        from wengert.runtime.derivation import counted_form

        return counted_form(self.optimized_module)
