"""The data flow on one page: the passes by name, and the pipelines that the compiler is made of.

.. code-block:: text

    StableHLO --FRONT--> core-level IR --jvp, vjp--> its derivative --OPTIMIZE--> less of it --BACK--> StableHLO
                                                                              `--FINISH--> what is run
                                                                                              |
             assembly <--EMIT-- kernels on buffers <--SCHEDULE, BUFFERIZE-- kernels <--LOWER--'

A name leads to an import path, so that nothing is imported before it runs.
"""

from __future__ import annotations

from functools import lru_cache

from wengert.ir.pipeline.dumps import MEMORY
from wengert.ir.pipeline.passes import PASSES, Pipeline

PASS_PATHS = {
    # transforms/core: StableHLO to core-level IR and back
    "inline": "wengert.transforms.core.inline:InlinePass",
    "expand-quantized": "wengert.transforms.core.quantized:ExpandQuantizedPass",
    "symbol-dce": "wengert.transforms.core.symbol_dce:SymbolDcePass",
    "to-core": "wengert.transforms.core.to_core:ToCorePass",
    "expand-compound": "wengert.transforms.core.compound:ExpandCompoundPass",
    "expand-functions": "wengert.transforms.core.functions:ExpandFunctionsPass",
    "drop-matrices": "wengert.transforms.core.recognisers.systems:DropMatricesPass",
    "tapes-to-stacks": "wengert.transforms.core.tapes_to_stacks:TapesToStacksPass",
    "on-one-device": "wengert.transforms.core.one_device:OneDevicePass",
    "from-core": "wengert.transforms.core.from_core:FromCorePass",
    # transforms/shapes: programs that leave extents open
    "refine-shapes": "wengert.transforms.shapes.refine:RefineShapesPass",
    # transforms/upstream: programs in upstream MLIR's dialects
    "from-upstream": "wengert.transforms.upstream.passes:FromUpstreamPass",
    "lower-affine": "wengert.transforms.upstream.affine:LowerAffinePass",
    "memrefs-to-values": "wengert.transforms.upstream.memrefs.memrefs_to_values:MemrefsToValuesPass",
    "to-linalg": "wengert.transforms.upstream.out.to_linalg:ToLinalgPass",
    "scalars-to-tensors": "wengert.transforms.upstream.scalars:ScalarsToTensorsPass",
    "values-to-stablehlo": "wengert.transforms.upstream.passes:ValuesToStablehloPass",
    # transforms/portable: VHLO, which portable artifacts are made of
    "chlo-to-stablehlo": "wengert.transforms.portable.chlo_ops:ChloToStablehloPass",
    "stablehlo-to-vhlo": "wengert.transforms.portable.to_vhlo:StablehloToVhloPass",
    "vhlo-to-stablehlo": "wengert.transforms.portable.from_vhlo:VhloToStablehloPass",
    # transforms/ad: derivatives
    "jvp": "wengert.transforms.ad.passes:JvpPass",
    "vjp": "wengert.transforms.ad.passes:VjpPass",
    "vjp-direct": "wengert.transforms.ad.passes:VjpDirectPass",
    "linearize": "wengert.transforms.ad.passes:LinearizePass",
    "transpose": "wengert.transforms.ad.passes:TransposePass",
    "join": "wengert.transforms.ad.passes:JoinPass",
    "batch": "wengert.transforms.ad.batching.passes:BatchPass",
    "jacfwd": "wengert.transforms.ad.jacobians.dense:JacfwdPass",
    "jacrev": "wengert.transforms.ad.jacobians.dense:JacrevPass",
    "joined-jacobian": "wengert.transforms.ad.jacobians.joined:JoinedJacobianPass",
    "forward-gradient": "wengert.transforms.ad.jacobians.forward_gradient:ForwardGradientPass",
    "seeded-jacobian": "wengert.transforms.ad.jacobians.seeded:SeededJacobianPass",
    "sparse-jacobian": "wengert.transforms.ad.jacobians.sparse:SparseJacobianPass",
    "sparse-hessian": "wengert.transforms.ad.jacobians.sparse_hessian:SparseHessianPass",
    "mixed-jacobian": "wengert.transforms.ad.jacobians.mixed:MixedJacobianPass",
    "compressed-jacobian": "wengert.transforms.ad.jacobians.compressed:CompressedJacobianPass",
    "eliminate": "wengert.transforms.ad.elimination.eliminate_pass:EliminatePass",
    "offload": "wengert.transforms.offload.offload_pass:OffloadPass",
    "edge-pushing": "wengert.transforms.ad.edge_pushing.push_pass:EdgePushingPass",
    "checkpoint": "wengert.transforms.checkpoint.checkpoint_pass:CheckpointPass",
    "vjp-within": "wengert.transforms.checkpoint.vjp_within:VjpWithinPass",
    "taylor": "wengert.transforms.ad.taylor.taylor_pass:TaylorPass",
    "expand-ad": "wengert.transforms.ad.passes:ExpandAdPass",
    "lower-ad": "wengert.transforms.ad.passes:LowerAdPass",
    # transforms/optimize: the same with fewer ops
    "simplify": "wengert.transforms.optimize.simplify:SimplifyPass",
    "cse": "wengert.transforms.optimize.cse:CsePass",
    "dce": "wengert.transforms.optimize.dce:DcePass",
    "licm": "wengert.transforms.optimize.licm:LicmPass",
    # transforms/spmd: programs for many devices
    "exchanges": "wengert.transforms.spmd.exchanges:ExchangesPass",
    "needless-collectives": "wengert.transforms.spmd.needless:NeedlessCollectivesPass",
    "place-sums": "wengert.transforms.spmd.place_sums:PlaceSumsPass",
    # transforms/linalg: factorisations of matrices for targets without libraries
    "factorizations-to-loops": "wengert.transforms.linalg.factorizations_to_loops:FactorizationsToLoopsPass",
    # transforms/fuse: core-level IR in forms for which there is better code, then kernels
    "check-compilable": "wengert.transforms.fuse.check:CheckCompilablePass",
    "promote-accumulators": "wengert.transforms.fuse.promote:PromoteAccumulatorsPass",
    "convert-operands": "wengert.transforms.fuse.operand_conversions:ConvertOperandsPass",
    "order-updates": "wengert.transforms.fuse.updates.order:OrderUpdatesPass",
    "distribute-products": "wengert.transforms.fuse.distribution.distribute_products:DistributeProductsPass",
    "convolution-patches": "wengert.transforms.fuse.patches:ConvolutionPatchesPass",
    "double-windows": "wengert.transforms.fuse.wide_windows:DoubleWindowsPass",
    "window-reductions": "wengert.transforms.fuse.windows:WindowReductionsPass",
    "split-complex-products": "wengert.transforms.fuse.complex_products:SplitComplexProductsPass",
    "pick-elements": "wengert.transforms.fuse.single_elements:PickElementsPass",
    "tile-products": "wengert.transforms.fuse.tiles.tile_products:TileProductsPass",
    "expand-short-products": "wengert.transforms.fuse.short_products:ExpandShortProductsPass",
    "sorts-to-networks": "wengert.transforms.fuse.sorting.sorts:SortsToNetworksPass",
    "fourier-to-stages": "wengert.transforms.fuse.fourier.transforms:FourierToStagesPass",
    "tape-sums-to-reads": "wengert.transforms.fuse.updates.tape_sums:TapeSumsToReadsPass",
    "expand-regions": "wengert.transforms.fuse.regions:ExpandRegionsPass",
    "expand-random-bits": "wengert.transforms.fuse.random_bits:ExpandRandomBitsPass",
    "widen-narrow-elements": "wengert.transforms.fuse.narrow:WidenNarrowElementsPass",
    "scatters-to-gathers": "wengert.transforms.fuse.updates.scatters:ScattersToGathersPass",
    "fuse": "wengert.transforms.fuse.build:FusePass",
    # transforms/bufferize: kernels on buffers
    "bufferize": "wengert.transforms.bufferize.bufferize:BufferizePass",
    # transforms/kernel: the same kernels in another shape
    "unroll-batch": "wengert.transforms.kernel.batch_unrolling:UnrollBatchPass",
    "strip-mine": "wengert.transforms.kernel.strip_mining:StripMinePass",
    "split-reductions": "wengert.transforms.kernel.split_reductions:SplitReductionsPass",
    "unroll-phases": "wengert.transforms.kernel.phase_unrolling:UnrollPhasesPass",
    "hoist-reads": "wengert.transforms.kernel.reordering:HoistReadsPass",
    "stage-updates": "wengert.transforms.kernel.update_staging:StageUpdatesPass",
    "fission": "wengert.transforms.kernel.fission:FissionPass",
    "natives-to-nests": "wengert.transforms.kernel.native_nests.native_nests:NativesToNestsPass",
    "products-to-nests": "wengert.transforms.kernel.product_nests:ProductsToNestsPass",
    "narrow-stores": "wengert.transforms.kernel.narrow_stores:NarrowStoresPass",
    "winograd": "wengert.transforms.kernel.winograd:WinogradPass",
    "collapse-loops": "wengert.transforms.kernel.collapsing:CollapseLoopsPass",
    "elide-copies": "wengert.transforms.kernel.copy_elision:ElideCopiesPass",
    # transforms/schedule: how each kernel runs on a target
    "fuse-epilogues": "wengert.transforms.kernel.epilogues:FuseEpiloguesPass",
    "schedule": "wengert.transforms.schedule.schedule_pass:SchedulePass",
    # transforms/codegen/gpu: kernels on buffers to launches of a device, and these to kernels of its modules
    "kernels-to-gpu": "wengert.transforms.codegen.gpu.kernels_to_gpu:KernelsToGpuPass",
    "merge-launches": "wengert.transforms.codegen.gpu.merging.merge_launches:MergeLaunchesPass",
    "gpu-kernel-outlining": "wengert.transforms.codegen.gpu.outlining:GpuKernelOutliningPass",
    "nvvm-attach-target": "wengert.transforms.codegen.gpu.attach_target:NvvmAttachTargetPass",
    "rocdl-attach-target": "wengert.transforms.codegen.gpu.attach_target:RocdlAttachTargetPass",
    "spirv-attach-target": "wengert.transforms.codegen.gpu.attach_target:SpirvAttachTargetPass",
    "gpu-module-to-binary": "wengert.transforms.codegen.gpu.device.binaries:GpuModuleToBinaryPass",
}
"""Every pass by name: the module and class that it is imported from."""

