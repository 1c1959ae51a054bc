"""``ad.stop_gradient`` in plain StableHLO: a conversion to the same type that carries a mark.

StableHLO has no word for a value whose derivative is zero by decree, and text that JAX and XLA read holds their words only. They keep
``mhlo.frontend_attributes`` without looking into them::

    %1 = ad.stop_gradient %0 : tensor<f64>
    %1 = stablehlo.convert %0 {mhlo.frontend_attributes = {wengert = "stop_gradient"}} : tensor<f64>

For others it is the identity that it computes; here, reading the text gives back what it was written for.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DictionaryAttr, StringAttr
from xdsl.ir import Operation, SSAValue

from wengert.dialects import ad
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder

FRONTEND_ATTRIBUTES = "mhlo.frontend_attributes"
_MARK = DictionaryAttr({"wengert": StringAttr("stop_gradient")})


def recognise_stop(b: OpBuilder, op: hlo.ConvertOp) -> Sequence[SSAValue] | None:
    """A marked conversion as ad.stop_gradient."""
    mark = op.attributes.get(FRONTEND_ATTRIBUTES)
    if not isinstance(mark, DictionaryAttr) or mark.data.get("wengert") != _MARK.data["wengert"] or op.operand.type != op.result.type:
        return None
    return [b.like(ad.StopGradientOp, op.operand)]


def expand_stop(b: OpBuilder, op: ad.StopGradientOp) -> Sequence[SSAValue]:
    """ad.stop_gradient as a marked conversion."""
    converted = b.one(hlo.ConvertOp, (op.operand,), op.result.type)
    owner = converted.owner
    assert isinstance(owner, Operation)
    owner.attributes[FRONTEND_ATTRIBUTES] = _MARK
    return [converted]
