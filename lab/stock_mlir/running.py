"""Calls a function of a text in upstream dialects with arrays, in a process of stock MLIR's.

A function without arguments is put beside it, which has the arrays as constants, calls it, and writes the bytes of the results to the standard output::

    func.func @wengert_call() {
      %a0 = arith.constant dense<"0x000000000000F03F..."> : tensor<3xf64>
      %r = func.call @main(%a0) : (tensor<3xf64>) -> tensor<3xf64>
      %m0 = bufferization.to_buffer %r : tensor<3xf64> to memref<3xf64>
      ...
      func.call @write(%one, %at, %bytes) : (i32, i64, i64) -> i64

The C library's ``write`` and ``malloc`` are all that it needs: what upstream copies by its own runtime library (``memrefCopy``, for rows that are apart) is
written here too, so no library has to be found.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from wengert.ir.printing.printer import print_module
from wengert.ir.tensor_types import dtype_of, is_boolean, is_complex, shape_of_type
from wengert.lab.stock_mlir.pipelines import TO_LLVM
from wengert.lab.stock_mlir.tools import StockError, StockMLIR

Array = np.ndarray[Any, np.dtype[Any]]
ENTRY = "wengert_call"

_COPY = """
llvm.func @wengert_copy(%rank: i64, %size: i64, %from: !llvm.ptr, %to: !llvm.ptr, %extents: !llvm.ptr, %steps_from: !llvm.ptr, %steps_to: !llvm.ptr) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %is_element = llvm.icmp "eq" %rank, %zero : i64
  llvm.cond_br %is_element, ^element, ^dimension
^element:
  "llvm.intr.memcpy"(%to, %from, %size) <{isVolatile = false}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
  llvm.return
