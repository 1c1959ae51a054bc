"""``wengert memory``: what memory a program needs over its run, what its peak is made of, and how two peaks differ.

.. code-block:: text

    core-level IR    --ir_level.py------> Timeline: pieces of memory with role, source and life
    kernels on buffers --arena_level.py-> Timeline, with offsets in the arena and its holes
                                             |  chart.py: text, svg.py: a picture
                                             v
                                        memory.py --> MemoryReport; differences.py --> MemoryDifference
"""

from wengert.lab.memory.differences import MemoryDifference
from wengert.lab.memory.memory import MemoryReport, memory

__all__ = ["MemoryDifference", "MemoryReport", "memory"]
