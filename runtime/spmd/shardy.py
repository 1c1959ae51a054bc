"""Programs with sharding annotations as what each device runs, by Shardy's own passes, which come with jaxlib.

Propagation decides how every value is split, explicit reshards make the change of it an op, these become collectives, and shapes become those of blocks. The
passes run in a process of their own: some of them end the process where they fail.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from wengert.dialects import sdy
from wengert.dialects.sdy_shardings import Mesh, Sharding, Spec, meshes_of, resolved
from wengert.ir.attributes import int_attr
from wengert.ir.construction import copy_module
from wengert.ir.tensor_types import shape
from wengert.ir.traversal import all_ops
from wengert.runtime.errors import InputError
from wengert.transforms.core.inline import inline
from wengert.transforms.core.recognisers.communication import number_groups
from wengert.transforms.core.symbol_dce import symbol_dce
from wengert.transforms.spmd.exchanges import exchange_rows
from wengert.transforms.spmd.localize import Local, declared_shardings, forget_attributes
from wengert.transforms.spmd.whole_dimensions import keep_whole

PASSES = (
    "func.func(chlo-legalize-to-stablehlo)",
    "sdy-propagation-pipeline",
    "func.func(sdy-insert-explicit-reshards{enable-full-version=true})",
    "func.func(sdy-reshard-to-collectives)",
    "sdy-convert-global-to-local",
)
"""Without the full version of explicit reshards the last one ends the process."""

_SCRIPT = """
import sys
from jax._src.interpreters import mlir
from jaxlib.mlir import ir, passmanager
from jaxlib.mlir.dialects import sdy, stablehlo
stablehlo.register_stablehlo_passes()

def every_op(module):
    ops = []
    module.operation.walk(lambda op: (ops.append(op), ir.WalkResult.ADVANCE)[1], ir.WalkOrder.PRE_ORDER)
    return ops

def run(module, name, verified):
    passes = passmanager.PassManager.parse(f"builtin.module({name})")
    passes.enable_verifier(verified)
    passes.run(module.operation)

def extents(value):
    return ir.RankedTensorType(value.type).shape

# The last pass leaves the arguments of loops, and the extents in attributes of slices, as they were. So it is given a copy of each argument, which
# it does convert, and these are taken away behind it.
def copy_arguments(loop):
    shardings = sdy.TensorShardingPerValueAttr(loop.attributes["sdy.sharding"]).shardings
    copies = []
    for region in loop.regions:
        block = region.blocks[0]
        for argument, sharding in zip(block.arguments, shardings, strict=True):
            with ir.InsertionPoint.at_block_begin(block), loop.location:
                attribute = sdy.TensorShardingPerValueAttr.get([sharding])
                copy = ir.Operation.create("stablehlo.convert", [argument.type], [argument], {"sdy.sharding": attribute, "wengert.copy": ir.UnitAttr.get()})
            argument.replace_all_uses_except(copy.result, copy)

# Reductions over devices are sums after that pass, whatever reduced the blocks before them.
def combine_alike(op):
    blocks = op.operands[0].owner
    if not isinstance(blocks, ir.Block) and blocks.name == "stablehlo.reduce":
        how, (add, *_) = blocks.regions[0].blocks[0].operations[0].operation.name, op.regions[0].blocks[0].operations
        with ir.InsertionPoint(add), add.operation.location:
            other = ir.Operation.create(how, [add.operation.results[0].type], list(add.operation.operands))
        add.operation.results[0].replace_all_uses_with(other.result)
        add.operation.erase()

def adapt(op):
    name, attributes, results = op.name, op.attributes, op.results
    if name == "stablehlo.while":
        for region in op.regions:
            for argument, operand in zip(region.blocks[0].arguments, op.operands, strict=True):
                argument.set_type(operand.type)
    elif "wengert.copy" in attributes:
        results[0].replace_all_uses_with(op.operands[0])
        op.erase()
    elif name == "stablehlo.all_reduce":
        combine_alike(op)
    elif name == "stablehlo.dynamic_slice":
        attributes["slice_sizes"] = ir.DenseI64ArrayAttr.get(extents(results[0]))
    elif name == "stablehlo.slice":
        limits = map(min, ir.DenseI64ArrayAttr(attributes["limit_indices"]), extents(op.operands[0]))
        attributes["limit_indices"] = ir.DenseI64ArrayAttr.get(list(limits))

