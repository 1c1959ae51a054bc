"""Writes the kernels of a gpu.module as LLVM functions, op by op, in the structure that they have.

Scalar ops stand for scalar functions of the kernel dialect (:func:`wengert.dialects.gpu.scalars.meaning`), and their code is the CPU backend's
at one lane, so that all targets compute the same bits. Positions are integers of 64 bits, or of 32 where the kernel says that they suffice; what is
known of them is a Python integer. A complex number is a pair of registers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from math import gcd
from typing import Any, cast

from xdsl.dialects import arith, complex, func, memref, scf
from xdsl.dialects.builtin import ArrayAttr, ComplexType, DenseIntOrFPElementsAttr, FloatAttr, IndexType, IntegerAttr, MemRefType, VectorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from wengert.dialects import gpu
from wengert.dialects.gpu.scalars import Meaning, meaning, meaning_of_name
from wengert.dialects.kernel.memory import byte_size
from wengert.ir.attributes import int_of, ints
from wengert.ir.location.places import error_at
from wengert.ir.tensor_types import is_complex
from wengert.ir.traversal import all_ops, ops_in
from wengert.transforms.codegen.gpu.device import atomics, matrices, threads
from wengert.transforms.codegen.gpu.device.targets import GLOBAL, WORKGROUP, DeviceTarget
from wengert.transforms.codegen.llvm.builder import FunctionBuilder, Index
from wengert.transforms.codegen.llvm.memory import Memory
from wengert.transforms.codegen.llvm.module import ModuleBuilder
from wengert.transforms.codegen.llvm.scalars import Scalars
from wengert.transforms.codegen.llvm.types import Element, element_of, literal

POSITIONS = "kernel.positions"
"""The attribute of a kernel whose positions fit integers of another width than 64 bits: ``"i32"``."""
ALIGNMENT = 16
"""Buffers begin at multiples of so many bytes."""

_FACTS = ("noalias", "readonly")
"""What a kernel may say of its buffers: attributes of LLVM's parameters, ``llvm.noalias`` there."""

Known = Index | tuple[str, ...]
_INDEX_OPCODES: dict[type[Operation], str] = {
    arith.SubiOp: "sub nsw",
    arith.DivUIOp: "udiv",
    arith.DivSIOp: "sdiv",
    arith.RemUIOp: "urem",
    arith.RemSIOp: "srem",
    arith.AndIOp: "and",
    arith.OrIOp: "or",
    arith.XOrIOp: "xor",
    arith.ShLIOp: "shl",
    arith.ShRUIOp: "lshr",
}
_INDEX_INTRINSICS: dict[type[Operation], str] = {arith.MaxSIOp: "smax", arith.MinSIOp: "smin", arith.MaxUIOp: "umax", arith.MinUIOp: "umin"}
_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")


