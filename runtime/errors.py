"""Errors of running a program, for users, raised with the argument or the op and its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.ir import Operation


class InputError(ValueError):
    """The arguments do not fit the program: wrong number, shape or dtype, or an entry function that is not there."""


class ExecutionError(RuntimeError):
    """An op could not be executed: the interpreter does not implement it, or the program broke one of its own assertions.

    Attributes:
        op: the op; None of an error that is no single op's.
        finding: the message without the place.
    """

    op: Operation | None = None
    finding: str

    def __init__(self, op: Operation, message: str):
        from wengert.ir.location.places import describe_around  # here, because calls of compiled programs do without IR
        from wengert.ir.unregistered import written_name

        self.op, self.finding = op, f"'{written_name(op)}' {message}"
        super().__init__(f"{describe_around(op)}: error: {self.finding}")


class UnsupportedOpError(ExecutionError):
    """An op, or a form of it, that is refused rather than executed wrongly."""


class CommunicationError(ExecutionError):
    """The devices of a program do not meet: they wait for each other, are at different collectives, or one of them is gone."""

    def __init__(self, message: str):
        self.finding = message
        RuntimeError.__init__(self, message)
