"""Cuts a core-level function at its loops into functions that run one after the other, so that it can stop within a loop and go on later.

.. code-block:: text

    @main(%x)                        0: (%x) -> %a          what is before the loop
      %a = ...                       1: (%x, %a) -> %b      the loop, some iterations of it at a time
      %b = core.for ... (%a)         2: (%b) -> %c          what is after it
      %c = ... %b
      return %c

A function is cut only where all values that are used later are tensors: a loop that reads or writes a tape stays whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from wengert.dialects.builder import OpBuilder
from wengert.dialects.core import ForOp, WhileOp
from wengert.dialects.stablehlo import ReturnOp as YieldOp
from wengert.ir.attributes import int_attr, int_of
from wengert.ir.construction import append, copy_op
from wengert.ir.tensor_types import i64, tensor

COUNT = tensor((), i64)


@dataclass(frozen=True)
class Segment:
    """A function of a sequence of them.

    Attributes:
        module: with the function, ``@main``.
        takes, gives: the numbers of the values that it takes and gives.

    A segment that is no loop takes and gives just these.
    """

    module: ModuleOp
    takes: tuple[int, ...]
    gives: tuple[int, ...]


@dataclass(frozen=True)
class LoopSegment(Segment):
    """A loop.

    Attributes:
        trip_count: the number of the value that says how often it runs; None where a condition says it.
        constants: how many of ``takes``, the first ones, stay what they are; the others are the initial values of ``gives``.

    A counted loop takes the first iteration and the one after the last, both ``tensor<i64>``, then ``takes``. One with a condition takes the most iterations
    to run, then ``takes``, and gives how many it has run, then ``gives``.
    """

    trip_count: int | None = None
    constants: int = 0


@dataclass(frozen=True)
class Cut:
    """The segments of a function, in the order in which they run, and the numbers of its arguments and results."""

    segments: tuple[Segment, ...]
    arguments: tuple[int, ...]
    results: tuple[int, ...]

    @property
    def loops(self) -> int:
        """How many of the segments are loops."""
        return sum(isinstance(segment, LoopSegment) for segment in self.segments)


def cut_at_loops(module: ModuleOp) -> Cut:
    """The segments of ``@main`` of a core-level module, which stays what it is."""
    main = next(op for op in module.body.block.ops if isinstance(op, FuncOp) and op.sym_name.data == "main")
    return _Cutting(module, main).run()


class _Cutting:
    def __init__(self, module: ModuleOp, main: FuncOp):
        self.module, self.block = module, main.body.block
        self.ops = list(self.block.ops)
        self.number: dict[SSAValue, int] = {}
        for value in (*self.block.args, *(result for op in self.ops for result in op.results)):
            self.number[value] = len(self.number)
        self.last_use = self._last_uses()

    def _last_uses(self) -> dict[SSAValue, int]:
        """The place of the last op that uses each value, regions included."""
        last: dict[SSAValue, int] = {}
        for place, op in enumerate(self.ops):
            for inner in op.walk():
                last.update((operand, place) for operand in inner.operands if operand in self.number)
        return last

    def run(self) -> Cut:
        """Goes over the ops, and makes a segment of what is between two cuts."""
        segments: list[Segment] = []
        begun = 0
        for place, op in enumerate(self.ops[:-1]):
            if isinstance(op, ForOp | WhileOp) and self._is_free(place) and self._is_free(place + 1):
                if begun < place:
                    segments.append(self._straight(begun, place))
                segments.append(self._loop(op))
                begun = place + 1
        if begun < len(self.ops) - 1:
            segments.append(self._straight(begun, len(self.ops) - 1))
        return Cut(tuple(segments), self._numbers(self.block.args), self._numbers(self.ops[-1].operands))

    def _numbers(self, values: Iterable[SSAValue]) -> tuple[int, ...]:
        return tuple(self.number[value] for value in values)

    def _made_before(self, place: int) -> list[SSAValue]:
        return [*self.block.args, *(result for op in self.ops[:place] for result in op.results)]

    def _is_free(self, place: int) -> bool:
        """Whether all values that are made before an op and used by it or later are tensors."""
        return all(isinstance(value.type, TensorType) for value in self._made_before(place) if self.last_use.get(value, -1) >= place)

    def _straight(self, first: int, after: int) -> Segment:
        ops = self.ops[first:after]
        made = {result for op in ops for result in op.results}
        used = {operand: None for op in ops for inner in op.walk() for operand in inner.operands if operand in self.number and operand not in made}
        given = [result for op in ops for result in op.results if self.last_use.get(result, -1) >= after]
        block = Block(arg_types=[value.type for value in used])
        values: dict[SSAValue, SSAValue] = dict(zip(used, block.args, strict=True))
        for op in ops:
            append(block, copy_op(op, values))
        return Segment(self._function(block, [values[value] for value in given]), self._numbers(used), self._numbers(given))

    def _loop(self, op: ForOp | WhileOp) -> LoopSegment:
        inputs = [*op.constant_operands, *op.initial]
        numbers = self._numbers(inputs), self._numbers(op.results)
        if isinstance(op, ForOp):
            return LoopSegment(self._counted(op, inputs), *numbers, self.number[op.trip_count], int_of(op.constants))
        return LoopSegment(self._conditional(op, inputs), *numbers, None, int_of(op.constants))

    def _counted(self, op: ForOp, inputs: Sequence[SSAValue]) -> ModuleOp:
        """Iterations ``start`` to ``end``: a loop over their number, with ``start`` added to the iteration."""
        block = Block(arg_types=[COUNT, COUNT, *(value.type for value in inputs)])
        start, end, *given = block.args
        builder = OpBuilder(block)
        body = Block(arg_types=[COUNT, COUNT, *(value.type for value in inputs)])
        iteration, offset, *inner = body.args
        within = OpBuilder(body)
        values: dict[SSAValue, SSAValue] = dict(zip(op.block.args, [within.add(iteration, offset), *inner], strict=True))
        append(body, YieldOp.create(operands=_copy(op.block.ops, body, values)))
        properties = {"constants": int_attr(int_of(op.constants) + 1)}
        results = builder.create(ForOp, [builder.subtract(end, start), start, *given], [r.type for r in op.results], properties, [Region([body])])
        return self._function(block, results)

    def _conditional(self, op: WhileOp, inputs: Sequence[SSAValue]) -> ModuleOp:
        """As long as the condition holds, and no more than ``most`` iterations, which are counted."""
        n, types = int_of(op.constants), [value.type for value in inputs]
        block = Block(arg_types=[COUNT, *types])
        most, *given = block.args
        builder = OpBuilder(block)
        inner = [COUNT, *types[:n], COUNT, *types[n:]]  # most, constants, count, carried
        condition, body = Block(arg_types=inner), Block(arg_types=inner)
        holds = _copy(op.condition.block.ops, condition, self._loop_values(op.condition.block, condition, n))
        tests = OpBuilder(condition)
        append(condition, YieldOp.create(operands=[tests.and_(holds[0], tests.compare("LT", condition.args[n + 1], condition.args[0]))]))
        following = _copy(op.block.ops, body, self._loop_values(op.block, body, n))
        steps = OpBuilder(body)
        append(body, YieldOp.create(operands=[steps.add(body.args[n + 1], steps.scalar(1, i64)), *following]))
        operands = [most, *given[:n], builder.scalar(0, i64), *given[n:]]
        results = builder.create(
            WhileOp, operands, [COUNT, *(r.type for r in op.results)], {"constants": int_attr(n + 1)}, [Region([condition]), Region([body])]
        )
        return self._function(block, results)

    @staticmethod
    def _loop_values(old: Block, new: Block, constants: int) -> dict[SSAValue, SSAValue]:
        """What stands for the arguments of a region that has got a bound in front and a count before what it carries."""
        return dict(zip(old.args, [*new.args[1 : constants + 1], *new.args[constants + 2 :]], strict=True))

    def _function(self, block: Block, results: Sequence[SSAValue]) -> ModuleOp:
        append(block, ReturnOp.create(operands=list(results)))
        inputs: list[Attribute] = [argument.type for argument in block.args]
        function = FuncOp("main", FunctionType.from_lists(inputs, [value.type for value in results]), Region([block]), "public")
        named = [op.clone() for op in self.module.body.block.ops if not isinstance(op, FuncOp)]  # what ops refer to, such as meshes
        module = ModuleOp([*named, function])
        module.attributes.update(self.module.attributes)
        return module


def _copy(ops: Iterable[Operation], block: Block, values: dict[SSAValue, SSAValue]) -> list[SSAValue]:
    """Copies ops of a region to the end of a block; what stands for the values that the last of them returns."""
    *body, last = list(ops)
    for op in body:
        append(block, copy_op(op, values))
    return [values.get(value, value) for value in last.operands]
