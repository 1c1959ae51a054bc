"""The passes between optimised core-level IR and what is lowered."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from wengert.dialects.core import ForOp, WhileOp
from wengert.dialects.kernel.level import holds_kernels
from wengert.ir.traversal import all_ops, ops_of
from wengert.transforms.ad.requests.lower import uses_ad
from wengert.transforms.core.one_device import is_communication
from wengert.transforms.pipelines import FINISH, LOOPS, OPTIMIZE, STACKS, joined, parse_pipeline


def runnable(core: ModuleOp, *, as_given: bool = False, devices: int | None = None) -> ModuleOp:
    """A core-level module as it is run: the module itself, or a copy after :func:`finishing`."""
    text = finishing(core, as_given=as_given, devices=devices)
    return parse_pipeline(text).applied(core) if text else core


def finishing(core: ModuleOp, *, as_given: bool = False, devices: int | None = None) -> str:
    """The pipeline from optimised core-level IR to what is run: requests for derivatives expanded, declared derivatives forgotten,
    loops relieved of what does not change in them. Empty for most programs.

    Of a program that is to run as it is given, only what has to be done: nothing is optimised. Unless it runs on several ``devices``, communication becomes
    what it means on one.
    """
    if holds_kernels(core):
        return ""
    alone = "on-one-device" if devices is None and any(is_communication(op) for op in all_ops(core)) else ""
    if as_given:
        return joined(alone, "lower-ad" if uses_ad(core) else "", f"{STACKS},drop-matrices" if ops_of(core, ForOp, WhileOp) else "")
    return joined(alone and f"{alone},{OPTIMIZE}", FINISH if uses_ad(core) else "", LOOPS if ops_of(core, ForOp, WhileOp) else "")
