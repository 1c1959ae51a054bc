"""Patterns of derivatives of programs, and derivatives of which only the elements of the pattern are computed."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.ir.pipeline.stages import staged_property
from wengert.runtime.arguments import bind
from wengert.runtime.derived.requests import positions_text
from wengert.runtime.errors import InputError
from wengert.transforms.ad.jacobians.sparse import COLOURINGS, SYMMETRIC, Colouring, Compression, compressed
from wengert.transforms.ad.requests.request import function_named, make_request
from wengert.transforms.analysis.sparsity.matrices import Pattern
from wengert.transforms.analysis.sparsity.pattern import jacobian_pattern

if TYPE_CHECKING:
    from xdsl.ir import Operation

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
    def compression(self) -> Compression:
        """The directions, and where the elements are in the derivatives along them."""
        return compressed(self.pattern, self.colouring)

    @property
    def directions(self) -> tuple[int, int]:
        """The directions of forward mode, and those of reverse mode."""
        return self.compression.forward, self.compression.reverse

    @staged_property
    def program(self) -> Program:
        """``(inputs) -> for each result and each argument, a vector of the elements of the pattern in this block, row by row``."""
        text = f"sparse-jacobian{{colouring={self.colouring} wrt={positions_text(self.wrt)} of={positions_text(self.of)}}}"
        return self.primal._jacobian(text, self.wrt, self.of, False, None)  # pyright: ignore[reportPrivateUsage]

    def __call__(self, *inputs: Any) -> Any:
        """The Jacobian at the arguments, as a ``csr_array``."""
        return self.assembled(self.program(*inputs))

    def assembled(self, blocks: Sequence[Array]) -> Any:
        """The matrix of what :attr:`program` returns."""
        data = blocks[0] if len(blocks) == 1 else np.concatenate(blocks)[self._order]
        matrix = copy(self.pattern)  # without the checks of a constructor, which take longer than many a program
        matrix.data, matrix.indices, matrix.indptr = data, self.pattern.indices.copy(), self.pattern.indptr.copy()
        return matrix

    @staged_property
    def _order(self) -> Any:
        """For each element of the pattern, its number where the blocks stand one after the other."""
        places = self.pattern.tocoo()
        down = np.searchsorted(np.cumsum(self._heights), np.asarray(places.row), side="right")
        across = np.searchsorted(np.cumsum(self._widths), np.asarray(places.col), side="right")
        order = np.empty(self.pattern.nnz, np.int64)
        order[np.argsort(down * len(self.wrt) + across, kind="stable")] = np.arange(self.pattern.nnz)
        return order

    def __repr__(self) -> str:
        height, width = self.pattern.shape
        forward, reverse = self.directions
        ways = " and ".join(f"{count} by {mode} mode" for count, mode in ((forward, "forward"), (reverse, "reverse")) if count) or "none"
        return f"<SparseJacobian of {self.primal.name}: {height} x {width} with {self.pattern.nnz} elements; directions: {ways}>"


def sparse_hessian(program: Program, wrt: tuple[int, ...], of: tuple[int, ...], colouring: Colouring) -> SparseJacobian:
    """The Hessian of the only number that a program returns: the sparse Jacobian of its gradient, of which both triangles are one."""
    if sum(_size(program.signature.results[j].shape) for j in of) != 1:
        raise InputError("a sparse Hessian is that of one number; choose a result with of=")
    gradient = program.jacrev(wrt, of)
    every = tuple(range(len(gradient.signature.results)))
    if colouring != "best":
        return SparseJacobian(gradient, wrt, every, colouring)
    ways = [SparseJacobian(gradient, wrt, every, name) for name in SYMMETRIC]
    return min(ways, key=lambda way: way.compression.forward)


def _size(extents: Sequence[int]) -> int:
    return int(np.prod(extents, dtype=np.int64))
