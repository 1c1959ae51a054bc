"""``from-upstream`` as a function: its parts in their order."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp

from wengert.transforms.core.inline import inline
from wengert.transforms.core.symbol_dce import symbol_dce
from wengert.transforms.shapes.argument_shapes import Shape
from wengert.transforms.upstream.affine import lower_affine
from wengert.transforms.upstream.convert.function import convert_functions
from wengert.transforms.upstream.memrefs.memrefs_to_values import memrefs_to_values
from wengert.transforms.upstream.scalars import scalars_to_tensors


def from_upstream(module: ModuleOp, entry: str = "main", shapes: Sequence[Shape | None] = ()) -> None:
    """Writes a module of upstream ops in StableHLO, in place.

    Args:
        module: the module. Functions that the entry does not call are written too, if they are not private.
        entry: the function whose arguments have these shapes.
        shapes: the shapes of its arguments; None, or nothing, for those whose types leave nothing open.

    Raises:
        DiagnosticError: an op has no meaning here, buffers may overlap, or a size is computed from more than shapes; names the op and its place.
    """
    prepare(module)
    convert_functions(module, entry, shapes)


def prepare(module: ModuleOp) -> None:
    """The parts that need no shapes: what is left are functions of values that are tensors at their boundaries."""
    inline(module)
    symbol_dce(module)
    lower_affine(module)
    memrefs_to_values(module)
    scalars_to_tensors(module)
