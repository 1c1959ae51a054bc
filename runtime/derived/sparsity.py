"""Patterns of derivatives of programs, and derivatives of which only the elements of the pattern are computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.ir.construction import copy_module
from wengert.ir.pipeline.stages import staged_property
from wengert.runtime.arguments import bind
from wengert.runtime.derived.requests import positions_text
from wengert.runtime.errors import InputError
from wengert.transforms.ad.derive import prepare
from wengert.transforms.ad.jacobians.compression import COLOURINGS, SYMMETRIC, Colouring, Compression
from wengert.transforms.ad.jacobians.computed_columns import has_computed_reads
from wengert.transforms.ad.jacobians.sparse import SparsePlan, plan_of
from wengert.transforms.ad.jacobians.sparse_hessian import COLOURINGS as HESSIANS
from wengert.transforms.ad.jacobians.sparse_hessian import hessian_plan
from wengert.transforms.ad.requests.request import function_named, make_request
from wengert.transforms.analysis.sparsity.matrices import Pattern, csr_array, without_checks
from wengert.transforms.analysis.sparsity.pattern import jacobian_pattern

if TYPE_CHECKING:
    from xdsl.ir import Operation

    from wengert.runtime.compiled_program import CompiledProgram
    from wengert.runtime.program import Array, Program
    from wengert.transforms.analysis.sparsity.known import Evaluator


def pattern_of(program: Program, wrt: Sequence[int], of: Sequence[int], at: Sequence[Any] | None = None) -> Pattern:
    """The pattern of a program's Jacobian; with arguments, that at this point."""
    request = make_request(function_named(program.core_module if at is not None else program.optimized_module, "main"), wrt, of)
    if at is None:
        return jacobian_pattern(request)
    return jacobian_pattern(request, bind(program.signature, at), by_interpreter())


def by_interpreter() -> Evaluator:
    """Evaluates ops as the interpreter does."""
    from wengert.runtime.interpreter.machine import Frame, Machine

    frame = Frame(Machine(None), None)
    functions: dict[Operation, Any] = {}

    def evaluate(op: Operation, operands: Sequence[Array]) -> Sequence[Array]:
        function = functions.get(op)
        if function is None:
            function = functions[op] = frame.function(op)
        with np.errstate(all="ignore"):
            results = function(*operands)
        return [np.asarray(y) for y in (results if len(op.results) > 1 else (results,))]

    return evaluate


class SparseJacobian:
    """A Jacobian of which only the elements that may be other than zero are computed, in few directions; made by ``p.jacobian(sparse=True)``.

    Called with the program's arguments it returns a ``scipy.sparse.csr_array`` with one row for each element of the results in ``of``, one result after the
    other, and one column for each element of the arguments in ``wrt``. Its structure is always :attr:`pattern`: elements of it that happen to be zero are
    there.

    Attributes:
        primal: the program that is differentiated.
        wrt, of: positions of its arguments and results.
        colouring: what shares directions, as it was asked for.
    """

    def __init__(self, primal: Program, wrt: tuple[int, ...], of: tuple[int, ...], colouring: Colouring):
        if colouring not in COLOURINGS:
            raise InputError(f"there is no colouring {colouring!r}; there are: {', '.join(COLOURINGS)}")
        self.primal, self.wrt, self.of = primal, wrt, of
        self.colouring: Colouring = colouring
        parameters = [primal.signature.arguments[i] for i in wrt] + [primal.signature.results[j] for j in of]
        for parameter in parameters:
            if parameter.dtype.kind == "c":
                raise InputError(f"a sparse derivative: {parameter} is complex; take the jvp or vjp along the directions that you mean")
        self._heights = [_size(primal.signature.results[j].shape) for j in of]
        self._widths = [_size(primal.signature.arguments[i].shape) for i in wrt]
        if colouring in SYMMETRIC and sum(self._heights) != sum(self._widths):
            raise InputError(f"colouring={colouring!r} is for symmetric matrices, and this one is {sum(self._heights)} x {sum(self._widths)}")

    @staged_property
    def pattern(self) -> Pattern:
        """The elements that may be other than zero, whatever the arguments are: a ``csr_array`` of booleans."""
        return pattern_of(self.primal, self.wrt, self.of)

    @staged_property
    def plan(self) -> SparsePlan:
        """The directions, and what is read at computed positions before."""
        request = make_request(function_named(self.primal.optimized_module, "main"), self.wrt, self.of)
        if self.colouring not in SYMMETRIC and has_computed_reads(request):  # the function that is cut is put into the module
            module = copy_module(self.primal.optimized_module)
            prepare(module)
            request = make_request(function_named(module, "main"), self.wrt, self.of)
        return plan_of(request, self.colouring)

    @property
    def compression(self) -> Compression:
        """The directions, and where the elements are in the derivatives along them."""
        return self.plan.compression

    @property
    def directions(self) -> tuple[int, int]:
        """The directions of forward mode, and those of reverse mode."""
        return self.compression.forward, self.compression.reverse

    @staged_property
    def program(self) -> Program:
        """``(inputs) -> the elements, row by row``; where the structure depends on the arguments, followed by the column of each."""
        text = f"sparse-jacobian{{colouring={self.colouring} wrt={positions_text(self.wrt)} of={positions_text(self.of)}}}"
        return self.primal._elements_of_jacobian(text, self.wrt, self.of, lambda: self.plan)  # pyright: ignore[reportPrivateUsage]

    def __call__(self, *inputs: Any) -> Any:
        """The Jacobian at the arguments, as a ``csr_array``."""
        return self._assemble(*self._compiled(*inputs))

    @staged_property
    def _compiled(self) -> CompiledProgram:
        """The program on the default backend, without what a request for it takes."""
        return self.program.compile()

    def assembled(self, elements: Sequence[Array]) -> Any:
        """The matrix of what :attr:`program` returns."""
        return self._assemble(*elements)

    @staged_property
    def _assemble(self) -> Callable[..., Any]:
        """Makes matrices of the program's results."""
        pattern, parts = self.compression.pattern, self.plan.cut
        shape, dtype = (sum(self._heights), sum(self._widths)), self.program.signature.results[0].dtype
        starts = pattern.indptr.astype(pattern.indices.dtype if parts is None else parts.index_dtype)
        return without_checks(shape, dtype, pattern.indices, starts, is_canonical=parts is None or parts.is_canonical)

    def __repr__(self) -> str:
        height, width = sum(self._heights), sum(self._widths)
        forward, reverse = self.directions
        ways = " and ".join(f"{count} by {mode} mode" for count, mode in ((forward, "forward"), (reverse, "reverse")) if count) or "none"
        return f"<SparseJacobian of {self.primal.name}: {height} x {width} with {self.compression.pattern.nnz} elements; directions: {ways}>"


