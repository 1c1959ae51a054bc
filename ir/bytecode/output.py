"""Writing the primitives of bytecode, as :mod:`wengert.ir.bytecode.cursor` reads them."""

from __future__ import annotations


class Output:
    """Bytes that grow at their end."""

    def __init__(self) -> None:
        self.data = bytearray()

    @property
    def size(self) -> int:
        """The number of bytes so far."""
        return len(self.data)

    def byte(self, value: int) -> None:
        """Writes a byte."""
        self.data.append(value)

    def put(self, data: bytes | bytearray) -> None:
        """Writes bytes."""
        self.data += data

    def varint(self, value: int) -> None:
        """Writes an unsigned integer of at most 64 bits in as few bytes as hold it."""
        if value < 128:
            self.data.append(value << 1 | 1)
            return
        bits = value.bit_length()
        if bits > 56:
            self.data.append(0)
            self.data += value.to_bytes(8, "little")
            return
        size = -(-bits // 7)
        self.data += ((value << 1 | 1) << size - 1).to_bytes(size, "little")

    def signed(self, value: int) -> None:
        """Writes a signed integer of at most 64 bits."""
        self.varint(value << 1 if value >= 0 else (-value - 1) << 1 | 1)

    def flagged(self, value: int, flag: bool) -> None:
        """Writes an unsigned integer and a flag as one."""
        self.varint(value << 1 | flag)

    def text(self, text: str) -> None:
        """Writes a string and the zero byte that ends it."""
        self.data += text.encode("utf-8", "surrogateescape")
        self.data.append(0)
