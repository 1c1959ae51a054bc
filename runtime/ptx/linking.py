"""Makes one straight list of instructions of a kernel and the device functions that it calls.

A call is replaced by the body of the function, with its own registers and local variables, and its parameters are the variables that the caller
passes; so barriers and divergence within functions need no rules of their own. Recursion and indirect calls are refused. Labels become positions
in the list and variables addresses in their space.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NoReturn

from wengert.ir.diagnostics import did_you_mean
from wengert.runtime.ptx.errors import ParseError, UnsupportedError
from wengert.runtime.ptx.program import (
    Address,
    Arguments,
    Function,
    Guard,
    Instruction,
    Location,
    Module,
    Negated,
    Operand,
    Pair,
    Place,
    Register,
    Symbol,
    Target,
    Targets,
    Variable,
    Vector,
)
from wengert.runtime.ptx.types import Scalar

SHARED_START = 1024
"""The first address of shared memory: a GPU keeps what lies below for itself."""
LOCAL_START = 1024
"""The first address of a thread's local memory."""
_MOST_INSTRUCTIONS = 1 << 20
_GUARD_BYTES = 16
"""Bytes between variables that no access may touch."""


@dataclass(frozen=True)
class Layout:
    """The variables of a space: ranges of bytes (start, end) that may be accessed, and how far the addresses go."""

    ranges: tuple[tuple[int, int], ...]
    end: int


@dataclass(frozen=True)
class LinkedKernel:
    """A kernel that is ready to be executed.

    Attributes:
        parameters: the parameters with their offsets in the parameter space.
        dynamic_shared: the address of shared memory whose size the launch gives, or None if the kernel has none.
    """

    function: Function
    instructions: tuple[Instruction, ...]
    registers: Mapping[str, Scalar]
    parameters: tuple[tuple[Variable, int], ...]
    shared: Layout
    local: Layout
    dynamic_shared: int | None


def link(module: Module, kernel: str, addresses: Mapping[str, int]) -> LinkedKernel:
    """The kernel of a module whose global variables and constants lie at these addresses.

    Raises:
        ParseError: a name that is not declared.
        UnsupportedError: recursion, indirect calls, functions without a body.
    """
    return _Linker(module, addresses).link(module.functions[kernel])