with mlir.make_ir_context():
    module = ir.Module.parse(sys.stdin.read())
    *first, last = sys.argv[1:]
    for name in first:
        run(module, name, True)
    for op in every_op(module):
        if op.name == "stablehlo.while" and "sdy.sharding" in op.attributes:
            copy_arguments(op)
    run(module, last, False)
    for op in every_op(module):
        adapt(op)
    module.operation.verify()
    print(module.operation.get_asm(enable_debug_info=True))
"""
_SECONDS = 300


def partitioned(module: ModuleOp, name: str) -> Local:
    """The program that each device runs, of a module with sharding annotations whose entry is ``@main``.

    Raises:
        InputError: the module names no mesh with devices, jaxlib is not there, or Shardy's passes refuse the program.
    """
    from wengert.ir.printing.printer import print_module
    from wengert.runtime.derived.derivation import plain_module
    from wengert.runtime.loading import parse

    if not any(mesh.axes for mesh in meshes_of(module).values()):
        hint = "with wg.spmd(p, mesh, in_specs, out_specs) it is what each device runs"
        raise InputError(f"{name} says of no mesh of devices (sdy.mesh), so it is a program for one device; {hint}")
    if find_spec("jaxlib") is None or find_spec("jax") is None:
        raise InputError(
            f"{name} has sharding annotations, which Shardy's passes turn into what each device runs; they come with jaxlib: pip install 'wengert[jax]'"
        )
    flat = copy_module(plain_module(module))  # calls are split as a whole, with one sharding for each of their results
    inline(flat)
    symbol_dce(flat)
    keep_whole(flat, next(name for name, mesh in meshes_of(flat).items() if mesh.axes))
    text = print_module(flat, locations=True)
    local = parse(_passed(text, name), name).module
    return _described(local)


def _passed(text: str, name: str) -> str:
    """The text after Shardy's passes."""
    command = [sys.executable, "-c", _SCRIPT, *PASSES]
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise InputError(f"{name}: Shardy's passes have taken more than {_SECONDS} s") from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        reason = next((line for line in reversed(lines) if "error:" in line), lines[-1] if lines else f"exit code {done.returncode}")
        raise InputError(f"{name}: Shardy's passes refuse the program: {reason.strip()}")
    return done.stdout


def _described(module: ModuleOp) -> Local:
    meshes = meshes_of(module)
    inline(module)
    symbol_dce(module)
    main = next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main")
    mesh = next(mesh for mesh in meshes.values() if mesh.axes)
    arguments, results = declared_shardings(main)
    ends = main.body.block.last_op
    assert ends is not None
    in_specs = tuple(_spec(s, len(shape(x)), meshes) for s, x in zip(arguments, main.body.block.args, strict=True))
    out_specs = tuple(_spec(s, len(shape(y)), meshes) for s, y in zip(results, ends.operands, strict=True))
    number_groups(module)
    for op in [op for op in module.ops if isinstance(op, sdy.MeshOp)]:
        module.body.block.erase_op(op)
    forget_attributes(main)
    for op in all_ops(main):
        for key in [key for key in op.attributes if key.startswith("sdy.")]:
            del op.attributes[key]
    module.attributes["mhlo.num_partitions"], module.attributes["mhlo.num_replicas"] = int_attr(mesh.size, 32), int_attr(1, 32)
    exchange_rows(module)
    return Local(module, mesh, in_specs, out_specs)


def _spec(sharding: Sharding | None, rank: int, meshes: dict[str, Mesh]) -> Spec:
    if sharding is None or not resolved(sharding, meshes).axes:
        return ((),) * rank
    return sharding.spec
