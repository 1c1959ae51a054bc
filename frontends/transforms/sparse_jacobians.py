"""``sparse_jacobian`` and ``sparse_hessian`` of Python functions: derivatives as ``scipy.sparse`` matrices; only what may be other than zero is computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from wengert.frontends.tracing.context import current_trace
from wengert.frontends.tracing.errors import type_error
from wengert.frontends.tracing.function import Call, name_of
from wengert.frontends.transforms.derivatives import Positions, argument_position
from wengert.frontends.transforms.emission import as_tuple
from wengert.frontends.transforms.jit import Function, Traceable, jit

if TYPE_CHECKING:
    from wengert.runtime.derived.sparsity import SparseJacobian
    from wengert.runtime.program import Program
    from wengert.transforms.ad.jacobians.compression import Colouring


class SparseDerivative:
    """A function that returns a sparse derivative: compiled once for each signature, as by :func:`wengert.jit`.

    Its result is a ``scipy.sparse.csr_array`` with one row for each element of the function's results and one column for each element of the arguments in
    ``argnums``, in the order of the leaves of the trees. It is called with arrays; it cannot be traced, since such a matrix is no array of the namespace.
    """

    def __init__(self, function: Function, argnums: Positions, make: Callable[[Program, tuple[int, ...]], SparseJacobian]):
        self._function, self._argnums, self._make = function, argnums, make
        self._traceable: Traceable = jit(function)
        self.__name__, self.__wrapped__ = f"sparse_derivative_of_{name_of(function)}", function

    def of(self, *args: Any, **kwargs: Any) -> SparseJacobian:
        """The derivative for arguments of these shapes, with its pattern, its directions and its program."""
        call = Call(self._function, args, kwargs)
        positions = [argument_position(self._function, args, k) for k in as_tuple(self._argnums)]
        return self._make(self._traceable.program(*args, **kwargs), tuple(call.argument_positions(args, positions)))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The matrix at the arguments."""
        if current_trace() is not None:
            raise type_error(f"{self.__name__} returns a matrix of scipy.sparse, which cannot be traced", "take wg.jacobian inside of other transforms")
        derivative = self.of(*args, **kwargs)
        return derivative(*Call(self._function, args, kwargs).arrays)


def sparse_jacobian(function: Function, argnums: Positions = 0, *, colouring: Colouring = "best") -> SparseDerivative:
    """A function that returns the Jacobian as a ``scipy.sparse.csr_array``; see :meth:`wengert.Program.sparse_jacobian`.

    Args:
        function: of arrays, or trees of them; all results are floats.
        argnums: the arguments to differentiate by.
        colouring: what shares directions: "columns", "rows", "both" or the "best" of these.
    """
    return SparseDerivative(function, argnums, lambda program, wrt: program.sparse_jacobian(wrt, colouring=colouring))


def sparse_hessian(function: Function, argnums: Positions = 0, *, colouring: Colouring = "best") -> SparseDerivative:
    """A function that returns the second derivatives of a function of one number as a ``scipy.sparse.csr_array``; see
    :meth:`wengert.Program.sparse_hessian`."""
    return SparseDerivative(function, argnums, lambda program, wrt: program.sparse_hessian(wrt, colouring=colouring))
