"""Maps a dot_general on a nest of plain matrix products C = A B and chooses how each is computed.

The dimensions of the operands fall into four groups: batch, free on the left (m), free on the right (n), contracted (k).  Neighbours of
a group that are laid out as one dimension in every operand that has them are merged.  The innermost m, n and k form the matrix
product; what cannot be merged becomes a loop around it, except contracted dimensions, which need a copy of the operand.  The result is
contiguous in the order of dot_general: batch, m, n.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from wengert.transforms.codegen.cpu.matmul.conversion import NARROW, convertible
from wengert.transforms.codegen.cpu.matmul.target import ELEMENT_BYTES, Target
from wengert.transforms.codegen.cpu.matmul.tiling import split_columns

Method = Literal["zero", "rows", "packed", "gathered", "dot", "blas", "scalar"]

COMPLEX = ("c64", "c128")
# Above this number of multiply-adds the cache blocking of BLAS wins over these kernels; earlier if A is read across its rows (measured).
BLAS_VOLUME = 512**3
BLAS_VOLUME_TURNED = 192**3
# Rows of B that are further apart than this in total share few sets of the first-level cache: a copied column group stays in it.
FAR_BYTES = 1 << 16
MANY_ROWS = 24
# Up to this many elements, B is put together from scalar loads rather than copied: of more, a copy is as fast and a third of the code.
SMALL_B = 16


class UnsupportedMatmul(ValueError):
    """The element types or layouts have no kernel here."""


class Loop(Struct, frozen=True):
    """A loop around the matrix product and the steps of the three pointers, in elements."""

    size: int
    a: int
    b: int
    c: int


class Copy(Struct, frozen=True):
    """A contiguous copy of an operand at this offset of the scratch memory: its element type, dimensions in order, their strides in it."""

    element: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset_bytes: int


class MatmulPlan(Struct, frozen=True):
    """C[i, j] = sum over p of A[i, p] B[p, j] inside `loops`; strides count elements.

    `rows`: vectors along n straight from B.  `packed`: the same after a copy of each column group of B (turned if its columns are
    contiguous).  `gathered`: vectors along n, put together from single elements of a small B.  `dot`: vectors along k.  `blas`:
    gemm of BLAS.  `scalar`: plain loops.  `zero`: k = 0.  `exchanged`: the text computes C^T = B^T A^T, so A is the second operand and m
    counts columns of the result.  The function needs `scratch_bytes` bytes of scratch memory; packed panels start at `panel_offset`.
    """

    element: str
    loops: tuple[Loop, ...]
    m: int
    n: int
    k: int
    a_m: int
    a_k: int
    b_k: int
    b_n: int
    c_m: int
    c_n: int
    method: Method
    copy_a: Copy | None
    copy_b: Copy | None
    scratch_bytes: int
    target: Target
    result_element: str
    result_offset: int = 0
    exchanged: bool = False
    panel_offset: int = 0

    @property
    def empty(self) -> bool:
        """Whether the result has no element."""
        return self.m == 0 or self.n == 0 or any(loop.size == 0 for loop in self.loops)

    @property
    def result_size(self) -> int:
        """The number of elements of the result."""
        return self.m * self.n * math.prod(loop.size for loop in self.loops)

    @property
    def flops(self) -> int:
        """Multiplications and additions."""
        return 2 * self.k * self.result_size

    @property
    def symbols(self) -> tuple[str, ...]:
        """External functions that the text calls; see `blas.py`."""
        return (f"wg.blas.{'s' if self.element == 'f32' else 'd'}gemm",) if self.method == "blas" and not self.empty else ()


class Operand(Struct, frozen=True):
    """An operand of dot_general: sizes and strides by dimension, and its dimension numbers."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    batch: tuple[int, ...]
    contracting: tuple[int, ...]

    @property
    def free(self) -> tuple[int, ...]:
        used = {*self.batch, *self.contracting}
        return tuple(d for d in range(len(self.shape)) if d not in used)


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


