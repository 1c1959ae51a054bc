"""Implicit functions: derivatives and batches of values that are given by an equation, and what is run in their place.

::

    equations.py   the linear maps that follow from an equation, and whether a function is linear
    lower.py       each op replaced by its solver
"""
