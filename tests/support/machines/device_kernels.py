"""Small kernels of the gpu level for tests: a body around which a module and a host function are put."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import indent
from typing import Any

import numpy as np

from wengert.ir.parsing.parser import parse_module
from wengert.ir.verification.verifier import verify
from wengert.runtime.interpreter import run

Array = np.ndarray[Any, np.dtype[Any]]


def program(body: str, arguments: str, *, grid: int = 1, block: int = 8, attributions: str = "", functions: str = "") -> str:
    """A module whose ``main`` launches a kernel of this body on its arguments. The last argument is the result."""
    entries = [entry.strip() for entry in arguments.split(";")]
    typed = ", ".join(entry.replace(":", " :", 1) for entry in entries)
    known = f"attributes {{known_block_size = array<i32: {block}, 1, 1>}}"
    return f"""module attributes {{gpu.container_module}} {{
  gpu.module @kernels {{
{indent(functions, "    ")}
    gpu.func @kernel({", ".join(entries)}) {attributions} kernel {known} {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %t = gpu.thread_id x
      %b = gpu.block_id x
      %n = gpu.block_dim x
      %base = arith.muli %b, %n : index
      %g = arith.addi %base, %t : index
{indent(body, "      ")}
      gpu.return
    }}
  }}
  func.func @main({", ".join(entries)} {{kernel.result}}) {{
    %one = arith.constant 1 : index
    %grid = arith.constant {grid} : index
    %block = arith.constant {block} : index
    gpu.launch_func @kernels::@kernel blocks in (%grid, %one, %one) threads in (%block, %one, %one) args({typed})
    return
  }}
}}
"""


def run_kernel(body: str, arguments: str, inputs: Sequence[Any], **options: Any) -> Array:
    """What the kernel writes to its last argument."""
    text = program(body, arguments, **options)
    module = parse_module(text, "kernel.mlir")
    verify(module, text)
    (result,) = run(module, inputs)
    return result


GRID = """module {
  func.func @main(%x: memref<120xi32, 1>, %y: memref<120xi32, 1> {kernel.result}) {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c5 = arith.constant 5 : index
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c5, %gy = %c1, %gz = %c2) threads(%tx, %ty, %tz) in (%sx = %c3, %sy = %c2, %sz = %c2) {
      %0 = arith.muli %bz, %gx : index
      %1 = arith.addi %0, %bx : index
      %2 = arith.muli %1, %sz : index
      %3 = arith.addi %2, %tz : index
      %4 = arith.muli %3, %sy : index
      %5 = arith.addi %4, %ty : index
      %6 = arith.muli %5, %sx : index
      %7 = arith.addi %6, %tx : index
      %8 = arith.addi %7, %by : index
      %v = memref.load %x[%8] : memref<120xi32, 1>
      %i = gpu.global_id z
      %j = arith.index_cast %i : index to i32
      %r = arith.addi %v, %j : i32
      memref.store %r, %y[%8] : memref<120xi32, 1>
      gpu.terminator
    }
    return
  }
}
"""
"""A launch whose body uses what is around it, on a grid and work-groups of three dimensions."""
