"""The enumerations of the gpu dialect, as upstream names their cases. ``#gpu<dim x>`` and the like, in ops their bare words."""

from __future__ import annotations

from enum import auto

from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.utils.str_enum import StrEnum


class Dimension(StrEnum):
    """A dimension of grids and work-groups."""

    X = auto()
    Y = auto()
    Z = auto()


class ShuffleMode(StrEnum):
    """The lane that a shuffle reads: the own number xor the offset, less, more, or the offset itself."""

    XOR = auto()
    UP = auto()
    DOWN = auto()
    IDX = auto()


class Reduction(StrEnum):
    """Ways in which a reduction across threads combines values."""

    ADD = auto()
    MUL = auto()
    MINUI = auto()
    MINSI = auto()
    MINNUMF = auto()
    MAXUI = auto()
    MAXSI = auto()
    MAXNUMF = auto()
    AND = auto()
    OR = auto()
    XOR = auto()
    MINIMUMF = auto()
    MAXIMUMF = auto()


class ObjectFormat(StrEnum):
    """Forms of an object of a ``gpu.binary``: LLVM bitcode, text for the driver, machine code, or text and machine code together."""

    OFFLOAD = auto()
    ASSEMBLY = auto()
    BIN = auto()
    FATBIN = auto()


@irdl_attr_definition
class DimensionAttr(EnumAttribute[Dimension], SpacedOpaqueSyntaxAttribute):
    """``#gpu<dim x>``."""

    name = "gpu.dim"


@irdl_attr_definition
class ShuffleModeAttr(EnumAttribute[ShuffleMode], SpacedOpaqueSyntaxAttribute):
    """``#gpu<shuffle_mode xor>``."""

    name = "gpu.shuffle_mode"


@irdl_attr_definition
class ReductionAttr(EnumAttribute[Reduction], SpacedOpaqueSyntaxAttribute):
    """``#gpu<all_reduce_op add>``."""

    name = "gpu.all_reduce_op"
