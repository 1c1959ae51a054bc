"""The base of the ops of the gpu level that are defined here: each is read and written by its declared syntax, which is upstream's."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Attribute

from wengert.dialects.facts import Facts
from wengert.ir.operations import DialectOperation
from wengert.ir.printing.printer import Writer
from wengert.ir.syntax.foreign import print_operation, read_operation
from wengert.ir.syntax.parts import Syntax


class DeviceOp(DialectOperation):
    """An op of the gpu dialect, or one of memref that xDSL lacks."""

    SYNTAX: ClassVar[Syntax | None] = None
    FACTS: ClassVar[Facts | None] = None

    def __init_subclass__(cls, **arguments: object) -> None:
        """Lets stock xDSL read and write the op by its syntax."""
        super().__init_subclass__(**arguments)
        if cls.SYNTAX is not None:
            cls.parse = classmethod(read_operation)  # pyright: ignore[reportAttributeAccessIssue]
            cls.print = print_operation  # pyright: ignore[reportAttributeAccessIssue]


def shown(type: Attribute) -> str:
    """A type in a message, as it is written in programs."""
    return Writer().attribute_text(type)
