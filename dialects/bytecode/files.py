"""Bytecode files of the dialects that are known here, read and written::

module = read_module(open("f.mlirbc", "rb").read(), "f.mlirbc")
data = write_module(module, version=4)
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from wengert.dialects.bytecode.encodings import encoding_of
from wengert.dialects.bytecode.properties import properties_of
from wengert.dialects.registry import vocabulary_for
from wengert.ir.bytecode import reader, writer
from wengert.ir.bytecode.sections import LATEST


def read_module(data: bytes, filename: str = "<bytes>", context: Context | None = None) -> ModuleOp:
    """The module that bytecode means; one of a portable artifact is of VHLO.

    Raises:
        DiagnosticError: the bytes are not a module; the diagnostic says what is wrong and at which byte.
    """
    return reader.read_module(data, filename, lambda names: vocabulary_for(context, names))


def write_module(module: Operation, *, version: int = LATEST, locations: bool = True, producer: str = "wengert") -> bytes:
    """A module as bytecode.

    Args:
        module: the module.
        version: the version of the format, 0 to 6.
        locations: whether to write where ops come from.
        producer: what the file says that it was written by.

    Raises:
        ValueError: there is no such version.
        DiagnosticError: an op lacks a property that its definition demands, or is held in a form that only text has.
    """
    return writer.write_module(module, encoding_of, properties_of, version=version, locations=locations, producer=producer)