TRANSLATION_PATHS = {
    # transforms/codegen: kernels to text that is no MLIR
    "emit-llvm": "wengert.transforms.codegen.cpu.translations:EmitLlvm",
    "optimize-llvm": "wengert.transforms.codegen.cpu.translations:OptimizeLlvm",
    "emit-asm": "wengert.transforms.codegen.cpu.translations:EmitAsm",
    "emit-gpu-llvm": "wengert.transforms.codegen.gpu.device.translations:EmitGpuLlvm",
    "optimize-gpu-llvm": "wengert.transforms.codegen.gpu.device.translations:OptimizeGpuLlvm",
    "emit-gpu-asm": "wengert.transforms.codegen.gpu.device.translations:EmitGpuAsm",
}
"""Every translation by name: what may end a pipeline."""

PASSES.add(PASS_PATHS)
PASSES.add(TRANSLATION_PATHS)
MEMORY.append("wengert.transforms.analysis.stage_memory:stage_memory")

FRONT = "to-core{keep-custom=true}"
"""From StableHLO as it is written to core-level IR, which is what derivatives are taken of. Calls are inlined, but for those of
functions that declare derivatives of their own."""

OPTIMIZE = "simplify,cse,dce"
"""The same program with fewer ops; run after every derivative."""

INVARIANT = "licm{certain=true},cse,dce"
"""The additional passes for a program with loops before it is differentiated: what does not change is not kept for every iteration."""

