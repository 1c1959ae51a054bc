"""The context that upstream programs are parsed in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.ir import Operation

from wengert.dialects.registry import UPSTREAM, OpenContext
from wengert.dialects.upstream.operation import upstream_class
from wengert.dialects.upstream.tables import FORMS


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
