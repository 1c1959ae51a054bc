"""The converter: values by name, ops by their handlers, regions as StableHLO's regions."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import IndexType, IntegerType, TensorType
from xdsl.dialects.func import CallOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from wengert.dialects import stablehlo as hlo
from wengert.dialects.ad import RequestOp
from wengert.dialects.builder import OpBuilder
from wengert.dialects.upstream import UpstreamOp
from wengert.ir.parsing.values import count_of
from wengert.ir.tensor_types import DYNAMIC, i64, is_complex, is_float, is_integer, rank, shape, tensor
from wengert.ir.unregistered import written_name
from wengert.transforms.core.counting import constant_integer
from wengert.transforms.upstream.convert.errors import needs_constant, not_elementwise, refusal

Value = SSAValue
Handler = Callable[["Converter", UpstreamOp], Sequence[Value]]
_WIDTHS = (1, 2, 4, 8, 16, 32, 64)


class Converter:
    """Writes upstream ops as StableHLO through a builder.

    Attributes:
        b: the builder of the block that is being written.
        lanes: the shape of the iteration space where a body is written for all of its elements at once, else None.
        positions: the values of ``linalg.index`` there, by dimension.
    """

    HANDLERS: ClassVar[dict[str, Handler]] = {}

    def __init__(self, builder: OpBuilder):
        import_module("wengert.transforms.upstream.convert.handlers")
        self.b: OpBuilder = builder
        self.values: dict[SSAValue, Value] = {}
        self.lanes: tuple[int, ...] | None = None
        self.positions: list[Value] = []
        self.unrolled = 0

    # -- values

    def __getitem__(self, value: SSAValue) -> Value:
        """The StableHLO value of an upstream value."""
        return self.values.get(value, value)

    def operands(self, op: Operation) -> list[Value]:
        """The StableHLO values of an op's operands."""
        return [self[operand] for operand in op.operands]

    def lifted(self, *values: Value) -> list[Value]:
        """The values in one shape: what is uniform over an iteration space is broadcast where another is not."""
        target = max((shape(value) for value in values), key=len)
        return [self.spread(value, target) for value in values]

    def spread(self, value: Value, target: Sequence[int]) -> Value:
        """A scalar broadcast to a shape; other values as they are."""
        return self.b.broadcast_in_dim(value, (), target) if rank(value) == 0 and len(target) else value

    def known(self, value: SSAValue) -> int | None:
        """The integer that an upstream value is known to be."""
        return constant_integer(self[value])

    def constant(self, op: Operation, value: SSAValue, what: str) -> int:
        """The integer that an upstream value is; an error where it is not known."""
        number = self.known(value)
        if number is None:
            raise needs_constant(op, what)
        return number

    def mixed(self, op: Operation, static: Sequence[int], dynamic: Sequence[SSAValue], what: str) -> list[int]:
        """Sizes of which some are operands."""
        rest = iter(dynamic)
        return [self.constant(op, next(rest), what) if n == DYNAMIC else n for n in static]

    def index(self, value: int) -> Value:
        """An index as a constant."""
        return self.b.scalar(value, i64)

    # -- ops

    def block(self, block: Block, arguments: Sequence[Value] = ()) -> list[Value]:
        """Writes the ops of a block with these values for its arguments; the values that its terminator passes on."""
        self.values.update(zip(block.args, arguments, strict=True))
        last = block.last_op
        for op in block.ops:
            if op is not last:
                self.op(op)
        return self.operands(last) if last is not None else []

    def op(self, op: Operation) -> None:
        """Writes an op."""
        with self.b.at(op.location):
            results = self._results(op)
        if len(results) != len(op.results):
            raise refusal(op, f"expected {count_of(len(results), 'result')}, found {len(op.results)}")
        for old, new in zip(op.results, results, strict=True):
            self.values[old] = new
            if new.name_hint is None and old.name_hint is not None and not isinstance(new.owner, Block):
                new.name_hint = old.name_hint

    def _results(self, op: Operation) -> Sequence[Value]:
        if isinstance(op, UpstreamOp):
            handler = self.HANDLERS.get(op.name)
            if handler is None:
                raise refusal(op, *REFUSED.get(op.name, ("this op has no meaning here", "")))
            if self.lanes is not None and op.name not in ELEMENTWISE:
                raise not_elementwise(op)
            return handler(self, op)
        if isinstance(op, CallOp):
            raise refusal(op, f"the call of @{op.callee.string_value()} was not inlined")
        if self.lanes is not None:
            raise not_elementwise(op)
        return self._copied(op)

    def _copied(self, op: Operation) -> Sequence[Value]:
        """A StableHLO op of a program in several dialects, or a request for a derivative, as it stands."""
        if isinstance(op, RequestOp):
            types = [static_type(op, result.type) for result in op.results]
            return self.b.create(type(op), self.operands(op), types, op.properties)
        if not written_name(op).startswith(("stablehlo.", "chlo.")) or any(has_open_type(r.type) for r in op.results):
            raise refusal(op, "this op has no meaning among upstream ops")
        copy = op.clone(value_mapper={operand: self[operand] for operand in op.operands})
        return self.b.insert(copy).results

    # -- regions

    def region(self, types: Sequence[Attribute], write: Callable[[Sequence[Value]], Sequence[Value]]) -> Region:
        """A region of StableHLO whose block has arguments of these types and returns what ``write`` gives for them."""
        block = Block(arg_types=types)
        with self.inside(block):
            results = write(block.args)
            self.b.create(hlo.ReturnOp, results, ())
        return Region(block)

    @contextmanager
    def inside(self, block: Block) -> Generator[None]:
        """Ops are written into this block."""
        outer = self.b
        self.b = cast(OpBuilder, outer.child(block))
        try:
            yield
        finally:
            self.b = outer

    @contextmanager
    def over(self, lanes: tuple[int, ...] | None, positions: Sequence[Value] = ()) -> Generator[None]:
        """Scalars are tensors over an iteration space inside."""
        before = self.lanes, self.positions
        self.lanes, self.positions = lanes, list(positions)
        try:
            yield
        finally:
            self.lanes, self.positions = before