class _Space:
    """Places variables one behind the other."""

    def __init__(self, start: int):
        self.end = start
        self.ranges: list[tuple[int, int]] = []

    def place(self, variable: Variable) -> int:
        address = -(-self.end // variable.align) * variable.align
        self.ranges.append((address, address + (variable.size or 0)))
        self.end = address + (variable.size or 0) + _GUARD_BYTES
        return address

    @property
    def layout(self) -> Layout:
        return Layout(tuple(self.ranges), self.end)


@dataclass(frozen=True)
class _Frame:
    """A function in the place of a call: the prefix of its names, and where its variables lie."""

    function: Function
    prefix: str
    locations: Mapping[str, Location]
    chain: tuple[str, ...]


class _Linker:
    def __init__(self, module: Module, addresses: Mapping[str, int]):
        self.module = module
        self.shared = _Space(SHARED_START)
        self.local = _Space(LOCAL_START)
        self.registers: dict[str, Scalar] = {}
        self.instructions: list[Callable[[], Instruction]] = []
        self.labels: dict[str, int] = {}
        self.tables: dict[str, tuple[str, ...]] = {}
        self.dynamic: list[str] = []
        self.globals: dict[str, Location] = {}
        for variable in module.variables:
            if variable.space in ("global", "const"):
                self.globals[variable.name] = Location(variable.space, addresses[variable.name])
            elif variable.size is None:
                self.dynamic.append(variable.name)
            else:
                self.globals[variable.name] = Location(variable.space, self._space(variable).place(variable))
        self.frames = 0

    def link(self, kernel: Function) -> LinkedKernel:
        parameters: list[tuple[Variable, int]] = []
        offset = 0
        for parameter in kernel.parameters:
            offset = -(-offset // parameter.align) * parameter.align
            parameters.append((parameter, offset))
            offset += parameter.size or 0
        self._check_dynamic(kernel)
        self._emit(_Frame(kernel, "", {p.name: Location("param", at) for p, at in parameters}, (kernel.name,)))
        shared = self.shared.layout
        dynamic = -(-shared.end // 128) * 128 if self.dynamic else None
        for name in self.dynamic:
            self.globals[name] = Location("shared", dynamic or 0)
        linked = tuple(make() for make in self.instructions)
        return LinkedKernel(kernel, linked, self.registers, tuple(parameters), shared, self.local.layout, dynamic)

    def _check_dynamic(self, kernel: Function) -> None:
        for variable in kernel.variables:
            if variable.size is None:
                self.dynamic.append(variable.name)

    def _space(self, variable: Variable) -> _Space:
        return self.shared if variable.space == "shared" else self.local

    # -- functions

    def _emit(self, frame: _Frame) -> None:
        """The instructions of a function, for a kernel or in the place of a call."""
        function, prefix = frame.function, frame.prefix
        locations = dict(frame.locations)
        for variable in function.variables:
            if variable.size is not None:
                locations[variable.name] = self._located(variable, function)
        frame = replace(frame, locations=locations)
        self.registers |= {prefix + name: type for name, type in function.registers.items()}
        labels = sorted(function.labels.items(), key=lambda entry: entry[1])
        self.tables |= {prefix + name: tuple(prefix + label for label in table) for name, table in function.tables.items()}
        waiting = 0
        for position, instruction in enumerate(function.body):
            while waiting < len(labels) and labels[waiting][1] == position:
                self.labels[prefix + labels[waiting][0]] = len(self.instructions)
                waiting += 1
            self._emit_instruction(frame, instruction)
        for name, _ in labels[waiting:]:
            self.labels[prefix + name] = len(self.instructions)
        if len(self.instructions) > _MOST_INSTRUCTIONS:
            self._refuse(function.place, f"more than {_MOST_INSTRUCTIONS} instructions with all calls in place")

    def _located(self, variable: Variable, function: Function) -> Location:
        """Shared variables of a function are one thing for all its calls, others are the call's own."""
        if variable.space != "shared":
            return Location("local", self.local.place(variable))
        name = f"{function.name}:{variable.name}"
        if name not in self.globals:
            self.globals[name] = Location("shared", self.shared.place(variable))
        return self.globals[name]

    def _emit_instruction(self, frame: _Frame, instruction: Instruction) -> None:
        if instruction.opcode == "call":
            self._emit_call(frame, instruction)
            return
        if instruction.opcode == "ret" and frame.prefix:
            instruction = replace(instruction, opcode="bra", modifiers=(), operands=(Symbol("<end>"),))
        self.instructions.append(lambda: self._linked(frame, instruction))

    def _emit_call(self, frame: _Frame, call: Instruction) -> None:
        results, target, arguments = self._call_parts(call)
        callee = self.module.functions.get(target.name)
        if callee is None or callee.is_declaration:
            self._refuse(call.place, f"function '{target.name}' has no body in this module")
        if callee.name in frame.chain:
            self._refuse(call.place, f"'{callee.name}' calls itself: recursion is not modelled")
        if len(arguments) != len(callee.parameters) or len(results) != len(callee.results):
            self._fail(
                call.place,
                f"'{callee.name}' takes {len(callee.parameters)} arguments and gives {len(callee.results)} results, not {len(arguments)} and {len(results)}",
            )
        self.frames += 1
        prefix = f"{callee.name}#{self.frames}:"
        locations: dict[str, Location] = {}
        for formal, actual in zip((*callee.parameters, *callee.results), (*arguments, *results)):
            location = frame.locations.get(actual.name) if isinstance(actual, Symbol) else None
            if location is None:
                self._refuse(call.place, "arguments of calls that are no variables in .param are not modelled")
            locations[formal.name] = location
        if call.guard is not None:
            skip = Instruction("bra", (), (Symbol(prefix + "<end>"),), replace(call.guard, negated=not call.guard.negated), call.place)
            self.instructions.append(lambda: self._linked(replace(frame, function=callee), skip, prefix="", guard_prefix=frame.prefix))
        self._emit(_Frame(callee, prefix, locations, (*frame.chain, callee.name)))
        self.labels[prefix + "<end>"] = len(self.instructions)

    def _call_parts(self, call: Instruction) -> tuple[tuple[Operand, ...], Symbol, tuple[Operand, ...]]:
        operands = list(call.operands)
        first = operands[0] if operands else None
        results = first.elements if isinstance(first, Arguments) else ()
        operands = operands[1:] if isinstance(first, Arguments) else operands
        target = operands.pop(0) if operands else None
        last = operands[0] if operands else Arguments(())
        if not isinstance(target, Symbol) or not isinstance(last, Arguments) or len(operands) > 1:
            self._refuse(call.place, "indirect calls are not modelled")
        return results, target, last.elements

    # -- operands

    def _linked(self, frame: _Frame, instruction: Instruction, prefix: str | None = None, guard_prefix: str | None = None) -> Instruction:
        prefix = frame.prefix if prefix is None else prefix
        guard = instruction.guard
        if guard is not None:
            guard = Guard(Register((prefix if guard_prefix is None else guard_prefix) + guard.register.name), guard.negated)
        operands = tuple(self._resolved(frame, prefix, operand, instruction.place) for operand in instruction.operands)
        return replace(instruction, operands=operands, guard=guard)

    def _resolved(self, frame: _Frame, prefix: str, operand: Operand, place: Place) -> Operand:
        def again(inner: Operand) -> Operand:
            return self._resolved(frame, prefix, inner, place)

        if isinstance(operand, Register):
            return Register(prefix + operand.name)
        if isinstance(operand, Negated):
            return Negated(Register(prefix + operand.register.name))
        if isinstance(operand, Vector):
            return Vector(tuple(again(element) for element in operand.elements))
        if isinstance(operand, Pair):
            return Pair(again(operand.first), again(operand.second))
        if isinstance(operand, Address):
            return Address(again(operand.base), operand.offset)
        if isinstance(operand, Symbol):
            return self._symbol(frame, prefix, operand, place)
        return operand

    def _symbol(self, frame: _Frame, prefix: str, symbol: Symbol, place: Place) -> Operand:
        location = frame.locations.get(symbol.name) or self.globals.get(symbol.name)
        if location is not None:
            return Location(location.space, location.address + symbol.offset)
        name = prefix + symbol.name
        if name in self.labels:
            return Target(self.labels[name])
        if name in self.tables:
            return Targets(tuple(self._label(label, place) for label in self.tables[name]))
        if symbol.name in self.module.functions:
            self._refuse(place, "addresses of functions are not modelled")
        known = [*frame.locations, *self.globals, *frame.function.labels]
        self._fail(place, f"'{symbol.name}' is not declared", did_you_mean(symbol.name, known))

    def _label(self, name: str, place: Place) -> int:
        if name not in self.labels:
            self._fail(place, f"label '{name}' is not in this function")
        return self.labels[name]

    def _fail(self, place: Place, message: str, hint: str = "") -> NoReturn:
        raise ParseError(self.module.source.diagnostic(place, message, hint))

    def _refuse(self, place: Place, message: str) -> NoReturn:
        raise UnsupportedError(self.module.source.diagnostic(place, message))
