"""``wengert demo``: see ``wengert.lab.demo``."""

from __future__ import annotations

from wengert.lab.demo import configure, execute

__all__ = ["configure", "execute"]