class KernelEmitter:
    """Writes one kernel for a target.

    Attributes:
        kernel: the gpu.func.
        target: what it is written for.
        module: what it shares with the module's other kernels.
        attributes: function attributes besides those of the target.
    """

    def __init__(self, kernel: gpu.FuncOp, target: DeviceTarget, module: ModuleBuilder, attributes: str = ""):
        self.kernel, self.target, self.module, self.attributes = kernel, target, module, attributes
        self.builder = FunctionBuilder(module, index_type=_index_type(kernel, target))
        self.scalars = Scalars(self.builder, 1, False)
        self.memory = Memory(self.scalars, 1)
        self.known: dict[SSAValue, Known] = {}

    @property
    def symbol(self) -> str:
        """The kernel's name."""
        return self.kernel.sym_name.data

    def text(self) -> str:
        """The function."""
        parameters = [self._parameter(number, argument) for number, argument in enumerate(self.kernel.inputs)]
        for number, buffer in enumerate(self.kernel.workgroup_buffers):
            self.known[buffer] = self._workgroup(number, buffer)
        for buffer in self.kernel.private_buffers:
            self.known[buffer] = self.builder.alloca(_array(buffer.type), ALIGNMENT)
        self.ops(self.kernel.body.block)
        x, y, z = self.block_size()
        attributes = " ".join(text for text in (self.target.attributes.format(x=x, y=y, z=z, size=x * y * z), self.attributes) if text)
        return self.builder.definition(self.symbol, parameters, head=self.target.convention, attributes=attributes)

    def block_size(self) -> tuple[int, ...]:
        """The threads of a work-group in each dimension; an error if the kernel does not say."""
        if self.kernel.known_block_size is None:
            raise error_at(self.kernel, f"@{self.symbol} does not say how many threads a work-group has", "add known_block_size = array<i32: ...>")
        return ints(self.kernel.known_block_size)

    def _parameter(self, number: int, argument: SSAValue) -> str:
        name = f"%p{number}"
        self.known[argument] = name
        if isinstance(argument.type, MemRefType):
            self.builder.address_spaces[name] = GLOBAL
            facts = "".join(f" {fact}" for fact in _FACTS if f"llvm.{fact}" in self._attributes(number))
            return f"ptr addrspace({GLOBAL}){facts} align {ALIGNMENT} {name}"
        if isinstance(argument.type, IndexType):
            self.known[argument] = self._resized(name, "i64", self.builder.index_type) if self.builder.index_type != "i64" else name
            return f"i64 {name}"
        raise error_at(self.kernel, f"@{self.symbol}: argument #{number} of type {argument.type} is neither a buffer nor an index")

    def _attributes(self, number: int) -> Mapping[str, Attribute]:
        return self.kernel.arg_attrs.data[number].data if self.kernel.arg_attrs is not None else {}

    def _workgroup(self, number: int, buffer: SSAValue) -> str:
        symbol = f"{self.symbol}.shared{number}"
        alignment = gcd(ALIGNMENT, byte_size(buffer))  # of 16 for 12 bytes LLVM would conclude that it may read 16
        self.module.definitions[symbol] = f"@{symbol} = internal addrspace({WORKGROUP}) global {_array(buffer.type)} poison, align {alignment}\n"
        self.builder.address_spaces[f"@{symbol}"] = WORKGROUP
        return f"@{symbol}"

    # -- values

    def value(self, value: SSAValue) -> Any:
        """The register of a value, a pair of them, or a number."""
        return self.known[value]

    def position(self, value: SSAValue) -> Index:
        """The register or the number of an index."""
        return cast("Index", self.known[value])

    def parts(self, values: Sequence[SSAValue]) -> list[str]:
        """The registers of values, several for a complex one or a fragment of a matrix."""
        return [str(part) for value in values for part in _parts(self.known[value])]

    def bind(self, values: Sequence[SSAValue], registers: Sequence[str]) -> None:
        """Gives values their registers, several for a complex one or a fragment."""
        given = iter(registers)
        for value in values:
            count = self._registers(value.type)[0]
            self.known[value] = next(given) if count == 1 else tuple([next(given) for _ in range(count)])

    def types(self, values: Sequence[SSAValue]) -> list[str]:
        """The LLVM types of registers, one for each."""
        return list(chain.from_iterable([type] * count for count, type in [self._registers(value.type) for value in values]))

    def _registers(self, type: Attribute) -> tuple[int, str]:
        """How many registers a value has, and of which type."""
        if isinstance(type, VectorType):
            return matrices.registers(cast("VectorType[Any]", type))
        return (2 if is_complex(type) else 1), self._type(type)

    def _type(self, type: Attribute) -> str:
        return self.builder.index_type if isinstance(type, IndexType) else element_of(type).register

    # -- ops

    def ops(self, block: Block) -> Operation:
        """Writes a block but for its end, which is returned."""
        ops = ops_in(block)
        for op in ops[:-1]:
            self._op(op)
        return ops[-1]

    def _op(self, op: Operation) -> None:
        write = _WRITERS.get(type(op))
        if write is not None:
            write(self, op)
            return
        function = meaning(op)
        if function is not None:
            self._scalar(op, function)
        elif len(op.results) == 1 and all(isinstance(value.type, IndexType) for value in op.operands):
            self.known[op.results[0]] = self._index(op)
        else:
            raise error_at(op, f"'{op.name}' has no code for a device")

    def _scalar(self, op: Operation, function: Meaning) -> None:
        operands = [self.value(value) if not isinstance(self.known[value], int) else str(self.known[value]) for value in op.operands]
        types = [element_of(type) for type in function.operands]
        self.known[op.results[0]] = self.scalars.apply(function.function, operands, types, element_of(function.result))

    def _index(self, op: Operation) -> Known:
        kind, operands, builder = type(op), [self.position(value) for value in op.operands], self.builder
        if kind is arith.AddiOp:
            return builder.add(*operands)
        if kind is arith.MuliOp:
            return builder.multiply(*operands)
        if kind is arith.CmpiOp:
            return builder.icmp(_PREDICATES[int_of(op.properties["predicate"])], builder.index_type, *operands)
        if kind in _INDEX_INTRINSICS:
            return builder.intrinsic(_INDEX_INTRINSICS[kind], builder.index_type, *operands)
        if kind in _INDEX_OPCODES:
            return builder.binary(_INDEX_OPCODES[kind], builder.index_type, *operands)
        raise error_at(op, f"'{op.name}' on indices has no code for a device")

    def _resized(self, x: str, source: str, target: str) -> str:
        before, after = int(source[1:]), int(target[1:])
        return x if before == after else self.builder.cast("trunc" if before > after else "sext", x, source, target)

    # -- constants and choices

    def constant(self, op: arith.ConstantOp) -> None:
        """A number."""
        value, type = op.value, op.result.type
        if isinstance(type, IndexType):
            self.known[op.result] = int_of(value)
            return
        if isinstance(value, DenseIntOrFPElementsAttr):
            self.known[op.result] = matrices.constant(self, op)
            return
        assert isinstance(value, IntegerAttr | FloatAttr)
        self.known[op.result] = literal(value.value.data, element_of(type))

    def complex_constant(self, op: complex.ConstantOp) -> None:
        """A complex number."""
        parts = cast("ArrayAttr[FloatAttr]", op.properties["value"])
        element = element_of(cast("ComplexType[Any]", op.results[0].type).element_type)
        self.known[op.results[0]] = cast("tuple[str, str]", tuple(literal(part.value.data, element) for part in parts))

    def index_cast(self, op: arith.IndexCastOp) -> None:
        """An integer as an index, or the other way round."""
        x, source, target = self.known[op.input], self._type(op.input.type), self._type(op.result.type)
        self.known[op.result] = self._resized(str(x), source, target) if not isinstance(x, int) or isinstance(op.input.type, IndexType) else x

    def select(self, op: arith.SelectOp) -> None:
        """One of two values."""
        condition, x, y = (self.known[value] for value in op.operands)
        parts = [self.builder.select(str(condition), type, a, b) for type, a, b in zip(self.types([op.result]), _parts(x), _parts(y), strict=True)]
        self.bind([op.result], parts)

    def call(self, op: func.CallOp) -> None:
        """A device function by its name."""
        function = meaning_of_name(op.callee.string_value())
        if function is None:
            raise error_at(op, f"there is no device function @{op.callee.string_value()}")
        self._scalar(op, function)

    # -- memory

    def address(self, buffer: SSAValue, indices: Sequence[SSAValue]) -> tuple[Element, str]:
        """The type and the address of an element."""
        type = cast("MemRefType[Any]", buffer.type)
        at: Index = 0
        for extent, index in zip(type.get_shape(), indices, strict=True):
            at = self.builder.add(self.builder.multiply(at, extent), self.position(index))
        element = element_of(type.element_type)
        return element, self.builder.address(str(self.known[buffer]), element, at)

    def load(self, op: memref.LoadOp) -> None:
        """An element."""
        self.known[op.res] = self.memory.load(*self.address(op.memref, op.indices))

    def store(self, op: memref.StoreOp) -> None:
        """An element changes."""
        element, address = self.address(op.memref, op.indices)
        self.memory.store(element, self.stored(op.value), address)

    def stored(self, value: SSAValue) -> Any:
        """A value as an operand: the register of a value, a pair of them, or the text of a number."""
        known = self.known[value]
        return str(known) if isinstance(known, int) else known

    def alloca(self, op: memref.AllocaOp) -> None:
        """Memory of one thread."""
        self.known[op.memref] = self.builder.alloca(_array(op.memref.type), ALIGNMENT)

    # -- control flow

    def for_(self, op: scf.ForOp) -> None:
        """A counted loop."""
        step = self.known[op.step]
        if not isinstance(step, int) or not isinstance(op.lb.type, IndexType):
            raise error_at(op, "a loop of a device counts with an index in steps that are a constant")
        index, *carried = op.body.block.args
        initial = list(zip(self.types(carried), self.parts(op.iter_args), strict=True))
        with self.builder.loop(self.position(op.lb), self.position(op.ub), initial, step=step) as loop:
            self.known[index] = loop.index
            self.bind(carried, loop.values)
            loop.carry(*self.parts(self.ops(op.body.block).operands))
        self.bind(op.results, loop.results)

    def if_(self, op: scf.IfOp) -> None:
        """A branch."""
        condition = str(self.known[op.cond])
        if not op.results:
            with self.builder.when(condition):
                self.ops(op.true_region.block)
            if op.false_region.blocks and len(op.false_region.block.ops) > 1:
                with self.builder.when(self.builder.op(f"xor i1 {condition}, true")):
                    self.ops(op.false_region.block)
            return
        with self.builder.conditional(condition, self.types(op.results)) as branches:
            branches.give(*self.parts(self.ops(op.true_region.block).operands))
            branches.otherwise()
            branches.give(*self.parts(self.ops(op.false_region.block).operands))
        self.bind(op.results, branches.results)

    def while_(self, op: scf.WhileOp) -> None:
        """A loop until a condition fails."""
        before, after = op.before_region.block, op.after_region.block
        with self.builder.while_loop(list(zip(self.types(before.args), self.parts(op.arguments), strict=True))) as loop:
            self.bind(before.args, loop.values)
            end = self.ops(before)
            handed = self.parts(end.operands[1:])
            loop.test(str(self.known[end.operands[0]]))
            self.bind(after.args, handed)
            loop.carry(*self.parts(self.ops(after).operands))
        self.bind(op.results, handed)


