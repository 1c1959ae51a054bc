"""Programs from text: read, verified, and quantized numbers written out as the integers they are stored as."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.sources import read_bytes
from wengert.ir.pipeline.stages import stage
from wengert.runtime.bytecode import is_bytecode, program_text, read_module
from wengert.runtime.dump_folders import PathLike
from wengert.runtime.errors import InputError
from wengert.runtime.identity import of_text
from wengert.runtime.program import Program, program_of

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


def load(path: PathLike, *, entry: str = "main") -> Program:
    """The program in a file: StableHLO text (pretty or generic form), MLIR bytecode, or a portable artifact of StableHLO of any version.

    Args:
        path: the file. Which of these it is, is seen from its first bytes.
        entry: the function that is the program; the others are what it calls.

    Raises:
        OSError: the file cannot be read.
        DiagnosticError: the program is not valid; names file, line and column, or the byte of bytecode.
        InputError: there is no function of the entry's name, or the file is neither bytecode nor text.
    """
    data = read_bytes(path)
    return parse(data if is_bytecode(data) else _text_of(data, path), filename=os.fspath(path), entry=entry)


def read_text(path: PathLike) -> str:
    """The text of a file, of bytecode as it is printed. Raises OSError, DiagnosticError for damaged bytecode, and InputError where it is not UTF-8."""
    data = read_bytes(path)
    return program_text(data, os.fspath(path)) if is_bytecode(data) else _text_of(data, path)


def _text_of(data: bytes, path: PathLike) -> str:
    try:
        return program_text(data, os.fspath(path))
    except DiagnosticError as error:
        what = error.diagnostic.message.partition(": ")[2]
        raise InputError(f"{error.diagnostic.place}: error: the file is not UTF-8 text: {what}") from None


@stage()
def parse(text: str | bytes, filename: str = "<string>", *, entry: str = "main") -> Program:
    """The program in a string of StableHLO text, or in bytes (text in UTF-8, MLIR bytecode, a portable artifact); ``filename`` is what diagnostics call it.
    Raises as :func:`load`."""
    if isinstance(text, bytes):
        if is_bytecode(text):
            return program_of(lambda: _decode(text, filename, entry), of_text(text.decode("latin-1"), entry), entry=entry, name=filename)
        text = program_text(text, filename)
    written = text
    return program_of(lambda: _read(written, filename, entry), of_text(written, entry), entry=entry, name=filename)


def _decode(data: bytes, filename: str, entry: str) -> ModuleOp:
    """The module in bytecode, verified."""
    from wengert.ir.verification.verifier import verify
    from wengert.runtime.known_ops import check_known
    from wengert.transforms.core.quantized import expand_quantized

    module = read_module(data, filename)
    verify(module)
    check_known(module)
    expand_quantized(module)
    return _without_upstream(module, entry)


def _read(text: str, filename: str, entry: str) -> ModuleOp:
    """The module that a text holds, verified."""
    from wengert.ir.parsing.parser import parse_module
    from wengert.ir.verification.verifier import verify
    from wengert.runtime.known_ops import check_known

    module = parse_module(text, filename)
    if "vhlo." in text:
        from wengert.transforms.portable.from_vhlo import from_vhlo, has_vhlo

        module = from_vhlo(module) if has_vhlo(module) else module
    verify(module, text, filename)
    check_known(module)
    if "quant" in text:
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
