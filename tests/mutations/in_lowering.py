"""Mistakes on the way down: how derivatives are put together, fusion, kernels, buffers, emitted code."""

from __future__ import annotations

from mutations.mutation import Mutation
from mutations.programs import BATCH, BUFFERS, ELEMENTWISE, KERNELS, LONG, LOOP, MOVEMENTS, PERMUTED, SQUARES, TILED, WINDOWS

_T = "wengert.transforms."
_NEST = _T + "codegen.cpu.nest."


def _pass(name: str, function: str, old: str, new: str, step: str, program: str, rewrite: str = "") -> Mutation:
    """A mistake in a pass of the lower half."""
    return Mutation(name, _T + function, old, new, program, step, ("rewrite", rewrite) if rewrite else None)


MUTATIONS = (
    Mutation(
        "cotangents: the first contribution forgotten",
        _T + "ad.linear.cotangents:Cotangents._sum",
        "fewer_terms(self.b, values)",
        "fewer_terms(self.b, values[1:])",
        ELEMENTWISE,
        "vjp",
        None,
        "vjp",
    ),
    Mutation(
        "loops: the reverse loop runs forward",
        _T + "ad.rules.control_flow.loop_transposes:_transpose_for",
        "inner.subtract(last, block.args[0])",
        "inner.add(inner.scalar(0, i64), block.args[0])",
        LOOP,
        "vjp",
        ("transpose", "core.for"),
        "vjp",
    ),
    _pass(
        "fusion: a transpose the other way",
        "fuse.views:_transpose",
        "moved[operand_dim] = at[result_dim]",
        "moved[result_dim] = at[operand_dim]",
        "fuse",
        PERMUTED,
    ),
    _pass("fusion: a reversal off by one", "fuse.views:_reverse", "extents[d] - 1", "extents[d] - 2", "fuse", KERNELS),
    _pass("fusion: the strides of a slice forgotten", "fuse.views:_slice", "p.times(step).shifted(start)", "p.shifted(start)", "fuse", MOVEMENTS),
    _pass(
        "fusion: a broadcast along the wrong dimension",
        "fuse.views:_broadcast",
        "at[d] for n, d",
        "at[len(at) - 1 - (d + 1) % len(at)] for n, d",
        "fuse",
        SQUARES,
    ),
    _pass("fusion: low padding off by one", "fuse.views:pad_index", "guards.append((p, 0, n))", "guards.append((p, 1, n))", "fuse", KERNELS),
    _pass(
        "windows: padding with zeros for a maximum",
        "fuse.windows:_padded",
        "b.scalar(neutral(kind, element(x)), element(x))",
        "b.scalar(0, element(x))",
        "window-reductions",
        WINDOWS,
        "window-reductions",
    ),
    _pass(
        "batch elements: a term of a sum forgotten",
        "kernel.batch_unrolling:_MergedNest._combined",
        "for part in rest:",
        "for part in rest[1:]:",
        "unroll-batch",
        BATCH,
        "unroll-batch",
    ),
    _pass(
        "split sums: the last part forgotten",
        "kernel.split_reductions:total",
        "[count, elements]",
        "[count - 1, elements]",
        "split-reductions",
        LONG,
        "split-reduction",
    ),
    _pass(
        "buffers: memory given back too early",
        "bufferize.layout:_Assignment._place_arena",
        "ends.setdefault(storage.last, [])",
        "ends.setdefault(max(storage.last - 2, storage.first), [])",
        "bufferize",
        BUFFERS,
    ),
    _pass("buffers: half of the room", "bufferize.layout:_FreeList.take", "self.end = low + count", "self.end = low + count // 2", "bufferize", BUFFERS),
    _pass(
        "code: the last lanes of a loop forgotten",
        "codegen.cpu.nest.innermost:Innermost._unsplit",
        "self.one(totals, extent - rest, rest) if rest else totals",
        "self.one(totals, extent - rest, rest - 1) if rest > 1 else totals",
        "emit-llvm",
        KERNELS,
    ),
    _pass(
        "code: a loop one iteration short",
        "codegen.cpu.nest.emission:_Emission._loop",
        "rotated_loop(self.nest.extents[level])",
        "rotated_loop(max(self.nest.extents[level] - 1, 1))",
        "emit-llvm",
        KERNELS,
    ),
    _pass(
        "code: a sum that begins with one",
        "codegen.cpu.nest.reductions:Reductions.start",
        "else self.neutral(r, self.nest.lanes)",
        "else splat(element_of(r.write.value.type).register, '1.0', self.nest.lanes)",
        "emit-llvm",
        KERNELS,
    ),
    _pass(
        "code: a tile that ends before its loop",
        "codegen.cpu.nest.tiles:Tiles._tiles",
        "loop.index, extent - lanes)",
        "loop.index, extent - lanes - 1)",
        "emit-llvm",
        TILED,
    ),
    _pass(
        "code: products with the wrong rows",
        "codegen.cpu.matmul.row_kernel:emit_tile",
        "offset=row * plan.a_m",
        "offset=row // 2 * plan.a_m",
        "emit-llvm",
        KERNELS,
    ),
    _pass("code: the fraction of an exponential", "codegen.llvm.math.exponential:exp_fraction", "r * r, r) + 1.0", "r * r, r * r) + 1.0", "emit-llvm", WINDOWS),
)
