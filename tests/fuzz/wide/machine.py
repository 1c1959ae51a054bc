"""The interpreter with wide floats: every float of a program, of whatever format, is a long double.

A result that two programs compute differently by rounding, or because a number leaves the range of its format on one way and not on the other,
differs by far less here, or not at all; one that is wrong is as wrong as before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from fuzz.wide.formats import Copies
from fuzz.wide.functions import NARROW, reduced_precision, wide_function
from wengert.dialects import stablehlo
from wengert.ir.tensor_types import dtype_of, element, is_complex, is_float
from wengert.lab.agreement.noise.disturbance import Disturbance
from wengert.lab.agreement.noise.floats import finfo
from wengert.lab.agreement.noise.frame import NoisyFrame
from wengert.lab.agreement.noise.machine import NoisyMachine, Taken
from wengert.runtime.interpreter.counter import Counter
from wengert.runtime.interpreter.machine import Frame, Machine
from wengert.runtime.interpreter.ops.elementwise import KERNELS
from wengert.transforms.core.compound import EXPANSIONS

Array = np.ndarray[Any, np.dtype[Any]]


def wide_run(copies: Copies, inputs: Sequence[Any]) -> list[Array]:
    """The results of @main, of which floats are long doubles."""
    return _run(_WideMachine(copies), inputs)


def noisy_wide_run(copies: Copies, inputs: Sequence[Any], seed: int, taken: Taken, *, flushing: bool = False, scale: float = 2.0) -> list[Array]:
    """The same with errors of this many units in the last place of the wide format; see :func:`wengert.lab.agreement.noise.machine.noisy_run`."""
    return _run(_NoisyWideMachine(copies, Disturbance(seed, scale, flushing=flushing), taken), inputs)


def _run(machine: Machine, inputs: Sequence[Any]) -> list[Array]:
    with np.errstate(all="ignore"):
        return [np.array(r) for r in machine.function("main", counting=False)(*[widened(np.asarray(x))[()] for x in inputs])]


def widened(x: Any) -> Any:
    """Floats as long doubles."""
    x = np.asarray(x)
    return x.astype(np.clongdouble) if x.dtype.kind == "c" else x.astype(np.longdouble) if x.dtype.kind in "fV" and _is_float(x.dtype) else x


def _is_float(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "f" or "float" in dtype.name


class _WideFrame(Frame):
    """A frame whose ops are of a module in the widest format."""

    machine: _WideMachine | _NoisyWideMachine

    def function(self, op: Operation) -> Callable[..., Any]:
        copies = self.machine.copies
        if op not in copies.as_given:  # one of the narrow ops
            return super().function(op)
        if isinstance(op, NARROW):
            return self._narrow(copies.as_given[op])
        if isinstance(op, stablehlo.ReducePrecisionOp):
            return reduced_precision(op, int(finfo(dtype_of(element(copies.as_given[op].operands[0]))).nmant))
        narrow = None if _captures(op) else self._narrow(copies.in_64_bits[op])
        if narrow is None:
            return super().function(op)
        if type(op) in EXPANSIONS and type(op) not in KERNELS:
            return narrow
        try:
            exact = wide_function(op, narrow) or super().function(op)
        except Exception:  # a rule that knows no such elements
            return narrow
        return _either(exact, narrow, op)

    def update(self, op: Operation) -> Callable[..., Any] | None:
        return None

    def _narrow(self, op: Operation) -> Callable[..., Any]:
        """The op of another copy, on what has its formats."""
        function = self.function(op)

        def computed(*operands: Any) -> Any:
            results = function(*[_as(x, v) for x, v in zip(operands, op.operands, strict=True)])
            return tuple([_wide(r) for r in results]) if len(op.results) > 1 else _wide(results)

        return computed


class _NoisyWideFrame(NoisyFrame, _WideFrame):
    """The same with errors."""

    machine: _NoisyWideMachine


class _WideMachine(Machine):
    def __init__(self, copies: Copies):
        super().__init__(copies.module)
        self.copies = copies

    def frame(self, counter: Counter | None) -> Frame:
        return _WideFrame(self, counter)


class _NoisyWideMachine(NoisyMachine):
    def __init__(self, copies: Copies, noise: Disturbance, taken: Taken):
        super().__init__(copies.module, noise, taken)
        self.copies = copies

    def frame(self, counter: Counter | None) -> Frame:
        return _NoisyWideFrame(self, counter)


def _captures(op: Operation) -> bool:
    """Whether regions use values from around the op."""
    return any(not op.is_ancestor(v.owner) for inner in op.walk() if inner is not op for v in inner.operands)


def _either(exact: Callable[..., Any], narrow: Callable[..., Any], op: Operation) -> Callable[..., Any]:
    """The function in the widest format, or in 64 bits where it has none or leaves it."""
    dtypes = [np.dtype(dtype_of(element(r))) if isinstance(r.type, TensorType) else None for r in op.results]

    def computed(*operands: Any) -> Any:
        try:
            results = exact(*operands)
        except Exception:  # LAPACK, SciPy and the like, whatever they raise
            return narrow(*operands)
        several = results if len(dtypes) > 1 else (results,) * len(dtypes)
        right = all(dtype is None or np.asarray(r).dtype == dtype for r, dtype in zip(several, dtypes, strict=True))
        return results if right else narrow(*operands)

    return computed


def _as(x: Any, value: SSAValue) -> Any:
    if not isinstance(value.type, TensorType):
        return x
    of = element(value)
    return np.asarray(x).astype(dtype_of(of))[()] if is_float(of) or is_complex(of) else x


def _wide(x: Any) -> Any:
    return widened(x)[()] if isinstance(x, np.ndarray | np.generic) else x
