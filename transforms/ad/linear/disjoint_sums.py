"""Sums of terms with disjoint nonzero blocks, as concatenations without any addition.

Slices of one tensor (a split into heads, gates or halves, the entries of a vector taken one by one) transpose to zero paddings. Blocks that differ in
their position in one dimension only, and do not overlap, are concatenated, with zeros in the gaps and padding around the whole; blocks that were
concatenated in one dimension may then be concatenated in another, so that the entries of a matrix become the matrix. A real and an imaginary part
become a complex number.

Before and after, x and y having two elements::

    %a = pad %x, low = [0], high = [3]       %a = concatenate %x, %zero, %y
    %b = pad %y, low = [3], high = [0]
    %c = add %a, %b
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir import elements
from wengert.ir.attributes import int_of, ints
from wengert.ir.tensor_types import element, shape, tensor


def fewer_terms(b: OpBuilder, values: Sequence[Value]) -> list[Value]:
    """Terms with the same sum, of which those with disjoint blocks are merged; a merged term takes the place of its first part."""
    return _side_by_side(b, _complex_from_parts(b, list(values))) if len(values) > 1 else list(values)


# -- parts of complex numbers


def _complex_from_parts(b: OpBuilder, values: list[Value]) -> list[Value]:
    real = [n for n, x in enumerate(values) if isinstance(x.owner, hlo.ComplexOp) and _is_zero(x.owner.rhs)]
    taken = set(real)
    imag = [n for n, x in enumerate(values) if n not in taken and isinstance(x.owner, hlo.ComplexOp) and _is_zero(x.owner.lhs)]
    pairs = list(zip(real, imag, strict=False))
    for one, other in pairs:
        re, im = values[one].owner, values[other].owner
        assert isinstance(re, hlo.ComplexOp)
        assert isinstance(im, hlo.ComplexOp)
        values[min(one, other)] = b.complex(re.lhs, im.rhs)
    dropped = {max(pair) for pair in pairs}
    return [x for n, x in enumerate(values) if n not in dropped]


def _is_zero(value: Value) -> bool:
    return isinstance(value.owner, hlo.ConstantOp) and not elements.to_numpy(value.owner.value).any()


# -- slices of tensors


class _Term(Struct, frozen=True):
    """A term that is zero outside a block.

    Attributes:
        number: its position in the sum; that of its first part, if it was merged.
        block: the values in the block.
        low, high: the number of zeros before and after the block in each dimension.
        whole: the original term, if it was not merged.
    """

    number: int
    block: Value
    low: tuple[int, ...]
    high: tuple[int, ...]
    whole: Value | None = None

    def across(self, dim: int) -> tuple[tuple[int, ...], ...]:
        """The position of the block in all dimensions but one."""
        return self.low[:dim], self.low[dim + 1 :], self.high[:dim], self.high[dim + 1 :]

    def stop(self, dim: int) -> int:
        """The end of the block in a dimension."""
        return self.low[dim] + shape(self.block)[dim]

    def value(self, b: OpBuilder) -> Value:
        """The term as a value."""
        if self.whole is not None:
            return self.whole
        return b.pad(self.block, b.scalar(0, element(self.block)), self.low, self.high) if any((*self.low, *self.high)) else self.block


def _side_by_side(b: OpBuilder, values: list[Value]) -> list[Value]:
    terms = [term for number, value in enumerate(values) if (term := _padded(number, value)) is not None]
    if len(terms) < 2:
        return values
    terms_by_number = dict(enumerate(values))
    for term in terms:
        del terms_by_number[term.number]
    for dim in reversed(range(len(terms[0].low))):
        rows: dict[tuple[tuple[int, ...], ...], list[_Term]] = {}
        for term in terms:
            rows.setdefault(term.across(dim), []).append(term)
        terms = [_joined(b, chain, dim) for row in rows.values() for whole in _chains(row, dim) for chain in _dense(whole, dim)]
    terms_by_number |= {term.number: term.value(b) for term in terms}
    return [terms_by_number[number] for number in sorted(terms_by_number)]


def _padded(number: int, value: Value) -> _Term | None:
    """The value as a term, if it is a zero padding of a block; else None."""
    op = value.owner
    if not isinstance(op, hlo.PadOp) or any(ints(op.interior_padding)) or not _is_zero(op.padding_value):
        return None
    low, high = tuple(ints(op.edge_padding_low)), tuple(ints(op.edge_padding_high))
    return _Term(number, op.operand, low, high, value) if min((*low, *high), default=-1) >= 0 else None


def _chains(row: list[_Term], dim: int) -> list[list[_Term]]:
    """Partitions terms into chains of blocks that do not overlap; a block follows the one that ends where it begins, else the nearest before it."""
    chains: list[list[_Term]] = []
    for term in sorted(row, key=lambda term: (term.low[dim], term.stop(dim), term.number)):
        before = [chain for chain in chains if chain[-1].stop(dim) <= term.low[dim]]
        if before:
            max(before, key=lambda chain: chain[-1].stop(dim)).append(term)
        else:
            chains.append([term])
    return chains


def _dense(chain: list[_Term], dim: int) -> list[list[_Term]]:
    """The chain, or its parts without gaps if most of it would be zeros: a sum of few paddings is fused into its user, and needs no memory."""
    ends = list(pairwise(chain))
    gaps = [after.low[dim] - before.stop(dim) for before, after in ends]
    if 2 * sum(gaps) <= chain[-1].stop(dim) - chain[0].low[dim]:
        return [chain]
    parts = [[chain[0]]]
    for (_, term), gap in zip(ends, gaps, strict=True):
        if gap:
            parts.append([term])
        else:
            parts[-1].append(term)
    return parts


def _joined(b: OpBuilder, chain: list[_Term], dim: int) -> _Term:
    """Concatenates the blocks of a chain, with zeros in the gaps."""
    first, last = chain[0], chain[-1]
    if first is last:
        return first
    pieces: list[Value] = []
    stop = first.low[dim]
    for term in chain:
        if gap := term.low[dim] - stop:
            pieces.append(b.zeros(tensor([*shape(term.block)[:dim], gap, *shape(term.block)[dim + 1 :]], element(term.block))))
        pieces += _pieces(term.block, dim)
        stop = term.stop(dim)
    return _Term(min(term.number for term in chain), b.concatenate(pieces, dim), first.low, (*first.high[:dim], last.high[dim], *first.high[dim + 1 :]))


def _pieces(value: Value, dim: int) -> list[Value]:
    """The operands of a concatenation along a dimension, or the value itself."""
    op = value.owner
    return list(op.inputs) if isinstance(op, hlo.ConcatenateOp) and int_of(op.dimension) == dim else [value]
