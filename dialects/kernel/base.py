"""The base class of the kernel dialect's ops."""

from __future__ import annotations

from typing import ClassVar

from wengert.ir.operations import DialectOperation
from wengert.ir.syntax.foreign import print_operation, read_operation
from wengert.ir.syntax.parts import Syntax


class KernelOp(DialectOperation):
    """An op of the dialect: stock xDSL reads and writes it by its syntax, too."""

    SYNTAX: ClassVar[Syntax]

    def __init_subclass__(cls, **arguments: object) -> None:
        super().__init_subclass__(**arguments)
        if not hasattr(cls, "mnemonics"):  # what several names stand for has the generic form there
            cls.parse = classmethod(read_operation)  # pyright: ignore[reportAttributeAccessIssue]
            cls.print = print_operation  # pyright: ignore[reportAttributeAccessIssue]
