"""Our verdict on ops against that of StableHLO's own verifier, which JAX ships.

Well-typed ops (ours, and those of real programs) are changed at random; both verifiers must accept or reject the result.
Where they are known to differ, the difference and its reason are listed here.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
import typing_text_mutations
from reference_programs import needs_corpus, share, texts
from typing_cases import bounded, values
from typing_cases.every_op import WELL_TYPED
from typing_cases.forms import FORMS
from typing_cases.notation import name_of, verdict
from typing_mutations import mutate
from upstream_verifier import CRASHED, Upstream
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from wengert.dialects.chlo import broadcast
from wengert.dialects.registry import make_context
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.ir.verification.verifier import verify

pytestmark = pytest.mark.oracle

ALL_FORMS = [text for text in [*WELL_TYPED, *FORMS] if '"core.' not in text]
OURS = [text for text in WELL_TYPED if '"core.' not in text and "memref<" not in text]

STRICTER = {
    "stablehlo.set_dimension_size": ("", "a constant size is no negative number, not above the operand's extent, and the result's extent"),
    "stablehlo.dynamic_pad": ("leaves a negative extent", "an extent is not negative, also where the edges are constants"),
    "stablehlo.broadcast_in_dim": ("", "scales stay where they are (C1): numbers would change their value"),
    "stablehlo.while": ("memref<", "a buffer is no tensor, which upstream does not tell from one of its shape"),
    "stablehlo.custom_call": ("must be in output_operand_aliases", "a buffer that goes out is one that came in, and no other one is"),
    "stablehlo.bitcast_convert": ("does not match the inferred", "upstream leaves a dimension unchecked where the widths are equal"),
    "stablehlo.compare": ("compare_type", "the specification ties compare_type to the element type (compare C3 to C6)"),
    "stablehlo.dot_general": ("cannot hold", "a sum of floats does not fit integers, one of complex numbers does not fit floats"),
    "stablehlo.convolution": ("cannot hold", "as for dot_general"),
    "stablehlo.fft": ("the last dimensions of the operand", "a transform whose length is not the operand's has no meaning"),
    "stablehlo.dynamic_broadcast_in_dim": ("", "the specification's C6, and C1: operand and result have one element type"),
    "stablehlo.dynamic_reshape": ("", "the specification's C1: operand and result have one element type"),
    "stablehlo.add": ("must have the same type", "quantized operands are stored alike (C3); upstream does not tell i8 from u8"),
    "stablehlo.dynamic_iota": ("", "the specification's C2, and iota's element types"),
    "stablehlo.real_dynamic_slice": ("", "the result's rank is the operand's, and a slice does not end before it starts"),
    "stablehlo.reduce": ("", "accumulating must not narrow (C6), and what is accumulated is of rank 0 (I2)"),
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
    **{op.name: ("", "upstream leaves shapes that do not broadcast, and elements that the op cannot take, to later passes") for op in broadcast.ALL},
    "stablehlo.einsum": ("", "upstream does not read einsum_config"),
    "stablehlo.unary_einsum": ("", "upstream does not read einsum_config"),
    "stablehlo.dot": ("", "as for dot_general, also where operands are quantized"),
    "chlo.ragged_dot": ("", "as for dot_general, also where operands are quantized"),
    "stablehlo.dynamic_conv": ("", "upstream leaves the result's features unchecked; and as for dot_general"),
    "chlo.scan": ("does not match the type", "upstream compares shapes only"),
    "chlo.top_k": ("", "complex numbers have no order; and k above 2**63 is no negative number"),
}
"""Ops of which we reject more, with a part of our message and the reason."""

STRICTER_EVERYWHERE = {
    "has no property": "upstream drops what an op does not have from its properties",
    "expected equally many of each of the operands": "there are as many initial values as inputs; upstream divides and drops the remainder",
}
"""Parts of our messages that reject more of any op, and the reasons."""

LOOSER: dict[str, str] = {}
"""Ops of which we accept more, with the reason."""


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
    if any(message in ours for message in STRICTER_EVERYWHERE):
        return False
    return name not in LOOSER if theirs else name not in STRICTER or STRICTER[name][0] not in ours


def compare(texts: list[str], rounds: int, seed: int, upstream: Upstream) -> dict[tuple[bool, bool], int]:
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
        if changed is None:
            assert our_verdict(module)
            continue
        ours, theirs = our_verdict(module), upstream(changed)
        if theirs == CRASHED:
            assert ours, changed
            continue
        counts[not ours, not theirs] = counts.get((not ours, not theirs), 0) + 1
        if unexplained(name_of(text), ours, theirs):
            wrong.append(f"{changed}\nours: {ours or 'accepted'}\nupstream: {theirs or 'accepted'}")
    assert not wrong, "\n\n".join(wrong[:3])
    return counts


def test_upstream_accepts_the_well_typed_cases(upstream: Upstream) -> None:
    rejected = [(text, refusal) for text in ALL_FORMS if (refusal := upstream(text))]
    assert not rejected


def test_upstream_refuses_what_is_ill_bounded_or_no_value(upstream: Upstream) -> None:
    taken = [text for text, message in [*bounded.ILL_TYPED, *values.ILL_TYPED] if unexplained(name_of(text), message, upstream(text))]
    assert not taken


def test_forms_are_accepted() -> None:
    rejected = [(text, refusal) for text in FORMS if (refusal := verdict(text))]
    assert not rejected


def test_upstream_reads_what_is_printed(upstream: Upstream) -> None:
    """What we print of a text, pretty and generic, is to upstream what the text is."""
    for text in ALL_FORMS:
        meant = upstream.printed(text)
        for generic in (False, True):
            assert upstream.printed(print_module(parse_module(text, "case.mlir"), generic=generic)) == meant


def compare_texts(change: Callable[[random.Random, str], str], rounds: int, seed: int, upstream: Upstream) -> dict[tuple[bool, bool], int]:
    """As :func:`compare` for changes to texts; some of what comes out cannot be read."""
    rng = random.Random(seed)
    counts: dict[tuple[bool, bool], int] = {}
    wrong: list[str] = []
    texts = rng.sample(ALL_FORMS, len(ALL_FORMS))
    for i in range(rounds):
        text = texts[i % len(texts)]
        changed = change(rng, text)
        if changed == text:
            continue
        ours, theirs = verdict(changed), upstream(changed)
        if theirs == CRASHED:
            assert ours, changed
            continue
        counts[not ours, not theirs] = counts.get((not ours, not theirs), 0) + 1
        if unexplained(name_of(text), ours, theirs):
            wrong.append(f"{changed}\nours: {ours or 'accepted'}\nupstream: {theirs or 'accepted'}")
    assert not wrong, "\n\n".join(wrong[:3])
    return counts


def test_agreement_on_changed_texts(upstream: Upstream) -> None:
    counts = compare_texts(typing_text_mutations.mutate, 2500, 5, upstream)
    assert counts[True, True] > 100
    assert counts[False, False] > 1500


def test_agreement_on_quantized_texts(upstream: Upstream) -> None:
    counts = compare_texts(typing_text_mutations.quantize, 1500, 6, upstream)
    assert counts[True, True] > 100
    assert counts[False, False] > 300


def test_agreement_on_changed_cases(upstream: Upstream) -> None:
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
def test_agreement_on_changed_ops_of_real_programs(upstream: Upstream) -> None:
    rng = random.Random(2)
    ops = real_ops(share(texts("dev/*/f64.generic.mlir"), 5))
    rng.shuffle(ops)
    compare(ops, 1000, 3, upstream)