^dimension:
  %count = llvm.load %extents : !llvm.ptr -> i64
  %step_from = llvm.load %steps_from : !llvm.ptr -> i64
  %step_to = llvm.load %steps_to : !llvm.ptr -> i64
  %bytes_from = llvm.mul %step_from, %size : i64
  %bytes_to = llvm.mul %step_to, %size : i64
  %inner = llvm.sub %rank, %one : i64
  %inner_extents = llvm.getelementptr %extents[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %inner_from = llvm.getelementptr %steps_from[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %inner_to = llvm.getelementptr %steps_to[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.br ^next(%zero : i64)
^next(%i: i64):
  %more = llvm.icmp "slt" %i, %count : i64
  llvm.cond_br %more, ^row, ^end
^row:
  %at_from = llvm.mul %i, %bytes_from : i64
  %at_to = llvm.mul %i, %bytes_to : i64
  %row_from = llvm.getelementptr %from[%at_from] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %row_to = llvm.getelementptr %to[%at_to] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  llvm.call @wengert_copy(%inner, %size, %row_from, %row_to, %inner_extents, %inner_from, %inner_to)
    : (i64, i64, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
  %following = llvm.add %i, %one : i64
  llvm.br ^next(%following : i64)
^end:
  llvm.return
}
llvm.func @memrefCopy(%size: i64, %from: !llvm.ptr, %to: !llvm.ptr) {
  %rank = llvm.load %from : !llvm.ptr -> i64
  %place_from = llvm.getelementptr %from[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %place_to = llvm.getelementptr %to[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %buffer_from = llvm.load %place_from : !llvm.ptr -> !llvm.ptr
  %buffer_to = llvm.load %place_to : !llvm.ptr -> !llvm.ptr
  %aligned_from = llvm.getelementptr %buffer_from[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %aligned_to = llvm.getelementptr %buffer_to[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %memory_from = llvm.load %aligned_from : !llvm.ptr -> !llvm.ptr
  %memory_to = llvm.load %aligned_to : !llvm.ptr -> !llvm.ptr
  %offset_from = llvm.getelementptr %buffer_from[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %offset_to = llvm.getelementptr %buffer_to[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %elements_from = llvm.load %offset_from : !llvm.ptr -> i64
  %elements_to = llvm.load %offset_to : !llvm.ptr -> i64
  %bytes_from = llvm.mul %elements_from, %size : i64
  %bytes_to = llvm.mul %elements_to, %size : i64
  %first_from = llvm.getelementptr %memory_from[%bytes_from] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %first_to = llvm.getelementptr %memory_to[%bytes_to] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %extents = llvm.getelementptr %buffer_from[24] : (!llvm.ptr) -> !llvm.ptr, i8
  %extents_to = llvm.getelementptr %buffer_to[24] : (!llvm.ptr) -> !llvm.ptr, i8
  %steps_from = llvm.getelementptr %extents[%rank] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %steps_to = llvm.getelementptr %extents_to[%rank] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  llvm.call @wengert_copy(%rank, %size, %first_from, %first_to, %extents, %steps_from, %steps_to)
    : (i64, i64, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
  llvm.return
}
func.func private @write(i32, i64, i64) -> i64
"""
"""What upstream's runtime library does for copies between views; a recursion over their dimensions."""


def run(mlir: StockMLIR, module: ModuleOp, inputs: Sequence[Array], function: str = "main") -> list[Array]:
    """The results of a function of a module in upstream dialects, on tensors of static shape.

    Args:
        mlir: the installation.
        module: what ``to-linalg`` leaves.
        inputs: an array for each argument; they are converted to its type.
        function: the name of the function.

    Raises:
        StockError: stock MLIR does not take the text, or not all results came.
    """
    return executed(mlir, module, compiled(mlir, module, inputs, function), function)


def compiled(mlir: StockMLIR, module: ModuleOp, inputs: Sequence[Array], function: str = "main") -> str:
    """A module, with the call of a function of it with arrays, in the LLVM dialect; arguments and errors as of :func:`run`."""
    return mlir.after(with_call(module, _named(module, function), inputs), TO_LLVM)


def executed(mlir: StockMLIR, module: ModuleOp, lowered: str, function: str = "main") -> list[Array]:
    """The results of the call in what :func:`compiled` gave for a module."""
    types: list[Any] = [*_named(module, function).function_type.outputs]
    data, results = mlir.output(lowered, ENTRY), list[Array]()
    if len(data) != sum(map(_bytes, types)):
        raise StockError(f"the results are {sum(map(_bytes, types))} bytes, {len(data)} came")
    for type in types:
        results.append(np.frombuffer(data[: _bytes(type)], dtype_of(type.element_type)).reshape(shape_of_type(type)))
        data = data[_bytes(type) :]
    return results


def _named(module: ModuleOp, function: str) -> FuncOp:
    return next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == function)


def with_call(module: ModuleOp, callee: FuncOp, inputs: Sequence[Array]) -> str:
    """The text of a module, with a function ``@wengert_call`` that calls one of it with arrays and writes the results' bytes."""
    types, results = list(callee.function_type.inputs), list(callee.function_type.outputs)
    lines = ["  %one = arith.constant 1 : i32"]
    for number, (array, type) in enumerate(zip(inputs, types, strict=True)):
        lines += _constant(f"%a{number}", np.asarray(array), cast("TensorType[Any]", type))
    arguments = ", ".join(f"%a{number}" for number in range(len(types)))
    signature = f"({', '.join(map(str, types))}) -> ({', '.join(map(str, results))})"
    lines.append(f"  {f'%r:{len(results)} = ' if results else ''}func.call @{callee.sym_name.data}({arguments}) : {signature}")
    for number, type in enumerate(results):
        lines += _written(number, cast("TensorType[Any]", type))
    text = print_module(module).rstrip().removesuffix("}")
    return "\n".join((text + _COPY + f"func.func @{ENTRY}() {{", *lines, "  return", "}", "}")) + "\n"


def _bytes(type: Attribute) -> int:
    own = cast("TensorType[Any]", type)
    return prod(shape_of_type(own)) * dtype_of(own.element_type).itemsize


def _tensor(extents: Sequence[int], element: object) -> str:
    return f"tensor<{''.join(f'{n}x' for n in extents)}{element}>"


def _constant(name: str, array: Array, type: TensorType[Any]) -> list[str]:
    """Lines that define a value as an array."""
    element, extents = type.element_type, shape_of_type(type)
    data = np.ascontiguousarray(array.astype(dtype_of(element)).reshape(extents)).tobytes()
    dense = f'dense<"0x{data.hex().upper()}">' if data else "dense<>"
    if is_boolean(element):
        bytes_ = _tensor(extents, "i8")
        return [f"  {name}_ = arith.constant {dense} : {bytes_}", f"  {name} = arith.trunci {name}_ : {bytes_} to {type}"]
    if not is_complex(element):
        return [f"  {name} = arith.constant {dense} : {type}"]
    # one part after the other, in memory: bufferization has no constants of complex numbers
    pairs = _tensor((*extents, 2), element.element_type)
    at = "".join(f"%i{d}, " for d in range(len(extents)))
    made = [
        "    %zero = arith.constant 0 : index",
        "    %one_ = arith.constant 1 : index",
        f"    %re = tensor.extract {name}_[{at}%zero] : {pairs}",
        f"    %im = tensor.extract {name}_[{at}%one_] : {pairs}",
        f"    %z = complex.create %re, %im : {element}",
    ]
    arguments = ", ".join(f"%i{d}: index" for d in range(len(extents)))
    lines = [f"  {name}_ = arith.constant {dense} : {pairs}"]
    if extents:
        return [*lines, f"  {name} = tensor.generate {{", f"  ^bb0({arguments}):", *made, f"    tensor.yield %z : {element}", f"  }} : {type}"]
    scalar = [line.replace("%zero", f"{name}_0").replace("%one_", f"{name}_1").replace("%re", f"{name}_re").replace("%im", f"{name}_im") for line in made]
    return [*lines, *(line.replace("%z ", f"{name}_z ") for line in scalar), f"  {name} = tensor.from_elements {name}_z : {type}"]


def _written(number: int, type: TensorType[Any]) -> list[str]:
    """Lines that write the bytes of a result."""
    buffer = str(type).replace("tensor", "memref", 1)
    result = f"%r#{number}"
    return [
        f"  %m{number} = bufferization.to_buffer {result} : {type} to {buffer}",
        f"  %p{number} = memref.extract_aligned_pointer_as_index %m{number} : {buffer} -> index",
        f"  %w{number} = arith.index_cast %p{number} : index to i64",
        f"  %n{number} = arith.constant {_bytes(type)} : i64",
        f"  %d{number} = func.call @write(%one, %w{number}, %n{number}) : (i32, i64, i64) -> i64",
    ]
