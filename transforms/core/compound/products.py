"""dot and einsum as dot_general."""

from __future__ import annotations

from xdsl.ir import Attribute

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.stablehlo.einsum import EinsumLabels
from wengert.ir.tensor_types import element, rank, shape

Labels = tuple[str, ...]


def expand_dot(b: OpBuilder, op: hlo.DotOp) -> list[Value]:
    """The last dimension of lhs with the first one of rhs."""
    return [b.dot_general(op.lhs, op.rhs, ([rank(op.lhs) - 1], [0]), result_element=element(op.result), precision_config=op.precision_config)]


def expand_einsum(b: OpBuilder, op: hlo.EinsumOp | hlo.UnaryEinsumOp) -> list[Value]:
    """Diagonals of labels that an operand has twice, sums over those that it has alone, and a dot_general of what is left."""
    labels = EinsumLabels.of(op.einsum_config.data, [rank(x) for x in op.operands])
    element_type = element(op.result)
    parts: list[tuple[Value, Labels]] = []
    for i, (x, names) in enumerate(zip(op.operands, labels.operands, strict=True)):
        others = {*labels.result, *(name for j, row in enumerate(labels.operands) if j != i for name in row)}
        wide = b.convert(x, element_type) if len(op.operands) == 1 or set(names) - others else x
        parts.append(_summed(b, *_diagonals(b, wide, names), others))
    (x, names_left), *rest = parts
    if rest:
        x, names_left = _product(b, (x, names_left), rest[0], labels.result, element_type)
    return [b.transpose(x, [names_left.index(name) for name in labels.result])]


def _diagonals(b: OpBuilder, x: Value, names: Labels) -> tuple[Value, Labels]:
    """A label that stands twice, at extents n: the elements 0, n + 1, 2 (n + 1), ... of the two dimensions as one."""
    while (name := next((name for name in names if names.count(name) > 1), None)) is not None:
        first = names.index(name)
        second = names.index(name, first + 1)
        kept = [d for d in range(len(names)) if d not in (first, second)]
        n, rest = shape(x)[first], [shape(x)[d] for d in kept]
        flat = b.reshape(b.transpose(x, [first, second, *kept]), [n * n, *rest])
        x = b.slice(flat, [0] * rank(flat), shape(flat), [n + 1, *[1] * len(rest)])
        names = (name, *(names[d] for d in kept))
    return x, names


def _summed(b: OpBuilder, x: Value, names: Labels, kept: set[str]) -> tuple[Value, Labels]:
    """Sums over the labels that nothing else has."""
    alone = [d for d, name in enumerate(names) if name not in kept]
    return b.reduce_sum(x, alone), tuple(name for name in names if name in kept)


def _product(b: OpBuilder, left: tuple[Value, Labels], right: tuple[Value, Labels], result: Labels, element_type: Attribute) -> tuple[Value, Labels]:
    (x, first), (y, second) = left, right
    both = [name for name in first if name in second]
    batch, gone = [name for name in both if name in result], [name for name in both if name not in result]

    def places(names: Labels, wanted: list[str]) -> list[int]:
        return [names.index(name) for name in wanted]

    product = b.dot_general(x, y, (places(first, gone), places(second, gone)), (places(first, batch), places(second, batch)), result_element=element_type)
    return product, (*batch, *(name for name in first if name not in both), *(name for name in second if name not in both))
