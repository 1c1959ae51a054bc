"""Our verdict on ops against that of StableHLO's own verifier, which JAX ships.

Well-typed ops (ours, and those of real programs) are changed at random; both verifiers must accept or reject the result.
Where they are known to differ, the difference and its reason are listed here.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from reference_programs import needs_corpus, share, texts
from typing_cases import WELL_TYPED, name_of
from typing_mutations import mutate
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from wengert.dialects import chlo_broadcast
from wengert.dialects.registry import make_context
from wengert.ir.attributes import ints
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parser import parse_module
from wengert.ir.printer import print_module
from wengert.ir.verifier import verify

pytestmark = pytest.mark.oracle

OURS = [text for text in WELL_TYPED if '"core.' not in text]

STRICTER = {
    "stablehlo.bitcast_convert": ("does not match the inferred", "upstream leaves a dimension unchecked where the widths are equal"),
    "stablehlo.compare": ("compare_type", "the specification ties compare_type to the element type (compare C3 to C6)"),
    "stablehlo.dot_general": ("cannot hold", "a sum of floats does not fit integers, one of complex numbers does not fit floats"),
    "stablehlo.convolution": ("cannot hold", "as for dot_general"),
    "stablehlo.fft": ("the last dimensions of the operand", "a transform whose length is not the operand's has no meaning"),
    "stablehlo.dynamic_broadcast_in_dim": ("output_dimensions must be a list", "the specification's C6"),
    "stablehlo.dynamic_iota": ("", "the specification's C2, and iota's element types"),
    "stablehlo.real_dynamic_slice": ("does not match the inferred", "the result's rank is the operand's"),
    "stablehlo.reduce": ("cannot be promoted", "accumulating must not narrow (reduce C6)"),
    "stablehlo.reduce_window": ("cannot be promoted", "as for reduce"),
    "stablehlo.scatter": ("", "as for reduce; and booleans are no indices"),
    "stablehlo.gather": ("start_indices must hold integers", "booleans are no indices"),
    "stablehlo.dynamic_gather": ("start_indices must hold integers", "booleans are no indices"),
    "stablehlo.select_and_scatter": ("", "operand and source have one element type (C1); accumulating must not narrow"),
    "stablehlo.all_reduce": ("cannot be promoted", "as for reduce"),
    "stablehlo.reduce_scatter": ("", "as for reduce; and the result holds what the computation returns"),
    "stablehlo.rng_bit_generator": ("does not match the inferred", "the state keeps its element type (C1)"),
    "stablehlo.select": ("pred must be of rank 0", "upstream compares pred with on_true alone, also where on_false knows an extent that on_true does not"),
    "stablehlo.torch_index_select": ("", "upstream does not compare the result"),
    "chlo.bessel_i1e": ("takes floats", "no complex Bessel function here"),
    **{op.name: ("", "upstream leaves shapes that do not broadcast, and elements that the op cannot take, to later passes") for op in chlo_broadcast.ALL},
    "stablehlo.einsum": ("", "upstream does not read einsum_config"),
    "stablehlo.unary_einsum": ("", "upstream does not read einsum_config"),
    "stablehlo.dot": ("cannot hold", "as for dot_general"),
    "chlo.ragged_dot": ("cannot hold", "as for dot_general"),
    "stablehlo.dynamic_conv": ("", "upstream leaves the result's features unchecked; and as for dot_general"),
    "chlo.scan": ("does not match the type", "upstream compares shapes only"),
    "chlo.top_k": ("must hold", "complex numbers have no order"),
}
"""Ops of which we reject more, with a part of our message and the reason."""

LOOSER = {}
"""Ops of which we accept more, with the reason."""


@pytest.fixture(scope="module")
def upstream() -> Iterator[Callable[[str], str]]:
    """What StableHLO's verifier says of a text; nothing if it accepts."""
    mlir = pytest.importorskip("jax._src.interpreters.mlir")
    from jaxlib.mlir import ir

    context: Any = mlir.make_ir_context()

    def verdict(text: str) -> str:
        with context:
            try:
                ir.Module.parse(text).operation.verify()
            except Exception as error:
                return str(error) or "rejected"
        return ""

    return verdict


