"""How many kernels the derivatives of the reference programs launch: what is recorded in ``launch_budget.json``, or fewer.

WENGERT_UPDATE_GOLDEN=1 records what is launched now, where that is fewer, and programs that are new.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from core_programs import core_of
from launch_counts import Launches, launches_of
from reference_programs import PROGRAMS, needs_corpus
from xdsl.dialects.builtin import ModuleOp, StringAttr

from wengert.dialects.gpu import FuncOp, LaunchFuncOp, block_size, grid_size
from wengert.dialects.kernel.buffers import AllocOp, CopyOp
from wengert.dialects.kernel.memory import Space, space_of
from wengert.ir.traversal import ops_in, ops_of
from wengert.lab.corpus import CorpusProgram
from wengert.transforms.codegen.gpu.kernels_to_gpu import POSITIONS
from wengert.transforms.lowering import function
from wengert.transforms.pipelines import gpu_lowering, parse_pipeline

FILE = Path(__file__).parent / "launch_budget.json"
BUDGET: dict[str, list[int]] = json.loads(FILE.read_text()) if FILE.exists() else {}
"""For every program the launches of its VJP in its widest precision, and those in each iteration of loops that are not counted."""
UPDATE = bool(os.environ.get("WENGERT_UPDATE_GOLDEN"))

pytestmark = [needs_corpus, pytest.mark.corpus]


def lowered(program: CorpusProgram) -> ModuleOp:
    """The VJP of a program as kernels and launches."""
    precision = "f64" if "f64" in program.precisions else program.precisions[0]
    core, _, _ = core_of(program, precision, "vjp")
    return parse_pipeline(gpu_lowering()).run(core)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_no_program_launches_more_than_before(program: CorpusProgram) -> None:
    module = lowered(program)
    launches = launches_of(module)
    expect_one_arena(module)
    expect_narrow_positions(module)
    expect_company(module)
    if UPDATE:
        record(program.name, launches)
        return
    assert program.name in BUDGET, "WENGERT_UPDATE_GOLDEN=1 records new programs"
    known, each_iteration = BUDGET[program.name]
    assert launches.known <= known
    assert launches.each_iteration <= each_iteration


def record(name: str, launches: Launches) -> None:
    """Writes what is launched now, if that is fewer."""
    recorded = json.loads(FILE.read_text()) if FILE.exists() else {}
    before = recorded.get(name, [1 << 30, 1 << 30])
    recorded[name] = [min(launches.known, before[0]), min(launches.each_iteration, before[1])]
    rows = [f"  {json.dumps(key)}: {json.dumps(recorded[key])}" for key in sorted(recorded)]
    FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n")


def expect_one_arena(module: ModuleOp) -> None:
    """Memory for temporary values is allocated once, at the beginning."""
    block = function(module, "main").body.block
    arenas = [op for op in ops_of(module, AllocOp) if space_of(op.memref.type) is Space.ARENA]
    assert len(arenas) <= 1
    assert all(op in ops_in(block) for op in arenas)


def expect_narrow_positions(module: ModuleOp) -> None:
    """No buffer here has so many elements that 32 bits would not do."""
    assert {op.attributes[POSITIONS] for op in ops_of(module, FuncOp) if op.is_kernel} <= {StringAttr("i32")}


def expect_company(module: ModuleOp) -> None:
    """A kernel of one point is launched alone only where there is no other launch before or behind it that one group could do with it."""
    for op in ops_of(module, LaunchFuncOp):
        assert op.parent is not None
        others = [other for other in ops_in(op.parent) if isinstance(other, LaunchFuncOp | CopyOp) or other.regions]
        place = others.index(op)
        near = [other for other in (others[place - 1 : place] + others[place + 1 : place + 2]) if isinstance(other, LaunchFuncOp)]
        if grid_size(op) == block_size(op) == (1, 1, 1):
            assert all(grid_size(other) != (1, 1, 1) for other in near)
