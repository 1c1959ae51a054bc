"""Programs from text: read, verified, and quantized numbers written out as the integers they are stored as."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.sources import decoded, read_bytes
from wengert.ir.pipeline.stages import stage
from wengert.runtime.dump_folders import PathLike
from wengert.runtime.errors import InputError
from wengert.runtime.identity import of_text
from wengert.runtime.program import Program, program_of

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


def load(path: PathLike, *, entry: str = "main") -> Program:
    """The program in a file of StableHLO text (pretty or generic form).

    Args:
        path: the file.
        entry: the function that is the program; the others are what it calls.

    Raises:
        OSError: the file cannot be read.
        DiagnosticError: the text is not a valid program; names file, line and column.
        InputError: there is no function of the entry's name, or the file holds bytecode.
    """
    return parse(read_text(path), filename=os.fspath(path), entry=entry)


def read_text(path: PathLike) -> str:
    """The text of a file. Raises OSError, and InputError where it holds bytecode or is not UTF-8."""
    data = read_bytes(path)
    if data.startswith(b"ML\xefR"):
        raise InputError(f"{os.fspath(path)} is MLIR bytecode; wengert reads MLIR text (str(module) instead of a serialized artifact)")
    try:
        return decoded(data, os.fspath(path))
    except DiagnosticError as error:
        what = error.diagnostic.message.partition(": ")[2]
        raise InputError(f"{error.diagnostic.place}: error: the file is not UTF-8 text: {what}") from None


@stage()
def parse(text: str, filename: str = "<string>", *, entry: str = "main") -> Program:
    """The program in a string of StableHLO text; ``filename`` is what diagnostics call it. Raises as :func:`load`."""
    return program_of(lambda: _read(text, filename, entry), of_text(text, entry), entry=entry, name=filename)


def _read(text: str, filename: str, entry: str) -> ModuleOp:
    """The module that a text holds, verified."""
    from wengert.ir.parsing.parser import parse_module
    from wengert.ir.verification.verifier import verify
    from wengert.runtime.known_ops import check_known

    module = parse_module(text, filename)
    verify(module, text)
    check_known(module)
    if "!quant." in text:
        from wengert.transforms.core.quantized import expand_quantized

        expand_quantized(module)
    return _without_upstream(module, entry)


def _without_upstream(module: ModuleOp, entry: str) -> ModuleOp:
    """The module in StableHLO; where its types leave extents open, with what needs no shapes done, so that its functions are those of tensors."""
    from wengert.dialects.registry import has_upstream

    if not has_upstream(module):
        return module
    from wengert.transforms.shapes.dynamism import is_dynamic
    from wengert.transforms.upstream.pipeline import from_upstream, prepare

    prepare(module)
    if not is_dynamic(module):
        from_upstream(module, entry)
    return module


def restore(text: str, entry: str, name: str) -> Program:
    """The program that was pickled: its text was verified before, so that it is only parsed again."""
    from wengert.ir.parsing.parser import parse_module

    return Program(parse_module(text, name), entry=entry, name=name)
