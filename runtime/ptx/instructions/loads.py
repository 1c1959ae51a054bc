"""Loads, stores and fences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from wengert.runtime.ptx.accesses import WINDOWS, AccessPath, split_generic
from wengert.runtime.ptx.instructions.context import Context, Read, Run
from wengert.runtime.ptx.instructions.table import models
from wengert.runtime.ptx.lanes import Lanes
from wengert.runtime.ptx.program import Address, Location
from wengert.runtime.ptx.types import UNSIGNED, Array

_FAMILY = "Memory"
_SPACES = ("global", "const", "shared", "shared::cta", "local", "param")
_STRONG = ("volatile", "relaxed", "acquire", "release")
_WORDS = (*(f"{kind}{bits}" for kind in "bus" for bits in (8, 16, 32, 64)), "f32", "f64")
_SCOPES = ("cta", "cluster", "gpu", "sys")
_CACHE = ("ca", "cg", "cs", "lu", "cv", "wb", "wt")
HINTS = ("L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate", "L2::64B", "L2::128B", "L2::256B")

Paths = dict[str, AccessPath]


def space_of(context: Context, at: int) -> str:
    """The space that an instruction names; that of an address in a parameter of a call is local. No name means a generic address."""
    space = (context.choice(*_SPACES) or "generic").split("::")[0]
    operand = context.operands[at] if at < len(context.operands) else None
    if space == "param" and isinstance(operand, Address) and isinstance(operand.base, Location) and operand.base.space == "local":
        return "local"
    return "global" if space == "const" else space


def paths_of(context: Context, space: str, width: int, count: int = 1, *, strong: bool = False, unread: frozenset[int] = frozenset()) -> Paths:
    """The ways to a space, or to all that a generic address may lie in."""
    spaces = ("global", *WINDOWS) if space == "generic" else (space,)
    return {name: context.path(name, width, count, strong=strong, unread=unread) for name in spaces}


def parts_of(space: str, addresses: Array, lanes: Lanes) -> list[tuple[str, Array, Lanes, Array | slice]]:
    """The addresses by the space that they lie in."""
    if space != "generic":
        return [(space, addresses, lanes, slice(None))]
    return list(split_generic(lanes.spread(addresses), lanes))


def _is_strong(context: Context) -> bool:
    context.flag("weak")
    strong = context.flag(*_STRONG)
    context.flag(*_SCOPES)
    while context.flag(*_CACHE, *HINTS):
        pass
    return strong


def _vector(context: Context) -> int:
    return int((context.choice("v2", "v4") or "v1")[1:])


@models(
    "ld",
    "ldu",
    family=_FAMILY,
    forms="`.global .const .shared .local .param` and generic; `.nc`, cache operators and hints, `.volatile .relaxed .acquire`; `.v2 .v4`; 8 to 64 bits",
)
def load(context: Context) -> Run:
    """Words from memory."""
    space = space_of(context, 1)
    constant = context.flag("nc")
    # LLVM's loops around compare-and-swap begin with a plain load of the word, whose value is only a first guess.
    strong = (_is_strong(context) or not context.swapped.isdisjoint(context.operands[1:2])) and not constant
    count = _vector(context)
    type = context.type(*_WORDS)
    context.finish(2)
    elements = context.elements(0)
    if len(elements) != count:
        context.fail(f"'{context.instruction.name}' needs {count} registers")
    writes = [context.writer(element, type) for element in elements]
    address = context.address(1)
    unread = frozenset(k for k, element in enumerate(elements) if count > 1 and context.is_unread(element))
    paths = paths_of(context, space, type.size, count, strong=strong, unread=unread)
    dtype = type.dtype

    def run(lanes: Lanes) -> None:
        for name, addresses, some, _ in parts_of(space, address(lanes), lanes):
            path = paths[name]
            values = path.load(path.words(addresses, some), some)
            for write, value in zip(writes, values):
                write(some, value.view(dtype))

    if space == "param":
        return _uniform_load(context, paths["param"], address, lambda lanes, value: [write(lanes, v.view(dtype)) for write, v in zip(writes, value)])
    return run


def _uniform_load(context: Context, path: AccessPath, address: Read, write: Callable[[Lanes, list[Array]], object]) -> Run:
    """A load of a parameter: one word for all threads if they have one address."""

    def run(lanes: Lanes) -> None:
        at = address(lanes)
        if len(at) == 1 and lanes.count > 1:
            first = Lanes(lanes.numbers[:1])
            write(lanes, path.load(path.words(at, first), first))
        else:
            write(lanes, path.load(path.words(at, lanes), lanes))

    return run


@models(
    "st", family=_FAMILY, forms="`.global .shared .local .param` and generic; cache operators and hints, `.volatile .relaxed .release`; `.v2 .v4`; 8 to 64 bits"
)
def store(context: Context) -> Run:
    """Words to memory."""
    space = space_of(context, 0)
    if space == "param":
        context.refuse("stores to parameters of a kernel")
    strong = _is_strong(context)
    count = _vector(context)
    type = context.type(*_WORDS)
    context.finish(2)
    elements = context.elements(1)
    if len(elements) != count:
        context.fail(f"'{context.instruction.name}' needs {count} values")
    reads = [context.reader(element, type) for element in elements]
    address = context.address(0)
    paths = paths_of(context, space, type.size, count, strong=strong)
    word = UNSIGNED[type.bits]

    def run(lanes: Lanes) -> None:
        values = [lanes.spread(read(lanes)).view(word) for read in reads]
        for name, addresses, some, which in parts_of(space, address(lanes), lanes):
            path = paths[name]
            path.store(path.words(addresses, some), some, [value[which] for value in values])

    return run


@models("fence", "membar", family=_FAMILY, forms="`.sc .acq_rel` of all scopes, `.cta .gl .sys`: nothing, as memory is sequentially consistent here")
def fence(context: Context) -> Run:
    """Nothing: every store is seen at once."""
    context.flag("sc", "acq_rel", "acquire", "release")
    context.flag(*_SCOPES, "gl")
    context.finish(0)
    return lambda lanes: None


@models("prefetch", "prefetchu", "applypriority", family=_FAMILY, forms="nothing")
def prefetch(context: Context) -> Run:
    """Nothing: there are no caches."""
    return lambda lanes: None


@models("nanosleep", family=_FAMILY, forms="nothing")
def nanosleep(context: Context) -> Run:
    """Nothing: there is no time."""
    return lambda lanes: None


def occurrence(words: Array) -> Array:
    """How many earlier elements are equal to each."""
    order = np.argsort(words, kind="stable")
    ordered = words[order]
    fresh = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    rank = np.arange(len(words)) - np.repeat(fresh, np.diff(np.append(fresh, len(words))))
    result = np.empty(len(words), np.int64)
    result[order] = rank
    return result
