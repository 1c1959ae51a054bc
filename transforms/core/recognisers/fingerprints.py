"""Fingerprints of elementwise computations: equal for two of them exactly if they are the same function of their inputs, op by op.

The fingerprint of a value is a hash of the op that gives it, its attributes, and the fingerprints of its operands, down to inputs and constants
(a Merkle tree). So it does not depend on names, on the order of independent ops, on which equal ops are shared, nor on what else uses them. Nor does it
depend on shapes: every value has the shape of the result or is a scalar, and a scalar that is broadcast counts as itself. Arguments of a region count by
the depth of its nesting and by position.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, cast

from xdsl.dialects.builtin import DenseArrayBase, DenseIntOrFPElementsAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from wengert.dialects import stablehlo as hlo
from wengert.ir.elements import is_splat
from wengert.ir.tensor_types import dtype_of, element, shape
from wengert.transforms.core.kinds import returned_values

MOST_OPS = 600
DEEPEST = 150
"""How many ops, and how many after each other, are looked at: what is larger is none of the functions that are known."""


class UnlikeError(Exception):
    """The computation is not elementwise, is not closed over its inputs, or is too large."""


class Fingerprint:
    """The fingerprint of a value as a function of some inputs.

    Attributes:
        digest: the fingerprint, in hexadecimal digits.
        ops: what computes the value from the inputs, operands first.

    Raises:
        UnlikeError: it has none.
    """

    def __init__(self, value: SSAValue, inputs: Sequence[SSAValue]):
        self.ops: list[Operation] = []
        self._shape = shape(value)
        self._known: dict[SSAValue, bytes] = {x: _hash("input", str(i), str(element(x))) for i, x in enumerate(inputs)}
        self._regions: set[Block | None] = set()
        self._count = 0
        for x in inputs:
            self._check(x)
        self.digest = self._of(value, 0, 0).hex()

    def _check(self, value: SSAValue) -> None:
        if shape(value) not in ((), self._shape):
            raise UnlikeError

    def _of(self, value: SSAValue, depth: int, nesting: int) -> bytes:
        if (known := self._known.get(value)) is not None:
            return known
        op = value.owner
        if isinstance(value, BlockArgument) or not isinstance(op, Operation) or depth > DEEPEST or self._count > MOST_OPS:
            raise UnlikeError
        self._count += 1
        whole = self._op(op, depth + 1, nesting)
        for i, result in enumerate(op.results):
            self._check(result)
            self._known[result] = whole if len(op.results) == 1 else _hash(whole.hex(), str(i))
        if op.parent not in self._regions:
            self.ops.append(op)
        return self._known[value]

    def _op(self, op: Operation, depth: int, nesting: int) -> bytes:
        operands = [self._of(x, depth, nesting) for x in op.operands]
        if isinstance(op, hlo.BroadcastInDimOp):
            if shape(op.operand):
                raise UnlikeError
            return operands[0]
        properties = (f"{name}={self._property(attribute)}" for name, attribute in sorted(op.properties.items()))
        regions = (self._region(region.blocks, depth, nesting + 1) for region in op.regions)
        types = (str(element(result)) for result in op.results)
        return _hash(op.name, *properties, *types, *(x.hex() for x in operands), *regions)

    def _property(self, attribute: Attribute) -> str:
        if isinstance(attribute, DenseIntOrFPElementsAttr):
            constant = cast("DenseIntOrFPElementsAttr[Any]", attribute)
            if not is_splat(constant):
                raise UnlikeError
            return constant.data.data[: dtype_of(constant.type.get_element_type()).itemsize].hex()
        if isinstance(attribute, DenseArrayBase):
            if list(cast("DenseArrayBase[Any]", attribute).get_values()) != list(range(len(self._shape))):
                raise UnlikeError
            return "all dimensions"
        return str(attribute)

    def _region(self, blocks: Sequence[Block], depth: int, nesting: int) -> str:
        if len(blocks) != 1:
            raise UnlikeError
        block = blocks[0]
        self._regions.add(block)
        for i, argument in enumerate(block.args):
            self._check(argument)
            self._known[argument] = _hash("argument", str(nesting), str(i), str(element(argument)))
        return _hash(*(self._of(x, depth, nesting).hex() for x in returned_values(block))).hex()


def _hash(*parts: str) -> bytes:
    return sha256("\n".join(parts).encode()).digest()
