"""The table of batching rules, and the walk that applies them.

Batching turns a function of one input into a function of a batch of inputs: every value that depends on a batched input gets a new
leading dimension of the batch's size; all other values stay as they are, and are broadcast only where a rule needs them
batched. A rule emits, for one op, an op (or a few) that computes it for all batch elements at once::

    @batches(hlo.ReverseOp)
    def reverse(batch, op, operands):                  # at least one operand is batched
        return batch.again(op, operands, dimensions=[d + 1 for d in ints(op.dimensions)])

An op whose facts say that it is the same op on batched operands (``Batching.SAME_OP``, every elementwise op) needs no rule. One whose facts say
``Batching.LOOP`` runs once per batch element, in a loop, which is always correct and rarely fast.

Batch elements with divergent control flow share one program: loops run until the last batch element is done, and all branches run.
A *mask* then says which batch elements are active. Arithmetic on inactive ones is harmless, so only loops (which must
not wait for an inactive batch element) and writes to tapes depend on the mask.

The technique is that of JAX's vmap (Frostig, Johnson, Leary, "Compiling machine learning programs via high-level tracing",
SysML 2018), on IR in place of traces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from msgspec import Struct, field
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import Pure

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.facts import Batching as Kind
from wengert.dialects.facts import MissingFactsError, facts_of
from wengert.dialects.host_calls import host_call
from wengert.ir.attributes import int_array, int_attr, int_of
from wengert.ir.location.locations import rewritten
from wengert.ir.tensor_types import DYNAMIC, i1, i64, rank, shape, shape_of_type, tensor, type_of
from wengert.transforms.ad.errors import refuse
from wengert.transforms.core.closing import free_values


class Mapped(Struct, frozen=True):
    """A value of the new function: with a leading batch dimension, or the same for all batch elements."""

    value: Value
    batched: bool


Operands = Sequence[Mapped]
Results = Sequence[Value | Mapped]
"""The results of a rule; a bare value is batched."""

BatchRule = Callable[["Batching", Any, Operands], Results]

BATCH_RULES: dict[type[Operation], BatchRule] = {}
INDEX = tensor((), i64)
"""The type of positions and iteration numbers."""
CONTROL: set[type[Operation]] = set()
"""Ops whose rules are called under a mask even where no operand is batched."""


def batches(*ops: type[Operation], control: bool = False) -> Callable[[BatchRule], BatchRule]:
    """Declares how ops are batched."""

    def register(rule: BatchRule) -> BatchRule:
        for op in ops:
            if op in BATCH_RULES:
                raise ValueError(f"{op.name} has two batching rules")
            BATCH_RULES[op] = rule
            if control:
                CONTROL.add(op)
        return rule

    return register


def rule_of(op: Operation) -> BatchRule:
    """Returns the batching rule of an op, by the facts of its class. Raises a DiagnosticError for an op without facts."""
    try:
        kind = facts_of(type(op)).batching
    except MissingFactsError as error:
        raise refuse(op, f"cannot be batched: {error}") from None
    return BATCH_RULES[type(op)] if kind is Kind.RULE else same_op if kind is Kind.SAME_OP else element_by_element


Instead = Callable[["Batching", Operation, Operands], "list[Mapped] | None"]


class Functions(Struct):
    """The batched versions, by name, of the functions of a module that are called and not inlined."""

    module: ModuleOp
    size: int
    names: dict[str, str] = field(default_factory=dict[str, str])
    unsure: frozenset[Operation] = frozenset()
    """The collectives that devices may disagree about whether to run, as far as is known."""
    instead: Instead | None = None
    """Asked first for every op: what it gives where the rules of batching do not say it."""


class Batching:
    """The walk over one block, with a map from old values to new ones.

    Attributes:
        b: the builder of the new block.
        size: the batch size.
        mask: ``i1[size]``, the active batch elements; None if all are active.
        functions: the batched versions of functions that are called.
    """

    def __init__(self, b: OpBuilder, size: int, functions: Functions, mask: Value | None = None):
        self.b = b
        self.size = size
        self.functions = functions
        self.mask = mask
        self.values: dict[SSAValue, Mapped] = {}
        self._broadcast: dict[SSAValue, Value] = {}

    # -- walking

    def run(self, block: Block, arguments: Operands) -> list[Mapped]:
        """Emits the batched version of a block on these arguments; returns the operands of its terminator."""
        self.values.update(zip(block.args, arguments, strict=True))
        *ops, last = block.ops
        for op in ops:
            if op.results and all(result in self.values for result in op.results):
                continue  # known beforehand
            self.values.update(zip(op.results, self._step(op), strict=True))
        return [self.values[value] for value in last.operands]

    def inline(self, block: Block, arguments: Operands, mask: Value | None = None) -> list[Mapped]:
        """Emits the batched version of the closed block of a region in place, under the mask of this block or another."""
        inner = Batching(self.b, self.size, self.functions, self.mask if mask is None else mask)
        return inner.run(block, arguments)

    def nested(self, block: Block, mask: Value | None = None) -> Batching:
        """Returns a walk over the block of a region that emits into a new block."""
        b = OpBuilder(block, location=self.b.location, pass_name=self.b.pass_name)
        return Batching(b, self.size, self.functions, mask)

    def _step(self, op: Operation) -> list[Mapped]:
        operands = [self.values[operand] for operand in op.operands]
        if self.functions.instead is not None:
            with self.b.at(rewritten(op.location, op.name, self.b.pass_name or "batch")):
                if (known := self.functions.instead(self, op, operands)) is not None:
                    return known
        captured = [self.values[value] for value in free_values(op.regions)] if op.regions else []
        masked = self.mask is not None and (type(op) in CONTROL or host_call(op) is not None)
        if not masked and not any(x.batched for x in (*operands, *captured)):
            return [Mapped(value, False) for value in self._unbatched(op)]
        if any(isinstance(r.type, TensorType) and DYNAMIC in shape(r) for r in op.results):
            raise refuse(op, "cannot be batched: the shape of its result is known only at run time")
        with self.b.at(rewritten(op.location, op.name, self.b.pass_name or "batch")):
            rule = element_by_element if any(x.batched for x in captured) else rule_of(op)
            return [x if isinstance(x, Mapped) else Mapped(x, True) for x in rule(self, op, operands)]

    def _unbatched(self, op: Operation) -> Sequence[Value]:
        operands = [self.values[operand].value for operand in op.operands]
        if not op.regions:
            return self.b.copy(op, operands)
        copy = type(op).create(
            operands=operands,
            result_types=[r.type for r in op.results],
            properties=op.properties,
            attributes=op.attributes,
            regions=self.regions(op),
            location=op.location,
        )
        return self.b.insert(copy).results

    # -- for rules

    def regions(self, op: Operation) -> list[Region]:
        """Copies an op's regions, whose captured values are not batched."""
        renamed = {value: self.values[value].value for value in free_values(op.regions)} if op.regions else {}
        return [renamed_region(region, renamed) for region in op.regions]

    def type(self, unbatched: Attribute) -> Attribute:
        """The batched version of a type."""
        if isinstance(unbatched, core.TapeType):
            return core.TapeType(cast("TensorType[Any]", self.type(unbatched.entry_type)))
        static = cast("TensorType[Any]", unbatched)
        return tensor([self.size, *shape_of_type(static)], static.element_type)

    def broadcast(self, x: Mapped) -> Value:
        """Returns a value with a leading batch dimension, broadcast along it if it has none."""
        if x.batched:
            return x.value
        if x.value not in self._broadcast:
            self._broadcast[x.value] = self._broadcast_value(x.value)
        return self._broadcast[x.value]

    def _broadcast_value(self, x: Value) -> Value:
        if isinstance(x.type, core.TapeType):
            return self._broadcast_tape(x)
        return self.b.broadcast_in_dim(x, range(1, rank(x) + 1), [self.size, *shape(x)])

    def _broadcast_tape(self, tape: Value) -> Value:
        """A tape of the same entries, batched; the old tape is not written any more."""
        kind = self.type(tape.type)
        if isinstance(tape.owner, core.TapeCreateOp):
            return self.b.create(core.TapeCreateOp, (), (kind,))[0]
        block = Block(arg_types=[INDEX, tape.type, kind])
        inner = Batching(OpBuilder(block, location=self.b.location, pass_name=self.b.pass_name), self.size, self.functions)
        i, old, new = block.args
        value = inner.b.create(core.TapeGetOp, (old, i), (cast(core.TapeType, tape.type).entry_type,))[0]
        block.add_op(hlo.ReturnOp.create(operands=inner.b.create(core.TapePushOp, (new, inner.broadcast(Mapped(value, False))), (kind,))))
        count = self.b.create(core.TapeSizeOp, (tape,), (INDEX,))[0]
        empty = self.b.create(core.TapeCreateOp, (), (kind,))[0]
        return self.b.create(core.ForOp, [count, tape, empty], [kind], {"constants": int_attr(1)}, [Region([block])])[0]

    def rebuild(self, op: Operation, operands: Operands, **integers: Sequence[int]) -> Sequence[Value]:
        """Emits the same op on batched operands, with batched results; ``integers`` are properties that change."""
        properties = {**op.properties, **{name: int_array(values) for name, values in integers.items()}}
        regions = self.regions(op)
        return self.b.create(type(op), [self.broadcast(x) for x in operands], [self.type(r.type) for r in op.results], properties, regions)

    def empty_results(self, op: Operation) -> Sequence[Value]:
        """The results of an op on tensors for a batch of size 0."""
        return [self.b.zeros(cast("TensorType[Any]", self.type(r.type))) for r in op.results]

    def align(self, x: Mapped, dims: Sequence[int], result: Sequence[int]) -> Value:
        """Broadcasts x to a batched shape, with its dimension i at ``dims[i]`` of the unbatched shape, as broadcast_in_dim does."""
        placed = [0, *(d + 1 for d in dims)] if x.batched else [d + 1 for d in dims]
        return self.b.broadcast_in_dim(x.value, placed, [self.size, *result])

    def where(self, mask: Value, x: Value, y: Value) -> Value:
        """x where the mask holds and y elsewhere; both are batched."""
        return x if x is y else self.b.select(self.b.broadcast_in_dim(mask, [0], shape(x)), x, y)

    def any(self, mask: Value) -> Value:
        """Whether any batch element of a mask is active (``tensor<i1>``)."""
        return self.b.reduce(core.Kind.or_, mask, [0])

    def within_mask(self, mask: Value) -> Value:
        """The conjunction of a mask with the mask of this block."""
        return mask if self.mask is None else self.b.and_(self.mask, mask)

    @property
    def mask_type(self) -> TensorType[Any]:
        """The type of a mask."""
        return tensor([self.size], i1)