def _index_type(kernel: gpu.FuncOp, target: DeviceTarget) -> str:
    """The integers in which a kernel computes positions."""
    narrow = kernel.attributes.get(POSITIONS)
    if narrow is None or (target.wide_beside_barriers and any(isinstance(op, gpu.BarrierOp) for op in all_ops(kernel))):
        return "i64"
    return str(cast("Any", narrow).data)


def _parts(value: Known) -> tuple[Index, ...]:
    return value if isinstance(value, tuple) else (value,)


def _array(type: Attribute) -> str:
    """The LLVM type of a buffer that the device itself provides: a multiple of the longest access, as LLVM loads four words where three are wanted."""
    memory = cast("MemRefType[Any]", type)
    element, count = element_of(memory.element_type), 1
    for extent in memory.get_shape():
        count *= extent
    words = ALIGNMENT // element.size * (2 if element.kind == "c" else 1)
    count *= 2 if element.kind == "c" else 1
    return f"[{-(-count // words) * words} x {element.memory}]"


_WRITERS: dict[type[Operation], Callable[[KernelEmitter, Any], None]] = {
    arith.ConstantOp: KernelEmitter.constant,
    complex.ConstantOp: KernelEmitter.complex_constant,
    arith.IndexCastOp: KernelEmitter.index_cast,
    arith.SelectOp: KernelEmitter.select,
    func.CallOp: KernelEmitter.call,
    memref.LoadOp: KernelEmitter.load,
    memref.StoreOp: KernelEmitter.store,
    memref.AllocaOp: KernelEmitter.alloca,
    scf.ForOp: KernelEmitter.for_,
    scf.IfOp: KernelEmitter.if_,
    scf.WhileOp: KernelEmitter.while_,
    **threads.WRITERS,
    **atomics.WRITERS,
    **matrices.WRITERS,
}
