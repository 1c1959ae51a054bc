"""Programs hold ops that are known; others are refused before anything is done with them."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation

from wengert.ir.diagnostics import DiagnosticError, did_you_mean
from wengert.ir.locations import error_at
from wengert.ir.tensor_types import UnsupportedElementError, dtype_of
from wengert.ir.traversal import all_ops
from wengert.ir.unregistered import unregistered_ops, written_name

_AT_MOST = 20
_HINT = "nobody here knows what it means; wengert-opt carries it from text to text"


def check_elements(module: ModuleOp) -> None:
    """Raises DiagnosticError where an op computes with elements that are not supported, at the first such op."""
    seen: set[int] = set()
    for op in all_ops(module):
        for value in (*op.results, *(argument for region in op.regions for block in region.blocks for argument in block.args)):
            type = value.type
            if id(type) in seen:
                continue
            seen.add(id(type))
            if isinstance(type, TensorType):
                try:
                    dtype_of(cast("TensorType[Any]", type).element_type)
                except UnsupportedElementError as error:
                    message = f"{written_name(op)} computes with elements of type {error.element}, which are not supported"
                    raise error_at(op.location, message) from None


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
    return error_at(
        op.location, f"unknown operation '{name}'", hint or "what an op of a dialect that is not known means, nobody can say; wengert-opt carries it along"
    )


def _known_names() -> list[str]:
    from wengert.dialects.chlo import Chlo
    from wengert.dialects.stablehlo import StableHLO

    return [op.name for dialect in (StableHLO, Chlo) for op in dialect.operations]
