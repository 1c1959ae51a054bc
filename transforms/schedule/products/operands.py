"""The operands of a matrix product as strided arrays, and their dimensions that are laid out as one.

The dimensions of the operands fall into four groups: batch, free on the left (m), free on the right (n), contracted (k).  Neighbours of
a group that are laid out as one dimension in every operand that has them are merged.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from wengert.dialects.kernel import MatmulOp
from wengert.dialects.kernel.product_elements import NAMES, check_elements, computed_in
from wengert.dialects.kernel.product_schedule import Side
from wengert.ir.attributes import ints
from wengert.ir.tensor_types import element


class Operand(Struct, frozen=True):
    """An operand of dot_general: sizes and strides (in elements) by dimension, and its dimension numbers."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    batch: tuple[int, ...]
    contracting: tuple[int, ...]

    @property
    def free(self) -> tuple[int, ...]:
        """The dimensions that are neither."""
        used = {*self.batch, *self.contracting}
        return tuple(d for d in range(len(self.shape)) if d not in used)


class Product(Struct, frozen=True):
    """A dot_general: its operands, their element types by name, and that of the result."""

    a: Operand
    b: Operand
    stored: tuple[str, str]
    result: str

    @property
    def element(self) -> str:
        """The element type of sums."""
        return computed_in(self.result)


def product(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    element: str,
    *,
    lhs_batch: Sequence[int] = (),
    rhs_batch: Sequence[int] = (),
    lhs_contracting: Sequence[int],
    rhs_contracting: Sequence[int],
    lhs_strides: Sequence[int] | None = None,
    rhs_strides: Sequence[int] | None = None,
    lhs_element: str | None = None,
    rhs_element: str | None = None,
) -> Product:
    """The dot_general with a result of `element`, and operands of the same unless said otherwise.

    Narrower operands (f32 in f64, i8 in i32, ...) are converted in a copy; bf16 and f16 are computed in f32 and rounded once.
    Operands are row-major unless strides (in elements, 0 allowed) say otherwise, so that a transpose or a broadcast can be read in place.

    Raises:
        UnsupportedMatmul: an element type has no kernel, or the operands are not narrower than the result.
    """
    stored = (lhs_element or element, rhs_element or element)
    check_elements(stored, element)
    a = Operand(tuple(lhs_shape), tuple(lhs_strides or contiguous(lhs_shape)), tuple(lhs_batch), tuple(lhs_contracting))
    b = Operand(tuple(rhs_shape), tuple(rhs_strides or contiguous(rhs_shape)), tuple(rhs_batch), tuple(rhs_contracting))
    return Product(a, b, stored, element)


def product_of(op: MatmulOp) -> Product:
    """The product that a contraction at kernel level is."""
    numbers = op.dimension_numbers
    a, b = (
        Operand(ints(extents), ints(strides), numbers.dims(f"{side}_batching_dimensions"), numbers.dims(f"{side}_contracting_dimensions"))
        for side, extents, strides in (("lhs", op.lhs_shape, op.lhs_strides), ("rhs", op.rhs_shape, op.rhs_strides))
    )
    return Product(a, b, (NAMES[element(op.lhs)], NAMES[element(op.rhs)]), NAMES[element(op.result)])


def contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides in elements."""
    strides = [1] * len(shape)
    for d in range(len(shape) - 2, -1, -1):
        strides[d] = strides[d + 1] * shape[d + 1]
    return tuple(strides)


Dimension = tuple[int, tuple[int, ...]]
"""A size and the stride in each operand that has the dimension."""


def merge(dimensions: Sequence[Dimension]) -> list[Dimension]:
    """Drops dimensions of size 1 and joins neighbours whose strides continue one another in every operand."""
    merged: list[Dimension] = []
    for size, strides in dimensions:
        if size == 1:
            continue
        if merged and all(outer == inner * size for outer, inner in zip(merged[-1][1], strides, strict=True)):
            merged[-1] = (merged[-1][0] * size, strides)
        else:
            merged.append((size, strides))
    return merged


def contraction(a: Operand, b: Operand) -> list[Dimension]:
    """The contracted dimensions, merged, in the order by the strides of one operand that leaves the fewest."""
    pairs = [(a.shape[i], (a.strides[i], b.strides[j])) for i, j in zip(a.contracting, b.contracting, strict=True)]
    return min([merge(sorted(pairs, key=lambda pair: -pair[1][side])) for side in (0, 1)], key=len)


def is_empty_sum(a: Operand) -> bool:
    """Whether the product of these dimensions sums nothing."""
    return 0 in [a.shape[d] for d in a.contracting]


def needed_copies(product: Product, *, converting: bool = False) -> tuple[Side, ...]:
    """The operands that must be copied, since they are converted or their contracted dimensions do not merge, in the order of their places in scratch memory.

    Empty sums read nothing, and nothing is copied for them. A kernel that is ``converting`` what it reads needs no copy for that.
    """
    a, b, element = product.a, product.b, product.element
    converted = [stored != element and not converting for stored in product.stored]
    if is_empty_sum(a):
        return ()
    merges = len(contraction(a, b)) <= 1
    if converted[0] or not (merges or merges_alone(a, by_strides(a))):
        order = copy_order(product, ("lhs",))
        return ("lhs", "rhs") if converted[1] or len(contraction(laid_out(a, order), b)) > 1 else ("lhs",)
    if not converted[1] and merges:
        return ()
    order = copy_order(product, ("rhs",))
    return ("rhs",) if len(contraction(a, laid_out(b, order, before_free=True))) <= 1 else ("rhs", "lhs")


def by_strides(operand: Operand) -> list[int]:
    """The numbers of the contracted dimensions, the largest strides first."""
    return sorted(range(len(operand.contracting)), key=lambda i: -operand.strides[operand.contracting[i]])


def copy_order(product: Product, copied: Sequence[Side]) -> list[int]:
    """The order of contracted dimensions in copies: that of the first operand, unless it is copied and the second one can be read in place in its own."""
    order = by_strides(product.a)
    if "lhs" in copied and product.stored[1] == product.element:
        by_b = sorted(order, key=lambda i: -product.b.strides[product.b.contracting[i]])
        if merges_alone(product.b, by_b):
            return by_b
    return order


def merges_alone(operand: Operand, order: Sequence[int]) -> bool:
    """Whether the contracted dimensions in this order are laid out as one."""
    dimensions = [(operand.shape[operand.contracting[i]], (operand.strides[operand.contracting[i]],)) for i in order]
    return len(merge(dimensions)) <= 1


def copy_dimensions(operand: Operand, order: Sequence[int], *, before_free: bool = False) -> tuple[int, ...]:
    """The dimensions of a contiguous copy: the contracted ones last, or between those of the batch and the free ones."""
    contracted = [operand.contracting[i] for i in order]
    return (*operand.batch, *contracted, *operand.free) if before_free else (*operand.batch, *operand.free, *contracted)


def laid_out(operand: Operand, order: Sequence[int], *, before_free: bool = False) -> Operand:
    """The operand with the strides of a contiguous copy."""
    dimensions = copy_dimensions(operand, order, before_free=before_free)
    steps = contiguous([operand.shape[d] for d in dimensions])
    strides = dict(zip(dimensions, steps, strict=True))
    return Operand(operand.shape, tuple(strides[d] for d in range(len(operand.shape))), operand.batch, operand.contracting)
