"""Kinds of values that ops take which hand on anything: control flow, calls, tuples and barriers.

Tensors are ranked but in calls, which also take buffers (``memref``) and futures; a tuple has no futures in it.
Control flow takes tuples, which StableHLO's own verifier refuses there: they are taken apart before anything is compiled. It hands on tapes too, which
reverse mode records loops of unknown length on.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Flag, auto
from typing import Any, cast

from xdsl.dialects.builtin import MemRefType, TensorType, TupleType, UnrankedTensorType
from xdsl.ir import Attribute, Operation

from wengert.dialects.stablehlo.attributes import FutureType, TokenType
from wengert.dialects.stablehlo.typing.checks import as_tensor, element_class, fail, result_name


class Kind(Flag):
    """A kind of value beside ranked tensors."""

    NONE = 0
    TOKEN = auto()
    BUFFER = auto()
    TUPLE = auto()
    FUTURE = auto()
    UNRANKED = auto()
    TAPE = auto()


_NAMES = {
    Kind.TOKEN: "tokens",
    Kind.BUFFER: "buffers",
    Kind.TUPLE: "tuples",
    Kind.FUTURE: "futures",
    Kind.UNRANKED: "tensors of unknown rank",
    Kind.TAPE: "tapes",
}
_OURS = "core."  # by name, since that dialect is built on this one


def _kind(type: Attribute) -> Kind | None:
    """The kind of a type, None for one that no op takes."""
    if isinstance(type, TokenType):
        return Kind.TOKEN
    if type.name.startswith(_OURS):
        return Kind.TAPE
    if isinstance(type, TupleType):
        return Kind.TUPLE
    if isinstance(type, FutureType):
        return Kind.FUTURE
    if isinstance(type, MemRefType):
        return Kind.BUFFER if element_class(cast("MemRefType[Any]", type).element_type) else None
    if isinstance(type, UnrankedTensorType):
        return Kind.UNRANKED if element_class(cast("UnrankedTensorType[Any]", type).element_type) else None
    return None


def expect_value(role: str, type: Attribute, kinds: Kind) -> None:
    """The type is a ranked tensor or of one of these kinds; the parts of a tuple are tensors, tokens, buffers or tuples again."""
    if isinstance(type, TensorType):
        as_tensor(role, cast("TensorType[Any]", type))
        return
    kind = _kind(type)
    if kind is None or kind not in kinds:
        others = [name for bit, name in _NAMES.items() if bit in kinds]
        fail(f"{role} must be a ranked tensor" + (f" (or there may be {', '.join(others)})" if others else "") + f", found {type}")
    if isinstance(type, TupleType):
        for part in cast("Sequence[Attribute]", type.types):
            expect_value(f"each part of {role}", part, kinds & (Kind.TOKEN | Kind.BUFFER | Kind.TUPLE))


def expect_values(op: Operation, kinds: Kind) -> None:
    """All operands and results are tensors or of these kinds."""
    for i, value in enumerate(op.operands):
        expect_value(f"operand #{i}", value.type, kinds)
    expect_result_values(op, kinds)


def expect_result_values(op: Operation, kinds: Kind) -> None:
    """All results are tensors or of these kinds."""
    for i, value in enumerate(op.results):
        expect_value(result_name(op, i), value.type, kinds)
