"""Facts about ops: what passes have to know of an op besides its structure, declared once, on its class.

::

    @op_definition
    class TanhOp(UnaryOp):
        name = "stablehlo.tanh"
        FACTS: ClassVar = transcendental(INEXACT, ELEMENTARY, complex=SPECIAL)

says that ``tanh`` is elementwise, takes floats and complex numbers and gives the same type, counts as one flop and one transcendental
function per element, and costs a kernel what an exponential does. From this one line follow its typing rule, its batching, its line in
``wengert costs``, whether fusion and reverse mode compute it twice, and what a schedule expects it to take. A reader maps the class of
a fact to its own unit (:mod:`wengert.transforms.fuse.roles` to the price of computing an element again,
:mod:`wengert.transforms.schedule.work` to nanoseconds); it has no table of ops.

An op without facts is an error wherever somebody asks for them, and where the package is tested. What an op computes has to be said: there is no default.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, IntEnum, auto
from functools import cache
from typing import Literal

from msgspec import Struct
from xdsl.ir import Attribute, Operation

from wengert.ir.element_classes import BOOLEAN, COMPLEX, FLOAT, INTEGER
from wengert.ir.tensor_types import is_boolean, is_complex, is_integer


class Effort(IntEnum):
    """The effort of computing one element, by classes that differ on every machine."""

    CHEAP = auto()
    """A few instructions that are ready soon: arithmetic, comparisons, bits."""
    DIVISION = auto()
    """One instruction that takes long: a division, a square root."""
    ROOT = auto()
    """A division and a square root, or an estimate and the steps that refine it."""
    ELEMENTARY = auto()
    """One polynomial, in straight-line code: an exponential, a logarithm."""
    SPECIAL = auto()
    """Several polynomials, or what has no vector instruction: a sine, a power, a division of integers."""


CHEAP, DIVISION, ROOT, ELEMENTARY, SPECIAL = Effort

NO_FLOPS = (0, 0)
"""What choices, conversions and bits cost: flops are arithmetic on floating-point numbers."""


class Work(Enum):
    """The way in which the floating-point operations of an op are counted."""

    NONE = auto()
    """There are none: the op moves elements, works on integers, or is what its regions do."""
    ELEMENTS = auto()
    """So many for each element of the result: ``Facts.flops``."""
    FORMULA = auto()
    """By a formula in :mod:`wengert.transforms.analysis.opcost`."""
    EXPANSION = auto()
    """Those of the ops that it is written out in."""
    BODY = auto()
    """Those of its body, by :mod:`wengert.transforms.analysis.kernel_cost`: the op is a kernel."""


class Traffic(Enum):
    """The bytes that an op moves."""

    NONE = auto()
    """None of its own: calls, control flow, tuples and barriers, whose regions count for themselves."""
    WHOLE = auto()
    """It reads its operands and writes its results."""
    SLICE = auto()
    """It reads of its first operand what it returns."""
    UPDATE = auto()
    """It reads and writes the part of its first operand that is replaced: what the second operand holds."""
    SCATTER = auto()
    """It reads and writes the elements that updates are combined with."""
    TAPE = auto()
    """It writes its last operand on a tape."""
    COPY = auto()
    """It reads one buffer and writes another."""
    BODY = auto()
    """The bytes that the kernel in its region moves."""


class Batching(Enum):
    """The way in which an op is batched."""

    SAME_OP = auto()
    """The op itself, on operands that have one more dimension in front."""
    RULE = auto()
    """By a rule of its own, in ``transforms/ad/batching``."""
    LOOP = auto()
    """A loop over the batch, if the op is pure; else it is refused."""


class Facts(Struct, frozen=True, kw_only=True):
    """The facts of an op class.

    Attributes:
        elementwise: each element of the result depends on the same element of every operand.
        takes: the element classes of an elementwise op's operands (``wengert.ir.element_classes``).
        one_type: operands and result have one type, with elements that the op takes; that is its typing rule.
        floats, integers, booleans, complex: what the scalar function takes on such elements; None: compiled code has no such function.
        functions: the names of the scalar functions, where they say more than the op's name does.
        work, flops, transcendental: how floating-point operations are counted; flops of an element on real and on complex operands, and
            whether that is a transcendental function.
        traffic: which bytes the op moves.
        recompute: computing the result again costs about as much as reading it from memory, so that a reverse sweep does that.
        linear: the operands in which the op is linear jointly.
        bilinear: linear in each of the first two operands, but not in both.
        batching: how it is batched.
    """

    elementwise: bool = False
    takes: int = 0
    one_type: bool = False
    floats: Effort | None = None
    integers: Effort | None = None
    booleans: Effort | None = None
    complex: Effort | None = None
    functions: tuple[str, ...] = ()
    work: Work
    flops: tuple[int, int] = NO_FLOPS
    transcendental: bool = False
    traffic: Traffic = Traffic.WHOLE
    recompute: bool = False
    linear: tuple[int, ...] | Literal["all"] = ()
    bilinear: bool = False
    batching: Batching = Batching.RULE

    @property
    def is_pointwise(self) -> bool:
        """Whether the op is itself on tensors of every shape, so that it may be computed before its operands are repeated, as well as after."""
        return self.elementwise and self.batching is Batching.SAME_OP and (self.one_type or self.has_function)

    @property
    def has_function(self) -> bool:
        """Whether compiled code computes the op element by element, on some elements at least."""
        return bool(self.floats or self.integers or self.booleans or self.complex)

    def linear_operands(self, count: int) -> Sequence[int]:
        """The positions of the operands, of so many, in which the op is linear jointly."""
        return range(count) if self.linear == "all" else self.linear

    def effort(self, element: Attribute) -> Effort | None:
        """The effort of the scalar function on elements of a type; None: compiled code has no such function."""
        if is_integer(element):
            return self.booleans if is_boolean(element) else self.integers
        return self.complex if is_complex(element) else self.floats


_Linear = tuple[int, ...] | Literal["all"]
_Effort = Effort | Literal["same"] | None


def elementwise(
    takes: int,
    effort: Effort | None = None,
    *,
    integers: _Effort = "same",
    booleans: _Effort = "same",
    complex: _Effort = "same",
    flops: tuple[int, int],
    transcendental: bool = False,
    one_type: bool = True,
    recompute: bool | None = None,
    linear: _Linear = (),
    bilinear: bool = False,
    batching: Batching = Batching.SAME_OP,
    functions: tuple[str, ...] = (),
) -> Facts:
    """An elementwise op of this effort on all elements that it takes, unless it says otherwise for some."""

    def on(elements: int, own: _Effort = "same") -> Effort | None:
        return (effort if own == "same" else own) if takes & elements else None

    return Facts(
        elementwise=True,
        takes=takes,
        one_type=one_type,
        floats=on(FLOAT),
        integers=on(INTEGER, integers),
        booleans=on(BOOLEAN, booleans),
        complex=on(COMPLEX, complex),
        functions=functions,
        work=Work.ELEMENTS,
        flops=flops,
        transcendental=transcendental,
        recompute=effort is CHEAP if recompute is None else recompute,
        linear=linear,
        bilinear=bilinear,
        batching=batching,
    )


def transcendental(takes: int, effort: Effort | None, *, integers: _Effort = "same", complex: _Effort = "same", functions: tuple[str, ...] = ()) -> Facts:
    """An elementwise transcendental function: one flop and one function per element."""
    return elementwise(takes, effort, integers=integers, complex=complex, flops=(1, 1), transcendental=True, functions=functions)


def expanded(takes: int) -> Facts:
    """An elementwise op that compiled code and costs see as the elementwise ops that it is written out in."""
    return Facts(elementwise=True, takes=takes, one_type=True, work=Work.EXPANSION, batching=Batching.SAME_OP)


MOVEMENT = Facts(work=Work.NONE)
"""Moves elements and computes none."""
FORMULA = Facts(work=Work.FORMULA)
"""Computes by what its types and properties say."""
EXPANSION = Facts(work=Work.EXPANSION, batching=Batching.LOOP)
"""Is written out in other ops, by every pass that looks closer."""
REGIONS = Facts(work=Work.NONE, traffic=Traffic.NONE)
"""Costs what its regions do."""
STRUCTURE = Facts(work=Work.NONE, traffic=Traffic.NONE, batching=Batching.LOOP)
"""Moves nothing and is gone before programs are batched: calls, tuples, tokens, control flow that is not closed."""
KERNEL = Facts(work=Work.BODY, batching=Batching.LOOP)
"""Is at kernel level, where nothing is differentiated or batched any more."""
LAUNCH = Facts(work=Work.BODY, traffic=Traffic.BODY, batching=Batching.LOOP)
"""Runs the kernel in its region on buffers."""
COPY = Facts(work=Work.NONE, traffic=Traffic.COPY, batching=Batching.LOOP)
"""Copies a buffer."""
DEVICE = Facts(work=Work.NONE, traffic=Traffic.NONE, batching=Batching.LOOP)
"""Belongs to the text of a device's kernels, or launches one: what threads do is counted where they run."""
UNBATCHED = Facts(work=Work.NONE, batching=Batching.LOOP)
"""Has no rule for batches, because it has no operands, is gone before programs are batched or batches of it are rare; computes nothing."""

COMMUNICATION = Facts(work=Work.NONE)
"""Exchanges values with other devices; what goes over the wire is counted by :mod:`wengert.transforms.analysis.communication`."""

_OF_OTHERS = {"arith.constant": DEVICE, "func.call": REGIONS, "func.return": STRUCTURE}
"""Facts of ops that xDSL defines, by name."""


class MissingFactsError(LookupError):
    """An op class without facts."""


@cache
def facts_of(cls: type[Operation]) -> Facts:
    """The facts of an op class; a MissingFactsError that names the op if nobody has declared any."""
    facts: Facts | None = getattr(cls, "FACTS", None) or _OF_OTHERS.get(cls.name)
    if facts is None:
        raise MissingFactsError(f"nothing is known of '{cls.name}': its class declares no FACTS (wengert.dialects.facts says which there are)")
    return facts
