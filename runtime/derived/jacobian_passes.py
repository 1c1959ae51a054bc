"""The passes that make whole Jacobians, as pipeline text, and what may be asked of complex numbers there."""

from __future__ import annotations

from typing import Literal

from wengert.runtime.derived.requests import positions_text
from wengert.runtime.errors import InputError
from wengert.runtime.signature import Signature

JacobianMode = Literal["jacfwd", "jacrev"]
EDGE_PUSHING = "edge pushing"
"""The row of the table for Hessians that is a pass of its own."""
MODES: tuple[JacobianMode, ...] = ("jacfwd", "jacrev")


def jacobian_pass(mode: JacobianMode, signature: Signature, wrt: tuple[int, ...], of: tuple[int, ...], *, holomorphic: bool) -> str:
    """A complex argument (forward) or result (reverse) has one derivative only where the program is holomorphic: InputError otherwise."""
    moved = [signature.arguments[i] for i in wrt] if mode == "jacfwd" else [signature.results[j] for j in of]
    for parameter in moved:
        if parameter.dtype.kind == "c" and not holomorphic:
            raise InputError(f"{mode}: {parameter} is complex; say holomorphic=True if the program is, else take its jvp or vjp")
    return f"{mode}{{wrt={positions_text(wrt)} of={positions_text(of)}}}"


def seeded_jacobian_pass(wrt: tuple[int, ...], of: tuple[int, ...], *, symmetric: bool) -> str:
    """Forward mode along the colours of the columns; those of stars for a symmetric Jacobian."""
    return f"seeded-jacobian{{mode={'star' if symmetric else 'forward'} wrt={positions_text(wrt)} of={positions_text(of)}}}"


def edge_pushing_pass(wrt: tuple[int, ...], of: tuple[int, ...]) -> str:
    """The Hessian of one number on its linearised graph."""
    return f"edge-pushing{{wrt={positions_text(wrt)} of={positions_text(of)}}}"


def compressed_jacobian_pass(signature: Signature, wrt: tuple[int, ...], of: tuple[int, ...]) -> str:
    """A step by one of a complex argument is one of two directions, so the columns would be half of them: InputError."""
    for parameter in (signature.arguments[i] for i in wrt):
        if parameter.dtype.kind == "c":
            raise InputError(f"compressed_jacobian: {parameter} is complex; take the jvp along the directions that you mean")
    return f"compressed-jacobian{{wrt={positions_text(wrt)} of={positions_text(of)}}}"
