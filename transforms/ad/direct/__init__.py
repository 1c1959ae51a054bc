"""Reverse mode by adjoints written out op by op, the second of two strategies.

::

    adjoint.py    the table of adjoints       adjoints/    the declarations, by family of ops
    activity.py   what varies and what is useful
    sweep.py      the forward and the reverse sweep over a block
    record.py     what a loop keeps for its reverse sweep
    vjp.py        the VJP of a function
"""