def our_verdict(module: ModuleOp) -> str:
    try:
        verify(module)
    except DiagnosticError as error:
        return error.diagnostics[0].message
    return ""


def printable(module: ModuleOp) -> str | None:
    """The generic text; None where dimension numbers are so wrong that there is no text for them."""
    try:
        return print_module(module, generic=True)
    except IndexError:
        return None


def unexplained(name: str, ours: str, theirs: str) -> bool:
    """Whether two verdicts differ for no reason that is known."""
    if bool(ours) == bool(theirs):
        return False
    return name not in LOOSER if theirs else name not in STRICTER or STRICTER[name][0] not in ours


def crashes_upstream(module: ModuleOp) -> bool:
    """Whether StableHLO's verifier reads outside of a list: it does at negative broadcast_dimensions."""
    found = [op.properties.get("broadcast_dimensions") for op in module.walk() if op.name.startswith("chlo.broadcast_")]
    return any(dims is not None and min(ints(dims), default=0) < 0 for dims in found)


def compare(texts: list[str], rounds: int, seed: int, upstream: Callable[[str], str]) -> dict[tuple[bool, bool], int]:
    """Counts verdicts (ours, theirs), after failing at the first differences without a reason."""
    rng = random.Random(seed)
    context = make_context()
    counts: dict[tuple[bool, bool], int] = {}
    wrong: list[str] = []
    for i in range(rounds):
        text = texts[i % len(texts)]
        module = parse_module(text, "case.mlir", context)
        mutate(rng, module)
        changed = printable(module)
        if changed is None or crashes_upstream(module):
            assert our_verdict(module)
            continue
        ours, theirs = our_verdict(module), upstream(changed)
        counts[not ours, not theirs] = counts.get((not ours, not theirs), 0) + 1
        if unexplained(name_of(text), ours, theirs):
            wrong.append(f"{changed}\nours: {ours or 'accepted'}\nupstream: {theirs or 'accepted'}")
    assert not wrong, "\n\n".join(wrong[:3])
    return counts


def test_upstream_accepts_the_well_typed_cases(upstream: Callable[[str], str]) -> None:
    rejected = [(text, found) for text in OURS if (found := upstream(text))]
    assert not rejected


def test_agreement_on_changed_cases(upstream: Callable[[str], str]) -> None:
    counts = compare(OURS, 3500, 1, upstream)
    agreed = counts[True, True] + counts[False, False]
    assert counts[True, True] > 1000
    assert counts[False, False] > 1000
    assert agreed > 0.97 * sum(counts.values())


def alone(op: Operation) -> str:
    """A module whose @main applies this op to its arguments."""
    inner = (
        set(op.results) | {v for o in op.walk() if o is not op for v in o.results} | {a for r in op.walk() for g in r.regions for b in g.blocks for a in b.args}
    )
    outer: list[SSAValue] = []
    for nested in op.walk():
        outer += [v for v in nested.operands if v not in inner and v not in outer]
    outer = [*op.operands, *[v for v in outer if v not in op.operands]]
    block = Block(arg_types=[v.type for v in outer])
    mapping: dict[SSAValue, SSAValue] = dict(zip(outer, block.args, strict=True))
    block.add_op(op.clone(mapping))
    block.add_op(ReturnOp())
    return print_module(ModuleOp([FuncOp("main", ([v.type for v in outer], []), Region(block))]), generic=True)


def real_ops(paths: list[Path]) -> list[str]:
    """Different ops of real programs, each in a module of its own."""
    context = make_context()
    ops: dict[str, None] = {}
    for path in paths:
        for op in parse_module(path.read_text(), path.name, context).walk():
            named = op.name.startswith(("stablehlo.", "chlo.")) and op.name not in ("stablehlo.return", "stablehlo.constant", "stablehlo.custom_call")
            if named and not any(o.name == "func.call" for o in op.walk()):
                ops[alone(op)] = None
    return list(ops)


@needs_corpus
@pytest.mark.corpus
def test_agreement_on_changed_ops_of_real_programs(upstream: Callable[[str], str]) -> None:
    rng = random.Random(2)
    ops = real_ops(share(texts("dev/*/f64.generic.mlir"), 5))
    rng.shuffle(ops)
    compare(ops, 1000, 3, upstream)
