"""How many operands, results and regions upstream ops have, as MLIR defines them: custom forms see to it, texts in the generic form may not.

A line such as ``tensor.insert 2+ 1`` says at least two operands and one result, ``scf.if 1 0+ 1-2`` one operand, any number of results, one or two regions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from msgspec import Struct
from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import Operation

from wengert.ir.attributes import ints

_TABLE = """
arith.constant 0 1
arith.select 3 1
arith.bitcast arith.convertf arith.extf arith.extsi arith.extui arith.fptosi arith.fptoui 1 1
arith.index_cast arith.index_castui arith.sitofp arith.truncf arith.trunci arith.uitofp 1 1
arith.cmpf arith.cmpi 2 1
arith.addui_extended arith.mulsi_extended arith.mului_extended arith.subui_extended 2 2
complex.constant 0 1
complex.abs complex.angle complex.bitcast complex.im complex.re 1 1
complex.create complex.eq complex.neq complex.powi 2 1
index.constant index.bool.constant index.sizeof 0 1
index.casts index.castu 1 1
index.add index.and index.ceildivs index.ceildivu index.cmp index.divs index.divu index.floordivs index.maxs index.maxu index.mins index.minu 2 1
index.mul index.or index.rems index.remu index.shl index.shrs index.shru index.sub index.xor 2 1
math.isfinite math.isinf math.isnan math.isnormal 1 1
math.fpowi 2 1
math.clampf 3 1
math.sincos 1 2
tensor.bitcast tensor.cast tensor.collapse_shape tensor.rank 1 1
tensor.dim tensor.gather tensor.reshape 2 1
tensor.scatter 3 1
tensor.empty tensor.from_elements 0+ 1
tensor.concat tensor.expand_shape tensor.extract tensor.extract_slice tensor.splat 1+ 1
tensor.insert tensor.insert_slice 2+ 1
tensor.parallel_insert_slice 2+ 0
tensor.generate 0+ 1 1
tensor.pad 1+ 1 1
tensor.yield 1 0
bufferization.alloc_tensor 0+ 1
bufferization.clone bufferization.to_buffer bufferization.to_memref bufferization.to_tensor 1 1
bufferization.dealloc_tensor 1 0
bufferization.materialize_in_destination 2 0-1
memref.global 0 0
memref.get_global 0 1
memref.alloc memref.alloca 0+ 1
memref.cast memref.collapse_shape memref.extract_aligned_pointer_as_index memref.memory_space_cast memref.rank memref.transpose 1 1
memref.assume_alignment 1 0-1
memref.dim memref.reshape 2 1
memref.copy 2 0
memref.dealloc 1 0
memref.realloc 1-2 1
memref.expand_shape memref.load memref.reinterpret_cast memref.subview 1+ 1
memref.extract_strided_metadata 1 2+
memref.store 2+ 0
memref.prefetch 1+ 0
memref.view 2+ 1
memref.atomic_rmw 2+ 1
memref.generic_atomic_rmw 1+ 1 1
memref.atomic_yield 1 0
memref.alloca_scope 0 0+ 1
memref.alloca_scope.return 0+ 0
scf.condition 1+ 0
scf.execute_region 0 0+ 1
scf.for 3+ 0+ 1
scf.forall scf.parallel 0+ 0+ 1
scf.forall.in_parallel 0 0 0-1
scf.if 1 0+ 1-2
scf.index_switch 1 0+ 1+
scf.reduce 0+ 0 0+
scf.reduce.return 1 0
scf.while 0+ 0+ 2
scf.yield affine.yield linalg.yield cf.br 0+ 0
affine.apply affine.linearize_index affine.max affine.min 0+ 1
affine.delinearize_index 1+ 1+
affine.for affine.parallel 0+ 0+ 1
affine.if 0+ 0+ 2
affine.load 1+ 1
affine.store 2+ 0
cf.assert 1 0
cf.cond_br cf.switch 1+ 0
linalg.index 0 1
linalg.generic linalg.map linalg.reduce 1+ 0+ 1
linalg.softmax linalg.transpose linalg.broadcast linalg.copy linalg.fill 2 0-1 0-1
linalg.pack linalg.unpack 2+ 0-1
"""


SEGMENTS = "operandSegmentSizes"
"""The attribute that says how many operands each group of an op has."""


def group_sizes(op: Operation) -> tuple[int, ...] | None:
    """How many operands each group of an op has, or None where it does not say."""
    sizes = op.attributes.get(SEGMENTS)
    return ints(cast("DenseArrayBase[Any]", sizes)) if isinstance(sizes, DenseArrayBase) else None


class Arity(Struct, frozen=True):
    """How many operands, results or regions an op has: at least, and at most if there is a limit."""

    least: int
    most: int | None

    @classmethod
    def read(cls, text: str) -> Arity:
        """From ``2``, ``1-2`` or ``1+``."""
        if text.endswith("+"):
            return cls(int(text[:-1]), None)
        least, _, most = text.partition("-")
        return cls(int(least), int(most or least))

    def allows(self, count: int) -> bool:
        """Whether an op may have so many."""
        return self.least <= count and (self.most is None or count <= self.most)

    def __str__(self) -> str:
        if self.most is None:
            return f"at least {self.least}"
        return str(self.least) if self.most == self.least else f"{self.least} to {self.most}"


def _read(table: str) -> dict[str, tuple[Arity, Arity, Arity]]:
    arities: dict[str, tuple[Arity, Arity, Arity]] = {}
    for line in table.split("\n"):
        words = line.split()
        names = [word for word in words if "." in word]
        counts = [Arity.read(word) for word in words[len(names) :]]
        if names:
            operands, results, regions = counts if len(counts) == 3 else (*counts, Arity(0, 0))
            arities |= dict.fromkeys(names, (operands, results, regions))
    return arities


ARITIES: Mapping[str, tuple[Arity, Arity, Arity]] = _read(_TABLE)
"""Operands, results and regions by op; ops that are not named have their own checks, or none."""


_ANY = (Arity(0, None),) * 3


def wrong_count(op: Operation) -> str:
    """What an op has too many or too few of, or nothing."""
    for arity, what, parts in zip(ARITIES.get(op.name, _ANY), ("operand", "result", "region"), (op.operands, op.results, op.regions), strict=True):
        if not arity.allows(len(parts)):
            return f"expected {arity} {what}{'s' * (str(arity) != '1')}, found {len(parts)}"
    return ""


def wrong_groups(op: Operation) -> str:
    """How the sizes of an op's groups of operands are wrong, or nothing."""
    if SEGMENTS not in op.attributes:
        return ""
    sizes = group_sizes(op)
    if sizes is None:
        return f"attribute '{SEGMENTS}' must be an array of integers, found {op.attributes[SEGMENTS]}"
    if min(sizes, default=0) < 0 or sum(sizes) != len(op.operands):
        return f"the groups of {SEGMENTS} = {list(sizes)} do not have {len(op.operands)} operands in all"
    return ""
