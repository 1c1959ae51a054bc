"""The values that are live at the peak, behind :func:`wengert.transforms.analysis.liveness.peak_bytes`, which says how they are counted."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from wengert.transforms.analysis.liveness import BRANCHES, LOOPS, Functions, last_uses, replaced
from wengert.transforms.analysis.opcost import is_constant
from wengert.transforms.analysis.symbolic.extents import STATIC, bytes_of


def live_at_peak(module: ModuleOp, entry: str = "main") -> list[tuple[SSAValue, int]]:
    """The values that are live where the entry function takes the most bytes, its arguments included, each with its bytes.

    They add up to :func:`~wengert.transforms.analysis.liveness.peak_bytes`.
    """
    functions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, FuncOp)}
    block = functions[entry].body.block
    _, values = _Peak(functions).block(block, ())
    return [(value, bytes_of(STATIC, value)) for value in (*block.args, *values)]


Peak = tuple[int, list[SSAValue]]
_NOTHING: Peak = (0, [])


class _Peak:
    def __init__(self, functions: Functions):
        self.functions = functions

    def block(self, block: Block, owned: tuple[SSAValue, ...]) -> Peak:
        """The peak of what a block makes and of the arguments that nobody else holds, with the values that are live there."""
        best, at = self.walk(block, owned, None)
        if at is None:
            return best, list(owned)
        return best, self.live

    def walk(self, block: Block, owned: tuple[SSAValue, ...], until: Operation | None) -> tuple[int, Operation | None]:
        """The peak and the op at which it is; up to an op, leaves in ``live`` what is live there."""
        dying, counted = last_uses(block), dict.fromkeys(owned)
        live = best = sum(map(_bytes, owned))
        where: Operation | None = None
        for op in block.ops:
            if op.has_trait(IsTerminator, value_if_unregistered=False):
                break
            if is_constant(op):
                continue
            made = sum(map(_bytes, op.results))
            inside, values = self.inside(op)
            if op is until:
                self.live = [*counted, *(values if inside > made else op.results)]
                return best, op
            if live + max(made, inside) > best:
                best, where = live + max(made, inside), op
            live += made
            counted.update(dict.fromkeys(op.results))
            for value in dying.get(op, ()):
                if value in counted:
                    live -= _bytes(value)
                    del counted[value]
        if where is not None and until is None:
            self.walk(block, owned, where)
        return best, where

    def inside(self, op: Operation) -> Peak:
        """The peak of what an op's regions or callee make while it runs."""
        if isinstance(op, LOOPS):
            return max((self.block(region.block, replaced(op, region.block)) for region in op.regions), key=lambda peak: peak[0])
        if isinstance(op, BRANCHES):
            branches = [self.block(region.block, ()) for region in op.regions if region.blocks]
            return max([*branches, _NOTHING], key=lambda peak: peak[0])
        if isinstance(op, CallOp) and op.callee.string_value() in self.functions:
            callee = self.functions[op.callee.string_value()]
            return self.block(callee.body.block, ()) if callee.body.blocks else _NOTHING
        return _NOTHING


def _bytes(value: SSAValue) -> int:
    return bytes_of(STATIC, value)
