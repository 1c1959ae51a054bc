"""Estimates from random directions, and products with curvature matrices that nobody writes down.

::

    directions.py   random directions from a seed
    estimates.py    forward gradients, traces and diagonals
    curvature.py    Gauss-Newton and Fisher products
"""
