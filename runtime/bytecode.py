"""Programs as bytes: MLIR bytecode, and the portable artifacts of StableHLO, which are bytecode of VHLO."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wengert.ir.bytecode.cursor import MAGIC
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.sources import decoded
from wengert.ir.pipeline.stages import stage
from wengert.runtime.errors import InputError

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


def is_bytecode(data: bytes) -> bool:
    """Whether these bytes are meant to be bytecode."""
    return data.startswith(MAGIC)


@stage()
def read_module(data: bytes, filename: str) -> ModuleOp:
    """The module in bytecode; that of a portable artifact in StableHLO. Raises DiagnosticError with the place of a byte that is wrong."""
    from wengert.dialects.bytecode import files
    from wengert.transforms.portable.from_vhlo import from_vhlo, has_vhlo

    module = files.read_module(data, filename)
    return from_vhlo(module) if has_vhlo(module) else module


def program_text(data: bytes, filename: str) -> str:
    """The text of a program: bytes that are text as they are, bytecode printed with its locations. Raises DiagnosticError for bytes that are neither."""
    if not is_bytecode(data):
        return decoded(data, filename)
    from wengert.ir.printing.printer import print_module

    return print_module(read_module(data, filename), locations=True)


def write(module: ModuleOp, *, version: int | None = None, portable: str | None = None, locations: bool = True) -> bytes:
    """A module as bytecode.

    Args:
        module: the module.
        version: the version of the format, 0 to 6 (the latest by default; that of the target for artifacts).
        portable: the version of StableHLO that a portable artifact is written for, such as ``1.0.0``; ``current`` or ``minimum``. None for plain bytecode.
        locations: whether to write where ops come from.

    Raises:
        ValueError: there is no such version of the format, or one is given for an artifact, whose target says it.
        InputError: the target is no version of StableHLO that is known.
        DiagnosticError: the target lacks what the module has; names the op and its place.
    """
    from wengert.dialects.bytecode.files import write_module
    from wengert.ir.construction import copy_module

    if portable is None:
        module = _whole(module)
        return write_module(module, locations=locations) if version is None else write_module(module, version=version, locations=locations)
    from wengert.dialects.vhlo.versions import bytecode_version, read_version
    from wengert.transforms.portable.chlo_ops import chlo_to_stablehlo, has_written
    from wengert.transforms.portable.to_vhlo import to_vhlo

    if version is not None:
        raise ValueError("the version of bytecode follows from the target of a portable artifact")
    try:
        target = read_version(portable)
    except DiagnosticError as error:
        raise InputError(f"{error.diagnostic.message}; {error.diagnostic.hint}") from None
    if has_written(module):
        module = copy_module(module)
        chlo_to_stablehlo(module)
    return write_module(to_vhlo(module, target), version=bytecode_version(target), locations=locations, producer=f"StableHLO_v{target}")


def _whole(module: ModuleOp) -> ModuleOp:
    """The module with the regions that ops of linalg lack in text; the same one where none does."""
    from wengert.dialects.registry import has_upstream
    from wengert.ir.construction import copy_module

    if not has_upstream(module):
        return module
    from wengert.transforms.upstream.whole_linalg import has_linalg, write_whole

    if has_linalg(module):
        module = copy_module(module)
        write_whole(module)
    return module
