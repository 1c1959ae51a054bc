"""The ops in the body of a nest: loads, scalars, and what is written at the end."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar, NamedTuple, cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, DenseIntOrFPElementsAttr, StringAttr
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.irdl import operand_def, opt_operand_def, opt_prop_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from wengert.dialects.facts import STRUCTURE
from wengert.dialects.kernel import positions
from wengert.dialects.kernel.attributes import KINDS, AtAttr, WhereAttr, at_attr, string
from wengert.dialects.kernel.base import KernelOp
from wengert.dialects.kernel.body_syntax import FunctionText, GuardsText, IndexText, LoadText, ScalarText, YieldText
from wengert.dialects.kernel.functions import arity, is_comparison, op_classes
from wengert.dialects.kernel.positions import Position
from wengert.ir.attributes import int_array, ints
from wengert.ir.operations import op_definition
from wengert.ir.syntax.parts import ResultTypes, Syntax
from wengert.ir.tensor_types import i1, shape_of_type, tensor, type_of
from wengert.ir.traversal import operands_of


class Write(NamedTuple):
    """One value that a nest writes in every iteration: to which position of which result, and how.

    A write with a computed ``base`` may hit an element several times; it does so in row-major order of the iterations.
    """

    value: SSAValue
    at: Position
    kind: str
    target: int
    base: SSAValue | None = None
    condition: SSAValue | None = None


@op_definition
class LoadOp(KernelOp):
    """The element at a position (plus ``base``, a computed position).

    A computed position must lie within the buffer: what computes it clamps it. Where the guards do not hold nothing is
    read, and the value may be anything.
    """

    name = "kernel.load"
    SYNTAX: ClassVar = Syntax(LoadText())
    source = operand_def()
    base = opt_operand_def()
    at = prop_def(AtAttr)
    where = opt_prop_def(WhereAttr)
    result = result_def()
    traits = traits_def(Pure())

    def verify_(self) -> None:
        extents, source = bounds_around(self), type_of(self.source)
        if not isinstance(self.source, BlockArgument) or self.source.block is not self.parent:
            raise VerifyException("a load reads an argument of the nest's body")
        if self.result.type != source.element_type:
            raise VerifyException(f"a load from {source} gives an element of it, found {self.result.type}")
        check_loops(self.at.data, extents)
        for at, _, _ in self.where.data if self.where is not None else ():
            check_loops(at, extents)
        if self.where is None and self.base is None:
            check_range(self.at.data, source, extents)


@op_definition
class IndexOp(KernelOp):
    """The value of an expression of loop indices, as a number of the result's type."""

    name = "kernel.index"
    SYNTAX: ClassVar = Syntax(IndexText(), ResultTypes())
    at = prop_def(AtAttr)
    result = result_def()
    traits = traits_def(Pure())

    def verify_(self) -> None:
        check_loops(self.at.data, bounds_around(self))


@op_definition
class WithinOp(KernelOp):
    """Whether the guards hold."""

    name = "kernel.within"
    SYNTAX: ClassVar = Syntax(GuardsText(), ResultTypes())
    where = prop_def(WhereAttr)
    result = result_def()
    traits = traits_def(Pure())

    def verify_(self) -> None:
        extents = bounds_around(self)
        for at, _, _ in self.where.data:
            check_loops(at, extents)
        if self.result.type != i1:
            raise VerifyException(f"whether guards hold is an i1, found {self.result.type}")


@op_definition
class ConstantOp(KernelOp):
    """A scalar constant (``value`` is a rank-0 tensor constant)."""

    name = "kernel.constant"
    SYNTAX: ClassVar = Syntax(ScalarText())
    value = prop_def(DenseIntOrFPElementsAttr)
    result = result_def()
    traits = traits_def(Pure())

    def verify_(self) -> None:
        bounds_around(self)
        if self.value.type != tensor((), self.result.type):
            raise VerifyException(f"a constant of {self.value.type} is no {self.result.type}")


@op_definition
class ApplyOp(KernelOp):
    """A scalar function: StableHLO's or CHLO's elementwise op of this name on one element."""

    name = "kernel.apply"
    SYNTAX: ClassVar = Syntax(FunctionText())
    arguments = var_operand_def()
    function = prop_def(StringAttr)
    result = result_def()
    traits = traits_def(Pure())

    @property
    def mnemonic(self) -> str:
        """The name under which the op is written: ``kernel.add``."""
        return f"kernel.{self.function.data}"

    @classmethod
    def mnemonics(cls) -> tuple[str, ...]:
        """The names of functions, for hints."""
        return tuple(op_classes())

    @classmethod
    def by_mnemonic(cls, name: str) -> Syntax | None:
        """The syntax of a function; None if there is none of this name."""
        return Syntax(FunctionText(name)) if arity(name) is not None else None

    def verify_(self) -> None:
        bounds_around(self)
        wanted = arity(self.function.data)
        if wanted is None:
            raise VerifyException(f"there is no scalar function {self.function.data!r}")
        if len(self.arguments) != wanted:
            raise VerifyException(f"{self.function.data!r} takes {wanted} operands; there are {len(self.arguments)}")
        if is_comparison(self.function.data) and self.result.type != i1:
            raise VerifyException(f"a comparison gives an i1, found {self.result.type}")


