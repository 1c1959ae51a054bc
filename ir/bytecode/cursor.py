"""Reading the primitives of bytecode: bytes, integers of variable length, blobs; every reading is checked against the end of its section.

An integer is written in as many bytes as it needs: the number of zero bits that its first byte ends in says how many more bytes follow.
A signed one is written as ``2n`` or ``-2n - 1``, so that small ones stay short.
"""

from __future__ import annotations

from typing import NoReturn

from wengert.ir.diagnostics import Diagnostic, DiagnosticError

MAGIC = b"ML\xefR"
"""The bytes that every bytecode file begins with."""

ALIGNMENT_BYTE = 0xCB
"""The byte that fills up to an alignment."""


class Cursor:
    """A position in a range of the bytes of a file.

    Args:
        data: all bytes of the file, so that positions are those in the file.
        filename: what diagnostics call the file.
        start: the first position of the range.
        end: the position behind it.
    """

    __slots__ = ("data", "end", "filename", "here")
    data: bytes
    filename: str
    here: int
    end: int

    def __init__(self, data: bytes, filename: str, start: int, end: int):
        self.data, self.filename, self.here, self.end = data, filename, start, end

    def within(self, start: int, end: int) -> Cursor:
        """A cursor of another range of the same file."""
        return Cursor(self.data, self.filename, start, end)

    def fail(self, message: str, position: int | None = None, hint: str = "") -> NoReturn:
        """Raises what is wrong at a position, or here."""
        at = self.here if position is None else position
        raise DiagnosticError(Diagnostic(f"{message}, at byte {at}", self.filename, hint=hint))

    @property
    def left(self) -> int:
        """The number of bytes up to the end."""
        return self.end - self.here

    def byte(self) -> int:
        """Reads a byte."""
        here = self.here
        if here >= self.end:
            self._truncated(1)
        self.here = here + 1
        return self.data[here]

    def take(self, size: int) -> bytes:
        """Reads so many bytes."""
        here = self.here
        if size > self.end - here:
            self._truncated(size)
        self.here = here + size
        return self.data[here : here + size]

    def _truncated(self, size: int) -> NoReturn:
        self.fail(f"the bytecode is damaged or truncated: {size} more byte{'s' * (size != 1)} expected, {self.left} left")

    def varint(self) -> int:
        """Reads an unsigned integer of at most 64 bits."""
        here = self.here
        if here >= self.end:
            self._truncated(1)
        first = self.data[here]
        if first & 1:
            self.here = here + 1
            return first >> 1
        if first:
            more = (first & -first).bit_length() - 1
            if here + more >= self.end:
                self._truncated(more + 1)
            self.here = here = here + more + 1
            return int.from_bytes(self.data[here - more - 1 : here], "little") >> more + 1
        if here + 8 >= self.end:
            self._truncated(9)
        self.here = here + 9
        return int.from_bytes(self.data[here + 1 : here + 9], "little")

    def signed(self) -> int:
        """Reads a signed integer of at most 64 bits."""
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def count(self, what: str) -> int:
        """Reads the number of things that follow, each of at least a byte: a damaged one is refused before anything is made for it."""
        start = self.here
        count = self.varint()
        if count > self.end - self.here:
            self.fail(f"the bytecode is damaged: {count} {what} cannot be in the {self.left} bytes that follow", start)
        return count

    def align(self, alignment: int) -> None:
        """Moves past the bytes that fill up to a multiple of an alignment."""
        if not 0 < alignment <= 1 << 20 or alignment & (alignment - 1):
            self.fail(f"the bytecode is damaged: {alignment} is not an alignment")
        while self.here % alignment:
            if self.byte() != ALIGNMENT_BYTE:
                self.fail("the bytecode is damaged: expected a byte of alignment", self.here - 1)

    def text(self) -> str:
        """Reads a string that a zero byte ends."""
        end = self.data.find(b"\0", self.here, self.end)
        if end < 0:
            self.fail("the bytecode is damaged: this string has no end")
        start, self.here = self.here, end + 1
        return self.decoded(start, end)

    def decoded(self, start: int, end: int) -> str:
        """The bytes of a range as the text that they are."""
        try:
            return self.data[start:end].decode("utf-8")
        except UnicodeDecodeError as error:
            self.fail("the bytecode is damaged: a string is not UTF-8", start + error.start)

    def finish(self, what: str) -> None:
        """Fails where bytes are left."""
        if self.here != self.end:
            self.fail(f"the bytecode is damaged: {self.left} bytes are left over in {what}")
