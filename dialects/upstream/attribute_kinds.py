"""Which attributes upstream ops have, and of which kind: custom forms see to it, texts in the generic form may not.

A line such as ``linalg.pack | tiles:integers perm?:integers groups:4`` says that there are integers, that there may be others, and that the operands are in
four groups.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from msgspec import Struct
from xdsl.dialects.builtin import (
    AffineMapAttr,
    AffineSetAttr,
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.ir import Attribute, Operation, TypeAttribute

from wengert.dialects.upstream.arities import SEGMENTS, group_sizes
from wengert.dialects.upstream.named_linalg import CONTRACTIONS, CONVOLUTIONS, POOLINGS
from wengert.ir import elements
from wengert.ir.attributes import ints

_TABLE = f"""
affine.apply affine.load affine.max affine.min affine.store | map:map
affine.delinearize_index | static_basis:integers
affine.linearize_index | static_basis:integers groups:2
affine.for | lowerBoundMap:map upperBoundMap:map step:integer groups:3
affine.if | condition:set
affine.parallel | lowerBoundsMap:map upperBoundsMap:map lowerBoundsGroups:integers upperBoundsGroups:integers steps:list reductions:list
arith.cmpf arith.cmpi | predicate:integer
complex.constant | value:pair
enzyme.autodiff enzyme.fwddiff | fn:symbol activity?:array ret_activity?:array width?:integer
lagrad.grad lagrad.tangent | F:symbol of?:positions
index.constant index.bool.constant | value:integer
linalg.broadcast linalg.reduce | dimensions:integers
linalg.contract | indexing_maps:maps groups:2
linalg.elementwise | indexing_maps?:maps
linalg.generic | indexing_maps:maps iterator_types:array groups:2
linalg.index | dim:integer
linalg.pack | inner_dims_pos:integers static_inner_tiles:integers outer_dims_perm?:integers groups:4
linalg.unpack | inner_dims_pos:integers static_inner_tiles:integers outer_dims_perm?:integers groups:3
linalg.softmax | dimension:integer
linalg.transpose | permutation:integers
{" ".join(f"linalg.{name}" for name in CONTRACTIONS)} | indexing_maps?:maps groups:2
{" ".join(f"linalg.{name}" for name in (*CONVOLUTIONS, *POOLINGS))} | strides?:integers dilations?:integers groups:2
memref.atomic_rmw | kind:integer
memref.collapse_shape tensor.collapse_shape | reassociation:nested
memref.expand_shape | reassociation:nested static_output_shape:integers
tensor.expand_shape | reassociation:nested static_output_shape?:integers
memref.get_global | name:symbol
memref.global | sym_name:string type:type
memref.subview memref.reinterpret_cast tensor.extract_slice | static_offsets:integers static_sizes:integers static_strides:integers groups:4
tensor.insert_slice tensor.parallel_insert_slice | static_offsets:integers static_sizes:integers static_strides:integers groups:5
memref.transpose | permutation:map
scf.forall | staticLowerBound:integers staticUpperBound:integers staticStep:integers groups:4
scf.parallel | groups:4
scf.index_switch | cases:integers
tensor.concat | dim:integer
tensor.gather | gather_dims:integers
tensor.scatter | scatter_dims:integers
tensor.pad | static_low:integers static_high:integers groups:3
"""


def numbers_of(attribute: Attribute | None) -> tuple[int, ...] | None:
    """The integers of ``array<i64: ...>`` or ``dense<[...]>``; None for another attribute."""
    if isinstance(attribute, DenseArrayBase):
        array = cast("DenseArrayBase[Any]", attribute)
        return ints(array) if isinstance(array.elt_type, IntegerType) else None
    if isinstance(attribute, DenseIntOrFPElementsAttr):
        values = elements.to_numpy(cast("DenseIntOrFPElementsAttr[Any]", attribute))
        return tuple(values.reshape(-1).tolist()) if values.dtype.kind in "iu" and values.ndim == 1 else None
    return None


def list_of(attribute: Attribute | None, kind: type[Attribute]) -> list[Any] | None:
    """The entries of an array of attributes of a kind; None for another attribute."""
    entries = cast("ArrayAttr[Attribute]", attribute).data if isinstance(attribute, ArrayAttr) else None
    return list(entries) if entries is not None and all(isinstance(entry, kind) for entry in entries) else None


def nested_of(attribute: Attribute | None) -> list[list[int]] | None:
    """The numbers of ``[[0, 1], [2]]``; None for another attribute."""
    groups = list_of(attribute, ArrayAttr)
    numbers = None if groups is None else [list_of(group, IntegerAttr) for group in groups]
    return None if numbers is None or None in numbers else [[entry.value.data for entry in group] for group in cast("list[list[Any]]", numbers)]


def _is(*kinds: type[Attribute]) -> Callable[[Attribute], bool]:
    return lambda attribute: isinstance(attribute, kinds)


def _is_pair(attribute: Attribute) -> bool:
    parts = list_of(attribute, FloatAttr)
    return parts is not None and len(parts) == 2


_KINDS: Mapping[str, tuple[str, Callable[[Attribute], bool]]] = {
    "array": ("an array", _is(ArrayAttr)),
    "integer": ("an integer", _is(IntegerAttr)),
    "integers": ("integers", lambda attribute: numbers_of(attribute) is not None),
    "list": ("an array of integers", lambda attribute: list_of(attribute, IntegerAttr) is not None),
    "map": ("an affine map", _is(AffineMapAttr)),
    "maps": ("an array of affine maps", lambda attribute: list_of(attribute, AffineMapAttr) is not None),
    "nested": ("an array of arrays of integers", lambda attribute: nested_of(attribute) is not None),
    "pair": ("two floats", _is_pair),
    "positions": ("integers", lambda attribute: numbers_of(attribute) is not None or list_of(attribute, IntegerAttr) is not None),
    "set": ("an affine set", _is(AffineSetAttr)),
    "string": ("a string", _is(StringAttr)),
    "symbol": ("a symbol", _is(SymbolRefAttr)),
    "type": ("a type", lambda attribute: isinstance(attribute, TypeAttribute)),
}


class _Entry(Struct, frozen=True):
    """An attribute of an op: its name, its kind, and whether it may be missing."""

    name: str
    kind: str
    optional: bool


class _Row(Struct, frozen=True):
    """The attributes of an op, and in how many groups its operands are, where it says that."""

    entries: tuple[_Entry, ...]
    groups: int | None


def _read(table: str) -> dict[str, _Row]:
    rows: dict[str, _Row] = {}
    for line in filter(None, table.split("\n")):
        names, parts = line.split(" | ")
        words = dict(part.split(":") for part in parts.split())
        groups = words.pop("groups", None)
        entries = [_Entry(name.rstrip("?"), kind, name.endswith("?")) for name, kind in words.items()]
        rows |= dict.fromkeys(names.split(), _Row(tuple(entries), None if groups is None else int(groups)))
    return rows


ROWS: Mapping[str, _Row] = _read(_TABLE)
"""The attributes by op; ops that are not named have none that a conversion needs, or ask for them themselves."""


def wrong_attribute(op: Operation) -> str:
    """Which attribute of an op is missing or of another kind, or nothing."""
    row = ROWS.get(op.name)
    if row is None:
        return ""
    for entry in row.entries:
        attribute = op.attributes.get(entry.name)
        noun, fits = _KINDS[entry.kind]
        if attribute is None and not entry.optional:
            return f"attribute '{entry.name}' is missing, expected {noun}"
        if attribute is not None and not fits(attribute):
            return f"attribute '{entry.name}' must be {noun}, found {attribute}"
    sizes = group_sizes(op)
    if row.groups is not None and (sizes is None or len(sizes) != row.groups):
        return f"attribute '{SEGMENTS}' must have the sizes of {row.groups} groups of operands" + ("" if sizes is None else f", found {len(sizes)}")
    return ""