def same_op(batch: Batching, op: Operation, operands: Operands) -> Results:
    """The rule of an op that treats leading dimensions elementwise: the op itself, on operands that are all batched."""
    return batch.rebuild(op, operands)


def element_by_element(batch: Batching, op: Operation, operands: Operands) -> Results:
    """The rule of any other pure op: a loop over the batch elements."""
    if not (op.has_trait(Pure, value_if_unregistered=False) or (isinstance(op, hlo.CustomCallOp) and not _has_effect(op))):
        raise refuse(op, "cannot be batched: it does more than compute its results")
    if not all(isinstance(v.type, TensorType) for v in (*op.operands, *op.results)):
        raise refuse(op, "cannot be batched: it has operands or results that are not tensors")
    captured = free_values(op.regions)
    inputs = [*operands, *(batch.values[value] for value in captured)]

    def body(b: OpBuilder, i: Value, values: Sequence[Value]) -> Sequence[Value]:
        renamed = dict(zip((*op.operands, *captured), values, strict=True))
        parts = values[: len(operands)]
        regions = [renamed_region(region, renamed) for region in op.regions]
        copy = type(op).create(operands=parts, result_types=[r.type for r in op.results], properties=op.properties, attributes=op.attributes, regions=regions)
        return b.insert(copy).results

    return loop_over_batch(batch, inputs, [r.type for r in op.results], body)


