"""Switches for all checkpoints that are made within a block, over what their calls say; and backward passes that share what is computed again."""

from __future__ import annotations

from wengert.eager.errors import CheckpointError
from wengert.eager.recording.modes import STATE


class EarlyStop:
    """The setting of :class:`set_checkpoint_early_stop`; None for what each call says."""

    enabled: bool | None = None


class set_checkpoint_early_stop:  # noqa: N801  (the name under which it is known)
    """Until the end of the block, whether second runs of the checkpoints that are made inside end as soon as everything is there."""

    def __init__(self, enable: bool):
        self._enable = enable
        self._before: bool | None = None

    def __enter__(self) -> None:
        self._before, EarlyStop.enabled = EarlyStop.enabled, self._enable

    def __exit__(self, *exception: object) -> None:
        EarlyStop.enabled = self._before


class Debug:
    """The setting of :class:`set_checkpoint_debug_enabled`; None for what each call says."""

    enabled: bool | None = None


class set_checkpoint_debug_enabled:  # noqa: N801
    """Until the end of the block, whether errors of second runs that are not like the first list everything that both kept."""

    def __init__(self, enabled: bool | None):
        self._enabled = enabled
        self._before: bool | None = None

    def __enter__(self) -> None:
        self._before, Debug.enabled = Debug.enabled, self._enabled

    def __exit__(self, *exception: object) -> None:
        Debug.enabled = self._before


class GraphExecGroup:
    """Until the end of the block, backward passes share what checkpoints compute again: each runs again once for all of them.

    For passes over parts of one graph, such as first from a loss to an activation and then from there to the parameters. Two passes that ask for the same
    value are an error.

    >>> import wengert.eager as eager
    >>> x = eager.tensor(0.5, requires_grad=True)
    >>> runs = []
    >>> def function(x):
    ...     runs.append("run")
    ...     y = x.sin()
    ...     return y, y.exp()
    >>> y, z = eager.checkpoint(function, x)
    >>> with eager.GraphExecGroup():
    ...     (y_bar,) = eager.autograd.grad(z, y)
    ...     (x_bar,) = eager.autograd.grad(y, x, y_bar)
    >>> len(runs)
    2
    """

    def __enter__(self) -> None:
        if STATE.group is not None:
            raise CheckpointError("GraphExecGroup contexts cannot be nested")
        STATE.group = self

    def __exit__(self, *exception: object) -> None:
        STATE.group = None
        for frame in STATE.recomputed:
            frame.forget()
        STATE.recomputed = ()
