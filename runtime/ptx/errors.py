"""Errors of PTX programs: all are diagnostics with the line and column of the text."""

from __future__ import annotations

from wengert.ir.diagnostics import Diagnostic, DiagnosticError


class ParseError(DiagnosticError):
    """The text is not PTX as the parser knows it."""


class UnsupportedError(DiagnosticError):
    """An instruction, a form of one, or a directive that is not modelled. It is refused before anything runs."""


class Fault(DiagnosticError):
    """An action of a launch that it must not take, found while it ran.

    Attributes:
        kind: ``out of bounds``, ``misaligned``, ``read only``, ``uninitialized``, ``race``, ``divergence``, ``deadlock``, ``undefined register``,
            ``step limit``, ``trap`` or ``invalid operand``.
        thread: the coordinates in the block of the thread that did it (of the first one, if several did).
        block: the coordinates in the grid of that thread's block.
    """

    def __init__(self, diagnostic: Diagnostic, kind: str, thread: tuple[int, int, int], block: tuple[int, int, int]):
        super().__init__(diagnostic)
        self.kind = kind
        self.thread = thread
        self.block = block


class LaunchError(ValueError):
    """A launch whose grid, block or arguments do not fit the kernel."""


class MemoryAccessError(ValueError):
    """An access from the host to device memory that is not allocated, or more memory than there is."""