def _has_effect(op: hlo.CustomCallOp) -> bool:
    return op.has_side_effect is not None and bool(int_of(op.has_side_effect))


def renamed_region(region: Region, renamed: dict[SSAValue, SSAValue]) -> Region:
    """Copies a region, with its captured values replaced."""
    clone = Region()
    region.clone_into(clone, value_mapper=dict(renamed))
    return clone


def loop_over_batch(
    batch: Batching, inputs: Operands, results: Sequence[Attribute], body: Callable[[OpBuilder, Value, Sequence[Value]], Sequence[Value]]
) -> Sequence[Value]:
    """Emits a ``core.for`` over the batch elements: ``body`` gets the index of one and its inputs, and returns its results, which
    are stacked. Inputs that are not batched are passed as they are."""
    b = batch.b
    initial = [b.zeros(cast("TensorType[Any]", batch.type(type))) for type in results]
    block = Block(arg_types=[tensor((), i64), *(x.value.type for x in inputs), *(v.type for v in initial)])
    inner = OpBuilder(block, location=b.location, pass_name=b.pass_name)
    i, arguments = block.args[0], block.args[1 : 1 + len(inputs)]
    values = [batch_element(inner, a, i) if x.batched else a for a, x in zip(arguments, inputs, strict=True)]
    parts = body(inner, i, values)
    collected = [write_batch_element(inner, whole, part, i) for whole, part in zip(block.args[1 + len(inputs) :], parts, strict=True)]
    block.add_op(hlo.ReturnOp.create(operands=collected))
    count = b.scalar(batch.size, i64)
    operands = [count, *(x.value for x in inputs), *initial]
    return b.create(core.ForOp, operands, [type_of(v) for v in initial], {"constants": int_attr(len(inputs))}, [Region([block])])


def batch_element(b: OpBuilder, x: Value, i: Value) -> Value:
    """Batch element i of a batched value."""
    extents = shape(x)[1:]
    row = b.dynamic_slice(x, [i, *[b.scalar(0, i64)] * len(extents)], [1, *extents])
    return b.reshape(row, extents)


def write_batch_element(b: OpBuilder, x: Value, part: Value, i: Value) -> Value:
    """A batched value with batch element i replaced."""
    row = b.reshape(part, [1, *shape(part)])
    return b.dynamic_update_slice(x, row, [i, *[b.scalar(0, i64)] * len(shape(part))])


def unbatched(values: Iterable[Value]) -> list[Mapped]:
    """Values that are the same for all batch elements."""
    return [Mapped(value, False) for value in values]
