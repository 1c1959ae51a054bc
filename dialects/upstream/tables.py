"""Every upstream op that is known, by name: how its custom form is read. Which of them have a meaning here is said by the converters."""

from __future__ import annotations

from typing import Any

from wengert.dialects.upstream import affine_forms, linalg_forms, loop_forms, memref_forms, request_forms, scalar_forms, tensor_forms

FORMS: dict[str, Any] = {
    **scalar_forms.FORMS,
    **tensor_forms.FORMS,
    **linalg_forms.FORMS,
    **loop_forms.FORMS,
    **affine_forms.FORMS,
    **memref_forms.FORMS,
    **request_forms.FORMS,
}
"""The form of each op by name."""

TERMINATORS = frozenset(
    {
        "affine.yield",
        "cf.br",
        "cf.cond_br",
        "cf.switch",
        "linalg.yield",
        "memref.alloca_scope.return",
        "memref.atomic_yield",
        "scf.condition",
        "scf.forall.in_parallel",
        "scf.reduce",
        "scf.reduce.return",
        "scf.yield",
        "tensor.yield",
    }
)
"""Ops that end blocks."""
