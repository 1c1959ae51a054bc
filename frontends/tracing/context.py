"""The active trace: a block that operations are appended to, inside the block that it was begun in.

Tracing a function writes a ``func.func``; a loop's body or a branch, a block of a closed region. Each is a :class:`BlockTrace`, and
the innermost one is where operations go. A value of an outer block that is used inside becomes an argument of the inner block
(:class:`Captures`), so functions and regions stay closed. A value of a block that is finished cannot be used at all: it has leaked.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from wengert.dialects.builder import OpBuilder
from wengert.frontends.tracing.errors import type_error
from wengert.frontends.tracing.source_lines import location_here
from wengert.ir.builder import _NO_PROPERTIES, Properties  # pyright: ignore[reportPrivateUsage]

if TYPE_CHECKING:
    from wengert.frontends.tracing.tracer import TracedArray


class TracingBuilder(OpBuilder):
    """A builder whose ops carry the place of the user's expression that asked for them."""

    def create(
        self,
        cls: type[Operation],
        operands: Sequence[SSAValue],
        results: Sequence[Attribute],
        properties: Properties = _NO_PROPERTIES,
        regions: Sequence[Region] = (),
    ) -> Sequence[SSAValue]:
        self.location = location_here()
        return super().create(cls, operands, results, properties, regions)


@dataclass
class ModuleTrace:
    """The module that a traced function and all that it calls are written to."""

    module: ModuleOp = field(default_factory=lambda: ModuleOp([]))
    names: set[str] = field(default_factory=set[str])
    custom_functions: dict[Any, Any] = field(default_factory=dict[Any, Any])
    """Functions with derivatives of their own, by the Python function and the types of its arguments."""

    def fresh_name(self, base: str) -> str:
        """A symbol that the module does not use yet, made from the name of a Python function."""
        base = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in base).strip("_") or "f"
        name, n = base, 0
        while name in self.names:
            name, n = f"{base}_{n}", n + 1
        self.names.add(name)
        return name

    def add(self, function: FuncOp) -> None:
        """Appends a function, whose name :meth:`fresh_name` gave."""
        self.module.body.block.add_op(function)


class Captures:
    """The values from outside that a group of blocks uses: the same arguments at the same positions of each block.

    Attributes:
        outer: the values, of the block outside.
    """

    def __init__(self, first: int):
        self.outer: list[SSAValue] = []
        self._first = first
        self._blocks: list[Block] = []

    def block(self, before: Sequence[Attribute], after: Sequence[Attribute] = ()) -> Block:
        """A new block of the group; its arguments are ``before`` (as many as all have), what was captured so far, and ``after``."""
        made = Block(arg_types=[*before, *(value.type for value in self.outer), *after])
        self._blocks.append(made)
        return made

    def inside(self, value: SSAValue, block: Block) -> SSAValue:
        """The argument of a block that stands for a value from outside."""
        if value not in self.outer:
            for other in self._blocks:
                other.insert_arg(value.type, self._first + len(self.outer))
            self.outer.append(value)
        return block.args[self._first + self.outer.index(value)]


class BlockTrace:
    """A block while operations are appended to it."""

    def __init__(self, module: ModuleTrace, block: Block, parent: BlockTrace | None, captures: Captures | None):
        self.module = module
        self.block = block
        self.builder: OpBuilder = TracingBuilder(block)
        self.parent = parent
        self.captures = captures
        self._lifted: dict[SSAValue, SSAValue] = {}

    def use(self, tracer: TracedArray) -> SSAValue:
        """The value in this block; a TracedTypeError for a value of a block that is finished, or one that a change in place has left behind."""
        shared = tracer.shared
        if shared is not None and shared.changes != tracer.seen:
            raise type_error(
                f"{tracer!r} shares its elements with an array that was changed in place since", "take the part, or the other shape, again after the change"
            )
        return tracer.value if tracer.trace is self else self._lift(tracer)

    def _lift(self, tracer: TracedArray) -> SSAValue:
        if self.parent is None or self.captures is None:
            raise _leaked(tracer)
        outer = self.parent.use(tracer)
        if outer not in self._lifted:
            self._lifted[outer] = self.captures.inside(outer, self.block)
        return self._lifted[outer]


class _State(threading.local):
    """The innermost block of this thread."""

    trace: BlockTrace | None = None


_STATE = _State()


def current_trace() -> BlockTrace | None:
    """The block that operations of this thread are appended to, if something is being traced."""
    return _STATE.trace


def active_trace() -> BlockTrace:
    """The same, where a traced value was seen: without a trace it has leaked."""
    trace = _STATE.trace
    if trace is None:
        raise _leaked(None)
    return trace


@contextmanager
def tracing(trace: BlockTrace) -> Generator[BlockTrace]:
    """Operations inside go to this block."""
    before, _STATE.trace = _STATE.trace, trace
    try:
        yield trace
    finally:
        _STATE.trace = before


def _leaked(tracer: TracedArray | None) -> Exception:
    what = "a traced value" if tracer is None else f"{tracer!r}"
    return type_error(
        f"{what} is used after the function, branch or loop that it belongs to was traced",
        "return it from that function; do not keep it in a global, an attribute or a list that outlives the call",
    )
