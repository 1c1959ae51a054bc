"""The text of the kernel dialect: what is printed means what was read. (The RUN lines of the files are for tests/passes/test_mlir_files.py.)"""

from __future__ import annotations

import random
import re
from itertools import pairwise
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import AffineMapAttr, Builtin
from xdsl.parser import Parser

from wengert.dialects.kernel import AtAttr
from wengert.dialects.kernel.affine import from_expression, from_map, parse, to_expression, to_map
from wengert.dialects.kernel.iterators import apart_loops
from wengert.dialects.kernel.positions import Position, combine, divide
from wengert.dialects.registry import make_context
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.ir.verification.verifier import verify
from wengert.transforms.pipelines import parse_pipeline

ROOT = Path(__file__).parents[2]
FILES = sorted((Path(__file__).parent / "kernel").glob("*.mlir"))


@pytest.mark.parametrize("path", [path for path in FILES if "errors" not in path.stem], ids=lambda path: path.stem)
def test_every_form_reads_back(path: Path) -> None:
    """What is printed, in the pretty form or the generic one, with locations or without, is the same module again."""
    module = parse_module(path.read_text(), path.name)
    pretty, generic = print_module(module), print_module(module, generic=True)
    located = print_module(module, locations=True)
    for text in (pretty, generic, located):
        again = parse_module(text)
        verify(again, text)
        assert print_module(again) == pretty
        assert print_module(again, generic=True) == generic
    assert Parser(make_context(), str(module)).parse_module().is_structurally_equivalent(module), "stock xDSL"
    assert print_module(parse_module(located), locations=True) == located
    assert '"kernel.' not in pretty


def positions(draw: random.Random, loops: int = 3) -> list[Position]:
    """Some positions with quotients and remainders in them."""
    bounds = [draw.randint(1, 6) for _ in range(loops)]
    known = [combine(draw.randint(-20, 20), [(d, draw.choice([-12, -6, -3, -1, 1, 2, 3, 4, 6, 8, 12, 24])) for d in range(loops)])]
    for _ in range(4):
        known += divide(draw.choice(known), draw.choice([2, 3, 4, 6, 8, 12]), bounds)
    return known + [one.times(-1).plus(other) for one, other in pairwise(known)]


@pytest.mark.parametrize("seed", range(50))
def test_positions_are_affine_expressions(seed: int) -> None:
    """Text and xDSL's affine maps both lead back to the position; xDSL reads the text as the map that it is."""
    context = Context()
    context.load_dialect(Builtin)
    for position in positions(random.Random(seed)):
        assert parse(str(position)) == position
        assert from_expression(to_expression(position)) == position
        assert from_map(to_map([position, position], 3)) == (position, position)
        map = Parser(context, f"affine_map<(d0, d1, d2) -> ({position})>").parse_attribute()
        assert isinstance(map, AffineMapAttr)
        assert from_map(map.data) == (position,)
        text = str(AtAttr(position))
        assert Parser(make_context(), text).parse_attribute() == AtAttr(position)


@pytest.mark.parametrize("seed", range(30))
def test_iterations_of_parallel_loops_never_meet(seed: int) -> None:
    draw = random.Random(seed)
    extents = [draw.randint(1, 4) for _ in range(3)]
    for _ in range(20):
        at = combine(draw.randint(0, 3), [(d, draw.choice([0, 0, -1, 1, 2, 3, 4, 8, 12, 16])) for d in range(3)])
        points = [(i, j, k) for i in range(extents[0]) for j in range(extents[1]) for k in range(extents[2])]
        value = {point: at.offset + sum(at.coefficient(d) * n for d, n in enumerate(point)) for point in points}
        for d in apart_loops(at, extents):
            assert all(value[one] != value[other] for one in points for other in points if one[d] != other[d])


def test_the_kernel_in_the_documents() -> None:
    """What `Reading the dumps` shows and explains is what the command there prints."""
    page = (ROOT / "docs" / "reading_dumps.md").read_text()
    shown = re.search(r"^    %6 = kernel\.nest.*?^    \}$", page, re.MULTILINE | re.DOTALL)
    command = re.search(r'`wengert-opt (examples/\S+) -p "(.*?)"` the second one is', page)
    assert shown is not None
    assert command is not None
    module = parse_module((ROOT / command[1]).read_text())
    assert shown[0] in print_module(parse_pipeline(command[2]).run(module))
