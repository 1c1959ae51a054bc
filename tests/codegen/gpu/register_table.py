"""Prints how many registers kernels for NVIDIA's devices take, as a table: of the reference programs with JVP and VJP, and of large shapes.

``PYTHONPATH=tests/support WENGERT_CORPUS=DIR python tests/codegen/gpu/register_table.py``; it takes some ten minutes of one processor.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from statistics import median

from assembled_kernels import CHIPS, assembled_kernels
from core_programs import core_of
from large_programs import PROGRAMS
from reference_programs import in_all_precisions
from test_assembled_kernels import CEILINGS, core_program
from xdsl.dialects.builtin import ModuleOp

from wengert.lab.corpus import CorpusProgram

Registers = dict[tuple[str, str], list[int]]
"""Registers of each kernel, by the kernel's kind and the chip."""


def registers(programs: Iterable[Callable[[], ModuleOp]]) -> Registers:
    """The registers of all kernels of programs at core level, each made for each chip."""
    taken: Registers = defaultdict(list)
    for program in programs:
        for chip in CHIPS:
            for kernel in assembled_kernels(program(), chip):
                assert not kernel.usage.stack_bytes
                assert not kernel.usage.spill_bytes
                taken[kernel.kind, chip].append(kernel.usage.registers)
    return taken


def reference_programs() -> Iterator[Callable[[], ModuleOp]]:
    """The reference programs with their derivatives, in both precisions, at core level."""
    for program, precision in (parameter.values for parameter in in_all_precisions()):
        for kind in ("primal", "jvp", "vjp"):
            yield partial(_core, program, precision, kind)


def _core(program: CorpusProgram, precision: str, kind: str) -> ModuleOp:
    return core_of(program, precision, kind)[0]


def large_programs(dtype: str) -> Iterator[Callable[[], ModuleOp]]:
    """Layers of networks in shapes that fill a GPU, with their VJPs, at core level."""
    for name in PROGRAMS:
        for kind in ("primal", "vjp"):
            yield partial(core_program, name, kind, dtype)


def cells(taken: Registers, kind: str) -> list[str]:
    """How many kernels of a kind there are, and the median and most registers for each chip."""
    counts = [taken.get((kind, chip), []) for chip in CHIPS]
    return [str(len(counts[0]) or ""), *(f"{median(count):g}, {max(count)}" if count else "" for count in counts)]


def main() -> None:
    """Print the table."""
    columns = [registers(programs) for programs in (reference_programs(), large_programs("float32"), large_programs("bfloat16"))]
    print("kind | reference: number, sm_80, sm_90 | large f32: number, sm_80, sm_90 | large bf16: number, sm_80, sm_90 | ceiling")
    for kind, ceiling in CEILINGS.items():
        print(" | ".join([kind, *(cell for taken in columns for cell in cells(taken, kind)), str(ceiling)]))


if __name__ == "__main__":
    main()
