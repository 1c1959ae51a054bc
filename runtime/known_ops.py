"""Programs hold ops that are known; others are refused before anything is done with them."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation

from wengert.dialects.stablehlo.leaves import leaves
from wengert.ir.diagnostics import DiagnosticError, did_you_mean
from wengert.ir.location.places import error_at
from wengert.ir.tensor_types import ADDRESSABLE, DYNAMIC, UnsupportedElementError, extent_in_bytes, shape_of_type
from wengert.ir.traversal import all_ops
from wengert.ir.unregistered import unregistered_ops, written_name
from wengert.runtime.memory import plain

_AT_MOST = 20
_HINT = "nobody here knows what it means (a plug-in may say it: --load, wg.load_plugin); wengert-opt carries it from text to text"


def check_values(module: ModuleOp) -> None:
    """Raises DiagnosticError at the first op whose values are of elements that are not supported, or larger than any memory."""
    seen: set[int] = set()
    for op in all_ops(module):
        for value in (*op.results, *(argument for region in op.regions for block in region.blocks for argument in block.args)):
            type = value.type
            if id(type) in seen:
                continue
            seen.add(id(type))
            for leaf in leaves(type):
                wrong = _wrong_type(cast("TensorType[Any]", leaf)) if isinstance(leaf, TensorType) else ""
                if wrong:
                    raise error_at(op, f"{written_name(op)} {wrong}")


def _wrong_type(type: TensorType[Any]) -> str:
    try:
        size = extent_in_bytes(type)
    except UnsupportedElementError as error:
        return f"computes with elements of type {error.element}, which are not supported"
    if size > ADDRESSABLE and DYNAMIC not in shape_of_type(type):
        return f"holds {type}, which extends over {plain(size)}: more than any machine can address"
    return ""


def check_known(module: ModuleOp) -> None:
    """Raises DiagnosticError where a module holds ops that nobody knows, with their names and places."""
    unknown = unregistered_ops(module)
    if unknown:
        known = _known_names()
        raise DiagnosticError(*(_error(op, known).diagnostic for op in unknown[:_AT_MOST]))


def _error(op: Operation, known: list[str]) -> DiagnosticError:
    name = written_name(op)
    short = name.rpartition(".")[2]
    hint = did_you_mean(name, known) or did_you_mean(f"stablehlo.{short}", [k for k in known if k.endswith(f".{short}")])
    return error_at(op, f"unknown operation '{name}'", hint or _HINT)


def _known_names() -> list[str]:
    from wengert.dialects.chlo import Chlo
    from wengert.dialects.stablehlo import StableHLO

    return [op.name for dialect in (StableHLO, Chlo) for op in dialect.operations]
