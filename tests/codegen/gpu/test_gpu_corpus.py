"""The reference programs and their derivatives at the gpu level: every nest has a schedule that can be obeyed, and the kernels give the right results
in the interpreter, which executes threads in lockstep and refuses accesses that race, whatever legal schedule they were made by."""

from __future__ import annotations

import random

import pytest
from core_programs import core_of
from reference_programs import assert_agrees, in_all_precisions, needs_corpus, share
from xdsl.utils.exceptions import VerifyException

from wengert.dialects.kernel import NestOp
from wengert.dialects.kernel.buffers import LaunchOp
from wengert.dialects.kernel.gpu_schedule import GpuSchedule, GpuScheduleAttr, Reduce, Tile, Transpose
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.verification.verifier import verify
from wengert.lab.corpus import CorpusProgram
from wengert.runtime.interpreter import run
from wengert.transforms.pipelines import GPU_LOWER, gpu_lowering, parse_pipeline
from wengert.transforms.schedule.gpu.conflicts import apart
from wengert.transforms.schedule.gpu.legality import check_gpu
from wengert.transforms.schedule.gpu.products import product_of
from wengert.transforms.schedule.gpu.target import GPU_TARGETS


@needs_corpus
@pytest.mark.corpus
@pytest.mark.parametrize("kind", ["primal", "jvp", "vjp"])
@pytest.mark.parametrize(("program", "precision"), share(in_all_precisions(), 10))
def test_results(program: CorpusProgram, precision: str, kind: str) -> None:
    core, inputs, outputs = core_of(program, precision, kind)
    module = parse_pipeline(gpu_lowering()).run(core)
    verify(module)
    assert_agrees(program, kind, precision, run(module, inputs), outputs)


@needs_corpus
@pytest.mark.corpus
@pytest.mark.parametrize(("program", "precision"), share(in_all_precisions(), 10))
def test_every_nest_has_a_schedule_for_every_gpu_and_becomes_a_kernel(program: CorpusProgram, precision: str) -> None:
    for target in GPU_TARGETS:
        core, _, _ = core_of(program, precision, "vjp")
        module = parse_pipeline(f"{GPU_LOWER},schedule{{target={target}}}").run(core)
        nests = [op for op in module.walk() if isinstance(op, NestOp)]
        for nest in nests:
            assert nest.gpu_schedule is not None
            nest.gpu_schedule.verify()
            check_gpu(nest, nest.gpu_schedule.data)
        launched = parse_pipeline(f"bufferize{{target={target}}},kernels-to-gpu").run(module)
        verify(launched)
        assert not [op for op in launched.walk() if isinstance(op, LaunchOp) and isinstance(op.kernel, NestOp)]


@needs_corpus
@pytest.mark.corpus
@pytest.mark.parametrize(("program", "precision"), share(in_all_precisions(), 20))
def test_random_schedules(program: CorpusProgram, precision: str) -> None:
    core, inputs, outputs = core_of(program, precision, "vjp")
    module = parse_pipeline(GPU_LOWER).run(core)
    generator = random.Random(program.name)
    for op in module.walk():
        if isinstance(op, NestOp):
            op.properties["gpu_schedule"] = GpuScheduleAttr(drawn(op, generator))
    launched = parse_pipeline("schedule{target=gpu},bufferize{target=gpu},kernels-to-gpu").run(module)
    assert_agrees(program, "vjp", precision, run(launched, inputs), outputs)


def drawn(op: NestOp, generator: random.Random) -> GpuSchedule:
    """A schedule that can be obeyed."""
    while True:
        schedule = _drawn(op, generator)
        try:
            schedule.verify()
            check_gpu(op, schedule)
        except (DiagnosticError, VerifyException):
            continue
        return schedule


def _drawn(op: NestOp, generator: random.Random) -> GpuSchedule:
    """A schedule that may be one that can be obeyed; now and then one for sure."""
    loops = list(range(len(op.extents)))
    if 0 in op.extents or generator.random() < 0.1:
        return GpuSchedule(serial=tuple(loops), group=1)
    product = product_of(op)
    if product is not None and generator.random() < 0.5:
        thread = (generator.choice((1, 2, 4)), generator.choice((1, 2)))
        sides = [each * generator.choice((1, 2, 8)) for each in thread]
        tile = Tile((generator.choice(product.rows), generator.choice(product.columns), product.depth), (*sides, generator.choice((1, 3, 8))), thread)
        return GpuSchedule(tuple([d for d in loops if d not in tile.loops]), tile=tile, group=tile.group)
    generator.shuffle(loops)
    safe = apart(op)
    threads = tuple([d for d in loops if d in safe and generator.random() < 0.7])
    rest = [d for d in loops if d not in threads]
    cut, group = generator.randint(0, len(rest)), generator.choice((1, 4, 32))
    reduce = Reduce(tuple(rest[:cut]), generator.choice((1, 2, 4)) if group > 1 else 1, generator.random() < 0.4, generator.choice((1, 1, 3))) if cut else None
    if reduce is None and not rest and len(threads) > 1 and generator.random() < 0.5:
        return GpuSchedule(threads, transpose=Transpose(generator.choice(threads[:-1]), generator.choice((2, 8))), group=group)
    return GpuSchedule(threads, generator.choice((1, 1, 2, 4)), serial=tuple(rest[cut:]), reduce=reduce, atomic=generator.random() < 0.2, group=group)
