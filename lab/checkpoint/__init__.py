"""``wengert checkpoint``: what memory a reverse derivative can do with, and what that costs.

.. code-block:: text

    derivative ──► transforms/checkpoint: the frontier of plans ──► table.py: arena, peak, flops, predicted time ──► text, JSON, plot.py: SVG
"""

from wengert.lab.checkpoint.table import CheckpointTable, checkpoints

__all__ = ["CheckpointTable", "checkpoints"]
