"""Matrix products of a warp, and loads of their fragments.

Which thread holds which elements is as in the PTX ISA, 9.7.15.5. A product of f16, bf16 or tf32 is computed exactly, summed in f64 and rounded
once to the type of the accumulator; hardware rounds the sums in between in a way that is not specified. Products of f64 are chains of fma.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wengert.runtime.ptx.fused import fma
from wengert.runtime.ptx.instructions.context import Context, Control
from wengert.runtime.ptx.instructions.controls import Rendezvous
from wengert.runtime.ptx.instructions.table import models
from wengert.runtime.ptx.lanes import Lanes
from wengert.runtime.ptx.rounding import packed, unpacked
from wengert.runtime.ptx.special import WARP
from wengert.runtime.ptx.types import TYPES, Array, Scalar

_FAMILY = "Matrices"
_LANE = np.arange(WARP)
_ROW, _COLUMN = _LANE // 4, _LANE % 4
_B32 = TYPES["b32"]


@dataclass(frozen=True)
class Shape:
    """A product: extents, and how many k lie in one register of a factor."""

    m: int
    n: int
    k: int
    per_register: int

    def left(self, register: int) -> tuple[Array, Array]:
        """Row and first column of what a register of the left factor holds, by lane."""
        rows = self.m // 8
        return _ROW + 8 * (register % rows), self.per_register * _COLUMN + 4 * self.per_register * (register // rows)

    def right(self, register: int) -> tuple[Array, Array]:
        """First row and column of what a register of the right factor holds, by lane."""
        return self.per_register * _COLUMN + 4 * self.per_register * register, _ROW

    def sum(self, register: int) -> tuple[Array, Array]:
        """Row and column of an element of the sum, by lane."""
        return _ROW + 8 * (register // 2), 2 * _COLUMN + register % 2

    @property
    def registers(self) -> tuple[int, int]:
        """How many registers the factors have."""
        return self.m // 8 * self.k // (4 * self.per_register), self.k // (4 * self.per_register)


_SHAPES = {
    ("m16n8k16", "f16"): Shape(16, 8, 16, 2),
    ("m16n8k16", "bf16"): Shape(16, 8, 16, 2),
    ("m16n8k8", "f16"): Shape(16, 8, 8, 2),
    ("m16n8k8", "bf16"): Shape(16, 8, 8, 2),
    ("m16n8k8", "tf32"): Shape(16, 8, 8, 1),
    ("m16n8k4", "tf32"): Shape(16, 8, 4, 1),
    ("m8n8k4", "f64"): Shape(8, 8, 4, 1),
}


_NARROW = "`.m16n8k16 .m16n8k8` of `.f16 .bf16`, `.m16n8k8 .m16n8k4` of `.tf32`, to `.f32`, or of `.f16` to `.f16`"


@models("mma", family=_FAMILY, forms=f"`.sync.aligned.row.col`: {_NARROW}; `.m8n8k4` of `.f64`")
def product(context: Context) -> Control:
    """D = A B + C for the matrices of each warp."""
    for word in ("sync", "aligned", "row", "col"):
        context.required(word)
    extents = context.required(*{name for name, _ in _SHAPES})
    last, right, left, first = (context.type() for _ in range(4))
    context.finish(4)
    shape = _SHAPES.get((extents, left.name))
    if shape is None or left != right or first != last or first.name not in _sums(left):
        context.refuse()
    numbers = [len(context.elements(k)) for k in range(4)]
    halves = first.name == "f16"
    of_sum = shape.m // 4 // (2 if halves else 1)
    if numbers != [of_sum, *shape.registers, of_sum]:
        context.fail(f"'{context.instruction.name}' needs {[of_sum, *shape.registers, of_sum]} registers, not {numbers}")
    word = TYPES["f64"] if left.name == "f64" else _B32
    result = _B32 if halves else first
    reads = [[context.reader(o, t) for o in context.elements(k)] for k, t in ((1, word), (2, word), (3, result))]
    writes = [context.writer(o, result) for o in context.elements(0)]

    def run(lanes: Lanes) -> None:
        a, b, c = ([lanes.spread(read(lanes)).reshape(-1, WARP) for read in part] for part in reads)
        sums = _sum_elements(c, first)
        total = _multiplied(shape, left, a, b, sums)
        for write, value in zip(writes, _sum_registers(total, first)):
            write(lanes, value.reshape(-1))

    return Rendezvous(context, run, None)


def _sums(factor: Scalar) -> tuple[str, ...]:
    return {"f64": ("f64",), "f16": ("f32", "f16")}.get(factor.name, ("f32",))


def _numbers(register: Array, type: Scalar) -> list[Array]:
    """What a register of a factor holds, as f64."""
    if type.name == "f64":
        return [register]
    if type.kind == "t":
        return [(register & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)]
    return [half.astype(np.float64) for half in unpacked(register, TYPES[type.name + "x2"])]


def _sum_elements(registers: list[Array], type: Scalar) -> list[Array]:
    if type.name != "f16":
        return registers
    return [half for register in registers for half in unpacked(register, TYPES["f16x2"])]


def _sum_registers(elements: list[Array], type: Scalar) -> list[Array]:
    rounded = [e.astype(type.dtype) for e in elements]
    return rounded if type.name != "f16" else [packed(low, high) for low, high in zip(rounded[::2], rounded[1::2])]


def _multiplied(shape: Shape, type: Scalar, a: list[Array], b: list[Array], c: list[Array]) -> list[Array]:
    """The elements of A B + C that each lane holds, before they are rounded."""
    warps = len(a[0])
    left, right = np.zeros((warps, shape.m, shape.k)), np.zeros((warps, shape.k, shape.n))
    for register, values in enumerate(a):
        row, column = shape.left(register)
        for k, number in enumerate(_numbers(values, type)):
            left[:, row, column + k] = number
    for register, values in enumerate(b):
        row, column = shape.right(register)
        for k, number in enumerate(_numbers(values, type)):
            right[:, row + k, column] = number
    places = [shape.sum(register) for register in range(len(c))]
    if type.name == "f64":
        return [_chain(left[:, row], right[:, :, column], value) for (row, column), value in zip(places, c)]
    total = np.einsum("wmk,wkn->wmn", left, right)
    return [total[:, row, column] + value for (row, column), value in zip(places, c)]


def _chain(rows: Array, columns: Array, start: Array) -> Array:
    """start + the sum over k of rows[w, lane, k] columns[w, k, lane], by fma in the order of k."""
    total: Array = np.ascontiguousarray(start).reshape(-1)
    for k in range(rows.shape[2]):
        total = fma(rows[:, :, k].reshape(-1), columns[:, k, :].reshape(-1), total)
    result: Array = total.reshape(start.shape)
    return result


# -- fragments


def _count(context: Context) -> int:
    for word in ("sync", "aligned", "m8n8"):
        context.required(word)
    return int(context.required("x1", "x2", "x4")[1:])


@models("ldmatrix", "stmatrix", family=_FAMILY, forms="`.sync.aligned.m8n8` with `.x1 .x2 .x4`, `.trans`, `.shared.b16`")
def fragments(context: Context) -> Control:
    """Matrices of 8 by 8 halves: threads 8 i to 8 i + 7 have the addresses of the rows of matrix i, and lane l holds two neighbours of row l / 4."""
    loads = context.instruction.opcode == "ldmatrix"
    count = _count(context)
    turned = context.flag("trans")
    context.flag("shared", "shared::cta")
    type = context.type()
    context.finish(2)
    registers = context.elements(0 if loads else 1)
    if type.name != "b16" or len(registers) != count:
        context.refuse()
    path = context.path("shared", 2, 8)
    address = context.address(1 if loads else 0)
    neighbours = (2 * _COLUMN, 2 * _COLUMN + 1)
    rows, columns = (neighbours, (_ROW, _ROW)) if turned else ((_ROW, _ROW), neighbours)

    def matrices(lanes: Lanes) -> list[tuple[Array, Lanes]]:
        """For each matrix the positions of its rows, and the threads that know them."""
        addresses = lanes.spread(address(lanes)).reshape(-1, WARP)
        numbers = lanes.numbers.reshape(-1, WARP)
        parts = [(addresses[:, 8 * i : 8 * i + 8].reshape(-1), Lanes(numbers[:, 8 * i : 8 * i + 8].reshape(-1))) for i in range(count)]
        return [(path.words(at, some), some) for at, some in parts]

    if loads:
        writes = [context.writer(o, _B32) for o in registers]

        def load(lanes: Lanes) -> None:
            values: list[Array] = []
            for words, some in matrices(lanes):
                elements = np.stack(path.load(words, some), axis=-1).reshape(-1, 8, 8)
                values.append(packed(elements[:, rows[0], columns[0]], elements[:, rows[1], columns[1]]).reshape(-1))
            for write, value in zip(writes, values):
                write(lanes, value)

        return Rendezvous(context, load, None)
    reads = [context.reader(o, _B32) for o in registers]

    def store(lanes: Lanes) -> None:
        for (words, some), read in zip(matrices(lanes), reads):
            pairs = lanes.spread(read(lanes)).reshape(-1, WARP)
            elements = np.zeros((len(pairs), 8, 8), np.uint16)
            elements[:, rows[0], columns[0]] = pairs.astype(np.uint16)
            elements[:, rows[1], columns[1]] = (pairs >> np.uint32(16)).astype(np.uint16)
            path.store(words, some, list(np.moveaxis(elements.reshape(-1, 8), 1, 0)))

    return Rendezvous(context, store, None)
