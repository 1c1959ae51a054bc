"""Builds the body of one loop nest, from the results to the operands: each value is computed at an index.

A value in memory is loaded from its flat position; a view is its operand at another index; a scalar
function is applied to its operands at the same index. What has been computed at the same index before is the same scalar.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate
from typing import Any, Protocol

import ml_dtypes
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, LocationAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from wengert.dialects import core, stablehlo
from wengert.dialects.kernel import (
    STORE,
    ApplyOp,
    ConstantOp,
    EmptyOp,
    Guard,
    IndexOp,
    LoadOp,
    WhereAttr,
    WithinOp,
    Write,
    at_attr,
    nest,
    string,
    yielded,
)
from wengert.dialects.kernel.positions import ZERO, flatten, index, strides
from wengert.ir.attributes import int_of, ints
from wengert.ir.construction import add_argument, append
from wengert.ir.elements import is_splat
from wengert.ir.location.fused import together
from wengert.ir.location.locations import rewritten
from wengert.ir.tensor_types import dtype_of, element, i1, i32, i64, shape, size, tensor, type_of
from wengert.ir.traversal import operands_of, result_of
from wengert.transforms.fuse.indexing import Access, Start, read, write
from wengert.transforms.fuse.plan import Copy, Group, Part, Plan, Update
from wengert.transforms.fuse.roles import function_name, reduction_kind, write_kind
from wengert.transforms.fuse.views import Index, operand_index, pad_index, reshaped

Guards = tuple[Guard, ...]


class Function(Protocol):
    """The function that a nest is built in: its plan, the kernel-level block, and the new values by the old ones."""

    plan: Plan
    outer: Block
    env: dict[SSAValue, SSAValue]

    def resolve(self, value: SSAValue) -> SSAValue:
        """The value behind barriers."""
        ...

    def in_memory(self, value: SSAValue) -> SSAValue:
        """The tensor that holds a value."""
        ...


@lru_cache(maxsize=4096)
def _scalar_constant(data: bytes, element_type: Attribute) -> DenseIntOrFPElementsAttr[Any]:
    type: Any = tensor((), element_type)
    return DenseIntOrFPElementsAttr(type, BytesAttr(data))


def _rewritten(op: Operation) -> LocationAttr:
    """The location of what stands for an op in a kernel."""
    return rewritten(op.location, op.name, "fuse")


class NestBuilder:
    """Writes the body of one nest."""

    def __init__(self, function: Function, number: int, group: Group):
        assert group.domain is not None
        self.function = function
        self.number = number
        self.group = group
        self.domain = group.domain
        self.here: Index = tuple([index(d) for d in range(len(self.domain))])
        self.body = Block()
        self.inputs: dict[SSAValue, SSAValue] = {}
        self.into: list[SSAValue] = []
        self.known: dict[Any, SSAValue] = {}
        self.indices: dict[tuple[int, ...], Index] = {self.domain: self.here}
        self.writes: list[Write] = []
        self.results: list[SSAValue] = []
        self.sources: dict[Operation, None] = {}
        self.ties: list[int] = []
        self.starts: dict[Operation, list[int]] = {}
        """Where each operand of a concatenation begins in its result."""

    def run(self) -> None:
        plan = self.function.plan
        for member in self.group.members:
            if isinstance(member, Part):
                self._write_part(member)
            elif isinstance(member, Update):
                self._write_update(member)
            elif isinstance(member, Copy):
                self._write(member.value, self._value(member.value, self.index_for(shape(member.value)), ()), self.index_for(shape(member.value)), STORE)
            elif isinstance(member, core.ReduceOp):
                self._write_reduction(member)
            else:
                self._compute_member(member)
                value = result_of(member)
                if value in plan.stored:
                    at = self.index_for(shape(value))
                    self._write(value, self.known[value, at, ()], at, STORE)
        if self.writes:
            self._finish()

    def index_for(self, extents: tuple[int, ...]) -> Index:
        """The index of a tensor of this shape at the current point of the loops."""
        at = self.indices.get(extents)
        if at is None:
            at = self.indices[extents] = reshaped(self.here, self.domain, extents, self.domain)
        return at

    # -- writing

    def _write(self, value: SSAValue, scalar: SSAValue, at: Index, kind: str) -> None:
        self.writes.append(Write(scalar, flatten(at, shape(value)) if at else ZERO, kind, len(self.results)))
        self.results.append(value)
        self.ties.append(-1)

    def _write_reduction(self, op: core.ReduceOp) -> None:
        extents = shape(op.operand)
        at = self.index_for(extents)
        dropped = set(ints(op.dimensions))
        kept = tuple([p for d, p in enumerate(at) if d not in dropped])
        self._write(op.result, self._value(op.operand, at, ()), kept, reduction_kind(op))

    def _write_part(self, part: Part) -> None:
        op = part.op
        if op not in self.starts:
            self.starts[op] = list(accumulate((shape(operand)[int_of(op.dimension)] for operand in op.operands), initial=0))
        start = self.starts[op][part.number]
        at = list(self.index_for(shape(part.value)))
        scalar = self._value(part.value, tuple(at), ())
        at[int_of(op.dimension)] = at[int_of(op.dimension)].shifted(start)
        if op.result not in self.results:
            self.into.append(self._joined_before(op))
            self.results.append(op.result)
            self.ties.append(len(self.into) - 1)
        self.writes.append(Write(scalar, flatten(at, shape(op.result)), STORE, self.results.index(op.result)))

    def _write_update(self, update: Update) -> None:
        op = update.op
        at = self.index_for(shape(update.value))
        scalar = self._value(update.value, at, ())
        access = write(op, at)
        condition = self._all_inside(access) if isinstance(op, core.ScatterOp) else None
        self.into.append(self.function.in_memory(op.operand))
        self.writes.append(
            Write(
                scalar,
                flatten(access.index, shape(op.operand)) if access.index else ZERO,
                write_kind(op),
                len(self.results),
                self._window_start(access),
                condition,
            )
        )
        self.results.append(op.result)
        self.ties.append(len(self.into) - 1)

    def _joined_before(self, op: stablehlo.ConcatenateOp) -> SSAValue:
        """The result with those operands that earlier nests have written."""
        if op.result not in self.function.env:
            empty = EmptyOp.create(result_types=[op.result.type], location=op.location)
            append(self.function.outer, empty)
            return empty.result
        return self.function.env[op.result]

    def _finish(self) -> None:
        self._erase_dead()
        append(self.body, yielded(self.writes))
        op = nest(list(self.inputs), self.into, [value.type for value in self.results], self.domain, self.ties, self.body)
        op.location = self._location()
        append(self.function.outer, op)
        self.function.env.update(zip(self.results, op.results, strict=True))

    def _location(self) -> LocationAttr:
        """All ops that the nest is fused from: those whose results it writes, then what these are computed from."""
        written = [value.owner for value in reversed(self.results) if isinstance(value.owner, Operation)]
        return together(list(dict.fromkeys((*written, *reversed(self.sources)))), "fuse")

    def _erase_dead(self) -> None:
        written = {scalar for w in self.writes for scalar in (w.value, w.base, w.condition)}
        op = self.body.last_op
        while op is not None:
            before = op.prev_op
            if result_of(op).first_use is None and result_of(op) not in written:
                op.detach()
                op.erase()
            op = before

    # -- reading and computing

    def _compute_member(self, op: Operation) -> None:
        value = result_of(op)
        at = self.index_for(shape(value))
        self.known[value, at, ()] = self.known[value] = self._apply(op, at, ())

    def _value(self, value: SSAValue, at: Index, guards: Guards) -> SSAValue:
        """The element of a value at an index, as a scalar in the body."""
        value = self.function.resolve(value)
        key = (value, at, guards)
        scalar = self.known.get(key)
        if scalar is None and not guards and self.function.plan.home.get(value) == self.number:
            scalar = self.known.get(value)
        if scalar is None:
            scalar = self.known[key] = self._new_value(value, at, guards)
        return scalar

    def _new_value(self, value: SSAValue, at: Index, guards: Guards) -> SSAValue:
        if value in self.function.env:
            return self._load(self.function.env[value], at, guards)
        if 0 in shape(value):
            return self._load(self.function.in_memory(value), at, guards)
        owner = value.owner
        assert isinstance(owner, Operation), "a block argument is always in memory"
        self.sources[owner] = None
        if isinstance(owner, stablehlo.ConstantOp):
            return self._constant(owner, at, guards)
        if isinstance(owner, stablehlo.IotaOp):
            return self._add(IndexOp.create(result_types=[element(value)], properties={"at": at_attr(at[int_of(owner.iota_dimension)])}))
        if isinstance(owner, stablehlo.PadOp):
            return self._pad(owner, at, guards)
        if isinstance(owner, stablehlo.ConcatenateOp):
            return self._join(owner, at, guards)
        if isinstance(owner, stablehlo.DynamicSliceOp | stablehlo.GatherOp):
            access = read(owner, at)
            return self._load(self.function.in_memory(access.operand), access.index, guards, self._window_start(access, guards))
        if value in self.function.plan.home:
            return self._apply(owner, at, guards)
        return self._value(operands_of(owner)[0], operand_index(owner, at, self.domain), guards)

    def _pad(self, op: stablehlo.PadOp, at: Index, guards: Guards) -> SSAValue:
        if 0 in shape(op.operand):
            return self._value(op.padding_value, (), guards)
        inner, more = pad_index(op, at, self.domain)
        if not more:
            return self._value(op.operand, inner, guards)
        scalar = self._value(op.operand, inner, tuple(dict.fromkeys((*guards, *more))))
        filler = self._value(op.padding_value, (), guards)
        return self._choose(more, scalar, filler)

    def _join(self, op: stablehlo.ConcatenateOp, at: Index, guards: Guards) -> SSAValue:
        """The element of the operand in whose range the index lies."""
        dimension = int_of(op.dimension)
        chosen: SSAValue | None = None
        start = 0
        for operand in op.operands:
            extent = shape(operand)[dimension]
            if size(operand):
                inside = (at[dimension], start, start + extent)
                inner = (*at[:dimension], at[dimension].shifted(-start), *at[dimension + 1 :])
                scalar = self._value(operand, inner, tuple(dict.fromkeys((*guards, inside))))
                chosen = scalar if chosen is None else self._choose((inside,), scalar, chosen)
            start += extent
        assert chosen is not None, "an empty value is not computed"
        return chosen

    def _choose(self, inside: Guards, scalar: SSAValue, other: SSAValue) -> SSAValue:
        condition = self._within(inside)
        return self._add(ApplyOp.create(operands=[condition, scalar, other], result_types=[scalar.type], properties={"function": string("select")}))

    def _within(self, guards: Guards) -> SSAValue:
        condition = self.known.get(guards)
        if condition is None:
            condition = self.known[guards] = self._add(WithinOp.create(result_types=[i1], properties={"where": WhereAttr(guards)}))
        return condition

    def _apply(self, op: Operation, at: Index, guards: Guards) -> SSAValue:
        extents = shape(result_of(op))
        self.sources[op] = None
        operands = [self._value(operand, at if shape(operand) == extents else (), guards) for operand in operands_of(op)]
        properties: dict[str, Attribute] = {"function": string(function_name(op))}
        return self._add(ApplyOp.create(operands=operands, result_types=[element(result_of(op))], properties=properties, location=_rewritten(op)))

    def _constant(self, op: stablehlo.ConstantOp, at: Index, guards: Guards) -> SSAValue:
        value = op.value
        if not is_splat(value):
            return self._load(self.function.in_memory(op.output), at, guards)
        element_type = element(op.output)
        data = value.data.data[: dtype_of(element_type).itemsize]
        return self._scalar(data, element_type)

    def _scalar(self, data: bytes, element_type: Attribute) -> SSAValue:
        """A scalar constant from its bytes."""
        key = (data, element_type)
        scalar = self.known.get(key)
        if scalar is None:
            scalar = self.known[key] = self._add(ConstantOp.create(result_types=[element_type], properties={"value": _scalar_constant(data, element_type)}))
        return scalar

    # -- computed positions

    def _window_start(self, access: Access, guards: Guards = ()) -> SSAValue | None:
        """The flat position of the starts, clamped so that the window lies inside; None if it cannot move at all. Where guards do not hold, the starts
        may lie outside of what they are read from, and are not read."""
        integer = i32 if size(access.operand) < 2**31 else i64
        steps = strides(shape(access.operand))
        total: SSAValue | None = None
        for start in access.starts:
            if start.limit == 0:
                continue
            clamped = self._function("clamp", integer, self._number(0, start.value), self._start(start, guards), self._number(start.limit, start.value))
            part = self._function("multiply", integer, clamped, self._integer(steps[start.dimension], integer)) if steps[start.dimension] != 1 else clamped
            total = part if total is None else self._function("add", integer, total, part)
        return total

    def _start(self, start: Start, guards: Guards = ()) -> SSAValue:
        return self._value(start.value, start.at, guards)

    def _all_inside(self, access: Access) -> SSAValue | None:
        """Whether every start lies in its range, so that the whole window is inside; None if there are no starts."""
        total: SSAValue | None = None
        for start in access.starts:
            if start.limit < 0:
                return self._scalar(b"\0", i1)  # the window is larger than the operand
            scalar = self._start(start)
            for function, bound in (("ge", 0), ("le", start.limit)):
                test = self._function(function, i1, scalar, self._number(bound, start.value))
                total = test if total is None else self._function("and", i1, total, test)
        return total

    def _number(self, value: int, like: SSAValue) -> SSAValue:
        """An integer constant of a tensor's element type (the nearest that it can hold)."""
        element_type = element(like)
        limits = ml_dtypes.iinfo(dtype_of(element_type))
        return self._integer(min(max(value, int(limits.min)), int(limits.max)), element_type)

    def _integer(self, value: int, element_type: Attribute) -> SSAValue:
        return self._scalar(dtype_of(element_type).type(value).tobytes(), element_type)

    def _function(self, function: str, result_type: Attribute, *operands: SSAValue) -> SSAValue:
        """A scalar function, computed once for the same operands; integers are converted to ``result_type`` at the end."""
        key = (function, result_type, operands)
        result = self.known.get(key)
        if result is None:
            computed = result_type if result_type == i1 else operands[-1].type
            result = self._add(ApplyOp.create(operands=operands, result_types=[computed], properties={"function": string(function)}))
            if computed != result_type:
                result = self._add(ApplyOp.create(operands=[result], result_types=[result_type], properties={"function": string("convert")}))
            self.known[key] = result
        return result

    def _load(self, source: SSAValue, at: Index, guards: Guards, base: SSAValue | None = None) -> SSAValue:
        argument = self.inputs.get(source)
        if argument is None:
            argument = self.inputs[source] = add_argument(self.body, source.type)
        properties: dict[str, Attribute] = {"at": at_attr(flatten(at, shape(source)) if at else ZERO)}
        if guards:
            properties["where"] = WhereAttr(guards)
        operands = [argument] if base is None else [argument, base]
        return self._add(LoadOp.create(operands=operands, result_types=[type_of(source).element_type], properties=properties))

    def _add(self, op: Operation) -> SSAValue:
        append(self.body, op)
        return result_of(op)
