"""Switches for all checkpoints that are made within a block, over what their calls say."""

from __future__ import annotations


class EarlyStop:
    """What :class:`set_checkpoint_early_stop` says; None for what each call says."""

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
    """What :class:`set_checkpoint_debug_enabled` says; None for what each call says."""

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
