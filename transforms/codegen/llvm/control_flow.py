"""Loops and branches of a function that is being written, as the builder's context managers yield them to their bodies.

Their blocks need not be known from outside: a loop or branch begins with a jump to a block of its own, as do the blocks that its phis
name, so that bodies may contain any blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence


class Loop:
    """A loop that is open.

    Attributes:
        index: the register that counts.
        values: the carried registers as the body sees them.
        results: the same after the loop.
        following: the carried values of the next iteration, as the body gives them.
    """

    __slots__ = ("following", "index", "results", "values")

    def __init__(self, index: str, values: list[str]):
        self.index = index
        self.values = values
        self.results = values
        self.following: list[str] = []

    def carry(self, *values: str) -> None:
        """Gives the carried values of the next iteration."""
        assert len(values) == len(self.values), "a loop carries as many values as it began with"
        self.following = list(values)


class WhileLoop:
    """A loop that is open, and ends where a condition fails that its body tests.

    Attributes:
        values: the carried registers; after the loop, those of the iteration in which a test failed.
        following: the carried values of the next iteration, as the body gives them.
    """

    __slots__ = ("_label", "_line", "_tests", "following", "values")

    def __init__(self, line: Callable[[str], None], label: str, values: list[str]):
        self._line = line
        self._label = label
        self._tests = 0
        self.values = values
        self.following: list[str] = []

    def test(self, condition: str) -> None:
        """Leaves the loop unless the condition holds."""
        self._tests += 1
        following = f"{self._label}.{self._tests}"
        self._line(f"br i1 {condition}, label %{following}, label %{self._label}.after")
        self._line(f"{following}:")

    def carry(self, *values: str) -> None:
        """Gives the carried values of the next iteration."""
        assert len(values) == len(self.values), "a loop carries as many values as it began with"
        self.following = list(values)


class Branches:
    """The alternatives of an ``if`` or a ``switch``, written one after another; each gives values of the same types.

    Attributes:
        results: the values of the alternative that was taken, after all of them.
    """

    def __init__(self, line: Callable[[str], None], begins: Callable[[], None], label: str, types: Sequence[str]):
        self._line = line
        self._begins = begins
        self._label = label
        self._types = types
        self._alternatives: list[tuple[list[str], str]] = []
        self._open = ""
        self.results: list[str] = []

    def begin(self, name: str) -> str:
        """Ends the alternative that is open and begins another one; its label."""
        self.end()
        self._begins()
        self._open = f"{self._label}.{name}"
        self._alternatives.append(([], f"{self._open}.end"))
        self._line(f"{self._open}:")
        return self._open

    def give(self, *values: str) -> None:
        """The results of the alternative that is open."""
        assert len(values) == len(self._types), "alternatives give values of the same types"
        self._alternatives[-1] = (list(values), self._alternatives[-1][1])

    def end(self) -> None:
        """Ends the alternative that is open."""
        if self._open:
            assert len(self._alternatives[-1][0]) == len(self._types), "an alternative must give its results"
            self._line(f"br label %{self._open}.end")
            self._line(f"{self._open}.end:")
            self._line(f"br label %{self._label}.after")
            self._open = ""

    def incoming(self, number: int) -> list[tuple[str, str]]:
        """The result of this number by the block that it comes from."""
        return [(values[number], block) for values, block in self._alternatives]


class Conditional(Branches):
    """An ``if``, whose first part is open to begin with."""

    def otherwise(self) -> None:
        """Begins the alternative for a condition that does not hold."""
        self.begin("else")


class Switch(Branches):
    """A ``switch``: alternatives by the value of an integer."""

    def __init__(self, line: Callable[[str], None], begins: Callable[[], None], label: str, types: Sequence[str]):
        super().__init__(line, begins, label, types)
        self.targets: list[tuple[int, str]] = []
        self.otherwise = ""

    def case(self, *numbers: int) -> None:
        """Begins the alternative for these values."""
        label = self.begin(f"case{numbers[0]}")
        self.targets += [(number, label) for number in numbers]

    def default(self) -> None:
        """Begins the alternative for all other values."""
        self.otherwise = self.begin("default")
