"""Makes a program that fails a check smaller, as long as it fails the same check in the same way.

Cuts, tried in turn until none helps (Zeller, Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002): returning fewer results, or what
a result is made of; turning ops, many at once first, into arguments that hold what the ops compute; taking ops of regions away; inlining branches;
smaller extents; simpler inputs.
"""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

import wengert as wg
from fuzz.generator import Program
from wengert.dialects.stablehlo import CaseOp, ConstantOp, IfOp
from wengert.ir.elements import from_numpy, to_numpy
from wengert.ir.printing.printer import print_module
from wengert.runtime.interpreter import run
from wengert.transforms.pipelines import parse_pipeline

Array = np.ndarray[Any, np.dtype[Any]]
Fails = Callable[[Program], bool]


TRIAL_SECONDS = 10.0
"""How long one smaller program may take. A cut can make a loop without end of one that ends."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises a TimeoutError in what takes longer, as soon as the interpreter of Python comes to it."""

    def expired(number: int, frame: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, expired)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Reducer:
    """The smallest program so far."""

    def __init__(self, program: Program, fails: Fails, seconds: float = 60.0):
        self.best, self.fails = program, fails
        self.ends = time.monotonic() + seconds
        self.tried: set[tuple[str, bytes]] = set()

    def reduce(self) -> Program:
        """The program after all cuts."""
        self._accept(print_module(wg.parse(self.best.text).module), self.best.inputs)
        self._inlined()
        while True:
            before = self.best
            for cuts in (self._results, self._operations, self._inner_operations, self._branches, self._extents, self._inputs):
                cuts()
            if self.best is before or time.monotonic() > self.ends:
                return self.best

    def _accept(self, text: str, inputs: Sequence[Array]) -> bool:
        """Whether this program fails too, and so is the best one now."""
        if time.monotonic() > self.ends:
            return False
        key = (text, b"".join(np.ascontiguousarray(x).tobytes() for x in inputs))
        if key in self.tried:
            return False
        self.tried.add(key)
        candidate = Program(text, tuple(inputs), self.best.seed, self.best.smooth)
        try:
            with time_limit(TRIAL_SECONDS):
                fails = self.fails(candidate)
        except Exception:  # a cut that makes no program at all, or one that does not end
            return False
        if fails:
            self.best = candidate
        return fails

    def _change(self, change: Callable[[ModuleOp, FuncOp, list[Array]], list[Array] | None]) -> bool:
        """Tries the program after a change to its module; the change returns the inputs, or None if it does not apply."""
        try:
            module = wg.parse(self.best.text).module.clone()
            inputs = change(module, _main(module), list(self.best.inputs))
            if inputs is None:
                return False
            inputs = _tidied(module, inputs)
            # the short form where it fails too; some faults are of one form alone
            text = print_module(module, generic=self.best.text.startswith('"'))
            wg.parse(text)
        except Exception:
            return False
        return self._accept(text, inputs)

    # -- cuts

    def _inlined(self) -> None:
        def change(module: ModuleOp, main: FuncOp, inputs: list[Array]) -> list[Array] | None:
            if not any(isinstance(op, CallOp) for op in module.walk()):
                return inputs
            parse_pipeline("inline,symbol-dce").run(module)
            return inputs

        self._change(change)

    def _results(self) -> None:
        """One result alone; or what it is made of in its place."""
        for _ in range(40):
            count = len(_returned(_main(wg.parse(self.best.text).module)))
            if not (count > 1 and any(self._change(lambda m, f, x, k=k: _returning(f, [_returned(f)[k]], x)) for k in range(count))):
                break
        for _ in range(200):
            owner = _returned(_main(wg.parse(self.best.text).module))[0].owner
            if not isinstance(owner, Operation) or not any(
                self._change(lambda m, f, x, k=k: _returning(f, [_returned(f)[0].owner.operands[k]], x)) for k in range(len(owner.operands))
            ):
                break

    def _operations(self) -> None:
        """Ops become arguments that hold what they compute: many at once, then fewer, then each."""
        size = max(1, len(_operations(_main(wg.parse(self.best.text).module))) // 2)
        while size >= 1:
            at = 0
            while at < len(_operations(_main(wg.parse(self.best.text).module))) and time.monotonic() < self.ends:
                if not self._change(lambda m, f, x, at=at, size=size: _made_arguments(m, f, range(at, at + size), x)):
                    at += size
            size //= 2
        for at in range(len(_operations(_main(wg.parse(self.best.text).module)))):
            self._change(lambda m, f, x, at=at: _bypassed(_operations(f)[at], x))

    def _inner_operations(self) -> None:
        """Ops in regions give way to a value of their type, or to a constant."""
        at = 0
        while time.monotonic() < self.ends:
            inner = _inner(_main(wg.parse(self.best.text).module))
            if at >= len(inner):
                return
            if not any(self._change(lambda m, f, x, at=at, way=way: _bypassed(_inner(f)[at], x, way)) for way in (0, 1, 2)):
                at += 1

    def _branches(self) -> None:
        """A branch in place of all of them."""
        for at in range(len(_operations(_main(wg.parse(self.best.text).module)))):
            for k in range(3):
                if self._change(lambda m, f, x, at=at, k=k: _one_branch(_operations(f)[at], k, x)):
                    break

    def _extents(self) -> None:
        """Smaller extents wherever a number occurs in types and attributes."""
        self._change(_constants_as_arguments)
        extents = sorted({int(n) for t in re.findall(r"tensor<((?:\d+x)+)", self.best.text) for n in t.split("x") if n}, reverse=True)
        for n in extents:
            for smaller in sorted({1, 2, 3, n // 2, n - 1}):
                if 0 < smaller < n and self._accept_smaller(n, smaller):
                    break

    def _accept_smaller(self, n: int, smaller: int) -> bool:
        module = wg.parse(self.best.text).module
        text, inputs = print_module(module, generic=True), list(self.best.inputs)
        text = re.sub(r"(?<=[<x])" + str(n) + r"(?=x)", str(smaller), text)
        text = re.sub(r"(?<=[ \[])" + str(n) + r"(?=[,>\]])", str(smaller), text)
        cut = [np.ascontiguousarray(x[tuple(slice(0, smaller if e == n else e) for e in x.shape)]) for x in map(np.asarray, inputs)]
        try:
            text = print_module(wg.parse(text).module, generic=self.best.text.startswith('"'))
        except Exception:
            return False
        return self._accept(text, cut)

    def _inputs(self) -> None:
        """Zeros, ones, small numbers, fewer digits."""
        for i in range(len(self.best.inputs)):
            for simpler in _simpler(np.asarray(self.best.inputs[i])):
                inputs = list(self.best.inputs)
                if np.array_equal(simpler, inputs[i]):
                    break
                inputs[i] = simpler
                if self._accept(self.best.text, inputs):
                    break


# -- changes of a module


def _constants_as_arguments(module: ModuleOp, main: FuncOp, inputs: list[Array]) -> list[Array] | None:
    """Constants with different elements become arguments, which are easy to cut."""
    ops = [op for op in _operations(main) if isinstance(op, ConstantOp) and not op.value.is_splat()]
    block = main.body.block
    for op in ops:
        op.results[0].replace_all_uses_with(block.insert_arg(op.results[0].type, len(block.args)))
        inputs.append(np.array(to_numpy(op.value)))
    return inputs if ops else None


def _main(module: ModuleOp) -> FuncOp:
    return next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main")


def _operations(main: FuncOp) -> list[Operation]:
    return [op for op in main.body.block.ops if not isinstance(op, ReturnOp)]


def _inner(main: FuncOp) -> list[Operation]:
    """Ops in regions, the last first."""
    outer = set(main.body.block.ops)
    return [op for op in reversed(list(main.walk())) if op is not main and op not in outer and op.results]


def _returned(main: FuncOp) -> list[SSAValue]:
    last = main.body.block.last_op
    assert last is not None
    return list(last.operands)


def _returning(main: FuncOp, values: Sequence[SSAValue], inputs: list[Array]) -> list[Array]:
    last = main.body.block.last_op
    assert last is not None
    last.detach()
    last.erase()
    main.body.block.add_op(ReturnOp(*values))
    return inputs


def _made_arguments(module: ModuleOp, main: FuncOp, positions: range, inputs: list[Array]) -> list[Array] | None:
    """Ops of the entry block replaced by arguments with the values that they have."""
    ops = [op for i, op in enumerate(_operations(main)) if i in positions and not isinstance(op, ConstantOp)]
    wanted = [r for op in ops for r in op.results if r.first_use is not None]
    if not ops:
        return None
    whole = module.clone()
    twin = _main(whole)
    numbers = {op: i for i, op in enumerate(_operations(main))}
    values = [_operations(twin)[numbers[r.op]].results[r.index] for r in wanted]
    _returning(twin, values, inputs)
    _retype(twin)
    actual = run(whole, inputs)
    block = main.body.block
    for r in wanted:
        r.replace_all_uses_with(block.insert_arg(r.type, len(block.args)))
    for op in reversed(ops):
        op.detach()
        op.erase()
    return [*inputs, *actual]


def _bypassed(op: Operation, inputs: list[Array], way: int = 0) -> list[Array] | None:
    """An op replaced by an operand of its result's type, an argument of its block of that type, or a constant."""
    if not op.results or op.parent_block() is None:
        return None
    block = op.parent_block()
    assert block is not None
    for r in op.results:
        if r.first_use is None:
            continue
        values = [v for v in (op.operands if way == 0 else block.args) if v.type == r.type]
        if way == 2 and isinstance(r.type, TensorType) and not isinstance(op, ConstantOp):
            from wengert.ir.tensor_types import dtype_of, element, shape

            constant = ConstantOp.create(result_types=[r.type], properties={"value": from_numpy(np.ones(shape(r), dtype_of(element(r))))})
            block.insert_op_before(constant, op)
            values = [constant.results[0]]
        if not values:
            return None
        r.replace_all_uses_with(values[0])
    op.detach()
    op.erase()
    return inputs


def _one_branch(op: Operation, k: int, inputs: list[Array]) -> list[Array] | None:
    if not isinstance(op, CaseOp | IfOp) or k >= len(op.regions):
        return None
    block, outer = op.regions[k].block, op.parent_block()
    assert outer is not None
    for inner in list(block.ops):
        inner.detach()
        if inner.results:
            outer.insert_op_before(inner, op)
        else:
            for r, v in zip(op.results, inner.operands, strict=True):
                r.replace_all_uses_with(v)
            inner.erase()
    op.detach()
    op.erase()
    return inputs


def _tidied(module: ModuleOp, inputs: list[Array]) -> list[Array]:
    """Drops ops that nothing uses, and arguments; returns the inputs of those that stay."""
    main = _main(module)
    changed = True
    while changed:
        changed = False
        for op in reversed(list(main.walk())):
            if op.results and op.parent_block() is not None and all(r.first_use is None for r in op.results):
                op.detach()
                op.erase()
                changed = True
    block = main.body.block
    kept = [i for i, a in enumerate(block.args) if a.first_use is not None]
    for i in reversed(range(len(block.args))):
        if i not in kept:
            block.erase_arg(block.args[i])
    _retype(main)
    return [inputs[i] for i in kept]


def _retype(main: FuncOp) -> None:
    main.function_type = FunctionType.from_lists([a.type for a in main.body.block.args], [v.type for v in _returned(main)])
    main.arg_attrs = main.res_attrs = None


def _simpler(x: Array) -> Iterator[Array]:
    yield np.zeros_like(x)
    yield np.ones_like(x)
    if x.dtype.kind == "b":
        return
    yield (np.arange(x.size) % 5).reshape(x.shape).astype(x.dtype)
    if x.dtype.kind in "fcV":
        wide = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
        with np.errstate(all="ignore"):
            for digits in (0, 1, 2):
                yield np.round(wide, digits).astype(x.dtype)
            if not np.isfinite(wide).all():
                yield np.where(np.isfinite(wide), 1, wide).astype(x.dtype)
                yield np.where(np.isfinite(wide), wide, 1).astype(x.dtype)
