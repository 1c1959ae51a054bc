"""Reverse mode by an adjoint per op, the second of two strategies.

::

    adjoint.py    the table of adjoints       adjoints/    the declarations, by family of ops
    activity.py   which values vary, and which are useful
    sweep.py      the forward and the reverse sweep over a block
    record.py     the residuals that a loop records for its reverse sweep
    vjp.py        the VJP of a function
"""
