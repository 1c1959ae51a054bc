"""VHLO: the ops, attributes and types of StableHLO with a version each, which portable artifacts are made of (StableHLO, "Compatibility")."""

from xdsl.ir import Dialect

from wengert.dialects.vhlo.attributes import VhloAttribute, VhloType
from wengert.dialects.vhlo.operations import VhloOperation, vhlo_class
from wengert.dialects.vhlo.tables import op_names

Vhlo = Dialect("vhlo", [vhlo_class(name) for name in op_names()])

__all__ = ["Vhlo", "VhloAttribute", "VhloOperation", "VhloType", "vhlo_class"]
