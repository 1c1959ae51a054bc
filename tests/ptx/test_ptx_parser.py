"""The parser: what it reads, and where it says that a text is wrong."""

from __future__ import annotations

import contextlib
import dataclasses

import pytest
from ptx_programs import HEADER, module_text

from wengert.runtime import ptx
from wengert.runtime.ptx.program import Address, FloatBits, Guard, Integer, Negated, Pair, Register, Special, Symbol, Vector


def parsed(body: str, **options: str) -> ptx.Module:
    return ptx.parse(module_text(body, **options), "test.ptx")


def instructions(body: str) -> list[tuple[str, tuple[object, ...]]]:
    return [(i.name, i.operands) for i in parsed(body).functions["kernel"].body]


def test_instructions_and_operands() -> None:
    r1, r2, d1, p1 = Register("%r1"), Register("%r2"), Register("%d1"), Register("%p1")
    assert instructions(
        """
        add.rn.ftz.f32 %r1, %r2, 0f3F800000;
        ld.global.v2.b32 {%r1, %r2}, [%d1+-8]; // a comment
        st.shared.b32 [words + 4], -5; /* another
        one */ mov.u32 %r1, %tid.x; shfl.sync.idx.b32 %r1|%p1, %r2, 0x1F, 0b11, 0xFFFFFFFF;
        setp.eq.and.f64 %p1, %d1, 0d3FF0000000000000, !%p1; mov.f64 %d1, 1.5; ld.b32 %r1, [1024]; fence.acq_rel.sys;
        cp.async.cg.shared::cta.global [%r1], [%d1], 16;
        """
    ) == [
        ("add.rn.ftz.f32", (r1, r2, FloatBits(0x3F800000, 32))),
        ("ld.global.v2.b32", (Vector((r1, r2)), Address(d1, -8))),
        ("st.shared.b32", (Address(Symbol("words"), 4), Integer(-5))),
        ("mov.u32", (r1, Special("%tid.x"))),
        ("shfl.sync.idx.b32", (Pair(r1, p1), r2, Integer(31), Integer(3), Integer(0xFFFFFFFF))),
        ("setp.eq.and.f64", (p1, d1, FloatBits(0x3FF0000000000000, 64), Negated(p1))),
        ("mov.f64", (d1, FloatBits(0x3FF8000000000000, 64))),
        ("ld.b32", (r1, Address(Integer(1024)))),
        ("fence.acq_rel.sys", ()),
        ("cp.async.cg.shared::cta.global", (Address(r1), Address(d1), Integer(16))),
    ]


def test_labels_guards_and_tables() -> None:
    function = parsed("start: @%p1 bra end; @!%p2 bra start; table: .branchtargets start, end; brx.idx %r1, table; end: ret;").functions["kernel"]
    assert function.labels == {"start": 0, "end": 3}
    assert function.tables == {"table": ("start", "end")}
    assert [i.guard for i in function.body] == [Guard(Register("%p1"), False), Guard(Register("%p2"), True), None, None]


def test_names_of_inner_blocks() -> None:
    """The same name in two blocks stands for two things, and hides that of the block around; labels too."""
    body = """{ .reg .b32 %x; .param .b32 a; again: mov.b32 %x, 1; st.param.b32 [a], %x; bra again; }
    { .reg .b64 %x; .param .b64 a; again: mov.b64 %x, 2; st.param.b64 [a], %x; bra again; }"""
    function = parsed(body).functions["kernel"]
    assert function.registers["%x"].bits == 32
    assert function.registers["%x@1"].bits == 64
    assert [v.name for v in function.variables] == ["a", "a@1"]
    assert [i.operands for i in function.body][3:] == [(Register("%x@1"), Integer(2)), (Address(Symbol("a@1")), Register("%x@1")), (Symbol("again@1"),)]


