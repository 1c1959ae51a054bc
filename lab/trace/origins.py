"""Finds where NaN and infinity begin, and which results they reach.

An op at which they *begin* has one in a result and in none of its operands. From there on every value that is not finite is known to come from the origins
of the operands that are not finite, through loops, branches and calls by the positions of arguments, so that an infinity that comes to nothing (a mask, an
unused branch) is told from the one that makes the gradient NaN. Where an infinity becomes a NaN is noted too: it is often the surprise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, SSAValue

from wengert.lab.trace.loops import Iteration
from wengert.lab.trace.summary import Array, Summary, as_array, as_floats, has_nan, is_finite, summary_of
from wengert.transforms.analysis.opcost import is_constant

Kind = Literal["op", "constant", "argument"]


@dataclass(frozen=True)
class Event:
    """An op whose result is not finite, at the time.

    Attributes:
        op: the op; the function, for an argument.
        value: the result (or argument) that is not finite.
        result: its summary.
        operands: the summaries of the op's operands.
        iteration: the iterations of the loops around it.
        index: the first element that is not finite.
        element: that element, as text.
        inputs: the elements of the operands at this index, for operands of the same shape and single numbers; empty texts for others.
    """

    op: Operation
    value: SSAValue
    result: Summary
    operands: tuple[Summary, ...] = ()
    iteration: Iteration = ()
    index: tuple[int, ...] = ()
    element: str = ""
    inputs: tuple[str, ...] = ()


@dataclass(eq=False)
class Origin:
    """A place where values that are not finite begin: an op, a constant of the program, or an argument that came so.

    Attributes:
        becomes_nan: the first op that makes NaN of an infinity from here.
        times: how often they begin at this op, in loops.
    """

    kind: Kind
    event: Event
    becomes_nan: Event | None = None
    times: int = 1


@dataclass
class Origins:
    """Follows values that are not finite through a run.

    Attributes:
        all: the origins, in the order of the run.
    """

    module: ModuleOp
    all: list[Origin] = field(default_factory=list[Origin])
    _of: dict[SSAValue, frozenset[Origin]] = field(default_factory=dict[SSAValue, "frozenset[Origin]"])
    _at: dict[SSAValue, Origin] = field(default_factory=dict[SSAValue, Origin])

    def __post_init__(self) -> None:
        self._functions = {op.sym_name.data: op for op in self.module.ops if isinstance(op, FuncOp)}
        self._calls: dict[str, list[CallOp]] = defaultdict(list)
        for op in self.module.walk():
            if isinstance(op, CallOp):
                self._calls[op.callee.string_value()].append(op)

    def of(self, value: SSAValue) -> frozenset[Origin]:
        """The origins of what a value holds now; none if it is finite."""
        return self._of.get(value, frozenset())

    def entered(self, block: Block, arguments: Sequence[Any], iteration: Iteration) -> None:
        """A block begins with these arguments."""
        for argument, value in zip(block.args, arguments, strict=True):
            if is_finite(value):
                self._of.pop(argument, None)
                continue
            known = self._given(block, argument.index)
            self._of[argument] = known or frozenset((self._begin("argument", _function(block), argument, value, (), iteration),))

    def executed(self, op: Operation, results: Sequence[Any], operands: Sequence[Any], iteration: Iteration) -> None:
        """An op has made these results of these operands."""
        for result, value in zip(op.results, results, strict=True):
            if is_finite(value):
                self._of.pop(result, None)
                continue
            sources = self._sources(op)
            if not sources:
                sources = frozenset((self._begin("constant" if is_constant(op) else "op", op, result, value, operands, iteration),))
            elif has_nan(value) and not any(map(has_nan, operands)) and not op.regions:
                for origin in sources:
                    if origin.becomes_nan is None and not origin.event.result.nan:
                        origin.becomes_nan = event_of(op, result, value, operands, iteration)
            self._of[result] = sources

    def _sources(self, op: Operation) -> frozenset[Origin]:
        """The origins of an op's operands, and of what its regions or callee return."""
        returned: list[SSAValue] = []
        for region in op.regions:
            for block in region.blocks:
                returned += block.last_op.operands if block.last_op is not None else ()
        if isinstance(op, CallOp) and (callee := self._functions.get(op.callee.string_value())) is not None:
            returned += _returned(callee)
        return self._union((*op.operands, *returned))

    def _given(self, block: Block, position: int) -> frozenset[Origin]:
        """The origins of what an argument of a block was given: operands of the op around it, or what an iteration before has returned."""
        parent, from_end = block.parent_op(), len(block.args) - position
        if isinstance(parent, FuncOp):
            return self._union(call.operands[position] for call in self._calls[parent.sym_name.data] if position < len(call.operands))
        if parent is None:
            return frozenset()
        values = [parent.operands[-from_end]] if from_end <= len(parent.operands) else []
        body = parent.regions[-1].block.last_op
        if body is not None and from_end <= len(body.operands):
            values.append(body.operands[-from_end])
        return self._union(values) or self._union(parent.operands)

    def _union(self, values: Iterable[SSAValue]) -> frozenset[Origin]:
        return frozenset(origin for value in values for origin in self._of.get(value, ()))

    def _begin(self, kind: Kind, op: Operation, value: SSAValue, array: Any, operands: Sequence[Any], iteration: Iteration) -> Origin:
        known = self._at.get(value)
        if known is not None:
            known.times += 1
            return known
        origin = self._at[value] = Origin(kind, event_of(op, value, array, operands, iteration))
        self.all.append(origin)
        return origin


def event_of(op: Operation, value: SSAValue, array: Any, operands: Sequence[Any], iteration: Iteration) -> Event:
    """The event of an op that made a value which is not finite."""
    result = np.asarray(array)
    at = _first_bad(result)
    inputs = tuple([_element(operand, at, result.shape) for operand in operands])
    return Event(op, value, summary_of(array), tuple(map(summary_of, operands)), iteration, at, str(result[at]), inputs)


def _first_bad(array: Array) -> tuple[int, ...]:
    """The index of the first NaN, or of the first infinity where there is none."""
    wide = as_floats(array)
    bad = np.isnan(wide)
    if not bad.any():
        bad = ~np.isfinite(wide)
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), array.shape))


def _element(operand: Any, at: tuple[int, ...], shape: tuple[int, ...]) -> str:
    array = as_array(operand)
    if array is None:
        return ""
    if array.shape == shape:
        return str(array[at])
    return str(array.reshape(-1)[0]) if array.size == 1 else ""


def _function(block: Block) -> Operation:
    parent = block.parent_op()
    assert parent is not None
    return parent


def _returned(function: FuncOp) -> Sequence[SSAValue]:
    block = function.body.blocks.last
    return tuple(block.last_op.operands) if block is not None and block.last_op is not None else ()