FINISH = "lower-ad,simplify,cse,dce"
"""From core-level IR that may still be differentiated to IR that is only to be run."""

STACKS = "tapes-to-stacks"
"""Runs after reverse mode: loops of a known number of iterations have recorded on tapes."""

LOOPS = f"{STACKS},drop-matrices,licm,cse,dce"
"""The passes for a program with loops before it is compiled."""

BACK = f"lower-ad{{keep-stopped=true}},{STACKS},from-core,cse,dce"
"""From core-level IR to plain StableHLO, which XLA reads. Where gradients are stopped stays in it, as a mark that XLA does not look at."""


TO_UPSTREAM = (
    f"to-core,lower-ad{{keep-stopped=true}},{STACKS},expand-functions,factorizations-to-loops,fourier-to-stages,expand-random-bits,from-core,cse,dce,to-linalg"
)
"""From StableHLO or core-level IR to upstream MLIR's ``linalg``, ``scf``, ``arith`` and ``math`` on tensors."""

CANONICALIZE = (
    "distribute-products{reassociate=true},double-windows{reassociate=true},promote-accumulators,order-updates,convolution-patches,window-reductions{reassociate=true},"
    "split-complex-products,expand-short-products"
)
"""Core-level IR in the forms that fusion and the kernels are good at."""

