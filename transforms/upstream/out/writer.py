"""Writing upstream ops at the end of a block, from StableHLO's types."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, FloatAttr, IndexType, IntegerAttr, IntegerType, LocationAttr, TensorType
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from wengert.dialects.upstream import UpstreamOp, upstream_class
from wengert.dialects.upstream.arities import SEGMENTS
from wengert.dialects.upstream.forms import dense
from wengert.dialects.upstream.scalar_forms import CMPF, CMPI
from wengert.ir import elements
from wengert.ir.attributes import bool_attr
from wengert.ir.tensor_types import DYNAMIC, element, i1, i32, is_boolean, is_complex, is_float, is_integer, shape, tensor

Value = SSAValue
INDEX = IndexType()


def signless(type: Attribute) -> Attribute:
    """The type without a sign: upstream's integers have none."""
    if isinstance(type, TensorType):
        own = cast("TensorType[Any]", type)
        return tensor(own.get_shape(), signless(own.element_type))
    return IntegerType(type.width.data) if is_integer(type) else type


def of_elements(x: Value, element: Attribute) -> Attribute:
    """The type of a value of these elements that is a tensor as another one is, or a scalar if that is one."""
    return tensor(shape(x), element) if isinstance(x.type, TensorType) else element


class Out:
    """Appends upstream ops to a block."""

    def __init__(self, block: Block, location: LocationAttr):
        self.block, self.location = block, location
        self._constants: list[dict[Attribute, Value]] = [{}]
        """The constants of the block that is written, and of those around it."""

    @contextmanager
    def inside(self, block: Block) -> Generator[None]:
        """Ops are appended to this block."""
        outer, self.block = self.block, block
        self._constants.append({})
        try:
            yield
        finally:
            self.block = outer
            self._constants.pop()

    def ops(self, name: str, operands: Sequence[Value], types: Sequence[Attribute], *regions: Region, **attributes: Attribute) -> Sequence[Value]:
        """The results of a new op."""
        cls: type[UpstreamOp] = upstream_class(name)
        op = cls.create(operands=operands, result_types=types, attributes=attributes, regions=regions, location=self.location)
        self.block.add_op(op)
        return op.results

    def one(self, name: str, operands: Sequence[Value], type: Attribute, **attributes: Attribute) -> Value:
        """The result of a new op."""
        return self.ops(name, operands, [type], **attributes)[0]

    def region(self, types: Sequence[Attribute], end: str, write: Callable[[Sequence[Value]], Sequence[Value]]) -> Region:
        """A region of one block, which ends in an op of this name with the values that ``write`` gives."""
        block = Block(arg_types=types)
        with self.inside(block):
            results = write(block.args)
            self.ops(end, results, [])
        return Region(block)

    # -- constants and index arithmetic

    def _constant(self, value: Attribute, type: Attribute) -> Value:
        """A constant, one for equal ones where the first is in scope."""
        for known in self._constants:
            if value in known:
                return known[value]
        made = self._constants[-1][value] = self.one("arith.constant", (), type, value=value)
        return made

    def index(self, value: int) -> Value:
        """A constant index."""
        return self._constant(IntegerAttr(value, INDEX), INDEX)

    def number(self, value: Any, type: Attribute) -> Value:
        """A constant scalar."""
        if is_complex(type):
            part: Any = cast(Any, type).element_type
            return self.one("complex.constant", (), type, value=ArrayAttr([FloatAttr(value.real, part), FloatAttr(value.imag, part)]))
        if is_float(type):
            return self.one("arith.constant", (), type, value=FloatAttr(float(value), cast(Any, type)))
        return self._constant(bool_attr(bool(value)) if is_boolean(type) else IntegerAttr(int(value), cast(Any, type)), type)

    def zero(self, type: Attribute) -> Value:
        """The scalar 0 of a type."""
        return self.number(0j if is_complex(type) else 0, type)

    def full(self, value: Any, type: Attribute) -> Value:
        """A tensor of one number; or the number, if the type is a scalar's."""
        if not isinstance(type, TensorType):
            return self.number(value, type)
        inner: Any = cast(Any, type)
        if is_complex(inner.element_type):
            return self.one("tensor.splat", (self.number(complex(value), inner.element_type),), inner)
        return self.one("arith.constant", (), inner, value=elements.splat(value, inner))

    def arith(self, name: str, *operands: Value) -> Value:
        """An ``arith`` op whose result has the type of its operands."""
        return self.one(f"arith.{name}", operands, operands[0].type)

    def compare(self, predicate: str, x: Value, y: Value) -> Value:
        """``arith.cmpi`` or ``arith.cmpf``, by the name of a predicate of the one or the other."""
        of_floats = predicate in CMPF and predicate not in CMPI
        number = (CMPF if of_floats else CMPI).index(predicate)
        result = of_elements(x, i1)
        return self.one("arith.cmpf" if of_floats else "arith.cmpi", (x, y), result, predicate=IntegerAttr(number, 64))

    def clamped(self, position: Value, most: int) -> Value:
        """An index between 0 and a number."""
        return self.arith("minsi", self.arith("maxsi", position, self.index(0)), self.index(most))

    def as_index(self, scalar: Value, *, unsigned: bool = False) -> Value:
        """A scalar integer as an index."""
        return self.one("arith.index_castui" if unsigned else "arith.index_cast", (scalar,), INDEX)

    # -- tensors

    def element(self, x: Value, at: Sequence[Value] = ()) -> Value:
        """An element of a tensor; of one that was made of a single scalar, that one."""
        owner = x.owner
        if isinstance(owner, UpstreamOp) and (owner.name == "tensor.splat" or (owner.name == "tensor.from_elements" and len(owner.operands) == 1)):
            return owner.operands[0]
        return self.one("tensor.extract", (x, *at), element(x))

    def empty(self, type: Attribute) -> Value:
        """A tensor of unspecified contents."""
        return self.one("tensor.empty", (), type)

    def filled(self, scalar: Value, type: Attribute) -> Value:
        """A tensor of one element."""
        return self.one("tensor.splat", (scalar,), type)

    def generate(self, type: Attribute, write: Callable[[Sequence[Value]], Value]) -> Value:
        """A tensor whose elements are written from their positions; one of rank 0 is made of its only element."""
        extents = cast("TensorType[Any]", type).get_shape()
        if not extents:
            return self.one("tensor.from_elements", (write(()),), type)
        region = self.region([INDEX] * len(extents), "tensor.yield", lambda at: [write(at)])
        return self.ops("tensor.generate", (), [type], region)[0]

    def generic(
        self,
        inputs: Sequence[Value],
        outputs: Sequence[Value],
        maps: Sequence[AffineMap],
        parallel: Sequence[bool],
        write: Callable[[Sequence[Value]], Sequence[Value]],
    ) -> Sequence[Value]:
        """A ``linalg.generic``."""
        kinds = [_iterator("parallel" if p else "reduction") for p in parallel]
        region = self.region([element(x) for x in (*inputs, *outputs)], "linalg.yield", write)
        attributes: dict[str, Attribute] = {
            "indexing_maps": ArrayAttr([AffineMapAttr(map) for map in maps]),
            "iterator_types": ArrayAttr(kinds),
            SEGMENTS: dense([len(inputs), len(outputs)], i32),
        }
        return self.ops("linalg.generic", [*inputs, *outputs], [out.type for out in outputs], region, **attributes)

    def mapped(self, inputs: Sequence[Value], type: Attribute, write: Callable[[Sequence[Value]], Value]) -> Value:
        """An elementwise ``linalg.generic`` whose body is written from the inputs' elements."""
        count = len(cast("TensorType[Any]", type).get_shape())
        maps = [AffineMap.identity(count)] * (len(inputs) + 1)
        return self.generic(inputs, [self.empty(type)], maps, [True] * count, lambda given: [write(given[:-1])])[0]

    def slice(self, x: Value, offsets: Sequence[int | Value], sizes: Sequence[int], strides: Sequence[int]) -> Value:
        """``tensor.extract_slice`` without reduced dimensions."""
        dynamic, static = _offsets(offsets)
        attributes = _slice_attributes(static, sizes, strides, [1, len(dynamic), 0, 0])
        return self.one("tensor.extract_slice", [x, *dynamic], tensor(tuple(sizes), element(x)), **attributes)

    def taken(self, rows: Value, at: Value, count: Value | None = None) -> Value:
        """The row of a tensor at a place, without its dimension; or so many from there on."""
        entry = shape(rows)[1:]
        dynamic, sizes = [at], [1, *entry]
        if count is not None:
            dynamic, sizes = [at, count], [DYNAMIC, *entry]
        offsets = [DYNAMIC] + [0] * len(entry)
        attributes = _slice_attributes(offsets, sizes, [1] * len(sizes), [1, 1, len(dynamic) - 1, 0])
        result = tensor((DYNAMIC, *entry) if count is not None else tuple(entry), element(rows))
        return self.one("tensor.extract_slice", [rows, *dynamic], result, **attributes)

    def put(self, part: Value, rows: Value, at: Value, count: Value | None = None) -> Value:
        """A tensor with a row at a place; or with so many from there on."""
        entry = shape(rows)[1:]
        dynamic = [at] if count is None else [at, count]
        sizes = [1 if count is None else DYNAMIC, *entry]
        attributes = _slice_attributes([DYNAMIC] + [0] * len(entry), sizes, [1] * len(sizes), [1, 1, 1, len(dynamic) - 1, 0])
        return self.one("tensor.insert_slice", [part, rows, *dynamic], rows.type, **attributes)

    def insert(self, part: Value, x: Value, offsets: Sequence[int | Value], strides: Sequence[int] | None = None) -> Value:
        """``tensor.insert_slice`` of a part of the same rank."""
        dynamic, static = _offsets(offsets)
        attributes = _slice_attributes(static, shape(part), strides or [1] * len(static), [1, 1, len(dynamic), 0, 0])
        return self.one("tensor.insert_slice", [part, x, *dynamic], x.type, **attributes)

    def reshape(self, x: Value, result: Sequence[int]) -> Value:
        """The same elements in another shape: by way of one dimension."""
        flat = int(np.prod(shape(x), dtype=np.int64))
        if tuple(shape(x)) == tuple(result):
            return x
        if flat == 1:
            return self.one("tensor.from_elements", (self.element(x, [self.index(0)] * len(shape(x))),), tensor(tuple(result), element(x)))
        if len(shape(x)) != 1:
            groups = ArrayAttr([_numbers(range(len(shape(x))))])
            x = self.one("tensor.collapse_shape", (x,), tensor((flat,), element(x)), reassociation=groups)
        if len(result) == 1:
            return x
        groups = ArrayAttr([_numbers(range(len(result)))])
        return self.one("tensor.expand_shape", (x,), tensor(tuple(result), element(x)), reassociation=groups, static_output_shape=dense(list(result)))


def _iterator(kind: str) -> Attribute:
    return IteratorTypeAttr(IteratorType(kind))


def _numbers(values: Sequence[int] | range) -> ArrayAttr[Attribute]:
    return ArrayAttr([IntegerAttr(v, 64) for v in values])


def _offsets(offsets: Sequence[int | Value]) -> tuple[list[Value], list[int]]:
    dynamic = [o for o in offsets if not isinstance(o, int)]
    return dynamic, [o if isinstance(o, int) else DYNAMIC for o in offsets]


def _slice_attributes(offsets: Sequence[int], sizes: Sequence[int], strides: Sequence[int], segments: Sequence[int]) -> dict[str, Attribute]:
    return {
        "static_offsets": dense(list(offsets)),
        "static_sizes": dense(list(sizes)),
        "static_strides": dense(list(strides)),
        SEGMENTS: dense(list(segments), i32),
    }


def dims(*positions: int) -> tuple[AffineExpr, ...]:
    """Dimensions as expressions."""
    return tuple(AffineDimExpr(d) for d in positions)
