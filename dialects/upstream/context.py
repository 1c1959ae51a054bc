"""The context that upstream programs are parsed in, and how their texts are told from others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from xdsl.ir import Operation

from wengert.dialects.registry import UPSTREAM, OpenContext
from wengert.dialects.upstream.operation import upstream_class
from wengert.dialects.upstream.tables import FORMS

_MENTIONED = re.compile(rf"(?<![\w.#!@%$])\"?(?:{'|'.join(UPSTREAM)})\.[a-z]|(?<![\w.])memref<")
_LOWERED = re.compile(r"(?<![\w.@%$])\"?[#!]?(?:gpu|nvgpu|nvvm|rocdl|spirv|kernel|llvm|vector|core)\.[a-z]")


def is_upstream(text: str) -> bool:
    """Whether a text is an upstream program: it has an op of these dialects, and none of those that kernels are lowered to, for which xDSL's classes are
    used."""
    return _MENTIONED.search(text) is not None and _LOWERED.search(text) is None


class UpstreamContext(OpenContext):
    """A context that knows upstream ops by our classes. Unknown ops of these dialects are errors."""

    def get_optional_op(self, name: str, *, dialect_stack: Sequence[str] = ()) -> type[Operation] | None:
        """The class of an op."""
        if name.partition(".")[0] not in UPSTREAM:
            return super().get_optional_op(name, dialect_stack=dialect_stack)
        if name not in FORMS:
            return None
        cls = self._loaded_ops.get(name)
        if cls is None:
            cls = self._loaded_ops[name] = upstream_class(name)
        return cls

    @property
    def loaded_ops(self) -> Iterable[type[Operation]]:
        """The classes of all ops, those of upstream dialects among them (asked for hints in messages)."""
        return [*super().loaded_ops, *(upstream_class(name) for name in FORMS)]
