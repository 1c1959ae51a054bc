"""Position arithmetic: simplification never changes a value, and text is read back."""

import random

import pytest

from wengert.dialects.kernel.affine import parse
from wengert.dialects.kernel.positions import Position, Quotient, combine, divide, flatten, index, span, substitute, unflatten


def value(position: Position, at: list[int]) -> int:
    total = position.offset
    for atom, c in position.terms:
        if isinstance(atom, int):
            total += c * at[atom]
        else:
            inner = value(atom.expression, at)
            total += c * (inner // atom.divisor if isinstance(atom, Quotient) else inner % atom.divisor)
    return total


@pytest.mark.parametrize("seed", range(60))
def test_division_is_exact(seed: int) -> None:
    draw = random.Random(seed)
    bounds = [draw.randint(1, 6) for _ in range(draw.randint(1, 3))]
    known = [combine(draw.randint(-20, 20), [(d, draw.choice([-12, -6, -3, -1, 1, 2, 3, 4, 6, 8, 12, 24])) for d in range(len(bounds))])]
    for _ in range(3):
        known += divide(draw.choice(known), draw.choice([2, 3, 4, 6, 8, 12]), bounds)
    for _ in range(20):
        at = [draw.randrange(n) for n in bounds]
        for position in known:
            low, high = span(position, bounds)
            assert low <= value(position, at) <= high
            assert value(parse(str(position)), at) == value(position, at)
            for divisor in (2, 3, 4, 6, 12):
                quotient, remainder = divide(position, divisor, bounds)
                assert (value(quotient, at), value(remainder, at)) == divmod(value(position, at), divisor)


def test_compatible_reshapes_leave_plain_strides() -> None:
    here = (index(0), index(1), index(2))
    flat = flatten(here, (2, 3, 8))
    assert str(flat) == "d0 * 24 + d1 * 8 + d2"
    assert unflatten(flat, (6, 8), (2, 3, 8))[0] == combine(0, [(0, 3), (1, 1)])
    assert unflatten(unflatten(flat, (48,), (2, 3, 8))[0], (2, 3, 8), (2, 3, 8)) == here


def test_split_loop_becomes_affine() -> None:
    quotient, remainder = divide(index(0), 8, (48,))
    assert not quotient.is_affine()
    values = {0: combine(0, [(0, 8), (1, 1)])}
    assert substitute(quotient, values, (6, 8)) == index(0)
    assert substitute(remainder, values, (6, 8)) == index(1)


@pytest.mark.parametrize("text", ["", "d0 +", "(d0", "d0 * x", "d0 d1", "d0 floordiv 2)"])
def test_bad_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse(text)
