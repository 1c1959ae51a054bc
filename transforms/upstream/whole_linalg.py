"""Named ops of ``linalg`` as bytecode has them: with their regions, indexing maps, and iterator types as an enumeration, which text leaves out."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, ModuleOp, StringAttr, UnregisteredAttr
from xdsl.ir import Attribute, Region
from xdsl.ir.affine import AffineMap

from wengert.dialects.bytecode.properties import properties_of
from wengert.dialects.upstream import UpstreamOp
from wengert.dialects.upstream.arities import SEGMENTS
from wengert.dialects.upstream.named_linalg import CONTRACTIONS
from wengert.ir.bytecode.writer import is_shortened
from wengert.ir.traversal import all_ops
from wengert.transforms.upstream.convert.linalg import contraction_maps
from wengert.transforms.upstream.convert.named_bodies import named_body
from wengert.transforms.upstream.convert.tensors import declared_shape

_KINDS = "iterator_types"
_MAPS = "indexing_maps"


def has_linalg(module: ModuleOp) -> bool:
    """Whether there is an op of linalg in a module."""
    return any(op.name.startswith("linalg.") for op in all_ops(module))


def write_whole(module: ModuleOp) -> None:
    """Gives all ops of linalg their regions and maps, in place."""
    for op in [op for op in all_ops(module) if isinstance(op, UpstreamOp) and op.name.startswith("linalg.")]:
        if not any(name.startswith(SEGMENTS) for name in properties_of(op.name) or ()):
            op.attributes.pop(SEGMENTS, None)
        if isinstance(kinds := op.attributes.get(_KINDS), ArrayAttr):
            op.attributes[_KINDS] = ArrayAttr([_enumerated(word) for word in cast("ArrayAttr[Attribute]", kinds)])
        if is_shortened(op) and not op.regions and (block := named_body(op)) is not None:
            op.add_region(Region(block))
            if _MAPS not in op.attributes and (maps := _default_maps(op)) is not None:
                op.attributes[_MAPS] = ArrayAttr([AffineMapAttr(map) for map in maps])


def _enumerated(word: Attribute) -> Attribute:
    if not isinstance(word, StringAttr):
        return word
    return UnregisteredAttr.with_name_and_type("linalg.iterator_type", False)("linalg.iterator_type", False, False, word.data)


def _default_maps(op: UpstreamOp) -> list[AffineMap] | None:
    """The indexing maps of an op that keeps them as a property."""
    if not any(name.startswith(_MAPS) for name in properties_of(op.name) or ()):
        return None
    name = op.name.removeprefix("linalg.")
    if name in CONTRACTIONS:
        return contraction_maps(CONTRACTIONS[name])
    return [AffineMap.identity(len(declared_shape(op.operands[-1].type)))] * len(op.operands)
