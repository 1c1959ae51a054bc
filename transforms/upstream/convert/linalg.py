"""``linalg``: generic and named ops as structured ops, and those that are shape changes or formulas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, DenseArrayBase, DenseIntOrFPElementsAttr, IntegerType
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from wengert.dialects.core import Kind
from wengert.dialects.upstream import UpstreamOp
from wengert.dialects.upstream.forms import element_of
from wengert.dialects.upstream.linalg_forms import strings
from wengert.dialects.upstream.named_linalg import BINARY, CONTRACTIONS, CONVOLUTIONS, POOLINGS, REFUSED, TERNARY, UNARY
from wengert.ir import elements
from wengert.ir.attributes import ints
from wengert.ir.tensor_types import rank, shape
from wengert.transforms.upstream.convert.bodies import write_structured
from wengert.transforms.upstream.convert.converter import Converter, Handler, Value, fitting, handles, refuses
from wengert.transforms.upstream.convert.errors import refusal
from wengert.transforms.upstream.convert.integers import number_of
from wengert.transforms.upstream.convert.named_bodies import Body, copy_body, elementwise_body, elementwise_kind, pooling_body, product_sum
from wengert.transforms.upstream.convert.structured import Structured
from wengert.transforms.upstream.convert.tensors import declared_shape


def ins_outs(op: UpstreamOp) -> tuple[list[SSAValue], list[SSAValue]]:
    """The inputs and the outputs of a structured op."""
    groups = op.groups()
    if len(groups) == 2:
        return groups[0], groups[1]
    count = len(op.operands) // 2 if op.name == "linalg.reduce" else len(op.operands) - 1
    return list(op.operands[:count]), list(op.operands[count:])


def maps_of(op: UpstreamOp) -> list[AffineMap]:
    """The indexing maps that an op says."""
    return [cast(AffineMapAttr, map).data for map in cast("ArrayAttr[Attribute]", op.attributes["indexing_maps"]).data]


def _structured(c: Converter, op: UpstreamOp, maps: list[AffineMap], parallel: list[bool], block: Block) -> list[Value]:
    inputs, outputs = ins_outs(op)
    outs = [c[value] for value in outputs]
    results = write_structured(c, Structured(op, [c[value] for value in inputs], outs, maps, parallel, block))
    return [fitting(op, result.type, value) for result, value in zip(op.results, results, strict=True)]


@handles("linalg.generic")
def _generic(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    parallel = [kind == "parallel" for kind in strings(op.attributes["iterator_types"])]
    return _structured(c, op, maps_of(op), parallel, op.regions[0].block)


# -- contractions


def _spelled(text: str) -> list[str]:
    return text.split(" ")


def _maps(rows: Sequence[str], order: Sequence[str]) -> list[AffineMap]:
    return [AffineMap(len(order), 0, tuple(AffineDimExpr(order.index(d)) for d in row)) for row in rows]


def _order(rows: Sequence[str]) -> list[str]:
    """The dimensions of a row: those of the output first."""
    return list(dict.fromkeys("".join([rows[-1], *rows[:-1]])))


def contraction_maps(spelling: str) -> list[AffineMap]:
    """The indexing maps of a row of :data:`CONTRACTIONS` as MLIR numbers their dimensions: a batch first, even where it is summed over."""
    rows = _spelled(spelling)
    return _maps(rows, sorted(_order(rows), key=lambda d: d != "b"))


def _contraction(spelling: str) -> Handler:
    rows = _spelled(spelling)
    order = _order(rows)
    parallel = [d in rows[-1] for d in order]

    def handler(c: Converter, op: UpstreamOp) -> Sequence[Value]:
        points = len(op.operands) - 3
        given = maps_of(op) if "indexing_maps" in op.attributes else None
        if given:
            return _contract(c, op, given)
        maps = _maps(rows, order)
        scalar = AffineMap(len(order), 0, ())
        return _structured(c, op, [maps[0], maps[1], *([scalar] * points), maps[2]], parallel, product_sum(op, points))

    return handler


def _contract(c: Converter, op: UpstreamOp, maps: list[AffineMap]) -> Sequence[Value]:
    used = {d for expr in maps[-1].results for d in expr.used_dims()}
    return _structured(c, op, maps, [d in used for d in range(maps[0].num_dims)], product_sum(op))


@handles("linalg.contract")
def _contract_op(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    return _contract(c, op, maps_of(op))


for _name, _spelling in CONTRACTIONS.items():
    handles(f"linalg.{_name}")(_contraction(_spelling))


# -- windows


def _steps(op: UpstreamOp, key: str, count: int) -> list[int]:
    value = op.attributes.get(key)
    if isinstance(value, DenseIntOrFPElementsAttr):
        numbers = [int(n) for n in elements.to_numpy(cast(Any, value)).reshape(-1)]
    elif isinstance(value, DenseArrayBase):
        numbers = list(ints(cast(Any, value)))
    else:
        numbers = [1] * count
    return numbers * count if len(numbers) == 1 else numbers


def _windowed(op: UpstreamOp, spelling: str) -> tuple[list[AffineMap], list[bool]]:
    """The maps of input, filter or window, and output, and which dimensions are parallel."""
    rows = _spelled(spelling)
    order = list(dict.fromkeys("".join([rows[2], rows[1], rows[0]])))
    spatial = [d for d in rows[0] if d.upper() in order]
    count = len(spatial)
    strides, dilations = (dict(zip(spatial, _steps(op, key, count), strict=True)) for key in ("strides", "dilations"))

    def place(d: str) -> AffineExpr:
        inner: AffineExpr = AffineDimExpr(order.index(d))
        if d not in spatial:
            return inner
        window: AffineExpr = AffineDimExpr(order.index(d.upper()))
        return inner * strides[d] + window * dilations[d]

    image = AffineMap(len(order), 0, tuple(place(d) for d in rows[0]))
    return [image, *_maps(rows[1:], order)], [d in rows[2] for d in order]


def _convolution(spelling: str) -> Handler:
    def handler(c: Converter, op: UpstreamOp) -> Sequence[Value]:
        maps, parallel = _windowed(op, spelling)
        points = len(op.operands) - 3
        scalar = AffineMap(maps[0].num_dims, 0, ())
        return _structured(c, op, [maps[0], maps[1], *([scalar] * points), maps[2]], parallel, product_sum(op, points))

    return handler


def _pooling(name: str, spelling: str) -> Handler:
    def handler(c: Converter, op: UpstreamOp) -> Sequence[Value]:
        maps, parallel = _windowed(op, spelling)
        return _structured(c, op, maps, parallel, pooling_body(op, name))

    return handler


for _name, _spelling in CONVOLUTIONS.items():
    handles(f"linalg.{_name}")(_convolution(_spelling))
for _name, _spelling in POOLINGS.items():
    handles(f"linalg.{_name}")(_pooling(_name, _spelling))


# -- elementwise


def _elementwise(c: Converter, op: UpstreamOp, kind: str, maps: list[AffineMap] | None = None) -> Sequence[Value]:
    count = len(declared_shape(op.operands[-1].type)) if maps is None else maps[0].num_dims
    indexing = [AffineMap.identity(count)] * len(op.operands) if maps is None else maps
    return _structured(c, op, indexing, [True] * count, elementwise_body(op, kind))


def _elementwise_handler(kind: str) -> Handler:
    def handler(c: Converter, op: UpstreamOp) -> Sequence[Value]:
        return _elementwise(c, op, kind)

    return handler


for _name in (*UNARY, *BINARY, *TERNARY):
    handles(f"linalg.{_name}")(_elementwise_handler(_name))


@handles("linalg.elementwise")
def _elementwise_op(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    kind = elementwise_kind(op)
    if kind is None:
        raise refusal(op, f"unknown kind {op.attributes.get('kind')}")
    return _elementwise(c, op, kind, (maps_of(op) if "indexing_maps" in op.attributes else None) or None)


@handles("linalg.copy")
def _copy(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    count = rank(c[op.operands[0]])
    return _structured(c, op, [AffineMap.identity(count)] * 2, [True] * count, copy_body(op))


@handles("linalg.map")
def _map(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    block = op.regions[0].block
    count = rank(c[op.operands[-1]])
    if len(block.args) == len(op.operands) - 1:  # before MLIR 22 the output's element was no argument
        block.insert_arg(element_of(op.operands[-1].type), len(block.args))
    return _structured(c, op, [AffineMap.identity(count)] * len(op.operands), [True] * count, block)


@handles("linalg.reduce")
def _reduce(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    dims = ints(op.attributes["dimensions"])
    inputs, outputs = ins_outs(op)
    count = rank(c[inputs[0]])
    kept = AffineMap(count, 0, tuple(AffineDimExpr(d) for d in range(count) if d not in dims))
    maps = [AffineMap.identity(count)] * len(inputs) + [kept] * len(outputs)
    return _structured(c, op, maps, [d not in dims for d in range(count)], op.regions[0].block)


# -- shapes and formulas


@handles("linalg.fill")
def _fill(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    value, out = c.operands(op)
    body = Body(op)
    if body.types[0] != body.types[1]:
        block = body.finish(body.cast(body.arguments[0], body.types[1]))
        c.values[block.args[0]] = value
        for inner in block.ops:
            if inner is not block.last_op:
                c.op(inner)
        last = block.last_op
        value = c[last.operands[0]] if last is not None else value
    return [c.b.broadcast_in_dim(c.b.reshape(value, ()), (), shape(out))]


@handles("linalg.transpose")
def _transpose(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    return [c.b.transpose(c[op.operands[0]], ints(op.attributes["permutation"]))]


@handles("linalg.broadcast")
def _broadcast(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    x, out = c.operands(op)
    added = ints(op.attributes["dimensions"])
    kept = [d for d in range(rank(out)) if d not in added]
    if [shape(out)[d] for d in kept] != list(shape(x)):
        raise refusal(op, f"dimensions {kept} of {out.type} have other extents than {x.type}")
    return [c.b.broadcast_in_dim(x, kept, shape(out))]


@handles("linalg.softmax")
def _softmax(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    """exp(x - max x) / sum of it, as MLIR decomposes it."""
    b, x = c.b, c[op.operands[0]]
    dim = number_of(op, "dimension")
    kept = [d for d in range(rank(x)) if d != dim]

    def over(value: Value) -> Value:
        return b.broadcast_in_dim(value, kept, shape(x))

    powers = b.exponential(b.subtract(x, over(b.reduce(Kind.max, x, [dim]))))
    return [b.divide(powers, over(b.reduce_sum(powers, [dim])))]


# -- packed layouts


@handles("linalg.pack")
def _pack(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    """Tiles of a tensor as its last dimensions: pad, split, reorder."""
    source, target, padding, tiles = op.groups()
    b, x = c.b, c[source[0]]
    dims = ints(op.attributes["inner_dims_pos"])
    sizes = c.mixed(op, ints(op.attributes["static_inner_tiles"]), tiles, "the size of a tile")
    tile = dict(zip(dims, sizes, strict=True))
    missing = [-n % tile.get(d, 1) for d, n in enumerate(shape(x))]
    if any(missing):
        if not padding:
            raise refusal(op, "tiles do not divide the tensor, and there is no padding value")
        x = b.pad(x, c[padding[0]], [0] * rank(x), missing)
    split = [e for d, n in enumerate(shape(x)) for e in ((n // tile[d], tile[d]) if d in tile else (n,))]
    outer, inner = _split_places(rank(x), tile)
    order = list(ints(op.attributes["outer_dims_perm"])) if ints(op.attributes.get("outer_dims_perm", _EMPTY)) else list(range(rank(x)))
    packed = b.transpose(b.reshape(x, split), [*(outer[d] for d in order), *(inner[d] for d in dims)])
    return [fitting(op, target[0].type, packed)]


@handles("linalg.unpack")
def _unpack(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    """The inverse of ``linalg.pack``: reorder, join, cut off."""
    source, target, tiles = op.groups()
    b, x, out = c.b, c[source[0]], shape(c[target[0]])
    dims = ints(op.attributes["inner_dims_pos"])
    sizes = c.mixed(op, ints(op.attributes["static_inner_tiles"]), tiles, "the size of a tile")
    tile = dict(zip(dims, sizes, strict=True))
    count = len(out)
    order = list(ints(op.attributes["outer_dims_perm"])) if ints(op.attributes.get("outer_dims_perm", _EMPTY)) else list(range(count))
    permutation = [e for d in range(count) for e in ((order.index(d), count + dims.index(d)) if d in tile else (order.index(d),))]
    outer = [shape(x)[order.index(d)] for d in range(count)]
    joined = b.reshape(b.transpose(x, permutation), [n * tile.get(d, 1) for d, n in enumerate(outer)])
    return [b.slice(joined, [0] * count, out)]


_EMPTY = DenseArrayBase.from_list(IntegerType(64), [])


def _split_places(count: int, tile: dict[int, int]) -> tuple[list[int], dict[int, int]]:
    """Where the outer and the inner part of each dimension is after it was split."""
    outer, inner, place = list[int](), dict[int, int](), 0
    for d in range(count):
        outer.append(place)
        if d in tile:
            place += 1
            inner[d] = place
        place += 1
    return outer, inner


for _name in REFUSED:
    refuses(f"linalg.{_name}", "this op has no meaning here")
