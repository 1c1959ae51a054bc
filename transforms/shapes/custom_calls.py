"""Custom calls that are about shapes: assertions, results of given shapes, and ops that JAX writes so for want of a dynamic form.

A call that says which of its operands are the shapes of its results (``indices_of_shape_operands``) loses these operands when
they are constants. The four ``stablehlo.dynamic_...`` calls become the ops that they stand for. An assertion on the shapes is
evaluated: one that fails is the error that it was written for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DenseIntOrFPElementsAttr, DictionaryAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from wengert.dialects import chlo, stablehlo
from wengert.dialects.stablehlo.typing.checks import fail
from wengert.dialects.stablehlo.typing.dynamic import constant_list, constant_value
from wengert.ir import elements
from wengert.ir.attributes import int_array, int_attr
from wengert.ir.construction import copy_op
from wengert.ir.tensor_types import element, i32, shape, tensor
from wengert.transforms.core.recognisers.approximate_top_k import TARGET as APPROXIMATE_TOP_K
from wengert.transforms.shapes.dynamism import SHAPE_OPERANDS


def check_assertion(op: stablehlo.CustomCallOp) -> bool:
    """Whether what is asserted is known to hold; rejects the call with its own message where it is known not to."""
    holds = constant_value(op.operands[0])
    if holds is None:
        return False
    if bool(np.all(holds)):
        return True
    message = op.attributes.get("error_message", op.properties.get("error_message"))
    text = message.data if isinstance(message, StringAttr) else "the shapes do not fit"
    values = [constant_value(value) for value in op.operands[1:]]
    fail(re.sub(r"\{(\d+)\}", lambda m: _shown(values, int(m[1])), text))


def _shown(values: Sequence[Any], index: int) -> str:
    value = values[index] if index < len(values) else None
    return "?" if value is None else str(value.reshape(-1).tolist()[0] if value.size == 1 else value.tolist())


def with_given_shapes(op: stablehlo.CustomCallOp) -> stablehlo.CustomCallOp:
    """The call without the operands that are its results' shapes, which are its results' types now."""
    attribute = op.attributes[SHAPE_OPERANDS]
    if not isinstance(attribute, DenseIntOrFPElementsAttr):
        fail(f"{SHAPE_OPERANDS} must be a list of operand numbers, found {attribute}")
    listed = elements.to_numpy(cast("DenseIntOrFPElementsAttr[Any]", attribute))
    if listed.size != len(op.results):
        fail(f"{SHAPE_OPERANDS} must name an operand for each of the {len(op.results)} results, found {attribute}")
    positions = [int(i) for i in listed.reshape(-1)]
    if not all(0 <= i < len(op.operands) for i in positions):
        fail(f"{SHAPE_OPERANDS} must name an operand for each of the {len(op.results)} results, found {positions}")
    types = [_given_type(op, i, result.type) for i, result in zip(positions, op.results, strict=True)]
    properties = dict(op.properties)
    layouts = properties.get("operand_layouts")
    if isinstance(layouts, ArrayAttr):
        kept = [layout for i, layout in enumerate(cast("ArrayAttr[Attribute]", layouts).data) if i not in positions]
        properties["operand_layouts"] = ArrayAttr(kept)
    return stablehlo.CustomCallOp.create(
        operands=[value for i, value in enumerate(op.operands) if i not in positions],
        result_types=types,
        properties=properties,
        attributes=_without_shapes(op),
        location=op.location,
    )


def _without_shapes(op: Operation) -> dict[str, Attribute]:
    return {key: value for key, value in op.attributes.items() if key != SHAPE_OPERANDS}


def _given_type(op: Operation, index: int, declared: Attribute) -> Attribute:
    extents = constant_list(op, index, f"operand #{index}", 0)
    if extents is None:
        fail(f"operand #{index}, the shape of a result, is computed from the arguments' elements")
    return tensor(extents, declared.element_type)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownArgumentType, reportUnknownMemberType]


def _needed(op: Operation, index: int, role: str, least: int | None = None) -> tuple[int, ...]:
    integers = constant_list(op, index, role, least)
    if integers is None:
        fail(f"{role} (operand #{index}) is computed from the arguments' elements")
    return integers


def dynamic_top_k(op: stablehlo.CustomCallOp, module: ModuleOp) -> Operation:
    """``(x, k)`` -> the k largest of the last dimension and their positions."""
    x, (k,) = op.operands[0], _needed(op, 1, "k", 0)
    kept = [*shape(x)[:-1], k]
    types = [tensor(kept, element(x)), tensor(kept, i32)]
    return chlo.TopKOp.create(operands=[x], result_types=types, properties={"k": int_attr(k)}, location=op.location)


def dynamic_approximate_top_k(op: stablehlo.CustomCallOp, module: ModuleOp) -> Operation:
    """``(x, positions, initial value, initial position, k)`` -> ``ApproxTopK`` with k among its options."""
    (k,) = _needed(op, 4, "k", 0)
    given = op.attributes.get("mhlo.backend_config")
    config = dict(cast("dict[str, Attribute]", given.data)) if isinstance(given, DictionaryAttr) else {}
    dimension = op.options.get("reduction_dim", 0)
    kept = [k if d == dimension else n for d, n in enumerate(shape(op.operands[0]))]
    return stablehlo.CustomCallOp.create(
        operands=list(op.operands)[:4],
        result_types=[tensor(kept, element(value)) for value in op.operands[:2]],
        properties={**op.properties, "call_target_name": StringAttr(APPROXIMATE_TOP_K)},
        attributes={**_without_shapes(op), "mhlo.backend_config": DictionaryAttr({**config, "top_k": int_attr(k)})},
        location=op.location,
    )


def dynamic_random_bits(op: stablehlo.CustomCallOp, module: ModuleOp) -> Operation:
    """``(state, shape)`` -> the next state and random bits."""
    algorithm = op.attributes.get("rng_algorithm", op.properties.get("rng_algorithm"))
    if algorithm is None:
        fail("rng_algorithm is missing")
    types = [op.operands[0].type, tensor(_needed(op, 1, "shape", 0), element(op.results[1]))]
    properties = {"rng_algorithm": algorithm}
    return stablehlo.RngBitGeneratorOp.create(operands=list(op.operands)[:1], result_types=types, properties=properties, location=op.location)


def dynamic_reduce_window(op: stablehlo.CustomCallOp, module: ModuleOp) -> Operation:
    """``(inputs, initial values, window, strides, base dilations, window dilations, padding)`` -> reduce_window."""
    n = len(op.results)
    if len(op.operands) != 2 * n + 5:
        fail(f"there must be {2 * n + 5} operands: {n} inputs, as many initial values, and five lists, found {len(op.operands)}")
    names = ("window_dimensions", "window_strides", "base_dilations", "window_dilations")
    properties: dict[str, Attribute] = {name: int_array(_needed(op, 2 * n + i, name)) for i, name in enumerate(names)}
    padding = np.array(_needed(op, 2 * n + 4, "padding"), np.int64).reshape(-1, 2)
    properties["padding"] = elements.from_numpy(padding)
    return stablehlo.ReduceWindowOp.create(
        operands=list(op.operands)[: 2 * n],
        result_types=[r.type for r in op.results],
        properties=properties,
        regions=[_called(op, module)],
        location=op.location,
    )


def _called(op: stablehlo.CustomCallOp, module: ModuleOp) -> Region:
    """The function that the call names as the region of an op."""
    names = [a.string_value() for a in op.called_computations.data if isinstance(a, SymbolRefAttr)] if op.called_computations is not None else []
    functions = {f.sym_name.data: f for f in module.body.block.ops if isinstance(f, FuncOp)}
    if len(names) != 1 or names[0] not in functions or functions[names[0]].is_declaration:
        fail(f"called_computations must name one function of the module, found {names}")
    body = functions[names[0]].body.block
    block = Block(arg_types=[a.type for a in body.args])
    values: dict[SSAValue, SSAValue] = dict(zip(body.args, block.args, strict=True))
    *ops, end = body.ops
    block.add_ops([copy_op(inner, values) for inner in ops])
    block.add_op(stablehlo.ReturnOp.create(operands=[values.get(v, v) for v in end.operands], location=end.location))
    return Region([block])


REPLACED = {
    "stablehlo.dynamic_approx_top_k": dynamic_approximate_top_k,
    "stablehlo.dynamic_reduce_window": dynamic_reduce_window,
    "stablehlo.dynamic_rng_bit_generator": dynamic_random_bits,
    "stablehlo.dynamic_top_k": dynamic_top_k,
}
"""The replacement of each call once its operands that are extents are constants."""
