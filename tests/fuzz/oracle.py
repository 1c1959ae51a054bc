"""JAX as an oracle: StableHLO's own parser and verifier, and XLA on the CPU."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

import wengert as wg
from fuzz.case import lowered
from wengert.dialects import stablehlo
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import element, is_boolean, is_complex, is_integer, is_unsigned, largest_integer, shape
from wengert.lab.agreement.agreement import Mismatch
from wengert.runtime.interpreter.execution import run
from wengert.runtime.interpreter.watcher import Watcher

# Two passes count the iterations of loops wrongly: none of "from 0 while below 1, by 2", minus one of "from 2 while below 1".
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_cpu_use_fusion_emitters=false --xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true "
    "--xla_disable_hlo_passes=simplify-while-loops,while-loop-trip-count-annotator",
)
os.environ.setdefault("JAX_PLATFORMS", "cpu")


REFUSALS = ("UNIMPLEMENTED", "can't be translated to XLA HLO", "failed to legalize operation", "Failed after scan_expander")
"""What XLA says of ops that it does not have; a scan over no elements fails in its own expansion."""


class NotThereError(Exception):
    """XLA on the CPU does not have an op, or computes another value than the specification's."""


@lru_cache(maxsize=1)
def is_there() -> bool:
    """Whether JAX is installed."""
    from importlib.util import find_spec

    return find_spec("jax") is not None


@lru_cache(maxsize=1)
def _tools() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import jax
        from jax._src import compiler
        from jax._src.interpreters import mlir
        from jax.extend.backend import get_backend
        from jaxlib import _jax, lapack
        from jaxlib.mlir import ir
    lapack._lapack.initialize()
    return jax, compiler, mlir, get_backend("cpu"), _jax, ir


def parse(text: str, what: str) -> str:
    """The text as JAX prints it, or a Mismatch if it is refused."""
    _, _, mlir, _, _, ir = _tools()
    with mlir.make_ir_context():
        try:
            return str(ir.Module.parse(text))
        except ir.MLIRError as error:
            raise Mismatch(f"JAX refuses {what}", str(error)[:600]) from None


AT_POSITIONS = {"stablehlo.dynamic_slice": 1, "stablehlo.dynamic_update_slice": 2, "stablehlo.gather": 1, "stablehlo.scatter": None}
"""Ops that read or write at computed positions, and which of their operands are the first positions; of a scatter it depends on how many operands it has."""
SLICES = ("stablehlo.dynamic_slice", "stablehlo.dynamic_update_slice", "stablehlo.gather")
"""Slices, among them gathers, which are slices where they are at one position."""


def has_narrow_positions(text: str) -> bool:
    """Whether positions are of an integer type that does not hold all positions of the operand: XLA clamps in that type, so it starts elsewhere.

    So it does where slices start at unsigned constants of which the highest bit is set, which it takes for negative numbers.
    """
    for op in wg.parse(text).module.walk():
        if op.name in AT_POSITIONS:
            first = AT_POSITIONS[op.name] or len(op.operands) // 2
            if max(shape(op.operands[0]), default=0) > largest_integer(element(op.operands[first])):
                return True
            if op.name in SLICES and is_unsigned(element(op.operands[first])):
                return True
    return False


def has_slices_of_slices(text: str) -> bool:
    """Whether a dynamic slice is taken of another: XLA adds up their positions before it keeps the first one within its operand."""
    slices = [op for op in wg.parse(text).module.walk() if op.name == "stablehlo.dynamic_slice"]
    return any(getattr(op.operands[0].owner, "name", "") == op.name for op in slices)


COMBINING = ("stablehlo.reduce", "stablehlo.reduce_window", "stablehlo.scatter", "stablehlo.select_and_scatter")
"""Ops that combine elements by a region."""


def combines_in_a_wider_type(text: str) -> bool:
    """Whether elements are combined in a wider type than they have, which XLA fails on in several ways."""
    ops = [op for op in wg.parse(text).module.walk() if op.name in COMBINING]
    return any(element(op.operands[0]) != element(op.results[0]) for op in ops)


