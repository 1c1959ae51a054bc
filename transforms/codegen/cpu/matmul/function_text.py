"""The text of one LLVM function, written in order: fresh names, counted loops with carried values, addresses."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager


class Loop:
    """A counted loop that is being written: `index` runs from 0, `carry` adds a value that changes from turn to turn."""

    def __init__(self, text: FunctionText, count: int | str) -> None:
        self.text = text
        self.count = count
        self.before, self.body, self.after = (text.label() for _ in range(3))
        self.index = text.name()
        self._carried: list[tuple[str, str, str, str]] = []
        text.line(f"br label %{self.before}")
        text.line(f"{self.before}:")
        text.line(f"br label %{self.body}")
        text.line(f"{self.body}:")
        self._place = len(text.lines)
        text.open()

    def carry(self, kind: str, initial: str) -> str:
        """A value that starts as `initial`; `update` gives the value of the next turn."""
        name = self.text.name()
        self._carried.append((kind, name, initial, ""))
        return name

    def update(self, name: str, following: str) -> None:
        """The value that `name`, made by `carry`, has in the next turn (and, if asked for, after the loop)."""
        self._carried = [(kind, own, initial, following if own == name else old) for kind, own, initial, old in self._carried]

    def close(self) -> None:
        """Ends the body."""
        text, following, more, latch = self.text, self.text.name(), self.text.name(), self.text.label()
        text.close()
        phis = [f"{self.index} = phi i64 [0, %{self.before}], [{following}, %{latch}]"]
        phis += [f"{name} = phi {kind} [{initial}, %{self.before}], [{new}, %{latch}]" for kind, name, initial, new in self._carried]
        text.lines[self._place : self._place] = phis
        text.line(f"br label %{latch}")
        text.line(f"{latch}:")
        text.line(f"{following} = add nuw nsw i64 {self.index}, 1")
        text.line(f"{more} = icmp ult i64 {following}, {self.count}")
        text.line(f"br i1 {more}, label %{self.body}, label %{self.after}")
        text.line(f"{self.after}:")


class FunctionText:
    """Collects the lines of a function body."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._count = 0
        self._addresses: list[dict[str, str]] = [{}]

    def open(self) -> None:
        """Begins a loop's body: addresses computed in it are not known after it."""
        self._addresses.append({})

    def close(self) -> None:
        """Ends a loop's body."""
        self._addresses.pop()

    def name(self) -> str:
        """A fresh local name."""
        self._count += 1
        return f"%v{self._count}"

    def label(self) -> str:
        """A fresh label, without its percent sign."""
        self._count += 1
        return f"b{self._count}"

    def line(self, text: str) -> None:
        self.lines.append(text)

    def op(self, text: str) -> str:
        """Appends an instruction; returns the name of its result."""
        name = self.name()
        self.lines.append(f"{name} = {text}")
        return name

    def address(self, text: str) -> str:
        """The result of an instruction that computes with addresses, written once wherever it is known."""
        for known in self._addresses:
            if (found := known.get(text)) is not None:
                return found
        found = self._addresses[-1][text] = self.op(text)
        return found

    @contextmanager
    def loop(self, count: int | str) -> Generator[Loop, None, None]:
        """A loop of `count` >= 1 turns (a number, or the name of one)."""
        loop = Loop(self, count)
        yield loop
        loop.close()

    @contextmanager
    def repeat(self, count: int) -> Generator[str, None, None]:
        """The index of a loop of `count` turns, the constant 0 and no loop for one turn."""
        if count == 1:
            yield "0"
            return
        with self.loop(count) as loop:
            yield loop.index

    def at(self, pointer: str, kind: str, index: str, scale: int = 1, offset: int = 0) -> str:
        """The address of element index * scale + offset."""
        if index == "0" or scale == 0:
            constant = offset
        else:
            scaled = index if scale == 1 else self.address(f"mul nuw nsw i64 {index}, {scale}")
            pointer = self.address(f"getelementptr {kind}, ptr {pointer}, i64 {scaled}")
            constant = offset
        return pointer if constant == 0 else self.address(f"getelementptr {kind}, ptr {pointer}, i64 {constant}")

    def load(self, kind: str, pointer: str, align: int) -> str:
        return self.op(f"load {kind}, ptr {pointer}, align {align}")

    def store(self, kind: str, value: str, pointer: str, align: int) -> None:
        self.line(f"store {kind} {value}, ptr {pointer}, align {align}")
