"""PTX to test with: kernels around one instruction, kernels from a body, and kernels that LLVM makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from machine_code import assembly

from wengert.runtime import ptx

HEADER = ".version 8.0\n.target sm_90\n.address_size 64\n"
REGISTERS = """
.reg .pred %p<20>;
.reg .b16 %h<20>;
.reg .b32 %r<40>;
.reg .b64 %d<40>;
"""


def module_text(body: str, parameters: Sequence[str] = ("u64",), *, name: str = "kernel", before: str = "", variables: str = "", directives: str = "") -> str:
    """A module with one kernel whose parameters are ``p0``, ``p1`` and so on, with registers %p, %h, %r and %d."""
    formal = ", ".join(f".param .{type} p{k}" for k, type in enumerate(parameters))
    return f"{HEADER}{before}\n.visible .entry {name}({formal}) {directives}\n{{{REGISTERS}{variables}\n{body}\n}}\n"


def image_of(text: str, memory: ptx.Memory | None = None) -> tuple[ptx.Image, ptx.Memory]:
    """The module of a text in a memory."""
    memory = memory or ptx.Memory(1 << 22)
    return ptx.Image(ptx.parse(text, "test.ptx"), memory), memory


def launched(body: str, arrays: Sequence[Any] = (), *, threads: int = 32, blocks: int = 1, checks: ptx.Checks | None = None, **options: Any) -> list[Any]:
    """The arrays after a kernel whose parameters are their addresses; an array of zeros with a dtype and no contents is given as ``(dtype, count)``."""
    parameters = ["u64"] * len(arrays)
    image, memory = image_of(module_text(body, parameters, **options))
    places: list[tuple[int, int, Any]] = []
    for array in arrays:
        if isinstance(array, tuple):
            places.append((memory.allocate(array[1] * np.dtype(array[0]).itemsize), array[1], array[0]))
        else:
            places.append((memory.put(array), len(array), array.dtype))
    image.launch("kernel", grid=blocks, block=threads, arguments=[address for address, _, _ in places], checks=checks)
    return [memory.contents(address, count * np.dtype(dtype).itemsize).view(dtype).copy() for address, count, dtype in places]


def lane_address(register: str, parameter: str, size: int) -> str:
    """Instructions that put the address of a thread's element of an array in a register; %r30, %d30 and %d31 are used."""
    return f"""
    mov.u32 %r30, %ctaid.x; mov.u32 %r31, %ntid.x; mov.u32 %r32, %tid.x; mad.lo.u32 %r30, %r30, %r31, %r32;
    ld.param.u64 %d30, [{parameter}]; mul.wide.u32 %d31, %r30, {size}; add.u64 {register}, %d30, %d31;"""


_REGISTER = {"pred": "%p", 1: "%h", 2: "%h", 4: "%r", 8: "%d"}


def applied(instruction: str, result: Any, operands: Sequence[Any], *, forms: str | None = None, checks: ptx.Checks | None = None) -> Any:
    """What an instruction makes of arrays of operands, element for element: an array of the dtype ``result``, or of booleans for ``pred``.

    An operand is an array (of booleans for a predicate) or the text of a constant. ``forms`` is the text of the operands if it is not the plain
    list, with ``{d}`` for the result and ``{0}``, ``{1}`` for the operands.
    """
    count = max(len(o) for o in operands if not isinstance(o, str))
    body: list[str] = []
    names: list[str] = []
    arrays: list[Any] = []
    for k, operand in enumerate(operands):
        if isinstance(operand, str):
            names.append(operand)
            continue
        array = np.ascontiguousarray(operand)
        size = array.dtype.itemsize
        name = f"{_REGISTER[size]}{k + 1}"
        body += [lane_address("%d29", f"p{len(arrays)}", size), f"ld.global.b{8 * size} {name}, [%d29];"]
        if array.dtype == bool:
            body.append(f"setp.ne.b16 %p{k + 1}, {name}, 0;")
            name = f"%p{k + 1}"
        names.append(name)
        arrays.append(array)
    predicate = result == "pred"
    size = 1 if predicate else np.dtype(result).itemsize
    target = "%p0" if predicate else f"{_REGISTER[size]}0"
    body.append(f"{instruction} {(forms or ', '.join(['{d}', *[f'{{{k}}}' for k in range(len(names))]])).format(*names, d=target)};")
    if predicate:
        body.append("selp.b16 %h0, 1, 0, %p0;")
        target = "%h0"
    body += [lane_address("%d29", f"p{len(arrays)}", size), f"st.global.b{8 * size} [%d29], {target};", "ret;"]
    threads = next(t for t in (128, 64, 32, 16, 8, 4, 2, 1) if count % t == 0)
    output = (np.bool_ if predicate else np.dtype(result), count)
    return launched("\n".join(body), [*arrays, output], threads=threads, blocks=count // threads, checks=checks)[-1]


def compiled(text: str) -> str:
    """PTX for sm_90 of LLVM text."""
    return assembly(text, "nvptx64-nvidia-cuda", "sm_90", "+ptx80")


def same_numbers(got: Any, wanted: Any) -> Any:
    """Where floats have the same bits, or both are NaN."""
    bits = np.dtype(f"u{got.dtype.itemsize}")
    return (np.ascontiguousarray(got).view(bits) == np.ascontiguousarray(wanted).view(bits)) | (np.isnan(got) & np.isnan(wanted))
