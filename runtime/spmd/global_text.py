"""The text of a program on whole tensors: a manual computation on a mesh around what each device runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region

from wengert.dialects import sdy
from wengert.dialects.sdy_shardings import Spec, as_attribute, spec_text
from wengert.ir.construction import copy_module, insert_before
from wengert.ir.tensor_types import element, tensor

if TYPE_CHECKING:
    from wengert.runtime.spmd.global_program import SpmdProgram


def global_text(program: SpmdProgram) -> str:
    """The program as plain StableHLO with one ``sdy.manual_computation``."""
    from wengert.ir.printing.printer import print_module

    return print_module(global_module(program))


def global_module(program: SpmdProgram) -> ModuleOp:
    """The same as a module of its own."""
    from wengert.runtime.derived.derivation import plain_module, with_main

    local = program.local
    module = copy_module(with_main(plain_module(local.module), local.entry))
    main = next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main")
    inner, signature = main.body.block, local.signature
    ins, outs = (
        [tensor(program.whole_shape(p, spec), element(value)) for p, spec, value in zip(parameters, specs, values, strict=True)]
        for parameters, specs, values in (
            (signature.arguments, program.in_specs, inner.args),
            (signature.results, program.out_specs, cast(Operation, inner.last_op).operands),
        )
    )
    main.body.detach_block(inner)
    end = cast(Operation, inner.last_op)
    insert_before(end, sdy.ReturnOp.create(operands=end.operands, location=end.location))
    inner.erase_op(end)
    outer = Block(arg_types=ins)
    names = ", ".join(f'"{name}"' for name, _ in program.mesh.axes)
    computation = sdy.ManualComputationOp.create(
        operands=outer.args,
        result_types=outs,
        properties={
            "in_shardings": _per_value(program.in_specs),
            "out_shardings": _per_value(program.out_specs),
            "manual_axes": as_attribute("sdy.manual_axes", f"{{{names}}}", opaque=True),
        },
        regions=[Region([inner])],
    )
    outer.add_op(computation)
    outer.add_op(ReturnOp(*computation.results))
    main.body.add_block(outer)
    main.update_function_type()
    mesh = sdy.MeshOp.create(properties={"sym_name": StringAttr("mesh"), "mesh": as_attribute("sdy.mesh", program.mesh.text())})
    module.body.block.insert_op_before(mesh, cast(Operation, module.body.block.first_op))
    return module


def _per_value(specs: Sequence[Spec]) -> Attribute:
    listed = [f"<{spec_text(spec, 'mesh')}>" for spec in specs]
    return as_attribute("sdy.sharding_per_value", f"[{', '.join(listed)}]")
