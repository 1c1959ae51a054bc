"""Operations: what one call of define-by-run code does, as IR and as a function of arrays.

An operation is declared by the ops that it stands for (:attr:`Operation.emit`). What it computes, its derivative and what that
derivative needs to keep all follow from these; there is no formula of a derivative in this package. Where NumPy has a function
for it, ``kernel`` names that, for speed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from wengert.dialects.builder import OpBuilder, Value
from wengert.eager.recording.program import Array, Prepared, Type, module_of
from wengert.ir.pipeline.stages import staged_property

Emit = Callable[[OpBuilder, Sequence[Value], Any], Sequence[Value]]
COMPILE_AFTER = 24
"""The runs in the interpreter after which an operation without a kernel is compiled, if it is small."""
SMALL = 2048
"""The most elements of a small operation; a larger one is compiled when it is run."""

MOST_SIGNATURES = 4096
"""The most signatures that an operation remembers, where shapes or parameters change all the time."""


@dataclass(frozen=True, eq=False)
class Operation:
    """One kind of step on a tape.

    Attributes:
        name: what messages and the text of a tape call it.
        node: the name of its node in the graph of gradients.
        emit: writes its ops: (builder, operands, parameters) -> results.
        kernel: the same on arrays, where NumPy has it: (parameters, arrays) -> array, which may be a view only if ``view``.
        keeps_result: whether its derivative may use its results; otherwise it computes them again from the operands if need be.
        view: whether its result shares the memory of its first operand.
        differentiable: which operands can have gradients at all, and so are edges of the graph.
        tracked: which results can have gradients; None for all that are of floats.
        arithmetic: whether its operands are brought to a common dtype and shape.
        compile_after: how often it runs in the interpreter before it is compiled.
        exact_zeros: whether a derivative that is zero everywhere is zeros rather than absent.
        overlaps: for a view: whether several of its elements may be one place in memory.
        put: for a view: writes the ops that put a new value in the place of the view: (builder, base, value, parameters) -> base.
    """

    name: str
    node: str
    emit: Emit
    kernel: Callable[..., Any] | None = None
    keeps_result: bool = False
    view: bool = False
    differentiable: slice = field(default_factory=lambda: slice(None))
    tracked: tuple[int, ...] | None = None
    compile_after: int = COMPILE_AFTER
    arithmetic: bool = False
    put: Callable[[OpBuilder, Value, Value, Any], Value] | None = None
    exact_zeros: bool = True
    overlaps: bool = False
    signatures: dict[Any, Signature] = field(default_factory=dict[Any, "Signature"], repr=False)

    def signature(self, types: tuple[Type, ...], params: Any, mask: int) -> Signature:
        """The operation on operands of these types, of which those in the mask require gradients."""
        key = (types, params, mask)
        signature = self.signatures.get(key)
        if signature is None:
            if len(self.signatures) > MOST_SIGNATURES:
                self.signatures.clear()  # records hold theirs; what is asked for again is derived again
            signature = self.signatures[key] = Signature(self, types, params, mask)
        return signature


@dataclass(eq=False)
class Signature:
    """An operation for operands of known types: what it makes of them, and its derivative.

    ``mask`` has a bit for every operand that requires a gradient.
    """

    operation: Operation
    types: tuple[Type, ...]
    params: Any
    mask: int
    pullback: Operation | None = None
    """Its derivative as an operation, where a backward pass was recorded."""
    pushforward: Operation | None = None
    """Its derivative in forward mode, where that was asked for."""
    _reaching: dict[tuple[int, ...], Signature] = field(default_factory=dict[tuple[int, ...], "Signature"], repr=False)
    offered: tuple[int, ...] | None = None
    """The operands and results that its derivative may use; None for operands, and results if the operation keeps them."""

    @staged_property
    def forward(self) -> Prepared:
        """The operation as a function of arrays."""
        module = module_of(self.types, lambda b, operands: self.operation.emit(b, operands, self.params))
        return Prepared(module, self.operation.name, self._patience)

    @property
    def _patience(self) -> int:
        size = sum(math.prod(shape) for shape, _ in self.types)
        return self.operation.compile_after if size <= SMALL else 0

    @staged_property
    def results(self) -> tuple[Type, ...]:
        """The types of its results."""
        from wengert.eager.gradients.derive import result_types

        return result_types(self.forward.module)

    @staged_property
    def wanted(self) -> tuple[int, ...]:
        """The operands that require gradients."""
        return tuple(i for i in range(len(self.types)) if self.mask >> i & 1)

    @staged_property
    def differentiable(self) -> tuple[int, ...]:
        """The results that have gradients."""
        tracked = self.operation.tracked
        return tuple(i for i, (_, dtype) in enumerate(self.results) if np.issubdtype(dtype, np.inexact) and (tracked is None or i in tracked))

    @staged_property
    def _derived(self) -> tuple[Prepared, tuple[int, ...]]:
        from wengert.eager.gradients.derive import Segment, Step, backward_module

        count = len(self.types)
        results = tuple(range(count, count + len(self.results)))
        offered = (*range(count), *(results if self.operation.keeps_result else ())) if self.offered is None else self.offered
        step = Step(self.operation, self.params, tuple(range(count)), results)
        roots = tuple(results[i] for i in self.differentiable)
        module, kept = backward_module(Segment(dict(enumerate(self.types)), (step,), roots, self.wanted, offered))
        return Prepared(module, self.operation.node, self._patience), kept

    @property
    def backward(self) -> Prepared:
        """Its derivative: (what it keeps, cotangents of the differentiable results) -> cotangents of the wanted operands."""
        return self._derived[0]

    @staged_property
    def keeps(self) -> tuple[int, ...]:
        """The values that its derivative uses: positions of operands, followed by those of results."""
        return self._derived[1]

    @staged_property
    def complete(self) -> Signature:
        """The same with gradients of all results, from the same kept values: those that are kept for the derivative alone have
        gradients where that is differentiated itself."""
        operation = replace(self.operation, tracked=None, signatures={})
        return Signature(operation, self.types, self.params, self.mask, offered=self.keeps)

    def reaching(self, results: tuple[int, ...]) -> Signature:
        """The same with gradients of these results only, from the same kept values: no zero stands for a cotangent that is absent."""
        signature = self._reaching.get(results)
        if signature is None:
            operation = replace(self.operation, tracked=results, exact_zeros=False, signatures={})
            signature = self._reaching[results] = Signature(operation, self.types, self.params, self.mask, offered=self.keeps)
        return signature

    @staged_property
    def unreached(self) -> tuple[bool, ...]:
        """For every wanted operand, whether its cotangent is zero whatever those of the results are, because no result depends on it."""
        if self.operation.exact_zeros:
            return (False,) * len(self.wanted)
        from wengert.eager.gradients.derive import zero_results

        return zero_results(self.backward.module)

    def compute(self, arrays: Sequence[Array]) -> Sequence[Array]:
        """The results for these arrays."""
        return self.forward(*arrays)


def register(table: dict[str, Operation], name: str, node: str, emit: Emit, **options: Any) -> Operation:
    """A new operation, entered in a table by its name."""
    made = table[name] = Operation(name, node, emit, **options)
    return made