def test_directives() -> None:
    text = f"""{HEADER.replace("sm_90", "sm_90a, debug")}
    .file 1 "kernel.cu"
    .visible .func (.param .b32 r) helper(.param .b64 .ptr .align 8 a, .param .align 4 .b8 b[12]) .noreturn;
    .extern .shared .align 16 .b8 pool[];
    .const .align 4 .f32 values[2][2] = {{{{1.0, -2.5}}, {{0f3F800000, 4}}}};
    .visible .entry first(.param .u64 .ptr .global .align 16 x, .param .u32 n) .maxntid 256, 1, 1 .minnctapersm 2 .reqntid 64
    {{ .loc 1 5 0
       .pragma "nounroll";
       ret; }}
    .weak .entry second() {{ ret; }}
    .section .debug_abbrev {{ .b8 1 {{ .b8 2 }} }}
    """
    module = ptx.parse(text)
    assert module.kernels == ("first", "second")
    assert (module.version, module.target) == ((8, 0), ("sm_90a", "debug"))
    first = module.functions["first"]
    assert (first.threads, first.most_threads) == ((64, 1, 1), (256, 1, 1))
    assert [(p.name, p.size) for p in first.parameters] == [("x", 8), ("n", 4)]
    assert module.functions["helper"].is_declaration
    pool, values = module.variables
    assert (pool.size, pool.align) == (None, 16)
    assert values.data is not None
    assert values.data.hex() == "0000803f000020c00000803f00008040"
    with pytest.raises(dataclasses.FrozenInstanceError):
        first.name = "third"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("body", "place", "message"),
    [
        ("add.s32 %r1, %r2 %r3; ret;", "12:18", "expected ',' or ';', found '%r3'"),
        ("add.s32 %r1, %q2, %r3;", "12:14", "register '%q2' is not declared"),
        ("mov.u32 %r1, %tid.w;", "12:14", "register '%tid.w' is not declared"),
        ("ret; $", "13:1", "expected an operand, found '}'"),
        ("{ ret;", "6:1", "this block does not end"),
        (".reg .b33 %x;", "12:6", "expected a type, found '.b33'"),
        (".reg .b32 %r1;", "12:11", "'%r1' is declared twice"),
        ("ld.global.b32 %r1, [%p2+x];", "12:25", "expected an integer, found 'x'"),
        ("/* no end", "12:1", "comment that does not end"),
        ("add.s32 %r1, ?;", "12:14", "unexpected character '?'"),
    ],
)
def test_errors_have_a_place(body: str, place: str, message: str) -> None:
    with pytest.raises(ptx.ParseError) as caught:
        parsed(body)
    text = str(caught.value)
    assert message in text
    assert text.startswith(f"test.ptx:{place}: error: ")


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".version 8.0\n.target",
        f"{HEADER}.entry",
        f"{HEADER}.visible .entry k(.param .u64 a,) {{ ret; }}",
        f"{HEADER}.visible .entry k() {{ ret;",
        f"{HEADER}.global .u32 x[2] = {{1, 2, 3}};",
        f"{HEADER}ret;",
    ],
)
def test_damaged_modules_are_errors(text: str) -> None:
    with pytest.raises(ptx.ParseError, match=r"^<ptx>:\d+:\d+: error: "):
        ptx.parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (".address_size 32", "only addresses of 64 bits"),
        (".visible .entry k() .reqnctapercluster 2, 1, 1 { ret; }", "'.reqnctapercluster' are not modelled"),
        (".extern .global .u32 x;", "lies in another module"),
        (".visible .func f(.reg .b32 %r) { ret; }", "parameters in registers"),
        (".visible .entry k() { .reg .v2 .b32 %v; ret; }", "registers that are vectors"),
        (".visible .entry k() { proto: .callprototype _ (.param .b32 _); ret; }", "indirect calls"),
        (".alias a, b;", "'.alias' is not modelled"),
    ],
)
def test_what_is_not_modelled_is_refused(text: str, message: str) -> None:
    with pytest.raises(ptx.UnsupportedError, match=message):
        ptx.parse(f".version 8.0\n.target sm_90\n{text}\n")


def test_every_prefix_of_a_module_is_read_or_refused() -> None:
    """No text makes the parser fail in a way of its own."""
    text = module_text("{ .param .b32 a; st.param.b32 [a], 1; } @%p1 bra x; x: mov.b64 {%r1, %r2}, %d1; ret;", before=".const .f32 c[2] = {1.0, 2.0};")
    for end in range(len(text)):
        with contextlib.suppress(ptx.ParseError, ptx.UnsupportedError):
            ptx.parse(text[:end])
