"""The page on the interpreter: its table is that of the code, and its program runs."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import numpy as np
import pytest
from ptx_programs import applied, launched

from wengert.ir.diagnostics import DiagnosticError
from wengert.runtime import ptx
from wengert.runtime.ptx.instructions import TABLE, markdown
from wengert.runtime.ptx.special import SPECIAL

IDLE = ("nanosleep", "prefetch", "prefetchu", "applypriority")
"""Instructions that do nothing here, whatever they say."""
PAGE = (Path(__file__).parents[2] / "docs" / "ptx_interpreter.md").read_text()


def test_the_table_is_that_of_the_code() -> None:
    """After a change: the text of ``wengert.runtime.ptx.instructions.markdown()``."""
    assert markdown() in PAGE


def test_the_program_of_the_page_runs() -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, object] = {}
    exec(program, names)
    np.testing.assert_array_equal(names["result"], np.arange(1000, dtype=np.float32) * 2)


def test_special_registers_are_listed() -> None:
    listed = re.search(r"Special registers: (.*?)\.\n", PAGE, re.DOTALL)
    assert listed is not None
    names = set(re.findall(r"%\w+|WARP_SZ", listed[1]))
    assert names == {name.split(".")[0] for name in SPECIAL} - {f"%lanemask_{w}" for w in ("lt", "le", "gt", "ge")}


@pytest.mark.parametrize(
    "opcode",
    [
        "wgmma.fence.sync.aligned",
        "mbarrier.init.shared.b64",
        "tex.1d.v4.f32.f32",
        "cp.async.bulk.commit_group",
        "setmaxnreg.inc.sync.aligned.u32",
        "fance.sc.gpu",
    ],
)
def test_everything_else_is_refused(opcode: str) -> None:
    with pytest.raises(ptx.UnsupportedError, match=r"test\.ptx:\d+:\d+: error: '.*' is not modelled"):
        launched(f"{opcode}; ret;")


FORMS = [
    "add.s32",
    "sub.cc.u32",
    "mul.lo.s32",
    "mad.wide.u16",
    "div.rn.f32",
    "min.s32",
    "neg.s32",
    "fma.rn.f32",
    "rcp.rn.f32",
    "rem.u32",
    "addc.u32",
    "madc.lo.u32",
    "ex2.approx.f32",
    "lg2.approx.f32",
    "rsqrt.approx.f32",
    "copysign.f32",
    "testp.finite.f32",
    "and.b32",
    "cnot.b32",
    "shl.b32",
    "shf.l.wrap.b32",
    "bfe.u32",
    "bfi.b32",
    "brev.b32",
    "clz.b32",
    "bfind.u32",
    "popc.b32",
    "lop3.b32",
    "prmt.b32",
    "setp.eq.u32",
    "set.eq.u32.u32",
    "selp.b32",
    "slct.s32.s32",
    "mov.b32",
    "cvta.to.global.u64",
    "isspacep.global",
    "cvt.u32.u16",
    "ld.global.b32",
    "ld.param.b32",
    "ld.v2.b32",
    "st.shared.b32",
    "st.v4.b32",
    "fence.sc.sys",
    "membar.gl",
    "ldu.global.b32",
    "atom.global.add.u32",
    "atom.cas.b32",
    "red.global.add.f32",
    "shfl.sync.idx.b32",
    "vote.sync.all.pred",
    "match.any.sync.b32",
    "redux.sync.add.u32",
    "activemask.b32",
    "bra",
    "brx.idx",
    "call",
    "ret",
    "exit",
    "trap",
    "bar.sync",
    "bar.arrive",
    "bar.red.popc.u32",
    "bar.warp.sync",
    "barrier.cta.sync.aligned",
    "cp.async.ca.shared.global",
    "cp.async.commit_group",
    "cp.async.wait_group",
    "cp.async.wait_all",
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
    "ldmatrix.sync.aligned.m8n8.x1.shared.b16",
    "stmatrix.sync.aligned.m8n8.x1.shared.b16",
]


def test_every_opcode_has_a_form_here() -> None:
    assert set(TABLE) - {form.partition(".")[0] for form in FORMS} <= {"max", "abs", "sqrt", "subc", "tanh", "sin", "cos", "or", "xor", "not", "shr"} | set(
        IDLE
    )


@pytest.mark.parametrize("form", FORMS)
def test_operands_that_do_not_fit(form: str) -> None:
    """Whatever the operands are, the instruction is refused at its place, or executed, or a fault: it makes no error of Python's."""
    for count in range(6):
        for operand in ("%r1", "%d1", "%p1", "[%d1]", "{%r1, %r2}", "1", "0f3F800000", "(%r1)", "%r1|%p1", "_", "!%p1", "label", "words", "%tid.x"):
            body = f"{form} {', '.join([operand] * count)}; label: ret;"
            with contextlib.suppress(DiagnosticError):
                launched(body, checks=ptx.Checks(registers=False), variables=".shared .b8 words[64];")


@pytest.mark.parametrize("opcode", [name for name in TABLE if name not in IDLE])
def test_no_instruction_takes_a_modifier_that_it_does_not_know(opcode: str) -> None:
    """A modifier that nobody looks at would be silently wrong."""
    with pytest.raises((ptx.UnsupportedError, ptx.ParseError)):
        applied(f"{opcode}.unheard_of.b32", np.uint32, [np.arange(4, dtype=np.uint32)] * 2)