def known_ops(text: str) -> Iterator[Operation]:
    """The ops whose operands are computed from constants alone, which XLA computes by itself."""
    known = set[SSAValue]()
    for op in wg.parse(text).module.walk():
        if not op.regions and all(operand in known for operand in op.operands):
            known.update(op.results)
            yield op


def adds_known_booleans(text: str) -> bool:
    """Whether two booleans are added that are computed from constants alone: XLA folds them as numbers of one bit, so that true and true are false."""
    return any(op.name == "stablehlo.add" and is_boolean(element(op.results[0])) for op in known_ops(text))


def convolves_known_integers(text: str) -> bool:
    """Whether integers computed from constants alone are convolved in batch groups: XLA folds them to the nearest number of the type, where sums wrap around."""
    convolutions = [op for op in known_ops(text) if isinstance(op, stablehlo.ConvolutionOp)]
    return any(is_integer(element(op.result)) and int_of(op.batch_group_count) > 1 for op in convolutions)


def _vanishes(x: Any) -> bool:
    return bool(np.any(np.abs(x) < np.finfo(x.dtype).tiny))


def _is_small(x: Any) -> bool:
    return bool(np.any(np.abs(x) < 0.1))


def _is_large(x: Any) -> bool:
    return bool(np.any(np.abs(x) > -np.log(np.finfo(x.dtype).tiny) / 4))


INEXACT = {
    "stablehlo.power": _vanishes,
    "stablehlo.sine": _is_small,
    "chlo.sinh": _is_small,
    "stablehlo.log_plus_one": _is_large,
    "chlo.atan": _is_large,
    "chlo.atanh": _is_large,
}
"""Complex functions that XLA computes wrongly, and of which results: a power that is zero or subnormal, which without optimisation is NaN, sines near zero,
which it takes from a difference of exponentials, and logarithms near a singularity, where the square of the distance underflows and the result is infinite."""


DEFECTS = (has_narrow_positions, combines_in_a_wider_type, has_slices_of_slices, adds_known_booleans, convolves_known_integers)
"""Programs that XLA computes wrongly, whatever their inputs are."""


class _InexactResults(Watcher):
    """Sees whether a run has any of them."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = False

    def executed(self, op: Operation, results: Sequence[Any] = (), operands: Sequence[Any] = ()) -> None:
        if op.name in INEXACT and np.iscomplexobj(results[0]):
            self.seen |= INEXACT[op.name](np.asarray(results[0]))


def has_inexact_functions(text: str, inputs: Sequence[Any]) -> bool:
    """Whether there is a result of complex functions that XLA computes wrongly, or may be, where a run cannot be watched."""
    module = wg.parse(text).module
    functions = [op for op in module.walk() if op.name in INEXACT and is_complex(element(op.results[0]))]
    if not functions:
        return False
    if any(getattr(op.parent_op(), "name", "") not in ("func.func", "stablehlo.while", "stablehlo.if", "stablehlo.case") for op in functions):
        return True
    watcher = _InexactResults()
    run(lowered(wg.Program(module)), inputs, counter=watcher)
    return watcher.seen


def execute(text: str, inputs: Sequence[Any]) -> list[Any]:
    """The results that XLA computes."""
    jax, compiler, mlir, backend, _jax, ir = _tools()
    if any(defect(text) for defect in DEFECTS) or has_inexact_functions(text, inputs):
        raise NotThereError
    device = backend.local_devices()[0]
    parse(text, "the printed text")
    with mlir.make_ir_context():
        module = str(ir.Module.parse(text))
        options = compiler.get_compile_options(num_replicas=1, num_partitions=1)
        try:
            program = backend.compile_and_load(module.encode(), _jax.DeviceList((device,)), options)
        except jax.errors.JaxRuntimeError as error:
            if any(part in str(error) for part in REFUSALS):
                raise NotThereError from None
            raise
    with jax.enable_x64(True):
        arrays = [jax.device_put(np.asarray(x), device) for x in inputs]
        results = program.execute_sharded(arrays)
        return [np.asarray(shards[0]) for shards in results.disassemble_into_single_device_arrays()]