KERNELS = "unroll-batch{reassociate=true},strip-mine{reassociate=true},split-reductions,unroll-phases,hoist-reads,stage-updates,collapse-loops,elide-copies"
"""Kernels in the shapes that run fast. Each of these passes may be left out."""

TILES = "pick-elements,tile-products{reassociate=true}"
"""Products that are much larger than their operands, a tile at a time, so that they are never in memory as a whole; single elements of rows first."""

PROMOTE = "promote-accumulators{target=cpu}"
"""The same as in :data:`CANONICALIZE`, for a processor."""

LOWER = (
    f"expand-functions,check-compilable,{CANONICALIZE.replace('promote-accumulators', PROMOTE)},convert-operands,{TILES},fuse,{KERNELS},"
    "winograd{reassociate=true}"
)
"""From core-level IR to kernels."""

GPU_KERNELS = (
    "unroll-batch{reassociate=true},hoist-reads,stage-updates,natives-to-nests{reassociate=true},products-to-nests,narrow-stores,fission,collapse-loops"
)
"""Kernels in the shapes that run fast on a GPU: all that can be are nests, of as many iterations as there are."""

WHOLE_OPS = (
    "factorizations-to-loops,expand-regions,sorts-to-networks,fourier-to-stages,expand-random-bits,"
    "tape-sums-to-reads,widen-narrow-elements,scatters-to-gathers{reassociate=true}"
)
"""What has code of its own on a CPU, as ops on whole tensors, for targets whose kernels are all made from nests."""

GPU_LOWER = f"expand-functions,check-compilable,{WHOLE_OPS},{CANONICALIZE},fuse{{target=gpu}},{GPU_KERNELS}"
"""From core-level IR to kernels for a GPU."""


SCHEDULE = "schedule"
"""From kernels to kernels that say how they run: the order of loops, vectors, threads."""

EPILOGUES = "fuse-epilogues"
"""Large products and what is computed from their results element by element are one kernel."""

BUFFERIZE = "bufferize"
"""From kernels on values to kernels on buffers."""

EMIT = "emit-llvm,optimize-llvm,emit-asm"
"""From kernels on buffers to the assembly of this machine, or of another one, if these name a target. (The compiler goes on from LLVM text to an object file
instead.)"""