def plan(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    element: str,
    *,
    lhs_batch: Sequence[int] = (),
    rhs_batch: Sequence[int] = (),
    lhs_contracting: Sequence[int],
    rhs_contracting: Sequence[int],
    target: Target,
    lhs_strides: Sequence[int] | None = None,
    rhs_strides: Sequence[int] | None = None,
    lhs_element: str | None = None,
    rhs_element: str | None = None,
    blas: bool = True,
) -> MatmulPlan:
    """The plan of dot_general for a result of `element`, and operands of the same unless said otherwise.

    Narrower operands (f32 in f64, i8 in i32, ...) are converted in a copy; bf16 and f16 are computed in f32 and rounded once.
    Operands are row-major unless strides (in elements, 0 allowed) say otherwise, so that a transpose or a broadcast can be read in
    place.  With `blas` false every size is computed by generated code.

    Raises:
        UnsupportedMatmul: an element type has no kernel, or the operands are not narrower than the result.
    """
    stored = (lhs_element or element, rhs_element or element)
    computed = "f32" if element in NARROW else element
    for source in (*stored, computed):
        if source not in ELEMENT_BYTES or not convertible(source, computed):
            raise UnsupportedMatmul(f"no matrix product of {stored[0]} and {stored[1]} with a result of {element}")
    a = Operand(tuple(lhs_shape), tuple(lhs_strides or contiguous(lhs_shape)), tuple(lhs_batch), tuple(lhs_contracting))
    b = Operand(tuple(rhs_shape), tuple(rhs_strides or contiguous(rhs_shape)), tuple(rhs_batch), tuple(rhs_contracting))
    a, b, copies, scratch = with_copies(a, b, stored, computed)
    core = assemble(a, b, computed, target, copies, scratch)
    if computed != element:
        size = aligned(core.result_size * ELEMENT_BYTES[computed])
        core = replace(core, result_element=element, result_offset=core.scratch_bytes, scratch_bytes=core.scratch_bytes + size)
    return choose(core, blas)


def assemble(a: Operand, b: Operand, element: str, target: Target, copies: tuple[Copy | None, Copy | None], scratch: int) -> MatmulPlan:
    """The innermost merged dimensions as the matrix product, the others as loops around it."""
    depth = math.prod(a.shape[d] for d in a.contracting)
    contracted = merge(contraction_order(a, b)) if depth else []
    assert len(contracted) <= 1
    k, (a_k, b_k) = contracted[0] if contracted else (depth, (1, 1))
    m_size, n_size = (math.prod(operand.shape[d] for d in operand.free) for operand in (a, b))
    batches = merge([(a.shape[i], (a.strides[i], b.strides[j])) for i, j in zip(a.batch, b.batch, strict=True)])
    rows = merge([(a.shape[d], (a.strides[d], 0)) for d in a.free])
    columns = merge([(b.shape[d], (0, b.strides[d])) for d in b.free])
    m, (a_m, _) = rows[-1] if rows else (m_size, (0, 0))
    n, (_, b_n) = columns[-1] if columns else (n_size, (0, 1))
    loops = (*loops_over(batches, m_size * n_size), *loops_over(rows[:-1], m * n_size), *loops_over(columns[:-1], n))
    method: Method = "zero" if k == 0 else "rows"
    return MatmulPlan(element, loops, m, n, k, a_m, a_k, b_k, b_n, n_size, 1, method, copies[0], copies[1], scratch, target, element)


def loops_over(dimensions: list[Dimension], c_step: int) -> list[Loop]:
    """Loops over merged dimensions, the last of which moves C by `c_step`."""
    loops: list[Loop] = []
    for size, (a, b) in reversed(dimensions):
        loops.insert(0, Loop(size, a, b, c_step))
        c_step *= size
    return loops


def contraction_order(a: Operand, b: Operand) -> list[Dimension]:
    """The contracted dimensions in the order, by the strides of one operand, that merges best."""
    pairs = [(a.shape[i], (a.strides[i], b.strides[j])) for i, j in zip(a.contracting, b.contracting, strict=True)]
    orders = [sorted(pairs, key=lambda pair: -pair[1][side]) for side in (0, 1)]
    return min(orders, key=lambda order: len(merge(order)))


def with_copies(a: Operand, b: Operand, stored: tuple[str, str], element: str) -> tuple[Operand, Operand, tuple[Copy | None, Copy | None], int]:
    """Copies operands that must be converted or whose contracted dimensions do not merge; returns operands with the strides of the copies.

    Empty sums read nothing, and nothing is copied for them.
    """
    if 0 in [a.shape[d] for d in a.contracting]:
        return a, b, (None, None), 0
    order = sorted(range(len(a.contracting)), key=lambda i: -a.strides[a.contracting[i]])
    by_b = sorted(order, key=lambda i: -b.strides[b.contracting[i]])
    merges = len(merge(contraction_order(a, b))) <= 1
    copy_a = copy_b = None
    scratch = 0
    if stored[0] != element or not (merges or merges_alone(a, order)):
        if stored[1] == element and merges_alone(b, by_b):
            order = by_b
        a, copy_a, scratch = copied(a, (*a.batch, *a.free, *(a.contracting[i] for i in order)), stored[0], element, scratch)
    # b follows the order of a, whether that is a view or a copy.
    if stored[1] != element or len(merge(contraction_order(a, b))) > 1:
        b, copy_b, scratch = copied(b, (*b.batch, *(b.contracting[i] for i in order), *b.free), stored[1], element, scratch)
        if copy_a is None and len(merge(contraction_order(a, b))) > 1:
            a, copy_a, scratch = copied(a, (*a.batch, *a.free, *(a.contracting[i] for i in order)), stored[0], element, scratch)
    return a, b, (copy_a, copy_b), scratch


