"""From a Python function to a ``func.func``: called once on traced arguments, it writes its operations into a block.

A :class:`Call` is a Python function with arguments that are trees, seen as a function of the arrays among their leaves; what is no
array (a string, a function) is passed on as it is. :func:`write_function` writes it; values of outer blocks that it uses become
arguments after its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import StringAttr, SymbolRefAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Region, SSAValue

from wengert.frontends.pytrees import TreeSpec, flatten, unflatten
from wengert.frontends.tracing.context import BlockTrace, Captures, ModuleTrace, current_trace, tracing
from wengert.frontends.tracing.errors import TracingError, type_error
from wengert.frontends.tracing.operands import value_of
from wengert.frontends.tracing.signatures import ArraySpec, is_array_leaf, spec_of
from wengert.frontends.tracing.source_lines import location_here
from wengert.frontends.tracing.tracer import TracedArray

Body = Callable[[list[TracedArray]], list[Any]]


def name_of(function: Any) -> str:
    """The name of a Python function, for symbols and messages."""
    name = getattr(function, "__name__", None) or type(function).__name__
    return "f" if name == "<lambda>" else name


class Call:
    """A call of a Python function as one of the arrays among its arguments' leaves.

    Attributes:
        leaves: all leaves of ``(args, kwargs)``.
        positions: which of them are arrays.
        specs: what is known of those.
        out_spec: the structure of the result, once the function was called.
        results: what is known of the result's leaves, then.
    """

    def __init__(self, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]):
        self.function = function
        self.leaves, self.spec = flatten((tuple(args), dict(kwargs)))
        self.positions = [i for i, leaf in enumerate(self.leaves) if is_array_leaf(leaf)]
        self.specs = [spec_of(self.leaves[i]) for i in self.positions]
        self.out_spec: TreeSpec | None = None
        self.results: list[ArraySpec] = []

    @property
    def arrays(self) -> list[Any]:
        """The arguments of the function of arrays."""
        return [self.leaves[i] for i in self.positions]

    def operands(self) -> list[SSAValue]:
        """The same as values of the block being traced."""
        return [value_of(leaf, spec.dtype) for leaf, spec in zip(self.arrays, self.specs, strict=True)]

    def argument_positions(self, args: Sequence[Any], chosen: Sequence[int]) -> list[int]:
        """The positions of the arrays that are leaves of these positional arguments."""
        counts = [len(flatten(a)[0]) for a in args]
        leaves = {j for k in chosen for j in range(sum(counts[:k]), sum(counts[: k + 1]))}
        return [p for p, i in enumerate(self.positions) if i in leaves]

    def body(self, tracers: list[TracedArray]) -> list[Any]:
        """Calls the function; the leaves of its result, which must be arrays."""
        leaves = list(self.leaves)
        for i, tracer in zip(self.positions, tracers, strict=True):
            leaves[i] = tracer
        args, kwargs = unflatten(self.spec, leaves)
        returned, self.out_spec = flatten(self.function(*args, **kwargs))
        for leaf in returned:
            if not is_array_leaf(leaf):
                raise type_error(f"{name_of(self.function)} returns {leaf!r} of type {type(leaf).__name__}, which is not an array")
        self.results = [spec_of(leaf) for leaf in returned]
        return returned

    def result(self, leaves: Sequence[Any]) -> Any:
        """Leaves in the structure of the result."""
        assert self.out_spec is not None
        return unflatten(self.out_spec, leaves)


@dataclass(frozen=True)
class Written:
    """A function of the module, and the values of the block outside that it takes after its own arguments."""

    function: FuncOp
    captures: tuple[SSAValue, ...]

    @property
    def symbol(self) -> SymbolRefAttr:
        """The symbol by which calls refer to it."""
        return SymbolRefAttr(self.function.sym_name.data)

    @property
    def result_types(self) -> list[Attribute]:
        """The types of its results."""
        return list(self.function.function_type.outputs)


def write_function(body: Body, name: str, specs: Sequence[ArraySpec], *, captures: bool = True) -> Written:
    """Writes a private function of the module being traced: a block of its own, inside of the current one.

    Args:
        body: from traced arguments to leaves of results.
        name: what to call it.
        specs: its arguments.
        captures: whether it may use values from outside.
    """
    outside = current_trace()
    assert outside is not None
    group = Captures(len(specs))
    function = _written(outside.module, outside, group, body, name, specs, "private")
    if group.outer and not captures:
        raise TracingError(
            type_error(f"{name} uses a traced value from outside, which a function with a derivative of its own cannot", "pass it as an argument").diagnostic
        )
    return Written(function, tuple(group.outer))


def write_main(body: Body, specs: Sequence[ArraySpec]) -> tuple[ModuleTrace, FuncOp]:
    """A new module with the function as its public ``@main``."""
    module = ModuleTrace()
    module.fresh_name("main")
    function = _written(module, None, Captures(len(specs)), body, "main", specs, "public")
    return module, function


def _written(module: ModuleTrace, outside: BlockTrace | None, group: Captures, body: Body, name: str, specs: Sequence[ArraySpec], visibility: str) -> FuncOp:
    location = location_here()
    symbol = name if outside is None else module.fresh_name(name)
    block = group.block([spec.type for spec in specs])
    trace = BlockTrace(module, block, outside, group if outside is not None else None)
    with tracing(trace):
        arguments = [TracedArray(arg, trace, spec.weak) for arg, spec in zip(block.args, specs, strict=True)]
        results = [value_of(leaf) for leaf in body(arguments)]
    block.add_op(ReturnOp(*results))
    function = FuncOp(symbol, ([arg.type for arg in block.args], [value.type for value in results]), Region([block]), StringAttr(visibility))
    function.location = location
    module.add(function)
    return function


def call_written(written: Written, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """Calls a function of the module from the current block."""
    trace = current_trace()
    assert trace is not None
    return trace.builder.create(CallOp, [*operands, *written.captures], written.result_types, {"callee": written.symbol})
