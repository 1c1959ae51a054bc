"""Which op is which of another program: matched by what they compute and what becomes of them, not by names or order."""

from __future__ import annotations

import random
import re

import pytest

import wengert as wg
from wengert.lab.diff.difference import Difference, diff

CHAIN = """func.func public @main(%x: tensor<4xf64>, %w: tensor<4xf64>) -> tensor<4xf64> {
  %0 = stablehlo.multiply %x, %w : tensor<4xf64>
  %1 = stablehlo.sine %0 : tensor<4xf64>
  %2 = stablehlo.exponential %1 : tensor<4xf64>
  %3 = stablehlo.add %2, %x : tensor<4xf64>
  %4 = stablehlo.tanh %3 : tensor<4xf64>
  return %4 : tensor<4xf64>
}
"""
LOOP = """func.func public @main(%x: tensor<3xf64>, %n: tensor<i32>) -> tensor<3xf64> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<3xf64>
    cond {
      %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %i1 = stablehlo.add %i, %one : tensor<i32>
      %s = stablehlo.sine %a : tensor<3xf64>
      %t = stablehlo.multiply %s, %x : tensor<3xf64>
      stablehlo.return %i1, %t : tensor<i32>, tensor<3xf64>
    }
  %y = stablehlo.multiply %r#1, %x : tensor<3xf64>
  return %y : tensor<3xf64>
}
"""


def compare(a: str, b: str) -> Difference:
    return diff(wg.parse(a, "a.mlir"), wg.parse(b, "b.mlir"))


def after(text: str, line: str, new: str) -> str:
    """The text with a line behind that which begins so."""
    return re.sub(rf"(?m)^( *{re.escape(line)}.*\n)", rf"\1{new}\n", text)


@pytest.mark.parametrize("text", [CHAIN, LOOP])
def test_a_program_and_itself(text: str) -> None:
    difference = compare(text, text)
    assert difference.equal
    assert difference.headline.startswith("+0 -0 ~0, ")
    assert not difference.changes


def test_names_and_places_do_not_matter() -> None:
    renamed = re.sub(r"%(\d)", r"%v\1", CHAIN).replace("\n  %v1", "\n\n\n      %v1")
    assert compare(CHAIN, renamed).equal


def test_operands_that_may_change_places() -> None:
    assert compare(CHAIN, CHAIN.replace("multiply %x, %w", "multiply %w, %x").replace("add %2, %x", "add %x, %2")).equal
    assert not compare(CHAIN.replace("add", "subtract"), CHAIN.replace("add %2, %x", "subtract %x, %2")).equal


def test_an_inserted_op_is_one_change() -> None:
    """All ops below it compute something else; what becomes of them is the same."""
    more = after(CHAIN, "%1 =", "  %n = stablehlo.negate %1 : tensor<4xf64>").replace("exponential %1", "exponential %n")
    difference = compare(CHAIN, more)
    assert (difference.headline, difference.rewired) == ("+1 -0 ~0, 6 alike", 1)
    (change,) = difference.changes
    assert (change.kind, change.after) == ("added", "%n = stablehlo.negate %1 : tensor<4xf64>")
    assert change.notes == ("%2 = stablehlo.exponential reads it in place of %1",)
    assert change.flops == 4
    (source,) = difference.sources
    assert source.place == ("b.mlir", 4, 3)
    assert compare(more, CHAIN).headline == "+0 -1 ~0, 6 alike"


def test_an_op_that_became_another_one() -> None:
    difference = compare(CHAIN, CHAIN.replace("stablehlo.exponential", "stablehlo.tanh"))
    assert difference.headline == "+0 -0 ~1, 5 alike"
    (change,) = difference.changes
    assert (change.before, change.after) == ("%2 = stablehlo.exponential %1 : tensor<4xf64>", "%2 = stablehlo.tanh %1 : tensor<4xf64>")


def test_an_op_that_reads_another_value() -> None:
    difference = compare(CHAIN, CHAIN.replace("add %2, %x", "add %2, %0"))
    (change,) = difference.changes
    assert change.kind == "changed"
    assert change.notes == ("reads %0 in place of %x",)


def test_in_a_loop() -> None:
    more = after(LOOP, "%s =", "      %m = stablehlo.negate %s : tensor<3xf64>").replace("multiply %s, %x", "multiply %m, %x")
    difference = compare(LOOP, more)
    assert difference.headline.startswith("+1 -0 ~0")
    (change,) = [c for c in difference.changes if c.kind == "added"]
    assert str(change.flops) == "3 T0", "the iterations are known when it runs"