EMIT_GPU = "emit-gpu-llvm,optimize-gpu-llvm,emit-gpu-asm"
"""From modules of a device that have a target to its assembly. (The compiler goes on from LLVM text to the object that a driver loads instead.)"""

PTX = "nvvm-attach-target{chip=sm_90 features=+ptx80}"
"""Says that kernels are compiled for NVIDIA's devices."""

AMDGPU = "rocdl-attach-target{chip=gfx942}"
"""Says that kernels are compiled for AMD's devices."""

SPIRV = "spirv-attach-target{ver=v1.4 caps=Kernel,Addresses,Float64,Int64,Int16,Int8 client-api=OpenCL}"
"""Says that kernels are compiled for devices that OpenCL drivers offer."""


def gpu_placing(target: str = "gpu", *, strict: bool = False, tf32: bool = False) -> str:
    """From kernels to kernels of a GPU (a name that ``schedule`` knows): schedules, memory, a body for each launch, small launches merged, and modules of
    kernels that equal launches share. Sums keep their order if ``strict``; products of f32 may be of tf32 if ``tf32``."""
    options = "".join(f" {name}=true" for name, chosen in (("strict", strict), ("tf32", tf32)) if chosen)
    merged = "merge-launches" if target == "gpu" else f"merge-launches{{target={target}}}"
    return f"schedule{{target={target}{options}}},bufferize{{target={target}}},kernels-to-gpu,{merged},gpu-kernel-outlining"


def gpu_lowering(target: str = "gpu", *, strict: bool = False, tf32: bool = False) -> str:
    """From core-level IR to kernels of a GPU: :data:`GPU_LOWER`, without what reassociates sums if ``strict``, and :func:`gpu_placing`."""
    kernels = GPU_LOWER.replace("{reassociate=true}", "") if strict else GPU_LOWER
    return f"{kernels},{gpu_placing(target, strict=strict, tf32=tf32)}"


def lowering(*, reassociate: bool = True, target: str = "cpu") -> str:
    """:data:`LOWER`, or for programs whose sums keep their order the same without what reassociates; for a processor by name."""
    text = LOWER
    if target != "cpu":
        text = text.replace(PROMOTE, PROMOTE.replace("cpu", target)).replace("convert-operands", f"convert-operands{{target={target}}}")
    return text if reassociate else text.replace("{reassociate=true}", "").replace("split-reductions,", "")


def placing(*, strict: bool = False) -> str:
    """:data:`SCHEDULE`, :data:`EPILOGUES` and :data:`BUFFERIZE`, for programs whose sums keep their order if ``strict``."""
    return joined(*[f"{name}{{strict=true}}" if strict else name for name in (SCHEDULE, EPILOGUES)], BUFFERIZE)


def emission(*, strict: bool = False, flush_subnormals: bool = False, opt: str = "best", debug_lines: bool = False) -> str:
    """:func:`placing` and :data:`EMIT` with these options of the compiler."""
    given = (("strict=true", strict), ("flush-subnormals=true", flush_subnormals), ("debug-lines=true", debug_lines))
    options = " ".join([name for name, chosen in given if chosen])
    emit = f"emit-llvm{{{options}}}" if options else "emit-llvm"
    return joined(placing(strict=strict), emit, *(("optimize-llvm", "emit-asm") if opt == "best" else (f"emit-asm{{opt={opt}}}",)))


def joined(*pipelines: str) -> str:
    """The text of pipelines that follow one another; empty ones are left out."""
    return ",".join([text for text in pipelines if text])


def parse_pipeline(text: str) -> Pipeline:
    """The pipeline that is written so, of our passes and those of plug-ins; a DiagnosticError points at a mistake."""
    return _parsed(text, PASSES.version)


@lru_cache(maxsize=256)
def _parsed(text: str, version: int) -> Pipeline:
    return Pipeline.parse(text)