def merges_alone(operand: Operand, order: Sequence[int]) -> bool:
    """Whether the contracted dimensions in this order are laid out as one."""
    dimensions = [(operand.shape[operand.contracting[i]], (operand.strides[operand.contracting[i]],)) for i in order]
    return len(merge(dimensions)) <= 1


def copied(operand: Operand, dimensions: tuple[int, ...], source: str, element: str, offset: int) -> tuple[Operand, Copy, int]:
    """The operand with the strides of a contiguous copy in this order of dimensions, the copy, and the end of its place in the scratch."""
    sizes = tuple(operand.shape[d] for d in dimensions)
    strides = dict(zip(dimensions, contiguous(sizes), strict=True))
    view = Operand(operand.shape, tuple(strides[d] for d in range(len(operand.shape))), operand.batch, operand.contracting)
    copy = Copy(source, sizes, tuple(operand.strides[d] for d in dimensions), offset)
    return view, copy, offset + aligned(math.prod(sizes) * ELEMENT_BYTES[element])


def aligned(size: int) -> int:
    """The size rounded up to a multiple of a cache line."""
    return -(-size // 64) * 64


def choose(core: MatmulPlan, blas: bool) -> MatmulPlan:
    """The method for the layout and the sizes."""
    if core.empty or core.k == 0:
        return core
    if core.element in COMPLEX:
        return replace(core, method="scalar")
    lanes = core.target.lanes(core.element)
    if core.a_m == 1 and core.n < min(lanes, core.m) and (core.k >= lanes or core.n == 1):
        core = exchanged(core)
    if blas and core.m * core.n * core.k > (BLAS_VOLUME if core.a_k == 1 else BLAS_VOLUME_TURNED) and blas_ready(core):
        return replace(core, method="blas")
    if core.k >= 2 * lanes and core.a_k == 1:
        few_columns = core.n <= lanes // 2 and core.m >= MANY_ROWS and core.copy_b is None and not any(loop.b for loop in core.loops)
        if core.b_k != 1 and few_columns:
            core = with_turned_b(core)
        if core.b_k == 1 and (core.n <= lanes // 2 or (core.b_n != 1 and core.m < 8)):
            return replace(core, method="dot")
    far = core.k * core.b_k * ELEMENT_BYTES[core.element] > FAR_BYTES and core.m >= MANY_ROWS
    if core.n == 1 or (core.b_n == 1 and not far):
        return core
    if core.b_n != 1 and core.k * core.n <= SMALL_B:
        return replace(core, method="gathered")
    panel = core.k * split_columns(core.m, core.n, core.k, core.target, core.element).widest * ELEMENT_BYTES[core.element]
    return replace(core, method="packed", panel_offset=core.scratch_bytes, scratch_bytes=core.scratch_bytes + aligned(panel))


def exchanged(core: MatmulPlan) -> MatmulPlan:
    """C^T = B^T A^T: for few columns and contiguous columns of A, vectors along m are better."""
    loops = tuple(Loop(loop.size, loop.b, loop.a, loop.c) for loop in core.loops)
    sizes = {"m": core.n, "n": core.m, "a_m": core.b_n, "a_k": core.b_k, "b_k": core.a_k, "b_n": core.a_m, "c_m": core.c_n, "c_n": core.c_m}
    return replace(core, loops=loops, copy_a=core.copy_b, copy_b=core.copy_a, exchanged=True, **sizes)


def with_turned_b(core: MatmulPlan) -> MatmulPlan:
    """B copied so that its few columns are contiguous."""
    copy = Copy(core.element, (core.n, core.k), (core.b_n, core.b_k), core.scratch_bytes)
    size = aligned(core.n * core.k * ELEMENT_BYTES[core.element])
    return replace(core, copy_b=copy, b_n=core.k, b_k=1, scratch_bytes=core.scratch_bytes + size)


def blas_ready(core: MatmulPlan) -> bool:
    """Whether gemm can read the operands: one stride is 1 and the other a leading dimension."""
    if core.element not in ("f32", "f64") or core.m < 16 or core.n < 16:
        return False
    a_ok = (core.a_k == 1 and core.a_m >= core.k) or (core.a_m == 1 and core.a_k >= core.m)
    b_ok = (core.b_n == 1 and core.b_k >= core.n) or (core.b_k == 1 and core.b_n >= core.k)
    return a_ok and b_ok