def test_an_op_that_left_a_loop() -> None:
    inside = LOOP.replace("multiply %s, %x", "multiply %s, %q").replace("      %s =", "      %q = stablehlo.exponential %x : tensor<3xf64>\n      %s =")
    outside = LOOP.replace("multiply %s, %x", "multiply %s, %q").replace("  %r:2 =", "  %q = stablehlo.exponential %x : tensor<3xf64>\n  %r:2 =")
    difference = compare(inside, outside)
    (change,) = [c for c in difference.changes if c.kind != "alike"]
    assert change.kind == "changed"
    assert change.notes == ("moved from the region of %r#0 = stablehlo.while to @main",)


def test_repeated_ops_that_were_merged() -> None:
    twice = after(CHAIN, "%0 =", "  %z = stablehlo.multiply %x, %w : tensor<4xf64>").replace("add %2, %x", "add %2, %z")
    difference = diff(wg.parse(twice), wg.parse(twice).apply("cse"))
    assert difference.headline == "+0 -1 ~0, 6 alike"


def test_arguments_and_results() -> None:
    p = wg.parse(CHAIN)
    difference = diff(p, p.vjp())
    assert any(line.startswith("arguments: ") for line in difference.signature)
    assert difference.counts["removed"] == 0
    assert difference.counts["alike"] >= 5
    assert all(change.derivation for change in difference.changes if change.kind == "added")


def test_every_change_under_its_source() -> None:
    p = wg.parse(CHAIN, "p.mlir")
    difference = diff(p, p.vjp())
    changed = {source.place[1]: source for source in difference.sources if source.changes}
    assert set(changed) - {0} <= set(range(1, 8))
    roles = [change.derivation for change in changed[6].changes if change.kind == "added"]
    assert roles
    assert all(role.endswith("stablehlo.tanh") for role in roles)


def test_weights_add_up() -> None:
    p = wg.parse(CHAIN, "p.mlir")
    difference = diff(p.jvp(), p.vjp())
    totals = {total.name: total.b - total.a for total in difference.totals}
    assert sum((source.flops for source in difference.sources), 0 * totals["ops"]) == totals["flops"]
    assert sum(source.kept for source in difference.sources) == totals["kept"]
    assert sum(source.peak for source in difference.sources) == totals["peak"]


def random_chain(seed: int, size: int) -> list[str]:
    """Lines of a random program of unary and binary ops."""
    draw = random.Random(seed)
    lines: list[str] = []
    for n in range(size):
        names = ["%x", "%w", *(f"%v{i}" for i in range(max(0, n - 12), n))]
        if draw.random() < 0.5:
            lines.append(f"  %v{n} = stablehlo.{draw.choice(['sine', 'tanh', 'negate'])} {draw.choice(names)} : tensor<4xf64>")
        else:
            lines.append(f"  %v{n} = stablehlo.{draw.choice(['add', 'multiply', 'subtract'])} {draw.choice(names)}, {draw.choice(names)} : tensor<4xf64>")
    return lines


def unread(lines: list[str]) -> list[str]:
    """The values that no line reads: the results."""
    used = {name for line in lines for name in re.findall(r"%v\d+", line.partition("=")[2])}
    return [f"%v{n}" for n in range(len(lines)) if f"%v{n}" not in used]


def program(lines: list[str], ends: list[str]) -> str:
    types = ", ".join(["tensor<4xf64>"] * len(ends))
    head = f"func.func public @main(%x: tensor<4xf64>, %w: tensor<4xf64>) -> ({types}) {{"
    return "\n".join([head, *lines, f"  return {', '.join(ends)} : {types}", "}", ""])


@pytest.mark.parametrize("seed", range(12))
def test_one_op_more_in_a_random_program(seed: int) -> None:
    lines = random_chain(seed, 60)
    readers_of = {n: [m for m in range(n + 1, len(lines)) if re.search(rf"%v{n}\b", lines[m].partition("=")[2])] for n in range(20, 50)}
    at = random.Random(seed).choice([n for n, readers in readers_of.items() if readers])
    name, readers = f"%v{at}", readers_of[at]
    edited = list(lines)
    for n in readers:
        head, _, rest = lines[n].partition("=")
        edited[n] = f"{head}={re.sub(rf'{name}(?![0-9])', '%extra', rest)}"
    edited.insert(at + 1, f"  %extra = stablehlo.cosine {name} : tensor<4xf64>")
    difference = compare(program(lines, unread(lines)), program(edited, unread(lines)))
    assert (difference.counts["added"], difference.counts["removed"], difference.counts["changed"]) == (1, 0, 0), str(difference)


def test_a_long_program() -> None:
    lines = random_chain(3, 3000)
    edited = [line.replace("sine", "cosine") if n == 1700 else line for n, line in enumerate(lines)]
    edited[1700] = re.sub(r"stablehlo\.\w+ (%\w+).*", r"stablehlo.cosine \1 : tensor<4xf64>", lines[1700])
    difference = compare(program(lines, unread(lines)), program(edited, unread(lines)))
    assert difference.counts["alike"] >= 2990
    assert not difference.equal
