"""Programs that were compiled before, in this process or another: their signatures, by their identities.

A program is *known* if it, or a derivative of it, was compiled by this compiler and kept on disk. So it is valid, its passes accept it, and its signature
is on disk; its module is made when somebody looks at it, which calls of compiled code never do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct
from xdsl.dialects.builtin import NoneAttr, TensorType

from wengert.ir.tensor_types import DYNAMIC, elements_by_name, tensor
from wengert.runtime import cache as disk
from wengert.runtime.signature import Parameter, Signature


class Identified(Struct, frozen=True):
    """A program that has an identity: its signature, and whether that is on disk, or nobody will look for it there."""

    identity: str
    signature: Signature
    is_recorded: bool


Lineage = tuple[Identified, ...]
"""A program behind those that it was derived from."""


class _Type(Struct, frozen=True, array_like=True):
    """The type and the name of a parameter."""

    element: str
    shape: tuple[int, ...]
    name: str | None


class _Types(Struct, frozen=True, array_like=True):
    """A signature as it is kept."""

    arguments: tuple[_Type, ...]
    results: tuple[_Type, ...]


_DECODER = msgspec.msgpack.Decoder(_Types)
_ENCODER = msgspec.msgpack.Encoder()


def known_signature(identity: str | None) -> Signature | None:
    """The signature of the program of an identity, if it is known."""
    data = disk.read(_entry(identity), disk.KNOWN) if identity is not None else None
    if data is None:
        return None
    try:
        types = _DECODER.decode(data)
        return Signature(_restored("argument", types.arguments), _restored("result", types.results))
    except (msgspec.MsgspecError, KeyError):  # written in another way: it is written again
        return None


def keep_signatures(lineage: Lineage) -> bool:
    """Makes the programs of a lineage known that are not; whether all have types of those that are kept."""
    for program in lineage:
        arguments, results = program.signature.arguments, program.signature.results
        if not program.is_recorded:
            if not all(_is_plain(p) for p in (*arguments, *results)):
                return False
            disk.write(_entry(program.identity), _ENCODER.encode(_Types(_kept(arguments), _kept(results))), disk.KNOWN)
    return True


def _entry(identity: str) -> str:
    return disk.key(identity, "signature")


def _is_plain(parameter: Parameter) -> bool:
    type = parameter.type
    if not isinstance(type, TensorType):
        return False
    whole = cast("TensorType[Any]", type)
    return isinstance(whole.encoding, NoneAttr) and DYNAMIC not in parameter.shape and str(whole.element_type) in elements_by_name()


def _kept(parameters: Sequence[Parameter]) -> tuple[_Type, ...]:
    return tuple(_Type(str(cast("TensorType[Any]", p.type).element_type), p.shape, p.name) for p in parameters)


def _restored(role: Literal["argument", "result"], types: Sequence[_Type]) -> tuple[Parameter, ...]:
    elements = elements_by_name()
    return tuple(Parameter(role, i, tensor(t.shape, elements[t.element]), t.name) for i, t in enumerate(types))
