"""Writes updates of memory with nothing in between: an instruction where LLVM has one, else an exchange that is tried until nobody else was faster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from xdsl.ir import Operation

from wengert.dialects.gpu.atomics import AtomicKind, AtomicRMWOp, GenericAtomicRMWOp
from wengert.ir.attributes import int_of
from wengert.ir.location.places import error_at

if TYPE_CHECKING:
    from wengert.transforms.codegen.gpu.device.functions import KernelEmitter

_ATOMICS = {
    AtomicKind.ADDF: "fadd",
    AtomicKind.ADDI: "add",
    AtomicKind.ASSIGN: "xchg",
    AtomicKind.MAXS: "max",
    AtomicKind.MAXU: "umax",
    AtomicKind.MINS: "min",
    AtomicKind.MINU: "umin",
    AtomicKind.ORI: "or",
    AtomicKind.ANDI: "and",
    AtomicKind.XORI: "xor",
}
"""The atomic kinds that LLVM has an instruction for."""


def atomic(emitter: KernelEmitter, op: AtomicRMWOp) -> None:
    """An element and a value are combined, with nothing in between."""
    kind = AtomicKind(int_of(op.kind))
    element, address = emitter.address(op.memref, op.indices)
    if kind not in _ATOMICS or element.memory != element.register:
        raise error_at(op, f"'{op.name} {kind.word}' on {op.value.type} has no instruction", "memref.generic_atomic_rmw takes any function")
    text = f"atomicrmw {_ATOMICS[kind]} {emitter.builder.pointer(address)}, {element.register} {emitter.stored(op.value)} monotonic, align {element.size}"
    emitter.known[op.result] = emitter.builder.op(text)


def generic_atomic(emitter: KernelEmitter, op: GenericAtomicRMWOp) -> None:
    """An element is replaced by a function of it, which is computed again as long as somebody else was faster."""
    element, address = emitter.address(op.memref, op.indices)
    if element.size not in (4, 8) or element.kind == "c":
        raise error_at(op, f"an element of {element.size} bytes is not exchanged atomically")
    bits, builder = f"i{8 * element.size}", emitter.builder
    same = element.memory == bits
    with builder.while_loop([(bits, builder.load(bits, address, element.size))]) as loop:
        old = loop.values[0]
        emitter.known[op.body.block.args[0]] = old if same else builder.cast("bitcast", old, bits, element.memory)
        new = str(emitter.stored(emitter.ops(op.body.block).operands[0]))
        wanted = new if same else builder.cast("bitcast", new, element.memory, bits)
        pair = builder.op(f"cmpxchg {builder.pointer(address)}, {bits} {old}, {bits} {wanted} monotonic monotonic, align {element.size}")
        failed = builder.op(f"xor i1 {builder.op(f'extractvalue {{ {bits}, i1 }} {pair}, 1')}, true")
        seen = builder.op(f"extractvalue {{ {bits}, i1 }} {pair}, 0")
        loop.test(failed)
        loop.carry(seen)
    emitter.known[op.result] = old if same else builder.cast("bitcast", old, bits, element.memory)


WRITERS: Mapping[type[Operation], Callable[[Any, Any], None]] = {AtomicRMWOp: atomic, GenericAtomicRMWOp: generic_atomic}
"""The writers of ops, for :class:`wengert.transforms.codegen.gpu.device.functions.KernelEmitter`."""