ELEMENTWISE: set[str] = set()
"""Ops whose handlers take values of any one shape: they may stand in bodies that are written for a whole iteration space."""

REFUSED: dict[str, tuple[str, str]] = {}
"""Ops that are refused by name: why, and what to do."""


def handles(*names: str, elementwise: bool = False) -> Callable[[Handler], Handler]:
    """Registers a handler for the ops of these names."""

    def register(handler: Handler) -> Handler:
        for name in names:
            assert name not in Converter.HANDLERS, name
            Converter.HANDLERS[name] = handler
            if elementwise:
                ELEMENTWISE.add(name)
        return handler

    return register


def refuses(name: str, why: str, hint: str = "") -> None:
    """Notes why an op is refused."""
    REFUSED[name] = (why, hint)


# -- types


def element_type(op: Operation, type: Attribute) -> Attribute:
    """The StableHLO element type of a scalar, or of the elements of a tensor: an index has 64 bits."""
    inner = cast(Attribute, type.element_type) if isinstance(type, TensorType) else type  # pyright: ignore[reportUnknownMemberType]
    if isinstance(inner, IndexType):
        return i64
    if not (is_float(inner) or is_complex(inner) or (is_integer(inner) and cast("IntegerType[Any, Any]", inner).width.data in _WIDTHS)):
        raise refusal(op, f"values of type {inner} are not supported", "integers of 1, 2, 4, 8, 16, 32 and 64 bits, floats and complex numbers are")
    return inner


def static_type(op: Operation, type: Attribute, extents: Sequence[int] | None = None) -> TensorType[Any]:
    """The StableHLO type of a value: of rank 0 for a scalar. ``extents`` are given where the type leaves some open."""
    inner = element_type(op, type)
    if not isinstance(type, TensorType):
        return tensor((), inner)
    known = cast("TensorType[Any]", type).get_shape() if extents is None else extents
    if any(n < 0 for n in known):
        raise refusal(op, f"the shape of {type} is not known here")
    return tensor(tuple(known), inner)


def declared_shape(type: Attribute) -> tuple[int, ...]:
    """The shape that a type says, DYNAMIC where it leaves an extent open."""
    return tuple(cast("TensorType[Any]", type).get_shape())


def has_open_type(type: Attribute) -> bool:
    """Whether a type leaves extents open."""
    return isinstance(type, TensorType) and any(n < 0 for n in declared_shape(cast(Attribute, type)))


def fitting(op: Operation, type: Attribute, value: Value) -> Value:
    """The value, whose shape must be one that the declared type allows."""
    declared = declared_shape(type)
    actual = shape(value)
    if len(declared) != len(actual) or any(m not in (n, DYNAMIC) for m, n in zip(declared, actual, strict=True)):
        raise refusal(op, f"the shape {'x'.join(map(str, actual))} does not fit {type}")
    return value
