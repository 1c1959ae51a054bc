"""Functions whose derivatives at kinks are those that PyTorch takes, for define-by-run code and for PyTorch programs."""

from __future__ import annotations

from wengert.dialects import ad
from wengert.dialects.builder import OpBuilder, Value


def root(b: OpBuilder, x: Value) -> Value:
    """The square root of a sum of squares. At 0 its derivative is 0, the subgradient of least norm of a length: the root is taken of 1 there."""
    zero = b.compare("EQ", x, b.full_like(x, 0))
    return b.select(zero, b.full_like(x, 0), b.sqrt(b.select(zero, b.full_like(x, 1), x)))


def angle(b: OpBuilder, y: Value, x: Value) -> Value:
    """atan2; at (0, 0) its derivative is 0: it is that of the point (0, 1) there."""
    zero = b.full_like(y, 0)
    both = b.and_(b.compare("EQ", y, zero), b.compare("EQ", x, zero))
    return b.select(both, b.like(ad.StopGradientOp, b.atan2(y, x)), b.atan2(b.select(both, zero, y), b.select(both, b.full_like(x, 1), x)))
