"""Random products under random schedules: each is refused with a reason, or right, and reads and writes nothing beside its memory."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace
from product_checks import HOST, TYPES, Array, check_guarded, compiled, compiled_parts, einsum, values

from wengert.dialects.kernel.product_schedule import Blocks, ProductSchedule, Share, Tile
from wengert.transforms.schedule.products.choice import choose, plain
from wengert.transforms.schedule.products.legality import problem_of
from wengert.transforms.schedule.products.operands import Product, product
from wengert.transforms.schedule.products.plan import parts_of, plan_of
from wengert.transforms.schedule.target import TARGETS

NARROWER = {"f64": "f32", "i32": "i8"}
EXTENTS = (1, 2, 3, 4, 5, 8, 9, 17, 24)
Operands = tuple[Array, Array, tuple[Any, Any], tuple[Any, Any]]


def drawn_product(random: Random) -> tuple[Product, Operands]:
    """A product of permuted contiguous arrays; the arrays, and the numbers of batching and contracted dimensions."""
    element = random.choice(["f32", "f64", "f32", "i32", "c64"])
    stored = [random.choice([element, NARROWER.get(element, element)]) for _ in range(2)]
    counts = [random.choice(some) for some in ((0, 0, 1), (1, 1, 2, 0), (1, 1, 2, 0), (1, 1, 2, 0))]
    batch, contracted, *free = [[random.choice(EXTENTS) for _ in range(count)] for count in counts]
    if contracted and random.random() < 0.05:
        contracted[0] = 0
    arrays, places = list[Array](), list[list[int]]()
    for seed, own in enumerate(free):
        extents = [*batch, *contracted, *own]
        order, at = ([*range(len(extents))] for _ in range(2))
        if random.random() < 0.7:
            random.shuffle(order)
        if random.random() < 0.3:
            random.shuffle(at)
        arrays.append(values(tuple(extents[d] for d in order), stored[seed], seed).transpose([order.index(d) for d in at]))
        places.append([at.index(d) for d in range(len(extents))])
    first, last = len(batch), len(batch) + len(contracted)
    batching, contracting = ((tuple(places[0][low:high]), tuple(places[1][low:high])) for low, high in ((0, first), (first, last)))
    a, b = arrays
    made = product(
        a.shape, b.shape, element, lhs_batch=batching[0], rhs_batch=batching[1], lhs_contracting=contracting[0], rhs_contracting=contracting[1],
        lhs_element=stored[0], rhs_element=stored[1], lhs_strides=[s // a.itemsize for s in a.strides], rhs_strides=[s // b.itemsize for s in b.strides],
    )  # fmt: skip
    return made, (a, b, batching, contracting)


def changes(random: Random, schedule: ProductSchedule) -> Iterator[ProductSchedule]:
    """Changes of a schedule, each of the one that was left of the change before; each may or may not be possible."""

    def tile() -> Tile:
        return Tile(random.choice((1, 2, 3, 6)), random.choice((1, 2, 3)), random.choice((1, 2, 3, 4, 8, 16)))

    for _ in range(12):
        over = random.choice(("loop", "loops", "rows", "columns", "blocks"))
        schedule = yield random.choice(
            [
                replace(schedule, blocks=None, kernel=random.choice(("rows", "packed", "gathered", "dot", "blas", "scalar", "zero"))),
                replace(
                    schedule,
                    kernel="dot",
                    blocks=None,
                    turned=random.random() < 0.5,
                    tile=Tile(random.choice((1, 2, 4)), random.choice((1, 2)), random.choice((1, 2, 4))),
                ),
                replace(
                    schedule,
                    kernel="blocked",
                    tile=tile(),
                    normalised=random.random() < 0.5,
                    last=None,
                    blocks=Blocks(random.choice((1, 5, 16)), random.choice((2, 8, 24)), random.choice((1, 6, 99))),
                ),
                replace(schedule, paired=random.random() < 0.7, normalised=False),
                replace(schedule, copied=random.choice((("lhs",), ("rhs",), ("rhs", "lhs"), ("lhs", "rhs"), ()))),
                replace(schedule, exchanged=not schedule.exchanged),
                replace(schedule, tile=tile()),
                replace(schedule, last=tile()),
                replace(schedule, accumulators=random.choice((1, 3, 8, 64)), unrolled=random.choice((0, 24, 200))),
                replace(schedule, parallel=Share(over, random.randint(1, 9), 50000), last=None),
            ]
        )


def obeyed(what: Product, schedule: ProductSchedule, operands: Operands) -> None:
    """Checks what a product computes under a schedule."""
    a, b, batching, contracting = operands
    plan, parts = plan_of(what, schedule), parts_of(what, schedule)
    function, scratch = (compiled(plan), plan.scratch_bytes) if parts is None else (compiled_parts(parts), parts.scratch_bytes)
    check_guarded(function, scratch, a, b, einsum(*[x.astype(TYPES[what.element]) for x in (a, b)], batching, contracting), what.element)


@pytest.mark.parametrize("seed", range(40))
def test_a_schedule_is_obeyed_or_refused(seed: int) -> None:
    random = Random(seed)
    for _ in range(5):
        what, operands = drawn_product(random)
        schedule = choose(what, TARGETS[random.choice(["avx2", "avx512", "neon", "sse2"])]) if random.random() < 0.5 else plain(what)
        proposals = changes(random, schedule)
        proposal = next(proposals, None)
        while proposal is not None:
            problem = problem_of(what, proposal, HOST)
            if problem is None:
                schedule = proposal
            else:
                assert all(problem), problem
            try:
                proposal = proposals.send(schedule)
            except StopIteration:
                break
        obeyed(what, schedule, operands)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_chosen_and_the_default_are_never_refused(seed: int) -> None:
    what, operands = drawn_product(Random(seed))
    for target in TARGETS.values():
        assert problem_of(what, choose(what, target), target) is None
    assert problem_of(what, plain(what)) is None
    assert plain(what).tile == Tile()
    obeyed(what, plain(what), operands)
