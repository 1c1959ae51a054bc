"""The Jacobians and Hessians of a program, dense and sparse, by a mode or by the fastest way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from wengert.runtime.derived.forms import Forms
from wengert.runtime.derived.jacobian_passes import (
    EDGE_PUSHING,
    MODES,
    JacobianMode,
    compressed_jacobian_pass,
    edge_pushing_pass,
    jacobian_pass,
    seeded_jacobian_pass,
)
from wengert.runtime.derived.positions import Positions
from wengert.runtime.dump_folders import PathLike

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from wengert.runtime.derived.sparsity import SparseJacobian
    from wengert.runtime.program import Program
    from wengert.transforms.ad.jacobians.compression import Colouring
    from wengert.transforms.ad.jacobians.sparse import SparsePlan


class Jacobians(Forms):
    """A program's Jacobians and Hessians."""

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
        strategy: str | None = None,
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
        strategy: str | None = None,
        measure: bool | None = None,
        holomorphic: bool = False,
        dump_dir: PathLike | None = None,
        sparse: bool = False,
    ) -> Program | SparseJacobian:
        """The Jacobian by what is the fastest, as predicted, and as measured where predictions are close: a mode, batched in one of several ways, both modes
        from a narrow cut, or columns or rows compressed. Arguments, results and errors are those of :meth:`jacfwd`, to rounding.

        The candidates are taken down to buffers for the prediction, once for each choice of positions; the choice is kept on disk with the program
        (:func:`wengert.strategies` shows it, with more ways). Where it depends on what only a run tells, or the program is complex, the mode with fewer
        directions is taken.

        Args:
            wrt: positions of the arguments, as for :meth:`jacfwd`.
            of: positions of the results, likewise.
            strategy: how, in place of a choice: a row of ``wengert strategies`` that is one program, such as "jacrev", "mixed" or "eliminated", or a pass for
                Jacobians with its options, such as "eliminate{order=search}". InputError for any other.
            measure: by default the candidates that are predicted within 50 per cent of the best, where there are several, are compiled and timed at random
                inputs, once on this machine (here or by :func:`wengert.strategies`), unless their runs are predicted to take more than 0.2 s together. True
                measures these too; False takes the prediction, whatever was measured.
            holomorphic: as for :meth:`jacfwd`.
            dump_dir: a folder for the IR after every pass.
            sparse: :meth:`sparse_jacobian` instead, which returns a matrix of ``scipy.sparse``.
        """
        if sparse:
            return self.sparse_jacobian(wrt, of)
        inputs, outputs = self.resolve(wrt=wrt, of=of)
        if strategy is not None:
            from wengert.lab.strategies.default import passes_of_strategy

            named = passes_of_strategy(cast("Program", self), inputs, outputs, strategy)
            return self._jacobian(named, inputs, outputs, holomorphic, dump_dir)
        key = ("jacobian", inputs, outputs, holomorphic, measure)
        if dump_dir is None and key in self._derivatives:
            return self._derivatives[key]
        self._derivatives[key] = self._jacobian(self.jacobian_way(inputs, outputs, measure=measure), inputs, outputs, holomorphic, dump_dir)
        return self._derivatives[key]

    @overload
    def hessian(
        self,
        wrt: Positions = None,
        of: Positions = None,
        *,
        measure: bool | None = None,
        strategy: str | None = None,
        holomorphic: bool = False,
        sparse: Literal[False] = False,
    ) -> Program: ...
    @overload
    def hessian(self, wrt: Positions = None, of: Positions = None, *, sparse: Literal[True]) -> SparseJacobian: ...
    def hessian(
        self,
        wrt: Positions = None,
        of: Positions = None,
        *,
        measure: bool | None = None,
        strategy: str | None = None,
        holomorphic: bool = False,
        sparse: bool = False,
    ) -> Program | SparseJacobian:
        """Second derivatives, by the way that is the fastest, chosen as by :meth:`jacobian`: one array for each result in ``of`` and each
        pair of arguments in ``wrt``, of the shape of the result followed by those of both arguments. Arguments and errors are those of :meth:`jacobian`;
        ``strategy`` is a row of ``wengert strategies --of hessian`` that is one program, such as "forward over reverse" or "edge pushing". With
        ``sparse=True``, :meth:`sparse_hessian`."""
        if sparse:
            return self.sparse_hessian(wrt, of)
        inputs, outputs = self.resolve(wrt=wrt, of=of)
        if strategy is not None:
            from wengert.lab.strategies.default import check_hessian_strategy

            check_hessian_strategy(cast("Program", self), inputs, outputs, strategy)
            return self._hessian(strategy, inputs, outputs, holomorphic)
        key = ("hessian", inputs, outputs, holomorphic, measure)
        if key not in self._derivatives:
            self._derivatives[key] = self._hessian(self.hessian_way(inputs, outputs, measure=measure), inputs, outputs, holomorphic)
        return self._derivatives[key]

    def _hessian(self, plan: str, wrt: tuple[int, ...], of: tuple[int, ...], holomorphic: bool) -> Program:
        """The Hessian by a row of the table, such as ``forward over reverse``."""
        if plan == EDGE_PUSHING:
            return self._pushed_hessian(edge_pushing_pass(wrt, of), wrt, of)
        second, _, first = plan.partition(" over ")
        gradient = (self.jacfwd if first == "forward" else self.jacrev)(wrt, of, holomorphic=holomorphic)
        if second == "compressed":
            every = tuple(range(len(gradient.signature.results)))
            numbers = sum(prod(self.signature.results[j].shape) for j in of)
            passes = seeded_jacobian_pass(wrt, every, symmetric=numbers == 1)
            return gradient._jacobian(passes, wrt, every, holomorphic, None)  # pyright: ignore[reportPrivateUsage]
        return (gradient.jacfwd if second == "forward" else gradient.jacrev)(wrt, holomorphic=holomorphic)

    def _pushed_hessian(self, text: str, wrt: tuple[int, ...], of: tuple[int, ...]) -> Program:
        gradient = self.jacrev(wrt, of).signature.results

        def finish(module: ModuleOp) -> None:
            from wengert.runtime.derived.labels import name_jacobian

            name_jacobian(module, self.signature, [self.signature.arguments[i] for i in wrt], gradient)

        return self._transformed("edge-pushing", text, None, finish)

    def sparsity(self, wrt: Positions = None, of: Positions = None, *, at: Sequence[Any] | None = None) -> Any:
        """Which elements of the results may depend on which elements of the arguments: a ``scipy.sparse.csr_array`` of booleans, with one row for each element
        of the results in ``of`` and one column for each element of the arguments in ``wrt``.

        It holds at all arguments; with ``at``, arguments as for a call, at these: the places that are read and the branches that are taken there. Elements
        outside are zero. (Index sets: Griewank, Walther, "Evaluating Derivatives", 2nd ed., sec. 7.1.)
        """
        from wengert.runtime.derived.sparsity import pattern_of

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
        from wengert.runtime.derived.sparsity import SparseJacobian

        inputs, outputs = self.resolve(wrt=wrt, of=of)
        return self._kept(("sparse jacobian", inputs, outputs, colouring), lambda: SparseJacobian(cast("Program", self), inputs, outputs, colouring))

    def sparse_hessian(self, wrt: Positions = None, of: Positions = None, *, colouring: Colouring = "best") -> SparseJacobian:
        """The second derivatives of one number as a function of the arguments that returns a ``scipy.sparse.csr_array``: forward over reverse mode, in
        directions that a star colouring or an acyclic colouring of the symmetric pattern leads to. As :meth:`sparse_jacobian`."""
        from wengert.runtime.derived.sparsity import sparse_hessian

        inputs, outputs = self.resolve(wrt=wrt, of=of)
        return self._kept(("sparse hessian", inputs, outputs, colouring), lambda: sparse_hessian(cast("Program", self), inputs, outputs, colouring))

    def _kept(self, key: tuple[Any, ...], make: Callable[[], SparseJacobian]) -> SparseJacobian:
        if key not in self._sparse:
            self._sparse[key] = make()
        return self._sparse[key]

    def jacobian_way(self, wrt: Positions = None, of: Positions = None, *, measure: bool | None = None) -> str:
        """What :meth:`jacobian` does: ``jacfwd``, ``jacrev``, or the text of another pass."""
        from wengert.lab.strategies.default import jacobian_passes

        return jacobian_passes(cast("Program", self), *self.resolve(wrt=wrt, of=of), measure)

    def hessian_way(self, wrt: Positions = None, of: Positions = None, *, measure: bool | None = None) -> str:
        """What :meth:`hessian` does: a row of the table for Hessians, such as ``forward over reverse``."""
        from wengert.lab.strategies.default import hessian_plan

        return hessian_plan(cast("Program", self), *self.resolve(wrt=wrt, of=of), measure)

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
            from wengert.runtime.derived.labels import name_compressed

            name_compressed(module, self.signature, results)

        return self._transformed("compressed-jacobian", text, dump_dir, finish)

    def _elements_of_jacobian(self, text: str, wrt: tuple[int, ...], of: tuple[int, ...], plan: Callable[[], SparsePlan]) -> Program:
        """The elements of a sparse Jacobian, as the pass of this text makes them, by a plan that was made for them."""

        def make(folder: Path | None) -> ModuleOp:
            from wengert.runtime.derived.derivation import sparse_elements, transform
            from wengert.runtime.derived.labels import name_elements

            module = sparse_elements(self.optimized_module, plan(), wrt, of) if folder is None else transform(self.optimized_module, text, folder)
            name_elements(module, self.signature)
            return module

        return self._derived(("sparse-jacobian", text), "sparse-jacobian", text, None, make)

    def _by_named_elements(self, text: str) -> Program:
        """The program after a pass that makes elements, with their places."""

        def finish(module: ModuleOp) -> None:
            from wengert.runtime.derived.labels import name_elements

            name_elements(module, self.signature)

        return self._transformed(text.partition("{")[0], text, None, finish)

    def _jacobian(self, how: str, wrt: Positions, of: Positions, holomorphic: bool, dump_dir: PathLike | None) -> Program:
        """The Jacobian by ``jacfwd`` or ``jacrev``, or by another pass, as text."""
        inputs, outputs = self.resolve(wrt=wrt, of=of)
        arguments, results = [self.signature.arguments[i] for i in inputs], [self.signature.results[j] for j in outputs]
        mode: JacobianMode | None = next((known for known in MODES if how == known), None)
        text = how if mode is None else jacobian_pass(mode, self.signature, inputs, outputs, holomorphic=holomorphic)

        def finish(module: ModuleOp) -> None:
            from wengert.runtime.derived.labels import name_jacobian

            name_jacobian(module, self.signature, arguments, results)

        return self._transformed(text.partition("{")[0], text, dump_dir, finish)
