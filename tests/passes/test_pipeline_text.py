"""Pipelines as text: what is printed parses to an equal pipeline, and mistakes are shown where they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import parse_spec

from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.pipeline.passes import PassRegistry, Pipeline


@dataclass(frozen=True)
class Plain(ModulePass):
    """Does nothing."""

    name = "plain"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass


@dataclass(frozen=True)
class Options(ModulePass):
    """Does nothing, with options."""

    name = "with-options"

    fn: str = "main"
    wrt: tuple[int, ...] | None = None
    size_limit: int = 3
    rate: float = 1.5
    fast: bool = False
    mode: Literal["forward", "reverse"] = "forward"
    edge: tuple[int, int] = (1, 2)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass


@dataclass(frozen=True)
class Needs(ModulePass):
    """Has an option without a default."""

    name = "needs"

    count: int

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass


CLASSES: dict[str, type[ModulePass]] = {cls.name: cls for cls in (Plain, Options, Needs)}


class Registry(PassRegistry):
    """The passes of this file."""

    def load(self, name: str) -> type[ModulePass]:
        return CLASSES[name]


REGISTRY = Registry(dict.fromkeys(CLASSES, ""))


def parse(text: str) -> Pipeline:
    return Pipeline.parse(text, REGISTRY)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("  ", ()),
        ("plain", (Plain(),)),
        (" plain ,\nplain{ }", (Plain(), Plain())),
        ("with-options{wrt=0,1}", (Options(wrt=(0, 1)),)),
        ("with-options{wrt=2 fn=f}", (Options(fn="f", wrt=(2,)),)),
        ("with-options{ size-limit=4\tfast }", (Options(size_limit=4, fast=True),)),
        ("with-options{size_limit=-4 fast=true}", (Options(size_limit=-4, fast=True),)),
        ('with-options{fn="a b"}', (Options(fn="a b"),)),
        ("with-options{fn=2}", (Options(fn="2"),)),
        ("with-options{fn=jvp.main}", (Options(fn="jvp.main"),)),
        ("with-options{rate=2}", (Options(rate=2.0),)),
        ("with-options{rate=1e-3}", (Options(rate=1e-3),)),
        ("with-options{mode=reverse}", (Options(mode="reverse"),)),
        ("needs{count=1},plain", (Needs(1), Plain())),
    ],
)
def test_parses(text: str, expected: tuple[ModulePass, ...]) -> None:
    pipeline = parse(text)
    assert pipeline.passes == expected
    assert parse(str(pipeline)) == pipeline


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("plain,plian", 7, "unknown pass 'plian'"),
        ("plain plain", 7, "expected ','"),
        ("plain,", 7, "expected the name of a pass, found the end"),
        (",plain", 1, "expected the name of a pass, found ','"),
        ("with-options{wrt=}", 18, "expected a value of wrt, found '}'"),
        ("with-options{wrt=0", 19, "expected an option or '}', found the end"),
        ("with-options{wrt=0,fn=f}", 20, "found an option"),
        ("with-options{wtr=0}", 14, "no option 'wtr'"),
        ("with-options{wrt=a}", 18, "expects integers, found 'a'"),
        ("with-options{size-limit=1,2}", 25, "expects an integer, found '1,2'"),
        ("with-options{size-limit}", 14, "expects an integer, found no value"),
        ("with-options{fast=1}", 19, "expects true or false, found '1'"),
        ("with-options{mode=revers}", 19, "expects one of forward, reverse, found 'revers'"),
        ("with-options{edge=1,2,3}", 19, "found '1,2,3'"),
        ("with-options{fn=a fn=b}", 19, "given twice"),
        ('with-options{fn="a}', 17, "no closing quote"),
        ("plain{x}", 7, "has no option 'x'"),
        ("needs", 1, "needs the option 'count'"),
    ],
)
def test_mistakes_are_shown_where_they_are(text: str, column: int, message: str) -> None:
    with pytest.raises(DiagnosticError) as error:
        parse(text)
    seen = error.value.diagnostic
    assert message in seen.message
    assert (seen.file, seen.line, seen.column) == ("<pipeline>", 1, column)
    assert "^" in seen.render()


def test_hints() -> None:
    with pytest.raises(DiagnosticError, match="did you mean 'plain'"):
        parse("plian")
    with pytest.raises(DiagnosticError, match="did you mean 'size-limit'"):
        parse("with-options{size-limt=1}")
    with pytest.raises(DiagnosticError, match="did you mean 'reverse'"):
        parse("with-options{mode=revers}")
    with pytest.raises(DiagnosticError, match="known passes: needs, plain, with-options"):
        parse("zzz")


def test_a_mistake_on_a_later_line() -> None:
    with pytest.raises(DiagnosticError) as error:
        parse("plain,\n  plian")
    assert (error.value.diagnostic.line, error.value.diagnostic.column) == (2, 3)
    assert error.value.diagnostic.source_line == "  plian"


_options = st.builds(
    Options,
    fn=st.text(st.characters(exclude_categories=("Cs",)), max_size=8),
    wrt=st.none() | st.lists(st.integers(), min_size=1, max_size=4).map(tuple),
    size_limit=st.integers(),
    rate=st.floats(allow_nan=False),
    fast=st.booleans(),
    mode=st.sampled_from(["forward", "reverse"]),
    edge=st.tuples(st.integers(), st.integers()),
)


@given(st.lists(st.just(Plain()) | _options, max_size=4))
def test_what_is_printed_parses_to_an_equal_pipeline(passes: list[ModulePass]) -> None:
    pipeline = Pipeline(tuple(passes))
    assert parse(str(pipeline)) == pipeline


@given(
    st.builds(
        Options,
        fn=st.text("abc_-1 .{}=,", max_size=6),
        wrt=st.none() | st.lists(st.integers(), min_size=1, max_size=3).map(tuple),
        rate=st.floats(allow_nan=False, allow_infinity=False),
        fast=st.booleans(),
    )
)
def test_stock_xdsl_reads_what_is_printed(written: Options) -> None:
    assert Options.from_pass_spec(parse_spec(str(Pipeline((written,))))) == written


def test_slices_and_sums() -> None:
    pipeline = parse("plain,needs{count=1},plain")
    assert str(pipeline[1:]) == "needs{count=1},plain"
    assert str(pipeline[:1] + pipeline[2:]) == "plain,plain"
    assert len(pipeline) == 3
