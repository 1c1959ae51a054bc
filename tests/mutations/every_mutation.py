"""All planted mistakes."""

from __future__ import annotations

from mutations import in_lowering, in_rewrites, in_rules

MUTATIONS = (*in_rules.MUTATIONS, *in_rewrites.MUTATIONS, *in_lowering.MUTATIONS)