class CutHessian(SparseJacobian):
    """The Hessian of one number of a program that reads its arguments at computed positions: the structure is that at the arguments.

    ``.program`` returns the elements, their rows and their columns; places that come several times are added up after the call.
    """

    def __init__(self, primal: Program, wrt: tuple[int, ...], of: tuple[int, ...], colouring: Colouring):
        super().__init__(primal, wrt, of, "best")
        self.colouring = colouring
        self._heights = self._widths

    @staged_property
    def pattern(self) -> Pattern:
        """The elements that may be other than zero, wherever the positions are."""
        gradient = self.primal.jacrev(self.wrt, self.of)
        return pattern_of(gradient, self.wrt, range(len(gradient.signature.results)))

    @staged_property
    def _cut_plan(self) -> SparsePlan | None:
        module = copy_module(self.primal.optimized_module)
        prepare(module)
        return hessian_plan(make_request(function_named(module, "main"), self.wrt, self.of), self.colouring)

    @property
    def is_cut(self) -> bool:
        """Whether a cut makes the pattern smaller."""
        return self._cut_plan is not None

    @staged_property
    def plan(self) -> SparsePlan:
        """The directions."""
        assert self._cut_plan is not None, "asked of what is cut"
        return self._cut_plan

    @staged_property
    def program(self) -> Program:
        """``(inputs) -> the elements, their rows, their columns``."""
        text = f"sparse-hessian{{colouring={self.colouring} wrt={positions_text(self.wrt)} of={positions_text(self.of)}}}"
        return self.primal._by_named_elements(text)  # pyright: ignore[reportPrivateUsage]

    @staged_property
    def _assemble(self) -> Callable[..., Any]:
        """Makes matrices of the program's results."""
        shape = (sum(self._heights), sum(self._widths))

        def assembled(data: Array, rows: Array, columns: Array) -> Any:
            return csr_array((data, (rows, columns)), shape=shape)

        return assembled


def sparse_hessian(program: Program, wrt: tuple[int, ...], of: tuple[int, ...], colouring: Colouring) -> SparseJacobian:
    """The Hessian of the only number that a program returns: the sparse Jacobian of its gradient, of which both triangles are one."""
    if sum(_size(program.signature.results[j].shape) for j in of) != 1:
        raise InputError("a sparse Hessian is that of one number; choose a result with of=")
    if colouring in HESSIANS and has_computed_reads(make_request(function_named(program.optimized_module, "main"), wrt, of)):
        cut = CutHessian(program, wrt, of, colouring)
        if cut.is_cut:
            return cut
    gradient = program.jacrev(wrt, of)
    every = tuple(range(len(gradient.signature.results)))
    if colouring != "best":
        return SparseJacobian(gradient, wrt, every, colouring)
    ways = [SparseJacobian(gradient, wrt, every, name) for name in SYMMETRIC]
    return min(ways, key=lambda way: way.compression.forward)


def _size(extents: Sequence[int]) -> int:
    return int(np.prod(extents, dtype=np.int64))
