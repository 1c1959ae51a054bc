"""Runs that write down how far they are, and go on from there: a program is cut at its loops, which run some iterations at a time.

.. code-block:: text

    transforms/core/loop_segments.py      devices.py: one device, threads, MPI      checkpoint.py: one file, replaced as a whole
    segments of @main ──► run.py ──► a segment on every device ──► ──► values, place and iteration ──► on to the next
"""