@op_definition
class YieldOp(KernelOp):
    """Ends a body: for a nest, what goes where and how; for an interpreted op, its results.

    Value i goes to result ``targets[i]``, or to result i if there are none: several values may go to parts of one result.
    The first values are those that are written; ``bases[i]`` and ``conditions[i]`` are the numbers of the operands that
    hold the computed part of position i, and whether it is written at all (-1: none).
    """

    name = "kernel.yield"
    SYNTAX: ClassVar = Syntax(YieldText())
    FACTS: ClassVar = STRUCTURE
    values = var_operand_def()
    at = opt_prop_def(ArrayAttr)
    kinds = opt_prop_def(ArrayAttr)
    targets = opt_prop_def(DenseArrayBase)
    bases = opt_prop_def(DenseArrayBase)
    conditions = opt_prop_def(DenseArrayBase)
    traits = traits_def(IsTerminator(), Pure())

    @property
    def writes(self) -> list[Write]:
        """What a nest writes: the values, and where each goes."""
        values, kinds, at = operands_of(self), cast("ArrayAttr[StringAttr]", self.kinds).data, cast("ArrayAttr[AtAttr]", self.at).data
        targets = range(len(kinds)) if self.targets is None else ints(self.targets)
        parts = zip(values, at, kinds, targets, strict=False)
        if self.bases is None and self.conditions is None:
            return [Write(value, where.data, kind.data, target) for value, where, kind, target in parts]
        bases, conditions = ([None if n < 0 else values[n] for n in ints(p)] if p is not None else [None] * len(kinds) for p in (self.bases, self.conditions))
        return [
            Write(value, where.data, kind.data, target, base, condition)
            for (value, where, kind, target), base, condition in zip(parts, bases, conditions, strict=True)
        ]

    @property
    def accesses(self) -> list[tuple[Position, str, SSAValue | None]]:
        """Position, kind and computed base of every write."""
        return [(write.at, write.kind, write.base) for write in self.writes]

    def verify_(self) -> None:
        nest = self.parent_op()
        if nest is None or nest.name != "kernel.nest":
            if self.at is not None:
                raise VerifyException("positions are for what a nest writes")
            return
        self._verify_lists()
        targets = {write.target for write in self.writes}
        if targets != set(range(len(nest.results))):
            raise VerifyException("every result of the nest needs a yielded value")
        extents = bounds_around(self)
        for write in self.writes:
            _check_write(write, nest.results[write.target].type, extents)

    def _verify_lists(self) -> None:
        """That there is a position, a kind and whatever else for every value that is written."""
        at, kinds = cast("Sequence[Attribute]", self.at or ()), cast("Sequence[Attribute]", self.kinds or ())
        if self.at is None or self.kinds is None or not all(isinstance(a, AtAttr) for a in at) or not all(isinstance(k, StringAttr) for k in kinds):
            raise VerifyException("a nest's body ends in a kernel.yield with positions and kinds")
        extra = [ints(numbers) for numbers in (self.bases, self.conditions) if numbers is not None]
        lists = [kinds, *extra, *([] if self.targets is None else [ints(self.targets)])]
        if len(self.values) < len(at) or any(len(numbers) != len(at) for numbers in lists):
            raise VerifyException("every yielded value needs a position and a kind")
        if any(n >= len(self.values) for numbers in extra for n in numbers):
            raise VerifyException(f"there are {len(self.values)} operands, and a base or condition is a later one")


def yielded(writes: Sequence[Write]) -> YieldOp:
    """The end of a nest's body that writes this."""
    properties: dict[str, Attribute] = {"at": ArrayAttr([at_attr(w.at) for w in writes]), "kinds": ArrayAttr([string(w.kind) for w in writes])}
    if [w.target for w in writes] != list(range(len(writes))):
        properties["targets"] = int_array([w.target for w in writes])
    operands = [w.value for w in writes]
    for name, extra in (("bases", [w.base for w in writes]), ("conditions", [w.condition for w in writes])):
        numbers = [-1] * len(extra)
        for number, scalar in enumerate(extra):
            if scalar is not None:
                numbers[number] = len(operands)
                operands.append(scalar)
        if any(n >= 0 for n in numbers):
            properties[name] = int_array(numbers)
    return YieldOp.create(operands=operands, properties=properties)


# -- checks


def bounds_around(op: Operation) -> tuple[int, ...]:
    """The bounds of the nest that an op stands in; a VerifyException if it stands in anything else."""
    nest = op.parent_op()
    if nest is None or nest.name != "kernel.nest":
        raise VerifyException("this op has its place in the body of a 'kernel.nest'")
    return ints(nest.properties["bounds"])


def check_loops(at: Position, extents: Sequence[int]) -> None:
    """Whether there are the loops that a position depends on."""
    last = max(positions.dimensions(at), default=-1)
    if last >= len(extents):
        raise VerifyException(f"position {at} depends on loop {last}; the nest has {len(extents)} loops")


def check_range(at: Position, type: Attribute, extents: Sequence[int]) -> None:
    """Whether a position stays inside a buffer."""
    low, high = positions.span(at, extents)
    if 0 not in extents and (low < 0 or high >= prod(shape_of_type(cast("Any", type)))):
        raise VerifyException(f"position {at} reaches [{low}, {high}], outside of {type}")


def _check_write(write: Write, type: Attribute, extents: Sequence[int]) -> None:
    if write.kind not in KINDS:
        raise VerifyException(f"unknown kind {write.kind!r}; expected one of {', '.join(KINDS)}")
    check_loops(write.at, extents)
    if write.value.type != cast("Any", type).element_type:
        raise VerifyException(f"a value of type {write.value.type} is yielded to a result of {type}")
    if write.condition is not None and write.condition.type != i1:
        raise VerifyException(f"the condition of a write is an i1, found {write.condition.type}")
    if write.base is None:
        check_range(write.at, type, extents)
