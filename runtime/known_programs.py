"""Programs that were compiled before, in this process or another: their signatures, by their identities.

A program is *known* if it, or a derivative of it, was compiled by this compiler and kept on disk. So it is valid, its passes accept it, and its signature
is on disk; its module is made when somebody looks at it, which calls of compiled code never do.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, cast

import msgspec
from msgspec import Struct

from wengert.runtime import cache as disk
from wengert.runtime.signature import KeptType, Parameter, Signature, kept_dtype

if TYPE_CHECKING:
    from xdsl.dialects.builtin import TensorType
    from xdsl.ir import Attribute


class Identified(Struct, frozen=True):
    """A program that has an identity: its signature, and whether that is on disk, or nobody will look for it there."""

    identity: str
    signature: Signature
    is_recorded: bool


Lineage = tuple[Identified, ...]
"""A program behind those that it was derived from."""


class _Named(Struct, frozen=True, array_like=True):
    """A parameter as it is kept."""

    type: KeptType
    name: str | None


class _Types(Struct, frozen=True, array_like=True):
    """A signature as it is kept."""

    arguments: tuple[_Named, ...]
    results: tuple[_Named, ...]


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
    except msgspec.MsgspecError:  # written in another way: it is written again
        return None


def keep_signatures(lineage: Lineage) -> bool:
    """Makes the programs of a lineage known that are not; whether all have types of those that are kept."""
    for program in lineage:
        if not program.is_recorded:
            arguments, results = _kept(program.signature.arguments), _kept(program.signature.results)
            if arguments is None or results is None:
                return False
            disk.write(_entry(program.identity), _ENCODER.encode(_Types(arguments, results)), disk.KNOWN)
    return True


def _entry(identity: str) -> str:
    return disk.key(identity, "signature")


def _kept(parameters: Sequence[Parameter]) -> tuple[_Named, ...] | None:
    """Parameters as they are kept; None if one is not a tensor of static shape whose elements NumPy knows, or has a name that is no Unicode (bytes that a text
    escapes)."""
    if any((p.name or "") != (p.name or "").encode(errors="ignore").decode() for p in parameters):
        return None
    types = [_kept_type(parameter) for parameter in parameters]
    return tuple(_Named(type, p.name) for type, p in zip(types, parameters, strict=True) if type is not None) if None not in types else None


def _kept_type(parameter: Parameter) -> KeptType | None:
    if isinstance(parameter.given, KeptType):
        return parameter.given
    if not parameter.is_static:
        return None
    from xdsl.dialects.builtin import NoneAttr

    type = cast("TensorType[Any]", parameter.type)
    element = _written(type.element_type)
    return KeptType(element, parameter.shape) if isinstance(type.encoding, NoneAttr) and kept_dtype(element) is not None else None


@cache
def _written(element: Attribute) -> str:
    return str(element)


def _restored(role: Literal["argument", "result"], parameters: Sequence[_Named]) -> tuple[Parameter, ...]:
    return tuple(Parameter(role, i, kept.type, kept.name) for i, kept in enumerate(parameters))
